"""What may be asked before the fields exist: the static facts alone, or the initial state as the declarations give it."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from icore_dsl.mistakes import G003
from icore_kernel.ground.evaluate import Evaluator
from icore_kernel.ground.universe import Function, Universe
from icore_kernel.ground.values import Element, GroundingError, Value


class Static:
    """Answers `evaluate.Words` where no state can change the answer; GroundingError for everything else."""

    def __init__(self, universe: Universe, evaluator: Evaluator) -> None:
        self.u = universe
        self.ev = evaluator

    def primitive(self, name: str, args: tuple[Value, ...]) -> Value:
        work = self.u.works.get(args[0]) if args and isinstance(args[0], Element) else None
        match name:
            case "required" if work is not None:
                return work.required
            case "weight" if work is not None:
                return work.statics["weight"]
        raise GroundingError(G003, f"`{name}` is not known beforehand")

    def candidates(self, name: str, args: tuple[Value, ...], position: int, theory: bool) -> Iterable[Value] | None:
        return None

    def attribute(self, element: Element, name: str) -> Value:
        raise GroundingError(G003, f"{element.name}.{name} is not known beforehand")

    def signature(self, name: str, work: Value) -> Value:
        raise GroundingError(G003, f"`{name}` is not known beforehand")

    def relation(self, name: str, left: Value, right: Value) -> Value:
        raise GroundingError(G003, f"`{name}` is not known beforehand")

    def clock(self, name: str) -> Value:
        raise GroundingError(G003, f"`{name}` is not known beforehand")

    def least(self, function: Function, args: tuple[Value, ...]) -> Value:
        raise GroundingError(G003, f"`{function.decl.name}` is not known beforehand")

    def closure(self, relation: str, reflexive: bool, left: Value, right: Value, theory: bool) -> Value:
        if relation not in self.u.relations or self.u.relations[relation].changing:
            raise GroundingError(G003, f"`{relation}` is not known beforehand")
        return self._reaches(relation, reflexive, left, right)

    def _reaches(self, relation: str, reflexive: bool, left: Value, right: Value) -> bool:
        facts = self.u.facts[relation]
        seen: set[Value] = set()
        ends: set[Value] = {left}
        while ends:
            ends = {b for a, b in facts if a in ends and b not in seen}
            seen |= ends
        return right in seen or (reflexive and left == right)


class Start(Static):
    """The initial state, for `starts active when`. Evidence, and inputs that start anywhere, are not known."""

    def primitive(self, name: str, args: tuple[Value, ...]) -> Value:
        work = self.u.works.get(args[0]) if args and isinstance(args[0], Element) else None
        if work is None:
            if name in {"present", "live"}:
                return False
            return super().primitive(name, args)
        match name:
            case "present":
                return not work.latent
            case "status":
                return self.u.statuses[work.starts]
            case "assignee":
                return work.assigned
            case "marker":
                return None
        return super().primitive(name, args)

    def attribute(self, element: Element, name: str) -> Value:
        if element.sort == "Agent":
            return self.u.agent_values[element, name]
        instance = self.u.inputs.get(element)
        if instance is not None:
            for f in self.u.slots[instance.schema].fields:
                if f.name == name and f.default is not None:
                    return self.ev.static(f.default, instance.args)
        return super().attribute(element, name)

    def signature(self, name: str, work: Value) -> Value:
        default = self.u.signatures[name].default
        return None if default is None else self.ev.static(default, {})

    def relation(self, name: str, left: Value, right: Value) -> Value:
        return (left, right) in self.u.facts[name]

    def clock(self, name: str) -> Value:
        return Fraction(self.u.clocks[name][0])

    def closure(self, relation: str, reflexive: bool, left: Value, right: Value, theory: bool) -> Value:
        if relation not in self.u.relations:
            return super().closure(relation, reflexive, left, right, theory)
        return self._reaches(relation, reflexive, left, right)
