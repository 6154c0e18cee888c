"""What is said of a name that is not known: the one that was meant, or some of those that there are."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

MOST = 8
"""Names that are listed where none is near."""


def near(name: str, known: Iterable[str]) -> str:
    """`did you mean done(unit)?`, or `there are: a, b` (at most `MOST` of them), or `there are none`."""
    names = list(known)
    close = get_close_matches("".join(name.split()), names, 1) or get_close_matches(name, names, 1)
    if close:
        return f"did you mean {close[0]}?"
    if not names:
        return "there are none"
    return f"there are: {', '.join(names[:MOST])}" + (f" and {len(names) - MOST:,} more" if len(names) > MOST else "")
