"""Steps of a system extended by slots for choices (rewriting/frozen.py), on NumPy rows: which bind a slot, where nothing is settled."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from icore_kernel.explore.blocks import Block, PackedStore, Words
from icore_kernel.explore.layout import Layout, lay_out
from icore_kernel.explore.model import Exploration, IntegerRow
from icore_kernel.explore.step_rows import Rows, backward_rows, distinct, edges_of, gather


class ChoiceSteps:
    """Steps of the quotient of an extended system. Fields below `first` are the system's own; then come `slots` fields for choices, of
    which 0 means open."""

    def __init__(self, exploration: Exploration, start: IntegerRow, target: IntegerRow, first: int, slots: int) -> None:
        store = exploration.store
        assert isinstance(store, PackedStore)
        self._start, self._target = np.asarray(start), np.asarray(target)
        layout = lay_out(exploration.system.fields)
        words = np.concatenate(list(store.packed(1 << 16)))
        own = words & _mask(layout, range(first))
        bound = words & _mask(layout, range(first, first + slots))
        self._moves = self._changing(own)
        binds = self._changing(bound)
        sources = [source[~binds[begin:end]] for _, begin, end, source, _ in edges_of(self._start, self._target)]
        kept = np.ones(len(words), dtype=bool)
        kept[np.concatenate([np.zeros(0, dtype=np.int64), *sources])] = False
        self.open: list[int] = np.flatnonzero(kept).tolist()
        """The states all of whose steps bind a slot: those that can be normal forms of the system under some choice."""
        block = Block(layout, words)
        self._codes = [np.asarray(block.column(first + slot)) for slot in range(slots)]
        self._back: tuple[Rows, Rows] | None = None

    def moves(self, place: int) -> bool:
        """Whether a step changes the system's own state."""
        return bool(self._moves[place])

    def _changing(self, words: Words) -> Rows:
        parts = [np.any(words[source] != words[to], axis=1) for _, _, _, source, to in edges_of(self._start, self._target)]
        return np.concatenate([np.zeros(0, dtype=bool), *parts])

    def unsettled(self, total: Sequence[int]) -> int | None:
        """Under one total choice: the first reachable state from which no normal form is reachable, or None.

        A state is reached under a choice exactly when the slots that it has bound agree with it, and so it is with steps.
        """
        if self._back is None:
            self._back = backward_rows(self._start, self._target)
        agrees = np.ones(len(self._start) - 1, dtype=bool)
        for codes, code in zip(self._codes, total, strict=True):
            agrees &= (codes == 0) | (codes == code)
        settles = agrees.copy()
        for _, begin, end, source, to in edges_of(self._start, self._target):
            settles[source[self._moves[begin:end] & agrees[to]]] = False
        frontier = np.flatnonzero(settles)
        start, source = self._back
        while len(frontier):
            before = distinct(source[gather(start, frontier)[0]])[0]
            frontier = before[agrees[before] & ~settles[before]]
            settles[frontier] = True
        lost = np.flatnonzero(agrees & ~settles)
        return int(lost[0]) if len(lost) else None


def _mask(layout: Layout, fields: range) -> Words:
    mask = np.zeros(layout.words, dtype=np.uint64)
    for field in fields:
        place = layout.places[field]
        mask[place.word] |= np.uint64(place.mask)
    return mask
