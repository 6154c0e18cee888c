"""Line 10: a schedule that names nobody of the package, or what could not be attempted, is refused itself; the round goes on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from audit_desk import DESK, Scripted, ran
from run_lab import Dicts
from test_replay import entries_of

from icore_kernel import api
from icore_kernel.audit.host import Candidate, Choice, Proposal, Schedule, Step, View
from icore_kernel.audit.replay import check
from icore_kernel.cli import run
from icore_kernel.record.store import read_entries
from icore_kernel.record.verify import verify

OTHERS = """
update file_away operation verify { when status(left) == ready emit copy }
artifact copy
"""
"""An update that names no actor: whoever is of the package may propose it."""


def quiet(folder: Path, more: str = "") -> api.Loaded:
    """The desk, where nobody is so much better than another that the audit intervenes."""
    path = folder / "desk.icore"
    path.write_text(DESK.replace("tolerance 0.05  threshold 0.9", "tolerance 1  threshold 0") + more, encoding="utf-8")
    return api.load(path)


@dataclass
class Misdirected(Scripted):
    """Schedules in round t what `wrong[t]` makes of the right choice."""

    wrong: dict[int, Callable[[Choice], Any]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def schedule(self, round: int, enabled: Sequence[Candidate], view: Schedule) -> Choice:
        right = super().schedule(round, enabled, view)
        return self.wrong.get(round, lambda choice: choice)(right)

    def step(self, agent: str, view: View) -> Proposal:
        self.asked.append(agent)
        return super().step(agent, view)


def _to(name: str) -> Callable[[Choice], Choice]:
    return lambda choice: Choice(name, choice.candidate)


AGENTS = "its agents are ana, bo"
WRONG: dict[str, tuple[Callable[[Choice], Any], str, str]] = {
    "near": (_to("anna"), "anna", "line 10 schedules 'anna', who is no agent of the package: did you mean ana? Its agents are ana, bo"),
    "far": (_to("zebra"), "zebra", f"line 10 schedules 'zebra', who is no agent of the package; {AGENTS}"),
    "monitors": (_to("moniter"), "moniter",
                 "line 10 schedules 'moniter', who is no agent of the package: did you mean monitor? Its agents are ana, bo"),
    "empty": (_to(""), "", f"line 10 schedules '', who is no agent of the package; {AGENTS}"),
    "surrogate": (_to("a\udcff"), "a?", f"line 10 schedules 'a?', who is no agent of the package; {AGENTS}"),
    "nobody": (lambda choice: None, "", "line 10 schedules nobody, and something is enabled"),
    "not offered": (lambda choice: Choice("ana", replace(choice.candidate, number=10**6, update="finish(ana, moon)")), "ana",
                    "line 10 schedules finish(ana, moon), and that is none of what may be attempted now"),
}  # fmt: skip


@pytest.mark.parametrize("kind", WRONG)
def test_nobody_is_asked_and_the_record_says_what_is_wrong(kind: str, tmp_path: Path) -> None:
    wrong, agent, said = WRONG[kind]
    steps = {0: ("ana", "assign(ana, left)"), 1: ("ana", "assign(ana, right)")}
    host = Misdirected(steps, wrong={0: wrong})
    found = ran(quiet(tmp_path), host, budget=2, patience=9)
    assert found.told == [("open",), ("refusal", 20, agent, None, "schedule"), ("commit", 16, "ana", "assign(ana, right)"),
                          ("end", 45, "incomplete")]  # fmt: skip
    assert host.asked == ["ana"], "in round 1"
    body = list(found.store.entries())[1].body
    assert [v["text"] for v in body["violations"]] == [said]
    assert (body["t"], body["proposal"], body["solver"]["answer"]) == (0, [], "not asked")


def test_a_name_of_any_length_is_kept_short(tmp_path: Path) -> None:
    found = ran(quiet(tmp_path), Misdirected({}, wrong={0: _to("n" * 10**6)}), budget=1, patience=9)
    (body,) = (e.body for e in found.store.entries() if e.kind == "refusal")
    assert body["agent"] == "n" * 80 and len(body["violations"][0]["text"]) < 200


def test_it_counts_towards_patience_and_raises_no_flag(tmp_path: Path) -> None:
    """h is 1, 2, 3 after three of them: line 26 intervenes in the third round, for want of progress, and no work is flagged."""
    found = ran(quiet(tmp_path), Misdirected({}, wrong=dict.fromkeys(range(3), _to("anna"))), budget=3)
    assert found.told[1:5] == [("refusal", 20, "anna", None, "schedule")] * 3 + [("diagnosis", "progress", "ana", "patience")]
    assert found.loop.auditor.flags == []


def test_who_is_no_agent_of_the_package_proposes_nothing_that_anybody_may(tmp_path: Path) -> None:
    """`file_away` names no actor, so nobody of the package is a wrong one."""
    with api.audit_session(quiet(tmp_path, OTHERS), tmp_path / "run.jsonl") as session:
        with pytest.raises(api.Refused, match=r"for nobody to do, not for 'anna', who is no agent of the package: did you mean ana\?"):
            session.propose("file_away", agent="anna")
        assert session.propose("file_away", agent="ana").update == "file_away"
    refused, committed = (e.body for e in read_entries(tmp_path / "run.jsonl") if e.kind in {"refusal", "commit"})
    assert [v["clause"] for v in refused["violations"]] == ["definition 6(ii) actor"]
    assert committed["agent"] == "ana"
    assert verify(tmp_path / "run.jsonl").exit_status == 0


# ---- the record ------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def misdirected(tmp_path: Path) -> Dicts:
    found = ran(quiet(tmp_path), Misdirected({1: ("ana", "assign(ana, left)")}, wrong={0: _to("anna")}), budget=2, patience=9)
    return [{"seq": e.seq, "kind": e.kind, "body": e.body} for e in found.store.entries()]


def test_a_wrong_schedule_is_replayed(misdirected: Dicts) -> None:
    assert check(entries_of(misdirected)) == []


@pytest.mark.parametrize(
    "change",
    [
        lambda body: body.update(agent="ana"),
        lambda body: body.update(agent="environment"),
        lambda body: body.update(proposal=[{"update": "assign(bo, right)", "changes": {}}]),
        lambda body: body.update(agent="ana", violations=[{**body["violations"][0], "instance": "assign(bo, right)"}]),
        lambda body: body["violations"].append(body["violations"][0]),
    ],
)
def test_a_right_schedule_that_the_record_calls_wrong_is_found(misdirected: Dicts, change: Callable[[Any], None]) -> None:
    run = deepcopy(misdirected)
    change(run[1]["body"])
    (problem,) = check(entries_of(run))
    assert problem.startswith("entry 1 (refusal): ")


def test_a_script_goes_on_after_a_line_of_somebody_who_is_no_agent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    quiet(tmp_path)
    script, record = tmp_path / "steps.txt", tmp_path / "run.jsonl"
    script.write_text('{"update": "assign(ana, left)", "agent": "anna"}\nassign(ana, left)\n', encoding="utf-8")
    words = [
        "audit",
        str(tmp_path / "desk.icore"),
        "--host",
        f"scripted:{script}",
        "--patience",
        "9",
        "--budget",
        "2",
        "--record",
        str(record),
    ]
    assert run(words) == 3
    said = capsys.readouterr().out.splitlines()
    assert said[3:6] == [
        "     1  refused    the schedule  by the host",
        "                   schedule: line 10 schedules 'anna', who is no agent of the package: did you mean ana? Its agents are ana, bo",
        "     2  commit     assign(ana, left)  by ana",
    ]
    assert "  1 commit, 0 refusals, 1 wrong schedule, 0 interventions" in said
    assert verify(record).exit_status == 0


# ---- answers that are none --------------------------------------------------------------------------------------------------------


@dataclass
class Answers(Scripted):
    """Answers with whatever it was given."""

    answer: Any = None

    def step(self, agent: str, view: View) -> Any:
        return self.answer


def test_an_answer_of_no_kind_is_told_to_whoever_wrote_the_host(tmp_path: Path) -> None:
    """What was recorded stays, and is sealed."""
    for answer, what in ((None, "nothing"), (("assign(ana, left)",), "a tuple")):
        record = tmp_path / f"{what[-5:]}.jsonl"
        with pytest.raises(TypeError, match=rf"^the host 'desk' answers {what} to step\(\), where a Proposal is expected$"):
            api.run_host(quiet(tmp_path), Answers({}, answer=answer), record)
        assert verify(record).exit_status == 0
    with pytest.raises(TypeError, match=r"answers a str to schedule\(\), where a Choice is expected"):
        ran(quiet(tmp_path), Misdirected({}, wrong={0: lambda choice: "ana"}))


def test_a_name_or_a_problem_that_no_record_holds_is_refused_like_any_other(tmp_path: Path) -> None:
    """Of a million characters, and with half of a surrogate pair: the run goes on, and the record stays small."""
    for proposal, said in (
        (Proposal((Step("finish(\ud800" + "x" * 10**6),)), "finish(?" + "x" * 992 + " is no occurrence of a declared update"),
        (Proposal((), {}, "no \ud800" + "x" * 10**6), "no ?" + "x" * 996),
    ):
        found = ran(quiet(tmp_path), Answers({}, answer=proposal), budget=2, patience=9)
        entries = list(found.store.entries())
        assert [e.kind for e in entries] == ["open", "refusal", "refusal", "end"]
        assert [v["text"] for v in entries[1].body["violations"]] == [said]
        assert check(entries) == []
