"""Finality after a native search: the shortest run that passes a final state and then changes an outcome.

Breadth-first over the states at or after a final one, distances counted from the initial states. It takes the steps of those states
once more, in the order in which the search in plain Python does, and finds the same run.
"""

from __future__ import annotations

from itertools import chain, repeat
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from icore_kernel.explore import _kernel
from icore_kernel.explore.model import FinalityBreak, Path
from icore_kernel.explore.native_tables import FINAL, OUTCOMES

if TYPE_CHECKING:
    from icore_kernel.explore.native import NativeSearch

Numbers = NDArray[np.uint32]
_NOBODY = 2**32 - 1


def finality(search: NativeSearch) -> FinalityBreak | None:
    """The break, if there is one, of a search that found a final state."""
    return _After(search).run()


class _After:
    """`came[s]`: the state from which s, itself not final, was first reached after a final one."""

    def __init__(self, search: NativeSearch) -> None:
        self.search = search
        self.total = sum(search.levels)
        search.clock.take(5 * self.total)
        self.came = np.full(self.total, _NOBODY, dtype=np.uint32)
        self.marked = np.zeros(self.total, dtype=bool)
        read = 0
        for clause in search.watchlist.outcomes:
            read |= clause.formula.reads
        touching = [any(read >> write.field.index & 1 for write in update.writes) for update in search.system.updates]
        self.touching = np.array(touching, dtype=bool)

    def run(self) -> FinalityBreak | None:
        frontier = np.zeros(0, dtype=np.uint32)
        begin = 0
        for depth, size in enumerate(chain(self.search.levels, repeat(0))):
            own = self._final(begin, begin + size)
            candidates = np.concatenate((frontier, own))
            # A state may have arrived and be of this level as well: it counts once, where it stands first.
            _, first = np.unique(candidates, return_index=True)
            candidates = candidates[np.sort(first)]
            frontier = candidates[~self.marked[candidates]]
            self.marked[frontier] = True
            begin += size
            if not len(frontier) and begin >= self.total:
                return None
            waiting: list[Numbers] = []
            for place in range(0, len(frontier), _kernel.BLOCK):
                self.search.clock.check(self.total, self.search.tally.steps, len(frontier), depth)
                found = self._expand(frontier[place : place + _kernel.BLOCK], waiting)
                if found is not None:
                    return found
            frontier = np.concatenate(waiting) if waiting else np.zeros(0, dtype=np.uint32)
        return None

    def _final(self, begin: int, end: int) -> Numbers:
        found: list[Numbers] = [np.zeros(0, dtype=np.uint32)]
        for place in range(begin, end, _kernel.BLOCK):
            numbers = np.arange(place, min(end, place + _kernel.BLOCK), dtype=np.uint32)
            found.append(numbers[self._values(FINAL, numbers)[:, 0] != 0])
        return np.concatenate(found)

    def _values(self, which: int, numbers: Numbers) -> NDArray[np.uint64]:
        return np.frombuffer(_kernel.values(self.search.search, which, numbers), dtype=np.uint64).reshape(len(numbers), -1)

    def _expand(self, numbers: Numbers, waiting: list[Numbers]) -> FinalityBreak | None:
        rows, updates, targets = _kernel.steps(self.search.search, numbers)
        row = np.frombuffer(rows, dtype=np.uint32)
        update = np.frombuffer(updates, dtype=np.int32)
        target = np.frombuffer(targets, dtype=np.uint32)
        if not len(row):
            return None
        asked = np.flatnonzero(self.touching[update])
        if len(asked):
            before = self._values(OUTCOMES, numbers)
            after = np.concatenate(
                [self._values(OUTCOMES, target[asked[i : i + _kernel.BLOCK]]) for i in range(0, len(asked), _kernel.BLOCK)]
            )
            differs = np.flatnonzero((before[row[asked]] != after).any(axis=1))
            if len(differs):
                edge = int(asked[differs[0]])
                changed = before[row[edge]] ^ after[differs[0]]
                return self._broken(int(numbers[row[edge]]), int(update[edge]), changed)
        fresh = np.flatnonzero(~self.marked[target] & (self.came[target] == _NOBODY))
        if len(fresh):
            _, first = np.unique(target[fresh], return_index=True)
            edges = fresh[np.sort(first)]
            self.came[target[edges]] = numbers[row[edges]]
            waiting.append(target[edges])
        return None

    def _broken(self, number: int, update: int, changed: NDArray[np.uint64]) -> FinalityBreak:
        bits = self.search.tables.outcome_bits
        clauses = tuple(
            clause
            for clause, bit in zip(self.search.watchlist.outcomes, bits, strict=True)
            if int(changed[bit // 64]) >> (bit % 64) & 1
        )
        store = self.search.store
        updates: list[int] = []
        while self.came[number] != _NOBODY:
            source = int(self.came[number])
            updates.append(store.step(source, number))
            number = source
        first, rest = store.path(number)
        return FinalityBreak(Path(first, (*rest, *reversed(updates))), update, clauses)
