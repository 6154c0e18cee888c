"""Terms as text of a peer: one writer, a `Style` for each peer. What is shared, or deep, is cut out and gets a name of its own."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

from icore_kernel.export.symbols import Enumeration, Symbols
from icore_kernel.system import DomainKind, Field
from icore_kernel.terms.term import Op, Sort, Term, postorder

DEEPEST = 20
"""Nesting of what is written in one piece: parsers overflow, and people do."""
_WORTH = 6
"""Nodes from which a formula that is used twice gets a name."""

_ARITHMETIC = (Op.ADD, Op.SUB, Op.NEG, Op.MUL, Op.DIV, Op.MOD)


@dataclass(frozen=True, slots=True)
class Style:
    """How a peer writes operators: texts between operands, or (`choice`, `member`) formats. No `implies`: `!a || b` stands for it."""

    true: str
    false: str
    negation: str
    conjunction: str
    disjunction: str
    implies: str | None
    iff: str
    unequal_truth: str
    equal: str
    unequal: str
    quotient: str
    remainder: str
    choice: str
    member: str | None = None
    """`{0}` the element, `{1}` the values with commas."""


Constant = Callable[[Enumeration, int], str]

_ATOM, _COMPARED, _WHOLE = 2, 1, 0


@dataclass(frozen=True)
class Writer:
    """Writes terms. `names` are the fields' by index, `known` the terms that have a name of their own."""

    style: Style
    names: Sequence[str]
    symbols: Symbols
    constant: Constant
    known: Mapping[Term, str]

    def knowing(self, known: Mapping[Term, str]) -> Writer:
        return Writer(self.style, self.names, self.symbols, self.constant, {**self.known, **known})

    def text(self, term: Term, about: Enumeration | None = None) -> str:
        """The text of a term; `about` is the enumeration whose codes it takes, where that is known from outside."""
        return self._written(term, about)[0]

    def body(self, term: Term) -> str:
        """The text of a term that has a name itself."""
        return self._composed(term, None)[0]

    def inner(self, term: Term, about: Enumeration | None = None) -> str:
        """The text, in parentheses unless it is a single word."""
        text, level = self._written(term, about)
        return text if level == _ATOM else f"({text})"

    def value(self, code: int, about: Enumeration | None, boolean: bool = False) -> str:
        if boolean:
            return self.style.true if code else self.style.false
        return str(code) if about is None else self.constant(about, code)

    def code(self, field: Field, code: int) -> str:
        """A value of a field."""
        return self.value(code, self.symbols.of_field(field), field.domain.kind is DomainKind.BOOL)

    def conjuncts(self, *terms: Term) -> list[str]:
        """The parts of a conjunction, each ready to stand in one; none when it is always true."""
        parts: list[Term] = []
        for term in terms:
            if term.op is Op.AND and term not in self.known:
                parts += term.args
            elif not term.is_true:
                parts.append(term)
        return [self._part(part) for part in dict.fromkeys(parts)]

    def _part(self, term: Term) -> str:
        text, level = self._written(term, None)
        return text if level >= _COMPARED else f"({text})"

    def _written(self, term: Term, about: Enumeration | None) -> tuple[str, int]:
        known = self.known.get(term)
        return (known, _ATOM) if known is not None else self._composed(term, about)

    def _composed(self, term: Term, about: Enumeration | None) -> tuple[str, int]:
        style, args = self.style, term.args
        match term.op:
            case Op.CONST:
                text = self.value(term.value, about, term.sort is Sort.BOOL)
                return text, _WHOLE if text.startswith("-") else _ATOM
            case Op.FIELD:
                return self.names[term.variable.index], _ATOM
            case Op.NOT:
                return self._denied(args[0])
            case Op.AND | Op.OR:
                if not args:
                    return (style.true if term.op is Op.AND else style.false), _ATOM
                joint = style.conjunction if term.op is Op.AND else style.disjunction
                return joint.join(self._part(arg) for arg in args), _WHOLE
            case Op.IMPLIES:
                a, b = self.inner(args[0]), self.inner(args[1])
                if style.implies is None:
                    return f"{style.negation}{a}{style.disjunction}{b}", _WHOLE
                return f"{a}{style.implies}{b}", _WHOLE
            case Op.IFF:
                return f"{self.inner(args[0])}{style.iff}{self.inner(args[1])}", _WHOLE
            case Op.EQ:
                return self._compared(args, style.equal)
            case Op.LT:
                return self._compared(args, " < ")
            case Op.LE:
                return self._compared(args, " <= ")
            case Op.MEMBER:
                return self._among(term)
            case Op.ADD:
                return " + ".join(self.inner(arg) for arg in args) or "0", _WHOLE
            case Op.SUB:
                return f"{self.inner(args[0])} - {self.inner(args[1])}", _WHOLE
            case Op.NEG:
                return f"- {self.inner(args[0])}", _WHOLE
            case Op.MUL:
                return f"{self.inner(args[0])} * {self.inner(args[1])}", _WHOLE
            case Op.DIV:
                return f"{self.inner(args[0])}{style.quotient}{self.inner(args[1])}", _WHOLE
            case Op.MOD:
                return f"{self.inner(args[0])}{style.remainder}{self.inner(args[1])}", _WHOLE
            case Op.ITE:
                own = self.symbols.of(term) or about
                yes, no = self.inner(args[1], own), self.inner(args[2], own)
                return style.choice.format(self.inner(args[0]), yes, no), _ATOM
            case Op.MIN | Op.MAX | Op.ABS | Op.LOOKUP:
                raise ValueError(f"{term.op.value} is written out before: see lowering.py")
            case _:
                assert_never(term.op)

    def _denied(self, term: Term) -> tuple[str, int]:
        if term not in self.known:
            if term.op is Op.EQ:
                return self._compared(term.args, self.style.unequal)
            if term.op is Op.IFF:
                return f"{self.inner(term.args[0])}{self.style.unequal_truth}{self.inner(term.args[1])}", _WHOLE
        return f"{self.style.negation}{self.inner(term)}", _COMPARED

    def _compared(self, args: tuple[Term, ...], sign: str) -> tuple[str, int]:
        a, b = args
        about = self.symbols.of(a) or self.symbols.of(b)
        return f"{self.inner(a, about)}{sign}{self.inner(b, about)}", _COMPARED

    def _among(self, term: Term) -> tuple[str, int]:
        style, element = self.style, term.args[0]
        about = self.symbols.of(element)
        values = [self.value(code, about) for code in sorted(term.members)]
        text = self.inner(element, about)
        if not values:
            return style.false, _ATOM
        if style.member is not None:
            return style.member.format(text, ", ".join(values)), _COMPARED
        equations = [f"{text}{style.equal}{value if value[0] != '-' else f'({value})'}" for value in values]
        return style.disjunction.join(equations), _WHOLE if len(values) > 1 else _COMPARED


