"""Choice is not order: `given` freezes named choices, and definition 14 is decided for every way to freeze them.

A *slot* is one choice that a package leaves open: the agent of `assign` for one piece of work (`assign.m`), which of
`finish` and `fail` happens for one binding, which outcome. A frozen system must take one value a slot all along. Instead of
one exploration for each of the many total choices, the slots are bound when they are first used: a state of the extended
system is a state and the values bound so far. A state is a normal form under a total choice when every step out of it
would bind an open slot to another value; so each settled state stands for a box of total choices, and definition 14 given
the choices fails exactly when two boxes of states that settle differently meet (decision 33).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

from icore_kernel.system import Domain, DomainKind, Field, GroundUpdate, Kind, System, Write
from icore_kernel.terms.term import TermBank

OPEN = "open"
"""The value of a slot that is not bound yet; its code is 0."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One `given` item. `parameter`: the parameter whose value is frozen (`assign.m`); else `schemas` are alternatives."""

    name: str
    schemas: tuple[str, ...]
    parameter: str | None = None


def choice_of(system: System, paths: tuple[str, ...]) -> Choice:
    """`assign.m` freezes a parameter, `finish or fail` an alternative, `finish.ok` which outcome of `finish` comes about."""
    name = " or ".join(paths)
    if len(paths) > 1 or "." not in paths[0]:
        return Choice(name, paths)
    base, _, part = paths[0].partition(".")
    own = [u for u in system.updates if u.kind is not Kind.FAULT and u.schema.partition(".")[0] == base]
    if any(part in dict(u.binding) for u in own):
        return Choice(name, (base,), part)
    return Choice(name, tuple(dict.fromkeys(u.schema for u in own)))


Pick = tuple[int, int]
"""A slot and the code of one of its values."""


@dataclass(frozen=True, slots=True)
class Frozen:
    """The extended system: `first` is the index of the first slot's field; `picks[u]`: the (slot, code) that update u binds.

    `starts`: indices of the fields that say from which initial state a state is reached.
    """

    system: System
    first: int
    picks: tuple[tuple[Pick, ...], ...]
    sizes: tuple[int, ...]
    starts: tuple[int, ...] = ()

    @property
    def slots(self) -> int:
        return len(self.sizes)


Slot = tuple[int, tuple[tuple[str, str], ...]]

MOST_CANDIDATES = 1 << 24
"""For an initial state, in one search from all of them."""


def freeze(system: System, bank: TermBank, choices: Sequence[Choice]) -> Frozen:
    """Add one field a slot and let every update that is a choice bind it. Faults choose nothing."""
    values: dict[Slot, dict[str, int]] = {}
    picked: list[list[tuple[Slot, int]]] = []
    for update in system.updates:
        own: list[tuple[Slot, int]] = []
        for slot, value in _picks(update, choices):
            codes = values.setdefault(slot, {})
            own.append((slot, codes.setdefault(value, len(codes) + 1)))
        picked.append(own)
    first = len(system.fields)
    fields = list(system.fields)
    place: dict[Slot, int] = {}
    for slot, codes in values.items():
        number, rest = slot
        name = f"{choices[number].name} for {', '.join(v for _, v in rest)}" if rest else choices[number].name
        place[slot] = len(fields)
        fields.append(Field(name, Domain(DomainKind.ENUM, 0, len(codes), (OPEN, *codes)), len(fields), False, "choice"))
    updates: list[GroundUpdate] = []
    for update, own in zip(system.updates, picked, strict=True):
        guard, writes = update.when, list(update.writes)
        for slot, code in own:
            field = fields[place[slot]]
            guard = bank.and_(guard, bank.member(field.term(bank), (0, code)))
            writes.append(Write(field, bank.integer(code)))
        updates.append(replace(update, when=guard, writes=tuple(writes)) if own else update)
    extended = replace(
        system, fields=tuple(fields), initial=(*system.initial, *(0 for _ in values)), updates=tuple(updates), measures=(), watches=()
    )
    picks = tuple(tuple((place[slot] - first, code) for slot, code in own) for own in picked)
    return Frozen(extended, first, picks, tuple(len(codes) for codes in values.values()))


