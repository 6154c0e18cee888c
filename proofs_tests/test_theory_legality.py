"""Definitions 6 and 12 by hand: permission, issuer, who may take back, evidence for what is written, nothing left without."""

from __future__ import annotations

from pathlib import Path

from theory_lab import Lab

UNSUPPORTED = ("A.4(2)", "A.4(7)")
LEFT_ALONE = ("definition 6(iii) retraction", "A.4(2)", "A.4(7)", "A.4(8)", "A.4(9)")


def test_an_update_uses_an_operation_of_omega_and_its_issuer_may_issue(theory: Path) -> None:
    found = Lab("legality", theory)
    assert found.refusal(found.start, "finish(ana, job)") == ()
    assert found.refusal(found.start, "finish(bo, job)") == ("definition 6(ii)",)  # done(w) is ana's to issue
    assert found.refusal(found.start, "nameless(job)") == ("definition 6(ii)",)  # it names no operation


def test_only_who_may_takes_evidence_back(theory: Path) -> None:
    found = Lab("legality", theory)
    closed = found.after("finish(ana, job)", "guard(job)")  # two certificates support it: neither is missed
    assert found.refusal(closed, "take_back(ana, job)") == ()  # the issuer
    assert found.refusal(closed, "take_back(bo, job)") == ("definition 6(ii)",)
    assert found.refusal(closed, "replace(bo, job)") == ("definition 6(ii)",)
    assert found.refusal(closed, "withdraw") == ()  # the environment
    assert found.refusal(closed, "unguard(bo, job)") == ()  # `revocable by bo` …
    assert found.refusal(closed, "unguard(ana, job)") == ("definition 6(ii)",)  # … and by nobody else


def test_what_an_update_writes_it_supports(theory: Path) -> None:
    found = Lab("legality", theory)
    assert found.refusal(found.start, "careless(job)") == ("definition 6(iii) evidence", *UNSUPPORTED)
    assert found.refusal(found.start, "let_go(job)") == ()  # nobody is no assignment, and asks for no evidence


def test_no_update_takes_back_the_only_support_of_what_stands(theory: Path) -> None:
    found = Lab("legality", theory)
    closed = found.after("finish(ana, job)")
    assert found.refusal(closed, "take_back(ana, job)") == LEFT_ALONE
    assert found.refusal(closed, "replace(ana, job)") == LEFT_ALONE
    assert found.refusal(found.after("guard(job)", start=closed), "take_back(ana, job)") == ()
    assert found.refusal(found.after("finish_both(job)"), "take_both_back(job)") == LEFT_ALONE  # its node stands without it, its status not
    elsewhere = found.after("careless(other)", "guard(job)", start=closed)
    assert found.refusal(elsewhere, "take_back(ana, job)") == UNSUPPORTED  # what it claims stands; other work was unsupported before
    assert found.refusal(found.after("count_in(job)"), "count_out(job)") == ()  # coverage of work that is not accepted: asserted by nobody
