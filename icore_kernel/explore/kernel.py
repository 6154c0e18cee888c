"""From a block of packed states to blocks of packed successors, in NumPy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from icore_kernel.explore.blocks import Block, Rows, Words, codes
from icore_kernel.explore.judge import Role
from icore_kernel.explore.layout import Layout
from icore_kernel.meaning.vector import evaluate_block
from icore_kernel.system import GroundUpdate, System
from icore_kernel.terms.term import Op, Term


@dataclass(slots=True)
class Offer:
    """What one update does in a block, before any judgement.

    `rows` (ascending, shape (m,)) are the states with a candidate successor, `successors` (shape (m, k)) those, row by
    row. `enabled` counts the states where `when` holds, `committable` those where `requires` holds too. `undefined`
    are committable rows whose write leaves its domain; `undefined_attempts` counts attempts, let pass, that do.
    """

    update: int
    enabled: int
    committable: int
    rows: Rows
    successors: Words
    undefined: Rows
    undefined_attempts: int = 0


_NONE: Rows = np.zeros(0, dtype=np.intp)


class _Writes:
    """The writes of one update as masks (constants) and shifted columns (the rest)."""

    def __init__(self, layout: Layout, update: GroundUpdate) -> None:
        self.keep = layout.outside(write.field.index for write in update.writes)
        self.put = [0] * layout.words
        self.terms: list[Term] = []
        self.targets: list[int] = []
        for write in update.writes:
            place = layout.places[write.field.index]
            if write.value.op is Op.CONST:
                # Of a write outside the domain only the width is kept: such rows are dropped as undefined.
                self.put[place.word] |= ((int(write.value.value) - place.lo) << place.shift) & place.mask
            elif place.width:
                self.terms.append(write.value)
                self.targets.append(write.field.index)
        self.touched = [word for word in range(layout.words) if self.keep[word] != 2**64 - 1]
        self.layout = layout

    def successors(self, before: Block) -> Words:
        if self.layout.words == 1:
            words = (before.words & np.uint64(self.keep[0])) | np.uint64(self.put[0])
        else:
            words = before.words.copy()
            for word in self.touched:
                words[:, word] &= np.uint64(self.keep[word])
                words[:, word] |= np.uint64(self.put[word])
        if self.terms:
            for index, values in zip(self.targets, evaluate_block(self.terms, before.column, len(before)), strict=True):
                place = self.layout.places[index]
                words[:, place.word] |= codes(values, place.lo) << np.uint64(place.shift)
        return words


class VectorKernel:
    """Guards by the vector meaning on the whole block; writes on the rows where they happen."""

    def __init__(self, system: System, layout: Layout, roles: Sequence[Role]) -> None:
        self._updates = system.updates
        self._roles = roles
        self._moving = [number for number, part in enumerate(roles) if part.occurs]
        self._when = [system.updates[number].when for number in self._moving]
        self._demanding = [number for number in self._moving if not system.updates[number].requires.is_true]
        self._requires = [system.updates[number].requires for number in self._demanding]
        self._writes = {number: _Writes(layout, system.updates[number]) for number in self._moving}

    def expand(self, block: Block) -> Iterator[Offer]:
        """The offers of the updates enabled somewhere in the block, by ascending update index. Attempts are candidates
        only where their role lets them pass."""
        values = evaluate_block([*self._when, *self._requires], block.column, len(block))
        required = dict(zip(self._demanding, values[len(self._when) :], strict=True))
        for number, when in zip(self._moving, values, strict=False):
            rows = np.flatnonzero(when)
            if not len(rows):
                continue
            enabled = len(rows)
            demand = required.get(number)
            wanted = None if demand is None else demand[rows]
            committable = enabled if wanted is None else int(np.count_nonzero(wanted))
            if wanted is not None and not self._roles[number].attempts_pass:
                rows, wanted = rows[wanted], None
            undefined, attempts = _NONE, 0
            before = block.take(rows)
            defined_term = self._updates[number].defined
            if not defined_term.is_true:
                (defined,) = evaluate_block([defined_term], before.column, len(before))
                if not defined.all():
                    lost = ~defined if wanted is None else ~defined & wanted
                    undefined = rows[lost]
                    attempts = int(np.count_nonzero(~defined)) - len(undefined)
                    rows = rows[defined]
                    before = block.take(rows)
            yield Offer(number, enabled, committable, rows, self._writes[number].successors(before), undefined, attempts)
