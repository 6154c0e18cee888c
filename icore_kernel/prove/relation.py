"""Steps between copies of the state: for what more than one step is asked about (bounded runs, k-induction, reachability)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import z3

from icore_kernel.explore.judge import committed, successor
from icore_kernel.explore.model import Audited, Path, State
from icore_kernel.meaning import scalar
from icore_kernel.meaning.smt import Encoder, width_of
from icore_kernel.prove.solver import Disagreement, Solver
from icore_kernel.prove.steps import Steps
from icore_kernel.system import System


class Relation:
    """The step from the copy of one suffix to the copy of the next; which update it is, is a number of the model.

    `audited`: what the audit refuses does not happen (from a feasible state); else whatever can commit does.
    """

    def __init__(self, solver: Solver, steps: Steps, audited: bool = True) -> None:
        self.solver = solver
        self.steps = steps
        self.audited = audited
        self._width = max(1, len(steps).bit_length())

    def which(self, suffix: str) -> Any:
        """The number of the update that steps from this copy."""
        return z3.BitVec(f"update!{suffix}", self._width)

    def join(self, here: str, there: str) -> None:
        """There is the state after a step from here, by one of the updates."""
        solver, encoder = self.solver, self.solver.encoder
        which = self.which(here)
        chosen = {number: z3.Bool(f"chosen!{here}!{number}") for number in range(len(self.steps))}
        for number, literal in chosen.items():
            solver.core.add(literal == (which == number))
            taken = self.steps.commits(number) if self.audited else self.steps.move(number).guard
            solver.core.add(z3.Implies(literal, encoder.encode(taken, here)))
        solver.core.add(encoder.junction(z3.Z3_mk_or, list(chosen.values()), False))
        writers: dict[int, list[tuple[Any, Any]]] = {}
        for number, literal in chosen.items():
            for index, value in self.steps.move(number).after.items():
                writers.setdefault(index, []).append((literal, _sized(encoder, self.solver.variables[index], value, here)))
        for variable in solver.variables:
            next_value = encoder.variable(variable, here)
            for literal, value in writers.get(variable.index, ()):
                next_value = z3.If(literal, value, next_value)
            solver.core.add(encoder.variable(variable, there) == next_value)

    def step(self, model: Any, suffix: str) -> int:
        return int(model.eval(self.which(suffix), model_completion=True).as_long())


def _sized(encoder: Encoder, variable: Any, value: Any, suffix: str) -> Any:
    expression = encoder.encode(value, suffix)
    if variable.boolean:
        return expression
    return encoder.sized(expression, width_of(value.lo, value.hi), width_of(variable.lo, variable.hi))


def replayed(system: System, states: Sequence[State], updates: Sequence[int]) -> Path:
    """A run that a solver found, stepped through in the scalar meaning. Disagreement where it is none of the audited system."""
    state = states[0]
    start = all(v == state[f.index] for f, v in zip(system.fields, system.initial, strict=True) if f not in system.free)
    if not start or not scalar.evaluate(system.initially, state):
        raise Disagreement("the run that the solver found does not begin in an initial state")
    for number, expected in zip(updates, states[1:], strict=True):
        after = committed(system, Audited(), number, state)
        if after is None or after != expected or after != successor(system.updates[number], state):
            raise Disagreement(f"the run that the solver found does not replay at {system.updates[number].name}")
        state = after
    return Path(states[0], tuple(updates))
