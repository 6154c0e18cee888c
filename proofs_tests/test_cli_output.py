"""What a command writes never takes the place of what it reads: not of a package, an import, a run, a record or the theory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from shutil import copytree

import pytest
from audit_desk import desk
from conftest import Command

from icore_kernel.theory_files import theory_directory

MAIN = """package Main
import "lib.icore"
input c { n: 0..2 = 0 }
update inc by environment { when c.n < 2 set c.n := c.n + 1 }
invariant low: c.n < limit
"""
LIBRARY = "library Lib\ndefine limit = 2\n"


@pytest.fixture
def main(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package that is violated, so that there is a run to save, and a library that it imports."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lib.icore").write_text(LIBRARY, encoding="utf-8")
    path = Path("main.icore")
    path.write_text(MAIN, encoding="utf-8")
    return path


WRITERS = [
    ["check", "main.icore", "--save-run"],
    ["explore", "main.icore", "--dot"],
    ["explore", "main.icore", "--graphml"],
    ["explore", "main.icore", "--json"],
    ["export", "main.icore", "--to", "promela", "-o"],
    ["export", "main.icore", "--to", "tla", "--output"],
    ["stable", "main.icore", "--html"],
]


@pytest.mark.parametrize("words", WRITERS, ids=lambda words: f"{words[0]} {words[-1]}")
@pytest.mark.parametrize("target", ["main.icore", "./lib.icore", "soft.icore", "hard.icore"])
def test_no_file_that_is_read_is_written_over(command: Command, main: Path, words: list[str], target: str) -> None:
    Path("soft.icore").symlink_to("main.icore")
    Path("hard.icore").hardlink_to("lib.icore")
    status, out, err = command(*words, target)
    assert (status, out) == (2, "")
    assert f"{Path(target)} is read here" in err
    assert (main.read_text(encoding="utf-8"), Path("lib.icore").read_text(encoding="utf-8")) == (MAIN, LIBRARY)


def test_another_file_is_written_over_as_before(command: Command, main: Path) -> None:
    Path("run.json").write_text("an older run", encoding="utf-8")
    assert command("check", main, "--save-run", "run.json")[0] == 1
    assert json.loads(Path("run.json").read_text(encoding="utf-8"))["breaks"] == "low"


def test_no_file_of_several_and_no_file_of_the_theory_is_written_over(command: Command, main: Path, tmp_path: Path) -> None:
    Path("other.icore").write_text("package Other\ninput c { n: 0..2 = 0 }\n", encoding="utf-8")
    assert command("check", main, "other.icore", "--save-run", "other.icore")[0] == 2
    assert Path("other.icore").read_text(encoding="utf-8").startswith("package Other")
    theory = copytree(theory_directory(), tmp_path / "theory")
    part = sorted(theory.glob("*.icore"))[0]
    before = part.read_bytes()
    assert command("check", main, "--theory", theory, "--save-run", part)[0] == 2
    assert part.read_bytes() == before


def test_the_configuration_beside_a_module_is_written_over_nothing(command: Command, main: Path) -> None:
    main.rename("main.cfg")
    status, _, err = command("export", "main.cfg", "--to", "tla", "-o", "main.tla")
    assert status == 2 and "main.cfg is read here" in err
    assert Path("main.cfg").read_text(encoding="utf-8") == MAIN and not Path("main.tla").exists()


def test_it_is_told_as_json_where_that_was_asked_for(command: Command, main: Path) -> None:
    status, out, _ = command("check", main, "--format", "json", "--save-run", main)
    assert status == 2 and json.loads(out)["exit_status"] == 2


def test_a_run_by_hand_is_not_saved_over_its_package(main: Path) -> None:
    for target in ("main.icore", "lib.icore"):
        asked = [sys.executable, "-m", "icore_kernel", "step", "main.icore"]
        done = subprocess.run(asked, input=f"1\nw {target}\n", capture_output=True, text=True, encoding="utf-8", timeout=120, check=False)
        assert done.returncode == 2 and f"{target} is read here" in done.stderr
    assert (main.read_text(encoding="utf-8"), Path("lib.icore").read_text(encoding="utf-8")) == (MAIN, LIBRARY)


@pytest.mark.parametrize("form", ["html", "dot", "graphml", "prov"])
def test_no_record_is_drawn_over(command: Command, tmp_path: Path, form: str) -> None:
    desk(tmp_path)
    record = tmp_path / "run.jsonl"
    assert command("audit", tmp_path / "desk.icore", "--host", "random:1", "--record", record)[0] in {0, 1, 3}
    before = record.read_bytes()
    status, out, err = command("graph", record, f"--{form}", record)
    assert (status, out) == (2, "") and "is read here" in err
    assert record.read_bytes() == before
