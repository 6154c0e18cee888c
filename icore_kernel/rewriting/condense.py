"""Strongly connected components of the productive quotient and, bottom-up, what each state settles in.

Everything is linear in the graph. Components are numbered so that every step between two goes to a smaller number.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

from icore_kernel.explore.model import IntegerRow
from icore_kernel.rewriting.graph import Quotient

NONE, MANY = -1, -2
"""In a `one` table: reaches nothing of the kind, reaches several."""


@dataclass(frozen=True, slots=True)
class Condensation:
    """component[s]: the component of state s; `size[c]` its number of states. A component is cyclic when it has more than one
    state (stutters are no steps). `bottom[c]`: no step leaves it. A bottom component of one state is a normal form (A.7).

    `one_bottom[c]`: the only bottom component that c reaches, or MANY. `one_class[c]`: the only class of normal forms that c
    reaches, NONE or MANY; classes are given by the caller (equality of vectors, or of what `on` observes).
    `longest[c]`: the longest productive path from c, in steps; -1 when a cycle can be reached.
    """

    component: IntegerRow
    size: IntegerRow
    bottom: IntegerRow
    one_bottom: IntegerRow
    one_class: IntegerRow
    longest: IntegerRow

    @property
    def count(self) -> int:
        return len(self.size)

    def cyclic(self, c: int) -> bool:
        return bool(self.size[c] > 1)


def components(start: IntegerRow, target: IntegerRow) -> tuple[array[int], array[int]]:
    """Tarjan without recursion: (component of each state, size of each component)."""
    n = len(start) - 1
    index = array("i", [-1]) * n
    low = array("i", [0]) * n
    component = array("i", [-1]) * n
    place = array("q", [0]) * n
    stack: list[int] = []
    sizes = array("i")
    counter = 0
    for root in range(n):
        if index[root] >= 0:
            continue
        index[root] = low[root] = counter
        counter += 1
        place[root] = start[root]
        stack.append(root)
        path = [root]
        while path:
            state = path[-1]
            here = place[state]
            if here < start[state + 1]:
                place[state] = here + 1
                other = target[here]
                if index[other] < 0:
                    index[other] = low[other] = counter
                    counter += 1
                    place[other] = start[other]
                    stack.append(other)
                    path.append(other)
                elif component[other] < 0 and index[other] < low[state]:
                    low[state] = index[other]
                continue
            path.pop()
            if path and low[state] < low[path[-1]]:
                low[path[-1]] = low[state]
            if low[state] == index[state]:
                number, size = len(sizes), 0
                while True:
                    top = stack.pop()
                    component[top] = number
                    size += 1
                    if top == state:
                        break
                sizes.append(size)
    return component, sizes


def condense(graph: Quotient, classes: Sequence[int] | IntegerRow | None = None) -> Condensation:
    """Condense a quotient. `classes[s]` is the class of normal form s (others are ignored); None: every one its own."""
    if not graph.plain:
        from icore_kernel.explore.components import condensed

        return Condensation(*condensed(graph.start, graph.target, classes, components))
    component, sizes = components(graph.start, graph.target)
    count = len(sizes)
    bottom = bytearray(b"\1") * count
    one_bottom = array("i", [NONE]) * count
    one_class = array("i", [NONE]) * count
    longest = array("i", [0]) * count
    members = _by_component(component, count)
    start, target = graph.start, graph.target
    for c in range(count):  # smaller numbers are settled: every step leads to one of them or stays
        deepest = 0
        for state in members[c]:
            for place in range(start[state], start[state + 1]):
                other = component[target[place]]
                if other == c:
                    continue
                bottom[c] = 0
                one_bottom[c] = merged(one_bottom[c], one_bottom[other])
                one_class[c] = merged(one_class[c], one_class[other])
                deepest = -1 if deepest < 0 or longest[other] < 0 else max(deepest, longest[other] + 1)
        longest[c] = -1 if sizes[c] > 1 else deepest
        if bottom[c]:
            one_bottom[c] = c
            if sizes[c] == 1:
                state = members[c][0]
                one_class[c] = state if classes is None else classes[state]
    return Condensation(component, sizes, array("b", bottom), one_bottom, one_class, longest)


def merged(a: int, b: int) -> int:
    """The only thing that both sides reach, NONE when neither reaches any, MANY otherwise."""
    if a in (NONE, b):
        return b
    if b == NONE:
        return a
    return MANY


def _by_component(component: array[int], count: int) -> list[list[int]]:
    members: list[list[int]] = [[] for _ in range(count)]
    for state, c in enumerate(component):
        members[c].append(state)
    return members
