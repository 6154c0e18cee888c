"""The theory's clauses, grounded. The kernel knows their kinds; labels and definitions are only text to it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from icore_dsl import syntax as s
from icore_dsl.mistakes import G007
from icore_kernel.ground.build import domain_of
from icore_kernel.ground.primitives import Primitives
from icore_kernel.ground.values import Element, GroundingError, Value, show_value
from icore_kernel.system import Clause, Measure, Ratio, Watch
from icore_kernel.terms.node import Term

CONJOINED = ("feasibility", "accept", "reject", "stuck")


class Clauses:
    """`of(kind)`: one Clause a label, the conjunction of its instances. Terms are built when they are first asked for.

    Made before the updates are grounded, because an update's guard may ask for `accept`; such updates are grounded last (late.py).
    """

    def __init__(self, primitives: Primitives, theory: tuple[s.Module, ...]) -> None:
        self.p = primitives
        self.decls: dict[str, list[tuple[s.ClauseDecl, str]]] = {}
        for module in theory:
            for decl in module.decls:
                if isinstance(decl, s.ClauseDecl):
                    self.decls.setdefault(decl.kind, []).append((decl, module.text))
        self._made: dict[str, tuple[Clause, ...]] = {}
        self._making: set[str] = set()
        for kind in CONJOINED:
            primitives.conjunctions[kind] = lambda kind=kind: self.conjunction(kind)  # type: ignore[misc]

    def conjunction(self, kind: str) -> Term:
        """Every clause of a kind. With no obligations there is nothing to accept or reject; stuck needs a clause that says so."""
        bank = self.p.alg.bank
        clauses = self.of(kind)
        if kind != "feasibility" and (not clauses or not self.p.u.works):
            return bank.false
        return bank.conj([c.formula for c in clauses])

    def of(self, kind: str) -> tuple[Clause, ...]:
        known = self._made.get(kind)
        if known is not None:
            return known
        if kind in self._making:
            raise GroundingError(G007, f"`{kind}` is asked for by what it depends on")
        self._making.add(kind)
        bank = self.p.alg.bank
        made = []
        with self.p.fix.apart(kind):
            for decl, text in self.decls.get(kind, []):
                parts = [(name, formula) for name, formula in self._instances(decl) if not formula.is_true]
                made.append(Clause(decl.label, bank.conj([f for _, f in parts]), source(decl, text), (decl.span,), "", tuple(parts)))
        self._making.discard(kind)
        self._made[kind] = tuple(made)
        return self._made[kind]

    def separate(self, kind: str) -> tuple[Clause, ...]:
        """One Clause an instance that is not constant."""
        return tuple(
            Clause(decl.label, formula, source(decl, text), (decl.span,), name)
            for decl, text in self.decls.get(kind, [])
            for name, formula in self._instances(decl)
            if not formula.is_true and not formula.is_false
        )

    def _instances(self, decl: s.ClauseDecl, bound: dict[str, Value] | None = None) -> Iterator[tuple[str, Term]]:
        open_params = [p for p in decl.params if bound is None or p.name not in bound]
        domains = [domain_of(p.sort, self.p.ev, self.p.u, {}) for p in open_params]
        for args in product(*domains):
            env = {**(bound or {}), **dict(zip((p.name for p in open_params), args, strict=True))}
            yield ", ".join(show_value(a) for a in args), self.p.ev.formula(decl.formula, env, True)

    def legality(self, update: Element) -> tuple[tuple[Clause, ...], tuple[Clause, ...]]:
        """The clauses of definition 6 for one ground update: those read in X, those read in X'."""
        before: list[Clause] = []
        after: list[Clause] = []
        for decl, text in self.decls.get("legality", []):
            bound: dict[str, Value] = {decl.params[0].name: update} if decl.params else {}
            for name, formula in self._instances(decl, bound):
                if not formula.is_true:
                    clause = Clause(decl.label, formula, source(decl, text), (decl.span,), name)
                    (before if decl.moment == "before" else after).append(clause)
        return tuple(before), tuple(after)

    def measures(self) -> tuple[Measure, ...]:
        found = []
        for decl, text in self.decls.get("measure", []):
            if not self.p.u.works:
                continue
            quantity = self.p.alg.quantity(self.p.ev.value(decl.formula, {}, True))
            found.append(Measure(decl.label, Ratio(quantity.num, quantity.den), source(decl, text)))
        return tuple(found)

    def watches(self) -> tuple[Watch, ...]:
        """Findings of the theory: what must be true in some reachable state. Certificates count by schema."""
        if not self.p.u.works and not self.p.u.certificates:
            return ()
        found: list[Watch] = []
        for decl, _ in self.decls.get("finding", []):
            grouped: dict[str, list[Term]] = {}
            spans: dict[str, s.Span] = {}
            for args in product(*(domain_of(p.sort, self.p.ev, self.p.u, {}) for p in decl.params)):
                env = dict(zip((p.name for p in decl.params), args, strict=True))
                subject, span = self._subject(args)
                if not self.p.u.works and not args:
                    continue
                grouped.setdefault(subject, []).append(self.p.ev.formula(decl.formula, env, True))
                spans.setdefault(subject, span or decl.span)
            for subject, terms in grouped.items():
                message = MESSAGES.get(decl.label, "never holds")
                found.append(Watch(decl.label, subject, message, self.p.alg.bank.disj(terms), spans[subject]))
        return tuple(found)

    def _subject(self, args: tuple[Value, ...]) -> tuple[str, s.Span | None]:
        if not args or not isinstance(args[0], Element):
            return "", None
        element = args[0]
        if element.sort == "Certificate":
            schema = self.p.u.certificates[element].schema
            return schema, self.p.u.certificate_decls[schema].span
        if element.sort == "Obligation":
            return element.name, self.p.u.works[element].decl.span
        return element.name, None


MESSAGES = {
    "accept_unreachable": "Accept holds in no reachable state",
    "reject_unreachable": "Reject holds in no reachable state",
    "uncovered_root": "this required root is discharged in no reachable state",
    "empty_roots": "no reachable state has an effective root",
    "serves_no_root": "this work serves no required root in any reachable state: until it is settled nothing is asked of it",
    "never_valid": "this certificate is valid in no reachable state",
}


def source(decl: s.ClauseDecl, text: str) -> str:
    """The formula as written, on one line."""
    span = decl.formula.span
    return " ".join(text[span.start : span.end].split())
