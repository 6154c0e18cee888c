"""`icore audit` as a user meets it: exit statuses, the record it leaves, what it says of wrong input."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from audit_desk import DESK
from conftest import CHECKOUT

from icore_kernel.cli import run
from icore_kernel.explore.model import State
from icore_kernel.prove.commit import CommitSolver, Ruling
from icore_kernel.record.store import read_entries

LADDER = str(CHECKOUT / "examples" / "dependency_ladder.icore")
PIPELINE = str(CHECKOUT / "examples" / "release_pipeline.icore")

ACCEPTED = ["assign(ana, left)", "revise: assign(ana, right)", "finish(ana, left)", "finish(ana, right)", "sign(left)", "sign(right)"]
REJECTED = ["assign(ana, left)", "revise: assign(ana, right)", "fail(ana, left)", "fail(ana, right)"]
STUCK = ["assign(ana, left)", "revise: assign(ana, right)", "finish(ana, left)", "sign(left)", "fail(ana, right)", "halt"]


@pytest.fixture
def desk(tmp_path: Path) -> str:
    path = tmp_path / "desk.icore"
    path.write_text(DESK, encoding="utf-8")
    return str(path)


def _script(folder: Path, lines: list[str]) -> str:
    path = folder / "script.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return f"scripted:{path}"


@pytest.mark.parametrize(("lines", "status", "outcome"), [(ACCEPTED, 0, "accept"), (REJECTED, 1, "reject"), (STUCK, 3, "stuck")])
def test_the_exit_status_is_the_outcome(
    desk: str, tmp_path: Path, lines: list[str], status: int, outcome: str, capsys: pytest.CaptureFixture[str]
) -> None:
    record = tmp_path / "run.jsonl"
    assert run(["audit", desk, "--host", _script(tmp_path, lines), "--record", str(record), "--format", "json"]) == status
    said = json.loads(capsys.readouterr().out)
    assert (said["schema"], said["outcome"], said["exit_status"]) == ("icore.audit/1", outcome, status)
    entries = list(read_entries(record))
    assert entries[-1].kind == "seal"
    assert (said["head"], said["entries"]) == (entries[-1].hash, len(entries))
    assert entries[-2].body["outcome"] == outcome


def test_every_key_of_the_answer_is_described_in_the_schema(desk: str, capsys: pytest.CaptureFixture[str]) -> None:
    run(["audit", desk, "--budget", "1", "--format", "json"])
    keys = set(json.loads(capsys.readouterr().out))
    text = (CHECKOUT / "icore_kernel" / "report" / "SCHEMA.md").read_text(encoding="utf-8")
    section = text.split("## `icore.audit/1`")[1].split("\n## ")[0]
    assert keys - set(re.findall(r"`(\w+)`", section)) == {"schema"}


def test_a_run_in_words_shows_who_did_what_and_why_it_was_refused(desk: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = _script(
        tmp_path, ["assign(ana, left)", "revise: assign(ana, right)", "finish.withheld(ana, left)", "revise: finish(ana, left)"]
    )
    assert run(["audit", desk, "--host", script, "--budget", "2"]) == 3
    said = capsys.readouterr().out
    assert [line.split()[:3] for line in said.splitlines()[3:9] if line[:6].strip()] == [
        ["1", "commit", "assign(ana,"],
        ["2", "diagnosis", "assignment"],
        ["3", "commit", "assign(ana,"],
        ["4", "refused", "finish.withheld(ana,"],
    ]
    assert "A.4(2) status(left): needs" in said and "spec/3-feasibility.icore:" in said
    assert "by ana (recovery)" in said
    assert "nothing was kept: --record FILE.jsonl keeps the run" in said
    assert said.splitlines()[-1].startswith("incomplete · ")


def test_rounds_that_say_the_same_are_counted_and_long_runs_are_shortened(
    desk: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["audit", desk, "--host", _script(tmp_path, ["assign(ana, left)"]), "--budget", "60"]) == 3
    said = capsys.readouterr().out.splitlines()
    # Round 0 assigns (h = 1, and 2 by the feedback). In round 1 patience is at its end; rounds 2 to 59 say the same.
    assert [line.split()[:2] for line in said if line.strip().startswith("…")] == [["…", "and"]]
    assert "… and the same in 58 more rounds" in "\n".join(said)
    assert run(["audit", desk, "--host", _script(tmp_path, ["assign(ana, left)"]), "--budget", "60", "--all"]) == 3
    assert len(capsys.readouterr().out.splitlines()) > 200


def test_a_diagnosis_that_nobody_answers_is_one_line_and_repeated_ones_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without `halt` nothing is enabled after the fifth round: each of the others is a diagnosis without an answer."""
    package, record = tmp_path / "desk.icore", tmp_path / "run.jsonl"
    begin, end = DESK.index("update halt"), DESK.index("define capability")
    package.write_text(DESK[:begin] + DESK[end:])
    steps = ["assign(ana, left)", "finish(ana, left)", "sign(left)", "assign(ana, right)", "fail(ana, right)"]
    words = ["audit", str(package), "--host", _script(tmp_path, steps), "--budget", "9", "--patience", "2", "--threshold", "0"]
    assert run([*words, "--record", str(record)]) == 3
    said = capsys.readouterr().out.splitlines()[3:]
    assert said[: said.index("")] == [
        "     1  commit     assign(ana, left)  by ana",
        "     2  diagnosis  assignment of right: beneficial reassignment  asks monitor: no proposal",
        "     4  commit     finish(ana, left)  by ana",
        "     5  diagnosis  assignment of right: beneficial reassignment  asks monitor: no proposal",
        "     7  commit     sign(left)  by monitor",
        "     8  diagnosis  assignment of right: patience, beneficial reassignment  asks monitor: no proposal",
        "    10  commit     assign(ana, right)  by ana",
        "    11  diagnosis  progress of right: patience  asks ana: no proposal",
        "    13  commit     fail(ana, right)  by ana",
        "    14  diagnosis  progress of left, right: patience  asks ana: no proposal",
        "    16  diagnosis  progress of left, right: no enabled productive update, patience  asks ana: no proposal  4 times",
    ]
    kinds = [entry.kind for entry in read_entries(record)]
    assert (kinds.count("diagnosis"), kinds.count("feedback")) == (9, 9), "the record keeps all"
    assert run([*words, "--all"]) == 3
    assert sum("feedback   no proposal" in line for line in capsys.readouterr().out.splitlines()) == 9


