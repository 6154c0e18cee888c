"""Theorem 1 and Proposition 4 for all weights, values and tolerances of a size, by Z3; with one hypothesis less a counterexample.

Products of unknowns are named: `z` is w * v, `t` is epsilon * w, `d` is (p_min - epsilon) * w. That these stand in one ratio to w is
given up, so that what is proved is more than the theorem; the counterexamples are found at fixed epsilon and p_min, and are
computed again from the definitions in exact rationals.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pytest
import z3

EPSILON, FLOOR = Fraction(1, 20), Fraction(13, 20)
AGENTS = 3
SIZES = (1, 2, 3, 4)


def real(value: Fraction) -> Any:
    return z3.RealVal(str(value))


def total(parts: list[Any]) -> Any:
    return z3.Sum([*parts, z3.RealVal(0)])


@dataclass
class Work:
    """Symbols of `size` components: weight w, z[m] = w * v(m), feasibility f[m], the assignee's z, t = epsilon * w, beta's z."""

    size: int
    fixed: bool

    def __post_init__(self) -> None:
        n = range(self.size)
        self.w = [z3.Real(f"w{i}") for i in n]
        self.z = [[z3.Real(f"z{i}_{m}") for m in range(AGENTS)] for i in n]
        self.f = [[z3.Bool(f"f{i}_{m}") for m in range(AGENTS)] for i in n]
        self.alpha = [z3.Int(f"alpha{i}") for i in n]  # -1: nobody, who is worth nothing
        self.beta = [z3.Int(f"beta{i}") for i in n]
        self.t = [real(EPSILON) * w for w in self.w] if self.fixed else [z3.Real(f"t{i}") for i in n]
        self.now = [self.worth(i, self.alpha[i]) for i in n]
        self.then = [self.worth(i, self.beta[i]) for i in n]
        self.stable = [
            z3.And([z3.Implies(self.f[i][m], self.z[i][m] - self.now[i] <= self.t[i]) for m in range(AGENTS)]) for i in n
        ]  # fmt: skip
        self.astab = total([z3.If(s, w, z3.RealVal(0)) for s, w in zip(self.stable, self.w, strict=True)])

    def worth(self, i: int, who: Any) -> Any:
        value = z3.RealVal(0)
        for m in range(AGENTS):
            value = z3.If(who == m, self.z[i][m], value)
        return value

    def hypotheses(self) -> dict[str, Any]:
        n, agents = range(self.size), range(AGENTS)
        return {
            "weights are positive": z3.And([w > 0 for w in self.w]),
            "weights are normalized": total(self.w) == 1,
            "values are at most one": z3.And([self.z[i][m] <= self.w[i] for i in n for m in agents]),
            "values are not negative": z3.And([self.z[i][m] >= 0 for i in n for m in agents]),
            "the reassignment is feasible": z3.And([z3.Implies(self.beta[i] == m, self.f[i][m]) for i in n for m in agents]),
        }

    def frame(self) -> Any:
        whom = z3.And([z3.And(who >= -1, who < AGENTS) for who in (*self.alpha, *self.beta)])
        return z3.And(whom, *([] if self.fixed else [z3.And(t >= 0, t <= w) for t, w in zip(self.t, self.w, strict=True)]))

    def regret(self) -> Any:
        return total([then - now for then, now in zip(self.then, self.now, strict=True)])

    def bound(self) -> Any:
        """1 - (1 - epsilon) astab."""
        return 1 - self.astab + total([z3.If(s, t, z3.RealVal(0)) for s, t in zip(self.stable, self.t, strict=True)])


def number(model: Any, term: Any) -> Fraction:
    return Fraction(str(model.eval(term, model_completion=True)))


# ---- Theorem 1 -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("size", SIZES)
def test_theorem_1_for_all_weights_values_and_tolerances(size: int) -> None:
    work = Work(size, fixed=False)
    solver = z3.Solver()
    solver.add(work.frame(), *work.hypotheses().values())
    assert solver.check() == z3.sat
    solver.add(work.regret() > work.bound())
    assert solver.check() == z3.unsat


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dropped", ["weights are normalized", "values are at most one", "the reassignment is feasible"])
def test_theorem_1_needs_each_hypothesis(dropped: str, size: int) -> None:
    """That weights are positive follows here: 0 <= z <= w."""
    work = Work(size, fixed=True)
    kept = {name: h for name, h in work.hypotheses().items() if name != dropped}
    solver = z3.Solver()
    solver.add(work.frame(), *kept.values(), work.regret() > work.bound())
    assert solver.check() == z3.sat
    model = solver.model()
    # The definitions, in exact rationals.
    w = [number(model, x) for x in work.w]
    v = [[number(model, work.z[i][m]) / w[i] for m in range(AGENTS)] for i in range(size)]
    f = [[z3.is_true(model.eval(work.f[i][m], model_completion=True)) for m in range(AGENTS)] for i in range(size)]
    who = [
        (model.eval(a, model_completion=True).as_long(), model.eval(b, model_completion=True).as_long())
        for a, b in zip(work.alpha, work.beta, strict=True)
    ]
    now = [v[i][a] if a >= 0 else Fraction(0) for i, (a, _) in enumerate(who)]
    then = [v[i][b] if b >= 0 else Fraction(0) for i, (_, b) in enumerate(who)]
    assert {
        "weights are normalized": sum(w) != 1,
        "values are at most one": max(x for row in v for x in row) > 1,
        "the reassignment is feasible": any(b >= 0 and not f[i][b] for i, (_, b) in enumerate(who)),
    }[dropped]
    stable = [max((v[i][m] - now[i] for m in range(AGENTS) if f[i][m]), default=Fraction(0)) <= EPSILON for i in range(size)]
    astab = sum((x for x, s in zip(w, stable, strict=True) if s), Fraction(0))
    assert sum(x * (b - a) for x, a, b in zip(w, now, then, strict=True)) > 1 - (1 - EPSILON) * astab


# ---- Proposition 4 -------------------------------------------------------------------------------------------------------
class Task(Work):
    """With y = w * E[Y], J, and d = (p_min - epsilon) * w: the floor is epsilon * w + d."""

    def __post_init__(self) -> None:
        super().__post_init__()
        n = range(self.size)
        self.y = [z3.Real(f"y{i}") for i in n]
        self.j = [z3.Bool(f"j{i}") for i in n]
        self.d = [real(FLOOR - EPSILON) * w for w in self.w] if self.fixed else [z3.Real(f"d{i}") for i in n]

    def hypotheses(self) -> dict[str, Any]:
        n = range(self.size)
        base = super().hypotheses()
        del base["the reassignment is feasible"]
        return base | {
            "contributions are not negative": z3.And([y >= 0 for y in self.y]),
            "justified work earns its value": z3.And([z3.Implies(j, y >= now) for j, y, now in zip(self.j, self.y, self.now, strict=True)]),
            "somebody feasible is worth the floor": z3.And(
                [z3.Or([z3.And(self.f[i][m], self.z[i][m] >= self.t[i] + self.d[i]) for m in range(AGENTS)]) for i in n]
            ),
        }

    def frame(self) -> Any:
        return z3.And(super().frame(), *([] if self.fixed else [d > 0 for d in self.d]))

    def promised(self) -> Any:
        """2 (p_min - epsilon) (cq - 1/2), which is the bound where it is positive: (p_min - epsilon) (snd + astab - 1)."""
        one, none = z3.RealVal(1), z3.RealVal(0)
        parts = [d * (z3.If(j, one, none) + z3.If(s, one, none) - 1) for d, j, s in zip(self.d, self.j, self.stable, strict=True)]
        return total(parts)


@pytest.mark.parametrize("size", SIZES)
def test_proposition_4_for_all_weights_values_floors_and_tolerances(size: int) -> None:
    task = Task(size, fixed=False)
    solver = z3.Solver()
    solver.add(task.frame(), *task.hypotheses().values())
    assert solver.check() == z3.sat
    solver.add(total(task.y) < z3.If(task.promised() > 0, task.promised(), z3.RealVal(0)))
    assert solver.check() == z3.unsat


NEEDED = (
    "weights are normalized",
    "contributions are not negative",
    "justified work earns its value",
    "somebody feasible is worth the floor",
)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dropped", NEEDED)
def test_proposition_4_needs_each_hypothesis(dropped: str, size: int) -> None:
    """Normalized weights are needed for `cq` to be the mean of two shares: with weights that sum to 2 the bound is another number."""
    task = Task(size, fixed=True)
    kept = {name: h for name, h in task.hypotheses().items() if name != dropped}
    one, none = z3.RealVal(1), z3.RealVal(0)
    snd = total([z3.If(j, w, none) for j, w in zip(task.j, task.w, strict=True)])
    bound = real(FLOOR - EPSILON) * (snd + task.astab - one)
    solver = z3.Solver()
    solver.add(task.frame(), *kept.values(), total(task.y) < z3.If(bound > 0, bound, none))
    assert solver.check() == z3.sat
    model = solver.model()
    w, y, now = ([number(model, x) for x in row] for row in (task.w, task.y, task.now))
    v = [[number(model, task.z[i][m]) / w[i] for m in range(AGENTS)] for i in range(size)]
    f = [[z3.is_true(model.eval(task.f[i][m], model_completion=True)) for m in range(AGENTS)] for i in range(size)]
    j = [z3.is_true(model.eval(x, model_completion=True)) for x in task.j]
    assert {
        "weights are normalized": sum(w) != 1,
        "contributions are not negative": min(y) < 0,
        "justified work earns its value": any(earned < value for justified, earned, value in zip(j, y, now, strict=True) if justified),
        "somebody feasible is worth the floor": any(
            max((v[i][m] for m in range(AGENTS) if f[i][m]), default=Fraction(0)) < FLOOR for i in range(size)
        ),
    }[dropped]
    stable = [max((v[i][m] - now[i] / w[i] for m in range(AGENTS) if f[i][m]), default=Fraction(0)) <= EPSILON for i in range(size)]
    cq = (
        sum((x for x, c in zip(w, j, strict=True) if c), Fraction(0)) + sum((x for x, c in zip(w, stable, strict=True) if c), Fraction(0))
    ) / 2
    assert sum(y) < 2 * (FLOOR - EPSILON) * max(Fraction(0), cq - Fraction(1, 2))
