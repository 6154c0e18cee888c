"""What an entry of a record says and its package does not, in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from icore_kernel.record.canonical import canonical


class Differs(Exception):
    """What an entry says, and the package does not."""


def listed(broken: Iterable[tuple[str, str]]) -> str:
    """Clauses and what each is said of."""
    return ", ".join(f"{clause} {instance}".strip() for clause, instance in broken) or "nothing"


def first_difference(said: Any, found: Any, at: str = "") -> str:
    """Where two values differ first, in words."""
    if isinstance(said, Mapping) and isinstance(found, Mapping):
        for key in [*found, *(key for key in said if key not in found)]:
            if key not in said or key not in found or canonical(said[key]) != canonical(found[key]):
                place = f"{at}.{key}" if at else str(key)
                if key in said and key in found:
                    return first_difference(said[key], found[key], place)
                return f"{place}, which {'the package does not have' if key in said else 'is missing in the record'}"
    if isinstance(said, list) and isinstance(found, (list, tuple)) and len(said) == len(found):
        for number, (one, other) in enumerate(zip(said, found, strict=True)):
            if canonical(one) != canonical(other):
                return first_difference(one, other, f"{at}[{number}]")
    return f"{f'{at} = ' if at else ''}{short(said)}, where the package has {short(found)}"


def short(value: Any) -> str:
    """A value as messages show it."""
    text = canonical(value).decode()
    return text if len(text) <= 80 else f"{text[:77]}…"
