"""The states of a block search by level, and shortest runs to them.

No parents are kept: a run is found backwards, level by level, by looking for states that agree with the successor
outside an update's writes, and asking the scalar meaning whether the update leads from one to the other. A run so
costs a pass over the levels before it, and nothing while searching; each of its steps is confirmed by the scalar meaning.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from icore_kernel.explore import judge
from icore_kernel.explore.blocks import Words
from icore_kernel.explore.layout import Layout
from icore_kernel.explore.model import Mode, Path, State
from icore_kernel.meaning.scalar import Together
from icore_kernel.system import System


class LevelStore:
    """`levels[d]`, shape (n, k): the states of depth d; state numbers count through the levels."""

    def __init__(self, system: System, mode: Mode, layout: Layout) -> None:
        self.levels: list[Words] = []
        self._system = system
        self._mode = mode
        self._layout = layout
        self._kept: list[Words] = [
            np.array(layout.outside(write.field.index for write in update.writes), dtype=np.uint64) for update in system.updates
        ]
        """Of each update, what it leaves as it is."""

    @cached_property
    def _feasible(self) -> Together:
        return judge.feasibility(self._system)

    @property
    def total(self) -> int:
        return sum(map(len, self.levels))

    def words(self, number: int) -> tuple[int, Words]:
        """The depth of a state and its words, shape (k,)."""
        depth = 0
        while number >= len(self.levels[depth]):
            number -= len(self.levels[depth])
            depth += 1
        return depth, self.levels[depth][number]

    def packed(self, length: int) -> Iterator[Words]:
        """All states in the order of their numbers, in blocks of up to `length`."""
        for level in self.levels:
            for begin in range(0, len(level), length):
                yield level[begin : begin + length]

    def state(self, number: int) -> State:
        return self._layout.unpack(self.words(number)[1].tolist())

    def path(self, number: int) -> Path:
        depth, target = self.words(number)
        return self.path_to(depth, target)

    def path_to(self, depth: int, target: Words) -> Path:
        updates: list[int] = []
        for before in reversed(self.levels[:depth]):
            row, update = self.predecessor(before, target)
            updates.append(update)
            target = before[row]
        return Path(self._layout.unpack(target.tolist()), tuple(reversed(updates)))

    def predecessor(self, states: Words, target: Words) -> tuple[int, int]:
        """The first (update, row), updates before rows, that commits from a row of `states` to `target`; returned as (row, update)."""
        wanted = self._layout.unpack(target.tolist())
        for update, keep in enumerate(self._kept):
            alike = (states[:, 0] & keep[0]) == (target[0] & keep[0])
            for word in range(1, self._layout.words):
                alike &= (states[:, word] & keep[word]) == (target[word] & keep[word])
            for row in np.flatnonzero(alike).tolist():
                state = self._layout.unpack(states[row].tolist())
                if judge.committed(self._system, self._mode, update, state, self._feasible) == wanted:
                    return row, update
        raise judge.LostStep(f"nothing leads to {wanted}")
