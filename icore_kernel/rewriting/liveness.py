"""Runs that go on for ever without reaching a goal: fair lassos, and fair ends (A.7's fairness, per occurrence).

Weakly fair: an occurrence may not be enabled from some point on and never taken. Strongly fair: it may not be enabled again and
again and never taken. An occurrence is one update at one binding, whatever its outcome (decision 38): its outcomes are ground updates
that meet one demand. The environment and faults are not fair unless declared so: a run may end where only they could move.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Sequence
from dataclasses import dataclass
from enum import Enum

from icore_kernel.rewriting.condense import components
from icore_kernel.rewriting.graph import Quotient
from icore_kernel.system import Kind, System

Round = tuple[int, tuple[tuple[int, int], ...]]
"""A state and a closed walk of (update, target) steps from it."""


class Fairness(Enum):
    UNFAIR = "unfair"
    WEAK = "weak"
    STRONG = "strong"


@dataclass(frozen=True, slots=True)
class Demands:
    """What fairness asks of a run. `kinds[d]`: how strongly demand d is made; `of[u]`: the demands that ground update u meets when it is
    taken, and makes where it is enabled. An update without demands is unfair."""

    kinds: tuple[Fairness, ...]
    of: tuple[tuple[int, ...], ...]


def each(fairness: Sequence[Fairness]) -> Demands:
    """Every update an occurrence of its own."""
    fair = [u for u, kind in enumerate(fairness) if kind is not Fairness.UNFAIR]
    place = {u: d for d, u in enumerate(fair)}
    return Demands(tuple(fairness[u] for u in fair), tuple((place[u],) if u in place else () for u in range(len(fairness))))


Binding = tuple[tuple[str, str], ...]


def demands_of(system: System) -> Demands:
    """Agents and the monitor are weakly fair, the environment and faults are not, unless declared (A.7; design 3, Players).

    The outcomes of an update at one binding meet one demand; an outcome that is declared fair itself makes another.
    """
    declared = {name: Fairness(strength) for strength, name in system.fairness}
    number: dict[tuple[str, Binding], int] = {}
    kinds: list[Fairness] = []
    of: list[tuple[int, ...]] = []
    for update in system.updates:
        base = update.schema.partition(".")[0]
        asked: list[tuple[str, Fairness]] = []
        if update.kind is not Kind.FAULT:
            whole = declared.get(base, Fairness.WEAK if update.kind is Kind.ORDINARY else Fairness.UNFAIR)
            if whole is not Fairness.UNFAIR:
                asked.append((base, whole))
        if update.schema in declared and (update.schema, declared[update.schema]) not in asked:
            asked.append((update.schema, declared[update.schema]))
        own: list[int] = []
        for name, kind in asked:
            own.append(number.setdefault((name, update.binding), len(kinds)))
            if own[-1] == len(kinds):
                kinds.append(kind)
        of.append(tuple(own))
    return Demands(tuple(kinds), tuple(of))


@dataclass(frozen=True, slots=True)
class Escape:
    """A fair run that never meets the goal: from `start` it goes `stem`, (update, target) steps, to `state`, and ends there
    (`cycle` empty) or goes round `cycle` from `state` back to it."""

    start: int
    stem: tuple[tuple[int, int], ...]
    state: int
    cycle: tuple[tuple[int, int], ...] = ()


def escape(graph: Quotient, goal: bytearray, starts: Sequence[int], demands: Demands) -> Escape | None:
    """A fair run from one of `starts` (those outside the goal) that stays outside the goal for ever, or None.

    `goal[s]`: 1 where state s is in the goal. Ends come before cycles.
    """
    begins = [s for s in starts if not goal[s]]
    if not graph.plain:
        from icore_kernel.explore import passes

        fair = [bool(own) for own in demands.of]
        end, cyclic = passes.outside(graph.start, graph.update, graph.target, goal, begins, fair, components)
    else:
        end, cyclic = _outside(graph, goal, begins, demands)
    if end is not None:
        return _escape(graph, goal, begins, end, ())
    for states in cyclic:
        found = _fair(graph, states, demands)
        if found is not None:
            return _escape(graph, goal, begins, *found)
    return None


def _outside(graph: Quotient, goal: bytearray, starts: Sequence[int], demands: Demands) -> tuple[int | None, list[list[int]]]:
    """The first state outside the goal where a fair run may end, and the components with a cycle there."""
    region = _reachable(graph, goal, starts)
    for state in sorted(region):
        if not any(demands.of[u] for u, _ in graph.out(state)):
            return state, []
    return None, _components(graph, sorted(region), region)


def _reachable(graph: Quotient, goal: bytearray, starts: Sequence[int], wanted: int = -1) -> dict[int, tuple[int, int]]:
    """States reachable outside the goal, breadth-first, each with the (state, update) it was reached by; (-1, -1): a start.

    Ends early once `wanted` is reached.
    """
    came: dict[int, tuple[int, int]] = dict.fromkeys(starts, (-1, -1))
    queue = deque(starts)
    while queue and wanted not in came:
        state = queue.popleft()
        for update, target in graph.out(state):
            if target not in came and not goal[target]:
                came[target] = (state, update)
                queue.append(target)
    return came


def _escape(graph: Quotient, goal: bytearray, starts: Sequence[int], state: int, cycle: tuple[tuple[int, int], ...]) -> Escape:
    """With a shortest stem outside the goal."""
    came = _reachable(graph, goal, starts, state)
    stem: list[tuple[int, int]] = []
    here = state
    while came[here][0] >= 0:
        previous, update = came[here]
        stem.append((update, here))
        here = previous
    return Escape(here, tuple(reversed(stem)), state, cycle)


def _fair(graph: Quotient, component: list[int], demands: Demands) -> Round | None:
    """A fair cycle through a strongly connected set with a step in it, or None. Strong fairness removes states and recurses."""
    pending = [component]
    while pending:
        states = pending.pop()
        inside = set(states)
        moving = False
        met: dict[int, tuple[int, int, int]] = {}
        enabled: dict[int, int] = {}
        for state in states:
            here: set[int] = set()
            for update, target in graph.out(state):
                here.update(demands.of[update])
                if target in inside:
                    moving = True
                    for demand in demands.of[update]:
                        met.setdefault(demand, (state, target, update))
            for demand in here:
                enabled[demand] = enabled.get(demand, 0) + 1
        if not moving:
            continue
        starved = [d for d in enabled if d not in met]
        if any(enabled[d] == len(states) for d in starved):
            continue  # any smaller cycle starves it too
        strong = {d for d in starved if demands.kinds[d] is Fairness.STRONG}
        if strong:
            kept = [s for s in states if not any(strong.intersection(demands.of[u]) for u, _ in graph.out(s))]
            pending.extend(_components(graph, kept, set(kept)))
            continue
        disabled = [next(s for s in states if all(d not in demands.of[u] for u, _ in graph.out(s))) for d in starved]
        return _tour(graph, states, inside, list(dict.fromkeys(met.values())), disabled)
    return None


def _tour(graph: Quotient, states: list[int], inside: set[int], steps: list[tuple[int, int, int]], visits: list[int]) -> Round:
    """A closed walk that takes every step and visits every state it was given; at least one step long."""
    first = steps[0][0] if steps else states[0]
    walk: list[tuple[int, int]] = []
    taken: set[int] = set()
    seen = {first}
    at = first

    def go(way: list[tuple[int, int]]) -> None:
        nonlocal at
        for update, target in way:
            walk.append((update, target))
            taken.add(update)
            seen.add(target)
            at = target

    for state, target, update in steps:
        if update not in taken:
            go(_way(graph, at, state, inside))
            go([(update, target)])
    for state in visits:
        if state not in seen:
            go(_way(graph, at, state, inside))
    if not walk:
        go([next((u, t) for u, t in graph.out(first) if t in inside)])
    go(_way(graph, at, first, inside))
    return first, tuple(walk)


def _way(graph: Quotient, source: int, goal: int, inside: set[int]) -> list[tuple[int, int]]:
    """A shortest way inside a strongly connected set."""
    if source == goal:
        return []
    came: dict[int, tuple[int, int]] = {source: (-1, -1)}
    queue = deque([source])
    while queue:
        state = queue.popleft()
        for update, target in graph.out(state):
            if target in inside and target not in came:
                came[target] = (state, update)
                if target == goal:
                    queue.clear()
                    break
                queue.append(target)
    way: list[tuple[int, int]] = []
    state = goal
    while state != source:
        previous, update = came[state]
        way.append((update, state))
        state = previous
    return way[::-1]


def _components(graph: Quotient, states: Sequence[int], inside: Container[int]) -> list[list[int]]:
    """Strongly connected components with a step inside, of the subgraph on `inside` (Tarjan, iterative)."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    on_stack: set[int] = set()
    stack: list[int] = []
    found: list[list[int]] = []
    for root in states:
        if root in index:
            continue
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        work = [(root, graph.out(root))]
        while work:
            state, out = work[-1]
            for _, target in out:
                if target not in inside:
                    continue
                if target not in index:
                    index[target] = low[target] = len(index)
                    stack.append(target)
                    on_stack.add(target)
                    work.append((target, graph.out(target)))
                    break
                if target in on_stack:
                    low[state] = min(low[state], index[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[state])
                if low[state] == index[state]:
                    component = []
                    while True:
                        top = stack.pop()
                        on_stack.discard(top)
                        component.append(top)
                        if top == state:
                            break
                    if len(component) > 1:
                        found.append(component)
    return found
