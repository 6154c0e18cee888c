"""What a change of a text would change, as a unified diff that `patch` reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import unified_diff

from icore_kernel.report.layout import Line, Part, Piece, line


def diff_text(name: str, before: str, after: str) -> str:
    """The diff of a file called `name`, empty where nothing changes. Only a line feed ends a line; other ends are part of it."""
    lines = unified_diff(_lines(before), _lines(after), name, name, "", "formatted")
    return "".join(text if text.endswith("\n") else f"{text}\n\\ No newline at end of file\n" for text in lines)


def _lines(text: str) -> list[str]:
    """Each line with its line feed; the last may have none."""
    cut = [f"{each}\n" for each in text.split("\n")]
    last = cut.pop()[:-1]
    return [*cut, last] if last else cut


def diff_lines(diff: str) -> Iterator[Line]:
    """The lines of a diff, for a terminal: what goes is bad, what comes is good."""
    return (line(Piece(text, part)) for text, part in _parts(diff.removesuffix("\n").split("\n")))


def _parts(lines: Iterable[str]) -> Iterator[tuple[str, Part]]:
    heading = 2  # lines of it that are still to come: later on, what begins with `---` is a line that goes
    for text in lines:
        if heading:
            heading -= 1
            yield text, Part.STRONG
        elif text.startswith("@@"):
            yield text, Part.DIM
        else:
            yield text, {"-": Part.BAD, "+": Part.GOOD}.get(text[:1], Part.PLAIN)
