"""Algorithm 1 (A.10), line by line: iCORE-Audit with state-grounded agent feedback.

`Loop.run` is the paper's listing: every executable line is a method that is called where the listing has it, and the
listing's variables are the fields of a `Frame`. Lines 7, 19, 21, 22, 24, 37 and 41 to 44 are `else` and `end`.

| Line | The paper | Step |
|---|---|---|
| 1 | X <- Init(u0); h <- 0 | `initialise` |
| 2 | for t = 0 .. B-1 | `next_round` |
| 3 | if Acc(X) | `accepts` |
| 4 | return Accept | `return_accept` |
| 5 | else if Rej(X) | `rejects` |
| 6 | return Reject | `return_reject` |
| 8 | U <- EnabledProd(X) | `enabled_productive` |
| 9 | if U is not empty | `something_enabled` |
| 10 | (m, rho) <- Schedule(X, U) | `schedule` |
| 11 | L <- LocalView(X, rho) | `local_view` |
| 12 | (o, C) <- AgentStep(m, L) | `agent_step` |
| 13 | X~ <- LabelUpdate(X, rho, m, o, C) | `label_update` |
| 14 | E <- AuditOrdinary(X, X~) | `audit_ordinary` |
| 15 | if E is empty | `ordinary_is_legal` |
| 16 | X+ <- Commit(X~) | `commit_ordinary` |
| 17 | h <- 0 if Progress(X, X+), else h + 1 | `count_ordinary` |
| 18 | X <- X+ | `move_on` |
| 20 | X <- RecordFailure(X, X~, E); h <- h + 1 | `record_failure` |
| 23 | h <- h + 1 | `count_nothing_enabled` |
| 25 | q <- cq(X) | `measure` |
| 26 | if U empty or h >= H or HardFlag or BeneficialReassign or q < tau | `intervenes` |
| 27 | X- <- X; F <- Diagnose(X-); W_F <- MatchedSet(X-, F) | `diagnose` |
| 28 | m_f <- ResponsibleAgent(X-, F) | `responsible_agent` |
| 29 | L_f <- FeedbackView(X-, F) | `feedback_view` |
| 30 | (o_f, C_f) <- AgentRevise(m_f, L_f, F) | `agent_revise` |
| 31 | X_f <- LabelIntervention(X-, m_f, o_f, C_f, F) | `label_intervention` |
| 32 | E_f <- AuditRecovery(X-, X_f, F, W_F) | `audit_recovery` |
| 33 | if E_f is empty | `recovery_is_legal` |
| 34 | X+ <- Commit(X_f) | `commit_recovery` |
| 35 | h <- 0 if Progress(X-, X+), else h + 1 | `count_recovery` |
| 36 | X <- X+ | `move_on_recovered` |
| 38 | X <- RecordFeedback(X-, X_f, F, E_f); h <- h + 1 | `record_feedback` |
| 39 | if CertifiedStuck(X) | `is_stuck` |
| 40 | return Stuck | `return_stuck` |
| 45 | return CertifyBudget(X) if valid, else Incomplete | `return_budget` |

What is odd in the listing is done as it stands (spec/decisions.md): line 26 reads the U of line 8, which is older than the step;
an empty U counts twice towards patience where the recovery fails; Acc that is reached in the last round is never tested;
Stuck is tested only after a recovery that failed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from icore_kernel.audit.auditor import Audit
from icore_kernel.audit.course import BUDGET_REPORT, NOT_ASKED, Course, named, why
from icore_kernel.audit.diagnosis import ASSIGNMENT
from icore_kernel.audit.frame import Outcome, diagnosis_json
from icore_kernel.audit.host import Choice, Json, Proposal, Step
from icore_kernel.audit.recovery import progressed, recovery_violations
from icore_kernel.audit.schedule import unscheduled
from icore_kernel.system import Kind

F = TypeVar("F", bound=Callable[..., object])
LINES: dict[int, str] = {}
"""line -> the name of its step."""


def line(number: int) -> Callable[[F], F]:
    """Marks the step of one line of Algorithm 1."""

    def mark(step: F) -> F:
        LINES[number] = step.__name__
        return step

    return mark


class Loop(Course):
    """One run of Algorithm 1 over an auditor's package, with a host that keeps control of the work."""

    def listing(self) -> Outcome:
        self.initialise()
        while self.next_round():
            if self.accepts():
                if outcome := self.return_accept():
                    return outcome
            elif self.rejects() and (outcome := self.return_reject()):
                return outcome
            self.enabled_productive()
            if self.something_enabled():
                self.schedule()
                self.local_view()
                self.agent_step()
                self.label_update()
                self.audit_ordinary()
                if self.ordinary_is_legal():
                    self.commit_ordinary()
                    self.count_ordinary()
                    self.move_on()
                else:
                    self.record_failure()
            else:
                self.count_nothing_enabled()
            self.measure()
            if self.intervenes():
                self.diagnose()
                self.responsible_agent()
                self.feedback_view()
                self.agent_revise()
                self.label_intervention()
                self.audit_recovery()
                if self.recovery_is_legal():
                    self.commit_recovery()
                    self.count_recovery()
                    self.move_on_recovered()
                else:
                    self.record_feedback()
                    if self.is_stuck() and (outcome := self.return_stuck()):
                        return outcome
        return self.return_budget() or Outcome.INCOMPLETE

    # ---- lines 1 to 6 ------------------------------------------------------------------------------------------------------
    @line(1)
    def initialise(self) -> None:
        self.frame.x, self.frame.h = self.auditor.state, 0
        p, settings = self.parameters, self.auditor.tables.settings
        algorithm: dict[str, Json] = {
            "tolerance": str(settings.tolerance), "floor": str(settings.floor), "threshold": str(p.threshold),
            "patience": p.patience, "budget": p.budget, "host": self.host.name,
        }  # fmt: skip
        self.auditor.open(algorithm, self.request)

    @line(2)
    def next_round(self) -> bool:
        self.frame.t += 1
        return self.frame.t < self.parameters.budget

    @line(3)
    def accepts(self) -> bool:
        return self.auditor.holds(self.auditor.system.accept)

    @line(4)
    def return_accept(self) -> Outcome:
        return self._end(Outcome.ACCEPT, 4)

    @line(5)
    def rejects(self) -> bool:
        return self.auditor.holds(self.auditor.system.reject)

    @line(6)
    def return_reject(self) -> Outcome:
        return self._end(Outcome.REJECT, 6)

    # ---- lines 8 to 25: one ordinary proposal ----------------------------------------------------------------------------------
    @line(8)
    def enabled_productive(self) -> None:
        self.frame.u, self.frame.attempts = self.views.candidates(self.frame.x)

    @line(9)
    def something_enabled(self) -> bool:
        return bool(self.frame.u)

    @line(10)
    def schedule(self) -> None:
        f = self.frame
        f.choice = self._as(Choice, self.host.schedule(f.t, f.u, self.views.schedule(f.x, f.attempts, f.u)), "schedule", or_none=True)
        f.unscheduled = unscheduled(f.choice, self.auditor.tables, (*f.u, *f.attempts))

    @line(11)
    def local_view(self) -> None:
        f = self.frame
        f.view = None if f.choice is None or f.unscheduled else self.views.local(f.x, f.t, f.choice, f.u, f.attempts)

    @line(12)
    def agent_step(self) -> None:
        f = self.frame
        f.proposal = NOT_ASKED if f.view is None else self._as(Proposal, self.host.step(f.view.agent, f.view), "step")

    @line(13)
    def label_update(self) -> None:
        f = self.frame
        # An ordinary proposal is one update; more are for a recovery.
        f.labelled = self.auditor.label(self._proposer(), f.proposal.steps[:1])

    @line(14)
    def audit_ordinary(self) -> None:
        f = self.frame
        f.audit = Audit((), (f.unscheduled,)) if f.unscheduled else self._answered(f.proposal, self.auditor.audit(f.labelled), most=1)

    @line(15)
    def ordinary_is_legal(self) -> bool:
        return not self.frame.audit.violations

    @line(16)
    def commit_ordinary(self) -> None:
        f = self.frame
        f.next = self._commit(f.audit, 16, self._proposer(), "ordinary", f.proposal.outside)

    @line(17)
    def count_ordinary(self) -> None:
        f = self.frame
        f.h = 0 if progressed(self.auditor.facts, self.auditor.tables, f.x, f.next) else f.h + 1

    @line(18)
    def move_on(self) -> None:
        f = self.frame
        f.x = f.next
        self.auditor.adopt(f.x)
        self.auditor.settle_flags(self.auditor.established(f.audit.steps))

    @line(20)
    def record_failure(self) -> None:
        f = self.frame
        agent = self._proposer()
        entry = self.auditor.refuse(f.audit, kind="refusal", round=f.t, agent=agent, more={"line": 20}, outside=f.proposal.outside)
        self.auditor.raise_flag(entry, agent, f.audit)
        self.views.tell(entry, agent, f"{'the schedule' if f.unscheduled else named(f.proposal)} refused: {why(f.audit)}")
        f.h += 1

    @line(23)
    def count_nothing_enabled(self) -> None:
        self.frame.h += 1

    @line(25)
    def measure(self) -> None:
        self.frame.q = self.diagnostician.diagnostics(self.frame.x)

    # ---- lines 26 to 40: intervention --------------------------------------------------------------------------------------
    @line(26)
    def intervenes(self) -> bool:
        self.frame.triggers = self._triggers()
        return bool(self.frame.triggers)

    @line(27)
    def diagnose(self) -> None:
        f = self.frame
        f.x_minus = f.x
        found = self.diagnostician.diagnostics(f.x_minus) if f.q is None else f.q
        diagnosis = self.diagnostician.diagnose(f.triggers, found, self.views.messages)
        f.matched = self.diagnostician.matched(diagnosis, f.x_minus)
        f.diagnosis = replace(diagnosis, matched=f.matched)

    @line(28)
    def responsible_agent(self) -> None:
        f = self.frame
        f.responsible = "" if f.diagnosis is None else self.diagnostician.responsible(f.diagnosis, f.x_minus)

    @line(29)
    def feedback_view(self) -> None:
        f = self.frame
        if f.diagnosis is None:
            return
        f.feedback = self.views.feedback(f.x_minus, f.t, f.responsible, f.diagnosis)
        self.auditor.store.append("diagnosis", diagnosis_json(f, f.diagnosis))

    @line(30)
    def agent_revise(self) -> None:
        f = self.frame
        f.revision = NOT_ASKED if f.feedback is None else self._as(Proposal, self.host.revise(f.responsible, f.feedback), "revise")

    @line(31)
    def label_intervention(self) -> None:
        f = self.frame
        staffing = f.diagnosis is not None and f.diagnosis.kind == ASSIGNMENT
        f.candidate = self.auditor.label(f.responsible, f.revision.steps, staffing)

    @line(32)
    def audit_recovery(self) -> None:
        f = self.frame
        audit = self._answered(f.revision, self.auditor.audit(f.candidate), most=None)
        if not audit.violations and f.diagnosis is not None:
            more = recovery_violations(self.auditor, self.diagnostician, f.diagnosis, f.x_minus, audit)
            audit = Audit(audit.steps, more, audit.core, audit.microseconds)
        f.recovery = audit

    @line(33)
    def recovery_is_legal(self) -> bool:
        return not self.frame.recovery.violations

    @line(34)
    def commit_recovery(self) -> None:
        f = self.frame
        f.next = self._commit(f.recovery, 34, f.responsible, "recovery", f.revision.outside)

    @line(35)
    def count_recovery(self) -> None:
        f = self.frame
        f.h = 0 if progressed(self.auditor.facts, self.auditor.tables, f.x_minus, f.next) else f.h + 1

    @line(36)
    def move_on_recovered(self) -> None:
        f = self.frame
        f.x = f.next
        self.auditor.adopt(f.x)
        done = self.auditor.established(f.recovery.steps)
        self.auditor.settle_flags(done)
        if f.diagnosis is not None and f.diagnosis.flag is not None and done & self.diagnostician.answering(f.diagnosis, f.x_minus):
            self.auditor.flags = [flag for flag in self.auditor.flags if flag.entry != f.diagnosis.flag]

    @line(38)
    def record_feedback(self) -> None:
        f = self.frame
        more: dict[str, Json] = {"line": 38, "h": f.h + 1}
        entry = self.auditor.refuse(f.recovery, kind="feedback", round=f.t, agent=f.responsible, more=more, outside=f.revision.outside)
        self.views.tell(entry, f.responsible, f"recovery {named(f.revision)} refused: {why(f.recovery)}")
        f.h += 1

    @line(39)
    def is_stuck(self) -> bool:
        return self.auditor.holds(self.auditor.system.stuck)

    @line(40)
    def return_stuck(self) -> Outcome:
        return self._end(Outcome.STUCK, 40)

    # ---- line 45 -----------------------------------------------------------------------------------------------------------
    @line(45)
    def return_budget(self) -> Outcome:
        """CertifyBudget(X) is a declared update that reports `budget` and is legal in X: its report is committed and certified."""
        f = self.frame
        for number, footprint in enumerate(self.auditor.tables.footprints):
            update = self.auditor.system.updates[number]
            if update.kind is Kind.FAULT or all(name != BUDGET_REPORT for name, _ in footprint.established):
                continue
            audit = self.auditor.audit(self.auditor.label(update.actor, (Step(update.name),)))
            if not audit.violations and audit.steps:
                f.x = self._commit(audit, 45, update.actor, "report", {})
                self.auditor.adopt(f.x)
                return self._end(Outcome.BUDGET, 45)
        return self._end(Outcome.INCOMPLETE, 45)
