"""G, Q and Pi rebuilt from a record: definitions 1, 2, 3 and 5, Lemmas 3 and 4, what they are exported to, and the page."""

from __future__ import annotations

import io
import json
import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from audit_desk import Scripted, desk, ran
from prov_reader import faults
from run_lab import EXAMPLES, Desk, example, random_run

from icore_kernel.api import audit_session
from icore_kernel.cli import run as command
from icore_kernel.record.entry import Entry
from icore_kernel.record.explain import explained
from icore_kernel.record.graphs import Graphs, dot, graphml, graphs, prov, union
from icore_kernel.record.history import History, Unexplained, read
from icore_kernel.record.seal import new_key, seal
from icore_kernel.record.store import open_store, read_entries
from icore_kernel.report.timeline import page_of

NAMES = [path.stem for path in EXAMPLES]
STATUSES = {"open", "ready", "blocked", "closed", "submitted", "accepted", "rejected", "invalid"}
EDGES = {
    "production": ("action", {"artifact", "input"}),
    "consumption": ("artifact", {"action"}),
    "verification": (None, {"action"}),
    "routing": ("action", {"action"}),
}


@cache
def made(name: str) -> tuple[Entry, ...]:
    return tuple(random_run(example(name), 1)[1])


def history_of(entries: tuple[Entry, ...] | list[Entry], at: int | None = None) -> History:
    return read("run", entries, at)


@cache
def drawn(name: str) -> tuple[History, Graphs]:
    history = history_of(made(name))
    return history, graphs(history)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Entry, ...]:
    """1 assign(bo, left) 2 diagnosis 3 reassign(ana, left) as recovery 4 a refused finish 5 diagnosis (flag) 6 finish(ana, left) as
    recovery 7 sign(left) 8 the end."""
    host = Scripted(
        {0: ("bo", "assign(bo, left)"), 1: ("ana", "finish.withheld(ana, left)"), 2: ("monitor", "sign(left)")},
        {0: ["reassign(ana, left)"], 1: ["finish(ana, left)"]},
    )  # fmt: skip
    found = tuple(ran(desk(tmp_path_factory.mktemp("desk")), host, budget=3).store.entries())
    assert [e.kind for e in found][:8] == ["open", "commit", "diagnosis", "commit", "refusal", "diagnosis", "commit", "commit"]
    return found


def edges(graph: Any, kind: str) -> set[tuple[str, str]]:
    return {(tail, head) for tail, head, said in graph.edges(data=True) if said["type"] == kind}


# ---- by hand -------------------------------------------------------------------------------------------------------------------


def test_the_cooperation_graph_of_the_desk(run: tuple[Entry, ...]) -> None:
    g = graphs(history_of(run, 7)).cooperation
    assert set(g) == {*(f"entry {n}" for n in range(1, 8)), "note(left)#6", "request#0"}
    assert edges(g, "production") == {("entry 6", "note(left)#6")}
    assert edges(g, "consumption") == {("note(left)#6", "entry 7")}
    assert edges(g, "routing") == {("entry 2", "entry 3"), ("entry 4", "entry 5"), ("entry 5", "entry 6")}
    assert edges(g, "verification") == {("request#0", "entry 1"), ("request#0", "entry 3"), ("entry 6", "entry 7")}
    assert {n: g.nodes[n]["outcome"] for n in g if n.startswith("entry")} == {
        "entry 1": "committed", "entry 2": "diagnosed", "entry 3": "committed", "entry 4": "refused", "entry 5": "diagnosed",
        "entry 6": "committed", "entry 7": "committed",
    }  # fmt: skip
    assert [g.nodes["entry 3"][key] for key in ("agent", "actor", "operation", "tau")] == ["monitor", "monitor", "reassign", 6]
    assert g.nodes["entry 2"]["recipient"] == "monitor"
    assert json.loads(g.nodes["note(left)#6"]["fields"]) == {"note(left).good": True}


def test_the_obligation_graph_of_the_desk(run: tuple[Entry, ...]) -> None:
    q = graphs(history_of(run)).obligations
    job = {"type": "Job", "signature": "{}", "required": True}
    assert dict(q.nodes(data=True)) == {
        "left": {**job, "label": "left", "status": "accepted", "assignee": "ana", "weight": "1"},
        "right": {**job, "label": "right", "status": "ready", "assignee": "none", "weight": "2"},
    }
    assert graphs(history_of(run, 1)).obligations.nodes["left"]["assignee"] == "bo"


