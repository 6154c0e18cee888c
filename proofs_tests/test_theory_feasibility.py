"""A.4: for each independent clause a package that violates it alone; the others follow from A.4(2), by Z3 for all states."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from theory_lab import Lab, load_text, theory_copy
from theory_packages import VIOLATORS, aggregate, carriers, violator
from theory_texts import remove

from icore_kernel import api
from icore_kernel.meaning.smt import Encoder, Question, Result
from icore_kernel.verdict import Report, Verdict

SECONDS = 20_000


def named(report: Report) -> set[str]:
    """The labels that the violated results of a report name: in `update breaks label (n)`, in `label in n states`, in the reasons."""
    found: set[str] = set()
    for result in report.results:
        if result.verdict is Verdict.VIOLATED:
            found.update(re.findall(r"breaks (.+?) \(\d", result.detail))
            found.update(reason.label for reason in result.reasons)
    return found


def check(text: str, theory: Path) -> Report:
    return api.check(load_text(text, theory))


@pytest.mark.parametrize("label", VIOLATORS)
def test_a_package_violates_this_clause_alone_and_is_right_without_it(label: str, theory: Path, tmp_path: Path) -> None:
    violated_alone(label, theory)
    without = theory_copy(theory, tmp_path / "spec")
    remove(without, label)
    report = check(violator(label), without)
    assert report.verdict is Verdict.HOLDS, [(r.name, r.detail) for r in report.results if r.verdict is not Verdict.HOLDS]


def violated_alone(label: str, theory: Path) -> None:
    found = Lab(violator(label), theory)
    assert found.infeasible(found.start) == ()
    report = api.check(found.loaded)
    assert report.verdict is Verdict.VIOLATED
    assert named(report) == {label}


def test_roots_reach_an_input(theory: Path) -> None:
    violated_alone("A.4(1)", theory)


def test_every_assertion_is_justified(theory: Path) -> None:
    violated_alone("A.4(2)", theory)


def test_work_hangs_together(theory: Path) -> None:
    violated_alone("A.4(3)", theory)


def test_unresolved_work_waits_or_can_go_on(theory: Path) -> None:
    violated_alone("A.4(4)", theory)


def test_only_accepted_work_counts_as_coverage(theory: Path) -> None:
    violated_alone("A.4(5)", theory)


def test_an_aggregate_needs_evidence_of_compatibility(theory: Path) -> None:
    found = Lab(aggregate(), theory)
    assert found.infeasible(found.start) == () and named(api.check(found.loaded)) == {"A.4(5)"}


def test_an_assignee_is_feasible(theory: Path) -> None:
    violated_alone("A.4(6)", theory)


def test_a_terminal_status_has_something_to_see(theory: Path) -> None:
    violated_alone("A.4(7)", theory)


def test_every_terminal_status_needs_a_witness(theory: Path) -> None:
    found = Lab("roots", theory)
    for status in ("open", "ready", "blocked", "submitted", "closed", "accepted", "rejected", "invalid"):
        silent = found.after(f"set_status(z, {status})")
        assert found.holds(silent, "A.4(7)", "z") is (status in ("open", "ready", "blocked", "submitted")), status


def test_a_report_corresponds_to_the_state(theory: Path) -> None:
    violated_alone("A.4(7) reports", theory)


def test_absent_work_carries_nothing(theory: Path) -> None:
    violated_alone("A.4 absent", theory)
    found = Lab(carriers(), theory)
    assert found.holds(found.start, "A.4 absent", "extra")
    for update in ("reserve", "reserve_silently", "ready", "end_it", "sign", "drop", "fail", "join", "tie"):
        assert not found.holds(found.after(update), "A.4 absent", "extra"), update
        assert found.refusal(found.start, update) == ("A.4 absent",)
    assert found.infeasible(found.after("begin")) == ()  # created with all of it, on evidence
    assert found.refusal(found.start, "begin") == ()


# ---- what the definitions of A.4 say in single states -------------------------------------------------------------------
PROBES = {
    "anchor": "(w: Obligation): anchor(w)",
    "connected": "(w: Obligation): connected(w)",
    "waiting": "(w: Obligation): waiting(w)",
    "eligible": "(c: Certificate, w: Obligation, r: Obligation): eligible(c, w, r)",
    "compatible": "(w: Obligation): compatible(w)",
    "feasible": "(w: Obligation): names_feasible(w)",
    "witness": "(w: Obligation): has_witness(w)",
    "retracted": "(c: Certificate): retracted(c)",
    "only": "(a: Assertion, c: Certificate): depends_only_on(a, c)",
}


def lab(package: str, theory: Path, *probes: str) -> Lab:
    return Lab(package, theory, {name: PROBES[name] for name in probes})


def test_anchor_connection_and_waiting(theory: Path) -> None:
    found = lab(violator("A.4(3)"), theory, "anchor", "connected", "waiting")
    began = found.after("begin(extra)")
    assert found.those(began, "anchor", ("root", "extra")) == {"root"}  # extra stands on a paper
    assert found.those(began, "connected", ("root", "extra")) == {"root"}
    assert found.those(began, "waiting", ("root", "extra")) == {"root", "extra"}  # open, on its own evidence
    enabled = lab(violator("A.4(4)"), theory, "waiting")
    assert not enabled.holds(enabled.after("enable"), "waiting", "extra")  # ready, on a word without an input
    served = violator("A.4(3)") + "relation serves(Item, Item) contributes coverage\nserves = root -> extra\n"
    assert lab(served, theory, "connected").holds(began, "connected", "extra")  # a chain to a root is enough


def test_eligibility_compatibility_feasibility_and_witness(theory: Path) -> None:
    found = lab(violator("A.4(5)"), theory, "eligible")
    assert not found.holds(found.after("count_in"), "eligible", "counted(extra)", "extra", "root")
    assert found.holds(found.start, "eligible", "counted(extra)", "extra", "root")
    joined = lab("roots", theory, "compatible")
    assert not joined.holds(joined.start, "compatible", "s")
    assert joined.holds(joined.after("finish(x)", "finish(y)", "join(s)"), "compatible", "s")
    people = lab("quality", theory, "feasible")
    assert people.holds(people.after("assign(ana, p)"), "feasible", "p")
    assert not people.holds(people.after("assign(ana, p)", "leave(ana)"), "feasible", "p")
    assert not people.holds(people.start, "feasible", "p")  # nobody
    evidence = lab("evidence", theory, "witness")
    assert evidence.holds(evidence.after("write(b)", "close(b)"), "witness", "b")
    assert not evidence.holds(evidence.after("close(b)"), "witness", "b")
    assert not evidence.holds(evidence.after("vouch_both"), "witness", "b")
    assert not evidence.holds(evidence.after("write(b)", "close_wrongly(b)"), "witness", "b")  # rejected, and done(b) claims `closed`
    assert not evidence.holds(evidence.after("write(b)", "close(b)", "push"), "witness", "b")  # not valid any more
    assert not evidence.holds(evidence.after("write(b)", "close(b)", "close_silently(b)"), "witness", "b")  # of the epoch before


def test_retracted_evidence_supports_nothing(theory: Path) -> None:
    found = lab("evidence", theory, "retracted", "only")
    closed = found.after("write(b)", "close(b)")
    back = found.after("take_back(b)", start=closed)
    assert found.holds(back, "retracted", "done(b)") and not found.holds(closed, "retracted", "done(b)")
    assert found.holds(closed, "only", "status(b)", "done(b)")
    assert not found.holds(found.after("hear(b)", start=closed), "only", "status(b)", "done(b)")  # rumour(b) supports it too
    assert found.infeasible(back) == ("A.4(2)", "A.4(7)", "A.4(8)", "A.4(9)")
    assert found.infeasible(found.after("hear(b)", start=back)) == ()


# ---- implications -------------------------------------------------------------------------------------------------------
PACKAGES = ("evidence", "roots", "quality", "terminal")


def follows(found: Lab, goal: str, *assumed: str) -> Iterator[tuple[str, Result]]:
    """For each instance of the clause `goal`: whether it follows from the clauses `assumed` in every state of the domains."""
    bank, system = found.loaded.bank, found.system
    clauses = {c.label: c for c in (*system.feasibility, *system.soundness)}
    variables = [bank.variable(f.name, f.index, f.domain.lo, f.domain.hi, f.domain.kind.value == "bool").variable for f in system.fields]
    question = Question(Encoder(), variables)
    assumptions = [clauses[label].formula for label in assumed]
    for name, term in clauses[goal].instances:
        yield name, question.ask(assumptions, term, SECONDS).result


IMPLIED = [("evidence", "A.4(8)"), ("evidence", "A.4(9)"), *((package, "definition 7") for package in PACKAGES)]


@pytest.mark.parametrize(("package", "goal"), IMPLIED)
def test_what_follows_from_justification_in_every_state(package: str, goal: str, theory: Path) -> None:
    """A.4(8) and A.4(9), and Lemma 2: a feasible successor, so a legal one, is work-sound. The second line: not for nothing."""
    found = Lab(package, theory)
    assert {result for _, result in follows(found, goal, "A.4(2)")} == {Result.UNSAT}
    assert Result.SAT in {result for _, result in follows(found, goal)}


@pytest.mark.parametrize("package", PACKAGES)
def test_most_of_clause_6_follows_from_justification(package: str, theory: Path) -> None:
    """That an assignment rests on evidence follows; that it names a feasible agent does not."""
    probes = {"6 evidence": "(w: Obligation): present(w) and assignee(w) != none implies justified(assignment_of(w))"}
    assert {r for _, r in follows(Lab(package, theory, probes), "probe 6 evidence", "A.4(2)")} <= {Result.UNSAT}


def test_feasibility_of_the_assignee_does_not_follow(theory: Path) -> None:
    assert Result.SAT in {r for _, r in follows(Lab("quality", theory), "A.4(6)", "A.4(2)")}


@pytest.mark.parametrize("label", ["A.4(1)", "A.4(3)", "A.4(4)", "A.4(5)", "A.4(6)", "A.4(7)", "A.4(7) reports", "A.4 absent"])
def test_no_other_clause_follows_from_justification(label: str, theory: Path) -> None:
    found = Lab(violator(label), theory)
    assert Result.SAT in {r for _, r in follows(found, label, "A.4(2)")}


def test_implied_clauses_are_broken_where_evidence_is_taken_back(theory: Path) -> None:
    found = Lab("evidence", theory)
    back = found.after("write(b)", "close(b)", "take_back(b)")
    assert not found.holds(back, "A.4(8)", "status(b)") and not found.holds(back, "A.4(9)", "status(b)")
    assert found.holds(back, "A.4(8)", "node(b)")
