"""The three facts of appendix B, reported apart: terminating (or normalizing), definition 14, confluent."""

from __future__ import annotations

from dataclasses import dataclass

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


def decisive(graph: Quotient, found: Condensation, by_class: bool) -> tuple[int, tuple[int, int], tuple[int, int]] | None:
    """A decisive place: (state, first exit, second exit) with exits (update, target) that settle apart, each in one thing only.

    `by_class`: settle in classes of normal forms, else in bottom components. The component of the state sees several, each of
    the two exits one, and they differ. None when nothing diverges. Where exits of a component leave from several of its states
    the first state is returned with its own exit; the second exit may start elsewhere in the same component.
    """
    table = found.one_class if by_class else found.one_bottom
    for c in range(found.count):
        if table[c] != MANY:
            continue
        exits: dict[int, tuple[int, int, int]] = {}
        for state in members(found, c):
            for update, target in graph.out(state):
                other = found.component[target]
                if other == c:
                    continue
                sees = table[other]
                if sees == NONE:
                    continue
                exits.setdefault(sees, (state, update, target))
        # Numbers grow upwards, so the first component that sees several has no exit that does.
        first, second = list(exits.values())[:2]
        return first[0], (first[1], first[2]), (second[1], second[2])
    return None


def members(found: Condensation, c: int) -> list[int]:
    return [s for s, k in enumerate(found.component) if k == c]
