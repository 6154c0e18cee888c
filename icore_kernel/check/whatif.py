"""`whatif`: a state in which a certificate counts, and what revoking it there would cost."""

from __future__ import annotations

from dataclasses import dataclass

from icore_kernel.check.plan import conjunction
from icore_kernel.check.reasons import reasons_of
from icore_kernel.explore.model import Rules, Watchlist
from icore_kernel.explore.search import explore
from icore_kernel.load import GOAL, Loaded, UsageError
from icore_kernel.prove.steps import Steps
from icore_kernel.prove.whatif import Loss, UnknownCertificate, certificate_named, is_active, loss, rests_on, without
from icore_kernel.runs import run_to
from icore_kernel.system import Clause
from icore_kernel.terms.node import Term
from icore_kernel.verdict import Reason, Run

MOST_STATES = 2_000_000


@dataclass(frozen=True)
class WhatIf:
    """`run` leads to the state; `where` says which it is. `reasons`: why each clause fails. `sets`: minimal sets that `stands` rests on."""

    certificate: str
    where: str
    run: Run
    loss: Loss
    reasons: tuple[Reason, ...]
    stands: str
    sets: tuple[tuple[str, ...], ...]


def what_if(loaded: Loaded, name: str, seconds: float | None = None) -> WhatIf:
    """Revoke the certificate in the first state that satisfies the goal `loaded` was read with, else in the first with Acc, or with
    Rej, in which it is active; else in the first in which it is active at all. UsageError where there is none."""
    system, bank = loaded.system, loaded.bank
    steps = Steps(system, bank)
    try:
        field = certificate_named(system, name)
    except UnknownCertificate as wrong:
        raise UsageError(str(wrong)) from wrong
    accept = conjunction(bank, system.accept, system)
    reject = conjunction(bank, system.reject, system)
    active = is_active(steps, field)
    asked = [p.formula for p in system.properties if p.name == GOAL]
    wanted: list[tuple[str, Term]] = [("the first state that was asked for", bank.and_(active, *asked))] if asked else [
        ("the first state with Acc", bank.and_(active, accept)),
        ("the first state with Rej", bank.and_(active, reject)),
        ("the first state in which it is active", active),
    ]  # fmt: skip
    watchlist = Watchlist(seen=tuple((where, formula) for where, formula in wanted))
    found = explore(system, watchlist, Rules(max_states=MOST_STATES, timeout=seconds, stop_on=frozenset({wanted[0][0]})))
    for where, _ in wanted:
        first = found.seen[where].first
        if first is not None:
            break
    else:
        what = "in no state that was asked for" if asked else "in no reachable state"
        raise UsageError(f"{field.name} is active {what}{f' that was searched ({found.stopped})' if found.stopped else ''}")
    state = found.store.state(first)
    standing = [("Acc", accept), ("Rej", reject)]
    standing += [(f"{c.label} {c.instance}".strip(), c.formula) for c in system.outcomes if c.label.startswith("discharge")]
    lost = loss(steps, state, field, standing, accept)
    after = without(state, field)
    reasons = tuple(r for clause, instance in lost.clauses for r in reasons_of(system, _one(clause, instance), after))
    stands = "Acc" if _holds(accept, state) else "Rej" if _holds(reject, state) else ""
    sets = rests_on(steps, state, accept if stands == "Acc" else reject) if stands else ()
    return WhatIf(field.name, where, run_to(found, first), lost, reasons, stands, sets)


def _one(clause: Clause, instance: str) -> Clause:
    """The clause, of one instance."""
    formula = dict(clause.instances).get(instance, clause.formula)
    return Clause(clause.label, formula, clause.text, clause.spans, instance)


def _holds(formula: Term, state: tuple[int, ...]) -> bool:
    from icore_kernel.meaning import scalar

    return bool(scalar.evaluate(formula, state))
