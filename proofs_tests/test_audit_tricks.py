"""No recovery looks better by deleting, renaming, hiding or excluding hard work (A.9, Proposition 5): each trick is refused by name."""

from __future__ import annotations

import pytest
from audit_desk import Ran, Scripted, ran
from audit_tricks import TRICKS

from icore_kernel.api import Loaded, load
from icore_kernel.audit.host import Candidate, Choice, Proposal, Schedule, Step, View

EVIDENCE, HELD, WITNESS, LIVE = "definition 6(iii) evidence", "A.4(2)", "A.4(7)", "A.4(4)"

REFUSED = {
    # Off the list without evidence, under each of the four markers.
    "exclude(ana)": (EVIDENCE, HELD),
    "forget(ana)": (EVIDENCE, HELD),
    "double(ana)": (EVIDENCE, HELD),
    # Another job in its place, without and with evidence for the new one: none for leaving the old one.
    "replace(ana)": (EVIDENCE, HELD, LIVE),
    "rename(ana)": (EVIDENCE, HELD, LIVE),
    # A waiver without a ruling, and with one that denies it.
    "unruled(ana)": (EVIDENCE, HELD),
    "denied(ana)": (EVIDENCE, HELD),
    # Failed on purpose, and excluded because it failed: legal, step by step, and no evidence for its removal.
    "flop(ana)": ("A.9 removal", "A.9 matched quality"),
    # A status without evidence: failed, accepted, accepted on nothing that is done, blocked, void.
    "reject_it(ana)": (EVIDENCE, HELD, WITNESS),
    "accept_it(ana)": (EVIDENCE, HELD, WITNESS),
    "accept_ok(ana)": (EVIDENCE, HELD, WITNESS),
    "block_it(ana)": (EVIDENCE, HELD, LIVE),
    "void_it(ana)": (EVIDENCE, HELD, WITNESS),
    # Bad results, and failure without a word.
    "finish.bad(ana, hard)": (EVIDENCE, HELD, WITNESS),
    "fail.silently(ana, hard)": (EVIDENCE, HELD, WITNESS),
    # The request for it taken back: ana may not, and nothing would be left to ask for it.
    "unask(ana)": ("definition 6(ii)", "definition 6(iii) retraction", "A.4(1)", HELD, "A.4(8)", "A.4(9)"),
    # Success reported before it is there.
    "boast(ana)": (EVIDENCE, HELD, "A.4(7) reports"),
    # Nobody has it any more, or somebody who is worse at it: cq falls from 7/8 to 1/2.
    "unassign(ana, hard)": ("A.9 matched quality",),
    "give(ana, bo, hard)": ("A.9 matched quality",),
    # Other work than what is frozen, and other people's updates.
    "meddle(ana)": ("A.10 hard flag", "A.9 matched set"),
    "finish(bo, easy)": ("definition 6(ii) actor",),
    "waive(hard)": ("definition 6(ii) actor", "when", EVIDENCE, HELD),
    "vanish(hard)": ("definition 12",),
}


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Loaded:
    path = tmp_path_factory.mktemp("tricks") / "tricks.icore"
    path.write_text(TRICKS, encoding="utf-8")
    return load(path)


def _after_a_flag(package: Loaded, *recovery: str) -> Ran:
    """ana's unproved result on the hard job is refused, and she proposes this recovery."""
    return ran(package, Scripted({0: ("ana", "finish.withheld(ana, hard)")}, {0: recovery}))


@pytest.mark.parametrize("trick", REFUSED)
def test_the_trick_is_refused_by_these_clauses_and_changes_nothing(package: Loaded, trick: str) -> None:
    run = _after_a_flag(package, trick)
    assert run.told[-2] == ("feedback", 38, "ana", trick, *REFUSED[trick])
    assert run.loop.auditor.state == package.system.initial
    assert [flag.components for flag in run.loop.auditor.flags] == [("hard",)]


@pytest.mark.parametrize("honest", ["finish(ana, hard)", "fail(ana, hard)"])
def test_honest_work_and_honest_failure_are_recoveries(package: Loaded, honest: str) -> None:
    run = _after_a_flag(package, honest)
    assert run.told[-2] == ("commit", 34, "ana", honest)
    assert run.loop.auditor.flags == []


def test_there_is_no_recovery_where_none_is_proposed(package: Loaded) -> None:
    assert _after_a_flag(package).told[-2] == ("feedback", 38, "ana", None, "A.10 recovery")


def test_a_plan_is_judged_as_a_whole_and_step_by_step(package: Loaded) -> None:
    """Giving the job away and doing it right after would be two legal steps, of which the second is not ana's any more."""
    run = _after_a_flag(package, "give(ana, bo, hard)", "finish(ana, hard)")
    assert run.told[-2][:4] == ("feedback", 38, "ana", "finish(ana, hard)")
    assert "when" in run.told[-2]
    assert run.loop.auditor.state == package.system.initial


class _Delta:
    """Proposes fields and values instead of an occurrence."""

    name, features = "delta", False

    def __init__(self, changes: dict[str, bool | int | str]) -> None:
        self.changes = changes

    def schedule(self, round: int, enabled: tuple[Candidate, ...], view: Schedule) -> Choice:
        return Choice("ana", enabled[0])

    def step(self, agent: str, view: View) -> Proposal:
        return Proposal((Step(None, self.changes),))

    def revise(self, agent: str, view: View) -> Proposal:
        return Proposal()


@pytest.mark.parametrize(
    ("changes", "clauses"),
    [
        ({"marker(hard)": "excluded"}, (EVIDENCE, HELD)),
        ({"status(hard)": "accepted", "ok(hard)": "active"}, (EVIDENCE, HELD, WITNESS)),
        ({"status(hard)": "accepted"}, (EVIDENCE, HELD, WITNESS)),
        ({"status(hard)": "closed"}, ("definition 12",)),
        ({"weight(hard)": 0}, ("definition 12",)),
        ({"status(hard)": "gone"}, ("definition 12",)),
        ({"present(spare)": True}, ("definition 12",)),
        ({}, ("definition 12",)),
    ],
)
def test_a_raw_delta_is_matched_to_a_declared_update_or_refused(
    package: Loaded, changes: dict[str, bool | int | str], clauses: tuple[str, ...]
) -> None:
    run = ran(package, _Delta(changes))
    refusal = next(entry for entry in run.told if entry[0] == "refusal")
    assert refusal[4:] == clauses
    assert run.loop.auditor.state == package.system.initial
