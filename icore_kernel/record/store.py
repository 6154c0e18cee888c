"""Where a record is kept: one interface over a file of lines, SQLite, PostgreSQL, and memory.

`open_store` opens a record to write it; `read_lines` and `read_entries` read one without touching it, also while it is
written. A store belongs to whoever opened it; its methods may be called from several threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from icore_kernel.record.canonical import CanonicalError
from icore_kernel.record.chain import Chain
from icore_kernel.record.entry import Body, BrokenRecord, Entry, RecordError

POSTGRES = ("postgresql://", "postgres://")
MEMORY = "memory:"
WHERE = "a record is a file NAME.jsonl or NAME.db, or postgresql://SERVER/DATABASE?record=NAME"


class Store(Protocol):
    """A record that is being written. `name` is what messages call it; `warning` says what its opening set aside, if anything.

    Where `append` returns, the entry outlives a kill of this process (and with `durable` a loss of power); where it
    raises, the entry is not in the record (but for a PostgreSQL server that stays out of reach: then that is not known).
    """

    name: str
    warning: str | None

    def append(self, kind: str, body: Body) -> Entry:
        """Add an entry. SealedRecord after a seal, CanonicalError for a body that has no canonical form, RecordError else."""
        ...

    def finish(self, body_of: Callable[[int, str], Body]) -> Entry:
        """Add the seal, whose body is made of the number of entries before it and the hash of the last (`seal.seal` calls this)."""
        ...

    def entries(self) -> Iterator[Entry]: ...

    def lines(self) -> Iterator[bytes]:
        """The lines of the entries, with their line breaks."""
        ...

    def head(self) -> tuple[int, str]:
        """The number of entries, and the hash of the last (ZERO where there is none)."""
        ...

    def sealed(self) -> bool: ...

    def close(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None: ...


def shown(target: str | Path) -> str:
    """What messages call a record: without a password."""
    if not str(target).startswith(POSTGRES):
        return str(target)
    from icore_kernel.record.postgres import place

    return place(str(target)).shown


def open_store(target: str | Path, *, create: bool = True, durable: bool = False, begin: bool = False) -> Store:
    """Open a record for writing: `NAME.jsonl`, `NAME.db`, `postgresql://…?record=NAME`, or `memory:`.

    A record that exists is gone on with, after a check of its chain; without `create` one that does not exist is an error.
    `durable` waits for the disk at every entry. `begin`: nothing is gone on with; a file of lines with entries is a TakenRecord, and no
    byte of one changes before the first append (`warning` may come as late). RecordError when it cannot be opened, BusyRecord when
    another writer has it.
    """
    words = str(target)
    if words == MEMORY:
        from icore_kernel.record.memory import MemoryStore

        return MemoryStore()
    if words.startswith(POSTGRES):
        from icore_kernel.record.postgres import PostgresStore

        return PostgresStore(words, create=create)
    match Path(target).suffix:
        case ".jsonl":
            from icore_kernel.record.jsonl import JsonlStore

            return JsonlStore(Path(target), create=create, durable=durable, begin=begin)
        case ".db":
            from icore_kernel.record.sqlite import SqliteStore

            return SqliteStore(Path(target), create=create, durable=durable)
        case _:
            raise RecordError(f"{words or repr(words)}: {WHERE}")


def read_lines(target: str | Path) -> Iterator[bytes]:
    """The lines of a record as they are, unchecked; the last may lack its line break. RecordError when there is none to read."""
    words = str(target)
    if words.startswith(POSTGRES):
        from icore_kernel.record import postgres

        return postgres.read_lines(words)
    match Path(target).suffix:
        case ".jsonl":
            from icore_kernel.record import jsonl

            return jsonl.read_lines(Path(target))
        case ".db":
            from icore_kernel.record import sqlite

            return sqlite.read_lines(Path(target))
        case _:
            raise RecordError(f"{words}: {WHERE}")


def read_entries(target: str | Path) -> Iterator[Entry]:
    """The entries of a record, each checked to follow the one before. BrokenRecord at the first line that does not.

    A last line that is not whole is passed over: another process may be writing it.
    """
    return follow(shown(target), read_lines(target))


def follow(record: str, lines: Iterator[bytes]) -> Iterator[Entry]:
    """The entries of lines, each checked to follow the one before."""
    chain = Chain()
    for number, line in enumerate(lines, start=1):
        if not line.endswith(b"\n"):
            more = next(lines, None)
            if more is None:
                return
            raise BrokenRecord(record, number, "the line is not whole")
        try:
            entry = chain.add(line)
        except CanonicalError as wrong:
            raise BrokenRecord(record, number, str(wrong)) from wrong
        yield entry
