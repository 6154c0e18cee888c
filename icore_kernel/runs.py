"""Paths of an exploration as runs for reports: each step by update name, with only the fields that it changed."""

from __future__ import annotations

from icore_kernel.explore import judge
from icore_kernel.explore.model import Exploration, FinalityBreak, Path, State, Violation, trace
from icore_kernel.system import System
from icore_kernel.verdict import Change, Run, Step


def run_of(system: System, path: Path, offending: int | None = None) -> Run:
    """The run along a path. `offending` is an update, by index, that may not commit in its last state."""
    state = path.initial
    initial = tuple((field.name, field.domain.show(state[field.index])) for field in system.free)
    steps: list[Step] = []
    for index in path.updates:
        after = judge.successor(system.updates[index], state)
        steps.append(step_of(system, index, state, after))
        state = after
    last = None
    if offending is not None:
        last = step_of(system, offending, state, judge.successor(system.updates[offending], state))
    return Run(initial, tuple(steps), last)


def step_of(system: System, index: int, before: State, after: State) -> Step:
    """One occurrence of update `index`, with what it changes. Values outside a domain are printed as numbers."""
    update = system.updates[index]
    changes = tuple(
        Change(field.name, field.domain.show(old), field.domain.show(new) if field.domain.lo <= new <= field.domain.hi else str(new))
        for field, old, new in zip(system.fields, before, after, strict=True)
        if old != new and field.root
    )
    return Step(update.name, update.actor, changes)


def run_to(exploration: Exploration, number: int) -> Run:
    """A shortest run to a state found."""
    return run_of(exploration.system, trace(exploration, number))


def run_of_violation(exploration: Exploration, violation: Violation) -> Run:
    """A shortest run to the illegal occurrence, which is its offending step."""
    return run_of(exploration.system, trace(exploration, violation.state), violation.update)


def run_of_finality(system: System, found: FinalityBreak) -> Run:
    """The run through a final state, and the step that changes an outcome as its last step (it commits)."""
    return run_of(system, Path(found.path.initial, (*found.path.updates, found.update)))


def end_of(system: System, path: Path) -> State:
    """The last state of a path."""
    state = path.initial
    for index in path.updates:
        state = judge.successor(system.updates[index], state)
    return state
