"""Proposition 1 and Lemma 2: where every committed update is legal, every reachable state is work-sound. And Corollary 1."""

from __future__ import annotations

from pathlib import Path

import pytest
from theory_lab import load_text, theory_copy
from theory_texts import remove

from icore_kernel import api
from icore_kernel.verdict import Report, Result, Verdict

CHECKOUT = Path(__file__).resolve().parents[2]
PIPELINE = CHECKOUT / "examples" / "release_pipeline.icore"
STARTER = CHECKOUT / "icore_kernel" / "starter.icore"
CHEAP = ("dependency_ladder", "decompose_and_solve", "incident_response", "code_change", "literature_answer", "repair_verification")


def result(report: Report, name: str) -> Result:
    return next(r for r in report.results if r.name == name)


@pytest.mark.parametrize("file", [PIPELINE, STARTER, *(CHECKOUT / "examples" / f"{name}.icore" for name in CHEAP)])
def test_every_audited_state_is_sound_and_w_is_never_empty(file: Path, theory: Path) -> None:
    soundness = result(api.check(api.load(file, theory=theory)), "soundness")
    assert soundness.verdict is Verdict.HOLDS
    assert soundness.detail.startswith("snd 1 ") and "smallest |W(X)| 0" not in soundness.detail


def test_without_the_audit_an_unsound_state_is_reached(theory: Path) -> None:
    soundness = result(api.check(api.load(STARTER, theory=theory), unaudited=("careless",)), "soundness")
    assert soundness.verdict is Verdict.VIOLATED and soundness.run is not None
    assert [s.update for s in soundness.run.steps] == ["assign(writer, page)", "finish.careless(writer, page)"]


def test_without_justification_in_the_successor_the_audit_lets_it_through(theory: Path, tmp_path: Path) -> None:
    """Definition 6(iii) alone does not carry Proposition 1, nor does A.4(2) alone here: without both, an unsound state is reached."""
    copy = theory_copy(theory, tmp_path / "spec")
    for label in ("A.4(2)", "A.4(7)", "definition 6(iii) evidence"):
        assert result(api.check(api.load(STARTER, theory=copy)), "soundness").verdict is Verdict.HOLDS
        remove(copy, label)
    assert result(api.check(api.load(STARTER, theory=copy)), "soundness").verdict is Verdict.VIOLATED


REPORTING = """
certificate good_end { issuer reader premises ok(page) claims terminal(accept) }
update announce operation report by reader { view global when accept and not active(good_end) report accept issue good_end }
fault lie operation report by reader { view global when not active(good_end) report accept issue good_end }
fault boast operation report by reader { view global when not active(boast_end) report accept issue boast_end }
certificate boast_end { issuer reader premises request claims terminal(accept) }
invariant honest: active(good_end) or active(boast_end) implies accept
"""


def test_every_accept_report_is_true_where_it_is_made(theory: Path, tmp_path: Path) -> None:
    """Corollary 1, and definition 8. Without the clause of A.4(7) on reports a boast is committed where Acc does not hold."""
    text = STARTER.read_text(encoding="utf-8") + REPORTING
    report = api.check(load_text(text, theory))
    assert result(report, "honest").verdict is Verdict.HOLDS and result(report, "legality").verdict is Verdict.HOLDS
    copy = theory_copy(theory, tmp_path / "spec")
    remove(copy, "A.4(7) reports")
    honest = result(api.check(load_text(text, copy)), "honest")
    assert honest.verdict is Verdict.VIOLATED and honest.run is not None and honest.run.steps[-1].update == "boast"
