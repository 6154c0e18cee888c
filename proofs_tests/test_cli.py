"""The command line: exit statuses, messages, what goes to which stream. The engine is replaced where its answer is not the point."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import permutations
from pathlib import Path
from shutil import which
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from conftest import CHECKOUT, Icore
from test_report import GOOD, VIOLATED

import icore_kernel
from icore_dsl.mistakes import Code, Mistake
from icore_dsl.syntax import Span
from icore_kernel import cli
from icore_kernel.check.reductions import Reduce
from icore_kernel.cli_check import GRAVEST_FIRST, gravest
from icore_kernel.explore.search import has_kernel
from icore_kernel.verdict import Assurance, ExitStatus, Finding, Report, Result, Verdict
from icore_kernel.version import VERSION

UNKNOWN = replace(GOOD, results=(Result("ships", Verdict.UNKNOWN, Assurance.NONE, "not decided by this version"),))
BROKEN = replace(GOOD, results=(VIOLATED,))


class InputError(Exception):
    def __init__(self, mistakes: tuple[Mistake, ...], text: str) -> None:
        super().__init__("wrong input")
        self.mistakes = mistakes
        self.text = text


class UsageError(Exception):
    pass


@dataclass
class Engine:
    """Stands for `icore_kernel.api`: answers by file name, and remembers what it was asked."""

    answers: dict[str, Report | BaseException] = field(default_factory=dict)
    loads: list[dict[str, object]] = field(default_factory=list)
    checks: list[dict[str, Any]] = field(default_factory=list)

    def load(self, path: Path, *, settings: Mapping[str, str], theory: Path | None, seconds: float | None = None) -> SimpleNamespace:
        self.loads.append({"path": path, "settings": dict(settings), "theory": theory})
        system = SimpleNamespace(name="P", version="1.0", package_digest="p", theory_digest="t", fields_digest="f")
        return SimpleNamespace(path=path, system=system)

    def check(self, loaded: SimpleNamespace, **asked: object) -> Report:
        self.checks.append(asked)
        answer = self.answers[loaded.path.name]
        if isinstance(answer, BaseException):
            raise answer
        return answer


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    engine = Engine({"good": GOOD, "broken": BROKEN, "unknown": UNKNOWN})
    module = ModuleType("icore_kernel.api")
    vars(module).update(load=engine.load, check=engine.check, InputError=InputError, UsageError=UsageError, Reduce=Reduce)
    monkeypatch.setitem(sys.modules, "icore_kernel.api", module)
    monkeypatch.setattr(icore_kernel, "api", module, raising=False)
    return engine


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    def run(*arguments: str) -> tuple[int, str, str]:
        status = cli.run(list(arguments))
        shown = capsys.readouterr()
        return status, shown.out, shown.err

    return run


Run = Callable[..., tuple[int, str, str]]


# ---- exit statuses ----


def test_the_statuses_that_the_command_line_writes_out_are_those_of_the_verdicts() -> None:
    assert (cli._BAD_INPUT, cli._UNKNOWN, cli._INTERNAL) == (ExitStatus.BAD_INPUT, ExitStatus.UNKNOWN, ExitStatus.INTERNAL)


@pytest.mark.parametrize(("file", "status"), [("good", 0), ("broken", 1), ("unknown", 3)])
def test_the_status_is_the_verdicts(engine: Engine, run: Run, file: str, status: int) -> None:
    code, out, err = run("check", file)
    assert (code, err) == (status, "")
    assert out.startswith("Pipeline 1.0 · ")


def test_the_gravest_file_decides_in_the_order_4_2_1_3_0_whatever_the_order_of_the_files() -> None:
    assert [int(status) for status in GRAVEST_FIRST] == [4, 2, 1, 3, 0]
    for position, status in enumerate(GRAVEST_FIRST):
        for order in permutations(GRAVEST_FIRST[position:]):
            assert gravest(order) is status
    assert gravest([]) is ExitStatus.HOLDS


def test_every_file_is_checked_after_one_that_is_wrong(engine: Engine, run: Run) -> None:
    engine.answers["absent"] = FileNotFoundError(2, "No such file or directory", "absent")
    status, out, err = run("check", "broken", "absent", "good")
    assert status == 2
    assert [load["path"] for load in engine.loads] == [Path("broken"), Path("absent"), Path("good")]
    assert err == "absent: cannot be read: No such file or directory\n"
    assert out.endswith("\n3 files: 1 good, 1 violated, 1 wrong\n")


def test_a_finding_fails_only_under_strict_and_only_when_it_is_not_allowed(engine: Engine, run: Run) -> None:
    engine.answers["noted"] = replace(GOOD, findings=(Finding("never-fires", "skip", "update `skip` never fires"),))
    engine.answers["allowed"] = replace(GOOD, findings=(Finding("never-fires", "skip", "m", allowed="on purpose"),))
    assert [run("check", "noted")[0], run("check", "--strict", "noted")[0], run("check", "--strict", "allowed")[0]] == [0, 1, 0]


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
def test_wrong_usage_exits_2_says_why_and_checks_nothing(engine: Engine, run: Run, arguments: list[str]) -> None:
    status, out, err = run(*arguments)
    assert status == 2
    assert out == ""
    assert "Usage: icore" in err or err.startswith("Error: Option ")
    assert engine.checks == []


def test_an_internal_error_exits_4_and_shows_a_traceback_only_when_asked(
    engine: Engine, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.answers["bad"] = ZeroDivisionError("division by zero")
    monkeypatch.delenv("ICORE_DEBUG", raising=False)
    status, out, err = run("check", "good", "bad")
    assert status == 4
    assert "internal error: ZeroDivisionError: division by zero" in err
    assert "CONTRIBUTING.md" in err
    assert "Traceback" not in out + err
    monkeypatch.setenv("ICORE_DEBUG", "1")
    assert "Traceback" in run("check", "bad")[2]


def test_exhausted_memory_is_unknown_and_no_verdict(engine: Engine, run: Run) -> None:
    engine.answers["large"] = MemoryError()
    status, _, err = run("check", "large")
    assert status == 3
    assert err.startswith("unknown: the memory did not suffice")


# ---- interruption ----


def test_an_interrupt_keeps_what_is_known_and_names_what_is_not_decided(engine: Engine, run: Run) -> None:
    engine.answers["long"] = KeyboardInterrupt()
    status, out, err = run("check", "good", "long", "unknown")
    assert status == 3
    assert "\nholds · 0.34 s\n" in out
    assert err == "unknown: interrupted; not decided: long, unknown\n"


def test_an_interrupt_does_not_hide_a_violation(engine: Engine, run: Run) -> None:
    engine.answers["long"] = KeyboardInterrupt()
    assert run("check", "broken", "long")[0] == 1


def test_after_an_interrupted_search_the_other_files_are_not_begun(engine: Engine, run: Run) -> None:
    engine.answers["stopped"] = replace(UNKNOWN, space={"states": 7, "stopped": "interrupted"})
    status, out, err = run("check", "stopped", "good")
    assert status == 3
    assert "the search stopped before its end: interrupted" in out
    assert err == "unknown: interrupted; not decided: good\n"
    assert len(engine.checks) == 1


def test_an_interrupt_outside_a_check_is_unknown_too(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(**_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli.cli, "main", interrupted)
    status, _, err = run("check", "good")
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


def test_options_reach_the_engine(engine: Engine, run: Run) -> None:
    run(
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
def test_unaudited_never_takes_a_file_for_its_value(engine: Engine, run: Run, option: tuple[str, ...], expected: object) -> None:
    assert run("check", *option, "good")[0] == 0
    assert engine.checks[0]["unaudited"] == expected
    assert engine.loads[0]["path"] == Path("good")


def test_a_fault_behind_unaudited_is_told_apart_from_a_file(engine: Engine, run: Run, tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.write_text("package A")
    status, out, err = run("check", str(there), "--unaudited", "rush,lie")
    assert (status, out) == (2, "")
    assert "there is no file 'rush,lie'; for the fault of this name write --unaudited=rush,lie" in err
    assert engine.checks == []
    engine.answers["there"] = GOOD
    assert run("check", "--unaudited", str(there), "good")[0] == 0


def test_the_help_shows_how_a_fault_is_joined(run: Run) -> None:
    status, out, _ = run("check", "--help")
    assert status == 0
    assert "--unaudited[=FAULT,...]" in out


@pytest.mark.parametrize(("options", "sought"), [((), True), (("--unaudited",), False), (("--only", "ships"), True)])
def test_vacuity_is_reported_only_where_it_was_looked_for(engine: Engine, run: Run, options: tuple[str, ...], sought: bool) -> None:
    assert ("vacuity" in run("check", *options, "good")[1]) is sought
    findings = json.loads(run("check", *options, "--format", "json", "good")[1])["findings"]
    assert findings == ([] if sought else None)


def test_after_two_dashes_everything_is_a_file(engine: Engine, run: Run) -> None:
    engine.answers["--unaudited"] = GOOD
    assert run("check", "--", "--unaudited")[0] == 0
    assert engine.checks[0]["unaudited"] is False


# ---- wrong input ----


def mistake(line: int) -> Mistake:
    return Mistake(Code("R001"), Span("bad", 9, 12, line, 3, line, 6), "there is no `ann`", "did you mean `ana`?")


def test_each_mistake_is_rendered_and_they_are_counted(engine: Engine, run: Run) -> None:
    engine.answers["bad"] = InputError((mistake(1), mistake(2)), "a\n  ann\n  ann\n")
    status, out, err = run("check", "bad")
    assert (status, out) == (2, "")
    assert err.count("there is no `ann`") == 2
    assert err.endswith("\n\nbad: 2 mistakes\n")


def test_an_unknown_property_is_wrong_input(engine: Engine, run: Run) -> None:
    engine.answers["good"] = UsageError("no property is called `shps`; did you mean `ships`?")
    status, _, err = run("check", "--only", "shps", "good")
    assert (status, err) == (2, "good: no property is called `shps`; did you mean `ships`?\n")


# ---- JSON ----


def test_one_file_is_a_record_and_several_are_a_list(engine: Engine, run: Run) -> None:
    one = json.loads(run("check", "--format", "json", "good")[1])
    assert (one["schema"], one["icore"], one["verdict"], one["exit_status"]) == ("icore.check/1", VERSION, "holds", 0)
    status, out, _ = run("check", "--format", "json", "good", "broken")
    assert status == 1
    assert [record["verdict"] for record in json.loads(out)] == ["holds", "violated"]


def test_a_wrong_file_is_a_record_with_its_mistakes_and_standard_output_stays_json(engine: Engine, run: Run) -> None:
    engine.answers["bad"] = InputError((mistake(2),), "a\n  ann\n")
    status, out, err = run("check", "--format", "json", "bad", "good")
    assert (status, err) == (2, "")
    wrong, good = json.loads(out)
    assert wrong["verdict"] is None
    assert wrong["mistakes"][0]["code"] == "R001"
    assert wrong["mistakes"][0]["span"]["line"] == 2
    assert good["verdict"] == "holds"


def test_an_interrupt_leaves_json_of_what_is_known(engine: Engine, run: Run) -> None:
    engine.answers["long"] = KeyboardInterrupt()
    status, out, _ = run("check", "--format", "json", "good", "long")
    assert status == 3
    assert [record["verdict"] for record in json.loads(out)] == ["holds"]


# ---- saving ----


def test_the_first_counterexample_is_saved_once(engine: Engine, run: Run, tmp_path: Path) -> None:
    place = tmp_path / "run.json"
    engine.answers["second"] = replace(BROKEN, results=(replace(VIOLATED, name="other"),))
    status, _, err = run("check", "--save-run", str(place), "--set", "n=3", "--unaudited=careless", "good", "broken", "second")
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


def test_without_a_counterexample_nothing_is_written_and_that_is_said(engine: Engine, run: Run, tmp_path: Path) -> None:
    place = tmp_path / "run.json"
    status, _, err = run("check", "--save-run", str(place), "good")
    assert (status, err) == (0, f"no counterexample, so {place} was not written\n")
    assert not place.exists()


def test_a_place_that_cannot_be_written_is_wrong_input(engine: Engine, run: Run, tmp_path: Path) -> None:
    status, _, err = run("check", "--save-run", str(tmp_path), "broken")
    assert status == 2
    assert "cannot be written" in err


# ---- as a process ----


def test_help_names_every_command_and_exits_0(icore: Icore) -> None:
    done = icore("--help")
    assert done.returncode == 0
    assert all(f"\n  {command} " in done.stdout for command in ("check", "explore", "fmt", "init"))


def test_without_a_command_help_is_shown_and_it_is_wrong_usage(icore: Icore) -> None:
    done = icore()
    assert done.returncode == 2
    assert "Usage: icore" in done.stderr


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("icore ch", ["plain,check"]),
        ("icore st", ["plain,stable", "plain,step"]),
        ("icore check --str", ["plain,--strict"]),
        ("icore check --format ", ["plain,text", "plain,json", "plain,junit"]),
        ("icore check exa", ["file,exa"]),
    ],
)
def test_a_shell_is_told_what_may_stand_next(icore: Icore, words: str, offered: list[str]) -> None:
    place = str(len(words.split(" ")) - 1)
    done = icore(_ICORE_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD=place)
    assert (done.returncode, done.stdout.splitlines(), done.stderr) == (0, offered, "")


def test_the_line_of_the_readme_completes_in_bash(tmp_path: Path) -> None:
    bash = which("bash")
    if bash is None:
        pytest.skip("there is no bash here")
    program = tmp_path / "icore"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m icore_kernel "$@"\n')
    program.chmod(0o755)
    (line,) = re.findall(r"`(eval .*?)`", (CHECKOUT / "README.md").read_text(encoding="utf-8"))
    script = f"{line}\nCOMP_WORDS=(icore expl)\nCOMP_CWORD=1\n_icore_completion icore\necho \"${{COMPREPLY[*]}}\"\n"
    environment = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run([bash, "-c", script], capture_output=True, text=True, env=environment, check=False, timeout=60, cwd=CHECKOUT)
    assert (done.stdout, done.stderr) == ("explain explore\n", "")


def test_version_names_icore_z3_python_and_the_kernel(icore: Icore) -> None:
    done = icore("--version")
    assert done.returncode == 0
    python = ".".join(map(str, sys.version_info[:3]))
    words = done.stdout.strip().split(" · ")
    assert (words[0], words[2], words[3]) == (f"icore {VERSION}", f"Python {python}", "C kernel" if has_kernel() else "no C kernel")
    assert words[1].startswith("Z3 5.4")


def test_a_file_that_is_not_there_is_wrong_input_and_no_traceback(icore: Icore) -> None:
    done = icore("check", "absent.icore")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "absent.icore: cannot be read: No such file or directory\n"


def test_a_folder_is_wrong_input(icore: Icore, tmp_path: Path) -> None:
    done = icore("check", ".")
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr


def test_a_terminal_that_cannot_show_a_dot_still_gets_its_verdict() -> None:
    script = """
