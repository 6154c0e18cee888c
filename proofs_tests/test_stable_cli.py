"""Order stability, termination and liveness of packages, from the text to the report: verdicts and counts argued by hand."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from random import Random

import pytest
from conftest import CHECKOUT, Icore

from icore_kernel import api
from icore_kernel.check.plan import ON_GRAPH
from icore_kernel.check.run import check
from icore_kernel.check.stable import stable
from icore_kernel.explore.model import Rules
from icore_kernel.explore.search import Engine, explore
from icore_kernel.verdict import Assurance, Report, Result, Verdict

CASES = CHECKOUT / "proofs_tests" / "cases" / "rewriting"
HOLDS, VIOLATED, UNKNOWN = "holds", "violated", "unknown"


def results(name: str, folder: Path = CASES) -> dict[str, Result]:
    return {r.name: r for r in api.check(api.load(folder / f"{name}.icore")).results}


@pytest.mark.parametrize(
    ("name", "termination", "stability", "said"),
    [
        # Locally confluent: both critical pairs join. c and d are normal, and a reaches both.
        ("round_trip", VIOLATED, VIOLATED, "not terminating · definition 14 fails · not confluent · 2 critical pairs, all joinable"),
        # Three steps one after the other: nothing competes.
        ("one_update", HOLDS, HOLDS, "no fork · 1 normal form"),
        # c <-> d never comes to a: not normalizing, though no state reaches two normal forms.
        ("form_and_cycle", VIOLATED, VIOLATED, "not normalizing: some runs can never settle · definition 14 holds · not confluent"),
        # From a and from b only c can be settled in: both forks (b or c, a or c) join in c.
        ("confluent_cycle", VIOLATED, HOLDS, "normalizing, not terminating · definition 14 holds · confluent · 2 critical pairs, all"),
        ("race", HOLDS, VIOLATED, "1 critical pair, 0 joinable, 0 apart by choice, 1 by order · 0 independent forks · 2 normal forms"),
        # (n + 1)^2 states with n = 3; a fork wherever both can move: 3^2.
        ("counters", HOLDS, HOLDS, "confluent · 0 critical pairs · 9 independent forks · 1 normal form"),
        ("detour", HOLDS, HOLDS, "1 critical pair, all joinable · 0 independent forks · 1 normal form"),
        # Four states a task, two tasks: 3^2 forks, all independent; the place a report came in is no part of the state.
        ("log", HOLDS, HOLDS, "0 critical pairs · 9 independent forks · 1 normal form"),
    ],
)
def test_verdicts_argued_by_hand(name: str, termination: str, stability: str, said: str) -> None:
    found = results(name)
    assert (found["termination"].verdict.value, found["order stability"].verdict.value) == (termination, stability)
    assert said in found["order stability"].detail


def test_longest_paths() -> None:
    """Two counters up to 3: 6 steps. Two tasks of three steps each: 6. One page of three: 3."""
    assert results("counters")["termination"].detail == "longest productive path 6 steps"
    assert results("log")["termination"].detail == "longest productive path 6 steps"
    assert results("who_did_it")["termination"].detail == "longest productive path 3 steps"


def test_the_form_and_the_cycle_are_told_apart_from_a_confluent_system() -> None:
    apart, confluent = results("form_and_cycle"), results("confluent_cycle")
    assert " not confluent" in apart["order stability"].detail
    assert " not confluent" not in confluent["order stability"].detail
    cycle = apart["order stability"].run
    assert cycle is not None
    assert [step.update for step in cycle.steps] == ["leave"]
    assert {step.update for step in cycle.cycle} == {"on", "off"}
    assert apart["settlement"].verdict is Verdict.VIOLATED
    assert "1 cycle without an exit" in apart["settlement"].detail
    assert confluent["settlement"].verdict is Verdict.HOLDS


def test_no_run_settles_is_vacuous_and_no_success() -> None:
    found = results("vacuous")["order stability"]
    assert found.verdict is Verdict.VIOLATED
    assert found.detail.startswith("vacuous: no run settles")


def test_one_update_says_so_instead_of_boasting() -> None:
    report = api.check(api.load(CASES / "one_update.icore"))
    (finding,) = report.findings
    assert (finding.kind, finding.subject) == ("no_fork", "order stability")
    assert "there is one update" in finding.message
    assert report.exit_status() == 0
    assert report.exit_status(strict=True) == 1


@pytest.mark.parametrize(
    ("name", "plain", "conditional"),
    [
        # Who did the page stays in the state; given who is assigned nothing else differs.
        ("who_did_it", "order stability", "order stability given assign.m"),
        # Done or given up; given which of the two, one settlement.
        ("failing", "order stability on status", "order stability given finish or give_up"),
        ("toss", "order stability", "order stability given toss.heads"),
    ],
)
def test_packages_that_hold_only_given_a_choice(name: str, plain: str, conditional: str) -> None:
    loaded = api.load(CASES / f"{name}.icore")
    bare = replace(loaded, system=replace(loaded.system, expect_violated=()))
    found = {r.name: r for r in api.check(bare).results}
    assert found[plain].verdict is Verdict.VIOLATED
    assert "1 critical pair, 0 joinable, 1 apart by choice, 0 by order" in found[plain].detail
    assert found[plain].fork is not None
    assert found[plain].fork.choice
    assert found[conditional].verdict is Verdict.HOLDS


@pytest.mark.parametrize(
    ("name", "conditional"),
    [
        ("who_did_it", "order stability on status"),
        ("first_come", "order stability on status, assignee"),
    ],
)
def test_packages_that_hold_only_on_an_observation(name: str, conditional: str) -> None:
    loaded = api.load(CASES / f"{name}.icore")
    found = {r.name: r for r in api.check(replace(loaded, system=replace(loaded.system, expect_violated=()))).results}
    assert found["order stability"].verdict is Verdict.VIOLATED
    assert found[conditional].verdict is Verdict.HOLDS
    assert "1 outcome of 2 normal forms" in found[conditional].detail


def test_an_inessential_field_makes_the_difference() -> None:
    """log and log_kept differ in one word."""
    assert (CASES / "log.icore").read_text().split("agents", 1)[1].replace("inessential ", "") == (
        (CASES / "log_kept.icore").read_text().split("agents", 1)[1].replace("\nexpect violated `order stability`", "")
    )
    kept = api.load(CASES / "log_kept.icore")
    found = {r.name: r for r in api.check(replace(kept, system=replace(kept.system, expect_violated=()))).results}["order stability"]
    assert found.verdict is Verdict.VIOLATED
    assert found.fork is not None
    assert not found.fork.choice
    assert results("log")["order stability"].verdict is Verdict.HOLDS


def test_the_decisive_fork_of_a_race() -> None:
    found = results("race")["order stability"]
    assert found.run is not None
    assert found.run.steps == ()
    fork = found.fork
    assert fork is not None
    assert [(s.update, s.actor) for s in (fork.first, fork.second)] == [("write_one", "environment"), ("write_two", "nobody")]
    assert not fork.choice
    assert fork.conflict == ("register.holds",)
    assert fork.settlements == (("register.holds", "2", "1"),)
    assert [[s.update for s in side] for side in fork.continuations] == [["write_two"], ["write_one"]]


def test_exits_of_a_decisive_component_may_start_in_different_states_of_it() -> None:
    """a has one exit, to c, and b one, to d: the way from a to b stands before the second exit."""
    fork = results("round_trip")["order stability"].fork
    assert fork is not None
    assert (fork.first.update, [s.update for s in fork.way], fork.second.update) == ("left", ["out"], "right")
    assert fork.settlements == (("x.at", "2", "3"),)


@pytest.mark.parametrize("name", sorted(path.stem for path in CASES.glob("*.icore")))
@pytest.mark.parametrize(
    "rules",
    [
        Rules(max_states=1),
        Rules(max_depth=0),
        Rules(timeout=1e-9),
        Rules(interrupted=lambda: True),
        Rules(stop_on=frozenset({"every"})),
    ],
    ids=["states", "depth", "time", "interrupt", "stop_on"],
)
def test_a_truncated_exploration_never_gives_a_verdict(name: str, rules: Rules) -> None:
    loaded = api.load(CASES / f"{name}.icore")
    report = stopped(loaded, rules)
    assert report.space["stopped"]
    named = [r for r in report.results if r.name in {p.name for p in loaded.system.properties if p.kind in ON_GRAPH}]
    assert named
    for result in named:
        assert result.verdict is Verdict.UNKNOWN, result.name
        assert result.assurance in {Assurance.BOUNDED, Assurance.NONE}
        assert result.fork is None
        assert result.matrix == ()


def stopped(loaded: api.Loaded, rules: Rules) -> Report:
    """`stop_on` needs something that is looked for: the first watch of the plan, which every state satisfies."""
    if not rules.stop_on:
        return check(loaded, rules=rules)
    from icore_kernel.check.plan import SEEN
    from icore_kernel.system import Property, PropertyKind

    every = Property(PropertyKind.REACHABLE, "every", loaded.bank.true, loaded.package.span)
    system = replace(loaded.system, properties=(*loaded.system.properties, every))
    number = len(system.properties) - 1
    return check(replace(loaded, system=system), rules=replace(rules, stop_on=frozenset({f"{SEEN}:{number}"})))


def test_a_bound_on_memory_gives_no_verdict_either() -> None:
    """The plain engine needs no bound; a block search stops at once."""
    from icore_kernel.check.ongraph import OnGraph
    from icore_kernel.check.plan import make_plan

    loaded = api.load(CASES / "counters.icore")
    rules = Rules(keep_graph=True, max_memory=1)
    exploration = explore(loaded.system, rules=rules, engine=Engine.NUMPY)
    assert exploration.stopped is not None
    graph = OnGraph(loaded, make_plan(loaded.system, loaded.bank), exploration, rules)
    for prop in loaded.system.properties:
        assert graph.decide(prop).verdict is Verdict.UNKNOWN


def test_both_engines_answer_the_same() -> None:
    from icore_kernel.check.ongraph import OnGraph
    from icore_kernel.check.plan import make_plan

    for path in sorted(CASES.glob("*.icore")):
        loaded = api.load(path)
        plan = make_plan(loaded.system, loaded.bank)
        answers = []
        for engine in (Engine.PYTHON, Engine.NUMPY):
            rules = Rules(keep_graph=True)
            exploration = explore(loaded.system, plan.watchlist, rules, engine=engine)
            graph = OnGraph(loaded, plan, exploration, rules)
            found = [graph.decide(p) for p in loaded.system.properties if p.kind in ON_GRAPH]
            answers.append([(r.name, r.verdict, r.detail, r.matrix) for r in found])
        assert answers[0] == answers[1], path.stem


# ---- the examples ------------------------------------------------------------------------------------------------------------
def asked(tmp_path: Path, example: str, *checks: str) -> dict[str, Result]:
    """The example with these checks instead of its own."""
    text = re.sub(r"(?m)^(check|expect violated) .*\n", "", (CHECKOUT / "examples" / f"{example}.icore").read_text(encoding="utf-8"))
    path = tmp_path / f"{example}.icore"
    path.write_text(text + "".join(f"check {check}\n" for check in checks), encoding="utf-8")
    return {r.name: r for r in api.check(api.load(path)).results}


def test_binary_coverage(tmp_path: Path) -> None:
    """Six points, each ready, assigned (to its one owner), closed or rejected. A point that is assigned is done or given up, in 4^5
    states of the others: 6 * 4^5 = 6,144 forks that settle apart, all of them choices. Two points move independently: 15 pairs,
    (1 + 2)^2 ways, 4^4 states of the others: 34,560. Each point ends closed or rejected: 2^6 settlements."""
    found = asked(tmp_path, "binary_coverage", "order stability", "order stability given complete or fail")
    plain = found["order stability"]
    assert plain.verdict is Verdict.VIOLATED
    assert "6,144 critical pairs, 0 joinable, 6,144 apart by choice, 0 by order · 34,560 independent forks" in plain.detail
    assert plain.detail.endswith("64 normal forms")
    assert found["order stability given complete or fail"].verdict is Verdict.HOLDS


def test_decompose_and_solve(tmp_path: Path) -> None:
    """Four parts, each free, assigned (one agent is able), closed, accepted or rejected: 4 * 5^3 = 500 forks solve / fail, 6 pairs of
    parts, (1 + 2 + 1)^2 ways, 5^2 states of the others: 2,400 independent ones; 2^4 settlements."""
    found = asked(tmp_path, "decompose_and_solve", "order stability", "order stability given solve or fail")
    plain = found["order stability"]
    assert plain.verdict is Verdict.VIOLATED
    assert "500 critical pairs, 0 joinable, 500 apart by choice, 0 by order · 2,400 independent forks · 16 normal forms" in plain.detail
    assert found["order stability given solve or fail"].verdict is Verdict.HOLDS


def test_dependency_ladder(tmp_path: Path) -> None:
    """Four rungs, two able agents; every rung may be assigned ahead. Failing at rung k leaves 2^(k+1) ways to have assigned the rungs up to
    it and 3^(3-k) ways the others were when they were doomed: 54 + 36 + 24 + 16 = 130 settlements, as many forks complete / fail, and 2^4
    settlements with all accepted: 146. Between failure and doom every rung above that is free may still be assigned to either agent:
    2^(k+1) (3-k) 2 3^(2-k) forks, 108 + 48 + 16 = 172, a matter of order. Statuses: failed at one of four, or not at all, 5 outcomes; where
    a rung is frozen to the agent who is not able, work stops there: 4 more. Without freezing who is assigned, statuses depend on it: each
    agent's success is a choice of its own."""
    chosen = "given assign.m, complete or fail"
    checks = "order stability", f"order stability {chosen}", f"order stability {chosen} on status", "order stability on status"
    found = asked(tmp_path, "dependency_ladder", *checks, "order stability given complete or fail on status")
    cells = {(c.first, c.second): c for c in found["order stability"].matrix}
    assert found["order stability"].verdict is Verdict.VIOLATED
    assert found["order stability"].detail.endswith("146 normal forms")
    assert (cells["complete", "fail"].not_joinable, cells["assign", "doom"].not_joinable) == (130, 172)
    assert cells["complete", "fail"].choice
    assert not cells["assign", "doom"].choice
    assert found["order stability on status"].detail.endswith("5 outcomes of 146 normal forms")
    fork = found[checks[1]].fork
    assert fork is not None
    assert {name.partition("(")[0] for name, _, _ in fork.settlements} == {"assignee", "able"}
    assert found[checks[2]].verdict is Verdict.HOLDS
    assert "(9 outcomes over " in found[checks[2]].detail
    assert found["order stability given complete or fail on status"].verdict is Verdict.VIOLATED


