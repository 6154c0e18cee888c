"""Cuts a text into lexemes. The cut is the same everywhere; whether a word is a name or reserved is for the parser to say."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from icore_dsl.mistakes import MAX_DIGITS, MAX_MISTAKES, P007, P008, P017, Mistake
from icore_dsl.source import Lines
from icore_dsl.syntax import Comment, Span

OPERATORS = (
    "..", "->", ":=", "~>", "==", "!=", "<=", ">=", "<", ">", "+", "-", "*", "/", "=", ":", ",", ";", ".", "(", ")", "[", "]", "{", "}",
)  # fmt: skip
"""All marks of the language, longer ones before their beginnings."""

FOREIGN = {
    "/\\": "write `and`", "\\/": "write `or`", "<=>": "write `iff`", "==>": "write `implies`", "=>": "write `implies`",
    "|->": "write `=`: `{ field = value }`", "/=": "write `!=`", "~=": "write `!=`", "<>": "write `!=`",
    "\\land": "write `and`", "\\lor": "write `or`", "\\lnot": "write `not`", "\\neg": "write `not`", "\\in": "write `in`",
    "\\notin": "write `not in`", "\\A": "write `forall`", "\\E": "write `exists`", "\\leq": "write `<=`", "\\geq": "write `>=`",
}  # fmt: skip
"""Marks of other languages, longer ones before their beginnings, with what they are here. No text of this language holds one."""

_MASTER = re.compile(
    r"(?P<space>[ \t\f\r\n\ufeff]+)"
    r"|(?P<foreign>" + "|".join(re.escape(mark) + (r"\b" if mark[-1].isalpha() else "") for mark in FOREIGN) + ")"
    r"|(?P<NAME>[^\W\d][\w\u0300-\u036f]*)"
    r"|(?P<op>" + "|".join(re.escape(operator) for operator in OPERATORS) + ")"
    r"|(?P<comment>\#[^\n]*)"
    r"|(?P<glued>[0-9]+(?:\.[0-9]+)?[^\W\d]\w*)"
    r"|(?P<DECIMAL>[0-9]+\.[0-9]+)"
    r"|(?P<INT>[0-9]+)"
    r'|(?P<STRING>"[^"\n]*")'
    r"|(?P<QUOTED>`[^`\n]*`)"
    r'|(?P<open>["`][^\n]*)'
    r"|(?P<bad>.)",
    re.DOTALL,
)


@dataclass(slots=True)
class Lexeme:
    """kind: `NAME INT DECIMAL STRING QUOTED`, `op`, or `END`. `first`: nothing but white space stands before it on its line."""

    kind: str
    text: str
    start: int
    end: int
    first: bool


@dataclass(slots=True)
class Cut:
    """The lexemes of a text (the last is `END`), its comments, and what could not be read, with the places that were skipped.

    `last` is the last unreadable word and where it ends.
    """

    lexemes: list[Lexeme]
    comments: list[Comment]
    mistakes: list[Mistake]
    skipped: list[int]
    last: tuple[str, int] = ("", -1)


def _unknown(character: str) -> str:
    if character.isprintable() and not character.isspace():
        return f"the character `{character}` is not part of the language"
    name = unicodedata.name(character, "a control character").lower()
    return f"the character U+{ord(character):04X} ({name}) is not part of the language"


_HINTS = {
    "&": "write `and`", "|": "write `or`", "!": "write `not`, or `!=` for different", "“": 'write `"`', "”": 'write `"`', "≤": "write `<=`",
    "≥": "write `>=`", "≠": "write `!=`", "∧": "write `and`", "∨": "write `or`", "¬": "write `not`", "→": "write `->` or `implies`",
    "∈": "write `in`", "∀": "write `forall`", "∃": "write `exists`", "\u00a0": "write an ordinary space", "'": 'text stands in `"`',
    "~": "write `not`", "%": "write `mod`", "\\": "comments start with `#`", "–": "write `-`", "−": "write `-`", "…": "write `..`",
}  # fmt: skip


def _unreadable(found: Cut, kind: str, word: str, start: int, span: Span) -> None:
    """Reports characters that are no lexeme; the same character again and again only once."""
    if kind == "glued":
        found.mistakes.append(Mistake(P007, span, f"`{word}` is neither a number nor a name", "put a space after the number"))
    elif kind == "open":
        found.mistakes.append(Mistake(P008, span, f"this text has no closing `{word[0]}`", f"end it with `{word[0]}` on the same line"))
    elif kind == "foreign":
        found.mistakes.append(Mistake(P007, span, f"`{word}` is not part of the language", FOREIGN[word]))
    elif not (found.mistakes and found.last == (word, start)):
        found.mistakes.append(Mistake(P007, span, _unknown(word), _HINTS.get(word, "")))
    found.last = (word, start + len(word))


def cut(text: str, lines: Lines) -> Cut:
    """Cuts a text. Unreadable characters are reported and skipped, so that parsing can go on."""
    found = Cut([], [], [], [])
    lexemes = found.lexemes
    first = True
    for match in _MASTER.finditer(text):
        kind = match.lastgroup or "bad"
        start, end = match.span()
        if kind == "space":
            first = first or "\n" in match.group()
            continue
        if kind == "comment":
            comment = match.group().rstrip()
            found.comments.append(Comment(comment, first, lines.span(start, start + len(comment))))
            continue
        if kind in ("foreign", "glued", "open", "bad"):
            if len(found.mistakes) < MAX_MISTAKES:
                _unreadable(found, kind, match.group(), start, lines.span(start, end))
            found.skipped.append(start)
            first = False
            continue
        word = match.group()
        if kind == "NAME" and not word.isascii():
            word = unicodedata.normalize("NFC", word)
        elif kind in ("INT", "DECIMAL") and len(word) > MAX_DIGITS:
            if len(found.mistakes) < MAX_MISTAKES:
                said = f"a number of {len(word.replace('.', '')):,} digits; at most {MAX_DIGITS:,} are read"
                found.mistakes.append(Mistake(P017, lines.span(start, end), said))
            word = "0" if kind == "INT" else "0.0"  # stands in for it, so that what follows is read
        lexemes.append(Lexeme(kind, word, start, end, first))
        first = False
    lexemes.append(Lexeme("END", "", len(text), len(text), True))
    return found
