"""The command line as a process of its own: help, completion, versions, and checks from end to end."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from shutil import which

import pytest
from conftest import CHECKOUT, Icore

from icore_kernel.explore.search import has_kernel
from icore_kernel.verdict import ExitStatus
from icore_kernel.version import VERSION


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
    script = f'{line}\nCOMP_WORDS=(icore expl)\nCOMP_CWORD=1\n_icore_completion icore\necho "${{COMPREPLY[*]}}"\n'
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
