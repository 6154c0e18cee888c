"""Ctrl-C at every entry of a run, and records that can no longer be written: what is left verifies, and claims no more than it shows."""

from __future__ import annotations

import errno
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from audit_desk import Scripted, desk

from icore_kernel import api
from icore_kernel.audit.auditor import Auditor
from icore_kernel.audit.frame import Outcome, Parameters
from icore_kernel.audit.loop import Loop
from icore_kernel.cli_record import checks
from icore_kernel.load import load
from icore_kernel.record.entry import Entry, RecordError
from icore_kernel.record.jsonl import JsonlStore
from icore_kernel.record.seal import seal
from icore_kernel.record.store import open_store, read_entries
from icore_kernel.record.verify import verify

ORDINARY = {0: ("bo", "assign(bo, left)"), 1: ("ana", "assign(ana, right)"), 2: ("ana", "finish.withheld(ana, right)"),
            3: ("monitor", "sign(right)"), 4: ("ana", "finish(ana, left)"), 5: ("monitor", "sign(left)")}  # fmt: skip
REVISIONS = {0: ["reassign(ana, left)"], 2: ["finish(ana, right)"], 3: ["assign(bo, left)"]}


class _Interrupted(JsonlStore):
    """Ctrl-C as entry `at` has been written."""

    at = 0

    def append(self, kind: str, body: Any) -> Entry:
        entry = super().append(kind, body)
        if entry.seq == self.at:
            raise KeyboardInterrupt
        return entry


@pytest.mark.parametrize("at", range(14))
def test_an_interruption_after_any_entry_leaves_an_intact_record(tmp_path: Path, at: int) -> None:
    record = tmp_path / "run.jsonl"
    with _Interrupted(record) as store:
        store.at = at
        auditor = Auditor(load(desk(tmp_path).path), store)
        loop = Loop(auditor, Scripted(ORDINARY, REVISIONS), Parameters.of(auditor.tables.settings))
        outcome = loop.run()
        seal(store, None)
    found = list(read_entries(record))
    ends = [e.body["outcome"] for e in found if e.kind == "end"]
    assert ends == [outcome.value] == ["accept" if found[at].kind == "end" else "interrupted"]
    assert found[-2].body["state"] == auditor.state_digest
    checked = verify(record, None, checks())
    assert (checked.exit_status, checked.problems) == (0, ())


def test_the_runs_that_are_interrupted_have_an_entry_for_each_place(tmp_path: Path) -> None:
    with open_store("memory:") as store:
        auditor = Auditor(load(desk(tmp_path).path), store)
        assert Loop(auditor, Scripted(ORDINARY, REVISIONS), Parameters.of(auditor.tables.settings)).run() is Outcome.ACCEPT
        kinds = [e.kind for e in store.entries()]
    assert len(kinds) == 14 and kinds[-1] == "end" and {"commit", "diagnosis", "refusal"} <= set(kinds)


def test_between_the_steps_of_a_recovery_too(tmp_path: Path) -> None:
    record = tmp_path / "run.jsonl"
    steps = {**REVISIONS, 2: ["finish(ana, left)", "finish(ana, right)"]}
    with _Interrupted(record) as store:
        store.at = 9
        auditor = Auditor(load(desk(tmp_path).path), store)
        assert Loop(auditor, Scripted(ORDINARY, steps), Parameters.of(auditor.tables.settings)).run() is Outcome.INTERRUPTED
        seal(store, None)
    assert [(e.kind, e.body.get("update")) for e in read_entries(record)][8:11] == [
        ("diagnosis", None),
        ("commit", "finish(ana, left)"),
        ("end", None),
    ]  # the flag on `right` is not answered yet
    assert verify(record, None, checks()).problems == ()


def test_before_the_opening_nothing_is_written(tmp_path: Path) -> None:
    record = tmp_path / "run.jsonl"
    with _Interrupted(record) as store:
        auditor = Auditor(load(desk(tmp_path).path), store)
        auditor.open = _interrupt  # type: ignore[method-assign]
        with pytest.raises(KeyboardInterrupt):
            Loop(auditor, Scripted(ORDINARY, {}), Parameters.of(auditor.tables.settings)).run()
    assert record.read_bytes() == b""


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_session_goes_on_after_an_interruption(tmp_path: Path) -> None:
    record = tmp_path / "run.jsonl"
    with api.audit_session(desk(tmp_path), record) as run:
        adopt = run.auditor.adopt
        run.auditor.adopt = _interrupt  # type: ignore[method-assign,assignment]
        run.auditor.catch_up = lambda: (setattr(run.auditor, "adopt", adopt), Auditor.catch_up(run.auditor))[1]  # type: ignore[method-assign]
        with pytest.raises(KeyboardInterrupt):
            run.propose("assign(ana, left)")
        assert run.state["assignee(left)"] == "ana"
        run.propose("finish(ana, left)")
    assert verify(record, None, checks()).problems == ()


def test_no_session_ends_with_what_its_state_does_not_show(tmp_path: Path) -> None:
    with api.audit_session(desk(tmp_path), tmp_path / "run.jsonl") as run:
        for outcome in (Outcome.ACCEPT, Outcome.REJECT, Outcome.STUCK, Outcome.BUDGET):
            with pytest.raises(ValueError, match=f"the state does not show {outcome.value}: it is incomplete"):
                run.close(outcome)
        assert run.close(Outcome.INTERRUPTED) is Outcome.INTERRUPTED


def test_a_session_whose_end_cannot_be_written_is_closed_and_has_no_outcome(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = tmp_path / "run.jsonl"
    run = api.audit_session(desk(tmp_path), record)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(JsonlStore, "_write", full)
    with pytest.raises(RecordError, match="No space left"):
        run.close()
    monkeypatch.undo()
    with pytest.raises(RecordError, match="the record is closed"):
        run.close()
    assert run.outcome is None
    with open_store(record) as again:  # its lock was let go
        assert not again.sealed()


def test_threads_that_propose_at_once_are_heard_one_after_the_other(tmp_path: Path) -> None:
    record = tmp_path / "run.jsonl"
    heard: list[str] = []
    with api.audit_session(desk(tmp_path), record) as run:

        def work(agent: str) -> None:
            for job in ("left", "right") * 3:
                try:
                    run.propose(f"assign({agent}, {job})")
                    heard.append(job)
                except api.Refused:
                    heard.append("refused")

        threads = [Thread(target=work, args=(agent,)) for agent in ("ana", "bo") * 2]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert (len(heard), heard.count("refused")) == (24, 22)
    assert verify(record, None, checks()).problems == ()
