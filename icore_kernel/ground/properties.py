"""What a package says must hold, grounded: properties, scenarios, what it allows and expects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from icore_dsl import syntax as s
from icore_dsl.check_properties import name_of
from icore_kernel.ground.primitives import Primitives
from icore_kernel.ground.scope import Env
from icore_kernel.ground.universe import instance_name
from icore_kernel.system import Property, PropertyKind, Scenario
from icore_kernel.terms.node import Term

DECIDED = {
    "invariant": PropertyKind.INVARIANT,
    "reachable": PropertyKind.REACHABLE,
    "unreachable": PropertyKind.UNREACHABLE,
    "bound": PropertyKind.INVARIANT,
}
TEMPORAL = {"eventually": PropertyKind.EVENTUALLY, "leadsto": PropertyKind.LEADSTO, "controllable": PropertyKind.CONTROLLABLE}
CHECKED = {"termination": PropertyKind.TERMINATION, "settlement": PropertyKind.SETTLEMENT, "order stability": PropertyKind.STABILITY}


class Properties:
    """`texts`: the text of each file, so that a property can be quoted as it was written."""

    def __init__(self, primitives: Primitives, decls: tuple[s.Decl, ...], texts: Mapping[str, str]) -> None:
        self.p = primitives
        self.decls = decls
        self.texts = texts

    def _quoted(self, expr: s.Expr) -> str:
        return " ".join(self.texts.get(expr.span.file, "")[expr.span.start : expr.span.end].split())

    def initially(self) -> Term:
        return self.p.alg.bank.conj([self.p.ev.formula(d.formula, {}) for d in self.decls if isinstance(d, s.InitiallyDecl)])

    def expected(self) -> tuple[str, ...]:
        return tuple(d.name for d in self.decls if isinstance(d, s.ExpectDecl))

    def allowed(self) -> tuple[tuple[str, str | None, str], ...]:
        return tuple((d.kind, d.subject, d.reason) for d in self.decls if isinstance(d, s.AllowDecl))

    def declared(self) -> tuple[Property, ...]:
        """One Property a declaration, in the order of the text; what this version cannot decide is UNDECIDED."""
        expected = set(self.expected())
        found: list[Property] = []
        for decl in self.decls:
            match decl:
                case s.PropertyDecl() if decl.kind in DECIDED:
                    found.append(self._decided(decl, decl.name in expected))
                case s.PropertyDecl():
                    found.append(self._temporal(decl, decl.name in expected))
                case s.CheckDecl():
                    found.extend(self._checked(item) for item in decl.items)
                case s.SymmetricDecl():
                    found.append(self._symmetric(decl))
                case _:
                    continue
        return tuple(found)

    def fairness(self) -> tuple[tuple[str, str], ...]:
        """`fair weak push`: (strength, update) in the order of the text."""
        return tuple((d.strength, m.id) for d in self.decls if isinstance(d, s.FairDecl) for m in d.updates)

    def _temporal(self, decl: s.PropertyDecl, expect_violated: bool) -> Property:
        formula = self.p.ev.formula(decl.formula, {})
        goal = None if decl.second is None else self.p.ev.formula(decl.second, {})
        antecedents = ((formula, decl.formula.span),) if decl.kind == "leadsto" else ()
        return Property(
            TEMPORAL[decl.kind], decl.name, formula, decl.span, antecedents, expect_violated=expect_violated, what=decl.kind, goal=goal
        )

    def _checked(self, item: s.CheckItem) -> Property:
        """Termination, settlement, order stability. A second stability check of a package says its conditions in its name."""
        given = tuple(tuple(name.id for name in alternatives) for alternatives in item.given)
        on = tuple(name.id for name in item.on)
        several = sum(1 for d in self.decls if isinstance(d, s.CheckDecl) for i in d.items if i.what == "order stability") > 1
        name = name_of(item, several)
        return Property(CHECKED[item.what], name, self.p.alg.bank.true, item.span, what=item.what, given=given, on=on)

    def _symmetric(self, decl: s.SymmetricDecl) -> Property:
        """A family stands for all its members."""
        members: list[str] = []
        for member in decl.members:
            family = self.p.u.families.get(member.id)
            members.extend([member.id] if family is None else [element.name for element in family.values()])
        name = "symmetric " + ", ".join(m.id for m in decl.members)
        return Property(PropertyKind.SYMMETRY, name, self.p.alg.bank.true, decl.span, what=decl.what, on=tuple(dict.fromkeys(members)))

    def _decided(self, decl: s.PropertyDecl, expect_violated: bool) -> Property:
        formula = self.p.ev.formula(decl.formula, {})
        antecedents = tuple(self._antecedents(decl.formula, {})) if decl.kind in {"invariant", "bound"} else ()
        if decl.second is not None:
            condition = self.p.ev.formula(decl.second, {})
            formula = self.p.alg.bank.implies(condition, formula)
            antecedents = ((condition, decl.second.span), *antecedents)
        text = self._quoted(decl.formula) + ("" if decl.second is None else f" when {self._quoted(decl.second)}")
        return Property(
            DECIDED[decl.kind], decl.name, formula, decl.span, antecedents, text=text, expect_violated=expect_violated, what=decl.kind
        )

    def _antecedents(self, expr: s.Expr, env: Env) -> Iterator[tuple[Term, s.Span]]:
        """What must hold somewhere for an invariant to say anything: the left of its implications, and its `where`s."""
        match expr:
            case s.Binary(op="implies"):
                yield self.p.ev.formula(expr.left, env), expr.left.span
                yield from self._antecedents(expr.right, env)
            case s.Binary(op="and"):
                yield from self._antecedents(expr.left, env)
                yield from self._antecedents(expr.right, env)
            case s.Quant(kind="forall") if expr.body is not None:
                pairs = list(self.p.ev.bindings(expr.binders, expr.where, env, False))
                yield self.p.alg.bank.disj([c for _, c in pairs]), expr.where.span if expr.where is not None else expr.span
                merged: dict[s.Span, list[Term]] = {}
                for inner, condition in pairs:
                    for term, span in self._antecedents(expr.body, inner):
                        merged.setdefault(span, []).append(self.p.alg.bank.and_(condition, term))
                for span, terms in merged.items():
                    yield self.p.alg.bank.disj(terms), span
            case _:
                return

    def scenarios(self) -> tuple[Scenario, ...]:
        return tuple(self._scenario(d) for d in self.decls if isinstance(d, s.RunDecl))

    def _scenario(self, decl: s.RunDecl) -> Scenario:
        steps = []
        for step in decl.steps:
            args = [self.p.ev.static(a, {}) for a in step.args]
            schema = step.update if step.variant is None else f"{step.update}.{step.variant}"
            steps.append((instance_name(schema, args), step.span))
        return Scenario(decl.name, tuple(steps), self.p.ev.formula(decl.expect, {}), decl.span)
