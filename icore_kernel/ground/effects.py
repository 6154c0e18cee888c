"""Ground updates: guards, simultaneous writes, and the static footprint that the theory asks about."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from math import prod

from icore_dsl import syntax as s
from icore_dsl.mistakes import G008
from icore_kernel.ground.build import domain_of
from icore_kernel.ground.evaluate import Evaluator
from icore_kernel.ground.evidence import Evidence
from icore_kernel.ground.footprint import footprint
from icore_kernel.ground.limits import MOST_OCCURRENCES, TooLarge
from icore_kernel.ground.primitives import Primitives, UpdateFacts
from icore_kernel.ground.scope import Env, Scope
from icore_kernel.ground.slots import Free, Key, Slots
from icore_kernel.ground.targets import Targets, report_kind
from icore_kernel.ground.universe import Universe, instance_name
from icore_kernel.ground.values import Element, GroundingError, SetValue, Value, WrittenTwice, show_value
from icore_kernel.ground.variations import LOOP, Variation, block_of, in_order, variations
from icore_kernel.ground.world import ARTIFACT, delay_of, lifecycle
from icore_kernel.system import GroundUpdate, Kind, Write
from icore_kernel.terms.node import Term
from icore_kernel.terms.term import substitute

ENVIRONMENT, MONITOR = "environment", "monitor"


def bindings(universe: Universe, evaluator: Evaluator) -> Iterator[tuple[Variation, dict[str, Value]]]:
    """Every variation of every update at every binding of its parameters."""
    total = 0
    for decl in universe.updates:
        domains = [domain_of(p.sort, evaluator, universe, {}) for p in decl.params]
        ways = list(variations(decl))
        total += len(ways) * prod(map(len, domains))
        if total > MOST_OCCURRENCES:
            raise TooLarge(f"with {decl.name}, {total:,} occurrences of updates: at most {MOST_OCCURRENCES:,} can be grounded", decl.span)
        sizes = tuple(map(len, domains))
        for variation in ways:
            for args in product(*domains):
                yield variation, Scope.of(dict(zip((p.name for p in decl.params), args, strict=True)), sizes)


def touched(universe: Universe, evaluator: Evaluator, slots: Slots, evidence: Evidence) -> set[Key]:
    """Every slot that some occurrence may write: found from the targets alone, before any formula is read."""
    targets = Targets(universe, evaluator, slots, evidence)
    found: set[Key] = set()
    for variation, env in bindings(universe, evaluator):
        evaluator.deadline.check()
        for item in variation.items:
            for inner in targets.loops(item, env):
                found.update(targets.keys(item.statement, inner))
    return found


@dataclass(slots=True)
class Draft:
    """An occurrence on its way to a GroundUpdate: values over the state before, and what happens to evidence."""

    element: Element
    variation: Variation
    env: dict[str, Value]
    actor: str
    agent: Element | None
    when: Term
    requires: Term
    writes: dict[Key, Value] = field(default_factory=dict)
    issued: dict[Element, Term] = field(default_factory=dict)
    retracted: dict[Element, Term] = field(default_factory=dict)
    established: dict[Element, Term] = field(default_factory=dict)
    emitted: dict[Element, Term] = field(default_factory=dict)
    fits: list[Term] = field(default_factory=list)
    """Elements put into a set field are among those it may hold; no slot is given two values at once."""
    block: str = ""
    """Which statements happen at once with the one that is being applied (`block_of`); empty once the statements are over."""
    place: s.Span | None = None
    """Where the target of the statement being applied stands."""
    plain: dict[tuple[str, Key], list[tuple[Term, Value]]] = field(default_factory=dict)
    """What the statements of a block wrote so far, each under its condition."""
    notes: list[str] = field(default_factory=list)


class Effects:
    """`ground(variation, env, number)`: one occurrence as a GroundUpdate (without legality clauses) and its footprint."""

    def __init__(self, primitives: Primitives) -> None:
        self.p = primitives
        self.u, self.ev, self.alg, self.slots = primitives.u, primitives.ev, primitives.alg, primitives.slots
        self.evidence = primitives.evidence
        self.targets = Targets(self.u, self.ev, self.slots, self.evidence)

    def ground(self, variation: Variation, env: dict[str, Value], number: int) -> tuple[GroundUpdate, UpdateFacts] | None:
        """None where the guard can never hold."""
        bank = self.alg.bank
        when = bank.conj([self.ev.formula(e, env) for e in variation.when])
        if when.is_false:
            return None
        requires = bank.conj([self.ev.formula(e, env) for e in variation.requires])
        actor, agent = self._actor(variation.decl, env)
        element = Element("Update", instance_name(variation.schema, env.values()), number)
        draft = Draft(element, variation, env, actor, agent, when, requires)
        for place, item in in_order(variation):
            if place == variation.kept:
                draft.plain.clear()  # a fault's statements stand in place of those they vary
            draft.block, draft.place = block_of(item), item.statement.target.span
            for inner, condition in self._conditioned(item.loops, env):
                self._apply(draft, item.statement, inner, condition)
        draft.block = ""
        self._evidence(draft)
        writes, defined = self._codes(draft)
        kind = Kind.FAULT if variation.fault else Kind.ENVIRONMENT if actor == ENVIRONMENT else Kind.ORDINARY
        update = GroundUpdate(
            schema=variation.schema,
            binding=tuple((k, show_value(v)) for k, v in env.items()),
            actor=actor,
            operation=variation.decl.operation or "",
            kind=kind,
            when=when,
            requires=requires,
            defined=defined,
            writes=tuple(writes),
            fault=variation.fault,
            span=variation.span,
            notes=tuple(draft.notes),
        )
        return update, footprint(self.p, draft, update)

    def _actor(self, decl: s.UpdateDecl, env: Env) -> tuple[str, Element | None]:
        if decl.actor is None:
            return "nobody", None
        if isinstance(decl.actor, s.Name) and decl.actor.id in {ENVIRONMENT, MONITOR} and decl.actor.id not in env:
            return decl.actor.id, None
        value = self.ev.static(decl.actor, env)
        return show_value(value), value if isinstance(value, Element) else None

    def _conditioned(self, loops: tuple[tuple[tuple[s.Binder, ...], s.Expr | None], ...], env: Env) -> list[tuple[Env, Term]]:
        pairs: list[tuple[Env, Term]] = [(env, self.alg.bank.true)]
        for binders, where in loops:
            pairs = [
                (inner, self.alg.bank.and_(outer, condition))
                for e, outer in pairs
                for inner, condition in self.ev.bindings(binders, where, e, False)
            ]
        return pairs

    # ---- one statement ---------------------------------------------------------------------------------------------
    def _put(self, draft: Draft, key: Key, value: Value, condition: Term) -> None:
        """A later `for` overrides what stands before it, where its condition holds; what happens at once must agree."""
        if not self.slots.has(key):
            return
        if draft.block:
            self._agree(draft, key, value, condition)
        before = draft.writes[key] if key in draft.writes else self.slots.value(key)
        draft.writes[key] = self.alg.choose(condition, value, before)
        carrier = key[:2] if key[0] == "signature" else key
        for assertion in self.evidence.carried.get(carrier, ()):
            self._note(draft.established, assertion, condition)

    def _agree(self, draft: Draft, key: Key, value: Value, condition: Term) -> None:
        """All writes of a block happen at once: the occurrence is undefined where two give one slot different values.

        Two iterations of one `for` that do so in every state are a mistake of the text.
        """
        bank = self.alg.bank
        before = draft.plain.setdefault((draft.block, key), [])
        for other, given in before:
            same = self.alg.boolean(self.alg.equal(given, value))
            agree = bank.implies(bank.and_(other, condition), same)
            if agree.is_false and draft.block.startswith(LOOP) and draft.place is not None:
                raise WrittenTwice(draft.place, self.slots.known[key].name, draft.element.name)
            draft.fits.append(agree)
        before.append((condition, value))

    def _note(self, table: dict[Element, Term], element: Element, condition: Term) -> None:
        table[element] = self.alg.bank.or_(table.get(element, self.alg.bank.false), condition)

    def _apply(self, draft: Draft, statement: s.SetField | s.Effect, env: Env, condition: Term) -> None:
        targets = self.targets
        if isinstance(statement, s.SetField):
            self._set(draft, targets.target(statement.target, env), self.ev.value(statement.value, env, False), condition)
            return
        if statement.kind in {"relate", "unrelate"}:
            self._put(draft, targets.pair(statement.target, env), statement.kind == "relate", condition)
            return
        if statement.kind == "report":
            self._put(draft, ("reported", report_kind(statement)), True, condition)
            return
        element = targets.element(statement.target, env)
        draft.notes.append(f"{statement.kind} {element.name}")
        match statement.kind:
            case "emit":
                self._put(draft, ("artifact", element), ARTIFACT[1], condition)
                self._note(draft.emitted, element, condition)
                self._fill(draft, element, "afield", statement, env, condition)
            case "consume" | "discard":
                self._spend(draft, element, condition)
            case "supersede" if element.sort == "Artifact":
                self._spend(draft, element, condition)
            case "issue":
                states = self._states(element)
                self._put(draft, ("certificate", element), states[1], condition)
                self._fill(draft, element, "cfield", statement, env, condition)
                self._note(draft.issued, element, condition)
            case "revoke" | "supersede":
                states = self._states(element)
                held = self.alg.boolean(self.p.lifecycle(element, "active", "pending"))
                gone = states[-2] if statement.kind == "revoke" else states[-1]
                effective = self.alg.bank.and_(condition, held)
                self._put(draft, ("certificate", element), gone, effective)
                self._note(draft.retracted, element, effective)
            case "create":
                self._put(draft, ("present", element), True, condition)
                self._put(draft, ("status", element), self.u.statuses[self.u.works[element].starts], condition)
            case _:
                raise GroundingError(G008, f"unknown effect {statement.kind}", statement.span)

    def _set(self, draft: Draft, key: Key, value: Value, condition: Term) -> None:
        if self.slots.has(key):
            self._put(draft, key, value, condition)
            if key[0] == "assignee":
                self._context(draft, key[1], value, condition)
            return
        parts = self.slots.parts(key)  # a set-valued field: one Boolean an element
        for part in parts:
            self._put(draft, part, self.alg.member(element_of(part), value), condition)
        self._contained(draft, parts, value, condition)

    def _contained(self, draft: Draft, parts: list[Key], value: Value, condition: Term) -> None:
        """Nothing is written into a set field that is not among its possible elements."""
        possible = {element_of(part) for part in parts}
        for element, inside in value.items if isinstance(value, SetValue) else ():
            if element not in possible:
                draft.fits.append(self.alg.bank.not_(self.alg.bank.and_(condition, inside)))

    def _context(self, draft: Draft, work: object, agent: Value, condition: Term) -> None:
        """The assignment-time context of section 4.1: valuations just before this update; forgotten with the assignee."""
        nobody = self.alg.boolean(self.alg.equal(agent, None))
        for key in self.slots.keys_of("then", work):
            slot = self.slots.known[key]
            _, _, name, who = key
            if isinstance(work, Element) and isinstance(who, Element):
                now = self.p.value_at(str(name), who, work)
                forgotten = slot.values[0] if isinstance(slot.initial, Free) else slot.initial
                self._put(draft, key, self.alg.choose(nobody, forgotten, now), condition)

    def _spend(self, draft: Draft, element: Element, condition: Term) -> None:
        live = self.alg.boolean(self.p.artifact(element, "live"))
        self._put(draft, ("artifact", element), ARTIFACT[2], self.alg.bank.and_(condition, live))

    def _fill(self, draft: Draft, element: Element, kind: str, effect: s.Effect, env: Env, condition: Term) -> None:
        """Fields given in braces; the others get what they start with: their default, or their domain's first value (a set: empty)."""
        given = {a.name: self.ev.value(a.value, env, False) for a in effect.values}
        for key in self.slots.keys_of(kind, element):
            name = str(key[2])
            slot = self.slots.known[key]
            value: Value = slot.values[0] if isinstance(slot.initial, Free) else slot.initial
            if name in given:
                value = self.alg.member(element_of(key), given[name]) if len(key) == 4 else given[name]
            self._put(draft, key, value, condition)
        for name, value in given.items():
            self._contained(draft, self.slots.parts((kind, element, name)), value, condition)

    def _states(self, certificate: Element) -> tuple[Element, ...]:
        return lifecycle(delay_of(self.u.certificate_decls[self.u.certificates[certificate].schema], self.ev))

    # ---- evidence after all statements -------------------------------------------------------------------------------
    def _evidence(self, draft: Draft) -> None:
        bank = self.alg.bank
        for key in [k for k in draft.writes if k[0] == "clock"]:
            self._advance(draft, key)
        rests: set[Key] = set()
        for certificate in (*draft.issued, *draft.retracted):
            rests.update(self.slots.keys_of("under", certificate))
        for assertion in draft.established:
            rests.update(("under", c.certificate, assertion) for c in self.evidence.claimed_by.get(assertion, ()))
        for key in sorted(rests, key=lambda k: self.slots.place[k]):
            _, evidence, claimed = key
            if not isinstance(evidence, Element) or not isinstance(claimed, Element):
                continue
            issued = draft.issued.get(evidence, bank.false)
            retracted = draft.retracted.get(evidence, bank.false)
            established = draft.established.get(claimed, bank.false)
            kept = bank.and_(self.slots.truth(key), bank.not_(retracted), bank.not_(established))
            draft.writes[key] = self.alg.truth(bank.or_(issued, kept))

    def _advance(self, draft: Draft, clock: Key) -> None:
        """Where its clock changes, a pending certificate that this update neither issues nor retracts is one round nearer (`delay`)."""
        bank = self.alg.bank
        moved = bank.not_(self.alg.boolean(self.alg.equal(draft.writes[clock], self.slots.value(clock))))
        for certificate, instance in self.u.certificates.items():
            decl = self.u.certificate_decls[instance.schema]
            delay = delay_of(decl, self.ev)
            if not delay or not on_clock(decl, str(clock[1]), self.u):
                continue
            states = self._states(certificate)
            key = ("certificate", certificate)
            waits = self.slots.value(key)
            touched_here = [table[certificate] for table in (draft.issued, draft.retracted) if certificate in table]
            left_alone = bank.and_(moved, bank.not_(bank.disj(touched_here)))
            for k in range(1, delay + 1):
                here = self.alg.boolean(self.alg.equal(waits, states[k]))
                self._put(draft, key, states[k + 1], bank.and_(left_alone, here))

    # ---- codes -----------------------------------------------------------------------------------------------------
    def _codes(self, draft: Draft) -> tuple[list[Write], Term]:
        bank = self.alg.bank
        writes: list[Write] = []
        inside = list(draft.fits)
        post: dict[int, Term] = {}
        for key, value in draft.writes.items():
            known = self.slots.field(key)
            if known is None:
                continue
            code, fits, due = self.slots.encode(key, value)
            inside.append(fits)
            if code is not self.slots.term(key):
                writes.append(Write(known, code, None if fits.is_true else due))
                post[known.index] = code
        capturing = any(self.slots.keys_of("captured", certificate) for certificate in draft.issued)
        for certificate in self._premises_first(draft) if capturing else ():
            condition = draft.issued[certificate]
            for number, premise in enumerate(self.evidence.premises_of[certificate]):
                known = self.slots.field(("captured", certificate, number))
                if known is None:
                    continue
                after = substitute(bank, self.alg.boolean(self.p.premise_now(certificate, premise)), post)
                before = self.slots.truth(("captured", certificate, number))
                held = bank.or_(bank.and_(condition, after), bank.and_(bank.not_(condition), before))
                writes.append(Write(known, held))
                post[known.index] = held
        writes.sort(key=lambda w: w.field.index)
        return writes, bank.conj(inside)

    def _premises_first(self, draft: Draft) -> list[Element]:
        """The certificates issued, each after those it rests on: a premise is captured as it is after the whole update."""
        found: dict[Element, None] = {}
        started: set[Element] = set()

        def visit(certificate: Element) -> None:
            if certificate in started:
                return
            started.add(certificate)
            for premise in self.evidence.premises_of.get(certificate, ()):
                if premise.target is not None and premise.target.sort == "Certificate":
                    visit(premise.target)
            if certificate in draft.issued:
                found[certificate] = None

        for each in draft.issued:
            visit(each)
        return list(found)


def on_clock(decl: s.CertificateDecl, clock: str, universe: Universe) -> bool:
    """Whether `clock` is the clock that the certificate's delay counts: named, perhaps in the plural, or the only one."""
    named = decl.delay_clock
    if named is None:
        return len(universe.clocks) == 1
    return clock == (named if named in universe.clocks else named.removesuffix("s"))


def element_of(part: Key) -> Value:
    """The element that one slot of a set field is about: the last item of its key."""
    element = part[-1]
    if element is None or isinstance(element, (bool, Fraction, Element)):
        return element
    raise GroundingError(G008, "not a slot of a set field")
