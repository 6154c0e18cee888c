"""What the words of spec/0-builtins.icore mean on slots. One method a word; the table at the end must name them all."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction

from icore_dsl import syntax as s
from icore_dsl.mistakes import G008
from icore_kernel.ground.evaluate import Evaluator
from icore_kernel.ground.evidence import Claim, Evidence, Premise
from icore_kernel.ground.fixpoint import Fixpoints
from icore_kernel.ground.premises import assertions_in
from icore_kernel.ground.relations import Relations
from icore_kernel.ground.scope import Env
from icore_kernel.ground.slots import Slots
from icore_kernel.ground.universe import Function, Universe
from icore_kernel.ground.values import Algebra, Choice, Element, GroundingError, SetValue, Value
from icore_kernel.ground.words import table
from icore_kernel.terms.node import Term

SPARSE = {"claims", "premise", "about", "neutralizes", "reads", "writes", "issues", "retracts"}
"""Words of the theory that few pairs satisfy."""


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
    happenings: dict[str, dict[Element, Term]] = field(default_factory=dict)
    """What is `established`, `issued` and `emitted`, each under its condition, for the audit loop."""


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
        self.relations = Relations(universe, evaluator, slots, self.fix)
        self._read: dict[Element, list[tuple[Element, Term]]] = {}
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
        raise GroundingError(G008, f"{element.name} has no {name}")

    def _slot_or_set(self, key: tuple[object, ...]) -> Value:
        if self.slots.has(key):
            return self.slots.value(key)
        parts = [(k[-1], self.slots.truth(k)) for k in self.slots.parts(key)]
        if not parts:
            raise GroundingError(G008, f"no such field: {key}")
        return SetValue(tuple((v, t) for v, t in parts))  # type: ignore[misc]

    def signature(self, name: str, work: Value) -> Value:
        key = ("signature", work, name)
        return self.slots.value(key) if self.slots.has(key) else None

    def clock(self, name: str) -> Value:
        return self.slots.value(("clock", name))

    def relation(self, name: str, left: Value, right: Value) -> Value:
        return self.relations.holds(name, left, right)

    def closure(self, relation: str, reflexive: bool, left: Value, right: Value, theory: bool) -> Value:
        return self.relations.closure(relation, reflexive, left, right, theory)

    def least(self, function: Function, args: tuple[Value, ...]) -> Value:
        key = ("least", function.theory, function.decl.name, args)
        return self.alg.truth(self.fix.atom(key, lambda: self.alg.boolean(self.ev.apply(function, args))))

    # ---- sparse words: which elements can satisfy them -------------------------------------------------------------
    def candidates(self, name: str, args: tuple[Value, ...], position: int, theory: bool) -> Iterable[Value] | None:
        """A superset of the elements that may stand at `position`, or None where it would be no smaller than the sort."""
        ev = self.evidence
        if len(args) != 2:
            return None
        other = args[1 - position]
        if other is None and theory and name in SPARSE:
            return ()  # no such assertion: nothing claims it, no premise is it
        if not isinstance(other, Element):
            return None
        related = self.relations.candidates(name, other, position, theory)
        if related is not None or not theory:
            return related
        match name:
            case "claims":
                if position == 0:
                    return [c.certificate for c in ev.claimed_by.get(other, ())]
                return [c.assertion for c in ev.claims_of.get(other, ())]
            case "premise" if position == 1:
                found = [p.target for p in ev.premises_of.get(other, ()) if p.target is not None]
                return dict.fromkeys([*found, *(assertion for assertion, _ in self.assertions_read(other))])
            case "about" if position == 0:
                return ev.about.get(other, ())
            case "neutralizes" if position == 0:
                return ev.neutralized_by.get(other, ())
            case "reads" | "writes" | "issues" | "retracts":
                if position == 0:
                    return self._users(name).get(other, ())
                facts = self.updates.get(other)
                return None if facts is None else set(getattr(facts, name))
        return None

    def _users(self, name: str) -> dict[Element, list[Element]]:
        """element -> the updates whose footprint `name` has it."""
        if name not in self._by_target:
            table: dict[Element, list[Element]] = defaultdict(list)
            for update in self.u.ground_updates:  # faults and late updates are no Updates
                for target in getattr(self.updates[update], name):
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
        where = self.condition(claim.where, claim.certificate, claim.env)
        if claim.test is None or claim.value is None:
            return where
        kind, args = self.evidence.info[claim.assertion]
        held = self.claimed_value(kind, args)
        wanted = self.ev.value(claim.value, {**self.certificate_env(claim.certificate), **claim.env}, False)
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
        raise GroundingError(G008, f"a claim of {kind} takes no test")

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
                parts.append(self.premise_now(certificate, premise))
        return self.alg.all_of(parts)

    def condition(self, where: s.Expr | None, certificate: Element, env: Env) -> Value:
        """A `where` of a certificate, in which its own fields may be named; true where there is none."""
        return True if where is None else self.ev.value(where, {**self.certificate_env(certificate), **env}, False)

    def premise_now(self, certificate: Element, premise: Premise) -> Value:
        """Whether a formula or node premise holds now; true where its `where` does not apply."""
        where = self.condition(premise.where, certificate, premise.env)
        if premise.formula is not None:
            held = self.ev.value(premise.formula, {**self.certificate_env(certificate), **premise.env}, False)
        elif premise.target is not None and premise.target.sort == "Certificate":
            held = self.least(self.u.theory_functions["valid"], (premise.target,))
        elif premise.target is not None and premise.target.sort == "Artifact":
            held = self.artifact(premise.target, "live", "spent")
        else:
            held = True
        return self.alg.any_of([self.alg.not_(where), held])

    def premise(self, certificate: Value, target: Value) -> Value:
        if not isinstance(certificate, Element) or not isinstance(target, Element):
            return False
        if target.sort == "Assertion":
            return self.alg.any_of(self.alg.truth(t) for assertion, t in self.assertions_read(certificate) if assertion == target)
        ways = [
            self.condition(p.where, certificate, p.env)
            for p in self.evidence.premises_of[certificate]
            if p.target == target and not (p.captured and target.sort != "Input")
        ]
        return self.alg.any_of(ways)

    def assertions_read(self, certificate: Element) -> list[tuple[Element, Term]]:
        """Assertions that the certificate's premise formulas read (premises.py), each with when it counts: made now, under `where`."""
        if certificate not in self._read:
            found: list[tuple[Element, Term]] = []
            for premise in self.evidence.premises_of.get(certificate, ()):
                if premise.formula is None or premise.captured:
                    continue
                where = self.alg.boolean(self.condition(premise.where, certificate, premise.env))
                if where.is_false:
                    continue
                for assertion, condition in assertions_in(premise.formula, premise.env, self.u, self.ev, self.evidence):
                    made = self.alg.boolean(self.primitive("holds", (assertion,)))
                    found.append((assertion, self.alg.bank.and_(where, condition, made)))
            self._read[certificate] = found
        return self._read[certificate]

    def neutralizes(self, certificate: Value, other: Value) -> Value:
        if not isinstance(certificate, Element):
            return False
        ways = self.evidence.neutralizes.get(certificate, ())
        return self.alg.any_of(self.condition(p.where, certificate, p.env) for p in ways if p.target == other)

    def artifact(self, element: Value, *states: str) -> Value:
        value = self.slots.value(("artifact", element))
        return self.alg.any_of(self.alg.equal(value, v) for v in _domain(value) if isinstance(v, Element) and v.name in states)

    def any_active(self, assertion: Element) -> Value:
        """An active certificate claims it: how failure and compatibility are asserted."""
        return self.alg.any_of(self.lifecycle(c.certificate, "active") for c in self.evidence.claimed_by.get(assertion, ()))

    def value_at(self, name: str, agent: Value, work: Value) -> Value:
        """feasible, value, truth as declared; their defaults where they are not."""
        default: Value = True if name == "feasible" else Fraction(0)
        if not isinstance(agent, Element) or not isinstance(work, Element):
            return False if name == "feasible" else default
        function = self._valuation(name, work)
        return default if function is None else self.ev.apply(function, [agent, work])

    def _valuation(self, name: str, work: Element) -> Function | None:
        """The declaration for the work's sort."""
        for function in self.u.valuations.get(name, ()):
            sort = function.decl.params[1].sort
            if isinstance(sort, s.SortName) and work in (self.u.elements(sort.name) or ()):
                return function
        return None

    def value_then(self, name: str, agent: Value, work: Value) -> Value:
        """The same in the context of the assignment: stored only where it can change (design 3, W(X))."""
        key = ("then", work, name, agent)
        return self.slots.value(key) if self.slots.has(key) else self.value_at(name, agent, work)


def _domain(value: Value) -> tuple[Value, ...]:
    return value.domain if isinstance(value, Choice) else (value,)