import sys
from icore_kernel import cli
from icore_kernel.report import layout, paint
cli.run = lambda arguments: paint.write([layout.line("holds · 1 s")], sys.stdout) or 0
cli.main()
"""
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, cwd=CHECKOUT, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "holds ? 1 s\n", "")


# ---- from end to end ----

LARGE = """language 1
package Large "1.0"
input cell(i: 1..8) { value: 0..9 = 0 }
update step(i: 1..8) by environment {
  when cell(i).value < 9
  set cell(i).value := cell(i).value + 1
}
"""


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """10^8 states: no search here comes to its end."""
    path = tmp_path / "large.icore"
    path.write_text(LARGE, encoding="utf-8")
    return path


def test_ctrl_c_in_a_real_search_is_unknown_with_what_is_known(large: Path) -> None:
    script = f"""
import signal, sys
from icore_kernel import api, cli
signal.signal(signal.SIGALRM, signal.default_int_handler)
signal.setitimer(signal.ITIMER_REAL, 1)
sys.exit(cli.run(["check", {str(large)!r}, "absent.icore"]))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=large.parent, check=False, timeout=120)
    assert done.returncode == ExitStatus.UNKNOWN, done.stderr
    assert "Traceback" not in done.stderr
    assert "interrupted; not decided: " in done.stderr
    assert "absent.icore" in done.stderr


