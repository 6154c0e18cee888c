"""Productive forks, counted by the two updates that make them: independent, joinable, not joinable, unclassified (appendix B).

Two updates are residual-sound independent in a state when each is a step after the other and both orders meet in one
state; residuals may be stutters, so they are looked up in the full step graph. Every other fork is a productive local critical
pair; it is joinable exactly when its sides reach a common bottom component.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field

from icore_kernel.explore.model import IntegerRow, StepGraph
from icore_kernel.rewriting.condense import MANY, Condensation
from icore_kernel.rewriting.graph import Quotient

MOST_BITS = 1 << 31
"""Bits of reach sets kept at once: the different ones times bottom components. Above it, pairs of which neither side sees one bottom
component only are `unclassified` unless they are seen to meet."""

Key = tuple[int, ...]
Keys = Callable[[int, int], Key]
Kinds = Callable[[int, int], int]


@dataclass(slots=True)
class Tally:
    """Counts of forks of one pair of updates. `first_open`: the first state with a fork that is not joinable, or -1."""

    independent: int = 0
    joinable: int = 0
    not_joinable: int = 0
    unclassified: int = 0
    first_open: int = -1

    @property
    def critical(self) -> int:
        return self.joinable + self.not_joinable + self.unclassified


@dataclass(slots=True)
class Forks:
    """by_pair[key]: the tally of all forks of two updates with this key (the caller's: the two schemas, say)."""

    by_pair: dict[Key, Tally] = field(default_factory=dict)

    def total(self) -> Tally:
        whole = Tally()
        for tally in self.by_pair.values():
            whole.independent += tally.independent
            whole.joinable += tally.joinable
            whole.not_joinable += tally.not_joinable
            whole.unclassified += tally.unclassified
            if tally.first_open >= 0 and (whole.first_open < 0 or tally.first_open < whole.first_open):
                whole.first_open = tally.first_open
        return whole


def unknown(a: int, b: int) -> int:
    """Nothing is known of two updates beforehand: every fork of theirs is looked up (commute.Pair.OPEN)."""
    return 0


def count_forks(
    full: StepGraph, graph: Quotient, found: Condensation, key: Keys, kind: Kinds = unknown, most_bits: int = MOST_BITS
) -> Forks:
    """Every fork of every state once. `key(a, b)`, a < b, says under what to count forks of two ground updates; `full` has the
    stutters too. `kind(a, b)` is a commute.Pair that holds wherever both are productive: it spares look-ups and changes no count."""
    if not graph.plain:
        from icore_kernel.explore import pairs

        reached = pairs.reach(graph.start, graph.target, found.component, found.size, found.one_bottom, most_bits)
        rows = graph.start, graph.update, graph.target
        counts = pairs.count_pairs(full, rows, found.component, found.one_bottom, reached, key, kind)
        return Forks({pair: Tally(*counts[pair]) for pair in sorted(counts)})
    reach, partial = reach_sets(graph, found, most_bits)
    forks = Forks()
    start, update, target = graph.start, graph.update, graph.target
    component = found.component
    keys: dict[tuple[int, int], Tally] = {}
    for state in range(graph.states):
        begin, end = start[state], start[state + 1]
        for i in range(begin, end):
            for j in range(i + 1, end):
                t, v = target[i], target[j]
                a, b = update[i], update[j]
                tally = keys.get((a, b))
                if tally is None:
                    tally = keys[a, b] = forks.by_pair.setdefault(key(a, b), Tally())
                if _independent(full, t, v, a, b):
                    tally.independent += 1
                elif t == v:
                    tally.joinable += 1
                else:
                    _classify(tally, state, component[t], component[v], found, reach, partial)
    forks.by_pair = {pair: forks.by_pair[pair] for pair in sorted(forks.by_pair)}
    return forks


def _independent(full: StepGraph, t: int, v: int, a: int, b: int) -> bool:
    over = step(full, t, b)
    return over >= 0 and over == step(full, v, a)


def step(full: StepGraph, state: int, wanted: int) -> int:
    """Where update `wanted` leads from a state, or -1. Rows are in the order of updates."""
    row: IntegerRow = full.update
    begin, end = int(full.start[state]), int(full.start[state + 1])
    place = bisect_left(row, wanted, begin, end)
    return int(full.target[place]) if place < end and row[place] == wanted else -1


def _classify(tally: Tally, state: int, c: int, d: int, found: Condensation, reach: list[int], partial: bool) -> None:
    one, other = found.one_bottom[c], found.one_bottom[d]
    if one != MANY and other != MANY:
        joined, sure = one == other, True
    else:
        joined = reach[c] & reach[d] != 0
        # Above the limit a side that sees one bottom component only is exact where that one has a bit.
        sure = joined or not partial or (one != MANY and reach[c] != 0) or (other != MANY and reach[d] != 0)
    if not sure:
        tally.unclassified += 1
    elif joined:
        tally.joinable += 1
    else:
        tally.not_joinable += 1
        if tally.first_open < 0:
            tally.first_open = state


def reach_sets(graph: Quotient, found: Condensation, most_bits: int = MOST_BITS) -> tuple[list[int], bool]:
    """For every component the set of bottom components it reaches, as bits of an integer; and whether some have no bit, because the
    different sets would take more than `most_bits`. Those that are the only one a successor sees then have bits, if these fit."""
    bottoms = [c for c in range(found.count) if found.bottom[c]]
    reach = _reach(graph, found, bottoms)
    if all(k != MANY for k in found.one_bottom) or len(set(reach)) * len(bottoms) <= most_bits:
        return reach, False
    start, target, component = graph.start, graph.target, found.component
    singles: set[int] = set()
    for state in range(graph.states):
        if found.one_bottom[component[state]] == MANY:
            for at in range(start[state], start[state + 1]):
                sees = found.one_bottom[component[target[at]]]
                if sees != MANY:
                    singles.add(sees)
    reach = _reach(graph, found, sorted(singles))
    return (reach if len(set(reach)) * len(singles) <= most_bits else [0] * found.count), True


def _reach(graph: Quotient, found: Condensation, bottoms: list[int]) -> list[int]:
    """Equal sets are one integer, kept once."""
    start, target, component = graph.start, graph.target, found.component
    place = {c: i for i, c in enumerate(bottoms)}
    reach = [1 << place[c] if c in place else 0 for c in range(found.count)]
    known = {mask: mask for mask in reach}
    for state in sorted(range(graph.states), key=component.__getitem__):
        c = component[state]
        mask = reach[c]
        for at in range(start[state], start[state + 1]):
            mask |= reach[component[target[at]]]
        reach[c] = known.setdefault(mask, mask)
    return reach
