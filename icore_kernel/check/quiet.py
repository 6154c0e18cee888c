"""A state where nothing productive can follow: which end it misses, what its unresolved work waits for, what was refused there."""

from __future__ import annotations

from collections.abc import Sequence

from icore_kernel.check.plan import UNRESOLVED
from icore_kernel.check.reasons import reasons_of
from icore_kernel.explore import judge
from icore_kernel.explore.model import Audited, State
from icore_kernel.meaning import scalar
from icore_kernel.meaning.nearest import nearest
from icore_kernel.system import Clause, GroundUpdate, Kind, System
from icore_kernel.terms.node import Term, variables
from icore_kernel.verdict import Reason

MOST_WAITING = 3


def why_no_end(system: System, state: State) -> tuple[Reason, ...]:
    """The clauses that fail of the nearer end, at most two; then what each unresolved obligation waits for."""
    return (*missed(system, state)[:2], *waiting(system, state))


def blocked(system: System, state: State) -> tuple[Reason, ...]:
    """What each unresolved obligation waits for; where all work is settled, the clauses that fail of the nearer end."""
    return waiting(system, state) or missed(system, state)[:2]


def missed(system: System, state: State) -> tuple[Reason, ...]:
    """The clauses that fail of Acc or of Rej, whichever has fewer (Acc where both have as many). Empty where one of them holds."""
    ends = [failing_clauses(clauses, state) for clauses in (system.accept, system.reject) if clauses]
    return tuple(r for clause in min(ends, key=len, default=()) for r in reasons_of(system, clause, state))


def failing_clauses(clauses: tuple[Clause, ...], state: State) -> tuple[Clause, ...]:
    return tuple(c for c in clauses if not scalar.evaluate(c.formula, state))


def waiting(system: System, state: State) -> tuple[Reason, ...]:
    """For each unresolved obligation: what refuses an update that would move it, or what the nearest such update waits for."""
    found: list[Reason] = []
    for field in system.fields:
        if field.kind != "status" or field.domain.show(state[field.index]) not in UNRESOLVED:
            continue
        said = f"{field.name} is {field.domain.show(state[field.index])}"
        movers = [u for u in system.updates if u.kind is not Kind.FAULT and any(w.field.index == field.index for w in u.writes)]
        refused = next((u for u in movers if judge.occurs(u, state) and judge.failing(system, u, state)), None)
        waits = _nearest(system, movers, state)
        if refused is not None:
            label = judge.failing(system, refused, state)[0].clause.label
            found.append(Reason(said, f"{refused.name} would move it, and is refused by {label}", refused.span))
        elif waits is not None:
            spans = () if waits.span is None else (waits.span,)
            found.append(reasons_of(system, Clause(f"{said}: {waits.name} waits for", waits.when, spans=spans), state)[0])
        else:
            found.append(Reason(said, "no update moves it from there", None))
    return tuple(found[:MOST_WAITING])


def _nearest(system: System, movers: Sequence[GroundUpdate], state: State) -> GroundUpdate | None:
    """Of the updates that are not enabled, the one whose `when` lacks least; the environment's only where there is no other.

    An update that lacks nothing but its assignee, where the work has another, is another agent's: it comes after the others too.
    """
    ranked: list[tuple[bool, bool, int, int]] = []
    for place, update in enumerate(movers):
        lacks = [leaf for leaf, _ in nearest(update.when, state)]
        if lacks:
            elsewhere = all(_assigned(system, leaf, state) for leaf in lacks)
            ranked.append((update.kind is Kind.ENVIRONMENT, elsewhere, len(lacks), place))
    return movers[min(ranked)[-1]] if ranked else None


def _assigned(system: System, leaf: Term, state: State) -> bool:
    """Whether a leaf speaks of nothing but assignees, and there are such."""
    read = [system.fields[v.index] for v in variables(leaf)]
    return bool(read) and all(f.kind == "assignee" and f.domain.show(state[f.index]) != "none" for f in read)


def refusals(system: System, state: State) -> str:
    """What was attempted in the state and refused, by which clause."""
    found = [f"{system.updates[u].name} by {label}" for u, label in judge.refused(system, Audited(), state)]
    if not found:
        return "nothing was refused there: let an update take the work up, fail it honestly, or certify that it is stuck"
    return f"refused there: {', '.join(found[:4])}{', …' if len(found) > 4 else ''}"
