"""Whether one run, and the cycle it goes round in the end, breaks a property: looked at state by state, without any search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from icore_kernel.explore import judge
from icore_kernel.explore.model import Mode, State
from icore_kernel.meaning import scalar
from icore_kernel.rewriting.liveness import Fairness, demands_of
from icore_kernel.system import Clause, Property, PropertyKind, System
from icore_kernel.terms.node import Term


@dataclass(frozen=True, slots=True)
class Course:
    """The states of a run, the initial one first; then those after each step of its cycle, and the updates that make these steps."""

    stem: tuple[State, ...]
    cycle: tuple[State, ...]
    taken: tuple[int, ...]

    @property
    def last(self) -> State:
        """Where the run ends, or its cycle begins."""
        return self.stem[-1]


def breaks(system: System, mode: Mode, name: str, course: Course) -> bool | None:
    """Whether the run breaks what has this name in a report; None where one run cannot show it."""
    prop = next((p for p in system.properties if p.name == name), None)
    if prop is not None:
        return _property(system, mode, prop, course)
    match name:
        case "feasibility":
            return not _all(system.feasibility, course.last)
        case "soundness":
            return not _all(system.soundness, course.last)
        case "reports":
            return _all(system.accept, course.last) and _all(system.reject, course.last)
        case "dead ends":
            return not _ended(system, course.last) and not _moves(system, mode, course.last)
        case _:
            return None


def _property(system: System, mode: Mode, prop: Property, course: Course) -> bool | None:
    states = (*course.stem, *course.cycle)
    match prop.kind:
        case PropertyKind.INVARIANT:
            return not _holds(prop.formula, course.last)
        case PropertyKind.UNREACHABLE:
            return _holds(prop.formula, course.last)
        case PropertyKind.TERMINATION:
            return bool(course.cycle) and course.cycle[-1] == course.last
        case PropertyKind.EVENTUALLY:
            return not any(_holds(prop.formula, state) for state in states) and _fair(system, mode, course)
        case PropertyKind.SETTLEMENT:
            settled = (_ended(system, state) if system.has_obligations else not _moves(system, mode, state) for state in states)
            return not any(settled) and _fair(system, mode, course)
        case PropertyKind.LEADSTO if prop.goal is not None:
            met = [number for number, state in enumerate(states) if _holds(prop.goal, state)]
            # What is met in the cycle is met again and again.
            since = len(states) if met and met[-1] >= len(course.stem) else met[-1] + 1 if met else 0
            return any(_holds(prop.formula, state) for state in states[since:]) and _fair(system, mode, course)
        case _:
            return None


def _holds(formula: Term, state: State) -> bool:
    return bool(scalar.evaluate(formula, state))


def _all(clauses: Sequence[Clause], state: State) -> bool:
    return all(_holds(clause.formula, state) for clause in clauses)


def _ended(system: System, state: State) -> bool:
    """Accept, Reject or certified Stuck."""
    return any(clauses and _all(clauses, state) for clauses in (system.accept, system.reject, system.stuck))


def _moves(system: System, mode: Mode, state: State) -> list[int]:
    """The updates that are committed there and change the state."""
    return [number for number in range(len(system.updates)) if judge.committed(system, mode, number, state) not in (None, state)]


def _fair(system: System, mode: Mode, course: Course) -> bool:
    """Whether a fair run may go on so for ever, or end there (A.7, decisions 35 and 38)."""
    demands = demands_of(system)
    if not course.cycle:
        return not any(demands.of[number] for number in _moves(system, mode, course.last))
    if course.cycle[-1] != course.last:
        return False
    met = {demand for number in course.taken for demand in demands.of[number]}
    asked = [{demand for number in _moves(system, mode, state) for demand in demands.of[number]} for state in course.cycle]
    for demand, kind in enumerate(demands.kinds):
        here = [demand in some for some in asked]
        if demand not in met and (any(here) if kind is Fairness.STRONG else all(here)):
            return False
    return True
