"""A record in PostgreSQL, for several writers at once.

An append takes the row of the record, so that writers queue there; number and `prev` are read under that lock. When the
connection is lost (the server was killed, say) the store connects again and goes on. Whether an append that had been under
way was committed is looked up by its nonce, under the same lock, before it is tried again: nothing is lost or doubled.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar
from urllib.parse import parse_qsl, urlencode
from uuid import uuid4

from icore_kernel.record.entry import SEAL, ZERO, Body, BrokenRecord, Entry, RecordError, SealedRecord, make, read
from icore_kernel.record.seal import MissingExtra
from icore_kernel.record.store import follow

if TYPE_CHECKING:
    import psycopg

PATIENCE = 30.0
"""Seconds that a store tries to connect again before it gives up."""

_LOCK = 0x69636F72
_TABLES = """
CREATE TABLE IF NOT EXISTS icore_record (
  name text PRIMARY KEY, count bigint NOT NULL, head text NOT NULL, sealed boolean NOT NULL);
CREATE TABLE IF NOT EXISTS icore_entry (
  record text NOT NULL REFERENCES icore_record (name), seq bigint NOT NULL, nonce uuid NOT NULL, line bytea NOT NULL,
  PRIMARY KEY (record, seq), UNIQUE (record, nonce));
