"""What the stores with a single writer share: the order of steps in which an entry is added."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from threading import Lock
from types import TracebackType
from typing import Self

from icore_kernel.record.chain import Chain
from icore_kernel.record.entry import SEAL, Body, Entry, RecordError, SealedRecord, make
from icore_kernel.record.store import follow


@dataclass(frozen=True, slots=True)
class Written:
    """What is in the record: the number of entries, the last one's hash, whether it is the seal, and the bytes of all lines."""

    count: int
    head: str
    sealed: bool
    end: int

    @staticmethod
    def of(chain: Chain, end: int) -> Written:
        return Written(chain.count, chain.head, chain.seal is not None, end)


class LocalStore(ABC):
    """A store with one writer, in this process.

    An append writes and then takes note of what it has written in one assignment. If anything comes between (a full disk,
    Ctrl-C) the append has raised, `_unsure` stays, and whatever was written beyond the note is cut off before anything else.
    """

    def __init__(self, name: str, written: Written) -> None:
        self.name = name
        self.warning: str | None = None
        self._written = written
        self._unsure = False
        self._closed = False
        self._lock = Lock()

    @abstractmethod
    def _write(self, seq: int, line: bytes) -> None:
        """Write the line behind what is written. OSError or RecordError when it cannot be."""

    @abstractmethod
    def _cut(self, written: Written) -> None:
        """Take away whatever is beyond `written`."""

    @abstractmethod
    def _lines(self, written: Written) -> Iterator[bytes]:
        """The lines of the first entries."""

    @abstractmethod
    def _release(self) -> None:
        """Let go of what is held open."""

    def append(self, kind: str, body: Body) -> Entry:
        if kind == SEAL:
            raise RecordError("a seal is set by `seal`, not appended")
        with self._lock:
            return self._add(kind, body)

    def finish(self, body_of: Callable[[int, str], Body]) -> Entry:
        with self._lock:
            written = self._settled()
            return self._add(SEAL, body_of(written.count, written.head))

    def _add(self, kind: str, body: Body) -> Entry:
        written = self._settled()
        if written.sealed:
            raise SealedRecord(self.name)
        entry, line = make(written.count, written.head, kind, body)
        self._unsure = True
        try:
            self._write(entry.seq, line)
        except OSError as failed:
            raise RecordError(f"{self.name}: cannot be written: {failed.strerror or failed}") from failed
        self._written = Written(entry.seq + 1, entry.hash, kind == SEAL, written.end + len(line))
        self._unsure = False
        return entry

    def _settled(self) -> Written:
        if self._closed:
            raise RecordError(f"{self.name}: the record is closed")
        if self._unsure:
            try:
                self._cut(self._written)
            except OSError as failed:
                raise RecordError(f"{self.name}: cannot be written: {failed.strerror or failed}") from failed
            self._unsure = False
        return self._written

    def head(self) -> tuple[int, str]:
        with self._lock:
            written = self._settled()
            return written.count, written.head

    def sealed(self) -> bool:
        with self._lock:
            return self._settled().sealed

    def lines(self) -> Iterator[bytes]:
        with self._lock:
            written = self._settled()
        return self._lines(written)

    def entries(self) -> Iterator[Entry]:
        return follow(self.name, self.lines())

    def close(self) -> None:
        with self._lock:
            if self._closed:
                return
            try:
                self._settled()
            finally:
                self._closed = True
                self._release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
