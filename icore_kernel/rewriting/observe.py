"""What settlements are compared on: the whole vector (≡_X), or what `on` names."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence

from icore_kernel.system import Field, System

WORDS: dict[str, set[str]] = {
    "status": {"status", "present"},
    "assignee": {"assignee"},
    "marker": {"marker"},
    "coverage": set(),
    "terminal": {"reported"},
    "evidence": {"certificate", "cfield", "captured"},
}
"""Words that `on` takes, and the kinds of fields they mean; beside them the names of signature fields."""

COVERAGE = {"coverage", "compatibility"}
"""Assertions whose standing evidence `on coverage` compares (fields of kind `under`)."""


def observed(system: System, on: Sequence[str]) -> tuple[Field, ...]:
    """The fields that settlements are compared on; all of them when `on` is empty."""
    if not on:
        return system.fields
    kinds = set().union(*(WORDS.get(word, set()) for word in on))
    found = []
    for field in system.fields:
        about = field.name.partition("(")[0]
        if field.kind == "under":
            wanted = "coverage" in on and about in COVERAGE
        elif field.kind == "signature":
            wanted = about in on
        else:
            wanted = field.kind in kinds
        if wanted:
            found.append(field)
    return tuple(found)


def classes(states: int, settled: Sequence[int], state_of: Callable[[int], tuple[int, ...]], fields: Sequence[Field]) -> array[int]:
    """A number for each normal form: equal for those that agree on the fields. Other states get -1."""
    table = array("i", [-1]) * states
    known: dict[tuple[int, ...], int] = {}
    places = [f.index for f in fields]
    for number in settled:
        state = state_of(number)
        key = tuple(state[i] for i in places)
        table[number] = known.setdefault(key, len(known))
    return table
