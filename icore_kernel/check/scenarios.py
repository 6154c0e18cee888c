"""Scenarios (`run NAME: steps expect FORMULA`): replayed one step at a time in the scalar meaning."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from icore_kernel.check.answers import plural
from icore_kernel.check.missing import reasons as reasons_of_step
from icore_kernel.check.reasons import reasons_of
from icore_kernel.explore import judge
from icore_kernel.explore.model import Audited, Path, Rules, State
from icore_kernel.explore.scalar_search import initial_states
from icore_kernel.explore.tally import Clock
from icore_kernel.load import Loaded
from icore_kernel.meaning import scalar
from icore_kernel.runs import run_of
from icore_kernel.system import Clause, Scenario
from icore_kernel.verdict import Assurance, Reason, Result, Verdict

ENGINE = "scalar replay"


MOST_CANDIDATES = 20_000
"""Free fields that start anywhere may make more initial states than can be replayed from: then a scenario is `unknown`."""


def scenario_results(loaded: Loaded, rootless: str = "") -> Iterator[Result]:
    """`rootless`: where Accept and Reject can never hold for want of required work, how to mark some."""
    system = loaded.system
    if not system.scenarios:
        return
    numbers = {update.name: i for i, update in enumerate(system.updates)}
    few = prod(field.domain.size for field in system.free) <= MOST_CANDIDATES
    starts = tuple(initial_states(system, Clock(Rules()))) if few else None
    for scenario in system.scenarios:
        yield _result(loaded, scenario, numbers, starts, rootless)


def _result(loaded: Loaded, scenario: Scenario, numbers: dict[str, int], starts: tuple[State, ...] | None, rootless: str) -> Result:
    """From every initial state: a field without a value is never given one silently. The first that fails is shown."""
    name = f"run {scenario.name}"
    if not starts:
        why = "too many initial states to replay from each" if starts is None else "no initial state satisfies `initially`"
        return Result(name, Verdict.UNKNOWN, Assurance.NONE, why, scenario.span, engine=ENGINE)
    for start in starts:
        failed = _failure(loaded, scenario, numbers, start, rootless)
        if failed is not None:
            return failed
    detail = plural(len(scenario.steps), "step") + (f" from each of {len(starts):,} initial states" if len(starts) > 1 else "")
    return Result(name, Verdict.HOLDS, Assurance.OBSERVED, detail, scenario.span, engine=ENGINE, not_guaranteed="any other run")


def _failure(loaded: Loaded, scenario: Scenario, numbers: dict[str, int], start: State, rootless: str) -> Result | None:
    """How the scenario fails from one initial state: at a step that does not commit, or at its end."""
    name = f"run {scenario.name}"
    system = loaded.system
    state = start
    path: list[int] = []
    for place, (step, span) in enumerate(scenario.steps, start=1):
        number = numbers.get(step)
        after = None if number is None else judge.committed(system, Audited(), number, state)
        if number is None or after is None:
            why, reasons = _refusal(loaded, number, state)
            offending = number if number is not None and judge.occurs(system.updates[number], state) else None
            run = run_of(system, Path(start, tuple(path)), offending)
            return Result(name, Verdict.VIOLATED, Assurance.OBSERVED, f"step {place}, {step}: {why}", span, run, reasons, ENGINE)
        path.append(number)
        state = after
    if scalar.evaluate(scenario.expect, state):
        return None
    clause = Clause(f"expect of {scenario.name}", scenario.expect, spans=(scenario.span,))
    why = rootless if scenario.expect.is_false else ""
    return Result(
        name, Verdict.VIOLATED, Assurance.OBSERVED, "what it expects does not hold at its end", scenario.span,
        run_of(system, Path(start, tuple(path))), () if why else reasons_of(system, clause, state), ENGINE, repair=why,
    )  # fmt: skip


def _refusal(loaded: Loaded, number: int | None, state: State) -> tuple[str, tuple[Reason, ...]]:
    system = loaded.system
    if number is None:
        return "no binding of this update can ever be enabled", ()
    update = system.updates[number]
    if not judge.occurs(update, state):
        return "not enabled", reasons_of(system, Clause("when", update.when, spans=() if update.span is None else (update.span,)), state)
    failing = judge.failing(system, update, state)
    after = judge.successor(update, state)
    return f"refused by {failing[0].clause.label}", tuple(reasons_of_step(loaded, failing, failing[:1], state, after))
