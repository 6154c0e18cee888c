"""Graphs to look at: the step graph of a package and the graph of its obligations, as DOT, GraphML and records.

networkx writes GraphML, and is loaded only for that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from icore_kernel.explore.region import Region
from icore_kernel.ground.values import Element
from icore_kernel.load import Loaded
from icore_kernel.meaning import scalar
from icore_kernel.system import System
from icore_kernel.terms.node import Term

GRAPH = "icore.graph/1"
LONGEST = 12
"""Lines to the label of a state; what is left out is said."""


@dataclass(frozen=True, slots=True)
class Node:
    """A state: what differs from the first one (field, value), its depth, which terminal predicates hold, whether all of its
    steps are in the graph."""

    number: int
    depth: int
    differs: tuple[tuple[str, str], ...]
    marks: tuple[str, ...]
    whole: bool


@dataclass(frozen=True, slots=True)
class Edge:
    source: int
    target: int
    update: str
    actor: str


@dataclass(frozen=True, slots=True)
class StepDrawing:
    """`first`: the values of the first state, which the others are told by; `cut`: why states are missing, None where none are."""

    package: str
    version: str
    first: tuple[tuple[str, str], ...]
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    cut: str | None


def step_drawing(system: System, found: Region, marks: Mapping[str, Term]) -> StepDrawing:
    """`marks`: predicates of states by name, those that are to be seen (Accept, Reject, Stuck)."""
    fields = [field for field in system.fields if field.root]
    first = found.states[0] if found.states else system.initial
    nodes: list[Node] = []
    for number, state in enumerate(found.states):
        differs = tuple((f.name, f.domain.show(state[f.index])) for f in fields if state[f.index] != first[f.index])
        held = tuple(name for name, term in marks.items() if scalar.evaluate(term, state))
        nodes.append(Node(number, found.depth[number], differs, held, number < found.expanded))
    edges = tuple(Edge(a, b, system.updates[u].name, system.updates[u].actor) for a, u, b in found.steps)
    shown = tuple((f.name, f.domain.show(first[f.index])) for f in fields)
    return StepDrawing(system.name, system.version, shown, tuple(nodes), edges, found.cut)


def label_of(node: Node) -> tuple[str, ...]:
    """The lines of a state's label."""
    lines = [f"{name} = {value}" for name, value in node.differs]
    if len(lines) > LONGEST:
        lines = [*lines[: LONGEST - 1], f"and {len(lines) - LONGEST + 1} more"]
    return (f"{node.number}" + "".join(f" · {mark}" for mark in node.marks), *lines)


def quoted(*lines: str) -> str:
    """A text of DOT; every line to the left."""
    escaped = [line.replace("\\", "\\\\").replace('"', '\\"') for line in lines]
    return '"' + "".join(f"{line}\\l" for line in escaped) + '"' if len(escaped) > 1 else f'"{escaped[0]}"'


def step_dot(drawing: StepDrawing) -> str:
    """The step graph in DOT: initial states bold, terminal ones with a double line, dashed where steps are left out."""
    lines = [f"digraph {quoted(drawing.package)} {{"]
    if drawing.cut is not None:
        lines.append(f"  label = {quoted(f'cut: {drawing.cut}; steps of dashed states are left out')}")
    lines.append("  node [shape=box, fontname=monospace, fontsize=10]")
    lines.append("  edge [fontname=monospace, fontsize=9]")
    for node in drawing.nodes:
        more = ", penwidth=2" * (node.depth == 0) + ", peripheries=2" * bool(node.marks) + ", style=dashed" * (not node.whole)
        lines.append(f"  {node.number} [label={quoted(*label_of(node))}{more}]")
    lines.extend(f"  {edge.source} -> {edge.target} [label={quoted(edge.update)}]" for edge in drawing.edges)
    return "\n".join([*lines, "}"]) + "\n"


def step_record(drawing: StepDrawing, icore: str) -> dict[str, object]:
    """The step graph as a record of the schema `icore.graph/1` (report/SCHEMA.md). `icore`: the version of the program."""
    return {
        "schema": GRAPH,
        "icore": icore,
        "package": drawing.package,
        "version": drawing.version,
        "cut": drawing.cut,
        "first": dict(drawing.first),
        "states": [
            {"state": n.number, "depth": n.depth, "differs": dict(n.differs), "marks": list(n.marks), "whole": n.whole}
            for n in drawing.nodes
        ],
        "steps": [{"source": e.source, "target": e.target, "update": e.update, "actor": e.actor} for e in drawing.edges],
    }


def step_graphml(drawing: StepDrawing) -> str:
    """The step graph in GraphML: nodes with `label`, `depth`, `marks`, `whole`; edges with `update`, `actor`; the graph with `cut`."""
    import networkx

    graph = networkx.MultiDiGraph(package=drawing.package, cut=drawing.cut or "")
    for node in drawing.nodes:
        graph.add_node(
            node.number, label="\n".join(label_of(node)), depth=node.depth, marks=", ".join(node.marks), whole=node.whole
        )  # fmt: skip
    for edge in drawing.edges:
        graph.add_edge(edge.source, edge.target, update=edge.update, actor=edge.actor)
    return "\n".join(networkx.generate_graphml(graph)) + "\n"


# ---- obligations ------------------------------------------------------------------------------------------------------


def obligation_dot(loaded: Loaded) -> str:
    """The declaration's obligations in DOT: required roots with a double line, latent ones dashed; an edge for each declared
    fact, by relation and what it contributes. Relations that updates change are dashed: their facts are those of the start."""
    from icore_kernel.ground.build import build, declarations
    from icore_kernel.ground.values import Algebra
    from icore_kernel.terms.term import TermBank

    decls = declarations(loaded.package, loaded.libraries)
    universe, _ = build(loaded.package, decls, loaded.theory, loaded.settings, Algebra(TermBank()))
    lines = [f"digraph {quoted(loaded.package.name)} {{", "  node [shape=box, fontname=monospace, fontsize=10]"]
    lines.append("  edge [fontname=monospace, fontsize=9]")
    names: dict[Element, str] = {}
    for element, work in universe.works.items():
        names[element] = quoted(element.name)
        said = "latent" if work.latent else f"starts {work.starts}"
        more = ", peripheries=2" * work.required + ", style=dashed" * work.latent
        lines.append(f"  {names[element]} [label={quoted(f'{element.name}: {work.type}', said)}{more}]")
    for relation, decl in universe.relations.items():
        contributes = " ".join(name.id for name in decl.contributes)
        label = f"{relation} ({contributes})" if contributes else relation
        style = ", style=dashed" if decl.changing else ""
        pairs = sorted(universe.facts[relation], key=lambda pair: (pair[0].sort, pair[0].place, pair[1].sort, pair[1].place))
        lines.extend(_others(pairs, names))
        lines.extend(f"  {names[left]} -> {names[right]} [label={quoted(label)}{style}]" for left, right in pairs)
    return "\n".join([*lines, "}"]) + "\n"


def _others(pairs: Iterable[tuple[Element, Element]], names: dict[Element, str]) -> Iterable[str]:
    """What is related and is no obligation, each once, as an ellipse."""
    for element in (element for pair in pairs for element in pair):
        if element not in names:
            names[element] = quoted(f"{element.sort} {element.name}")
            yield f"  {names[element]} [shape=ellipse, label={quoted(element.name)}]"
