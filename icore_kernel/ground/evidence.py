"""Ground certificates and assertions: who can claim what, on which premises (A.3). Tables only; meanings are in primitives.py."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from icore_dsl import syntax as s
from icore_dsl.mistakes import G008
from icore_kernel.ground.evaluate import Evaluator
from icore_kernel.ground.possible import loops
from icore_kernel.ground.quantifiers import conjuncts
from icore_kernel.ground.scope import Env
from icore_kernel.ground.start import Static
from icore_kernel.ground.universe import REPORTS, Universe
from icore_kernel.ground.values import Element, GroundingError, Value, show_value

FACT_KINDS = {"node", "status", "assignment", "signature", "coverage", "compatibility", "removal", "failure", "terminal"}


@dataclass(frozen=True, slots=True)
class Claim:
    """That one certificate may claim one assertion: with which test of its value, under which condition."""

    certificate: Element
    assertion: Element
    test: str | None
    value: s.Expr | None
    where: s.Expr | None
    env: Env


@dataclass(frozen=True, slots=True)
class Premise:
    """kind: `node` (certificate, artifact or input `target`) or `formula`; `where` is its condition; `captured` freezes it."""

    kind: str
    target: Element | None
    formula: s.Expr | None
    where: s.Expr | None
    env: Env
    captured: bool


@dataclass(slots=True)
class Evidence:
    """All ground claims and premises, indexed both ways."""

    info: dict[Element, tuple[str, tuple[Value, ...]]] = field(default_factory=dict)
    """assertion -> (kind, arguments)."""
    by_key: dict[tuple[str, tuple[Value, ...]], Element] = field(default_factory=dict)
    claims_of: dict[Element, list[Claim]] = field(default_factory=lambda: defaultdict(list))
    claimed_by: dict[Element, list[Claim]] = field(default_factory=lambda: defaultdict(list))
    claim: dict[tuple[Element, Element], list[Claim]] = field(default_factory=lambda: defaultdict(list))
    premises_of: dict[Element, list[Premise]] = field(default_factory=lambda: defaultdict(list))
    neutralizes: dict[Element, list[Premise]] = field(default_factory=lambda: defaultdict(list))
    neutralized_by: dict[Element, list[Element]] = field(default_factory=lambda: defaultdict(list))
    about: dict[Element, list[Element]] = field(default_factory=lambda: defaultdict(list))
    """obligation -> assertions about it."""
    carried: dict[tuple[object, ...], list[Element]] = field(default_factory=lambda: defaultdict(list))
    """slot -> the assertions that it carries: writing the slot establishes them anew."""

    def assertion(self, kind: str, args: tuple[Value, ...]) -> Element | None:
        return self.by_key.get((kind, args))


def gather(universe: Universe, evaluator: Evaluator, covering: dict[Element, list[Element]]) -> Evidence:
    """covering: obligation -> the required roots it may cover (static superset of Cov)."""
    found = Evidence()
    evaluator.words = Static(universe, evaluator)
    for element in universe.works:
        work = universe.works[element]
        _add(found, "node", (element,))
        _add(found, "status", (element,))
        _add(found, "assignment", (element,))
        if any(f.kind == "signature" for f in universe.types[work.type].fields):
            _add(found, "signature", (element,))
        _add(found, "removal", (element,))
        for root in covering[element]:
            _add(found, "coverage", (element, root))
    for name, relation in universe.relations.items():
        if relation.changing:
            for left in _side(universe, relation.left):
                for right in _side(universe, relation.right):
                    _add(found, "relation", (name_value(universe, name), left, right))
    for kind in REPORTS:
        _add(found, "terminal", (Element("Report", kind, REPORTS.index(kind)),))
    for certificate, instance in universe.certificates.items():
        decl = universe.certificate_decls[instance.schema]
        for claim in decl.claims:
            for env, where in _loops(universe, evaluator, claim.binders, claim.where, instance.args):
                for assertion in _claimed(found, universe, evaluator, claim.assertion, env, covering):
                    ground = Claim(certificate, assertion, claim.test, claim.value, where, env)
                    found.claims_of[certificate].append(ground)
                    found.claimed_by[assertion].append(ground)
                    found.claim[certificate, assertion].append(ground)
        for target in decl.premises:
            for env, where in _loops(universe, evaluator, target.binders, target.where, instance.args):
                found.premises_of[certificate].append(_premise(universe, evaluator, target, where, env))
        for target in decl.neutralizes:
            for env, where in _loops(universe, evaluator, target.binders, target.where, instance.args):
                premise = _premise(universe, evaluator, target, where, env)
                if premise.target is not None:
                    found.neutralizes[certificate].append(premise)
                    found.neutralized_by[premise.target].append(certificate)
    universe.assertions = tuple(found.info)
    evaluator.words = None
    return found


def name_value(universe: Universe, relation: str) -> Element:
    return Element("Relation", relation, list(universe.relations).index(relation))


def _side(universe: Universe, sort: s.Sort) -> list[Element]:
    elements = universe.elements(sort.name) if isinstance(sort, s.SortName) else None
    return [e for e in elements or () if isinstance(e, Element)]


def _loops(
    universe: Universe, evaluator: Evaluator, binders: tuple[s.Binder, ...], where: s.Expr | None, env: Env
) -> Iterator[tuple[Env, s.Expr | None]]:
    """Bindings that may count, with their condition. It may depend on the state: only parts that are false beforehand exclude one."""
    parts = () if where is None else tuple(conjuncts(where))
    for inner, inside in loops(universe, evaluator, binders, env):
        if not any(_never(evaluator, part, inner) for part in parts):
            condition = where
            for each in inside:
                condition = each if condition is None else s.Binary("and", each, condition, each.span)
            yield inner, condition


def _never(evaluator: Evaluator, part: s.Expr, env: Env) -> bool:
    try:
        return evaluator.value(part, env, False) is False
    except GroundingError:
        return False


def _add(found: Evidence, kind: str, args: tuple[Value, ...]) -> Element:
    known = found.by_key.get((kind, args))
    if known is not None:
        return known
    shown = args[1:] if kind == "relation" else args
    word = show_value(args[0]) if kind == "relation" else kind
    element = Element("Assertion", f"{word}({', '.join(map(show_value, shown))})", len(found.info))
    found.info[element] = (kind, args)
    found.by_key[kind, args] = element
    subject = args[-1] if kind == "relation" else args[0]
    if isinstance(subject, Element) and subject.sort == "Obligation":
        found.about[subject].append(element)
    found.carried[_carrier(kind, args)].append(element)
    return element


def _carrier(kind: str, args: tuple[Value, ...]) -> tuple[object, ...]:
    """The slot (for signatures: its first two items) whose writing establishes an assertion; none for what evidence itself asserts."""
    match kind:
        case "node":
            return ("present", args[0])
        case "status" | "coverage":
            return ("status", args[0])
        case "assignment":
            return ("assignee", args[0])
        case "signature":
            return ("signature", args[0])
        case "removal":
            return ("marker", args[0])
        case "relation":
            return ("relation", show_value(args[0]), *args[1:])
        case "terminal":
            return ("reported", show_value(args[0]))
    return (kind, *args)


def _claimed(
    found: Evidence, universe: Universe, evaluator: Evaluator, expr: s.Expr, env: Env, covering: dict[Element, list[Element]]
) -> list[Element]:
    """The assertions that a claim's expression names: one, or for `coverage(w)` one a root."""
    if not isinstance(expr, s.Call):
        raise GroundingError(G008, "not a claim", expr.span)
    if expr.name == "terminal":
        word = expr.args[0]
        kind = word.id if isinstance(word, s.Name) else ""
        return [_add(found, "terminal", (Element("Report", kind, REPORTS.index(kind)),))]
    args = tuple(evaluator.static(a, env) for a in expr.args)
    if expr.name == "coverage":
        work = args[0]
        if not isinstance(work, Element):
            return []
        roots = covering[work] if len(args) == 1 else [r for r in args[1:] if isinstance(r, Element)]
        return [_add(found, "coverage", (work, root)) for root in roots]
    if expr.name == "relation":
        raise GroundingError(G008, "name the relation itself", expr.span)
    if expr.name in FACT_KINDS:
        return [_add(found, expr.name, args)]
    if expr.name in universe.relations:
        return [_add(found, "relation", (name_value(universe, expr.name), *args))]
    if expr.name in universe.signatures:
        return [_add(found, "signature", args)]
    raise GroundingError(G008, f"{expr.name} is not something a certificate can claim", expr.span)


def _premise(universe: Universe, evaluator: Evaluator, target: s.Target, where: s.Expr | None, env: Env) -> Premise:
    node = _node(universe, evaluator, target.expr, env)
    if node is not None:
        return Premise("node", node, None, where, env, target.captured)
    return Premise("formula", None, target.expr, where, env, target.captured)


def _node(universe: Universe, evaluator: Evaluator, expr: s.Expr, env: Env) -> Element | None:
    if isinstance(expr, s.Name) and expr.id not in env:
        value = universe.names.get(expr.id)
        return value if isinstance(value, Element) and value.sort in {"Certificate", "Artifact", "Input"} else None
    if isinstance(expr, s.Call) and (expr.name in universe.slots or expr.name in universe.certificate_decls):
        return universe.instances.get((expr.name, tuple(evaluator.static(a, env) for a in expr.args)))
    return None
