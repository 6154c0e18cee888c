"""Which slots a statement writes. Targets never depend on the state, so this needs no formulas."""

from __future__ import annotations

from collections.abc import Iterator

from icore_dsl import syntax as s
from icore_dsl.mistakes import G005, G008
from icore_kernel.ground.evaluate import Evaluator
from icore_kernel.ground.evidence import Evidence
from icore_kernel.ground.possible import loops
from icore_kernel.ground.scope import Env
from icore_kernel.ground.slots import Key, Slots
from icore_kernel.ground.universe import Universe, instance_name
from icore_kernel.ground.values import Element, GroundingError
from icore_kernel.ground.variations import Item

OWNER = {"Agent": "agent", "Input": "ifield", "Artifact": "afield", "Certificate": "cfield"}


class Targets:
    def __init__(self, universe: Universe, evaluator: Evaluator, slots: Slots, evidence: Evidence) -> None:
        self.u = universe
        self.ev = evaluator
        self.slots = slots
        self.evidence = evidence

    def loops(self, item: Item, env: Env) -> Iterator[Env]:
        """Bindings of an item's loops, conditions aside."""
        envs: list[Env] = [env]
        for binders, where in item.loops:
            envs = [inner for e in envs for inner, _ in loops(self.u, self.ev, binders, e, whole=where is None)]
        yield from envs

    def target(self, expr: s.Expr, env: Env) -> Key:
        """The slot that `set` names; for a set-valued field the common part of its slots' keys."""
        match expr:
            case s.Name() if expr.id in self.u.clocks:
                return ("clock", expr.id)
            case s.Attr():
                element = self.element(expr.target, env)
                if element.sort in OWNER:
                    return (OWNER[element.sort], element, expr.name)
            case s.Call():
                args = tuple(self.ev.static(a, env) for a in expr.args)
                if expr.name in {"status", "assignee", "marker"}:
                    return (expr.name, args[0])
                if expr.name in self.u.signatures:
                    return ("signature", args[0], expr.name)
            case _:
                pass
        raise GroundingError(G008, "this cannot be set", expr.span)

    def element(self, expr: s.Expr, env: Env) -> Element:
        """GroundingError where there is no such member: what is written is there whatever the state."""
        value = self.ev.static(expr, env)
        if isinstance(value, Element):
            return value
        if value is None and isinstance(expr, s.Call):
            named = instance_name(expr.name, [self.ev.static(a, env) for a in expr.args])
            raise GroundingError(G005, f"no member {named}", expr.span)
        raise GroundingError(G008, "not a declared element", expr.span)

    def pair(self, expr: s.Expr, env: Env) -> Key:
        if not isinstance(expr, s.Call):
            raise GroundingError(G008, "not a relation", expr.span)
        return ("relation", expr.name, *(self.ev.static(a, env) for a in expr.args))

    def keys(self, statement: s.SetField | s.Effect, env: Env) -> list[Key]:
        """The slots that a statement may write, those that follow (what rests on which evidence) included."""
        if isinstance(statement, s.SetField):
            key = self.target(statement.target, env)
            return [*([key] if self.slots.has(key) else self.slots.parts(key)), *self._rests(key)]
        match statement.kind:
            case "relate" | "unrelate":
                key = self.pair(statement.target, env)
                return [key, *self._rests(key)]
            case "report":
                key = ("reported", report_kind(statement))
                return [key, *self._rests(key)]
        element = self.element(statement.target, env)
        match statement.kind:
            case "emit":
                return [("artifact", element), *self.slots.keys_of("afield", element)]
            case "consume" | "discard":
                return [("artifact", element)]
            case "issue":
                kinds = ("certificate", "cfield", "under", "captured")
                return [k for kind in kinds for k in self.slots.keys_of(kind, element)]
            case "revoke" | "supersede":
                if element.sort == "Artifact":
                    return [("artifact", element)]
                return [k for kind in ("certificate", "under") for k in self.slots.keys_of(kind, element)]
            case "create":
                both: tuple[Key, Key] = (("present", element), ("status", element))
                return [k for key in both for k in (key, *self._rests(key))]
        raise GroundingError(G008, f"unknown effect {statement.kind}", statement.span)

    def _rests(self, key: Key) -> list[Key]:
        """The `under` slots of the assertions that a slot carries."""
        carrier = key[:2] if key[0] == "signature" else key
        return [
            ("under", claim.certificate, assertion)
            for assertion in self.evidence.carried.get(carrier, ())
            for claim in self.evidence.claimed_by.get(assertion, ())
        ]


def report_kind(statement: s.Effect) -> str:
    return statement.target.id if isinstance(statement.target, s.Name) else ""
