"""The tables of the audit loop (audit/tables.py), evaluated from the theory's definitions at every element of a grounded package."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from icore_dsl import syntax as s
from icore_dsl.mistakes import G009
from icore_kernel.audit.tables import (
    Assertion,
    Candidacy,
    Certificate,
    Claim,
    Footprint,
    Node,
    Premise,
    Progress,
    Relation,
    Settings,
    Tables,
    Way,
    Work,
)  # fmt: skip
from icore_kernel.ground.primitives import Primitives
from icore_kernel.ground.values import Element, GroundingError, SetValue, Value, show_value
from icore_kernel.system import Field, GroundUpdate, Ratio
from icore_kernel.terms.node import Term

ASKED = ("matched_sound", "matched_stable", "ancestor", "failed_work")
"""Definitions of 7-audit.icore: what the loop asks of the theory beyond what a check does."""


def audit_tables(
    primitives: Primitives, decls: tuple[s.Decl, ...], updates: tuple[GroundUpdate, ...], elements: tuple[Element, ...]
) -> Tables:
    """`elements[i]` names `updates[i]` to the theory. Raises GroundingError where the theory lacks a definition of 7-audit.icore."""
    return _Builder(primitives).tables(decls, updates, elements)


class _Builder:
    def __init__(self, primitives: Primitives) -> None:
        self.p = primitives
        self.u, self.ev, self.alg, self.slots, self.evidence = (
            primitives.u, primitives.ev, primitives.alg, primitives.slots, primitives.evidence,
        )  # fmt: skip

    def tables(self, decls: tuple[s.Decl, ...], updates: tuple[GroundUpdate, ...], elements: tuple[Element, ...]) -> Tables:
        return Tables(
            agents=tuple(a.name for a in self.u.agents),
            works={w.name: self._work(w) for w in self.u.works},
            assertions={a.name: self._assertion(a) for a in self.evidence.info},
            certificates={c.name: self._certificate(c) for c in self.u.certificates},
            inputs={i.name: self._node(i, x.schema, "ifield") for i, x in self.u.inputs.items()},
            artifacts={z.name: self._node(z, x.schema, "afield") for z, x in self.u.artifacts.items()},
            relations=tuple(self._relation(name) for name in self.u.relations),
            footprints=tuple(self._footprint(update, element) for update, element in zip(updates, elements, strict=True)),
            settings=self._settings(decls),
            soundness=self._ratio("soundness"),
            stability=self._ratio("stability"),
            quality=self._ratio("quality"),
        )

    # ---- asking the theory ---------------------------------------------------------------------------------------------
    def _ask(self, name: str, *args: Value) -> Value:
        function = self.u.theory_functions.get(name)
        if function is not None:
            return self.p.least(function, args) if function.decl.kind == "least" else self.ev.apply(function, list(args))
        if name in self.u.primitives:
            return self.p.primitive(name, args)
        raise GroundingError(G009, f"the theory does not define `{name}`, which the audit loop asks for")

    def _holds(self, name: str, *args: Value) -> Term:
        return self.alg.boolean(self._ask(name, *args))

    def _ratio(self, name: str, *args: Value) -> Ratio:
        quantity = self.alg.quantity(self._ask(name, *args))
        return Ratio(quantity.num, quantity.den)

    # ---- Q -------------------------------------------------------------------------------------------------------------
    def _work(self, w: Element) -> Work:
        known = self.u.works[w]
        status, assignee = ("status", w), ("assignee", w)
        weight = known.statics["weight"]
        return Work(
            name=w.name,
            type=known.type,
            weight=weight if isinstance(weight, Fraction) else Fraction(1),
            required=known.required,
            latent=known.latent,
            present=self._holds("present", w),
            unresolved=self._holds("unresolved", w),
            evaluated=self._holds("evaluated", w),
            off=self._holds("off", w),
            failed=self._holds("failed_work", w),
            effective_root=self._holds("effective", w),
            sound=self._holds("all_justified", w),
            stable=self._holds("stable_component", w),
            matched_sound=self._holds("matched_sound", w),
            matched_stable=self._holds("matched_stable", w),
            agents=tuple(self._candidacy(m, w) for m in self.u.agents),
            ancestors=tuple((p.name, term) for p in self.u.works if p != w and not (term := self._holds("ancestor", p, w)).is_false),
            assertions=tuple(a.name for a in self.evidence.about.get(w, ())),
            status=self.slots.field(status),
            status_then=show_value(self.slots.known[status].initial),
            assignee=self.slots.field(assignee),
            assignee_then=show_value(self.slots.known[assignee].initial),
        )

    def _candidacy(self, m: Element, w: Element) -> Candidacy:
        assigned = self.alg.boolean(self.alg.equal(self._ask("assignee", w), m))
        return Candidacy(m.name, self._holds("feasible", m, w), self._holds("candidate", m, w), assigned, self._ratio("worth", m, w))

    def _relation(self, name: str) -> Relation:
        decl = self.u.relations[name]
        facts = sorted(self.u.facts[name], key=lambda pair: (pair[0].place, pair[1].place))
        changing: list[tuple[str, str, Field]] = []
        for key in self.slots.known:
            match key:
                case ("relation", own, Element() as left, Element() as right) if own == name:
                    field = self.slots.field(key)
                    if field is not None:
                        changing.append((left.name, right.name, field))
        contributes = tuple(c.id for c in decl.contributes)
        return Relation(name, contributes, tuple((a.name, b.name) for a, b in facts), tuple(changing))

    # ---- Pi ------------------------------------------------------------------------------------------------------------
    def _assertion(self, a: Element) -> Assertion:
        kind, _ = self.evidence.info[a]
        about = next((w.name for w, own in self.evidence.about.items() if a in own), "")
        carriers = [
            field
            for slot, carried in self.evidence.carried.items()
            if a in carried
            for key in (self.slots.keys_of("signature", slot[1]) if slot[0] == "signature" else [slot])
            if (field := self.slots.field(key)) is not None
        ]
        return Assertion(a.name, kind, about, self._holds("holds", a), self._holds("justified", a), tuple(carriers))

    def _certificate(self, c: Element) -> Certificate:
        instance = self.u.certificates[c]
        decl = self.u.certificate_decls[instance.schema]
        claims = tuple(
            Claim(a.name, self._holds("claims", c, a), self._holds("supports", c, a), tuple(self._ways(c, a)))
            for a in dict.fromkeys(claim.assertion for claim in self.evidence.claims_of.get(c, ()))
        )
        own = [self.slots.field(("certificate", c)), *(self.slots.field(k) for k in self.slots.keys_of("cfield", c))]
        return Certificate(
            name=c.name,
            schema=instance.schema,
            issuer=self._issuer(decl.issuer, instance.args),
            issuers=self._issuers(c, decl.issuer),
            starts=self._ask("starts", c) is True,
            active=self._holds("active", c),
            pending=self._holds("pending", c),
            revoked=self._holds("revoked", c),
            superseded=self._holds("superseded", c),
            rule=self.alg.bank.conj([self._holds("in_scope", c), self._holds("accepted_by_rule", c), self._holds("current", c)]),
            conditions=self._holds("conditions", c),
            valid=self._holds("valid", c),
            premises=tuple(self._premises(c)),
            captured=tuple(
                self.alg.boolean(self.p.premise_now(c, premise))
                for premise in self.evidence.premises_of.get(c, ())
                if premise.captured and premise.formula is not None
            ),
            claims=claims,
            fields=tuple(f for f in own if f is not None),
        )

    def _issuer(self, expr: s.Expr | None, args: dict[str, Value]) -> str:
        """As declared, at these arguments: `monitor`, `ana`, `assignee(unit)`; `any` where anybody may."""
        match expr:
            case None:
                return "any"
            case s.Name():
                return show_value(args[expr.id]) if expr.id in args else expr.id
            case s.Call():
                return f"{expr.name}({', '.join(self._issuer(a, args) for a in expr.args)})"
            case _:
                return show_value(self.ev.value(expr, args, False))

    def _issuers(self, c: Element, expr: s.Expr | None) -> tuple[tuple[str, Term], ...] | None:
        """Facts of the environment and of the monitor may be attached by any update, as what names no issuer."""
        if expr is None or (isinstance(expr, s.Name) and expr.id in {"environment", "monitor", "any"}):
            return None
        return self._cases(self.ev.value(expr, self.p.certificate_env(c), False))

    def _cases(self, value: Value) -> tuple[tuple[str, Term], ...]:
        """The values that it may be, or that the set may hold, each under its condition."""
        items = value.items if isinstance(value, SetValue) else ((value, self.alg.bank.true),)
        found: list[tuple[str, Term]] = []
        for each, condition in items:
            choice = self.alg.as_choice(each)
            for code, one in enumerate(choice.domain):
                here = self.alg.bank.and_(condition, self.alg.bank.eq(choice.term, self.alg.bank.integer(code)))
                if not here.is_false:
                    found.append((show_value(one), here))
        return tuple(found)

    def _ways(self, c: Element, a: Element) -> Iterable[Way]:
        """As declared: not by way of the word `claims`, so that what checks it has something to check it by."""
        kind, args = self.evidence.info[a]
        for claim in self.evidence.claim.get((c, a), ()):
            where = self.alg.boolean(self.p.condition(claim.where, c, claim.env))
            if claim.test is None or claim.value is None:
                yield Way(where)
                continue
            slot = {"status": "status", "assignment": "assignee", "removal": "marker"}.get(kind)
            key = (slot, args[0]) if slot else self.slots.keys_of(kind, args[0])[0]
            field = self.slots.field(key)
            then = "" if field is not None else show_value(self.slots.known[key].initial)
            wanted = self.ev.value(claim.value, {**self.p.certificate_env(c), **claim.env}, False)
            yield Way(where, field, then, self._cases(wanted))

    def _premises(self, c: Element) -> Iterable[Premise]:
        """As declared, each target once; not by way of the word `premise`."""
        bank = self.alg.bank
        when: dict[tuple[Element, bool], Term] = {}
        for premise in self.evidence.premises_of.get(c, ()):
            if premise.target is not None:
                key = (premise.target, premise.captured and premise.target.sort != "Input")
                here = self.alg.boolean(self.p.condition(premise.where, c, premise.env))
                when[key] = bank.or_(when.get(key, bank.false), here)
        for assertion, made in self.p.assertions_read(c):
            when[assertion, False] = bank.or_(when.get((assertion, False), bank.false), made)
        for (target, captured), condition in when.items():
            if not condition.is_false:
                yield Premise(target.sort.lower(), target.name, condition, captured)

    # ---- G -------------------------------------------------------------------------------------------------------------
    def _node(self, element: Element, schema: str, kind: str) -> Node:
        artifact = element.sort == "Artifact"
        keys = [("artifact", element)] if artifact else []
        fields = [self.slots.field(key) for key in (*keys, *self.slots.keys_of(kind, element))]
        true = self.alg.bank.true
        return Node(
            element.name,
            schema,
            self._holds("present", element) if artifact else true,
            self._holds("live", element) if artifact else true,
            tuple(f for f in fields if f is not None),
        )

    # ---- updates and settings ------------------------------------------------------------------------------------------
    def _footprint(self, update: GroundUpdate, element: Element) -> Footprint:
        facts = self.p.updates[element]
        works = frozenset(e.name for e in facts.writes if e.sort == "Obligation")

        def said(which: str) -> tuple[tuple[str, Term], ...]:
            return tuple((e.name, term) for e, term in facts.happenings[which].items() if not term.is_false)

        return Footprint(works, said("established"), said("issued"), said("emitted"))

    def _settings(self, decls: tuple[s.Decl, ...]) -> Settings:
        numbers: dict[str, Fraction] = {}
        progress: tuple[Progress, ...] = ()
        repairs: dict[str, tuple[str, ...]] = {}
        for decl in decls:
            for entry in decl.entries if isinstance(decl, s.AuditDecl) else ():
                if entry.key == "progress":
                    progress = tuple(self._progress(entry))
                elif entry.key == "repairs":
                    repairs.update({kind: tuple(name.id for name in names) for kind, names in entry.repairs})
                elif entry.value is not None:
                    value = self.ev.static(entry.value, {})
                    if isinstance(value, Fraction):
                        numbers[entry.key] = value
        return Settings(
            tolerance=numbers.get("tolerance", Fraction(0)),
            floor=numbers.get("floor", Fraction(0)),
            threshold=numbers.get("threshold"),
            patience=int(numbers["patience"]) if "patience" in numbers else None,
            budget=int(numbers["budget"]) if "budget" in numbers else None,
            progress=progress,
            repairs=repairs,
        )

    def _progress(self, entry: s.AuditEntry) -> Iterable[Progress]:
        if entry.value is None or entry.changes is None:
            return
        for env, where in self.ev.bindings(entry.binders, entry.where, {}, False):
            reached = self.alg.equal(self.ev.value(entry.value, env, False), self.ev.value(entry.changes, env, False))
            named = ", ".join(f"{name} = {show_value(value)}" for name, value in env.items())
            yield Progress(where, self.alg.boolean(reached), named)
