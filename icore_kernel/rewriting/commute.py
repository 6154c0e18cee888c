"""What two ground updates do to each other, seen from their terms alone, before anything is explored.

COMMUTE: neither writes what the other reads or writes, so each stays committable with the same writes after the other, and
both orders meet. CLASH: one writes constants that switch the other off, so the residual never exists. OPEN: look.
Legality of the residual is the caller's: where every committable occurrence is legal it follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from icore_kernel.system import GroundUpdate
from icore_kernel.terms.node import Term
from icore_kernel.terms.table import Op
from icore_kernel.terms.term import TermBank, substitute


class Pair(IntEnum):
    OPEN = 0
    COMMUTE = 1
    CLASH = 2


class Footprints:
    """Read and write sets of updates as bit masks over fields, and what constant writes make of another's guard."""

    def __init__(self, updates: Sequence[GroundUpdate], bank: TermBank) -> None:
        self.updates = updates
        self.bank = bank
        self.writes = [u.written for u in updates]
        self.reads = [u.reads for u in updates]
        self._constants: dict[int, dict[int, Term]] = {}
        self._memos: dict[int, dict[Term, Term]] = {}

    def pair(self, a: int, b: int) -> Pair:
        if not self.writes[a] & (self.reads[b] | self.writes[b]) and not self.writes[b] & (self.reads[a] | self.writes[a]):
            return Pair.COMMUTE
        if self._switches_off(a, b) or self._switches_off(b, a):
            return Pair.CLASH
        return Pair.OPEN

    def _switches_off(self, a: int, b: int) -> bool:
        """Whether b can never be committed right after a, by a's constant writes."""
        constants = self._constants.get(a)
        if constants is None:
            constants = self._constants[a] = {w.field.index: w.value for w in self.updates[a].writes if w.value.op is Op.CONST}
        guard = self.updates[b].when
        memo = self._memos.setdefault(a, {})
        return any(
            part.reads & self.writes[a] and substitute(self.bank, part, constants, memo).is_false
            for whole in (guard, self.updates[b].requires)
            for part in (whole.args if whole.op is Op.AND else (whole,))
        )
