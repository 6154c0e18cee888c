"""Canonical forms: of all states that differ only by a permutation of symmetric names, one; and how many there are.

Two ways, both exact. *Sorted*: where each field belongs to at most one member of a set and no value names a member, the
members' parts of a state are sorted. *Enumerated*: the least state over all permutations, where these are few.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations, product
from math import factorial, prod

from icore_kernel.explore.model import State
from icore_kernel.reduce.renaming import Action, Codes, Names, Renaming

MOST_ENUMERATED = 720
"""Permutations to try for each state."""


@dataclass(frozen=True, slots=True)
class Set:
    """Names that may be permuted freely. No name is in two sets."""

    what: str
    members: tuple[str, ...]


class TooLarge(Exception):
    """More permutations than are worth while; the argument is how many."""


@dataclass(frozen=True, slots=True)
class _Sorted:
    """A set whose members have parts of the state to themselves: `parts[i]` are the fields of member i, all in one order."""

    members: tuple[str, ...]
    parts: tuple[tuple[int, ...], ...]


class Orbits:
    """The group that some sets generate, on the states of a system."""

    def __init__(self, names: Names, sets: Sequence[Set], most: int = MOST_ENUMERATED) -> None:
        self.names = names
        self.sets = tuple(sets)
        self.size = prod(factorial(len(s.members)) for s in sets)
        self.sorted: list[_Sorted] = []
        taken: set[int] = set()
        rest: list[Set] = []
        for one in sorted(sets, key=lambda s: -len(s.members)):
            parts = _parts(names, one)
            fields = {index for part in parts or () for index in part}
            if parts is None or fields & taken:
                rest.append(one)
            else:
                taken |= fields
                self.sorted.append(_Sorted(one.members, parts))
        count = prod(factorial(len(s.members)) for s in rest)
        if count > most:
            raise TooLarge(count)
        choices = product(*(permutations(s.members) for s in rest))
        self.actions: list[Action] = []
        for chosen in choices:
            mapping = {old: new for s, images in zip(rest, chosen, strict=True) for old, new in zip(s.members, images, strict=True)}
            self.actions.append(names.action(Renaming(mapping)))

    @property
    def said(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The sets as a report keeps them."""
        return tuple((one.what, one.members) for one in self.sets)

    def group(self) -> tuple[tuple[tuple[tuple[int, ...], tuple[Codes | None, ...]], ...], tuple[tuple[tuple[int, ...], ...], ...]]:
        """The enumerated actions, by where values go and what becomes of them; and the parts that are sorted."""
        return tuple((action.places, action.codes) for action in self.actions), tuple(one.parts for one in self.sorted)

    def canonical(self, state: State) -> State:
        """The representative of the state's orbit."""
        if len(self.actions) == 1:
            return self._sort(state)
        return min(self._sort(action.image(state)) for action in self.actions)

    def length(self, state: State) -> int:
        """How many states its orbit has."""
        images = {self._sort(action.image(state)) for action in self.actions}
        found = len(images)
        for one in self.sorted:
            alike = Counter(tuple(state[index] for index in part) for part in one.parts)
            found *= factorial(len(one.members)) // prod(map(factorial, alike.values()))
        return found

    def witness(self, state: State) -> Action:
        """A permutation that takes the state to its representative."""
        least = self.canonical(state)
        for action in self.actions:
            image = action.image(state)
            if self._sort(image) == least:
                renaming = action.renaming
                for one in self.sorted:
                    order = _order(image, one)
                    renaming = Renaming({one.members[old]: one.members[new] for new, old in enumerate(order)}).after(renaming)
                return self.names.action(renaming)
        raise AssertionError("the representative is one of the images")

    def updates(self) -> list[list[int]]:
        """The updates of the system by orbit."""
        count = len(self.names.system.updates)
        found: dict[int, list[int]] = {}
        least = list(range(count))
        moved = True
        exchanges = [
            self.names.action(Renaming({one: other, other: one})).updates
            for s in self.sets
            for one, other in zip(s.members, s.members[1:], strict=False)
        ]
        while moved:
            moved = False
            for images in exchanges:
                for number, image in enumerate(images):
                    low = min(least[number], least[image])
                    if least[number] != low or least[image] != low:
                        least[number] = least[image] = low
                        moved = True
        for number in range(count):
            found.setdefault(least[number], []).append(number)
        return list(found.values())

    def _sort(self, state: State) -> State:
        if not self.sorted:
            return state
        after = list(state)
        for one in self.sorted:
            values = sorted([state[index] for index in part] for part in one.parts)
            for part, put in zip(one.parts, values, strict=True):
                for index, value in zip(part, put, strict=True):
                    after[index] = value
        return tuple(after)


def _order(state: State, one: _Sorted) -> list[int]:
    return sorted(range(len(one.parts)), key=lambda i: [state[index] for index in one.parts[i]])


def _parts(names: Names, one: Set) -> tuple[tuple[int, ...], ...] | None:
    """The fields of each member; None where the members' parts hang together, or a value names a member."""
    first = one.members[0]
    every = [names.action(Renaming({first: other, other: first})) for other in one.members[1:]]
    if any(codes is not None for action in every for codes in action.codes):
        return None
    moved: set[int] | None = None
    for action in every:
        here = {index for index, place in enumerate(action.places) if place != index}
        away = {index for index in here if names.mentions(index, first)}
        moved = away if moved is None else moved
        if away != moved or any(names.mentions(action.places[index], first) for index in away):
            return None
    own = sorted(moved or ())
    parts = [tuple(own), *(tuple(action.places[index] for index in own) for action in every)]
    flat = [index for part in parts for index in part]
    every_moved = {index for action in every for index, place in enumerate(action.places) if place != index}
    return tuple(parts) if len(set(flat)) == len(flat) and set(flat) == every_moved else None


def merged(sets: Sequence[Set]) -> tuple[Set, ...]:
    """Sets of one kind that share a name are one."""
    found: list[Set] = []
    for one in sets:
        members = dict.fromkeys(one.members)
        kept: list[Set] = []
        for known in found:
            if known.what == one.what and members.keys() & set(known.members):
                members = dict.fromkeys([*known.members, *members])
            else:
                kept.append(known)
        found = [*kept, Set(one.what, tuple(members))]
    return tuple(found)
