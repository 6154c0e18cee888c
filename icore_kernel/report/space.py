"""A replayed run, as a person reads it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from icore_kernel.report.layout import Line, Part, Piece, line, number
from icore_kernel.verdict import Step

if TYPE_CHECKING:
    from icore_kernel.runs_io import Replay, ReplayedStep


def replay_lines(replay: Replay) -> Iterator[Line]:
    """Each step with what it changed and, where it did not go as the run says, why."""
    run = replay.run
    breaks = f" · breaks {run.breaks}" if run.breaks else ""
    yield line(Piece(f"{run.package} {run.version}".rstrip(), Part.STRONG), f" · {number(len(run.steps), 'step')}{breaks}")
    yield line()
    if run.initial:
        yield line("  from ", ", ".join(f"{name} = {value}" for name, value in run.initial))
    for position, went in enumerate(replay.steps, start=1):
        if position == len(run.steps) + 1:
            yield line("  then for ever:")
        yield line(f"  {position:>3}  {went.step.update}")
        yield from _changes(went.step)
        if not went.committed:
            yield line("       ", Piece(_refusal(went), Part.BAD))
    if replay.offending is not None:
        yield line(f" then  {replay.offending.step.update}")
        yield from _changes(replay.offending.step)
        yield line("       ", Piece(_refusal(replay.offending), Part.BAD))
    yield line()
    if replay.false_at_end:
        yield line("  false in the last state: ", ", ".join(replay.false_at_end))
        yield line()
    yield _summary(replay)


def _changes(step: Step) -> Iterator[Line]:
    for change in step.changes:
        yield line(Piece(f"       {change.field}: {change.before} -> {change.after}", Part.DIM))


def _refusal(went: ReplayedStep) -> str:
    if not went.enabled:
        return "not enabled here"
    if not went.failing:
        return "legal here"
    return "may not commit, by " + ", ".join(dict.fromkeys(failing.clause.label for failing in went.failing))


def _summary(replay: Replay) -> Line:
    if not replay.committed:
        return line(Piece(f"step {len(replay.steps)} did not commit: the package has no such run", Part.BAD))
    done = "every step was enabled and committed" if replay.steps else "the run has no step"
    if replay.offending is None:
        if not replay.run.breaks:
            return line(Piece(done, Part.GOOD))
        if replay.broken is None:
            return line(Piece(f"{done}; whether that breaks {replay.run.breaks}, one run does not show", Part.UNSURE))
        told = f"and it breaks {replay.run.breaks}" if replay.broken else f"but it does not break {replay.run.breaks}"
        return line(Piece(f"{done}, {told}", Part.GOOD if replay.broken else Part.BAD))
    if replay.borne_out:
        return line(Piece(f"{done}, and the last occurrence may not commit", Part.GOOD))
    return line(Piece(f"{done}, but the last occurrence is {_refusal(replay.offending)}", Part.BAD))
