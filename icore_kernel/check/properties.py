"""Declared properties: invariants, bounds, reachable and unreachable; what this version cannot decide is `unknown`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import assert_never

from icore_kernel.check.answers import engine, exhaustive, in_states, plural, sighting
from icore_kernel.check.plan import INVARIANT, SEEN
from icore_kernel.check.quiet import failing_clauses
from icore_kernel.check.reasons import reasons_of
from icore_kernel.explore.model import Exploration, State
from icore_kernel.meaning.nearest import nearest
from icore_kernel.runs import run_to
from icore_kernel.system import Clause, Property, PropertyKind, System
from icore_kernel.terms.node import conjuncts
from icore_kernel.verdict import Assurance, Reason, Result, Verdict

Decide = Callable[[Property], Result]


def property_results(system: System, exploration: Exploration, decide: Decide, rootless: str = "") -> Iterator[Result]:
    """In the order of the text. `decide` answers for the properties of the step graph (plan.ON_GRAPH), and for symmetry.
    `rootless`: where Accept and Reject can never hold for want of required work, how to mark some."""
    for number, prop in enumerate(system.properties):
        match prop.kind:
            case PropertyKind.INVARIANT:
                yield _invariant(system, exploration, prop, f"{INVARIANT}:{number}")
            case PropertyKind.REACHABLE:
                yield _reachable(system, exploration, prop, f"{SEEN}:{number}", rootless)
            case PropertyKind.UNREACHABLE:
                yield _unreachable(exploration, prop, f"{SEEN}:{number}")
            case PropertyKind.TERMINATION | PropertyKind.SETTLEMENT | PropertyKind.STABILITY:
                yield decide(prop)
            case PropertyKind.EVENTUALLY | PropertyKind.LEADSTO | PropertyKind.CONTROLLABLE | PropertyKind.SYMMETRY:
                yield decide(prop)
            case PropertyKind.UNDECIDED:
                yield Result(prop.name, Verdict.UNKNOWN, Assurance.NONE, "not decided by this version", prop.span)
            case _:
                assert_never(prop.kind)


def _invariant(system: System, exploration: Exploration, prop: Property, key: str) -> Result:
    found = sighting(exploration, "checks", key)
    if found.first is None:
        return exhaustive(exploration, prop.name, f"in {plural(exploration.states, 'state')}", prop.span)
    clause = Clause(prop.name, prop.formula, prop.text, (prop.span,))
    state = exploration.store.state(found.first)
    return Result(
        prop.name, Verdict.VIOLATED, Assurance.EXHAUSTIVE, in_states(exploration, found.count), prop.span, run_to(exploration, found.first),
        reasons_of(system, clause, state), engine(exploration), seconds=exploration.seconds,
    )  # fmt: skip


def _reachable(system: System, exploration: Exploration, prop: Property, key: str, rootless: str) -> Result:
    found = sighting(exploration, "seen", key)
    if found.first is not None:
        run = run_to(exploration, found.first)
        detail = f"after {plural(len(run.steps), 'step')}, {in_states(exploration, found.count)}"
        return Result(
            prop.name, Verdict.HOLDS, Assurance.EXHAUSTIVE, detail, prop.span, engine=engine(exploration), seconds=exploration.seconds
        )
    result = exhaustive(exploration, prop.name, "", prop.span)
    if result.verdict is not Verdict.HOLDS:
        return result
    if rootless and prop.formula.is_false and prop.text in {"accept", "reject"}:  # no run comes nearer than another
        detail = f"in none of {plural(exploration.states, 'reachable state')}"
        return Result(
            prop.name, Verdict.VIOLATED, Assurance.EXHAUSTIVE, detail, prop.span,
            engine=engine(exploration), repair=rootless, seconds=exploration.seconds,
        )  # fmt: skip
    near = _nearest_end(exploration, prop)
    way = None if near is None else run_to(exploration, near)
    reasons = () if near is None else _lacking(system, prop, exploration.store.state(near))
    detail = f"in none of {plural(exploration.states, 'reachable state')}"
    if way is not None:
        detail += f" · the nearest end is after {plural(len(way.steps), 'step')}"
    return Result(
        prop.name, Verdict.VIOLATED, Assurance.EXHAUSTIVE, detail, prop.span,
        way, reasons, engine(exploration), seconds=exploration.seconds,
    )  # fmt: skip


def _nearest_end(exploration: Exploration, prop: Property) -> int | None:
    """Of the first dead end and the first states with Accept, Reject and Stuck, the one in which the formula lacks least."""
    found = [exploration.dead_ends.first, *(sighting(exploration, "seen", name).first for name in ("accept", "reject", "stuck"))]
    ends = sorted({number for number in found if number is not None})
    return min(ends, key=lambda number: len(nearest(prop.formula, exploration.store.state(number))), default=None)


def _lacking(system: System, prop: Property, state: State) -> tuple[Reason, ...]:
    """What the formula lacks in a state; of Accept, Reject or Stuck, clause by clause.

    They are known by their names, or by what they are where that is no constant: then two of them can be the same.
    """
    ends = {"accept": system.accept, "reject": system.reject, "stuck": system.stuck}
    whole = set(conjuncts(prop.formula))
    alike = (e for e in ends.values() if not prop.formula.is_false and e and {x for c in e for x in conjuncts(c.formula)} == whole)
    clauses = ends.get(prop.text) or next(alike, (Clause(prop.name, prop.formula, text=prop.text, spans=(prop.span,)),))
    return tuple(reason for clause in failing_clauses(clauses, state) for reason in reasons_of(system, clause, state))[:4]


def _unreachable(exploration: Exploration, prop: Property, key: str) -> Result:
    found = sighting(exploration, "seen", key)
    if found.first is None:
        return exhaustive(exploration, prop.name, f"in none of {plural(exploration.states, 'state')}", prop.span)
    return Result(
        prop.name, Verdict.VIOLATED, Assurance.EXHAUSTIVE, in_states(exploration, found.count), prop.span,
        run_to(exploration, found.first), engine=engine(exploration), seconds=exploration.seconds,
    )  # fmt: skip
