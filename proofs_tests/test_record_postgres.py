"""Several writers of one record in PostgreSQL: a server of its own, in a temporary folder, is started and killed here."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import CHECKOUT
from record_lab import SMALL, sealed_lines
from test_audit_signals import auditing

from icore_kernel.record import postgres as postgres_module
from icore_kernel.record.chain import check_chain
from icore_kernel.record.entry import ZERO, BrokenRecord, RecordError, SealedRecord
from icore_kernel.record.postgres import PostgresStore, place
from icore_kernel.record.seal import seal
from icore_kernel.record.store import open_store, read_entries, read_lines, shown
from icore_kernel.record.verify import verify

psycopg = pytest.importorskip("psycopg", reason="the extra `postgres` is not installed")

NIGHTLY = os.environ.get("ICORE_TESTS") == "nightly"
WRITERS = 8
ENTRIES = 10_000 if NIGHTLY else 320


def programs() -> Path | None:
    """The folder of PostgreSQL's programs."""
    found = shutil.which("postgres")
    if found is not None:
        return Path(found).resolve().parent
    return next(iter(sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)), None)


def unprivileged() -> dict[str, Any]:
    """Whom the server runs as, for `Popen`: PostgreSQL refuses root."""
    if os.getuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            user = pwd.getpwnam(name)
            return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    pytest.skip("PostgreSQL does not run as root, and there is no user postgres or nobody")


class Server:
    """A server that listens on a socket in its own folder only, and can be killed with everything that belongs to it."""

    def __init__(self, folder: Path, bin_folder: Path) -> None:
        self.folder, self.bin = folder, bin_folder
        self.running: subprocess.Popen[bytes] | None = None
        self.user = unprivileged()
        if self.user:
            os.chown(folder, self.user["user"], self.user["group"])
        words = ["-D", str(folder / "base"), "-A", "trust", "-U", "icore", "-E", "UTF8", "--locale=C", "--no-sync"]
        subprocess.run([bin_folder / "initdb", *words], check=True, capture_output=True, cwd=folder, **self.user)

    def url(self, record: str) -> str:
        return f"postgresql://icore@/postgres?host={self.folder}&record={record}"

    def start(self) -> None:
        words = ["-D", str(self.folder / "base"), "-k", str(self.folder), "-h", "", "-c", "fsync=off", "-c", "shared_buffers=16MB"]
        with (self.folder / "log").open("ab") as log:
            self.running = subprocess.Popen([self.bin / "postgres", *words], stdout=log, stderr=log, cwd=self.folder, **self.user)
        until = time.monotonic() + 60
        while True:
            try:
                self.connect().close()
                return
            except psycopg.OperationalError:
                assert time.monotonic() < until, (self.folder / "log").read_text(encoding="utf-8")
                time.sleep(0.02)

    def connect(self) -> Any:
        return psycopg.connect(self.url("x").partition("&record")[0], autocommit=True)

    def kill(self) -> None:
        """SIGKILL to the server and to all processes that it started, at once."""
        assert self.running is not None
        for process in (self.running.pid, *children(self.running.pid)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self.running.wait()

    def stop(self) -> None:
        assert self.running is not None
        self.running.send_signal(signal.SIGQUIT)
        self.running.wait()


def children(parent: int) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            words = path.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            if int(words[1]) == parent:
                found.append(int(path.parent.name))
    return found


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    bin_folder = programs()
    if bin_folder is None:
        pytest.skip("there is no PostgreSQL server on this machine")
    folder = Path(tempfile.mkdtemp(prefix="icore-postgres-"))
    try:
        started = Server(folder, bin_folder)
        started.start()
        yield started
        started.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


WRITER = """
import sys
from icore_kernel.record.store import open_store
url, name, count, ready = sys.argv[1:]
with open_store(url) as store:
    open(ready, "w").close()
    sys.stdin.readline()
    for n in range(int(count)):
        entry = store.append("commit", {"by": name, "n": n})
        print(entry.seq, entry.hash, name, n, flush=True)
"""


@pytest.mark.parametrize("kill", [False, True], ids=["undisturbed", "with the server killed"])
def test_eight_writers_lose_and_double_nothing(server: Server, kill: bool, tmp_path: Path) -> None:
    url = server.url(f"eight {kill}")
    environment = {"PYTHONPATH": str(CHECKOUT), "PATH": os.environ.get("PATH", "")}
    share = ENTRIES // WRITERS
    outputs = [(tmp_path / f"{name}.out").open("wb") for name in range(WRITERS)]
    ready = [tmp_path / f"{name}.ready" for name in range(WRITERS)]
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, url, str(name), str(share), begun], stdin=subprocess.PIPE, stdout=output, env=environment
        )
        for name, (output, begun) in enumerate(zip(outputs, ready, strict=True))
    ]
    # A server that dies while a store is opened is an error of that writer: here all have opened theirs.
    while not all(begun.exists() for begun in ready):
        assert all(writer.poll() is None for writer in writers), "a writer ended before it began"
        time.sleep(0.005)
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.close()
    if kill:
        for part in (1, 2, 3) if NIGHTLY else (1,):
            while written(tmp_path) < part * ENTRIES // 4:
                time.sleep(0.005)
            server.kill()
            assert written(tmp_path) < ENTRIES, "they were done before the server was killed"
            time.sleep(0.1)
            server.start()
    assert [writer.wait() for writer in writers] == [0] * WRITERS
    for output in outputs:
        output.close()
    report = check_chain(read_lines(url))
    assert (report.broken, report.count) == (None, ENTRIES)
    entries = list(read_entries(url))
    assert [entry.seq for entry in entries] == list(range(ENTRIES))
    assert Counter((entry.body["by"], entry.body["n"]) for entry in entries) == Counter(
        {(str(name), n): 1 for name in range(WRITERS) for n in range(share)}
    )
    said = {tuple(line.split()) for name in range(WRITERS) for line in (tmp_path / f"{name}.out").read_text(encoding="utf-8").splitlines()}
    assert said == {(str(entry.seq), entry.hash, entry.body["by"], str(entry.body["n"])) for entry in entries}


