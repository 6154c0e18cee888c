"""Which fields can keep their enumeration in a peer: those whose codes are only compared for equality, and only with their own kind.

A field whose codes are ordered, added to, or compared with another enumeration's is exported as a number.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from icore_kernel.system import DomainKind, Field
from icore_kernel.terms.term import Op, Sort, Term, postorder

_NUMBER = -1
"""Stands, among field indices, for whatever is a number."""

_KINDS = ("status", "assignee", "certificate", "artifact")


@dataclass(frozen=True, slots=True)
class Enumeration:
    """The names of an enumeration's codes, from 0, and what to call it."""

    names: tuple[str, ...]
    title: str


class Symbols:
    """What each field, and each INT term, is exported as: `of(term)` is None for a number."""

    def __init__(self, fields: tuple[Field, ...], formulas: Iterable[Term], writes: Iterable[tuple[Field, Term]]) -> None:
        """`formulas` are all terms that will be written; `writes` pairs each written field with its value."""
        self._fields = fields
        self._above: dict[int, int] = {}
        self._constants: dict[int, set[int]] = {}
        pairs = [(field, value) for field, value in writes if value.sort is Sort.INT]
        for field in fields:
            if field.domain.kind is not DomainKind.ENUM:
                self._unite(field.index, _NUMBER)
        for term in postorder([*formulas, *(value for _, value in pairs)]):
            match term.op:
                case Op.EQ:
                    self._together(term.args)
                case Op.MEMBER:
                    self._together(term.args, term.members)
                case Op.LT | Op.LE | Op.ADD | Op.SUB | Op.NEG | Op.MUL | Op.DIV | Op.MOD | Op.MIN | Op.MAX | Op.ABS | Op.LOOKUP:
                    for arg in term.args:
                        self._together((arg,), number=True)
                case _:
                    pass
        for field, value in pairs:
            self._together((value,), also=field.index)
        self._kept = self._decide()

    def of(self, term: Term) -> Enumeration | None:
        """The enumeration whose codes the term takes, where it says so itself (a constant does not)."""
        keys, _, _ = _sources(term)
        for key in keys:
            return self._kept.get(key)
        return None

    def of_field(self, field: Field) -> Enumeration | None:
        return self._kept.get(field.index)

    @property
    def enumerations(self) -> tuple[Enumeration, ...]:
        """Those in use, in the order of the fields."""
        return tuple(dict.fromkeys(self._kept[field.index] for field in self._fields if field.index in self._kept))

    def _root(self, key: int) -> int:
        while key in self._above:
            key = self._above[key]
        return key

    def _unite(self, a: int, b: int) -> None:
        a, b = self._root(a), self._root(b)
        if a != b:
            self._above[a] = b
            self._constants.setdefault(b, set()).update(self._constants.pop(a, set()))

    def _together(self, terms: Iterable[Term], values: Iterable[int] = (), number: bool = False, also: int | None = None) -> None:
        """The terms, and the field `also`, take codes of one kind; so are the constants `values`."""
        keys: list[int] = [] if also is None else [also]
        constants = set(values)
        for term in terms:
            found, codes, arithmetic = _sources(term)
            keys += found
            constants |= codes
            number = number or arithmetic
        if number:
            keys.append(_NUMBER)
        if keys:
            for key in keys[1:]:
                self._unite(keys[0], key)
            self._constants.setdefault(self._root(keys[0]), set()).update(constants)

    def _decide(self) -> dict[int, Enumeration]:
        groups: dict[int, list[Field]] = {}
        for field in self._fields:
            groups.setdefault(self._root(field.index), []).append(field)
        kept: dict[int, tuple[str, ...]] = {}
        for root, members in groups.items():
            names = members[0].domain.names
            codes = self._constants.get(root, set())
            symbolic = root != self._root(_NUMBER) and all(field.domain.names == names for field in members)
            if symbolic and all(0 <= code < len(names) for code in codes):
                kept.update((field.index, names) for field in members)
        titles: dict[tuple[str, ...], str] = {}
        for field in self._fields:
            if field.index in kept:
                own = field.kind if field.kind in _KINDS else field.name.rpartition(".")[2].partition("(")[0]
                titles.setdefault(kept[field.index], own)
        return {index: Enumeration(names, titles[names]) for index, names in kept.items()}


def _sources(term: Term) -> tuple[list[int], set[int], bool]:
    """Where the codes of an INT term come from: fields, constants, and whether some are computed."""
    keys: list[int] = []
    constants: set[int] = set()
    number = False
    stack, met = [term], {term}
    while stack:
        part = stack.pop()
        match part.op:
            case Op.FIELD:
                keys.append(part.variable.index)
            case Op.CONST:
                constants.add(part.value)
            case Op.ITE:
                more = [arg for arg in part.args[1:] if arg not in met]
                met.update(more)
                stack += more
            case _:
                number = True
    return keys, constants, number
