"""Scenarios (`run NAME: steps expect FORMULA`): replayed one step at a time in the scalar meaning."""

from __future__ import annotations

from collections.abc import Iterator

from icore_kernel.check.reasons import reasons_of
from icore_kernel.explore import judge
from icore_kernel.explore.model import Audited, Path, State
from icore_kernel.meaning import scalar
from icore_kernel.runs import run_of
from icore_kernel.system import Clause, Scenario, System
from icore_kernel.verdict import Assurance, Reason, Result, Verdict


def scenario_results(system: System) -> Iterator[Result]:
    numbers = {update.name: i for i, update in enumerate(system.updates)}
    for scenario in system.scenarios:
        yield _replayed(system, scenario, numbers)


def _replayed(system: System, scenario: Scenario, numbers: dict[str, int]) -> Result:
    name = f"run {scenario.name}"
    state: State = system.initial
    if not scalar.evaluate(system.initially, state):
        return Result(name, Verdict.UNKNOWN, Assurance.NONE, "the first initial state does not satisfy `initially`", scenario.span)
    path: list[int] = []
    for place, (step, span) in enumerate(scenario.steps, start=1):
        number = numbers.get(step)
        after = None if number is None else judge.committed(system, Audited(), number, state)
        if number is None or after is None:
            why, reasons = _refusal(system, number, state)
            offending = number if number is not None and judge.occurs(system.updates[number], state) else None
            run = run_of(system, Path(system.initial, tuple(path)), offending)
            return Result(name, Verdict.VIOLATED, Assurance.OBSERVED, f"step {place}, {step}: {why}", span, run, reasons, "scalar replay")
        path.append(number)
        state = after
    run = run_of(system, Path(system.initial, tuple(path)))
    if not scalar.evaluate(scenario.expect, state):
        clause = Clause(f"expect of {scenario.name}", scenario.expect, spans=(scenario.span,))
        reasons = reasons_of(system, clause, state)
        return Result(name, Verdict.VIOLATED, Assurance.OBSERVED, "what it expects does not hold at its end", scenario.span, run, reasons, "scalar replay")
    return Result(
        name, Verdict.HOLDS, Assurance.OBSERVED, f"{len(path)} steps", scenario.span, engine="scalar replay", not_guaranteed="any other run"
    )


def _refusal(system: System, number: int | None, state: State) -> tuple[str, tuple[Reason, ...]]:
    if number is None:
        return "no binding of this update can ever be enabled", ()
    update = system.updates[number]
    if not judge.occurs(update, state):
        return "not enabled", reasons_of(system, Clause("when", update.when, spans=() if update.span is None else (update.span,)), state)
    failing = judge.failing(system, update, state)
    clause = failing[0].clause
    where = judge.successor(update, state) if failing[0].phase.value in {"after", "feasibility"} else state
    return f"refused by {clause.label}", reasons_of(system, clause, where)