def written(folder: Path) -> int:
    """The number of entries that the writers were told are written."""
    return sum(path.read_bytes().count(b"\n") for path in folder.glob("*.out"))


def test_it_holds_the_lines_that_a_file_holds(server: Server) -> None:
    url = server.url("lines")
    with open_store(url) as store:
        assert store.head() == (0, ZERO)
        for kind, body in SMALL:
            store.append(kind, body)
        assert [entry.body for entry in store.entries()] == [body for _, body in SMALL]
        assert verify(url, checks=()).exit_status == 3
        seal(store)
        assert store.sealed()
        assert list(store.lines()) == sealed_lines(SMALL)
        with pytest.raises(SealedRecord):
            store.append("commit", {})
        with pytest.raises(SealedRecord):
            seal(store)
        with pytest.raises(RecordError, match="not appended"):
            store.append("seal", {})
    with open_store(url, create=False) as store, pytest.raises(SealedRecord):
        store.append("commit", {})
    found = verify(url, checks=())
    assert (found.exit_status, found.chain.count) == (0, 4)
    with pytest.raises(RecordError, match="is closed"):
        store.head()


def test_records_of_one_database_are_apart(server: Server) -> None:
    with open_store(server.url("one")) as one, open_store(server.url("an other: 'é'")) as other:
        one.append("commit", {"n": 1})
        assert other.head() == (0, ZERO)
        other.append("commit", {"n": 2})
        assert [entry.body["n"] for entry in one.entries()] == [1]


