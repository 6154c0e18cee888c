"""Stores: what was acknowledged is there, whatever came between; tails are set aside; one writer at a time."""

from __future__ import annotations

import errno
import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import CHECKOUT
from hypothesis import given
from hypothesis import strategies as st
from record_lab import SMALL, sealed_lines, whole

from icore_kernel.record import jsonl as jsonl_module
from icore_kernel.record.canonical import CanonicalError
from icore_kernel.record.chain import check_chain
from icore_kernel.record.entry import ZERO, BrokenRecord, BusyRecord, RecordError, SealedRecord, make, read
from icore_kernel.record.local import LocalStore
from icore_kernel.record.memory import MemoryStore
from icore_kernel.record.seal import seal
from icore_kernel.record.sqlite import SqliteStore
from icore_kernel.record.store import Store, open_store, read_entries, read_lines

FILES = ("run.jsonl", "run.db")


def in_parts(path: Path, *parts: int) -> list[dict[str, int]]:
    """The bodies 0, 1, … appended in as many openings as there are parts."""
    bodies = [{"n": n} for n in range(sum(parts))]
    at = 0
    for part in parts:
        with open_store(path) as store:
            for body in bodies[at : at + part]:
                assert store.append("commit", body).body == body
        at += part
    return bodies


def test_an_entry_is_what_the_documentation_says() -> None:
    entry, line = make(0, ZERO, "commit", {"b": 1, "a": "é"})
    assert line == (
        b'{"body":{"a":"\xc3\xa9","b":1},"hash":"' + entry.hash.encode() + b'","kind":"commit","prev":"' + b"0" * 64 + b'","seq":0}\n'
    )
    # sha256sum of {"body":{"a":"é","b":1},"kind":"commit","prev":"000…","seq":0}
    assert entry.hash == "e45705852805e002d00ca20189d41ccb06a62f8ab515e1885c9d6676b228b7ea"
    assert read(line[:-1]) == entry


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b"[]", "not an entry: the keys body, hash, kind, prev, seq"),
        (b'{"body":{},"hash":"","kind":"a","prev":""}', "not an entry"),
        (b'{"body":[],"hash":"","kind":"a","prev":"","seq":0}', "body is not an object"),
        (b'{"body":{},"hash":"A","kind":"a","prev":"","seq":0}', "64 hexadecimal digits"),
        (b'{"body":{},"hash":"%b","kind":"a b","prev":"%b","seq":0}' % (b"a" * 64, b"0" * 64), "kind must be small letters"),
        (b'{"body":{},"hash":"%b","kind":"a","prev":"%b","seq":true}' % (b"a" * 64, b"0" * 64), "seq must be a number"),
        (b'{"body":{},"hash":"%b","kind":"a","prev":"%b","seq":-1}' % (b"a" * 64, b"0" * 64), "seq must be a number"),
        (b'{"body":{},"hash":"%b","kind":"a","prev":"%b","seq":0}' % (b"a" * 64, b"0" * 64), "the hash is not that of the entry"),
        (b'{"body":{},"hash":"%b","kind":"a","prev":"%b","seq":0}' % (b"A" * 64, b"0" * 64), "in small letters"),
    ],
)
def test_a_line_that_is_no_entry_is_refused(line: bytes, says: str) -> None:
    with pytest.raises(CanonicalError, match=says):
        read(line)


@pytest.mark.parametrize("kind", ["", "Commit", "a b", "é", 'a"', "x" * 33, "a\n"])
def test_a_kind_is_a_short_word(kind: str) -> None:
    with pytest.raises(CanonicalError, match="no kind of entry"):
        make(0, ZERO, kind, {})


