"""What long work says of itself on a terminal: one line, rewritten in place, gone when the work is done."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from icore_kernel.explore.memory import show_size

if TYPE_CHECKING:
    from rich.live import Live

    from icore_kernel.explore.model import Progress

WINDOW = 2.0
"""Seconds that the rate is taken over."""

ROOM = 76
"""Characters of the line: it is indented by two, and a terminal of 80 columns shows it whole."""

Tell = Callable[["Progress"], None]


def progress_text(progress: Progress, rate: float | None) -> str:
    """States, states a second, seconds, depth and memory of the search; steps and frontier where there is room for them. A later
    phase says its name, and goes through the levels again; a simulation counts runs. `rate` is None where nothing is known of it."""
    parts = [] if progress.phase == "search" else [progress.phase]
    parts.append(f"{progress.states:,} states")
    if progress.phase == "search" and rate is not None:
        parts.append(f"{rate:,.0f} states/s")
    parts.append(f"{progress.seconds:.0f} s")
    parts.append(f"run {progress.frontier:,}" if progress.phase == "simulation" else f"depth {progress.depth:,}")
    said = " · ".join([*parts, show_size(progress.memory)])
    more = [f"{progress.steps:,} steps"] + ([] if progress.phase == "simulation" else [f"frontier {progress.frontier:,}"])
    for part in more:
        if len(said) + len(part) + 3 > ROOM:
            break
        said += f" · {part}"
    return said


class ProgressLine:
    """The line on one stream. rich is loaded when there is something to say, which is after a second of work."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._live: Live | None = None
        self._told: deque[tuple[float, int]] = deque()

    def tell(self, progress: Progress) -> None:
        from rich.console import Console
        from rich.live import Live
        from rich.text import Text

        if self._live is None:
            self._live = Live(console=Console(file=self._stream, highlight=False), auto_refresh=False, transient=True)
            self._live.start()
        shown = Text(f"  {progress_text(progress, self._rate(progress))}", style="dim", no_wrap=True, overflow="ellipsis")
        self._live.update(shown, refresh=True)

    def _rate(self, progress: Progress) -> float | None:
        """States a second over the last two seconds or so: a resumed search does not count what it was given."""
        self._told.append((progress.seconds, progress.states))
        while progress.seconds - self._told[0][0] > WINDOW and len(self._told) > 2:
            self._told.popleft()
        seconds, states = self._told[0]
        return None if progress.seconds <= seconds else max(0, progress.states - states) / (progress.seconds - seconds)

    def close(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None


@contextmanager
def progress_on(stream: TextIO) -> Iterator[Tell | None]:
    """How to tell progress on the stream, while inside; None where it is no terminal that can rewrite a line."""
    if not stream.isatty() or os.environ.get("TERM") == "dumb":
        yield None
        return
    line = ProgressLine(stream)
    try:
        yield line.tell
    finally:
        line.close()
