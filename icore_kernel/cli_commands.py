"""The commands, but for those about runs (`cli_runs.py`). Only click is imported at start; `cli.py` adds them to the group."""

from __future__ import annotations

from pathlib import Path

import click

from icore_kernel.cli_options import (
    CHECKPOINT,
    CORES,
    FORMAT,
    MAX_DEPTH,
    MAX_MEMORY,
    MAX_STATES,
    PATH,
    REDUCE,
    RESUME,
    SET,
    THEORY,
    TIMEOUT,
    CheckCommand,
    OptionalValue,
    fault_names,
    limits_of,
    positive_seconds,
)
from icore_kernel.cli_output import spare_inputs


@click.command(cls=CheckCommand)
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=PATH)
@SET
@click.option("--only", metavar="PROPERTY", multiple=True, help="Answer only this property (may be given again).")
@click.option(
    "--unaudited",
    cls=OptionalValue,
    metavar="[=FAULT,...]",
    callback=fault_names,
    help="Judge nothing: faults and attempts (or those named) commit.",
)
@click.option("--strict", is_flag=True, help="A finding that is not allowed exits 1.")
@click.option("--stop-at-first", "-x", is_flag=True, help="Search no deeper once a state or a step violates something.")
@click.option("--format", "form", type=click.Choice(["text", "json", "junit"]), default="text", show_default=True, help="What to print.")
@MAX_STATES
@MAX_DEPTH
@TIMEOUT
@MAX_MEMORY
@CORES
@CHECKPOINT
@RESUME
@REDUCE
@click.option("--save-run", metavar="PATH", type=PATH, help="Save the first counterexample, for `icore explore --replay`.")
@THEORY
def check(
    files: tuple[Path, ...],
    settings: dict[str, str],
    only: tuple[str, ...],
    unaudited: bool | tuple[str, ...],
    strict: bool,
    stop_at_first: bool,
    form: str,
    max_states: int | None,
    max_depth: int | None,
    timeout: float | None,
    max_memory: int | None,
    cores: int | None,
    checkpoint: Path | None,
    resume: Path | None,
    reduce: str | None,
    save_run: Path | None,
    theory: Path | None,
) -> int:
    """The verdict on each FILE, with a shortest run where one is violated."""
    from icore_kernel.cli_check import Asked, check_files

    limits = limits_of(max_states, max_depth, timeout, max_memory, checkpoint, resume, cores)
    if limits.checkpoint is not None and len(files) > 1:
        raise click.UsageError("a checkpoint is of one file: check the files one by one")
    spare_inputs((save_run,), files, theory)
    asked = Asked(settings, theory, only, unaudited, strict, form == "json", limits, save_run, reduce, form == "junit", stop_at_first)
    return check_files(files, asked)


@click.command()
@click.argument("file", metavar="FILE", type=PATH)
@SET
@click.option("--replay", metavar="RUN", type=PATH, help="Replay a run that `icore check --save-run` saved.")
@click.option("--simulate", metavar="N", type=click.IntRange(min=1), help="N random runs, of at most --max-depth steps (1000).")
@click.option("--seed", metavar="S", type=int, help="The seed of the random runs (0): the same seed, the same runs.")
@click.option("--trace-to", metavar="FORMULA", help="A shortest run to a state that satisfies FORMULA; exit 1 if there is none.")
@click.option("--dot", metavar="PATH", type=PATH, help="Write the step graph in DOT.")
@click.option("--graphml", metavar="PATH", type=PATH, help="Write the step graph in GraphML.")
@click.option("--json", "record", metavar="PATH", type=PATH, help="Write the step graph in JSON.")
@click.option("--graph-limit", metavar="N", type=click.IntRange(min=1), default=2000, show_default=True, help="States of a step graph.")
@FORMAT
@MAX_STATES
@MAX_DEPTH
@TIMEOUT
@MAX_MEMORY
@CORES
@CHECKPOINT
@RESUME
@REDUCE
@THEORY
def explore(
    file: Path,
    settings: dict[str, str],
    replay: Path | None,
    simulate: int | None,
    seed: int | None,
    trace_to: str | None,
    dot: Path | None,
    graphml: Path | None,
    record: Path | None,
    graph_limit: int,
    form: str,
    max_states: int | None,
    max_depth: int | None,
    timeout: float | None,
    max_memory: int | None,
    cores: int | None,
    checkpoint: Path | None,
    resume: Path | None,
    reduce: str | None,
    theory: Path | None,
) -> int:
    """The state space of FILE by level and update; or random runs, a run to a formula, the step graph, a saved run."""
    from icore_kernel import cli_explore as form_of

    drawings = form_of.Drawings(dot, graphml, record, graph_limit)
    given = [replay is not None, simulate is not None, trace_to is not None, drawings.asked]
    if sum(given) > 1:
        raise click.UsageError("--replay, --simulate, --trace-to and the step graph (--dot, --graphml, --json) are asked one at a time")
    if seed is not None and simulate is None:
        raise click.UsageError("--seed is of --simulate")
    if reduce is not None and (replay is not None or simulate is not None or drawings.asked):
        raise click.UsageError("--reduce is of a search: not of --replay, --simulate or a step graph")
    limits = limits_of(max_states, max_depth, timeout, max_memory, checkpoint, resume, cores)
    if limits.checkpoint is not None and (replay is not None or simulate is not None or drawings.asked):
        raise click.UsageError("only a search writes checkpoints: not --replay, --simulate or a step graph")
    spare_inputs((dot, graphml, record), (file,), theory)
    asked = form_of.Explored(file, settings, theory, limits, form == "json", reduce)

    def schema(name: str) -> str | None:
        return f"icore.{name}/1" if form == "json" else None

    if replay is not None:
        return form_of.guarded(lambda: form_of.replay_file(file, replay, settings, theory, asked.as_json), file, schema("replay"))
    if simulate is not None:
        return form_of.guarded(lambda: form_of.simulate_file(asked, simulate, seed or 0), file, schema("simulate"))
    if trace_to is not None:
        return form_of.guarded(lambda: form_of.trace_file(asked, trace_to), file, schema("trace"))
    if drawings.asked:
        return form_of.guarded(lambda: form_of.draw_file(asked, drawings), file, schema("explore"))
    return form_of.guarded(lambda: form_of.explore_file(asked), file, schema("explore"))


