"""The table from the primitive words of spec/0-builtins.icore to what they mean on slots."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

from icore_dsl.mistakes import G009
from icore_kernel.ground.relations import CONTRIBUTES
from icore_kernel.ground.slots import Free
from icore_kernel.ground.values import Element, GroundingError, Value
from icore_kernel.terms.node import Term

if TYPE_CHECKING:
    from icore_kernel.ground.primitives import Primitives, UpdateFacts


def table(p: Primitives) -> dict[str, Callable[..., Value]]:
    words: dict[str, Callable[..., Value]] = {
        "present": lambda x: present(p, x),
        "status": lambda w: _work_slot(p, "status", w),
        "assignee": lambda w: _work_slot(p, "assignee", w),
        "marker": lambda w: _work_slot(p, "marker", w),
        "as_declared": lambda w: as_declared(p, w),
        "required": lambda w: isinstance(w, Element) and p.u.works[w].required,
        "weight": lambda w: p.u.works[w].statics["weight"] if isinstance(w, Element) else Fraction(0),
        "live": lambda z: p.artifact(z, "live") if isinstance(z, Element) else False,
        "active": lambda c: p.lifecycle(c, "active"),
        "pending": lambda c: p.lifecycle(c, "pending"),
        "revoked": lambda c: p.lifecycle(c, "revoked"),
        "superseded": lambda c: p.lifecycle(c, "superseded"),
        "starts": lambda c: starts(p, c),
        "in_scope": lambda c: p.rule(c, "scope"),
        "accepted_by_rule": lambda c: p.rule(c, "valid"),
        "current": lambda c: p.rule(c, "current"),
        "conditions": p.conditions,
        "premise": p.premise,
        "claims": p.claim_holds,
        "under": p.under,
        "neutralizes": p.neutralizes,
        "holds": lambda a: holds(p, a),
        "about": lambda a, w: a in p.evidence.about.get(w, ()),
        "node_of": lambda w: p.evidence.assertion("node", (w,)),
        "status_of": lambda w: p.evidence.assertion("status", (w,)),
        "assignment_of": lambda w: p.evidence.assertion("assignment", (w,)),
        "coverage_of": lambda w, r: p.evidence.assertion("coverage", (w, r)),
        "compatibility_of": lambda w: p.evidence.assertion("compatibility", (w,)),
        "removal_of": lambda w: p.evidence.assertion("removal", (w,)),
        "failure_of": lambda w: p.evidence.assertion("failure", (w,)),
        "accept_report": lambda: _report(p, "accept"),
        "reject_report": lambda: _report(p, "reject"),
        "stuck_report": lambda: _report(p, "stuck"),
        "enabled": lambda u: p.alg.truth(_facts(p, u).enabled),
        "by_environment": lambda u: _facts(p, u).environment,
        "reads": lambda u, x: x in _facts(p, u).reads,
        "writes": lambda u, x: x in _facts(p, u).writes,
        "issues": lambda u, c: c in _facts(p, u).issues,
        "retracts": lambda u, c: c in _facts(p, u).retracts,
        "may_issue": lambda u, c: _granted(p, _facts(p, u).may_issue, c),
        "may_retract": lambda u, c: _granted(p, _facts(p, u).may_retract, c),
        "permitted": lambda u: _facts(p, u).permitted,
        "feasible": lambda m, w: p.value_at("feasible", m, w),
        "value": lambda m, w: p.value_at("value", m, w),
        "truth": lambda m, w: p.value_at("truth", m, w),
        "feasible_then": lambda m, w: p.value_then("feasible", m, w),
        "value_then": lambda m, w: p.value_then("value", m, w),
        "tolerance": lambda: p.audit.get("tolerance", Fraction(0)),
        "floor": lambda: p.audit.get("floor", Fraction(0)),
        "feasible_state": lambda: _conjunction(p, "feasibility"),
        "accept": lambda: _conjunction(p, "accept"),
        "reject": lambda: _conjunction(p, "reject"),
        "stuck": lambda: _conjunction(p, "stuck"),
    }
    words.update({name: p.relations.contribution(name) for name in CONTRIBUTES})
    missing = p.u.primitives.keys() - words.keys()
    if missing:
        raise GroundingError(G009, f"the theory asks for words that the kernel does not supply: {', '.join(sorted(missing))}")
    return words


def present(p: Primitives, x: Value) -> Value:
    if not isinstance(x, Element):
        return False
    if x.sort == "Artifact":
        return p.artifact(x, "live", "spent")
    return p.alg.truth(p.slots.truth(("present", x)))


def _work_slot(p: Primitives, kind: str, w: Value) -> Value:
    return p.slots.value((kind, w)) if isinstance(w, Element) else None


def as_declared(p: Primitives, w: Value) -> Value:
    """Whether the fields of a piece of work but its presence have the values that its declaration gives them."""
    keys = [k for kind in ("status", "assignee", "marker", "signature") for k in p.slots.keys_of(kind, w)]
    known = [p.slots.known[k] for k in keys]
    return p.alg.all_of(p.alg.equal(p.slots.value(s.key), s.initial) for s in known if not isinstance(s.initial, Free))


def starts(p: Primitives, c: Value) -> Value:
    if not isinstance(c, Element):
        return False
    initial = p.slots.known["certificate", c].initial
    return isinstance(initial, Element) and initial.name == "active"


def _report(p: Primitives, kind: str) -> Value:
    for assertion, (name, args) in p.evidence.info.items():
        if name == "terminal" and isinstance(args[0], Element) and args[0].name == kind:
            return assertion
    return None


def holds(p: Primitives, assertion: Value) -> Value:
    """Whether a work-level assertion is made now (A.3; design 3, Assertions)."""
    if not isinstance(assertion, Element):
        return False
    kind, args = p.evidence.info[assertion]
    work = args[0]
    match kind:
        case "node" | "status":
            return present(p, work)
        case "assignment":
            return p.alg.all_of([present(p, work), p.alg.not_(p.alg.equal(_work_slot(p, "assignee", work), None))])
        case "signature":
            fields = [p.slots.value(k) for k in p.slots.keys_of("signature", work)]
            return p.alg.all_of([present(p, work), p.alg.any_of(p.alg.not_(p.alg.equal(v, None)) for v in fields)])
        case "relation":
            return p.relation(str(work), args[1], args[2])
        case "coverage":
            root = args[1]
            if not (isinstance(root, Element) and p.u.works[root].required):
                return False  # Cov holds required roots only, whatever a certificate claims
            accepted = p.alg.equal(_work_slot(p, "status", work), p.u.statuses["accepted"])
            return p.alg.all_of([present(p, work), present(p, root), accepted, p.closure("cov", True, root, work, True)])
        case "compatibility" | "failure":
            return p.any_active(assertion)
        case "removal":
            return p.alg.not_(p.alg.equal(_work_slot(p, "marker", work), None))
        case "terminal":
            return p.alg.truth(p.slots.truth(("reported", str(work))))
    raise GroundingError(G009, f"unknown kind of assertion: {kind}")


def _facts(p: Primitives, update: Value) -> UpdateFacts:
    if not isinstance(update, Element):
        raise GroundingError(G009, "not an update")
    return p.updates[update]


def _granted(p: Primitives, rights: dict[Element, Term], certificate: Value) -> Value:
    found = rights.get(certificate) if isinstance(certificate, Element) else None
    return True if found is None else p.alg.truth(found)


def _conjunction(p: Primitives, kind: str) -> Value:
    return p.alg.truth(p.conjunctions[kind]())
