"""What was not looked at is unknown: a bound that was hit, an interrupt, a solver that gave up, time that ran out."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import CHECKOUT, Command, Write
from honesty_lab import COMPLETE, COUNTER, COUNTS, result_of

from icore_kernel import api
from icore_kernel.check.run import check
from icore_kernel.meaning import smt
from icore_kernel.system import Property, PropertyKind
from icore_kernel.verdict import Verdict

LARGE = COUNTS / "rings.icore"
LARGE_SIZE = ("--set", "n=8", "--set", "k=9")  # 43 million states: no search here comes to its end
BOUNDS = [("--max-states", "500"), ("--max-depth", "3"), ("--timeout", "3")]


@pytest.mark.parametrize("bound", BOUNDS)
def test_a_bound_is_unknown_and_says_what_was_covered(command: Command, bound: tuple[str, str]) -> None:
    status, out, _ = command("check", "--format", "json", *bound, *LARGE_SIZE, LARGE)
    record = json.loads(out)
    assert (status, record["verdict"], record["exit_status"]) == (3, "unknown", 3)
    stopped = record["space"]["stopped"]
    assert stopped.startswith(bound[0].removeprefix("--"))
    assert record["space"]["states"] > 0
    (legality,) = [r for r in record["results"] if r["name"] == "legality"]
    assert (legality["verdict"], legality["assurance"]) == ("unknown", "bounded")
    assert legality["detail"] == f"nothing found in {record['space']['states']:,} states ({stopped})"
    status, text, _ = command("check", *bound, *LARGE_SIZE, LARGE)
    assert status == 3
    assert f"the search stopped before its end: {stopped}" in text
    assert text.splitlines()[-1].startswith("unknown")


@pytest.mark.parametrize("bound", BOUNDS)
def test_what_was_found_before_the_bound_is_violated(command: Command, tmp_path: Path, bound: tuple[str, str]) -> None:
    path = tmp_path / "large.icore"
    path.write_text(LARGE.read_text(encoding="utf-8") + "invariant stays: ring(1).at == 1\n", encoding="utf-8")
    status, out, _ = command("check", "--format", "json", *bound, *LARGE_SIZE, path)
    record = json.loads(out)
    assert (status, record["verdict"]) == (1, "violated")
    assert record["space"]["stopped"]
    (stays,) = [r for r in record["results"] if r["name"] == "stays"]
    assert (stays["verdict"], len(stays["run"]["steps"])) == ("violated", 1)
    assert stays["detail"].endswith("or more")


def test_a_bound_that_is_not_reached_changes_nothing(command: Command) -> None:
    """6 states, depth 3: bounds just large enough leave the verdict, one less does not."""
    for bound, enough in (("--max-states", 6), ("--max-depth", 4)):
        assert command("check", bound, str(enough), COMPLETE)[0] == 0
        assert command("check", bound, str(enough - 1), COMPLETE)[0] == 3


def test_nothing_is_found_vacuous_by_a_search_that_stopped(command: Command) -> None:
    """After 2 states no certificate was valid yet and Accept not reached: that says nothing."""
    status, out, _ = command("check", "--strict", "--max-states", "2", "--format", "json", COMPLETE)
    assert (status, json.loads(out)["findings"]) == (3, [])


def test_a_bound_is_unknown_even_where_nothing_was_asked(command: Command, write: Write) -> None:
    """No update, no property, no obligation: there is no result that could be unknown but the search itself."""
    path = write("input x { at: 0..9 }\n")
    status, text, _ = command("check", "--max-states", "3", path)
    assert status == 3
    assert "nothing found in 3 states (max-states 3)" in text


MANY = 10_000


def interrupted(path: Path) -> tuple[int, str]:
    """Ctrl-C as soon as the search has told of its progress, which it does on a terminal: exit status, standard output."""
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "icore_kernel", "check", "--format", "json", *LARGE_SIZE, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, text=True, cwd=CHECKOUT) as child:
        os.close(theirs)
        told = ""
        try:
            while not any(int(count.replace(",", "")) > MANY for count in re.findall(r"([\d,]+) states ·", told)):
                told += os.read(ours, 1000).decode(errors="replace")
            child.send_signal(signal.SIGINT)
            out, _ = child.communicate(timeout=60)
        finally:
            child.kill()
    os.close(ours)
    return child.returncode, out


def test_an_interrupt_is_unknown_and_says_what_was_covered() -> None:
    status, out = interrupted(LARGE)
    record = json.loads(out)
    assert (status, record["verdict"], record["space"]["stopped"]) == (3, "unknown", "interrupted")
    assert record["space"]["states"] > MANY


def test_an_interrupt_does_not_lose_a_violation(tmp_path: Path) -> None:
    path = tmp_path / "large.icore"
    path.write_text(LARGE.read_text(encoding="utf-8") + "invariant stays: ring(1).at == 1\n", encoding="utf-8")
    status, out = interrupted(path)
    record = json.loads(out)
    assert (status, record["verdict"], record["space"]["stopped"]) == (1, "violated", "interrupted")


# ---- what this version cannot decide is unknown ---------------------------------------------------------------------------

LATER = {
    "leadsto later: x.at == 0 ~> x.at == 3": "later",
    "eventually done: x.at == 3": "done",
    "controllable steered: x.at == 3": "steered",
    "check termination": "termination",
    "check settlement": "settlement",
    "check order stability": "order stability",
    "symmetric agents ana, bo": "symmetric ana, bo",
    "fair strong up": "fair strong up",
}


@pytest.mark.parametrize(("declared", "name"), LATER.items())
def test_a_declared_property_is_answered_and_never_dropped(command: Command, write: Write, declared: str, name: str) -> None:
    """Undecided: `unknown: not decided by this version`, exit 3. Once a version decides it, it has a verdict of its own."""
    path = write(f"agents {{ ana bo }}\n{COUNTER}\n{declared}\n")
    status, out, _ = command("check", "--format", "json", path)
    named = [r for r in json.loads(out)["results"] if r["name"] == name]
    undecided = [p for p in api.load(path).system.properties if p.kind is PropertyKind.UNDECIDED]
    if undecided:
        assert [(r["verdict"], r["assurance"], r["detail"]) for r in named] == [("unknown", "none", "not decided by this version")]
        assert status == 3
    elif not declared.startswith("fair"):  # an assumption, which the properties that use it name
        assert len(named) == 1
        assert "not decided by this version" not in named[0]["detail"]
    path.write_text(path.read_text(encoding="utf-8") + "invariant low: x.at < 3\n", encoding="utf-8")
    assert command("check", path)[0] == 1


def test_an_undecided_property_is_unknown_beside_others_that_hold() -> None:
    loaded = api.load(COMPLETE)
    undecided = Property(PropertyKind.UNDECIDED, "later", loaded.bank.true, loaded.package.span, what="leadsto")
    system = replace(loaded.system, properties=(*loaded.system.properties, undecided))
    report = check(replace(loaded, system=system))
    assert result_of(report, "later") is Verdict.UNKNOWN
    assert result_of(report, "good_only") is Verdict.HOLDS
    assert (report.verdict, report.exit_status()) == (Verdict.UNKNOWN, 3)
    only = check(replace(loaded, system=system), only=("good_only",))
    assert only.exit_status() == 0


def test_the_solver_that_gives_up_is_unknown(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every question has a limit of time; where it is reached there is no proof, and no other engine is asked in silence."""
    asked: list[int] = []

    def ask(self: smt.Question, *given: object) -> smt.Answer:
        limit = given[-1]
        assert isinstance(limit, int)
        asked.append(limit)
        return smt.Answer(smt.Result.UNKNOWN, reason="timeout")

    monkeypatch.setattr(smt.Question, "ask", ask)
    status, out, _ = command("check", "--format", "json", COMPLETE)
    record = json.loads(out)
    (reports,) = [r for r in record["results"] if r["name"] == "reports"]
    assert (status, record["verdict"], reports["verdict"], reports["detail"]) == (3, "unknown", "unknown", "the solver gave up: timeout")
    assert asked and all(0 < limit <= 60_000 for limit in asked)


