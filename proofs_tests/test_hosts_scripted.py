"""The scripted host: what its lines mean, what wrong ones are told, and whose turn it is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from host_packages import Small, schedule_view, small, view

from icore_kernel.audit.host import Choice, Proposal, Step
from icore_kernel.hosts.mistakes import HostError, ScriptError
from icore_kernel.hosts.scripted import LONGEST, Line, ScriptedHost, read_lines


@pytest.fixture(scope="module")
def paper(tmp_path_factory: pytest.TempPathFactory) -> Small:
    return small(tmp_path_factory.mktemp("scripted"))


def test_every_kind_of_line_is_read(paper: Small) -> None:
    text = "\n".join([
        "# the beginning",
        "",
        "  assign(ana,left)   # with a comment",
        "wait # a while",
        "revise: finish(ana, left); sign_off( left )",
        "revise: wait  # nothing to be done",
        '{"update": "finish.careless(ana, left)", "agent": "bo", "outside": {"why": "hurry", "tokens": [3, null]}}',
        '{"changes": {"status(left)": "closed", "assignee( left )": "none"}, "agent": "ana"}',
        '{"revise": [{"update": "assign(bo, right)"}, {"changes": {"status(right)": "ready"}}], "agent": "bo"}',
        '{"wait": true, "agent": "bo"}',
    ])  # fmt: skip
    assert read_lines(text, "s", paper.system) == (
        Line(3, (Step("assign(ana, left)"),)),
        Line(4, ()),
        Line(5, (Step("finish(ana, left)"), Step("sign_off(left)")), revision=True),
        Line(6, (), revision=True),
        Line(7, (Step("finish.careless(ana, left)"),), False, "bo", {"why": "hurry", "tokens": [3, None]}),
        Line(8, (Step(None, {"status(left)": "closed", "assignee(left)": "none"}),), False, "ana"),
        Line(9, (Step("assign(bo, right)"), Step(None, {"status(right)": "ready"})), True, "bo"),
        Line(10, (), False, "bo"),
    )


WRONG = {
    "asign(ana, left)": "'asign(ana, left)' is no occurrence; nearest: assign(ana, left), assign(ana, whole), assign(bo, left)",
    "wiat": "'wiat' is no occurrence; nearest: wait",
    "revise: finish(ana, left); ": "the name of an occurrence is expected, such as `finish(ana, unit)`",
    "revise:": "the name of an occurrence is expected, such as `finish(ana, unit)`",
    "revize: assign(ana, left)":
        "'revize: assign(ana, left)' is no occurrence; nearest: assign(ana, left), assign(ana, whole), assign(bo, left)",
    '{"update": "assign(ana, left)"': "column 31: not JSON: Expecting ',' delimiter",
    '{"update": 3}': 'a step is {"update": "…"} or {"changes": {…}}',
    '{"changes": []}': 'a step is {"update": "…"} or {"changes": {…}}',
    '{"changes": {"status(letf)": "closed"}}': "'status(letf)' is no field; nearest: status(left), status(whole), status(right)",
    '{"changes": {"status(left)": null}}': "the value of 'status(left)' is true, false, a whole number or a name",
    '{"revise": {"update": "assign(ana, left)"}}': "`revise` is a list of steps",
    '{"wait": false}': "`wait` is true or not there",
    '{"agent": "ana"}': "one of update, changes, revise, wait is expected, and none is there",
    '{"update": "assign(ana, left)", "wait": true}': "one of update, changes, revise, wait is expected, and update and wait is there",
    '{"update": "assign(ana, left)", "agnet": "ana"}': "the key 'agnet' is not known; nearest: agent",
    '{"update": "assign(ana, left)", "agent": 3}': "`agent` is a name",
    '{"update": "assign(ana, left)", "outside": 3}': "`outside` is an object",
    '{"update": "assign(ana, left)", "update": "assign(bo, left)"}': "the key 'update' stands twice",
    '{"wait": true, "outside": {"cost": 0.5}}': "0.5: whole numbers only; write another as a text",
    '{"wait": true, "outside": {"cost": NaN}}': "NaN is no number",
    '{"wait": true, "outside": {"cost": 9007199254740993}}':
        "no record can hold this: 9007199254740993 is beyond 2^53 - 1: write it as a text",
    '{"wait": true, "outside": {"a": "\\ud800"}}': "no record can hold this: a lone surrogate in '\\ud800'",
    '{"wait": true, "outside": ' + "[" * 50_000: "values nested deeper than 64",
    '{"wait": true, "outside": {"a": ' + "9" * 5000 + "}}":
        "a number of too many digits",
}  # fmt: skip


@pytest.mark.parametrize("line", WRONG, ids=lambda line: line[:50])
def test_a_wrong_line_is_told_with_its_number_and_what_is_near(line: str, paper: Small) -> None:
    with pytest.raises(ScriptError) as told:
        read_lines(f"# first\nassign(ana, left)\n{line}\nnot reached", "steps.txt", paper.system)
    assert told.value.line == 3
    assert str(told.value) == f"steps.txt: line 3: {WRONG[line]}"


def test_without_a_package_names_are_left_to_the_audit() -> None:
    assert read_lines("no such thing\n") == (Line(1, (Step("no such thing"),)),)


def test_files_are_read_whole_or_refused(tmp_path: Path, paper: Small) -> None:
    script = tmp_path / "steps"
    script.write_bytes("\ufeffassign(ana, left)\r\n\r\nwait\r\n".encode())
    assert [line.number for line in ScriptedHost.read(script, paper.system).lines] == [1, 3]
    script.write_bytes(b"wait\n\xff")
    with pytest.raises(HostError, match="byte 5 is not UTF-8"):
        ScriptedHost.read(script)
    script.write_bytes(b"#" * (LONGEST + 1))
    with pytest.raises(HostError, match="above 10,485,760 bytes"):
        ScriptedHost.read(script)
    with pytest.raises(FileNotFoundError):
        ScriptedHost.read(tmp_path / "none")


def test_the_actor_is_scheduled_for_what_it_does_next(paper: Small) -> None:
    host = ScriptedHost(read_lines("assign(bo, right)\nwait\n", system=paper.system))
    enabled = paper.candidates(paper.after())
    choice = host.schedule(0, enabled, schedule_view())
    assert choice == Choice("bo", paper.candidate("assign(bo, right)"))
    assert host.step("bo", view("bo", enabled, chosen=choice.candidate)) == Proposal((Step("assign(bo, right)"),))
    assert host.schedule(1, enabled, schedule_view()) == Choice("ana", enabled[0])
    assert host.step("ana", view("ana", enabled, chosen=enabled[0])) == Proposal()
    assert host.left == 0


def test_a_fault_is_expected_to_be_what_it_is_a_fault_of(paper: Small) -> None:
    state = paper.after("assign(ana, left)", "assign(bo, right)")
    enabled = tuple(c for c in paper.candidates(state) if c.enabled)
    attempts = tuple(c for c in paper.candidates(state) if not c.enabled)
    host = ScriptedHost(read_lines("finish.careless(bo, right)", system=paper.system))
    assert host.schedule(0, enabled, schedule_view(attempts)) == Choice("bo", paper.candidate("finish(bo, right)"))
    assert host.step("bo", view("bo", enabled)) == Proposal((Step("finish.careless(bo, right)"),))


def test_where_that_is_not_enabled_the_agents_own_work_is_expected(paper: Small) -> None:
    """The attempt finish(bo, whole) is refused by `requires`; of bo's enabled updates none writes whole, then any is expected."""
    state = paper.after("assign(bo, whole)", "assign(bo, right)")
    enabled = tuple(c for c in paper.candidates(state) if c.enabled)
    attempts = tuple(c for c in paper.candidates(state) if not c.enabled)
    host = ScriptedHost(read_lines("finish(bo, whole)", system=paper.system))
    assert host.schedule(0, enabled, schedule_view(attempts)) == Choice("bo", paper.candidate("assign(bo, left)"))
    host = ScriptedHost(read_lines("finish.careless(bo, right)", system=paper.system))
    others = tuple(c for c in enabled if c.update != "finish(bo, right)")
    also = replace(paper.candidate("assign(bo, right)"), number=99)
    assert host.schedule(0, (*others, also), schedule_view(attempts)) == Choice("bo", also), "the same agent and the same work"


