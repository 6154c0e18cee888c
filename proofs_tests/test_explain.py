"""`icore explain`: the justification of what a record asserts, as text, JSON, DOT and PROV; and the tests' own checker of explanations."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from audit_desk import desk
from conftest import CHECKOUT
from explanation_checker import wrong
from prov_reader import faults
from run_lab import Desk, dicts

from icore_kernel.api import audit_session
from icore_kernel.cli import run as command
from icore_kernel.record import conditions
from icore_kernel.record.entry import Entry
from icore_kernel.record.explain import Explanation, NothingToExplain, explain
from icore_kernel.record.prov import identifier
from icore_kernel.record.seal import seal
from icore_kernel.record.store import open_store, read_entries
from icore_kernel.report.explanation import explanation_dot, explanation_json, explanation_prov

STEPS = ("assign(ana, left)", "finish(ana, left)", "sign(left)", "assign(ana, right)", "fail(ana, right)", "halt")

CAPTURED = """language 1
package Reviewed "1.0"
# A review is about a version: that the version moved on does not make it false that it was reviewed.
agents { ana }
input    request
input    head { number: 1..2 = 1 }
artifact draft
obligation type Text {}
obligations { essay: Text starts ready, required }
certificate asked   { issuer environment  premises request  claims node(essay), status(essay) is ready  starts active }
certificate able    { issuer environment  premises request  claims assignment(essay) is ana }
certificate written { issuer ana  premises draft, head  claims status(essay) is submitted  valid when head.number == 1 }
certificate read    { issuer monitor  premises captured written, draft  claims status(essay) is closed }
certificate stale   { issuer environment  premises head  claims status(essay) is ready }
update take(w: Text) operation assign by ana { when assignee(w) == none set assignee(w) := ana issue able }
update write(w: Text) operation submit by ana {
  when status(w) == ready and assignee(w) == ana
  emit draft
  set status(w) := submitted
  issue written
}
update review operation complete by monitor { when status(essay) == submitted set status(essay) := closed issue read }
update move by environment { when head.number == 1 and status(essay) == closed set head.number := 2 }
"""

READING = """language 1
package Gate "1.0"
# `done` has no input among its premises: its conditions read one, and so does the captured premise of `started`.
agents { ana }
enum Mood { calm, busy, down }
input request
input repo { commit: 1..3 = 1, mood: Mood = calm }
artifact verdict { commit: 1..3, good: bool }
obligation type Task {}
obligations { tests: Task starts ready, required }
certificate asked   { issuer environment  premises request  claims node(tests), status(tests) is ready  starts active }
certificate able    { issuer environment  premises request  claims assignment(tests) is ana }
certificate done    {
  issuer ana
  premises verdict, started, repo.mood != down
  claims status(tests) is closed
  valid when verdict.good and verdict.commit + 1 == repo.commit
  current when repo.commit > 1 or repo.mood in {calm, down}
}
certificate started { issuer ana  premises request, captured repo.commit == 1  claims compatibility(tests) }
update take(w: Task) operation assign by ana { when assignee(w) == none set assignee(w) := ana issue able, started }
update push by environment { when repo.commit == 1 set repo.commit := 2 }
update worry by environment { when repo.mood == calm set repo.mood := busy }
update pass(w: Task) operation complete by ana {
  when status(w) == ready and assignee(w) == ana and repo.commit == 2
  emit verdict { commit = 1, good = true }
  set status(w) := closed
  issue done
}
"""


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("record")
    desk(folder)
    path = str(folder / "run.jsonl")
    with audit_session(folder / "desk.icore", path) as run:
        for step in STEPS:
            run.propose(step)
    return path


def found(record: str, asked: str | None = None, at: int | None = None) -> Explanation:
    return explain(record, lambda: read_entries(record), asked, at)


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert command(["explain", *arguments]) == 0
    return capsys.readouterr().out


def test_a_tree_with_what_is_shared_named_once(record: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, record, "left") == (
        """Desk 1.0 · why left is accepted, after entry 8

   1  status(left) = accepted  entry 3, sign(left)
   2    ok(left)  evidence of monitor, entry 3, sign(left)
   3      done(left)  evidence of ana, entry 2, finish(ana, left)
            valid when note(left).good
              reading note(left).good = true
   4        note(left): good true  artifact, entry 2, finish(ana, left)
   5  assignment(left) = ana  entry 1, assign(ana, left)
   6    able(ana, left)  evidence of environment, entry 1, assign(ana, left)
   7      request  input
   8  coverage(left, left)  entry 3, sign(left)
   9    ok(left)  see 2
  10  node(left)  from the start
  11    asked(left)  evidence of environment, from the start
  12      request  see 7

