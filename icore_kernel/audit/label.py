"""Lines 13 and 31: a proposal becomes an occurrence of a declared update, with its intended effects on G, Q and Pi."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from icore_kernel.audit.facts import Facts
from icore_kernel.audit.host import Candidate, CodeOrName, Json, Step
from icore_kernel.audit.judge import Judge, Violation
from icore_kernel.audit.tables import Tables
from icore_kernel.check.reasons import WORK
from icore_kernel.explore.model import State
from icore_kernel.near import MOST, near
from icore_kernel.system import DomainKind, Field, Kind, System
from icore_kernel.terms.node import Term

WORLD = frozenset({"monitor", "environment"})
"""Actors that are no agents, for which the host speaks when it schedules them."""
NOBODY = "nobody"
"""The actor of an update that names none: whoever is of the package may propose it."""
STAFFING = frozenset({"assign", "reassign", "unassign"})
"""Operations that an agent with authority over assignments may propose for others (section 5)."""

LONGEST_NAME, LONGEST_UPDATE = 80, 1_000
"""Characters that are kept of a name from outside that is none: of an agent, of an update."""

HIDDEN = frozenset({"under", "captured", "then"})
"""Kinds of fields that nobody outside sees: which evidence an assertion rests on, what was captured, the context of an assignment."""
PART = {
    **dict.fromkeys(WORK, "Q"),
    **dict.fromkeys(("artifact", "afield", "ifield"), "G"),
    **dict.fromkeys(("certificate", "cfield"), "Pi"),
}
"""Which of the three parts of X a field belongs to, by its kind."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """One labelled step. `number` is None where it matches no declared update; `problems` are what labelling itself found wrong.

    `after` is None where the update has no successor (`range`), or there is no update.
    """

    step: Step
    number: int | None
    update: str
    before: State
    after: State | None
    problems: tuple[Violation, ...] = ()


def actors(tables: Tables) -> tuple[str, ...]:
    """Everybody in whose name something can be proposed: the declared agents, and the actors that are none."""
    return (*tables.agents, *sorted(WORLD, reverse=True), NOBODY)


def no_agent(name: str, tables: Tables) -> str:
    """Of a name that is none of them: `'anna', who is no agent of the package: did you mean ana? Its agents are ana, bo`."""
    listed = ", ".join(tables.agents[:MOST]) + (f" and {len(tables.agents) - MOST:,} more" if len(tables.agents) > MOST else "")
    meant = near(name[:LONGEST_NAME], actors(tables))
    its = f": {meant} Its" if meant.startswith("did you mean") else "; its"
    return f"{recordable(name)!r}, who is no agent of the package{its} agents are {listed or 'none'}"


def recordable(text: str, longest: int = LONGEST_NAME) -> str:
    """A text from outside as a record can hold it: its beginning, without lone surrogates."""
    return text[:longest].encode("utf-8", "replace").decode()


class Labeller:
    """Names to occurrences, and occurrences to deltas."""

    def __init__(self, system: System, tables: Tables, judge: Judge, facts: Facts) -> None:
        self.system = system
        self.tables = tables
        self.judge = judge
        self.facts = facts
        self._candidates: dict[tuple[int, bool], Candidate] = {}
        self._numbers = {_squeezed(update.name): number for number, update in enumerate(system.updates)}
        self._fields = {_squeezed(f.name): f for f in system.fields}

    def number(self, update: str) -> int | None:
        """The index of an occurrence by name; spaces do not count."""
        return self._numbers.get(_squeezed(update))

    # ---- steps -----------------------------------------------------------------------------------------------------------
    def label(self, state: State, agent: str, step: Step, staffing: bool = False) -> Labelled:
        """`staffing`: the agent has authority over assignments, and may name another agent's assignment."""
        if step.update is None:
            return self._matched(state, agent, step)
        number = self.number(step.update)
        if number is None:
            known = [u.name for u in self.system.updates]
            name = recordable(step.update, LONGEST_UPDATE)
            close = get_close_matches(name, known, n=3)
            said = f"{name} is no occurrence of a declared update" + (f"; nearest: {', '.join(close)}" if close else "")
            return Labelled(Step(name), None, name, state, None, (Violation("definition 12", name, said),))
        return self._labelled(state, agent, step, number, staffing)

    def _labelled(self, state: State, agent: str, step: Step, number: int, staffing: bool = False) -> Labelled:
        update = self.system.updates[number]
        problems: tuple[Violation, ...] = ()
        known = agent in actors(self.tables)
        if not known or (update.actor not in {agent, NOBODY} and not (staffing and update.operation in STAFFING)):
            who = agent if known else no_agent(agent, self.tables)
            said = f"{update.name} is for {update.actor} to do, " + (f"not for {who}" if agent else "and nobody is named: say agent=…")
            problems = (Violation("definition 6(ii) actor", update.name, said, spans=() if update.span is None else (update.span,)),)
        return Labelled(step, number, update.name, state, self.judge.successor(state, number), problems)

    def _matched(self, state: State, agent: str, step: Step) -> Labelled:
        """A raw delta is the occurrence that makes exactly these changes, as far as a framework sees them; never one that makes more.

        Where occurrences differ only in what evidence rests on, the delta does not say which it was, and is refused.
        """
        given: dict[int, int] = {}
        for name, value in step.changes.items():
            field = self._fields.get(_squeezed(name))
            code = None if field is None else code_of(field, value)
            if field is None or code is None:
                said = f"{name} := {value} changes no field of {self.system.name}" if field is None else f"{value} is no value of {name}"
                return self._unmatched(state, step, name, said)
            if state[field.index] != code:
                given[field.index] = code
        fitting: dict[int, tuple[State, tuple[int, ...]]] = {}
        """update -> where it leads, and the visible fields that it changes beside the given ones."""
        for number, update in enumerate(self.system.updates):
            if not self.facts.true(update.when, state) or (after := self.judge.successor(state, number)) is None:
                continue
            if given and all(after[index] == code for index, code in given.items()):
                more = (f.index for f in self.system.fields if f.kind not in HIDDEN and after[f.index] != state[f.index])
                fitting[number] = after, tuple(index for index in more if index not in given)
        exact = [number for number, (_, more) in fitting.items() if not more]
        if len({fitting[number][0] for number in exact}) > 1:
            names = " or ".join(self.system.updates[number].name for number in exact)
            return self._unmatched(state, step, "", f"these changes may be {names}: name the update")
        if not exact:
            said = f"no declared update leads there: {', '.join(f'{n} := {v}' for n, v in step.changes.items()) or 'nothing changes'}"
            return self._unmatched(state, step, "", said + self._nearest(state, fitting))
        updates = self.system.updates
        exact.sort(key=lambda n: (updates[n].kind is Kind.FAULT, updates[n].actor != agent, n))
        return self._labelled(state, agent, step, exact[0])

    @staticmethod
    def _unmatched(state: State, step: Step, instance: str, said: str) -> Labelled:
        return Labelled(step, None, "", state, None, (Violation("definition 12", instance, said),))

    def _nearest(self, state: State, fitting: Mapping[int, tuple[State, tuple[int, ...]]]) -> str:
        """The update with the fewest changes beside those given: what a framework may have left out."""
        if not fitting:
            return ""
        number = min(fitting, key=lambda n: (self.system.updates[n].kind is Kind.FAULT, len(fitting[n][1]), n))
        after, more = fitting[number]
        changes = [f"{f.name} := {shown(f, after[f.index])}" for f in (self.system.fields[index] for index in more)]
        return f"; nearest: {self.system.updates[number].name}, which also makes {', '.join(changes)}"

    # ---- candidates ------------------------------------------------------------------------------------------------------
    def candidate(self, number: int, enabled: bool) -> Candidate:
        known = self._candidates.get((number, enabled))
        if known is not None:
            return known
        update = self.system.updates[number]
        own = self.tables.footprints[number].works
        works = tuple(name for name in self.tables.works if name in own)
        found = self._candidates[number, enabled] = Candidate(
            number, update.name, update.schema, dict(update.binding), update.actor, update.operation, works, enabled, update.fault or
            (update.schema if update.kind is Kind.FAULT else ""),
        )  # fmt: skip
        return found

    # ---- deltas ----------------------------------------------------------------------------------------------------------
    def deltas(self, labelled: Labelled) -> dict[str, Json]:
        """The three deltas of a receipt, and `other` (clocks, what evidence rests on), for a step that has a successor."""
        assert labelled.number is not None and labelled.after is not None
        before, after = labelled.before, labelled.after
        footprint = self.tables.footprints[labelled.number]
        changed: dict[str, dict[str, Json]] = {"G": {}, "Q": {}, "Pi": {}, "other": {}}
        observed: dict[str, Json] = {}
        turned: dict[CodeOrName, list[Json]] = {"spent": [], "revoked": [], "superseded": []}
        for index, (old, new) in enumerate(zip(before, after, strict=True)):
            if old == new:
                continue
            field = self.system.fields[index]
            value = shown(field, new)
            changed[PART.get(field.kind, "other")][field.name] = [shown(field, old), value]
            if field.kind == "ifield":
                observed[field.name] = value
            elif field.kind in {"artifact", "certificate"} and value in turned:
                turned[value].append(field.name)
        emitted: list[Json] = []
        for name in self._true(footprint.emitted, before):
            own: dict[str, Json] = {f.name: shown(f, after[f.index]) for f in self.tables.artifacts[name].fields if f.kind == "afield"}
            emitted.append({"artifact": name, "fields": own})
        return {
            "G": {"emitted": emitted, "spent": turned["spent"], "observed": observed, "changed": changed["G"]},
            "Q": {"established": list(self._true(footprint.established, before)), "changed": changed["Q"]},
            "Pi": {
                "issued": list(self._true(footprint.issued, before)),
                "revoked": turned["revoked"],
                "superseded": turned["superseded"],
                "changed": changed["Pi"],
            },
            "other": changed["other"],
        }

    def _true(self, items: Iterable[tuple[str, Term]], state: State) -> Iterable[str]:
        return (name for name, term in items if self.facts.true(term, state))

    def named(self, state: State) -> dict[str, CodeOrName]:
        """A state by the names of its fields."""
        return {f.name: shown(f, state[f.index]) for f in self.system.fields}

    def field(self, name: str) -> Field | None:
        return self._fields.get(_squeezed(name))


def shown(field: Field, code: int) -> CodeOrName:
    """A code as people write it."""
    match field.domain.kind:
        case DomainKind.BOOL:
            return bool(code)
        case DomainKind.INT:
            return int(code)
        case DomainKind.ENUM:
            return field.domain.names[code - field.domain.lo]


def code_of(field: Field, value: CodeOrName) -> int | None:
    """The code of a value; None where the field cannot hold it."""
    domain = field.domain
    match domain.kind:
        case DomainKind.BOOL:
            return int(value) if isinstance(value, bool) else None
        case DomainKind.INT:
            return value if isinstance(value, int) and not isinstance(value, bool) and domain.lo <= value <= domain.hi else None
        case DomainKind.ENUM:
            text = str(value).lower() if isinstance(value, bool) else str(value)
            return domain.lo + domain.names.index(text) if text in domain.names else None


def _squeezed(name: str) -> str:
    return "".join(name.split())
