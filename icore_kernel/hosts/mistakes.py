"""What is wrong with a host as it was asked for, before anything runs."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from icore_kernel.load import UsageError


class HostError(UsageError):
    """A host that cannot be made: an unknown kind, a script with a wrong line, a URL or setting that is none."""


class ScriptError(HostError):
    """A line of a script that says nothing known. `line` counts from 1."""

    def __init__(self, script: str, line: int, what: str) -> None:
        super().__init__(f"{script}: line {line}: {what}")
        self.line, self.what = line, what


def nearest(name: str, known: Iterable[str]) -> str:
    """`; nearest: a, b` of what is known, or nothing where nothing is near."""
    close = get_close_matches(name, list(known), n=3)
    return f"; nearest: {', '.join(close)}" if close else ""
