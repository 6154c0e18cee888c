"""`icore explore` and `icore graph`: the state space of one file, random runs, a run that is asked for, a saved run, drawings."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

import click

from icore_kernel.cli_check import Limits, Wrong, answer, refuse
from icore_kernel.report import paint
from icore_kernel.report.progress import Tell, progress_on
from icore_kernel.verdict import ExitStatus

if TYPE_CHECKING:
    from icore_kernel.api import Loaded, Reduce
    from icore_kernel.check.plan import Plan
    from icore_kernel.explore.model import Rules
    from icore_kernel.explore.simulate import Broken
    from icore_kernel.graphs import StepDrawing
    from icore_kernel.report.layout import Line
    from icore_kernel.system import System
    from icore_kernel.terms.node import Term
    from icore_kernel.verdict import Run


@dataclass(frozen=True, slots=True)
class Explored:
    """What every form of `icore explore` is asked."""

    path: Path
    settings: Mapping[str, str]
    theory: Path | None
    limits: Limits
    as_json: bool
    reduce: str | None = None
    begun: float = field(default_factory=monotonic)

    def load(self, goal: str | None = None) -> Loaded:
        from icore_kernel import api

        return api.load(self.path, settings=self.settings, theory=self.theory, goal=goal, seconds=self.limits.timeout)

    def rules(self, tell: Tell | None) -> Rules:
        """Asked once the package is loaded: that was a part of the time."""
        return self.limits.rules(self.settings, tell, monotonic() - self.begun)

    def reductions(self) -> Reduce:
        """None asked: symmetry, where it is declared and pays."""
        from icore_kernel import api

        return api.Reduce(self.reduce or "auto")

    def print(self, record: Callable[[], object], lines: Callable[[], Iterable[Line]]) -> None:
        if self.as_json:
            from icore_kernel.report.json import dump

            click.echo(dump(record()))
        else:
            paint.write(lines(), sys.stdout)


def guarded(ask: Callable[[], ExitStatus], path: Path, schema: str | None = None) -> ExitStatus:
    """The status of `ask`; wrong input is told on standard error, or as JSON where an answer of this schema was asked for."""
    try:
        return ask()
    except Wrong as wrong:
        return refuse(wrong, path, schema)


def explore_file(asked: Explored) -> ExitStatus:
    """Print the counts. 0 when the search is complete, 3 when it stopped before its end, 2 for wrong input."""
    from icore_kernel import api

    with progress_on(sys.stderr) as tell:
        found = answer(asked.path, lambda: api.explore(asked.load(), rules=asked.rules(tell), reduce=asked.reductions()))
    from icore_kernel.report import explore_json, explore_text

    asked.print(lambda: explore_json.exploration_record(found, asked.settings), lambda: explore_text.exploration_lines(found))
    return ExitStatus.HOLDS if found.stopped is None else ExitStatus.UNKNOWN


# ---- random runs --------------------------------------------------------------------------------------------------------


def simulate_file(asked: Explored, runs: int, seed: int) -> ExitStatus:
    """Random runs. 1 when one of them breaks something, else 3: what was only observed is never a success."""
    from icore_kernel.check.plan import make_plan
    from icore_kernel.explore.simulate import Simulation, simulate

    def ask(tell: Tell | None) -> Simulation:
        loaded = asked.load()
        plan = make_plan(loaded.system, loaded.bank)
        ends, quiet = _ends(loaded.system, plan)
        return simulate(loaded.system, runs, seed, plan.watchlist, ends, quiet, asked.rules(tell))

    with progress_on(sys.stderr) as tell:
        found = answer(asked.path, lambda: ask(tell))
    from icore_kernel.report import explore_json, explore_text

    names = check_names(found.system)
    taken = {place: _run(found.system, broken) for place, broken in enumerate(found.broken)}
    asked.print(
        lambda: explore_json.simulation_record(found, names, taken, asked.settings),
        lambda: explore_text.simulation_lines(found, names, taken),
    )
    return ExitStatus.VIOLATED if found.broken else ExitStatus.UNKNOWN


def _ends(system: System, plan: Plan) -> tuple[tuple[tuple[str, Term], ...], str]:
    """What ends a run, and what it is called when nothing can follow."""
    if not system.has_obligations:
        return (), "no productive step"
    return (("Accept", plan.accept), ("Reject", plan.reject), ("Stuck", plan.stuck)), "dead end"


def check_names(system: System) -> dict[str, str]:
    """What the ids of a plan's checks are called: a clause by its label, a property by its name."""
    from icore_kernel.check.plan import CONCLUSION, FEASIBILITY, INVARIANT, SOUNDNESS

    names: dict[str, str] = {}
    for kind, clauses in ((FEASIBILITY, system.feasibility), (SOUNDNESS, system.soundness), (CONCLUSION, system.conclusions)):
        names.update({f"{kind}:{place}": f"{kind}, {clause.label}" for place, clause in enumerate(clauses)})
    names.update({f"{INVARIANT}:{place}": prop.name for place, prop in enumerate(system.properties)})
    return names


def _run(system: System, broken: Broken) -> Run:
    from icore_kernel.runs import run_of

    return run_of(system, broken.path, broken.update)


# ---- a run to a formula -------------------------------------------------------------------------------------------------


