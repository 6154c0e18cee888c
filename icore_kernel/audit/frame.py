"""The variables of Algorithm 1, and what a run of it is given and comes to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction

from icore_kernel.audit.auditor import Audit
from icore_kernel.audit.diagnosis import Diagnostics
from icore_kernel.audit.host import Candidate, Choice, Diagnosis, Json, Proposal, View
from icore_kernel.audit.judge import Violation
from icore_kernel.audit.label import Labelled
from icore_kernel.audit.tables import Settings
from icore_kernel.explore.model import State
from icore_kernel.load import UsageError
from icore_kernel.record.canonical import LARGEST


class Outcome(Enum):
    """What a run returns. INTERNAL and INTERRUPTED are no returns of the listing: the record is whole, and says why it ends."""

    ACCEPT = "accept"
    REJECT = "reject"
    STUCK = "stuck"
    BUDGET = "budget"
    INCOMPLETE = "incomplete"
    INTERNAL = "internal"
    INTERRUPTED = "interrupted"


class WrongParameter(UsageError, ValueError):
    """A number that line 0 cannot be given."""


PATIENCE, BUDGET = 3, 100
"""H and B where neither the package nor the caller says."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """What line 0 is given beside u0 and D: the threshold tau, patience H (at least 1), budget B. Epsilon is the package's `tolerance`."""

    threshold: Fraction
    patience: int
    budget: int

    @staticmethod
    def of(settings: Settings, *, threshold: Fraction | None = None, patience: int | None = None, budget: int | None = None) -> Parameters:
        """The caller's, else the package's, else tau = 0, H = 3, B = 100. WrongParameter for a number that makes no sense."""
        tau = threshold if threshold is not None else settings.threshold if settings.threshold is not None else Fraction(0)
        most = patience if patience is not None else settings.patience if settings.patience is not None else PATIENCE
        rounds = budget if budget is not None else settings.budget if settings.budget is not None else BUDGET
        if not 0 <= tau <= 1:
            raise WrongParameter(f"the quality threshold lies between 0 and 1, not {tau}")
        if most < 1 or rounds < 0:
            raise WrongParameter("patience is at least 1, and the budget at least 0")
        if max(most, rounds) > LARGEST:
            raise WrongParameter(f"patience and budget are at most {LARGEST:,}")
        return Parameters(tau, most, rounds)


UNAUDITED = Audit((), ())


@dataclass(slots=True)
class Frame:
    """The listing's variables under the paper's names where they have one; those with a tilde or a subscript are spelt out."""

    x: State
    """X"""
    h: int = 0
    t: int = -1
    u: tuple[Candidate, ...] = ()
    """U of line 8, and what else could be attempted."""
    attempts: tuple[Candidate, ...] = ()
    choice: Choice | None = None
    """(m, rho)"""
    unscheduled: Violation | None = None
    """What is wrong with (m, rho), so that nobody is asked."""
    view: View | None = None
    """L"""
    proposal: Proposal = field(default_factory=Proposal)
    """(o, C)"""
    labelled: tuple[Labelled, ...] = ()
    """X~"""
    audit: Audit = UNAUDITED
    """E, with what was audited"""
    next: State = ()
    """X+"""
    q: Diagnostics | None = None
    triggers: tuple[str, ...] = ()
    """The conditions of line 26 that hold."""
    diagnosis: Diagnosis | None = None
    """F"""
    x_minus: State = ()
    matched: Mapping[str, Fraction] = field(default_factory=dict)
    """W_F"""
    responsible: str = ""
    """m_f"""
    feedback: View | None = None
    """L_f"""
    revision: Proposal = field(default_factory=Proposal)
    """(o_f, C_f)"""
    candidate: tuple[Labelled, ...] = ()
    """X_f"""
    recovery: Audit = UNAUDITED
    """E_f"""


def diagnosis_json(frame: Frame, diagnosis: Diagnosis) -> dict[str, Json]:
    """Lines 27 to 29, for the record: what information was supplied, and to whom."""
    q = frame.q
    components: list[Json] = [
        {
            "component": f.component, "status": f.status, "assignee": f.assignee, "missing": list(f.missing),
            "alternatives": [[agent, str(gain)] for agent, gain in f.alternatives],
        }
        for f in diagnosis.findings
    ]  # fmt: skip
    return {
        "t": frame.t,
        "line": 27,
        "kind": diagnosis.kind,
        "triggers": list(diagnosis.triggers),
        "soundness": None if q is None else str(q.soundness),
        "stability": None if q is None else str(q.stability),
        "quality": None if q is None else str(q.quality),
        "h": frame.h,
        "flag": diagnosis.flag,
        "components": components,
        "matched": {name: str(weight) for name, weight in frame.matched.items()},
        "responsible": frame.responsible,
    }
