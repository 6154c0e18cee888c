"""A record in memory: for tests, and for runs of which nothing is to be kept."""

from __future__ import annotations

from collections.abc import Iterator

from icore_kernel.record.entry import ZERO
from icore_kernel.record.local import LocalStore, Written


class MemoryStore(LocalStore):
    def __init__(self) -> None:
        super().__init__("memory:", Written(0, ZERO, False, 0))
        self._kept: list[bytes] = []

    def _write(self, seq: int, line: bytes) -> None:
        self._kept.append(line)

    def _cut(self, written: Written) -> None:
        del self._kept[written.count :]

    def _lines(self, written: Written) -> Iterator[bytes]:
        return iter(self._kept[: written.count])

    def _release(self) -> None:
        """There is nothing to let go of; what was recorded is gone with the store."""