def test_capability_assignment(tmp_path: Path) -> None:
    """Local states: sums, lookup, critique have two able agents, script one: 1 + 2 + 2 + 2 + 2 = 9 (ready; assigned, closed, accepted,
    rejected, by whom) and 5. A piece of work that is assigned is completed or failed: 3 (2 9 5 9) + 9^3 = 3,159 forks, choices. Who of two
    gets it: 9 5 9 = 405 forks each; those of sums join, since agent_2 may be replaced by agent_1 (0.70 to 0.94), the others gain less than
    0.05: 810. Whether that happens before agent_2 completes or fails is a matter of order: 2 405 forks. Settled: 4 4 2 4 = 128. Frozen
    choices do not help: which agent it is in the end decides whose success counts."""
    chosen = "given assign.m, complete or fail on status"
    found = asked(tmp_path, "capability_assignment", "order stability", f"order stability {chosen}")
    plain = found["order stability"]
    assert plain.verdict is Verdict.VIOLATED
    assert "5,184 critical pairs, 405 joinable, 3,969 apart by choice, 810 by order" in plain.detail
    assert plain.detail.endswith("128 normal forms")
    cells = {(c.first, c.second): c for c in plain.matrix if c.not_joinable}
    assert {names: (c.not_joinable, c.choice) for names, c in cells.items()} == {
        ("assign", "assign"): (810, True), ("complete", "fail"): (3159, True), ("reassign", "complete"): (405, False),
        ("reassign", "fail"): (405, False),
    }  # fmt: skip
    fork = found[f"order stability {chosen}"].fork
    assert fork is not None
    assert {fork.first.update.partition("(")[0], fork.second.update.partition("(")[0]} & {"reassign"}
    assert fork.settlements == (("status(sums)", "rejected", "accepted"),)


