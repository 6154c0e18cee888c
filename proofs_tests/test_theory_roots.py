"""A.2 and definition 4 by hand: required roots, coverage, discharge, relative obligation, the evaluation set W(X)."""

from __future__ import annotations

from pathlib import Path

from theory_lab import Lab, State

WORK = ("r", "s", "c1", "c2", "z", "x", "y", "late")
PROBES = {
    "unresolved": "(q: Obligation): unresolved(q)",
    "settled": "(q: Obligation): settled(q)",
    "accepted": "(q: Obligation): is_accepted(q)",
    "root": "(r: Obligation): required_root(r)",
    "covers": "(q: Obligation, r: Obligation): covers(q, r)",
    "off": "(q: Obligation): off(q)",
    "leans": "(c: Certificate, w: Obligation): leans_on_failure(c, w)",
    "effective": "(r: Obligation): effective(r)",
    "soundly": "(q: Obligation): accepted_soundly(q)",
    "together": "(r: Obligation, c: Certificate): discharged_together(r, c)",
    "Dis": "(r: Obligation): discharged(r)",
    "Dis-": "(r: Obligation, q: Obligation): discharged_without(r, q)",
    "Ob": "(r: Obligation, q: Obligation): obligation(q, r)",
    "W": "(q: Obligation): evaluated(q)",
}


def lab(theory: Path, *probes: str) -> Lab:
    return Lab("roots", theory, {name: PROBES[name] for name in probes})


def accepted(found: Lab, *works: str, start: State | None = None) -> State:
    return found.after(*(step for w in works for step in (f"finish({w})", f"take_in({w})")), start=start)


def test_four_statuses_are_unresolved_and_four_are_settled(theory: Path) -> None:
    found = lab(theory, "unresolved", "settled", "accepted")
    sorted_out = {"open": "unresolved", "ready": "unresolved", "blocked": "unresolved", "submitted": "unresolved",
                  "closed": "settled", "accepted": "settled", "rejected": "settled", "invalid": "settled"}  # fmt: skip
    for status, side in sorted_out.items():
        state = found.after(f"set_status(x, {status})")
        assert found.holds(state, "unresolved", "x") is (side == "unresolved"), status
        assert found.holds(state, "settled", "x") is (side == "settled"), status
        assert found.holds(state, "accepted", "x") is (status == "accepted"), status
    assert not found.holds(found.start, "unresolved", "late") and not found.holds(found.start, "settled", "late")  # not there yet
    assert not found.holds(found.after("set_status(late, accepted)"), "accepted", "late")


def test_a_required_root_is_declared_present_and_waits_for_nothing(theory: Path) -> None:
    found = lab(theory, "root")
    assert found.those(found.start, "root", WORK) == {"r", "s"}
    assert found.those(found.after("begin_late"), "root", WORK) == {"r", "s", "late"}
    assert found.those(found.after("put_before(r, s)"), "root", WORK) == {"r"}
    assert found.those(found.after("put_before(late, s)"), "root", WORK) == {"r", "s"}  # what is not there precedes nothing


def test_coverage_leads_from_a_root_down_to_what_serves_it(theory: Path) -> None:
    found = lab(theory, "covers")
    assert found.those(found.start, "covers", WORK, "r") == {"r", "c1", "c2", "z"}
    assert found.those(found.start, "covers", WORK, "s") == {"s", "x", "y"}
    assert found.those(found.start, "covers", WORK, "c1") == set()  # c1 is no root


def test_removal_takes_valid_evidence_to_make_a_root_ineffective(theory: Path) -> None:
    found = lab(theory, "off", "effective")
    assert found.those(found.start, "effective", WORK) == {"r", "s"}
    dropped = found.after("drop(s)")
    assert found.those(dropped, "off", WORK) == {"s"} and found.those(dropped, "effective", WORK) == {"r"}
    silent = found.after("drop_silently(s)")
    assert found.those(silent, "off", WORK) == set() and found.those(silent, "effective", WORK) == {"r", "s"}
    assert found.those(found.after("announce(s)"), "off", WORK) == set()  # evidence, and no marker


def test_its_own_failure_is_no_evidence_for_the_removal_of_a_root(theory: Path) -> None:
    found = lab(theory, "off", "leans", "effective")
    state = found.after("fail(s)", "drop_failed(s)")
    assert found.holds(state, "leans", "read(s)", "s") and not found.holds(state, "leans", "dropped(s)", "s")
    assert found.infeasible(state) == ()  # the marker is justified as an assertion …
    assert not found.holds(state, "off", "s") and found.holds(state, "effective", "s")  # … and takes no root away
    rest = found.after("drop_failed(s)", start=found.after("fail(s)", start=accepted(found, "r", "c1", "c2", "z", "x", "y")))
    assert found.infeasible(rest) == () and found.not_accept(rest) == ("Acc(2)", "Acc(3)")  # no success by dropping what failed
    looked = found.after("fail(s)", "drop_seen(s)")  # a premise that reads the status says the same without a certificate
    assert found.infeasible(looked) == () and not found.holds(looked, "off", "s")
    assert found.holds(found.after("finish(s)", "drop_seen(s)"), "off", "s")  # closed is no failure
    assert found.holds(found.after("drop(s)", start=state), "off", "s")  # with a reason of another kind it does
    assert found.holds(found.after("fail(s)", "drop_told(s)"), "off", "s")  # it reads the status of other work
    spoiled = found.after("spoil(s)", "drop_noticed(s)")
    assert found.infeasible(spoiled) == () and not found.holds(spoiled, "off", "s")  # invalid work has failed, too


