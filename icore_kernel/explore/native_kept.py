"""Checkpoints of a search by the C kernel: its states with where each came from, and the row of all that it has counted."""

from __future__ import annotations

from base64 import b64decode, b64encode

import numpy as np

from icore_kernel.explore import _kernel
from icore_kernel.explore.blocks import Words
from icore_kernel.explore.checkpoint import Folder, Mark, Snapshot
from icore_kernel.explore.model import CheckpointError

_INFEASIBLE = np.uint64(32)
"""Beside each state stands one word more: the parent, and above it whether the state is infeasible."""

_PIECE = 2**18


class _States:
    """The first `total` states of a search, made into rows when they are asked for."""

    def __init__(self, search: object, words: int, total: int) -> None:
        self._search = search
        self._words = words
        self._total = total

    def __len__(self) -> int:
        return self._total

    def __getitem__(self, rows: slice, /) -> Words:
        begin, end, _ = rows.indices(self._total)
        end = max(begin, end)
        found = np.empty((end - begin, self._words + 1), dtype=np.uint64)
        for at in range(begin, end, _PIECE):
            until = min(end, at + _PIECE)
            own = found[at - begin : until - begin]
            own[:, :-1] = np.frombuffer(_kernel.states(self._search, at, until), dtype=np.uint64).reshape(-1, self._words)
            parents, infeasible = _kernel.origins(self._search, at, until)
            own[:, -1] = np.frombuffer(parents, dtype=np.uint32)
            own[:, -1] |= np.frombuffer(infeasible, dtype=np.uint8).astype(np.uint64) << _INFEASIBLE
        return found


class Kept:
    """The checkpoints of one search of the kernel, whose states have `words` words."""

    def __init__(self, folder: Folder, search: object, words: int) -> None:
        self._folder = folder
        self._search = search
        self._words = words
        self._mark: Mark | None = None

    def mark(self, levels: list[int]) -> None:
        """The search could go on from here. `levels`: the sizes of those that were begun."""
        total, *_, following = _kernel.totals(self._search)
        row = b64encode(_kernel.counted(self._search)).decode()
        self._mark = Mark(tuple(levels), following - sum(levels[:-1]), total - sum(levels), {"counted": row})
        if self._folder.due():
            self.write()

    def write(self) -> None:
        """The newest mark, on disk."""
        if self._mark is not None:
            self._folder.write(0, self._mark, [_States(self._search, self._words, self._mark.total)], [])

    def begun(self) -> list[int]:
        """Put back what is on disk, and give the sizes of the levels; empty for a search that begins. MemoryError where it does not fit."""
        begun: Snapshot | None = self._folder.begun()
        if begun is None or not begun.mark.levels:
            return []
        try:
            for at in range(0, len(begun.words), _PIECE):
                rows = begun.words[at : at + _PIECE]
                parents, infeasible = rows[:, -1].astype(np.uint32), (rows[:, -1] >> _INFEASIBLE).astype(np.uint8)
                if not _kernel.put(self._search, np.ascontiguousarray(rows[:, :-1]), parents, infeasible):
                    raise MemoryError
            _kernel.recount(self._search, b64decode(begun.mark.tally["counted"]))
        except ValueError as wrong:
            raise CheckpointError(f"{self._folder.path}: the checkpoint is damaged: {wrong}") from wrong
        self._mark = begun.mark
        return list(begun.mark.levels)
