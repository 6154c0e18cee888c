"""The command line: `icore check`, `explore`, `stable`, `graph`, `verify`, `fmt`, `init`, and more.

Only click is imported at start, so that `icore --help` answers at once; each command imports what it needs when it runs.
Exit statuses are those of `verdict.ExitStatus`; usage errors are wrong input (2).
"""

from __future__ import annotations

import gc
import os
import sys
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from icore_kernel.cli_runs import COMMANDS, named_values
from icore_kernel.version import VERSION

if TYPE_CHECKING:
    from icore_kernel.cli_check import Limits

# The values of ExitStatus, which is not imported at start. A test holds them equal.
_BAD_INPUT, _UNKNOWN, _INTERNAL = 2, 3, 4

_EVERY_FAULT = "*"


def _names_no_file(word: str) -> bool:
    return all(name.isidentifier() for name in word.split(",")) and not Path(word).exists()


class CheckCommand(click.Command):
    """`--unaudited` has an optional value, written with `=`; a word after it is a file, never its value."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        end = args.index("--") if "--" in args else len(args)
        for option, word in pairwise(args[:end]):
            if option == "--unaudited" and _names_no_file(word) and any(Path(other).is_file() for other in args):
                raise click.UsageError(f"there is no file {word!r}; for the fault of this name write --unaudited={word}")
        options = [f"--unaudited={_EVERY_FAULT}" if word == "--unaudited" else word for word in args[:end]]
        return super().parse_args(ctx, options + args[end:])


class OptionalValue(click.Option):
    """Shown as `--unaudited[=FAULT,...]`: the value is optional and joined by `=`."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        record = super().get_help_record(ctx)
        return None if record is None else (record[0].replace(" [=", "[="), record[1])


def _show_version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if not value or ctx.resilient_parsing:
        return
    from importlib.metadata import version

    from icore_kernel.explore.search import has_kernel

    python = ".".join(map(str, sys.version_info[:3]))
    kernel = "C kernel" if has_kernel() else "no C kernel"
    click.echo(f"icore {VERSION} · Z3 {version('z3-solver')} · Python {python} · {kernel}")
    ctx.exit()


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_show_version, help="Show versions and exit.")
def cli() -> None:
    """Check declaration packages of cooperating agents.

    A verdict is holds, proved, violated or unknown. Exit status: 0 holds or proved, 1 violated, 2 wrong input,
    3 unknown, 4 internal error; of several files the gravest counts (4, 2, 1, 3, 0).
    """


def _faults(ctx: click.Context, param: click.Parameter, value: str | None) -> bool | tuple[str, ...]:
    if value is None or value == _EVERY_FAULT:
        return value is not None
    names = tuple(name.strip() for name in value.split(","))
    if not all(names):
        raise click.BadParameter("the names of faults are separated by single commas")
    return names


def _seconds(ctx: click.Context, param: click.Parameter, value: float | None) -> float | None:
    if value is not None and not 0 < value < float("inf"):
        raise click.BadParameter("a number of seconds above 0 is expected")
    return value


def _size(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    if value is None:
        return None
    from icore_kernel.explore.memory import parse_size

    try:
        return parse_size(value)
    except ValueError as wrong:
        raise click.BadParameter(str(wrong)) from wrong


_path = click.Path(path_type=Path)
_set = click.option("--set", "settings", metavar="NAME=VALUE", multiple=True, callback=named_values, help="Set a parameter of the package.")
_theory = click.option("--theory", metavar="DIR", type=_path, help="Read the theory from this folder.")
_format = click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="What to print.")
_max_states = click.option("--max-states", metavar="N", type=click.IntRange(min=1), help="Stop after N states: unknown.")
_max_depth = click.option("--max-depth", metavar="N", type=click.IntRange(min=0), help="Do not expand states at depth N: unknown.")
_timeout = click.option("--timeout", metavar="S", type=float, callback=_seconds, help="Stop after S seconds: unknown.")


_max_memory = click.option("--max-memory", metavar="SIZE", callback=_size, help="Stop before SIZE (300MB, 2GB) is taken: unknown.")
_cores = click.option("--cores", metavar="N", type=click.IntRange(min=1), help="Cores that the search may use (two, if one is idle).")
_checkpoint = click.option("--checkpoint", metavar="DIR", type=_path, help="Write to DIR now and then what a killed search needs to go on.")
_resume = click.option("--resume", metavar="DIR", type=_path, help="Go on from the checkpoint in DIR, and write the next ones there.")


