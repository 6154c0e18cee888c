"""Lines of a report before they are printed: pieces of text, each with the part it plays. Colour is decided later, or never."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import PurePath

from icore_dsl.syntax import Span


class Part(Enum):
    """What a piece of text is, so that a terminal can show it in its own way."""

    PLAIN = "plain"
    STRONG = "strong"
    DIM = "dim"
    GOOD = "good"
    BAD = "bad"
    UNSURE = "unsure"


@dataclass(frozen=True, slots=True)
class Piece:
    text: str
    part: Part = Part.PLAIN


Line = tuple[Piece, ...]


def line(*pieces: str | Piece) -> Line:
    return tuple(piece if isinstance(piece, Piece) else Piece(piece) for piece in pieces)


def plain(given: Line) -> str:
    return "".join(piece.text for piece in given).rstrip()


def place(span: Span) -> str:
    """`file:line`, as editors and terminals follow it. A clause of the theory is `spec/FILE:line`, wherever it is installed."""
    path = PurePath(span.file)
    theory = path.is_absolute() and path.parent.name == "spec"
    return f"{'/'.join(path.parts[-2:]) if theory else span.file}:{span.line}"


def number(count: int, noun: str, plural: str = "") -> str:
    """`1 state`, `1,296 states`."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"
