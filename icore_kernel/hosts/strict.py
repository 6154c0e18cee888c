"""JSON as it comes from outside, read so that nothing in it can be taken two ways: no key twice, no NaN, bounded depth."""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

DEEPEST = 64
"""Objects and arrays within each other."""

# A string also ends with the text, so that every quotation mark is looked at once, whatever is left open.
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|[\[{]|[\]}]', re.DOTALL)


class StrictError(ValueError):
    """A text that is no JSON, or none that is read here. The message says what is wrong with it."""


def read_json(text: str, floats: bool = False) -> Any:
    """The value of a text. `floats`: numbers with a fraction or exponent are read as their text, else they are refused."""
    depth = 0
    for token in _TOKEN.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(token[0], 0)
        if depth > DEEPEST:
            raise StrictError(f"values nested deeper than {DEEPEST}")
    try:
        return json.loads(text, object_pairs_hook=_once, parse_float=str if floats else _fraction, parse_constant=_constant)
    except json.JSONDecodeError as broken:
        raise StrictError(f"column {broken.colno}: not JSON: {broken.msg}" if broken.lineno == 1 else f"not JSON: {broken}") from broken
    except StrictError:
        raise
    except ValueError as broken:  # the digits that Python reads in one integer are limited
        raise StrictError("a number of too many digits") from broken


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise StrictError(f"the key {key[:80]!r} stands twice")
        found[key] = value
    return found


def _fraction(text: str) -> NoReturn:
    raise StrictError(f"{text[:40]}: whole numbers only; write another as a text")


def _constant(text: str) -> NoReturn:
    raise StrictError(f"{text} is no number")
