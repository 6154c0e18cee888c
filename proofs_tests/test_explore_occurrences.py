"""What explorations say of occurrences: violations, refusals, faults, dead ends and breaks of finality, each worked out by hand."""

from __future__ import annotations

from explore_lab import both, climbing, depth_of
from systems_by_hand import Draft

from icore_kernel.explore import judge
from icore_kernel.explore.model import Path, Phase, Unaudited, Watchlist
from icore_kernel.explore.search import Engine, explore
from icore_kernel.runs import run_of_finality, run_of_violation
from icore_kernel.system import Clause, Kind, System
from icore_kernel.verdict import Change, Step


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
