"""Collects the mistakes of one check, and finds the characters and the words to tell them with."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches

from icore_dsl.mistakes import Code, Mistake
from icore_dsl.source import Lines
from icore_dsl.syntax import Module, Span

_COMMENT = re.compile(r"[ \t]*#")
_WORD = re.compile(r"#[^\n]*|\"[^\"\n]*\"|[^\W\d]\w*")


class Found:
    """The mistakes found so far, each once for a place and a code, over the texts of all files that are checked together."""

    def __init__(self, modules: Iterable[Module]) -> None:
        self._lines = {module.file: Lines(module.text, module.file) for module in modules}
        self._order = {file: place for place, file in enumerate(self._lines)}
        self._mistakes: dict[tuple[str, int, int, str], Mistake] = {}

    def add(self, code: Code, span: Span, message: str, hint: str = "") -> None:
        self._mistakes.setdefault((span.file, span.start, span.end, code.text), Mistake(code, span, message, hint))

    def sorted(self) -> tuple[Mistake, ...]:
        """All mistakes, file by file in the order given, from top to bottom."""
        order = self._order
        return tuple(sorted(self._mistakes.values(), key=lambda m: (order.get(m.span.file, len(order)), m.span.start, m.code.text)))

    def word(self, span: Span, word: str, skip: int = 0) -> Span:
        """The place of a word inside a span (after `skip` earlier ones); the span itself where it is not written there."""
        lines = self._lines.get(span.file)
        if lines is None:
            return span
        for match in _WORD.finditer(lines.text, span.start, span.end):
            if match.group() == word:
                if skip == 0:
                    return lines.span(match.start(), match.end())
                skip -= 1
        at = -1 if word.isidentifier() else lines.text.find(word, span.start, span.end)
        return span if at < 0 else lines.span(at, at + len(word))

    def commented(self, span: Span) -> str:
        """A hint where a comment follows on the line: whoever comes from TLA+ may have meant a comparison."""
        lines = self._lines.get(span.file)
        follows = lines is not None and _COMMENT.match(lines.text, span.end)
        return "`#` begins a comment: write `!=` if the two are to differ" if follows else ""

    def text(self, span: Span) -> str:
        """The characters of a span, on one line, for messages."""
        lines = self._lines.get(span.file)
        return "" if lines is None else " ".join(lines.text[span.start : span.end].split())


def near(name: str, choices: Iterable[str], many: int = 10) -> str:
    """A hint: the near name where there is one, else all choices while they are few."""
    known = sorted(set(choices))
    close = get_close_matches(name, known, 1, 0.6) or get_close_matches(name.lower(), known, 1, 0.6)
    if close:
        return f"did you mean `{close[0]}`?"
    if not known:
        return ""
    return f"one of {listed(known)}" if len(known) <= many else ""


def listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def counted(number: int, one: str) -> str:
    """`1 argument`, `2 arguments`."""
    return f"{number} {one}" if number == 1 else f"{number} {one}s"
