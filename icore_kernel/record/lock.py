"""One writer at a time: the lock of an open file, where the system has `flock`."""

from __future__ import annotations

import os
from pathlib import Path

from icore_kernel.record.entry import BusyRecord, RecordError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


def lock(file: int, name: str) -> None:
    """Take the lock of an open file until it is closed. BusyRecord when somebody else has it."""
    if fcntl is None:
        raise RecordError(f"{name}: files are locked only where the system has flock; keep the record in NAME.db")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as held:
        raise BusyRecord(name) from held


def hold(beside: Path, name: str) -> int | None:
    """The open, locked file `beside` what is written; None where the system has no flock. OSError when it cannot be made."""
    if fcntl is None:
        return None
    while True:
        file = os.open(beside, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            lock(file, name)
            if os.fstat(file).st_ino == beside.stat().st_ino:
                return file
        except FileNotFoundError:
            pass  # the writer before took the file away as it closed: this one locks nobody out
        except BaseException:
            os.close(file)
            raise
        os.close(file)


def let_go(beside: Path, file: int | None) -> None:
    """Undo `hold`."""
    if file is not None:
        beside.unlink(missing_ok=True)  # while it is locked: see hold
        os.close(file)