def test_the_audit_map_of_the_desk(run: tuple[Entry, ...]) -> None:
    found = graphs(history_of(run, 7))
    assert found.pi == {
        **dict.fromkeys(["entry 1", "entry 3", "entry 6", "entry 7", "note(left)#6"], frozenset({"left"})),
        "request#0": frozenset({"left", "right"}),
    }
    assert found.omega == {
        ("entry 1", "left"): "assign", ("entry 3", "left"): "reassign", ("entry 6", "left"): "complete", ("entry 7", "left"): "accept",
    }  # fmt: skip
    p = found.audit
    assert edges(p, "issues") == {
        ("entry 1", "able(bo, left)#1"), ("entry 3", "able(ana, left)#3"), ("entry 6", "done(left)#6"), ("entry 7", "ok(left)#7"),
    }  # fmt: skip
    assert edges(p, "premise") >= {("note(left)#6", "done(left)#6"), ("done(left)#6", "ok(left)#7"), ("request#0", "able(ana, left)#3")}
    assert edges(p, "claims") >= {
        ("done(left)#6", "status(left)#6"),
        ("ok(left)#7", "status(left)#7"),
        ("ok(left)#7", "coverage(left, left)#7"),
    }
    assert p.edges["entry 7", "status(left)#7", "establishes"]["operation"] == "accept"
    assert found.kappa["done(left)#6"] == {
        "certificate": "done(left)", "issuer": "assignee(left)", "claims": ("status(left)",), "internal": ("note(left)",), "external": (),
        "standing": "active",
    }  # fmt: skip


def test_what_is_revoked_and_issued_again(tmp_path: Path) -> None:
    text = """language 1
package Weather "1.0"
agents { ana }
input    sky { dry: bool = true }
artifact roof
obligation type Job {}
obligations { job: Job starts ready, required }
certificate asked { issuer environment  premises sky  claims node(job), status(job) is ready  starts active }
certificate done  { issuer ana  premises roof  claims status(job) is closed  revocable by environment, ana }
update finish(w: Job) operation complete by ana { when status(w) == ready emit roof set status(w) := closed issue done }
update storm operation reopen by environment {
  when status(job) == closed
  set sky.dry := false
  set status(job) := ready
  revoke done
  consume roof
  issue asked
}
"""
    run = Desk(tmp_path, text)
    assert run.propose("finish(job)", "storm", "finish(job)") == []
    history = history_of(run.entries)
    found = graphs(history)
    assert {name: said["standing"] for name, said in found.kappa.items()} == {
        "asked#0": "issued again", "done#1": "revoked", "asked#2": "active", "done#3": "active",
    }  # fmt: skip
    assert edges(found.audit, "revoked") == {("entry 2", "done#1")}
    assert edges(found.cooperation, "consumption") == {("roof#1", "entry 2")}
    assert edges(found.cooperation, "production") == {("entry 1", "roof#1"), ("entry 2", "sky#2"), ("entry 3", "roof#3")}
    assert ("sky#2", "asked#2") in edges(found.audit, "premise")


# ---- the definitions, over runs of all examples ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_definition_2(name: str) -> None:
    """G is a finite typed directed acyclic graph, and logical time increases along every edge."""
    history, found = drawn(name)
    g = found.cooperation
    assert nx.is_directed_acyclic_graph(g)
    assert all(g.nodes[tail]["tau"] < g.nodes[head]["tau"] for tail, head in g.edges())
    assert {said["type"] for _, said in g.nodes(data=True)} <= {"action", "artifact", "input"}
    assert sum(said["type"] == "action" for _, said in g.nodes(data=True)) == len(history.events)
    assert all(
        said["label"] and {"agent", "actor", "operation"} <= said.keys() for _, said in g.nodes(data=True) if said["type"] == "action"
    )
    for tail, head, said in g.edges(data=True):
        source, target = EDGES[said["type"]]
        assert source is None or g.nodes[tail]["type"] == source
        assert g.nodes[head]["type"] in target
    for emitted, said in g.nodes(data=True):
        if said["type"] == "artifact":
            assert [kind for *_, kind in g.in_edges(emitted, data="type")] == ["production"], "each emission has the one event that made it"


@pytest.mark.parametrize("name", NAMES)
def test_definition_3(name: str) -> None:
    """V_Q is what is present; statuses are the eight, assignees agents; edges are declared relations with their roles."""
    history, found = drawn(name)
    declared, q = history.declared, found.obligations
    present = {w["name"] for w in declared["obligations"] if history.run.on(w["present"])}
    assert set(q) == present
    relations = {r["name"]: ", ".join(r["contributes"]) for r in declared["relations"]}
    for _, said in q.nodes(data=True):
        assert said["status"] in STATUSES
        assert said["assignee"] in {*declared["agents"], "none"}
    for tail, head, said in q.edges(data=True):
        assert {tail, head} <= present
        assert relations[said["type"]] == said["role"]


