"""`icore replay`: a record is gone through with the package that it holds the sources of; the first entry that differs ends it.

Every commit is labelled and judged again and its successor computed again; refusals must break what they say, diagnoses must be
those of their states, recoveries must answer them, and the end must be what it says (Proposition 2, definition 8).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, assert_never

from icore_kernel.audit.auditor import FORMAT, Audit, Auditor, Disagreement
from icore_kernel.audit.course import BUDGET_REPORT
from icore_kernel.audit.declared import declared
from icore_kernel.audit.diagnosis import ASSIGNMENT, FLAG, NOTHING_ENABLED, PATIENCE, QUALITY, REASSIGN, Diagnostician, Diagnostics
from icore_kernel.audit.differences import Differs, first_difference, listed, short
from icore_kernel.audit.frame import Frame, Outcome, diagnosis_json
from icore_kernel.audit.host import CodeOrName, Diagnosis, Step
from icore_kernel.audit.judge import Judge
from icore_kernel.audit.label import Labelled, actors
from icore_kernel.audit.recorded import load_recorded, require_tables
from icore_kernel.audit.recovery import progressed, recovery_violations
from icore_kernel.audit.schedule import CLAUSE
from icore_kernel.explore.model import State
from icore_kernel.load import InputError, UsageError
from icore_kernel.prove.commit import Ruling
from icore_kernel.record.canonical import canonical
from icore_kernel.record.entry import Entry
from icore_kernel.record.memory import MemoryStore
from icore_kernel.system import System

NOT_OF_THE_STATE = frozenset({"answer", "solver", CLAUSE})
"""Clauses that a host broke, or the solver did not decide: nothing in the record says it again (of a schedule, only that it was wrong)."""


TIMED = frozenset({"commit", "refusal", "feedback", "wait", "diagnosis", "end"})
SPEAKS_OF_STATE = frozenset({"refusal", "feedback", "internal", "end"})
RATIO = re.compile(r"[0-9]{1,200}(/0{0,199}[1-9][0-9]{0,199})?")
PHASES = {16: "ordinary", 34: "recovery", 45: "report"}
"""Which line of Algorithm 1 commits what."""


class ByEvaluation:
    """Decides by the scalar meaning alone: an `auditor.Decider` for a replay without the solver."""

    version = "evaluation"

    def __init__(self, system: System) -> None:
        self._judge = Judge(system)

    def decide(self, before: State, number: int, after: State | None) -> Ruling:
        failing = self._judge.failing(before, number, after)
        return Ruling(not failing, failing)


@dataclass(frozen=True, slots=True)
class Replayed:
    """What became of a replay: the counts of the entries that agree, by kind; the first that does not; the state that was reached.

    `theory`: whose was used, `installed` or `record` (where the installed one is another).
    """

    package: str
    version: str
    theory: str
    decider: str
    entries: int
    kinds: Mapping[str, int]
    problem: tuple[int, str, str] | None
    """(number, kind, what differs)."""
    digest: str
    state: Mapping[str, CodeOrName]
    shown: frozenset[str]
    """The fields that a reader wants to see: the others are evidence's and the package's book-keeping."""


class Replay:
    """Goes through a record, entry by entry. `state` is what the entries so far lead to."""

    def __init__(self, opening: Entry, *, solver: bool = False) -> None:
        """Raises Differs where the opening is not that of the package in it, InputError or UsageError for a package that is none."""
        if opening.kind != "open":
            raise Differs("the first entry of a record is its opening")
        body = opening.body
        if body["format"] != FORMAT:
            raise Differs(f"its format is {short(body['format'])}, and {FORMAT} is read here")
        self.loaded, self.theory = load_recorded(body)
        if self.theory == "record":
            require_tables(self.loaded)
        known = {f["name"]: f for f in body["declared"]["fields"]}
        free = {f.name: body["state"][f.name] for f in self.loaded.system.free if f.name in known}
        evaluation = None if solver else ByEvaluation(self.loaded.system)
        self.auditor = Auditor(self.loaded, MemoryStore(), inputs=free, decider=evaluation)
        self.diagnostician = Diagnostician(self.auditor)
        auditor = self.auditor
        self._agree("declares", body["declared"], declared(auditor.system, auditor.tables))
        self._agree("begins in", body["state"], auditor.labeller.named(auditor.state))
        self._agree("has the digest", body["digest"], auditor.state_digest)
        self._parameters(body["algorithm"])
        self.t, self.h = -1, 0
        self.began = self.state
        """X of line 8, in the present round."""
        self.acted = False
        """Whether line 9 found something enabled, in the present round."""
        self.diagnosis: Diagnosis | None = None
        self.x_minus = self.state
        self.h_minus = 0
        self.responsible = ""
        self.recovery: list[Labelled] = []
        self.reported = False
        self.last = "open"
        """The kind of the entry before."""

    def _parameters(self, said: Mapping[str, Any]) -> None:
        """What a run was given. A session has no patience, no threshold and no budget: its loop is the framework's."""
        settings = self.auditor.tables.settings
        self._agree("has the tolerance", said["tolerance"], str(settings.tolerance))
        self._agree("has the floor", said["floor"], str(settings.floor))
        self.patience: int | None = said.get("patience")
        self.budget: int | None = said.get("budget")
        threshold = said.get("threshold", "0")
        if not RATIO.fullmatch(threshold) or not {type(self.patience), type(self.budget)} <= {int, type(None)}:
            raise Differs("its threshold, patience or budget is no number")
        self.threshold = Fraction(threshold)

    @property
    def state(self) -> State:
        return self.auditor.state

    def follow(self, entry: Entry) -> None:
        """Raises Differs where the entry is not what the state before and the package make of it."""
        body = entry.body
        if self.last == "end" and entry.kind != "seal":
            raise Differs("it comes after the end")
        if self.recovery and not (entry.kind == "commit" and body["line"] == 34):
            if entry.kind == "end" and body["outcome"] == Outcome.INTERRUPTED.value:
                self.recovery = []  # an interruption came between its steps, each of which was legal
            else:
                self._recovered()
        if entry.kind in TIMED:
            if type(body["t"]) is not int or body["t"] < self.t:
                raise Differs(f"it is of round {short(body['t'])}, after one of round {self.t}")
            if body["t"] > self.t:
                if self.patience is not None:
                    self._next_round(entry)
                self.t, self.began, self.acted, self.diagnosis = body["t"], self.state, False, None
        match entry.kind:
            case "commit":
                self._commit(body)
            case "refusal" | "feedback":
                self._refusal(entry)
            case "wait":
                self._acts(body)
                self.h += 1
            case "diagnosis":
                self._diagnosis(body)
            case "end":
                self._end(body["outcome"], body["t"], body.get("because"))
            case "internal":
                pass
            case "seal":
                if self.last != "end":
                    raise Differs("it is sealed, and the run has no end")
            case _:
                raise Differs("no such kind of entry")
        if entry.kind in SPEAKS_OF_STATE:
            self._agree("is about the state", body["state"], self.auditor.state_digest)
        self.last = entry.kind

    def _next_round(self, entry: Entry) -> None:
        """Lines 2, 3, 5 and 26: rounds follow each other within the budget, none goes on after Acc or Rej, none passes over a defect."""
        body, ends = entry.body, entry.kind == "end" or entry.body["line"] == 45
        if body["t"] > self.t + 1 or (self.budget is not None and body["t"] >= self.budget + ends):
            raise Differs(f"it is of round {body['t']}, after {self.t + 1} of at most {self.budget}")
        if entry.kind == "end" and body["outcome"] in {Outcome.INTERRUPTED.value, Outcome.INTERNAL.value}:
            return
        if self.acted and self.diagnosis is None and (held := self._triggers(self.diagnostician.diagnostics(self.state))):
            raise Differs(f"round {self.t} ends without the diagnosis that {', '.join(held)} asks for")
        holds, system = self.auditor.holds, self.auditor.system
        if not ends and (holds(system.accept) or holds(system.reject)):
            raise Differs("the run goes on after it has come to its end")

    def _acts(self, body: Mapping[str, Any]) -> None:
        """Lines 12 to 20: a round has one ordinary step, before its diagnosis."""
        if self.acted or self.diagnosis is not None:
            raise Differs(f"it is a second ordinary step in round {body['t']}")
        self.acted = True

    # ---- commits -----------------------------------------------------------------------------------------------------------
    def _commit(self, body: Mapping[str, Any]) -> None:
        auditor = self.auditor
        self._agree("is in the phase", body["phase"], PHASES.get(body["line"]))
        if body["phase"] == "recovery":
            self._agree("is told to", body["agent"], self.responsible)
        staffing = body["phase"] == "recovery" and self.diagnosis is not None and self.diagnosis.kind == ASSIGNMENT
        (step,) = auditor.label(body["agent"], (Step(body["update"]),), staffing)
        audit = auditor.audit((step,))
        if audit.violations or step.number is None or step.after is None:
            raise Differs("; ".join(f"{v.clause}: {v.text}" for v in audit.violations[:3]) or "it leads nowhere")
        update = auditor.system.updates[step.number]
        before = auditor.state_digest
        found = {
            "update": update.name, "schema": update.schema, "binding": dict(update.binding), "actor": update.actor,
            "operation": update.operation, "rules": auditor.rules, **auditor.labeller.deltas(step), "before": before,
            "clauses": len(update.before) + len(update.after) + len(auditor.system.feasibility),
        }  # fmt: skip
        for key, value in found.items():
            self._agree(f"has as {key}", body[key], value)
        self._agree("has as after", body["after"], auditor.digest(step.after))
        earlier = self.state
        auditor.adopt(step.after)
        done = auditor.established((step,))
        if body["phase"] == "recovery":
            self.recovery.append(step)
            self.h = 0 if progressed(auditor.facts, auditor.tables, self.x_minus, self.state) else self.h_minus + 1
            return
        if body["phase"] == "ordinary":
            self._acts(body)
        self.h = 0 if progressed(auditor.facts, auditor.tables, earlier, self.state) else self.h + 1
        self.reported = body["phase"] == "report" and BUDGET_REPORT in body["Q"]["established"]
        auditor.settle_flags(done)

    def _recovered(self) -> None:
        """Line 32, of all steps of a recovery together; then line 36."""
        steps, self.recovery = tuple(self.recovery), []
        if self.diagnosis is None:
            raise Differs("the recovery before this entry answers no diagnosis")
        wrong = recovery_violations(self.auditor, self.diagnostician, self.diagnosis, self.x_minus, Audit(steps, ()))
        if wrong:
            raise Differs("the recovery before this entry: " + "; ".join(f"{v.clause}: {v.text}" for v in wrong[:3]))
        done = self.auditor.established(steps)
        self.auditor.settle_flags(done)
        if self.diagnosis.flag is not None and done & self.diagnosis.matched.keys():
            self.auditor.flags = [flag for flag in self.auditor.flags if flag.entry != self.diagnosis.flag]

    # ---- what committed nothing ----------------------------------------------------------------------------------------------
    def _refusal(self, entry: Entry) -> None:
        body, auditor, recovery = entry.body, self.auditor, entry.kind == "feedback"
        staffing = recovery and self.diagnosis is not None and self.diagnosis.kind == ASSIGNMENT
        steps = tuple(Step(said.get("update"), said.get("changes", {})) for said in body["proposal"])
        audit = auditor.audit(auditor.label(body["agent"], steps, staffing))
        if recovery and not audit.violations and self.diagnosis is not None:
            more = recovery_violations(auditor, self.diagnostician, self.diagnosis, self.x_minus, audit)
            audit = Audit(audit.steps, more, audit.core, audit.microseconds)
        if any(v["clause"] == CLAUSE for v in body["violations"]):
            self._misscheduled(body)
        said = sorted({(v["clause"], v["instance"]) for v in body["violations"] if v["clause"] not in NOT_OF_THE_STATE})
        unusable = any(v["clause"] in NOT_OF_THE_STATE for v in body["violations"])
        broken = sorted({(v.clause, v.instance) for v in audit.violations})
        if not unusable and said != broken:
            raise Differs(f"it breaks {listed(broken)}, where the record says {listed(said)}")
        self.h += 1
        self._agree("is about", body["update"], audit.steps[-1].update if audit.steps else None)
        if recovery:
            if self.patience is not None:
                self._agree("has as h", body["h"], self.h)
            self._agree("is told to", body["agent"], self.responsible)
            return
        self._acts(body)
        auditor.raise_flag(entry.seq, body["agent"], audit)

    def _misscheduled(self, body: Mapping[str, Any]) -> None:
        """Line 10: a schedule that was refused names nobody, no agent, or what could not be attempted; and then nothing was proposed."""
        (violation,) = body["violations"]
        numbers = {n for some in self.auditor.judge.enabled(self.state) for n in some}
        agent, named = body["agent"], violation["instance"]
        asked = agent in actors(self.auditor.tables) and (not named or self.auditor.labeller.number(named) in numbers)
        if asked or body["proposal"]:
            raise Differs(f"it refuses a schedule, and {short(agent)} could be asked")

    def _diagnosis(self, body: Mapping[str, Any]) -> None:
        """Line 26 and what follows from it, as far as the record holds what it was made of."""
        if self.diagnosis is not None:
            raise Differs(f"it is a second diagnosis in round {body['t']}")
        if not self.acted:
            self.h += 1  # line 23
        found = self.diagnostician.diagnostics(self.state)
        self._agree("has the triggers", body["triggers"], self._triggers(found))
        diagnosis = self.diagnostician.diagnose(body["triggers"], found, ())
        matched = self.diagnostician.matched(diagnosis, self.state)
        frame = Frame(self.state, self.h, body["t"], q=found, matched=matched)
        frame.responsible = self.diagnostician.responsible(diagnosis, self.state)
        self._agree("diagnoses", body, diagnosis_json(frame, diagnosis))
        self.diagnosis = replace(diagnosis, matched=matched)
        self.x_minus, self.h_minus, self.responsible = self.state, self.h, frame.responsible

    def _triggers(self, found: Diagnostics) -> list[str]:
        """The conditions of line 26, as far as they hold."""
        held = {
            NOTHING_ENABLED: not self.auditor.judge.enabled(self.began)[0],
            PATIENCE: self.patience is not None and self.h >= self.patience,
            FLAG: self.diagnostician.required_flag() is not None or bool(found.unsound),
            REASSIGN: bool(found.unstable),
            QUALITY: found.quality < self.threshold,
        }
        return [name for name, holds in held.items() if holds]

    def _end(self, outcome: str, t: int, because: object) -> None:
        """`because`: where a host gave up, which the state does not show, as it does not show an interruption."""
        system, holds = self.auditor.system, self.auditor.holds
        match Outcome(outcome):
            case Outcome.ACCEPT:
                shown = holds(system.accept)
            case Outcome.REJECT:
                shown = holds(system.reject)
            case Outcome.STUCK:
                shown = holds(system.stuck)
            case Outcome.BUDGET:
                shown = self.reported
            case Outcome.INCOMPLETE:
                shown = self.budget is None or t == self.budget or (isinstance(because, str) and because != "")
            case Outcome.INTERNAL:
                shown = self.last == "internal"
            case Outcome.INTERRUPTED:
                shown = True
            case other:
                assert_never(other)
        if not shown:
            raise Differs(
                f"it ends with {outcome}, which {'the run' if outcome in {'incomplete', 'internal'} else 'the state'} does not show"
            )

    def _agree(self, what: str, said: Any, found: Any) -> None:
        if canonical(said) != canonical(found):
            raise Differs(f"it {what} {first_difference(said, found)}")