@pytest.mark.parametrize(
    ("example", "alternatives"),
    [
        # Who is assigned and whether the work fails is chosen; what a push hits when is a matter of order, and leaves revoked
        # evidence of what was done before it. The statuses come out the same: a push reopens what was done, and it is done again.
        ("release_pipeline", "finish or fail"),
        ("code_change", "pass or refuse"),
    ],
)
def test_a_push_is_a_matter_of_order_that_statuses_do_not_keep(tmp_path: Path, example: str, alternatives: str) -> None:
    given = f"given assign.m, {alternatives}"
    found = asked(tmp_path, example, "order stability", f"order stability {given}", f"order stability {given} on status")
    assert found["order stability"].verdict is Verdict.VIOLATED
    assert found[f"order stability {given}"].verdict is Verdict.VIOLATED
    fork = found[f"order stability {given}"].fork
    assert fork is not None
    assert not any(name.startswith("status(") for name, _, _ in fork.settlements)
    assert found[f"order stability {given} on status"].verdict is Verdict.HOLDS


# ---- liveness --------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "verdicts"),
    [
        # The environment need not send: a run may stay at 0. What was sent is answered by an update that is weakly fair.
        ("letters", {"some_answer": VIOLATED, "replies": HOLDS, "can_answer": VIOLATED}),
        ("letters_come", {"some_answer": HOLDS, "can_answer": HOLDS}),
        # A letter that is lost is not there to be delivered: no letter stays. Of the letters posted for ever one is delivered.
        ("post", {"told": VIOLATED}),
        ("post_strong", {"told": HOLDS}),
        # The door opens and closes for ever; passing is enabled again and again, never without a break.
        ("bell", {"through": VIOLATED, "settlement": VIOLATED}),
        ("bell_strong", {"through": HOLDS, "settlement": HOLDS}),
        # Thrown back once at most: 0 1 0 1 2, four moves. For ever: the environment wins.
        ("guard", {"arrives": HOLDS}),
        ("guard_tireless", {"arrives": VIOLATED, "fair_arrival": VIOLATED}),
        ("abandoned", {"settlement": VIOLATED}),
        # Trying is fair and may fail for ever; success declared fair itself comes.
        ("retries", {"over": VIOLATED}),
        ("retries_succeed", {"over": HOLDS}),
    ],
)
def test_liveness_argued_by_hand(name: str, verdicts: dict[str, str]) -> None:
    found = results(name)
    assert {key: found[key].verdict.value for key in verdicts} == verdicts


