"""A.6 by hand: EffUnres, FailRoot, the live frontier, Acc and Rej clause by clause, stuck, reports, and finality."""

from __future__ import annotations

from pathlib import Path

from theory_lab import Lab, broken, load_text

from icore_kernel import api

WORK = ("r", "s", "p", "deep", "z", "x", "y")
PROBES = {
    "unresolved": "(q: Obligation): effective_unresolved(q)",
    "repaired": "(c: Certificate): repaired(c)",
    "failed": "(r: Obligation): has_failed(r)",
    "feeds": "(z: Artifact, r: Obligation): feeds(z, r)",
    "open input": "(i: Input): open_input(i)",
    "input feeds": "(i: Input, r: Obligation): input_feeds(i, r)",
    "quiet": "(r: Obligation): quiet(r)",
    "unrepaired": "(q: Obligation): unrepaired(q)",
    "broken": "(q: Obligation): broken(q)",
    "firm": "(q: Obligation): firm(q)",
    "no unresolved": ": no_unresolved",
    "some root": ": some_root",
    "all discharged": ": all_discharged",
    "none failed": ": none_failed",
    "all firm": ": all_firm",
    "all quiet": ": all_quiet",
    "all failed": ": all_failed",
    "none discharged": ": none_discharged",
    "accept now": ": settled_for_accept",
    "reject now": ": settled_for_reject",
}


def lab(theory: Path, *probes: str) -> Lab:
    return Lab("terminal", theory, {name: PROBES[name] for name in probes})


def accepted(*works: str) -> tuple[str, ...]:
    return tuple(step for w in works for step in (f"finish({w})", f"take_in({w})"))


def failed(*works: str) -> tuple[str, ...]:
    return tuple(step for w in works for step in (f"fail({w})", f"file({w})"))


def closed(*works: str) -> tuple[str, ...]:
    return tuple(step for w in works for step in (f"finish({w})", f"file({w})"))


# All that is not named ends well; nothing is left to read, and the environment has spoken.
REST = ("tell", *accepted("deep", "p", "x", "y"), *closed("z"))
ACCEPTED = (*REST, *accepted("r", "s"))
REJECTED = ("tell", *closed("deep", "p", "x", "y", "z"), *failed("r", "s"))


def test_effective_unresolved_work_is_unresolved_not_off_and_serves_an_effective_root(theory: Path) -> None:
    found = lab(theory, "unresolved", "no unresolved")
    assert found.those(found.start, "unresolved", WORK) == set(WORK)
    assert found.those(found.after("drop(z)"), "unresolved", WORK) == set(WORK) - {"z"}
    assert found.those(found.after("drop(r)"), "unresolved", WORK) == {"s"}
    assert found.holds(found.after(*ACCEPTED), "no unresolved") and not found.holds(found.start, "no unresolved")


def test_a_root_has_failed_until_a_valid_repair_neutralizes_it(theory: Path) -> None:
    found = lab(theory, "repaired", "failed", "unrepaired", "none failed")
    state = found.after("fail(r)")
    assert found.holds(found.start, "none failed")
    assert found.those(state, "failed", WORK) == {"r"} and not found.holds(state, "none failed")
    assert found.those(state, "unrepaired", WORK) == {"r"}
    mended = found.after("mend(r)", start=state)
    assert found.holds(mended, "repaired", "failed(r)") and not found.holds(state, "repaired", "failed(r)")
    assert found.those(mended, "failed", WORK) == set() and found.those(mended, "unrepaired", WORK) == set()
    assert found.those(found.after("fail(p)"), "failed", WORK) == set()  # p is no root
    assert found.those(found.after("fail(r)", "drop(r)"), "failed", WORK) == set()  # r is effective no more
    assert found.those(found.after("fail_in_a_circle(r)"), "failed", WORK) == set()  # evidence that rests on its own claim
    assert found.those(found.after("fail_in_a_circle(r)"), "unrepaired", WORK) == {"r"}  # valid, and nothing could repair it