def test_an_agent_that_is_named_proposes_what_is_anothers(paper: Small) -> None:
    state = paper.after("assign(ana, left)", "assign(bo, right)")
    enabled = tuple(c for c in paper.candidates(state) if c.enabled)
    host = ScriptedHost(read_lines('{"changes": {"status(left)": "closed"}, "agent": "bo"}', system=paper.system))
    choice = host.schedule(0, enabled, schedule_view())
    assert (choice.agent, choice.candidate.actor) == ("bo", "bo"), "what is expected of bo is something of its own"
    assert host.step("bo", view("bo", enabled)).steps == (Step(None, {"status(left)": "closed"}),)


def test_recoveries_wait_for_being_asked_and_steps_for_their_turn(paper: Small) -> None:
    enabled = paper.candidates(paper.after())
    host = ScriptedHost(read_lines("revise: assign(ana, left)\nassign(bo, right)\n", system=paper.system))
    assert host.schedule(0, enabled, schedule_view()) == Choice("ana", enabled[0])
    assert host.step("ana", view("ana", enabled)) == Proposal(), "its next line is a recovery: until it is asked for, agents wait"
    assert host.left == 2
    assert host.revise("ana", view("ana", enabled)) == Proposal((Step("assign(ana, left)"),))
    assert host.revise("ana", view("ana", enabled)) == Proposal(), "its next line is no recovery"
    assert host.left == 1
    assert host.step("bo", view("bo", enabled)) == Proposal((Step("assign(bo, right)"),))
    assert host.step("bo", view("bo", enabled)) == Proposal(), "after the end it waits"


def test_outside_is_handed_on(paper: Small) -> None:
    host = ScriptedHost(read_lines('{"update": "assign(ana, left)", "outside": {"reasoning": "mine"}}', system=paper.system))
    assert host.step("ana", view("ana", ())).outside == {"reasoning": "mine"}
