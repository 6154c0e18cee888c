"""The session that a framework embeds: what it commits, refuses and records, without a loop of ours."""

from __future__ import annotations

from pathlib import Path

import pytest
from audit_desk import DESK, desk

from icore_kernel import api
from icore_kernel.audit.auditor import Disagreement
from icore_kernel.audit.frame import Outcome
from icore_kernel.audit.session import Session
from icore_kernel.explore.model import State
from icore_kernel.prove.commit import CommitSolver, Ruling
from icore_kernel.record.entry import RecordError
from icore_kernel.record.store import open_store, read_entries
from icore_kernel.record.verify import verify

STEPS = ["assign(ana, left)", "assign(ana, right)", "finish(ana, left)", "finish(ana, right)", "sign(left)", "sign(right)"]


def test_a_workflow_ends_in_a_sealed_record(tmp_path: Path) -> None:
    record = tmp_path / "run.jsonl"
    with api.audit_session(desk(tmp_path), record, request="two jobs") as run:
        receipts = [run.propose(step) for step in STEPS]
        assert run.accepted
    assert run.outcome is Outcome.ACCEPT
    assert [r.update for r in receipts] == STEPS
    assert [r.after for r in receipts[:-1]] == [r.before for r in receipts[1:]]
    entries = list(read_entries(record))
    assert [e.kind for e in entries] == ["open", *["commit"] * 6, "end", "seal"]
    assert [e.hash for e in entries[1:7]] == [r.hash for r in receipts]
    assert verify(record).exit_status == 0


def test_what_is_refused_says_why_changes_nothing_and_is_recorded(tmp_path: Path) -> None:
    with api.audit_session(desk(tmp_path)) as run:
        run.propose("assign(ana, left)")
        before = run.state
        with pytest.raises(api.Refused, match=r"finish\.withheld\(ana, left\) is refused: definition 6\(iii\) evidence") as refused:
            run.propose("finish.withheld(ana, left)", outside={"tokens": 12})
        assert run.state == before
        assert [v.clause for v in refused.value.violations] == ["definition 6(iii) evidence", "A.4(2)", "A.4(7)"]
        with pytest.raises(api.Refused, match="is for ana to do, not for bo"):
            run.propose("finish(ana, left)", agent="bo")
        with pytest.raises(api.Refused, match="nearest: "):
            run.propose("finsh(ana, left)", agent="ana")
        kinds = [(e.kind, e.body.get("outside")) for e in run.store.entries()]
        assert kinds[2:] == [("refusal", {"tokens": 12}), ("refusal", {}), ("refusal", {})]


def test_fields_that_changed_are_matched_to_the_update_that_leads_there(tmp_path: Path) -> None:
    with api.audit_session(desk(tmp_path)) as run:
        assert run.change({"assignee(left)": "bo", "able(bo, left)": "active"}, agent="bo").update == "assign(bo, left)"
        assert run.enabled("bo")[0].update == "assign(bo, right)"
        with pytest.raises(api.Refused, match="no declared update leads there"):
            run.change({"status(left)": "accepted"}, agent="bo")
        # What was left out is told, and never made up: without its evidence the same change is a fault, and refused as such.
        with pytest.raises(
            api.Refused, match=r"nearest: finish\(bo, left\), which also makes note\(left\) := live, note\(left\)\.good := True"
        ):
            run.change({"status(left)": "closed"}, agent="bo")
        with pytest.raises(api.Refused, match=r"finish\.withheld\(bo, left\) is refused: definition 6\(iii\) evidence"):
            run.change({"status(left)": "closed", "note(left)": "live", "note(left).good": True}, agent="bo")
        seen = {"status(left)": "closed", "note(left)": "live", "note(left).good": True, "done(left)": "active"}
        with pytest.raises(api.Refused, match="nobody is named: say agent="):
            run.change(seen, agent="")
        assert run.change(seen, agent="bo").update == "finish(bo, left)"


def test_changes_that_may_be_two_updates_are_not_guessed(tmp_path: Path) -> None:
    """The second report of one job changes nothing that can be seen: whether evidence was issued anew with it, nobody can tell."""
    twice = """artifact mark(w: Job)
update again(m: Agent, w: Job) operation verify by m {
  when  status(w) == closed and assignee(w) == m
  emit  mark(w)
  set   status(w) := closed
  issue done(w)
  fault unsaid: withhold done(w)
}
"""
    with api.audit_session(desk(tmp_path, twice)) as run:
        for step in ("assign(ana, left)", "finish(ana, left)"):
            run.propose(step)
        with pytest.raises(api.Refused, match=r"these changes may be again\(ana, left\) or again\.unsaid\(ana, left\): name the update"):
            run.change({"mark(left)": "live"}, agent="ana")
        assert run.propose("again(ana, left)").update == "again(ana, left)"


