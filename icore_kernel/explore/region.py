"""The first states of a search with the steps among them, for drawing: all of them, or as many as are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from icore_kernel.explore.model import Audited, Mode, Rules, State, Watchlist
from icore_kernel.explore.scalar_search import ScalarSearch
from icore_kernel.explore.tally import Clock
from icore_kernel.system import System

_AUDITED = Audited()
_NO_RULES = Rules()


@dataclass(frozen=True, slots=True)
class Region:
    """`states` in the order of discovery, `depth` of each; all steps of the first `expanded` of them, and those that are known
    of the next one, as (source, update, target). `cut`: why there are more states than these; None where there are not."""

    states: tuple[State, ...]
    depth: tuple[int, ...]
    expanded: int
    steps: tuple[tuple[int, int, int], ...]
    cut: str | None


def region(system: System, limit: int, rules: Rules = _NO_RULES, mode: Mode = _AUDITED) -> Region:
    """At most `limit` states, breadth-first."""
    bounded = replace(rules, max_states=limit if rules.max_states is None else min(limit, rules.max_states))
    search = ScalarSearch(system, Watchlist(), bounded, mode, Clock(bounded))
    cut = search.run().stopped
    states = search.memory.states
    expanded = len(search.start) - 1
    depth = tuple(level for level, count in enumerate(search.levels) for _ in range(count))
    return Region(tuple(states), depth, expanded, tuple(_steps(search, expanded)), cut)


def _steps(search: ScalarSearch, expanded: int) -> Iterator[tuple[int, int, int]]:
    for source in range(expanded):
        for place in range(search.start[source], search.start[source + 1]):
            yield source, search.step_update[place], search.step_target[place]
    for place in range(search.start[expanded], len(search.step_target)):
        yield expanded, search.step_update[place], search.step_target[place]