@pytest.mark.parametrize("bound", [("--timeout", "0.3"), ("--max-states", "500"), ("--max-depth", "2")])
def test_a_bound_that_is_hit_is_unknown_and_says_how_far_it_came(icore: Icore, large: Path, bound: tuple[str, str]) -> None:
    done = icore("check", *bound, str(large))
    assert done.returncode == ExitStatus.UNKNOWN, done.stderr
    assert "the search stopped before its end: " in done.stdout
    assert " states · " in done.stdout
    explored = icore("explore", *bound, str(large))
    assert explored.returncode == ExitStatus.UNKNOWN
    assert explored.stdout.splitlines()[-1].startswith("unknown, the search stopped before its end: ")


def test_the_starter_has_the_state_space_that_can_be_counted_by_hand(icore: Icore) -> None:
    """Begin; assigned; finished or given up; approved or noted: 6 states, each but the first reached by one step."""
    icore("init", "mine")
    record = json.loads(icore("explore", "--format", "json", "mine.icore").stdout)
    assert (record["schema"], record["states"], record["steps"], record["depth"]) == ("icore.explore/1", 6, 5, 3)
    assert record["levels"] == [1, 1, 2, 2]
    by_update = {update["update"]: update["committed"] for update in record["updates"]}
    assert by_update["finish(writer, page)"] == 1
    assert by_update["assign(reader, page)"] == 0
    text = icore("explore", "mine.icore").stdout
    assert "\n  6 states · 5 steps · depth 3\n" in text
    assert "\n  0            1\n  1            1\n  2            2\n  3            2\n" in text