def test_the_solver_gets_only_what_is_left_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def ask(self: smt.Question, *given: object) -> smt.Answer:
        asked.append(int(str(given[-1])))
        return smt.Answer(smt.Result.UNKNOWN, reason="timeout")

    monkeypatch.setattr(smt.Question, "ask", ask)
    loaded = api.load(COMPLETE)
    check(loaded, rules=api.Rules(timeout=7))
    check(loaded, rules=api.Rules(interrupted=lambda: True))
    within, after_interrupt = asked
    assert 0 < within <= 7000
    assert 0 < after_interrupt <= 1000


def test_the_search_for_initial_states_has_a_budget(command: Command, write: Write) -> None:
    """10^12 candidates, of which none is initial: stopped before the end, that there is none is not known."""
    text = "input x(i: 1..12) { at: 0..9 }\ninitially sum(i in 1..12: x(i).at) > 107 and x(1).at == 0\n"
    status, out, _ = command("check", "--timeout", "0.5", write(f"{text}invariant calm: x(1).at == 0\n"))
    assert status == 3
    assert "timeout 0.5 s" in out
    assert "no initial state" not in out and "no reachable state" not in out


def test_the_search_after_a_report_has_a_budget() -> None:
    """Finality is asked after the state space is complete. Stopped there, nothing is said to be final, and the whole is unknown."""
    loaded = api.load(COMPLETE)
    calls = 0

    def count() -> bool:
        nonlocal calls
        calls += 1
        return False

    assert check(loaded, rules=api.Rules(interrupted=count)).verdict is Verdict.HOLDS
    last, calls = calls, 0
    report = check(loaded, rules=api.Rules(interrupted=lambda: count() or calls == last))
    assert (report.space["states"], report.space["stopped"]) == (6, "interrupted")
    assert report.verdict is Verdict.UNKNOWN