@pytest.mark.parametrize("name", NAMES)
def test_definitions_1_and_5(name: str) -> None:
    """Pi lies between G and Q: pi takes nodes of G to work of Q, omega labels exactly the linked actions, kappa has every certificate."""
    history, found = drawn(name)
    works, operations = {w["name"] for w in history.declared["obligations"]}, set(found.omega.values())
    assert set(found.pi) <= set(found.cooperation)
    assert all(linked and linked <= works for linked in found.pi.values())
    linked = {(a, w) for a, of in found.pi.items() for w in of if found.cooperation.nodes[a]["type"] == "action"}
    assert set(found.omega) == {(a, w) for a, w in linked if found.cooperation.nodes[a]["operation"]}
    assert operations <= {event.operation for event in history.events.values()}
    refused = {f"entry {n}" for n, event in history.events.items() if not event.committed}
    assert not refused & set(found.pi), "a refused attempt is in G; its effects are not in Q or Pi"
    assert not refused & set(found.audit)
    assert len(found.kappa) == len(history.issues)
    for own, certificate in found.kappa.items():
        schema = next(c for c in history.declared["certificates"] if c["name"] == certificate["certificate"])
        assert set(certificate["claims"]) <= {claim["assertion"] for claim in schema["claims"]}, "the claim instantiates its schema"
        assert set(certificate["external"]) <= {i["name"] for i in history.declared["inputs"]}
        assert found.audit.nodes[own]["type"] == "certificate"
        issued = [tail for tail, _, kind in found.audit.in_edges(own, data="type") if kind == "issues"]
        assert len(issued) == (0 if own.endswith("#0") else 1)


@pytest.mark.parametrize("name", ["release_pipeline", "decompose_and_solve"])
def test_lemma_3(name: str) -> None:
    """The record determines X_i: a prefix gives the same graphs whatever follows, and history only grows."""
    entries, before = made(name), None
    for at in range(len(entries)):
        once, again = graphs(history_of(entries, at)), graphs(history_of(entries[: at + 1]))
        for one, other in zip(
            (once.cooperation, once.obligations, once.audit), (again.cooperation, again.obligations, again.audit), strict=True
        ):
            assert nx.utils.graphs_equal(one, other)
        assert (once.pi, once.omega, once.kappa) == (again.pi, again.omega, again.kappa)
        if before is not None:
            assert set(before.cooperation.edges(keys=True)) <= set(once.cooperation.edges(keys=True))
            assert set(before.cooperation) <= set(once.cooperation)
            assert before.omega.items() <= once.omega.items()
            assert before.kappa.keys() <= once.kappa.keys()
        before = once


@pytest.mark.parametrize("name", NAMES)
def test_lemma_4(name: str) -> None:
    """Every assertion that stands has, in Pi and G, a finite backward slice: evidence, events, artifacts, down to inputs and events."""
    history, found = drawn(name)
    why: Any = nx.DiGraph()
    for tail, head, said in (*found.audit.edges(data=True), *found.cooperation.edges(data=True)):
        if said["type"] in {"claims", "premise", "issues", "establishes", "production"}:
            why.add_edge(tail, head)
    support = history.run.evidence()[2]
    standing = {a: history.established.get(a, 0) for a, said in history.run.assertions.items() if history.run.asserted(said)}
    assert standing
    for assertion, seq in standing.items():
        own, evidence = f"{assertion}#{seq}", f"{support[assertion]}#{history.issued[support[assertion]]}"
        assert why.has_edge(evidence, own)
        behind = nx.ancestors(why, evidence) | {evidence, own}
        assert nx.is_directed_acyclic_graph(why.subgraph(behind))
        ends = {n for n in behind if why.in_degree(n) == 0}
        assert ends
        assert all(end.startswith("entry ") or found.audit.nodes[end]["type"] == "input" for end in ends)
        if history.issued[support[assertion]] == 0:
            assert any(found.audit.nodes[end]["type"] == "input" for end in ends), "what was there from the start rests on an input"


