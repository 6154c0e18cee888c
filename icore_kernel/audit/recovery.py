"""Line 32 beyond legality: does a candidate recovery answer the diagnosis without hiding work (A.9, A.10)? And progress (lines 17, 35)."""

from __future__ import annotations

from collections.abc import Iterator

from icore_kernel.audit.auditor import Audit, Auditor
from icore_kernel.audit.diagnosis import Diagnostician
from icore_kernel.audit.facts import Facts
from icore_kernel.audit.host import Diagnosis
from icore_kernel.audit.judge import Violation
from icore_kernel.audit.tables import Tables
from icore_kernel.explore.model import State

ANSWER, FLAG, OUTSIDE, REMOVAL, QUALITY = "A.10 recovery", "A.10 hard flag", "A.9 matched set", "A.9 removal", "A.9 matched quality"
"""The labels of what a legal recovery can still break."""


def recovery_violations(
    auditor: Auditor, diagnostician: Diagnostician, diagnosis: Diagnosis, before: State, audit: Audit
) -> tuple[Violation, ...]:
    """What a legal recovery from X- still breaks; empty where it may be committed."""
    return tuple(_violations(auditor, diagnostician, diagnosis, before, audit))


def _violations(auditor: Auditor, diagnostician: Diagnostician, diagnosis: Diagnosis, before: State, audit: Audit) -> Iterator[Violation]:
    after = audit.after
    if after is None:
        yield Violation(ANSWER, "", "no recovery was proposed")
        return
    weights, facts = dict(diagnosis.matched), auditor.facts
    touched = auditor.established(audit.steps)
    if diagnosis.flag is not None and not touched & (answering := diagnostician.answering(diagnosis, before)):
        flagged = ", ".join(f.component for f in diagnosis.findings)
        open_ = ", ".join(name for name in weights if name in answering)
        yield Violation(FLAG, "", f"the hard flag on {flagged} is not resolved: nothing is established anew of {open_}")
    for name, work in auditor.tables.works.items():
        if name in touched and name not in weights and facts.true(work.present, before):
            yield Violation(OUTSIDE, name, f"{name} is not in the matched set, which was frozen before the recovery was asked for")
        if name in weights and facts.true(work.present, before) and not facts.true(work.present, after):
            yield Violation(REMOVAL, name, f"{name} is removed without transport or settlement")
        if name in weights and not facts.true(work.matched_sound, after) and facts.true(work.matched_sound, before):
            yield Violation(REMOVAL, name, f"{name} loses its justification, or is off without valid evidence")
    first, second = (diagnostician.matched_quality(weights, state) for state in (before, after))
    if second < first:
        yield Violation(QUALITY, "", f"cq over the matched set falls from {first} to {second}")


def progressed(facts: Facts, tables: Tables, before: State, after: State) -> bool:
    """Progress_D(X, X+), as declared; where the package says nothing: some work is settled that was not."""
    if before == after:
        return False
    for progress in tables.settings.progress:
        if facts.true(progress.where, before) and not facts.true(progress.reached, before) and facts.true(progress.reached, after):
            return True
    if tables.settings.progress:
        return False
    return any(
        facts.true(w.unresolved, before) and facts.true(w.present, after) and not facts.true(w.unresolved, after)
        for w in tables.works.values()
    )
