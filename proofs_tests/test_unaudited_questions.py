"""`stop_when`: a search goes no deeper than its questions need, whichever engine; and what `icore check --unaudited` makes of it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from conftest import CHECKOUT
from strategies_symmetric import symmetric_system
from strategies_systems import random_system, random_watchlist
from systems_by_hand import Draft

from icore_kernel import api, cli
from icore_kernel.check.plan import make_plan
from icore_kernel.check.questions import unaudited_questions
from icore_kernel.check.reduced import search_by_blocks
from icore_kernel.check.reductions import Reductions
from icore_kernel.explore.model import ANSWERED, LEGALITY, Audited, Checkpoints, Exploration, Mode, Rules, Unaudited, Watchlist
from icore_kernel.explore.search import Engine, explore, has_kernel
from icore_kernel.explore.tally import Clock
from icore_kernel.reduce.orbits import Orbits, Set
from icore_kernel.reduce.quotient import QuotientSearch
from icore_kernel.reduce.renaming import Names
from icore_kernel.system import System
from icore_kernel.verdict import Verdict

ENGINES = [
    Engine.PYTHON,
    Engine.NUMPY,
    pytest.param(Engine.NATIVE, marks=pytest.mark.skipif(not has_kernel(), reason="the C kernel is not installed")),
]
each = pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.value)
AMONG = [Engine.PYTHON, Engine.NUMPY, *([Engine.NATIVE] if has_kernel() else [])]


def questions(*names: str) -> Rules:
    """Each name with the alternatives that `|` separates."""
    return Rules(stop_when=tuple(frozenset(name.split("|")) for name in names))


def grid() -> tuple[System, Watchlist]:
    """Two counters 0..9: 1, 2, 3, … states by level. Seen at depths 2 (`two`), 4 (`four`) and never; `low` is broken at depth 5."""
    draft = Draft((0, 9), (0, 9))
    bank = draft.bank
    both = bank.add(draft.x(0), draft.x(1))
    system = draft.system([draft.tick(0), draft.tick(1)])
    seen = (("two", bank.eq(both, draft.n(2))), ("four", bank.eq(both, draft.n(4))), ("never", bank.eq(both, draft.n(19))))
    return system, Watchlist(checks=(("low", bank.lt(both, draft.n(5))),), seen=seen)


# ---- one search -------------------------------------------------------------------------------------------------------


@each
@pytest.mark.parametrize(
    ("asked", "depth"),
    [
        (("two",), 2),
        (("four", "two"), 4),
        (("two", "low"), 5),
        (("never|four", "two|never"), 4),
        (("two", "never"), None),
        (("two", LEGALITY), None),
    ],
    ids=str,
)
def test_no_level_is_begun_once_every_question_is_answered(engine: Engine, asked: tuple[str, ...], depth: int | None) -> None:
    system, watchlist = grid()
    found = explore(system, watchlist, questions(*asked), engine=engine)
    if depth is None:
        assert (found.stopped, found.states, found.depth) == (None, 100, 18)
        return
    assert (found.stopped, found.levels) == (ANSWERED, tuple(range(1, depth + 2)))
    assert found.steps == depth * (depth + 1)  # two from each state above the last level
    assert found.seen["two"].count == 3


@each
def test_an_answer_in_the_initial_state_is_enough(engine: Engine) -> None:
    system, watchlist = grid()
    zero = replace(watchlist, seen=(("here", system.initially),), checks=())
    found = explore(system, zero, questions("here"), engine=engine)
    assert (found.stopped, found.states, found.steps) == (ANSWERED, 1, 0)


@each
def test_a_write_that_leaves_its_domain_answers_legality(engine: Engine) -> None:
    draft = Draft((0, 5))
    up = draft.update("up", draft.bank.true, (0, draft.bank.add(draft.x(), draft.n(2))))
    system = draft.system([up, draft.move("back", 4, 1)])
    # 0, 2, 4; from 4 `up` leaves 0..5, and `back` leads to 1: that is depth 3, and found with its level.
    found = explore(system, Watchlist(), questions(LEGALITY), engine=engine)
    assert (found.stopped, found.levels) == (ANSWERED, (1, 1, 1, 1))
    assert explore(system, Watchlist(), engine=engine).levels == (1, 1, 1, 1, 1, 1)


@each
def test_a_bound_that_comes_first_is_said(engine: Engine) -> None:
    system, watchlist = grid()
    rules = questions("four")
    assert explore(system, watchlist, replace(rules, max_states=4), engine=engine).stopped == "max-states 4"
    assert explore(system, watchlist, replace(rules, max_depth=3), engine=engine).stopped == "max-depth 3"
    assert explore(system, watchlist, replace(rules, max_depth=4), engine=engine).stopped == ANSWERED


def told(found: Exploration) -> tuple[object, ...]:
    """What does not depend on the order within a level."""
    counts = {name: sighting.count for name, sighting in (*found.checks.items(), *found.seen.items())}
    violations = sorted((v.schema, v.label, v.count) for v in found.violations)
    return (
        found.levels, found.steps, found.stutters, found.coverage, found.refusals, found.passed, counts, violations,
        found.dead_ends.quiet, found.stopped,
    )  # fmt: skip


def answers(found: Exploration) -> set[str]:
    met = {name for name, sighting in (*found.checks.items(), *found.seen.items()) if sighting.count}
    return met | ({LEGALITY} if found.violations else set())


@pytest.mark.parametrize("mode", [Audited(), Unaudited()], ids=str)
def test_every_engine_stops_with_the_same_states_and_not_too_soon(mode: Mode) -> None:
    met: Counter[str] = Counter()
    for seed in range(150):
        random = Random(seed)
        system = random_system(random)
        watchlist = random_watchlist(system, random)
        names = [*(name for name, _ in (*watchlist.checks, *watchlist.seen)), LEGALITY]
        rules = Rules(stop_when=tuple(frozenset(random.sample(names, min(2, len(names)))) for _ in range(random.randint(1, 3))))
        first, *others = [explore(system, watchlist, rules, mode, engine) for engine in AMONG]
        for other in others:
            assert told(other) == told(first)
        met["answered" if first.stopped else "whole"] += 1
        if first.stopped is None:
            continue
        assert first.stopped == ANSWERED and not any(one.isdisjoint(answers(first)) for one in rules.stop_when)
        assert told(explore(system, watchlist, Rules(max_depth=first.depth), mode))[:-1] == told(first)[:-1]
        if first.depth:
            before = explore(system, watchlist, Rules(max_depth=first.depth - 1), mode)
            assert any(one.isdisjoint(answers(before)) for one in rules.stop_when)
            met["deep"] += 1
    assert min(met["answered"], met["whole"], met["deep"]) >= 20, met


def test_with_symmetry_the_search_ends_at_the_same_level() -> None:
    met: Counter[str] = Counter()
    for seed in range(60):
        system, watchlist, draft = symmetric_system(Random(seed))
        orbits = Orbits(Names(system), [Set("agents", draft.members)])
        names = [name for name, _ in (*watchlist.checks, *watchlist.seen)]
        rules = questions(*names[:2], LEGALITY if seed % 2 else "|".join(names))
        whole = explore(system, watchlist, rules, engine=Engine.PYTHON)
        small = QuotientSearch(system, watchlist, rules, Audited(), Clock(rules), orbits, None).run()
        blocks = search_by_blocks(system, watchlist, rules, Audited(), Clock(rules), Reductions(orbits))
        assert (small.levels, small.stopped) == (blocks.levels, blocks.stopped) == (whole.levels, whole.stopped)
        met[str(whole.stopped)] += 1
    assert min(met[ANSWERED], met["None"]) >= 5, met


@pytest.mark.parametrize("engine", ENGINES[1:], ids=lambda engine: engine.value)
def test_a_search_that_stopped_goes_on_from_its_checkpoint_only_where_more_is_asked(engine: Engine, tmp_path: Path) -> None:
    system, watchlist = grid()
    rules = replace(questions("four"), checkpoints=Checkpoints(tmp_path / "kept"))
    again = replace(rules, checkpoints=Checkpoints(tmp_path / "kept", resume=True))
    first = explore(system, watchlist, rules, engine=engine)
    assert told(explore(system, watchlist, again, engine=engine)) == told(first)
    more = replace(again, stop_when=(frozenset({"low"}),))
    assert explore(system, watchlist, more, engine=engine).levels == (1, 2, 3, 4, 5, 6)


@pytest.mark.parametrize("engine", ENGINES[1:], ids=lambda engine: engine.value)
@pytest.mark.parametrize("asked", ["far", LEGALITY])
def test_from_a_checkpoint_inside_a_level_the_level_is_finished(engine: Engine, asked: str, tmp_path: Path) -> None:
    """Three counters. The answer is met while level 99, of three blocks, is expanded; the bound stops the search before its end."""
    draft = Draft((0, 80), (0, 80), (0, 80))
    bank = draft.bank
    total = bank.add(draft.x(0), bank.add(draft.x(1), draft.x(2)))
    over = draft.update("over", bank.eq(total, draft.n(99)), (0, bank.add(draft.x(0), draft.n(81))))
    system = draft.system([draft.tick(0), draft.tick(1), draft.tick(2), over])
    watchlist = Watchlist(seen=(("far", bank.eq(total, draft.n(100))),))
    sizes = [sum(1 for a in range(81) for b in range(81) if 0 <= d - a - b <= 80) for d in range(101)]
    assert sizes[99:] == [4480, 4521]

    def found(rules: Rules) -> Exploration:
        if engine is Engine.NATIVE:
            from icore_kernel.explore.native import explore_native

            return explore_native(system, watchlist, rules, Audited(), Clock(rules), turn=1)
        from icore_kernel.explore.block_search import explore_blocks

        return explore_blocks(system, watchlist, rules, Audited(), Clock(rules), length=2048)

    rules = replace(questions(asked), max_states=sum(sizes[:100]) + 3500, checkpoints=Checkpoints(tmp_path / "kept", every=0))
    first = found(rules)
    assert first.stopped == f"max-states {sum(sizes[:100]) + 3500}"
    again = found(replace(rules, max_states=None, checkpoints=Checkpoints(tmp_path / "kept", resume=True)))
    assert (again.stopped, list(again.levels)) == (ANSWERED, sizes)


# ---- a check ----------------------------------------------------------------------------------------------------------

CLIMB = """language 1
package Climb

