"""Which of several violations to look at first: an illegal step that the environment takes is what other checks fail through."""

from __future__ import annotations

from collections.abc import Sequence

from icore_kernel.check.repair import was_false
from icore_kernel.explore import judge
from icore_kernel.system import System
from icore_kernel.verdict import Result, Run, Verdict


def legality_first(system: System, results: Sequence[Result]) -> str:
    """`fix legality first`, where the runs of others that are violated take its illegal step too; else empty."""
    violated = [result for result in results if result.verdict is Verdict.VIOLATED]
    legality = next((result for result in violated if result.name == "legality"), None)
    if legality is None or legality.run is None or legality.run.offending is None:
        return ""
    step = legality.run.offending.update
    others = [result for result in violated if result is not legality]
    through = [result.name for result in others if result.run is not None and _takes(system, result.run, step)]
    if not through:
        return ""
    said = "the others pass" if len(through) == len(others) > 1 else f"{', '.join(through)} {'passes' if len(through) == 1 else 'pass'}"
    return f"fix legality first: {said} through its illegal step, {step}"


def _takes(system: System, run: Run, step: str) -> bool:
    """Whether the run commits that update in a state in which it is illegal (and not merely from a state that was wrong already)."""
    numbers = {update.name: update for update in system.updates}
    state = list(system.initial)
    given = dict(run.initial)
    for field in system.free:
        codes = range(field.domain.lo, field.domain.hi + 1)
        state[field.index] = next(code for code in codes if field.domain.show(code) == given[field.name])
    here = tuple(state)
    for one in (*run.steps, *run.cycle):
        update = numbers[one.update]
        if one.update == step and any(not was_false(failing, here) for failing in judge.failing(system, update, here)):
            return True
        here = judge.successor(update, here)
    return False
