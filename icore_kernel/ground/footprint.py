"""What the theory may ask about a ground update: its static read and write sets, what it issues and retracts, and by what right."""

from __future__ import annotations

from typing import TYPE_CHECKING

from icore_dsl import syntax as s
from icore_kernel.ground.primitives import Primitives, UpdateFacts
from icore_kernel.ground.values import Element
from icore_kernel.system import GroundUpdate, Kind
from icore_kernel.terms.node import Term

if TYPE_CHECKING:
    from icore_kernel.ground.effects import Draft

WORK_SLOTS = {"present", "status", "assignee", "marker", "signature"}


def footprint(p: Primitives, draft: Draft, update: GroundUpdate) -> UpdateFacts:
    bank = p.alg.bank
    facts = UpdateFacts(draft.element, bank.and_(update.when, update.requires), update.kind is Kind.ENVIRONMENT)
    mask = facts.enabled.reads
    for write in update.writes:
        mask |= write.value.reads & ~(1 << write.field.index)
    facts.reads = {element for i, element in p.slots.owner.items() if mask >> i & 1}
    for key in draft.writes:
        subject = key[1]
        if not isinstance(subject, Element):
            continue
        if key[0] in WORK_SLOTS or key[0] == "ifield":
            facts.writes.add(subject)
        elif key[0] == "relation":
            facts.writes.update(e for e in key[2:] if isinstance(e, Element))
    facts.writes.update(draft.established)
    facts.happenings = {"established": draft.established, "issued": draft.issued, "emitted": draft.emitted}
    facts.issues = set(draft.issued)
    facts.retracts = set(draft.retracted)
    for certificate in (*draft.issued, *draft.retracted):
        for claim in p.evidence.claims_of.get(certificate, ()):
            kind, args = p.evidence.info[claim.assertion]
            if kind in {"failure", "compatibility"}:
                facts.writes.add(claim.assertion)
            facts.writes.update(a for a in args if isinstance(a, Element) and a.sort == "Obligation")
    for certificate, condition in draft.issued.items():
        right = may_issue(p, draft, certificate)
        facts.may_issue[certificate] = bank.implies(condition, right)
    for certificate, condition in draft.retracted.items():
        facts.may_retract[certificate] = bank.implies(condition, may_retract(p, draft, certificate))
    touches_work = any(k[0] in WORK_SLOTS for k in draft.writes)
    facts.permitted = (update.operation in p.u.operations) if update.operation else not touches_work
    return facts


def may_issue(p: Primitives, draft: Draft, certificate: Element) -> Term:
    """Facts of the environment and of the monitor may be attached by any update; an agent's evidence only by that agent."""
    decl = p.u.certificate_decls[p.u.certificates[certificate].schema]
    if decl.issuer is None or _named(decl.issuer) in {"environment", "monitor", "any"}:
        return p.alg.bank.true
    return _is_actor(p, draft, decl.issuer, certificate)


def may_retract(p: Primitives, draft: Draft, certificate: Element) -> Term:
    """By default the environment and the issuer; else whom `revocable by` names."""
    decl = p.u.certificate_decls[p.u.certificates[certificate].schema]
    if decl.revocable_by:
        return p.alg.bank.disj([_is_actor(p, draft, e, certificate) for e in decl.revocable_by])
    if draft.actor == "environment":
        return p.alg.bank.true
    if decl.issuer is None or _named(decl.issuer) == "any":
        return p.alg.bank.true
    return _is_actor(p, draft, decl.issuer, certificate)


def _is_actor(p: Primitives, draft: Draft, who: s.Expr, certificate: Element) -> Term:
    named = _named(who)
    if named == "any":
        return p.alg.bank.true
    if named in {"environment", "monitor"}:
        return p.alg.bank.boolean(draft.actor == named)
    if draft.agent is None:
        return p.alg.bank.false
    return p.alg.boolean(p.alg.equal(p.ev.value(who, p.certificate_env(certificate), False), draft.agent))


def _named(expr: s.Expr) -> str | None:
    return expr.id if isinstance(expr, s.Name) else None
