"""Sorts of expressions, and which of them fit together.

A sort is what a formula's author knows: true or false, whole numbers, exact numbers, agents, obligations, the values of an
enumeration, certificates, artifacts, inputs, sets of these and "or none". `ERROR` is the sort of what is already
reported: it fits everything, so that one mistake is told once.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from icore_dsl.constants import shown_value


@dataclass(frozen=True, slots=True)
class Plain:
    """A sort that is only its name: `bool`, `text`, `Agent`, `Status`, `Marker`, an enumeration, a sort of the theory."""

    name: str


@dataclass(frozen=True, slots=True)
class Whole:
    """Whole numbers `low..high`; a bound is None where it is not known before grounding."""

    low: int | None = None
    high: int | None = None


@dataclass(frozen=True, slots=True)
class Number:
    """Exact rationals; `values` is the finite domain, or None when any rational is meant."""

    values: tuple[Fraction, ...] | None = None


@dataclass(frozen=True, slots=True)
class Kind:
    """base: `Obligation Certificate Artifact Input`; `of` is the obligation type, schema or slot, None for any of them."""

    base: str
    of: str | None = None


@dataclass(frozen=True, slots=True)
class SetSort:
    item: ItemSort


@dataclass(frozen=True, slots=True)
class Maybe:
    """`T or none`."""

    item: ItemSort


@dataclass(frozen=True, slots=True)
class Nothing:
    """The sort of `none` alone."""


@dataclass(frozen=True, slots=True)
class Error:
    """The sort of an expression whose mistake is reported already."""


ItemSort = Plain | Whole | Number | Kind | SetSort | Maybe | Nothing | Error

BOOL = Plain("bool")
TEXT = Plain("text")
AGENT = Plain("Agent")
STATUS = Plain("Status")
MARKER = Plain("Marker")
WORK = Kind("Obligation")
INT = Whole()
RATIONAL = Number()
NOTHING = Nothing()
ERROR = Error()

STATUSES = ("open", "ready", "blocked", "closed", "submitted", "accepted", "rejected", "invalid")
MARKERS = ("duplicated", "excluded", "irrelevant", "superseded")
THEORY_SORTS = ("Assertion", "Update", "Operation", "Relation")
"""Sorts that only the theory quantifies over, beside Certificate, Artifact and Input."""

_WORDS = {"bool": "true or false", "text": "text", "Agent": "an agent", "Status": "a status", "Marker": "a marker"}
_KINDS = {"Obligation": "an obligation", "Certificate": "a certificate", "Artifact": "an artifact", "Input": "an input"}


def shown(sort: ItemSort) -> str:
    """The sort in words: `a whole number`, `an agent or none`, `a set of Skill`."""
    match sort:
        case Plain(name):
            return _WORDS.get(name, f"a value of {name}")
        case Whole():
            return "a whole number"
        case Number():
            return "a number"
        case Kind(base, of):
            return _KINDS[base] if of is None else f"an obligation of type {of}" if base == "Obligation" else f"{_KINDS[base]} `{of}`"
        case SetSort(item):
            return f"a set of {named(item)}"
        case Maybe(item):
            return f"{shown(item)} or none"
        case Nothing():
            return "none"
        case Error():
            return "something"


def named(sort: ItemSort) -> str:
    """The sort as it is written in a file: `Step`, `set of Skill`, `1..3`."""
    match sort:
        case Plain(name):
            return name
        case Whole(low, high):
            return "int" if low is None or high is None else f"{low}..{high}"
        case Number(values):
            return "rational" if values is None else "{" + ", ".join(map(shown_value, values)) + "}"
        case Kind(base, of):
            return of or base
        case SetSort(item):
            return f"set of {named(item)}"
        case Maybe(item):
            return f"{named(item)} or none"
        case Nothing():
            return "none"
        case Error():
            return "something"


def bare(sort: ItemSort) -> ItemSort:
    """The sort without `or none`."""
    return sort.item if isinstance(sort, Maybe) else sort


def numeric(sort: ItemSort) -> bool:
    return isinstance(sort, Whole | Number | Error)


def accepts(want: ItemSort, have: ItemSort) -> bool:
    """Whether a value of sort `have` may stand where `want` is wanted. Numbers are not held against their bounds here."""
    match want, have:
        case (Error(), _) | (_, Error()):
            return True
        case Maybe(item), Maybe(other):
            return accepts(item, other)
        case Maybe(), Nothing():
            return True
        case Maybe(item), _:
            return accepts(item, have)
        case Whole(), Whole():
            return True
        case Number(), Whole() | Number():
            return True
        case Kind(base, of), Kind(other_base, other_of):
            return base == other_base and (of is None or of == other_of)
        case SetSort(item), SetSort(other):
            return accepts(item, other)
        case _:
            return want == have


def comparable(left: ItemSort, right: ItemSort) -> bool:
    """Whether `==` between the two can ever say anything: the same sort, one of them perhaps `or none` or narrower."""
    match left, right:
        case (Nothing(), Nothing() | Maybe()) | (Maybe(), Nothing()):
            return True
        case _:
            pass
    one, other = bare(left), bare(right)
    return accepts(one, other) or accepts(other, one)


def joined(left: ItemSort, right: ItemSort) -> ItemSort | None:
    """The narrowest sort that holds both (the branches of an `if`, the members of a set); None when there is none."""
    match left, right:
        case Error(), _:
            return right
        case _, Error():
            return left
        case Nothing(), Nothing():
            return NOTHING
        case (Nothing(), other) | (other, Nothing()):
            return other if isinstance(other, Maybe) else Maybe(other)
        case Maybe(item), Maybe(other):
            inner = joined(item, other)
            return None if inner is None else Maybe(inner)
        case (Maybe(item), other) | (other, Maybe(item)):
            inner = joined(item, other)
            return None if inner is None else Maybe(inner)
        case Whole(low, high), Whole(other_low, other_high):
            lows, highs = (low, other_low), (high, other_high)
            return Whole(
                None if None in lows else min(x for x in lows if x is not None),
                None if None in highs else max(x for x in highs if x is not None),
            )
        case ((Whole() | Number()), (Whole() | Number())):
            return RATIONAL
        case Kind(base, of), Kind(other_base, other_of) if base == other_base:
            return Kind(base, of if of == other_of else None)
        case SetSort(item), SetSort(other):
            inner = joined(item, other)
            return None if inner is None else SetSort(inner)
        case _:
            return left if left == right else None
