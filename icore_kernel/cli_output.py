"""What a command writes never takes the place of what it reads."""

from __future__ import annotations

from collections.abc import Iterable
from os.path import exists, samefile
from pathlib import Path

import click


def spare_inputs(
    outputs: Iterable[Path | None], packages: Iterable[Path] = (), theory: Path | None = None, others: Iterable[Path] = ()
) -> None:
    """Asked before any work: click.UsageError where an output is one of the files that the command reads, also through a link."""
    said = overwritten(outputs, packages, theory, others)
    if said is not None:
        raise click.UsageError(said)


def overwritten(
    outputs: Iterable[Path | None], packages: Iterable[Path] = (), theory: Path | None = None, others: Iterable[Path] = ()
) -> str | None:
    """The first output that is a package, a file it imports, a file of the theory or one of `others`, as a sentence; None where none is.

    Nothing is read where no output exists yet.
    """
    there = [path for path in outputs if path is not None and exists(path)]
    if not there:
        return None
    from icore_kernel.load import files_read

    for read in (*others, *(file for package in packages for file in files_read(package, theory))):
        for path in there:
            if exists(read) and samefile(path, read):
                return f"{path} is read here{'' if path == read else f' (as {read})'}, and would be overwritten: name another file"
    return None