def test_a_lasso_is_a_run_and_its_cycle() -> None:
    run = results("bell")["through"].run
    assert run is not None
    assert [s.update for s in run.steps] == ["opens"]
    assert sorted(s.update for s in run.cycle) == ["closes", "opens"]


def test_a_strategy_and_a_spoiling_play() -> None:
    won, lost = results("guard")["arrives"], results("guard_tireless")["arrives"]
    assert "in at most 4 moves, beginning with walk" in won.detail
    assert won.run is not None
    assert [s.update for s in won.run.steps] == ["walk", "walk"]
    assert lost.run is not None
    assert [s.update for s in lost.run.cycle] == ["walk", "throw"]


def test_controllable_says_what_it_counts_on() -> None:
    """Two moves: the letter, for which the agents wait, and the answer. Where nothing makes it come, the play ends at once."""
    come, none = results("letters_come")["can_answer"], results("letters")["can_answer"]
    assert come.detail == "in at most 2 moves, counting on fair send · from 3 of 3 states"
    assert come.run is not None
    assert [s.update for s in come.run.steps] == ["send", "reply"]
    assert none.detail == "the other side can prevent it, nothing of it being declared fair · agents win from 2 of 3 states"
    assert none.run is not None
    assert (none.run.steps, none.run.cycle) == ((), ())
    assert none.repair.startswith("declare `fair weak`")
    strong, weak = results("post_strong")["told"], results("post")["told"]
    assert strong.detail.startswith("in the end, after no known number of moves, beginning with mail, counting on fair deliver")
    assert weak.detail.startswith("the other side can prevent it, fair as deliver may be")
    assert weak.run is not None
    assert [s.update for s in weak.run.cycle] == ["mail", "lose"]


