"""`icore stable`: termination and order stability alone, with the matrix of update pairs and what the solver says of them."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING

from icore_kernel.check.findings import allowed
from icore_kernel.check.ongraph import OnGraph
from icore_kernel.check.plan import make_plan
from icore_kernel.check.run import library_report, space_of
from icore_kernel.check.whole import Whole, is_choice
from icore_kernel.explore.model import Rules
from icore_kernel.explore.search import explore
from icore_kernel.load import Loaded
from icore_kernel.system import Field, Kind, Property, PropertyKind, System
from icore_kernel.verdict import Cell, Obligation, Report

if TYPE_CHECKING:
    from icore_kernel.prove.independence import Independence

NO_RULES = Rules()
SOLVER_SECONDS = 10.0
ONE_QUESTION_MS = 2_000
KINDS = {PropertyKind.TERMINATION, PropertyKind.STABILITY}


def stable(loaded: Loaded, *, rules: Rules = NO_RULES, solver_seconds: float = SOLVER_SECONDS) -> tuple[Report, tuple[Cell, ...]]:
    """A report of termination and of every declared order stability (the plain one where none is), and the matrix.

    The solver gets at most `solver_seconds` in all; what it had no time for stays `independent where reached`. The matrix is empty
    for a search that stopped. Of a library nothing is decided, as `check` says.
    """
    started = perf_counter()
    if loaded.package.kind == "library":
        return library_report(loaded, perf_counter() - started), ()
    system = replace(loaded.system, properties=_asked(loaded))
    narrowed = replace(loaded, system=system)
    plan = make_plan(system, loaded.bank)
    exploration = explore(system, rules=replace(rules, keep_graph=True))
    graph = OnGraph(narrowed, plan, exploration, rules)
    results = tuple(graph.decide(prop) for prop in system.properties)
    cells: tuple[Cell, ...] = ()
    obligations: tuple[Obligation, ...] = ()
    if graph.whole is not None:
        cells, obligations = matrix_proved(graph.whole, solver_seconds)
    report = Report(
        str(loaded.path), system.name, system.version, results, tuple(allowed(system, f) for f in graph.findings), obligations,
        space_of(exploration), dict(system.counts), perf_counter() - started,
    )  # fmt: skip
    return report, cells


def _asked(loaded: Loaded) -> tuple[Property, ...]:
    declared = tuple(p for p in loaded.system.properties if p.kind in KINDS)
    more: list[Property] = []
    for kind in (PropertyKind.TERMINATION, PropertyKind.STABILITY):
        if all(p.kind is not kind for p in declared):
            more.append(Property(kind, kind.value, loaded.bank.true, loaded.package.span))
    order = {PropertyKind.TERMINATION: 0, PropertyKind.STABILITY: 1}
    return tuple(sorted((*declared, *more), key=lambda p: order[p.kind]))


def matrix_proved(whole: Whole, seconds: float) -> tuple[tuple[Cell, ...], tuple[Obligation, ...]]:
    """The matrix; of cells whose forks are all independent, whether that is so in every feasible state; of the others, a condition
    of conflict. Faults are left as reached."""
    from icore_kernel.check.order import matrix
    from icore_kernel.prove.independence import Independence

    asked = Independence(whole.system, whole.bank)
    until = perf_counter() + seconds
    members = _members(whole.system)
    cells: list[Cell] = []
    obligations: list[Obligation] = []
    for cell in matrix(whole):
        pairs = members.get((cell.first, cell.second, cell.choice), [])
        began = perf_counter()
        settled, answer = _settle(asked, cell, pairs, until)
        cells.append(settled)
        obligations.append(Obligation(f"{cell.first} and {cell.second} independent", answer, perf_counter() - began))
    return tuple(cells), tuple(obligations)


def _members(system: System) -> dict[tuple[str, str, bool], list[tuple[int, int]]]:
    place = {name: i for i, name in enumerate(dict.fromkeys(u.schema for u in system.updates))}
    found: dict[tuple[str, str, bool], list[tuple[int, int]]] = {}
    for a, one in enumerate(system.updates):
        for b in range(a + 1, len(system.updates)):
            other = system.updates[b]
            if Kind.FAULT not in {one.kind, other.kind}:
                first, second = sorted((one.schema, other.schema), key=place.__getitem__)
                found.setdefault((first, second, is_choice(one, other)), []).append((a, b))
    return found


def _condition(system: System, a: int, b: int, values: tuple[tuple[Field, int], ...] | None) -> str:
    """`assign(ana, unit), push: status(unit) = ready`: when these two conflict."""
    if values is None:
        where = "in some feasible state"
    elif values:
        where = " and ".join(f"{f.name} = {f.domain.show(value)}" for f, value in values)
    else:
        where = "wherever both can happen"
    return f"{system.updates[a].name}, {system.updates[b].name}: {where}"


def _settle(asked: Independence, cell: Cell, pairs: list[tuple[int, int]], until: float) -> tuple[Cell, str]:
    """The cell with what the solver says, and its answer in a word."""
    from icore_kernel.prove.independence import Independent

    everywhere = bool(pairs)
    for a, b in pairs:
        left = int((until - perf_counter()) * 1000)
        if left < 1:
            return cell, "unknown"
        found = asked.of(a, b, min(left, ONE_QUESTION_MS))
        if found.answer is Independent.CONFLICT:
            return replace(cell, condition=_condition(asked.system, a, b, found.condition)), "sat"
        everywhere = everywhere and found.answer is Independent.EVERYWHERE
    return replace(cell, everywhere=everywhere), "unsat" if everywhere else "unknown"
