"""Order stability, termination and liveness of the examples and of packages argued by hand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import CHECKOUT, Icore
from stable_lab import CASES, HOLDS, VIOLATED, results

from icore_kernel import api
from icore_kernel.verdict import Result, Verdict


def asked(tmp_path: Path, example: str, *checks: str) -> dict[str, Result]:
    """The example with these checks instead of its own."""
    text = re.sub(r"(?m)^(check|expect violated) .*\n", "", (CHECKOUT / "examples" / f"{example}.icore").read_text(encoding="utf-8"))
    path = tmp_path / f"{example}.icore"
    path.write_text(text + "".join(f"check {check}\n" for check in checks), encoding="utf-8")
    return {r.name: r for r in api.check(api.load(path)).results}


def test_binary_coverage(tmp_path: Path) -> None:
    """Six points, each ready, assigned (to its one owner), closed or rejected. A point that is assigned is done or given up, in 4^5
    states of the others: 6 * 4^5 = 6,144 forks that settle apart, all of them choices. Two points move independently: 15 pairs,
    (1 + 2)^2 ways, 4^4 states of the others: 34,560. Each point ends closed or rejected: 2^6 settlements."""
    found = asked(tmp_path, "binary_coverage", "order stability", "order stability given complete or fail")
    plain = found["order stability"]
    assert plain.verdict is Verdict.VIOLATED
    assert "6,144 critical pairs, 0 joinable, 6,144 apart by choice, 0 by order · 34,560 independent forks" in plain.detail
    assert plain.detail.endswith("64 normal forms")
    assert found["order stability given complete or fail"].verdict is Verdict.HOLDS


def test_decompose_and_solve(tmp_path: Path) -> None:
    """Four parts, each free, assigned (one agent is able), closed, accepted or rejected: 4 * 5^3 = 500 forks solve / fail, 6 pairs of
    parts, (1 + 2 + 1)^2 ways, 5^2 states of the others: 2,400 independent ones; 2^4 settlements."""
    found = asked(tmp_path, "decompose_and_solve", "order stability", "order stability given solve or fail")
    plain = found["order stability"]
    assert plain.verdict is Verdict.VIOLATED
    assert "500 critical pairs, 0 joinable, 500 apart by choice, 0 by order · 2,400 independent forks · 16 normal forms" in plain.detail
    assert found["order stability given solve or fail"].verdict is Verdict.HOLDS


def test_dependency_ladder(tmp_path: Path) -> None:
    """Four rungs, two able agents; every rung may be assigned ahead. Failing at rung k leaves 2^(k+1) ways to have assigned the rungs up to
    it and 3^(3-k) ways the others were when they were doomed: 54 + 36 + 24 + 16 = 130 settlements, as many forks complete / fail, and 2^4
    settlements with all accepted: 146. Between failure and doom every rung above that is free may still be assigned to either agent:
    2^(k+1) (3-k) 2 3^(2-k) forks, 108 + 48 + 16 = 172, a matter of order. Statuses: failed at one of four, or not at all, 5 outcomes; where
    a rung is frozen to the agent who is not able, work stops there: 4 more. Without freezing who is assigned, statuses depend on it: each
    agent's success is a choice of its own."""
    chosen = "given assign.m, complete or fail"
    checks = "order stability", f"order stability {chosen}", f"order stability {chosen} on status", "order stability on status"
    found = asked(tmp_path, "dependency_ladder", *checks, "order stability given complete or fail on status")
    cells = {(c.first, c.second): c for c in found["order stability"].matrix}
    assert found["order stability"].verdict is Verdict.VIOLATED
    assert found["order stability"].detail.endswith("146 normal forms")
    assert (cells["complete", "fail"].not_joinable, cells["assign", "doom"].not_joinable) == (130, 172)
    assert cells["complete", "fail"].choice
    assert not cells["assign", "doom"].choice
    assert found["order stability on status"].detail.endswith("5 outcomes of 146 normal forms")
    fork = found[checks[1]].fork
    assert fork is not None
    assert {name.partition("(")[0] for name, _, _ in fork.settlements} == {"assignee", "able"}
    assert found[checks[2]].verdict is Verdict.HOLDS
    assert "(9 outcomes over " in found[checks[2]].detail
    assert found["order stability given complete or fail on status"].verdict is Verdict.VIOLATED


def test_capability_assignment(tmp_path: Path) -> None:
    """Local states: sums, lookup, critique have two able agents, script one: 1 + 2 + 2 + 2 + 2 = 9 (ready; assigned, closed, accepted,
    rejected, by whom) and 5. A piece of work that is assigned is completed or failed: 3 (2 9 5 9) + 9^3 = 3,159 forks, choices. Who of two
    gets it: 9 5 9 = 405 forks each; those of sums join, since agent_2 may be replaced by agent_1 (0.70 to 0.94), the others gain less than
    0.05: 810. Whether that happens before agent_2 completes or fails is a matter of order: 2 405 forks. Settled: 4 4 2 4 = 128. Frozen
    choices do not help: which agent it is in the end decides whose success counts."""
    chosen = "given assign.m, complete or fail on status"
    found = asked(tmp_path, "capability_assignment", "order stability", f"order stability {chosen}")
    plain = found["order stability"]
    assert plain.verdict is Verdict.VIOLATED
    assert "5,184 critical pairs, 405 joinable, 3,969 apart by choice, 810 by order" in plain.detail
    assert plain.detail.endswith("128 normal forms")
    cells = {(c.first, c.second): c for c in plain.matrix if c.not_joinable}
    assert {names: (c.not_joinable, c.choice) for names, c in cells.items()} == {
        ("assign", "assign"): (810, True), ("complete", "fail"): (3159, True), ("reassign", "complete"): (405, False),
        ("reassign", "fail"): (405, False),
    }  # fmt: skip
    fork = found[f"order stability {chosen}"].fork
    assert fork is not None
    assert {fork.first.update.partition("(")[0], fork.second.update.partition("(")[0]} & {"reassign"}
    assert fork.settlements == (("status(sums)", "rejected", "accepted"),)


