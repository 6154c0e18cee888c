"""The state of one run and the only way to change it: label, audit twice, then commit with a receipt or record the failure.

The loop (loop.py) and the session that a framework embeds (session.py) both stand on it. Nothing here chooses work.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256
from itertools import islice, product
from math import prod
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Protocol

from icore_dsl.syntax import Span
from icore_kernel.audit.declared import declared
from icore_kernel.audit.facts import Facts
from icore_kernel.audit.host import CodeOrName, Json, Step
from icore_kernel.audit.judge import Judge, Violation
from icore_kernel.audit.label import Labelled, Labeller, code_of, shown
from icore_kernel.audit.tables import Tables
from icore_kernel.explore.model import Failing, State
from icore_kernel.load import Loaded, UsageError
from icore_kernel.meaning.scalar import compile_terms
from icore_kernel.record.canonical import canonical
from icore_kernel.record.entry import Entry
from icore_kernel.record.store import Store
from icore_kernel.system import Clause, Field, Ratio
from icore_kernel.version import VERSION

if TYPE_CHECKING:
    from icore_kernel.prove.commit import Ruling

FORMAT = "icore.record/1"
MOST_STARTS = 100_000
"""So many initial states are looked through for the one that is asked for."""


class Decider(Protocol):
    """What decides commits: `prove.commit.CommitSolver`."""

    @property
    def version(self) -> str: ...
    def decide(self, before: State, number: int, after: State | None) -> Ruling: ...


class Disagreement(Exception):
    """The solver and the scalar meaning differ over a step: nothing was committed, and the record says so."""


@dataclass(frozen=True, slots=True)
class Flag:
    """A hard flag (section 5): a refused proposal whose work has not been established anew since. `entry` is the refusal's number."""

    entry: int
    agent: str
    update: str
    components: tuple[str, ...]
    clauses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Audit:
    """What became of labelled steps, in order. No violations: every one may be committed. `microseconds` the solver's, per step."""

    steps: tuple[Labelled, ...]
    violations: tuple[Violation, ...]
    core: tuple[str, ...] = ()
    microseconds: tuple[int, ...] = ()

    @property
    def after(self) -> State | None:
        return self.steps[-1].after if self.steps else None


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a commit is acknowledged with: the record's entry, its hash, and the digests of the state before and after."""

    entry: int
    hash: str
    update: str
    before: str
    after: str
    clauses: int
    microseconds: int


