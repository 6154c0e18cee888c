"""Terms: immutable, interned formulas and integer expressions over the fields of a state.

A `TermBank` makes terms and keeps one of each, so equal terms are the same object and `is` compares them (`==` is not
overloaded). A bank simplifies lightly while it builds (constants, flat `and`/`or`, complements, what intervals decide);
`TermBank(simplify=False)` keeps what it is given. Nothing here recurses: depth is bounded by memory alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import assert_never

from icore_kernel.terms.node import SortError, Term, postorder, variables
from icore_kernel.terms.table import TABLE, Op, Payload, Sort, Variable

__all__ = ["Op", "Payload", "Sort", "SortError", "Term", "TermBank", "Variable", "postorder", "substitute", "variables"]

_FLAT = 32
"""A nested `and`, `or`, `+`, `min`, `max` of up to this many arguments is merged into its parent; a bound keeps long chains linear."""


class TermBank:
    """Makes and interns terms. Every constructor checks sorts and raises SortError."""

    def __init__(self, simplify: bool = True) -> None:
        self.simplify = simplify
        self._terms: dict[tuple[Op, Sort, Payload, tuple[Term, ...]], Term] = {}
        self._fields: dict[int, Term] = {}
        self.true = self.boolean(True)
        self.false = self.boolean(False)

    def __len__(self) -> int:
        return len(self._terms) + len(self._fields)

    def copy(self) -> TermBank:
        """A bank that has these terms too. What either makes from now on, further fields among it, the other knows nothing of."""
        other = TermBank(self.simplify)
        other._terms, other._fields = dict(self._terms), dict(self._fields)
        return other

    # Leaves.

    def boolean(self, value: bool) -> Term:
        return self._intern(Op.CONST, (), bool(value), Sort.BOOL)

    def integer(self, value: int) -> Term:
        return self._intern(Op.CONST, (), int(value), Sort.INT)

    def variable(self, name: str, index: int, lo: int, hi: int, boolean: bool) -> Term:
        """The field at `index` of the state, with codes `lo..hi` (a BOOL term when `boolean`, else INT)."""
        own = Variable(name, index, int(lo), int(hi), bool(boolean))
        known = self._fields.get(index)
        if known is not None:
            if known.payload != own:
                raise SortError(f"field {index} is both {known.payload!r} and {own!r}")
            return known
        if lo > hi or (boolean and not 0 <= lo <= hi <= 1) or index < 0:
            raise SortError(f"no domain for {own!r}")
        term = Term(Op.FIELD, (), own, Sort.BOOL if boolean else Sort.INT, own.lo, own.hi, 1 << index, len(self))
        self._fields[index] = term
        return term

    # Formulas.

    def not_(self, a: Term) -> Term:
        return self.build(Op.NOT, (a,))

    def and_(self, *terms: Term) -> Term:
        return self.build(Op.AND, terms)

    def conj(self, terms: Iterable[Term]) -> Term:
        return self.build(Op.AND, tuple(terms))

    def or_(self, *terms: Term) -> Term:
        return self.build(Op.OR, terms)

    def disj(self, terms: Iterable[Term]) -> Term:
        return self.build(Op.OR, tuple(terms))

    def implies(self, a: Term, b: Term) -> Term:
        return self.build(Op.IMPLIES, (a, b))

    def iff(self, a: Term, b: Term) -> Term:
        return self.build(Op.IFF, (a, b))

    def eq(self, a: Term, b: Term) -> Term:
        """Equality of two INT terms, or of two BOOL terms (then `iff`)."""
        return self.build(Op.IFF if a.sort is Sort.BOOL and b.sort is Sort.BOOL else Op.EQ, (a, b))

    def ne(self, a: Term, b: Term) -> Term:
        return self.not_(self.eq(a, b))

    def lt(self, a: Term, b: Term) -> Term:
        return self.build(Op.LT, (a, b))

    def le(self, a: Term, b: Term) -> Term:
        return self.build(Op.LE, (a, b))

    def member(self, a: Term, values: Iterable[int]) -> Term:
        return self.build(Op.MEMBER, (a,), frozenset(int(value) for value in values))

    # Integers.

    def add(self, *terms: Term) -> Term:
        return self.build(Op.ADD, terms)

    def sub(self, a: Term, b: Term) -> Term:
        return self.build(Op.SUB, (a, b))

    def neg(self, a: Term) -> Term:
        return self.build(Op.NEG, (a,))

    def mul(self, a: Term, b: Term) -> Term:
        return self.build(Op.MUL, (a, b))

    def floordiv(self, a: Term, b: Term) -> Term:
        """Division rounding down; by zero it is 0."""
        return self.build(Op.DIV, (a, b))

    def mod(self, a: Term, b: Term) -> Term:
        """Remainder with the sign of the divisor; by zero it is 0."""
        return self.build(Op.MOD, (a, b))

    def minimum(self, *terms: Term) -> Term:
        return self.build(Op.MIN, terms)

    def maximum(self, *terms: Term) -> Term:
        return self.build(Op.MAX, terms)

    def absolute(self, a: Term) -> Term:
        return self.build(Op.ABS, (a,))

    def lookup(self, index: Term, entries: Iterable[int]) -> Term:
        """`entries[index]`, counted from 0; outside the table it is 0."""
        return self.build(Op.LOOKUP, (index,), tuple(int(value) for value in entries))

    def ite(self, condition: Term, a: Term, b: Term) -> Term:
        """`a` where `condition` holds, else `b`. Of BOOL branches it is two implications: there is no BOOL `ite` operator."""
        if a.sort is Sort.BOOL and b.sort is Sort.BOOL:
            if a is b:
                return a
            if condition.is_true or condition.is_false:
                return a if condition.is_true else b
            if b.is_false:
                return self.and_(condition, a)
            if a.is_true:
                return self.or_(condition, b)
            otherwise = self.not_(condition)
            if a.is_false:
                return self.and_(otherwise, b)
            return self.and_(self.implies(condition, a), self.implies(otherwise, b))
        return self.build(Op.ITE, (condition, a, b))

    # The general constructor.

    def build(self, op: Op, args: tuple[Term, ...], payload: Payload = None) -> Term:
        """The term `op(args)` with its payload, simplified when the bank simplifies; sorts and arity as the table says."""
        row = TABLE[op]
        if row.variadic:
            wanted = row.arguments[0]
            wrong = len(args) < row.least or any(arg.sort is not wanted for arg in args)
        else:
            wrong = len(args) != len(row.arguments) or any(arg.sort is not sort for arg, sort in zip(args, row.arguments, strict=True))
        if wrong:
            expected = ", ".join(sort.value for sort in row.arguments) + (" …" if row.variadic else "")
            raise SortError(f"{op.value} takes ({expected}), not ({', '.join(arg.sort.value for arg in args[:8])})")
        match op:
            case Op.CONST:
                if not isinstance(payload, int):
                    raise SortError(f"a constant is a bool or an int, not {payload!r}")
                return self.boolean(payload) if isinstance(payload, bool) else self.integer(payload)
            case Op.FIELD:
                if not isinstance(payload, Variable):
                    raise SortError(f"a field holds a variable, not {payload!r}")
                return self.variable(payload.name, payload.index, payload.lo, payload.hi, payload.boolean)
            case Op.MEMBER if not isinstance(payload, frozenset):
                raise SortError(f"member takes a frozenset, not {payload!r}")
            case Op.LOOKUP if not isinstance(payload, tuple):
                raise SortError(f"lookup takes a tuple, not {payload!r}")
            case _:
                pass
        if self.simplify:
            return self._simplified(op, args, payload)
        return self._intern(op, args, payload, row.result or Sort.INT)

    def _intern(self, op: Op, args: tuple[Term, ...], payload: Payload, sort: Sort) -> Term:
        key = (op, sort, payload, args)
        known = self._terms.get(key)
        if known is not None:
            return known
        lo, hi = TABLE[op].interval(payload, [(arg.lo, arg.hi) for arg in args])
        if lo == hi and self.simplify and op is not Op.CONST:
            return self.boolean(bool(lo)) if sort is Sort.BOOL else self.integer(lo)
        reads = 0
        for arg in args:
            reads |= arg.reads
        term = Term(op, args, payload, sort, lo, hi, reads, len(self))
        self._terms[key] = term
        return term

    # Simplification. Each rule keeps the meaning in every state; `_intern` folds whatever the intervals decide.

    def _simplified(self, op: Op, args: tuple[Term, ...], payload: Payload) -> Term:
        match op:
            case Op.NOT:
                return args[0].args[0] if args[0].op is Op.NOT else self._intern(op, args, None, Sort.BOOL)
            case Op.AND:
                return self._junction(op, args, self.true, self.false)
            case Op.OR:
                return self._junction(op, args, self.false, self.true)
            case Op.IMPLIES:
                a, b = args
                if a.is_true or _complementary(a, b):
                    return b
                if b.is_false:
                    return self.not_(a)
                return self.true if a is b else self._intern(op, args, None, Sort.BOOL)
            case Op.IFF:
                return self._equivalence(*args)
            case Op.EQ:
                return self._equality(*args)
            case Op.LT | Op.LE:
                a, b = args
                if a is b:
                    return self.boolean(op is Op.LE)
                if _is_choice_of_constants(a) and b.op is Op.CONST:
                    return self.ite(a.args[0], self.build(op, (a.args[1], b)), self.build(op, (a.args[2], b)))
                if _is_choice_of_constants(b) and a.op is Op.CONST:
                    return self.ite(b.args[0], self.build(op, (a, b.args[1])), self.build(op, (a, b.args[2])))
                return self._intern(op, args, None, Sort.BOOL)
            case Op.MEMBER:
                return self._membership(args[0], payload)
            case Op.ADD:
                return self._sum(args)
            case Op.SUB:
                a, b = args
                if a is b:
                    return self.integer(0)
                if b.op is Op.CONST:
                    return self.add(a, self.integer(-b.value))
                return self._intern(op, args, None, Sort.INT)
            case Op.NEG:
                return args[0].args[0] if args[0].op is Op.NEG else self._intern(op, args, None, Sort.INT)
            case Op.MUL:
                a, b = (args[1], args[0]) if args[0].op is Op.CONST else args
                if b.op is Op.CONST and b.value in (1, -1):
                    return a if b.value == 1 else self.neg(a)
                return self._intern(op, (a, b), None, Sort.INT)
            case Op.DIV:
                a, b = args
                return a if b.op is Op.CONST and b.value == 1 else self._intern(op, args, None, Sort.INT)
            case Op.MOD:
                a, b = args
                return a if a.lo >= 0 and a.hi < b.lo else self._intern(op, args, None, Sort.INT)
            case Op.MIN | Op.MAX:
                return self._extreme(op, args)
            case Op.ITE:
                c, a, b = args
                if a is b or c.is_true:
                    return a
                if c.is_false:
                    return b
                if c.op is Op.NOT:
                    return self._intern(op, (c.args[0], b, a), None, Sort.INT)
                return self._intern(op, args, None, Sort.INT)
            case Op.ABS:
                if args[0].lo >= 0:
                    return args[0]
                return self.neg(args[0]) if args[0].hi <= 0 else self._intern(op, args, None, Sort.INT)
            case Op.LOOKUP:
                return self._intern(op, args, payload, Sort.INT)
            case Op.CONST | Op.FIELD:
                raise SortError(f"{op.value} is a leaf and is not simplified")
            case _:
                assert_never(op)

    def _junction(self, op: Op, args: tuple[Term, ...], unit: Term, zero: Term) -> Term:
        """Flat, without repetition; `zero` when two parts contradict (or, in an `or`, exhaust) each other."""
        kept: dict[Term, None] = {}
        fixed: dict[Term, Term] = {}
        for part in _flattened(op, args):
            if part is unit or part in kept:
                continue
            if part is zero:
                return zero
            if op is Op.AND and part.op is Op.EQ and part.args[1].op is Op.CONST:
                subject, constant = part.args
                if fixed.setdefault(subject, constant) is not constant:
                    return zero
            kept[part] = None
        for part in kept:
            if part.op is Op.NOT and part.args[0] in kept:
                return zero
        if len(kept) <= 1:
            return next(iter(kept), unit)
        return self._intern(op, tuple(kept), None, Sort.BOOL)

    def _equivalence(self, a: Term, b: Term) -> Term:
        if a is b:
            return self.true
        if _complementary(a, b):
            return self.false
        for constant, other in ((a, b), (b, a)):
            if constant.is_true:
                return other
            if constant.is_false:
                return self.not_(other)
        return self._intern(Op.IFF, (a, b), None, Sort.BOOL)

    def _equality(self, a: Term, b: Term) -> Term:
        """Constants on the right; `(if c then k else t) == m` becomes a formula without `if`, down chains of up to 64."""
        if a is b:
            return self.true
        if a.op is Op.CONST:
            a, b = b, a
        if b.op is not Op.CONST:
            return self._intern(Op.EQ, (a, b), None, Sort.BOOL)
        outer: list[tuple[Term, bool]] = []
        while a.op is Op.ITE and len(outer) < 64 and (a.args[1].op is Op.CONST or a.args[2].op is Op.CONST):
            condition, yes, no = a.args
            if yes.op is not Op.CONST:
                condition, yes, no = self.not_(condition), no, yes
            outer.append((condition, yes is b))
            a = no
        result = self._intern(Op.EQ, (a, b), None, Sort.BOOL) if a is not b else self.true
        for condition, equal in reversed(outer):
            result = self.or_(condition, result) if equal else self.and_(self.not_(condition), result)
        return result

    def _membership(self, a: Term, payload: Payload) -> Term:
        values = frozenset(value for value in payload if a.lo <= value <= a.hi) if isinstance(payload, frozenset) else frozenset()
        if _is_choice_of_constants(a):
            return self.ite(a.args[0], self.boolean(a.args[1].value in values), self.boolean(a.args[2].value in values))
        if len(values) == 1:
            return self.eq(a, self.integer(next(iter(values))))
        return self._intern(Op.MEMBER, (a,), values, Sort.BOOL)

    def _sum(self, args: tuple[Term, ...]) -> Term:
        """Flat, with one constant, at the end."""
        constant = 0
        parts: list[Term] = []
        for part in _flattened(Op.ADD, args):
            if part.op is Op.CONST:
                constant += part.value
            else:
                parts.append(part)
        if constant or not parts:
            parts.append(self.integer(constant))
        return parts[0] if len(parts) == 1 else self._intern(Op.ADD, tuple(parts), None, Sort.INT)

    def _extreme(self, op: Op, args: tuple[Term, ...]) -> Term:
        """Flat, without repetition and without arguments that another one always beats."""
        parts = list(dict.fromkeys(_flattened(op, args)))
        if op is Op.MIN:
            best = min(parts, key=lambda part: part.hi)
            kept = [part for part in parts if part is best or part.lo < best.hi]
        else:
            best = max(parts, key=lambda part: part.lo)
            kept = [part for part in parts if part is best or part.hi > best.lo]
        return kept[0] if len(kept) == 1 else self._intern(op, tuple(kept), None, Sort.INT)


def _flattened(op: Op, args: tuple[Term, ...]) -> Iterable[Term]:
    for arg in args:
        if arg.op is op and len(arg.args) <= _FLAT:
            yield from arg.args
        else:
            yield arg


def _complementary(a: Term, b: Term) -> bool:
    return (a.op is Op.NOT and a.args[0] is b) or (b.op is Op.NOT and b.args[0] is a)


def _is_choice_of_constants(term: Term) -> bool:
    return term.op is Op.ITE and term.args[1].op is Op.CONST and term.args[2].op is Op.CONST


def substitute(bank: TermBank, term: Term, mapping: Mapping[int, Term], memo: dict[Term, Term] | None = None) -> Term:
    """`term` with each variable of an index in `mapping` replaced, all at once (a weakest precondition, for instance).

    `memo` may be shared by many calls with the same bank and mapping. A replacement of another sort raises SortError.
    """
    done = {} if memo is None else memo
    replaced = 0
    for index in mapping:
        replaced |= 1 << index
    stack = [term]
    while stack:
        top = stack[-1]
        if top in done:
            stack.pop()
        elif not top.reads & replaced:
            done[stack.pop()] = top
        elif top.op is Op.FIELD:
            new = mapping[top.variable.index]
            if new.sort is not top.sort:
                raise SortError(f"{top.variable.name} is {top.sort.value}, its replacement {new.sort.value}")
            done[stack.pop()] = new
        else:
            missing = [arg for arg in top.args if arg not in done]
            if missing:
                stack.extend(reversed(missing))
            else:
                done[stack.pop()] = bank.build(top.op, tuple(done[arg] for arg in top.args), top.payload)
    return done[term]