def test_a_saved_counterexample_is_borne_out_by_its_replay(icore: Icore, tmp_path: Path) -> None:
    icore("init", "mine")
    checked = icore("check", "--unaudited=careless", "--save-run", "run.json", "mine.icore")
    assert checked.returncode == 1
    assert "finish.careless(writer, page)" in checked.stdout
    replayed = icore("explore", "mine.icore", "--replay", "run.json")
    assert replayed.returncode == 0, replayed.stderr
    assert replayed.stdout.splitlines()[-1] == "every step was enabled and committed, and it breaks feasibility"
    assert "  false in the last state: A.4(" in replayed.stdout
    text = (tmp_path / "mine.icore").read_text(encoding="utf-8")
    never_enabled = text.replace("status(w) == ready and assignee", "status(w) == accepted and assignee")
    (tmp_path / "mine.icore").write_text(never_enabled, encoding="utf-8")
    changed = icore("explore", "mine.icore", "--replay", "run.json")
    assert changed.returncode == 1
    assert "since the run was saved, these have changed: package" in changed.stderr
    assert changed.stdout.splitlines()[-1].endswith("did not commit: the package has no such run")
    (tmp_path / "mine.icore").write_text(text.replace("update finish", "update end"), encoding="utf-8")
    assert icore("explore", "mine.icore", "--replay", "run.json").returncode == 2


