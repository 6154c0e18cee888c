"""Theorem 1: U(beta | X) - U(alpha | X) <= 1 - (1 - epsilon) astab(X), for every feasible joint reassignment beta."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
import z3
from states_of import Space
from theory_lab import case

EPSILON = Fraction(1, 20)
PIPELINE = Path(__file__).resolve().parents[2] / "examples" / "release_pipeline.icore"


def pipeline(theory: Path) -> Space:
    weights = {"compile": 1, "unit": 1, "approve": 1, "release": 2}
    return Space(PIPELINE.read_text(encoding="utf-8"), theory, weights, ("ana", "bo", "cy"), 30_000)


def quality(theory: Path) -> Space:
    return Space(case("quality"), theory, {"p": 1, "q": 2, "t": 3}, ("ana", "bo", "cy"), 1_500)


@pytest.mark.parametrize("space_of", [pipeline, quality])
def test_no_feasible_reassignment_gains_more_than_the_bound(space_of, theory: Path) -> None:  # type: ignore[no-untyped-def]
    seen, tight, stable_everywhere = 0, 0, 0
    for state in space_of(theory):
        astab = state.share(state.stable(EPSILON))
        assert astab == state.said["astab"]
        bound = 1 - (1 - EPSILON) * astab
        best = max(state.regrets())
        assert best <= bound
        seen += 1
        tight += 2 * best > bound
        stable_everywhere += astab == 1
        if astab == 1:
            assert best <= EPSILON  # in particular
    assert seen > 100 and tight > 0 and stable_everywhere > 0


@pytest.mark.parametrize("size", [1, 2, 4])
def test_the_bound_holds_for_all_values_and_weights_of_a_size(size: int) -> None:
    """With z = w * gain, all is linear: a stable component has z <= epsilon * w, another z <= w. epsilon is 1/20."""
    weights = [z3.Real(f"w{i}") for i in range(size)]
    gains = [z3.Real(f"z{i}") for i in range(size)]
    stable = [z3.Bool(f"s{i}") for i in range(size)]
    epsilon = z3.RealVal("1/20")
    solver = z3.Solver()
    solver.add(z3.Sum(weights) == 1, *(w > 0 for w in weights))
    solver.add(*(z3.If(s, z <= epsilon * w, z <= w) for s, z, w in zip(stable, gains, weights, strict=True)))
    astab = z3.Sum([z3.If(s, w, z3.RealVal(0)) for s, w in zip(stable, weights, strict=True)])
    assert solver.check() == z3.sat
    solver.push()
    solver.add(z3.Sum(gains) > 1 - (1 - epsilon) * astab)
    assert solver.check() == z3.unsat
    solver.pop()
    solver.add(z3.Sum(gains) == 1 - (1 - epsilon) * astab)
    assert solver.check() == z3.sat  # and no smaller bound would do