def test_a_dead_end_says_what_waits_for_what() -> None:
    found = results("abandoned")["settlement"]
    assert "illegally stuck 1" in found.detail
    assert found.run is not None
    assert [s.update for s in found.run.steps] == ["assign(ana, page)", "leave(ana, page)"]
    (reason,) = found.reasons
    assert reason.label == "status(page) is ready: finish(ana, page) waits for"
    assert reason.values == (("assignee(page)", "none"),)
    assert found.repair.startswith("nothing was refused there")


def test_the_text_report_shows_the_lasso(icore: Icore) -> None:
    done = icore("check", str(CASES / "guard_tireless.icore"))
    assert done.returncode == 1
    assert "  in the initial state:\n  then for ever:\n    1  walk" in done.stdout
    assert "    2  throw by environment  x.at: 1 -> 0" in done.stdout


# ---- the order of declarations ------------------------------------------------------------------------------------------
EXAMPLES = sorted((CHECKOUT / "examples").glob("*.icore"))
PACKAGES = [(path, seed) for path in sorted(CASES.glob("*.icore")) for seed in range(3)] + [(path, 0) for path in EXAMPLES]
LARGE = Rules(max_states=20_000)


@pytest.mark.parametrize(("path", "seed"), PACKAGES, ids=lambda value: value.stem if isinstance(value, Path) else str(value))
def test_the_order_of_declarations_changes_no_verdict_and_no_count(path: Path, seed: int, tmp_path: Path) -> None:
    head, blocks = declarations(path.read_text(encoding="utf-8"))
    Random(seed).shuffle(blocks)
    other = tmp_path / path.name
    other.write_text("\n".join([head, *blocks]) + "\n", encoding="utf-8")
    assert summary(other) == summary(path)


