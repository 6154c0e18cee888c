"""`icore check`: several files, one exit status. What a user did wrong is said here; what is computed comes from `api`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, TypeVar

import click

from icore_kernel.report import paint, text
from icore_kernel.report.progress import Tell, progress_on
from icore_kernel.verdict import LIBRARY, Assurance, ExitStatus, Report, Result, Run, Verdict
from icore_kernel.version import VERSION

if TYPE_CHECKING:
    from icore_kernel.api import InputError, Loaded
    from icore_kernel.explore.model import Rules
    from icore_kernel.report.junit import Suite

T = TypeVar("T")

GRAVEST_FIRST = (ExitStatus.INTERNAL, ExitStatus.BAD_INPUT, ExitStatus.VIOLATED, ExitStatus.UNKNOWN, ExitStatus.HOLDS)


@dataclass(frozen=True, slots=True)
class Limits:
    """What bounds a search, as given on the command line, and where its checkpoints are; None is not asked.

    `timeout` in seconds, `max_memory` in bytes; `resume` goes on from the checkpoint in `checkpoint`.
    """

    max_states: int | None = None
    max_depth: int | None = None
    timeout: float | None = None
    max_memory: int | None = None
    checkpoint: Path | None = None
    resume: bool = False
    cores: int | None = None

    def rules(self, settings: Mapping[str, str], progress: Tell | None, spent: float = 0.0) -> Rules:
        """`spent`: seconds of the timeout that went by before the search."""
        from icore_kernel.explore.model import Checkpoints, Rules

        checkpoints = None
        if self.checkpoint is not None:
            facts = (("icore", VERSION), ("--set", " ".join(f"{name}={value}" for name, value in sorted(settings.items())) or "nothing"))
            checkpoints = Checkpoints(self.checkpoint, self.resume, facts=facts)
        return Rules(
            max_states=self.max_states, max_depth=self.max_depth, timeout=self.timeout, spent=spent, max_memory=self.max_memory,
            cores=self.cores, progress=progress, checkpoints=checkpoints,
        )  # fmt: skip


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
    reduce: str | None = None
    """None: symmetry, where it is declared and pays."""
    as_junit: bool = False
    stop_at_first: bool = False

    @property
    def seeks_findings(self) -> bool:
        """Findings are about the audited system as a whole."""
        return self.unaudited is False


class Wrong(Exception):
    """Input that is wrong: the message for a person, and the mistakes as JSON has them. `status` UNKNOWN: there was no time to tell."""

    def __init__(
        self, message: str, mistakes: tuple[dict[str, object], ...] = (), status: ExitStatus = ExitStatus.BAD_INPUT
    ) -> None:
        self.message = message
        self.mistakes = mistakes
        self.status = status
        super().__init__(message)


def refuse(wrong: Wrong, path: Path, schema: str | None) -> ExitStatus:
    """Tell what is wrong: on standard error, or as JSON where an answer of this schema was asked for."""
    if schema is None:
        click.echo(wrong.message, err=True)
    else:
        from icore_kernel.report.json import dump, wrong_record

        click.echo(dump(wrong_record(str(path), wrong.message, wrong.mistakes, schema, wrong.status)))
    return wrong.status


def gravest(statuses: Iterable[ExitStatus]) -> ExitStatus:
    """Of several files the gravest counts: internal error, wrong input, violated, unknown, holds (design 1)."""
    found = set(statuses)
    return next((status for status in GRAVEST_FIRST if status in found), ExitStatus.HOLDS)


def answer(path: Path, ask: Callable[[], T]) -> T:
    """What `ask` answers. Raises Wrong for everything the user can mend: an unreadable file, a mistake, an unknown name, a
    checkpoint that does not fit, a package that was not grounded in time."""
    from icore_kernel.api import InputError, UsageError
    from icore_kernel.explore.model import CheckpointError
    from icore_kernel.load import OutOfTime

    try:
        return ask()
    except CheckpointError as wrong:
        raise Wrong(str(wrong)) from wrong
    except InputError as wrong:
        raise _mistaken(path, wrong) from wrong
    except UsageError as wrong:
        raise Wrong(f"{path}: {wrong}") from wrong
    except OutOfTime as late:
        raise Wrong(f"{path}: unknown: its grounding was not finished before the timeout", status=ExitStatus.UNKNOWN) from late
    except OSError as wrong:
        place = path if wrong.filename is None else wrong.filename
        raise Wrong(f"{place}: cannot be read: {wrong.strerror or wrong}") from wrong


def _mistaken(path: Path, wrong: InputError) -> Wrong:
    from icore_dsl.mistakes import render
    from icore_kernel.load import GOAL
    from icore_kernel.report.json import mistake_record

    count = len(wrong.mistakes)
    # A formula from the command line is checked as a property of a name that nobody wrote.
    mistakes = [replace(mistake, message=mistake.message.replace(f"`reachable {GOAL}`", "the formula")) for mistake in wrong.mistakes]
    shown = "\n\n".join(render(mistake, wrong.text) for mistake in mistakes)
    noun = "mistake" if count == 1 else "mistakes"
    where = f"the formula of {GOAL}" if all(mistake.span.file == GOAL for mistake in wrong.mistakes) else path
    return Wrong(f"{shown}\n\n{where}: {count} {noun}", tuple(map(mistake_record, mistakes)))


def check_files(files: tuple[Path, ...], asked: Asked) -> ExitStatus:
    """Check each file, print as asked, and return the gravest exit status."""
    statuses: list[ExitStatus] = []
    records: list[dict[str, object]] = []
    suites: list[Suite] = []
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
            elif asked.as_junit:
                from icore_kernel.report.junit import wrong_suite

                suites.append(wrong_suite(str(path), wrong.message, wrong.mistakes))
            else:
                click.echo(wrong.message, err=True)
            continue
        except KeyboardInterrupt:
            undecided = files[number:]
            break
        statuses.append(report.exit_status(asked.strict))
        _print(report, asked, records, suites, gap=number > 0)
        counterexample = None if saved else first_counterexample(report)
        if asked.save_run is not None and counterexample is not None and loaded is not None:
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
    elif asked.as_junit:
        from icore_kernel.report.junit import document, undecided_suite

        xml = document([*suites, *(undecided_suite(str(path)) for path in undecided)])
        click.echo(xml.encode(), nl=False)  # what it says of its encoding is true wherever it goes
    elif len(files) > 1:
        click.echo(f"\n{text.tally(statuses)}")
    return gravest(statuses)


def _check(path: Path, asked: Asked) -> tuple[Loaded | None, Report]:
    """The report; no package where the time was over before it was grounded."""
    from icore_kernel import api
    from icore_kernel.load import OutOfTime

    def ask(tell: Tell | None) -> tuple[Loaded | None, Report]:
        begun = monotonic()
        try:
            loaded = api.load(path, settings=asked.settings, theory=asked.theory, seconds=asked.limits.timeout)
        except OutOfTime:
            return None, not_grounded_in_time(path, asked.limits.timeout, monotonic() - begun)
        rules = asked.limits.rules(asked.settings, tell, monotonic() - begun)
        reduce = api.Reduce(asked.reduce or "auto")
        report = api.check(
            loaded, only=asked.only, unaudited=asked.unaudited, rules=rules, reduce=reduce, stop_at_first=asked.stop_at_first
        )
        return loaded, report

    with progress_on(sys.stderr) as tell:
        return answer(path, lambda: ask(tell))


def not_grounded_in_time(path: Path, timeout: float | None, seconds: float) -> Report:
    """All that can be said of a package whose grounding took longer than it may."""
    stopped = f"timeout {timeout:g} s"
    detail = f"not finished ({stopped}): nothing was searched"
    result = Result("grounding", Verdict.UNKNOWN, Assurance.NONE, detail, engine="checker", seconds=seconds)
    return Report(str(path), path.stem, "", (result,), space={"stopped": stopped}, seconds=seconds)


def left(timeout: float | None, begun: float) -> float | None:
    """Seconds of the timeout that are left, `begun` being when it began; None: no timeout."""
    return None if timeout is None else max(timeout - (monotonic() - begun), 1e-3)


def _print(report: Report, asked: Asked, records: list[dict[str, object]], suites: list[Suite], gap: bool) -> None:
    sought = asked.seeks_findings and report.mode != LIBRARY
    if asked.as_json:
        from icore_kernel.report.json import report_record

        records.append(report_record(report, asked.strict, asked.settings, sought))
        return
    if asked.as_junit:
        from icore_kernel.report.junit import report_suite

        suites.append(report_suite(report, asked.strict, asked.settings, sought))
        return
    if gap:
        click.echo()
    paint.write(text.report_lines(report, asked.strict, sought), sys.stdout)


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
