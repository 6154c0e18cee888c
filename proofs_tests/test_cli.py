"""The command line: exit statuses, messages, what goes to which stream. The engine is replaced where its answer is not the point."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import pytest
from cli_lab import BROKEN, UNKNOWN, Engine, InputError, UsageError, stand_in
from conftest import CHECKOUT, Command
from test_report import GOOD, VIOLATED

from icore_dsl.mistakes import Code, Mistake
from icore_dsl.syntax import Span
from icore_kernel import cli
from icore_kernel.cli_check import GRAVEST_FIRST, gravest
from icore_kernel.verdict import ExitStatus, Finding
from icore_kernel.version import VERSION


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    return stand_in(monkeypatch)


# ---- exit statuses ----


def test_the_statuses_that_the_command_line_writes_out_are_those_of_the_verdicts() -> None:
    assert (cli._BAD_INPUT, cli._UNKNOWN, cli._INTERNAL) == (ExitStatus.BAD_INPUT, ExitStatus.UNKNOWN, ExitStatus.INTERNAL)


@pytest.mark.parametrize(("file", "status"), [("good", 0), ("broken", 1), ("unknown", 3)])
def test_the_status_is_the_verdicts(engine: Engine, command: Command, file: str, status: int) -> None:
    code, out, err = command("check", file)
    assert (code, err) == (status, "")
    assert out.startswith("Pipeline 1.0 · ")


def test_the_gravest_file_decides_in_the_order_4_2_1_3_0_whatever_the_order_of_the_files() -> None:
    assert [int(status) for status in GRAVEST_FIRST] == [4, 2, 1, 3, 0]
    for position, status in enumerate(GRAVEST_FIRST):
        for order in permutations(GRAVEST_FIRST[position:]):
            assert gravest(order) is status
    assert gravest([]) is ExitStatus.HOLDS


def test_every_file_is_checked_after_one_that_is_wrong(engine: Engine, command: Command) -> None:
    engine.answers["absent"] = FileNotFoundError(2, "No such file or directory", "absent")
    status, out, err = command("check", "broken", "absent", "good")
    assert status == 2
    assert [load["path"] for load in engine.loads] == [Path("broken"), Path("absent"), Path("good")]
    assert err == "absent: cannot be read: No such file or directory\n"
    assert out.endswith("\n3 files: 1 good, 1 violated, 1 wrong\n")


def test_a_finding_fails_only_under_strict_and_only_when_it_is_not_allowed(engine: Engine, command: Command) -> None:
    engine.answers["noted"] = replace(GOOD, findings=(Finding("never-fires", "skip", "update `skip` never fires"),))
    engine.answers["allowed"] = replace(GOOD, findings=(Finding("never-fires", "skip", "m", allowed="on purpose"),))
    assert [command("check", "noted")[0], command("check", "--strict", "noted")[0], command("check", "--strict", "allowed")[0]] == [0, 1, 0]


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["check"],
        ["chekc", "good"],
        ["check", "--set", "n", "good"],
        ["check", "--set", "n=", "good"],
        ["check", "--set", "=3", "good"],
        ["check", "--set", "n=3", "--set", "n=4", "good"],
        ["check", "--max-states", "0", "good"],
        ["check", "--max-depth", "-1", "good"],
        ["check", "--timeout", "0", "good"],
        ["check", "--timeout", "nan", "good"],
        ["check", "--timeout", "soon", "good"],
        ["check", "--unaudited=", "good"],
        ["check", "--unaudited=a,,b", "good"],
        ["check", "--format", "xml", "good"],
        ["check", "--only"],
        ["explore"],
        ["explore", "good", "broken"],
        ["fmt"],
        ["init", "a", "b"],
    ],
    ids=" ".join,
)
def test_wrong_usage_exits_2_says_why_and_checks_nothing(engine: Engine, command: Command, arguments: list[str]) -> None:
    status, out, err = command(*arguments)
    assert status == 2
    assert out == ""
    assert "Usage: icore" in err or err.startswith("Error: Option ")
    assert engine.checks == []


def test_an_internal_error_exits_4_and_shows_a_traceback_only_when_asked(
    engine: Engine, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.answers["bad"] = ZeroDivisionError("division by zero")
    monkeypatch.delenv("ICORE_DEBUG", raising=False)
    status, out, err = command("check", "good", "bad")
    assert status == 4
    assert "internal error: ZeroDivisionError: division by zero" in err
    assert "CONTRIBUTING.md" in err
    assert "Traceback" not in out + err
    monkeypatch.setenv("ICORE_DEBUG", "1")
    assert "Traceback" in command("check", "bad")[2]


def test_exhausted_memory_is_unknown_and_no_verdict(engine: Engine, command: Command) -> None:
    engine.answers["large"] = MemoryError()
    status, _, err = command("check", "large")
    assert status == 3
    assert err.startswith("unknown: the memory did not suffice")


# ---- interruption ----


def test_an_interrupt_keeps_what_is_known_and_names_what_is_not_decided(engine: Engine, command: Command) -> None:
    engine.answers["long"] = KeyboardInterrupt()
    status, out, err = command("check", "good", "long", "unknown")
    assert status == 3
    assert "\nholds · 0.34 s\n" in out
    assert err == "unknown: interrupted; not decided: long, unknown\n"


def test_an_interrupt_does_not_hide_a_violation(engine: Engine, command: Command) -> None:
    engine.answers["long"] = KeyboardInterrupt()
    assert command("check", "broken", "long")[0] == 1


def test_after_an_interrupted_search_the_other_files_are_not_begun(engine: Engine, command: Command) -> None:
    engine.answers["stopped"] = replace(UNKNOWN, space={"states": 7, "stopped": "interrupted"})
    status, out, err = command("check", "stopped", "good")
    assert status == 3
    assert "the search stopped before its end: interrupted" in out
    assert err == "unknown: interrupted; not decided: good\n"
    assert len(engine.checks) == 1


def test_an_interrupt_outside_a_check_is_unknown_too(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(**_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli.cli, "main", interrupted)
    status, _, err = command("check", "good")
    assert (status, err) == (3, "\nunknown: interrupted\n")


def test_a_reader_that_goes_away_is_no_error() -> None:
    command = [sys.executable, "-m", "icore_kernel", "--help"]
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, cwd=CHECKOUT, check=False, timeout=60)
    finally:
        os.close(writer)
    assert done.stderr == ""
    assert done.returncode == ExitStatus.UNKNOWN


# ---- what is asked of the engine ----


def test_options_reach_the_engine(engine: Engine, command: Command) -> None:
    command(
        *("check", "--set", "n=6", "--set", "text=a=b", "--only", "ships", "--only", "answered", "--theory", "here"),
        *("--max-states", "10", "--max-depth", "0", "--timeout", "2.5", "good"),
    )
    assert engine.loads == [{"path": Path("good"), "settings": {"n": "6", "text": "a=b"}, "theory": Path("here")}]
    (asked,) = engine.checks
    assert asked["only"] == ("ships", "answered")
    assert asked["unaudited"] is False
    assert (asked["rules"].max_states, asked["rules"].max_depth, asked["rules"].timeout) == (10, 0, 2.5)


@pytest.mark.parametrize(
    ("option", "expected"),
    [((), False), (("--unaudited",), True), (("--unaudited=careless",), ("careless",)), (("--unaudited=a, b",), ("a", "b"))],
)
def test_unaudited_never_takes_a_file_for_its_value(engine: Engine, command: Command, option: tuple[str, ...], expected: object) -> None:
    assert command("check", *option, "good")[0] == 0
    assert engine.checks[0]["unaudited"] == expected
    assert engine.loads[0]["path"] == Path("good")


def test_a_fault_behind_unaudited_is_told_apart_from_a_file(engine: Engine, command: Command, tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.write_text("package A")
    status, out, err = command("check", str(there), "--unaudited", "rush,lie")
    assert (status, out) == (2, "")
    assert "there is no file 'rush,lie'; for the fault of this name write --unaudited=rush,lie" in err
    assert engine.checks == []
    engine.answers["there"] = GOOD
    assert command("check", "--unaudited", str(there), "good")[0] == 0


def test_the_help_shows_how_a_fault_is_joined(command: Command) -> None:
    status, out, _ = command("check", "--help")
    assert status == 0
    assert "--unaudited[=FAULT,...]" in out


@pytest.mark.parametrize(("options", "sought"), [((), True), (("--unaudited",), False), (("--only", "ships"), True)])
def test_vacuity_is_reported_only_where_it_was_looked_for(engine: Engine, command: Command, options: tuple[str, ...], sought: bool) -> None:
    assert ("vacuity" in command("check", *options, "good")[1]) is sought
    findings = json.loads(command("check", *options, "--format", "json", "good")[1])["findings"]
    assert findings == ([] if sought else None)


def test_after_two_dashes_everything_is_a_file(engine: Engine, command: Command) -> None:
    engine.answers["--unaudited"] = GOOD
    assert command("check", "--", "--unaudited")[0] == 0
    assert engine.checks[0]["unaudited"] is False


# ---- wrong input ----


def mistake(line: int) -> Mistake:
    return Mistake(Code("R001"), Span("bad", 9, 12, line, 3, line, 6), "there is no `ann`", "did you mean `ana`?")


def test_each_mistake_is_rendered_and_they_are_counted(engine: Engine, command: Command) -> None:
    engine.answers["bad"] = InputError((mistake(1), mistake(2)), "a\n  ann\n  ann\n")
    status, out, err = command("check", "bad")
    assert (status, out) == (2, "")
    assert err.count("there is no `ann`") == 2
    assert err.endswith("\n\nbad: 2 mistakes\n")


def test_an_unknown_property_is_wrong_input(engine: Engine, command: Command) -> None:
    engine.answers["good"] = UsageError("no property is called `shps`; did you mean `ships`?")
    status, _, err = command("check", "--only", "shps", "good")
    assert (status, err) == (2, "good: no property is called `shps`; did you mean `ships`?\n")


# ---- JSON ----


def test_one_file_is_a_record_and_several_are_a_list(engine: Engine, command: Command) -> None:
    one = json.loads(command("check", "--format", "json", "good")[1])
    assert (one["schema"], one["icore"], one["verdict"], one["exit_status"]) == ("icore.check/1", VERSION, "holds", 0)
    status, out, _ = command("check", "--format", "json", "good", "broken")
    assert status == 1
    assert [record["verdict"] for record in json.loads(out)] == ["holds", "violated"]


def test_a_wrong_file_is_a_record_with_its_mistakes_and_standard_output_stays_json(engine: Engine, command: Command) -> None:
    engine.answers["bad"] = InputError((mistake(2),), "a\n  ann\n")
    status, out, err = command("check", "--format", "json", "bad", "good")
    assert (status, err) == (2, "")
    wrong, good = json.loads(out)
    assert wrong["verdict"] is None
    assert wrong["mistakes"][0]["code"] == "R001"
    assert wrong["mistakes"][0]["span"]["line"] == 2
    assert good["verdict"] == "holds"


def test_an_interrupt_leaves_json_of_what_is_known(engine: Engine, command: Command) -> None:
    engine.answers["long"] = KeyboardInterrupt()
    status, out, _ = command("check", "--format", "json", "good", "long")
    assert status == 3
    assert [record["verdict"] for record in json.loads(out)] == ["holds"]


# ---- saving ----


def test_the_first_counterexample_is_saved_once(engine: Engine, command: Command, tmp_path: Path) -> None:
    place = tmp_path / "run.json"
    engine.answers["second"] = replace(BROKEN, results=(replace(VIOLATED, name="other"),))
    status, _, err = command("check", "--save-run", str(place), "--set", "n=3", "--unaudited=careless", "good", "broken", "second")
    assert status == 1
    assert err == f"the run that breaks no_stale_release is in {place}\n"
    assert json.loads(place.read_text(encoding="utf-8")) == {
        "schema": "icore.run/1",
        "package": "P",
        "version": "1.0",
        "digests": {"package": "p", "theory": "t", "fields": "f"},
        "settings": {"n": "3"},
        "unaudited": ["careless"],
        "breaks": "no_stale_release",
        "initial": {"head.commit": "1"},
        "steps": ["assign(ana, unit)", "push", "wait(ana)"],
        "offending": "finish.careless(ana, unit)",
        "cycle": [],
    }


def test_without_a_counterexample_nothing_is_written_and_that_is_said(engine: Engine, command: Command, tmp_path: Path) -> None:
    place = tmp_path / "run.json"
    status, _, err = command("check", "--save-run", str(place), "good")
    assert (status, err) == (0, f"no counterexample, so {place} was not written\n")
    assert not place.exists()


def test_a_place_that_cannot_be_written_is_wrong_input(engine: Engine, command: Command, tmp_path: Path) -> None:
    status, _, err = command("check", "--save-run", str(tmp_path), "broken")
    assert status == 2
    assert "cannot be written" in err
