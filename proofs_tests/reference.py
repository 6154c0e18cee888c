"""A reference search: the semantics of exploration in the plainest Python, to compare the engines with.

It shares nothing with the engines but the scalar `evaluate`: no layout, no compilation, no cones, no block.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product

from icore_kernel.explore.model import Audited, Mode, Watchlist
from icore_kernel.meaning.scalar import evaluate
from icore_kernel.system import Kind, System

State = tuple[int, ...]


@dataclass
class Found:
    levels: list[list[State]] = field(default_factory=list)
    steps: list[tuple[State, int, State]] = field(default_factory=list)
    enabled: Counter[int] = field(default_factory=Counter)
    committable: Counter[int] = field(default_factory=Counter)
    refusals: Counter[tuple[str, str]] = field(default_factory=Counter)
    passed: Counter[str] = field(default_factory=Counter)
    violations: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    """(schema, label) -> the depth of every occurrence that fails it."""
    quiet: list[State] = field(default_factory=list)


def initial(system: System) -> list[State]:
    ranges = {f.index: range(f.domain.lo, f.domain.hi + 1) for f in system.free}
    states = product(*(ranges.get(place, (value,)) for place, value in enumerate(system.initial)))
    return [state for state in states if evaluate(system.initially, state)]


def search(system: System, mode: Mode) -> Found:
    found = Found()
    level, met = initial(system), set(initial(system))
    while level:
        found.levels.append(level)
        following: list[State] = []
        for state in level:
            productive = False
            for number in range(len(system.updates)):
                after = _occurrence(system, mode, number, state, len(found.levels) - 1, found)
                if after is None:
                    continue
                found.steps.append((state, number, after))
                productive = productive or after != state
                if after not in met:
                    met.add(after)
                    following.append(after)
            if not productive:
                found.quiet.append(state)
        level = following
    return found


def _occurrence(system: System, mode: Mode, number: int, state: State, depth: int, found: Found) -> State | None:
    update = system.updates[number]
    fault, audited = update.kind is Kind.FAULT, isinstance(mode, Audited)
    names = {update.schema, update.fault} if fault else {update.schema, update.schema + ".attempt"}
    through = None if isinstance(mode, Audited) else mode.through
    named = not audited and (through is None or bool(names & through))
    if (fault and not audited and not named) or not evaluate(update.when, state):
        return None
    found.enabled[number] += 1
    required = bool(evaluate(update.requires, state))
    found.committable[number] += required
    attempt = update.schema if fault else update.schema + ".attempt"
    if not required and not named:
        found.refusals[attempt, "requires"] += 1
        return None
    if not evaluate(update.defined, state):
        if required and not fault:
            found.violations.setdefault((update.schema, "range"), []).append(depth)
        else:
            found.refusals[update.schema if required else attempt, "range"] += 1
        return None
    values = {write.field.index: int(evaluate(write.value, state)) for write in update.writes}
    after = tuple(values.get(place, value) for place, value in enumerate(state))
    if not audited:
        return after
    failing = [clause.label for clause in update.before if not evaluate(clause.formula, state)]
    failing += [clause.label for clause in (*update.after, *system.feasibility) if not evaluate(clause.formula, after)]
    if fault and failing:
        found.refusals[update.schema, failing[0]] += 1
        return None
    if fault:
        found.passed[update.schema] += 1
    for label in set(failing):
        found.violations.setdefault((update.schema, label), []).append(depth)
    return after if not failing or update.kind is Kind.ENVIRONMENT else None


def extremes(watchlist: Watchlist, found: Found) -> dict[str, tuple[Fraction, Fraction]]:
    states = [state for level in found.levels for state in level]
    values = {
        measure.name: [Fraction(evaluate(measure.ratio.num, state), evaluate(measure.ratio.den, state)) for state in states]
        for measure in watchlist.minimums
    }
    return {name: (min(those), max(those)) for name, those in values.items() if those}


def finality_length(watchlist: Watchlist, found: Found) -> int | None:
    """The number of steps of a shortest run that passes a final state, up to and with the step that changes an outcome."""
    rows: dict[State, list[State]] = {}
    for before, _, after in found.steps:
        rows.setdefault(before, []).append(after)

    def outcome(state: State) -> list[int]:
        return [evaluate(clause.formula, state) for clause in watchlist.outcomes]

    distance = {
        state: depth
        for depth, level in enumerate(found.levels)
        for state in level
        if any(evaluate(term, state) for term in watchlist.final)
    }
    # Relaxation to a fixed point: slow, and obviously the shortest distances.
    changing = True
    while changing:
        changing = False
        for before in list(distance):
            for after in rows.get(before, []):
                if distance[before] + 1 < distance.get(after, 10**9):
                    distance[after] = distance[before] + 1
                    changing = True
    lengths = [distance[state] + 1 for state in distance for after in rows.get(state, []) if outcome(after) != outcome(state)]
    return min(lengths, default=None)
