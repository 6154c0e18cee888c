"""Repair synthesis: the smallest legal recovery that answers a diagnosis, or a certified "none" (prove/repair.py).

A recovery is a sequence of occurrences that the responsible agent may propose (the rule of views.py `feedback`) and no fault, such that
recovery.py finds nothing wrong with it: open flags are settled, no matched component is removed or loses its justification, matched
quality is not lower, nothing outside W_F is touched. Where no flag says what has to be settled, a *cure* is asked for as well, because
any legal step would do otherwise: of the components that are diagnosed as not sound (not stable) one becomes sound (stable);
where nothing moves, Progress_D is made.

Smallest is, in this order: the fewest steps; one that settles a flag on the flagged component itself, where that takes no more steps;
the least weight of what is changed; the least loss of declared value (v_D of the assignee, times the weight, summed over all work that
has neither failed nor been taken off). Weights are exact: 4 for each changed assertion about a component, 2 where it is the assignee,
times the weight of the component; 1 for each certificate that is issued. So new evidence is tried before another assignee, and that
before other work.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

from icore_kernel.audit.auditor import Auditor, Disagreement
from icore_kernel.audit.diagnosis import ASSIGNMENT, EVIDENCE, PROGRESS, Diagnostician
from icore_kernel.audit.host import Diagnosis, Step
from icore_kernel.audit.label import STAFFING, Labelled, shown
from icore_kernel.audit.recovery import recovery_violations
from icore_kernel.explore.model import State
from icore_kernel.prove.repair import Task, smallest
from icore_kernel.prove.solver import Disagreement as Differs
from icore_kernel.system import Kind
from icore_kernel.terms.node import Term

DEPTH = 4
"""So many steps are looked through where nothing else is said."""
CHANGED, REASSIGNED, ISSUED = 4, 2, 1
"""Weights: of a changed assertion, of a changed assignee (both times the component's), of a certificate issued."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """What to do about a diagnosis. `steps` empty: there is no recovery of at most `depth` steps (`none`: Z3 has certified that;
    `closed`: nor of any number), or the solver gave up (`reason`).

    `words`: a line for each step; `cost`: the weight of what it changes; `loss`: of declared value (negative: a gain; None where
    its denominator depends on the state, so that it was not compared).
    """

    agent: str
    steps: tuple[Step, ...]
    words: tuple[str, ...]
    cost: Fraction
    loss: Fraction | None
    none: bool
    depth: int
    closed: bool
    reason: str
    seconds: float


def suggest(auditor: Auditor, diagnosis: Diagnosis, depth: int = DEPTH, cure: bool = True) -> Suggestion:
    """The smallest recovery of at most `depth` steps from the auditor's state. Without `cure` only recovery.py's conditions are asked for.

    The suggestion has gone through the same audit as anybody's proposal. Raises Disagreement, after recording it, where it does not pass.
    """
    wanted = _Wanted(auditor, diagnosis, cure)
    try:
        found = smallest(auditor.system, auditor.loaded.bank, wanted.task(), depth)
    except Differs as wrong:
        raise _recorded(auditor, str(wrong)) from wrong
    if found.plan is None:
        none = not found.reason
        reach = "in any number of steps" if found.closed else f"in up to {found.depth} step{'' if found.depth == 1 else 's'}"
        said = f"nothing that {wanted.agent} may do {reach} is a recovery"
        if not none:
            said = f"the solver gave up after {found.depth} steps: {found.reason}"
        return Suggestion(wanted.agent, (), (), Fraction(0), Fraction(0), none, found.depth, found.closed, said, found.seconds)
    steps = tuple(Step(auditor.system.updates[number].name) for number in found.plan.updates)
    labelled = auditor.label(wanted.agent, steps, wanted.staffing)
    audit = auditor.audit(labelled)
    broken = audit.violations or recovery_violations(auditor, wanted.diagnostician, diagnosis, auditor.state, audit)
    if broken:
        raise _recorded(auditor, f"the audit refuses the recovery that was found: {broken[0].clause} {broken[0].text}")
    words = tuple(f"{step.update}: {'; '.join(in_words(auditor, step)) or 'nothing changes'}" for step in labelled)
    what = "a smallest recovery" if found.plan.weighed else "a recovery of fewest steps, not weighed against others: the solver gave up"
    return Suggestion(
        agent=wanted.agent,
        steps=steps,
        words=words,
        cost=Fraction(found.plan.cost, wanted.scale),
        loss=wanted.loss(labelled[-1].after or auditor.state),
        none=False,
        depth=found.depth,
        closed=False,
        reason=f"{what}: {found.depth} step{'' if found.depth == 1 else 's'} by {wanted.agent}",
        seconds=found.seconds,
    )


def _recorded(auditor: Auditor, what: str) -> Disagreement:
    auditor.store.append("internal", {"what": "a recovery that was found is none", "said": what, "state": auditor.state_digest})
    return Disagreement(what)


class _Wanted:
    """A diagnosis of the auditor's state as a task for the solver."""

    def __init__(self, auditor: Auditor, diagnosis: Diagnosis, cure: bool) -> None:
        self.auditor, self.diagnosis, self.cure = auditor, diagnosis, cure
        self.bank, self.tables, self.state = auditor.loaded.bank, auditor.tables, auditor.state
        self.true = auditor.facts.true
        self.diagnostician = Diagnostician(auditor)
        self.agent = self.diagnostician.responsible(diagnosis, self.state)
        self.staffing = diagnosis.kind == ASSIGNMENT
        self.scale = lcm(*(w.weight.denominator for w in self.tables.works.values()))
        """Costs are counted in this part of one."""
        self._value, self._of = self._declared_value()

    def task(self) -> Task:
        open_ = self.open()
        footprints, matched = self.tables.footprints, self.diagnosis.matched.keys()
        outside = {n for n, w in self.tables.works.items() if n not in matched and self.true(w.present, self.state)}
        flagged = [f.component for f in self.diagnosis.findings]
        answering = self.diagnostician.answering(self.diagnosis, self.state)
        return Task(
            start=self.state,
            open=open_,
            goal=self.goal(),
            forbidden={n: term for n in open_ if not (term := self._touches(n, outside)).is_false},
            settles=None if self.diagnosis.flag is None else {n: self._touches(n, answering) for n in open_},
            prefers={} if self.diagnosis.flag is None else {n: self._touches(n, flagged) for n in open_},
            changed=tuple(self._changed()),
            issued={n: tuple((condition, ISSUED * self.scale) for _, condition in footprints[n].issued) for n in open_},
            value=self._value,
        )

    def open(self) -> tuple[int, ...]:
        """The occurrences that the responsible agent may propose; no fault is suggested, even where no clause refuses it."""
        return tuple(
            number
            for number, update in enumerate(self.auditor.system.updates)
            if update.kind is not Kind.FAULT
            and (update.actor in {self.agent, "nobody"} or (self.staffing and update.operation in STAFFING))
            and self.diagnosis.matched.keys() >= self.tables.footprints[number].works
        )

    def goal(self) -> Term:
        """recovery.py, of the state after, and the cure."""
        works, bank = self.tables.works, self.bank
        parts: list[Term] = []
        for name in self.diagnosis.matched:
            work = works[name]
            if self.true(work.present, self.state):
                parts.append(work.present)
            if self.true(work.matched_sound, self.state):
                parts.append(work.matched_sound)
        weights = self.diagnosis.matched
        scale = lcm(*(w.denominator for w in weights.values()))
        scored = [(t, int(w * scale)) for name, w in weights.items() for t in (works[name].matched_sound, works[name].matched_stable)]
        least = sum(weight for term, weight in scored if self.true(term, self.state))
        quality = bank.add(*(bank.ite(term, bank.integer(weight), bank.integer(0)) for term, weight in scored))
        parts.append(bank.le(bank.integer(least), quality))
        if self.cure and self.diagnosis.flag is None:
            parts.append(bank.disj(self._cures()))
        return bank.conj(parts)

    def _cures(self) -> Iterator[Term]:
        works = self.tables.works
        diagnosed = [works[f.component] for f in self.diagnosis.findings]
        if self.diagnosis.kind == PROGRESS:
            for progress in self.tables.settings.progress:
                if self.true(progress.where, self.state) and not self.true(progress.reached, self.state):
                    yield progress.reached
            if not self.tables.settings.progress:
                yield from (
                    self.bank.and_(w.present, self.bank.not_(w.unresolved)) for w in works.values() if self.true(w.unresolved, self.state)
                )
            return
        for work in diagnosed:
            term = work.matched_sound if self.diagnosis.kind == EVIDENCE else work.matched_stable
            if not self.true(term, self.state):
                yield term

    def _touches(self, number: int, works: Iterable[str]) -> Term:
        """That the occurrence makes an assertion about one of the works anew."""
        about, assertions = frozenset(works), self.tables.assertions
        return self.bank.disj(term for name, term in self.tables.footprints[number].established if assertions[name].about in about)

    def _changed(self) -> Iterator[tuple[int, int]]:
        weights: dict[int, Fraction] = {}
        for assertion in self.tables.assertions.values():
            if assertion.about:
                for field in assertion.carriers:
                    own = REASSIGNED if field.kind == "assignee" else CHANGED
                    weights.setdefault(field.index, own * self.tables.works[assertion.about].weight)
        return ((index, int(weight * self.scale)) for index, weight in weights.items())

    # ---- declared value --------------------------------------------------------------------------------------------------
    def _declared_value(self) -> tuple[Term | None, int]:
        """(the sum over all work of its weight times v_D of its assignee, times a number; that number)."""
        bank = self.bank
        parts = [
            (bank.and_(a.assigned, bank.not_(w.off), bank.not_(w.failed)), a.worth, w.weight)
            for w in self.tables.works.values()
            for a in w.agents
        ]
        if any(worth.den.lo != worth.den.hi for _, worth, _ in parts):
            return None, 1
        of = lcm(*(worth.den.lo * weight.denominator for _, worth, weight in parts))
        return bank.add(
            *(
                bank.ite(assigned, bank.mul(bank.integer(int(weight * of / worth.den.lo)), worth.num), bank.integer(0))
                for assigned, worth, weight in parts
            )
        ), of

    def loss(self, after: State) -> Fraction | None:
        if self._value is None:
            return None
        value = self.auditor.facts.value
        return Fraction(value(self._value, self.state) - value(self._value, after), self._of)