def test_the_live_frontier_is_what_can_still_be_used(theory: Path) -> None:
    found = lab(theory, "feeds", "open input", "input feeds", "quiet", "all quiet")
    assert found.holds(found.start, "feeds", "paper(z)", "r") and not found.holds(found.start, "feeds", "paper(z)", "s")
    assert not found.holds(found.start, "feeds", "memo", "r")  # no update reads a memo
    assert found.holds(found.start, "open input", "news") and not found.holds(found.start, "open input", "request")
    assert found.holds(found.start, "input feeds", "news", "r") and not found.holds(found.start, "input feeds", "request", "r")
    assert found.those(found.start, "quiet", ("r", "s")) == set()  # the environment may still speak
    told = found.after("tell")
    assert not found.holds(told, "open input", "news") and found.holds(told, "all quiet")
    written = found.after("finish(z)", start=told)
    assert found.those(written, "quiet", ("r", "s")) == {"s"} and not found.holds(written, "all quiet")
    assert found.holds(found.after("file(z)", start=written), "all quiet")
    assert found.holds(found.after("drop(r)", start=written), "all quiet")  # it feeds nothing but a root that is off


def test_accepted_work_depends_on_nothing_broken_however_far_away(theory: Path) -> None:
    found = lab(theory, "broken", "firm", "all firm")
    state = found.after("tell", *accepted("r", "p", "s"), *failed("deep"), *closed("x"))
    assert found.those(state, "broken", WORK) == {"deep", "z", "y"}  # rejected, or unresolved; x is closed
    assert found.those(state, "firm", ("r", "p", "s")) == {"s"}  # r rests on p, and p on deep
    through = found.after("tell", *accepted("r"), *closed("p"), *failed("deep"))
    assert not found.holds(through, "firm", "r")  # p in between is settled and says nothing of deep
    assert found.holds(found.after("drop(deep)", start=through), "firm", "r")
    assert found.holds(found.after(*ACCEPTED), "all firm") and not found.holds(through, "all firm")
    assert not found.holds(found.after(*ACCEPTED, "put_before(z, r)", "fail(z)"), "firm", "r")  # before r, and rejected
    behind = found.after(*ACCEPTED, "put_before(z, x)", "put_before(x, s)", "fail(z)")
    assert not found.holds(behind, "firm", "s")  # z is before x, and x before s
    assert not found.holds(found.after(*ACCEPTED, "take_in(z)"), "firm", "s")  # z contradicts s
    complained = found.after(*ACCEPTED, "complain(p)")  # accepted, with failure evidence that nothing repairs
    assert found.those(complained, "broken", WORK) == {"p"} and found.those(complained, "firm", ("p", "r")) == set()


def test_acc_holds_when_all_five_clauses_do(theory: Path) -> None:
    found = lab(theory, "all discharged", "some root", "accept now", "reject now")
    state = found.after(*ACCEPTED)
    assert found.infeasible(state) == () and found.not_accept(state) == ()
    assert found.holds(state, "accept now") and not found.holds(state, "reject now") and found.holds(state, "all discharged")
    assert not found.holds(found.start, "accept now")
    nothing = found.after(*ACCEPTED, "drop(r)", "drop(s)")
    assert not found.holds(nothing, "some root") and found.not_accept(nothing) == ("Acc(2)",)  # no root left is no success


def test_each_clause_of_acc_fails_alone_somewhere(theory: Path) -> None:
    """And so does the report of Accept, which asks for the same but for feasibility."""
    found = lab(theory, "accept now")

    def missing(*steps: str) -> tuple[str, ...]:
        state = found.after(*steps)
        assert found.holds(state, "accept now") is (found.not_accept(state) == ())
        return found.not_accept(state)

    but_z = ("tell", *accepted("deep", "p", "x", "y", "r", "s"))
    assert missing(*but_z) == ("Acc(1)",)  # z is unresolved
    assert missing(*but_z, "drop(z)") == ()
    assert missing(*REST, *accepted("r"), *closed("s")) == ("Acc(2)",)  # s is executed, not validated
    jointly = (*REST, *accepted("s"), *closed("r"), "join")
    assert missing(*jointly) == ()
    assert missing(*jointly, "complain(r)") == ("Acc(3)",)
    rejected = ("tell", *accepted("p", "x", "y", "r", "s"), *failed("deep"), *closed("z"))
    assert missing(*rejected) == ("Acc(4)",)
    assert missing(*REST, *accepted("r"), "finish(s)", "take_in(s)", "finish(z)") == ("Acc(5)",)  # a paper lies there