@pytest.mark.parametrize(
    ("example", "alternatives"),
    [
        # Who is assigned and whether the work fails is chosen; what a push hits when is a matter of order, and leaves revoked
        # evidence of what was done before it. The statuses come out the same: a push reopens what was done, and it is done again.
        ("release_pipeline", "finish or fail"),
        ("code_change", "pass or refuse"),
    ],
)
def test_a_push_is_a_matter_of_order_that_statuses_do_not_keep(tmp_path: Path, example: str, alternatives: str) -> None:
    given = f"given assign.m, {alternatives}"
    found = asked(tmp_path, example, "order stability", f"order stability {given}", f"order stability {given} on status")
    assert found["order stability"].verdict is Verdict.VIOLATED
    assert found[f"order stability {given}"].verdict is Verdict.VIOLATED
    fork = found[f"order stability {given}"].fork
    assert fork is not None
    assert not any(name.startswith("status(") for name, _, _ in fork.settlements)
    assert found[f"order stability {given} on status"].verdict is Verdict.HOLDS


# ---- liveness --------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "verdicts"),
    [
        # The environment need not send: a run may stay at 0. What was sent is answered by an update that is weakly fair.
        ("letters", {"some_answer": VIOLATED, "replies": HOLDS, "can_answer": VIOLATED}),
        ("letters_come", {"some_answer": HOLDS, "can_answer": HOLDS}),
        # A letter that is lost is not there to be delivered: no letter stays. Of the letters posted for ever one is delivered.
        ("post", {"told": VIOLATED}),
        ("post_strong", {"told": HOLDS}),
        # The door opens and closes for ever; passing is enabled again and again, never without a break.
        ("bell", {"through": VIOLATED, "settlement": VIOLATED}),
        ("bell_strong", {"through": HOLDS, "settlement": HOLDS}),
        # Thrown back once at most: 0 1 0 1 2, four moves. For ever: the environment wins.
        ("guard", {"arrives": HOLDS}),
        ("guard_tireless", {"arrives": VIOLATED, "fair_arrival": VIOLATED}),
        ("abandoned", {"settlement": VIOLATED}),
        # Trying is fair and may fail for ever; success declared fair itself comes.
        ("retries", {"over": VIOLATED}),
        ("retries_succeed", {"over": HOLDS}),
    ],
)
def test_liveness_argued_by_hand(name: str, verdicts: dict[str, str]) -> None:
    found = results(name)
    assert {key: found[key].verdict.value for key in verdicts} == verdicts


def test_a_lasso_is_a_run_and_its_cycle() -> None:
    run = results("bell")["through"].run
    assert run is not None
    assert [s.update for s in run.steps] == ["opens"]
    assert sorted(s.update for s in run.cycle) == ["closes", "opens"]


def test_a_strategy_and_a_spoiling_play() -> None:
    won, lost = results("guard")["arrives"], results("guard_tireless")["arrives"]
    assert "in at most 4 moves, beginning with walk" in won.detail
    assert won.run is not None
    assert [s.update for s in won.run.steps] == ["walk", "walk"]
    assert lost.run is not None
    assert [s.update for s in lost.run.cycle] == ["walk", "throw"]


def test_controllable_says_what_it_counts_on() -> None:
    """Two moves: the letter, for which the agents wait, and the answer. Where nothing makes it come, the play ends at once."""
    come, none = results("letters_come")["can_answer"], results("letters")["can_answer"]
    assert come.detail == "in at most 2 moves, counting on fair send · from 3 of 3 states"
    assert come.run is not None
    assert [s.update for s in come.run.steps] == ["send", "reply"]
    assert none.detail == "the other side can prevent it, nothing of it being declared fair · agents win from 2 of 3 states"
    assert none.run is not None
    assert (none.run.steps, none.run.cycle) == ((), ())
    assert none.repair.startswith("declare `fair weak`")
    strong, weak = results("post_strong")["told"], results("post")["told"]
    assert strong.detail.startswith("in the end, after no known number of moves, beginning with mail, counting on fair deliver")
    assert weak.detail.startswith("the other side can prevent it, fair as deliver may be")
    assert weak.run is not None
    assert [s.update for s in weak.run.cycle] == ["mail", "lose"]


def test_a_dead_end_says_what_waits_for_what() -> None:
    found = results("abandoned")["settlement"]
    assert "illegally stuck 1" in found.detail
    assert found.run is not None
    assert [s.update for s in found.run.steps] == ["assign(ana, page)", "leave(ana, page)"]
    (reason,) = found.reasons
    assert reason.label == "status(page) is ready: finish(ana, page) waits for"
    assert reason.values == (("assignee(page)", "none"),)
    assert found.repair.startswith("nothing was refused there")


def test_the_text_report_shows_the_lasso(icore: Icore) -> None:
    done = icore("check", str(CASES / "guard_tireless.icore"))
    assert done.returncode == 1
    assert "  in the initial state:\n  then for ever:\n    1  walk" in done.stdout
    assert "    2  throw by environment  x.at: 1 -> 0" in done.stdout
