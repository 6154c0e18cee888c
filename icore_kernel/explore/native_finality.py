"""Finality after a native search: the shortest run that passes a final state and then changes an outcome.

Breadth-first over the states at or after a final one, distances counted from the initial states. It takes the steps of those states
once more, in the order in which the search in plain Python does, and finds the same run.
"""

from __future__ import annotations

from array import array
from itertools import chain, repeat
from typing import TYPE_CHECKING

from icore_kernel.explore import _kernel
from icore_kernel.explore.model import FinalityBreak, Path

if TYPE_CHECKING:
    from icore_kernel.explore.native import NativeSearch

_NOBODY = 2**32 - 1
_BLOCK = 4 * _kernel.BLOCK
"""Bytes of the numbers of one block of states."""


def finality(search: NativeSearch) -> FinalityBreak | None:
    """The break, if there is one, of a search that found a final state."""
    total = sum(search.levels)
    search.clock.take(5 * total)
    read = 0
    for clause in search.watchlist.outcomes:
        read |= clause.formula.reads
    touching = bytes(any(read >> write.field.index & 1 for write in update.writes) for update in search.system.updates)
    came = array("I", b"\xff" * (4 * total))  # where a state, itself not final, was first reached from after a final one
    marked = bytearray(total)
    waiting, begin = b"", 0
    for depth, size in enumerate(chain(search.levels, repeat(0))):
        # A state may have arrived and be of this level as well: it counts once, where it stands first.
        frontier = _kernel.finals(search.search, waiting, begin, begin + size, marked)
        begin += size
        if not frontier and begin >= total:
            return None
        arrived: list[bytes] = []
        for place in range(0, len(frontier), _BLOCK):
            search.clock.check(total, search.tally.steps, len(frontier) // 4, depth)
            found, broken = _kernel.after(search.search, frontier[place : place + _BLOCK], touching, marked, came)
            if broken is not None:
                return _broken(search, came, *broken)
            arrived.append(found)
        waiting = b"".join(arrived)
    return None


def _broken(search: NativeSearch, came: array[int], number: int, update: int, changed: bytes) -> FinalityBreak:
    words = memoryview(changed).cast("Q")
    bits = search.tables.outcome_bits
    clauses = tuple(
        clause for clause, bit in zip(search.watchlist.outcomes, bits, strict=True) if words[bit // 64] >> (bit % 64) & 1
    )
    updates: list[int] = []
    while came[number] != _NOBODY:
        updates.append(search.store.step(came[number], number))
        number = came[number]
    first, rest = search.store.path(number)
    return FinalityBreak(Path(first, (*rest, *reversed(updates))), update, clauses)
