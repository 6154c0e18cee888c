"""The assignment-time context of settled work (section 4.1): stored only where feasibility or value can change."""

from __future__ import annotations

from fractions import Fraction

from icore_kernel.ground.primitives import Primitives
from icore_kernel.ground.slots import Slot
from icore_kernel.ground.values import GroundingError, Quantity, Value, is_static
from icore_kernel.terms.node import Sort
from icore_kernel.terms.term import substitute

MOST_VALUES = 4_096


def declare_context(primitives: Primitives) -> None:
    """One slot an agent and obligation for each of F_D and v_D that reads the state, provided the obligation can be assigned."""
    p = primitives
    for work in p.u.works:
        if p.slots.field(("assignee", work)) is None:
            continue
        for agent in p.u.agents:
            for name in ("feasible", "value"):
                now = p.value_at(name, agent, work)
                if is_static(now):
                    continue
                values = _possible(p, now)
                initial = _at_start(p, now, values)
                key = ("then", name, work, agent)
                slot = Slot(key, f"{name}({agent}, {work}) when assigned", values, initial, False)
                p.slots.declare(slot)
                p.slots.add(slot)


def _possible(p: Primitives, now: Value) -> tuple[Value, ...]:
    if isinstance(now, Quantity):
        if now.den.lo != now.den.hi or now.num.hi - now.num.lo > MOST_VALUES:
            raise GroundingError("a value or feasibility rule has too many possible results to remember at assignment")
        return tuple(Fraction(n, now.den.lo) for n in range(now.num.lo, now.num.hi + 1))
    if getattr(now, "sort", None) is Sort.BOOL:
        return (False, True)
    return p.alg.as_choice(now).domain


def _at_start(p: Primitives, now: Value, values: tuple[Value, ...]) -> Value:
    """The valuation in the initial state, for work that starts assigned."""
    bank = p.alg.bank
    start = {}
    for f in p.slots.fields:
        if f not in p.slots.free:
            code = p.slots.initial[f.index]
            start[f.index] = bank.boolean(bool(code)) if f.domain.kind.value == "bool" else bank.integer(code)
    if isinstance(now, Quantity):
        number = substitute(bank, now.num, start)
        return Fraction(number.lo, now.den.lo) if number.lo == number.hi else values[0]
    if values == (False, True):
        return substitute(bank, p.alg.boolean(now), start).is_true
    index = substitute(bank, p.alg.as_choice(now).term, start)
    return values[index.lo]
