"""What holds of every run of the audit loop: Proposition 5, and that it stays where `icore check` has been."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from audit_desk import Ran

from icore_kernel.api import Loaded, load
from icore_kernel.audit.auditor import Auditor
from icore_kernel.audit.frame import Parameters
from icore_kernel.audit.loop import Loop
from icore_kernel.explore.model import Audited, Rules, State, Watchlist
from icore_kernel.explore.scalar_search import ScalarSearch
from icore_kernel.explore.tally import Clock
from icore_kernel.hosts.random_host import RandomHost
from icore_kernel.meaning import scalar
from icore_kernel.prove.commit import CommitSolver
from icore_kernel.record.store import open_store

EXAMPLES = Path(__file__).parents[1] / "examples"
SMALL = ("capability_assignment", "code_change", "dependency_ladder", "literature_answer", "release_pipeline", "repair_verification")
"""Examples of which every reachable state is kept."""
GOOD = (*SMALL, "binary_coverage", "compatible_merge", "decompose_and_solve", "incident_response")


@cache
def _package(name: str) -> tuple[Loaded, CommitSolver]:
    loaded = load(EXAMPLES / f"{name}.icore")
    return loaded, CommitSolver(loaded.system, loaded.bank)


def _run(name: str, seed: int, faults: Fraction) -> Ran:
    loaded, decider = _package(name)
    store = open_store("memory:")
    auditor = Auditor(loaded, store, decider=decider)
    loop = Loop(auditor, RandomHost(seed, faults), Parameters.of(auditor.tables.settings))
    return Ran(loop, loop.run(), store)


def _states(run: Ran) -> Iterator[tuple[Mapping[str, Any], State]]:
    """Each commit's body with the state that it leads to, rebuilt from the changes alone."""
    fields = {f.name: f for f in run.loop.auditor.system.fields}
    state = list(run.loop.auditor.system.initial)
    entries = list(run.store.entries())
    for name, value in entries[0].body["state"].items():
        state[fields[name].index] = _code(fields[name], value)
    for entry in entries:
        if entry.kind == "commit":
            body = entry.body
            for changed in (body["G"]["changed"], body["Q"]["changed"], body["Pi"]["changed"], body["other"]):
                for name, (before, after) in changed.items():
                    assert state[fields[name].index] == _code(fields[name], before)
                    state[fields[name].index] = _code(fields[name], after)
            yield body, tuple(state)


def _code(field: Any, value: Any) -> int:
    if field.domain.names:
        return int(field.domain.lo + field.domain.names.index(value))
    return int(value)


@cache
def _reachable(name: str) -> frozenset[State]:
    loaded, _ = _package(name)
    rules = Rules()
    search = ScalarSearch(loaded.system, Watchlist(), rules, Audited(), Clock(rules))
    search.run()
    return frozenset(search.memory.numbers)


def _check_visited(name: str, seeds: range) -> None:
    known = _reachable(name)
    visited = [state for seed in seeds for _, state in _states(_run(name, seed, Fraction(1, 3)))]
    assert len(visited) > len(seeds)
    assert known.issuperset(visited)


@pytest.mark.parametrize("name", ["code_change", "literature_answer"])
def test_every_state_of_a_run_is_one_that_check_explores(name: str) -> None:
    _check_visited(name, range(5))


@pytest.mark.parametrize("name", SMALL)
def test_every_state_of_many_runs_is_one_that_check_explores(name: str) -> None:
    _check_visited(name, range(100))


def _matched_quality(run: Ran, weights: Mapping[str, str], state: State) -> Fraction:
    """A.9 by hand: the weights of what is there and justified, and of what is there and stable, over twice the frozen weight."""
    works = run.loop.auditor.tables.works
    total = sum(Fraction(w) for w in weights.values())
    if not total:
        return Fraction(1)
    found = Fraction(0)
    for name, weight in weights.items():
        work = works[name]
        there = bool(scalar.evaluate(work.present, state))
        sound = there and bool(scalar.evaluate(work.sound, state))
        stable = there and bool(scalar.evaluate(work.stable, state))
        found += Fraction(weight) * (sound + stable)
    return found / (2 * total)


def _check_proposition_5(name: str, seed: int) -> tuple[int, int]:
    """(commits, interventions) of one run with faults, each judged."""
    run = _run(name, seed, Fraction(1, 3))
    system = run.loop.auditor.system
    before: State = next(_initial(run))
    counts = [0, 0]
    frozen: Mapping[str, str] = {}
    rebuilt = _states(run)
    for entry in run.store.entries():
        if entry.kind == "diagnosis":
            frozen, issued_at = entry.body["matched"], before
        if entry.kind != "commit":
            continue
        body, after = next(rebuilt)
        assert body is entry.body or body == entry.body
        for clause in (*system.soundness, *system.feasibility):
            assert scalar.evaluate(clause.formula, after), (name, seed, body["update"], clause.label)
        counts[0] += 1
        if body["phase"] == "recovery":
            assert frozen
            assert _matched_quality(run, frozen, after) >= _matched_quality(run, frozen, issued_at)
            counts[1] += 1
        before = after
    return counts[0], counts[1]


def _initial(run: Ran) -> Iterator[State]:
    fields = {f.name: f for f in run.loop.auditor.system.fields}
    named = next(iter(run.store.entries())).body["state"]
    yield tuple(_code(f, named[f.name]) for f in fields.values())


@pytest.mark.parametrize("name", GOOD)
def test_proposition_5_on_runs_with_faults(name: str) -> None:
    counts = [_check_proposition_5(name, seed) for seed in range(4)]
    assert sum(commits for commits, _ in counts) > 8
    assert sum(interventions for _, interventions in counts) > 0


@pytest.mark.parametrize("name", GOOD)
def test_proposition_5_on_two_thousand_runs(name: str) -> None:
    counts = [_check_proposition_5(name, seed) for seed in range(100, 300)]
    assert len(counts) * len(GOOD) == 2000
    assert sum(commits for commits, _ in counts) > 1_000
    assert sum(interventions for _, interventions in counts) > 100