def test_only_answers_one_property_and_refuses_a_name_that_is_none(icore: Icore) -> None:
    icore("init", "mine")
    (result,) = json.loads(icore("check", "--only", "it_can_fail", "--format", "json", "mine.icore").stdout)["results"]
    assert (result["name"], result["verdict"]) == ("it_can_fail", "holds")
    wrong = icore("check", "--only", "it_can_fial", "mine.icore")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "it_can_fial" in wrong.stderr


def test_a_mistake_is_shown_with_its_line_and_carets(icore: Icore, tmp_path: Path) -> None:
    (tmp_path / "bad.icore").write_text('language 1\npackage A "1.0"\nagents { ana }\ninvariant x: anna == ana\n', encoding="utf-8")
    done = icore("check", "bad.icore")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "bad.icore:4:14: error R001: nothing is called `anna`\n"
        "  invariant x: anna == ana\n"
        "               ^^^^\n"
        "  did you mean `ana`?\n"
        "\n"
        "bad.icore: 1 mistake\n"
    )


def test_mistakes_of_syntax_and_of_names_are_wrong_input_alike(icore: Icore, tmp_path: Path) -> None:
    (tmp_path / "syntax.icore").write_text('language 1\npackage A "1.0"\nagents { ana\n', encoding="utf-8")
    done = icore("check", "--format", "json", "syntax.icore")
    assert done.returncode == 2, done.stderr
    record = json.loads(done.stdout)
    assert record["verdict"] is None
    assert [mistake["code"][0] for mistake in record["mistakes"]] == ["P"]


# ---- init and fmt ----


def test_init_writes_a_package_that_holds_strictly(icore: Icore, tmp_path: Path) -> None:
    done = icore("init", "my_package")
    assert (done.returncode, done.stdout) == (0, "wrote my_package.icore; next: icore check my_package.icore\n")
    assert 'package MyPackage "1.0"' in (tmp_path / "my_package.icore").read_text(encoding="utf-8")
    checked = icore("check", "--strict", "my_package.icore")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert icore("fmt", "--check", "my_package.icore").returncode == 0


