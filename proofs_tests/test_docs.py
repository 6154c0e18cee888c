"""What the documentation shows is what the program prints, and what it points to is there.

Fenced blocks whose first line begins with `$ icore ` are run, in a copy of the examples, and compared word for word (seconds apart).
`ICORE_UPDATE_DOCS=1` writes what the program prints into them instead.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import CHECKOUT

FOLDERS = ("", "examples/", "dsl/", "icore_kernel/record/", "icore_kernel/hosts/")
DOCUMENTS = tuple(name for name in (*(f"{folder}README.md" for folder in FOLDERS), "CONTRIBUTING.md") if (CHECKOUT / name).exists())
BLOCK = re.compile(r"^```[a-z]*\n(\$ icore .*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)")


def without_seconds(text: str) -> str:
    """Nor digests: they are of the versions that were used, too."""
    return re.sub(r"\b[0-9a-f]{64}\b", "0" * 64, re.sub(r"\b\d+\.\d\d s\b", "0.00 s", text))


def run(command: str, folder: Path) -> str:
    """The output of a command as a terminal would show it, both streams together."""
    words, given = shlex.split(command), ""
    if "<<<" in words:
        words, given = words[:-2], f"{words[-1]}\n"
    assert words[0] == "icore" and "<<<" not in words
    environment = {name: value for name, value in os.environ.items() if name not in ("ICORE_DEBUG", "COLUMNS")}
    done = subprocess.run(
        [sys.executable, "-m", "icore_kernel", *words[1:]],
        cwd=folder,
        env=environment,
        input=given,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    return done.stdout


def transcript(block: str, folder: Path) -> str:
    """The block as it should be: each of its commands, in order, with what it prints."""
    commands = [line for line in block.splitlines() if line.startswith("$ ")]
    return "".join(f"{command}\n{run(command.removeprefix('$ '), folder)}" for command in commands)


def folder_with_examples(folder: Path) -> Path:
    shutil.copytree(CHECKOUT / "examples", folder / "examples")
    return folder


@pytest.mark.parametrize("name", DOCUMENTS)
def test_output_in_the_documentation_is_what_the_program_prints(name: str, tmp_path: Path) -> None:
    path = CHECKOUT / name
    text = path.read_text(encoding="utf-8")
    folder = folder_with_examples(tmp_path)
    real = {block: transcript(block, folder) for block in BLOCK.findall(text)}
    if os.environ.get("ICORE_UPDATE_DOCS") == "1":
        path.write_text(BLOCK.sub(lambda found: found[0].replace(found[1], real[found[1]]), text), encoding="utf-8")
        return
    for block, printed in real.items():
        assert without_seconds(block) == without_seconds(printed)


def test_the_program_in_the_readme_runs_and_prints_the_verdict(tmp_path: Path) -> None:
    (program,) = re.findall(r"^```python\n(.*?)^```$", (CHECKOUT / "README.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    folder = folder_with_examples(tmp_path)
    done = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Verdict.HOLDS ")


def test_blocks_are_found_and_a_wrong_one_is_noticed(tmp_path: Path) -> None:
    document = "words\n```\n$ icore init x\nwrote nothing\n```\n```sh\n$ icore fmt y\n```\n```\nicore check z\n```\n"
    assert BLOCK.findall(document) == ["$ icore init x\nwrote nothing\n", "$ icore fmt y\n"]
    assert transcript("$ icore init x\nwrote nothing\n", tmp_path) == "$ icore init x\nwrote x.icore; next: icore check x.icore\n"
    assert without_seconds(f"head {'ab' * 32}") == without_seconds(f"head {'cd' * 32}") != without_seconds(f"head {'cd' * 31}")
    assert without_seconds("holds · 1.25 s") == without_seconds("holds · 0.34 s") != without_seconds("violated · 0.34 s")


def test_the_session_in_the_readme_runs(tmp_path: Path) -> None:
    (program,) = re.findall(r"^```py\n(.*?)^```$", (CHECKOUT / "README.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    folder = folder_with_examples(tmp_path)
    done = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    said = done.stdout.splitlines()
    assert said[0].startswith("finish.careless(ana, compile) is refused: ")
    assert said[1].startswith("closed 1 [")
    assert said[2] == "Outcome.INCOMPLETE"
    assert "intact and sealed, not signed" in run("icore verify session.jsonl", folder)


def test_the_readme_shows_the_main_command_with_its_output_on_the_first_screen() -> None:
    text = (CHECKOUT / "README.md").read_text(encoding="utf-8")
    (first, *_) = BLOCK.finditer(text)
    assert first[1].startswith("$ icore check examples/")
    assert text[: first.start()].count("\n") < 30


@pytest.mark.parametrize(
    ("start", "end"),
    [
        ("python3 -m venv .venv && .venv/bin/pip install -q . && ", ".venv/bin/icore check examples/release_pipeline.icore"),
        ("python3 -m venv .venv-test && .venv-test/bin/pip install -q -e '.[test]' && ", ".venv-test/bin/pytest -q -n auto proofs_tests"),
    ],
)
def test_the_readme_has_each_of_the_two_commands_once_on_a_line_of_its_own(start: str, end: str) -> None:
    lines = (CHECKOUT / "README.md").read_text(encoding="utf-8").splitlines()
    assert lines.count(start + end) == 1


def test_ci_runs_the_command_for_the_tests_that_the_readme_prints() -> None:
    script = (CHECKOUT / ".ci" / "run").read_text(encoding="utf-8")
    found = re.search(r"grep -m1 '\^(.*?)' README\.md", script)
    assert found
    pattern = found[1].replace("\\.", ".")
    (line,) = [line for line in (CHECKOUT / "README.md").read_text(encoding="utf-8").splitlines() if line.startswith(pattern)]
    assert line.endswith("pytest -q -n auto proofs_tests")
    assert 'bash -euo pipefail -c "$tests"' in script
    workflow = (CHECKOUT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    assert "bash .ci/run" in workflow


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_within_the_checkout_lead_somewhere(name: str) -> None:
    path = CHECKOUT / name
    targets = [target for target in LINK.findall(path.read_text(encoding="utf-8")) if "://" not in target]
    missing = [target for target in targets if not (path.parent / target).exists()]
    assert not missing


def test_every_key_of_a_report_is_described_in_the_schema() -> None:
    from test_report import GOOD, VIOLATED

    from icore_kernel.report.json import report_record, wrong_record

    schema = (CHECKOUT / "icore_kernel" / "report" / "SCHEMA.md").read_text(encoding="utf-8")

    def keys(value: object) -> set[str]:
        match value:
            case dict():
                return {key for key in value if isinstance(key, str)}.union(*map(keys, value.values()))
            case list():
                return set().union(*map(keys, value))
            case _:
                return set()

    from dataclasses import replace

    from icore_kernel.verdict import Finding

    full = replace(GOOD, results=(VIOLATED,), findings=(Finding("k", "s", "m"),), space={"states": 1, "stopped": None})
    found = keys(report_record(full, False, {})) | keys(wrong_record("f", "m", ()))
    assert {"results", "findings", "not_guaranteed", "offending"} <= found
    assert not {key for key in found if f"`{key}`" not in schema} - {"head.commit", "status(unit)"}