def test_a_connection_lost_before_the_commit_is_tried_again(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    make, lost = postgres_module.make, []
    with PostgresStore(server.url("before")) as store, server.connect() as other:
        store.append("commit", {"n": 0})

        def terminated(*arguments: Any) -> Any:
            if not lost:
                lost.append(True)
                assert store._base is not None
                other.execute("SELECT pg_terminate_backend(%s)", (store._base.info.backend_pid,))
            return make(*arguments)

        monkeypatch.setattr(postgres_module, "make", terminated)
        assert store.append("commit", {"n": 1}).seq == 1
        assert lost
        assert [entry.body["n"] for entry in store.entries()] == [0, 1]


def test_a_connection_lost_after_the_commit_doubles_nothing(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer to the commit does not arrive; meanwhile another writer adds the very same body."""
    transaction, lost = psycopg.Connection.transaction, []
    with PostgresStore(server.url("after")) as store, PostgresStore(server.url("after")) as second:

        @contextlib.contextmanager
        def unanswered(base: Any) -> Iterator[None]:
            with transaction(base):
                yield
            if not lost:
                lost.append(True)
                base.close()
                second.append("commit", {"same": True})
                raise psycopg.OperationalError("the connection is lost")

        monkeypatch.setattr(psycopg.Connection, "transaction", unanswered)
        first = store.append("commit", {"same": True})
        monkeypatch.undo()
        assert first.seq == 0
        assert [entry.seq for entry in store.entries()] == [0, 1]
        assert next(store.entries()) == first


def test_a_server_that_stays_away_is_an_error_after_some_patience(server: Server) -> None:
    with PostgresStore(server.url("away"), patience=0.3) as store:
        store.append("commit", {"n": 0})
        server.kill()
        with pytest.raises(RecordError, match=r"\?record=away: "):
            store.append("commit", {"n": 1})
        with pytest.raises(RecordError, match="/postgres"):
            open_store(server.url("away"))
        server.start()
        assert store.append("commit", {"n": 2}).seq == 1
        assert [entry.body["n"] for entry in store.entries()] == [0, 2]


def test_an_error_that_is_no_lost_connection_is_told_at_once(server: Server) -> None:
    with PostgresStore(server.url("told")) as store, server.connect() as other:
        other.execute("ALTER TABLE icore_entry RENAME TO elsewhere")
        try:
            with pytest.raises(RecordError, match='relation "icore_entry" does not exist'):
                store.append("commit", {})
        finally:
            other.execute("ALTER TABLE elsewhere RENAME TO icore_entry")
        assert store.append("commit", {}).seq == 0


def test_rows_that_were_taken_or_changed_are_found(server: Server) -> None:
    url = server.url("rows")
    with open_store(url) as store:
        for n in range(5):
            store.append("commit", {"n": n})
    with server.connect() as base:
        base.execute(
            "UPDATE icore_entry SET line = convert_to(replace(convert_from(line, 'UTF8'), '3', '4'), 'UTF8')"
            " WHERE record = 'rows' AND seq = 3"
        )
        found = verify(url, checks=())
        assert (found.exit_status, found.chain.count) == (1, 3)
        base.execute("DELETE FROM icore_entry WHERE record = 'rows' AND seq >= 3")
        with pytest.raises(BrokenRecord, match=r"entry 3 \(line 4\): 5 entries were written, 3 are there"):
            list(read_entries(url))
        assert verify(url, checks=()).exit_status == 1


def test_a_run_that_is_terminated_is_sealed_here_too(server: Server, tmp_path: Path) -> None:
    url = server.url("terminated")
    with auditing(tmp_path, url) as run:
        run.send_signal(signal.SIGTERM)
        run.communicate()
        assert run.returncode == 3
    assert [(e.kind, e.body.get("outcome")) for e in read_entries(url)][-2:] == [("end", "interrupted"), ("seal", None)]
    assert verify(url).exit_status == 0


def test_a_record_that_is_not_there(server: Server) -> None:
    with pytest.raises(RecordError, match="there is no such record"):
        open_store(server.url("none"), create=False)
    with pytest.raises(RecordError, match="there is no such record"):
        list(read_lines(server.url("none")))


@pytest.mark.parametrize(
    ("url", "address", "record", "printed"),
    [
        ("postgresql:///db?record=r", "postgresql:///db", "r", "postgresql:///db?record=r"),
        ("postgresql://u@h/db?host=%2Ftmp&record=a%20b", "postgresql://u@h/db?host=%2Ftmp", "a b", "postgresql://u@h/db?record=a b"),
        ("postgres://u:secret@h:1/db?record=r", "postgres://u:secret@h:1/db", "r", "postgres://u:…@h:1/db?record=r"),
        ("postgresql://h/db?password=secret&record=r", "postgresql://h/db?password=secret", "r", "postgresql://h/db?record=r"),
    ],
)
def test_the_record_is_named_in_the_url_and_no_password_is_shown(url: str, address: str, record: str, printed: str) -> None:
    found = place(url)
    assert (found.address, found.record, found.shown, shown(url)) == (address, record, printed, printed)


@pytest.mark.parametrize(
    "url", ["postgresql://u:secret@h/db", "postgresql://u:secret@h/db?record=", "postgresql://u:secret@h/db?record=a&record=b"]
)
def test_a_url_names_one_record(url: str) -> None:
    with pytest.raises(RecordError, match=r"^postgresql://u:…@h/db: name one record there, as in …\?record=NAME$"):
        open_store(url)


def test_without_the_library_it_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    for opened in (lambda: open_store("postgresql:///db?record=r"), lambda: list(read_lines("postgresql:///db?record=r"))):
        with pytest.raises(RecordError, match=r"psycopg is not installed: pip install 'icore\[postgres\]'"):
            opened()
