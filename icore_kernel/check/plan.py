"""Which questions one search has to answer, by id."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from icore_kernel.explore.model import Watchlist
from icore_kernel.system import Clause, PropertyKind, System
from icore_kernel.terms.node import Term
from icore_kernel.terms.term import TermBank

FEASIBILITY, SOUNDNESS, INVARIANT, SEEN, ANTECEDENT, WATCH, CONCLUSION = (
    "feasibility", "soundness", "invariant", "seen", "antecedent", "watch", "conclusion",
)  # fmt: skip


ON_GRAPH = frozenset(
    {
        PropertyKind.TERMINATION, PropertyKind.SETTLEMENT, PropertyKind.STABILITY, PropertyKind.EVENTUALLY, PropertyKind.LEADSTO,
        PropertyKind.CONTROLLABLE,
    }
)  # fmt: skip
"""Kinds that are decided on the step graph of a whole exploration, or not at all."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The watchlist of a check, and the terminal predicates it was made with."""

    watchlist: Watchlist
    accept: Term
    reject: Term
    stuck: Term
    hypotheses: Term


def conjunction(bank: TermBank, clauses: tuple[Clause, ...], system: System) -> Term:
    """A terminal predicate: false where the package has no obligations or the theory no such clause."""
    if not clauses or not system.has_obligations:
        return bank.false
    return bank.conj([c.formula for c in clauses])


UNRESOLVED = frozenset({"open", "ready", "blocked", "submitted"})
"""Statuses of work that is not settled."""


def excused(system: System, bank: TermBank) -> Term:
    """`allow dead_end w`: work is left unresolved, and all of it is named so. A family's name stands for each of its members."""
    named = {subject for kind, subject, _ in system.allowed if kind == "dead_end" and subject is not None}
    if not named:
        return bank.false
    present = {f.name: f for f in system.fields if f.kind == "present"}
    left: dict[bool, list[Term]] = {True: [], False: []}
    for field in system.fields:
        if field.kind != "status":
            continue
        work = field.name.removeprefix("status(").removesuffix(")")
        status = bank.variable(field.name, field.index, field.domain.lo, field.domain.hi, False)
        unresolved = bank.member(status, [code for code, name in enumerate(field.domain.names, field.domain.lo) if name in UNRESOLVED])
        there = present.get(f"present({work})")
        if there is not None:
            unresolved = bank.and_(unresolved, bank.variable(there.name, there.index, 0, 1, True))
        left[not named.isdisjoint({work, work.partition("[")[0]})].append(unresolved)
    return bank.and_(bank.disj(left[True]), *(bank.not_(other) for other in left[False]))


def allowed_ends(system: System, bank: TermBank) -> Term:
    """Of the states where nothing productive can follow, those in which the package allows that (`allow dead_end`)."""
    everywhere = any(kind == "dead_end" and subject is None for kind, subject, _ in system.allowed)
    return bank.true if everywhere else excused(system, bank)


def why_allowed(system: System) -> tuple[str, ...]:
    """The reasons that the package gives for its dead ends: one for all of them, else one a name."""
    given = [(subject, reason) for kind, subject, reason in system.allowed if kind == "dead_end"]
    for subject, reason in given:
        if subject is None:
            return (reason,)
    return tuple(f"{subject} ({reason})" for subject, reason in given)


def make_plan(system: System, bank: TermBank) -> Plan:
    accept = conjunction(bank, system.accept, system)
    reject = conjunction(bank, system.reject, system)
    stuck = conjunction(bank, system.stuck, system)
    hypotheses = bank.conj([c.formula for c in system.hypotheses])
    checks: list[tuple[str, Term]] = []
    for kind, clauses in ((FEASIBILITY, system.feasibility), (SOUNDNESS, system.soundness)):
        checks.extend((f"{kind}:{i}", c.formula) for i, c in enumerate(clauses))
    seen: list[tuple[str, Term]] = [("accept", accept), ("reject", reject), ("stuck", stuck), ("both", bank.and_(accept, reject))]
    for i, prop in enumerate(system.properties):
        match prop.kind:
            case PropertyKind.INVARIANT:
                checks.append((f"{INVARIANT}:{i}", prop.formula))
                seen.extend((f"{ANTECEDENT}:{i}:{j}", term) for j, (term, _) in enumerate(prop.antecedents))
            case PropertyKind.REACHABLE | PropertyKind.UNREACHABLE:
                seen.append((f"{SEEN}:{i}", prop.formula))
            case PropertyKind.LEADSTO:
                seen.extend((f"{ANTECEDENT}:{i}:{j}", term) for j, (term, _) in enumerate(prop.antecedents))
            case PropertyKind.TERMINATION | PropertyKind.SETTLEMENT | PropertyKind.STABILITY:
                continue
            case PropertyKind.EVENTUALLY | PropertyKind.CONTROLLABLE | PropertyKind.SYMMETRY | PropertyKind.UNDECIDED:
                continue
            case _:
                assert_never(prop.kind)
    seen.extend((f"{WATCH}:{i}", watch.formula) for i, watch in enumerate(system.watches))
    for i, clause in enumerate(system.conclusions):
        checks.append((f"{CONCLUSION}:{i}", bank.implies(hypotheses, clause.formula)))
    seen.extend((f"hypothesis:{i}", clause.formula) for i, clause in enumerate(system.hypotheses))
    seen.append(("hypotheses", hypotheses))
    watchlist = Watchlist(
        checks=tuple(checks),
        seen=tuple(seen),
        minimums=system.measures,
        ends=(accept, reject, stuck, excused(system, bank)) if system.has_obligations else (bank.true,),
        final=(accept, reject) if system.has_obligations else (),
        outcomes=system.outcomes,
    )
    return Plan(watchlist, accept, reject, stuck, hypotheses)
