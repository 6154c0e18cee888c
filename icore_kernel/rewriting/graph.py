"""The productive quotient (A.7): the explored step graph without stutters. States are already classes of ≡_X.

Graphs of a block search are NumPy rows and are worked on by `explore/step_rows.py` and what is built on it; small ones are plain arrays.
"""

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

    @property
    def plain(self) -> bool:
        """Whether the rows are plain arrays, to be walked in Python."""
        return isinstance(self.start, array)

    def out(self, state: int) -> Iterator[tuple[int, int]]:
        """(update, target) of every productive step of a state."""
        begin, end = int(self.start[state]), int(self.start[state + 1])
        for place in range(begin, end):
            yield int(self.update[place]), int(self.target[place])


def productive(graph: StepGraph, initial: Sequence[int], stutters: int | None = None) -> Quotient:
    """Leave the stutters out; a graph without any (`stutters`: how many, where that is known) is taken as it is."""
    if stutters == 0:
        return Quotient(graph.start, graph.update, graph.target, tuple(initial))
    if not isinstance(graph.start, array):
        from icore_kernel.explore.step_rows import without_stutters

        return Quotient(*without_stutters(graph), tuple(initial))
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
    return productive(steps(edges), initial)


def steps(edges: Sequence[Sequence[tuple[int, int]]]) -> StepGraph:
    """A step graph from lists of (update, target) a state, stutters kept."""
    start, update, target = array("q", [0]), array("i"), array("i")
    for out in edges:
        for number, to in sorted(out):
            update.append(number)
            target.append(to)
        start.append(len(target))
    return StepGraph(start, update, target)