10 facts, 3 events, down to 1 input
"""
    )


def test_without_a_name_every_settled_root_is_explained(record: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = printed(capsys, record)
    assert said.startswith("Desk 1.0 · why left, right stand, after entry 8\n")
    assert "status(right) = rejected  entry 5, fail(ana, right)\n" in said
    assert "failure(right)  entry 5, fail(ana, right)\n" in said
    assert "status(left) = ready  from the start\n" in printed(capsys, record, "left", "--at", "1")


def test_an_assertion_and_a_certificate(record: str) -> None:
    one = found(record, "terminal( stuck )")
    assert one.goals == ("terminal(stuck)",)
    assert one.works == ()
    assert [f.name for f in one.facts.values() if f.kind == "event"] == ["halt", "fail(ana, right)"]
    assert found(record, "done(left)").goals == ("done(left)",)


def test_a_captured_premise_is_explained_as_it_was_then(tmp_path: Path) -> None:
    """After the version moved, `written` is valid no more; the review rests on what it was when it was issued."""
    run = Desk(tmp_path, CAPTURED)
    assert run.propose("take(essay)", "write(essay)", "review", "move") == []
    entries = run.entries
    explanation = explain("run", lambda: iter(entries), "essay")
    facts = explanation.facts
    assert facts["read"].needs == ("draft", "written@3", "entry 3")
    assert facts["written@3"].needs == ("head@3", "draft@3", "entry 2")
    assert (facts["head@3"].entry, facts["draft@3"].entry) == (0, 2)
    assert facts["head@3"].says == "number 1", "as it was then, before it moved to 2"
    assert wrong(dicts(entries), explanation_json(explanation, "run")) == []


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("gate")
    (folder / "gate.icore").write_text(READING)
    path = str(folder / "gate.jsonl")
    with audit_session(folder / "gate.icore", path) as run:
        for step in ("take(tests)", "push", "pass(tests)"):
            run.propose(step)
    return path


def test_the_conditions_of_a_certificate_and_the_inputs_that_they_read(gate: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A newcomer's finding: `down to 0 inputs`, although the commit was compared with an input."""
    assert printed(capsys, gate, "done") == (
        """Gate 1.0 · why done stands, after entry 5

   1  done  evidence of ana, entry 3, pass(tests)
        valid when verdict.good and verdict.commit + 1 == repo.commit and (1 < repo.commit or repo.mood in {calm, down})
          reading verdict.good = true, verdict.commit = 1, repo.commit = 2, repo.mood = calm
        premise repo.mood != down
          reading repo.mood = calm
   2    verdict: commit 1, good true  artifact, entry 3, pass(tests)
   3    started  evidence of ana, entry 1, take(tests)
          premise at entry 1 repo.commit == 1
            reading repo.commit = 1
   4      request  input
   5      repo@1: commit 1, mood calm  input
   6    repo: commit 2, mood calm  input, observed at entry 2, push

6 facts, 3 events, down to 3 inputs
"""
    )


def test_every_form_names_what_conditions_read(gate: str) -> None:
    explanation = found(gate, "done")
    said: Any = explanation_json(explanation, gate)
    assert wrong(dicts(read_entries(gate)), said) == []
    facts = {fact["id"]: fact for fact in said["facts"]}
    assert facts["done"]["needs"] == ["verdict", "started", "repo", "entry 3"]
    assert facts["started"]["needs"] == ["request", "repo@1", "entry 1"]
    assert facts["started"]["conditions"] == [{"word": "premise", "text": "repo.commit == 1", "reads": {"repo.commit": 1}, "entry": 1}]
    drawn = explanation_dot(explanation)
    assert '  "repo" -> "done";\n' in drawn
    assert '  "repo@1" -> "started";\n' in drawn
    assert "premise repo.mood != down\\n  reading repo.mood = calm" in drawn
    document: Any = explanation_prov(explanation)
    assert faults(document) == []
    done, repo = identifier("certificate", "done"), identifier("input", "repo")
    assert {"prov:generatedEntity": done, "prov:usedEntity": repo} in document["wasDerivedFrom"].values()
    assert "\n  reading verdict.good = true, " in document["entity"][done]["icore:conditions"]
    for spoil in (
        lambda f: f["done"]["needs"].remove("repo"),
        lambda f: f["started"]["needs"].remove("repo@1"),
        lambda f: f["done"]["conditions"][0]["reads"].update({"repo.commit": 3}),
        lambda f: f["done"]["conditions"].pop(0),
        lambda f: f["started"]["conditions"][0].update(entry=None),
    ):
        spoilt = deepcopy(said)
        spoil({fact["id"]: fact for fact in spoilt["facts"]})
        assert wrong(dicts(read_entries(gate)), spoilt)


