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
                return self._steps(state, self._back(came, here)), here
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

    def _steps(self, start: int, way: Iterable[tuple[int, int]]) -> tuple[Step, ...]:
        steps: list[Step] = []
        here = start
        for update, target in way:
            steps.append(self.step(here, update))
            here = target
        return tuple(steps)

    def lasso(self, found: Condensation, bottom_only: bool = False) -> Run:
        """A shortest run to a state on a cycle, and a shortest cycle through it. There must be one."""
        state = next(
            s for s in range(self.graph.states)
            if found.size[found.component[s]] > 1 and (found.bottom[found.component[s]] or not bottom_only)
        )  # fmt: skip
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

    def escape(self, found: Escape) -> Run:
        return self._with_cycle(found.state, found.cycle)

    def _with_cycle(self, state: int, way: Sequence[tuple[int, int]]) -> Run:
        stem = self.run_to(state)
        return Run(stem.initial, stem.steps, None, self._steps(state, way))

    def difference(self, one: int, other: int, fields: Sequence[Field]) -> tuple[tuple[str, str, str], ...]:
        """Field, value in one state, value in the other, where they differ."""
        a, b = self.exploration.store.state(one), self.exploration.store.state(other)
        return tuple(
            (f.name, f.domain.show(a[f.index]), f.domain.show(b[f.index])) for f in fields if a[f.index] != b[f.index] and f.root
        )  # fmt: skip