def test_an_infeasible_state_is_no_success_and_no_failure(theory: Path) -> None:
    found = Lab("terminal", theory)
    state = found.after(*ACCEPTED, "take_in_silently(z)", "drop(z)")
    assert found.infeasible(state) == ("A.4(2)", "A.4(7)") and "Acc(1)" in found.not_accept(state)
    assert found.not_reject(found.after(*REJECTED, "take_in_silently(z)")) == ("Rej(1)",)


def test_each_clause_of_rej_fails_alone_somewhere(theory: Path) -> None:
    """And so does the report of Reject."""
    found = lab(theory, "all failed", "none discharged", "reject now")

    def missing(*steps: str) -> tuple[str, ...]:
        state = found.after(*steps)
        assert found.holds(state, "reject now") is (found.not_reject(state) == ())
        return found.not_reject(state)

    state = found.after(*REJECTED)
    assert found.infeasible(state) == () and missing(*REJECTED) == ()
    assert found.holds(state, "all failed") and found.holds(state, "none discharged")
    assert missing("tell", *closed("deep", "p", "x", "y"), *failed("r", "s")) == ("Rej(1)",)  # z
    assert missing(*REJECTED, "mend(r)") == ("Rej(2)",)
    both = (*REST, *failed("s"), *closed("r"), "complain(r)", "join")
    assert missing(*both) == ("Rej(3)",)  # r has failed, and x and y discharge it
    assert not found.holds(found.after(*both), "none discharged")
    assert missing("tell", *closed("deep", "p", "x", "y", "z"), *failed("r"), *accepted("s"), "drop(s)") == ()  # s is done, and off
    assert missing(*REJECTED, "finish(z)") == ("Rej(4)",)
    assert not found.holds(found.start, "reject now")
    nothing = found.after(*REJECTED, "drop(r)", "drop(s)")
    assert not found.holds(nothing, "all failed") and found.not_reject(nothing) == ("Rej(1)", "Rej(2)")


def test_stuck_takes_a_report_and_evidence_for_it(theory: Path) -> None:
    found = Lab("terminal", theory)
    assert broken(found.system.stuck, found.start) == ("section 3.3 stuck",)
    assert broken(found.system.stuck, found.after("give_up_silently")) == ("section 3.3 stuck",)
    assert broken(found.system.stuck, found.after("prepare_to_give_up")) == ("section 3.3 stuck",)  # evidence, and no report
    assert broken(found.system.stuck, found.after("give_up")) == () and len(found.system.stuck) == 1
    both = found.after(*ACCEPTED, "give_up")  # decision 19: neither Acc nor Rej excludes it
    assert broken(found.system.stuck, both) == () and found.not_accept(both) == ()


def test_a_report_stands_only_where_its_predicate_does(theory: Path) -> None:
    found = Lab("terminal", theory)
    assert found.refusal(found.after(*ACCEPTED), "call_it_done") == ()
    assert found.refusal(found.after(*REJECTED), "call_it_off") == ()
    assert found.refusal(found.after(*REJECTED), "call_it_done") == ("A.4(7) reports",)
    assert found.refusal(found.after(*ACCEPTED), "call_it_off") == ("A.4(7) reports",)
    assert found.refusal(found.start, "call_it_done") == ("A.4(7) reports",)
    after = found.after(*ACCEPTED, "call_it_done")
    assert found.refusal(after, "complain(r)") == ("A.4(7) reports",)  # what was reported stays true


