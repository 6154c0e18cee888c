"""What usually repairs an illegal step, said plainly."""

from __future__ import annotations

from icore_kernel.check.missing import Gap, gaps
from icore_kernel.check.premises import Unmet, may_issue, unmet
from icore_kernel.check.reasons import lacking_of, stale, work_changed
from icore_kernel.explore.judge import successor
from icore_kernel.explore.model import Failing, Phase, State, Violation
from icore_kernel.load import Loaded
from icore_kernel.meaning import scalar
from icore_kernel.system import Clause, Field, System
from icore_kernel.terms.node import Term, variables


def was_false(failing: Failing, before: State) -> bool:
    """Of a clause of feasibility: whether it was false before the step already, so that the step did not break it."""
    return failing.phase is Phase.FEASIBILITY and not scalar.evaluate(failing.clause.formula, before)


def repair_of(loaded: Loaded, violation: Violation, before: State) -> str:
    """Of the clauses that the step breaks: evidence to issue where some is missing, evidence to withdraw where there is too much.

    What no certificate claims cannot be issued: then the claim is what is missing. What the step itself issues is never too much: then
    what that rests on is missing.
    """
    system = loaded.system
    schema = violation.schema
    broken = [failing for failing in violation.failing if not was_false(failing, before)]
    if any(failing.phase is Phase.RANGE for failing in broken):
        return f"strengthen the guard of {schema}, or widen the field that it writes"
    behind = [failing.clause for failing in broken if failing.phase in {Phase.AFTER, Phase.FEASIBILITY}]
    if not behind:
        return f"let the declared issuer do {schema}, or name its actor in `revocable by`"
    update = system.updates[violation.update]
    after = successor(update, before)
    surplus: dict[str, None] = {}
    missing = False
    for clause in behind:
        for term in _failing(clause, after):
            too_much = [field for field in surplus_of(system, term, after) if not may_issue(update, field.name)]
            missing = missing or not too_much
            if too_much:
                surplus[" or ".join(field.name for field in too_much)] = None
    lacking = unmet(loaded, update, after) if missing else []
    said = _issue(loaded, schema, gaps(loaded, broken, after), lacking, before, after) if missing else ""
    if missing and not said:
        said = _again(system, schema, behind, before, after)
    if not surplus:
        return said
    withdraw = f"revoke or supersede {', '.join(surplus)} where {schema} happens"
    return f"{said}; {withdraw}" if said else withdraw


def _issue(loaded: Loaded, schema: str, missing: list[Gap], lacking: list[Unmet], before: State, after: State) -> str:
    """Evidence that the step misses: its issue, where nothing issues it; a claim, where nothing claims what the step asserts; else what
    the evidence that it issues rests on."""
    said: list[str] = []
    for name in (gap.assertion for gap in missing if not gap.certificate):
        changed = zip(loaded.system.fields, before, after, strict=True)
        issued = [f.name for f, old, new in changed if old != new and f.kind == "certificate" and f.domain.show(new) == "active"]
        where = f"a certificate that {schema} issues ({', '.join(issued)})" if issued else f"a certificate, and let {schema} issue it"
        said.append(f"no certificate claims {name}: add it to the claims of {where}")
    unissued = [gap.certificate for gap in missing if gap.certificate]
    if unissued:
        said.append(f"let {schema} issue the evidence that is missing: {', '.join(unissued)}, which no update that can happen issues")
    said.extend(_premises(schema, lacking) if not said else ())
    return "; ".join(said)


def _again(system: System, schema: str, behind: list[Clause], before: State, after: State) -> str:
    """Evidence that is there and of the past; where it is none of that, what is missing is any."""
    meant = work_changed(system, before, after)
    each = [lacking_of(system, term, after, meant) for clause in behind for term in _failing(clause, after)]
    old = dict.fromkeys(certificate for lacking in each for _, certificate in stale(system, lacking, after))
    if each and all(stale(system, lacking, after) for lacking in each):
        return f"let {schema} issue {', '.join(old)} again: issued before, it is evidence of what was there before"
    return f"let {schema} issue the evidence that is missing, or require in its guard what that evidence rests on"


def _premises(schema: str, lacking: list[Unmet]) -> list[str]:
    """One certificate that lacks premises, and the first of these."""
    if not lacking:
        return []
    certificate, repeated = lacking[0].certificate, lacking[0].repeated
    alike = [one for one in lacking if one.certificate == certificate and one.repeated == repeated][:3]
    names = " and ".join(f"{one.premise} ({one.state})" for one in alike)
    said = [f"{certificate} rests on {names}: require {'that' if len(alike) == 1 else 'them'} in the guard of {schema}"]
    if repeated:
        said.append(f"`{repeated}` makes each of them a premise: where one of several will do, add `{lacking[0].one_of_several}`")
    return said


def surplus_of(system: System, term: Term, state: State) -> list[Field]:
    """The certificates that are active in the state and without which, each alone, the formula would hold: evidence too much."""
    found: list[Field] = []
    for variable in variables(term):
        field = system.fields[variable.index]
        if field.kind == "certificate" and field.domain.show(state[field.index]) == "active":
            absent = (*state[: field.index], field.domain.lo, *state[field.index + 1 :])
            if scalar.evaluate(term, absent):
                found.append(field)
    return found


def _failing(clause: Clause, state: State) -> list[Term]:
    """The instances of a clause that fail in the state; the whole where it was not split."""
    return [term for _, term in clause.instances if not scalar.evaluate(term, state)] or [clause.formula]
