"""Reachable states, all or some: what guesses at lemmas are tried on first."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from time import perf_counter

from icore_kernel.explore.model import Audited, Exploration, Rules, State, Watchlist
from icore_kernel.explore.search import Engine, explore, has_kernel
from icore_kernel.explore.simulate import Simulator, Starts
from icore_kernel.explore.tally import Clock
from icore_kernel.system import System

LENGTH = 200
SEARCHED = 30_000
"""States of a first search; where these are not all, random runs go further."""


@dataclass(frozen=True, slots=True)
class Samples:
    """`whole`: the search that they are drawn from found every reachable state."""

    states: tuple[State, ...]
    whole: bool


def reachable_states(system: System, most: int, seconds: float) -> Samples:
    """Up to about `most` different states: drawn from the whole space where it is small, else from its beginning and from random runs."""
    started = perf_counter()
    found = _search(system, Rules(max_states=SEARCHED, timeout=seconds / 2))
    numbers: list[int] = list(range(found.states))
    if found.states > most:
        numbers = sorted(Random(0).sample(numbers, most))
    states = dict.fromkeys(found.store.state(number) for number in numbers)
    if found.stopped is not None:
        states.update(dict.fromkeys(_random_runs(system, most, started + seconds)))
    return Samples(tuple(states), found.stopped is None)


def _search(system: System, rules: Rules) -> Exploration:
    """By the C kernel at once where there is one: what plain Python would find first is not worth its compilation."""
    if has_kernel():
        from icore_kernel.explore.blasting import Unsupported

        try:
            return explore(system, Watchlist(), rules, engine=Engine.NATIVE)
        except Unsupported:
            pass
    return explore(system, Watchlist(), rules)


def _random_runs(system: System, most: int, deadline: float) -> tuple[State, ...]:
    chance = Random(0)
    simulator = Simulator(system, Watchlist(), (), "quiet", Audited())
    starts = Starts(system, Clock(Rules()))
    found: dict[State, None] = {}
    idle = 0
    while len(found) < most and idle < 20 and perf_counter() < deadline:
        state = starts.draw(chance)
        if state is None:
            break
        before = len(found)
        for _ in range(LENGTH):
            found[state] = None
            steps = simulator.view(state).steps
            if not steps or len(found) >= most or perf_counter() > deadline:
                break
            state = chance.choice(steps)[1]
        idle = idle + 1 if len(found) == before else 0
    return tuple(found)
