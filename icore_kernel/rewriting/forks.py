"""Productive forks, counted by the two updates that make them: independent, joinable, not joinable, unclassified (appendix B).

Two updates are residual-sound independent in a state when each is a step after the other and both orders meet in one
state; residuals may be stutters, so they are looked up in the full step graph. Every other fork of two different targets
is a productive local critical pair; it is joinable exactly when its sides reach a common bottom component.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field

from icore_kernel.explore.model import IntegerRow, StepGraph
from icore_kernel.rewriting.condense import MANY, Condensation
from icore_kernel.rewriting.graph import Quotient

MOST_BITS = 1 << 31
"""Bits of reach sets kept at once: components times bottom components. Above it, undecided pairs are counted apart."""


@dataclass(slots=True)
class Tally:
    """Counts of forks of one pair of updates. `first_open`: the first state with a fork that is not joinable."""

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
    """by_pair[(a, b)], a <= b by the caller's numbering of updates (schemas, say)."""

    by_pair: dict[tuple[int, int], Tally] = field(default_factory=dict)

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


def count_forks(full: StepGraph, graph: Quotient, found: Condensation, group: Sequence[int]) -> Forks:
    """Every fork of every state once. `group[u]` is the group of ground update u; `full` has the stutters too."""
    reach = reach_sets(graph, found)
    forks = Forks()
    start, update, target = graph.start, graph.update, graph.target
    component = found.component
    for state in range(graph.states):
        begin, end = start[state], start[state + 1]
        for i in range(begin, end):
            for j in range(i + 1, end):
                t, v = target[i], target[j]
                a, b = update[i], update[j]
                first, second = group[a], group[b]
                pair = (first, second) if first <= second else (second, first)
                tally = forks.by_pair.get(pair)
                if tally is None:
                    tally = forks.by_pair[pair] = Tally()
                if _independent(full, t, v, a, b):
                    tally.independent += 1
                elif t == v:
                    tally.joinable += 1
                else:
                    _classify(tally, state, component[t], component[v], found, reach)
    return forks


def _independent(full: StepGraph, t: int, v: int, a: int, b: int) -> bool:
    over = step(full, t, b)
    return over >= 0 and over == step(full, v, a)


def step(full: StepGraph, state: int, wanted: int) -> int:
    """Where update `wanted` leads from a state, or -1. Rows are in the order of updates."""
    row: IntegerRow = full.update
    begin, end = full.start[state], full.start[state + 1]
    place = bisect_left(row, wanted, begin, end)  # type: ignore[arg-type]
    return full.target[place] if place < end and row[place] == wanted else -1


def _classify(tally: Tally, state: int, c: int, d: int, found: Condensation, reach: list[int] | None) -> None:
    one, other = found.one_bottom[c], found.one_bottom[d]
    if one != MANY and other != MANY:
        joined: bool | None = one == other
    else:
        joined = None if reach is None else reach[c] & reach[d] != 0
    if joined is None:
        tally.unclassified += 1
    elif joined:
        tally.joinable += 1
    else:
        tally.not_joinable += 1
        if tally.first_open < 0:
            tally.first_open = state


def reach_sets(graph: Quotient, found: Condensation) -> list[int] | None:
    """For every component the set of bottom components it reaches, as bits of an integer; None where that is too much to keep."""
    bottoms = [c for c in range(found.count) if found.bottom[c]]
    if len(bottoms) * found.count > MOST_BITS:
        return None
    place = {c: i for i, c in enumerate(bottoms)}
    reach = [1 << place[c] if found.bottom[c] else 0 for c in range(found.count)]
    order = sorted(range(graph.states), key=found.component.__getitem__)
    start, target, component = graph.start, graph.target, found.component
    for state in order:
        c = component[state]
        mask = reach[c]
        for at in range(start[state], start[state + 1]):
            mask |= reach[component[target[at]]]
        reach[c] = mask
    return reach
