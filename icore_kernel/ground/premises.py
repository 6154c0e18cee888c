"""Which work assertions a premise formula reads: `status(p) == accepted` rests on the assertion that p has its status."""

from __future__ import annotations

from collections.abc import Iterator

from icore_dsl import syntax as s
from icore_kernel.ground.evaluate import Evaluator
from icore_kernel.ground.evidence import Evidence, name_value
from icore_kernel.ground.scope import Env
from icore_kernel.ground.universe import Universe
from icore_kernel.ground.values import Element, GroundingError, Value
from icore_kernel.terms.node import Term

READS = {"present": "node", "status": "status", "assignee": "assignment", "marker": "removal"}
"""Words that read what an assertion says."""


Read = tuple[Element, Term]
"""An assertion, and the condition of the quantifiers under which it is read."""


def assertions_in(expr: s.Expr, env: Env, universe: Universe, evaluator: Evaluator, evidence: Evidence) -> list[Read]:
    """Every assertion once, in the order of the formula. Definitions are looked into, quantifiers expanded; what `least`
    definitions and evidence (`valid(c)`) read is their own affair."""
    bank = evaluator.algebra.bank
    found: dict[Element, list[Term]] = {}
    for assertion, condition in _Reader(universe, evaluator, evidence).read(expr, env, False, bank.true):
        found.setdefault(assertion, []).append(condition)
    return [(assertion, bank.disj(conditions)) for assertion, conditions in found.items()]


class _Reader:
    def __init__(self, universe: Universe, evaluator: Evaluator, evidence: Evidence) -> None:
        self.u = universe
        self.ev = evaluator
        self.evidence = evidence

    def read(self, node: object, env: Env, theory: bool, condition: Term) -> Iterator[Read]:
        match node:
            case s.Quant() | s.SetOf():
                for binder in node.binders:
                    yield from self.read(binder.domain, env, theory, condition)
                inside = (node.where, node.body) if isinstance(node, s.Quant) else (node.where, node.item)
                for inner, counts in self.ev.bindings(node.binders, node.where, env, theory):
                    yield from self.read(inside, inner, theory, self.ev.algebra.bank.and_(condition, counts))
            case s.Call():
                yield from self.read(node.args, env, theory, condition)
                for args in self._arguments(node, env, theory):
                    yield from self._called(node.name, args, theory, condition)
            case s.Name():
                if node.id not in env and self.ev.is_call(node.id, theory):
                    yield from self._defined(node.id, (), theory, condition)
            case tuple():
                for each in node:
                    yield from self.read(each, env, theory, condition)
            case s.Span():
                return
            case _ if hasattr(node, "__dataclass_fields__"):
                for name in node.__dataclass_fields__:
                    yield from self.read(getattr(node, name), env, theory, condition)

    def _arguments(self, call: s.Call, env: Env, theory: bool) -> Iterator[tuple[Value, ...]]:
        """The arguments, where they are known beforehand; none where a set or the state is passed."""
        try:
            args = tuple(self.ev.known(a, env, theory) for a in call.args)
        except GroundingError:
            return
        yield args

    def _called(self, name: str, args: tuple[Value, ...], theory: bool, condition: Term) -> Iterator[Read]:
        kind = READS.get(name)
        if not theory and name in self.u.signatures:
            kind = "signature"
        if kind is not None:
            found = self.evidence.assertion(kind, args)
        elif not theory and name in self.u.relations:
            found = self.evidence.assertion("relation", (name_value(self.u, name), *args))
        else:
            yield from self._defined(name, args, theory, condition)
            return
        if found is not None:
            yield found, condition

    def _defined(self, name: str, args: tuple[Value, ...], theory: bool, condition: Term) -> Iterator[Read]:
        function = None if theory else self.u.functions.get(name)
        function = function or self.u.theory_functions.get(name)
        if function is None or function.decl.kind != "define" or isinstance(function.decl.body, s.TableBody):
            return
        inner = dict(zip((p.name for p in function.decl.params), args, strict=True))
        yield from self.read(function.decl.body, inner, function.theory, condition)