"""
# An entry that was acknowledged must outlive a kill of the server, whatever its default is; and a writer that was lost in the
# middle of an append must not keep the others waiting.
_SESSION = "SET synchronous_commit = on; SET idle_in_transaction_session_timeout = '30s'"
_TAKE = "SELECT count, head, sealed FROM icore_record WHERE name = %s FOR UPDATE"
_ADD = """
WITH moved AS (UPDATE icore_record SET count = %(seq)s + 1, head = %(hash)s, sealed = %(seal)s WHERE name = %(record)s)
INSERT INTO icore_entry (record, seq, nonce, line) VALUES (%(record)s, %(seq)s, %(nonce)s, %(line)s)
"""

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Place:
    """Where to connect (as libpq reads it), the record there, and what messages call both: without a password."""

    address: str
    record: str
    shown: str


def place(url: str) -> Place:
    """`postgresql://…?record=NAME`. RecordError when no record is named."""
    address, _, query = url.partition("?")
    asked = parse_qsl(query, keep_blank_values=True)
    names = [value for key, value in asked if key == "record"]
    shown = re.sub(r"(//[^:/@]*):[^@/]*@", r"\1:…@", address)
    if len(names) != 1 or not names[0] or "\0" in names[0]:
        raise RecordError(f"{shown}: name one record there, as in …?record=NAME")
    rest = urlencode([(key, value) for key, value in asked if key != "record"])
    return Place(f"{address}?{rest}" if rest else address, names[0], f"{shown}?record={names[0]}")


class PostgresStore:
    """Opened for writing, beside other writers. `patience`: seconds to try for when the connection is lost."""

    def __init__(self, url: str, *, create: bool = True, patience: float = PATIENCE) -> None:
        try:
            import psycopg
        except ImportError as missing:
            raise MissingExtra("psycopg", "postgres") from missing
        self._place = place(url)
        self.name = self._place.shown
        self.warning: str | None = None
        self._errors = psycopg.Error
        self._patience = patience
        self._lock = Lock()
        self._closed = False
        self._base: psycopg.Connection[Any] | None = None
        try:
            self._base = _connect_writer(self._place)
            _prepare(self._base, self._place, create)
        except psycopg.Error as failed:
            self.close()
            raise _failed(self._place, failed) from failed
        except RecordError:
            self.close()
            raise

    def append(self, kind: str, body: Body) -> Entry:
        if kind == SEAL:
            raise RecordError("a seal is set by `seal`, not appended")
        return self._add(kind, lambda count, head: body)

    def finish(self, body_of: Callable[[int, str], Body]) -> Entry:
        return self._add(SEAL, body_of)

    def _add(self, kind: str, body_of: Callable[[int, str], Body]) -> Entry:
        nonce, record = uuid4(), self._place.record

        def attempt(base: psycopg.Connection[Any], again: bool) -> Entry:
            with base.transaction():
                count, head, sealed = _one(base, self._place, _TAKE)
                if again:
                    found = base.execute("SELECT line FROM icore_entry WHERE record = %s AND nonce = %s", (record, nonce)).fetchone()
                    if found is not None:
                        return read(bytes(found[0])[:-1])
                if sealed:
                    raise SealedRecord(self.name)
                entry, line = make(count, head, kind, body_of(count, head))
                what = {"record": record, "seq": count, "hash": entry.hash, "seal": kind == SEAL, "nonce": nonce, "line": line}
                base.execute(_ADD, what)
            return entry

        return self._patiently(attempt)

    def _patiently(self, attempt: Callable[[psycopg.Connection[Any], bool], Answer]) -> Answer:
        """What `attempt` answers; where the connection is lost, connected again and told so. RecordError when it stays lost."""
        with self._lock:
            if self._closed:
                raise RecordError(f"{self.name}: the record is closed")
            again, until, pause = False, 0.0, 0.01
            while True:
                try:
                    if self._base is None:
                        self._base = _connect_writer(self._place)
                    return attempt(self._base, again)
                except self._errors as failed:
                    if self._base is not None and not self._base.closed:
                        raise _failed(self._place, failed) from failed
                    now = time.monotonic()
                    until = until or now + self._patience
                    if now > until:
                        raise _failed(self._place, failed) from failed
                    self._base, again = None, True
                time.sleep(pause)
                pause = min(pause * 2, 0.5)

    def head(self) -> tuple[int, str]:
        count, head, _ = self._row()
        return count, head

    def sealed(self) -> bool:
        return self._row()[2]

    def _row(self) -> tuple[int, str, bool]:
        return self._patiently(lambda base, again: _one(base, self._place, "SELECT count, head, sealed FROM icore_record WHERE name = %s"))

    def lines(self) -> Iterator[bytes]:
        return _read(self._place)

    def entries(self) -> Iterator[Entry]:
        return follow(self.name, self.lines())

    def close(self) -> None:
        self._closed = True
        if self._base is not None:
            self._base.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def read_lines(url: str) -> Iterator[bytes]:
    """The lines of a record, as they were at one moment. RecordError when there is none; BrokenRecord when rows are missing."""
    return _read(place(url))


def _read(where: Place) -> Iterator[bytes]:
    try:
        import psycopg
    except ImportError as missing:
        raise MissingExtra("psycopg", "postgres") from missing
    try:
        with _connect(where) as base, base.transaction():
            base.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            count, _, _ = _one(base, where, "SELECT count, head, sealed FROM icore_record WHERE name = %s")
            found = 0
            with base.cursor("lines") as rows:
                rows.execute("SELECT line FROM icore_entry WHERE record = %s ORDER BY seq", (where.record,))
                for (line,) in rows:
                    found += 1
                    yield bytes(line)
        if found < count:
            raise BrokenRecord(where.shown, found + 1, f"{count:,} entries were written, {found:,} are there")
    except psycopg.Error as failed:
        raise _failed(where, failed) from failed


def _connect(where: Place) -> psycopg.Connection[Any]:
    import psycopg

    return psycopg.connect(where.address, autocommit=True, connect_timeout=10)


def _connect_writer(where: Place) -> psycopg.Connection[Any]:
    base = _connect(where)
    base.execute(_SESSION)
    return base


def _prepare(base: psycopg.Connection[Any], where: Place, create: bool) -> None:
    """Make the tables and the record where there are none, once, whoever else is about to."""
    with base.transaction():
        (there,) = base.execute("SELECT to_regclass('icore_entry') IS NOT NULL").fetchone() or (False,)
        if create and not there:
            base.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            base.execute(_TABLES)
        if create:
            start = "INSERT INTO icore_record VALUES (%s, 0, %s, false) ON CONFLICT DO NOTHING"
            base.execute(start, (where.record, ZERO))
        elif not there:
            raise RecordError(f"{where.shown}: there is no such record")
    _one(base, where, "SELECT count, head, sealed FROM icore_record WHERE name = %s")


def _one(base: psycopg.Connection[Any], where: Place, query: str) -> tuple[int, str, bool]:
    row = base.execute(query, (where.record,)).fetchone()
    if row is None:
        raise RecordError(f"{where.shown}: there is no such record")
    count, head, sealed = row
    return count, head, sealed


def _failed(where: Place, failed: Exception) -> RecordError:
    return RecordError(f"{where.shown}: {' '.join(str(failed).split()) or type(failed).__name__}")
