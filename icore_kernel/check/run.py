"""`check`: one exploration, a few solver questions, and the report made of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter

from icore_kernel.check.advice import legality_first
from icore_kernel.check.answers import exhaustive, plural
from icore_kernel.check.findings import findings
from icore_kernel.check.ongraph import OnGraph, asked
from icore_kernel.check.places import places
from icore_kernel.check.plan import make_plan
from icore_kernel.check.properties import Decide, property_results
from icore_kernel.check.questions import unaudited_questions, violations
from icore_kernel.check.reductions import Reduce, Reductions, said_of
from icore_kernel.check.scenarios import scenario_results
from icore_kernel.check.sections import Sections
from icore_kernel.explore.judge import unaudited_names
from icore_kernel.explore.model import ANSWERED, Audited, Exploration, Mode, Rules, Unaudited
from icore_kernel.explore.search import explore
from icore_kernel.load import Loaded, UsageError
from icore_kernel.near import near
from icore_kernel.system import Property, PropertyKind, System
from icore_kernel.verdict import LIBRARY, Assurance, Report, Result, Verdict

NO_RULES = Rules()

FIRST = "first violation"
"""Why a search stopped that was asked to stop there."""

AFTER_INTERRUPT = 0.3
"""Seconds that the solver may still take after an interrupt."""


def check(
    loaded: Loaded,
    *,
    only: Sequence[str] = (),
    unaudited: bool | Sequence[str] = False,
    rules: Rules = NO_RULES,
    reduce: Reduce = Reduce.AUTO,
    stop_at_first: bool = False,
) -> Report:
    """Decide everything the package declares. `only` keeps the results of those names; `unaudited` lets faults and attempts
    commit (those of these names; True: all, and no deeper than what is asked needs); `reduce` says which reductions may be used.
    `stop_at_first`: once a state or a step violates something, no further level is begun, and what is not violated is unknown.
    UsageError for an unknown name. A bound that is hit makes `unknown`, never success."""
    started = perf_counter()
    if loaded.package.kind == "library":
        return library_report(loaded, perf_counter() - started, only)
    system, bank = loaded.system, loaded.bank
    mode = _mode(system, unaudited)
    plan = make_plan(system, bank)
    first = violations(system, only, mode == Audited()) if stop_at_first else frozenset[str]()
    if first:
        rules = replace(rules, stop_when=(first,))
    elif mode == Unaudited() and not rules.stop_when:
        rules = replace(rules, stop_when=unaudited_questions(system, only))
    graph_needed = rules.keep_graph or asked(system, mode)
    needed = replace(rules, keep_graph=graph_needed, wanted=(*(("numpy",) if graph_needed else ()), *Sections.wanted(system)))
    reductions = Reductions()
    if reduce.partial_order or any(p.kind is PropertyKind.SYMMETRY for p in system.properties):
        from icore_kernel.check import reduced

        plan, exploration, reductions = reduced.reduced_search(loaded, plan, mode, needed, reduce, only)
    else:
        exploration = explore(system, plan.watchlist, needed, mode)
    if first and exploration.stopped == ANSWERED:
        exploration = replace(exploration, stopped=FIRST)
    sections = Sections(loaded, plan, exploration, _left(rules, exploration))
    graph = OnGraph(loaded, plan, exploration, rules)
    results = _results(loaded, sections, exploration, mode, lambda prop: _decide(prop, graph, reductions, exploration))
    chosen = _chosen(results, only, loaded)
    notes = findings(system, exploration, places(loaded), graph.findings) if isinstance(mode, Audited) else ()
    if only:
        notes = tuple(note for note in notes if note.subject in only or note.kind == "no_start")
    told = (*(_expected(r, system) for r in chosen), *(() if only or mode != Audited() else _unmet(results, system)))
    first_of_all, behind = legality_first(system, told, bool(only)) if mode == Audited() else ("", ())
    return Report(
        file=str(loaded.path),
        package=system.name,
        version=system.version,
        results=told,
        findings=notes,
        obligations=tuple(sections.obligations),
        space={**space_of(exploration), "reduction": said_of(reductions, exploration)},
        counts=dict(system.counts),
        seconds=perf_counter() - started,
        mode=_mode_text(unaudited),
        first=first_of_all,
        behind=behind,
    )


def library_report(loaded: Loaded, seconds: float, only: Sequence[str] = ()) -> Report:
    """A library is no system: it is read, checked and grounded, and what it declares is decided in the packages that import it."""
    properties = len(loaded.system.properties) + len(loaded.system.scenarios)
    others = [name for name in only if name != "well-formed"]
    if others:
        raise UsageError(f"{loaded.package.name} is a library: {others[0]} is decided in a package that imports it")
    detail = f"{plural(loaded.system.counts.get('declarations', 0), 'declaration')} of a library, and nothing else is decided of one"
    if properties:
        detail += f": its {'property is' if properties == 1 else f'{properties} properties are'} decided in a package that imports it"
    result = Result("well-formed", Verdict.HOLDS, Assurance.STATIC, detail, engine="checker")
    return Report(str(loaded.path), loaded.package.name, loaded.package.version, (result,), seconds=seconds, mode=LIBRARY)


def _mode(system: System, unaudited: bool | Sequence[str]) -> Mode:
    if unaudited is False:
        return Audited()
    known = unaudited_names(system)
    if unaudited is True:
        return Unaudited()
    schemas = {u.schema for u in system.updates if u.fault}
    for name in unaudited:
        if name not in known and name not in schemas:
            raise UsageError(f"no fault or attempt is called {name!r}; {near(name, (*known, *sorted(schemas)))}")
    return Unaudited(frozenset(unaudited))


def _mode_text(unaudited: bool | Sequence[str]) -> str:
    if unaudited is False:
        return "audited"
    return "unaudited" if unaudited is True else f"unaudited: {', '.join(unaudited)}"


def _left(rules: Rules, exploration: Exploration) -> float | None:
    """Seconds for the solver after the search: what `timeout` leaves, and little once somebody has interrupted."""
    if exploration.stopped == "interrupted":
        return AFTER_INTERRUPT
    return None if rules.timeout is None else rules.timeout - rules.spent - exploration.seconds


def _decide(prop: Property, graph: OnGraph, reductions: Reductions, exploration: Exploration) -> Result:
    if prop.kind is not PropertyKind.SYMMETRY:
        return graph.decide(prop)
    from icore_kernel.check.reduced import symmetry_result

    return symmetry_result(prop, reductions, exploration)


def _results(loaded: Loaded, sections: Sections, exploration: Exploration, mode: Mode, decide: Decide) -> list[Result]:
    audited = isinstance(mode, Audited)
    results = [sections.well_formed()]
    if exploration.states == 0 and exploration.stopped is None:
        results.append(sections.no_start(places(loaded).start))
    feasibility = list(sections.feasibility())
    starts_infeasible = any(r.run is not None and not r.run.steps for r in feasibility)
    if starts_infeasible:  # first: what follows is about runs from there
        results.extend(feasibility)
    if audited:
        results.extend(sections.legality())
        results.extend(sections.faults())
    if not starts_infeasible:
        results.extend(feasibility)
    results.extend(sections.soundness())
    results.extend(property_results(loaded.system, exploration, decide, sections.rootless))
    if audited:
        results.extend(sections.reports())
        results.extend(sections.performance())
        results.extend(sections.dead_ends())
        results.extend(scenario_results(loaded, sections.rootless))
    else:
        results.extend(sections.let_through())
        results.extend(sections.definedness())
    if exploration.stopped is not None and not any(r.verdict in {Verdict.VIOLATED, Verdict.UNKNOWN} for r in results):
        results.append(exhaustive(exploration, "search", ""))  # nothing else says that there was a bound
    return results


def _chosen(results: list[Result], only: Sequence[str], loaded: Loaded) -> list[Result]:
    if not only:
        return results
    names = list(dict.fromkeys(r.name for r in results))
    for name in only:
        if name not in names:
            raise UsageError(f"{loaded.package.name} has no property {name!r}; {near(name, names)}")
    # Illegal updates are not followed, so what is said of the space is said without them: that may not go unseen.
    return [r for r in results if r.name in only or (r.name == "legality" and _breaks_off(r))]


def _breaks_off(legality: Result) -> bool:
    """Whether there are illegal updates: they are a violation, or not judged where the start is infeasible."""
    return legality.verdict is Verdict.VIOLATED or (legality.verdict is Verdict.UNKNOWN and legality.assurance is Assurance.NONE)


def _unmet(results: Sequence[Result], system: System) -> list[Result]:
    """What the file expects to be violated and nothing was checked of."""
    names = {_declared(r.name) for r in results}
    return [
        Result(name, Verdict.VIOLATED, Assurance.STATIC, "the file expects a violation, and nothing of this name was checked")
        for name in system.expect_violated
        if name not in names
    ]


def _declared(name: str) -> str:
    """A result's name as declarations say it: a scenario's result is called `run NAME`."""
    return name.removeprefix("run ")


def _expected(result: Result, system: System) -> Result:
    """`expect violated NAME`: a teaching file's violation is what should be there, its absence is what should not."""
    if _declared(result.name) not in system.expect_violated:
        return result
    if result.verdict is Verdict.VIOLATED:
        detail = f"violated, as the file expects · {result.detail}" if result.detail else "violated, as the file expects"
        return replace(result, verdict=Verdict.HOLDS, detail=detail)
    if result.verdict is Verdict.UNKNOWN:
        return result
    detail = "the file expects a violation, and there is none"
    return replace(result, verdict=Verdict.VIOLATED, detail=detail, assurance=Assurance.EXHAUSTIVE)


def space_of(exploration: Exploration) -> dict[str, object]:
    """The counts of a search as a report keeps them."""
    system = exploration.system
    return {
        "states": exploration.states,
        "steps": exploration.steps,
        "stutters": exploration.stutters,
        "depth": exploration.depth,
        "levels": list(exploration.levels),
        "fields": system.fields_digest,
        "field_count": len(system.fields),
        "sliced": len(system.sliced),
        "engine": exploration.engine,
        "stopped": exploration.stopped,
        "updates": {
            update.name: {"enabled": cover.enabled, "committable": cover.committable, "committed": cover.committed}
            for update, cover in zip(system.updates, exploration.coverage, strict=True)
        },
        "seconds": exploration.seconds,
    }
