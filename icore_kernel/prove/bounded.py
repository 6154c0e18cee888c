"""Bounded search by the solver: is there a run of at most so many steps to a state, or to a step, that should not be?

It finds what is near in packages whose states are too many to enumerate; that it finds nothing says something about
that many steps and no more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter

import z3

from icore_kernel.explore.model import Path
from icore_kernel.meaning import scalar
from icore_kernel.meaning.smt import Result
from icore_kernel.prove.relation import Relation, replayed
from icore_kernel.prove.solver import Disagreement, Solver
from icore_kernel.prove.steps import Steps
from icore_kernel.terms.node import Term


@dataclass(frozen=True, slots=True)
class Bad:
    """What should be false in every reachable state; `update`: it says that a step of this update would be illegal there."""

    name: str
    formula: Term
    update: int | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """`bad` at the end of a shortest `path` (for the solver; all runs that are shorter were excluded)."""

    bad: Bad
    path: Path


@dataclass(frozen=True, slots=True)
class Bounded:
    """`depth`: no run of up to so many steps meets anything that was not found (-1: not even the initial states are known)."""

    found: tuple[Found, ...]
    depth: int
    seconds: float
    reason: str = ""


def illegal_steps(steps: Steps) -> list[Bad]:
    """For each update that is no fault: it can commit in a feasible state, and is illegal or leaves a domain.

    What follows an illegal step of the environment is not looked at: that step is bad by itself.
    """
    bank = steps.bank
    found = []
    for number in range(len(steps)):
        move = steps.move(number)
        if not move.fault:
            tried = bank.and_(move.update.when, move.update.requires)
            formula = bank.and_(steps.feasibility, tried, bank.not_(bank.and_(move.update.defined, steps.legal(number))))
            if not formula.is_false:
                found.append(Bad(f"{move.update.name} is legal", formula, number))
    return found


def search(steps: Steps, bad: Sequence[Bad], depth: int, seconds: float | None = None) -> Bounded:
    """Breadth first by the length of the run; each bad thing is looked for until it is found."""
    started = perf_counter()
    solver = Solver(steps.system, steps.bank, 600_000, steps.encoder)
    solver.deadline = None if seconds is None else started + seconds
    relation = Relation(solver, steps)
    solver.copy("@0")
    solver.fact(steps.start(), "@0")
    left = list(bad)
    found: list[Found] = []
    for length in range(depth + 1):
        here = f"@{length}"
        while left:
            some = solver.literal()
            formula = steps.bank.disj(b.formula for b in left)
            solver.core.add(z3.Implies(some, solver.encoder.encode(formula, here)))
            answer = solver.solve([some], here)
            if answer.result is Result.UNKNOWN:
                return Bounded(tuple(found), length - 1, perf_counter() - started, answer.reason)
            if answer.result is Result.UNSAT:
                break
            model = solver.core.model()
            path = replayed(
                steps.system,
                [solver.state(model, f"@{i}") for i in range(length + 1)],
                [relation.step(model, f"@{i}") for i in range(length)],
            )
            end = solver.state(model, here)
            met = [b for b in left if scalar.evaluate(b.formula, end)]
            if not met:
                raise Disagreement("the last state of the run that the solver found is not bad in the scalar meaning")
            found.extend(Found(b, path) for b in met)
            left = [b for b in left if b not in met]
        if not left:
            return Bounded(tuple(found), length, perf_counter() - started)
        if length < depth:
            # A run that goes on has done nothing illegal.
            for part in steps.feasible:
                solver.fact(part, here)
            there = f"@{length + 1}"
            solver.copy(there)
            relation.join(here, there)
    return Bounded(tuple(found), depth, perf_counter() - started)
