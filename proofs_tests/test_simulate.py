"""Random runs: what they take is what the search takes, the seed decides them, and what they meet is told with its run."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies_systems import systems
from systems_by_hand import Draft, chains, counters

from icore_kernel.explore import judge, simulate
from icore_kernel.explore.model import LEGALITY, Audited, Coverage, Mode, Rules, Unaudited, Watchlist
from icore_kernel.explore.search import explore
from icore_kernel.explore.simulate import BOUND, Broken, Simulation
from icore_kernel.meaning.scalar import evaluate
from icore_kernel.runs import end_of
from icore_kernel.system import Clause, Kind, System
from icore_kernel.terms.term import Term

NOTHING = Watchlist()


def run(
    system: System,
    runs: int = 10,
    seed: int = 0,
    watchlist: Watchlist = NOTHING,
    ends: tuple[tuple[str, Term], ...] = (),
    rules: Rules | None = None,
    mode: Mode | None = None,
) -> Simulation:
    rules, mode = rules or Rules(), mode or Audited()
    return simulate.simulate(system, runs, seed, watchlist, ends, "dead end", rules, mode)


# ---- against the search -------------------------------------------------------------------------------------------


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(systems(), st.integers(0, 1000), st.sampled_from([Audited(), Unaudited()]))
def test_random_runs_stay_in_the_reachable_states_and_break_only_what_the_search_finds_broken(
    pair: tuple[System, Watchlist], seed: int, mode: Mode
) -> None:
    system, watchlist = pair
    whole = explore(system, watchlist, mode=mode)
    found = run(system, 20, seed, watchlist, rules=Rules(max_depth=30), mode=mode)
    if whole.states == 0:
        assert (found.runs, found.stopped) == (0, "no initial state was found")
        return
    reachable = {whole.store.state(number) for number in range(whole.states)}
    assert found.stopped is None
    assert (found.runs, sum(found.endings.values())) == (20, 20)
    assert found.states <= whole.states
    assert found.steps == sum(covered.committed for covered in found.coverage)
    for taken, covered in zip(found.coverage, whole.coverage, strict=True):
        assert (taken.enabled > 0) <= (covered.enabled > 0)
        assert (taken.committable > 0) <= (covered.committable > 0)
        assert (taken.committed > 0) <= (covered.committed > 0)
    violated = {(v.schema, v.label) for v in whole.violations}
    for broken in found.broken:
        assert_borne_out(system, watchlist, mode, broken)
        assert end_of(system, broken.path) in reachable
        if broken.update is not None:
            assert (system.updates[broken.update].schema, broken.label) in violated
        else:
            assert whole.checks[broken.name].count > 0


def assert_borne_out(system: System, watchlist: Watchlist, mode: Mode, broken: Broken) -> None:
    """Every step commits and changes something; the last state, or the occurrence after it, is what it is said to be."""
    state = broken.path.initial
    assert evaluate(system.initially, state)
    for index in broken.path.updates:
        after = judge.committed(system, mode, index, state)
        assert after is not None
        assert after != state
        state = after
    if broken.update is None:
        assert not evaluate(dict(watchlist.checks)[broken.name], state)
    else:
        assert broken.name == LEGALITY
        labels = [failing.clause.label for failing in judge.failing(system, system.updates[broken.update], state)]
        assert broken.label in labels


# ---- by hand ------------------------------------------------------------------------------------------------------


def test_counters_always_run_to_their_end() -> None:
    """Two counters of three values: four steps whatever the order, five states a run; each counter steps twice a run."""
    found = run(counters(2, 3), runs=7)
    assert (found.runs, found.steps, found.longest, found.endings) == (7, 28, 4, {"dead end": 7})
    assert [covered.committed for covered in found.coverage] == [14, 14]
    assert 5 <= found.states <= 9


def test_how_runs_end_is_told_in_the_order_of_how_often() -> None:
    """One chain of one item, one agent: assigned, closed. An end is met before what could follow; else nothing follows."""
    system = chains(1, 1, 1)
    draft = Draft((0, 3), (0, 1))
    closed, held = ("Accept", draft.is_(3)), ("Stuck", draft.is_(2))
    assert run(system, 5, ends=(closed,)).endings == {"Accept": 5}
    assert run(system, 5, ends=(closed, held)).endings == {"Stuck": 5}
    assert run(system, 5).endings == {"dead end": 5}
    bounded = run(system, 5, rules=Rules(max_depth=1))
    assert (bounded.endings, bounded.length, bounded.longest) == ({BOUND: 5}, 1, 1)
    assert run(system, 5, rules=Rules(max_depth=0)).endings == {BOUND: 5}


def test_the_seed_decides_and_each_run_has_its_own_chance() -> None:
    system = chains(3, 2, 2)
    first, again, other = (run(system, 30, seed) for seed in (5, 5, 6))
    assert replace(first, seconds=0.0) == replace(again, seconds=0.0)
    assert [c.committed for c in first.coverage] != [c.committed for c in other.coverage]
    fewer = run(system, 29, 5)
    last = run(system, 30, 5)
    assert fewer.steps < last.steps == fewer.steps + last.steps // 30, "every run has the same length here"


def test_every_productive_step_has_the_same_chance() -> None:
    """From 0 to 1, 2 or 3, and 3 twice as likely, by two updates: of 4000 runs about 1000, 1000, 2000 (within six deviations)."""
    draft = Draft((0, 3))
    system = draft.system([draft.move("a", 0, 1), draft.move("b", 0, 2), draft.move("c", 0, 3), draft.move("d", 0, 3)])
    found = run(system, 4000)
    taken = [covered.committed for covered in found.coverage]
    assert sum(taken) == 4000
    assert all(abs(count - 1000) < 6 * (4000 * 0.25 * 0.75) ** 0.5 for count in taken)


def test_a_stutter_is_never_taken() -> None:
    draft = Draft((0, 1))
    found = run(draft.system([draft.move("stay", 0, 0), draft.move("go", 0, 1)]), 3)
    assert found.coverage == (Coverage(3, 3, 0), Coverage(3, 3, 3))


def test_a_broken_check_comes_with_the_shortest_of_the_runs_to_it() -> None:
    """0 -> 1 -> 3 and 0 -> 2 -> 1 -> 3, where 3 is wrong: in every run once; the shorter way is two steps."""
    draft = Draft((0, 3))
    system = draft.system([draft.move("a", 0, 1), draft.move("b", 0, 2), draft.move("c", 2, 1), draft.move("d", 1, 3)])
    watchlist = Watchlist(checks=(("not three", draft.bank.not_(draft.is_(3))),))
    (broken,) = run(system, 20, watchlist=watchlist).broken
    assert (broken.name, broken.path.updates, broken.times, broken.update) == ("not three", (0, 3), 20, None)


def test_an_illegal_occurrence_is_told_and_does_not_commit() -> None:
    """`bad` breaks feasibility, `out` leaves the domain; the environment's `spoil` commits although it is illegal."""
    draft = Draft((0, 3))
    feasible = Clause("A.4(1)", draft.bank.lt(draft.x(), draft.n(2)))
    bad, spoil = draft.move("bad", 0, 2), draft.move("spoil", 1, 3, kind=Kind.ENVIRONMENT)
    out = draft.update("out", draft.is_(0), (0, draft.bank.add(draft.x(), draft.n(4))))
    slip = draft.move("slip", 0, 2, kind=Kind.FAULT, fault="slip")
    system = draft.system([bad, draft.move("go", 0, 1), spoil, out, slip], feasibility=(feasible,))
    found = run(system, 4)
    assert {(b.name, b.update, b.label, b.path.updates, b.times) for b in found.broken} == {
        (LEGALITY, 0, "A.4(1)", (), 4), (LEGALITY, 3, "range", (), 4), (LEGALITY, 2, "A.4(1)", (1,), 4),
    }  # fmt: skip
    assert [covered.committed for covered in found.coverage] == [0, 4, 4, 0, 0], "the fault is refused, and that is right"
    unaudited = run(system, 50, mode=Unaudited())
    assert unaudited.coverage[0].committed > 0
    assert unaudited.coverage[4].committed > 0
    assert [b.label for b in unaudited.broken] == ["range"]


