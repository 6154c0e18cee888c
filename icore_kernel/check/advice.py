"""Which of several violations to look at first: an illegal step that the environment takes is what other checks fail through."""

from __future__ import annotations

from collections.abc import Sequence

from icore_kernel.check.repair import was_false
from icore_kernel.explore import judge
from icore_kernel.system import System
from icore_kernel.verdict import Result, Run, Verdict


def legality_first(system: System, results: Sequence[Result], only: bool = False) -> tuple[str, tuple[str, ...]]:
    """`fix legality first` and the names of the other violated results whose runs take an illegal step; empty where there are none.

    `only`: they were asked for by name, so what they show is not behind anything.
    """
    violated = [result for result in results if result.verdict is Verdict.VIOLATED]
    legality = next((result for result in violated if result.name == "legality"), None)
    if legality is None or legality.run is None or legality.run.offending is None:
        return "", ()
    others = [result for result in violated if result is not legality]
    taken = {result.name: _illegal(system, result.run) for result in others if result.run is not None}
    through = tuple(name for name, step in taken.items() if step)
    if not through:
        return "", ()
    passes = "the others pass" if len(through) == len(others) > 1 else f"{', '.join(through)} {'passes' if len(through) == 1 else 'pass'}"
    steps = list(dict.fromkeys(step for step in taken.values() if step))
    which = f"its illegal step, {steps[0]}" if steps == [legality.run.offending.update] else f"illegal steps: {', '.join(steps)}"
    said = f"fix legality first: {passes} through {which}"
    if only:
        return said, ()
    shown = "their runs are shown by `--only NAME`" if len(through) > 1 else f"its run is shown by `--only '{through[0]}'`"
    return f"{said}; {shown}", through


def _illegal(system: System, run: Run) -> str:
    """The first update of the run that is illegal where it commits (and not merely in a state that was wrong already); else empty."""
    numbers = {update.name: update for update in system.updates}
    state = list(system.initial)
    given = dict(run.initial)
    for field in system.free:
        codes = range(field.domain.lo, field.domain.hi + 1)
        state[field.index] = next(code for code in codes if field.domain.show(code) == given[field.name])
    here = tuple(state)
    for one in (*run.steps, *run.cycle):
        update = numbers[one.update]
        if any(not was_false(failing, here) for failing in judge.failing(system, update, here)):
            return one.update
        here = judge.successor(update, here)
    return ""