def test_an_error_of_the_caller_ends_the_record_as_interrupted(tmp_path: Path) -> None:
    record = tmp_path / "run.jsonl"
    with pytest.raises(ZeroDivisionError), api.audit_session(desk(tmp_path), record) as run:
        run.propose("assign(ana, left)")
        raise ZeroDivisionError
    entries = list(read_entries(record))
    assert [e.kind for e in entries] == ["open", "commit", "end", "seal"]
    assert entries[2].body["outcome"] == "interrupted"
    with pytest.raises(RecordError, match="closed"):
        run.propose("assign(ana, right)")


def test_a_run_has_a_record_of_its_own(tmp_path: Path) -> None:
    record = tmp_path / "run.jsonl"
    with api.audit_session(desk(tmp_path), record):
        pass
    with pytest.raises(RecordError, match="there is a record already"):
        api.audit_session(desk(tmp_path), record)


class _Contrary:
    """A solver that finds everything legal."""

    version = "contrary 1"

    def decide(self, before: State, number: int, after: State | None) -> Ruling:
        return Ruling(True)


def test_a_solver_that_disagrees_stops_the_session(tmp_path: Path) -> None:
    store = open_store("memory:")
    run = Session(desk(tmp_path), store, request=None, inputs={}, key=None, decider=_Contrary())
    run.propose("assign(ana, left)")
    state = run.auditor.state
    with pytest.raises(Disagreement, match="contrary 1"):
        run.propose("finish.withheld(ana, left)")
    assert run.auditor.state == state
    assert [e.kind for e in store.entries()] == ["open", "commit", "internal"]


def test_inputs_that_start_anywhere_are_given_or_the_first_that_may_be(tmp_path: Path) -> None:
    text = DESK.replace(
        "input    request", "input    request\ninput    weather { rain: bool }\ninvariant dry: weather.rain or not weather.rain"
    )
    path = tmp_path / "weather.icore"
    path.write_text(text + "update clear by environment { when weather.rain set weather.rain := false }\n", encoding="utf-8")
    loaded = api.load(path)
    with api.audit_session(loaded) as run:
        assert run.state["weather.rain"] is False
    with api.audit_session(loaded, inputs={"weather.rain": True}) as run:
        assert run.state["weather.rain"] is True
        assert run.propose("clear").update == "clear"
    with pytest.raises(api.UsageError, match=r"there are: weather\.rain"):
        api.audit_session(loaded, inputs={"weather.snow": True})
    with pytest.raises(api.UsageError, match="not among its values"):
        api.audit_session(loaded, inputs={"weather.rain": 3})


def test_one_solver_serves_many_sessions(tmp_path: Path) -> None:
    loaded = desk(tmp_path)
    decider = CommitSolver(loaded.system, loaded.bank)
    for _ in range(3):
        run = Session(loaded, open_store("memory:"), request=None, inputs={}, key=None, decider=decider)
        for step in STEPS:
            run.propose(step)
        assert run.close() is Outcome.ACCEPT


def test_a_field_of_a_million_values_costs_what_is_met_of_it(tmp_path: Path) -> None:
    path = tmp_path / "wide.icore"
    path.write_text(
        'language 1\npackage Wide "1"\ninput c { v: 0..900000 = 0 }\nupdate up by environment { when c.v < 3 set c.v := c.v + 300000 }\n'
    )
    store = open_store("memory:")
    run = Session(api.load(path), store, request=None, inputs={}, key=None)
    assert run.propose("up").update == "up"
    with pytest.raises(api.Refused, match=r"up is refused: when"):
        run.propose("up")
    decider = run.auditor.decider
    assert isinstance(decider, CommitSolver)
    assert decider.literals < 10


def test_an_initial_state_that_was_not_looked_for_to_the_end_is_not_called_absent(tmp_path: Path) -> None:
    path = tmp_path / "far.icore"
    update = "update back by environment { when a.x == 999 set a.x := 0 }"
    path.write_text(
        f'language 1\npackage Far "1"\ninput a {{ x: 0..999 }}\ninput b {{ y: 0..999 }}\ninitially a.x == 999 and b.y == 999\n{update}\n'
        "invariant read: b.y <= 999\nupdate down by environment { when b.y == 999 set b.y := 0 }\n",
        encoding="utf-8",
    )
    loaded = api.load(path)
    with pytest.raises(api.UsageError, match="none of the first 100,000 states with these inputs is initial: give more of them"):
        api.audit_session(loaded)
    with api.audit_session(loaded, inputs={"a.x": 999}) as run:
        assert run.state == {"a.x": 999, "b.y": 999}
    with pytest.raises(api.UsageError, match="has no initial state with these inputs"):
        api.audit_session(loaded, inputs={"a.x": 3})