def replay(entries: Iterable[Entry], *, to: int | None = None, solver: bool = False) -> Replayed:
    """Go through a record up to entry `to`, or to its end; by the solver too where asked. Stops at the first entry that differs.

    Raises Unchecked where the theory in it is of another kind than is read here.
    """
    kinds: dict[str, int] = {}
    problem: tuple[int, str, str] | None = None
    run: Replay | None = None
    for entry in entries:
        if to is not None and entry.seq > to:
            break
        try:
            if run is None:
                run = Replay(entry, solver=solver)
            else:
                run.follow(entry)
        except (Differs, InputError, UsageError, Disagreement) as differs:
            problem = (entry.seq, entry.kind, str(differs))
        except (AttributeError, LookupError, TypeError, ValueError) as malformed:
            problem = (entry.seq, entry.kind, f"not as the format says: {type(malformed).__name__}: {str(malformed)[:120]}")
        if problem is not None:
            break
        kinds[entry.kind] = kinds.get(entry.kind, 0) + 1
    return _replayed(run, kinds, problem)


def _replayed(run: Replay | None, kinds: Mapping[str, int], problem: tuple[int, str, str] | None) -> Replayed:
    if run is None:
        return Replayed("", "", "", "", 0, kinds, problem or (0, "open", "there are no entries"), "", {}, frozenset())
    auditor, system = run.auditor, run.auditor.system
    return Replayed(
        package=system.name,
        version=system.version,
        theory=run.theory,
        decider=auditor.decider.version,
        entries=sum(kinds.values()),
        kinds=kinds,
        problem=problem,
        digest=auditor.state_digest,
        state=auditor.labeller.named(run.state),
        shown=frozenset(f.name for f in system.fields if f.root),
    )


def check(entries: Iterable[Entry]) -> list[str]:
    """What differs, for `icore verify`: empty where every entry is what its package makes of the entries before."""
    found = replay(entries)
    if found.problem is None:
        return []
    number, kind, what = found.problem
    return [f"entry {number} ({kind}): {what}"]


def states(entries: Iterable[Entry]) -> Iterator[tuple[Entry, State]]:
    """Every entry with the state after it. Raises Differs at the first that differs."""
    run: Replay | None = None
    for entry in entries:
        if run is None:
            run = Replay(entry)
        else:
            run.follow(entry)
        yield entry, run.state
