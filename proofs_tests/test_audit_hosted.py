"""`api.run_host`: a whole run with a host of one's own, whose record is sealed; and what the API says of wrong arguments."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from audit_desk import Scripted, desk
from misbehaving import answer, serving

from icore_kernel import api
from icore_kernel.audit.frame import Outcome
from icore_kernel.audit.host import Candidate, Choice, Proposal, Schedule, View
from icore_kernel.hosts.http import HttpHost
from icore_kernel.record.canonical import CanonicalError
from icore_kernel.record.entry import RecordError
from icore_kernel.record.seal import new_key
from icore_kernel.record.store import read_entries
from icore_kernel.record.verify import verify

WORK = {n: ("ana" if not u.startswith("sign") else "monitor", u) for n, u in enumerate(
    ("assign(ana, left)", "finish(ana, left)", "sign(left)", "assign(ana, right)", "finish(ana, right)", "sign(right)")
)}  # fmt: skip


@pytest.mark.parametrize("kind", ["jsonl", "db"])
def test_a_run_ends_in_a_sealed_record(kind: str, tmp_path: Path) -> None:
    record = tmp_path / f"run.{kind}"
    outcome = api.run_host(desk(tmp_path), Scripted(WORK), record, request="two jobs", threshold=Fraction(1, 8), patience=9, budget=12)
    assert outcome is Outcome.ACCEPT
    entries = list(read_entries(record))
    assert [e.body["update"] for e in entries if e.kind == "commit"] == [update for _, update in WORK.values()]
    assert [e.kind for e in entries[-2:]] == ["end", "seal"]
    opening = entries[0].body
    assert opening["request"] == "two jobs"
    assert (opening["algorithm"]["threshold"], opening["algorithm"]["patience"], opening["algorithm"]["budget"]) == ("1/8", 9, 12)
    found = verify(record)
    assert (found.exit_status, found.signed_by) == (0, None)


def test_a_path_settings_and_a_key(tmp_path: Path) -> None:
    pytest.importorskip("cryptography", reason="the extra `sign` is not installed")
    key = new_key(tmp_path / "key")
    desk(tmp_path)
    record = tmp_path / "run.jsonl"
    assert api.run_host(tmp_path / "desk.icore", Scripted({}), record, sign_key=tmp_path / "key", budget=1) is not Outcome.ACCEPT
    assert verify(record, key.public).trusted
    with pytest.raises(api.UsageError, match="has no parameter 'n'"):
        api.run_host(tmp_path / "desk.icore", Scripted({}), settings={"n": "2"})
    with pytest.raises(ValueError, match="patience is at least 1"):
        api.run_host(tmp_path / "desk.icore", Scripted({}), patience=0)


def test_what_a_host_raises_leaves_a_sealed_record_of_an_interruption(tmp_path: Path) -> None:
    class Falls(Scripted):
        def schedule(self, round: int, enabled: Sequence[Candidate], view: Schedule) -> Choice:
            if round == 1:
                raise ZeroDivisionError
            return super().schedule(round, enabled, view)

    record = tmp_path / "run.jsonl"
    with pytest.raises(ZeroDivisionError):
        api.run_host(desk(tmp_path), Falls(WORK), record)
    entries = list(read_entries(record))
    assert [e.kind for e in entries if e.kind not in {"diagnosis", "feedback"}] == ["open", "commit", "end", "seal"]
    assert entries[-2].body["outcome"] == "interrupted"
    assert verify(record).exit_status == 0


def test_a_record_that_is_there_is_left(tmp_path: Path) -> None:
    loaded, record = desk(tmp_path), tmp_path / "run.jsonl"
    with api.audit_session(loaded, record):
        pass
    before = record.read_bytes()
    for begin in (lambda: api.run_host(loaded, Scripted({}), record), lambda: api.audit_session(loaded, record)):
        with pytest.raises(RecordError, match=r"there is a record already; .*: choose another name, or delete it$"):
            begin()
    assert record.read_bytes() == before


def test_what_cannot_stand_in_a_record_is_said_before_anything_happens(tmp_path: Path) -> None:
    with api.audit_session(desk(tmp_path)) as run:
        with pytest.raises(CanonicalError, match=r"^outside\.cost: 0\.02 is not written in a record; write text$"):
            run.propose("assign(ana, left)", outside={"cost": 0.02})  # type: ignore[dict-item]
        with pytest.raises(ValueError, match=r"^outside\.calls\[1\]\.cost: 1\.5 is not written in a record; write text$"):
            run.propose("nonsense", outside={"calls": [1, {"cost": 1.5}]})  # type: ignore[list-item,dict-item]
        with pytest.raises(CanonicalError, match=r"^outside\.large: 1152921504606846976 is not written in a record; write text$"):
            run.change({"status(left)": "closed"}, agent="ana", outside={"large": 2**60})
        endless: dict[str, Any] = {}
        endless["again"] = endless
        with pytest.raises(CanonicalError, match=r"^outside\.again\.again\..*…: nested deeper than 64$"):
            run.propose("assign(ana, left)", outside=endless)
        assert [e.kind for e in run.store.entries()] == ["open"]
        run.propose("assign(ana, left)", outside={"cost": "0.02", "calls": [1, {"good": True}]})


@pytest.mark.parametrize(
    ("outside", "says"),
    [
        ({"why": 0.5}, "outside.why: 0.5 is not written in a record; write text"),
        ({"usage": [{}, {"cost in $": float("nan")}]}, "outside.usage[1]['cost in $']: nan is not written in a record; write text"),
        ({"large": 2**300}, "outside.large: an integer of 301 bits is not written in a record; write text"),
        ({"said": "a\ud800"}, "outside.said: 'a\\ud800' has a lone surrogate"),
        ({"a": {3: "x"}}, "outside.a: the key 3 is not written in a record; write text"),
        ({"all": {1}}, "outside.all: {1} of type set is not written in a record; write text, or objects and lists of it"),
        (["x"], "outside: a list, where keys with values are expected"),
    ],
)
def test_a_proposal_whose_outside_no_record_can_hold_names_the_key(outside: Any, says: str) -> None:
    with pytest.raises(CanonicalError) as wrong:
        Proposal((), outside)
    assert str(wrong.value) == says


@pytest.mark.parametrize("late", [False, True])
def test_a_run_whose_host_says_a_float_names_the_key(late: bool, tmp_path: Path) -> None:
    """`late`: it is put there after the proposal was made. The record is that of an interrupted run."""

    class Floats(Scripted):
        def step(self, agent: str, view: View) -> Proposal:
            outside: dict[str, Any] = {} if late else {"why": 0.5}
            made = Proposal(super().step(agent, view).steps, outside)
            outside["why"] = 0.5
            return made

    record = tmp_path / "run.jsonl"
    with pytest.raises(ValueError, match=r"^outside\.why: 0\.5 is not written in a record; write text$"):
        api.run_host(desk(tmp_path), Floats(WORK), record)
    assert [e.kind for e in read_entries(record)] == ["open", "end", "seal"]
    assert verify(record).exit_status == 0


def test_floats_of_a_server_are_mistakes_of_its_answer_and_the_run_goes_on(tmp_path: Path) -> None:
    usage = {"prompt_tokens": 1.5, "completion_tokens": 2}
    behaviours = answer(0.5), answer(0, 0.5), answer(0, "r", usage)
    with serving(*behaviours) as server:
        api.run_host(desk(tmp_path), HttpHost(server.url, "small", retries=0), tmp_path / "run.jsonl", budget=4, patience=9)
    entries = [e for e in read_entries(tmp_path / "run.jsonl") if "attempts" in e.body.get("outside", {})]
    refused = "the answer is not usable JSON: 0.5: whole numbers only; write another as a text"
    assert [(e.kind, e.body["violations"][0]["text"]) for e in entries[:2]] == [("refusal", refused)] * 2
    assert entries[2].kind == "commit"
    assert entries[2].body["outside"]["usage"]["prompt_tokens"] is None, "unknown, and not rounded"
    assert verify(tmp_path / "run.jsonl").exit_status == 0


def test_names_that_are_not_known_are_told_with_the_nearest(tmp_path: Path) -> None:
    with api.audit_session(desk(tmp_path)) as run:
        with pytest.raises(api.UsageError, match=r"^Desk has no agent 'anna'; did you mean ana\?$"):
            run.enabled("anna")
        assert run.enabled("environment") == ()
        with pytest.raises(api.Refused, match=r"nearest: .*; name who proposes it \(agent=…\)$"):
            run.propose("finsh(ana, left)")
        with pytest.raises(api.Refused) as refused:
            run.propose("finsh(ana, left)", agent="ana")
        assert "agent=" not in str(refused.value)


def test_the_names_of_the_api_are_listed() -> None:
    assert {"audit_session", "run_host", "Refused", "Session", "check", "load"} <= set(dir(api))
    assert set(api.__all__) <= set(dir(api))
    with pytest.raises(AttributeError, match="open_session"):
        _ = api.open_session
