"""Intervals of exact integers: for every operator, bounds on its value from bounds on its arguments.

A rule takes the intervals `(lo, hi)` of the arguments (membership and look-up also their set or table) and returns an interval
that contains every value the operator can take. BOOL counts as 0..1. Rules are sound; they need not be tight.
"""

from __future__ import annotations

from collections.abc import Sequence

Interval = tuple[int, int]

BIT: Interval = (0, 1)


def _truth(never: bool, always: bool) -> Interval:
    if always:
        return (1, 1)
    return (0, 0) if never else BIT


def negation(args: Sequence[Interval]) -> Interval:
    lo, hi = args[0]
    return (1 - hi, 1 - lo)


def conjunction(args: Sequence[Interval]) -> Interval:
    return (min((lo for lo, _ in args), default=1), min((hi for _, hi in args), default=1))


def disjunction(args: Sequence[Interval]) -> Interval:
    return (max((lo for lo, _ in args), default=0), max((hi for _, hi in args), default=0))


def implication(args: Sequence[Interval]) -> Interval:
    return disjunction((negation(args), args[1]))


def equality(args: Sequence[Interval]) -> Interval:
    (al, ah), (bl, bh) = args
    return _truth(never=ah < bl or bh < al, always=al == ah == bl == bh)


def less(args: Sequence[Interval]) -> Interval:
    (al, ah), (bl, bh) = args
    return _truth(never=al >= bh, always=ah < bl)


def less_equal(args: Sequence[Interval]) -> Interval:
    (al, ah), (bl, bh) = args
    return _truth(never=al > bh, always=ah <= bl)


def membership(values: frozenset[int], args: Sequence[Interval]) -> Interval:
    lo, hi = args[0]
    inside = sum(1 for value in values if lo <= value <= hi)
    return _truth(never=inside == 0, always=inside == hi - lo + 1)


def total(args: Sequence[Interval]) -> Interval:
    return (sum(lo for lo, _ in args), sum(hi for _, hi in args))


def difference(args: Sequence[Interval]) -> Interval:
    (al, ah), (bl, bh) = args
    return (al - bh, ah - bl)


def opposite(args: Sequence[Interval]) -> Interval:
    lo, hi = args[0]
    return (-hi, -lo)


def product(args: Sequence[Interval]) -> Interval:
    (al, ah), (bl, bh) = args
    corners = (al * bl, al * bh, ah * bl, ah * bh)
    return (min(corners), max(corners))


def quotient(args: Sequence[Interval]) -> Interval:
    """Floor division is monotone in each argument on either side of a zero divisor, so corners suffice."""
    (al, ah), (bl, bh) = args
    values = [0] if bl <= 0 <= bh else []
    if bh >= 1:
        values += [a // b for a in (al, ah) for b in (max(bl, 1), bh)]
    if bl <= -1:
        values += [a // b for a in (al, ah) for b in (bl, min(bh, -1))]
    return (min(values), max(values))


def remainder(args: Sequence[Interval]) -> Interval:
    (al, ah), (bl, bh) = args
    if al == ah and bl == bh:
        value = al % bl if bl else 0
        return (value, value)
    lo, hi = 0, 0
    if bh >= 1:
        if al >= 0 and ah < max(bl, 1):
            return (al, ah)
        hi = bh - 1 if al < 0 else min(ah, bh - 1)
    if bl <= -1:
        lo = bl + 1 if ah > 0 else max(al, bl + 1)
    return (lo, hi)


def least(args: Sequence[Interval]) -> Interval:
    return (min(lo for lo, _ in args), min(hi for _, hi in args))


def greatest(args: Sequence[Interval]) -> Interval:
    return (max(lo for lo, _ in args), max(hi for _, hi in args))


def choice(args: Sequence[Interval]) -> Interval:
    (cl, ch), (al, ah), (bl, bh) = args
    if cl == 1:
        return (al, ah)
    if ch == 0:
        return (bl, bh)
    return (min(al, bl), max(ah, bh))


def magnitude(args: Sequence[Interval]) -> Interval:
    lo, hi = args[0]
    if lo >= 0:
        return (lo, hi)
    if hi <= 0:
        return (-hi, -lo)
    return (0, max(-lo, hi))


def entry(values: tuple[int, ...], args: Sequence[Interval]) -> Interval:
    lo, hi = args[0]
    reached = values[max(lo, 0) : max(hi + 1, 0)]
    outside = lo < 0 or hi >= len(values)
    candidates = (*reached, 0) if outside else reached
    return (min(candidates), max(candidates))
