"""What a record tells of its run: events, what each emitted, observed, established and issued, and what evidence rests on.

From the entries alone; states are the checker's. The events of seq 0 are the beginning: what no event made is of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from icore_kernel.record.checker import Run
from icore_kernel.record.entry import Entry, RecordError

START = 0
"""The number of the opening: what was there from the start is of this event."""
PREMISES = ("input", "artifact", "certificate", "assertion")


@dataclass(frozen=True, slots=True)
class Event:
    """An entry as something that somebody did. `agent` proposed it, `actor` is whose update it is; refused attempts are events too."""

    seq: int
    kind: str
    round: int
    agent: str
    actor: str
    update: str
    operation: str
    phase: str
    body: Mapping[str, Any]

    @property
    def committed(self) -> bool:
        return self.kind == "commit"


@dataclass(frozen=True, slots=True)
class Issue:
    """A certificate as an event issued it: what it claimed, and what it rested on, in the state that the event made.

    `claims` are (assertion, number of the event that established it), `premises` (kind, name, number of the event that made it);
    `captured` are the premises (kind, name) that were asked then and never again.
    """

    certificate: str
    seq: int
    claims: tuple[tuple[str, int], ...]
    premises: tuple[tuple[str, str, int], ...]
    captured: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Emission:
    """An artifact as an event emitted it, or an input as it was observed, with its fields."""

    name: str
    seq: int
    fields: Mapping[str, Any]


class Unexplained(RecordError):
    """A record that cannot be read as a history of justified work; `problems` are the checker's."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems[:3]))
        self.problems = problems


