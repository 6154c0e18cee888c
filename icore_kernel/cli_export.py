"""`icore export`: a package as a model of another checker."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from icore_kernel.cli_check import Wrong, answer
from icore_kernel.verdict import ExitStatus


def written(output: Path | None, peer: str) -> tuple[Path, ...]:
    """The files that an export writes."""
    if output is None:
        return ()
    return (output, output.parent / f"{output.stem}.cfg") if peer == "tla" else (output,)


def export_file(path: Path, peer: str, settings: Mapping[str, str], theory: Path | None, output: Path | None) -> ExitStatus:
    """Write the model to `output`, or print it. With `output`, TLC's configuration goes beside a TLA+ module.

    0 when it is written, 2 for wrong input, for a package that the peer cannot take, and for a file that cannot be written.
    """
    from icore_kernel import api
    from icore_kernel.export.write import PEERS, ExportError, configuration, model, module_name

    try:
        loaded = answer(path, lambda: api.load(path, settings=settings, theory=theory))
        exported = model(loaded.system, loaded.bank)
        text = PEERS[peer](exported)
    except Wrong as wrong:
        click.echo(wrong.message, err=True)
        return ExitStatus.BAD_INPUT
    except ExportError as wrong:
        click.echo(f"{path}: {wrong}", err=True)
        return ExitStatus.BAD_INPUT
    if output is None:
        click.echo(text, nl=False)
        return ExitStatus.HOLDS
    try:
        contents = (text, configuration(exported)) if peer == "tla" else (text,)
        for place, content in zip(written(output, peer), contents, strict=True):
            place.write_text(content, encoding="utf-8")
    except OSError as wrong:
        click.echo(f"{output}: cannot be written: {wrong.strerror or wrong}", err=True)
        return ExitStatus.BAD_INPUT
    if peer == "tla" and output.name != f"{module_name(loaded.system)}.tla":
        click.echo(f"note: TLC wants this module in a file called {module_name(loaded.system)}.tla", err=True)
    return ExitStatus.HOLDS
