"""`icore init` and `icore fmt`: what they write, what they leave as it is, and what would change."""

from __future__ import annotations

import subprocess
from pathlib import Path
from shutil import which

import pytest
from conftest import CHECKOUT, Command, Icore


def test_init_writes_a_package_that_holds_strictly(icore: Icore, tmp_path: Path) -> None:
    done = icore("init", "my_package")
    assert (done.returncode, done.stdout) == (0, "wrote my_package.icore; next: icore check my_package.icore\n")
    assert 'package MyPackage "1.0"' in (tmp_path / "my_package.icore").read_text(encoding="utf-8")
    checked = icore("check", "--strict", "my_package.icore")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert icore("fmt", "--check", "my_package.icore").returncode == 0


def test_init_never_overwrites(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.icore").write_text("precious", encoding="utf-8")
    for name in ("mine", "mine.icore"):
        status, out, err = command("init", name)
        assert (status, out, err) == (2, "", "mine.icore: exists already and was left as it is\n")
    assert (tmp_path / "mine.icore").read_text(encoding="utf-8") == "precious"


@pytest.mark.parametrize("name", ["", "1st", "...", "no/such/folder/x"])
def test_init_refuses_a_name_that_no_package_can_have(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    assert command("init", name)[0] == 2
    assert list(tmp_path.iterdir()) == []


UNFORMATTED = '\ufefflanguage   1\r\npackage  A   "1.0"\r\nagents{ana}   # who\r\n'


def test_fmt_writes_what_fmt_check_then_accepts(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "a.icore"
    path.write_text(UNFORMATTED, encoding="utf-8", newline="")
    path.chmod(0o640)
    assert command("fmt", "--check", str(path)) == (1, f"{path}: not formatted\n", "")
    assert path.read_bytes() == UNFORMATTED.encode()
    assert command("fmt", str(path)) == (0, f"{path}: formatted\n", "")
    assert "# who" in path.read_text(encoding="utf-8")
    assert path.stat().st_mode & 0o777 == 0o640
    assert command("fmt", "--check", str(path)) == (0, "", "")
    assert [file.name for file in tmp_path.iterdir()] == ["a.icore"]


def test_fmt_leaves_a_wrong_file_as_it_is_and_formats_the_others(command: Command, tmp_path: Path) -> None:
    wrong, other = tmp_path / "wrong.icore", tmp_path / "other.icore"
    wrong.write_text('package A "1.0"\nagents {', encoding="utf-8")
    other.write_text(UNFORMATTED, encoding="utf-8", newline="")
    status, out, err = command("fmt", str(wrong), str(tmp_path / "absent.icore"), str(other))
    assert status == 2
    assert out == f"{other}: formatted\n"
    assert "wrong.icore:2" in err
    assert "No such file" in err
    assert wrong.read_text(encoding="utf-8") == 'package A "1.0"\nagents {'


def test_fmt_diff_shows_what_would_change_and_changes_nothing(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    assert command("fmt", "--diff", "a.icore", "good.icore") == (1, expected, "")
    assert command("fmt", "--diff", "--check", "a.icore") == (1, expected, "")
    assert command("fmt", "--diff", "good.icore") == (0, "", "")
    assert Path("a.icore").read_bytes() == before
    assert command("fmt", "--diff", "absent.icore", "a.icore")[0] == 2


def test_fmt_diff_shows_every_character_that_would_change(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.icore").write_text(UNFORMATTED, encoding="utf-8", newline="")
    # The standard streams of the tests turn no line ending into another.
    status, out, _ = command("fmt", "--diff", "a.icore")
    gone = [line for line in out.split("\n")[2:] if line.startswith("-")]
    assert (status, gone) == (1, ["-\ufefflanguage   1\r", '-package  A   "1.0"\r', "-agents{ana}   # who\r"])


def test_a_diff_is_applied_by_patch(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    patch = which("patch")
    if patch is None:
        pytest.skip("there is no `patch` here")
    monkeypatch.chdir(tmp_path)
    source = (CHECKOUT / "examples" / "release_pipeline.icore").read_text(encoding="utf-8")
    Path("a.icore").write_text(source.replace(" == ", "==").replace("{ ", "{").rstrip("\n"), encoding="utf-8")
    status, diff, _ = command("fmt", "--diff", "a.icore")
    subprocess.run([patch, "-p0", "--binary"], input=diff.encode(), check=True, capture_output=True)
    assert (status, command("fmt", "--check", "a.icore")) == (1, (0, "", ""))


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
