"""Relations on the state: declared ones, what they contribute (definition 3), and their closures."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import NamedTuple

from icore_dsl import syntax as s
from icore_kernel.ground.evaluate import Evaluator
from icore_kernel.ground.fixpoint import Fixpoints
from icore_kernel.ground.slots import Slots
from icore_kernel.ground.universe import Universe
from icore_kernel.ground.values import Element, Value
from icore_kernel.terms.node import Term

CONTRIBUTES = {"obl": "obligation", "cov": "coverage", "sup": "support", "agg": "aggregation", "contradicts": "contradiction"}
"""The theory's words for what relations contribute."""

Pairs = dict[tuple[Element, Element], Term]
NOWHERE = s.Span("", 0, 0, 0, 0, 0, 0)


class Graph(NamedTuple):
    """The possible edges of a relation with their conditions; who follows and precedes whom; who may reach whom, both ways."""

    edges: Pairs
    after: dict[Element, list[Element]]
    before: dict[Element, list[Element]]
    reach: dict[Element, set[Element]]
    reached: dict[Element, set[Element]]
    fixed: bool
    """No edge depends on the state."""


class Relations:
    """`graph(name, theory)`: in the theory's scope a contribution, in a package's a declared relation; None for any other name."""

    def __init__(self, universe: Universe, evaluator: Evaluator, slots: Slots, fixpoints: Fixpoints) -> None:
        self.u, self.ev, self.slots, self.fix = universe, evaluator, slots, fixpoints
        self.alg = evaluator.algebra
        self._graphs: dict[tuple[str, bool], Graph] = {}

    def graph(self, name: str, theory: bool) -> Graph | None:
        if name not in (CONTRIBUTES if theory else self.u.relations):
            return None
        if (name, theory) not in self._graphs:
            relations = self.u.edges(CONTRIBUTES[name]) if theory else [name]
            edges = self._edges(relations)
            if name == "contradicts" and theory:
                for (left, right), term in list(edges.items()):
                    edges[right, left] = self.alg.bank.or_(term, edges.get((right, left), self.alg.bank.false))
            self._graphs[name, theory] = self._graph(edges)
        return self._graphs[name, theory]

    def _edges(self, relations: list[str]) -> Pairs:
        found: dict[tuple[Element, Element], list[Term]] = defaultdict(list)
        for relation in relations:
            if not self.u.relations[relation].changing:
                for left, right in sorted(self.u.facts[relation], key=lambda p: (p[0].place, p[1].place)):
                    found[left, right].append(self.alg.bank.true)
                continue
            for key in self.slots.known:
                match key:
                    case ("relation", name, Element() as left, Element() as right) if name == relation:
                        found[left, right].append(self.slots.truth(key))
        return {p: self.alg.bank.disj(t) for p, t in found.items()}

    def _graph(self, edges: Pairs) -> Graph:
        after: dict[Element, list[Element]] = defaultdict(list)
        before: dict[Element, list[Element]] = defaultdict(list)
        for (left, right), term in edges.items():
            if not term.is_false:
                after[left].append(right)
                before[right].append(left)
        nodes = dict.fromkeys([*after, *before])
        return Graph(edges, after, before, _closed(nodes, after), _closed(nodes, before), all(t.is_true for t in edges.values()))

    def holds(self, name: str, left: Value, right: Value) -> Value:
        """A changing relation of the package."""
        key = ("relation", name, left, right)
        return self.alg.truth(self.slots.truth(key)) if self.slots.has(key) else False

    def contribution(self, name: str) -> Callable[..., Value]:
        def holds(left: Value, right: Value) -> Value:
            graph = self.graph(name, True)
            if graph is None or not isinstance(left, Element) or not isinstance(right, Element):
                return False
            return self.alg.truth(graph.edges.get((left, right), self.alg.bank.false))

        return holds

    def closure(self, name: str, reflexive: bool, left: Value, right: Value, theory: bool) -> Value:
        """name*(left, right) or name+(left, right): least fixpoints over the possible edges."""
        if not isinstance(left, Element) or not isinstance(right, Element):
            return False
        if reflexive and left == right:
            return True
        graph = self.graph(name, theory)
        if graph is None:
            return self._defined(name, left, right, theory)
        following = [n for n in graph.after.get(left, ()) if right in graph.reach[n]]
        if graph.fixed or not following:
            return bool(following)

        def body() -> Term:
            ways = []
            for each in following:
                rest = self.alg.boolean(self.closure(name, True, each, right, theory))
                ways.append(self.alg.bank.and_(graph.edges[left, each], rest))
            return self.alg.bank.disj(ways)

        return self.alg.truth(self.fix.atom(("closure", name, theory, left, right), body))

    def _defined(self, name: str, left: Element, right: Element, theory: bool) -> Value:
        """The transitive closure of a binary definition, over the elements of the left argument's sort."""
        elements = self.u.elements(left.sort) or ()

        def body() -> Term:
            ways = []
            for following in elements:
                step = self.alg.boolean(self.ev.call(name, [left, following], theory, NOWHERE))
                if not step.is_false:
                    rest = self.alg.boolean(self.closure(name, True, following, right, theory))
                    ways.append(self.alg.bank.and_(step, rest))
            return self.alg.bank.disj(ways)

        return self.alg.truth(self.fix.atom(("closure", name, theory, left, right), body))

    def candidates(self, name: str, other: Element, position: int, theory: bool) -> Iterable[Value] | None:
        """A superset of the elements that may stand at `position` of `name(…)`, or of its closure `name*(…)`, beside `other`."""
        graph = self.graph(name.removesuffix("*"), theory)
        if graph is None:
            return None
        if name.endswith("*"):
            return (graph.reached if position == 0 else graph.reach).get(other, {other})
        return (graph.before if position == 0 else graph.after).get(other, ())


def _closed(nodes: Iterable[Element], step: dict[Element, list[Element]]) -> dict[Element, set[Element]]:
    """What each node reaches in no step or more."""
    found: dict[Element, set[Element]] = {}
    for node in nodes:
        seen, stack = {node}, [node]
        while stack:
            for following in step.get(stack.pop(), ()):
                if following not in seen:
                    seen.add(following)
                    stack.append(following)
        found[node] = seen
    return found
