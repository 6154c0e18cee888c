"""What settlements are compared on: the whole vector (≡_X), or what `on` names."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence

from icore_kernel.system import Field, System

WORDS = {
    "status": {"status"},
    "assignee": {"assignee"},
    "marker": {"marker"},
    "presence": {"present"},
    "signature": {"signature"},
    "certificates": {"certificate", "cfield"},
    "artifacts": {"artifact", "afield"},
    "inputs": {"ifield"},
    "agents": {"agent"},
    "relations": {"relation"},
    "reports": {"reported"},
    "clocks": {"clock"},
}
"""Words that `on` takes, beside the names of inputs, artifacts, certificates, relations and signature fields."""


def observed(system: System, on: Sequence[str]) -> tuple[Field, ...]:
    """The fields that settlements are compared on; all of them when `on` is empty."""
    if not on:
        return system.fields
    kinds = set().union(*(WORDS.get(word, set()) for word in on))
    return tuple(f for f in system.fields if f.kind in kinds or f.owner in on or f.name.partition("(")[0] in on)


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
