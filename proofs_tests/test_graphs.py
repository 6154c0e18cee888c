"""Drawings: the step graph whole and cut, in three forms, and the graph of obligations."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree
from collections import Counter
from pathlib import Path

import networkx
import pytest
from conftest import CHECKOUT
from hypothesis import HealthCheck, given, settings
from strategies_systems import systems
from systems_by_hand import Draft, counters

from icore_kernel.explore.model import Rules, Watchlist
from icore_kernel.explore.region import region
from icore_kernel.explore.search import Engine, explore
from icore_kernel.graphs import LONGEST, label_of, obligation_dot, quoted, step_dot, step_drawing, step_graphml, step_record
from icore_kernel.load import load
from icore_kernel.system import System


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(systems())
def test_a_whole_region_is_the_step_graph_of_the_search(pair: tuple[System, Watchlist]) -> None:
    system, _ = pair
    found = region(system, 10**6)
    whole = explore(system, rules=Rules(keep_graph=True), engine=Engine.PYTHON)
    assert whole.graph is not None
    assert (found.cut, len(found.states), found.expanded) == (None, whole.states, whole.states)
    assert list(found.states) == [whole.store.state(number) for number in range(whole.states)]
    assert Counter(found.depth) == Counter(dict(enumerate(whole.levels)))
    sources = [state for state in range(whole.states) for _ in range(whole.graph.start[state], whole.graph.start[state + 1])]
    assert [(a, u, b) for a, u, b in found.steps] == list(zip(sources, whole.graph.update, whole.graph.target, strict=True))
    limit = max(1, whole.states // 2)
    part = region(system, limit)
    assert len(part.states) <= limit
    assert part.states == found.states[: len(part.states)]
    assert part.cut == (f"max-states {limit}" if whole.states > limit else None)
    assert part.steps == found.steps[: len(part.steps)]
    assert len(part.steps) >= sum(source < part.expanded for source, _, _ in found.steps)


def test_two_counters_by_hand() -> None:
    """Two counters of two values: 0 -> {1, 2} -> 3."""
    system = counters(2, 2)
    draft = Draft((0, 1), (0, 1))
    both = draft.bank.and_(draft.is_(1, 0), draft.is_(1, 1))
    drawing = step_drawing(system, region(system, 10), {"Accept": both})
    assert [(n.number, n.depth, n.differs, n.marks, n.whole) for n in drawing.nodes] == [
        (0, 0, (), (), True),
        (1, 1, (("x0", "1"),), (), True),
        (2, 1, (("x1", "1"),), (), True),
        (3, 2, (("x0", "1"), ("x1", "1")), ("Accept",), True),
    ]
    assert step_dot(drawing) == (
        'digraph "ByHand" {\n'
        "  node [shape=box, fontname=monospace, fontsize=10]\n"
        "  edge [fontname=monospace, fontsize=9]\n"
        '  0 [label="0", penwidth=2]\n'
        '  1 [label="1\\lx0 = 1\\l"]\n'
        '  2 [label="2\\lx1 = 1\\l"]\n'
        '  3 [label="3 · Accept\\lx0 = 1\\lx1 = 1\\l", peripheries=2]\n'
        '  0 -> 1 [label="tick(0)"]\n'
        '  0 -> 2 [label="tick(1)"]\n'
        '  1 -> 3 [label="tick(1)"]\n'
        '  2 -> 3 [label="tick(0)"]\n'
        "}\n"
    )
    record = step_record(drawing, "9.9")
    assert json.loads(json.dumps(record)) == record
    assert (record["schema"], record["icore"], record["cut"]) == ("icore.graph/1", "9.9", None)
    assert record["first"] == {"x0": "0", "x1": "0"}
    assert record["steps"] == [
        {"source": a, "target": b, "update": f"tick({u})", "actor": "ana"} for a, b, u in ((0, 1, 0), (0, 2, 1), (1, 3, 1), (2, 3, 0))
    ]


def test_a_cut_graph_says_so_in_every_form() -> None:
    """Of a line of ten states the first four: of the last, no step is known to lead to one of them."""
    system = counters(1, 10)
    drawing = step_drawing(system, region(system, 4), {})
    assert (len(drawing.nodes), len(drawing.edges), drawing.cut) == (4, 3, "max-states 4")
    assert [node.whole for node in drawing.nodes] == [True, True, True, False]
    text = step_dot(drawing)
    assert 'label = "cut: max-states 4; steps of dashed states are left out"' in text
    assert text.count("style=dashed") == 1
    assert step_record(drawing, "0")["cut"] == "max-states 4"
    graph = networkx.parse_graphml(step_graphml(drawing))
    assert graph.graph["cut"] == "max-states 4"
    assert [graph.nodes[node]["whole"] for node in graph] == [True, True, True, False]


def test_graphml_keeps_parallel_steps_and_labels() -> None:
    draft = Draft((0, 1))
    system = draft.system([draft.move("a", 0, 1), draft.move("b<&>", 0, 1), draft.move("stay", 1, 1)])
    graph = networkx.parse_graphml(step_graphml(step_drawing(system, region(system, 9), {"Reject": draft.is_(1)})))
    assert sorted((a, b, found["update"], found["actor"]) for a, b, found in graph.edges(data=True)) == [
        ("0", "1", "a", "ana"), ("0", "1", "b<&>", "ana"), ("1", "1", "stay", "ana"),
    ]  # fmt: skip
    assert graph.nodes["1"] == {"label": "1 · Reject\nx0 = 1", "depth": 1, "marks": "Reject", "whole": True}
    xml.etree.ElementTree.fromstring(step_graphml(step_drawing(system, region(system, 9), {})))


def test_no_initial_state_is_an_empty_graph() -> None:
    draft = Draft((0, 1))
    drawing = step_drawing(draft.system([draft.move("a", 0, 1)], initially=draft.bank.false), region(
        draft.system([draft.move("a", 0, 1)], initially=draft.bank.false), 5
    ), {})  # fmt: skip
    assert (drawing.nodes, drawing.edges, drawing.cut) == ((), (), None)
    assert "->" not in step_dot(drawing)


def test_long_labels_are_cut_and_say_how_much_is_left_out() -> None:
    draft = Draft(*[(0, 1)] * 20)
    one = draft.n(1)
    system = draft.system([draft.update("all", draft.is_(0), *((index, one) for index in range(20)))])
    lines = label_of(step_drawing(system, region(system, 2), {}).nodes[1])
    assert len(lines) == LONGEST + 1
    assert (lines[1], lines[-1]) == ("x0 = 1", "and 9 more")


@pytest.mark.parametrize(
    ("lines", "expected"), [(["a"], '"a"'), (['say "hi"'], '"say \\"hi\\""'), (["a\\b"], '"a\\\\b"'), (["a", "b"], '"a\\lb\\l"')]
)
def test_quoting(lines: list[str], expected: str) -> None:
    assert quoted(*lines) == expected


# ---- obligations --------------------------------------------------------------------------------------------------


def test_the_obligations_of_the_release_pipeline() -> None:
    """Four steps in a line, the last required and covering the other three (the file's first lines say so)."""
    text = obligation_dot(load(CHECKOUT / "proofs_tests" / "cases" / "good" / "release_pipeline.icore"))
    assert re.findall(r'^  ("\w+" -> "\w+")', text, re.MULTILINE) == [
        '"compile" -> "unit"', '"unit" -> "approve"', '"approve" -> "release"',
        '"release" -> "compile"', '"release" -> "unit"', '"release" -> "approve"',
    ]  # fmt: skip
    assert re.findall(r'^  "(\w+)" \[.*peripheries=2', text, re.MULTILINE) == ["release"]
    assert text.count("(support)") == 3
    assert text.count("(coverage)") == 3


def test_latent_work_and_changing_relations_are_dashed(tmp_path: Path) -> None:
    package = tmp_path / "a.icore"
    package.write_text(
        'language 1\npackage A "1"\nobligation type T {}\nobligations { root: T required  part[i: 1..2]: T latent }\n'
        "changing relation serves(Obligation, Obligation) contributes coverage\nserves = part[1] -> root\n",
        encoding="utf-8",
    )
    text = obligation_dot(load(package))
    assert '"part[1]" [label="part[1]: T\\llatent\\l", style=dashed]' in text
    assert '"root" [label="root: T\\lstarts open\\l", peripheries=2]' in text
    assert '"part[1]" -> "root" [label="serves (coverage)", style=dashed]' in text
