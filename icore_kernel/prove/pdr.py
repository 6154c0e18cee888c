"""A small property-directed reachability over finite domains (IC3): clauses that leave out ever more states that cannot be reached.

A cube says `field = value` of some fields. `frames[i]` are cubes that no run of up to i steps meets. A state from which a bad one
is reached is generalised by what the solver used of it; a cube that cannot be reached from the frame before is generalised
likewise, and pushed forward. Two equal frames are an inductive invariant, which whoever asks checks again as a formula.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from time import perf_counter
from typing import Any

import z3

from icore_kernel.explore.judge import successor
from icore_kernel.explore.model import Path, State
from icore_kernel.meaning.smt import Result
from icore_kernel.prove.relation import Relation, replayed
from icore_kernel.prove.solver import Solver
from icore_kernel.prove.steps import Steps, equals, field_terms
from icore_kernel.terms.node import Term

Cube = frozenset[tuple[int, int]]
"""`field index = code`, for some fields."""

DROPS = 40
"""Literals of a cube that are tried to be left out one by one, at most."""


@dataclass(frozen=True, slots=True)
class Reached:
    """`lemmas` with the goal are inductive (None: not found); `path` leads to a state that breaks the goal (None: none was found)."""

    lemmas: tuple[Term, ...] | None
    path: Path | None
    frames: int
    seconds: float
    reason: str = ""


class _Late(Exception):
    """The time is up, or all questions are asked, or the solver gave up."""


@dataclass(frozen=True, slots=True)
class _Duty:
    """A cube to be shown unreachable in so many steps; from it, `update` leads into `then`."""

    cube: Cube
    state: State
    update: int | None
    then: _Duty | None


class Reachability:
    """One goal. `facts` hold in every reachable state already (feasibility, lemmas that were proved)."""

    def __init__(self, steps: Steps, facts: Sequence[Term], goal: Term, seconds: float, questions: int | None = None) -> None:
        self.left = questions
        self.steps = steps
        self.bank = steps.bank
        self.goal = goal
        self.started = perf_counter()
        self.solver = Solver(steps.system, steps.bank, 60_000, steps.encoder)
        self.solver.deadline = self.started + seconds
        self.fields = field_terms(steps.system, steps.bank)
        for fact in facts:
            self.solver.fact(fact)
        self.solver.copy("'")
        self.relation = Relation(self.solver, steps)
        self.start = Solver(steps.system, steps.bank, encoder=steps.encoder)
        self.start.fact(steps.start())
        self.back = Solver(steps.system, steps.bank, encoder=steps.encoder)
        for fact in facts:
            self.back.fact(fact)
        self.frames: list[set[Cube]] = [set(), set()]
        self._active: list[Any] = [self.solver.literal(), self.solver.literal()]
        # The relation is asserted for good: every question below is about a step, but for those of `_bad`, which use `back`.
        self.relation.join("", "'")
        self.solver.core.add(z3.Implies(self._active[0], self.solver.encoder.encode(steps.start())))
        self._literals: dict[tuple[int, int, str], Any] = {}

    def run(self) -> Reached:
        try:
            return self._run()
        except _Late as late:
            return Reached(None, None, len(self.frames), perf_counter() - self.started, str(late))

    def _run(self) -> Reached:
        first = self._said(self.start, [self.start.switch(self.goal, False)])
        if first is not None:
            return self._done(None, replayed(self.steps.system, [first], []))
        while True:
            top = len(self.frames) - 1
            while (bad := self._bad(top)) is not None:
                cube = self._shrunk(bad, self.bank.not_(self.goal))
                path = self._block(_Duty(cube, bad, None, None), top)
                if path is not None:
                    return self._done(None, path)
            self.frames.append(set())
            self._active.append(self.solver.literal())
            for level in range(1, top + 1):
                for cube in sorted(self.frames[level], key=sorted):
                    if self._step_into(cube, level, without=False) is None:
                        self._learn(cube, level + 1)
                if not self.frames[level]:
                    found = {cube for upper in self.frames[level + 1 :] for cube in upper}
                    return self._done(tuple(self._clause(cube) for cube in sorted(found, key=sorted)), None)

    def _done(self, lemmas: tuple[Term, ...] | None, path: Path | None) -> Reached:
        return Reached(lemmas, path, len(self.frames), perf_counter() - self.started)

    # Questions.

    def _said(self, solver: Solver, literals: Sequence[Any]) -> State | None:
        if self.left is not None:
            if self.left <= 0:
                raise _Late("it asks for more questions than an exploration")
            self.left -= 1
        solver.deadline = self.solver.deadline
        answer = solver.solve(literals)
        if answer.result is Result.UNKNOWN:
            raise _Late(answer.reason)
        return answer.state

    def _bad(self, level: int) -> State | None:
        """A state of the frame that breaks the goal."""
        frame = [self.back.switch(self._clause(cube)) for upper in self.frames[level:] for cube in upper]
        return self._said(self.back, [*frame, self.back.switch(self.goal, False)])

    def _step_into(self, cube: Cube, level: int, without: bool) -> State | None:
        """A state of the frame `level` (outside the cube itself, if asked) from which one step leads into the cube."""
        literals = self._frame(level)
        if without:
            literals.append(self.solver.switch(self._clause(cube)))
        literals.extend(self._literal(index, value, "'") for index, value in sorted(cube))
        return self._said(self.solver, literals)

    def _frame(self, level: int) -> list[Any]:
        return [self._active[0]] if level == 0 else self._active[level:]

    def _literal(self, index: int, value: int, suffix: str) -> Any:
        key = (index, value, suffix)
        if key not in self._literals:
            self._literals[key] = self.solver.switch(equals(self.bank, self.fields[index], value), True, suffix)
        return self._literals[key]

    def _clause(self, cube: Cube) -> Term:
        return self.bank.disj(self.bank.not_(equals(self.bank, self.fields[i], v)) for i, v in sorted(cube))

    def _learn(self, cube: Cube, level: int) -> None:
        for lower in range(1, level):
            self.frames[lower].discard(cube)
        self.frames[level] = {other for other in self.frames[level] if not cube <= other} | {cube}
        self.solver.core.add(z3.Implies(self._active[level], self.solver.encoder.encode(self._clause(cube))))

    # Cubes.

    def _shrunk(self, state: State, holds: Term) -> Cube:
        """The part of a state by which `holds` is true already."""
        equal = {equals(self.bank, self.fields[i], v): (i, v) for i, v in enumerate(state) if holds.reads >> i & 1}
        answer = self.back.ask(list(equal), holds, core=True)
        if answer.result is Result.UNKNOWN:
            raise _Late(answer.reason)
        used = [equal[term] for term in answer.core] if answer.result is Result.UNSAT else list(equal.values())
        return frozenset(used)

    def _block(self, duty: _Duty, level: int) -> Path | None:
        """Shows the cube unreachable within `level` steps, and what leads to it; or a run that reaches it."""
        queue: list[tuple[int, int, _Duty]] = [(level, 0, duty)]
        count = 0
        while queue:
            at, _, now = heappop(queue)
            if self._meets_start(now.cube):
                return self._path(now)
            if any(cube <= now.cube for upper in self.frames[at:] for cube in upper):
                continue
            before = self._step_into(now.cube, at - 1, without=True)
            count += 1
            if before is None:
                cube = self._general(now.cube, at)
                while at < len(self.frames) - 1 and self._step_into(cube, at, without=True) is None:
                    at += 1
                self._learn(cube, at)
                if at < level:
                    heappush(queue, (at + 1, count, now))
                continue
            number = self.relation.step(self.solver.core.model(), "")
            move = self.steps.move(number)
            into = self.bank.conj(equals(self.bank, self.fields[i], v) for i, v in sorted(now.cube))
            cube = self._shrunk(before, self.bank.and_(self.steps.commits(number), move.then(into)))
            heappush(queue, (at - 1, count, _Duty(cube, before, number, now)))
            heappush(queue, (at, count, now))
        return None

    def _meets_start(self, cube: Cube) -> bool:
        literals = [self.start.switch(equals(self.bank, self.fields[i], v)) for i, v in sorted(cube)]
        return self._said(self.start, literals) is not None

    def _general(self, cube: Cube, level: int) -> Cube:
        """A smaller cube that no step from the frame before leads into, and that no initial state is in."""
        cube = self._apart(self._core(cube), cube)
        for literal in sorted(cube)[:DROPS]:
            if literal not in cube:
                continue
            smaller = cube - {literal}
            if smaller and not self._meets_start(smaller) and self._step_into(smaller, level - 1, without=True) is None:
                cube = self._apart(self._core(smaller), smaller)
        return cube

    def _core(self, cube: Cube) -> Cube:
        """What the last question used of the cube in the state after."""
        used = {literal.get_id() for literal in self.solver.core.unsat_core()}
        return frozenset((i, v) for i, v in cube if self._literal(i, v, "'").get_id() in used)

    def _apart(self, smaller: Cube, cube: Cube) -> Cube:
        """`smaller`, with as many literals of `cube` again as keep it apart from the initial states."""
        for literal in sorted(cube - smaller):
            if not self._meets_start(smaller):
                break
            smaller |= {literal}
        return smaller

    def _path(self, duty: _Duty) -> Path:
        """A run from an initial state in the duty's cube: the cubes are such that each of their states can follow the updates."""
        literals = [self.start.switch(equals(self.bank, self.fields[i], v)) for i, v in sorted(duty.cube)]
        state = self._said(self.start, literals)
        assert state is not None
        updates: list[int] = []
        states = [state]
        now: _Duty | None = duty
        while now is not None and now.update is not None:
            updates.append(now.update)
            states.append(successor(self.steps.system.updates[now.update], states[-1]))
            now = now.then
        return replayed(self.steps.system, states, updates)


def reach(steps: Steps, facts: Sequence[Term], goal: Term, seconds: float, questions: int | None = None) -> Reached:
    """Is the goal true in every reachable state? `facts` are, and feasibility must be among them. `questions`: at most so many."""
    return Reachability(steps, facts, goal, seconds, questions).run()
