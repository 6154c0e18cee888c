"""By whose rules: a record brings its package and its theory, and `icore verify` says where these are not what the reader trusts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from audit_desk import DESK
from theory_lab import SPEC, theory_copy

from icore_kernel.audit.recorded import digest_of_texts
from icore_kernel.cli import run
from icore_kernel.record.seal import seal
from icore_kernel.record.store import open_store, read_entries

FEASIBLE = 'feasibility "A.4(6)" (w: Obligation):\n'


@pytest.fixture
def desk(tmp_path: Path) -> str:
    path = tmp_path / "desk.icore"
    path.write_text(DESK, encoding="utf-8")
    return str(path)


@pytest.fixture
def lax(tmp_path: Path) -> Path:
    """The theory without feasible assignees."""
    folder = theory_copy(SPEC, tmp_path / "lax")
    file = folder / "3-feasibility.icore"
    head, found, rest = file.read_text(encoding="utf-8").partition(FEASIBLE)
    clause, gap, after = rest.partition("\n\n")
    assert found and gap
    file.write_text(f"{head}{found}  true or ({clause.strip()}){gap}{after}", encoding="utf-8")
    return folder


def _audited(desk: str, record: Path, *more: str) -> str:
    assert run(["audit", desk, "--budget", "2", "--record", str(record), *more]) in (0, 1, 3)
    return str(record)


def test_a_theory_that_the_record_brings_is_no_success(desk: str, lax: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = _audited(desk, tmp_path / "run.jsonl", "--theory", str(lax))
    capsys.readouterr()
    assert run(["verify", record]) == 3
    said = capsys.readouterr().out
    assert "  replay        holds\n" in said
    assert "  theory        unknown   it brings its own, which is not the installed one: see --theory\n" in said
    assert said.endswith("\nintact and sealed, but by another theory\n")
    assert run(["verify", record, "--format", "json"]) == 3
    told = json.loads(capsys.readouterr().out)
    assert (told["exit_status"], told["theory"], told["unsure"]) == (3, "other", ["the theory in it is not the installed one"])


def test_the_theory_that_it_must_be_by_is_given(desk: str, lax: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = _audited(desk, tmp_path / "own.jsonl", "--theory", str(lax))
    installed = _audited(desk, tmp_path / "installed.db")
    capsys.readouterr()
    assert run(["verify", own, "--theory", str(lax)]) == 0
    assert "  theory        same      that of --theory\n" in capsys.readouterr().out
    assert run(["verify", installed]) == 0
    assert "  theory " not in capsys.readouterr().out
    assert run(["verify", installed, "--theory", str(lax)]) == 1
    said = capsys.readouterr().out
    assert f"the theory in it is not that in {lax}" in said and said.endswith("\nintact and sealed, but by another theory\n")
    assert run(["verify", own, "--theory", str(SPEC)]) == 1
    assert run(["verify", own, "--theory", str(tmp_path / "none")]) == 2


def test_the_package_that_it_must_be_about(desk: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = _audited(desk, tmp_path / "run.jsonl")
    other = tmp_path / "other.icore"
    other.write_text(DESK.replace("requires feasible(m, w)\n", ""), encoding="utf-8")
    capsys.readouterr()
    assert run(["verify", record, "--package", desk]) == 0
    assert f"  package       same      {desk}\n" in capsys.readouterr().out
    assert run(["verify", record, "--package", str(other)]) == 1
    said = capsys.readouterr().out
    assert f"  package       other     it is not about {other}\n" in said
    assert f"  the package in it, Desk 1.0, is not {other}\n" in said
    assert said.endswith("\nintact and sealed, but of another package\n")
    assert run(["verify", record, "--package", str(other), "--format", "json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["exit_status"], told["package"], told["theory"]) == (1, "other", "installed")
    assert run(["verify", record, "--package", str(tmp_path / "none.icore")]) == 2
    assert "none.icore: cannot be read" in capsys.readouterr().err


def test_settings_are_part_of_the_package(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The record's own are set, and said: whoever set them chose them. A package that does not take them is another."""
    with_parameter = tmp_path / "n.icore"
    with_parameter.write_text(DESK.replace('package Desk "1.0"', 'package Desk(n: 1..3 = 1) "1.0"'), encoding="utf-8")
    record = _audited(str(with_parameter), tmp_path / "run.jsonl", "--set", "n=2")
    capsys.readouterr()
    assert run(["verify", record, "--package", str(with_parameter)]) == 0
    assert f"  package       same      {with_parameter} with n=2\n" in capsys.readouterr().out
    without = tmp_path / "without.icore"
    without.write_text(DESK, encoding="utf-8")
    assert run(["verify", record, "--package", str(without)]) == 1


def test_a_record_that_is_not_of_an_audit_is_about_no_package(desk: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with open_store(tmp_path / "notes.jsonl") as store:
        store.append("open", {"about": "nothing"})
    assert run(["verify", str(tmp_path / "notes.jsonl"), "--package", desk]) == 1
    assert f"is it about {desk}: it has no opening of an audit" in capsys.readouterr().out


def test_a_broken_record_is_broken_first(desk: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = Path(_audited(desk, tmp_path / "run.jsonl"))
    lines = record.read_bytes().splitlines(keepends=True)
    record.write_bytes(b"".join([lines[0], *lines[2:]]))
    capsys.readouterr()
    assert run(["verify", str(record), "--package", desk]) == 1
    assert capsys.readouterr().out.endswith("\nbroken\n")


def test_a_theory_of_another_icore_is_not_called_broken(desk: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It lacks a definition that is asked for here: nothing can be replayed by it, which is no word against the record."""
    whole, older = tmp_path / "whole.jsonl", tmp_path / "older.jsonl"
    assert run(["audit", desk, "--budget", "0", "--record", str(whole)]) == 3
    definition = "define failed_work(q: Obligation): bool = status(q) in {rejected, invalid}\n"
    with open_store(older) as store:
        for entry in read_entries(whole):
            body = json.loads(json.dumps(entry.body))
            if entry.kind == "open":
                assert body["theory"]["sources"][-1]["text"].count(definition) == 1
                body["theory"]["sources"][-1]["text"] = body["theory"]["sources"][-1]["text"].replace(definition, "")
                body["theory"]["digest"] = digest_of_texts(source["text"] for source in body["theory"]["sources"])
            if entry.kind != "seal":
                store.append(entry.kind, body)
        seal(store, None)
    capsys.readouterr()
    assert run(["verify", str(older)]) == 3
    said = capsys.readouterr().out
    why = "the record brings a theory of its own, and the theory does not define `failed_work`, which the audit loop asks for"
    assert f"  replay        unknown   {why}\n" in said and said.endswith("\nintact and sealed, but by another theory\n")
    theory = theory_copy(SPEC, tmp_path / "older")
    file = theory / "7-audit.icore"
    file.write_text(file.read_text(encoding="utf-8").replace(definition, ""), encoding="utf-8")
    assert run(["verify", str(older), "--theory", str(theory)]) == 3
    assert capsys.readouterr().out.endswith("\nintact and sealed, but not checked: replay\n")
    assert run(["verify", str(older), "--format", "json"]) == 3
    told = json.loads(capsys.readouterr().out)
    assert told["unsure"] == [f"replay was not checked: {why}", "the theory in it is not the installed one"]
    assert run(["replay", str(older)]) == 3
    assert capsys.readouterr().err == f"unknown: {older}: {why}\n"