@click.command()
@click.argument("file", metavar="FILE|RECORD")
@click.option("--html", metavar="PATH", type=PATH, help="Of a record: a page of events, evidence and work along time.")
@click.option("--dot", metavar="PATH", type=PATH, help="Of a record: its three graphs, in DOT (printed, where nothing is asked for).")
@click.option("--graphml", metavar="PATH", type=PATH, help="Of a record: its three graphs as one, in GraphML.")
@click.option("--prov", metavar="PATH", type=PATH, help="Of a record: what happened, in W3C PROV-JSON.")
@click.option("--at", metavar="SEQ", type=click.IntRange(min=0), help="Of a record: as it was after entry SEQ (else at the end).")
@SET
@THEORY
def graph(
    file: str,
    html: Path | None,
    dot: Path | None,
    graphml: Path | None,
    prov: Path | None,
    at: int | None,
    settings: dict[str, str],
    theory: Path | None,
) -> int:
    """The obligations of FILE, required roots and relations, as a graph in DOT; or the graphs G, Q and Pi of a RECORD."""
    from icore_kernel import cli_replay as records

    drawings = records.Drawings(html, dot, graphml, prov)
    if records.is_record(file):
        if settings or theory is not None:
            raise click.UsageError("--set and --theory are of packages: a record has its own")
        spare_inputs((html, dot, graphml, prov), others=(Path(file),))
        return records.guarded(lambda: records.graph_record(file, at, drawings))
    if at is not None or drawings.asked:
        raise click.UsageError(f"--html, --dot, --graphml, --prov and --at are of records, and {file} is none")
    from icore_kernel.cli_explore import guarded, obligation_graph

    return guarded(lambda: obligation_graph(Path(file), settings, theory), Path(file))


@click.command()
@click.argument("file", metavar="FILE", type=PATH)
@SET
@click.option("--to", "peer", type=click.Choice(["promela", "tla", "smv", "maude", "murphi"]), required=True, help="Whose model to write.")
@click.option("--output", "-o", metavar="PATH", type=PATH, help="Write it here instead of printing it.")
@THEORY
def export(file: Path, settings: dict[str, str], peer: str, output: Path | None, theory: Path | None) -> int:
    """FILE as a model of SPIN, TLC, NuSMV, Maude or rumur.

    The model is the audited transition system: what is legal moves, and the peer finds the states of `icore explore`.
    """
    from icore_kernel.cli_export import export_file, written

    spare_inputs(written(output, peer), (file,), theory)
    return export_file(file, peer, settings, theory, output)


@click.command()
@click.argument("file", metavar="FILE", type=PATH)
@SET
@click.option("--html", metavar="PATH", type=PATH, help="Write a page that draws the fork and steps through both sides.")
@click.option(
    "--solver-time", metavar="S", type=float, default=10.0, show_default=True, callback=positive_seconds, help="Seconds for the solver."
)
@FORMAT
@MAX_STATES
@MAX_DEPTH
@TIMEOUT
@MAX_MEMORY
@THEORY
def stable(
    file: Path,
    settings: dict[str, str],
    html: Path | None,
    solver_time: float,
    form: str,
    max_states: int | None,
    max_depth: int | None,
    timeout: float | None,
    max_memory: int | None,
    theory: Path | None,
) -> int:
    """Whether the order of events matters in FILE: termination, order stability, and every pair of updates."""
    from icore_kernel.cli_stable import stable_file

    limits = limits_of(max_states, max_depth, timeout, max_memory)
    spare_inputs((html,), (file,), theory)
    return stable_file(file, settings, theory, limits, solver_time, html, as_json=form == "json")