def test_a_root_is_discharged_by_its_own_acceptance_on_valid_evidence(theory: Path) -> None:
    found = lab(theory, "soundly", "Dis")
    assert found.those(found.start, "Dis", WORK) == set()
    one = accepted(found, "c1")
    assert found.those(one, "soundly", WORK) == {"c1"} and found.those(one, "Dis", WORK) == set()  # covering is not discharging
    assert found.those(accepted(found, "r"), "Dis", WORK) == {"r"}
    assert found.infeasible(accepted(found, "r", "x", "z")) == ()  # x and z are accepted for their roots, and cover nothing else
    assert found.those(found.after("take_in_silently(r)"), "Dis", WORK) == set()


def test_a_root_is_discharged_by_accepted_work_that_one_certificate_joins(theory: Path) -> None:
    found = lab(theory, "together", "Dis")
    both = accepted(found, "x", "y")
    assert found.those(both, "Dis", WORK) == set()  # nobody has said that they fit together
    joined = found.after("join(s)", start=both)
    assert found.holds(joined, "together", "s", "joint(s)") and found.those(joined, "Dis", WORK) == {"s"}
    half = found.after("finish(y)", "join(s)", start=accepted(found, "x"))
    assert not found.holds(half, "together", "s", "joint(s)")  # y is closed, not accepted
    nothing = found.after("join_nothing(s)")  # compatible, and it names no part
    assert not found.holds(nothing, "together", "s", "bare_word(s)") and found.those(nothing, "Dis", WORK) == set()
    assert not found.holds(accepted(found, "x"), "together", "s", "ok(x)")  # coverage, and no word of compatibility
    elsewhere = found.after("join_wrongly(s)", start=accepted(found, "z"))
    assert found.those(elsewhere, "Dis", WORK) == set()  # z is accepted, and covers r
    circular = found.after("take_in_silently(s)", "give_word(s)", start=accepted(found, "x"))
    assert found.those(circular, "Dis", WORK) == set()  # word(s) is valid, and rests on what it claims


def test_dis_minus_q_leaves_out_what_depends_on_q(theory: Path) -> None:
    found = lab(theory, "Dis", "Dis-", "Ob")
    state = accepted(found, "r")
    assert found.holds(state, "Dis", "r")
    assert found.holds(state, "Dis-", "r", "z")  # z serves r and does not support it
    assert not found.holds(state, "Dis-", "r", "c1") and not found.holds(state, "Dis-", "r", "c2")
    assert not found.holds(state, "Dis-", "r", "r")  # q depends on itself
    assert found.those(state, "Ob", WORK, "c1") == {"r"} and found.those(state, "Ob", WORK, "z") == set()
    joined = found.after("join(s)", start=accepted(found, "x", "y"))
    assert found.holds(joined, "Dis-", "s", "c1") and found.holds(joined, "Dis-", "s", "s")
    assert not found.holds(joined, "Dis-", "s", "x") and not found.holds(joined, "Dis-", "s", "y")
    off = found.after("drop(r)", start=state)
    assert not found.holds(off, "Dis-", "r", "z")  # Dis_-q holds effective roots


def test_relative_obligation_is_what_is_left_to_do_for_a_root(theory: Path) -> None:
    found = lab(theory, "Ob")
    assert found.those(found.start, "Ob", WORK, "c1") == {"r"} and found.those(found.start, "Ob", WORK, "x") == {"s"}
    assert found.those(found.after("drop(s)"), "Ob", WORK, "x") == set()
    assert found.those(found.after("join(s)", start=accepted(found, "x", "y")), "Ob", WORK, "x") == {"s"}


def test_the_evaluation_set_keeps_what_is_left_and_what_supports_the_end(theory: Path) -> None:
    found = lab(theory, "W")
    everything = {"r", "s", "c1", "c2", "z", "x", "y"}
    assert found.those(found.start, "W", WORK) == everything
    assert found.measure(found.start, "|W(X)|") == 7
    assert found.those(found.after("finish(x)"), "W", WORK) == everything  # x is settled, and covers a root that is not
    done = accepted(found, "r")
    assert found.those(done, "W", WORK) == everything - {"z"}  # z has nothing left to do; r is settled and covers r
    assert found.measure(done, "|W(X)|") == 6
    assert found.measure(done, "snd") == 1 == found.measure(done, "astab")  # z, which is sound and stable, counts nowhere
    assert found.those(found.after("complain(z)", start=done), "W", WORK) == everything  # z carries a failure
    dropped = found.after("drop(s)", start=accepted(found, "x"))
    assert found.those(dropped, "W", WORK) == {"r", "c1", "c2", "z", "s"}  # x, y serve no effective root; s carries its removal
    both = found.after("drop(s)", "drop(r)")
    assert found.those(both, "W", WORK) == {"r", "s"}
    assert found.those(found.after("begin_late"), "W", WORK) == everything | {"late"}
    assert found.those(found.after("drop_silently(late)", "complain(late)"), "W", WORK) == everything  # it is not there
    unsound = found.after("set_status(z, ready)", start=done)  # z stands unjustified, and nothing is asked of it
    assert not found.holds(unsound, "W", "z") and found.holds(unsound, "definition 7", "z")