_reduce = click.option(
    "--reduce",
    type=click.Choice(["none", "symmetry", "partial-order", "all"]),
    help="Search less where nothing asked is lost. Without it: symmetry, where it is declared and pays.",
)


def _limits(
    max_states: int | None,
    max_depth: int | None,
    timeout: float | None,
    max_memory: int | None,
    checkpoint: Path | None = None,
    resume: Path | None = None,
    cores: int | None = None,
) -> Limits:
    from icore_kernel.cli_check import Limits

    if resume is not None and checkpoint not in (None, resume):
        raise click.UsageError("--resume goes on writing to its own folder: leave --checkpoint out")
    return Limits(max_states, max_depth, timeout, max_memory, resume or checkpoint, resume is not None, cores)


@cli.command(cls=CheckCommand)
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=_path)
@_set
@click.option("--only", metavar="PROPERTY", multiple=True, help="Answer only this property (may be given again).")
@click.option(
    "--unaudited",
    cls=OptionalValue,
    metavar="[=FAULT,...]",
    callback=_faults,
    help="Judge nothing: faults and attempts (or those named) commit.",
)
@click.option("--strict", is_flag=True, help="A finding that is not allowed exits 1.")
@click.option("--stop-at-first", "-x", is_flag=True, help="Search no deeper once a state or a step violates something.")
@click.option("--format", "form", type=click.Choice(["text", "json", "junit"]), default="text", show_default=True, help="What to print.")
@_max_states
@_max_depth
@_timeout
@_max_memory
@_cores
@_checkpoint
@_resume
@_reduce
@click.option("--save-run", metavar="PATH", type=_path, help="Save the first counterexample, for `icore explore --replay`.")
@_theory
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

    limits = _limits(max_states, max_depth, timeout, max_memory, checkpoint, resume, cores)
    if limits.checkpoint is not None and len(files) > 1:
        raise click.UsageError("a checkpoint is of one file: check the files one by one")
    asked = Asked(settings, theory, only, unaudited, strict, form == "json", limits, save_run, reduce, form == "junit", stop_at_first)
    return check_files(files, asked)


@cli.command()
@click.argument("file", metavar="FILE", type=_path)
@_set
@click.option("--replay", metavar="RUN", type=_path, help="Replay a run that `icore check --save-run` saved.")
@click.option("--simulate", metavar="N", type=click.IntRange(min=1), help="N random runs, of at most --max-depth steps (1000).")
@click.option("--seed", metavar="S", type=int, help="The seed of the random runs (0): the same seed, the same runs.")
@click.option("--trace-to", metavar="FORMULA", help="A shortest run to a state that satisfies FORMULA; exit 1 if there is none.")
@click.option("--dot", metavar="PATH", type=_path, help="Write the step graph in DOT.")
@click.option("--graphml", metavar="PATH", type=_path, help="Write the step graph in GraphML.")
@click.option("--json", "record", metavar="PATH", type=_path, help="Write the step graph in JSON.")
@click.option("--graph-limit", metavar="N", type=click.IntRange(min=1), default=2000, show_default=True, help="States of a step graph.")
@_format
@_max_states
@_max_depth
@_timeout
@_max_memory
@_cores
@_checkpoint
@_resume
@_reduce
@_theory
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
    limits = _limits(max_states, max_depth, timeout, max_memory, checkpoint, resume, cores)
    if limits.checkpoint is not None and (replay is not None or simulate is not None or drawings.asked):
        raise click.UsageError("only a search writes checkpoints: not --replay, --simulate or a step graph")
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


@cli.command()
@click.argument("file", metavar="FILE|RECORD")
@click.option("--html", metavar="PATH", type=_path, help="Of a record: a page of events, evidence and work along time.")
@click.option("--dot", metavar="PATH", type=_path, help="Of a record: its three graphs, in DOT (printed, where nothing is asked for).")
@click.option("--graphml", metavar="PATH", type=_path, help="Of a record: its three graphs as one, in GraphML.")
@click.option("--prov", metavar="PATH", type=_path, help="Of a record: what happened, in W3C PROV-JSON.")
@click.option("--at", metavar="SEQ", type=click.IntRange(min=0), help="Of a record: as it was after entry SEQ (else at the end).")
@_set
@_theory
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
        return records.guarded(lambda: records.graph_record(file, at, drawings))
    if at is not None or drawings.asked:
        raise click.UsageError(f"--html, --dot, --graphml, --prov and --at are of records, and {file} is none")
    from icore_kernel.cli_explore import guarded, obligation_graph

    return guarded(lambda: obligation_graph(Path(file), settings, theory), Path(file))


