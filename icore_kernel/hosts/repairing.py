"""Any host, whose recoveries are found by repair synthesis (audit/repair.py) where it has none of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from icore_kernel.audit.auditor import Auditor
from icore_kernel.audit.host import Candidate, Choice, Host, Json, Proposal, Schedule, View

DEPTH = 4


class RepairHost:
    """Schedules and steps as the inner host does. A recovery is the inner host's where it proposes one (`always`: it is not asked),
    else the smallest legal one that Z3 finds in up to `depth` steps; where it certifies that there is none, that is the answer, and
    nothing is proposed.

    What was found stands in the record beside the proposal, under `repair`. It is audited like anybody's proposal.
    """

    def __init__(self, inner: Host, auditor: Auditor, *, always: bool = False, depth: int = DEPTH) -> None:
        self.inner, self.auditor, self.always, self.depth = inner, auditor, always, depth
        self.name = f"{inner.name}, repairing"
        self.features = inner.features

    def schedule(self, round: int, enabled: Sequence[Candidate], view: Schedule) -> Choice:
        return self.inner.schedule(round, enabled, view)

    def step(self, agent: str, view: View) -> Proposal:
        return self.inner.step(agent, view)

    def revise(self, agent: str, view: View) -> Proposal:
        """`view.feedback` is the diagnosis. What the inner host said beside an empty proposal is kept."""
        from icore_kernel.audit.repair import suggest

        own = Proposal() if self.always else self.inner.revise(agent, view)
        if own.steps or view.feedback is None:
            return own
        found = suggest(self.auditor, view.feedback, self.depth)
        said: Mapping[str, Json] = {
            "said": found.reason,
            "depth": found.depth,
            "none": found.none,
            "closed": found.closed,
            "steps": list(found.words),
            "cost": str(found.cost),
            "loss": None if found.loss is None else str(found.loss),
        }
        if not found.steps:
            return Proposal((), {**own.outside, "repair": dict(said)}, own.problem or found.reason)
        return Proposal(found.steps, {**own.outside, "repair": dict(said), **({"problem": own.problem} if own.problem else {})})
