"""Paths of an exploration as runs for reports: each step by update name, with only the fields that it changed."""

from __future__ import annotations

from icore_kernel.explore import judge
from icore_kernel.explore.model import Exploration, FinalityBreak, Path, State, Violation, trace
from icore_kernel.system import Domain, System
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
    """One occurrence of update `index`, with what it changes. Where its writes leave their domains: with what was to be written."""
    update = system.updates[index]
    due = judge.due(update, before)
    changes: list[Change] = []
    for field, old, new in zip(system.fields, before, after, strict=True):
        shown = field.domain.show(old), str(due[field.index]) if field.index in due else _shown(field.domain, new)
        if field.root and shown[0] != shown[1]:
            changes.append(Change(field.name, *shown))
    return Step(update.name, update.actor, tuple(changes))


def _shown(domain: Domain, code: int) -> str:
    return domain.show(code) if domain.lo <= code <= domain.hi else str(code)


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
