"""Least fixpoints of recursive Boolean definitions, by equations over ground atoms.

An atom is a `least` definition at ground arguments (or a pair in a closure). Its body is a term over the state in which
other atoms stand as placeholder variables. Atoms are solved as soon as no body that they read is under way, component by
component, in topological order: outside cycles by substitution, inside a cycle by iterating from false until nothing
changes (at most as many rounds as it has atoms).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager

from icore_dsl.mistakes import G007
from icore_kernel.ground.values import Choice, GroundingError, Quantity, SetValue, Value
from icore_kernel.terms.node import Term
from icore_kernel.terms.term import TermBank, substitute

PLACEHOLDERS = 1 << 14
"""First index of placeholder variables; every field has a smaller one."""


class Fixpoints:
    def __init__(self, bank: TermBank) -> None:
        self.bank = bank
        self.solved: dict[Hashable, Term] = {}
        self._numbers: dict[Hashable, int] = {}
        self._keys: list[Hashable] = []
        self._bodies: dict[Hashable, Term] = {}
        """Finished bodies that still read atoms whose bodies are under way."""
        self._apart: tuple[int, str] = (0, "")

    def atom(self, key: Hashable, body: Callable[[], Term]) -> Term:
        """The atom's meaning as a term over the state; while bodies are being built, its placeholder where it is not known yet."""
        known = self.solved.get(key)
        if known is not None:
            return known
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._keys)
            self._keys.append(key)
            try:
                self._bodies[key] = body()
            finally:
                if key not in self._bodies:
                    del self._numbers[key]
            closed = self._closed(key)
            if closed:
                self._solve(closed)
                return self.solved[key]
        elif number < self._apart[0]:
            raise GroundingError(G007, f"`{self._apart[1]}` is asked for by evidence or a definition on which it depends")
        number += PLACEHOLDERS
        return self.bank.variable(f"?{number}", number, 0, 1, True)

    @contextmanager
    def apart(self, what: str) -> Iterator[None]:
        """For formulas that are no part of any least definition: they may not read atoms that are under way outside."""
        before = self._apart
        self._apart = (len(self._keys), what)
        try:
            yield
        finally:
            self._apart = before

    def _closed(self, key: Hashable) -> list[Hashable]:
        """The unsolved atoms that the atom reads, directly or not; none at all if the body of one of them is under way."""
        found = {key: None}
        stack = [key]
        while stack:
            for number in _bits(self._bodies[stack.pop()].reads >> PLACEHOLDERS):
                other = self._keys[number]
                if other in self.solved or other in found:
                    continue
                if other not in self._bodies:
                    return []
                found[other] = None
                stack.append(other)
        return list(found)

    def _solve(self, keys: list[Hashable]) -> None:
        reads = {k: [self._keys[n] for n in _bits(self._bodies[k].reads >> PLACEHOLDERS)] for k in keys}
        for component in _components(keys, {k: [n for n in read if n in reads] for k, read in reads.items()}):
            self._component(component, {other for key in component for other in reads[key]})
        for key in keys:
            del self._bodies[key]

    def _component(self, component: list[Hashable], reads: set[Hashable]) -> None:
        known = {PLACEHOLDERS + self._numbers[other]: self.solved[other] for other in reads if other in self.solved}
        memo: dict[Term, Term] = {}
        bodies = {k: substitute(self.bank, self._bodies[k], known, memo) if known else self._bodies[k] for k in component}
        value = dict.fromkeys(component, self.bank.false)
        for _ in range(len(component) + 1):
            mapping = {PLACEHOLDERS + self._numbers[k]: v for k, v in value.items()}
            memo = {}
            following = {k: substitute(self.bank, b, mapping, memo) for k, b in bodies.items()}
            if all(following[k] is value[k] for k in component):
                break
            value = following
        self.solved.update(value)


def unsettled(value: Value) -> bool:
    """Whether a value still has an unsolved fixpoint atom in it: such values may not be remembered."""
    match value:
        case Term():
            return value.reads >> PLACEHOLDERS != 0
        case Quantity():
            return (value.num.reads | value.den.reads) >> PLACEHOLDERS != 0
        case Choice():
            return value.term.reads >> PLACEHOLDERS != 0
        case SetValue():
            return any(t.reads >> PLACEHOLDERS for _, t in value.items)
        case _:
            return False


def _bits(mask: int) -> list[int]:
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found


def _components(keys: list[Hashable], needs: dict[Hashable, list[Hashable]]) -> list[list[Hashable]]:
    """Strongly connected components, those that are needed first (Tarjan, iterative)."""
    index: dict[Hashable, int] = {}
    low: dict[Hashable, int] = {}
    on_stack: set[Hashable] = set()
    stack: list[Hashable] = []
    found: list[list[Hashable]] = []
    for root in keys:
        if root in index:
            continue
        work: list[tuple[Hashable, int]] = [(root, 0)]
        while work:
            key, position = work.pop()
            if position == 0:
                index[key] = low[key] = len(index)
                stack.append(key)
                on_stack.add(key)
            for i in range(position, len(needs[key])):
                other = needs[key][i]
                if other not in index:
                    work.append((key, i + 1))
                    work.append((other, 0))
                    break
                if other in on_stack:
                    low[key] = min(low[key], index[other])
            else:
                if low[key] == index[key]:
                    component = []
                    while True:
                        top = stack.pop()
                        on_stack.discard(top)
                        component.append(top)
                        if top == key:
                            break
                    found.append(component)
                if work:
                    parent = work[-1][0]
                    low[parent] = min(low[parent], low[key])
    return found
