"""The initial state as the declarations give it, for `starts active when`: read before the fields exist."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from icore_kernel.ground.evaluate import Evaluator
from icore_kernel.ground.universe import Function, Universe
from icore_kernel.ground.values import Element, GroundingError, Value


class Start:
    """Answers `evaluate.Words` for what is declared. Inputs that start anywhere, and evidence, are not known here: GroundingError."""

    def __init__(self, universe: Universe, evaluator: Evaluator) -> None:
        self.u = universe
        self.ev = evaluator

    def primitive(self, name: str, args: tuple[Value, ...]) -> Value:
        work = self.u.works.get(args[0]) if args and isinstance(args[0], Element) else None
        if work is None:
            if name in {"present", "live"}:
                return False
            raise GroundingError(f"`starts active when` cannot ask for `{name}` here")
        match name:
            case "present":
                return not work.latent
            case "status":
                return self.u.statuses[work.starts]
            case "assignee":
                return work.assigned
            case "marker":
                return None
            case "required":
                return work.required
            case "weight":
                return work.statics["weight"]
        raise GroundingError(f"`starts active when` cannot ask for `{name}`")

    def candidates(self, name: str, args: tuple[Value, ...], position: int, theory: bool) -> Iterable[Value] | None:
        return None

    def attribute(self, element: Element, name: str) -> Value:
        if element.sort == "Agent":
            return self.u.agent_values[element, name]
        instance = self.u.inputs.get(element)
        for f in self.u.slots[instance.schema].fields if instance is not None else ():
            if f.name == name and f.default is not None and instance is not None:
                return self.ev.static(f.default, instance.args)
        raise GroundingError(f"`starts active when` reads {element.name}.{name}, which is not known beforehand")

    def signature(self, name: str, work: Value) -> Value:
        default = self.u.signatures[name].default
        return None if default is None else self.ev.static(default, {})

    def relation(self, name: str, left: Value, right: Value) -> Value:
        return (left, right) in self.u.facts[name]

    def clock(self, name: str) -> Value:
        return Fraction(self.u.clocks[name][0])

    def least(self, function: Function, args: tuple[Value, ...]) -> Value:
        raise GroundingError(f"`starts active when` cannot ask for the least definition `{function.decl.name}`")

    def closure(self, relation: str, reflexive: bool, left: Value, right: Value, theory: bool) -> Value:
        facts = self.u.facts.get(relation)
        if facts is None:
            raise GroundingError(f"`starts active when` cannot ask for the closure of the definition `{relation}`")
        seen: set[Value] = set()
        ends: set[Value] = {left}
        while ends:
            ends = {b for a, b in facts if a in ends and b not in seen}
            seen |= ends
        return right in seen or (reflexive and left == right)
