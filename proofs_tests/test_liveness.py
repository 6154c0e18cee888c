"""Fair runs that never meet a goal, against a naive search, and each escape against A.7's fairness itself."""

from __future__ import annotations

from random import Random

import pytest
from rewriting_lab import Edges, in_numpy, in_rows, random_edges

from icore_kernel.explore import passes
from icore_kernel.rewriting.liveness import Escape, Fairness, escape

UPDATES = 5


def naive(edges: Edges, goal: bytearray, starts: list[int], fairness: list[Fairness]) -> bool:
    """Whether some fair run from a start stays outside the goal for ever: every set of states is tried as what a run repeats.

    Of the runs that repeat exactly a set, one that takes every step inside it is the fairest.
    """
    step = [[(u, t) for u, t in out if t != s] for s, out in enumerate(edges)]
    region = {s for s in starts if not goal[s]}
    while True:
        wider = region | {t for s in region for _, t in step[s] if not goal[t]}
        if wider == region:
            break
        region = wider
    if any(all(fairness[u] is Fairness.UNFAIR for u, _ in step[s]) for s in region):
        return True
    states = sorted(region)
    for bits in range(1, 1 << len(states)):
        chosen = {s for i, s in enumerate(states) if bits >> i & 1}
        if len(chosen) > 1 and _connected(step, chosen) and _fair(step, chosen, fairness):
            return True
    return False


def _connected(step: list[list[tuple[int, int]]], chosen: set[int]) -> bool:
    for begin in chosen:
        seen = {begin}
        while True:
            wider = seen | {t for s in seen for _, t in step[s] if t in chosen}
            if wider == seen:
                break
            seen = wider
        if seen != chosen:
            return False
    return True


def _fair(step: list[list[tuple[int, int]]], chosen: set[int], fairness: list[Fairness]) -> bool:
    taken = {u for s in chosen for u, t in step[s] if t in chosen}
    enabled = [{u for u, _ in step[s]} for s in chosen]
    for update, kind in enumerate(fairness):
        if update in taken or kind is Fairness.UNFAIR:
            continue
        if kind is Fairness.WEAK and all(update in here for here in enabled):
            return False
        if kind is Fairness.STRONG and any(update in here for here in enabled):
            return False
    return True


def check(edges: Edges, goal: bytearray, starts: list[int], fairness: list[Fairness], found: Escape) -> None:
    """The escape is a run of the graph, outside the goal, from a start, and fair."""
    step = [[(u, t) for u, t in out if t != s] for s, out in enumerate(edges)]
    assert found.start in starts
    assert not goal[found.start]
    state = found.start
    for update, target in found.stem:
        assert (update, target) in step[state]
        assert not goal[target]
        state = target
    assert state == found.state
    if not found.cycle:
        assert all(fairness[u] is Fairness.UNFAIR for u, _ in step[state])
        return
    visited, taken = set(), set()
    for update, target in found.cycle:
        visited.add(state)
        taken.add(update)
        assert (update, target) in step[state]
        assert not goal[target]
        state = target
    assert state == found.state
    enabled = [{u for u, _ in step[s]} for s in visited]
    for update in set(range(UPDATES)) - taken:
        if fairness[update] is Fairness.WEAK:
            assert not all(update in here for here in enabled), "weakly fair, always enabled on the cycle, never taken"
        if fairness[update] is Fairness.STRONG:
            assert not any(update in here for here in enabled), "strongly fair, enabled on the cycle, never taken"


@pytest.mark.parametrize("engine", ["plain", "numpy", "native"])
@pytest.mark.parametrize("block", range(3))
def test_a_naive_search_agrees(engine: str, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fifteen hundred systems for each engine, with unfair, weakly and strongly fair updates."""
    made = in_rows if engine == "plain" else in_numpy
    if engine == "numpy":
        monkeypatch.setattr(passes, "native", lambda: None)
    found_some = found_none = cycles = 0
    for seed in range(500 * block, 500 * (block + 1)):
        random = Random(seed)
        edges = random_edges(random, cyclic=True, most=7, updates=UPDATES)
        fairness = [random.choice([Fairness.UNFAIR, Fairness.WEAK, Fairness.WEAK, Fairness.STRONG]) for _ in range(UPDATES)]
        goal = bytearray(random.random() < 0.25 for _ in edges)
        starts = [0] if seed % 2 else sorted(random.sample(range(len(edges)), random.randint(1, len(edges))))
        _, graph = made(edges)
        found = escape(graph, goal, starts, fairness)
        assert (found is not None) == naive(edges, goal, starts, fairness), seed
        if found is None:
            found_none += 1
            continue
        check(edges, goal, starts, fairness, found)
        found_some += 1
        cycles += bool(found.cycle)
    assert found_none > 30
    assert found_some > 200
    assert cycles > 30


def test_strong_fairness_is_stronger_than_weak() -> None:
    """0 -> 1 -> 0 for ever, and at 0 an update to the goal: enabled again and again, never without a break."""
    edges: Edges = [[(0, 1), (2, 2)], [(1, 0)], []]
    _, graph = in_rows(edges)
    goal = bytearray([0, 0, 1])
    weak = escape(graph, goal, [0], [Fairness.WEAK] * 3)
    assert weak is not None
    assert sorted(weak.cycle) == [(0, 1), (1, 0)]
    assert escape(graph, goal, [0], [Fairness.WEAK, Fairness.WEAK, Fairness.STRONG]) is None


def test_a_run_may_end_where_only_the_environment_could_move() -> None:
    """0 -> 1 (goal) by the environment only: unfair, so the run may stay at 0; declared weakly fair, it may not."""
    edges: Edges = [[(0, 1)], []]
    _, graph = in_rows(edges)
    goal = bytearray([0, 1])
    assert escape(graph, goal, [0], [Fairness.UNFAIR]) == Escape(0, (), 0)
    assert escape(graph, goal, [0], [Fairness.WEAK]) is None


def test_the_stem_stays_outside_the_goal() -> None:
    """The shortest run to 3 passes the goal 1; the escape goes round it by 2."""
    edges: Edges = [[(0, 1), (1, 2)], [(0, 3)], [(1, 4)], [], [(1, 3)]]
    _, graph = in_rows(edges)
    found = escape(graph, bytearray([0, 1, 0, 0, 0]), [0], [Fairness.WEAK] * 2)
    assert found == Escape(0, ((1, 2), (1, 4), (1, 3)), 3)
