"""Why an occurrence is illegal, where no evidence could make it legal: nothing claims an assertion, or nothing issues what does.

Such evidence is constant, so the clauses that ask for it fold to conditions on the work alone: they seem to forbid the work.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from icore_kernel.check.reasons import failing_parts, reasons_of, work_changed
from icore_kernel.explore.model import Failing, Phase, State
from icore_kernel.load import Loaded
from icore_kernel.meaning import scalar
from icore_kernel.system import Clause, System
from icore_kernel.terms.node import Term
from icore_kernel.verdict import Reason

LATER = frozenset({Phase.AFTER, Phase.FEASIBILITY})
"""Phases whose clauses are about the state after the step."""


@dataclass(frozen=True, slots=True)
class Gap:
    """An assertion made after a step that nothing can justify. `certificate` would, but nothing issues it; empty: none claims the
    assertion. `carrier` is the bit of the field that makes it."""

    assertion: str
    certificate: str
    carrier: int

    @property
    def lacks(self) -> str:
        if not self.certificate:
            return f"a certificate that claims {self.assertion}: none does"
        return f"{self.assertion} rests on {self.certificate} and active({self.certificate}), which no update that can happen issues"


def reasons(loaded: Loaded, failing: Sequence[Failing], shown: Iterable[Failing], before: State, after: State) -> list[Reason]:
    """Of those `shown` of all `failing` clauses of a step, why they fail."""
    system = loaded.system
    meant = work_changed(system, before, after)
    missing = gaps(loaded, failing, after)
    found: list[Reason] = []
    for phase, clause in shown:
        if phase not in LATER:
            found.extend(reasons_of(system, clause, before))
            continue
        found.extend(_said(clause, reason, missing, meant, after) for reason in reasons_of(system, clause, after, meant))
    return found


def gaps(loaded: Loaded, failing: Iterable[Failing], after: State) -> list[Gap]:
    """Of the assertions that failing clauses speak of, those that nothing can justify with the value they have after the step."""
    names = {
        name: None
        for phase, clause in failing
        if phase in LATER
        for name, term in clause.instances
        if not scalar.evaluate(term, after)
    }
    return [gap for name in names if (gap := _gap(loaded, name, after)) is not None]


def _gap(loaded: Loaded, name: str, after: State) -> Gap | None:
    known = None if loaded.grounded is None else loaded.grounded.claimed(name)
    if known is None or known.carrier is None:
        return None
    carrier = known.carrier
    value = carrier.domain.show(after[carrier.index])
    fitting = [c for c in known.claimants if c.values is None or value in c.values]
    issued = _issued(loaded.system)
    if any(c.starts or c.certificate in issued for c in fitting):
        return None
    stated = name if any(c.values is None for c in known.claimants) or not known.claimants else f"{name} is {value}"
    return Gap(name if fitting else stated, fitting[0].certificate if fitting else "", 1 << carrier.index)


def _issued(system: System) -> set[str]:
    """The certificates that some update writes."""
    return {write.field.name for update in system.updates for write in update.writes if write.field.kind == "certificate"}


def _said(clause: Clause, reason: Reason, missing: Sequence[Gap], meant: int, after: State) -> Reason:
    """With what is missing, where all that fails was meant to be as it is."""
    term: Term = dict(clause.instances).get(reason.instance, clause.formula)
    named = [gap for gap in missing if gap.assertion.partition(" is ")[0] == reason.instance]
    about = named or [gap for gap in missing if gap.carrier & term.reads]
    if not about or (not named and any(part.reads & ~meant for part, _ in failing_parts(term, after))):
        return reason
    return replace(reason, text=clause.text or reason.text, nearest=" and ".join(gap.lacks for gap in about))