def declarations(text: str) -> tuple[str, list[str]]:
    """The header and the declarations, each with its lines; comments are dropped."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    head = [line for line in lines if re.match(r"(language|package) ", line)]
    blocks: list[str] = []
    depth = 0
    for line in (line for line in lines if line not in head):
        code = line.split("#")[0]
        if depth == 0 and not line[0].isspace():
            blocks.append(line)
        else:
            blocks[-1] += "\n" + line
        depth += code.count("{") - code.count("}")
    return "\n".join(head), blocks


def summary(path: Path) -> tuple[object, ...]:
    """Verdicts with their counts, the matrix without what the solver says, and the state space."""
    report, cells = stable(api.load(path), rules=LARGE, solver_seconds=0)
    told = sorted((r.name, r.verdict.value, r.detail) for r in report.results)
    matrix = sorted((*sorted((c.first, c.second)), c.choice, c.independent, c.joinable, c.not_joinable, c.unclassified) for c in cells)
    return told, matrix, report.space["stopped"], report.space["states"], report.space["steps"], report.space["levels"]


# ---- the command line -----------------------------------------------------------------------------------------------------
def test_stable_prints_the_matrix(icore: Icore) -> None:
    done = icore("stable", str(CASES / "counters.icore"))
    assert done.returncode == 0
    assert re.search(r"up / along +9 +0 +0 +0 +independent everywhere", done.stdout)
    done = icore("stable", str(CASES / "race.icore"))
    assert done.returncode == 1
    assert re.search(r"write_one / write_two +0 +0 +1 +0 +not joinable\n", done.stdout)
    assert "conflict: write_one, write_two: wherever both can happen" in done.stdout
    assert "a matter of order" in done.stdout


def test_stable_checks_the_plain_question_where_none_is_declared(icore: Icore) -> None:
    done = icore("stable", str(CHECKOUT / "proofs_tests" / "cases" / "good" / "plain_system.icore"), "--set", "n=2")
    assert "termination" in done.stdout
    assert "order stability" in done.stdout


def test_stable_as_json(icore: Icore) -> None:
    done = icore("stable", str(CASES / "race.icore"), "--format", "json")
    record = json.loads(done.stdout)
    assert record["schema"] == "icore.stable/1"
    assert record["exit_status"] == done.returncode == 1
    (cell,) = record["matrix"]
    assert (cell["first"], cell["second"], cell["kind"]) == ("write_one", "write_two", "not joinable")
    assert [cell[key] for key in ("independent", "joinable", "not_joinable", "unclassified")] == [0, 0, 1, 0]
    fork = next(r["fork"] for r in record["results"] if r["name"] == "order stability")
    assert fork["settlements"] == [{"field": "register.holds", "first": "2", "second": "1"}]


def test_stable_of_a_search_that_stopped_is_unknown(icore: Icore) -> None:
    done = icore("stable", str(CASES / "counters.icore"), "--max-states", "5", "--format", "json")
    record = json.loads(done.stdout)
    assert done.returncode == 3
    assert record["matrix"] is None
    assert {r["verdict"] for r in record["results"]} == {"unknown"}


def test_stable_draws_a_page_that_needs_nothing_else(icore: Icore, tmp_path: Path) -> None:
    page = tmp_path / "fork.html"
    done = icore("stable", str(CASES / "race.icore"), "--html", str(page))
    assert done.returncode == 1
    text = page.read_text(encoding="utf-8")
    assert not re.search(r"(src|href)=|https?:|@import|url\(", text)
    assert text.count("<circle") == 1 + 2 + 2, "the fork, and two states on each side"
    assert text.count("<line") == 4
    assert text.count('class="settled"') == 2
    assert "<td>register.holds</td><td>2</td><td>1</td>" in text
    steps = json.loads(re.search(r"const steps = (\{.*?\});", text).group(1))  # type: ignore[union-attr]
    assert [s["said"] for s in steps["one"]] == ["write_one by environment", "write_two by nobody"]
    assert [s["said"] for s in steps["other"]] == ["write_two by nobody", "write_one by environment"]


VOID = {"meta", "line", "circle"}
"""Elements of the page without an end tag of their own (those of SVG end with a slash)."""


class Page(HTMLParser):
    """A page read strictly: every element is closed in its order, and no id stands twice."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.places: list[str] = []
        self.script = ""
        self.feed(text)
        self.close()
        assert self.open == []
        assert len(set(self.ids)) == len(self.ids)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs)
        self.ids.extend(value or "" for name, value in attrs if name == "id")
        self.places.extend(value or "" for name, value in attrs if name == "data-at")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.script += data


