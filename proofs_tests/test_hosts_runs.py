"""Whole runs of the audit loop over each host: what they come to, and that nothing is committed that was not audited."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from conftest import CHECKOUT
from host_packages import PAPER
from misbehaving import Behaviour, answer, choosing, close, completion, content, cut, raw, serving, status

from icore_kernel.api import Loaded, load
from icore_kernel.audit.auditor import Auditor
from icore_kernel.audit.frame import Outcome, Parameters
from icore_kernel.audit.host import Host
from icore_kernel.audit.judge import Judge
from icore_kernel.audit.loop import Loop
from icore_kernel.hosts.http import HttpHost
from icore_kernel.hosts.named import host_named
from icore_kernel.hosts.scored import ScoredHost
from icore_kernel.hosts.scripted import ScriptedHost, read_lines
from icore_kernel.prove.commit import CommitSolver
from icore_kernel.record.seal import seal
from icore_kernel.record.store import open_store
from icore_kernel.record.verify import verify


@dataclass
class Run:
    outcome: Outcome
    entries: list[Any]
    loop: Loop

    def of(self, kind: str) -> list[Any]:
        return [entry.body for entry in self.entries if entry.kind == kind]

    @property
    def commits(self) -> list[str]:
        return [body["update"] for body in self.of("commit")]


@cache
def example(name: str) -> tuple[Loaded, CommitSolver]:
    loaded = load(CHECKOUT / "examples" / f"{name}.icore")
    return loaded, CommitSolver(loaded.system, loaded.bank)


@pytest.fixture(scope="module")
def paper(tmp_path_factory: pytest.TempPathFactory) -> tuple[Loaded, CommitSolver]:
    path = tmp_path_factory.mktemp("runs") / "paper.icore"
    path.write_text(PAPER, encoding="utf-8")
    loaded = load(path)
    return loaded, CommitSolver(loaded.system, loaded.bank)


def run(package: tuple[Loaded, CommitSolver], host: Host, record: str = "memory:", **parameters: Any) -> Run:
    loaded, decider = package
    with open_store(record) as store:
        auditor = Auditor(loaded, store, decider=decider)
        loop = Loop(auditor, host, Parameters.of(auditor.tables.settings, **parameters))
        outcome = loop.run()
        seal(store, None)
        return Run(outcome, list(store.entries()), loop)


# ---- scripted -------------------------------------------------------------------------------------------------------------------

HAPPY = """
assign(ana, left)
finish(ana, left)
assign(bo, right)
finish(bo, right)
assign(bo, whole)
enable(whole)
finish(bo, whole)
sign_off(whole)
"""


def test_a_script_is_played_to_its_end(paper: tuple[Loaded, CommitSolver]) -> None:
    played = run(paper, ScriptedHost(read_lines(HAPPY, system=paper[0].system)), threshold=Fraction(0), patience=9)
    assert played.commits[:4] == ["assign(ana, left)", "finish(ana, left)", "assign(bo, right)", "finish(bo, right)"]
    assert [b["phase"] for b in played.of("commit")][:4] == ["ordinary"] * 4
    assert "sign_off(whole)" in played.commits
    assert played.of("refusal") == []


def test_a_careless_script_is_refused_and_repaired(paper: tuple[Loaded, CommitSolver]) -> None:
    """The fault is refused, its flag asks ana for a recovery, and the next line is that recovery."""
    script = '{"update": "assign(ana, left)", "outside": {"why": "mine"}}\nfinish.careless(ana, left)\nrevise: finish(ana, left)\n'
    host = ScriptedHost(read_lines(script, system=paper[0].system))
    played = run(paper, host, threshold=Fraction(0), patience=9, budget=2)
    assert host.left == 0
    assert played.commits == ["assign(ana, left)", "finish(ana, left)"]
    assert [(b["phase"], b["outside"]) for b in played.of("commit")] == [("ordinary", {"why": "mine"}), ("recovery", {})]
    (refusal,) = played.of("refusal")
    assert (refusal["update"], refusal["agent"]) == ("finish.careless(ana, left)", "ana")


def test_what_a_script_does_as_another_is_refused(paper: tuple[Loaded, CommitSolver]) -> None:
    script = '{"update": "assign(ana, left)", "agent": "bo"}\n{"changes": {"status(left)": "accepted"}, "agent": "bo"}\n'
    played = run(paper, ScriptedHost(read_lines(script, system=paper[0].system)), threshold=Fraction(0), patience=9, budget=2)
    assert played.commits == []
    assert [b["violations"][0]["clause"] for b in played.of("refusal")] == ["definition 6(ii) actor", "definition 12"]


# ---- random and scored ------------------------------------------------------------------------------------------------------------


def test_a_seed_is_a_run(paper: tuple[Loaded, CommitSolver]) -> None:
    """The same seed gives the same commits and states; another one gives others."""
    runs = [run(paper, host_named(text, paper[0])) for text in ("random:5:1/3", "random:5:1/3", "random:6:1/3")]
    told = [[(b["update"], b["after"]) for b in r.of("commit")] for r in runs]
    assert told[0] == told[1] != told[2]
    assert sum(len(r.of("refusal")) for r in runs) > 0


@pytest.mark.parametrize("name", ["release_pipeline", "capability_assignment", "incident_response"])
def test_the_scored_host_brings_examples_to_accept_without_a_refusal(name: str) -> None:
    played = run(example(name), ScoredHost())
    assert played.outcome is Outcome.ACCEPT
    assert played.of("refusal") == []


# ---- over HTTP --------------------------------------------------------------------------------------------------------------------


def first(actions: list[dict[str, Any]]) -> int:
    return 0


def refused(actions: list[dict[str, Any]]) -> int:
    """Something that is not enabled, where it is offered."""
    return next((a["index"] for a in actions if "not enabled" in a["description"]), 0)


NONSENSE: tuple[Behaviour, ...] = (
    answer(99), answer("0"), answer(-1), content("no JSON"), content('{"candidate_index": 0, "candidate_index": 1}'), content(None),
    status(500), status(429), status(404), close, cut(completion('{"candidate_index": 0}')), raw(b"\x00\xff"),
    content('{"candidate_index": 0, "commit": {"status(whole)": "accepted"}, "x": 1.5}'), status(200, b"x" * 2_000_000),
)  # fmt: skip


def test_a_model_that_always_takes_the_first_action_gets_somewhere(paper: tuple[Loaded, CommitSolver]) -> None:
    with serving(choosing(first)) as server:
        played = run(paper, HttpHost(server.url, "m", sleep=lambda seconds: None))
    assert played.outcome in (Outcome.ACCEPT, Outcome.INCOMPLETE)
    assert len(played.commits) >= 8
    agents = [b for b in played.of("commit") if b["agent"] in ("ana", "bo")]
    assert agents
    assert all(b["outside"]["candidate_index"] == 0 and b["outside"]["model"] == "m" for b in agents)


def test_nothing_unaudited_is_committed_whatever_a_server_answers(paper: tuple[Loaded, CommitSolver], tmp_path: Path) -> None:
    """Sense and nonsense in turn: every commit is legal when judged again, was chosen by a good answer, and the record verifies."""
    record = tmp_path / "run.jsonl"
    mixed = [b for i, nonsense in enumerate(NONSENSE) for b in ((nonsense, choosing(refused)) if i % 3 == 2 else (nonsense,))]
    with serving(*mixed, choosing(first)) as server:
        played = run(paper, HttpHost(server.url, "m", retries=0, sleep=lambda seconds: None), str(record), budget=60, patience=50)
        assert server.behaviours[0] not in mixed, "all of them were met"
        assert len(server.requests) > len(mixed)
    found = Counter(entry.kind for entry in played.entries)
    assert found["commit"] >= 5
    assert found["refusal"] >= 1
    for body in played.of("commit"):
        if body["agent"] in ("ana", "bo"):
            (attempt,) = body["outside"]["attempts"]
            assert (attempt["status"], attempt["problem"]) == (200, "")
            assert isinstance(body["outside"]["candidate_index"], int)
    assert judged_again(played) == found["commit"]
    assert verify(str(record)).exit_status == 0


def judged_again(played: Run) -> int:
    """How many commits of a run are legal by a judge of its own, from the record's initial state on."""
    system = played.loop.auditor.system
    judge, numbers = Judge(system), {u.name: i for i, u in enumerate(system.updates)}
    state, legal = system.initial, 0
    for body in played.of("commit"):
        number = numbers[body["update"]]
        after = judge.successor(state, number)
        assert after is not None
        legal += not judge.failing(state, number, after)
        state = after
    assert state == played.loop.auditor.state
    return legal


def test_a_server_that_never_answers_well_commits_nothing_for_agents(paper: tuple[Loaded, CommitSolver]) -> None:
    """And every attempt is in the record, with the reason that there is no proposal."""
    with serving(status(503)) as server:
        played = run(paper, HttpHost(server.url, "m", retries=1, sleep=lambda seconds: None), budget=5)
    assert played.outcome is Outcome.INCOMPLETE
    assert played.commits == []
    waits = [b for kind in ("wait", "refusal", "feedback") for b in played.of(kind)]
    assert waits
    assert all("HTTP 503" in str(b) and len(b["outside"]["attempts"]) == 2 for b in waits)