def test_a_condition_too_long_for_a_line_still_says_what_it_reads(gate: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conditions, "LONGEST", 12)
    first, second, *_ = found(gate, "done").facts["done"].conditions
    assert (first.text, second.text) == ("", "repo.mood != down")
    assert dict(first.reads) == {"verdict.good": True, "verdict.commit": 1, "repo.commit": 2, "repo.mood": "calm"}


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["lefft"], 2, "lefft is no obligation, assertion or certificate of Desk 1.0; did you mean left?"),
        (["coverage(right, right)"], 1, "coverage(right, right) is not asserted"),
        (["ok(right)"], 1, "ok(right) was never issued"),
        (["--at", "1"], 1, "no required root is settled; name one, or an assertion or a certificate"),
    ],
)
def test_what_cannot_be_explained(record: str, arguments: list[str], status: int, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["explain", record, *arguments]) == status
    assert capsys.readouterr().err == f"{said}\n"


def test_what_a_certificate_says_that_is_valid_no_more(tmp_path: Path) -> None:
    run = Desk(tmp_path, CAPTURED)
    assert run.propose("take(essay)", "write(essay)", "review", "move") == []
    entries = run.entries
    with pytest.raises(NothingToExplain, match=r"^written is not valid; it was issued by entry 2$"):
        explain("run", lambda: iter(entries), "written")