def tree_size(terms: Iterable[Term], most: int) -> int:
    """Nodes of the terms written out in full, or some number above `most`; above it, too, when they nest too deeply."""
    size: dict[Term, int] = {}
    depth: dict[Term, int] = {}
    total = 0
    roots = list(terms)
    for term in postorder(roots):
        size[term] = min(1 + sum(size[arg] for arg in term.args), most + 1)
        depth[term] = 1 + max((depth[arg] for arg in term.args), default=0)
    for root in roots:
        total += size[root] if depth[root] <= 4 * DEEPEST else most + 1
    return total


def cut(roots: Iterable[Term], named: Container[Term] = ()) -> list[Term]:
    """The terms to give a name: shared and of some size, or deep. Each comes after those it needs.

    Those in `named` get one even where they are small.
    """
    given = list(roots)
    order = postorder(given)
    uses: dict[Term, int] = dict.fromkeys(order, 0)
    for term in order:
        for arg in term.args:
            uses[arg] += 1
    for root in given:
        uses[root] += 1
    size: dict[Term, int] = {}
    depth: dict[Term, int] = {}
    chosen: list[Term] = []
    for term in order:
        own = 1 + sum(size[arg] for arg in term.args)
        level = 1 + max((depth[arg] for arg in term.args), default=0)
        nameable = bool(term.args) and (term.sort is Sort.BOOL or term.op in _ARITHMETIC)
        shared = uses[term] > 1 and (own >= _WORTH or (term in named and own > 1))
        if nameable and (shared or level > DEEPEST):
            chosen.append(term)
            own, level = 1, 1
        size[term], depth[term] = own, level
    return chosen
