"""`icore explain`: the finite justification of what a record asserts (Lemma 4's backward slice), down to the inputs.

An assertion needs the event that established it and a certificate that supports it; a certificate the event that issued it, its
premises, and the inputs and artifacts that its conditions read; an artifact the event that emitted it; an input was observed. From the
record alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from icore_kernel.near import near
from icore_kernel.record.conditions import Condition, captured_of, conditions_of
from icore_kernel.record.entry import Entry, RecordError
from icore_kernel.record.history import START, History, read

ORDER = ("status", "assignment", "signature", "failure", "removal", "compatibility", "coverage", "relation", "node", "terminal")
"""In which order a component's assertions are explained."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One piece of an explanation. kind: assertion, certificate, artifact, input or event.

    `id` is its name, with `@N` where it is the state after entry N that is spoken of (a premise that was captured then);
    `says` what it says (the value of an assertion, the fields of an artifact or an input, who issued a certificate);
    `entry` the event that made it, START where it was there from the start;
    `needs` the ids of what it rests on, of an event none.
    """

    id: str
    kind: str
    name: str
    says: str
    entry: int
    needs: tuple[str, ...]
    agent: str = ""
    operation: str = ""
    update: str = ""
    """The occurrence of that event; `agent` is whose update it was."""
    conditions: tuple[Condition, ...] = ()
    """Of a certificate: what it is valid under, with the values that were read."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """`goals`: the ids of what was asked for; `facts` by id, each after everything it needs, so that the justification is finite."""

    package: str
    at: int
    goals: tuple[str, ...]
    facts: dict[str, Fact]
    works: tuple[str, ...]
    """The obligations that were asked for."""


class NothingToExplain(RecordError):
    """What was asked for is not asserted; the message says so."""


def explain(record: str, entries: Callable[[], Iterable[Entry]], asked: str | None = None, at: int | None = None) -> Explanation:
    """Explain an obligation, an assertion or a certificate by name; without one, every required root that is settled.

    `entries` is called again for each earlier state that a captured premise speaks of.
    NothingToExplain, Unexplained, BrokenRecord; RecordError where there is nothing of the name, or no entry `at`.
    """
    return explained(read(record, entries(), at), lambda seq: read(record, entries(), seq), asked)


def explained(history: History, earlier: Callable[[int], History], asked: str | None = None) -> Explanation:
    """`explain`, of a history that was read; `earlier` reads it up to an entry."""
    explainer = _Explainer(earlier)
    works, goals = _goals(history, asked)
    ids = tuple(explainer.fact(history, kind, name, "") for kind, name in goals)
    return Explanation(history.package, history.last.seq, ids, explainer.facts, works)


def _goals(history: History, asked: str | None) -> tuple[tuple[str, ...], list[tuple[str, str]]]:
    run = history.run
    known = {_squeezed(name): name for name in (*run.works, *run.assertions, *run.certificates)}
    if asked is None:
        settled = {"accepted", "rejected", "closed", "invalid"}
        there = [w for w in run.works.values() if w["required"] and run.on(w["present"])]
        works = tuple(w["name"] for w in there if history.value(f"status({w['name']})") in settled)
        if not works:
            raise NothingToExplain("no required root is settled; name one, or an assertion or a certificate")
        return works, [goal for work in works for goal in _about(history, work)]
    name = known.get(_squeezed(asked))
    if name is None:
        what = f"{asked} is no obligation, assertion or certificate of {history.package}"
        raise RecordError(f"{what}; {near(asked, known.values())}")
    if name in run.works:
        found = _about(history, name)
        if not found:
            raise NothingToExplain(f"nothing is asserted about {name}")
        return (name,), found
    if name in run.assertions:
        if not run.asserted(run.assertions[name]):
            raise NothingToExplain(f"{name} is not asserted")
        return (), [("assertion", name)]
    if name not in run.evidence()[0]:
        issued = history.issued.get(name)
        was = "was never issued" if issued is None else f"is not valid{f'; it was issued by entry {issued:,}' if issued != START else ''}"
        raise NothingToExplain(f"{name} {was}")
    return (), [("certificate", name)]


def _about(history: History, work: str) -> list[tuple[str, str]]:
    """What is asserted about a component, and by which work it is covered."""
    run = history.run
    covering = {f"coverage({other}, {work})" for other in run.works}
    names = [n for n, a in run.assertions.items() if (a["about"] == work or n in covering) and run.asserted(a)]
    return [("assertion", n) for n in sorted(names, key=lambda n: ORDER.index(run.assertions[n]["kind"]))]


class _Explainer:
    def __init__(self, earlier: Callable[[int], History]) -> None:
        self.facts: dict[str, Fact] = {}
        self._earlier = earlier
        self._supports: dict[str, dict[str, str]] = {}
        self._histories: dict[int, History] = {}

    def fact(self, history: History, kind: str, name: str, when: str) -> str:
        """The id of a fact, which is made with all it needs. `when`: empty, or `@N` for an earlier state."""
        stack = [(history, kind, name, when, False)]
        while stack:
            here, its_kind, its_name, its_when, done = stack.pop()
            own = its_name + its_when
            if own in self.facts:
                continue
            fact, needed = self._made(here, its_kind, its_name, its_when)
            if done or all(n + w in self.facts for _, _, n, w in needed):
                self.facts[own] = fact
                continue
            stack.append((here, its_kind, its_name, its_when, True))
            stack.extend((*need, False) for need in reversed(needed))
        return name + when

    def _made(self, history: History, kind: str, name: str, when: str) -> tuple[Fact, list[tuple[History, str, str, str]]]:
        needed: list[tuple[History, str, str, str]] = []
        says = ""
        conditions: list[Condition] = []
        match kind:
            case "assertion":
                entry = history.established.get(name, START)
                if when not in self._supports:
                    self._supports[when] = history.run.evidence()[2]
                support = self._supports[when]
                if name not in support:
                    raise NothingToExplain(f"{name} is not justified")
                says = history.value(name)
                needed.append((history, "certificate", support[name], when))
            case "certificate":
                entry = history.issued.get(name, START)
                needed.extend((history, k, target, when) for k, target in history.premises(name))
                needed.extend(self._captured(history, name, entry))
                conditions = self._conditions(history, name, entry)
                needed.extend(self._read(history, conditions, when))
                says = history.issuer(name, entry)
            case "artifact":
                entry = history.emitted.get(name, START)
                says = history.fields(name)
            case "input":
                entry = history.observed.get(name, START)
                says = history.fields(name)
            case _:
                raise NothingToExplain(f"{name} is a {kind}")
        needs = [n + w for _, _, n, w in needed]
        event = history.events.get(entry)
        if event is not None:
            id = f"entry {entry}"
            self.facts.setdefault(id, Fact(id, "event", event.update, "", entry, (), event.actor, event.operation))
            needs.append(id)
        agent, operation, update = ("", "", "") if event is None else (event.actor, event.operation, event.update)
        needs = list(dict.fromkeys(needs))
        return Fact(name + when, kind, name, says, entry, tuple(needs), agent, operation, update, tuple(conditions)), needed

    def _captured(self, history: History, name: str, seq: int) -> Iterator[tuple[History, str, str, str]]:
        captured = next((issue.captured for issue in reversed(history.issues) if issue.certificate == name), ())
        for kind, target in captured:
            yield self._at(seq), kind, target, f"@{seq}"

    def _conditions(self, history: History, name: str, entry: int) -> list[Condition]:
        """What is there from the start was asked nothing when it was issued: no update issued it."""
        certificate = history.run.certificates[name]
        captured = captured_of(self._at(entry).run, certificate, entry) if entry != START and certificate["captured"] else []
        return [*conditions_of(history.run, certificate), *captured]

    def _read(self, history: History, conditions: Iterable[Condition], when: str) -> Iterator[tuple[History, str, str, str]]:
        """The inputs and the artifacts that are there which the conditions read. All else that they read is shown with its value alone."""
        for condition in conditions:
            here, suffix = (history, when) if condition.entry is None else (self._at(condition.entry), f"@{condition.entry}")
            for field, _ in condition.reads:
                if (source := here.source(field)) is not None:
                    yield here, *source, suffix

    def _at(self, seq: int) -> History:
        if seq not in self._histories:
            self._histories[seq] = self._earlier(seq)
        return self._histories[seq]


def _squeezed(name: str) -> str:
    return "".join(name.split())