# ---- in words ----------------------------------------------------------------------------------------------------------------


def in_words(auditor: Auditor, step: Labelled) -> Iterator[str]:
    """What a labelled step does: which assignment, which work, which evidence to obtain, which to certify again."""
    assert step.after is not None
    deltas = auditor.labeller.deltas(step)
    changed: Mapping[str, tuple[object, object]] = {
        f.name: (shown(f, old), shown(f, new))
        for f, old, new in zip(auditor.system.fields, step.before, step.after, strict=True)
        if old != new
    }
    for field in auditor.system.fields:
        if field.name in changed and field.kind in {"assignee", "status", "marker", "present", "signature", "relation", "reported"}:
            old, new = changed[field.name]
            match field.kind:
                case "assignee":
                    yield (
                        f"assign {field.owner} to {new}"
                        if old == "none"
                        else (f"take {field.owner} from {old}" if new == "none" else f"reassign {field.owner} from {old} to {new}")
                    )
                case "status":
                    yield f"take {field.owner} from {old} to {new}"
                case _:
                    yield f"set {field.name} to {str(new).lower() if isinstance(new, bool) else new}"
    work, evidence = deltas["G"], deltas["Pi"]
    assert isinstance(work, dict) and isinstance(evidence, dict)
    for artifact in _items(work["emitted"]):
        assert isinstance(artifact, dict)
        yield f"produce {artifact['artifact']}"
    for name in _items(evidence["issued"]):
        certificate = auditor.tables.certificates[str(name)]
        known = any(auditor.facts.true(t, step.before) for t in (certificate.active, certificate.revoked, certificate.superseded))
        yield f"{'certify' if known else 'obtain'} {name}{' again' if known else ''}"
    for name in (*_items(evidence["revoked"]), *_items(evidence["superseded"])):
        yield f"retract {name}"


def _items(listed: object) -> list[object]:
    assert isinstance(listed, list)
    return listed
