"""Explorations: every engine against the reference on random systems, counts worked out by hand, how a search stops."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from fractions import Fraction
from random import Random

import pytest
import reference
from explore_lab import BLOCKS, ENGINES, MODES, assert_agrees, assert_commits, both, climbing, depth_of, steps_of
from hypothesis import HealthCheck, given, settings
from strategies_systems import MOST, random_system, random_watchlist, systems
from systems_by_hand import Draft, chains, counters

from icore_kernel.explore import blocks, judge
from icore_kernel.explore.block_search import BlockSearch, explore_blocks
from icore_kernel.explore.layout import lay_out
from icore_kernel.explore.model import LEGALITY, Audited, Extent, Mode, Progress, Rules, Sighting, Watchlist, trace
from icore_kernel.explore.search import SMALL, Engine, explore
from icore_kernel.explore.tally import Clock
from icore_kernel.meaning.scalar import evaluate
from icore_kernel.runs import end_of, run_to
from icore_kernel.system import Kind, Measure, Ratio, System
from icore_kernel.verdict import Change, Step


@pytest.mark.parametrize("mode", MODES, ids=["audited", "unaudited", "two let through"])
@settings(max_examples=70, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(drawn=systems())
def test_both_engines_agree_with_the_reference(mode: Mode, drawn: tuple[System, Watchlist]) -> None:
    system, watchlist = drawn
    expected = reference.search(system, mode)
    rules = Rules(keep_graph=True)
    for engine in ENGINES:
        assert_agrees(system, watchlist, mode, explore(system, watchlist, rules, mode, engine), expected)
    small = explore_blocks(system, watchlist, rules, mode, Clock(rules), length=3)
    assert_agrees(system, watchlist, mode, small, expected)


def test_random_systems_reach_every_case() -> None:
    met: Counter[str] = Counter()
    for seed in range(120):
        random = Random(seed)
        system = random_system(random)
        watchlist = random_watchlist(system, random)
        found = reference.search(system, Audited())
        kinds = {update.schema: update.kind for update in system.updates}
        met["words"] += lay_out(system.fields).words > 1
        met["states"] += sum(map(len, found.levels)) >= 20
        met["deep"] += len(found.levels) >= 4
        met["refused"] += any(label.startswith("A.4") for _, label in found.refusals)
        met["attempts"] += any(label == "requires" for _, label in found.refusals)
        met["passed"] += bool(found.passed)
        met["range"] += any(label == "range" for _, label in found.violations)
        met["illegal"] += any(label != "range" for _, label in found.violations)
        met["world"] += any(kinds[schema] is Kind.ENVIRONMENT and label != "range" for schema, label in found.violations)
        met["quiet"] += bool(found.quiet)
        met["finality"] += reference.finality_length(watchlist, found) is not None
    assert {case for case, count in met.items() if count >= 8} == set(met), met


@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(drawn=systems())
def test_a_trace_is_a_shortest_run_of_committed_steps(drawn: tuple[System, Watchlist]) -> None:
    system, watchlist = drawn
    for engine in ENGINES:
        found = explore(system, watchlist, engine=engine)
        for number in range(min(found.states, 40)):
            path = trace(found, number)
            assert_commits(system, Audited(), path)
            assert end_of(system, path) == found.store.state(number)
            assert len(path.updates) == depth_of(found, number)


@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(drawn=systems())
def test_updates_proved_legal_need_no_test(drawn: tuple[System, Watchlist]) -> None:
    system, watchlist = drawn
    plain = explore(system, watchlist, engine=Engine.PYTHON)
    # Legal in all feasible states, by trying them all.
    bad = {
        number
        for number, update in enumerate(system.updates)
        for state in reference.initial(all_states_of(system))
        if all(evaluate(clause.formula, state) for clause in system.feasibility)
        and evaluate(update.when, state)
        and evaluate(update.requires, state)
        and evaluate(update.defined, state)
        and judge.failing(system, update, state)
    }
    proved = Rules(proved=frozenset(range(len(system.updates))) - bad)
    for engine in ENGINES:
        found = explore(system, watchlist, proved, engine=engine)
        assert (found.levels, found.steps, found.refusals, found.passed) == (plain.levels, plain.steps, plain.refusals, plain.passed)
        assert {(v.schema, v.label, v.count) for v in found.violations} == {(v.schema, v.label, v.count) for v in plain.violations}


def all_states_of(system: System) -> System:
    """The same fields, all free that can move."""
    free = tuple(field for field in system.fields if field.domain.size <= MOST)
    return System("All", "1", system.fields, system.initial, free, Draft((0, 1)).bank.true, ())


def test_an_exploration_is_the_same_when_repeated() -> None:
    system = chains(2, 2, 2)
    first, second = (explore(system, rules=Rules(keep_graph=True), engine=Engine.NUMPY) for _ in range(2))
    assert [first.store.state(n) for n in range(first.states)] == [second.store.state(n) for n in range(second.states)]
    assert steps_of(first) == steps_of(second)


# ---- counts computed by hand --------------------------------------------------------------------------------------


@both
def test_independent_counters_have_the_product_of_their_states(engine: Engine) -> None:
    found = explore(counters(3, 3), engine=engine)
    assert (found.states, found.steps, found.stutters, found.depth) == (27, 54, 0, 6)
    assert found.levels == (1, 3, 6, 7, 6, 3, 1)
    assert [c.committed for c in found.coverage] == [18, 18, 18]


@both
@pytest.mark.parametrize(("count", "length", "agents"), [(1, 3, 2), (2, 2, 1), (3, 2, 2)])
def test_chains_have_their_closed_form(engine: Engine, count: int, length: int, agents: int) -> None:
    k, t = length * (1 + agents) + 1, 2 * length * agents
    found = explore(chains(count, length, agents), engine=engine)
    assert (found.states, found.steps, found.depth) == (k**count, count * t * k ** (count - 1), 2 * length * count)
    assert found.violations == ()


def test_above_the_small_bound_the_search_goes_on_by_blocks() -> None:
    assert explore(counters(3, 3)).engine == "python"
    found = explore(chains(4, 2, 2))
    assert (found.engine, found.states, found.steps) == (BLOCKS.value, 2401, 4 * 8 * 343)
    assert found.states > SMALL


def test_many_candidates_for_one_initial_state_are_tried_by_blocks() -> None:
    draft = Draft((-100, 100), (0, 200))
    system = draft.system([], free=(0, 1), initially=draft.bank.and_(draft.is_(-7), draft.is_(9, 1)))
    found = explore(system)
    assert (found.engine, found.states, found.store.state(0)) == (BLOCKS.value, 1, (-7, 9))
    assert explore(system, engine=Engine.PYTHON).store.state(0) == (-7, 9)


def test_a_small_search_imports_no_numpy() -> None:
    script = (
        "import sys; from systems_by_hand import counters; from icore_kernel.explore.search import explore;"
        "found = explore(counters(2, 3)); print(found.states, 'numpy' in sys.modules)"
    )
    paths = [path for path in sys.path if path]
    run = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {paths!r}; {script}"], capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == ["9", "False"]


@both
def test_a_state_of_several_words(engine: Engine) -> None:
    # 40 fields of 5 values: 120 bits. Two of them move.
    draft = Draft(*[(0, 4)] * 40)
    found = explore(draft.system([draft.tick(0), draft.tick(39)]), engine=engine)
    assert (found.states, found.steps, found.depth) == (25, 40, 8)
    assert trace(found, 24).updates.count(1) == 4


def test_a_collision_of_keys_is_noticed_and_costs_a_new_start(monkeypatch: pytest.MonkeyPatch) -> None:
    # With multiplier 0 the first word does not enter the key of seed 0.
    monkeypatch.setattr(blocks, "_ODD", (0, *blocks._ODD[1:]))
    draft = Draft(*[(0, 4)] * 40)
    system, rules = draft.system([draft.tick(0), draft.tick(39)]), Rules()
    with pytest.raises(blocks.Collision):
        BlockSearch(system, Watchlist(), rules, Audited(), Clock(rules), seed=0).run()
    found = explore(system, engine=Engine.NUMPY)
    assert (found.states, found.steps, found.depth) == (25, 40, 8)


@both
def test_free_fields_range_over_their_domain_as_far_as_initially_says(engine: Engine) -> None:
    draft = Draft((0, 2), (-1, 1), (5, 5))
    system = draft.system([], (0, 0, 5), free=(0, 1), initially=draft.bank.lt(draft.x(0), draft.x(1)))
    found = explore(system, engine=engine)
    assert found.levels == (1,)
    assert found.store.state(0) == (0, 1, 5)
    none = explore(draft.system([], (0, 0, 5), free=(0, 1), initially=draft.bank.false), engine=engine)
    assert (none.states, none.levels, none.depth, none.stopped) == (0, (), 0, None)
    with pytest.raises(IndexError):
        trace(none, 0)


@both
def test_a_step_that_changes_nothing_is_a_stutter(engine: Engine) -> None:
    draft = Draft((0, 1))
    found = explore(draft.system([draft.move("go", 0, 1), draft.update("rest", draft.bank.true, (0, draft.x()))]), engine=engine)
    assert (found.states, found.steps, found.stutters) == (2, 3, 2)
    # A state with nothing but stutters has no productive step.
    assert (found.dead_ends.quiet, found.dead_ends.unended, found.dead_ends.first) == (1, 1, 1)


@both
def test_minimums_are_exact_fractions(engine: Engine) -> None:
    draft = Draft((0, 3))
    x, n, bank = draft.x(), draft.n, draft.bank
    # 1/4, 2/3, 3/2, 4/1 along the chain 0, 1, 2, 3.
    measure = Measure("q", Ratio(bank.add(x, n(1)), bank.sub(n(4), x)))
    found = explore(draft.system([draft.move("go", i, i + 1) for i in range(3)]), Watchlist(minimums=(measure,)), engine=engine)
    assert found.minimums == {"q": Extent(Fraction(1, 4), 0, Fraction(4), 3)}


# ---- stopping rules -----------------------------------------------------------------------------------------------


@both
def test_max_states_keeps_so_many_and_says_so(engine: Engine) -> None:
    system = counters(3, 3)
    stopped = explore(system, rules=Rules(max_states=11), engine=engine)
    assert (stopped.states, stopped.stopped) == (11, "max-states 11")
    assert stopped.graph is None
    exact = explore(system, rules=Rules(max_states=27), engine=engine)
    assert (exact.states, exact.stopped) == (27, None)
    assert explore(system, rules=Rules(max_states=0), engine=engine).stopped == "max-states 0"
    # 10 = 1 + 3 + 6: the bound falls between two levels.
    edge = explore(system, rules=Rules(max_states=10), engine=engine)
    assert (edge.states, edge.stopped) == (10, "max-states 10")


@both
def test_max_depth_checks_the_last_level_and_does_not_expand_it(engine: Engine) -> None:
    draft = Draft((0, 9))
    system = draft.system([draft.move("go", i, i + 1) for i in range(9)])
    watchlist = Watchlist(checks=(("small", draft.bank.lt(draft.x(), draft.n(3))),))
    found = explore(system, watchlist, Rules(max_depth=3), engine=engine)
    assert (found.states, found.steps, found.depth, found.stopped) == (4, 3, 3, "max-depth 3")
    assert found.checks["small"] == Sighting(1, 3)
    assert found.dead_ends.quiet == 0


@both
def test_a_timeout_stops_the_search(engine: Engine) -> None:
    found = explore(counters(3, 3), rules=Rules(timeout=0), engine=engine)
    assert found.stopped == "timeout 0 s"


@both
def test_stop_on_ends_at_the_first_violation_or_sighting(engine: Engine) -> None:
    draft, system = climbing()
    bank, x, n = draft.bank, draft.x(), draft.n
    watchlist = Watchlist(checks=(("low", bank.lt(x, n(3))),), seen=(("two", bank.eq(x, n(2))),))
    assert explore(system, watchlist, Rules(stop_on=frozenset({"low"})), engine=engine).stopped == "violated low"
    reached = explore(system, watchlist, Rules(stop_on=frozenset({"two"})), engine=engine)
    assert (reached.stopped, reached.depth) == ("reached two", 1)
    illegal = explore(system, watchlist, Rules(stop_on=frozenset({LEGALITY})), engine=engine)
    assert illegal.stopped == "violated legality"
    assert [(v.schema, depth_of(illegal, v.state)) for v in illegal.violations] == [("jump", 1)]


@both
def test_an_interrupted_search_ends_with_what_it_knows(engine: Engine) -> None:
    asked = 0

    def third_time() -> bool:
        nonlocal asked
        asked += 1
        return asked >= 3

    def pressed() -> bool:
        if third_time():
            raise KeyboardInterrupt
        return False

    for interrupted in (third_time, pressed):
        asked = 0
        found = explore(counters(5, 3), rules=Rules(interrupted=interrupted), engine=engine)
        assert found.stopped == "interrupted"
        assert 0 < found.states < 243


def test_long_work_reports_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter(range(10**6))
    monkeypatch.setattr("icore_kernel.explore.tally.time.monotonic", lambda: float(next(ticks)))
    told: list[Progress] = []
    explore(counters(3, 3), rules=Rules(progress=told.append), engine=Engine.NUMPY)
    assert [progress.depth for progress in told if progress.depth == 6]
    assert max(progress.states for progress in told) == 27


# ---- requests and runs --------------------------------------------------------------------------------------------


def test_an_id_used_twice_is_refused() -> None:
    draft = Draft((0, 1))
    with pytest.raises(ValueError, match="uses an id twice: a"):
        explore(draft.system([]), Watchlist(checks=(("a", draft.bank.true),), seen=(("a", draft.bank.true),)))


@both
def test_a_run_prints_free_fields_and_changes_only(engine: Engine) -> None:
    draft = Draft((0, 2), (0, 1))
    system = draft.system([draft.move("go", 0, 1), draft.move("go", 1, 2)], free=(1,), initially=draft.is_(1, 1))
    found = explore(system, engine=engine)
    run = run_to(found, 2)
    assert run.initial == (("x1", "1"),)
    assert run.steps == (Step("go", "ana", (Change("x0", "0", "1"),)), Step("go", "ana", (Change("x0", "1", "2"),)))
    assert run.offending is None
