"""Choice is not order: `given` freezes named choices, and definition 14 is decided for every way to freeze them.

A *slot* is one choice that a package leaves open: the agent of `assign` for one piece of work (`assign.m`), which of
`finish` and `fail` happens for one binding, which outcome. A frozen system must take one value a slot all along. Instead of
one exploration for each of the many total choices, the slots are bound when they are first used: a state of the extended
system is a state and the values bound so far. A state is a normal form under a total choice when every step out of it
would bind an open slot to another value; so each settled state stands for a box of total choices, and definition 14 given
the choices fails exactly when two boxes of states that settle differently meet (decision: spec/decisions.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from icore_kernel.system import Domain, DomainKind, Field, GroundUpdate, Kind, System, Write
from icore_kernel.terms.term import TermBank

OPEN = "open"
"""The value of a slot that is not bound yet; its code is 0."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One `given` item. `parameter`: the parameter whose value is frozen (`assign.m`); else `schemas` are alternatives."""

    schemas: tuple[str, ...]
    parameter: str | None = None

    def __str__(self) -> str:
        return f"{self.schemas[0]}.{self.parameter}" if self.parameter else " or ".join(self.schemas)


@dataclass(frozen=True, slots=True)
class Frozen:
    """The extended system: `first` is the index of the first slot's field; `slot_of[u]`: (slot, code) that update u binds, or None."""

    system: System
    first: int
    slot_of: tuple[tuple[int, int] | None, ...]
    sizes: tuple[int, ...]

    @property
    def slots(self) -> int:
        return len(self.sizes)


def freeze(system: System, bank: TermBank, choices: Sequence[Choice]) -> Frozen:
    """Add one field a slot and let every update that is a choice bind it. Faults choose nothing."""
    values: dict[tuple[int, tuple[tuple[str, str], ...]], dict[str, int]] = {}
    picks: list[tuple[tuple[int, tuple[tuple[str, str], ...]], int] | None] = []
    for update in system.updates:
        picked = None if update.kind is Kind.FAULT else _pick(update, choices)
        if picked is None:
            picks.append(None)
            continue
        key, value = picked
        codes = values.setdefault(key, {})
        picks.append((key, codes.setdefault(value, len(codes) + 1)))
    first = len(system.fields)
    fields = list(system.fields)
    place: dict[tuple[int, tuple[tuple[str, str], ...]], int] = {}
    for key, codes in values.items():
        number, rest = key
        name = f"{choices[number]} for {', '.join(v for _, v in rest)}" if rest else str(choices[number])
        domain = Domain(DomainKind.ENUM, 0, len(codes), (OPEN, *codes))
        place[key] = len(fields)
        fields.append(Field(name, domain, len(fields), kind="choice"))
    updates: list[GroundUpdate] = []
    slot_of: list[tuple[int, int] | None] = []
    for update, pick in zip(system.updates, picks, strict=True):
        if pick is None:
            updates.append(update)
            slot_of.append(None)
            continue
        key, code = pick
        field = fields[place[key]]
        variable = bank.variable(field.name, field.index, field.domain.lo, field.domain.hi, False)
        guard = bank.and_(update.when, bank.member(variable, (0, code)))
        updates.append(replace(update, when=guard, writes=(*update.writes, Write(field, bank.integer(code)))))
        slot_of.append((place[key] - first, code))
    extended = replace(
        system, fields=tuple(fields), initial=(*system.initial, *(0 for _ in values)), updates=tuple(updates), measures=(), watches=()
    )
    return Frozen(extended, first, tuple(slot_of), tuple(len(v) for v in values.values()))


def _pick(update: GroundUpdate, choices: Sequence[Choice]) -> tuple[tuple[int, tuple[tuple[str, str], ...]], str] | None:
    """(slot, value) of an update under the first choice that names it."""
    base = update.schema.partition(".")[0]
    for number, choice in enumerate(choices):
        if choice.parameter is not None and choice.schemas[0] in {update.schema, base}:
            binding = dict(update.binding)
            if choice.parameter in binding:
                rest = tuple((k, v) for k, v in update.binding if k != choice.parameter)
                return (number, rest), binding[choice.parameter]
        elif choice.parameter is None:
            if update.schema in choice.schemas:
                return (number, update.binding), update.schema
            if base in choice.schemas:
                return (number, update.binding), base
    return None


@dataclass(frozen=True, slots=True)
class Box:
    """A settled state and the total choices under which it settles: for every slot the allowed codes, as bits."""

    state: int
    outcome: int
    allowed: tuple[int, ...]


def box(bound: Sequence[int], sizes: Sequence[int], out: Sequence[tuple[int, int] | None]) -> tuple[int, ...] | None:
    """The choices under which a state with these bound slots and these productive steps is a normal form; None when there are none.

    `out`: for every step the (slot, code) that it binds or keeps to, None for a step that is no choice.
    """
    allowed = [((1 << size) - 1) << 1 if code == 0 else 1 << code for code, size in zip(bound, sizes, strict=True)]
    for pick in out:
        if pick is None:
            return None
        slot, code = pick
        if bound[slot] == code:
            return None  # it keeps to its choice: this step is there
        allowed[slot] &= ~(1 << code)
        if not allowed[slot]:
            return None
    return tuple(allowed)


def collision(boxes: Sequence[Box], budget: int = 2_000_000) -> tuple[Box, Box] | None | str:
    """Two boxes with different outcomes that meet; None when there are none; a reason when the budget does not suffice."""
    slots = len(boxes[0].allowed) if boxes else 0
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
