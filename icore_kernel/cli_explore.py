"""`icore explore`: the state space of one file, or the replay of a saved run."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import click

from icore_kernel.cli_check import Limits, Wrong, answer, end_progress
from icore_kernel.report import paint
from icore_kernel.verdict import ExitStatus


def explore_file(path: Path, settings: Mapping[str, str], theory: Path | None, limits: Limits, as_json: bool) -> ExitStatus:
    """Print the counts. 0 when the search is complete, 3 when it stopped before its end, 2 for wrong input."""
    from icore_kernel import api

    try:
        exploration = answer(path, lambda: api.explore(api.load(path, settings=settings, theory=theory), rules=limits.rules()))
    except Wrong as wrong:
        click.echo(wrong.message, err=True)
        return ExitStatus.BAD_INPUT
    finally:
        end_progress()
    if as_json:
        from icore_kernel.report.json import dump, exploration_record

        click.echo(dump(exploration_record(exploration, settings)))
    else:
        from icore_kernel.report.space import exploration_lines

        paint.write(exploration_lines(exploration), sys.stdout)
    return ExitStatus.HOLDS if exploration.stopped is None else ExitStatus.UNKNOWN


def replay_file(path: Path, run_path: Path, settings: Mapping[str, str], theory: Path | None, as_json: bool) -> ExitStatus:
    """Replay a saved run. 0 when the package bears it out, 1 when not, 2 when it does not fit or cannot be read.

    Parameters are those the run was saved with, unless `--set` names others.
    """
    from icore_kernel import api
    from icore_kernel.runs_io import RunError, digests, read, replay

    try:
        run = answer(run_path, lambda: read(run_path))
        loaded = answer(path, lambda: api.load(path, settings={**dict(run.settings), **settings}, theory=theory))
        if run.digests != digests(loaded.system):
            changed = [name for name, digest in run.digests if (name, digest) not in digests(loaded.system)]
            click.echo(f"note: since the run was saved, these have changed: {', '.join(changed)}", err=True)
        replayed = replay(loaded.system, run)
    except (Wrong, RunError) as wrong:
        click.echo(str(wrong), err=True)
        return ExitStatus.BAD_INPUT
    if as_json:
        from icore_kernel.report.json import dump, replay_record

        click.echo(dump(replay_record(replayed)))
    else:
        from icore_kernel.report.space import replay_lines

        paint.write(replay_lines(replayed), sys.stdout)
    return ExitStatus.HOLDS if replayed.borne_out else ExitStatus.VIOLATED
