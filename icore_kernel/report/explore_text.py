"""The state space, random runs and a run that was asked for, as a person reads them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from icore_kernel.explore.memory import peak, show_size
from icore_kernel.explore.model import Coverage, Exploration
from icore_kernel.report.layout import Line, Part, Piece, line, number
from icore_kernel.report.text import run_lines
from icore_kernel.system import Kind, System
from icore_kernel.verdict import Run

if TYPE_CHECKING:
    from icore_kernel.explore.simulate import Simulation


NAMED = 8
"""So many ground updates that never fire are named; of more, the number is said."""


def by_schema(system: System, coverage: Sequence[Coverage]) -> dict[str, Coverage]:
    """Coverage summed over the ground updates of each schema; those that no binding can enable are there with nothing."""
    found: dict[str, Coverage] = {}
    for update, covered in zip(system.updates, coverage, strict=True):
        known = found.get(update.schema, Coverage())
        found[update.schema] = Coverage(
            known.enabled + covered.enabled, known.committable + covered.committable, known.committed + covered.committed
        )
    return {**found, **dict.fromkeys(system.silent, Coverage())}


def exploration_lines(exploration: Exploration) -> Iterator[Line]:
    """Totals, then states by level, then each schema with its occurrences and steps, what never fires, and how it was done."""
    system = exploration.system
    yield _head(system)
    yield line()
    stutter = f", of which {exploration.stutters:,} stutter" if exploration.stutters else ""
    states, steps = number(exploration.states, "state"), number(exploration.steps, "step")
    yield line(f"  {states} · {steps}{stutter} · depth {exploration.depth:,}")
    if exploration.reduction is not None:
        yield from (line(f"  {words}") for words in exploration.reduction.said())
    yield line()
    yield from table(("depth", "states"), [(f"{depth:,}", f"{count:,}") for depth, count in enumerate(exploration.levels)])
    yield line()
    yield from _coverage(system, exploration.coverage, sure=exploration.stopped is None)
    yield line()
    rate = f"{exploration.states / exploration.seconds:,.0f} states/s" if exploration.seconds > 0 else ""
    facts = [f"{exploration.seconds:.2f} s", rate, f"{show_size(peak())} at most" if peak() else "", f"engine {exploration.engine}"]
    how = " · ".join(fact for fact in facts if fact)
    if exploration.stopped is None:
        yield line(Piece("complete", Part.GOOD), f" · {how}")
    else:
        why = f"unknown, the search stopped before its end: {exploration.stopped}"
        yield line(Piece(why, Part.UNSURE), f" · {how}")


def _head(system: System) -> Line:
    """The name, and on which fields everything is counted: those that can change. The others were sliced away as constants."""
    constant = f", {number(len(system.sliced), 'constant')} sliced away" if system.sliced else ""
    facts = f" · {number(len(system.fields), 'field')} (digest {system.fields_digest[:6]}){constant}"
    return line(Piece(f"{system.name} {system.version}".rstrip(), Part.STRONG), facts)


def _coverage(system: System, coverage: Sequence[Coverage], sure: bool) -> Iterator[Line]:
    """`sure`: what did not fire never does."""
    schemas = by_schema(system, coverage)
    rows = [(name, f"{c.enabled:,}", f"{c.committable:,}", f"{c.committed:,}") for name, c in schemas.items()]
    yield from table(("update", "occurs", "committable", "steps"), rows)
    faults = {update.schema for update in system.updates if update.kind is Kind.FAULT}
    refused = [name for name, c in schemas.items() if name in faults and c.enabled and not c.committed]
    silent = [name for name, c in schemas.items() if not c.committed and name not in refused]
    ordinary = [(update, c) for update, c in zip(system.updates, coverage, strict=True) if update.schema not in faults]
    others = [update.name for update, c in ordinary if not c.committed and update.schema not in silent]
    word = "never fires" if sure else "did not fire"
    if refused:
        yield line(f"  {'always refused' if sure else 'refused'}: {', '.join(refused)}")
    if silent:
        yield line(f"  {word}: ", Piece(", ".join(silent), Part.UNSURE))
    if others:
        more = f" and {len(others) - NAMED:,} more" if len(others) > NAMED else ""
        where = f" ({len(others):,} of {number(len(ordinary), 'occurrence')})"
        yield line(f"  {word}: ", Piece(", ".join(others[:NAMED]), Part.UNSURE), more + where)


def table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Iterator[Line]:
    """The first column to the left, the others, which are counts, to the right."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    for position, row in enumerate([head, *rows]):
        first, *others = (f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True))
        cells = "   ".join((f"{first.strip():<{widths[0]}}", *others))
        yield line(Piece(f"  {cells}", Part.DIM if position == 0 else Part.PLAIN))


# ---- random runs ------------------------------------------------------------------------------------------------------


def simulation_lines(found: Simulation, names: Mapping[str, str], runs: Mapping[int, Run]) -> Iterator[Line]:
    """How runs ended, coverage, and each thing that was broken with its run. `names` of checks by id; `runs` by place in `broken`."""
    from icore_kernel.explore.simulate import BOUND

    yield _head(found.system)
    yield line()
    more = " or more" if found.more else ""
    yield line(
        f"  {number(found.runs, 'run')} · seed {found.seed} · {number(found.steps, 'step')} · longest {found.longest:,}"
        f" · {number(found.states, 'state')}{more}"
    )
    yield line()
    said = {BOUND: f"{BOUND} {found.length:,}"}
    yield from table(("ended in", "runs"), [(said.get(name, name), f"{count:,}") for name, count in found.endings.items()])
    yield line()
    yield from _coverage(found.system, found.coverage, sure=False)
    for place, broken in enumerate(found.broken):
        yield line()
        label = f": {found.system.updates[broken.update].name} fails {broken.label}" if broken.update is not None else ""
        where = f" · in {number(broken.times, 'visit')}, at its shortest in run {broken.number:,}"
        yield line(Piece(f"violated: {names.get(broken.name, broken.name)}{label}", Part.BAD), where)
        yield line()
        yield from run_lines(runs[place], "a run")
    yield line()
    if found.broken:
        yield line(Piece("violated", Part.BAD), f" · observed · {found.seconds:.2f} s")
        return
    why = f", and the runs stopped before their end: {found.stopped}" if found.stopped else ""
    yield line(Piece(f"unknown, only observed: nothing was violated in {number(found.runs, 'random run')}{why}", Part.UNSURE))


# ---- a run that was asked for -------------------------------------------------------------------------------------------


def trace_lines(exploration: Exploration, formula: str, run: Run | None) -> Iterator[Line]:
    """A shortest run to a state that satisfies the formula; that there is none; or that the search stopped before."""
    yield _head(exploration.system)
    yield line()
    if run is not None:
        yield from run_lines(run)
        yield line()
        yield line(Piece(f"reached: {formula}", Part.GOOD), f" · {exploration.seconds:.2f} s")
    elif exploration.stopped is None:
        said = f"not reached: {formula}"
        yield line(Piece(said, Part.BAD), f" · in none of {number(exploration.states, 'reachable state')} · {exploration.seconds:.2f} s")
    else:
        why = f"unknown, the search stopped before its end: {exploration.stopped}"
        yield line(Piece(why, Part.UNSURE), f" · not met in {number(exploration.states, 'state')} · {exploration.seconds:.2f} s")