def test_init_never_overwrites(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.icore").write_text("precious", encoding="utf-8")
    for name in ("mine", "mine.icore"):
        status, out, err = run("init", name)
        assert (status, out, err) == (2, "", "mine.icore: exists already and was left as it is\n")
    assert (tmp_path / "mine.icore").read_text(encoding="utf-8") == "precious"


@pytest.mark.parametrize("name", ["", "1st", "...", "no/such/folder/x"])
def test_init_refuses_a_name_that_no_package_can_have(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("init", name)[0] == 2
    assert list(tmp_path.iterdir()) == []


UNFORMATTED = '\ufefflanguage   1\r\npackage  A   "1.0"\r\nagents{ana}   # who\r\n'


def test_fmt_writes_what_fmt_check_then_accepts(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.icore"
    path.write_text(UNFORMATTED, encoding="utf-8", newline="")
    path.chmod(0o640)
    assert run("fmt", "--check", str(path)) == (1, f"{path}: not formatted\n", "")
    assert path.read_bytes() == UNFORMATTED.encode()
    assert run("fmt", str(path)) == (0, f"{path}: formatted\n", "")
    assert "# who" in path.read_text(encoding="utf-8")
    assert path.stat().st_mode & 0o777 == 0o640
    assert run("fmt", "--check", str(path)) == (0, "", "")
    assert [file.name for file in tmp_path.iterdir()] == ["a.icore"]


def test_fmt_leaves_a_wrong_file_as_it_is_and_formats_the_others(run: Run, tmp_path: Path) -> None:
    wrong, other = tmp_path / "wrong.icore", tmp_path / "other.icore"
    wrong.write_text('package A "1.0"\nagents {', encoding="utf-8")
    other.write_text(UNFORMATTED, encoding="utf-8", newline="")
    status, out, err = run("fmt", str(wrong), str(tmp_path / "absent.icore"), str(other))
    assert status == 2
    assert out == f"{other}: formatted\n"
    assert "wrong.icore:2" in err
    assert "No such file" in err
    assert wrong.read_text(encoding="utf-8") == 'package A "1.0"\nagents {'


def test_fmt_diff_shows_what_would_change_and_changes_nothing(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.icore").write_text('package A "1.0"\n\nagents { ana }\ninvariant x:  true  \ninvariant y: 1 ==1', encoding="utf-8")
    Path("good.icore").write_text('package A "1.0"\n', encoding="utf-8")
    expected = """--- a.icore
+++ a.icore\tformatted
@@ -1,5 +1,5 @@
 package A "1.0"
 
 agents { ana }
-invariant x:  true  
-invariant y: 1 ==1
\\ No newline at end of file
+invariant x: true
+invariant y: 1 == 1
"""
    before = Path("a.icore").read_bytes()
    assert run("fmt", "--diff", "a.icore", "good.icore") == (1, expected, "")
    assert run("fmt", "--diff", "--check", "a.icore") == (1, expected, "")
    assert run("fmt", "--diff", "good.icore") == (0, "", "")
    assert Path("a.icore").read_bytes() == before
    assert run("fmt", "--diff", "absent.icore", "a.icore")[0] == 2


def test_fmt_diff_shows_every_character_that_would_change(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.icore").write_text(UNFORMATTED, encoding="utf-8", newline="")
    # The standard streams of the tests turn no line ending into another.
    status, out, _ = run("fmt", "--diff", "a.icore")
    gone = [line for line in out.split("\n")[2:] if line.startswith("-")]
    assert (status, gone) == (1, ["-\ufefflanguage   1\r", '-package  A   "1.0"\r', "-agents{ana}   # who\r"])


def test_a_diff_is_applied_by_patch(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    patch = which("patch")
    if patch is None:
        pytest.skip("there is no `patch` here")
    monkeypatch.chdir(tmp_path)
    source = (CHECKOUT / "examples" / "release_pipeline.icore").read_text(encoding="utf-8")
    Path("a.icore").write_text(source.replace(" == ", "==").replace("{ ", "{").rstrip("\n"), encoding="utf-8")
    status, diff, _ = run("fmt", "--diff", "a.icore")
    subprocess.run([patch, "-p0", "--binary"], input=diff.encode(), check=True, capture_output=True)
    assert (status, run("fmt", "--check", "a.icore")) == (1, (0, "", ""))


def test_a_diff_on_a_terminal_is_coloured_by_what_comes_and_goes() -> None:
    from icore_kernel.report.diff import diff_lines, diff_text
    from icore_kernel.report.layout import Part

    diff = diff_text("a", "one\n-- two\nthree\n", "one\n++ two\nthree\n")
    assert [(piece.text, piece.part) for (piece,) in diff_lines(diff)] == [
        ("--- a", Part.STRONG),
        ("+++ a\tformatted", Part.STRONG),
        ("@@ -1,3 +1,3 @@", Part.DIM),
        (" one", Part.PLAIN),
        ("--- two", Part.BAD),
        ("+++ two", Part.GOOD),
        (" three", Part.PLAIN),
    ]
