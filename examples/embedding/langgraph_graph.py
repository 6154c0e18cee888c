"""A LangGraph graph under audit: two nodes side by side and a third that joins them. Needs the extra: pip install 'icore[langgraph]'

    python examples/embedding/langgraph_graph.py [RECORD.jsonl]

The graph is built as ever; each node is wrapped where it is added, and its result goes on once its update was committed.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, TypedDict

from icore_kernel import api
from icore_kernel.hosts.framework import Gate
from icore_kernel.record.entry import RecordError

try:
    from langgraph.graph import END, START, StateGraph
except ModuleNotFoundError:
    sys.exit("LangGraph is not installed: pip install 'icore[langgraph]'")

PACKAGE = Path(__file__).parents[1] / "code_change.icore"


class Change(TypedDict, total=False):
    diff: str
    reviewed: bool
    tested: bool
    merged: bool


def review(state: Change) -> Change:
    return {"reviewed": "eval(" not in state["diff"]}


def run_tests(state: Change) -> Change:
    return {"tested": len(state["diff"]) > 0}


def merge(state: Change) -> Change:
    return {"merged": state["reviewed"] and state["tested"]}


def graph(gate: Gate) -> Any:
    built = StateGraph(Change)
    built.add_node("review", gate.node(review, lambda done: "pass(ben, review)" if done["reviewed"] else "refuse(ben, review)"))
    built.add_node("run_tests", gate.node(run_tests, lambda done: "pass(ci, tests)" if done["tested"] else "refuse(ci, tests)"))
    # What is merged without evidence is refused, whatever the node believes; the graph then goes on with what `refused` says.
    built.add_node(
        "merge",
        gate.node(merge, lambda done: "merge(change)" if done["merged"] else "", agent="monitor", refused=lambda wrong: {"merged": False}),
    )
    for name in ("review", "run_tests"):
        built.add_edge(START, name)
        built.add_edge(name, "merge")
    built.add_edge("merge", END)
    return built.compile()


def audited_run(diff: str, record: str = "memory:") -> tuple[Change, str]:
    with api.audit_session(PACKAGE, record) as run:
        gate = Gate(run)
        gate.propose("assign(ben, review)")
        gate.propose("assign(ci, tests)")
        reached = graph(gate).invoke({"diff": diff})
    return reached, run.outcome.value


if __name__ == "__main__":
    record = sys.argv[1] if len(sys.argv) > 1 else "memory:"
    try:
        reached, outcome = audited_run("+ return a + b", record)
    except RecordError as wrong:
        sys.exit(str(wrong))
    print(f"the graph ends with merged = {reached['merged']}; the record shows: {outcome}")
