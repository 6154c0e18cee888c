"""A run of Algorithm 1 apart from its lines: what it is made of, how it is begun and ended, and what several of its lines need."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from icore_kernel.audit.auditor import Audit, Auditor, Disagreement
from icore_kernel.audit.diagnosis import FLAG, NOTHING_ENABLED, PATIENCE, QUALITY, REASSIGN, Diagnostician
from icore_kernel.audit.frame import Frame, Outcome, Parameters
from icore_kernel.audit.host import GivenUp, Host, Json, Proposal, require_recordable
from icore_kernel.audit.judge import Violation
from icore_kernel.audit.label import recordable
from icore_kernel.audit.views import Views
from icore_kernel.record.entry import RecordError

NOT_ASKED = Proposal(problem="nobody was asked")
BUDGET_REPORT = "terminal(budget)"
LONGEST_REASON = 1_000
"""Characters that are kept of why a host gives up, or has no answer."""


class Course(ABC):
    """One run over an auditor's package. Its lines are those of `loop.Loop`."""

    def __init__(self, auditor: Auditor, host: Host, parameters: Parameters, request: str | None = None) -> None:
        self.auditor, self.host, self.parameters, self.request = auditor, host, parameters, request
        self.diagnostician = Diagnostician(auditor)
        self.views = Views(auditor, parameters.budget, host.features)
        self.frame = Frame(auditor.state, next=auditor.state, x_minus=auditor.state)

    def run(self) -> Outcome:
        """The listing, until one of its returns. Where solver and evaluation differ it ends as INTERNAL, and the record says in what.

        A host that gives up ends it as INCOMPLETE. What a host raises else is raised again, after the record says that the run was
        interrupted.
        """
        try:
            return self.listing()
        except Disagreement:
            return self._end(Outcome.INTERNAL, 0)
        except GivenUp as gone:
            return self._end(Outcome.INCOMPLETE, 0, recordable(str(gone), LONGEST_REASON))
        except KeyboardInterrupt:
            if outcome := self.interrupted():
                return outcome
            raise
        except RecordError:
            raise
        except Exception:
            self.interrupted()
            raise

    def interrupted(self) -> Outcome | None:
        """End the record, where it has no end. An interruption comes anywhere: before the opening (then there is nothing to end, and None),
        between a commit and `adopt`, after the end, and while this is done, which is then done again."""
        last = self.auditor.catch_up()
        if last is None:
            return None
        return Outcome(last.body["outcome"]) if last.kind == "end" else self._end(Outcome.INTERRUPTED, 0)

    @abstractmethod
    def listing(self) -> Outcome:
        """Algorithm 1, until one of its returns."""

    # ---- what several lines need -------------------------------------------------------------------------------------------
    def _triggers(self) -> tuple[str, ...]:
        """The five conditions of line 26, as far as they hold. U is that of line 8."""
        f = self.frame
        q = f.q
        held = {
            NOTHING_ENABLED: not f.u,
            PATIENCE: f.h >= self.parameters.patience,
            FLAG: self.diagnostician.required_flag() is not None or (q is not None and bool(q.unsound)),
            REASSIGN: q is not None and bool(q.unstable),
            QUALITY: q is not None and q.quality < self.parameters.threshold,
        }
        return tuple(name for name, holds in held.items() if holds)

    def _as(self, kind: type[object], answer: object, method: str, or_none: bool = False) -> Any:
        """What a host answers. TypeError where it is of no kind that the protocol knows, as where a method returns nothing; CanonicalError
        where its `outside`, which may have grown since, cannot be recorded."""
        if isinstance(answer, Proposal):
            require_recordable(answer.outside)
        if isinstance(answer, kind) or (or_none and answer is None):
            return answer
        what = "nothing" if answer is None else f"a {type(answer).__name__}"
        raise TypeError(f"the host {self.host.name!r} answers {what} to {method}(), where a {kind.__name__} is expected")

    def _proposer(self) -> str:
        choice = self.frame.choice
        return "" if choice is None else recordable(choice.agent)

    @staticmethod
    def _answered(proposal: Proposal, audit: Audit, most: int | None) -> Audit:
        """An answer that cannot be used is a violation of its own; so are more steps than were asked for."""
        if proposal.problem:
            return Audit((), (Violation("answer", "", recordable(proposal.problem, LONGEST_REASON)),))
        if most is not None and len(proposal.steps) > most:
            return Audit(audit.steps, (Violation("answer", "", f"{len(proposal.steps)} steps proposed, one is asked for"),), audit.core)
        return audit

    def _commit(self, audit: Audit, number: int, agent: str, phase: str, outside: Mapping[str, Json]) -> tuple[int, ...]:
        """X+. A legal proposal without steps (the agent waits) is recorded, and changes nothing."""
        if not audit.steps:
            self.auditor.store.append("wait", {"t": self.frame.t, "line": number, "phase": phase, "agent": agent, "outside": dict(outside)})
            return tuple(self.frame.x)
        for receipt in self.auditor.commit(audit, line=number, round=self.frame.t, agent=agent, phase=phase, outside=outside):
            self.views.tell(receipt.entry, agent, f"{receipt.update} committed")
        after = audit.after
        assert after is not None
        return tuple(after)

    def _end(self, outcome: Outcome, number: int, because: str = "") -> Outcome:
        """`because`: why the run ends where the listing would go on, for the record."""
        body: dict[str, Json] = {"outcome": outcome.value, "line": number, "t": self.frame.t, "state": self.auditor.state_digest}
        if because:
            body["because"] = because
        self.auditor.store.append("end", body)
        return outcome


def named(proposal: Proposal) -> str:
    """What is proposed, for messages."""
    return "; ".join(s.update or "a change of " + ", ".join(s.changes) for s in proposal.steps) or "no answer"


def why(audit: Audit) -> str:
    """The first thing that a proposal breaks, for messages."""
    return audit.violations[0].said if audit.violations else "for no reason"
