"""What one occurrence comes to, by the scalar meaning: the yardstick for every engine, used where few states are looked at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import assert_never

from icore_kernel.explore.model import Audited, Failing, Mode, Phase, State, Unaudited
from icore_kernel.meaning import scalar
from icore_kernel.system import Clause, GroundUpdate, Kind, System
from icore_kernel.terms.term import Term


class LostStep(Exception):
    """No update leads to a state from where it was found: an engine and the scalar meaning disagree."""


@dataclass(frozen=True, slots=True)
class Role:
    """What a mode makes of one update: `occurs` at all; its occurrences are `judged`; attempts `pass` as if required.

    `name` is what its refusals are counted under, `attempt` the same for occurrences without `requires`.
    """

    occurs: bool
    judged: bool
    attempts_pass: bool
    fault: bool
    name: str
    attempt: str


def role(update: GroundUpdate, mode: Mode) -> Role:
    fault = update.kind is Kind.FAULT
    attempt = update.schema if fault else f"{update.schema}.attempt"
    match mode:
        case Audited():
            return Role(True, True, False, fault, update.schema, attempt)
        case Unaudited(through=None):
            return Role(True, False, True, fault, update.schema, attempt)
        case Unaudited(through=names):
            assert names is not None
            named = bool(names & {update.schema, update.fault if fault else attempt})
            return Role(named or not fault, False, named, fault, update.schema, attempt)
        case _:
            assert_never(mode)


def roles(system: System, mode: Mode) -> tuple[Role, ...]:
    return tuple(role(update, mode) for update in system.updates)


def unaudited_names(system: System) -> tuple[str, ...]:
    """What `Unaudited.through` may name: each fault by its own name, and `schema.attempt` where `requires` can fail."""
    found: dict[str, None] = {}
    for update in system.updates:
        if update.kind is Kind.FAULT:
            found[update.fault or update.schema] = None
        elif not update.requires.is_true:
            found[f"{update.schema}.attempt"] = None
    return tuple(found)


def successor(update: GroundUpdate, state: State) -> State:
    """The state after all writes at once; meaningful where `defined` holds."""
    after = list(state)
    for write in update.writes:
        after[write.field.index] = int(scalar.evaluate(write.value, state))
    return tuple(after)


def due(update: GroundUpdate, state: State) -> dict[int, Fraction]:
    """By field index, the numbers that are to be written where they may leave their domains; none where `defined` holds, or by zero."""
    if scalar.evaluate(update.defined, state):
        return {}
    found: dict[int, Fraction] = {}
    for write in update.writes:
        if write.due is not None:
            number, divisor = (int(scalar.evaluate(term, state)) for term in (write.due.num, write.due.den))
            if divisor:
                found[write.field.index] = Fraction(number, divisor)
    return found


def occurs(update: GroundUpdate, state: State) -> bool:
    return bool(scalar.evaluate(update.when, state))


def failing(system: System, update: GroundUpdate, state: State) -> tuple[Failing, ...]:
    """The clauses that make an occurrence illegal, in order. `requires`, then `range`, each hides what comes after it."""
    if not scalar.evaluate(update.requires, state):
        return (Failing(Phase.REQUIRES, own_clause("requires", update.requires, update)),)
    if not scalar.evaluate(update.defined, state):
        return (Failing(Phase.RANGE, own_clause("range", update.defined, update)),)
    after = successor(update, state)
    return tuple(_illegal(system, update, state, after))


def own_clause(label: str, formula: Term, update: GroundUpdate) -> Clause:
    """A part of an update's own text (`when`, `requires`, `range`) as a clause."""
    return Clause(label, formula, spans=() if update.span is None else (update.span,), instance=update.name)


def feasibility(system: System) -> scalar.Together:
    """Its clauses, for whoever judges many occurrences: they share most of their terms."""
    return scalar.Together([clause.formula for clause in system.feasibility])


def _illegal(
    system: System, update: GroundUpdate, before: State, after: State, feasible: scalar.Together | None = None
) -> Iterator[Failing]:
    for phase, clauses, state, ready in (
        (Phase.BEFORE, update.before, before, None),
        (Phase.AFTER, update.after, after, None),
        (Phase.FEASIBILITY, system.feasibility, after, feasible),
    ):
        values = (ready or scalar.Together([clause.formula for clause in clauses])).at(state)
        yield from (Failing(phase, clause) for clause, value in zip(clauses, values, strict=True) if not value)


def committed(system: System, mode: Mode, number: int, state: State, feasible: scalar.Together | None = None) -> State | None:
    """The successor by update `number`, or None where it does not commit (or does not occur). `feasible`: `feasibility(system)`, where
    the caller asks more than once."""
    update = system.updates[number]
    part = role(update, mode)
    if not part.occurs or not occurs(update, state):
        return None
    required = bool(scalar.evaluate(update.requires, state))
    if not (required or part.attempts_pass) or not scalar.evaluate(update.defined, state):
        return None
    after = successor(update, state)
    if part.judged and update.kind is not Kind.ENVIRONMENT and any(_illegal(system, update, state, after, feasible)):
        return None
    return after


def refused(system: System, mode: Mode, state: State) -> tuple[tuple[int, str], ...]:
    """(update index, first failing label) for every occurrence in the state that does not commit."""
    found: list[tuple[int, str]] = []
    for number, update in enumerate(system.updates):
        if role(update, mode).occurs and occurs(update, state) and committed(system, mode, number, state) is None:
            why = failing(system, update, state)
            label = why[0].clause.label if why else "range"
            if role(update, mode).attempts_pass:
                label = "range"
            found.append((number, label))
    return tuple(found)
