"""Modules that are wanted after a search, imported while the kernel is at work: it leaves the interpreter to other threads."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from threading import Thread


class Ahead:
    """`begin` starts the imports, once; `end` waits for them. Nothing else runs on that thread."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = [name for name in names if name not in sys.modules]
        self._thread: Thread | None = None

    def begin(self) -> None:
        if self._names and self._thread is None:
            self._thread = Thread(target=self._import, name="icore-ahead")
            self._thread.start()

    def end(self) -> None:
        if self._thread is not None:
            self._thread.join()

    def _import(self) -> None:
        for name in self._names:
            # What cannot be imported is missed where it is needed, and said there.
            with suppress(ImportError):
                import_module(name)
