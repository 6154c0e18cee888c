"""Symmetry: what is found with it is what is found without it; what is not symmetric is refused, with the place."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from math import comb
from pathlib import Path
from random import Random

import pytest
from conftest import CHECKOUT
from strategies_symmetric import SymmetricDraft, symmetric_system

from icore_kernel import api, cli
from icore_kernel.check.plan import ANTECEDENT, WATCH, make_plan
from icore_kernel.check.reduced import search_by_blocks
from icore_kernel.check.reductions import Reductions
from icore_kernel.explore import judge
from icore_kernel.explore.model import Audited, Exploration, Mode, Rules, Unaudited, Watchlist
from icore_kernel.explore.search import Engine, explore
from icore_kernel.explore.tally import Clock
from icore_kernel.reduce.orbits import Orbits, Set, TooLarge, merged
from icore_kernel.reduce.quotient import QuotientSearch
from icore_kernel.reduce.renaming import Names, Renaming
from icore_kernel.reduce.symmetry import Declared, Equivariance, kept
from icore_kernel.runs import run_to
from icore_kernel.system import Field, GroundUpdate, Kind, System, Write
from icore_kernel.terms.term import TermBank
from icore_kernel.verdict import Result, Verdict

CASES = CHECKOUT / "proofs_tests" / "cases" / "reduce"
COUNTS = CHECKOUT / "proofs_tests" / "cases" / "counts"
EXAMPLES = CHECKOUT / "examples"

RULES = Rules()


def quotient(
    system: System, bank: TermBank, watchlist: Watchlist, sets: Sequence[Declared], mode: Mode, shared: Sequence[Sequence[int]] = ()
) -> Exploration:
    orbits = Orbits(Names(system), merged([Set(one.what, one.members) for one in sets]))
    return QuotientSearch(system, watchlist, RULES, mode, Clock(RULES), orbits, None, shared).run()


def by_blocks(
    system: System,
    watchlist: Watchlist,
    sets: Sequence[Declared],
    mode: Mode,
    shared: tuple[tuple[int, ...], ...] = (),
    most: int | None = None,
) -> Exploration:
    orbits = Orbits(Names(system), merged([Set(one.what, one.members) for one in sets]))
    rules = Rules(max_states=most)
    return search_by_blocks(system, watchlist, rules, mode, Clock(rules), Reductions(orbits, shared=shared))


def told(found: Exploration) -> dict[str, object]:
    """Everything that must not depend on the reduction. First finds by depth: which of several equals comes first may differ."""
    depth = [d for d, count in enumerate(found.levels) for _ in range(count)]
    reduced = found.reduction is not None

    def at(first: int | None) -> int | None:
        if first is None:
            return None
        return len(found.store.path(first).updates) if reduced else depth[first]

    return {
        "counts": (found.states, found.steps, found.stutters, found.depth, found.levels),
        "coverage": found.coverage,
        "refusals": found.refusals,
        "passed": found.passed,
        "violations": {(v.schema, v.label): (v.count, at(v.state)) for v in found.violations},
        "checks": {name: (s.count, at(s.first)) for name, s in found.checks.items()},
        "seen": {name: (s.count, at(s.first)) for name, s in found.seen.items()},
        "extents": {name: (e.least, e.greatest) for name, e in found.minimums.items()},
        "dead ends": (found.dead_ends.quiet, found.dead_ends.unended, at(found.dead_ends.first)),
        "finality": (found.finality_checked, None if found.finality is None else len(found.finality.path.updates)),
    }


def replays(found: Exploration, number: int) -> None:
    """The run to a state found commits, step by step, and ends there."""
    system, mode = found.system, found.mode
    path = found.store.path(number)
    state = path.initial
    fixed = [f.index for f in system.fields if f not in system.free]
    assert all(state[i] == system.initial[i] for i in fixed)
    for update in path.updates:
        after = judge.committed(system, mode, update, state)
        assert after is not None
        state = after
    assert state == found.store.state(number)


# ---- random systems ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [Audited(), Unaudited()], ids=["audited", "unaudited"])
def test_random_symmetric_systems_tell_the_same_with_and_without(mode: Mode) -> None:
    saved = violating = dead = lasting = 0
    for seed in range(160):
        system, watchlist, draft = symmetric_system(Random(seed))
        declared = Declared("agents", draft.members)
        equivariance = Equivariance(system, draft.bank)
        assert equivariance.broken(declared) is None, seed
        assert kept(equivariance, [declared], watchlist).lost is None, seed
        plain = explore(system, watchlist, RULES, mode, Engine.PYTHON)
        found = quotient(system, draft.bank, watchlist, [declared], mode)
        assert told(found) == told(plain), seed
        assert found.reduction is not None
        for number in range(0, found.reduction.stored, 5):
            replays(found, number)
        if seed % 2 == 0:
            blocks = by_blocks(system, watchlist, [declared], mode)
            assert told(blocks) == told(plain), seed
            assert blocks.reduction == found.reduction
            for number in range(0, found.reduction.stored, 7):
                replays(blocks, number)
        saved += found.reduction.stored < found.states
        violating += bool(plain.violations) or any(s.count for s in plain.checks.values())
        dead += plain.dead_ends.unended > 0
        lasting += plain.finality_checked
    assert saved > 80
    assert violating > 40
    assert dead > 10
    assert lasting > 10


def without_one(system: System, draft: SymmetricDraft, random: Random) -> tuple[System, GroundUpdate]:
    """One update of one member is changed: it happens in fewer states, or it writes something else."""
    place = random.randrange(len(system.updates))
    update = system.updates[place]
    bank = draft.bank
    field: Field = draft.own[draft.members.index(update.binding[0][1])][-1]
    never = bank.and_(update.when, bank.eq(draft.term(field), bank.integer(0)))
    changed = replace(update, when=never)
    if random.random() < 0.5:
        others = tuple(w for w in update.writes if w.field != field)
        changed = replace(update, writes=(*others, Write(field, bank.integer(field.domain.hi))))
    return replace(system, updates=(*system.updates[:place], changed, *system.updates[place + 1 :])), changed


def test_a_change_to_one_member_is_refused_and_named() -> None:
    refused = 0
    for seed in range(60):
        system, _, draft = symmetric_system(Random(seed))
        changed, update = without_one(system, draft, Random(seed))
        broken = Equivariance(changed, draft.bank).broken(Declared("agents", draft.members))
        if broken is not None:
            refused += 1
            assert update.schema in broken.text
        else:
            # Only where the change says nothing new is it still symmetric.
            fresh = Equivariance(replace(system, updates=(update, *(u for u in system.updates if u.name != update.name))), draft.bank)
            assert fresh.broken(Declared("agents", draft.members)) is None
    assert refused > 45


# ---- canonical forms ---------------------------------------------------------------------------------------------------


def test_orbits_by_hand() -> None:
    """Two members with a part of two values each, a holder, a shared field: the exchange moves the parts and the holder's name."""
    draft = next(d for _, _, d in (symmetric_system(Random(seed)) for seed in range(200)) if d.holder and len(d.members) == 2)
    system = next(s for s, _, d in (symmetric_system(Random(seed)) for seed in range(200)) if d.holder and len(d.members) == 2)
    assert draft.holder is not None
    one, other = draft.own[0][0].index, draft.own[1][0].index
    state = [0] * len(system.fields)
    state[one], state[draft.holder.index] = 1, 1
    expected = [0] * len(system.fields)
    expected[other], expected[draft.holder.index] = 1, 2
    names = Names(system)
    assert names.action(Renaming({"ana": "bo", "bo": "ana"})).image(tuple(state)) == tuple(expected)
    orbits = Orbits(names, [Set("agents", draft.members)])
    assert orbits.canonical(tuple(state)) == orbits.canonical(tuple(expected)) == min(tuple(state), tuple(expected))
    assert orbits.length(tuple(state)) == 2
    assert orbits.length((0,) * len(system.fields)) == 1