@cli.command()
@click.argument("file", metavar="FILE", type=_path)
@_set
@click.option("--to", "peer", type=click.Choice(["promela", "tla", "smv", "maude", "murphi"]), required=True, help="Whose model to write.")
@click.option("--output", "-o", metavar="PATH", type=_path, help="Write it here instead of printing it.")
@_theory
def export(file: Path, settings: dict[str, str], peer: str, output: Path | None, theory: Path | None) -> int:
    """FILE as a model of SPIN, TLC, NuSMV, Maude or rumur.

    The model is the audited transition system: what is legal moves, and the peer finds the states of `icore explore`.
    """
    from icore_kernel.cli_export import export_file

    return export_file(file, peer, settings, theory, output)


@cli.command()
@click.argument("file", metavar="FILE", type=_path)
@_set
@click.option("--html", metavar="PATH", type=_path, help="Write a page that draws the fork and steps through both sides.")
@click.option("--solver-time", metavar="S", type=float, default=10.0, show_default=True, callback=_seconds, help="Seconds for the solver.")
@_format
@_max_states
@_max_depth
@_timeout
@_max_memory
@_theory
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

    limits = _limits(max_states, max_depth, timeout, max_memory)
    return stable_file(file, settings, theory, limits, solver_time, html, as_json=form == "json")


@cli.command()
@click.argument("file", metavar="FILE", type=_path)
@_set
@click.option("--depth", metavar="K", type=click.IntRange(min=0), help="Look for runs of up to K steps that break what is not proved.")
@click.option("--certificate", metavar="DIR", type=_path, help="Write what is proved to DIR, as SMT-LIB 2 that any solver can check.")
@_format
@_timeout
@_theory
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


@cli.command()
@click.argument("folder", metavar="DIR", type=_path)
@click.option("--package", metavar="FILE", type=_path, help="Also check that the certificate is about this package.")
@_set
@_theory
def recheck(folder: Path, package: Path | None, settings: dict[str, str], theory: Path | None) -> int:
    """Check a certificate that `icore prove --certificate DIR` wrote, by Z3, from its files alone."""
    from icore_kernel.cli_prove import recheck_folder

    return recheck_folder(folder, package, settings, theory)


@cli.command()
@click.argument("file", metavar="FILE", type=_path)
@click.option("--revoke", metavar="CERTIFICATE", required=True, help="The certificate, as runs name it: 'done(unit)'.")
@click.option("--at", metavar="FORMULA", help="Revoke it in the first state that satisfies FORMULA.")
@_set
@_format
@_timeout
@_theory
def whatif(file: Path, revoke: str, at: str | None, settings: dict[str, str], form: str, timeout: float | None, theory: Path | None) -> int:
    """What becomes unjustified, and which acceptance falls, when a certificate of FILE is revoked; exit 1 when something does."""
    from icore_kernel.cli_prove import what_if_file

    return what_if_file(file, revoke, at, settings, theory, timeout, form == "json")


@cli.command()
@click.argument("record", metavar="RECORD")
@click.option("--key", metavar="PUBLIC", help="The seal must be signed by this key: 64 hexadecimal digits, or a file of them.")
@click.option("--package", metavar="FILE", type=_path, help="It must be about this package: a record brings its own.")
@_format
@click.option("--theory", metavar="DIR", type=_path, help="It must be by the theory in this folder, and not by the installed one.")
def verify(record: str, key: str | None, package: Path | None, form: str, theory: Path | None) -> int:
    """Verify RECORD: its chain, its seal and signature, and what was committed in it.

    Exit status: 0 intact and sealed, 3 intact but not sealed, or by a theory that is not known here, 1 broken, or not what
    --key, --package and --theory ask for, 2 no record.
    """
    from icore_kernel.cli_record import verify_record

    return verify_record(record, key, form == "json", package, theory)


