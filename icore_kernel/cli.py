"""The command line: `icore check`, `explore`, `stable`, `graph`, `verify`, `fmt`, `init`, and more.

Only click is imported at start, so that `icore --help` answers at once; each command imports what it needs when it runs.
Exit statuses are those of `verdict.ExitStatus`; usage errors are wrong input (2).
"""

from __future__ import annotations

import gc
import os
import sys
from itertools import pairwise
from typing import NoReturn

import click

from icore_kernel import cli_commands, cli_runs
from icore_kernel.version import VERSION

# The values of ExitStatus, which is not imported at start. A test holds them equal.
_BAD_INPUT, _UNKNOWN, _INTERNAL = 2, 3, 4


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


for command in (*cli_commands.COMMANDS, *cli_runs.COMMANDS):
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
    gc.set_threshold(100_000, 20, 10)
    status = run(sys.argv[1:])
    gc.freeze()  # What is left needs no last look for cycles either.
    sys.exit(status)
