"""Declare every slot of a package's semantic state (design: layer 3), in the order in which fields are numbered."""

from __future__ import annotations

from fractions import Fraction

from icore_dsl import syntax as s
from icore_kernel.ground.build import domain_of
from icore_kernel.ground.evaluate import Evaluator
from icore_kernel.ground.evidence import Evidence
from icore_kernel.ground.slots import FREE, Free, Slot, Slots
from icore_kernel.ground.start import Start
from icore_kernel.ground.universe import REPORTS, Universe
from icore_kernel.ground.values import Element, SetValue, Value, show_value

ABSENT, LIVE, SPENT = "absent", "live", "spent"
ACTIVE, REVOKED, SUPERSEDED = "active", "revoked", "superseded"


def word(kind: str, name: str, index: int) -> Element:
    return Element(kind, name, index)


ARTIFACT = tuple(word("ArtifactState", n, i) for i, n in enumerate((ABSENT, LIVE, SPENT)))


def declare(universe: Universe, evaluator: Evaluator, evidence: Evidence, slots: Slots) -> None:
    world = _World(universe, evaluator, slots)
    world.inputs()
    world.agents()
    world.works()
    world.relations()
    world.artifacts()
    for certificate in universe.certificates:
        world.certificate(certificate, evidence)
    for kind in REPORTS:
        slots.declare(Slot(("reported", kind), f"reported {kind}", (False, True), False))


class _World:
    def __init__(self, universe: Universe, evaluator: Evaluator, slots: Slots) -> None:
        self.u = universe
        self.ev = evaluator
        self.slots = slots

    def inputs(self) -> None:
        for name, (low, high) in self.u.clocks.items():
            values = tuple(Fraction(n) for n in range(low, high + 1))
            self.slots.declare(Slot(("clock", name), name, values, values[0]))
        for element, instance in self.u.inputs.items():
            for f in essential(self.u.slots[instance.schema].fields):
                initial: Value | Free = FREE if f.default is None else self.ev.static(f.default, instance.args)
                self._field(("ifield", element, f.name), f"{element.name}.{f.name}", f.sort, initial)

    def agents(self) -> None:
        for agent in self.u.agents:
            for name, f in self.u.agent_fields.items():
                if f.kind == "changing":
                    self._field(("agent", agent, name), f"{agent.name}.{name}", f.sort, self.u.agent_values[agent, name])

    def works(self) -> None:
        statuses = tuple(self.u.statuses.values())
        for element, work in self.u.works.items():
            name = element.name
            self.slots.declare(Slot(("present", element), f"present({name})", (False, True), not work.latent))
            self.slots.declare(Slot(("status", element), f"status({name})", statuses, self.u.statuses[work.starts]))
            self.slots.declare(Slot(("assignee", element), f"assignee({name})", (None, *self.u.agents), work.assigned))
            self.slots.declare(Slot(("marker", element), f"marker({name})", (None, *self.u.markers.values()), None))
            for f in self.u.types[work.type].fields:
                if f.kind == "signature":
                    initial = None if f.default is None else self.ev.static(f.default, {})
                    values = domain_of(f.sort, self.ev, self.u, {})
                    self.slots.declare(Slot(("signature", element, f.name), f"{f.name}({name})", (None, *values), initial))

    def relations(self) -> None:
        for name, relation in self.u.relations.items():
            if not relation.changing:
                continue
            for left in self._side(relation.left):
                for right in self._side(relation.right):
                    holds = (left, right) in self.u.facts[name]
                    self.slots.declare(Slot(("relation", name, left, right), f"{name}({left}, {right})", (False, True), holds))

    def _side(self, sort: s.Sort) -> list[Element]:
        return [e for e in domain_of(sort, self.ev, self.u, {}) if isinstance(e, Element)]

    def artifacts(self) -> None:
        for element, instance in self.u.artifacts.items():
            self.slots.declare(Slot(("artifact", element), element.name, ARTIFACT, ARTIFACT[0]))
            for f in essential(self.u.slots[instance.schema].fields):
                self._field(("afield", element, f.name), f"{element.name}.{f.name}", f.sort, self._default(f))

    def certificate(self, element: Element, evidence: Evidence) -> None:
        instance = self.u.certificates[element]
        decl = self.u.certificate_decls[instance.schema]
        starts = self.starts(decl, element)
        states = lifecycle(delay_of(decl, self.ev))
        self.slots.declare(Slot(("certificate", element), element.name, states, states[-3] if starts else states[0]))
        for f in essential(decl.fields):
            self._field(("cfield", element, f.name), f"{element.name}.{f.name}", f.sort, self._default(f))
        for number, premise in enumerate(evidence.premises_of[element]):
            if premise.captured:
                self._flag(("captured", element, number), f"{element.name} premise {number + 1}", starts)
        for assertion in dict.fromkeys(c.assertion for c in evidence.claims_of[element]):
            self._flag(("under", element, assertion), f"{assertion.name} rests on {element.name}", starts)

    def _default(self, f: s.FieldDecl) -> Value:
        return None if f.default is None else self.ev.static(f.default, {})

    def _flag(self, key: tuple[object, ...], name: str, initial: bool) -> None:
        self.slots.declare(Slot(key, name, (False, True), initial, False))

    def starts(self, decl: s.CertificateDecl, element: Element) -> bool:
        if not decl.starts_active:
            return False
        if decl.starts_when is None:
            return True
        self.ev.words = Start(self.u, self.ev)
        answer = self.ev.static(decl.starts_when, self.u.certificates[element].args) is True
        self.ev.words = None
        self.ev.forget()
        return answer

    def _field(self, key: tuple[object, ...], name: str, sort: s.Sort, initial: Value | Free) -> None:
        """A declared field; a set becomes one Boolean an element. None as initial: the first value of the domain."""
        if isinstance(sort, s.SortSet):
            inside = {v for v, _ in initial.items} if isinstance(initial, SetValue) else set()
            for value in domain_of(sort.item, self.ev, self.u, {}):
                start: Value | Free = FREE if isinstance(initial, Free) else value in inside
                self.slots.declare(Slot((*key, value), f"{show_value(value)} in {name}", (False, True), start))
            return
        values = domain_of(sort, self.ev, self.u, {})
        optional = isinstance(sort, s.SortOptional)
        first = values[0] if initial is None and not optional else initial
        self.slots.declare(Slot(key, name, values, first))


def essential(fields: tuple[s.FieldDecl, ...]) -> list[s.FieldDecl]:
    """The fields that the declared equivalence keeps."""
    return [f for f in fields if not f.inessential and not (isinstance(f.sort, s.SortName) and f.sort.name == "text")]


def delay_of(decl: s.CertificateDecl, evaluator: Evaluator) -> int:
    if decl.delay is None:
        return 0
    value = evaluator.static(decl.delay, {})
    return int(value) if isinstance(value, Fraction) else 0


def lifecycle(delay: int) -> tuple[Element, ...]:
    """absent, pending for `delay` … 1 more rounds, active, revoked, superseded."""
    names = [ABSENT, *(f"pending {k}" for k in range(delay, 0, -1)), ACTIVE, REVOKED, SUPERSEDED]
    return tuple(word("Lifecycle", n, i) for i, n in enumerate(names))
