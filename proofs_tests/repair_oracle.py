"""Recoveries found the naive way, breadth first in the scalar meaning: what repair synthesis is compared with."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from fractions import Fraction

from icore_kernel.audit.auditor import Audit, Auditor, Flag
from icore_kernel.audit.diagnosis import ASSIGNMENT, EVIDENCE, FLAG, NOTHING_ENABLED, PROGRESS, QUALITY, REASSIGN, Diagnostician, status_of
from icore_kernel.audit.host import Diagnosis, Step
from icore_kernel.audit.label import Labelled
from icore_kernel.audit.recovery import progressed, recovery_violations
from icore_kernel.audit.views import Views
from icore_kernel.explore.model import State
from icore_kernel.meaning import scalar
from icore_kernel.system import Kind


@dataclass(frozen=True)
class Best:
    """The least number of steps, the least cost of so many, the least loss at that cost. `steps` None: there is none of up to `depth`."""

    steps: int | None
    cost: Fraction = Fraction(0)
    loss: Fraction = Fraction(0)
    depth: int = 0
    closed: bool = False


def breadth_first(auditor: Auditor, diagnosis: Diagnosis, depth: int, cure: bool) -> Best:
    start = auditor.state
    diagnostician = Diagnostician(auditor)
    agent = diagnostician.responsible(diagnosis, start)
    views = Views(auditor, 100, False)
    staffing = diagnosis.kind == ASSIGNMENT
    known: set[tuple[object, ...]] = set()
    layer: dict[tuple[object, ...], tuple[int, tuple[Labelled, ...]]] = {(): (0, ())}
    for length in range(1, depth + 1):
        reached: dict[tuple[object, ...], tuple[int, tuple[Labelled, ...]]] = {}
        for issued, path in layer.values():
            state = path[-1].after if path else start
            assert state is not None
            for candidate in views.feedback(state, 0, agent, diagnosis).candidates:
                if candidate.fault or auditor.system.updates[candidate.number].kind is Kind.FAULT:
                    continue
                step = auditor.labeller.label(state, agent, Step(candidate.update), staffing)
                assert not step.problems
                if step.after is None or auditor.judge.failing(state, candidate.number, step.after):
                    continue
                cost = issued + len(auditor.labeller.deltas(step)["Pi"]["issued"])  # type: ignore[arg-type, call-overload, index]
                longer = (*path, step)
                touched = auditor.established(longer)
                own = not (diagnosis.flag is not None and touched & {f.component for f in diagnosis.findings})
                node = (step.after, bool(touched & diagnosis.matched.keys()), frozenset(touched - diagnosis.matched.keys()), own)
                if node not in known and (node not in reached or cost < reached[node][0]):
                    reached[node] = cost, longer
        known |= reached.keys()
        good = [(node, *found) for node, found in reached.items() if _answers(auditor, diagnostician, diagnosis, start, found[1], cure)]
        if good:
            of = [
                (node[-1], issued + _changed(auditor, start, path[-1].after), _loss(auditor, start, path[-1].after))
                for node, issued, path in good
            ]
            _, cost, loss = min(of)
            return Best(length, cost, loss, length)
        if not reached:
            return Best(None, depth=length - 1, closed=True)
        layer = reached
    return Best(None, depth=depth)


def _answers(auditor: Auditor, d: Diagnostician, diagnosis: Diagnosis, start: State, path: tuple[Labelled, ...], cure: bool) -> bool:
    if recovery_violations(auditor, d, diagnosis, start, Audit(path, ())):
        return False
    after = path[-1].after
    assert after is not None
    if not cure or diagnosis.flag is not None:
        return True
    if diagnosis.kind == PROGRESS:
        return progressed(auditor.facts, auditor.tables, start, after)
    works = [auditor.tables.works[f.component] for f in diagnosis.findings]
    terms = [w.matched_sound if diagnosis.kind == EVIDENCE else w.matched_stable for w in works]
    return any(scalar.evaluate(t, after) and not scalar.evaluate(t, start) for t in terms)


def _changed(auditor: Auditor, start: State, after: State | None) -> Fraction:
    """By the fields' names: 2 for an assignee, 4 for whatever else an assertion is about, times the weight of the work."""
    assert after is not None
    carriers: dict[int, tuple[int, str]] = {}
    for assertion in auditor.tables.assertions.values():
        for f in assertion.carriers:
            if assertion.about:
                carriers.setdefault(f.index, (2 if f.name.startswith("assignee(") else 4, assertion.about))
    works = auditor.tables.works
    return sum((own * works[about].weight for i, (own, about) in carriers.items() if start[i] != after[i]), Fraction(0))


def _loss(auditor: Auditor, start: State, after: State | None) -> Fraction:
    assert after is not None

    def value(state: State) -> Fraction:
        return sum(
            (
                w.weight * auditor.ratio(a.worth, state)
                for w in auditor.tables.works.values()
                for a in w.agents
                if scalar.evaluate(a.assigned, state)
                and not scalar.evaluate(w.off, state)
                and status_of(auditor.facts, w, state) not in {"rejected", "invalid"}
            ),
            Fraction(0),
        )

    return value(start) - value(after)


def diagnosed(auditor: Auditor, draw: random.Random, most: int = 25) -> Diagnosis:
    """Walk at random from where the auditor is, then diagnose for a random reason (a flag on random work among them)."""
    state = auditor.state
    for _ in range(draw.randrange(most)):
        enabled, _ = auditor.judge.enabled(state)
        if not enabled:
            break
        after = auditor.judge.successor(state, draw.choice(enabled))
        assert after is not None
        state = after
    auditor.adopt(state)
    works = [w.name for w in auditor.tables.works.values() if scalar.evaluate(w.present, state)]
    auditor.flags = []
    triggers = [draw.choice((FLAG, REASSIGN, QUALITY, NOTHING_ENABLED))]
    if triggers == [FLAG]:
        clause = draw.choice(("when", "A.4(2)"))
        auditor.flags = [Flag(7, draw.choice(auditor.tables.agents), "", (draw.choice(works),), (clause,))]
    diagnostician = Diagnostician(auditor)
    found = diagnostician.diagnose(triggers, diagnostician.diagnostics(state), [])
    return replace(found, matched=diagnostician.matched(found, state))