BROWSER = """
class Item {
  constructor(at) { this.dataset = {at}; this.set = new Set(); this.children = []; this.textContent = "";
    this.classList = {toggle: (name, on) => on ? this.set.add(name) : this.set.delete(name)}; }
  replaceChildren(...items) { this.children = items; }
}
const items = PLACES.map(at => new Item(at)), byId = Object.fromEntries(IDS.map(id => [id, new Item(id)]));
const document = {
  querySelectorAll: selector => { if (selector !== "[data-at]") throw selector; return items; },
  getElementById: id => { if (!(id in byId)) throw id; return byId[id]; },
  createElement: () => new Item(""),
};
SCRIPT
const seen = [];
const marked = word => [...new Set(items.filter(i => i.set.has(word)).map(i => i.dataset.at))];
const look = () => seen.push([byId.where.textContent, byId.said.textContent, byId.changes.children.map(c => c.textContent),
  marked("here"), marked("passed").length]);
look();
for (const act of ["on", "on", "on", "other", "back"]) { byId[act].onclick(); look(); }
for (const key of ["ArrowLeft", "ArrowUp", "ArrowRight", "ArrowDown"]) { document.onkeydown({key, preventDefault() {}}); look(); }
console.log(JSON.stringify(seen));
"""


def test_a_page_is_well_formed_and_steps_through_both_sides(icore: Icore, tmp_path: Path) -> None:
    """Read strictly; then its script runs in Node, where there is one, on elements with the page's ids and places."""
    path = tmp_path / "fork.html"
    icore("stable", str(CASES / "race.icore"), "--html", str(path))
    page = Page(path.read_text(encoding="utf-8"))
    assert set(re.findall(r'getElementById\("(.+?)"\)', page.script)) <= set(page.ids)
    assert set(page.places) == {"stem-0", "one-1", "one-2", "other-1", "other-2"}
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no Node to run the page's script in")
    program = BROWSER.replace("PLACES", json.dumps(page.places)).replace("IDS", json.dumps(page.ids)).replace("SCRIPT", page.script)
    done = subprocess.run([node, "-e", program], capture_output=True, text=True, timeout=60, check=True)
    one, two = "write_one by environment", "write_two by nobody"
    first, second = ["ana_wrote: 0 -> 1", "register.holds: 0 -> 1"], ["bo_wrote: 0 -> 1", "register.holds: 1 -> 2"]
    seen = json.loads(done.stdout)
    assert [look[:2] + look[3:] for look in seen] == [
        ["side one, step 0 of 2", "the initial state", ["stem-0"], 1],
        ["side one, step 1 of 2", one, ["one-1"], 2],
        ["side one, step 2 of 2", two, ["one-2"], 3],
        ["side one, step 2 of 2", two, ["one-2"], 3],
        ["side other, step 2 of 2", one, ["other-2"], 3],
        ["side other, step 1 of 2", two, ["other-1"], 2],
        ["side one, step 1 of 2", one, ["one-1"], 2],
        ["side one, step 0 of 2", "the initial state", ["stem-0"], 1],
        ["side other, step 0 of 2", "the initial state", ["stem-0"], 1],
        ["side other, step 1 of 2", two, ["other-1"], 2],
    ]
    assert [look[2] for look in seen[:3]] == [[], first, second]