@click.command()
@click.argument("file", metavar="FILE", type=PATH)
@SET
@click.option("--depth", metavar="K", type=click.IntRange(min=0), help="Look for runs of up to K steps that break what is not proved.")
@click.option("--certificate", metavar="DIR", type=PATH, help="Write what is proved to DIR, as SMT-LIB 2 that any solver can check.")
@FORMAT
@TIMEOUT
@THEORY
def prove(
    file: Path,
    settings: dict[str, str],
    depth: int | None,
    certificate: Path | None,
    form: str,
    timeout: float | None,
    theory: Path | None,
) -> int:
    """Prove for every reachable state of FILE, without visiting them: legality, feasibility, invariants.

    What the solver leaves open is looked for among the reachable states, as far as they can be searched.

    Exit status 3 also where all that was asked is proved, but FILE declares more (reachable, settlement, runs): icore check
    answers that. Nothing that was not asked is taken for proved.
    """
    from icore_kernel import cli_prove as form_of

    return form_of.prove_file(file, form_of.Asked(settings, theory, depth, timeout, certificate, form == "json"))


@click.command()
@click.argument("folder", metavar="DIR", type=PATH)
@click.option("--package", metavar="FILE", type=PATH, help="Also check that the certificate is about this package.")
@SET
@THEORY
def recheck(folder: Path, package: Path | None, settings: dict[str, str], theory: Path | None) -> int:
    """Check a certificate that `icore prove --certificate DIR` wrote, by Z3, from its files alone."""
    from icore_kernel.cli_prove import recheck_folder

    return recheck_folder(folder, package, settings, theory)


@click.command()
@click.argument("file", metavar="FILE", type=PATH)
@click.option("--revoke", metavar="CERTIFICATE", required=True, help="The certificate, as runs name it: 'done(unit)'.")
@click.option("--at", metavar="FORMULA", help="Revoke it in the first state that satisfies FORMULA.")
@SET
@FORMAT
@TIMEOUT
@THEORY
def whatif(file: Path, revoke: str, at: str | None, settings: dict[str, str], form: str, timeout: float | None, theory: Path | None) -> int:
    """What becomes unjustified, and which acceptance falls, when a certificate of FILE is revoked; exit 1 when something does."""
    from icore_kernel.cli_prove import what_if_file

    return what_if_file(file, revoke, at, settings, theory, timeout, form == "json")


@click.command()
@click.argument("record", metavar="RECORD")
@click.option("--key", metavar="PUBLIC", help="The seal must be signed by this key: 64 hexadecimal digits, or a file of them.")
@click.option("--package", metavar="FILE", type=PATH, help="It must be about this package: a record brings its own.")
@FORMAT
@click.option("--theory", metavar="DIR", type=PATH, help="It must be by the theory in this folder, and not by the installed one.")
@click.option("--all", "every", is_flag=True, help="Print all that is wrong with the entries, and not only the first.")
def verify(record: str, key: str | None, package: Path | None, form: str, theory: Path | None, every: bool) -> int:
    """Verify RECORD: its chain, its seal and signature, and what was committed in it.

    Exit status: 0 intact and sealed, 3 intact but not sealed, or by a theory that is not known here, 1 broken, or not what
    --key, --package and --theory ask for, 2 no record.
    """
    from icore_kernel.cli_record import verify_record

    return verify_record(record, key, form == "json", package, theory, every)


@click.command()
@click.argument("file", metavar="FILE", type=PATH)
def keygen(file: Path) -> int:
    """Write a new key to FILE, to sign records with (Ed25519), and its public half to FILE.pub."""
    from icore_kernel.cli_record import make_key

    return make_key(file)


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=PATH)
@click.option("--check", "only_check", is_flag=True, help="Write nothing; exit 1 when a file is not formatted.")
@click.option("--diff", is_flag=True, help="Write nothing; print what would change, and exit 1 when something would.")
def fmt(files: tuple[Path, ...], only_check: bool, diff: bool) -> int:
    """Format declaration files in place."""
    from icore_kernel.cli_files import format_files

    return format_files(files, only_check, diff)


@click.command()
@click.argument("name", metavar="[NAME]", default="starter")
def init(name: str) -> int:
    """Write NAME.icore, a package to start from.

    It is small and commented, and checks well. An existing file is never overwritten.
    """
    from icore_kernel.cli_files import write_starter

    return write_starter(name)


COMMANDS = (check, explore, graph, export, stable, prove, recheck, whatif, verify, keygen, fmt, init)
