"""Termination and order stability as results: the facts of appendix B, the decisive fork, the matrix of update pairs."""

from __future__ import annotations

from icore_kernel.check.answers import plural
from icore_kernel.check.frozen import decide_given
from icore_kernel.check.whole import Whole, conflict, is_choice
from icore_kernel.rewriting.condense import Condensation, condense
from icore_kernel.rewriting.facts import Decisive, Facts, decisive, facts
from icore_kernel.rewriting.forks import Forks
from icore_kernel.rewriting.observe import classes, observed
from icore_kernel.system import Property
from icore_kernel.verdict import Assurance, Cell, Finding, Fork, Result, Run, Verdict

Cells = tuple[Cell, ...]


def termination(whole: Whole, prop: Property) -> Result:
    """No infinite productive path; else a lasso (and whether a normal form stays reachable)."""
    found = whole.facts
    if found.terminating:
        return _answer(whole, prop, Verdict.HOLDS, f"longest productive path {plural(found.longest or 0, 'step')}")
    extra = " · a normal form stays reachable from every state" if found.normalizing else ""
    return _answer(whole, prop, Verdict.VIOLATED, f"a run can go round for ever{extra}", whole.walks.lasso(whole.plain))


def stability(whole: Whole, prop: Property) -> Result:
    """Definition 14, plain or with frozen choices; `holds` only together with normalizing (design 3, Order stability)."""
    if prop.given:
        return decide_given(whole, prop)
    found, told = condensed(whole, prop)
    forks = whole.forks()
    said = _said(whole, told, forks, prop)
    if not told.definition_14:
        met = decisive(whole.graph, found, True)
        assert met is not None
        run = whole.walks.run_to(met.first[0])
        return _answer(whole, prop, Verdict.VIOLATED, said, run, fork_at(whole, found, met, prop), matrix(whole))
    if not told.normalizing:
        lasso = whole.walks.lasso(found, bottom_only=True)
        return _answer(whole, prop, Verdict.VIOLATED, said, lasso, None, matrix(whole))
    return _answer(whole, prop, Verdict.HOLDS, said, None, None, matrix(whole))


def condensed(whole: Whole, prop: Property) -> tuple[Condensation, Facts]:
    """The condensation whose classes of normal forms are those that `on` tells apart."""
    if not prop.on:
        return whole.plain, whole.facts
    table = classes(whole.graph.states, whole.settled(), whole.exploration.store.state, observed(whole.system, prop.on))
    found = condense(whole.graph, table)
    return found, facts(whole.graph, found)


def _answer(
    whole: Whole, prop: Property, verdict: Verdict, detail: str, run: Run | None = None, fork: Fork | None = None, cells: Cells = ()
) -> Result:
    return Result(prop.name, verdict, Assurance.EXHAUSTIVE, detail, prop.span, run, (), whole.engine, fork, cells)


def _said(whole: Whole, told: Facts, forks: Forks, prop: Property) -> str:
    """The three facts apart, then the forks, then the settlements."""
    parts: list[str] = []
    if prop.on and " on " not in prop.name:
        parts.append(f"on {', '.join(prop.on)}")
    if told.terminating:
        parts.append("terminating")
    elif told.normalizing:
        parts.append("normalizing, not terminating")
    elif told.normal_forms:
        parts.append("not normalizing: some runs can never settle")
    else:
        parts.append("vacuous: no run settles")
    parts.append("definition 14 holds" if told.definition_14 else "definition 14 fails")
    parts.append("confluent" if told.confluent else "not confluent")
    parts.append(forks_said(forks))
    settlements = plural(told.normal_forms, "normal form")
    if prop.on:
        settlements = f"{plural(told.classes, 'outcome')} of {settlements}"
    if len(whole.initial) > 1:
        settlements += f" from {len(whole.initial):,} initial states"
    parts.append(settlements)
    return " · ".join(parts)


def forks_said(forks: Forks) -> str:
    """`312 critical pairs, all joinable · 1,024 independent forks`; of those not joinable, how many are choices."""
    total = forks.total()
    if total.critical == 0 and total.independent == 0:
        return "no fork"
    said = plural(total.critical, "critical pair")
    if total.critical:
        said += ", all joinable" if total.joinable == total.critical else f", {total.joinable:,} joinable"
    if total.not_joinable:
        choices = sum(tally.not_joinable for key, tally in forks.by_pair.items() if key[2])
        said += f", {choices:,} apart by choice, {total.not_joinable - choices:,} by order"
    if total.unclassified:
        said += f", {total.unclassified:,} unclassified"
    return f"{said} · {plural(total.independent, 'independent fork')}"


def matrix(whole: Whole) -> tuple[Cell, ...]:
    """A cell for every pair of schemas that is ever enabled together."""
    return tuple(
        Cell(whole.schemas[first], whole.schemas[second], bool(choice), t.independent, t.joinable, t.not_joinable, t.unclassified)
        for (first, second, choice), t in whole.forks().by_pair.items()
    )


def fork_at(whole: Whole, found: Condensation, met: Decisive, prop: Property) -> Fork:
    """The decisive fork with both sides run to their settlements."""
    walks = whole.walks
    a, b = whole.system.updates[met.first[1]], whole.system.updates[met.second[1]]
    left, left_end = walks.settle(met.first[2])
    right, right_end = walks.settle(met.second[2])
    way = walks.inside(met.first[0], met.second[0], int(found.component[met.first[0]]), found)
    return Fork(
        walks.step(met.first[0], met.first[1]), walks.step(met.second[0], met.second[1]), is_choice(a, b), conflict(whole.system, a, b),
        walks.difference(left_end, right_end, observed(whole.system, prop.on)), (left, right), way,
    )  # fmt: skip


def order_findings(whole: Whole, prop: Property) -> list[Finding]:
    """`no_fork`: order stability that holds because no two updates ever compete."""
    total = whole.forks().total()
    if total.critical or total.independent:
        return []
    why = "there is one update" if len(whole.system.updates) == 1 else "never are two productive updates enabled together"
    return [Finding("no_fork", prop.name, f"`{prop.name}` says nothing: {why}", prop.span)]
