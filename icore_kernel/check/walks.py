"""Walks through an explored step graph as printed runs: to a state, to a settlement, round a cycle."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

from icore_kernel.explore import judge
from icore_kernel.explore.model import Exploration, Path, trace
from icore_kernel.rewriting.condense import Condensation
from icore_kernel.rewriting.graph import Quotient
from icore_kernel.rewriting.liveness import Escape
from icore_kernel.runs import run_of, step_of
from icore_kernel.system import Field, System
from icore_kernel.verdict import Run, Step


class Walks:
    """`system`, a complete exploration of it, and its productive quotient."""

    def __init__(self, system: System, exploration: Exploration, graph: Quotient) -> None:
        self.system = system
        self.exploration = exploration
        self.graph = graph

    def path(self, state: int) -> Path:
        return trace(self.exploration, state)

    def run_to(self, state: int) -> Run:
        return run_of(self.system, self.path(state))

    def run_along(self, path: Path) -> Run:
        return run_of(self.system, path)

    def step(self, state: int, update: int) -> Step:
        before = self.exploration.store.state(state)
        return step_of(self.system, update, before, judge.successor(self.system.updates[update], before))

    def steps_along(self, path: Path, skip: int) -> tuple[Step, ...]:
        return run_of(self.system, path).steps[skip:]

    def settle(self, state: int) -> tuple[tuple[Step, ...], int]:
        """A shortest way from a state to a normal form: its steps and where it ends. Ends where it stands if there is none."""
        came: dict[int, tuple[int, int]] = {state: (-1, -1)}
        queue = deque([state])
        while queue:
            here = queue.popleft()
            out = list(self.graph.out(here))
            if not out:
                return self.steps(state, self._back(came, here)), here
            for update, target in out:
                if target not in came:
                    came[target] = (here, update)
                    queue.append(target)
        return (), state

    @staticmethod
    def _back(came: dict[int, tuple[int, int]], end: int) -> list[tuple[int, int]]:
        way: list[tuple[int, int]] = []
        while came[end][0] >= 0:
            previous, update = came[end]
            way.append((update, end))
            end = previous
        return way[::-1]

    def steps(self, start: int, way: Iterable[tuple[int, int]]) -> tuple[Step, ...]:
        steps: list[Step] = []
        here = start
        for update, target in way:
            steps.append(self.step(here, update))
            here = target
        return tuple(steps)

    def lasso(self, found: Condensation, bottom_only: bool = False) -> Run:
        """A shortest run to a state on a cycle, and a shortest cycle through it. There must be one."""
        state = self._cyclic(found, bottom_only)
        own = found.component[state]
        came: dict[int, tuple[int, int]] = {}
        queue = deque([state])
        while queue and state not in came:
            here = queue.popleft()
            for update, target in self.graph.out(here):
                if found.component[target] == own and target not in came:
                    came[target] = (here, update)
                    queue.append(target)
        way: list[tuple[int, int]] = []
        end = state
        while True:
            previous, update = came[end]
            way.append((update, end))
            end = previous
            if end == state:
                break
        return self._with_cycle(state, way[::-1])

    def _cyclic(self, found: Condensation, bottom_only: bool) -> int:
        component, size, bottom = found.component, found.size, found.bottom
        for state in range(self.graph.states):
            c = component[state]
            if size[c] > 1 and (bottom[c] or not bottom_only):
                return state
        raise ValueError("no run of this graph goes round")

    def escape(self, found: Escape) -> Run:
        """The run of a fair escape: to where the escape starts, outside the goal, then its cycle."""
        before = self.run_to(found.start)
        return Run(before.initial, (*before.steps, *self.steps(found.start, found.stem)), None, self.steps(found.state, found.cycle))

    def _with_cycle(self, state: int, way: Sequence[tuple[int, int]]) -> Run:
        stem = self.run_to(state)
        return Run(stem.initial, stem.steps, None, self.steps(state, way))

    def inside(self, source: int, goal: int, own: int, found: Condensation) -> tuple[Step, ...]:
        """A shortest way between two states of one component."""
        if source == goal:
            return ()
        came: dict[int, tuple[int, int]] = {source: (-1, -1)}
        queue = deque([source])
        while goal not in came:
            here = queue.popleft()
            for update, target in self.graph.out(here):
                if target not in came and found.component[target] == own:
                    came[target] = (here, update)
                    queue.append(target)
        return self.steps(source, self._back(came, goal))

    def difference(self, one: int, other: int, fields: Sequence[Field]) -> tuple[tuple[str, str, str], ...]:
        """Field, value in one state, value in the other, where they differ."""
        a, b = self.exploration.store.state(one), self.exploration.store.state(other)
        apart = [f for f in fields if a[f.index] != b[f.index]]
        shown = [f for f in apart if f.root] or apart
        return tuple((f.name, f.domain.show(a[f.index]), f.domain.show(b[f.index])) for f in shown)