def test_fields_are_told_of_artifacts_and_inputs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The values that an artifact was emitted with, and that an input was observed with."""
    path = str(tmp_path / "run.jsonl")
    with audit_session(CHECKOUT / "examples" / "release_pipeline.icore", path) as session:
        session.propose("assign(ana, compile)")
        session.propose("finish(ana, compile)")
    said = printed(capsys, path, "done(compile)")
    assert "done(compile)  evidence of ana, entry 2, finish(ana, compile)\n" in said
    assert "report(compile): commit 1, passed true  artifact, entry 2, finish(ana, compile)\n" in said


@pytest.mark.parametrize("arguments", [["replay", "--to", "99"], ["explain", "--at", "99"], ["graph", "--at", "99"]])
def test_beyond_the_last_entry(arguments: list[str], record: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command([arguments[0], record, *arguments[1:]]) == 2
    assert capsys.readouterr().err == f"{record}: there is no entry 99: the last entry is 8\n"


def test_the_last_entry_is_there(record: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["replay", record, "--to", "8"]) == 0
    assert command(["explain", record, "--at", "8"]) == 0


def test_records_that_are_none(record: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["explain", str(tmp_path / "none.jsonl")]) == 2
    broken = tmp_path / "broken.jsonl"
    broken.write_bytes(Path(record).read_bytes().replace(b'"actor":"ana"', b'"actor":"bo"', 1))
    assert command(["explain", str(broken)]) == 2
    forged = tmp_path / "forged.jsonl"
    with open_store(forged) as store:
        for entry in read_entries(record):
            if entry.kind != "seal":
                store.append(entry.kind, {**entry.body, "actor": "bo"} if entry.kind == "commit" and entry.seq == 2 else entry.body)
        seal(store, None)
    capsys.readouterr()
    assert command(["explain", str(forged)]) == 1
    assert "entry 2 (commit): " in capsys.readouterr().err


def test_as_json(record: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = json.loads(printed(capsys, record, "left", "--format", "json"))
    assert (said["schema"], said["record"], said["package"], said["at"]) == ("icore.explain/1", record, "Desk 1.0", 8)
    assert said["works"] == ["left"]
    assert said["goals"][0] == "status(left)"
    assert next(f for f in said["facts"] if f["id"] == "done(left)") == {
        "id": "done(left)", "kind": "certificate", "name": "done(left)", "says": "ana", "entry": 2, "agent": "ana",
        "operation": "complete", "update": "finish(ana, left)", "needs": ["note(left)", "entry 2"],
        "conditions": [{"word": "valid when", "text": "note(left).good", "reads": {"note(left).good": True}, "entry": None}],
    }  # fmt: skip
    assert wrong(dicts(read_entries(record)), said) == []


def test_as_a_graph(record: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = printed(capsys, record, "left", "--format", "dot")
    explanation = found(record, "left")
    assert said == explanation_dot(explanation)
    assert said.startswith("digraph explanation {\n")
    assert '  "note(left)" -> "done(left)";\n' in said
    edges = [(need, fact.id) for fact in explanation.facts.values() for need in fact.needs]
    assert said.count(" -> ") == len(edges)
    assert nx.is_directed_acyclic_graph(nx.DiGraph(edges))


def test_as_prov(record: str, capsys: pytest.CaptureFixture[str]) -> None:
    document: Any = json.loads(printed(capsys, record, "left", "--format", "prov"))
    assert faults(document) == []
    assert document == explanation_prov(found(record, "left"))
    made = identifier("certificate", "done(left)")
    assert {"prov:generatedEntity": made, "prov:usedEntity": identifier("artifact", "note(left)")} in document["wasDerivedFrom"].values()
    assert {"prov:entity": made, "prov:activity": identifier("event", "entry 2")} in document["wasGeneratedBy"].values()
    assert document["agent"].keys() == {identifier("agent", name) for name in ("ana", "monitor")}


def test_the_reader_of_prov_is_strict(record: str) -> None:
    document: Any = explanation_prov(found(record, "left"))
    for spoil in (
        lambda d: d.update(bundle={}),
        lambda d: d["prefix"].clear(),
        lambda d: d["entity"].popitem(),
        lambda d: d["agent"].popitem(),
        lambda d: d["entity"].update({"icore:a b": {}}),
        lambda d: next(iter(d["wasDerivedFrom"].values())).pop("prov:usedEntity"),
        lambda d: next(iter(d["wasGeneratedBy"].values())).update({"prov:time": 3}),
        lambda d: next(iter(d["entity"].values())).update({"prov:label": 1.5}),
    ):
        spoilt = deepcopy(document)
        spoil(spoilt)
        assert faults(spoilt)


SPOIL: dict[str, Any] = {
    "a premise less": lambda f: f["done(left)"]["needs"].remove("note(left)"),
    "a premise more": lambda f: f["done(left)"]["needs"].append("request"),
    "another event": lambda f: f["done(left)"].update(entry=3, needs=["note(left)", "entry 3"]),
    "no event": lambda f: f["done(left)"]["needs"].remove("entry 2"),
    "another agent": lambda f: f["entry 2"].update(agent="bo"),
    "another operation": lambda f: f["entry 2"].update(operation="create"),
    "another update": lambda f: f["entry 2"].update(name="finish(bo, left)"),
    "by another update": lambda f: f["done(left)"].update(update="finish(bo, left)"),
    "no support": lambda f: f["status(left)"]["needs"].remove("ok(left)"),
    "support that claims something else": lambda f: f["status(left)"].update(needs=["able(ana, left)", "entry 3"]),
    "support for another value": lambda f: f["status(left)"].update(needs=["done(left)", "entry 3"]),
    "support of an earlier epoch": lambda f: f["status(left)"].update(needs=["asked(left)", "entry 3"]),
    "a circle": lambda f: f["note(left)"]["needs"].append("ok(left)"),
    "an artifact from the start": lambda f: f["note(left)"].update(entry=0, needs=[]),
    "a fact that is missing": lambda f: f.pop("note(left)"),
    "no input": lambda f: f["request"].update(kind="artifact"),
}


@pytest.mark.parametrize("name", SPOIL)
def test_the_checker_of_explanations_can_fail(name: str, record: str) -> None:
    """It is the tests' own, of Proposition 2: here it is seen to refuse what is no justification."""
    entries: list[Entry] = list(read_entries(record))
    said: Any = deepcopy(explanation_json(found(record, "left"), record))
    assert wrong(dicts(entries), said) == []
    facts = {fact["id"]: fact for fact in said["facts"]}
    SPOIL[name](facts)
    said["facts"] = list(facts.values())
    assert wrong(dicts(entries), said)