def test_initial_states_are_drawn_from_all_of_them() -> None:
    draft = Draft((0, 3), (0, 1))
    odd = draft.bank.or_(draft.is_(1), draft.is_(3))
    system = draft.system([draft.tick(1)], free=(0,), initially=odd)
    found = run(system, 40)
    assert (found.states, found.steps) == (4, 40)
    wide = Draft((0, 2**20))
    rare = wide.system([], free=(0,), initially=wide.bank.lt(wide.x(), wide.n(2**16)))
    drawn = run(rare, 20)
    assert drawn.runs == 20
    assert drawn.states > 10
    assert run(wide.system([], free=(0,), initially=wide.bank.false), 3).stopped == "no initial state was found"


def test_runs_stop_where_a_rule_says_so() -> None:
    assert run(counters(2, 3), rules=Rules(timeout=1e-9)).stopped == "timeout 1e-09 s"
    asked = iter([False] * 5)
    stopped = run(counters(2, 3), rules=Rules(interrupted=lambda: next(asked, True)))
    assert (stopped.stopped, stopped.runs < 10) == ("interrupted", True)


def test_states_beyond_those_remembered_are_said_to_be_more(monkeypatch: pytest.MonkeyPatch) -> None:
    system = counters(3, 4)
    few = run(system, 50)
    assert not few.more
    monkeypatch.setattr(simulate, "MOST_KEPT", 10)
    many = run(system, 50)
    assert (many.states, many.more) == (10, True)
    assert replace(many, states=few.states, more=False, seconds=0.0) == replace(few, seconds=0.0)