@cli.command()
@click.argument("file", metavar="FILE", type=_path)
def keygen(file: Path) -> int:
    """Write a new key to FILE, to sign records with (Ed25519), and its public half to FILE.pub."""
    from icore_kernel.cli_record import make_key

    return make_key(file)


@cli.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=_path)
@click.option("--check", "only_check", is_flag=True, help="Write nothing; exit 1 when a file is not formatted.")
@click.option("--diff", is_flag=True, help="Write nothing; print what would change, and exit 1 when something would.")
def fmt(files: tuple[Path, ...], only_check: bool, diff: bool) -> int:
    """Format declaration files in place."""
    from icore_kernel.cli_files import format_files

    return format_files(files, only_check, diff)


@cli.command()
@click.argument("name", metavar="[NAME]", default="starter")
def init(name: str) -> int:
    """Write NAME.icore, a package to start from.

    It is small and commented, and checks well. An existing file is never overwritten.
    """
    from icore_kernel.cli_files import write_starter

    return write_starter(name)


for command in COMMANDS:
    cli.add_command(command)


def run(arguments: list[str]) -> int:
    """Run one command line and return its exit status. Nothing but the status leaves it, whatever happens inside."""
    try:
        status = cli.main(args=arguments, prog_name="icore", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as wrong:
        if _asks("json", arguments):
            from icore_kernel.report.json import dump, wrong_record

            click.echo(dump(wrong_record("", wrong.format_message(), (), f"icore.{arguments[0]}/1")))
        elif _asks("junit", arguments) and arguments[0] == "check":
            from icore_kernel.report.junit import document, wrong_suite

            click.echo(document([wrong_suite("icore check", wrong.format_message())]).encode(), nl=False)
        else:
            wrong.show()
        return _BAD_INPUT
    except (KeyboardInterrupt, click.Abort):
        _tell("\nunknown: interrupted")
        return _UNKNOWN
    except (BrokenPipeError, SystemExit) as ended:
        if isinstance(ended, SystemExit) and not ended.code:
            return 0  # click has told a shell what may stand next on its command line
        # The reader has gone: click turns that into an exit with status 1, which would mean violated. Standard output is
        # pointed at nothing, so that the interpreter's last flush is quiet too.
        _output_to_nowhere()
        return _UNKNOWN
    except OSError as wrong:
        # What was asked for was not told (a full disk, say): no verdict.
        _tell(f"unknown: {wrong.strerror or wrong}{f': {wrong.filename}' if wrong.filename else ''}")
        _output_to_nowhere()
        return _UNKNOWN
    except MemoryError:
        _tell("unknown: the memory did not suffice; --max-states bounds a search")
        return _UNKNOWN
    except Exception as wrong:  # noqa: BLE001
        # The one place that may catch everything: whatever reaches it is a mistake of icore, never of the user's file,
        # and its status must not be taken for a verdict. (An uncaught exception would exit 1, which means violated.)
        return _internal_error(wrong)
    return int(status) if isinstance(status, int) else 0


def _asks(form: str, arguments: list[str]) -> bool:
    return len(arguments) > 1 and (f"--format={form}" in arguments or ("--format", form) in pairwise(arguments))


def _tell(words: str) -> None:
    """On standard error, where somebody may read it; if nobody can (the terminal is gone), the status has to say it."""
    try:
        click.echo(words, err=True)
    except OSError:
        return


def _output_to_nowhere() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _internal_error(wrong: Exception) -> int:
    if os.environ.get("ICORE_DEBUG") == "1":
        import traceback

        traceback.print_exception(wrong)
    _tell(f"icore: internal error: {type(wrong).__name__}: {wrong}")
    _tell("This is a mistake in icore, not in your file, and no verdict was reached.")
    _tell("Please report it with the file and the output of ICORE_DEBUG=1 (see CONTRIBUTING.md).")
    return _INTERNAL


def main() -> NoReturn:
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # A terminal that cannot show `·` must not turn a verdict into an error.
            stream.reconfigure(errors="replace")
    # Terms live as long as the command, and are many: looking them through for cycles time and again takes a tenth of a small check.
    gc.set_threshold(100_000, 50, 50)
    status = run(sys.argv[1:])
    gc.freeze()  # What is left needs no last look for cycles either.
    sys.exit(status)
