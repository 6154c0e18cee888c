"""Lemma 2 and Corollary 1 as one-step obligations: a legal update leads to a work-sound state, and reports are true where they are made.

Proposition 5's first half is the same: what the audit loop commits is legal, so every committed state is work-sound.
Legality is asked whole (every clause of the state after) or by what the writes touch; only then the state before must be good.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from one_step import Broken, OneStep
from test_proposition_1 import REPORTING, STARTER
from theory_lab import Lab

from icore_kernel import api
from icore_kernel.load import Loaded
from icore_kernel.meaning import scalar
from icore_kernel.system import Kind
from icore_kernel.terms.node import Term

CHECKOUT = Path(__file__).resolve().parents[2]
NAMES = ("code_change", "decompose_and_solve", "dependency_ladder", "incident_response", "repair_verification", "compatible_merge")
FILES = [STARTER, *(CHECKOUT / "examples" / f"{name}.icore" for name in NAMES)]
every_file = pytest.mark.parametrize("file", FILES, ids=lambda p: p.stem)


def sound(loaded: Loaded) -> Term:
    return loaded.bank.conj([c.formula for c in loaded.system.soundness])


def feasible(loaded: Loaded) -> list[Term]:
    return [c.formula for c in loaded.system.feasibility]


# ---- Lemma 2 -------------------------------------------------------------------------------------------------------------
@every_file
def test_every_legal_update_leads_to_a_work_sound_state(file: Path, theory: Path) -> None:
    loaded = api.load(file, theory=theory)
    one = OneStep(loaded, sound(loaded), whole=True)
    assert one.ask([sound(loaded)]) == (len(loaded.system.updates), None)


@every_file
def test_where_only_what_is_written_is_judged_the_state_before_must_be_feasible(file: Path, theory: Path) -> None:
    loaded = api.load(file, theory=theory)
    one = OneStep(loaded, sound(loaded), whole=False)
    assert one.ask(feasible(loaded)) == (len(loaded.system.updates), None)
    _, broken = one.ask([])  # the hypothesis dropped
    assert broken is not None and not all(scalar.evaluate_all(feasible(loaded), broken.before))


@every_file
@pytest.mark.parametrize("whole", [True, False])
def test_without_justification_in_the_state_after_it_fails(file: Path, whole: bool, theory: Path) -> None:
    """Dropped: A.4(2), with what says half of it again: A.4(7), A.4(8), A.4(9). The state before is as good as can be."""
    loaded = api.load(file, theory=theory)
    one = OneStep(loaded, sound(loaded), whole)
    _, broken = one.ask([sound(loaded), *feasible(loaded)], ("A.4(2)", "A.4(7)", "A.4(8)", "A.4(9)", "definition 6(iii) evidence"))
    assert broken is not None


def test_definition_6_iii_alone_does_not_carry_it_where_the_world_moves(theory: Path) -> None:
    """The paper's own clause is about what the update writes: an environment that moves an input writes no work (decision 25)."""
    loaded = api.load(CHECKOUT / "examples" / "incident_response.icore", theory=theory)
    one = OneStep(loaded, sound(loaded), whole=True)
    assumed = [sound(loaded), *feasible(loaded)]
    _, broken = one.ask(assumed, ("A.4(2)", "A.4(7)"), [Kind.ENVIRONMENT])
    assert isinstance(broken, Broken) and broken.kind is Kind.ENVIRONMENT
    assert one.ask(assumed, ("definition 6(iii) evidence", "definition 6(iii) retraction")) == (len(loaded.system.updates), None)


# ---- Corollary 1 -----------------------------------------------------------------------------------------------------------
REJECTING = """
certificate bad_end { issuer reader premises request claims terminal(reject) }
update concede operation report by reader { view global when reject and not active(bad_end) report reject issue bad_end }
fault sulk operation report by reader { view global when not active(bad_end) report reject issue bad_end }
"""
TRUE = {
    "accept": ": holds(accept_report) implies accept",
    "reject": ": holds(reject_report) implies reject",
}


@pytest.mark.parametrize("report", TRUE)
def test_a_report_is_true_after_every_legal_update(report: str, theory: Path) -> None:
    """From every state whatever: a report that stands is one whose conditions hold. Without A.4(7)'s clause it is a matter of luck."""
    text = STARTER.read_text(encoding="utf-8") + REPORTING + REJECTING
    lab = Lab(text, theory, TRUE)
    goal = next(c.formula for c in lab.system.soundness if c.label == f"probe {report}")
    one = OneStep(lab.loaded, goal, whole=True)
    assert one.ask([]) == (len(lab.system.updates), None)
    _, broken = one.ask([goal, *feasible(lab.loaded)], ("A.4(7) reports",))
    assert broken is not None
    _, broken = one.ask([goal, *feasible(lab.loaded)], ("A.4(7) reports",), [Kind.FAULT])
    assert broken is not None and broken.update in {"lie", "boast", "sulk"}


def test_where_only_what_is_written_is_judged_reports_must_have_been_true_before(theory: Path) -> None:
    text = STARTER.read_text(encoding="utf-8") + REPORTING + REJECTING
    lab = Lab(text, theory, TRUE)
    goal = next(c.formula for c in lab.system.soundness if c.label == "probe accept")
    one = OneStep(lab.loaded, goal, whole=False)
    assert one.ask(feasible(lab.loaded)) == (len(lab.system.updates), None)
    _, broken = one.ask([])
    assert broken is not None
