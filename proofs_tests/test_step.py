"""`icore step`: what it prints of a small package by hand, and every command."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from conftest import CHECKOUT, Icore

from icore_kernel import api, cli_step
from icore_kernel.cli_step import Session, Unable
from icore_kernel.report.layout import plain
from icore_kernel.report.step import truth_lines, view_lines
from icore_kernel.runs_io import read
from icore_kernel.stepping import Truth, Walk
from icore_kernel.verdict import Reason

LAMP = """language 1
package Lamp "1.0"
agents { ana }
input n { v: 0..3 }
input lamp { on: bool = false }
initially n.v < 2
update add by environment { when n.v < 3 set n.v := n.v + 1 }
update light(m: Agent) by m {
  view global
  when not lamp.on
  requires n.v >= 2
  set lamp.on := true
  fault early { requires n.v >= 1 }
  fault late { requires n.v == 3 and lamp.on }
}
update dim(k: 1..2) by environment { when lamp.on requires k > 2 set lamp.on := false }
update poke by environment { when n.v == 3 set n.v := 3 }
update burst by environment { when lamp.on set n.v := n.v + 2 }
fault jump { when n.v < 3 requires n.v > 5 set n.v := 3 }
invariant small: n.v < 3
"""

START = """Lamp 1.0 · ? lists the commands

start
  with n.v = 0

   1  add by environment
  refused
      light(ana)          requires: 2 <= n.v
      light.early(ana)    fault · requires: 1 <= n.v
      light.late(ana)     fault · requires: n.v == 3 and lamp.on
      jump by nobody      fault · requires: as declared it is false in every state

"""

ONE = """1 step: add by environment
  n.v: 0 -> 1

   1  add by environment
   2  light.early(ana)    fault, and nothing refuses it
  refused
      light(ana)          requires: 2 <= n.v
      light.late(ana)     fault · requires: n.v == 3 and lamp.on
      jump by nobody      fault · requires: as declared it is false in every state

"""

LIT = """3 steps: light(ana)
  lamp.on: false -> true
  also n.v = 2

   1  add by environment
  refused
      burst by environment  not legal · range: n.v + 2 <= 3
      jump by nobody        fault · requires: as declared it is false in every state
      dim, 2 bindings       requires: as declared it is false in every state

