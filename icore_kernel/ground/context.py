"""The assignment-time context of settled work (section 4.1): stored only where feasibility or value can change."""

from __future__ import annotations

from fractions import Fraction

from icore_dsl.mistakes import G004
from icore_kernel.ground.primitives import Primitives
from icore_kernel.ground.slots import FREE, Free, Slot
from icore_kernel.ground.values import Element, GroundingError, Quantity, Value, is_static
from icore_kernel.system import DomainKind
from icore_kernel.terms.node import Term
from icore_kernel.terms.table import Sort
from icore_kernel.terms.term import substitute

MOST_VALUES = 4_096


def declare_context(primitives: Primitives) -> Term:
    """One slot an agent and obligation for each of F_D and v_D that reads the state, provided the obligation can be assigned.

    Work that starts assigned was judged in the initial state: what the answer requires of states that start anywhere.
    """
    p = primitives
    required: list[Term] = []
    for work, declared in p.u.works.items():
        if p.slots.field(("assignee", work)) is None:
            continue
        for agent in p.u.agents:
            for name in ("feasible", "value"):
                now = p.value_at(name, agent, work)
                if is_static(now):
                    continue
                values = _possible(p, now)
                initial = values[0] if declared.assigned is None else _at_start(p, now, values)
                slot = Slot(("then", work, name, agent), f"{name}({agent}, {work}) when assigned", values, initial, False)
                p.slots.declare(slot)
                p.slots.add(slot)
                if isinstance(initial, Free):
                    required.append(p.alg.boolean(p.alg.equal(p.slots.value(slot.key), now)))
    return p.alg.bank.conj(required)


def _possible(p: Primitives, now: Value) -> tuple[Value, ...]:
    if isinstance(now, Term) and now.sort is Sort.BOOL:
        return (False, True)
    if isinstance(now, Quantity) and (now.den.lo != now.den.hi or now.num.hi - now.num.lo > MOST_VALUES):
        raise GroundingError(G004, "a value has too many possible results to be remembered at assignment")
    return p.alg.as_choice(now).domain


def _at_start(p: Primitives, now: Value, values: tuple[Value, ...]) -> Value | Free:
    """The valuation in the initial state; FREE where it depends on fields that start anywhere."""
    bank = p.alg.bank
    start: dict[int, Term] = {}
    for f in p.slots.fields:
        if f not in p.slots.free:
            code = p.slots.initial[f.index]
            start[f.index] = bank.boolean(bool(code)) if f.domain.kind is DomainKind.BOOL else bank.integer(code)
    index = substitute(bank, p.alg.as_choice(now).term, start)
    known = values[index.lo] if index.lo == index.hi else FREE
    return known if known is None or isinstance(known, (bool, Fraction, Element)) else FREE
