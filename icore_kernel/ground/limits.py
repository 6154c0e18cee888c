"""How large a package may be when grounded: sizes are computed before anything of that size is made."""

from __future__ import annotations

from icore_kernel.ground.values import GroundingError

MOST_OBLIGATIONS = 2_000
MOST_OCCURRENCES = 200_000
MOST_MEMBERS = 200_000
MOST_NUMBERS = 1_000_000


class TooLarge(GroundingError):
    """A package, a family or a range above its limit."""


def numbers(low: int, high: int, place: object) -> range:
    """low..high, both included. Raises TooLarge, with the place, above MOST_NUMBERS."""
    size = high - low + 1
    if size > MOST_NUMBERS:
        raise TooLarge(f"{place}: {low}..{high} has {size:,} values: a range may have at most {MOST_NUMBERS:,}")
    return range(low, high + 1)
