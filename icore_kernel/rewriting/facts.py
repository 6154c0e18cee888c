"""The three facts of appendix B, reported apart: terminating (or normalizing), definition 14, confluent."""

from __future__ import annotations

from dataclasses import dataclass

from icore_kernel.explore.model import IntegerRow
from icore_kernel.rewriting.condense import MANY, NONE, Condensation
from icore_kernel.rewriting.graph import Quotient


@dataclass(frozen=True, slots=True)
class Facts:
    """On a fully explored quotient:

    * terminating: no infinite productive path; `longest` is then the longest productive path in steps;
    * normalizing: from every state a normal form is reachable (every bottom component is a single state without a step);
    * definition_14: every state reaches at most one class of normal forms;
    * confluent: every state reaches exactly one bottom component;
    * normal_forms, classes: how many normal forms, and how many classes of them; cycles: cyclic bottom components.
    """

    terminating: bool
    longest: int | None
    normalizing: bool
    definition_14: bool
    confluent: bool
    normal_forms: int
    classes: int
    cycles: int


def facts(graph: Quotient, found: Condensation) -> Facts:
    if not graph.plain:
        from icore_kernel.explore import components

        tables = found.component, found.size, found.bottom, found.one_bottom, found.one_class, found.longest
        return Facts(*components.facts(*tables, graph.initial))
    bottoms = [c for c in range(found.count) if found.bottom[c]]
    forms = [c for c in bottoms if found.size[c] == 1]
    terminating = not any(found.size[c] > 1 for c in range(found.count))
    starts = [found.component[s] for s in graph.initial]
    return Facts(
        terminating=terminating,
        longest=max((found.longest[c] for c in starts), default=0) if terminating else None,
        normalizing=len(forms) == len(bottoms),
        definition_14=all(k != MANY for k in found.one_class),
        confluent=all(k != MANY for k in found.one_bottom),
        normal_forms=len(forms),
        classes=len({found.one_class[c] for c in forms}),
        cycles=len(bottoms) - len(forms),
    )


@dataclass(frozen=True, slots=True)
class Decisive:
    """A decisive component: it sees several settlements, each of its exits one. Two exits that settle apart, as
    (state, update, target); both from one state where the component has such a state."""

    first: tuple[int, int, int]
    second: tuple[int, int, int]


def decisive(graph: Quotient, found: Condensation, by_class: bool) -> Decisive | None:
    """The decisive component nearest to the initial states; None when nothing diverges.

    `by_class`: settle in classes of normal forms, else in bottom components. An exit that reaches no normal form at all settles
    nothing and is passed over.
    """
    table = found.one_class if by_class else found.one_bottom
    chosen = _nearest(graph, found, table)
    if chosen is None:
        return None
    exits: dict[int, tuple[int, int, int]] = {}
    for state in members(found, chosen):
        own: dict[int, tuple[int, int, int]] = {}
        for update, target in graph.out(state):
            other = int(found.component[target])
            sees = int(table[other])
            if other != chosen and sees != NONE:
                own.setdefault(sees, (state, update, target))
        if len(own) > 1:
            first, second = list(own.values())[:2]
            return Decisive(first, second)
        for sees, exit_ in own.items():
            exits.setdefault(sees, exit_)
    first, second = list(exits.values())[:2]
    return Decisive(first, second)


def _nearest(graph: Quotient, found: Condensation, table: IntegerRow) -> int | None:
    """Of the components that see several and have no exit that does, the one with the smallest state number."""
    if not graph.plain:
        from icore_kernel.explore.components import nearest_decisive

        return nearest_decisive(graph.start, graph.target, found.component, table)
    deferred: set[int] = set()
    for state in range(graph.states):
        c = found.component[state]
        if table[c] == MANY and c not in deferred:
            for place in range(graph.start[state], graph.start[state + 1]):
                other = found.component[graph.target[place]]
                if other != c and table[other] == MANY:
                    deferred.add(c)
                    break
    for state in range(graph.states):
        c = found.component[state]
        if table[c] == MANY and c not in deferred:
            return int(c)
    return None


def members(found: Condensation, c: int) -> list[int]:
    """The states of a component, smallest number first."""
    if not isinstance(found.component, list) and hasattr(found.component, "nonzero"):
        from icore_kernel.explore.components import members_of

        return members_of(found.component, c)
    return [s for s, k in enumerate(found.component) if k == c]