class History:
    """Follow entries with `add`; `run` is the present state and its evidence.

    `issued`, `established`, `emitted`, `observed`: of each name the number of the last event that did it; `issues`,
    `emissions`, `observations`: all of them, in order. `spent` and `retracted`: (name, made, ended, how).
    """

    def __init__(self, opening: Entry) -> None:
        """Unexplained where it is no opening of a record."""
        self.package = ""
        self.opening = opening
        self.last = opening
        self.outcome = ""
        """What the `end` entry says; empty where there is none."""
        self.seal: Entry | None = None
        self.events: dict[int, Event] = {}
        self.issues: list[Issue] = []
        self.emissions: list[Emission] = []
        self.observations: list[Emission] = []
        self._established: list[tuple[str, int, bool]] = []
        self.spent: list[tuple[str, int, int, str]] = []
        self.retracted: list[tuple[str, int, int, str]] = []
        self.issued: dict[str, int] = {}
        self.established: dict[str, int] = {}
        self.emitted: dict[str, int] = {}
        self.observed: dict[str, int] = {}
        try:
            self.run = Run(opening.kind, opening.body)
            self.declared: Mapping[str, Any] = self.run.declared
            self.inputs = {i["name"]: i for i in self.declared["inputs"]}
            self._check(opening, self.run.opened())
            self._open(opening.body)
        except (AttributeError, LookupError, TypeError, ValueError) as wrong:
            raise Unexplained([f"entry {opening.seq} ({opening.kind}): not as the format says: {wrong}"]) from wrong

    def _open(self, body: Mapping[str, Any]) -> None:
        run = self.run
        self.package = f"{body['package']['name']} {body['package']['version']}".strip()
        for name, said in self.inputs.items():
            self._observe(name, START, {field: run.state[field] for field in said["fields"]})
        for name, a in run.assertions.items():
            if run.asserted(a) and a["kind"] not in {"failure", "compatibility"}:
                self._establish(name, START)
        self._issue_all([name for name, c in run.certificates.items() if c["starts"]], START)

    def add(self, entry: Entry) -> None:
        """Unexplained where the checker finds something wrong with it."""
        run, body = self.run, entry.body
        try:
            self._check(entry, run.follow(entry.kind, body))
            self.last = entry
            if entry.kind == "end":
                self.outcome = str(body["outcome"])
            elif entry.kind == "seal":
                self.seal = entry
            if entry.kind not in {"commit", "refusal", "feedback", "wait", "diagnosis"}:
                return
            actor = body.get("actor") or ("monitor" if entry.kind == "diagnosis" else body["agent"])
            agent, update, operation = body.get("agent", "monitor"), body.get("update") or "", body.get("operation") or ""
            phase = body.get("phase", "")
            self.events[entry.seq] = Event(entry.seq, entry.kind, body["t"], agent, actor, update, operation, phase, body)
            if entry.kind == "commit":
                self._commit(entry.seq, body)
        except (AttributeError, LookupError, TypeError, ValueError) as wrong:
            raise Unexplained([f"entry {entry.seq} ({entry.kind}): not as the format says: {wrong}"]) from wrong

    def _check(self, entry: Entry, problems: list[str]) -> None:
        if problems:
            raise Unexplained([f"entry {entry.seq} ({entry.kind}): {problem}" for problem in problems])

    def _commit(self, seq: int, body: Mapping[str, Any]) -> None:
        run, graph, audit = self.run, body["G"], body["Pi"]
        for artifact in self.run.artifacts.values():
            spent = [name for name in artifact["fields"] if name in graph["spent"]]
            self.spent.extend((artifact["name"], self.emitted.get(artifact["name"], START), seq, "spent") for _ in spent)
        for how in ("revoked", "superseded"):
            for name in audit[how]:
                certificate = run.slots[name]
                self.retracted.append((certificate, self.issued[certificate], seq, how))
        for emitted in graph["emitted"]:
            self.emissions.append(Emission(emitted["artifact"], seq, emitted["fields"]))
            self.emitted[emitted["artifact"]] = seq
        for name, said in self.inputs.items():
            seen = {field: graph["observed"][field] for field in said["fields"] if field in graph["observed"]}
            if seen:
                self._observe(name, seq, {field: run.state[field] for field in said["fields"]})
        for name in body["Q"]["established"]:
            self._establish(name, seq)
        self._issue_all(audit["issued"], seq)

    def _observe(self, name: str, seq: int, fields: Mapping[str, Any]) -> None:
        self.observations.append(Emission(name, seq, fields))
        self.observed[name] = seq

    def _establish(self, name: str, seq: int) -> None:
        self._established.append((name, seq, self.run.asserted(self.run.assertions[name])))
        self.established[name] = seq

    def _issue_all(self, names: Sequence[str], seq: int) -> None:
        """Evidence of one event may rest on evidence of the same event, and asserts failure and compatibility by itself."""
        for name in names:
            self.issued[name] = seq
            for claim in self.run.certificates[name]["claims"]:
                if self.run.assertions[claim["assertion"]]["kind"] in {"failure", "compatibility"}:
                    self._establish(claim["assertion"], seq)
        made = {"input": self.observed, "artifact": self.emitted, "certificate": self.issued, "assertion": self.established}
        for name in names:
            c = self.run.certificates[name]
            captured = tuple((kind, target) for kind in PREMISES for target in self.run.premises(c, kind, True))
            premises = tuple((k, target, made[k][target]) for k, target in (*self.premises(name), *captured) if target in made[k])
            claims = tuple((a, self.established.get(a, START)) for a in dict.fromkeys(self.run.claims(c)))
            self.issues.append(Issue(name, seq, claims, premises, captured))

    # ---- the present ---------------------------------------------------------------------------------------------------------
    def establishments(self) -> list[tuple[str, int]]:
        """(assertion, event) as often as an event made it anew: asserted then, or now. What is written need not assert anything."""
        now = {(name, seq) for name, seq in self.established.items() if self.run.asserted(self.run.assertions[name])}
        return [(name, seq) for name, seq, asserted in self._established if asserted or (name, seq) in now]

    def premises(self, certificate: str) -> tuple[tuple[str, str], ...]:
        """(kind, name) of what the certificate rests on in the present state."""
        c = self.run.certificates[certificate]
        return tuple((kind, target) for kind in PREMISES for target in self.run.premises(c, kind))

    def source(self, field: str) -> tuple[str, str] | None:
        """(kind, name) of the input, or of the artifact that is there, whose field it is; None for any other field."""
        for name, said in self.inputs.items():
            if field in said["fields"]:
                return "input", name
        for name, said in self.run.artifacts.items():
            if field in said["fields"] and self.run.on(said["present"]):
                return "artifact", name
        return None

    def issuer(self, certificate: str, seq: int) -> str:
        """Who issued it in an event. Where the issuer is declared as a formula (`assignee(unit)`), it is whose update it was."""
        declared = str(self.run.certificates[certificate]["issuer"])
        event = self.events.get(seq)
        return declared if event is None or declared in {"monitor", "environment", *self.declared["agents"]} else event.actor

    def fields(self, name: str) -> str:
        """The fields of an artifact or an input as they are now: `commit 1, passed true`."""
        said = self.run.artifacts.get(name) or self.inputs[name]
        own = (field for field in said["fields"] if self.run.fields[field]["kind"] != "artifact")
        return ", ".join(f"{field.rpartition('.')[2]} {_shown(self.run.state[field])}" for field in own)

    def value(self, assertion: str) -> str:
        """What an assertion says now, as a reader has it: `accepted` of status(unit); empty where its name says all."""
        said = self.run.assertions[assertion]
        work = self.run.works.get(said["about"], {})
        match said["kind"]:
            case "status":
                return str(self.run.state.get(work.get("status"), work.get("status_then", "")))
            case "assignment":
                return str(self.run.state.get(work.get("assignee"), work.get("assignee_then", "")))
            case "removal":
                return str(self.run.state[said["carriers"][0]]) if said["carriers"] else ""
            case "signature":
                values = {name: self.run.state[name] for name in said["carriers"]}
                return ", ".join(f"{n.partition('(')[0]} {v}" for n, v in values.items() if v != "none")
        return ""


def read(record: str, entries: Iterable[Entry], at: int | None = None) -> History:
    """The history up to entry `at`, or to the end. Unexplained, BrokenRecord; RecordError where there is no entry `at`."""
    history: History | None = None
    for entry in entries:
        if at is not None and entry.seq > at:
            break
        if history is None:
            history = History(entry)
        else:
            history.add(entry)
    if history is None:
        raise RecordError(f"{record}: empty: there is no record in it")
    if at is not None and history.last.seq < at:
        raise RecordError(f"{record}: there is no entry {at:,}: the last entry is {history.last.seq:,}")
    return history


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