class Auditor:
    """One run over one package. `state` is the semantic part of X; G, Q and Pi in full are in the record."""

    def __init__(
        self, loaded: Loaded, store: Store, *, inputs: Mapping[str, CodeOrName] | None = None, decider: Decider | None = None
    ) -> None:
        """`inputs` are values of fields that start anywhere. UsageError where no initial state has them or it is not
        feasible (Proposition 5 starts from a sound state), or the theory is without audit."""
        from icore_kernel.ground.values import GroundingError
        from icore_kernel.prove.commit import CommitSolver

        self.loaded, self.store = loaded, store
        self.system = loaded.system
        try:
            assert loaded.grounded is not None
            self.tables: Tables = loaded.grounded.tables()
        except GroundingError as wrong:
            raise UsageError(f"this package cannot be audited: {wrong}") from wrong
        self.judge = Judge(self.system)
        self.facts = Facts()
        self.labeller = Labeller(self.system, self.tables, self.judge, self.facts)
        self.decider: Decider = decider or CommitSolver(self.system, loaded.bank)
        self.state: State = _start(loaded, self.labeller, inputs or {})
        for broken in self.judge.infeasible(self.state):
            said = self.judge.explain(broken, self.state, self.state)[0].said
            raise UsageError(f"this package cannot be audited: its initial state is not feasible: {said}; see icore check")
        self.flags: list[Flag] = []
        self.rules = sha256(f"{self.system.theory_digest} {self.system.package_digest}".encode()).hexdigest()
        self._codes = [_Texts(field) for field in self.system.fields]
        self._digested: tuple[State, str] | None = None
        self._digest = self.digest(self.state)

    # ---- reading X -------------------------------------------------------------------------------------------------------
    def digest(self, state: State) -> str:
        """SHA-256 over the canonical JSON array of the state's values, in the order of the fields."""
        if self._digested is None or self._digested[0] != state:
            parts = [codes[value] for codes, value in zip(self._codes, state, strict=True)]
            self._digested = state, sha256(b"[" + b",".join(parts) + b"]").hexdigest()
        return self._digested[1]

    def holds(self, clauses: Sequence[Clause], state: State | None = None) -> bool:
        """Whether every clause holds; false where there is none (a package without obligations accepts nothing)."""
        return bool(clauses) and all(self.facts.true(c.formula, self.state if state is None else state) for c in clauses)

    def ratio(self, ratio: Ratio, state: State | None = None) -> Fraction:
        return self.facts.ratio(ratio, self.state if state is None else state)

    # ---- audit -----------------------------------------------------------------------------------------------------------
    def label(self, agent: str, steps: Sequence[Step], staffing: bool = False) -> tuple[Labelled, ...]:
        """Lines 13 and 31: each step from the state that the one before leads to. After a step that leads nowhere no more are labelled."""
        found: list[Labelled] = []
        state = self.state
        for step in steps:
            labelled = self.labeller.label(state, agent, step, staffing)
            found.append(labelled)
            if labelled.after is None:
                break
            state = labelled.after
        return tuple(found)

    def audit(self, steps: Sequence[Labelled]) -> Audit:
        """Lines 14 and 32, legality and soundness: by Z3, which decides, and by the scalar meaning, which explains.

        No steps are legal, and change nothing. Raises Disagreement where the two differ, after recording it.
        """
        core: list[str] = []
        micro: list[int] = []
        if steps and steps[0].before != self.state:
            return Audit(tuple(steps), (Violation("definition 13", steps[0].update, "labelled in another state than the present one"),))
        for step in steps:
            if step.number is None:
                return Audit(tuple(steps), step.problems, tuple(core), tuple(micro))
            failing = self.judge.failing(step.before, step.number, step.after)
            ruling = self.decider.decide(step.before, step.number, step.after)
            micro.append(ruling.microseconds)
            refused = not ruling.legal if ruling.legal is not None else True
            if ruling.legal is not None and (bool(failing) != refused or _keys(failing) != _keys(ruling.broken)):
                self._disagree(step, failing, ruling)
            core.extend(f.clause.label for f in ruling.broken)
            violations = [*step.problems]
            for one in failing:
                violations.extend(self.judge.explain(one, step.before, step.after))
            if ruling.legal is None:
                violations.append(Violation("solver", step.update, f"the solver gave up: {ruling.reason}"))
            elif step.after is None and not violations:
                violations.append(Violation("range", step.update, "a write leaves its field's domain"))
            if violations:
                return Audit(tuple(steps), tuple(violations), tuple(dict.fromkeys(core)), tuple(micro))
        return Audit(tuple(steps), (), (), tuple(micro))

    def _disagree(self, step: Labelled, failing: Sequence[Failing], ruling: Ruling) -> None:
        scalar_says, solver_says = ([f"{f.phase.value}: {f.clause.label}" for f in side] for side in (failing, ruling.broken))
        body: dict[str, Json] = {
            "what": "the solver and the scalar meaning differ over a commit",
            "update": step.update,
            "scalar": list(scalar_says),
            "solver": list(solver_says) if solver_says or ruling.legal else ["illegal"],
            "state": self._digest,
        }
        self.store.append("internal", body)
        raise Disagreement(f"{step.update}: by evaluation {scalar_says or 'legal'}, by {self.decider.version} {solver_says or 'legal'}")

    # ---- the record ------------------------------------------------------------------------------------------------------
    def open(self, algorithm: Mapping[str, Json], request: str | None = None) -> None:
        """The first entry: what the record is about, and the initial state (line 1)."""
        package, theory = self.loaded.package, self.loaded.theory
        name = self.loaded.path.name.encode("utf-8", "replace").decode()  # a name that is no UTF-8 has lone surrogates
        sources = [{"path": name, "text": package.text}]
        sources.extend({"path": name, "text": module.text} for name, module in self.loaded.libraries.items())
        body: dict[str, Any] = {
            "format": FORMAT,
            "tool": f"icore {VERSION}",
            "solver": self.decider.version,
            "package": {
                "name": self.system.name, "version": self.system.version, "digest": self.system.package_digest,
                "settings": dict(self.loaded.settings), "sources": sources,
            },
            "theory": {
                "digest": self.system.theory_digest,
                "sources": [{"path": module.file.rpartition("/")[2], "text": module.text} for module in theory],
            },
            "algorithm": dict(algorithm),
            "request": request,
            "declared": declared(self.system, self.tables),
            "state": self.labeller.named(self.state),
            "digest": self._digest,
        }  # fmt: skip
        self.store.append("open", body)

    def commit(self, audit: Audit, *, line: int, round: int, agent: str, phase: str, outside: Mapping[str, Json]) -> tuple[Receipt, ...]:
        """Lines 16, 34, 45: one entry a step, each with its receipt; X itself moves with `adopt`. ValueError for what breaks a clause."""
        if audit.violations:
            raise ValueError("what breaks a clause is not committed")
        receipts: list[Receipt] = []
        digest = self._digest
        for step, micro in zip(audit.steps, audit.microseconds, strict=True):
            assert step.number is not None and step.after is not None
            update = self.system.updates[step.number]
            clauses = len(update.before) + len(update.after) + len(self.system.feasibility)
            before, digest = digest, self.digest(step.after)
            body: dict[str, Json] = {
                "t": round,
                "line": line,
                "phase": phase,
                "agent": agent,
                "update": update.name,
                "schema": update.schema,
                "binding": dict(update.binding),
                "actor": update.actor,
                "operation": update.operation,
                "rules": self.rules,
                "clauses": clauses,
                "solver": {"answer": "legal"},
                **self.labeller.deltas(step),
                "before": before,
                "after": digest,
                "outside": dict(outside),
            }
            entry = self.store.append("commit", body)
            receipts.append(Receipt(entry.seq, entry.hash, update.name, before, digest, clauses, micro))
        return tuple(receipts)

    def adopt(self, state: State) -> None:
        """Lines 18 and 36: X <- X+."""
        self.state, self._digest = state, self.digest(state)

    def catch_up(self) -> Entry | None:
        """After an interruption: X is what the commits in the record lead to, which may be ahead of `adopt`. The last entry, if any."""
        last: Entry | None = None
        ahead: list[str] = []
        for last in self.store.entries():
            if last.kind == "commit":
                ahead = [] if last.body["after"] == self._digest else [*ahead, last.body["update"]]
        for update in ahead:
            number = self.labeller.number(update)
            after = None if number is None else self.judge.successor(self.state, number)
            assert after is not None
            self.adopt(after)
        return last

    def refuse(self, audit: Audit, *, kind: str, round: int, agent: str, more: Mapping[str, Json], outside: Mapping[str, Json]) -> int:
        """Lines 20 and 38: the attempt is in G, its unsupported effects are not in Q or Pi. The entry's number."""
        body: dict[str, Json] = {
            "t": round,
            "agent": agent,
            "update": audit.steps[-1].update if audit.steps else None,
            "proposal": [_step_json(step.step) for step in audit.steps],
            "violations": [_violation_json(v) for v in audit.violations],
            "solver": {"answer": "illegal" if audit.core else "not asked", "core": list(audit.core)},
            "state": self._digest,
            **more,
            "outside": dict(outside),
        }
        return self.store.append(kind, body).seq

    @property
    def state_digest(self) -> str:
        return self._digest

    # ---- hard flags ------------------------------------------------------------------------------------------------------
    def raise_flag(self, entry: int, agent: str, audit: Audit) -> None:
        """A refused proposal that would have written work is a repair-requiring defect of that work, until it is written legally."""
        components: dict[str, None] = {}
        for step in audit.steps:
            if step.number is not None:
                works = self.tables.footprints[step.number].works
                components.update((name, None) for name in self.tables.works if name in works)
        if components:
            clauses = tuple(dict.fromkeys(v.clause for v in audit.violations))
            self.flags.append(Flag(entry, agent, audit.steps[-1].update, tuple(components), clauses))

    def established(self, steps: Sequence[Labelled]) -> set[str]:
        """The components about which committed steps made an assertion anew."""
        found: set[str] = set()
        for step in steps:
            if step.number is not None:
                for name, condition in self.tables.footprints[step.number].established:
                    if self.facts.true(condition, step.before):
                        found.add(self.tables.assertions[name].about)
        return found

    def settle_flags(self, components: set[str]) -> None:
        """Flags whose components were established anew are settled."""
        self.flags = [flag for flag in self.flags if not components.intersection(flag.components)]