def trace_file(asked: Explored, formula: str) -> ExitStatus:
    """A shortest run to a state that satisfies the formula. 0 when there is one, 1 when no reachable state does, 3 when the
    search stopped before either."""
    from icore_kernel import api
    from icore_kernel.explore.model import Exploration, Watchlist
    from icore_kernel.load import GOAL

    def ask(tell: Tell | None) -> Exploration:
        loaded = asked.load(formula)
        goal = next(p.formula for p in loaded.system.properties if p.name == GOAL)
        rules = replace(asked.rules(tell), stop_on=frozenset({GOAL}))
        return api.explore(loaded, rules=rules, watchlist=Watchlist(seen=((GOAL, goal),)), reduce=asked.reductions())

    with progress_on(sys.stderr) as tell:
        found = answer(asked.path, lambda: ask(tell))
    from icore_kernel.report import explore_json, explore_text
    from icore_kernel.runs import run_to

    first = found.seen[GOAL].first
    run = None if first is None else run_to(found, first)
    asked.print(
        lambda: explore_json.trace_record(found, formula, run, asked.settings), lambda: explore_text.trace_lines(found, formula, run)
    )
    if run is not None:
        return ExitStatus.HOLDS
    return ExitStatus.VIOLATED if found.stopped is None else ExitStatus.UNKNOWN


# ---- drawings -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Drawings:
    """Where to write the step graph, in which form; `limit` states at most."""

    dot: Path | None
    graphml: Path | None
    json: Path | None
    limit: int

    @property
    def asked(self) -> bool:
        return any((self.dot, self.graphml, self.json))


def draw_file(asked: Explored, drawings: Drawings) -> ExitStatus:
    """Write the step graph. 0 even when it is cut at `--graph-limit`, which is said; 3 when another bound cut it."""
    from icore_kernel.check.plan import make_plan
    from icore_kernel.explore.region import region
    from icore_kernel.graphs import step_drawing

    def ask(tell: Tell | None) -> StepDrawing:
        loaded = asked.load()
        ends, _ = _ends(loaded.system, make_plan(loaded.system, loaded.bank))
        return step_drawing(loaded.system, region(loaded.system, drawings.limit, asked.rules(tell)), dict(ends))

    with progress_on(sys.stderr) as tell:
        drawing = answer(asked.path, lambda: ask(tell))
    for path, text in _written(drawing, drawings):
        write(path, text)
        click.echo(f"{path}: {len(drawing.nodes):,} states, {len(drawing.edges):,} steps")
    if drawing.cut is None:
        return ExitStatus.HOLDS
    limited = drawing.cut == f"max-states {drawings.limit}" and asked.limits.max_states is None
    why = f"--graph-limit {drawings.limit}" if limited else drawing.cut
    click.echo(f"the graph is cut: {why}; there are more states, and states whose steps are left out are drawn dashed", err=True)
    return ExitStatus.HOLDS if limited else ExitStatus.UNKNOWN


def _written(drawing: StepDrawing, drawings: Drawings) -> Iterable[tuple[Path, str]]:
    from icore_kernel.graphs import step_dot, step_graphml, step_record
    from icore_kernel.report.json import dump
    from icore_kernel.version import VERSION

    if drawings.dot is not None:
        yield drawings.dot, step_dot(drawing)
    if drawings.graphml is not None:
        yield drawings.graphml, step_graphml(drawing)
    if drawings.json is not None:
        yield drawings.json, dump(step_record(drawing, VERSION)) + "\n"


def write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as wrong:
        raise Wrong(f"{path}: cannot be written: {wrong.strerror or wrong}") from wrong


def obligation_graph(path: Path, settings: Mapping[str, str], theory: Path | None) -> ExitStatus:
    """Print the graph of the declared obligations as DOT."""
    from icore_kernel import api
    from icore_kernel.graphs import obligation_dot

    click.echo(answer(path, lambda: obligation_dot(api.load(path, settings=settings, theory=theory))), nl=False)
    return ExitStatus.HOLDS


# ---- a saved run --------------------------------------------------------------------------------------------------------


def replay_file(path: Path, run_path: Path, settings: Mapping[str, str], theory: Path | None, as_json: bool) -> ExitStatus:
    """Replay a saved run. 0 when the package bears it out, 1 when not, 2 when it does not fit or cannot be read.

    Parameters are those the run was saved with, unless `--set` names others.
    """
    from icore_kernel import api
    from icore_kernel.cli_replay import begins_as_record
    from icore_kernel.runs_io import RunError, digests, read, replay

    if begins_as_record(run_path):
        raise Wrong(f"{run_path} is a record of a run under audit: icore replay {run_path}")
    try:
        run = answer(run_path, lambda: read(run_path))
        loaded = answer(path, lambda: api.load(path, settings={**dict(run.settings), **settings}, theory=theory))
        if run.digests != digests(loaded.system):
            changed = [name for name, digest in run.digests if (name, digest) not in digests(loaded.system)]
            click.echo(f"note: since the run was saved, these have changed: {', '.join(changed)}", err=True)
        replayed = replay(loaded.system, run)
    except RunError as wrong:
        raise Wrong(str(wrong)) from wrong
    if as_json:
        from icore_kernel.report.json import dump, replay_record

        click.echo(dump(replay_record(replayed)))
    else:
        from icore_kernel.report.space import replay_lines

        paint.write(replay_lines(replayed), sys.stdout)
    return ExitStatus.HOLDS if replayed.borne_out else ExitStatus.VIOLATED
