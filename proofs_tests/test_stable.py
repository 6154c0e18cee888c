"""Order stability and termination of packages: verdicts argued by hand, and the same whatever the bound, the engine and the order."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from conftest import CHECKOUT
from stable_lab import CASES, HOLDS, VIOLATED, results

from icore_kernel import api
from icore_kernel.check.plan import ON_GRAPH
from icore_kernel.check.run import check
from icore_kernel.check.stable import stable
from icore_kernel.explore.model import Rules
from icore_kernel.explore.search import Engine, explore
from icore_kernel.verdict import Assurance, Report, Verdict


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
