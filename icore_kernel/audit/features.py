"""The twelve features of a candidate (the paper's C.5), as exact numbers from 0 to 1.

The paper names them and says no more: what each is here stands in FEATURES. The *subjects* of a candidate are the obligations that it
names and may write; where there are none, those that it may write; where it writes none, those that it names. A statement about work is,
for several subjects, the share of them of which it is true, and 0 without any. X is the state, X' the one that the candidate leads to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from icore_kernel.audit.host import Candidate, Diagnosis, Finding
from icore_kernel.audit.tables import Tables, Work
from icore_kernel.meaning.scalar import Compiled, compile_terms
from icore_kernel.system import System
from icore_kernel.terms.node import Term

State = Sequence[int]

FEATURES: tuple[tuple[str, str], ...] = (
    ("enabled", "1 where the candidate is legal in X and changes it"),
    ("assigned_to_self", "the subject's assignee in X is the candidate's actor"),
    ("unassigned", "the subject has no assignee in X"),
    ("prerequisites_ready", "all present work that supports the subject, and is not off, is settled without failure and fully justified"),
    ("aggregate_ready", "something is aggregated into the subject, and all of it is ready in the same sense"),
    ("evidence_available", "the share justified in X' of the assertions that are made anew and hold in X'; 1 where none is"),
    ("own_capability", "v_D, read in X, of the agent who has the subject in X'; 0 where nobody has it (a mean for several subjects)"),
    ("best_capability", "the largest v_D, read in X, of an agent in F_D(subject, X); 0 where there is none (a mean for several subjects)"),
    ("already_complete", "the subject is settled in X"),
    ("duplicate_risk", "another agent has the unresolved subject in X; 1 where something would be emitted that is there already"),
    ("audit_recommendation", "the share of the diagnosis' findings that the candidate answers: see `answered`; 0 without a diagnosis"),
    ("terminal_ready", "for submit or accept of an effective root, and for report: the share of effective roots settled or submitted"),
)  # fmt: skip
NAMES = tuple(name for name, _ in FEATURES)

TERMINAL = frozenset({"submit", "accept", "report"})

_ZERO, _ONE = Fraction(0), Fraction(1)


@dataclass(frozen=True, slots=True)
class _Now:
    """What is read of one obligation in one state."""

    present: bool
    settled: bool
    ready: bool
    off: bool
    root: bool
    status: str
    assignee: str
    worth: dict[str, Fraction]
    best: Fraction


class Features:
    """The features over one package. Formulas are compiled when they are first asked for, and one state's facts are kept."""

    def __init__(self, tables: Tables, system: System) -> None:
        self.tables, self.system = tables, system
        works = tables.works.values()
        terms = [term for w in works for term in (w.present, w.unresolved, w.off, w.effective_root, w.sound, w.failed)]
        terms.extend(term for w in works for a in w.agents for term in (a.feasible, a.worth.num, a.worth.den))
        self._read = compile_terms(terms)
        self._moves: dict[int, Compiled] = {}
        self._judged: dict[tuple[str, ...], Compiled] = {}
        self._kept: tuple[tuple[int, ...], dict[str, _Now]] | None = None

    def of(self, state: State, candidate: Candidate, feedback: Diagnosis | None = None) -> tuple[Fraction, ...]:
        """The twelve, in the order of FEATURES."""
        now = self._now(state)
        after, established, emitted = self._after(state, candidate.number)
        subjects = self._subjects(candidate)
        actor = candidate.actor if candidate.actor in self.tables.agents else ""

        def share(says: Callable[[str], bool]) -> Fraction:
            return Fraction(sum(map(says, subjects)), len(subjects)) if subjects else _ZERO

        def mean(of: Callable[[str], Fraction]) -> Fraction:
            return sum(map(of, subjects), _ZERO) / len(subjects) if subjects else _ZERO

        def has_afterwards(q: str) -> str:
            return now[q].assignee if after is None else self._assignee(self.tables.works[q], after)

        parts = {q: self._related(state, "aggregation", q) for q in subjects}
        duplicates = share(lambda q: bool(actor) and not now[q].settled and now[q].assignee not in ("none", actor))
        return (
            Fraction(candidate.enabled),
            share(lambda q: now[q].assignee == actor),
            share(lambda q: now[q].assignee == "none"),
            share(lambda q: all(now[p].ready for p in self._related(state, "support", q))) if subjects else _ONE,
            share(lambda q: bool(parts[q]) and all(now[p].ready for p in parts[q])),
            _ZERO if after is None else self._justified(established, after),
            mean(lambda q: now[q].worth.get(has_afterwards(q), _ZERO)),
            mean(lambda q: now[q].best),
            share(lambda q: now[q].settled),
            max(duplicates, Fraction(any(self._present(z, state) for z in emitted))),
            _ZERO if feedback is None or after is None else self._recommended(feedback, candidate, state, after),
            self._terminal(candidate, now),
        )

    # ---- one state ------------------------------------------------------------------------------------------------------------
    def _now(self, state: State) -> dict[str, _Now]:
        key = tuple(state)
        if self._kept is None or self._kept[0] != key:
            self._kept = (key, self._facts(key))
        return self._kept[1]

    def _facts(self, state: State) -> dict[str, _Now]:
        values = iter(self._read(state))
        plain = {name: tuple(next(values) for _ in range(6)) for name in self.tables.works}
        found: dict[str, _Now] = {}
        for name, work in self.tables.works.items():
            present, unresolved, off, root, sound, failed = plain[name]
            status = work.status_then if work.status is None else work.status.domain.show(state[work.status.index])
            worth: dict[str, Fraction] = {}
            best = _ZERO
            for agent in work.agents:
                feasible, num, den = next(values), next(values), next(values)
                worth[agent.agent] = Fraction(num, den)
                best = max(best, worth[agent.agent]) if feasible else best
            settled = bool(present and not unresolved)
            ready = bool(settled and sound and not failed)
            found[name] = _Now(bool(present), settled, ready, bool(off), bool(root), status, self._assignee(work, state), worth, best)
        return found

    def _assignee(self, work: Work, state: State) -> str:
        return work.assignee_then if work.assignee is None else work.assignee.domain.show(state[work.assignee.index])

    def _related(self, state: State, what: str, q: str) -> list[str]:
        """The present work, not off, from which a relation that contributes `what` leads to q now."""
        now = self._now(state)
        found: dict[str, None] = {}
        for relation in self.tables.relations:
            if what in relation.contributes:
                changing = {(left, right): state[field.index] for left, right, field in relation.changing}
                pairs = dict.fromkeys(relation.facts, 1) | changing
                found.update((left, None) for (left, right), holds in pairs.items() if holds and right == q)
        return [p for p in found if p in now and now[p].present and not now[p].off]

    def _present(self, artifact: str, state: State) -> bool:
        return bool(self._compiled((self.tables.artifacts[artifact].present,), ("present", artifact))(state)[0])

    # ---- one candidate ------------------------------------------------------------------------------------------------------
    def _subjects(self, candidate: Candidate) -> tuple[str, ...]:
        named = [value for value in candidate.binding.values() if value in self.tables.works]
        return tuple(dict.fromkeys(w for w in named if w in candidate.works)) or candidate.works or tuple(dict.fromkeys(named))

    def _after(self, state: State, number: int) -> tuple[State | None, list[str], list[str]]:
        """X', None where a write leaves its domain; the assertions made anew; the artifacts emitted."""
        update, footprint = self.system.updates[number], self.tables.footprints[number]
        if number not in self._moves:
            terms = [update.defined, *(w.value for w in update.writes), *(t for _, t in (*footprint.established, *footprint.emitted))]
            self._moves[number] = compile_terms(terms)
        values = self._moves[number](state)
        many = len(update.writes)
        written, told = values[1 : 1 + many], values[1 + many :]
        after = list(state)
        for write, value in zip(update.writes, written, strict=True):
            after[write.field.index] = int(value)
        established = [name for (name, _), true in zip(footprint.established, told, strict=False) if true]
        emitted = [name for (name, _), true in zip(footprint.emitted, told[len(footprint.established) :], strict=True) if true]
        return (tuple(after) if values[0] else None), established, emitted

    def _compiled(self, terms: Iterable[Term], key: tuple[str, ...]) -> Compiled:
        if key not in self._judged:
            self._judged[key] = compile_terms(list(terms))
        return self._judged[key]

    def _standing(self, names: Sequence[str], state: State) -> list[tuple[bool, bool]]:
        """(holds, justified) of assertions."""
        known = [self.tables.assertions[name] for name in names]
        values = self._compiled((term for a in known for term in (a.holds, a.justified)), ("assertions", *names))(state)
        return [(bool(values[i]), bool(values[i + 1])) for i in range(0, len(values), 2)]

    def _justified(self, names: Sequence[str], state: State) -> Fraction:
        held = [justified for holds, justified in self._standing(names, state) if holds]
        return Fraction(sum(held), len(held)) if held else _ONE

    def _recommended(self, feedback: Diagnosis, candidate: Candidate, state: State, after: State) -> Fraction:
        if not feedback.findings:
            return _ZERO
        parts = (self.answered(f, feedback.kind, candidate, state, after) for f in feedback.findings)
        return sum(parts, _ZERO) / len(feedback.findings)

    def answered(self, finding: Finding, kind: str, candidate: Candidate, state: State, after: State) -> Fraction:
        """How far a candidate answers one finding of a diagnosis of this kind. 0 where it does not write the component. Else

        * of an assignment: the gain of the alternative who has the component in X' and not in X, as a part of the best alternative's;
        * where assertions have no support: the share of them that in X' are supported, or not asserted any more;
        * where nothing is missing (an attempt was refused, the work stalls): 1, writing the component is what is asked for.
        """
        work = self.tables.works.get(finding.component)
        if work is None or finding.component not in candidate.works:
            return _ZERO
        if kind == "assignment":
            then = self._assignee(work, after)
            gains = dict(finding.alternatives) if then != self._assignee(work, state) else {}
            best = max(gains.values(), default=_ZERO)
            return gains.get(then, _ZERO) / best if best > 0 else _ZERO
        missing = [name for name in (text.split(": ")[0] for text in finding.missing) if name in self.tables.assertions]
        repaired = [justified or not holds for holds, justified in self._standing(missing, after)]
        return Fraction(sum(repaired), len(repaired)) if repaired else _ONE

    def _terminal(self, candidate: Candidate, now: dict[str, _Now]) -> Fraction:
        roots = [w for w in now.values() if w.root]
        if candidate.operation not in TERMINAL or not roots:
            return _ZERO
        if candidate.operation != "report" and not any(now[q].root for q in candidate.works):
            return _ZERO
        return Fraction(sum(w.settled or w.status == "submitted" for w in roots), len(roots))


def features(tables: Tables, system: System, state: State, candidate: Candidate, feedback: Diagnosis | None = None) -> tuple[Fraction, ...]:
    """The twelve features of one candidate in one state. For many, keep one `Features`: it compiles each formula once."""
    return Features(tables, system).of(state, candidate, feedback)
