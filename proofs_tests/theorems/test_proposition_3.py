"""Proposition 3: where V is task-adequate, a sound process that reports truly and comes to an end decides correctly.

Adequacy is a claim about V and the world, which no state shows. Here the world is an artifact's field that only `valid when` of
one certificate reads: V is adequate while it does, and the siblings take that away, or one of the other hypotheses.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from test_proposition_1 import REPORTING, STARTER
from theory_lab import load_text, theory_copy
from theory_texts import remove

from icore_kernel import api
from icore_kernel.check.proof import prove
from icore_kernel.verdict import Assurance, Verdict

RIGHT = """
invariant accept_is_right: active(good_end) or active(boast_end) implies draft(page).good
"""
ADEQUATE, INADEQUATE = "valid when draft(w).good\n", "valid when true\n"


def text(adequate: bool) -> str:
    own = STARTER.read_text(encoding="utf-8") + REPORTING + RIGHT
    assert ADEQUATE in own
    return own if adequate else own.replace(ADEQUATE, INADEQUATE, 1)


def decided(report: api.Report) -> dict[str, api.Result]:
    return {r.name: r for r in report.results}


def test_accept_is_right_in_every_reachable_state(theory: Path) -> None:
    found = decided(api.check(load_text(text(True), theory)))
    assert found["accept_is_right"].verdict is Verdict.HOLDS and found["soundness"].verdict is Verdict.HOLDS
    assert found["it_can_succeed"].verdict is Verdict.HOLDS  # and not for nothing
    proved = decided(prove(load_text(text(True), theory)).report)
    assert proved["accept_is_right"].assurance is Assurance.PROVED


def test_with_an_inadequate_validator_it_is_not_and_everything_else_is_as_good(theory: Path) -> None:
    found = decided(api.check(load_text(text(False), theory)))
    assert found["accept_is_right"].verdict is Verdict.VIOLATED
    assert {found[name].verdict for name in ("legality", "feasibility", "soundness", "honest")} == {Verdict.HOLDS}
    run = found["accept_is_right"].run
    assert run is not None and any(step.update == "finish.untruthful(writer, page)" for step in run.steps)


@pytest.mark.parametrize("dropped", [
    ("A.4(7) reports",),  # reports need not be true
    ("A.4(2)", "A.4(7)", "definition 6(iii) evidence", "A.4(7) reports"),  # states need not be sound
])  # fmt: skip
def test_without_true_reports_it_is_not(dropped: tuple[str, ...], theory: Path, tmp_path: Path) -> None:
    copy = theory_copy(theory, tmp_path / "spec")
    for label in dropped:
        remove(copy, label)
    assert decided(api.check(load_text(text(True), copy)))["accept_is_right"].verdict is Verdict.VIOLATED
