"""A record where a saved run is asked for, a saved run where a record is: what it is, and the command for it."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import CHECKOUT

from icore_kernel.api import audit_session
from icore_kernel.cli import run

EXAMPLES = CHECKOUT / "examples"
BROKEN = str(EXAMPLES / "code_change_broken.icore")


@pytest.mark.parametrize("kind", ["jsonl", "db"])
def test_a_record_is_no_saved_run(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = tmp_path / f"run.{kind}"
    with audit_session(EXAMPLES / "code_change.icore", record) as session:
        session.propose("assign(ben, review)")
    assert run(["explore", BROKEN, "--replay", str(record)]) == 2
    assert capsys.readouterr().err == f"{record} is a record of a run under audit: icore replay {record}\n"


@pytest.mark.parametrize("name", ["cx.json", "cx.jsonl"])
def test_a_saved_run_is_no_record(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved = str(tmp_path / name)
    assert run(["check", BROKEN, "--save-run", saved]) == 1
    assert run(["explore", BROKEN, "--replay", saved]) == 0
    capsys.readouterr()
    for command in ("verify", "replay", "explain"):
        assert run([command, saved]) == 2
        assert capsys.readouterr().err == f"{saved} is a saved run of icore check, and no record: icore explore FILE --replay {saved}\n"
