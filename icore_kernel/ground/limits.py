"""How large a package may be when grounded: sizes are computed before anything of that size is made."""

from __future__ import annotations

from math import prod
from time import monotonic

from icore_dsl.mistakes import G001, G002
from icore_dsl.syntax import Span
from icore_kernel.ground.values import GroundingError

MOST_OBLIGATIONS = 2_000
MOST_OCCURRENCES = 200_000
MOST_MEMBERS = 200_000
MOST_NUMBERS = 1_000_000
MOST_INSTANCES = 4_000_000
"""Instances of what stands inside quantifiers and `for`s that are nested in one another, or in an update with parameters: the pairs of
the most obligations."""

EACH = 64
"""So many pieces of work between two looks at the clock."""


class OutOfTime(Exception):
    """Grounding took longer than it may. It refuses nothing: with more time there would have been an answer."""


class Deadline:
    """When grounding has to end: `seconds` from now; None: never. Looked at so often that it is not late by more than a moment."""

    def __init__(self, seconds: float | None) -> None:
        self._end = None if seconds is None else monotonic() + seconds
        self._wait = EACH

    def check(self) -> None:
        """One more piece of work. Raises OutOfTime."""
        self._wait -= 1
        if self._wait <= 0:
            self.look()

    def look(self) -> None:
        """Raises OutOfTime where the time is over."""
        self._wait = EACH
        if self._end is not None and monotonic() >= self._end:
            raise OutOfTime


class TooLarge(GroundingError):
    """A package, a family or a range above its limit."""

    def __init__(self, message: str, place: Span | None = None) -> None:
        super().__init__(G001, message, place)


class TooNested(GroundingError):
    """More instances of what is nested than MOST_INSTANCES; `sizes` are those of what parameters and quantifiers range over, in order."""

    def __init__(self, sizes: tuple[int, ...], place: Span) -> None:
        product = f"{' x '.join(f'{size:,}' for size in sizes)} = {prod(sizes):,}"
        super().__init__(G002, f"{product} instances of what is nested here: at most {MOST_INSTANCES:,} are expanded", place)


def numbers(low: int, high: int, place: Span) -> range:
    """low..high, both included. Raises TooLarge, with the place, above MOST_NUMBERS."""
    size = high - low + 1
    if size > MOST_NUMBERS:
        raise TooLarge(f"{low}..{high} has {size:,} values: a range may have at most {MOST_NUMBERS:,}", place)
    return range(low, high + 1)
