"""A framework that keeps its loop: nodes count once they were committed, from several threads too, and the examples run."""

from __future__ import annotations

import ast
import importlib.util
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import CHECKOUT

from icore_kernel.api import Loaded, load
from icore_kernel.audit.session import Refused, Session, open_session
from icore_kernel.hosts import framework
from icore_kernel.hosts.framework import Gate
from icore_kernel.record.verify import verify

EMBEDDING = CHECKOUT / "examples" / "embedding"


@pytest.fixture(scope="module")
def package() -> Loaded:
    return load(CHECKOUT / "examples" / "code_change.icore")


@pytest.fixture
def run(package: Loaded) -> Iterator[Session]:
    with open_session(package) as opened:
        opened.propose("assign(ben, review)")
        opened.propose("assign(ci, tests)")
        yield opened


def entries(run: Session, kind: str) -> list[Any]:
    return [entry.body for entry in run.store.entries() if entry.kind == kind]


def verdict(good: bool) -> str:
    return "pass(ben, review)" if good else "refuse(ben, review)"


def test_a_nodes_result_goes_on_when_its_update_was_committed(run: Session) -> None:
    def look(diff: str, *, strict: bool = False) -> bool:
        """Looks."""
        return diff == "good" and strict

    node = Gate(run).node(look, verdict, outside=lambda good: {"good": good})
    assert (node.__name__, node.__doc__) == ("look", "Looks.")
    assert node("good", strict=True) is True
    assert run.state["status(review)"] == "closed"
    last = entries(run, "commit")[-1]
    assert (last["update"], last["agent"], last["outside"]) == ("pass(ben, review)", "ben", {"node": "look", "good": True})


def test_by_its_result_a_node_does_something_else_or_nothing(run: Session) -> None:
    gate = Gate(run)
    assert gate.node(lambda: 7, lambda result: "")() == 7
    assert run.state["status(review)"] == "ready"
    assert gate.node(lambda: False, verdict)() is False
    assert run.state["status(review)"] == "rejected"


def test_a_refusal_is_raised_or_answered_and_changes_nothing(run: Session) -> None:
    gate = Gate(run)
    before = run.state
    with pytest.raises(Refused, match=r"merge\(change\) is refused"):
        gate.node(lambda: "merged", "merge(change)")()
    assert gate.node(lambda: "merged", "merge(change)", refused=lambda wrong: wrong.violations[0].clause)() != "merged"
    with pytest.raises(Refused):
        gate.node(lambda: True, verdict, agent="cleo")()
    assert run.state == before
    assert len(entries(run, "refusal")) == 3


def test_the_monitor_does_what_is_left(run: Session) -> None:
    gate = Gate(run)
    assert gate.follow() == ()
    gate.propose("pass(ben, review)")
    gate.propose("pass(ci, tests)", outside={"seconds": 3})
    assert [receipt.update for receipt in gate.follow()] == ["merge(change)"]
    assert run.accepted


def test_a_package_in_which_the_monitor_never_ends_is_told(run: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(framework, "MOST", 0)
    gate = Gate(run)
    gate.propose("pass(ben, review)")
    gate.propose("pass(ci, tests)")
    with pytest.raises(RuntimeError, match=r"merge\(change\) is enabled still"):
        gate.follow()


@pytest.mark.parametrize("kind", ["jsonl", "db"])
def test_threads_propose_one_after_the_other(kind: str, package: Loaded, tmp_path: Path) -> None:
    """Eight threads, the same two proposals each: every pair is committed once, the rest is refused, and the record is whole."""
    record = tmp_path / f"run.{kind}"
    with open_session(package, record) as run:
        run.propose("assign(ben, review)")
        run.propose("assign(ci, tests)")
        gate, start = Gate(run), threading.Barrier(8)

        def work() -> None:
            start.wait()
            for update in ("pass(ben, review)", "pass(ci, tests)"):
                gate.node(lambda: None, update, refused=lambda wrong: None)()

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (len(entries(run, "commit")), len(entries(run, "refusal"))) == (4, 14)
    assert verify(str(record)).exit_status == 0


# ---- the examples ---------------------------------------------------------------------------------------------------------------


def example(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, EMBEDDING / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_plain_workflow_goes_in_or_is_turned_down() -> None:
    plain = example("plain")
    assert plain.audited_run("+ return a + b") == ("good", "accept")
    assert plain.audited_run("+ eval(x)") == ("turned down in review", "incomplete")
    assert plain.audited_run("") == ("tests fail", "incomplete")


def test_the_wrapping_is_ten_lines() -> None:
    tree = ast.parse((EMBEDDING / "plain.py").read_text(encoding="utf-8"))
    (wrapping,) = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "audited_run"]
    (block,) = [node for node in wrapping.body if isinstance(node, ast.With)]
    assert block.end_lineno is not None
    assert block.end_lineno - block.lineno + 1 == 10


def test_the_plain_example_as_a_program(tmp_path: Path) -> None:
    record = tmp_path / "run.jsonl"
    done = subprocess.run(
        [sys.executable, str(EMBEDDING / "plain.py"), str(record)], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "the workflow says: good; the record shows: accept\n", "")
    assert verify(str(record)).exit_status == 0


@pytest.mark.skipif(importlib.util.find_spec("langgraph") is None, reason="needs the extra langgraph")
def test_the_graph_goes_in_or_is_turned_down() -> None:
    graph = example("langgraph_graph")
    reached, outcome = graph.audited_run("+ return a + b")
    assert (reached["merged"], outcome) == (True, "accept")
    reached, outcome = graph.audited_run("+ eval(x)")
    assert (reached["merged"], outcome) == (False, "incomplete")


@pytest.mark.skipif(importlib.util.find_spec("langgraph") is None, reason="needs the extra langgraph")
def test_a_graph_that_merges_without_evidence_is_refused() -> None:
    graph = example("langgraph_graph")
    graph.merge = lambda state: {"merged": True}
    reached, outcome = graph.audited_run("+ eval(x)")
    assert (reached["merged"], outcome) == (False, "incomplete")


@pytest.mark.parametrize("name", ["plain", "langgraph_graph"])
def test_the_examples_leave_a_record_that_is_there(name: str, tmp_path: Path) -> None:
    """An empty graph library stands in for LangGraph: the record is refused before any graph is built."""
    (tmp_path / "langgraph").mkdir()
    (tmp_path / "langgraph" / "__init__.py").write_text("", encoding="utf-8")
    (tmp_path / "langgraph" / "graph.py").write_text("END = START = StateGraph = None\n", encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}
    record = tmp_path / "change.jsonl"
    with open_session(EMBEDDING.parent / "code_change.icore", record):
        pass
    done = subprocess.run(
        [sys.executable, str(EMBEDDING / f"{name}.py"), str(record)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=environment,
    )
    said = f"{record}: there is a record already; a run has a record of its own: choose another name, or delete it\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", said)
    assert verify(str(record)).exit_status == 0


def test_without_langgraph_the_example_says_so(tmp_path: Path) -> None:
    """An empty module of its name hides one that is installed."""
    (tmp_path / "langgraph.py").write_text("", encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run(
        [sys.executable, str(EMBEDDING / "langgraph_graph.py")], capture_output=True, text=True, timeout=120, check=False, env=environment
    )
    assert (done.returncode, done.stderr.strip()) == (1, "LangGraph is not installed: pip install 'icore[langgraph]'")