@pytest.mark.parametrize("name", FILES)
def test_what_is_appended_is_read_back_over_several_openings(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    bodies = in_parts(path, 3, 0, 2, 1)
    entries = list(read_entries(path))
    assert [entry.body for entry in entries] == bodies
    assert [entry.seq for entry in entries] == list(range(6))
    assert [entry.prev for entry in entries] == [ZERO, *(entry.hash for entry in entries[:-1])]
    with open_store(path, create=False) as store:
        assert store.head() == (6, entries[-1].hash)
        assert list(store.entries()) == entries
        assert b"".join(store.lines()) == b"".join(read_lines(path))
        assert not store.sealed()
        assert store.warning is None
    assert sorted(os.listdir(tmp_path)) == [name]


def test_all_stores_hold_the_same_lines(tmp_path: Path) -> None:
    written = []
    for target in ("memory:", tmp_path / "a.jsonl", tmp_path / "a.db"):
        with open_store(target, durable=True) as store:
            for kind, body in SMALL:
                store.append(kind, body)
            seal(store)
            written.append(list(store.lines()))
    assert written[0] == written[1] == written[2] == sealed_lines(SMALL)
    assert (tmp_path / "a.jsonl").read_bytes() == b"".join(written[0])
    assert written[0] == list(read_lines(tmp_path / "a.db"))


@pytest.mark.parametrize("name", ["memory:", *FILES])
def test_nothing_is_added_to_a_sealed_record(tmp_path: Path, name: str) -> None:
    target = name if name == "memory:" else tmp_path / name
    store = open_store(target)
    store.append("commit", {})
    assert seal(store).body["count"] == 1
    for _ in range(2):
        before = list(store.lines())
        with pytest.raises(SealedRecord, match="is sealed; nothing is added"):
            store.append("commit", {})
        with pytest.raises(SealedRecord):
            seal(store)
        assert store.sealed()
        assert list(store.lines()) == before
        if target != "memory:":
            store.close()
            store = open_store(target)
    store.close()


@pytest.mark.parametrize("name", ["memory:", *FILES])
def test_an_entry_that_cannot_be_written_leaves_the_record_as_it_was(tmp_path: Path, name: str) -> None:
    with open_store(name if name == "memory:" else tmp_path / name) as store:
        store.append("commit", {"n": 0})
        for wrong in ({"x": 1.5}, {"x": "\ud800"}, {"x": 2**60}):
            with pytest.raises(CanonicalError):
                store.append("commit", wrong)
        with pytest.raises(RecordError, match="not appended"):
            store.append("seal", {})
        assert store.append("commit", {"n": 1}).seq == 1
        assert [entry.body["n"] for entry in store.entries()] == [0, 1]
    with pytest.raises(RecordError, match="is closed"):
        store.append("commit", {"n": 2})
    store.close()


def test_a_record_that_is_not_there(tmp_path: Path) -> None:
    for name in FILES:
        with pytest.raises(RecordError, match="no such record"):
            open_store(tmp_path / name, create=False)
        with pytest.raises(RecordError, match=r"no such|No such file"):
            list(read_lines(tmp_path / name))
        with pytest.raises(RecordError, match=r"no such folder|No such file|unable to open"):
            open_store(tmp_path / "folder" / name)
    assert not os.listdir(tmp_path)
    for target in ("run.txt", "run", tmp_path / "run.JSONL"):
        with pytest.raises(RecordError, match=r"a record is a file NAME\.jsonl or NAME\.db"):
            open_store(target)
        with pytest.raises(RecordError, match="a record is a file"):
            read_lines(target)


def test_a_folder_is_no_record(tmp_path: Path) -> None:
    for name in FILES:
        (tmp_path / name).mkdir()
        with pytest.raises(RecordError):
            open_store(tmp_path / name)
        with pytest.raises(RecordError):
            list(read_lines(tmp_path / name))


# Tails


def test_a_file_cut_at_any_byte_is_gone_on_with_and_loses_no_whole_line(tmp_path: Path) -> None:
    lines = sealed_lines(SMALL)[:-1]
    text = b"".join(lines)
    ends = [len(b"".join(lines[:n])) for n in range(len(lines) + 1)]
    for cut in range(len(text) + 1):
        path = tmp_path / f"{cut}.jsonl"
        path.write_bytes(text[:cut])
        kept = sum(end <= cut for end in ends) - 1
        aside = path.with_name(f"{path.name}.tail-{ends[kept]}")
        with open_store(path) as store:
            assert store.head()[0] == kept
            assert (store.warning is None) == (cut in ends)
            if store.warning is not None:
                assert str(aside) in store.warning
                assert f"its {cut - ends[kept]:,} bytes" in store.warning
                assert aside.read_bytes() == text[ends[kept] : cut]
            store.append("commit", {"again": cut})
        assert [entry.body for entry in whole(path)] == [*(body for _, body in SMALL[:kept]), {"again": cut}]
    assert len(list(tmp_path.glob("*.tail-*"))) == len(text) + 1 - len(ends)


def test_a_tail_set_aside_before_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    for tail in (b'{"body":1', b'{"body":2', b'{"body":1'):
        path.write_bytes(tail)
        open_store(path).close()
        assert path.read_bytes() == b""
    assert (tmp_path / "run.jsonl.tail-0").read_bytes() == b'{"body":1'
    assert (tmp_path / "run.jsonl.tail-0-2").read_bytes() == b'{"body":2'
    assert len(os.listdir(tmp_path)) == 3


@pytest.mark.parametrize("tail", [b"\0" * 700, b"\xff\xfe", b'{"body":', b"x" * 100])
def test_bytes_without_a_line_break_are_a_tail_whatever_they_are(tmp_path: Path, tail: bytes) -> None:
    path = tmp_path / "run.jsonl"
    in_parts(path, 2)
    path.write_bytes(path.read_bytes() + tail)
    with open_store(path) as store:
        assert store.head()[0] == 2
        assert store.warning is not None
    assert len(whole(path)) == 2


def test_a_broken_line_is_an_error_that_names_it_and_nothing_is_touched(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    in_parts(path, 4)
    lines = path.read_bytes().splitlines(keepends=True)
    for broken, says in (
        ([lines[0], lines[1].replace(b'"n":1', b'"n":7'), *lines[2:]], "entry 1 (line 2): the hash is not that of the entry"),
        ([lines[0], b"\n", *lines[1:]], "entry 1 (line 2): byte 0: the end where a value is expected"),
        ([lines[0], *lines[2:]], "entry 1 (line 2): entry 2 where entry 1 is expected"),
        ([*lines[:3], b'{"body"\n'], "entry 3 (line 4): byte 7: the end where : is expected"),
        ([*lines, lines[3]], "entry 4 (line 5): entry 3 where entry 4 is expected"),
        ([*lines[:3], lines[3].replace(b"\n", b"\r\n")], "entry 3 (line 4): byte 188: a carriage return after the end of the value"),
        ([*lines[:3], lines[3].replace(b"\n", b"x")], "entry 3 (line 4): byte 188: a line break is expected"),
    ):
        content = b"".join(broken)
        path.write_bytes(content)
        with pytest.raises(BrokenRecord) as refused:
            open_store(path)
        assert str(refused.value) == f"{path}: {says}"
        assert path.read_bytes() == content
        assert os.listdir(tmp_path) == ["run.jsonl"]
    path.write_bytes(b"".join(lines))
    with open_store(path) as store:
        assert store.head()[0] == 4, "the lock of a record that was refused is let go"


def test_a_reader_passes_over_a_line_that_is_being_written(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    in_parts(path, 2)
    text = path.read_bytes()
    path.write_bytes(text + b'{"body":{"n"')
    assert [entry.body["n"] for entry in read_entries(path)] == [0, 1]
    assert path.read_bytes() == text + b'{"body":{"n"', "reading sets nothing aside"


# One writer


@pytest.mark.parametrize("name", FILES)
def test_a_second_writer_is_told_and_readers_are_not_kept_out(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    with open_store(path) as store:
        store.append("commit", {"n": 0})
        with pytest.raises(BusyRecord, match="another program is writing this record"):
            open_store(path)
        code = "import sys\nfrom icore_kernel.record import *\ntry:\n open_store(sys.argv[1])\nexcept BusyRecord: print('busy')"
        done = subprocess.run([sys.executable, "-c", code, str(path)], cwd=CHECKOUT, capture_output=True, text=True, check=True)
        assert done.stdout == "busy\n"
        assert [entry.body["n"] for entry in read_entries(path)] == [0]
        store.append("commit", {"n": 1})
        assert [entry.body["n"] for entry in read_entries(path)] == [0, 1]
    with open_store(path) as store:
        assert store.head()[0] == 2


def test_writers_that_no_lock_kept_apart_cannot_write_the_same_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("icore_kernel.record.lock.fcntl", None)
    first, second = SqliteStore(tmp_path / "run.db"), SqliteStore(tmp_path / "run.db")
    first.append("commit", {"n": 0})
    with pytest.raises(BusyRecord):
        second.append("commit", {"n": 1})
    with pytest.raises(RecordError, match=r"only where the system has flock; keep the record in NAME\.db"):
        open_store(tmp_path / "run.jsonl")
    assert [entry.body["n"] for entry in read_entries(tmp_path / "run.db")] == [0]
    second.close()
    first.close()


def test_what_another_program_wrote_to_the_file_is_not_built_upon(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with open_store(path) as store:
        store.append("commit", {})
        with path.open("ab") as other:
            other.write(b"x")
        with pytest.raises(RecordError, match="another program has written to the file"):
            store.append("commit", {})


def test_threads_share_a_store(tmp_path: Path) -> None:
    for name in FILES:
        with open_store(tmp_path / name) as store:
            threads = [threading.Thread(target=lambda: [store.append("commit", {"x": 1}) for _ in range(50)]) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert len(list(store.entries())) == 200


# What comes between


def interrupted_after(written: int, raised: BaseException) -> Callable[[int, memoryview], int]:
    """Like os.write, but after so many bytes it raises."""
    write = os.write

    def once(file: int, line: memoryview) -> int:
        write(file, line[:written])
        raise raised

    return once


@pytest.mark.parametrize("raised", [KeyboardInterrupt(), OSError(errno.ENOSPC, "No space left on device")], ids=["Ctrl-C", "full disk"])
@pytest.mark.parametrize("written", [0, 1, 100, 10_000])
def test_an_append_that_raised_left_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, raised: BaseException, written: int) -> None:
    path = tmp_path / "run.jsonl"
    with open_store(path) as store:
        store.append("commit", {"n": 0})
        with monkeypatch.context() as patched:
            patched.setattr(jsonl_module.os, "write", interrupted_after(written, raised))
            with pytest.raises(KeyboardInterrupt if isinstance(raised, KeyboardInterrupt) else RecordError):
                store.append("commit", {"n": 1, "note": "x" * 300})
        assert store.append("commit", {"n": 2}).seq == 1
        with monkeypatch.context() as patched:
            patched.setattr(jsonl_module.os, "write", interrupted_after(written, raised))
            with pytest.raises((KeyboardInterrupt, RecordError)):
                store.append("commit", {"n": 3})
    assert [entry.body["n"] for entry in whole(path)] == [0, 2], "closing cuts off what the last one left"


def test_a_file_that_may_not_grow_keeps_what_it_has(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource", reason="limits are POSIX's")
    path = tmp_path / "run.jsonl"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with open_store(path) as store:
        kept = 0
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (5_000, hard))
            with pytest.raises(RecordError, match="cannot be written: File too large"):
                while True:
                    store.append("commit", {"n": kept})
                    kept += 1
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert kept > 10
        store.append("commit", {"n": kept})
    assert [entry.body["n"] for entry in whole(path)] == list(range(kept + 1))


def test_an_sqlite_append_that_was_interrupted_left_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = SqliteStore._write
    with SqliteStore(tmp_path / "run.db") as store:

        def interrupted(self: LocalStore, seq: int, line: bytes) -> None:
            write(store, seq, line)
            raise KeyboardInterrupt

        monkeypatch.setattr(SqliteStore, "_write", interrupted)
        with pytest.raises(KeyboardInterrupt):
            store.append("commit", {"n": 0})
        monkeypatch.undo()
        assert store.append("commit", {"n": 1}).seq == 0
    assert [entry.body["n"] for entry in read_entries(tmp_path / "run.db")] == [1]


@given(st.data())
def test_what_was_acknowledged_is_there_after_any_sequence_of_mishaps(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("mishaps") / "run.jsonl"
    acknowledged: list[int] = []
    store: Store = open_store(path)
    for n in range(data.draw(st.integers(1, 12))):
        match data.draw(st.sampled_from(["append", "append", "reopen", "tail", "interrupt", "refused"])):
            case "append":
                store.append("commit", {"n": n})
                acknowledged.append(n)
            case "reopen":
                store.close()
                store = open_store(path)
            case "tail":
                store.close()
                _, line = make(*store_head(path), "commit", {"n": n})
                with path.open("ab") as file:
                    file.write(line[: data.draw(st.integers(0, len(line) - 1))])
                store = open_store(path)
            case "interrupt":
                with pytest.MonkeyPatch.context() as patched, pytest.raises(KeyboardInterrupt):
                    patched.setattr(jsonl_module.os, "write", interrupted_after(data.draw(st.integers(0, 200)), KeyboardInterrupt()))
                    store.append("commit", {"n": n})
            case "refused":
                with pytest.raises(CanonicalError):
                    store.append("commit", {"n": float(n)})
    assert [entry.body["n"] for entry in store.entries()] == acknowledged
    store.close()
    assert [entry.body["n"] for entry in whole(path)] == acknowledged


def store_head(path: Path) -> tuple[int, str]:
    report = check_chain(path.read_bytes().splitlines(keepends=True))
    return report.count, report.head


# SQLite


def test_another_database_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    base = sqlite3.connect(path)
    base.execute("CREATE TABLE pets (name TEXT)")
    base.commit()
    base.close()
    content = path.read_bytes()
    with pytest.raises(RecordError, match="a database, but not a record"):
        open_store(path)
    with pytest.raises(BrokenRecord, match="it has no entries"):
        list(read_lines(path))
    assert path.read_bytes() == content


def test_reading_a_database_leaves_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    in_parts(path, 3)
    assert len(list(read_lines(path))) == 3
    assert os.listdir(tmp_path) == ["run.db"]
    reading = read_lines(path)
    next(reading)
    in_parts(path, 0)
    with open_store(path) as store:
        store.append("commit", {"n": 3})
    with pytest.raises(RecordError, match="it was written to while it was read; read it again"):
        list(reading)
    assert len(list(read_lines(path))) == 4


def test_a_database_is_in_wal_mode(tmp_path: Path) -> None:
    """Bytes 18 and 19 of the header: 2 is WAL, in which a kill leaves whole entries."""
    in_parts(tmp_path / "run.db", 1)
    assert (tmp_path / "run.db").read_bytes()[18:20] == b"\2\2"


def test_rows_changed_behind_its_back_are_found(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    in_parts(path, 5)
    base = sqlite3.connect(path)
    rows = base.execute("SELECT seq, line FROM entry").fetchall()
    for change in (
        "DELETE FROM entry WHERE seq = 2",
        "UPDATE entry SET line = CAST(replace(line, char(51), char(52)) AS BLOB) WHERE seq = 3",
        "UPDATE entry SET seq = 9 WHERE seq = 1",
    ):
        base.execute(change)
        base.commit()
        with pytest.raises(BrokenRecord, match=r"\(line [2345]\): "):
            open_store(path)
        with pytest.raises(BrokenRecord):
            list(read_entries(path))
        base.execute("DELETE FROM entry")
        base.executemany("INSERT INTO entry VALUES (?, ?)", rows)
        base.commit()
    base.close()
    with open_store(path) as store:
        assert store.head()[0] == 5


def test_memory_is_gone_with_its_store() -> None:
    with MemoryStore() as store:
        store.append("commit", {})
    assert open_store("memory:").head() == (0, ZERO)
