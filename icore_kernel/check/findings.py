"""Findings: ways a success could be empty (design 4, Honesty of success). Under --strict each exits 1 unless allowed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from icore_kernel.check.places import Places
from icore_kernel.check.plan import ANTECEDENT, WATCH
from icore_kernel.explore.model import Exploration
from icore_kernel.system import PropertyKind, System
from icore_kernel.verdict import Finding


def findings(system: System, exploration: Exploration, where: Places, more: Iterable[Finding] = ()) -> tuple[Finding, ...]:
    """Everything due, `more` among it, those allowed marked with their reason. A stopped search finds nothing by what it did not see."""
    found = [*_static(system), *more]
    if exploration.stopped is None and exploration.states == 0:
        found.append(Finding("no_start", "", "no initial state satisfies `initially`", where.start))
    elif exploration.stopped is None:
        found.extend(_updates(system, exploration, where))
        found.extend(_watched(system, exploration))
        found.extend(_final(system, exploration))
    return tuple(allowed(system, f) for f in found)


def allowed(system: System, finding: Finding) -> Finding:
    """The finding with the reason that `allow` gives, where it does. A family's name stands for each of its members."""
    for kind, subject, reason in system.allowed:
        if kind in {finding.kind, "vacuous"} and subject in {None, finding.subject, finding.subject.partition("[")[0]}:
            return Finding(finding.kind, finding.subject, finding.message, finding.span, reason)
    return finding


def _static(system: System) -> Iterator[Finding]:
    """Invariants (and what is to be unreachable) that depend on nothing any update writes: they say something of the initial states only.

    Their text may read what is written all the same, where the domains of the fields decide it.
    """
    written = 0
    for update in system.updates:
        for write in update.writes:
            written |= 1 << write.field.index
    for prop in system.properties:
        if prop.kind in {PropertyKind.INVARIANT, PropertyKind.UNREACHABLE} and not prop.formula.reads & written:
            said = f"`{prop.name}` depends on nothing that an update writes"
            if prop.formula.is_true or prop.formula.is_false:
                said = f"the formula of `{prop.name}` is {str(prop.formula.is_true).lower()} whatever updates do"
            yield Finding("unread_invariant", prop.name, said, prop.span)


def _updates(system: System, exploration: Exploration, where: Places) -> Iterator[Finding]:
    """By schema: what never happens, and what the audit does not see."""
    fires: dict[str, int] = dict.fromkeys(system.silent, 0)
    occurs: dict[str, int] = dict.fromkeys(system.silent, 0)
    spans = {name: schema.span for name, schema in where.schemas.items()}
    faults = {name for name, schema in where.schemas.items() if schema.fault}
    for update, cover in zip(system.updates, exploration.coverage, strict=True):
        fires[update.schema] = fires.get(update.schema, 0) + cover.committed
        occurs[update.schema] = occurs.get(update.schema, 0) + cover.enabled
    if not any(count for schema, count in fires.items() if schema not in faults):
        tried = [schema for schema, count in occurs.items() if count and schema not in faults]
        if len(faults) == len(where.schemas):
            why = "no update is declared"
        elif tried:
            why = f"no update that is enabled can take place ({', '.join(f'`{schema}`' for schema in tried[:3])}{', …' * (len(tried) > 3)})"
        else:
            why = "no update is enabled in the initial state"
        happens = "nothing but faults ever happens" if any(fires.values()) else "nothing ever happens"
        yield Finding("no_start", "", f"{why}: {happens}", where.first_update)
    for schema, count in fires.items():
        span = spans.get(schema)
        passed = exploration.passed.get(schema, 0)
        if schema not in faults:
            if count == 0:
                yield Finding("never_fires", schema, f"update `{schema}` never fires", span)
        elif occurs[schema] == 0:
            yield Finding("never_fires", schema, f"fault `{schema}` can never be attempted", span)
        elif passed == occurs[schema]:
            yield Finding("never_refused", schema, f"fault `{schema}` is never refused: the audit cannot see it", span)
        elif passed:
            yield Finding("passes", schema, f"fault `{schema}` passes the audit in {passed:,} of {occurs[schema]:,} occurrences", span)


def _watched(system: System, exploration: Exploration) -> Iterator[Finding]:
    for i, watch in enumerate(system.watches):
        sighting = exploration.seen.get(f"{WATCH}:{i}")  # a reduced search looks for what was asked only
        if sighting is not None and sighting.first is None:
            subject = f"`{watch.subject}`: " if watch.subject else ""
            yield Finding(watch.kind, watch.subject, f"{subject}{watch.message}", watch.span)
    for i, prop in enumerate(system.properties):
        for j, (_, span) in enumerate(prop.antecedents):
            sighting = exploration.seen.get(f"{ANTECEDENT}:{i}:{j}")
            if sighting is not None and sighting.first is None:
                yield Finding("antecedent", prop.name, f"`{prop.name}` holds for no reason: this never holds", span)


def _final(system: System, exploration: Exploration) -> Iterator[Finding]:
    broken = exploration.finality
    if broken is not None:
        changed = ", ".join(f"{c.label} of {c.instance}" for c in broken.changed)
        update = system.updates[broken.update]
        yield Finding("not_final", update.schema, f"a report is not final: {update.name} can follow it and changes {changed}", update.span)