def test_sorting_and_trying_all_permutations_agree() -> None:
    compared = 0
    for seed in range(60):
        system, _, draft = symmetric_system(Random(seed))
        if draft.holder is not None:
            continue
        names = Names(system)
        orbits = Orbits(names, [Set("agents", draft.members)])
        assert len(orbits.sorted) == 1
        assert len(orbits.actions) == 1
        exchanges = [names.action(Renaming({one: other, other: one})) for one, other in zip(draft.members, draft.members[1:], strict=False)]
        random = Random(seed)
        for _ in range(20):
            state = tuple(random.randint(f.domain.lo, f.domain.hi) for f in system.fields)
            orbit = {state}
            waiting = [state]
            while waiting:
                here = waiting.pop()
                images = {action.image(here) for action in exchanges} - orbit
                orbit |= images
                waiting.extend(images)
            assert orbits.length(state) == len(orbit)
            assert {orbits.canonical(each) for each in orbit} == {orbits.canonical(state)}
            assert orbits.canonical(state) in orbit
            assert orbits.witness(state).image(state) == orbits.canonical(state)
            compared += 1
    assert compared > 200


def test_sets_that_share_a_name_are_one_and_too_many_permutations_are_said() -> None:
    sets = [Set("agents", ("a", "b")), Set("obligations", ("p", "q")), Set("agents", ("c", "d")), Set("agents", ("b", "c"))]
    assert merged(sets) == (Set("obligations", ("p", "q")), Set("agents", ("c", "d", "a", "b")))
    loaded = api.load(COUNTS / "independent.icore")
    with pytest.raises(TooLarge, match="2"):
        Orbits(Names(loaded.system), [Set("agents", ("ana", "bo"))], most=1)