def test_stable_draws_nothing_where_nothing_settles_apart(icore: Icore, tmp_path: Path) -> None:
    page = tmp_path / "fork.html"
    done = icore("stable", str(CASES / "counters.icore"), "--html", str(page))
    assert done.returncode == 0
    assert not page.exists()
    assert "no fork settles apart" in done.stderr


def test_names_in_a_page_are_text_and_never_markup() -> None:
    from icore_kernel.report.diamond import page_of
    from icore_kernel.verdict import Change, Fork, Step

    step = Step("</script><b>", "a&b", (Change("<f>", "<", ">"),))
    fork = Fork(step, step, False, ("<f>",), (("<f>", "&", "<"),), ((), ()), (step,))
    result = Result("<r>", Verdict.VIOLATED, Assurance.EXHAUSTIVE, "<d>", fork=fork)
    text = page_of(Report("f", "<P>", "1", (result,)), result)
    assert text.count("</script>") == 1
    assert "<b>" not in text
    assert "<f>" not in text
    assert "<P>" not in text


def test_wrong_input_to_stable(icore: Icore, tmp_path: Path) -> None:
    assert icore("stable", str(tmp_path / "none.icore")).returncode == 2
    done = icore("stable", str(CASES / "race.icore"), "--html", str(tmp_path / "no" / "folder.html"))
    assert done.returncode == 2
    assert "cannot be written" in done.stderr
