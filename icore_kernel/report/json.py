"""Reports as JSON, schemas `icore.check/1` and `icore.replay/1`. Every key is described in SCHEMA.md beside this file.

Counts are integers, exact rationals are strings (`"47/50"`), the only floats are seconds.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from numbers import Integral
from typing import TYPE_CHECKING

from icore_dsl.syntax import Span
from icore_kernel.verdict import Cell, ExitStatus, Finding, Fork, Obligation, Reason, Report, Result, Run, Step, Verdict
from icore_kernel.version import VERSION

if TYPE_CHECKING:
    from icore_dsl.mistakes import Mistake
    from icore_kernel.runs_io import Replay, ReplayedStep

CHECK = "icore.check/1"
REPLAY = "icore.replay/1"

Record = dict[str, object]


def dump(record: object) -> str:
    return json.dumps(record, indent=2, ensure_ascii=False)


def report_record(report: Report, strict: bool, settings: Mapping[str, str], sought: bool = True) -> Record:
    """`sought`: whether findings were looked for; where not, `findings` is null and not an empty list."""
    return {
        "schema": CHECK,
        "icore": VERSION,
        "file": report.file,
        "package": report.package,
        "version": report.version,
        "settings": dict(settings),
        "mode": report.mode,
        "strict": strict,
        "verdict": report.verdict.value,
        "exit_status": int(report.exit_status(strict)),
        "counts": exact(report.counts),
        "results": [_result(result) for result in report.results],
        "findings": [_finding(finding) for finding in report.findings] if sought else None,
        "obligations": [_obligation(obligation) for obligation in report.obligations],
        "space": exact(report.space),
        "seconds": report.seconds,
    }


def wrong_record(
    file: str, message: str, mistakes: Sequence[Record], schema: str = CHECK, status: ExitStatus = ExitStatus.BAD_INPUT
) -> Record:
    """A file that got no answer because it, or what was asked of it, is wrong, or there was no time (UNKNOWN). `schema` is that of
    the answer."""
    return {
        "schema": schema,
        "icore": VERSION,
        "file": file,
        "verdict": Verdict.UNKNOWN.value if status is ExitStatus.UNKNOWN else None,
        "exit_status": int(status),
        "message": message,
        "mistakes": list(mistakes),
    }


def mistake_record(mistake: Mistake) -> Record:
    return {"code": str(mistake.code), "span": _span(mistake.span), "message": mistake.message, "hint": mistake.hint}


def exact(value: object) -> object:
    """`value` as JSON has it. TypeError for a float that is not called `seconds`, and for whatever has no JSON form."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): item if key == "seconds" and isinstance(item, float) else exact(item) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [exact(item) for item in value]
    raise TypeError(f"{value!r} of type {type(value).__name__} has no place in a report")


def _span(span: Span | None) -> Record | None:
    if span is None:
        return None
    return {"file": span.file, "line": span.line, "column": span.column, "end_line": span.end_line, "end_column": span.end_column}


def _result(result: Result) -> Record:
    return {
        "name": result.name,
        "verdict": result.verdict.value,
        "assurance": result.assurance.value,
        "detail": result.detail,
        "span": _span(result.span),
        "run": None if result.run is None else run_record(result.run),
        "reasons": [_reason(reason) for reason in result.reasons],
        "fork": None if result.fork is None else _fork(result.fork),
        "matrix": [cell_record(cell) for cell in result.matrix],
        "engine": result.engine,
        "repair": result.repair,
        "not_guaranteed": result.not_guaranteed,
        "seconds": result.seconds,
    }


def run_record(run: Run) -> Record:
    return {
        "initial": dict(run.initial),
        "steps": [_step(step) for step in run.steps],
        "offending": None if run.offending is None else _step(run.offending),
        "cycle": [_step(step) for step in run.cycle],
    }


def _fork(fork: Fork) -> Record:
    return {
        "first": _step(fork.first),
        "way": [_step(step) for step in fork.way],
        "second": _step(fork.second),
        "choice": fork.choice,
        "conflict": list(fork.conflict),
        "settlements": [{"field": name, "first": one, "second": other} for name, one, other in fork.settlements],
        "continuations": [[_step(step) for step in steps] for steps in fork.continuations],
    }


def cell_record(cell: Cell) -> Record:
    return {
        "first": cell.first,
        "second": cell.second,
        "choice": cell.choice,
        "kind": cell.kind,
        "independent": cell.independent,
        "joinable": cell.joinable,
        "not_joinable": cell.not_joinable,
        "unclassified": cell.unclassified,
        "everywhere": cell.everywhere,
        "condition": cell.condition or None,
    }


def _step(step: Step) -> Record:
    changes = [{"field": change.field, "before": change.before, "after": change.after} for change in step.changes]
    return {"update": step.update, "actor": step.actor, "changes": changes}


def _reason(reason: Reason) -> Record:
    return {
        "label": reason.label,
        "text": reason.text,
        "span": _span(reason.span),
        "instance": reason.instance,
        "nearest": reason.nearest,
        "values": dict(reason.values),
    }


def _finding(finding: Finding) -> Record:
    return {
        "kind": finding.kind,
        "subject": finding.subject,
        "message": finding.message,
        "span": _span(finding.span),
        "allowed": finding.allowed or None,
    }


def _obligation(obligation: Obligation) -> Record:
    return {"name": obligation.name, "answer": obligation.answer, "seconds": obligation.seconds}


def replay_record(replay: Replay) -> Record:
    return {
        "schema": REPLAY,
        "icore": VERSION,
        "package": replay.run.package,
        "breaks": replay.run.breaks,
        "initial": dict(replay.run.initial),
        "steps": [_replayed(went) for went in replay.steps[: len(replay.run.steps)]],
        "cycle": [_replayed(went) for went in replay.steps[len(replay.run.steps) :]],
        "offending": None if replay.offending is None else _replayed(replay.offending),
        "false_at_end": list(replay.false_at_end),
        "committed": replay.committed,
        "broken": replay.broken,
        "borne_out": replay.borne_out,
    }


def _replayed(went: ReplayedStep) -> Record:
    labels = list(dict.fromkeys(failing.clause.label for failing in went.failing))
    return {**_step(went.step), "enabled": went.enabled, "committed": went.committed, "failing": labels}