def test_names_are_exchanged_whole_and_all_at_once() -> None:
    renaming = Renaming({"a": "b", "b": "a", "p[1]": "p[2]", "p[2]": "p[1]"})
    assert renaming.of("done(a, p[1]) and b of ab, a1, p[11], a(b)") == "done(b, p[2]) and a of ab, a1, p[11], a(a)"
    assert renaming.of(renaming.of("a p[1] b p[2]")) == "a p[1] b p[2]"
    assert Renaming({"a": "b", "b": "a"}).after(Renaming({"b": "c", "c": "b"})).mapping == {"a": "b", "b": "c", "c": "a"}


# ---- packages ----------------------------------------------------------------------------------------------------------


def result(path: Path, name: str, reduce: api.Reduce = api.Reduce.SYMMETRY) -> Result:
    return next(r for r in api.check(api.load(path), reduce=reduce).results if r.name == name)


@pytest.mark.parametrize(("items", "states", "kept_states"), [(2, 4 + 12 + 6, 9), (3, 86, 27), (4, 16 + 96 + 144 + 48, 65 + 15)])
def test_workers_alike_cut_states_as_computed_by_hand(items: int, states: int, kept_states: int) -> None:
    """workers.icore: the sum over j of C(n,j) 3!/(3-j)! 2^(n-j). Up to who is who: 3^n, without those that hold more than three
    of the four (1 of 81: 80)."""
    report = api.check(api.load(CASES / "workers.icore", settings={"n": str(items)}))
    assert report.verdict is Verdict.PROVED or report.verdict is Verdict.HOLDS
    assert report.space["states"] == states
    assert isinstance(report.space["reduction"], dict)
    assert report.space["reduction"]["stored"] == kept_states
    assert report.space["reduction"]["said"] == [f"symmetry: 3! on ana, bo, cy, {kept_states} of {states} states"]


