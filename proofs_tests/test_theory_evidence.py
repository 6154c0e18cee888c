"""A.3 and definition 7 by hand: what makes a certificate valid, what it anchors in, what justifies an assertion.

Every test takes the folder of the theory, so that `test_claims.py` can call it with one definition missing.
"""

from __future__ import annotations

from pathlib import Path

from theory_lab import Lab

PROBES = {
    "valid": "(c: Certificate): valid(c)",
    "anchored": "(c: Certificate): anchored(c)",
    "witnessed": "(c: Certificate): witnessed(c)",
    "rests": "(c: Certificate): rests(c)",
    "supports": "(c: Certificate, a: Assertion): supports(c, a)",
    "justified": "(a: Assertion): justified(a)",
    "all justified": "(q: Obligation): all_justified(q)",
}


def lab(theory: Path, *probes: str) -> Lab:
    return Lab("evidence", theory, {name: PROBES[name] for name in probes})


def test_a_certificate_is_valid_while_active_in_scope_current_and_accepted_by_its_rule(theory: Path) -> None:
    found = lab(theory, "valid")
    start = found.start
    assert found.holds(start, "valid", "asked(a)")
    assert not found.holds(start, "valid", "done(b)")  # never issued
    closed = found.after("write(b)", "close(b)")
    assert found.holds(closed, "valid", "done(b)")
    assert not found.holds(found.after("take_back(b)", start=closed), "valid", "done(b)")  # revoked
    assert not found.holds(found.after("close(b)"), "valid", "done(b)")  # the report is not there
    assert not found.holds(found.after("push", start=closed), "valid", "done(b)")  # V: the report is about commit 1
    assert found.holds(found.after("assign(ana, b)"), "valid", "able(ana, b)")
    assert not found.holds(found.after("assign(bo, b)"), "valid", "able(bo, b)")  # outside the issuer's scope
    assert not found.holds(found.after("assign(ana, b)", "push"), "valid", "able(ana, b)")  # no longer current


def test_a_certificate_that_is_active_on_a_stale_premise_is_not_valid(theory: Path) -> None:
    found = lab(theory, "valid", "justified")
    accepted = found.after("write(b)", "close(b)", "accept_one(b)")
    assert found.holds(accepted, "valid", "ok(b)")
    stale = found.after("push", start=accepted)
    ok = next(f for f in found.system.fields if f.name == "ok(b)")
    assert ok.domain.show(stale[ok.index]) == "active"  # its own lifecycle did not change
    assert not found.holds(stale, "valid", "ok(b)")  # done(b), its premise, is about the old commit
    assert not found.holds(stale, "justified", "status(b)")
    assert found.infeasible(stale) == ("A.4(2)", "A.4(7)")


def test_a_captured_premise_is_judged_when_its_certificate_is_issued(theory: Path) -> None:
    found = lab(theory, "valid", "justified")
    before = found.after("tag(b)", "push")
    assert found.holds(before, "valid", "noted(b)") and found.holds(before, "justified", "signature(b)")
    late = found.after("push", "tag(b)")
    assert not found.holds(late, "valid", "noted(b)") and not found.holds(late, "justified", "signature(b)")


def test_external_evidence_enters_through_an_input_node(theory: Path) -> None:
    found = lab(theory, "anchored", "witnessed", "rests")
    state = found.after("write(b)", "close(b)")
    assert found.holds(state, "anchored", "asked(b)")
    assert not found.holds(state, "anchored", "done(b)")  # an artifact only
    assert found.holds(state, "anchored", "relayed(b)")  # its premise asked(b) rests on the request
    assert found.holds(state, "witnessed", "asked(b)")  # an input is something to see
    assert found.holds(state, "witnessed", "done(b)")  # but an artifact is something to see
    assert found.holds(state, "witnessed", "ok(b)")  # through its premise done(b)
    assert not found.holds(state, "witnessed", "done(c)")  # there is no report on c
    assert not found.holds(state, "witnessed", "vouch(b)")
    assert found.holds(state, "rests", "asked(b)")
    assert not found.holds(state, "rests", "assumed(b)")  # active from the start, and no event issued it
    assert found.holds(state, "rests", "relayed(b)") and not found.holds(state, "rests", "built(b)")  # nor what rests on it


def test_support_needs_the_claim_the_epoch_and_validity(theory: Path) -> None:
    found = lab(theory, "supports", "justified", "valid")
    closed = found.after("write(b)", "close(b)")
    assert found.holds(closed, "supports", "done(b)", "status(b)")
    assert not found.holds(closed, "supports", "asked(b)", "status(b)")  # valid, and its claim is `ready`
    assert not found.holds(closed, "supports", "done(b)", "node(b)")  # no claim of that kind
    wrongly = found.after("write(b)", "close_wrongly(b)")  # issued with the event, valid, and its claim is `closed`
    assert found.holds(wrongly, "valid", "done(b)") and not found.holds(wrongly, "supports", "done(b)", "status(b)")
    silent = found.after("write(b)", "close_silently(b)")
    assert not found.holds(silent, "justified", "status(b)")
    heard = found.after("hear(b)", start=silent)
    assert found.holds(heard, "justified", "status(b)")  # evidence that came after the event
    again = found.after("close_silently(b)", start=closed)
    assert not found.holds(again, "justified", "status(b)")  # done(b) belongs to the closing before this one


def test_evidence_for_an_earlier_epoch_does_not_justify_the_same_status_again(theory: Path) -> None:
    found = lab(theory, "justified", "valid")
    assert found.holds(found.start, "justified", "status(b)")
    again = found.after("block(b)", "reopen(b)")
    assert found.holds(again, "valid", "asked(b)")  # still valid, and it claims `ready`
    assert not found.holds(again, "justified", "status(b)")
    assert found.infeasible(again) == ("A.4(2)",)  # an update may still write it, so A.4(4) is content


def test_circular_support_justifies_nothing(theory: Path) -> None:
    found = lab(theory, "justified", "valid", "rests")
    circle = found.after("vouch_both")
    assert found.holds(circle, "valid", "vouch(b)") and found.holds(circle, "valid", "vouch(c)")  # every premise holds
    assert not found.holds(circle, "rests", "vouch(b)")
    assert not found.holds(circle, "justified", "status(b)") and not found.holds(circle, "justified", "status(c)")
    grounded = found.after("write(c)", "close(c)", "accept_one(c)", "vouch_one")
    assert found.holds(grounded, "justified", "status(c)") and found.holds(grounded, "justified", "status(b)")  # c stands on its own


def test_all_assertions_about_a_component_count(theory: Path) -> None:
    found = lab(theory, "all justified")
    assert found.those(found.start, "all justified", "abc") == {"a", "b", "c"}
    tagged = found.after("tag_silently(b)")  # node and status are justified, the signature is not
    assert found.those(tagged, "all justified", "abc") == {"a", "c"}
    assert found.measure(tagged, "snd") == 1 - found.measure(tagged, "snd") / 2  # 2/3: one of three unjustified
    assert not found.holds(tagged, "definition 7", "b")
    assert found.holds(tagged, "definition 7", "a")
