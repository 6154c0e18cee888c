"""From bytes to text: decoding, limits, and the table of lines that turns offsets into spans."""

from __future__ import annotations

from bisect import bisect_right
from pathlib import Path

from icore_dsl.mistakes import P001, P002, P003, LanguageError, Mistake
from icore_dsl.syntax import Span

MAX_BYTES = 1 << 20
"""A file larger than this many bytes is refused before it is parsed."""

MAX_DEPTH = 200
"""Expressions, sorts, blocks and brackets nest at most this deep."""

BYTE_ORDER_MARK = "\ufeff"


class Lines:
    """Where the lines of a text start. Only a line feed ends a line; a carriage return before it is white space."""

    __slots__ = ("file", "starts", "text")

    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.file = file
        starts = [0]
        position = text.find("\n")
        while position >= 0:
            starts.append(position + 1)
            position = text.find("\n", position + 1)
        self.starts = starts

    def span(self, start: int, end: int) -> Span:
        """The span of the characters `start..end`."""
        starts = self.starts
        line = bisect_right(starts, start)
        end_line = line if line == len(starts) or end < starts[line] else bisect_right(starts, end)
        return Span(self.file, start, end, line, start - starts[line - 1] + 1, end_line, end - starts[end_line - 1] + 1)

    def line(self, number: int) -> str:
        """The text of a line, counted from 1, without its ending."""
        start = self.starts[number - 1]
        end = self.starts[number] - 1 if number < len(self.starts) else len(self.text)
        return self.text[start:end].rstrip("\r")


def too_large(file: str) -> Mistake:
    """P003, at the first character."""
    message = f"the file is larger than {MAX_BYTES:,} bytes"
    return Mistake(P003, Span(file, 0, 0, 1, 1, 1, 1), message, "split it and use `import`")


def without_mark(text: str) -> str:
    """The text without a byte-order mark at its start."""
    return text[1:] if text.startswith(BYTE_ORDER_MARK) else text


def decode(content: bytes, file: str) -> tuple[str, tuple[Mistake, ...]]:
    """The text of a file's bytes, without a byte-order mark. When it is none, the readable part before the mistake."""
    if len(content) > MAX_BYTES:
        return "", (too_large(file),)
    try:
        return without_mark(content.decode("utf-8")), ()
    except UnicodeDecodeError as error:
        before = without_mark(content[: error.start].decode("utf-8"))
        span = Lines(before, file).span(len(before), len(before))
        message = f"byte {error.start} (0x{content[error.start]:02x}) is not UTF-8"
        return before, (Mistake(P001, span, message, "save the file as UTF-8"),)


def read(path: str | Path) -> tuple[str, tuple[Mistake, ...]]:
    """The text of a file, see `decode`. Raises OSError when it cannot be read; never reads more than the limit."""
    with open(path, "rb") as stream:
        content = stream.read(MAX_BYTES + 1)
    return decode(content, str(path))


def check_text(text: str, file: str) -> Mistake | None:
    """The mistake of a text that must not be parsed at all: too large, or with a NUL."""
    if len(text) > MAX_BYTES or (not text.isascii() and len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES):
        return too_large(file)
    nul = text.find("\0")
    if nul >= 0:
        return Mistake(P002, Lines(text, file).span(nul, nul + 1), "a NUL byte", "is this a text file?")
    return None


def read_source(path: str | Path) -> str:
    """The text of a file. Raises LanguageError when it is none, OSError when it cannot be read."""
    text, mistakes = read(path)
    if mistakes:
        raise LanguageError(mistakes, text)
    return text
