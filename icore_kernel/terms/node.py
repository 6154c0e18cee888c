"""The node of a term, and walks over terms that do not recurse. Terms are made by a `TermBank` (term.py), not here."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import NoReturn

from icore_kernel.terms.table import Op, Payload, Sort, Variable


class SortError(Exception):
    """A term was built from arguments of the wrong sort or number, or one index was given to two variables."""


class Term:
    """One node: `op`, `args`, `payload`, `sort`; `lo..hi` contains its value; `reads` has bit i set when it reads field i.

    `id` is the order of creation in its bank, so arguments have smaller ids than the terms they are in.
    """

    __slots__ = ("args", "hi", "id", "lo", "op", "payload", "reads", "sort")

    op: Op
    args: tuple[Term, ...]
    payload: Payload
    sort: Sort
    lo: int
    hi: int
    reads: int
    id: int

    def __init__(self, op: Op, args: tuple[Term, ...], payload: Payload, sort: Sort, lo: int, hi: int, reads: int, number: int) -> None:
        put = object.__setattr__
        put(self, "op", op)
        put(self, "args", args)
        put(self, "payload", payload)
        put(self, "sort", sort)
        put(self, "lo", lo)
        put(self, "hi", hi)
        put(self, "reads", reads)
        put(self, "id", number)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a term is immutable: {name} cannot be set")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a term is immutable: {name} cannot be deleted")

    def __bool__(self) -> NoReturn:
        raise TypeError("a term has no truth value: compare it with `is`, or evaluate it in a state")

    def __repr__(self) -> str:
        # Of bounded length: terms may be deep, and share.
        own = "" if self.payload is None else f" {self.payload!r:.60}"
        return f"<{self.op.value}{own} #{self.id} of {[arg.id for arg in self.args[:8]]}>"

    @property
    def is_true(self) -> bool:
        return self.op is Op.CONST and self.payload is True

    @property
    def is_false(self) -> bool:
        return self.op is Op.CONST and self.payload is False

    @property
    def variable(self) -> Variable:
        """The variable of a FIELD term."""
        if not isinstance(self.payload, Variable):
            raise SortError(f"{self!r} is not a field")
        return self.payload

    @property
    def value(self) -> int:
        """The value of a CONST term (a bool for BOOL)."""
        if not isinstance(self.payload, int):
            raise SortError(f"{self!r} is not a constant")
        return self.payload

    @property
    def members(self) -> frozenset[int]:
        """The set of a MEMBER term."""
        if not isinstance(self.payload, frozenset):
            raise SortError(f"{self!r} is not a membership")
        return self.payload

    @property
    def entries(self) -> tuple[int, ...]:
        """The table of a LOOKUP term."""
        if not isinstance(self.payload, tuple):
            raise SortError(f"{self!r} is not a lookup")
        return self.payload


def postorder(terms: Iterable[Term], known: Container[Term] = ()) -> list[Term]:
    """Every term below `terms`, and they themselves, each once, arguments before the terms they are in.

    Terms in `known` are left out, with what only they contain.
    """
    order: list[Term] = []
    entered: set[Term] = set()
    for root in terms:
        stack = [(root, False)]
        while stack:
            term, done = stack.pop()
            if done:
                order.append(term)
            elif term not in entered and term not in known:
                entered.add(term)
                stack.append((term, True))
                stack.extend((arg, False) for arg in reversed(term.args) if arg not in entered)
    return order


def conjuncts(term: Term) -> tuple[Term, ...]:
    """The parts of a conjunction, however deep it is nested, in their order; nothing of `true`."""
    parts: list[Term] = []
    stack = [term]
    while stack:
        top = stack.pop()
        if top.op is Op.AND:
            stack.extend(reversed(top.args))
        elif not top.is_true:
            parts.append(top)
    return tuple(parts)


def variables(*terms: Term) -> tuple[Variable, ...]:
    """The variables that the terms read, in the order of their indices."""
    found = {term.variable.index: term.variable for term in postorder(terms) if term.op is Op.FIELD}
    return tuple(found[index] for index in sorted(found))