def from_everywhere(frozen: Frozen, bank: TermBank) -> Frozen | None:
    """The extended system with its start in the state: fields that may start differently and change later are copied, so that one search
    serves all initial states, and states that are reached from two of them stay apart. None where that makes too many candidates for an
    initial state."""
    system = frozen.system
    written = {w.field.index for update in system.updates for w in update.writes}
    copied = [f for f in system.free if f.index in written]
    if prod(f.domain.size for f in (*system.free, *copied)) > MOST_CANDIDATES:
        return None
    fields, same = list(system.fields), [system.initially]
    for field in copied:
        copy = Field(f"{field.name} at the start", field.domain, len(fields), False, "choice")
        fields.append(copy)
        same.append(bank.eq(field.term(bank), copy.term(bank)))
    copies = fields[len(system.fields) :]
    extended = replace(
        system,
        fields=tuple(fields),
        initial=(*system.initial, *(system.initial[f.index] for f in copied)),
        free=(*system.free, *copies),
        initially=bank.conj(same),
    )
    starts = tuple(f.index for f in (*(f for f in system.free if f.index not in written), *copies))
    return replace(frozen, system=extended, starts=starts)


def _picks(update: GroundUpdate, choices: Sequence[Choice]) -> Iterator[tuple[Slot, str]]:
    """The slots of an update and its values for them, one for every choice that names it."""
    if update.kind is Kind.FAULT:
        return
    base = update.schema.partition(".")[0]
    for number, choice in enumerate(choices):
        if choice.parameter is not None:
            binding = dict(update.binding)
            if base == choice.schemas[0] and choice.parameter in binding:
                yield (number, tuple((k, v) for k, v in update.binding if k != choice.parameter)), binding[choice.parameter]
        elif update.schema in choice.schemas:
            yield (number, update.binding), update.schema
        elif base in choice.schemas:
            yield (number, update.binding), base


@dataclass(frozen=True, slots=True)
class Box:
    """A settled state and the total choices under which it settles: for every slot the allowed codes, as bits."""

    state: int
    outcome: int
    allowed: tuple[int, ...]


def boxes(bound: Sequence[int], sizes: Sequence[int], out: Sequence[tuple[Pick, ...]]) -> list[tuple[int, ...]]:
    """The choices under which a state with these bound slots and these productive steps is a normal form, as disjoint boxes.

    `out`: for every step the (slot, code) that it binds or keeps to. A step is absent under a total choice that differs from it
    in an open slot; one that is no choice, or keeps to bound slots only, is always there.
    """
    found = [tuple(((1 << size) - 1) << 1 if code == 0 else 1 << code for code, size in zip(bound, sizes, strict=True))]
    for picks in set(out):
        open_ones = [(slot, code) for slot, code in picks if bound[slot] != code]
        found = [part for whole in found for part in _without(whole, open_ones)]
    return found


def _without(whole: tuple[int, ...], picks: Sequence[Pick]) -> Iterator[tuple[int, ...]]:
    """The part of a box that differs from the picks somewhere: equal in the earlier slots, different in one."""
    kept = list(whole)
    for slot, code in picks:
        bit = 1 << code
        if kept[slot] & ~bit:
            yield (*kept[:slot], kept[slot] & ~bit, *kept[slot + 1 :])
        if not kept[slot] & bit:
            return
        kept[slot] = bit


def collision(boxes: Sequence[Box], budget: int = 2_000_000) -> tuple[Box, Box] | str | None:
    """Two boxes with different outcomes that meet; None when there are none; a reason when the budget does not suffice."""
    if not boxes:
        return None
    slots = len(boxes[0].allowed)
    spent = 0
    pending: list[tuple[list[Box], int]] = [(list(boxes), 0)]
    while pending:
        group, slot = pending.pop()
        first = group[0].outcome
        if all(b.outcome == first for b in group):
            continue
        if slot == slots:
            other = next(b for b in group if b.outcome != first)
            return group[0], other
        spent += len(group)
        if spent > budget:
            return f"more than {budget:,} comparisons of frozen choices"
        masks = {b.allowed[slot] for b in group}
        if len(masks) == 1:
            pending.append((group, slot + 1))
            continue
        union = 0
        for mask in masks:
            union |= mask
        while union:
            bit = union & -union
            union ^= bit
            inside = [b for b in group if b.allowed[slot] & bit]
            if inside:
                pending.append((inside, slot + 1))
    return None
