"""`icore check`: several files, one exit status. What a user did wrong is said here; what is computed comes from `api`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from icore_kernel.report import paint, text
from icore_kernel.verdict import ExitStatus, Report, Run, Verdict

if TYPE_CHECKING:
    from icore_kernel.api import InputError, Loaded
    from icore_kernel.explore.model import Progress, Rules

T = TypeVar("T")

GRAVEST_FIRST = (ExitStatus.INTERNAL, ExitStatus.BAD_INPUT, ExitStatus.VIOLATED, ExitStatus.UNKNOWN, ExitStatus.HOLDS)


@dataclass(frozen=True, slots=True)
class Limits:
    """What bounds a search, as given on the command line; None does not bound it. `timeout` in seconds."""

    max_states: int | None = None
    max_depth: int | None = None
    timeout: float | None = None

    def rules(self) -> Rules:
        from icore_kernel.explore.model import Rules

        progress = show_progress if sys.stderr.isatty() else None
        return Rules(max_states=self.max_states, max_depth=self.max_depth, timeout=self.timeout, progress=progress)


@dataclass(frozen=True, slots=True)
class Asked:
    """What one `icore check` asks of each of its files."""

    settings: Mapping[str, str]
    theory: Path | None
    only: tuple[str, ...]
    unaudited: bool | tuple[str, ...]
    strict: bool
    as_json: bool
    limits: Limits
    save_run: Path | None

    @property
    def seeks_findings(self) -> bool:
        """Findings are about the audited system as a whole."""
        return self.unaudited is False and not self.only


class Wrong(Exception):
    """Input that is wrong: the message for a person, and the mistakes as JSON has them."""

    def __init__(self, message: str, mistakes: tuple[dict[str, object], ...] = ()) -> None:
        self.message = message
        self.mistakes = mistakes
        super().__init__(message)


def gravest(statuses: Iterable[ExitStatus]) -> ExitStatus:
    """Of several files the gravest counts: internal error, wrong input, violated, unknown, holds (design 1)."""
    found = set(statuses)
    return next((status for status in GRAVEST_FIRST if status in found), ExitStatus.HOLDS)


def show_progress(progress: Progress) -> None:
    """One line on a terminal's error stream, overwritten each time."""
    rate = progress.states / progress.seconds if progress.seconds > 0 else 0
    line = f"{progress.states:,} states · {progress.steps:,} steps · depth {progress.depth} · frontier {progress.frontier:,}"
    sys.stderr.write(f"\r\x1b[K  {line} · {rate:,.0f} states/s · {progress.seconds:.0f} s")
    sys.stderr.flush()


def end_progress() -> None:
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


def answer(path: Path, ask: Callable[[], T]) -> T:
    """What `ask` answers. Raises Wrong for everything the user can mend: an unreadable file, a mistake, an unknown name."""
    from icore_kernel.api import InputError, UsageError

    try:
        return ask()
    except InputError as wrong:
        raise _mistaken(path, wrong) from wrong
    except UsageError as wrong:
        raise Wrong(f"{path}: {wrong}") from wrong
    except OSError as wrong:
        place = path if wrong.filename is None else wrong.filename
        raise Wrong(f"{place}: cannot be read: {wrong.strerror or wrong}") from wrong


def _mistaken(path: Path, wrong: InputError) -> Wrong:
    from icore_dsl.mistakes import render
    from icore_kernel.report.json import mistake_record

    count = len(wrong.mistakes)
    shown = "\n\n".join(render(mistake, wrong.text) for mistake in wrong.mistakes)
    noun = "mistake" if count == 1 else "mistakes"
    return Wrong(f"{shown}\n\n{path}: {count} {noun}", tuple(map(mistake_record, wrong.mistakes)))


def check_files(files: tuple[Path, ...], asked: Asked) -> ExitStatus:
    """Check each file, print as asked, and return the gravest exit status."""
    statuses: list[ExitStatus] = []
    records: list[dict[str, object]] = []
    saved = False
    undecided: tuple[Path, ...] = ()
    for number, path in enumerate(files):
        try:
            loaded, report = _check(path, asked)
        except Wrong as wrong:
            statuses.append(ExitStatus.BAD_INPUT)
            if asked.as_json:
                from icore_kernel.report.json import wrong_record

                records.append(wrong_record(str(path), wrong.message, wrong.mistakes))
            else:
                click.echo(wrong.message, err=True)
            continue
        except KeyboardInterrupt:
            undecided = files[number:]
            break
        finally:
            end_progress()
        statuses.append(report.exit_status(asked.strict))
        _print(report, asked, records, gap=number > 0)
        counterexample = None if saved else first_counterexample(report)
        if asked.save_run is not None and counterexample is not None:
            saved = True
            statuses.append(_save(asked, loaded, *counterexample))
        if report.space.get("stopped") == "interrupted":
            undecided = files[number + 1 :]
            break
    if undecided:
        statuses.append(ExitStatus.UNKNOWN)
        click.echo(f"unknown: interrupted; not decided: {', '.join(map(str, undecided))}", err=True)
    if asked.save_run is not None and not saved:
        click.echo(f"no counterexample, so {asked.save_run} was not written", err=True)
    if asked.as_json:
        from icore_kernel.report.json import dump

        click.echo(dump(records[0] if len(files) == 1 and records else records))
    elif len(files) > 1:
        click.echo(f"\n{text.tally(statuses)}")
    return gravest(statuses)


def _check(path: Path, asked: Asked) -> tuple[Loaded, Report]:
    from icore_kernel import api

    def ask() -> tuple[Loaded, Report]:
        loaded = api.load(path, settings=asked.settings, theory=asked.theory)
        return loaded, api.check(loaded, only=asked.only, unaudited=asked.unaudited, rules=asked.limits.rules())

    return answer(path, ask)


def _print(report: Report, asked: Asked, records: list[dict[str, object]], gap: bool) -> None:
    if asked.as_json:
        from icore_kernel.report.json import report_record

        records.append(report_record(report, asked.strict, asked.settings, asked.seeks_findings))
        return
    if gap:
        click.echo()
    paint.write(text.report_lines(report, asked.strict, asked.seeks_findings), sys.stdout)


def first_counterexample(report: Report) -> tuple[str, Run] | None:
    """The first violated result that has a run, in the order of the report: its name and the run."""
    for result in report.results:
        if result.verdict is Verdict.VIOLATED and result.run is not None:
            return result.name, result.run
    return None


def _save(asked: Asked, loaded: Loaded, name: str, run: Run) -> ExitStatus:
    from icore_kernel.runs_io import SavedRun, save

    assert asked.save_run is not None
    try:
        save(asked.save_run, SavedRun.of(loaded.system, run, name, asked.settings, asked.unaudited))
    except OSError as wrong:
        click.echo(f"{asked.save_run}: cannot be written: {wrong.strerror or wrong}", err=True)
        return ExitStatus.BAD_INPUT
    click.echo(f"the run that breaks {name} is in {asked.save_run}", err=True)
    return ExitStatus.HOLDS
