"""Lines onto a stream: plain text, or colours on a terminal. Plain text never imports rich."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TextIO

from icore_kernel.report.layout import Line, Part, plain

STYLES: Mapping[Part, str] = {
    Part.PLAIN: "",
    Part.STRONG: "bold",
    Part.DIM: "dim",
    Part.GOOD: "green",
    Part.BAD: "bold red",
    Part.UNSURE: "yellow",
}


def coloured(stream: TextIO, environment: Mapping[str, str] = os.environ) -> bool:
    """Colours only on a terminal that shows them, and never when NO_COLOR is set (to anything but the empty string)."""
    return stream.isatty() and not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"


def write(lines: Iterable[Line], stream: TextIO) -> None:
    if not coloured(stream):
        stream.writelines(f"{plain(line)}\n" for line in lines)
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(file=stream, highlight=False, soft_wrap=True)
    for line in lines:
        console.print(Text.assemble(*((piece.text, STYLES[piece.part]) for piece in line)))
