"""The productive quotient (A.7): the explored step graph without stutters. States are already classes of ≡_X."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from icore_kernel.explore.model import IntegerRow, StepGraph


@dataclass(frozen=True, slots=True)
class Quotient:
    """Productive steps in compressed rows: those of state s are `update[start[s]:start[s+1]]` to `target[…]`.

    `initial` are the numbers of the initial states. Every state is reachable from one of them.
    """

    start: IntegerRow
    update: IntegerRow
    target: IntegerRow
    initial: tuple[int, ...]

    @property
    def states(self) -> int:
        return len(self.start) - 1

    @property
    def steps(self) -> int:
        return len(self.target)

    def out(self, state: int) -> Iterator[tuple[int, int]]:
        """(update, target) of every productive step of a state."""
        for place in range(self.start[state], self.start[state + 1]):
            yield self.update[place], self.target[place]


def productive(graph: StepGraph, initial: Sequence[int]) -> Quotient:
    """Leave the stutters out; a graph without any is taken as it is."""
    start, update, target = array("q", [0]), array("i"), array("i")
    old_start, old_update, old_target = graph.start, graph.update, graph.target
    for state in range(len(old_start) - 1):
        for place in range(old_start[state], old_start[state + 1]):
            if old_target[place] != state:
                update.append(old_update[place])
                target.append(old_target[place])
        start.append(len(target))
    if len(target) == len(old_target):
        return Quotient(old_start, old_update, old_target, tuple(initial))
    return Quotient(start, update, target, tuple(initial))


def quotient(edges: Sequence[Sequence[tuple[int, int]]], initial: Sequence[int] = (0,)) -> Quotient:
    """From lists of (update, target) a state: for tests and small systems. Self-loops are stutters and are dropped."""
    start, update, target = array("q", [0]), array("i"), array("i")
    for state, out in enumerate(edges):
        for number, to in out:
            if to != state:
                update.append(number)
                target.append(to)
        start.append(len(target))
    return Quotient(start, update, target, tuple(initial))