input x { at: 0..1000 = 0 }
update up by monitor { when x.at < 1000 set x.at := x.at + 1 }
fault leap by monitor { when x.at < 999 set x.at := x.at + 2 }
invariant low: x.at <= 6
"""


Climb = Callable[..., tuple[int, dict[str, str], dict[str, object], str]]


@pytest.fixture
def climb(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Climb:
    """Check CLIMB and what is added: status, verdict by result, space, and the report as text."""

    def checked(more: str = "", *options: str) -> tuple[int, dict[str, str], dict[str, object], str]:
        path = tmp_path / "climb.icore"
        path.write_text(CLIMB + more, encoding="utf-8")
        status = cli.run(["check", *(options or ("--unaudited",)), "--format", "json", str(path)])
        record = json.loads(capsys.readouterr().out)
        assert cli.run(["check", *(options or ("--unaudited",)), str(path)]) == status
        return status, {r["name"]: r["verdict"] for r in record["results"]}, record["space"], capsys.readouterr().out

    return checked


def test_unaudited_stops_where_all_is_answered_and_says_so(
    climb: Climb,
) -> None:
    # At depth d the states are d..2d: 7 is met at depth 4, and the states until then are 0..8.
    status, verdicts, space, text = climb("reachable three: x.at == 3\n")
    assert (status, space["states"], space["depth"], space["stopped"]) == (1, 9, 4, ANSWERED)
    assert verdicts == {
        "well-formed": "holds", "low": "violated", "three": "holds", "let through": "holds", "definedness": "unknown",
    }  # fmt: skip
    assert f"{ANSWERED}: the search went no deeper, and counts are up to there" in text
    assert "  low               violated  in 2 states or more" in text
    assert "after 2 steps, in 1 state or more" in text


@pytest.mark.parametrize(
    ("more", "verdict"),
    [
        ("invariant whole: x.at <= 1000\n", "holds"),
        ("reachable never: x.at == 1000 and x.at == 3\n", "violated"),
        ("unreachable far: x.at == 1000 and x.at == 3\n", "holds"),
    ],
)
def test_an_answer_that_needs_the_whole_space_gets_it(climb: Climb, more: str, verdict: str) -> None:
    status, verdicts, space, text = climb(more)
    assert (status, space["states"], space["stopped"]) == (1, 1001, None)
    assert verdicts[more.split()[1].rstrip(":")] == verdict
    assert "or more" not in text


def test_what_is_not_asked_does_not_hold_the_search_up(climb: Climb) -> None:
    whole = "invariant whole: x.at <= 1000\n"
    assert climb(whole, "--unaudited", "--only", "low")[2]["states"] == 9
    assert climb(whole, "--unaudited", "--only", "whole")[2]["states"] == 1001
    assert climb(whole, "--unaudited", "--only", "let through")[2]["states"] == 1001


def test_named_faults_are_searched_whole(climb: Climb) -> None:
    status, verdicts, space, _ = climb("", "--unaudited=leap")
    assert (status, verdicts["let through"], space["states"], space["stopped"]) == (1, "holds", 1001, None)


INFEASIBLE = """package Withheld
input request
input c { n: 0..1 = 0 }
agents { ana }
obligation type Step {}
obligations { one: Step starts ready, required }
certificate asked { issuer environment premises request claims node(one), status(one) is ready starts active }
certificate done { issuer any premises request claims status(one) is closed }
update close operation complete by ana {
  view global when status(one) == ready set status(one) := closed issue done
  fault bad: withhold done
}
update inc by environment { when status(one) == closed and not valid(done) set c.n := c.n + 1 }
allow dead_end because "nobody accepts"
invariant ok: c.n >= 0 or c.n == 0
reachable high: c.n == 1
"""


@pytest.mark.parametrize("unaudited", [True, ("bad",)])
def test_a_write_outside_its_domain_is_found_in_a_state_that_is_not_feasible(tmp_path: Path, unaudited: bool | tuple[str, ...]) -> None:
    """`inc` is legal from every feasible state, where it never occurs: the solver proves that, and it says nothing of this state."""
    path = tmp_path / "withheld.icore"
    path.write_text(INFEASIBLE, encoding="utf-8")
    assert next(r for r in api.check(api.load(path)).results if r.name == "legality").verdict is Verdict.PROVED
    report = api.check(api.load(path), unaudited=unaudited)
    found = next(result for result in report.results if result.name == "definedness")
    assert (found.verdict, found.detail) == (Verdict.VIOLATED, "inc breaks range (1)")
    assert found.run is not None and [step.update for step in found.run.steps] == ["close.bad", "inc"]
    assert found.run.offending is not None and found.run.offending.update == "inc"
    assert report.obligations == ()


def test_where_nothing_is_violated_all_is_searched(tmp_path: Path) -> None:
    """Every property is answered at depth 1; that no write leaves its domain is not, and nothing makes it beside the point."""
    path = tmp_path / "fine.icore"
    path.write_text(CLIMB.replace("invariant low: x.at <= 6", "reachable two: x.at == 2"), encoding="utf-8")
    report = api.check(api.load(path), unaudited=True)
    assert (report.verdict, report.space["states"], report.space["stopped"]) == (Verdict.HOLDS, 1001, None)


def test_a_fault_that_did_not_commit_so_far_is_not_said_never_to(
    climb: Climb,
) -> None:
    status, verdicts, _, text = climb("fault late by monitor { when x.at == 900 set x.at := 0 }\n")
    assert (status, verdicts["let through"]) == (1, "unknown")
    assert f"not committed so far: late ({ANSWERED})" in text
    late = "fault late by monitor { when x.at == 900 set x.at := 0 }\n"
    assert climb(late, "--unaudited", "--only", "low", "--only", "let through")[1] == {"low": "violated", "let through": "holds"}


def test_a_violation_that_is_expected_does_not_end_the_search(climb: Climb) -> None:
    """0..1000 are searched: a violation that is not expected would be one of what is not asked for by name."""
    status, verdicts, space, text = climb("expect violated low\n")
    assert (status, space["states"], space["stopped"]) == (0, 1001, None)
    assert verdicts == {"well-formed": "holds", "low": "holds", "let through": "holds"}
    assert "low               holds     violated, as the file expects · in 994 states" in text  # 7..1000
    # One that is not expected still ends it: at depth d the states are d..2d, and 10 is met at depth 5, when 0..10 are found.
    status, verdicts, space, _ = climb("expect violated low\ninvariant lower: x.at < 10\n")
    assert (status, verdicts["lower"], space["states"], space["stopped"]) == (1, "violated", 11, ANSWERED)


def test_a_write_outside_its_domain_is_found_behind_an_expected_violation(climb: Climb) -> None:
    status, verdicts, space, _ = climb("expect violated low\nupdate over by monitor { when x.at == 1000 set x.at := x.at + 1 }\n")
    assert (status, verdicts["low"], verdicts["definedness"], space["states"]) == (1, "holds", "violated", 1001)


@pytest.mark.parametrize("name", ["code_change", "incident_response_broken", "code_change_broken"])
def test_examples_give_the_verdicts_of_the_whole_search(name: str) -> None:
    loaded = api.load(CHECKOUT / "examples" / f"{name}.icore")
    system = loaded.system
    asked = unaudited_questions(system)
    report = api.check(loaded, unaudited=True)
    assert report.space["stopped"] == ANSWERED
    whole = explore(system, make_plan(system, loaded.bank).watchlist, mode=Unaudited())
    assert not any(one.isdisjoint(answers(whole)) for one in asked)
    assert isinstance(report.space["states"], int) and report.space["states"] < whole.states
    # Every shortest run is as long as the whole search finds it.
    named = api.check(loaded, unaudited=sorted({u.fault or u.schema for u in system.updates if u.fault} | attempts(system)))
    assert named.space["states"] == whole.states
    assert {r.name: r.verdict for r in report.results if r.name not in ("definedness", "let through")} == {
        r.name: r.verdict for r in named.results if r.name not in ("definedness", "let through")
    }
    for short, full in zip(report.results, named.results, strict=False):
        if short.run is not None and full.run is not None:
            assert len(short.run.steps) == len(full.run.steps)


def attempts(system: System) -> set[str]:
    return {f"{u.schema}.attempt" for u in system.updates if not u.requires.is_true}