class _Texts(dict[int, bytes]):
    """code -> the canonical form of the field's value, made when it is first met."""

    def __init__(self, field: Field) -> None:
        super().__init__()
        self._field = field

    def __missing__(self, code: int) -> bytes:
        found = self[code] = canonical(shown(self._field, code))
        return found


def _start(loaded: Loaded, labeller: Labeller, inputs: Mapping[str, CodeOrName]) -> State:
    """The first initial state with these values."""
    wanted: dict[int, int] = {}
    free = {f.index for f in loaded.system.free}
    for name, value in inputs.items():
        field = labeller.field(name)
        if field is None or field.index not in free:
            known = ", ".join(f.name for f in loaded.system.free) or "none"
            raise UsageError(f"--input {name}: this is no field that starts anywhere; there are: {known}")
        code = code_of(field, value)
        if code is None:
            raise UsageError(f"--input {name}={value}: not among its values")
        wanted[field.index] = code
    domains = [
        [wanted[f.index]]
        if f.index in wanted
        else range(f.domain.lo, f.domain.hi + 1)
        if f.index in free
        else [loaded.system.initial[f.index]]
        for f in loaded.system.fields
    ]
    holds = compile_terms([loaded.system.initially])
    for state in islice(product(*domains), MOST_STARTS):
        if holds(state)[0]:
            return state
    if prod(map(len, domains)) > MOST_STARTS:
        said = f"none of the first {MOST_STARTS:,} states with these inputs is initial: give more of them with --input"
        raise UsageError(f"{loaded.system.name}: {said}")
    raise UsageError(f"{loaded.system.name} has no initial state with these inputs")


def _keys(failing: Sequence[Failing]) -> set[tuple[str, str]]:
    return {(f.phase.value, f.clause.label) for f in failing}


def _step_json(step: Step) -> Json:
    return {"changes": dict(step.changes)} if step.update is None else {"update": step.update}


def _violation_json(violation: Violation) -> Json:
    spans: list[Json] = [_place(span) for span in violation.spans]
    values: Json = dict(violation.values)
    return {
        "clause": violation.clause, "instance": violation.instance, "text": violation.text, "needs": violation.needs,
        "values": values, "spans": spans,
    }  # fmt: skip


def _place(span: Span) -> str:
    """`spec/3-feasibility.icore:15`, or the package's file and line."""
    path = PurePath(span.file)
    return f"{'/'.join(path.parts[-2:]) if path.parent.name == 'spec' else path.name}:{span.line}"
