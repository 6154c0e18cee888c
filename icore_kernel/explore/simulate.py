"""Random runs: each begins in an initial state and takes, of the productive steps that commit, any with the same chance.

What the runs meet is *observed*: it can violate, and never holds for the rest. Run number r under a seed is the same
whatever the number of runs. Nothing is compiled that no run needs, and what a state allows is remembered.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from icore_kernel.explore.judge import roles
from icore_kernel.explore.model import LEGALITY, Audited, Coverage, Mode, Path, Rules, State, Watchlist
from icore_kernel.explore.scalar_search import Feasibility, Move, initial_states
from icore_kernel.explore.tally import Clock, Stop
from icore_kernel.meaning.scalar import compile_terms
from icore_kernel.system import System
from icore_kernel.terms.term import Term

LENGTH = 1000
"""Steps after which a run ends, where nothing else is said."""

MOST_KEPT = 200_000
"""States that are remembered."""

MOST_DRAWN = 10_000
"""Draws of free fields until one satisfies `initially`."""

BOUND = "length bound"

_AUDITED = Audited()
_NO_RULES = Rules()


@dataclass(frozen=True, slots=True)
class Broken:
    """A check that is false, or an illegal occurrence, with the shortest run to it among those taken.

    `name`: the check's id in the watchlist, or LEGALITY; `update`, `schema` and `label`: of an illegal occurrence after the
    run, what it is and the clause it fails. `number` of the run, from 1; `times`: in how many visits it was met.
    """

    name: str
    path: Path
    number: int
    times: int = 1
    update: int | None = None
    label: str = ""


@dataclass(frozen=True, slots=True)
class Simulation:
    """What random runs met. `runs` were completed (fewer than asked when `stopped`); `endings`: by name, how they ended.

    `states` are different states met, `more` when there were more than are remembered; `coverage`: of each update, visits
    where it occurred, where it could commit, and steps that were taken; `longest`: the most steps of a run.
    """

    system: System
    seed: int
    asked: int
    length: int
    runs: int
    steps: int
    longest: int
    states: int
    more: bool
    endings: dict[str, int]
    coverage: tuple[Coverage, ...]
    broken: tuple[Broken, ...]
    stopped: str | None
    seconds: float


@dataclass(frozen=True, slots=True)
class _View:
    """What one state comes to: updates that occur, that could commit; productive steps; what is broken in it; how it ends a run."""

    occurring: tuple[int, ...]
    committable: tuple[int, ...]
    steps: tuple[tuple[int, State], ...]
    false: tuple[str, ...]
    illegal: tuple[tuple[int, str], ...]
    ending: str | None


class Simulator:
    """`ends`: a run ends in the first state that satisfies one of these, by name; `quiet`: what it is called to end in a state
    with no productive step that satisfies none."""

    def __init__(self, system: System, watchlist: Watchlist, ends: Sequence[tuple[str, Term]], quiet: str, mode: Mode) -> None:
        self.system = system
        self.watchlist = watchlist
        self.quiet = quiet
        self.ends = ends
        self._roles = roles(system, mode)
        self._moving = [number for number, part in enumerate(self._roles) if part.occurs]
        self._when = compile_terms([system.updates[number].when for number in self._moving])
        self._checks = compile_terms([term for _, term in watchlist.checks])
        self._ending = compile_terms([term for _, term in ends])
        self._moves: dict[int, Move] = {}
        self._feasibility = Feasibility(system.feasibility)
        self._views: dict[State, _View] = {}
        self.more = False

    @property
    def known(self) -> int:
        return len(self._views)

    def view(self, state: State) -> _View:
        known = self._views.get(state)
        if known is None:
            known = self._look(state)
            if len(self._views) < MOST_KEPT:
                self._views[state] = known
            else:
                self.more = True
        return known

    def _look(self, state: State) -> _View:
        occurring, committable, illegal = [], [], []
        steps: list[tuple[int, State]] = []
        feasible = not self._feasibility.cone(-1).failing(state)
        for index, on in zip(self._moving, self._when(state), strict=True):
            if not on:
                continue
            occurring.append(index)
            move = self._moves.get(index)
            if move is None:
                move = self._moves[index] = Move(self.system.updates[index], self._roles[index], self._feasibility)
            required = move.requires is None or bool(move.requires(state)[0])
            if required:
                committable.append(index)
            elif not move.part.attempts_pass:
                continue
            if move.defined is not None and not move.defined(state)[0]:
                if required and not move.part.fault:
                    illegal.append((index, "range"))
                continue
            after = move.successor(state)
            failing = self._failing(move, state, after, feasible) if move.part.judged else ()
            if failing and not move.part.fault:
                illegal.extend((index, label) for label in failing)
            if after != state and (not failing or move.environment):
                steps.append((index, after))
        names = [name for name, _ in self.watchlist.checks]
        false = tuple(name for name, holds in zip(names, self._checks(state), strict=True) if not holds)
        ending = next((name for (name, _), holds in zip(self.ends, self._ending(state), strict=True) if holds), None)
        if ending is None and not steps:
            ending = self.quiet
        return _View(tuple(occurring), tuple(committable), tuple(steps), false, tuple(illegal), ending)

    def _failing(self, move: Move, state: State, after: State, feasible: bool) -> tuple[str, ...]:
        """The labels of the clauses that the occurrence fails; from a feasible state only a write can break feasibility."""
        broken = self._feasibility.cone(move.written if feasible else -1).failing(after)
        failing = (*move.before.failing(state), *move.failing_after(after, broken), *self._feasibility.labels_of(broken))
        return tuple(dict.fromkeys(failing))


class Starts:
    """Draws initial states: from the list of all where it is short, else the free fields until they satisfy `initially`."""

    def __init__(self, system: System, clock: Clock) -> None:
        self.system = system
        self.clock = clock
        few = prod(field.domain.size for field in system.free) <= MOST_DRAWN
        self._all = list(initial_states(system, clock)) if few else None
        self._holds = compile_terms([system.initially])

    def draw(self, chance: random.Random) -> State | None:
        """None where there is none, or none was met."""
        if self._all is not None:
            return chance.choice(self._all) if self._all else None
        state = list(self.system.initial)
        for _ in range(MOST_DRAWN):
            for field in self.system.free:
                state[field.index] = chance.randint(field.domain.lo, field.domain.hi)
            if self._holds(tuple(state))[0]:
                return tuple(state)
        return None


def simulate(
    system: System,
    runs: int,
    seed: int,
    watchlist: Watchlist,
    ends: Sequence[tuple[str, Term]],
    quiet: str,
    rules: Rules = _NO_RULES,
    mode: Mode = _AUDITED,
) -> Simulation:
    """`runs` random runs of at most `rules.max_depth` steps (LENGTH where that is None); the watchlist's checks are looked at."""
    clock = Clock(rules)
    clock.enter("simulation")
    length = LENGTH if rules.max_depth is None else rules.max_depth
    simulator = Simulator(system, watchlist, ends, quiet, mode)
    counts = _Counts(len(system.updates))
    stopped: str | None = None
    try:
        starts = Starts(system, clock)
        for number in range(1, runs + 1):
            chance = random.Random(f"{seed}:{number}")
            start = starts.draw(chance)
            if start is None:
                raise Stop("no initial state was found")
            _run(simulator, clock, chance, start, number, length, counts)
    except Stop as stop:
        stopped = stop.reason
    except KeyboardInterrupt:
        stopped = "interrupted"
    broken = sorted(counts.broken.values(), key=lambda one: (len(one.path.updates), one.number, one.name, one.label))
    return Simulation(
        system, seed, runs, length, counts.runs, counts.steps, counts.longest, simulator.known, simulator.more,
        dict(counts.endings.most_common()), tuple(map(Coverage, counts.enabled, counts.committable, counts.committed)),
        tuple(broken), stopped, clock.seconds,
    )  # fmt: skip


