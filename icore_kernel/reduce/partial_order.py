"""Partial order: of updates that commute, one order is enough to find every dead end and every state that an invariant asks about.

The steps taken in a state are a *stubborn set*: an enabled update; with each update that could happen there, all that it may
disturb or be disturbed by; with each that cannot, all that write what a false part of it reads. What is left out commutes with
what is taken, now and later. Conditions, from static footprints (what an update reads to be committable, to write and to be
legal; what it writes):

* a state without a step is one in the whole space too, and none is lost (the set has an enabled update);
* *visibility*: unless all steps are taken, none taken writes what the watchlist reads;
* *no ignoring* (for a breadth-first search): one of the steps taken leads to a state that is not expanded yet; else all are taken.

Footprints speak of feasible states, in which legality is a matter of what a step writes; where an infeasible one is met, the search
starts again without the reduction. Kept: whether a dead end, an illegal occurrence or a state with a visible value exists. Not
kept: counts, lengths of runs, everything about paths (termination, settlement, order stability, leadsto).
"""

from __future__ import annotations

from icore_kernel.explore.model import State, Watchlist
from icore_kernel.meaning.scalar import compile_terms
from icore_kernel.system import GroundUpdate, System
from icore_kernel.terms.node import Term, conjuncts
from icore_kernel.terms.term import TermBank


class Footprints:
    """Of every update, as bit masks over fields: what it writes, what it reads when it is judged and carried out."""

    def __init__(self, system: System, bank: TermBank) -> None:
        self.system = system
        parts = [part for clause in system.feasibility for part in conjuncts(clause.formula)]
        self.writes = [u.written for u in system.updates]
        self.reads = [_reads(u, parts) for u in system.updates]
        self.guards = [bank.conj([u.when, u.requires]) for u in system.updates]
        count = len(system.updates)
        self.disturbed = [0] * count
        """For each update a mask over updates: those that it may disturb, or that may disturb it."""
        for a in range(count):
            for b in range(a + 1, count):
                crossed = self.writes[a] & (self.reads[b] | self.writes[b]) or self.writes[b] & (self.reads[a] | self.writes[a])
                # Two updates that are never possible in one state need not commute.
                if crossed and not (self.guards[a].reads & self.guards[b].reads and bank.and_(self.guards[a], self.guards[b]).is_false):
                    self.disturbed[a] |= 1 << b
                    self.disturbed[b] |= 1 << a
        writers: dict[int, int] = {}
        for number, mask in enumerate(self.writes):
            for index in places(mask):
                writers[index] = writers.get(index, 0) | 1 << number
        self._writers = writers

    def writers(self, reads: int) -> int:
        """The updates that write one of these fields."""
        found = 0
        for index in places(reads):
            found |= self._writers.get(index, 0)
        return found


class Ample:
    """Chooses the steps to take in a state. `cut` counts those that were left out."""

    def __init__(self, footprints: Footprints, watchlist: Watchlist) -> None:
        self.footprints = footprints
        self.cut = 0
        seen = 0
        for term in (*watchlist.looked, *watchlist.measured):
            seen |= term.reads
        self.visible = sum(1 << number for number, writes in enumerate(footprints.writes) if writes & seen)
        self._parts: list[tuple[Term, ...]] = []
        for update in footprints.system.updates:
            demands = (update.when, update.requires, update.defined)
            self._parts.append(tuple(dict.fromkeys(part for demand in demands for part in conjuncts(demand))))
        self._demands = [compile_terms(parts) if parts else None for parts in self._parts]
        self._enablers: dict[tuple[int, int], int] = {}

    def choose(self, state: State, steps: tuple[int, ...]) -> frozenset[int] | None:
        """A proper part of the productive steps that stands for all of them; None where there is none."""
        every = sum(1 << number for number in steps)
        best = every
        for number in steps:
            if self.visible >> number & 1:
                continue
            found = self._closed(number, state, every, best.bit_count())
            if found is not None and found.bit_count() < best.bit_count():
                best = found
                if best.bit_count() == 1:
                    break
        return None if best == every else frozenset(number for number in steps if best >> number & 1)

    def _closed(self, start: int, state: State, every: int, most: int) -> int | None:
        """The steps of the stubborn set around one of them; None where it has a visible one, or `most` and more."""
        inside = 1 << start
        open_ones = [start]
        while open_ones:
            number = open_ones.pop()
            happens = every >> number & 1
            more = self.footprints.disturbed[number] if happens else self._enabling(number, state)
            fresh = more & ~inside
            inside |= fresh
            steps = inside & every
            if steps & self.visible or steps.bit_count() >= most:
                return None
            open_ones.extend(places(fresh))
        return inside & every

    def _enabling(self, number: int, state: State) -> int:
        """The updates of which one must come before this one can happen productively: they write what a false part of it reads.

        Where no part is false it is illegal here, or changes nothing: then all that write anything it reads or writes.
        """
        demands = self._demands[number]
        place = -1
        if demands is not None:
            values = demands(state)
            place = next((i for i, value in enumerate(values) if not value), -1)
        key = (number, place)
        found = self._enablers.get(key)
        if found is None:
            footprints = self.footprints
            if place >= 0:
                found = footprints.writers(self._parts[number][place].reads)
            else:
                found = footprints.writers(footprints.reads[number] | footprints.writes[number])
            self._enablers[key] = found
        return found


def _reads(update: GroundUpdate, parts: list[Term]) -> int:
    mask, written = update.reads, update.written
    for clause in (*update.before, *update.after):
        mask |= clause.formula.reads
    for part in parts:
        if part.reads & written:
            mask |= part.reads
    return mask


def places(mask: int) -> list[int]:
    """The bits of a mask, from the least."""
    found: list[int] = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found
