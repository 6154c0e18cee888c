"""The commands about runs and their records. Only click is imported at start; `cli.py` adds them to the group."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import click

_LONGEST = 100
"""Characters of a number."""


def _ratio(ctx: click.Context, param: click.Parameter, value: str | None) -> Fraction | None:
    if value is None:
        return None
    try:
        if len(value) > _LONGEST or "e" in value.lower():  # Fraction would write 1e999999999 out
            raise ValueError
        ratio = Fraction(value)
    except (ValueError, ZeroDivisionError):
        raise click.BadParameter(f"{value!r} is no number: 0.8 or 4/5") from None
    if not 0 <= ratio <= 1:
        raise click.BadParameter(f"{value} is not between 0 and 1")
    return ratio


def _unicode(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """What can stand in a record: bytes of the command line that are no UTF-8 arrive as lone surrogates."""
    if value is not None and any("\ud800" <= character <= "\udfff" for character in value):
        raise click.BadParameter("not UTF-8")
    return value


def named_values(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """`NAME=VALUE` options, by name."""
    found: dict[str, str] = {}
    for text in values:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise click.BadParameter(f"{text!r} is not NAME=VALUE")
        if name in found:
            raise click.BadParameter(f"{name} is set twice")
        found[name] = value
    return found


_path = click.Path(path_type=Path)
_format = click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="What to print.")


@click.command()
@click.argument("file", metavar="FILE", type=_path)
@click.option(
    "--host",
    metavar="HOST",
    default="scored",
    show_default=True,
    help="Who works: scored, random:SEED[:RATE], scripted:FILE or http:URL.",
)
@click.option("--model", metavar="NAME", help="The model that an http host asks.")
@click.option("--record", metavar="RECORD", help="Keep the run: NAME.jsonl, NAME.db, or postgresql://…?record=NAME.")
@click.option("--request", metavar="TEXT", callback=_unicode, help="The initial request, for the record.")
@click.option(
    "--input", "inputs", metavar="NAME=VALUE", multiple=True, callback=named_values, help="The value of a field that starts anywhere."
)
@click.option("--set", "settings", metavar="NAME=VALUE", multiple=True, callback=named_values, help="Set a parameter of the package.")
@click.option("--threshold", metavar="TAU", callback=_ratio, help="Intervene where quality is below TAU (else the package's, or 0).")
@click.option(
    "--patience", metavar="H", type=click.IntRange(min=1), help="Intervene after H rounds without progress (else the package's, or 3)."
)
@click.option("--budget", metavar="B", type=click.IntRange(min=0), help="Rounds of the loop (else the package's, or 100).")
@click.option("--repair", is_flag=True, help="Where an agent proposes no recovery, propose the smallest legal one that the solver finds.")
@click.option("--sign-key", metavar="FILE", type=_path, help="Sign the seal with this key (see icore keygen).")
@click.option("--durable", is_flag=True, help="Wait for the disk at every entry.")
@click.option("--all", "every", is_flag=True, help="Print every line of the run.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="What to print.")
@click.option("--theory", metavar="DIR", type=_path, help="Read the theory from this folder.")
def audit(
    file: Path,
    host: str,
    model: str | None,
    record: str | None,
    request: str | None,
    inputs: dict[str, str],
    settings: dict[str, str],
    threshold: Fraction | None,
    patience: int | None,
    budget: int | None,
    repair: bool,
    sign_key: Path | None,
    durable: bool,
    every: bool,
    form: str,
    theory: Path | None,
) -> int:
    """Run the work of FILE under audit: every proposal of the host is verified before it is committed, and recorded.

    Exit status: 0 accept, 1 reject, 3 stuck, out of budget, incomplete or interrupted, 4 where the two engines disagree.
    Ctrl-C, SIGTERM and SIGHUP end the run as interrupted, with its record sealed; a second one ends it at once.
    """
    from icore_kernel.cli_audit import Asked, audit_file

    return audit_file(
        file,
        Asked(
            settings,
            theory,
            host,
            model,
            inputs,
            record,
            request,
            threshold,
            patience,
            budget,
            repair,
            sign_key,
            durable,
            every,
            form == "json",
        ),
    )


@click.command()
@click.argument("record", metavar="RECORD")
@click.option("--to", metavar="SEQ", type=click.IntRange(min=0), help="Stop after entry SEQ and print the state that it leads to.")
@click.option("--solver", is_flag=True, help="Decide every commit by Z3 again too, and not by evaluation alone.")
@_format
def replay(record: str, to: int | None, solver: bool, form: str) -> int:
    """Go through RECORD with the package in it: rebuild every state, judge every commit, refusal and report again.

    Exit status: 0 every entry agrees, 1 one differs (the first is named), 3 it brings a theory that cannot be used here.
    """
    from icore_kernel.cli_replay import guarded, replay_record

    return guarded(lambda: replay_record(record, to, solver, form == "json"))


@click.command()
@click.argument("record", metavar="RECORD")
@click.argument("asked", metavar="[WHAT]", required=False)
@click.option("--at", metavar="SEQ", type=click.IntRange(min=0), help="As it was after entry SEQ (else at the end).")
@click.option(
    "--format", "form", type=click.Choice(["text", "json", "dot", "prov"]), default="text", show_default=True, help="What to print."
)
def explain(record: str, asked: str | None, at: int | None, form: str) -> int:
    """The justification of WHAT, down to the inputs: an obligation, an assertion or a certificate of RECORD.

    Without WHAT: of every required root that is settled. Exit status: 0, or 1 where it is not asserted.
    """
    from icore_kernel.cli_replay import explain_record, guarded

    return guarded(lambda: explain_record(record, asked, at, form))


@click.command()
@click.argument("file", metavar="FILE", type=_path)
@click.option("--set", "settings", metavar="NAME=VALUE", multiple=True, callback=named_values, help="Set a parameter of the package.")
@click.option("--theory", metavar="DIR", type=_path, help="Read the theory from this folder.")
def step(file: Path, settings: dict[str, str], theory: Path | None) -> int:
    """Step through FILE by hand: the state, the updates that may follow, those that are refused and why.

    `?` lists the commands. They may come from a pipe: the first that cannot be carried out then ends it, with exit status 2.
    """
    from icore_kernel.cli_step import step_file

    return step_file(file, settings, theory)


COMMANDS = (audit, replay, explain, step)
