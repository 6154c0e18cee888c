"""A record in an SQLite database, one row an entry, each the line that a file would hold.

The database is in WAL mode: a kill at any moment leaves whole entries. Readers do not wait for the writer. One writer at a
time: it holds the lock of `NAME.db-lock` while the record is open, and two that came by (where there is no flock) cannot
write the same number.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from icore_kernel.record.chain import check_chain
from icore_kernel.record.entry import BrokenRecord, BusyRecord, RecordError
from icore_kernel.record.local import LocalStore, Written
from icore_kernel.record.lock import hold, let_go

_MARK = 0x69636F72
"""The application id in the header of the database: "icor"."""
_SCHEMA = "CREATE TABLE IF NOT EXISTS entry (seq INTEGER PRIMARY KEY, line BLOB NOT NULL) STRICT"
_ERRORS = (sqlite3.Error, UnicodeDecodeError)
"""What comes of a database; the latter where a damaged one makes SQLite say something that is no text."""
_SURROUNDINGS = {
    sqlite3.SQLITE_BUSY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_FULL, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY,
}  # fmt: skip
_INSERT = "INSERT INTO entry VALUES (?, ?)"


class SqliteStore(LocalStore):
    """Opened for writing. `durable` is SQLite's `synchronous = FULL`; without it a loss of power may take the last entries."""

    def __init__(self, path: Path, *, create: bool = True, durable: bool = False) -> None:
        if not create and not path.exists():
            raise RecordError(f"{path}: there is no such record")
        self._held: int | None = None
        try:
            self._held = hold(_beside(path), str(path))
            self._base = _connect(path, "rwc")
            try:
                super().__init__(str(path), _opened(self._base, path, durable))
            except BaseException:
                self._base.close()
                raise
        except (OSError, *_ERRORS) as failed:
            let_go(_beside(path), self._held)
            raise _said(str(path), failed, "written") from failed
        except RecordError:
            let_go(_beside(path), self._held)
            raise

    def _write(self, seq: int, line: bytes) -> None:
        try:
            self._base.execute(_INSERT, (seq, line))
        except sqlite3.IntegrityError as taken:
            raise BusyRecord(self.name) from taken
        except sqlite3.Error as failed:
            raise _said(self.name, failed, "written") from failed

    def _cut(self, written: Written) -> None:
        try:
            if self._base.in_transaction:
                self._base.rollback()
            self._base.execute("DELETE FROM entry WHERE seq >= ?", (written.count,))
        except sqlite3.Error as failed:
            raise _said(self.name, failed, "written") from failed

    def _lines(self, written: Written) -> Iterator[bytes]:
        return _rows(self._base, self.name, written.count)

    def _release(self) -> None:
        self._base.close()
        let_go(_beside(Path(self.name)), self._held)


def read_lines(path: Path) -> Iterator[bytes]:
    """The lines in the order of their numbers. A row that holds no bytes, or a page that is damaged, is a broken record.

    Nothing is written, nor are files put beside the database, where no writer has it or was killed at it.
    """
    try:
        before = path.stat()
        alone = not (_beside(path).exists() or path.with_name(f"{path.name}-wal").exists())
        base = _connect(path, "ro&immutable=1" if alone else "ro")
        try:
            names = [name for (name,) in base.execute("SELECT name FROM sqlite_schema")]
            if names and "entry" not in names:
                raise BrokenRecord(str(path), 1, "not a record: it has no entries")
            yield from _rows(base, str(path), None) if names else ()
        finally:
            base.close()
        after = path.stat()
    except FileNotFoundError as missing:
        raise RecordError(f"{path}: there is no such record") from missing
    except (OSError, *_ERRORS) as failed:
        raise _said(str(path), failed, "read") from failed
    if alone and (before.st_mtime_ns, before.st_size) != (after.st_mtime_ns, after.st_size):
        raise RecordError(f"{path}: it was written to while it was read; read it again")


def _rows(base: sqlite3.Connection, name: str, below: int | None) -> Iterator[bytes]:
    try:
        rows = base.execute("SELECT line FROM entry WHERE ?1 IS NULL OR seq < ?1 ORDER BY seq", (below,))
        for number, (line,) in enumerate(rows, start=1):
            if not isinstance(line, bytes):
                raise BrokenRecord(name, number, "the row holds no bytes")
            yield line
    except _ERRORS as failed:
        raise _said(name, failed, "read") from failed


def _said(name: str, failed: Exception, done: str) -> RecordError:
    """What the failure is: of the surroundings (a lock, a full disk, a folder that is not there), or of the database itself."""
    code = getattr(failed, "sqlite_errorcode", 0) & 0xFF
    if isinstance(failed, OSError) or code in _SURROUNDINGS:
        return RecordError(f"{name}: cannot be {done}: {getattr(failed, 'strerror', None) or failed}")
    return BrokenRecord(name, 1, f"the database is damaged: {failed}")


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    # Without a level of isolation each statement is a transaction of its own. Several threads may call; a lock orders them.
    return sqlite3.connect(f"file:{quote(str(path))}?mode={mode}", uri=True, isolation_level=None, check_same_thread=False, timeout=10)


def _opened(base: sqlite3.Connection, path: Path, durable: bool) -> Written:
    """Make the table where there is none, and check the entries."""
    (tables,) = base.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    (mark,) = base.execute("PRAGMA application_id").fetchone()
    if tables and mark != _MARK:
        raise RecordError(f"{path}: a database, but not a record")
    base.execute("PRAGMA journal_mode = WAL")
    base.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
    base.execute(f"PRAGMA application_id = {_MARK}")
    base.execute(_SCHEMA)
    report = check_chain(_rows(base, str(path), None))
    if report.broken is not None or report.tail:
        raise BrokenRecord(str(path), *(report.broken or (report.count + 1, "the line is not whole")))
    return Written(report.count, report.head, report.sealed, 0)


def _beside(path: Path) -> Path:
    """The file to lock. SQLite's own locks last a statement each, and the database itself must not be locked: closing a
    second descriptor of it drops the locks that SQLite has on the first.
    """
    return path.with_name(f"{path.name}-lock")