def test_equal_runs_leave_equal_records(tmp_path: Path) -> None:
    records = [tmp_path / "one.jsonl", tmp_path / "two.jsonl"]
    for record in records:
        run(["audit", LADDER, "--host", "random:7:1/3", "--record", str(record)])
    assert records[0].read_bytes() == records[1].read_bytes()


def test_a_signed_run_verifies_against_its_key(desk: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("cryptography", reason="the extra sign is not installed")
    key, record = tmp_path / "auditor.key", tmp_path / "run.db"
    assert run(["keygen", str(key)]) == 0
    assert run(["audit", desk, "--host", _script(tmp_path, ACCEPTED), "--record", str(record), "--sign-key", str(key)]) == 0
    assert run(["verify", str(record), "--key", f"{key}.pub"]) == 0
    assert "sealed and signed" in capsys.readouterr().out


def test_a_solver_that_disagrees_ends_in_status_4(desk: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def legal(self: CommitSolver, before: State, number: int, after: State | None) -> Ruling:
        return Ruling(True)

    monkeypatch.setattr(CommitSolver, "decide", legal)
    record = tmp_path / "run.jsonl"
    script = _script(tmp_path, ["assign(ana, left)", "revise: assign(ana, right)", "finish.withheld(ana, left)"])
    assert run(["audit", desk, "--host", script, "--record", str(record)]) == 4
    kinds = [entry.kind for entry in read_entries(record)]
    assert kinds == ["open", "commit", "diagnosis", "commit", "internal", "end", "seal"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--host", "oracle"], "oracle"),
        (["--host", "scripted:nowhere.txt"], "nowhere.txt"),
        (["--record", "run.txt"], "NAME.jsonl"),
        (["--threshold", "2"], "between 0 and 1"),
        (["--threshold", "1e-400000000"], "is no number"),
        (["--patience", "0"], "patience"),
        (["--patience", str(2**53)], "at most 9,007,199,254,740,991"),
        (["--budget", str(2**53)], "at most 9,007,199,254,740,991"),
        (["--request", "caf\udce9"], "not UTF-8"),
        (["--input", "x=--5"], "there are: none"),
        (["--input", f"x={'9' * 6000}"], "there are: none"),
        (["--input", "weather=rain"], "there are: none"),
        (["--set", "n=4"], "no parameter"),
        (["--sign-key", "nowhere.key"], "nowhere.key"),
    ],
)
def test_wrong_input_is_status_2_and_says_what(desk: str, words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", desk, *words]) == 2
    assert said in capsys.readouterr().err


def test_a_record_is_of_one_run(desk: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = tmp_path / "run.jsonl"
    assert run(["audit", desk, "--budget", "0", "--record", str(record)]) == 3
    before = record.read_bytes()
    assert run(["audit", desk, "--record", str(record)]) == 2
    assert "there is a record already" in capsys.readouterr().err
    assert record.read_bytes() == before


def test_a_wrong_package_is_shown_with_its_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "wrong.icore"
    path.write_text("language 1\npackage Wrong\nagents { ana }\ninvariant x: nothing\n", encoding="utf-8")
    assert run(["audit", str(path)]) == 2
    assert "wrong.icore:4" in capsys.readouterr().err


def test_a_run_starts_from_a_feasible_state_or_not_at_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "unasked.icore"
    path.write_text(
        DESK.replace("issuer environment  premises request     claims node(w)", "issuer environment  claims node(w)"), encoding="utf-8"
    )
    assert run(["audit", str(path), "--record", str(tmp_path / "run.jsonl")]) == 2
    assert "its initial state is not feasible: A.4(1) left" in capsys.readouterr().err


def test_the_scored_host_ships_the_release(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", PIPELINE, "--host", "scored"]) == 0
    said = capsys.readouterr().out
    assert "sign_off(release)" in said and "snd 1, astab 1, cq 1" in said


def test_a_package_in_which_there_is_nothing_to_do_is_diagnosed_of_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "idle.icore").write_text('language 1\npackage Idle "1.0"\nagents { ana }\n', encoding="utf-8")
    assert run(["audit", str(tmp_path / "idle.icore"), "--budget", "1"]) == 3
    assert "     1  diagnosis  progress: no enabled productive update  asks ana: no proposal\n" in capsys.readouterr().out
