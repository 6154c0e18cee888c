"""The options that several commands have, and how their values are read. Only click is imported at start."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import click

from icore_kernel.cli_runs import named_values

if TYPE_CHECKING:
    from icore_kernel.cli_check import Limits

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


def fault_names(ctx: click.Context, param: click.Parameter, value: str | None) -> bool | tuple[str, ...]:
    if value is None or value == _EVERY_FAULT:
        return value is not None
    names = tuple(name.strip() for name in value.split(","))
    if not all(names):
        raise click.BadParameter("the names of faults are separated by single commas")
    return names


def positive_seconds(ctx: click.Context, param: click.Parameter, value: float | None) -> float | None:
    if value is not None and not 0 < value < float("inf"):
        raise click.BadParameter("a number of seconds above 0 is expected")
    return value


def memory_size(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    if value is None:
        return None
    from icore_kernel.explore.memory import parse_size

    try:
        return parse_size(value)
    except ValueError as wrong:
        raise click.BadParameter(str(wrong)) from wrong


PATH = click.Path(path_type=Path)
SET = click.option("--set", "settings", metavar="NAME=VALUE", multiple=True, callback=named_values, help="Set a parameter of the package.")
THEORY = click.option("--theory", metavar="DIR", type=PATH, help="Read the theory from this folder.")
FORMAT = click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="What to print.")
MAX_STATES = click.option("--max-states", metavar="N", type=click.IntRange(min=1), help="Stop after N states: unknown.")
MAX_DEPTH = click.option("--max-depth", metavar="N", type=click.IntRange(min=0), help="Do not expand states at depth N: unknown.")
TIMEOUT = click.option("--timeout", metavar="S", type=float, callback=positive_seconds, help="Stop after S seconds: unknown.")
MAX_MEMORY = click.option("--max-memory", metavar="SIZE", callback=memory_size, help="Stop before SIZE (300MB, 2GB) is taken: unknown.")
CORES = click.option("--cores", metavar="N", type=click.IntRange(min=1), help="Cores that the search may use (two, if one is idle).")
CHECKPOINT = click.option("--checkpoint", metavar="DIR", type=PATH, help="Write to DIR now and then what a killed search needs to go on.")
RESUME = click.option("--resume", metavar="DIR", type=PATH, help="Go on from the checkpoint in DIR, and write the next ones there.")
REDUCE = click.option(
    "--reduce",
    type=click.Choice(["none", "symmetry", "partial-order", "all"]),
    help="Search less where nothing asked is lost. Without it: symmetry, where it is declared and pays.",
)


def limits_of(
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