# ---- export ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["release_pipeline", "decompose_and_solve", "code_change_broken"])
def test_exports(name: str) -> None:
    history, found = drawn(name)
    whole = union(found)
    again = nx.read_graphml(io.BytesIO(graphml(found).encode()), force_multigraph=True)
    assert dict(again.nodes(data=True)) == dict(whole.nodes(data=True))
    assert sorted(again.edges()) == sorted(whole.edges())
    text = dot(found)
    assert text.count(" -> ") == whole.number_of_edges()
    assert text.count("{") == text.count("}") == 4
    assert faults(prov(history, found)) == []


def test_prov_of_the_desk(run: tuple[Entry, ...]) -> None:
    history = history_of(run, 7)
    document: Any = prov(history, graphs(history))
    assert faults(document) == []
    assert document["activity"]["icore:action.entry%204"]["icore:outcome"] == "refused"
    triples = {
        relation: {tuple(v for k, v in said.items() if k != "prov:role") for said in document[relation].values()}
        for relation in document.keys() - {"prefix", "entity", "activity", "agent"}
    }
    note, done = "icore:artifact.note%28left%29%236", "icore:certificate.done%28left%29%236"
    assert (note, "icore:action.entry%206") in triples["wasGeneratedBy"]
    assert ("icore:action.entry%207", note) in triples["used"]
    assert (done, note) in triples["wasDerivedFrom"]
    assert ("icore:action.entry%206", "icore:action.entry%205") in triples["wasInformedBy"]
    assert ("icore:action.entry%206", "icore:agent.ana") in triples["wasAssociatedWith"]


# ---- the page --------------------------------------------------------------------------------------------------------------------


