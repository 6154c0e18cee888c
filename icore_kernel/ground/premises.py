"""Which work assertions a premise formula reads: `status(p) == accepted` rests on the assertion that p has its status."""

from __future__ import annotations

from collections.abc import Iterator

from icore_dsl import syntax as s
from icore_kernel.ground.evaluate import Env, Evaluator
from icore_kernel.ground.evidence import Evidence, name_value
from icore_kernel.ground.universe import Universe
from icore_kernel.ground.values import Element, GroundingError, Value

READS = {"present": "node", "status": "status", "assignee": "assignment", "marker": "removal"}
"""Words that read what an assertion says."""


def assertions_in(expr: s.Expr, env: Env, universe: Universe, evaluator: Evaluator, evidence: Evidence) -> list[Element]:
    """Every one once, in the order of the formula. Definitions are looked into, quantifiers expanded; what `least` definitions
    and evidence (`valid(c)`) read is their own affair."""
    reader = _Reader(universe, evaluator, evidence)
    return list(dict.fromkeys(reader.read(expr, env, False)))


class _Reader:
    def __init__(self, universe: Universe, evaluator: Evaluator, evidence: Evidence) -> None:
        self.u = universe
        self.ev = evaluator
        self.evidence = evidence

    def read(self, node: object, env: Env, theory: bool) -> Iterator[Element]:
        match node:
            case s.Quant() | s.SetOf():
                for binder in node.binders:
                    yield from self.read(binder.domain, env, theory)
                inside = (node.where, node.body) if isinstance(node, s.Quant) else (node.where, node.item)
                for inner, _ in self.ev.bindings(node.binders, None, env, theory):
                    yield from self.read(inside, inner, theory)
            case s.Call():
                yield from self.read(node.args, env, theory)
                yield from self._call(node, env, theory)
            case s.Name():
                if node.id not in env and node.id in self.u.functions:
                    yield from self._defined(node.id, (), theory)
            case tuple():
                for each in node:
                    yield from self.read(each, env, theory)
            case s.Span():
                return
            case _ if hasattr(node, "__dataclass_fields__"):
                for name in node.__dataclass_fields__:
                    yield from self.read(getattr(node, name), env, theory)

    def _call(self, call: s.Call, env: Env, theory: bool) -> Iterator[Element]:
        for args in self._arguments(call, env, theory):
            kind = READS.get(call.name)
            if kind is None and not theory and call.name in self.u.signatures:
                kind = "signature"
            if kind is not None:
                found = self.evidence.assertion(kind, args)
            elif not theory and call.name in self.u.relations:
                found = self.evidence.assertion("relation", (name_value(self.u, call.name), *args))
            else:
                yield from self._defined(call.name, args, theory)
                continue
            if found is not None:
                yield found

    def _arguments(self, call: s.Call, env: Env, theory: bool) -> Iterator[tuple[Value, ...]]:
        """The arguments, where they are known beforehand; none where a set or the state is passed."""
        try:
            yield tuple(self.ev.known(a, env, theory) for a in call.args)
        except GroundingError:
            return

    def _defined(self, name: str, args: tuple[Value, ...], theory: bool) -> Iterator[Element]:
        function = None if theory else self.u.functions.get(name)
        function = function or self.u.theory_functions.get(name)
        if function is None or function.decl.kind != "define" or isinstance(function.decl.body, s.TableBody):
            return
        inner = dict(zip((p.name for p in function.decl.params), args, strict=True))
        yield from self.read(function.decl.body, inner, function.theory)
