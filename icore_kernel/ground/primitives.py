"""What the words of spec/0-builtins.icore mean on slots. One method a word; the table at the end must name them all."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction

from icore_dsl import syntax as s
from icore_kernel.ground.evaluate import Evaluator
from icore_kernel.ground.evidence import Claim, Evidence, Premise
from icore_kernel.ground.fixpoint import Fixpoints
from icore_kernel.ground.slots import Slots
from icore_kernel.ground.universe import Universe
from icore_kernel.ground.values import Algebra, Choice, Element, GroundingError, SetValue, Value
from icore_kernel.ground.words import CONTRIBUTES, table
from icore_kernel.terms.node import Term


@dataclass(slots=True)
class UpdateFacts:
    """The static footprint of one ground update, and its guard: filled in by effects.py after the guards are known."""

    element: Element
    enabled: Term
    environment: bool
    reads: set[Element] = field(default_factory=set)
    writes: set[Element] = field(default_factory=set)
    """Obligations, inputs and assertions it may write."""
    issues: set[Element] = field(default_factory=set)
    retracts: set[Element] = field(default_factory=set)
    may_issue: dict[Element, Term] = field(default_factory=dict)
    may_retract: dict[Element, Term] = field(default_factory=dict)
    permitted: bool = True


class Primitives:
    """Answers `evaluate.Words`."""

    def __init__(self, universe: Universe, evaluator: Evaluator, algebra: Algebra, slots: Slots, evidence: Evidence) -> None:
        self.u = universe
        self.ev = evaluator
        self.alg = algebra
        self.slots = slots
        self.evidence = evidence
        self.fix = Fixpoints(algebra.bank)
        self.updates: dict[Element, UpdateFacts] = {}
        self.conjunctions: dict[str, Callable[[], Term]] = {}
        """feasible_state, accept, reject, stuck: set by assemble.py from the theory's clauses."""
        self.audit: dict[str, Fraction] = {}
        self._edges: dict[str, dict[tuple[Element, Element], Term]] = {}
        self._adjacent: dict[str, tuple[dict[Element, list[Element]], dict[Element, list[Element]]]] = {}
        self._may_reach: dict[str, tuple[dict[Element, set[Element]], dict[Element, set[Element]]]] = {}
        self._by_target: dict[str, dict[Element, list[Element]]] = {}
        self._handlers = table(self)

    # ---- evaluate.Words ----------------------------------------------------------------------------------------
    def primitive(self, name: str, args: tuple[Value, ...]) -> Value:
        return self._handlers[name](*args)

    def attribute(self, element: Element, name: str) -> Value:
        match element.sort:
            case "Agent":
                return self._slot_or_set(("agent", element, name))
            case "Input":
                return self._slot_or_set(("ifield", element, name))
            case "Artifact":
                return self._slot_or_set(("afield", element, name))
            case "Certificate":
                return self._slot_or_set(("cfield", element, name))
        raise GroundingError(f"{element.name} has no {name}")

    def _slot_or_set(self, key: tuple[object, ...]) -> Value:
        if self.slots.has(key):
            return self.slots.value(key)
        parts = [(k[-1], self.slots.truth(k)) for k in self.slots.parts(key)]
        if not parts:
            raise GroundingError(f"no such field: {key}")
        return SetValue(tuple((v, t) for v, t in parts))  # type: ignore[misc]

    def signature(self, name: str, work: Value) -> Value:
        key = ("signature", work, name)
        return self.slots.value(key) if self.slots.has(key) else None

    def clock(self, name: str) -> Value:
        return self.slots.value(("clock", name))

    def relation(self, name: str, left: Value, right: Value) -> Value:
        key = ("relation", name, left, right)
        return self.alg.truth(self.slots.truth(key)) if self.slots.has(key) else False

    def least(self, name: str, args: tuple[Value, ...]) -> Value:
        function = self.u.functions.get(name) or self.u.theory_functions[name]
        return self.alg.truth(self.fix.atom((name, args), lambda: self.alg.boolean(self.ev.apply(function, args))))

    # ---- relations -------------------------------------------------------------------------------------------------
    def edges(self, name: str) -> dict[tuple[Element, Element], Term]:
        """The possible edges of a relation or of a contribution, with their conditions."""
        if name not in self._edges:
            found: dict[tuple[Element, Element], list[Term]] = defaultdict(list)
            for relation in self.u.edges(CONTRIBUTES[name]) if name in CONTRIBUTES else [name]:
                for key in self.slots.known:
                    if key[0] == "relation" and key[1] == relation:
                        found[key[2], key[3]].append(self.slots.truth(key))  # type: ignore[index]
                if not self.u.relations[relation].changing:
                    for pair in self.u.facts[relation]:
                        found[pair].append(self.alg.bank.true)
            self._edges[name] = {p: self.alg.bank.disj(t) for p, t in found.items()}
        return self._edges[name]

    def contribution(self, name: str) -> Callable[..., Value]:
        def holds(left: Value, right: Value) -> Value:
            edges = self.edges(name)
            found = edges.get((left, right))  # type: ignore[arg-type]
            if found is None and name == "contradicts":
                found = edges.get((right, left))  # type: ignore[arg-type]
            return False if found is None else self.alg.truth(found)

        return holds

    def adjacent(self, name: str) -> tuple[dict[Element, list[Element]], dict[Element, list[Element]]]:
        if name not in self._adjacent:
            after: dict[Element, list[Element]] = defaultdict(list)
            before: dict[Element, list[Element]] = defaultdict(list)
            for left, right in self.edges(name):
                after[left].append(right)
                before[right].append(left)
            self._adjacent[name] = (after, before)
        return self._adjacent[name]

    def reach(self, name: str) -> tuple[dict[Element, set[Element]], dict[Element, set[Element]]]:
        """Reflexive-transitive closure of the possible edges, both ways: a superset of what can hold."""
        if name not in self._may_reach:
            after, before = self.adjacent(name)
            self._may_reach[name] = (_closed(self.u.works, after), _closed(self.u.works, before))
        return self._may_reach[name]

    def closure(self, relation: str, reflexive: bool, left: Value, right: Value, theory: bool) -> Value:
        if not isinstance(left, Element) or not isinstance(right, Element):
            return False
        if relation not in self.u.relations and relation not in CONTRIBUTES:
            return self._defined_closure(relation, reflexive, left, right, theory)
        if reflexive and left is right:
            return True
        after, _ = self.adjacent(relation)
        edges = self.edges(relation)
        if right not in self.reach(relation)[0].get(left, ()):
            return False
        if all(t.is_true for t in edges.values()):
            return any(right in self.reach(relation)[0].get(n, {n}) for n in after.get(left, ()))

        def body() -> Term:
            ways = []
            for following in after.get(left, ()):
                rest = self.alg.boolean(self.closure(relation, True, following, right, theory))
                ways.append(self.alg.bank.and_(edges[left, following], rest))
            return self.alg.bank.disj(ways)

        return self.alg.truth(self.fix.atom(("closure", relation, left, right), body))

    def _defined_closure(self, name: str, reflexive: bool, left: Element, right: Element, theory: bool) -> Value:
        """Closure of a binary definition over the elements of the left argument's sort."""
        if reflexive and left is right:
            return True
        elements = self.u.elements(left.sort) or ()
        span = s.Span("", 0, 0, 0, 0, 0, 0)

        def body() -> Term:
            ways = []
            for following in elements:
                step = self.alg.boolean(self.ev.call(name, [left, following], theory, span))
                if isinstance(following, Element) and not step.is_false:
                    ways.append(self.alg.bank.and_(step, self.alg.boolean(self._defined_closure(name, True, following, right, theory))))
            return self.alg.bank.disj(ways)

        return self.alg.truth(self.fix.atom(("defined", name, theory, left, right), body))

    # ---- sparse words: which elements can satisfy them -------------------------------------------------------------
    def candidates(self, name: str, args: tuple[Value | None, ...], position: int) -> Iterable[Value] | None:
        ev = self.evidence
        other = args[1 - position] if len(args) == 2 else None
        if not isinstance(other, Element):
            return None
        match name:
            case "claims":
                return [c.certificate for c in ev.claimed_by.get(other, ())] if position == 0 else [c.assertion for c in ev.claims_of.get(other, ())]
            case "premise" if position == 1:
                found = [p.target for p in ev.premises_of.get(other, ()) if p.target is not None]
                return dict.fromkeys([*found, *(assertion for assertion, _ in self._read_assertions(other))])
            case "about" if position == 0:
                return ev.about.get(other, ())
            case "neutralizes" if position == 0:
                return ev.neutralized_by.get(other, ())
            case "reads" | "writes" | "issues" | "retracts":
                if position == 0:
                    return self._users(name).get(other, ())
                facts = self.updates.get(other)
                return None if facts is None else set(getattr(facts, name))
        base = name.removesuffix("*")
        if base in CONTRIBUTES or base in self.u.relations:
            if name.endswith("*"):
                return self.reach(base)[position == 0].get(other, {other})
            if base != "contradicts":
                return self.adjacent(base)[position == 0].get(other, ())
        return None

    def _users(self, name: str) -> dict[Element, list[Element]]:
        """element -> the updates whose footprint `name` has it."""
        if name not in self._by_target:
            table: dict[Element, list[Element]] = defaultdict(list)
            for update in self.u.ground_updates:  # faults and late updates are no Updates
                facts = self.updates[update] if isinstance(update, Element) else None
                for target in getattr(facts, name):
                    table[target].append(update)
            self._by_target[name] = table
        return self._by_target[name]

    # ---- certificates ------------------------------------------------------------------------------------------------
    def lifecycle(self, certificate: Value, *states: str) -> Value:
        if not isinstance(certificate, Element):
            return False
        value = self.slots.value(("certificate", certificate))
        found = [v for v in _domain(value) if isinstance(v, Element) and any(v.name.startswith(n) for n in states)]
        return self.alg.any_of(self.alg.equal(value, v) for v in found)

    def claim_holds(self, certificate: Value, assertion: Value) -> Value:
        if not isinstance(certificate, Element) or not isinstance(assertion, Element):
            return False
        return self.alg.any_of(self._claim(c) for c in self.evidence.claim.get((certificate, assertion), ()))

    def _claim(self, claim: Claim) -> Value:
        where = True if claim.where is None else self.ev.value(claim.where, claim.env, False)
        if claim.test is None or claim.value is None:
            return where
        kind, args = self.evidence.info[claim.assertion]
        held = self.claimed_value(kind, args)
        wanted = self.ev.value(claim.value, claim.env, False)
        test = self.alg.member(held, wanted) if claim.test == "in" else self.alg.equal(held, wanted)
        return self.alg.all_of([where, test])

    def claimed_value(self, kind: str, args: tuple[Value, ...]) -> Value:
        if kind in {"status", "assignment"}:
            return self.slots.value(("status" if kind == "status" else "assignee", args[0]))
        if kind == "removal":
            return self.slots.value(("marker", args[0]))
        if kind == "signature":
            fields = self.slots.keys_of("signature", args[0])
            return self.slots.value(fields[0])
        raise GroundingError(f"a claim of {kind} takes no test")

    def under(self, certificate: Value, assertion: Value) -> Value:
        key = ("under", certificate, assertion)
        return self.alg.truth(self.slots.truth(key)) if self.slots.has(key) else False

    def rule(self, certificate: Value, which: str) -> Value:
        if not isinstance(certificate, Element):
            return False
        instance = self.u.certificates[certificate]
        expr = getattr(self.u.certificate_decls[instance.schema], which)
        return True if expr is None else self.ev.value(expr, self.certificate_env(certificate), False)

    def certificate_env(self, certificate: Element) -> dict[str, Value]:
        """Parameters, and the certificate's own fields by name."""
        instance = self.u.certificates[certificate]
        env = dict(instance.args)
        for f in self.u.certificate_decls[instance.schema].fields:
            if not f.inessential:
                env[f.name] = self.attribute(certificate, f.name)
        return env

    def conditions(self, certificate: Value) -> Value:
        if not isinstance(certificate, Element):
            return False
        parts: list[Value] = []
        for number, premise in enumerate(self.evidence.premises_of[certificate]):
            if premise.captured:
                parts.append(self.alg.truth(self.slots.truth(("captured", certificate, number))))
            elif premise.kind == "formula":
                parts.append(self.premise_now(premise))
        return self.alg.all_of(parts)

    def premise_now(self, premise: Premise) -> Value:
        """Whether a formula or node premise holds now; true where its `where` does not apply."""
        where = True if premise.where is None else self.ev.value(premise.where, premise.env, False)
        if premise.formula is not None:
            held = self.ev.value(premise.formula, premise.env, False)
        elif premise.target is not None and premise.target.sort == "Certificate":
            held = self.least("valid", (premise.target,))
        elif premise.target is not None and premise.target.sort == "Artifact":
            held = self.artifact(premise.target, "live", "spent")
        else:
            held = True
        return self.alg.any_of([self.alg.not_(where), held])

    def premise(self, certificate: Value, target: Value) -> Value:
        if not isinstance(certificate, Element) or not isinstance(target, Element):
            return False
        if target.sort == "Assertion":
            return self.alg.any_of(where for assertion, where in self._read_assertions(certificate) if assertion is target)
        ways = [
            True if p.where is None else self.ev.value(p.where, p.env, False)
            for p in self.evidence.premises_of[certificate]
            if p.target is target and not (p.captured and target.sort != "Input")
        ]
        return self.alg.any_of(ways)

    def _read_assertions(self, certificate: Element) -> list[tuple[Element, Value]]:
        """Assertions that a premise formula (not captured) reads, and where: `status(p) == accepted for p where …` reads status(p)."""
        found: list[tuple[Element, Value]] = []
        for premise in self.evidence.premises_of.get(certificate, ()):
            if premise.formula is None or premise.captured:
                continue
            where = True if premise.where is None else self.ev.value(premise.where, premise.env, False)
            if where is False:
                continue
            for call in calls(premise.formula):
                kind = {"status": "status", "assignee": "assignment"}.get(call.name)
                if kind is None and call.name in self.u.signatures:
                    kind = "signature"
                if kind is None:
                    continue
                try:
                    args = tuple(self.ev.static(a, premise.env) for a in call.args)
                except GroundingError:
                    continue
                assertion = self.evidence.assertion(kind, args)
                if assertion is not None:
                    found.append((assertion, where))
        return found

    def neutralizes(self, certificate: Value, other: Value) -> Value:
        ways = self.evidence.neutralizes.get(certificate, ()) if isinstance(certificate, Element) else ()
        return self.alg.any_of(True if p.where is None else self.ev.value(p.where, p.env, False) for p in ways if p.target is other)

    def artifact(self, element: Value, *states: str) -> Value:
        value = self.slots.value(("artifact", element))
        return self.alg.any_of(self.alg.equal(value, v) for v in _domain(value) if isinstance(v, Element) and v.name in states)

    def any_active(self, assertion: Element) -> Value:
        """An active certificate claims it: how failure and compatibility are asserted."""
        return self.alg.any_of(self.lifecycle(c.certificate, "active") for c in self.evidence.claimed_by.get(assertion, ()))

    def value_at(self, name: str, agent: Value, work: Value) -> Value:
        """feasible, value, truth as declared; their defaults where they are not."""
        function = self.u.functions.get(name)
        if not isinstance(agent, Element) or not isinstance(work, Element):
            return False if name == "feasible" else Fraction(0)
        if function is None:
            return True if name == "feasible" else Fraction(0)
        return self.ev.apply(function, [agent, work])

    def value_then(self, name: str, agent: Value, work: Value) -> Value:
        """The same in the context of the assignment: stored only where it can change (design 3, W(X))."""
        key = ("then", name, work, agent)
        return self.slots.value(key) if self.slots.has(key) else self.value_at(name, agent, work)


def _domain(value: Value) -> tuple[Value, ...]:
    return value.domain if isinstance(value, Choice) else (value,)


def calls(expr: s.Expr) -> Iterable[s.Call]:
    """Every call in an expression, by a walk of its dataclass fields."""
    stack: list[object] = [expr]
    while stack:
        node = stack.pop()
        if isinstance(node, s.Call):
            yield node
        if isinstance(node, tuple):
            stack.extend(node)
        elif hasattr(node, "__dataclass_fields__") and not isinstance(node, s.Span):
            stack.extend(getattr(node, f) for f in node.__dataclass_fields__)


def _closed(nodes: Iterable[Element], step: dict[Element, list[Element]]) -> dict[Element, set[Element]]:
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
