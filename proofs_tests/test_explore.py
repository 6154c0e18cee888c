"""Exploration: both engines against the reference on random systems, and against counts made by hand."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from fractions import Fraction
from random import Random

import pytest
import reference
from hypothesis import HealthCheck, given, settings
from strategies_systems import MOST, random_system, random_watchlist, systems
from systems_by_hand import Draft, chains, counters

from icore_kernel.explore import blocks, judge
from icore_kernel.explore.block_search import BlockSearch, explore_blocks
from icore_kernel.explore.layout import lay_out
from icore_kernel.explore.model import (
    LEGALITY,
    Audited,
    Exploration,
    Extent,
    Mode,
    Path,
    Phase,
    Progress,
    Rules,
    Sighting,
    Unaudited,
    Watchlist,
    trace,
)
from icore_kernel.explore.search import SMALL, Engine, explore, has_kernel
from icore_kernel.explore.tally import Clock
from icore_kernel.meaning.scalar import evaluate
from icore_kernel.runs import end_of, run_of_finality, run_of_violation, run_to
from icore_kernel.system import Clause, Kind, Measure, Ratio, System
from icore_kernel.verdict import Change, Step

BLOCKS = Engine.NATIVE if has_kernel() else Engine.NUMPY
ENGINES = tuple(dict.fromkeys((Engine.PYTHON, Engine.NUMPY, BLOCKS)))
MODES: tuple[Mode, ...] = (Audited(), Unaudited(), Unaudited(frozenset({"slip", "u1.attempt"})))
both = pytest.mark.parametrize("engine", ENGINES)


def depth_of(exploration: Exploration, number: int) -> int:
    return next(depth for depth in range(len(exploration.levels)) if number < sum(exploration.levels[: depth + 1]))


# ---- both engines and the reference agree on random systems -------------------------------------------------------


def assert_agrees(system: System, watchlist: Watchlist, mode: Mode, found: Exploration, expected: reference.Found) -> None:
    states = [state for level in expected.levels for state in level]
    depths = {state: depth for depth, level in enumerate(expected.levels) for state in level}
    assert found.stopped is None
    assert found.levels == tuple(map(len, expected.levels))
    assert (found.states, found.depth) == (len(states), max(0, len(expected.levels) - 1))
    assert found.steps == len(expected.steps)
    assert found.stutters == sum(before == after for before, _, after in expected.steps)
    assert {found.store.state(number) for number in range(found.states)} == set(states)
    for number, counts in enumerate(found.coverage):
        taken = sum(update == number for _, update, _ in expected.steps)
        assert (counts.enabled, counts.committable, counts.committed) == (expected.enabled[number], expected.committable[number], taken)
    assert found.refusals == dict(expected.refusals)
    assert found.passed == dict(expected.passed)
    assert {(v.schema, v.label): v.count for v in found.violations} == {key: len(those) for key, those in expected.violations.items()}
    for violation in found.violations:
        assert depth_of(found, violation.state) == min(expected.violations[violation.schema, violation.label])
        assert violation.label in [failing.clause.label for failing in violation.failing]
        assert system.updates[violation.update].schema == violation.schema
    for name, term in watchlist.checks:
        assert_sighting(found, found.checks[name], [depths[state] for state in states if not evaluate(term, state)])
    for name, term in watchlist.seen:
        assert_sighting(found, found.seen[name], [depths[state] for state in states if evaluate(term, state)])
    for name, (least, greatest) in reference.extremes(watchlist, expected).items():
        extent = found.minimums[name]
        ratio = next(measure.ratio for measure in watchlist.minimums if measure.name == name)
        assert (extent.least, extent.greatest) == (least, greatest)
        for value, at in ((least, extent.least_at), (greatest, extent.greatest_at)):
            assert at is not None
            having = [state for state in states if Fraction(evaluate(ratio.num, state), evaluate(ratio.den, state)) == value]
            assert found.store.state(at) in having
            assert depth_of(found, at) == min(depths[state] for state in having)
    unended = [state for state in expected.quiet if not any(evaluate(term, state) for term in watchlist.ends)]
    assert (found.dead_ends.quiet, found.dead_ends.unended) == (len(expected.quiet), len(unended))
    if unended:
        assert found.dead_ends.first is not None
        assert depth_of(found, found.dead_ends.first) == min(depths[state] for state in unended)
    else:
        assert found.dead_ends.first is None
    assert_finality(system, watchlist, mode, found, reference.finality_length(watchlist, expected))
    assert found.finality_checked is any(evaluate(term, state) for term in watchlist.final for state in states)
    assert found.graph is not None
    assert steps_of(found) == sorted(expected.steps)


def assert_sighting(found: Exploration, sighting: Sighting, depths: list[int]) -> None:
    assert sighting.count == len(depths)
    assert (None if sighting.first is None else depth_of(found, sighting.first)) == min(depths, default=None)


def assert_finality(system: System, watchlist: Watchlist, mode: Mode, found: Exploration, length: int | None) -> None:
    if found.finality is None:
        assert length is None
        return
    path, update, changed = found.finality.path, found.finality.update, found.finality.changed
    assert len(path.updates) + 1 == length
    assert_commits(system, mode, Path(path.initial, (*path.updates, update)))
    passed = [end_of(system, Path(path.initial, path.updates[:count])) for count in range(len(path.updates) + 1)]
    assert any(evaluate(term, state) for term in watchlist.final for state in passed)
    after = judge.successor(system.updates[update], passed[-1])
    assert changed == tuple(c for c in watchlist.outcomes if evaluate(c.formula, passed[-1]) != evaluate(c.formula, after))
    assert changed


def assert_commits(system: System, mode: Mode, path: Path) -> None:
    """Every step of the path commits, and it starts in an initial state."""
    assert path.initial in reference.initial(system)
    state = path.initial
    for index in path.updates:
        after = judge.committed(system, mode, index, state)
        assert after is not None
        state = after


def steps_of(found: Exploration) -> list[tuple[tuple[int, ...], int, tuple[int, ...]]]:
    graph = found.graph
    assert graph is not None
    assert len(graph.start) == found.states + 1
    state = [found.store.state(number) for number in range(found.states)]
    return sorted(
        (state[number], int(graph.update[place]), state[int(graph.target[place])])
        for number in range(found.states)
        for place in range(int(graph.start[number]), int(graph.start[number + 1]))
    )


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


# ---- legality -----------------------------------------------------------------------------------------------------


def climbing(kind: Kind = Kind.ORDINARY) -> tuple[Draft, System]:
    """x0 climbs 0..5 by one or by two; A.4(1) wants it at most 3."""
    draft = Draft((0, 5))
    bank, x, n = draft.bank, draft.x(), draft.n
    inc = draft.update("inc", bank.lt(x, n(5)), (0, bank.add(x, n(1))), kind=kind)
    jump = draft.update("jump", bank.lt(x, n(4)), (0, bank.add(x, n(2))))
    return draft, draft.system([inc, jump], feasibility=(Clause("A.4(1)", bank.le(x, n(3))),))


@both
def test_an_illegal_ordinary_update_is_a_violation_with_its_shortest_run(engine: Engine) -> None:
    _, system = climbing()
    found = explore(system, engine=engine)
    assert (found.states, found.steps) == (4, 5)
    # jump fails from 2 (one step away) and from 3; inc from 3 (two steps away).
    summary = [(v.schema, v.label, v.count, depth_of(found, v.state)) for v in found.violations]
    assert summary == [("jump", "A.4(1)", 2, 1), ("inc", "A.4(1)", 1, 2)]
    run = run_of_violation(found, found.violations[0])
    assert run.steps == (Step("jump", "ana", (Change("x0", "0", "2"),)),)
    assert run.offending == Step("jump", "ana", (Change("x0", "2", "4"),))
    assert [(f.phase, f.clause.label) for f in found.violations[0].failing] == [(Phase.FEASIBILITY, "A.4(1)")]
    assert found.refusals == {}


@both
def test_an_illegal_environment_update_is_a_violation_and_commits(engine: Engine) -> None:
    _, system = climbing(Kind.ENVIRONMENT)
    found = explore(system, engine=engine)
    assert found.states == 6
    # inc is illegal from 3 (to 4) and from 4 (to 5); jump from 2 and 3 is refused a commit even where 4 and 5 are known.
    assert {(v.schema, v.count) for v in found.violations} == {("inc", 2), ("jump", 2)}
    assert found.steps == 5 + 2


@both
def test_an_illegal_initial_state_does_not_hide_what_follows(engine: Engine) -> None:
    draft, system = climbing()
    started = draft.system(system.updates, (4,), system.feasibility)
    found = explore(started, engine=engine)
    # inc writes x0, so the clause is looked at again; 4 -> 5 is illegal.
    assert (found.states, found.steps) == (1, 0)
    assert [(v.schema, v.count) for v in found.violations] == [("inc", 1)]
    other = Draft((0, 5), (0, 1))
    flip = other.update("flip", other.is_(0, 1), (1, other.n(1)))
    clause = Clause("A.4(1)", other.bank.le(other.x(), other.n(3)))
    # flip writes nothing that the clause reads, and still leads to an infeasible state.
    found = explore(other.system([flip], (4, 0), (clause,)), engine=engine)
    assert [(v.schema, v.label) for v in found.violations] == [("flip", "A.4(1)")]


@both
def test_a_write_outside_its_domain_is_a_range_violation_without_successor(engine: Engine) -> None:
    draft = Draft((0, 2))
    up = draft.update("up", draft.bank.true, (0, draft.bank.add(draft.x(), draft.n(1))))
    leap = draft.update("leap", draft.bank.true, (0, draft.n(9)), kind=Kind.FAULT, fault="leap")
    found = explore(draft.system([up, leap]), engine=engine)
    assert (found.states, found.steps) == (3, 2)
    assert [(v.schema, v.label, v.count, v.failing[0].phase) for v in found.violations] == [("up", "range", 1, Phase.RANGE)]
    assert found.refusals == {("leap", "range"): 3}
    run = run_of_violation(found, found.violations[0])
    assert run.offending == Step("up", "ana", (Change("x0", "2", "3"),))


@both
def test_each_failing_clause_of_a_violation_is_counted_once(engine: Engine) -> None:
    draft = Draft((0, 1))
    one = Clause("D.6", draft.is_(1))
    zero = Clause("D.6", draft.is_(0), instance="again")
    go = draft.update("go", draft.is_(0), (0, draft.n(1)), before=(one,), after=(zero, Clause("D.12", draft.bank.false)))
    found = explore(draft.system([go]), engine=engine)
    assert [(v.label, v.count) for v in found.violations] == [("D.12", 1), ("D.6", 1)]
    failing = [(f.phase, f.clause.label) for f in found.violations[0].failing]
    assert failing == [(Phase.BEFORE, "D.6"), (Phase.AFTER, "D.6"), (Phase.AFTER, "D.12")]


# ---- attempts and faults ------------------------------------------------------------------------------------------


@both
def test_an_attempt_without_requires_is_refused_and_no_violation(engine: Engine) -> None:
    draft = Draft((0, 2), (0, 1))
    go = draft.update("go", draft.bank.lt(draft.x(), draft.n(2)), (0, draft.bank.add(draft.x(), draft.n(1))), requires=draft.is_(1, 1))
    ready = draft.update("ready", draft.is_(0, 1), (1, draft.n(1)))
    system = draft.system([go, ready])
    found = explore(system, engine=engine)
    assert (found.states, found.steps, found.violations) == (4, 3, ())
    assert found.refusals == {("go.attempt", "requires"): 1}
    assert (found.coverage[0].enabled, found.coverage[0].committable, found.coverage[0].committed) == (3, 2, 2)
    for through in (None, frozenset({"go.attempt"}), frozenset({"go"})):
        passed = explore(system, mode=Unaudited(through), engine=engine)
        assert (passed.states, passed.steps, passed.refusals) == (6, 7, {})
    assert explore(system, mode=Unaudited(frozenset({"ready"})), engine=engine).states == 4


def faulty() -> tuple[Draft, System]:
    """work: 0 -> 1; careless: 0 -> 2, against A.4(1); harmless: 1 -> 3; lazy: without `requires`."""
    draft = Draft((0, 3))
    fault = Kind.FAULT
    return draft, draft.system(
        [
            draft.move("work", 0, 1),
            draft.move("work.careless", 0, 2, fault, "careless"),
            draft.move("rest", 1, 3, fault, "harmless"),
            draft.move("idle", 1, 0, fault, "lazy", draft.bank.false),
        ],
        feasibility=(Clause("A.4(2)", draft.bank.ne(draft.x(), draft.n(2))), Clause("A.4(3)", draft.bank.ne(draft.x(), draft.n(2)))),
    )


@both
def test_a_fault_is_refused_by_its_first_failing_clause_or_passes(engine: Engine) -> None:
    _, system = faulty()
    found = explore(system, engine=engine)
    assert found.refusals == {("work.careless", "A.4(2)"): 1, ("idle", "requires"): 1}
    assert found.passed == {"rest": 1}
    assert (found.states, found.steps, found.violations) == (3, 2, ())


@both
def test_the_first_failing_clause_is_that_of_the_occurrence(engine: Engine) -> None:
    # Label a fails by its first clause for slip(0), and only after b, by its second, for slip(1).
    draft = Draft((0, 2))
    slips = [draft.update("slip", draft.is_(0), (0, draft.n(1 + i)), kind=Kind.FAULT, fault="slip", binding=str(i)) for i in (0, 1)]
    wide = draft.update("slip", draft.is_(0), (0, draft.bank.add(draft.x(), draft.n(2))), kind=Kind.FAULT, fault="slip")
    both_ways = draft.update("slip", draft.bank.true, (0, draft.bank.add(draft.x(), draft.n(1))), kind=Kind.FAULT, fault="slip")
    ne = draft.bank.ne
    clauses = (Clause("a", ne(draft.x(), draft.n(1))), Clause("b", ne(draft.x(), draft.n(2))), Clause("a", ne(draft.x(), draft.n(2))))
    found = explore(draft.system([*slips, wide], feasibility=clauses), engine=engine)
    assert found.refusals == {("slip", "a"): 1, ("slip", "b"): 2}
    # One update in one block: from 0 it fails a, from 1 it fails b and then a.
    started = draft.system([both_ways], free=(0,), initially=draft.bank.lt(draft.x(), draft.n(2)), feasibility=clauses)
    assert explore(started, engine=engine).refusals == {("slip", "a"): 1, ("slip", "b"): 1}


@both
def test_unaudited_lets_the_named_fault_through_and_no_other(engine: Engine) -> None:
    _, system = faulty()
    found = explore(system, mode=Unaudited(frozenset({"careless"})), engine=engine)
    assert {found.store.state(n)[0] for n in range(found.states)} == {0, 1, 2}
    assert (found.steps, found.refusals, found.violations) == (2, {}, ())
    assert [c.enabled for c in found.coverage] == [1, 1, 0, 0]
    everything = explore(system, mode=Unaudited(), engine=engine)
    assert (everything.states, everything.steps) == (4, 4)
    assert judge.unaudited_names(system) == ("careless", "harmless", "lazy")


# ---- ends and finality --------------------------------------------------------------------------------------------


@both
def test_a_dead_end_names_what_was_refused_there(engine: Engine) -> None:
    draft = Draft((0, 3))
    updates = [
        draft.move("go", 0, 1),
        draft.move("finish", 0, 2),
        draft.move("on", 1, 3, requires=draft.bank.false),
        draft.move("cheat", 1, 3, Kind.FAULT, "cheat"),
    ]
    system = draft.system(updates, feasibility=(Clause("A.4(9)", draft.bank.ne(draft.x(), draft.n(3))),))
    found = explore(system, Watchlist(ends=(draft.is_(2),)), engine=engine)
    dead = found.dead_ends
    assert (dead.quiet, dead.unended) == (2, 1)
    assert dead.first is not None and found.store.state(dead.first) == (1,)
    assert dead.refused == ((2, "requires"), (3, "A.4(9)"))


def settling() -> tuple[Draft, System, Watchlist]:
    """0 -> 1 (final) -> 2 -> 3, and 0 -> 2 directly. From 2 to 3 the root's discharge is lost."""
    draft = Draft((0, 3))
    updates = [draft.move("accept", 0, 1), draft.move("on", 1, 2), draft.move("skip", 0, 2), draft.move("lose", 2, 3)]
    watchlist = Watchlist(final=(draft.is_(1),), outcomes=(Clause("discharge(root)", draft.bank.lt(draft.x(), draft.n(3))),))
    return draft, draft.system(updates), watchlist


@both
def test_a_break_of_finality_is_shown_by_a_run_through_the_final_state(engine: Engine) -> None:
    _, system, watchlist = settling()
    found = explore(system, watchlist, engine=engine)
    assert found.finality_checked
    assert found.finality is not None
    assert (found.finality.path, found.finality.update) == (Path((0,), (0, 1)), 3)
    assert [clause.label for clause in found.finality.changed] == ["discharge(root)"]
    run = run_of_finality(system, found.finality)
    assert [step.update for step in run.steps] == ["accept", "on", "lose"]
    assert run.steps[-1].changes == (Change("x0", "2", "3"),)


@both
def test_finality_holds_where_nothing_changes_and_is_unchecked_without_a_final_state(engine: Engine) -> None:
    draft, system, watchlist = settling()
    quiet = Watchlist(final=(draft.is_(3),), outcomes=watchlist.outcomes)
    found = explore(system, quiet, engine=engine)
    assert (found.finality, found.finality_checked) == (None, True)
    never = explore(system, Watchlist(final=(draft.bank.false,), outcomes=watchlist.outcomes), engine=engine)
    assert (never.finality, never.finality_checked) == (None, False)


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