@pytest.mark.parametrize("tasks", [2, 3, 4])
def test_tasks_alike_are_multisets_and_agents_alike_pair_them_up(tasks: int, tmp_path: Path) -> None:
    """A task of independent.icore is unassigned, or assigned, closed or accepted by one of two agents: 7 states, 7^n together,
    C(n+6, 6) multisets. The exchange of the agents leaves those alone that have as many of each agent at every stage:
    with s pairs, C(s+2, 2) ways, the other n-2s unassigned. By Burnside (C(n+6, 6) + fixed) / 2 are left."""
    text = (COUNTS / "independent.icore").read_text(encoding="utf-8")
    multisets = comb(tasks + 6, 6)
    fixed = sum(comb(s + 2, 2) for s in range(tasks // 2 + 1))
    for declared, stored in (("symmetric obligations task", multisets), ("symmetric obligations task\nsymmetric agents ana, bo", None)):
        path = tmp_path / "tasks.icore"
        path.write_text(f"{text}\n{declared}\n", encoding="utf-8")
        report = api.check(api.load(path, settings={"n": str(tasks)}))
        assert report.verdict is Verdict.HOLDS
        assert report.space["states"] == 7**tasks
        assert isinstance(report.space["reduction"], dict)
        assert report.space["reduction"]["stored"] == (stored if stored is not None else (multisets + fixed) // 2)


def test_a_report_is_the_same_with_and_without() -> None:
    loaded = api.load(COUNTS / "independent.icore")
    plan = make_plan(loaded.system, loaded.bank)
    sets = [Declared("agents", ("ana", "bo")), Declared("obligations", ("task[1]", "task[2]", "task[3]"))]
    equivariance = Equivariance(loaded.system, loaded.bank)
    assert [equivariance.broken(one) for one in sets] == [None, None]
    answer = kept(equivariance, sets, plan.watchlist, (WATCH, ANTECEDENT))
    assert answer.lost is None
    plain = explore(loaded.system, plan.watchlist)
    found = quotient(loaded.system, loaded.bank, plan.watchlist, sets, Audited(), answer.shared)
    assert told(found) == told(plain)
    assert told(by_blocks(loaded.system, plan.watchlist, sets, Audited(), answer.shared)) == told(plain)
    assert kept(equivariance, sets, plan.watchlist).lost == "watch:2"  # of one root each: only whether it is ever true is kept


def symmetric_pairs(path: Path) -> list[tuple[api.Loaded, Declared]]:
    """Pairs of agents or obligations of a package that could be declared symmetric."""
    loaded = api.load(path)
    equivariance = Equivariance(loaded.system, loaded.bank)
    works = [f.name.removeprefix("status(").removesuffix(")") for f in loaded.system.fields if f.kind == "status"]
    agents = sorted({name for f in loaded.system.fields if f.kind == "assignee" for name in f.domain.names} - {"none"})
    found: list[tuple[api.Loaded, Declared]] = []
    for what, names in (("agents", agents), ("obligations", works)):
        pairs = [Declared(what, (a, b)) for i, a in enumerate(names) for b in names[i + 1 :]]
        found.extend((loaded, pair) for pair in pairs if equivariance.broken(pair) is None)
    return found


SYMMETRIC = {
    "code_change": [("ben", "cleo")],
    "compatible_merge": [("agent_1", "agent_2")],
    "dependency_ladder": [],
    "literature_answer_broken": [("ines", "kofi"), ("effect", "mechanism")],
    "release_pipeline": [],
}


@pytest.mark.parametrize("example", SYMMETRIC)
def test_examples_tell_the_same_under_every_symmetry_they_have(example: str) -> None:
    pairs = symmetric_pairs(EXAMPLES / f"{example}.icore")
    assert [pair.members for _, pair in pairs] == SYMMETRIC[example]
    for loaded, pair in pairs:
        plan = make_plan(loaded.system, loaded.bank)
        equivariance = Equivariance(loaded.system, loaded.bank)
        answer = kept(equivariance, [pair], plan.watchlist, (WATCH, ANTECEDENT, "hypothesis:"))
        watchlist = plan.watchlist if answer.lost is None else Watchlist(ends=plan.watchlist.ends)
        rules = replace(RULES, max_states=None)
        plain = explore(loaded.system, watchlist, rules)
        if plain.states > 4000:
            continue
        found = quotient(loaded.system, loaded.bank, watchlist, [pair], Audited(), answer.shared if answer.lost is None else ())
        assert told(found) == told(plain)


# ---- refusals ----------------------------------------------------------------------------------------------------------


def test_an_asymmetric_declaration_is_refused_with_its_place(capsys: pytest.CaptureFixture[str]) -> None:
    path = CASES / "asymmetric.icore"
    assert cli.run(["check", "--format", "json", str(path)]) == 1
    record = json.loads(capsys.readouterr().out)
    named = next(r for r in record["results"] if r["name"] == "symmetric ana, bo")
    assert named["verdict"] == "violated"
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[named["span"]["line"] - 1] == "symmetric agents ana, bo"
    assert lines[named["reasons"][0]["span"]["line"] - 1].startswith("update walk")
    assert "walk(bo) is not walk(ana)" in named["detail"]
    assert named["reasons"][0]["values"]
    assert record["space"]["states"] == 6  # ana 0, 1, 2 and bo 0, 2: searched without it
    assert record["space"]["reduction"]["stored"] == 6


@pytest.mark.parametrize(
    ("changed", "to", "said"),
    [
        (
            "agents { ana bo }\n",
            "agents { changing mood: 0..1 = 0\n  ana {} bo { mood = 1 } }\nupdate cheer(a: Agent) by environment { set a.mood := 1 }\n",
            "starts as",
        ),
        ("when at(a).place < 2", "when at(a).place < 2 and (a == ana or at(ana).place == 2)", "`when` differs"),
        ("unreachable bo_ahead", "initially at(bo).place == 0\nunreachable bo_ahead", None),
    ],
)
def test_what_breaks_a_symmetry_is_said(changed: str, to: str, said: str | None, tmp_path: Path) -> None:
    text = (CASES / "favourite.icore").read_text(encoding="utf-8")
    assert changed in text
    path = tmp_path / "changed.icore"
    path.write_text(text.replace(changed, to), encoding="utf-8")
    answer = result(path, "symmetric ana, bo")
    if said is None:  # true of the one initial state, whoever is who
        assert answer.verdict is Verdict.PROVED
    else:
        assert (answer.verdict, said in answer.detail) == (Verdict.VIOLATED, True), answer.detail


def test_a_property_that_tells_them_apart_is_decided_without_the_reduction() -> None:
    """With 3 x 3 places, bo is ahead in (0,1), (0,2), (1,2); up to exchange only 6 states would be left."""
    loaded = api.load(CASES / "favourite.icore")
    report = api.check(loaded)
    named = {r.name: r for r in report.results}
    assert named["symmetric ana, bo"].verdict is Verdict.PROVED
    assert "not used: bo_ahead distinguishes them" in named["symmetric ana, bo"].detail
    assert (named["bo_ahead"].verdict, named["bo_ahead"].detail) == (Verdict.VIOLATED, "in 3 states")
    only = api.check(loaded, only=("inside",))
    assert only.verdict is Verdict.HOLDS
    assert only.space["reduction"] is not None
    assert isinstance(only.space["reduction"], dict)
    assert only.space["reduction"]["stored"] == 6
    assert only.space["states"] == 9


def test_the_step_graph_is_never_reduced(tmp_path: Path) -> None:
    path = tmp_path / "terminates.icore"
    path.write_text((CASES / "workers.icore").read_text(encoding="utf-8") + "check termination\n", encoding="utf-8")
    for reduce in api.Reduce:
        report = api.check(api.load(path), reduce=reduce)
        named = {r.name: r for r in report.results}
        assert named["termination"].verdict is Verdict.HOLDS
        if reduce.symmetry:
            assert "not used: termination needs every state" in named["symmetric ana, bo, cy"].detail
        assert isinstance(report.space["reduction"], dict)
        assert report.space["reduction"]["stored"] == report.space["states"] == 86


def test_where_the_kernel_is_quicker_symmetry_waits_to_be_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """5 tasks, two agents: 7^5 states, half of them and the fixed one are left: too many for plain Python, too few permutations."""
    path = tmp_path / "many.icore"
    path.write_text((COUNTS / "independent.icore").read_text(encoding="utf-8") + "symmetric agents ana, bo\n", encoding="utf-8")
    loaded = api.load(path, settings={"n": "5"})
    for kernel, reduce, stored in ((True, api.Reduce.AUTO, 7**5), (False, api.Reduce.AUTO, 8404), (True, api.Reduce.SYMMETRY, 8404)):
        monkeypatch.setattr("icore_kernel.check.reduced.has_kernel", lambda kernel=kernel: kernel)
        report = api.check(loaded, reduce=reduce)
        assert report.verdict is Verdict.HOLDS
        assert report.space["states"] == 7**5
        assert isinstance(report.space["reduction"], dict)
        assert report.space["reduction"]["stored"] == stored
        said = next(r.detail for r in report.results if r.name == "symmetric ana, bo")
        assert ("every state is quicker" in said) == (stored == 7**5)


def test_runs_with_symmetry_are_real_and_shortest(tmp_path: Path) -> None:
    path = tmp_path / "late.icore"
    text = (CASES / "workers.icore").read_text(encoding="utf-8")
    path.write_text(text + "unreachable done: forall i in 1..n: item(i).state == 2\n", encoding="utf-8")
    loaded = api.load(path)
    plain, reduced = api.check(loaded, reduce=api.Reduce.NONE), api.check(loaded)
    runs = [next(r.run for r in report.results if r.name == "done") for report in (plain, reduced)]
    assert runs[0] is not None
    assert runs[1] is not None
    assert len(runs[0].steps) == len(runs[1].steps) == 6
    updates = {u.name: number for number, u in enumerate(loaded.system.updates)}
    state = loaded.system.initial
    for step in runs[1].steps:
        after = judge.committed(loaded.system, Audited(), updates[step.update], state)
        assert after is not None
        state = after
    assert [state[f.index] for f in loaded.system.fields if f.name.startswith("item")] == [2, 2, 2]


def test_stop_rules_hold_with_symmetry() -> None:
    drafts = (symmetric_system(Random(seed)) for seed in range(100))
    system, watchlist, draft = next(d for d in drafts if explore(d[0]).depth > 2)
    orbits = Orbits(Names(system), [Set("agents", draft.members)])
    for rules in (Rules(max_states=2), Rules(max_depth=1), Rules(interrupted=lambda: True)):
        found = QuotientSearch(system, watchlist, rules, Audited(), Clock(rules), orbits, None).run()
        assert found.stopped is not None
        assert found.finality is None
    blocks = by_blocks(system, watchlist, [Declared("agents", draft.members)], Audited(), most=2)
    assert (blocks.stopped, blocks.reduction is not None and blocks.reduction.stored) == ("max-states 2", 2)


def test_a_run_to_a_violation_under_symmetry_ends_in_the_offending_occurrence() -> None:
    shown = 0
    for seed in range(60):
        system, watchlist, draft = symmetric_system(Random(seed))
        found = quotient(system, draft.bank, watchlist, [Declared("agents", draft.members)], Audited())
        for violation in found.violations:
            run = run_to(found, violation.state)
            assert len(run.steps) <= found.depth
            update = system.updates[violation.update]
            state = found.store.state(violation.state)
            assert judge.occurs(update, state)
            assert update.kind is not Kind.FAULT
            assert violation.label in {failing.clause.label for failing in judge.failing(system, update, state)}
            shown += 1
    assert shown > 20
