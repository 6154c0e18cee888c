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


_INVISIBLE = (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_SHOWN = {code: f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" for code in _INVISIBLE}


def visible(text: str) -> str:
    """One line of text in which nothing moves the cursor, begins a line or turns the direction of writing: names in a record are
    whatever its writer chose, and must not look like what is said of it."""
    return text.translate(_SHOWN)


def coloured(stream: TextIO, environment: Mapping[str, str] = os.environ) -> bool:
    """Colours only on a terminal that shows them, and never when NO_COLOR is set (to anything but the empty string)."""
    return stream.isatty() and not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"


def write(lines: Iterable[Line], stream: TextIO) -> None:
    if not coloured(stream):
        stream.writelines(f"{visible(plain(line))}\n" for line in lines)
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(file=stream, highlight=False, soft_wrap=True)
    for line in lines:
        console.print(Text.assemble(*((visible(piece.text), STYLES[piece.part]) for piece in line)))
