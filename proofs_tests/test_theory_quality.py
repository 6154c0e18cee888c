"""Section 4 by hand: F_D, v_D, stability, snd, astab, cq as exact fractions; Proposition 4 with its hypotheses.

The jobs p, q, t weigh 1, 2, 3. epsilon is 1/20, p_min is 13/20. The values, with price 1:

            p      q     t
    ana    0.9    0.5   0.6
    bo     0.7    0.8   0.6
    cy     0.88   0.1   0.9
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from theory_lab import Lab, broken

AGENTS = ("ana", "bo", "cy")
JOBS = ("p", "q", "t")
PROBES = {
    "F": "(m: Agent, q: Obligation): candidate(m, q)",
    "stable": "(q: Obligation): stable_component(q)",
    "justified": "(q: Obligation): all_justified(q)",
    "worth 9/10": "(m: Agent, q: Obligation): worth(m, q) == 9 / 10",
    "worth 1/2": "(m: Agent, q: Obligation): worth(m, q) == 1 / 2",
    "assigned 1/2": "(q: Obligation): assigned_worth(q) == 1 / 2",
    "assigned 0": "(q: Obligation): assigned_worth(q) == 0",
    "weights": ": evaluated_weight == 6 and justified_weight == 4 and stable_weight == 3",
    "scores": ": soundness == 2 / 3 and stability == 1 / 2 and quality == 7 / 12",
    "earned 1/2": "(q: Obligation): earned(q) == 1 / 2",
    "earned 0": "(q: Obligation): earned(q) == 0",
    "performance 13/15": ": performance == 13 / 15",
}
SMALL = """language 1
package Nothing "1.0"
agents { ana }
input request
obligation type Job {}
obligations { p: Job latent, required }
update begin operation create by ana { create p }
"""


def lab(theory: Path, *probes: str) -> Lab:
    return Lab("quality", theory, {name: PROBES[name] for name in probes})


def scores(found: Lab, *steps: str) -> tuple[Fraction, Fraction, Fraction]:
    state = found.after(*steps)
    return found.measure(state, "snd"), found.measure(state, "astab"), found.measure(state, "cq")


def test_nobody_can_be_put_to_work_that_is_blocked(theory: Path) -> None:
    found = lab(theory, "F", "stable")
    assert found.those(found.start, "F", AGENTS, "p") == {"ana", "bo", "cy"}
    assert found.those(found.start, "F", AGENTS, "t") == set()  # blocked and unassigned: F_D is empty
    assert found.those(found.start, "stable", JOBS) == {"t"}  # nobody does p, somebody could: a gain of 0.9
    assert found.those(found.after("enable(t)"), "F", AGENTS, "t") == {"ana", "bo", "cy"}
    assert found.those(found.after("assign(bo, t)"), "F", AGENTS, "t") == {"ana", "bo", "cy"}  # blocked, and somebody's already
    assert found.those(found.after("put_back(p)"), "F", AGENTS, "p") == set()  # open: not enabled yet
    assert found.those(found.after("leave(ana)"), "F", AGENTS, "p") == {"bo", "cy"}
    never = found.after("fail(t)")  # settled, and nobody was ever assigned: no assignment's context
    assert found.those(never, "F", AGENTS, "t") == set() and found.holds(never, "stable", "t")


def test_stability_compares_with_the_best_feasible_agent(theory: Path) -> None:
    found = lab(theory, "stable", "worth 9/10", "assigned 1/2", "assigned 0")
    assert found.holds(found.start, "worth 9/10", "ana", "p") and not found.holds(found.start, "worth 9/10", "bo", "p")
    assert found.holds(found.start, "assigned 0", "p")  # v_D(none, q) = 0
    assert found.holds(found.after("assign(cy, p)"), "stable", "p")  # 0.9 - 0.88 = 0.02
    assert not found.holds(found.after("assign(bo, p)"), "stable", "p")  # 0.9 - 0.7 = 0.2
    wrong = found.after("assign(ana, q)")
    assert found.holds(wrong, "assigned 1/2", "q") and not found.holds(wrong, "stable", "q")  # 0.8 - 0.5
    assert found.holds(found.after("leave(bo)", start=wrong), "stable", "q")


def test_scores_are_exact_fractions(theory: Path) -> None:
    found = lab(theory, "weights", "scores")
    assert scores(found) == (1, Fraction(3, 6), Fraction(3, 4))  # t alone is stable
    assert scores(found, "assign(cy, p)") == (1, Fraction(4, 6), Fraction(5, 6))
    silent = ("assign_silently(ana, q)",)  # q unjustified and unstable
    assert scores(found, *silent) == (Fraction(4, 6), Fraction(3, 6), Fraction(7, 12))
    assert found.holds(found.after(*silent), "weights") and found.holds(found.after(*silent), "scores")
    best = ("assign(ana, p)", "assign(bo, q)", "enable(t)", "assign(cy, t)")
    assert scores(found, *best) == (1, 1, 1)


def test_scores_are_one_where_nothing_is_evaluated(theory: Path) -> None:
    found = Lab(SMALL, theory)
    assert scores(found) == (1, 1, 1) and found.measure(found.start, "|W(X)|") == 0
    assert scores(found, "begin") == (0, 1, Fraction(1, 2))  # no evidence for it; open and unassigned, so nobody could do it better
    assert found.measure(found.after("begin"), "|W(X)|") == 1


def test_settled_work_is_judged_as_it_was_assigned(theory: Path) -> None:
    found = lab(theory, "F", "stable", "worth 1/2")
    away = found.after("leave(bo)", "assign(ana, q)")  # then: ana 0.5, cy 0.1
    assert found.holds(away, "stable", "q")
    back = found.after("come(bo)", start=away)
    assert not found.holds(back, "stable", "q")  # unresolved work is judged now: bo would be worth 0.8
    closed = found.after("finish(q)", start=back)
    assert found.those(closed, "F", AGENTS, "q") == {"ana", "cy"} and found.holds(closed, "stable", "q")
    rose = found.after("rise", start=found.after("assign(bo, q)", "finish(q)"))
    assert found.holds(rose, "worth 1/2", "ana", "q") and found.holds(rose, "stable", "q")  # ana is worth 1 now, was worth 0.5
    open_still = found.after("assign(bo, q)", "rise")
    assert not found.holds(open_still, "worth 1/2", "ana", "q") and not found.holds(open_still, "stable", "q")


def test_an_assignee_who_leaves_settled_work_was_feasible_then(theory: Path) -> None:
    found = Lab("quality", theory)
    gone = found.after("assign(ana, p)", "leave(ana)")
    assert found.infeasible(gone) == ("A.4(6)",)
    assert found.infeasible(found.after("assign_silently(ana, p)")) == ("A.4(2)", "A.4(6)")
    assert found.infeasible(found.after("assign(ana, p)", "finish(p)", "leave(ana)")) == ()
    assert found.infeasible(found.after("leave(ana)", "assign(ana, p)", "come(ana)", "finish(p)")) == ("A.4(6)",)


def test_performance_is_what_justified_work_earns(theory: Path) -> None:
    found = lab(theory, "earned 1/2", "earned 0", "performance 13/15")
    best = found.after("assign(ana, p)", "assign(bo, q)", "enable(t)", "assign(cy, t)")
    assert found.holds(best, "performance 13/15")  # (1 * 0.9 + 2 * 0.8 + 3 * 0.9) / 6
    assert found.holds(found.after("assign(cy, p)"), "earned 1/2", "p")
    assert found.holds(found.after("assign_silently(cy, p)"), "earned 0", "p")  # unjustified work earns nothing
    assert found.holds(found.after("assign(cy, p)", "fail(p)"), "earned 0", "p")  # rejected work earns nothing
    assert found.holds(found.after("assign(cy, p)", "spoil(p)"), "earned 0", "p")  # nor does invalid work


def test_proposition_4_says_which_hypothesis_fails(theory: Path) -> None:
    found = Lab("quality", theory)

    def failing(*steps: str) -> tuple[str, ...]:
        return broken(found.system.hypotheses, found.after(*steps))

    best = ("enable(t)", "assign(ana, p)", "assign(bo, q)", "assign(cy, t)")
    assert failing(*best) == ()
    assert failing() == ("Proposition 4(iv)",)  # nobody can do t yet
    assert failing(*best, "assign(cy, p)") == ("Proposition 4(iii)",)  # declared 0.88, truly 0.5
    assert failing(*best, "finish(p)", "take_in(p)", "complain(p)") == ("Proposition 4(ii)",)
    assert failing(*best, "finish(p)", "take_in(p)") == () == failing(*best, "finish(p)", "complain(p)")  # accepted, or failed
    assert failing("enable(t)", "assign(ana, p)", "assign_silently(bo, q)", "assign(cy, t)") == ()  # (iii) speaks of justified work
    empty = SMALL + "truth(m: Agent, w: Job) = 1\naudit { tolerance 0.05 floor 0.65 }\n"
    assert broken(Lab(empty, theory).system.hypotheses, Lab(empty, theory).start) == ("Proposition 4(i)",)


def test_proposition_4_bound_is_computed_in_the_state(theory: Path) -> None:
    found = Lab("quality", theory)
    best = found.after("enable(t)", "assign(ana, p)", "assign(bo, q)", "assign(cy, t)")
    assert broken(found.system.conclusions, best) == ()  # 13/15 >= 2 * 3/5 * 1/2
    failed = found.after("fail(p)", "fail(q)", "fail(t)", start=best)
    assert scores(found, "enable(t)", "assign(ana, p)", "assign(bo, q)", "assign(cy, t)", "fail(p)", "fail(q)", "fail(t)") == (1, 1, 1)
    assert broken(found.system.conclusions, failed) == ("Proposition 4",)  # 0 < 3/5: without hypothesis (iii) it says nothing
    assert broken(found.system.hypotheses, failed) == ("Proposition 4(iii)",)