class Page(HTMLParser):
    """Whether every element is closed, and what the script can find by its `data-id`."""

    VOID = frozenset({"meta", "br", "path"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: dict[str, str] = {}
        self.roots: list[str] = []
        self.rows: list[str] = []
        self.fetched: list[str] = []
        self.tags: set[str] = set()
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = {name: value or "" for name, value in attrs}
        self.tags.add(tag)
        self.fetched += [
            f"{tag} {name}" for name in said if name in {"src", "href", "action", "data", "srcset", "style"} or name.startswith("on")
        ]
        if "data-id" in said:
            assert said["data-id"] not in self.ids
            self.ids[said["data-id"]] = tag
        if "data-root" in said:
            self.roots.append(said["data-root"])
        if said.get("class", "").startswith("row"):
            assert said["tabindex"] == "0"
            self.rows.append(said["class"].split()[1])
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def page(entries: tuple[Entry, ...] | list[Entry], works: tuple[str, ...]) -> str:
    history = history_of(entries)
    return page_of(history, graphs(history), {work: explained(history, lambda seq: history_of(entries, seq), work) for work in works})


def facts_of(text: str) -> Any:
    return json.loads(re.search(r"const facts = (.*?);\n", text)[1])  # type: ignore[index]


def test_the_page_marks_a_root_s_justification(run: tuple[Entry, ...]) -> None:
    text = page(run, ("left",))
    read_page = Page(text)
    assert read_page.open == []
    assert read_page.fetched == []
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")
    assert read_page.roots == ["left"]
    assert read_page.rows[:8] == ["start", "committed", "diagnosed", "committed", "refused", "diagnosed", "committed", "committed"]
    why = facts_of(text)["roots"]["left"]
    assert set(why["nodes"]) <= set(read_page.ids)
    assert {"ok(left)#7", "done(left)#6", "note(left)#6", "entry 6", "request#0", "able(ana, left)#3"} <= set(why["nodes"])
    assert "able(bo, left)#1" not in why["nodes"]
    assert ["note(left)#6", "done(left)#6"] in why["edges"]
    assert read_page.ids["note(left)#6"] == "button", "what can be chosen is reached by Tab and Enter"
    assert read_page.ids["entry 4"] == "details"
    assert "definition 6(iii) evidence" in text


@pytest.mark.parametrize("name", ["release_pipeline", "incident_response"])
def test_pages_of_examples(name: str) -> None:
    history, _ = drawn(name)
    settled = tuple(w for w in history.run.works if history.value(f"status({w})") in {"accepted", "rejected", "closed", "invalid"})
    text = page(made(name), settled)
    read_page, facts = Page(text), facts_of(text)
    assert read_page.open == []
    assert read_page.roots == list(settled)
    assert set(facts["needs"]) <= set(read_page.ids)
    assert all(set(why["nodes"]) <= set(read_page.ids) for why in facts["roots"].values())
    assert len(read_page.rows) == len(history.events) + 1


def test_the_page_says_how_the_run_ended_and_what_the_seal_is(tmp_path: Path) -> None:
    """Of a sealed record the last entry is the seal, and not the end."""
    pytest.importorskip("cryptography", reason="the extra `sign` is not installed")
    key = new_key(tmp_path / "key")

    def said(name: str, at: int | None = None) -> str:
        path = str(tmp_path / f"{name}.jsonl")
        target = tmp_path / f"{name}.html"
        assert command(["graph", path, "--html", str(target), *(() if at is None else ("--at", str(at)))]) == 0
        return str(re.search(r"</h1>\n<p>(.*)</p>", target.read_text(encoding="utf-8"))[1])  # type: ignore[index]

    desk(tmp_path)
    for name, sign_key in (("sealed", None), ("signed", tmp_path / "key")):
        with audit_session(tmp_path / "desk.icore", tmp_path / f"{name}.jsonl", sign_key=sign_key) as session:
            session.propose("assign(ana, left)")
    lines = (tmp_path / "sealed.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "ended.jsonl").write_bytes(b"".join(lines[:-1]))
    (tmp_path / "cut.jsonl").write_bytes(b"".join(lines[:-2]))
    counts = " · 1 event · 3 certificates · 5 assertions"
    assert said("sealed") == f"ends with incomplete · sealed{counts}"
    assert said("signed") == f"ends with incomplete · signed by {key.public}{counts}"
    assert said("ended") == f"ends with incomplete · not sealed{counts}"
    assert said("cut") == f"has not ended · not sealed{counts}"
    assert said("sealed", at=1) == f"after entry 1{counts}"
    assert said("sealed", at=3) == f"ends with incomplete · sealed{counts}"


def test_nothing_in_a_record_becomes_markup(run: tuple[Entry, ...]) -> None:
    bad = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'&"
    entries = [Entry(e.seq, e.prev, e.hash, e.kind, json.loads(json.dumps(e.body))) for e in run]
    entries[0].body["request"] = bad  # type: ignore[index]
    entries[0].body["package"]["name"] = bad
    for entry in entries:
        if "outside" in entry.body:
            entry.body["outside"]["reasoning"] = bad
        for violation in entry.body.get("violations", ()):
            violation.update(text=bad, clause=bad, instance=bad)
        if entry.kind == "diagnosis":
            entry.body["kind"] = bad  # type: ignore[index]
    text = page(entries, ("left",))
    read_page = Page(text)
    assert read_page.open == []
    assert "img" not in read_page.tags
    assert text.count("<script>") == text.count("</script>") == 1
    assert "&lt;img" in text


# ---- the command -----------------------------------------------------------------------------------------------------------------


def test_the_command(run: tuple[Entry, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "run.jsonl"
    with open_store(path) as store:
        for entry in run:
            store.append(entry.kind, entry.body)
        seal(store, None)
    found = graphs(read(str(path), read_entries(path)))
    assert command(["graph", str(path)]) == 0
    assert capsys.readouterr().out == dot(found)
    targets = {form: tmp_path / f"run.{form}" for form in ("html", "dot", "graphml", "prov")}
    assert command(["graph", str(path), *(word for form, target in targets.items() for word in (f"--{form}", str(target)))]) == 0
    assert capsys.readouterr().out == "".join(f"wrote {target}\n" for target in targets.values())
    assert targets["dot"].read_text(encoding="utf-8") == dot(found)
    assert targets["graphml"].read_text(encoding="utf-8") == graphml(found)
    assert faults(json.loads(targets["prov"].read_text(encoding="utf-8"))) == []
    assert Page(targets["html"].read_text(encoding="utf-8")).roots == ["left"]
    assert command(["graph", str(path), "--at", "1"]) == 0
    assert "bo" in capsys.readouterr().out


def test_what_the_command_refuses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    desk(tmp_path)
    assert command(["graph", str(tmp_path / "desk.icore"), "--html", str(tmp_path / "x.html")]) == 2
    assert "are of records" in capsys.readouterr().err
    assert command(["graph", "run.jsonl", "--set", "n=3"]) == 2
    assert "a record has its own" in capsys.readouterr().err
    assert command(["graph", str(tmp_path / "none.jsonl")]) == 2
    assert command(["graph", str(tmp_path / "desk.icore")]) == 0
    assert "digraph" in capsys.readouterr().out


def test_a_record_of_unjustified_work_has_no_history(run: tuple[Entry, ...]) -> None:
    spoilt = [*run[:6], *run[7:]]
    with pytest.raises(Unexplained, match="entry 7"):
        history_of(spoilt)
