"""Line 10: is what a host schedules one that can be asked? (m, rho) names somebody of the package and an occurrence that was offered.

The paper leaves Schedule to the host ("only the host-policy interface", section 5), and takes for granted that m is an agent of M_D and
rho one of U. Where they are not, nobody is asked (lines 11 and 12), and line 20 records the schedule as rejected (decision 52).
"""

from __future__ import annotations

from collections.abc import Sequence

from icore_kernel.audit.host import Candidate, Choice
from icore_kernel.audit.judge import Violation
from icore_kernel.audit.label import actors, no_agent, recordable
from icore_kernel.audit.tables import Tables

CLAUSE = "schedule"
"""What a wrong schedule breaks, in the record."""


def unscheduled(choice: Choice | None, tables: Tables, offered: Sequence[Candidate]) -> Violation | None:
    """Why nobody can be asked; None where somebody can. `offered`: U of line 8, and what else may be attempted."""
    if choice is None:
        return Violation(CLAUSE, "", "line 10 schedules nobody, and something is enabled")
    if choice.agent not in actors(tables):
        return Violation(CLAUSE, "", f"line 10 schedules {no_agent(choice.agent, tables)}")
    if all(choice.candidate.number != c.number for c in offered):
        update = recordable(choice.candidate.update)
        return Violation(CLAUSE, update, f"line 10 schedules {update}, and that is none of what may be attempted now")
    return None