class _Counts:
    def __init__(self, updates: int) -> None:
        self.runs = self.steps = self.longest = 0
        self.enabled, self.committable, self.committed = [0] * updates, [0] * updates, [0] * updates
        self.endings: Counter[str] = Counter()
        self.broken: dict[tuple[str, str, str], Broken] = {}

    def meet(self, name: str, path: Path, number: int, update: int | None = None, schema: str = "", label: str = "") -> None:
        known = self.broken.get((name, schema, label))
        if known is None:
            self.broken[name, schema, label] = Broken(name, path, number, 1, update, label)
            return
        shortest = known if len(known.path.updates) <= len(path.updates) else Broken(name, path, number, 1, update, label)
        self.broken[name, schema, label] = Broken(name, shortest.path, shortest.number, known.times + 1, shortest.update, label)


def _run(simulator: Simulator, clock: Clock, chance: random.Random, start: State, number: int, length: int, counts: _Counts) -> None:
    state = start
    taken: list[int] = []
    while True:
        if len(taken) % 64 == 0:
            clock.check(simulator.known, counts.steps, number, len(taken))
        view = simulator.view(state)
        for index in view.occurring:
            counts.enabled[index] += 1
        for index in view.committable:
            counts.committable[index] += 1
        if view.false or view.illegal:
            path = Path(start, tuple(taken))
            for name in view.false:
                counts.meet(name, path, number)
            for index, label in view.illegal:
                counts.meet(LEGALITY, path, number, index, simulator.system.updates[index].schema, label)
        ending = view.ending if view.ending is not None else BOUND if len(taken) >= length else None
        if ending is not None:
            counts.endings[ending] += 1
            break
        index, state = view.steps[chance.randrange(len(view.steps))]
        taken.append(index)
        counts.steps += 1
        counts.committed[index] += 1
    counts.runs += 1
    counts.longest = max(counts.longest, len(taken))
