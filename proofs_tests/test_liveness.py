"""Fair runs that never meet a goal, against a naive search, and each escape against A.7's fairness itself."""

from __future__ import annotations

from random import Random

import pytest
from rewriting_lab import Edges, in_numpy, in_rows, random_edges

from icore_kernel.explore import step_rows
from icore_kernel.rewriting.liveness import Demands, Escape, Fairness, each, escape

UPDATES = 5


def naive(edges: Edges, goal: bytearray, starts: list[int], demands: Demands) -> bool:
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
    if any(all(not demands.of[u] for u, _ in step[s]) for s in region):
        return True
    states = sorted(region)
    for bits in range(1, 1 << len(states)):
        chosen = {s for i, s in enumerate(states) if bits >> i & 1}
        if len(chosen) > 1 and _connected(step, chosen) and _fair(step, chosen, demands):
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


def _fair(step: list[list[tuple[int, int]]], chosen: set[int], demands: Demands) -> bool:
    met = {d for s in chosen for u, t in step[s] if t in chosen for d in demands.of[u]}
    enabled = [{d for u, _ in step[s] for d in demands.of[u]} for s in chosen]
    return _kept(demands, met, enabled)


def _kept(demands: Demands, met: set[int], enabled: list[set[int]]) -> bool:
    """A.7: no weak demand is made in every state that repeats, no strong one in any of them, and not met."""
    for demand, kind in enumerate(demands.kinds):
        asked = [demand in here for here in enabled]
        if demand not in met and (all(asked) if kind is Fairness.WEAK else any(asked)):
            return False
    return True


def check(edges: Edges, goal: bytearray, starts: list[int], demands: Demands, found: Escape) -> None:
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
        assert not any(demands.of[u] for u, _ in step[state])
        return
    visited, taken = set(), set()
    for update, target in found.cycle:
        visited.add(state)
        taken.add(update)
        assert (update, target) in step[state]
        assert not goal[target]
        state = target
    assert state == found.state
    met = {d for u in taken for d in demands.of[u]}
    assert _kept(demands, met, [{d for u, _ in step[s] for d in demands.of[u]} for s in visited])


def random_demands(random: Random) -> Demands:
    """Every update an occurrence of its own, or a few that share their demands, with one of which an update may meet two."""
    kinds = [Fairness.UNFAIR, Fairness.WEAK, Fairness.WEAK, Fairness.STRONG]
    if random.random() < 0.5:
        return each([random.choice(kinds) for _ in range(UPDATES)])
    of = tuple(tuple(sorted(random.sample(range(3), random.choice([0, 1, 1, 2])))) for _ in range(UPDATES))
    return Demands(tuple(random.choice(kinds[1:]) for _ in range(3)), of)


@pytest.mark.parametrize("engine", ["plain", "numpy", "native"])
@pytest.mark.parametrize("block", range(3))
def test_a_naive_search_agrees(engine: str, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fifteen hundred systems for each engine, with unfair, weakly and strongly fair updates."""
    made = in_rows if engine == "plain" else in_numpy
    if engine == "numpy":
        monkeypatch.setattr(step_rows, "native", lambda: None)
    found_some = found_none = cycles = 0
    for seed in range(500 * block, 500 * (block + 1)):
        random = Random(seed)
        edges = random_edges(random, cyclic=True, most=7, updates=UPDATES)
        fairness = random_demands(random)
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
    weak = escape(graph, goal, [0], each([Fairness.WEAK] * 3))
    assert weak is not None
    assert sorted(weak.cycle) == [(0, 1), (1, 0)]
    assert escape(graph, goal, [0], each([Fairness.WEAK, Fairness.WEAK, Fairness.STRONG])) is None


def test_a_run_may_end_where_only_the_environment_could_move() -> None:
    """0 -> 1 (goal) by the environment only: unfair, so the run may stay at 0; declared weakly fair, it may not."""
    edges: Edges = [[(0, 1)], []]
    _, graph = in_rows(edges)
    goal = bytearray([0, 1])
    assert escape(graph, goal, [0], each([Fairness.UNFAIR])) == Escape(0, (), 0)
    assert escape(graph, goal, [0], each([Fairness.WEAK])) is None


def test_outcomes_of_one_occurrence_need_not_each_be_taken() -> None:
    """0 <-> 1 by one outcome of an update, 0 -> 2 and 1 -> 2, the goal, by the other: both are always enabled. Fairness of each outcome
    forces the goal; fairness of the update is met by the first outcome alone."""
    edges: Edges = [[(0, 1), (1, 2)], [(0, 0), (1, 2)], []]
    _, graph = in_rows(edges)
    goal = bytearray([0, 0, 1])
    assert escape(graph, goal, [0], each([Fairness.WEAK] * 2)) is None
    found = escape(graph, goal, [0], Demands((Fairness.WEAK,), ((0,), (0,))))
    assert found is not None
    assert sorted(found.cycle) == [(0, 0), (0, 1)]
    assert escape(graph, goal, [0], Demands((Fairness.WEAK, Fairness.STRONG), ((0,), (0, 1)))) is None, "an outcome declared fair itself"


def test_the_stem_stays_outside_the_goal() -> None:
    """The shortest run to 3 passes the goal 1; the escape goes round it by 2."""
    edges: Edges = [[(0, 1), (1, 2)], [(0, 3)], [(1, 4)], [], [(1, 3)]]
    _, graph = in_rows(edges)
    found = escape(graph, bytearray([0, 1, 0, 0, 0]), [0], each([Fairness.WEAK] * 2))
    assert found == Escape(0, ((1, 2), (1, 4), (1, 3)), 3)