FINAL = """language 1
package Final "1.0"
agents {{ ana }}
input request
artifact paper(w: Item)
obligation type Item {{}}
obligations {{ r: Item starts ready, required  s: Item starts ready, required  n: Item starts ready }}
certificate asked(w: Item) {{ issuer environment premises request claims node(w), status(w) is ready starts active }}
certificate done(w: Item) {{ issuer any premises paper(w) claims status(w) is accepted, coverage(w) }}
certificate again(w: Item) {{ issuer any premises request claims status(w) is ready }}
certificate dropped(w: Item) {{ issuer any premises request claims removal(w) }}
certificate failed(w: Item) {{ issuer any premises paper(w) claims failure(w) }}
update finish(w: Item) operation complete by ana {{
  view global
  when status(w) == ready and marker(r) == none and not revoked(done(w))
  emit paper(w)
  set status(w) := accepted
  issue done(w)
}}
update afterwards operation transform by ana {{ view global when accept {effect} }}
allow dead_end because "what may follow a report is looked at here"
"""


def changed_after_accept(theory: Path, effect: str) -> list[str]:
    report = api.check(load_text(FINAL.format(effect=effect), theory))
    return [f.message.partition(" changes ")[2] for f in report.findings if f.kind == "not_final"]


def test_what_a_report_speaks_of_is_watched_afterwards(theory: Path) -> None:
    reopened = "set status(r) := ready revoke done(r) issue again(r)"
    assert changed_after_accept(theory, reopened) == ["discharge of r"]
    assert changed_after_accept(theory, "issue failed(r)") == ["failure of r"]
    assert changed_after_accept(theory, "set marker(r) := irrelevant issue dropped(r)") == ["exclusion of r"]
    assert changed_after_accept(theory, "set marker(n) := irrelevant issue dropped(n)") == []  # n is no root
    assert changed_after_accept(theory, "set assignee(r) := none") == []


HOPELESS = """language 1
package Hopeless "1.0"
agents { ana }
input request
obligation type Item {}
obligations { r: Item starts open, required }
certificate asked(w: Item) { issuer environment premises request claims node(w), status(w) is open starts active }
certificate never(w: Item) { issuer any premises request claims status(w) is ready valid when status(w) == invalid }
update touch operation certify by ana { view global when not active(never(r)) issue never(r) }
allow dead_end because "nothing can be done here"
"""


def test_a_success_that_could_not_be_otherwise_is_found(theory: Path) -> None:
    found = {(f.kind, f.subject) for f in api.check(load_text(HOPELESS, theory)).findings}
    assert found == {("accept_unreachable", ""), ("reject_unreachable", ""), ("uncovered_root", "r"), ("never_valid", "never")}
    rootless = HOPELESS.replace("starts open, required", "latent, required")
    assert ("empty_roots", "") in {(f.kind, f.subject) for f in api.check(load_text(rootless, theory)).findings}


ERRAND = """language 1
package Errand "1.0"
agents { ana }
input request
obligation type Item {}
obligations { r: Item starts ready, required  step: Item starts ready  errand: Item starts ready }
relation part(Obligation, Obligation) contributes coverage
part = r -> step
certificate asked(w: Item) { issuer environment premises request claims node(w), status(w) is ready starts active }
update touch operation certify by ana { view global when active(asked(r)) }
"""


def test_work_that_serves_no_root_is_found(theory: Path) -> None:
    """A root serves itself, its parts serve it; nothing else does. Where nothing is required there is nothing to serve."""

    def idle(text: str) -> list[str]:
        return [f.subject for f in api.check(load_text(text, theory)).findings if f.kind == "serves_no_root"]

    assert idle(ERRAND) == ["errand"]
    assert idle(ERRAND.replace("r -> step", "r -> step, r -> errand")) == []
    assert idle(ERRAND.replace("r -> step", "r -> step -> errand")) == []  # at one remove
    later = ERRAND.replace("errand: Item starts ready }", "errand: Item starts ready  late: Item latent, required }")
    assert idle(later) == ["errand"]  # late is required, though nobody creates it
    assert idle(ERRAND.replace("part = r -> step", "")) == ["step", "errand"]
    assert idle(ERRAND.replace("starts ready, required", "starts ready")) == []
