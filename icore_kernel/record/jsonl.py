"""A record in a file, one line an entry.

A line is written by one call, so a kill leaves whole lines and at most one that is not. On opening, such a tail is set aside
in a file of its own, never completed or guessed. One writer at a time: the file is locked (by `flock`) while it is open.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from icore_kernel.record.canonical import LONGEST
from icore_kernel.record.chain import check_chain
from icore_kernel.record.entry import BrokenRecord, RecordError, TakenRecord
from icore_kernel.record.local import LocalStore, Written
from icore_kernel.record.lock import lock


class JsonlStore(LocalStore):
    """Opened for writing. After opening, `warning` names the file in which a tail was set aside.

    `begin`: a record is begun, and TakenRecord is raised where one is there. A tail, where that is all there is, is set aside by the first
    append: until then nothing in the file changes.
    """

    def __init__(self, path: Path, *, create: bool = True, durable: bool = False, begin: bool = False) -> None:
        self._file = _open(path, create)
        self._durable, self._tail = durable, b""
        try:
            lock(self._file, str(path))
            report = check_chain(read_lines(path))
            if report.broken is not None:
                raise BrokenRecord(str(path), *report.broken)
            if begin and report.count:
                raise TakenRecord(str(path))
            end = os.fstat(self._file).st_size - len(report.tail)
            super().__init__(str(path), Written(report.count, report.head, report.sealed, end))
            self._tail = report.tail
            if not begin:
                self._keep_tail(end)
            if durable:
                os.fsync(self._file)
                _sync_folder(path.parent)
        except OSError as failed:
            os.close(self._file)
            raise RecordError(f"{path}: cannot be written: {failed.strerror or failed}") from failed
        except RecordError:
            os.close(self._file)
            raise

    def _keep_tail(self, end: int) -> None:
        """Set the tail behind `end` aside, where there is one, and cut it off."""
        if not self._tail:
            return
        aside = _set_aside(Path(self.name), end, self._tail, self._durable)
        os.ftruncate(self._file, end)
        self.warning = f"{self.name}: the last line was not whole; its {len(self._tail):,} bytes are set aside in {aside}"
        self._tail = b""

    def _write(self, seq: int, line: bytes) -> None:
        self._keep_tail(self._written.end)
        if os.fstat(self._file).st_size != self._written.end:
            raise RecordError(f"{self.name}: another program has written to the file")
        left = memoryview(line)
        while left:
            left = left[os.write(self._file, left) :]
        if self._durable:
            os.fsync(self._file)

    def _cut(self, written: Written) -> None:
        self._keep_tail(written.end)
        os.ftruncate(self._file, written.end)

    def _lines(self, written: Written) -> Iterator[bytes]:
        left = written.end
        for line in read_lines(Path(self.name)):
            left -= len(line)
            if left < 0:
                return
            yield line

    def _release(self) -> None:
        os.close(self._file)


def read_lines(path: Path) -> Iterator[bytes]:
    """The lines of the file as they are. A line longer than any entry may be is given in parts."""
    try:
        file = path.open("rb")
    except OSError as failed:
        raise RecordError(f"{path}: cannot be read: {failed.strerror or failed}") from failed
    with file:
        try:
            while line := file.readline(LONGEST + 1):
                yield line
        except OSError as failed:
            raise RecordError(f"{path}: cannot be read: {failed.strerror or failed}") from failed


def _open(path: Path, create: bool) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_APPEND | (os.O_CREAT if create else 0) | getattr(os, "O_BINARY", 0), 0o666)
    except FileNotFoundError as missing:
        raise RecordError(f"{path}: there is no such {'folder' if create else 'record'}") from missing
    except OSError as failed:
        raise RecordError(f"{path}: cannot be written: {failed.strerror or failed}") from failed


def _set_aside(path: Path, end: int, tail: bytes, durable: bool) -> Path:
    """Keep the tail in `NAME.tail-OFFSET` before the record is cut. What stands there already is not overwritten."""
    for turn in count(1):
        aside = path.with_name(f"{path.name}.tail-{end}" + ("" if turn == 1 else f"-{turn}"))
        try:
            with aside.open("xb") as new:
                new.write(tail)
                if durable:
                    new.flush()
                    os.fsync(new.fileno())
        except FileExistsError:
            if aside.read_bytes() == tail:  # a kill came between this and the cut
                return aside
        else:
            return aside
    raise AssertionError("counting does not end")


def _sync_folder(folder: Path) -> None:
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
