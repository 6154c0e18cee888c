"""What exchanging names does to a grounded system: to its fields, to the codes of their values, to its updates.

A permutation of names is only a proposal: whether the system looks the same afterwards is checked (symmetry.py).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property

from icore_dsl.syntax import Span
from icore_kernel.explore.model import State
from icore_kernel.system import Domain, DomainKind, Field, GroundUpdate, System

Codes = tuple[int, ...]
"""For each code of a field, less the least one, the code in the field it goes to."""


class Misfit(Exception):
    """Something of the system has no counterpart under the other names."""

    def __init__(self, text: str, span: Span | None = None) -> None:
        self.text = text
        self.span = span
        super().__init__(text)


class Renaming:
    """A permutation of names: `mapping` from each name that moves to the name it gets."""

    def __init__(self, mapping: Mapping[str, str]) -> None:
        self.mapping = {old: new for old, new in mapping.items() if old != new}

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        # A name stands alone: not inside a longer word, and not as the head of a family or of a schema.
        names = sorted(self.mapping, key=len, reverse=True)
        return re.compile("(?<!\\w)(?:" + "|".join(re.escape(name) for name in names) + ")(?![\\w\\[(])")

    def of(self, text: str) -> str:
        """The text with all names exchanged at once."""
        return self._pattern.sub(lambda found: self.mapping[found.group()], text) if self.mapping else text

    def inverse(self) -> Renaming:
        return Renaming({new: old for old, new in self.mapping.items()})

    def after(self, first: Renaming) -> Renaming:
        """`first`, then this one."""
        names = first.mapping.keys() | self.mapping.keys()
        middle = {name: first.mapping.get(name, name) for name in names}
        return Renaming({name: self.mapping.get(then, then) for name, then in middle.items()})


class Action:
    """A renaming as it acts: the value of field i goes to field `places[i]`, recoded by `codes[i]` (None: as it is); update u
    becomes update `updates[u]`."""

    def __init__(self, renaming: Renaming, places: tuple[int, ...], codes: tuple[Codes | None, ...], updates: tuple[int, ...]) -> None:
        self.renaming = renaming
        self.places = places
        self.codes = codes
        self.updates = updates
        self._moved = [(i, place) for i, (place, code) in enumerate(zip(places, codes, strict=True)) if code is None and place != i]
        self._coded = [(i, place, code) for i, (place, code) in enumerate(zip(places, codes, strict=True)) if code is not None]

    def image(self, state: State) -> State:
        """The state with the names exchanged."""
        if not self._moved and not self._coded:
            return state
        after = list(state)
        for i, place in self._moved:
            after[place] = state[i]
        for i, place, code in self._coded:
            after[place] = code[state[i]]
        return tuple(after)


class Names:
    """The fields and updates of a system by their names; makes actions of renamings, each once."""

    def __init__(self, system: System) -> None:
        self.system = system
        self._fields: dict[tuple[str, str, str], Field] = {(f.kind, f.owner, f.name): f for f in system.fields}
        self._updates = {_key(u): number for number, u in enumerate(system.updates)}
        self._actions: dict[frozenset[tuple[str, str]], Action] = {}

    def action(self, renaming: Renaming) -> Action:
        """Misfit where a field, a value or an update has no counterpart, or two have the same name."""
        key = frozenset(renaming.mapping.items())
        known = self._actions.get(key)
        if known is None:
            known = self._actions[key] = self._made(renaming)
        return known

    def mentions(self, index: int, name: str) -> bool:
        """Whether a field's name has this name in it."""
        field = self.system.fields[index]
        return Renaming({name: ""}).of(f"{field.owner} {field.name}") != f"{field.owner} {field.name}"

    def _made(self, renaming: Renaming) -> Action:
        system = self.system
        if len(self._fields) != len(system.fields) or len(self._updates) != len(system.updates):
            raise Misfit("two fields, or two occurrences, have the same name")
        places: list[int] = []
        codes: list[Codes | None] = []
        for field in system.fields:
            other = self._fields.get((field.kind, renaming.of(field.owner), renaming.of(field.name)))
            if other is None:
                raise Misfit(f"there is no {renaming.of(field.name)} to go with {field.name}")
            places.append(other.index)
            codes.append(_recoded(renaming, field.name, field.domain, other.domain))
        updates: list[int] = []
        for update in system.updates:
            number = self._updates.get(_renamed(renaming, update))
            if number is None:
                raise Misfit(f"{update.name} can happen, but no {renaming.of(update.name)}", update.span)
            updates.append(number)
        return Action(renaming, tuple(places), tuple(codes), tuple(updates))


def _key(update: GroundUpdate) -> tuple[str, tuple[tuple[str, str], ...]]:
    return update.schema, update.binding


def _renamed(renaming: Renaming, update: GroundUpdate) -> tuple[str, tuple[tuple[str, str], ...]]:
    return update.schema, tuple((name, renaming.of(value)) for name, value in update.binding)


def _recoded(renaming: Renaming, name: str, domain: Domain, other: Domain) -> Codes | None:
    """Where each code goes. None: to itself."""
    if (domain.kind, domain.lo, domain.hi) != (other.kind, other.lo, other.hi):
        raise Misfit(f"{name} and {renaming.of(name)} do not have the same values")
    if domain.kind is not DomainKind.ENUM:
        return None
    codes = {value: code for code, value in enumerate(other.names)}
    found: list[int] = []
    for value in domain.names:
        code = codes.get(renaming.of(value))
        if code is None:
            raise Misfit(f"{name} can be {value}, but {renaming.of(name)} cannot be {renaming.of(value)}")
        found.append(code)
    return None if found == list(range(len(found))) else tuple(found)
