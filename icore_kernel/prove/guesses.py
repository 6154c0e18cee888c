"""Guesses at lemmas: implications between literals (`field = value`, comparisons) that no reachable state met so far breaks.

Implications between literals that are true in the same samples, and those that follow by a chain of others, are left out: of some
ten thousand a few hundred remain. When one of a chain drops, what it stood for is guessed in its place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from icore_kernel.explore.model import State
from icore_kernel.meaning import scalar
from icore_kernel.prove.steps import Steps, equals, field_terms
from icore_kernel.system import DomainKind
from icore_kernel.terms.node import Term

MOST_VALUES = 32
"""A field with more values than this gives no literals of its own."""

MOST_COMPARED = 12
"""Of more fields with one and the same range no comparisons are made."""


def atoms(steps: Steps, extra: Sequence[Term] = ()) -> list[Term]:
    """Each field's values; equality, and for numbers order, of fields with one and the same range; and `extra`."""
    bank, system = steps.bank, steps.system
    found: list[Term] = []
    for field, variable in zip(system.fields, field_terms(system, bank), strict=True):
        if 1 < field.domain.size <= MOST_VALUES:
            values = [field.domain.hi] if field.domain.size == 2 else range(field.domain.lo, field.domain.hi + 1)
            found.extend(equals(bank, variable, value) for value in values)
    found.extend(_compared(steps))
    found.extend(extra)
    return list(dict.fromkeys(term for term in found if not term.is_true and not term.is_false))


def _compared(steps: Steps) -> Iterator[Term]:
    bank, system = steps.bank, steps.system
    groups: dict[tuple[int, int, tuple[str, ...]], list[Term]] = {}
    for field, variable in zip(system.fields, field_terms(system, bank), strict=True):
        if field.domain.kind is not DomainKind.BOOL and field.domain.size > 2:
            groups.setdefault((field.domain.lo, field.domain.hi, field.domain.names), []).append(variable)
    for (_, _, names), group in groups.items():
        for place, first in enumerate(group if len(group) <= MOST_COMPARED else ()):
            for second in group[place + 1 :]:
                yield bank.eq(first, second)
                if not names:
                    yield bank.le(first, second)
                    yield bank.le(second, first)


class Guesses:
    """`terms[n]` and `terms[n ^ 1]` are a literal and its negation. `edges` are the guesses: (a, b) is `a implies b`."""

    def __init__(self, steps: Steps, samples: Sequence[State], extra: Sequence[Term] = ()) -> None:
        bank = steps.bank
        positive = atoms(steps, extra)
        self.terms = [literal for term in positive for literal in (term, bank.not_(term))]
        self._values = scalar.compile_terms(self.terms) if self.terms else None
        self.edges: set[tuple[int, int]] = set()
        self._after: dict[int, set[int]] = {}
        self._before: dict[int, set[int]] = {}
        self._false: list[frozenset[int]] = []
        """Of each state that broke a guess, the literals that are false in it."""
        self._dropped: set[tuple[int, int]] = set()
        self._clauses: dict[int, tuple[int, ...]] | None = None
        if samples and self._values is not None:
            self._guess(samples)
        self.made = len(self.edges)

    def __len__(self) -> int:
        return len(self.edges)

    def false_in(self, state: State) -> frozenset[int]:
        assert self._values is not None
        return frozenset(place for place, holds in enumerate(self._values(state)) if not holds)

    def drop(self, state: State) -> bool:
        """Whether the state breaks a guess. Those that it breaks are gone, and what they carried is guessed directly."""
        false = self.false_in(state)
        broken = [(a, b) for a, b in self.edges if b in false and a ^ 1 in false]
        if not broken:
            return False
        self._false.append(false)
        for a, b in broken:
            self._remove(a, b)
        for a, b in broken:
            for before in tuple(self._before.get(a, ())):
                self._add_again(before, b)
            for after in tuple(self._after.get(b, ())):
                self._add_again(a, after)
        return True

    def clauses(self) -> dict[int, tuple[int, ...]]:
        """The guesses as clauses of two literals, by the first."""
        if self._clauses is None:
            found: dict[int, list[int]] = {}
            for a, b in sorted(self.edges):
                found.setdefault(a ^ 1, []).append(b)
            self._clauses = {a: tuple(others) for a, others in found.items()}
        return self._clauses

    def _guess(self, samples: Sequence[State]) -> None:
        assert self._values is not None
        rows = [self._values(state) for state in samples]
        every = (1 << len(rows)) - 1
        classes: dict[int, list[int]] = {}
        for place in range(0, len(self.terms), 2):
            bits = int("".join("1" if row[place] else "0" for row in rows), 2)
            if bits == every:
                self._add(place ^ 1, place)
            elif not bits:
                self._add(place, place ^ 1)
            else:
                classes.setdefault(bits, []).append(place)
                classes.setdefault(every ^ bits, []).append(place ^ 1)
        kinds = list(classes)
        members = [classes[bits] for bits in kinds]
        for group in members:  # a cycle through literals that are true together
            for a, b in zip(group, [*group[1:], group[0]], strict=True):
                if a != b:
                    self._add(a, b)
        above = [sum(1 << j for j, other in enumerate(kinds) if bits & ~other == 0 and other != bits) for bits in kinds]
        for i, uppers in enumerate(above):
            covered = 0
            for j in _places(uppers):
                covered |= above[j]
            for j in _places(uppers & ~covered):
                self._add(members[i][0], members[j][0])

    def _add(self, a: int, b: int) -> None:
        """An implication and its contraposition are one guess."""
        self._after.setdefault(a, set()).add(b)
        self._before.setdefault(b, set()).add(a)
        self._after.setdefault(b ^ 1, set()).add(a ^ 1)
        self._before.setdefault(a ^ 1, set()).add(b ^ 1)
        self.edges.add(min((a, b), (b ^ 1, a ^ 1)))
        self._clauses = None

    def _remove(self, a: int, b: int) -> None:
        self._dropped.add((a, b))
        self.edges.discard((a, b))
        self._clauses = None
        for x, y in ((a, b), (b ^ 1, a ^ 1)):
            self._after[x].discard(y)
            self._before[y].discard(x)

    def _add_again(self, a: int, b: int) -> None:
        edge = min((a, b), (b ^ 1, a ^ 1))
        if a == b or edge in self._dropped or edge in self.edges:
            return
        if any(b in false and a ^ 1 in false for false in self._false):
            self._dropped.add(edge)
        else:
            self._add(a, b)


def _places(mask: int) -> Iterator[int]:
    """The bits of a mask, from the least."""
    while mask:
        yield (mask & -mask).bit_length() - 1
        mask &= mask - 1