"""


@pytest.fixture
def lamp(tmp_path: Path) -> Path:
    path = tmp_path / "lamp.icore"
    path.write_text(LAMP, encoding="utf-8")
    return path


Step = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def step(tmp_path: Path) -> Step:
    """Commands through a pipe."""

    def run(file: Path | str, commands: str, *options: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "icore_kernel", "step", str(file), *options],
            cwd=tmp_path, input=commands, capture_output=True, text=True, encoding="utf-8", timeout=120, check=False,
        )  # fmt: skip

    return run


def example(name: str) -> Path:
    return CHECKOUT / "examples" / f"{name}.icore"


# ---- from a pipe ----


def test_a_run_by_hand_is_printed_as_expected(step: Step, lamp: Path) -> None:
    done = step(lamp, "1\nadd\nlight( ana )\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(
        START + ONE + "2 steps: add by environment\n  n.v: 1 -> 2\n\n   1  add by environment\n   2  light(ana)\n"
    )
    assert done.stdout.endswith(LIT)
    assert "> " not in done.stdout.replace("-> ", "")


def test_commands_of_one_line_are_separated_by_semicolons_and_an_empty_one_shows_the_state_again(step: Step, lamp: Path) -> None:
    assert step(lamp, "1;\n").stdout == START + ONE + ONE
    assert step(lamp, "\n").stdout == START + START.partition("\n\n")[2]


def test_back_and_restart(step: Step, lamp: Path) -> None:
    start = START.partition("\n\n")[2]
    assert step(lamp, "1; b").stdout == START + ONE + start
    assert step(lamp, "1; 1; r").stdout.endswith(start)
    assert step(lamp, "r n.v=1").stdout.endswith(
        "start\n  with n.v = 1\n\n   1  add by environment\n   2  light.early(ana)" + ONE.partition("light.early(ana)")[2]
    )


def test_the_state_is_shown_whole_or_in_part(step: Step, lamp: Path) -> None:
    assert step(lamp, "1; s").stdout == START + ONE + "  n.v     = 1\n  lamp.on = false\n\n"
    assert step(lamp, "s lamp").stdout == START + "  lamp.on = false\n\n"
    assert step(lamp, "s n.v").stdout == START + "  n.v = 0\n\n"


def test_formulas_are_evaluated_in_the_state(step: Step, lamp: Path) -> None:
    said = step(lamp, "1\np n.v == 1\np n.v == 2 or lamp.on\n").stdout
    missing = "         n.v == 2 or lamp.on\n         n.v     = 1\n         lamp.on = false\n\n"
    assert said == START + ONE + "  p n.v == 1: true\n\n  p n.v == 2 or lamp.on: false\n" + missing


def test_what_cannot_change_is_read_by_formulas_too(step: Step) -> None:
    # The relation is no field: nothing writes it.
    said = step(example("release_pipeline"), "p needs(unit, compile) or needs(compile, unit)\np needs(unit, unit)\n")
    assert said.returncode == 0
    assert "\n  p needs(unit, compile) or needs(compile, unit): true\n" in said.stdout
    assert "\n  p needs(unit, unit): false\n" in said.stdout


def test_a_field_that_is_no_formula_is_shown_where_a_formula_is_expected(step: Step, lamp: Path) -> None:
    assert (
        step(lamp, "p n.v; p lamp.on").stdout == START + "  n.v = 0\n\n  p lamp.on: false\n         lamp.on\n         lamp.on = false\n\n"
    )


def test_a_long_formula_is_broken_into_lines() -> None:
    formula = " and ".join(f"n.v + {number} < 2" for number in range(10))
    lines = [plain(line) for line in truth_lines("long", Truth(False, (Reason("", formula, None),)), 60)]
    assert lines[0] == "  p long: false"
    assert len(lines) == 4 and max(map(len, lines)) <= 60
    assert " ".join(line.strip() for line in lines[1:]) == formula


def test_fields_are_found_by_what_they_are_about(step: Step) -> None:
    """A run of the release in which only `compile` has a report."""
    said = step(example("release_pipeline"), "s ana\nassign(ana, compile); finish(ana, compile)\ns report(compile)\n").stdout
    able = "".join(f"  able(ana, {step:<9}= absent\n" for step in ("compile)", "unit)", "approve)", "release)"))
    assert f"\n\n{able}\n" in said
    assert said.endswith("\n\n  report(compile)        = live\n  report(compile).commit = 1\n  report(compile).passed = true\n\n")


def test_many_faults_that_differ_in_their_bindings_alone_are_counted_and_listed_when_asked(step: Step) -> None:
    """Three agents may be put in front of four steps by nobody: twelve bindings."""
    said = step(example("release_pipeline"), "a").stdout
    start, listed = said.split("requires: as declared it is false in every state\n\n")
    assert start.count("misdirect") == 1
    assert "\n      misdirect, 12 bindings  fault · definition 6(iii) evidence · a lists them\n" in start
    assert listed.count("\n") == 13
    assert listed.count("misdirect(") == len(re.findall(r"by nobody +fault · definition 6\(iii\) evidence: ", listed)) == 12


def test_help_and_quit(step: Step, lamp: Path) -> None:
    done = step(lamp, "?; q; this is not read")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(START + "  N, UPDATE ")


def test_an_illegal_end_is_marked_and_the_saved_run_names_what_it_breaks(step: Step, icore: Icore, lamp: Path) -> None:
    done = step(lamp, "add; add; add; w run.json")
    assert "3 steps: add by environment\n  n.v: 2 -> 3\n  false here: small\n" in done.stdout
    assert done.stdout.endswith("\n  wrote run.json: 3 steps, which breaks small\n\n")
    replayed = icore("explore", "lamp.icore", "--replay", "run.json")
    assert replayed.returncode == 0
    assert replayed.stdout.endswith("every step was enabled and committed, and it breaks small\n")


def test_a_run_that_breaks_nothing_is_saved_and_replayed(step: Step, icore: Icore, lamp: Path) -> None:
    done = step(lamp, "r n.v=1; add; light(ana); w run.json")
    assert done.stdout.endswith("\n  wrote run.json: 2 steps\n\n")
    saved = read(lamp.parent / "run.json")
    assert (saved.steps, saved.initial, saved.breaks) == (("add", "light(ana)"), (("n.v", "1"),), "")
    replayed = icore("explore", "lamp.icore", "--replay", "run.json")
    assert replayed.returncode == 0
    assert replayed.stdout.startswith("Lamp 1.0 · 2 steps\n\n  from n.v = 1\n")
    assert replayed.stdout.endswith("\nevery step was enabled and committed\n")


def test_settings_are_used_by_formulas_and_saved(step: Step, tmp_path: Path) -> None:
    path = tmp_path / "limited.icore"
    path.write_text(
        'language 1\npackage Limited(top: 1..9 = 2) "1"\ninput c { v: 0..9 = 0 }\n'
        "update up by environment { when c.v < top set c.v := c.v + 1 }\n"
    )
    done = step(path, "up; up; up; p c.v == top; w run.json\n", "--set", "top=3")
    assert (done.returncode, done.stderr) == (0, "")
    assert "\n  p c.v == top: true\n" in done.stdout
    assert read(tmp_path / "run.json").settings == (("top", "3"),)


@pytest.mark.parametrize(
    ("commands", "said"),
    [
        ("2", "line 1, 2:\n  there is no step 2: 1 to 1 may follow\n"),
        ("0", "line 1, 0:\n  there is no step 0: 1 to 1 may follow\n"),
        ("9999999999999999999999", "line 1, 9999999999999999999999:\n  there is no step"),
        ("b", "line 1, b:\n  this is the start\n"),
        ("1\n1; ad", "line 2, ad:\n  ad is no command (? lists them) and no update; did you mean add?\n"),
        ("s q", "line 1, s q:\n  the state has no field q; there are: n.v, lamp.on\n"),
        ("s lam", "line 1, s lam:\n  the state has no field lam; did you mean lamp.on?\n"),
        ("r m=1", "line 1, r m=1:\n  m is no field that starts anywhere; there are: n.v\n"),
        ("r n.v=7", "line 1, r n.v=7:\n  `n.v` has no value 7\n"),
        ("r n.v=2", "line 1, r n.v=2:\n  Lamp has no initial state with these values\n"),
        ("r n.v", "line 1, r n.v:\n  n.v is not FIELD=VALUE\n"),
        ("p", "line 1, p:\n  p FORMULA: a formula is expected\n"),
        ("w", "line 1, w:\n  w FILE: a file is expected\n"),
        ("w no/such/place", "line 1, w no/such/place:\n  no/such/place: cannot be written: No such file or directory\n"),
        ("p n.w == 1", "line 1, p n.w == 1:\n  formula:1:3: error R"),
        ("p n.v + 1", "line 1, p n.v + 1:\n  formula:1:1: error S005: the formula must be true or false, this is a whole number\n"),
        ("n.v", "line 1, n.v:\n  n.v is a field: s n.v shows it\n"),
        ("light", "line 1, light:\n  light is no command (? lists them) and no update; did you mean light(ana)?\n"),
        ("l", "line 1, l:\n  l is no command (? lists them) and no update; there are: light(ana), light.early(ana), light.late(ana)\n"),
        ("dim(1)", "line 1, dim(1):\n  dim(1) is not enabled\n  fails  when at dim(1)"),
        ("poke", "line 1, poke:\n  poke is not enabled\n  fails  when at poke"),
        ("light(ana)", "line 1, light(ana):\n  light(ana) is refused\n  fails  requires at light(ana)"),
    ],
)
def test_nothing_is_done_after_a_command_that_cannot_be_carried_out(step: Step, lamp: Path, commands: str, said: str) -> None:
    done = step(lamp, f"{commands}\nw later.json\n")
    assert done.returncode == 2
    assert done.stderr.startswith(said)
    assert "Traceback" not in done.stderr
    assert not (lamp.parent / "later.json").exists()


def test_wrong_files_are_wrong_input(step: Step, tmp_path: Path) -> None:
    (tmp_path / "none.icore").write_text('language 1\npackage None "1"\ninput c { v: 0..1 }\ninitially c.v > 1\n')
    assert (step("absent.icore", "").returncode, step("none.icore", "").returncode) == (2, 2)
    assert step("none.icore", "").stderr == "none.icore: None has no initial state\n"


WIDE = """package Wide
input x(i: 1..40) { n: 0..3, b: bool }
initially forall i in 1..40: x(i).n >= 2 and (x(i).n == 3 or x(i).b)
update down(i: 1..40) by environment { when x(i).b set x(i).b := false }
"""


def test_where_initial_states_are_too_many_to_go_through_the_solver_finds_the_first(step: Step, tmp_path: Path) -> None:
    """Of 8 to the 40 combinations the first initial state is the last of 2 in every n, and so b in every one."""
    (tmp_path / "wide.icore").write_text(WIDE, encoding="utf-8")
    done = step("wide.icore", "r x(7).n=3\ns x(7).n\ns x(7).b\np forall i in 1..40: x(i).n == 2 or not x(i).b and i == 7\nr x(9).n=1")
    assert (done.returncode, done.stderr) == (2, "line 5, r x(9).n=1:\n  Wide has no initial state with these values\n")
    start = ", ".join(f"x({i}).n = 2, x({i}).b = true" for i in range(1, 41))
    assert " ".join(done.stdout.split("\n   1  ")[0].split()) == f"Wide · ? lists the commands start with {start}"
    assert "  x(7).n = 3\n" in done.stdout and "  x(7).b = false\n" in done.stdout
    assert ": true\n" in done.stdout


@pytest.mark.parametrize("errors", ["strict", "surrogateescape"])
def test_commands_that_are_no_text_are_wrong_input(lamp: Path, errors: str) -> None:
    command = [sys.executable, "-m", "icore_kernel", "step", str(lamp)]
    environment = {**os.environ, "PYTHONIOENCODING": f"utf-8:{errors}"}
    done = subprocess.run(command, input=b"1\np n.v == \xff\n", capture_output=True, env=environment, check=False, timeout=60)
    assert done.returncode == 2
    assert done.stderr.endswith(b" not UTF-8\n")


# ---- at a terminal ----


@pytest.fixture
def session(lamp: Path) -> Session:
    return Session(Walk(api.load(lamp)))


def typed(monkeypatch: pytest.MonkeyPatch, *lines: str | type[BaseException]) -> list[str]:
    """What is typed, an exception for a key that raises it; returns the prompts that were shown."""
    left: Iterator[str | type[BaseException]] = iter(lines)
    prompts: list[str] = []

    def answered(prompt: str) -> str:
        prompts.append(prompt)
        line = next(left)
        if isinstance(line, str):
            return line
        raise line

    monkeypatch.setattr("builtins.input", answered)
    return prompts


def test_mistakes_are_told_and_the_run_goes_on(
    session: Session, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    prompts = typed(monkeypatch, "1", "77", "light(ana); 1", "1", EOFError)
    assert cli_step._from_terminal(session) == 0
    assert prompts == ["> "] * 5
    assert len(session.walk.taken) == 2  # what stands behind a mistake on its line is not carried out
    assert "there is no step 77: 1 to 2 may follow" in capsys.readouterr().out


def test_control_c_clears_the_line_and_ends_it_the_second_time(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    prompts = typed(monkeypatch, KeyboardInterrupt, "1", KeyboardInterrupt, KeyboardInterrupt, "1")
    assert cli_step._from_terminal(session) == 0
    assert (len(prompts), len(session.walk.taken)) == (4, 1)


def test_names_are_completed_by_what_occurs_and_what_there_is(session: Session) -> None:
    assert session.completions("li") == ["light(ana)", "light.early(ana)", "light.late(ana)"]
    assert session.completions(" a") == [" add"]
    assert session.completions("poke") == []  # it does not occur here
    assert session.completions("s l") == ["s lamp.on"]


def test_an_interrupted_command_changes_nothing(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> bool:
        raise KeyboardInterrupt

    typed(monkeypatch, "1", "p true", "2", EOFError)
    monkeypatch.setattr(Walk, "truth", interrupted)
    assert cli_step._from_terminal(session) == 0
    assert [session.walk.system.updates[number].name for number in session.walk.taken] == ["add", "light.early(ana)"]


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals here")
def test_prompts_are_shown_on_a_terminal_and_control_d_ends_it(lamp: Path) -> None:
    import pty

    outer, inner = pty.openpty()
    environment = {**os.environ, "TERM": "dumb", "COLUMNS": "130"}
    process = subprocess.Popen(
        [sys.executable, "-m", "icore_kernel", "step", str(lamp)], stdin=inner, stdout=inner, stderr=inner, env=environment
    )
    os.close(inner)
    said = b""
    add = b"ad\t\n" if find_spec("readline") else b"add\n"
    for answer in (add, b"\x04"):
        while not said.endswith(b"> "):
            said += os.read(outer, 1024)
        os.write(outer, answer)
        said += b"|"
    assert process.wait(60) == 0
    os.close(outer)
    assert said.startswith(START.replace("\n", "\r\n").encode() + b"> |")
    assert b"1 step: add by environment" in said


def test_lines_are_cut_to_their_room_and_names_never_are(session: Session) -> None:
    lines = [plain(line) for line in view_lines(session.view, 50)]
    assert max(map(len, lines)) == 50
    assert any(line.endswith("…") for line in lines)
    assert [line for line in lines if "jump by nobody" in line]
    assert "      jump by nobody" in [line[:20] for line in (plain(line) for line in view_lines(session.view, 10))]


def test_commands_of_a_session_say_what_they_lack(session: Session) -> None:
    with pytest.raises(Unable) as told:
        session.carry_out("light(ana)")
    assert [plain(line) for line in told.value.lines][:2] == [
        "  light(ana) is refused",
        f"  fails  requires at light(ana) · {session.walk.loaded.path}:8",
    ]
    assert session.carry_out("add") is True
    assert session.carry_out("q") is False
