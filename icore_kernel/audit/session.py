"""The audit layer for a framework that keeps its own loop: propose, get a receipt or the reasons of a refusal, go on.

    with api.audit_session("workflow.icore", "run.jsonl") as run:
        run.propose("finish(ana, unit)", agent="ana")

Nothing is committed that the solver has not found legal, and everything that is proposed is in the record.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Self

from icore_kernel.audit.auditor import Audit, Auditor, Decider, Disagreement, Receipt
from icore_kernel.audit.diagnosis import Diagnostician, Diagnostics
from icore_kernel.audit.frame import Outcome
from icore_kernel.audit.host import Candidate, CodeOrName, Json, Step, require_recordable
from icore_kernel.audit.judge import Violation
from icore_kernel.audit.label import actors
from icore_kernel.load import Loaded, UsageError, load
from icore_kernel.near import near
from icore_kernel.record.entry import RecordError, TakenRecord
from icore_kernel.record.seal import PrivateKey, seal
from icore_kernel.record.store import Store, open_store


class Refused(Exception):
    """A proposal that breaks a clause: `violations` say which and why; the record has the refusal as entry `entry`."""

    def __init__(self, update: str, violations: tuple[Violation, ...], entry: int, hint: str = "") -> None:
        self.update, self.violations, self.entry = update, violations, entry
        super().__init__(f"{update or 'this proposal'} is refused: {violations[0].said}{hint}")


class Session:
    """One run whose loop is the caller's. Use as a context manager: leaving it ends and seals the record."""

    def __init__(self, loaded: Loaded, store: Store, *, request: str | None, inputs: Mapping[str, CodeOrName], key: PrivateKey | None,
                 decider: Decider | None = None) -> None:  # fmt: skip
        if store.head()[0]:
            raise TakenRecord(store.name)
        self.auditor = Auditor(loaded, store, inputs=inputs, decider=decider)
        self.store = store
        self._key = key
        self._count = 0
        self._lock = Lock()
        """Proposals of several threads are decided one after the other: neither the solver nor the state takes two at once."""
        self.outcome: Outcome | None = None
        """None until the session is closed."""
        settings = self.auditor.tables.settings
        self.auditor.open({"tolerance": str(settings.tolerance), "floor": str(settings.floor), "host": "session"}, request)

    # ---- reading -----------------------------------------------------------------------------------------------------------
    @property
    def state(self) -> dict[str, CodeOrName]:
        """The semantic state by the names of its fields: `status(unit)`, `assignee(unit)`, `done(unit)` …"""
        return self.auditor.labeller.named(self.auditor.state)

    def enabled(self, agent: str | None = None) -> tuple[Candidate, ...]:
        """What would commit and change something, in the package's order; of one agent (or `monitor`, `environment`) where named.

        UsageError for an agent that is none.
        """
        known = actors(self.auditor.tables)
        if agent is not None and agent not in known:
            raise UsageError(f"{self.auditor.system.name} has no agent {agent!r}; {near(agent, known)}")
        numbers, _ = self.auditor.judge.enabled(self.auditor.state)
        found = (self.auditor.labeller.candidate(n, True) for n in numbers)
        return tuple(c for c in found if agent is None or c.actor == agent)

    @property
    def diagnostics(self) -> Diagnostics:
        """snd, astab and cq of the state, and the work that falls short."""
        return self._diagnostician.diagnostics(self.auditor.state)

    @cached_property
    def _diagnostician(self) -> Diagnostician:
        return Diagnostician(self.auditor)

    @property
    def accepted(self) -> bool:
        """Acc(X)."""
        return self.auditor.holds(self.auditor.system.accept)

    @property
    def rejected(self) -> bool:
        """Rej(X)."""
        return self.auditor.holds(self.auditor.system.reject)

    # ---- proposing ---------------------------------------------------------------------------------------------------------
    def propose(self, update: str, *, agent: str | None = None, outside: Mapping[str, Json] | None = None) -> Receipt:
        """Commit an occurrence by name. `agent` is who proposes it (by default the update's own actor); `outside` goes into the record.

        Raises Refused with the clauses it breaks, Disagreement (nothing is committed) where solver and evaluation differ, and
        CanonicalError, a ValueError, for an `outside` that cannot stand in a record.
        """
        with self._lock:
            return self._propose(Step(update), agent, outside or {})

    def change(self, changes: Mapping[str, CodeOrName], *, agent: str, outside: Mapping[str, Json] | None = None) -> Receipt:
        """Commit what a framework observed, as fields and their new values: the occurrence that leads exactly there is found."""
        with self._lock:
            return self._propose(Step(None, dict(changes)), agent, outside or {})

    def _propose(self, step: Step, agent: str | None, outside: Mapping[str, Json]) -> Receipt:
        if self.outcome is not None:
            raise RecordError(f"{self.store.name}: the session is closed")
        require_recordable(outside)
        round, self._count = self._count, self._count + 1
        proposer = agent if agent is not None else self._actor(step)
        labelled = self.auditor.label(proposer, (step,))
        audit: Audit = self.auditor.audit(labelled)
        if audit.violations:
            entry = self.auditor.refuse(audit, kind="refusal", round=round, agent=proposer, more={"line": 20}, outside=outside)
            self.auditor.raise_flag(entry, proposer, audit)
            hint = "" if proposer else "; name who proposes it (agent=…)"
            raise Refused(labelled[0].update, audit.violations, entry, hint)
        assert audit.after is not None
        try:
            (receipt,) = self.auditor.commit(audit, line=16, round=round, agent=proposer, phase="ordinary", outside=outside)
            self.auditor.adopt(audit.after)
        except KeyboardInterrupt:
            self.auditor.catch_up()
            raise
        self.auditor.settle_flags(self.auditor.established(audit.steps))
        return receipt

    def _actor(self, step: Step) -> str:
        number = None if step.update is None else self.auditor.labeller.number(step.update)
        return "" if number is None else self.auditor.system.updates[number].actor

    # ---- the end -----------------------------------------------------------------------------------------------------------
    def close(self, outcome: Outcome | None = None) -> Outcome:
        """End and seal the record. The outcome is what the state shows: accept, reject, stuck, else incomplete (or what is given).

        ValueError where a return of the listing is given that the state does not show; RecordError where the end cannot be written.
        """
        if self.outcome is None:
            a = self.auditor
            found = Outcome.ACCEPT if self.accepted else Outcome.REJECT if self.rejected else Outcome.INCOMPLETE
            if found is Outcome.INCOMPLETE and a.holds(a.system.stuck):
                found = Outcome.STUCK
            if outcome in {Outcome.ACCEPT, Outcome.REJECT, Outcome.STUCK, Outcome.BUDGET} and outcome is not found:
                raise ValueError(f"the state does not show {outcome.value}: it is {found.value}")
            ended = outcome or found
            try:
                a.store.append("end", {"outcome": ended.value, "line": 0, "t": self._count, "state": a.state_digest})
                seal(self.store, self._key)
            finally:
                self.store.close()
            self.outcome = ended
        return self.outcome

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        broken = Outcome.INTERNAL if isinstance(error, Disagreement) else Outcome.INTERRUPTED if error is not None else None
        self.close(broken)


def open_session(
    package: str | Path | Loaded,
    record: str | Path = "memory:",
    *,
    settings: Mapping[str, str] | None = None,
    inputs: Mapping[str, CodeOrName] | None = None,
    request: str | None = None,
    sign_key: str | Path | None = None,
    durable: bool = False,
) -> Session:
    """A session over a package (a path, or what `load` returned), recorded in `NAME.jsonl`, `NAME.db` or PostgreSQL.

    Raises InputError and UsageError as `load` does, RecordError where the record cannot be begun.
    """
    from icore_kernel.record.seal import read_key

    loaded = package if isinstance(package, Loaded) else load(package, settings=settings)
    key = None if sign_key is None else read_key(Path(sign_key))
    store = open_store(record, durable=durable, begin=True)
    try:
        return Session(loaded, store, request=request, inputs=inputs or {}, key=key)
    except BaseException:
        store.close()
        raise
