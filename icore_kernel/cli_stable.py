"""`icore stable`: does the order of events matter? One file, its matrix of update pairs, and the diamond as a page."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from time import monotonic

import click

from icore_kernel.cli_check import Limits, Wrong, answer, refuse
from icore_kernel.report import paint
from icore_kernel.report.progress import progress_on
from icore_kernel.verdict import ExitStatus, Report


def stable_file(
    path: Path, settings: Mapping[str, str], theory: Path | None, limits: Limits, seconds: float, html: Path | None, as_json: bool
) -> ExitStatus:
    """Print the verdicts and the matrix; exit as `check` does. `html` gets the decisive fork as a page, where there is one."""
    from icore_kernel import api
    from icore_kernel.check.stable import stable
    from icore_kernel.report.stable import STABLE, stable_lines, stable_record

    begun = monotonic()
    try:
        loaded = answer(path, lambda: api.load(path, settings=settings, theory=theory, seconds=limits.timeout))
    except Wrong as wrong:
        return refuse(wrong, path, STABLE if as_json else None)
    with progress_on(sys.stderr) as tell:
        report, cells = stable(loaded, rules=limits.rules(settings, tell, monotonic() - begun), solver_seconds=seconds)
    if as_json:
        from icore_kernel.report.json import dump

        click.echo(dump(stable_record(report, cells, settings)))
    else:
        paint.write(stable_lines(report, cells), sys.stdout)
    status = report.exit_status()
    if html is None:
        return status
    return _page(html, report) or status


def _page(html: Path, report: Report) -> ExitStatus | None:
    """BAD_INPUT where the page cannot be written; None where it was, or there is nothing to draw."""
    from icore_kernel.report.diamond import page_of

    drawn = next((result for result in report.results if result.fork is not None), None)
    if drawn is None:
        click.echo(f"no fork settles apart, so {html} was not written", err=True)
        return None
    try:
        html.write_text(page_of(report, drawn), encoding="utf-8")
    except OSError as wrong:
        click.echo(f"{html}: cannot be written: {wrong.strerror or wrong}", err=True)
        return ExitStatus.BAD_INPUT
    click.echo(f"the fork is drawn in {html}", err=True)
    return None
