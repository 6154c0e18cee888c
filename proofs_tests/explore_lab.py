"""What the tests of explorations share: the engines and modes, and when an exploration agrees with the reference."""

from __future__ import annotations

from fractions import Fraction

import pytest
import reference
from systems_by_hand import Draft

from icore_kernel.explore import judge
from icore_kernel.explore.model import Audited, Exploration, Mode, Path, Sighting, Unaudited, Watchlist
from icore_kernel.explore.search import Engine, has_kernel
from icore_kernel.meaning.scalar import evaluate
from icore_kernel.runs import end_of
from icore_kernel.system import Clause, Kind, System

BLOCKS = Engine.NATIVE if has_kernel() else Engine.NUMPY
ENGINES = tuple(dict.fromkeys((Engine.PYTHON, Engine.NUMPY, BLOCKS)))
MODES: tuple[Mode, ...] = (Audited(), Unaudited(), Unaudited(frozenset({"slip", "u1.attempt"})))
both = pytest.mark.parametrize("engine", ENGINES)


def depth_of(exploration: Exploration, number: int) -> int:
    return next(depth for depth in range(len(exploration.levels)) if number < sum(exploration.levels[: depth + 1]))


def assert_agrees(system: System, watchlist: Watchlist, mode: Mode, found: Exploration, expected: reference.Found) -> None:
    states = [state for level in expected.levels for state in level]
    depths = {state: depth for depth, level in enumerate(expected.levels) for state in level}
    assert found.stopped is None
    assert found.levels == tuple(map(len, expected.levels))
    assert (found.states, found.depth) == (len(states), max(0, len(expected.levels) - 1))
    assert found.steps == len(expected.steps)
    assert found.stutters == sum(before == after for before, _, after in expected.steps)
    assert {found.store.state(number) for number in range(found.states)} == set(states)
    for number, counts in enumerate(found.coverage):
        taken = sum(update == number for _, update, _ in expected.steps)
        assert (counts.enabled, counts.committable, counts.committed) == (expected.enabled[number], expected.committable[number], taken)
    assert found.refusals == dict(expected.refusals)
    assert found.passed == dict(expected.passed)
    assert {(v.schema, v.label): v.count for v in found.violations} == {key: len(those) for key, those in expected.violations.items()}
    for violation in found.violations:
        assert depth_of(found, violation.state) == min(expected.violations[violation.schema, violation.label])
        assert violation.label in [failing.clause.label for failing in violation.failing]
        assert system.updates[violation.update].schema == violation.schema
    for name, term in watchlist.checks:
        assert_sighting(found, found.checks[name], [depths[state] for state in states if not evaluate(term, state)])
    for name, term in watchlist.seen:
        assert_sighting(found, found.seen[name], [depths[state] for state in states if evaluate(term, state)])
    for name, (least, greatest) in reference.extremes(watchlist, expected).items():
        extent = found.minimums[name]
        ratio = next(measure.ratio for measure in watchlist.minimums if measure.name == name)
        assert (extent.least, extent.greatest) == (least, greatest)
        for value, at in ((least, extent.least_at), (greatest, extent.greatest_at)):
            assert at is not None
            having = [state for state in states if Fraction(evaluate(ratio.num, state), evaluate(ratio.den, state)) == value]
            assert found.store.state(at) in having
            assert depth_of(found, at) == min(depths[state] for state in having)
    unended = [state for state in expected.quiet if not any(evaluate(term, state) for term in watchlist.ends)]
    assert (found.dead_ends.quiet, found.dead_ends.unended) == (len(expected.quiet), len(unended))
    if unended:
        assert found.dead_ends.first is not None
        assert depth_of(found, found.dead_ends.first) == min(depths[state] for state in unended)
    else:
        assert found.dead_ends.first is None
    assert_finality(system, watchlist, mode, found, reference.finality_length(watchlist, expected))
    assert found.finality_checked is any(evaluate(term, state) for term in watchlist.final for state in states)
    assert found.graph is not None
    assert steps_of(found) == sorted(expected.steps)


def assert_sighting(found: Exploration, sighting: Sighting, depths: list[int]) -> None:
    assert sighting.count == len(depths)
    assert (None if sighting.first is None else depth_of(found, sighting.first)) == min(depths, default=None)


def assert_finality(system: System, watchlist: Watchlist, mode: Mode, found: Exploration, length: int | None) -> None:
    if found.finality is None:
        assert length is None
        return
    path, update, changed = found.finality.path, found.finality.update, found.finality.changed
    assert len(path.updates) + 1 == length
    assert_commits(system, mode, Path(path.initial, (*path.updates, update)))
    passed = [end_of(system, Path(path.initial, path.updates[:count])) for count in range(len(path.updates) + 1)]
    assert any(evaluate(term, state) for term in watchlist.final for state in passed)
    after = judge.successor(system.updates[update], passed[-1])
    assert changed == tuple(c for c in watchlist.outcomes if evaluate(c.formula, passed[-1]) != evaluate(c.formula, after))
    assert changed


def assert_commits(system: System, mode: Mode, path: Path) -> None:
    """Every step of the path commits, and it starts in an initial state."""
    assert path.initial in reference.initial(system)
    state = path.initial
    for index in path.updates:
        after = judge.committed(system, mode, index, state)
        assert after is not None
        state = after


def steps_of(found: Exploration) -> list[tuple[tuple[int, ...], int, tuple[int, ...]]]:
    graph = found.graph
    assert graph is not None
    assert len(graph.start) == found.states + 1
    state = [found.store.state(number) for number in range(found.states)]
    return sorted(
        (state[number], int(graph.update[place]), state[int(graph.target[place])])
        for number in range(found.states)
        for place in range(int(graph.start[number]), int(graph.start[number + 1]))
    )


def climbing(kind: Kind = Kind.ORDINARY) -> tuple[Draft, System]:
    """x0 climbs 0..5 by one or by two; A.4(1) wants it at most 3."""
    draft = Draft((0, 5))
    bank, x, n = draft.bank, draft.x(), draft.n
    inc = draft.update("inc", bank.lt(x, n(5)), (0, bank.add(x, n(1))), kind=kind)
    jump = draft.update("jump", bank.lt(x, n(4)), (0, bank.add(x, n(2))))
    return draft, draft.system([inc, jump], feasibility=(Clause("A.4(1)", bank.le(x, n(3))),))
