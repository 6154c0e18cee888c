"""Records that are none, and what is said of them: empty ones, other files, and names that would speak to a terminal."""

from __future__ import annotations

import errno
import json
import sqlite3
from pathlib import Path

import pytest
from audit_desk import DESK, Scripted

from icore_kernel import api
from icore_kernel.cli import run
from icore_kernel.record import jsonl
from icore_kernel.record.chain import check_chain
from icore_kernel.record.entry import RecordError, TakenRecord
from icore_kernel.record.jsonl import JsonlStore
from icore_kernel.record.seal import seal
from icore_kernel.record.store import open_store, read_entries
from icore_kernel.report.paint import visible

READERS = ("verify", "replay", "explain", "graph")


@pytest.fixture
def desk(tmp_path: Path) -> str:
    path = tmp_path / "desk.icore"
    path.write_text(DESK, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("name", ["run.jsonl", "run.db"])
@pytest.mark.parametrize("command", READERS)
def test_an_empty_one_is_no_record_whoever_reads_it(command: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / name).touch()
    assert run([command, str(tmp_path / name)]) == 2
    told = capsys.readouterr()
    assert (told.out, told.err) == ("", f"{tmp_path / name}: empty: there is no record in it\n")


def test_a_database_of_something_else_is_not_empty(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base = sqlite3.connect(tmp_path / "other.db")
    base.execute("CREATE TABLE birds (name TEXT)")
    base.commit()
    base.close()
    assert run(["verify", str(tmp_path / "other.db")]) == 1
    assert "not a record: it has no entries" in capsys.readouterr().out


@pytest.mark.parametrize("content", [b"x", b"\0" * 700, b"birds, and more birds", b'{"bodies":[1,2]}', b'{"kind":"open"'])
def test_a_file_of_something_else_is_left_as_it_is(content: bytes, desk: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It has no line break, so it looks like a first line that was not written whole; no first line begins so."""
    path = tmp_path / "notes.jsonl"
    path.write_bytes(content)
    assert run(["audit", desk, "--record", str(path)]) == 2
    assert "entry 0 (line 1): not a record: this is not how an entry begins" in capsys.readouterr().err
    assert path.read_bytes() == content and len(list(tmp_path.glob("notes*"))) == 1
    assert run(["verify", str(path)]) == 1


@pytest.mark.parametrize("cut", [1, 5, 8, 9, 40])
def test_the_beginning_of_a_first_entry_is_a_tail(cut: int, tmp_path: Path) -> None:
    with open_store(tmp_path / "run.jsonl") as store:
        store.append("open", {"about": "something"})
    (line,) = (tmp_path / "run.jsonl").read_bytes().splitlines(keepends=True)
    report = check_chain([line[:cut]])
    assert (report.broken, report.tail) == (None, line[:cut])


def test_what_is_set_aside_is_said(desk: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(b'{"body":{"alg')
    assert run(["audit", desk, "--record", str(path), "--budget", "1"]) == 3
    assert capsys.readouterr().err == f"{path}: the last line was not whole; its 13 bytes are set aside in {path}.tail-0\n"


def test_a_run_that_is_refused_leaves_the_record_of_a_killed_writer_as_it_is(
    desk: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = tmp_path / "run.jsonl"
    with open_store(record) as store:
        store.append("open", {"about": "something"})
        store.append("commit", {"about": "more"})
    killed = record.read_bytes()[:-9]
    record.write_bytes(killed)
    assert run(["audit", desk, "--record", str(record), "--budget", "1"]) == 2
    assert capsys.readouterr().err.startswith(f"{record}: there is a record already; ")
    for begin in (lambda: api.run_host(desk, Scripted({}), record), lambda: api.audit_session(desk, record)):
        with pytest.raises(TakenRecord):
            begin()
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("run.jsonl")] == ["run.jsonl"]
    assert record.read_bytes() == killed
    with open_store(record) as store:  # and who goes on with it sets the tail aside
        assert store.warning is not None


def test_a_run_that_is_refused_for_its_input_sets_no_tail_aside(desk: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = tmp_path / "run.jsonl"
    record.write_bytes(b'{"body":{"alg')
    assert run(["audit", desk, "--record", str(record), "--input", "nothing=1"]) == 2
    assert "set aside" not in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("run.jsonl")] == ["run.jsonl"]
    assert record.read_bytes() == b'{"body":{"alg'


def test_a_tail_that_cannot_be_set_aside_is_not_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> Path:
        raise OSError(28, "No space left on device")

    record = tmp_path / "run.jsonl"
    record.write_bytes(b'{"body":{"alg')
    store = open_store(record, begin=True)
    with monkeypatch.context() as patched:
        patched.setattr(jsonl, "_set_aside", full)
        for _ in range(2):
            with pytest.raises(RecordError, match="No space left on device"):
                store.append("open", {})
    assert record.read_bytes() == b'{"body":{"alg'
    store.append("open", {})
    store.close()
    assert (tmp_path / "run.jsonl.tail-0").read_bytes() == b'{"body":{"alg'
    assert [entry.kind for entry in read_entries(record)] == ["open"]


def test_a_record_is_no_package(desk: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("run.jsonl", "run.db"):
        record = tmp_path / name
        assert run(["audit", desk, "--budget", "1", "--record", str(record)]) == 3
        capsys.readouterr()
        assert run(["audit", str(record)]) == 2
        assert capsys.readouterr().err == f"{record} is a record, and no package: see icore verify, replay, explain and graph\n"


def test_a_record_without_a_name_is_refused_and_one_in_memory_is_not_called_kept(desk: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A variable that is not set, in a script, must not lose the record."""
    assert run(["audit", desk, "--budget", "1", "--record", ""]) == 2
    assert "'': a record is a file NAME.jsonl or NAME.db" in capsys.readouterr().err
    assert run(["audit", desk, "--budget", "1", "--record", "memory:"]) == 3
    said = capsys.readouterr().out
    assert "nothing was kept" in said and "record:" not in said
    assert run(["audit", desk, "--budget", "1", "--record", "memory:", "--format", "json"]) == 3
    assert json.loads(capsys.readouterr().out)["record"] is None


EVIL = "Desk\x1b[2J\n\nintact, sealed and signed by the trusted key\n\x9b31m\u202e"


@pytest.mark.parametrize("command", READERS)
def test_names_in_a_record_do_not_speak_to_the_terminal(
    command: str, desk: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The package's name is whatever the writer chose: it neither clears the screen nor makes a line of its own."""
    run(["audit", desk, "--budget", "1", "--record", str(tmp_path / "run.jsonl")])
    capsys.readouterr()
    forged = tmp_path / "forged.jsonl"
    with open_store(forged) as store:
        for entry in read_entries(tmp_path / "run.jsonl"):
            body = json.loads(json.dumps(entry.body))
            if entry.kind == "open":
                body["package"]["name"] = EVIL
            if entry.kind != "seal":
                store.append(entry.kind, body)
        seal(store, None)
    run([command, str(forged)])
    told = capsys.readouterr()
    for text in (told.out, told.err):
        assert not {"\x1b", "\x9b", "\u202e"} & set(text)
        assert "intact, sealed and signed by the trusted key" not in text.splitlines()


def test_what_is_shown_of_a_text() -> None:
    assert visible("a\x1b[2J\n\x7f\x9b\u2028\u202eé·\t") == "a\\x1b[2J\\x0a\\x7f\\x9b\\u2028\\u202eé·\\x09"


def test_a_script_that_is_not_there_is_said_to_be_unreadable(desk: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", desk, "--host", f"scripted:{tmp_path / 'none'}"]) == 2
    assert capsys.readouterr().err == f"{tmp_path / 'none'}: cannot be read: No such file or directory\n"
    with pytest.raises(RecordError):
        open_store("")


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_record_that_cannot_be_written_to_its_end_is_unknown_and_not_wrong_input(
    form: str, desk: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full at the third entry."""
    write = JsonlStore._write

    def full(self: JsonlStore, seq: int, line: bytes) -> None:
        if seq >= 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(self, seq, line)

    monkeypatch.setattr(JsonlStore, "_write", full)
    path = tmp_path / "run.jsonl"
    assert run(["audit", desk, "--record", str(path), "--format", form]) == 3
    told = capsys.readouterr()
    said = f"unknown: {path}: cannot be written: No space left on device; the run ends here, and what was recorded of it is not sealed"
    if form == "text":
        assert told.err == f"{said}\n"
    else:
        answer = json.loads(told.out)
        assert (answer["verdict"], answer["exit_status"], answer["message"]) == ("unknown", 3, said)
    assert [entry.seq for entry in read_entries(path)] == [0, 1]
    assert run(["verify", str(path)]) == 3
