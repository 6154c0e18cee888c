"""Proposition 4: E[Perf | X] >= 2 (p_min - epsilon) [cq(X) - 1/2]+ where its four hypotheses hold."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
import z3
from states_of import Evaluated, Space
from theory_lab import case

EPSILON, FLOOR = Fraction(1, 20), Fraction(13, 20)


def performance(state: Evaluated) -> Fraction:
    whole = sum(state.weights)
    return sum((w * y for w, y in zip(state.weights, state.expected, strict=True)), Fraction(0)) / whole


def bound(state: Evaluated) -> Fraction:
    cq = (state.share(list(state.justified)) + state.share(state.stable(EPSILON))) / 2
    assert cq == state.said["cq"]
    return 2 * (FLOOR - EPSILON) * max(Fraction(0), cq - Fraction(1, 2))


def test_the_bound_holds_wherever_the_hypotheses_do(theory: Path) -> None:
    within, without = [0, 0], 0  # states in which it holds with a positive, with a zero bound; states outside it in which it fails
    for state in Space(case("quality"), theory, {"p": 1, "q": 2, "t": 3}, ("ana", "bo", "cy"), 1_500, earnings=True):
        if state.hypotheses:
            assert performance(state) >= bound(state)
            within[bound(state) == 0] += 1
        elif performance(state) < bound(state):
            without += 1
    assert within[0] > 0
    assert without > 0  # the hypotheses are needed: with work that nobody can do yet, or that was rejected, the bound can fail


@pytest.mark.parametrize("size", [1, 3])
def test_the_bound_holds_for_all_values_of_a_size(size: int) -> None:
    """With y = w * E[Y] and v = w * v_D(alpha): justified gives y >= v, stable gives v >= (p_min - epsilon) w, and y, v >= 0."""
    w, v, y = ([z3.Real(f"{name}{i}") for i in range(size)] for name in "wvy")
    justified, stable = ([z3.Bool(f"{name}{i}") for i in range(size)] for name in "js")
    rate = z3.RealVal("3/5")
    solver = z3.Solver()
    solver.add(z3.Sum(w) == 1)
    for i in range(size):
        solver.add(w[i] > 0, v[i] >= 0, y[i] >= 0, z3.Implies(justified[i], y[i] >= v[i]), z3.Implies(stable[i], v[i] >= rate * w[i]))
    snd, astab = (z3.Sum([z3.If(flags[i], w[i], z3.RealVal(0)) for i in range(size)]) for flags in (justified, stable))
    twice = snd + astab - 1  # 2 (cq - 1/2)
    assert solver.check() == z3.sat
    solver.add(z3.Sum(y) < rate * z3.If(twice > 0, twice, z3.RealVal(0)))
    assert solver.check() == z3.unsat
