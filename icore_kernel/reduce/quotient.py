"""The search in plain Python with reductions: one state for each orbit of a symmetry, and of commuting steps only some.

With symmetry alone every count is that of the whole state space, exactly: each representative counts for its whole orbit, and
what happens to one update of an orbit is shared out evenly. Runs are real: a step of the quotient is turned back into the
occurrence it stands for. With partial order, counts are of the states visited, and runs need not be shortest.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from icore_kernel.explore import judge
from icore_kernel.explore.model import Exploration, FinalityBreak, Mode, Path, Reduction, Rules, State, Watchlist
from icore_kernel.explore.scalar_search import Memory, Move, ScalarSearch, TooMany, initial_states
from icore_kernel.explore.tally import Clock, Stop, share
from icore_kernel.reduce.orbits import Orbits
from icore_kernel.reduce.partial_order import Ample
from icore_kernel.reduce.renaming import Renaming
from icore_kernel.system import System


class Spoilt(Exception):
    """An infeasible state: which updates commute is known of feasible states only, so the search must be done whole."""


class OrbitMemory(Memory):
    """Representatives in the order of discovery. `path` is a run through real states that ends in the representative."""

    def __init__(self, system: System, mode: Mode, orbits: Orbits | None) -> None:
        super().__init__()
        self._system = system
        self._mode = mode
        self._orbits = orbits

    def path(self, number: int) -> Path:
        return self.real(*self.chain(number))

    def chain(self, number: int) -> tuple[list[int], list[int]]:
        """The representatives on the way, and the updates between them, each as of the representative before it."""
        numbers, updates = [number], array("i")
        while self.parents[number] >= 0:
            updates.append(self.by[number])
            number = self.parents[number]
            numbers.append(number)
        return numbers[::-1], updates.tolist()[::-1]

    def real(self, numbers: Sequence[int], updates: Sequence[int]) -> Path:
        states = [self.states[number] for number in numbers]
        if self._orbits is None:
            return Path(states[0], tuple(updates))
        return real_run(self._system, self._mode, self._orbits, states, updates)


def real_run(system: System, mode: Mode, orbits: Orbits, states: Sequence[State], updates: Sequence[int]) -> Path:
    """The run of the system that a run of the quotient stands for: `updates[i]` leads from `states[i]` into the orbit of the next.

    It ends in the last of the states. Kept: the present state is `names` of the present representative; at the end the whole run is
    renamed back, and every step is confirmed.
    """
    names = Renaming({})
    taken: list[int] = []
    for before, update, representative in zip(states, updates, states[1:], strict=False):
        taken.append(orbits.names.action(names).updates[update])
        after = judge.successor(system.updates[update], before)
        to_it = orbits.witness(representative).renaming.inverse().after(orbits.witness(after).renaming)
        names = names.after(to_it.inverse())
    back = orbits.names.action(names.inverse())
    found = Path(back.image(states[0]), tuple(back.updates[update] for update in taken))
    state: State | None = found.initial
    for update in found.updates:
        state = None if state is None else judge.committed(system, mode, update, state)
    if state != states[-1]:
        raise AssertionError("a run of the quotient is no run of the system")
    return found


class QuotientSearch(ScalarSearch):
    """`orbits` None: no symmetry; `ample` None: every step. Spoilt where partial order meets an infeasible state; TooMany where
    there are more representatives than `most`."""

    def __init__(
        self,
        system: System,
        watchlist: Watchlist,
        rules: Rules,
        mode: Mode,
        clock: Clock,
        orbits: Orbits | None,
        ample: Ample | None,
        shared: Sequence[Sequence[int]] = (),
        most: int | None = None,
    ) -> None:
        super().__init__(system, watchlist, rules, mode, clock, most)
        self.orbits = orbits
        self.ample = ample
        self.memory: OrbitMemory = OrbitMemory(system, mode, orbits)
        self.weights = array("q")
        self.lengths: list[int] = []
        """Representatives by level; `levels` counts the states they stand for."""
        self.shared = shared
        self._loose = frozenset(place for places in shared for place in places)

    def run(self) -> Exploration:
        stopped: str | None = None
        finality: tuple[FinalityBreak | None, bool] = (None, False)
        try:
            self._search()
            if self.ample is None:
                self.clock.enter("finality")
                finality = self._finality()
        except Stop as stop:
            stopped = stop.reason
        except KeyboardInterrupt:
            stopped = "interrupted"
        if self.orbits is not None:
            share(self.tally, self.orbits.updates(), self.shared, stopped is None)
        engine = "python, " + " and ".join(self._kinds())
        found = self.tally.conclude(self.mode, engine, self.levels, self.memory, stopped, finality, None, self.clock.seconds)
        return replace(found, reduction=self._reduction(found.states))

    def _kinds(self) -> list[str]:
        kinds = ["symmetry"] if self.orbits is not None else []
        return [*kinds, "partial order"] if self.ample is not None else kinds

    def _reduction(self, states: int) -> Reduction:
        group = 1 if self.orbits is None else self.orbits.size
        sets = () if self.orbits is None else self.orbits.said
        cut = 0 if self.ample is None else self.ample.cut
        return Reduction(len(self.memory.states), states, group, sets, self.ample is not None, cut)

    # ---- the search ------------------------------------------------------------------------------------------------
    def _search(self) -> None:
        self._level()
        for state in initial_states(self.system, self.clock):
            known = state if self.orbits is None else self.orbits.canonical(state)
            if known not in self.memory.numbers:
                self._admit(known, -1, -1, None)
        begin = 0
        while begin < len(self.memory.states):
            self.tally.begin_level()
            depth = len(self.lengths) - 1
            if depth == self.rules.max_depth:
                raise Stop(f"max-depth {self.rules.max_depth}")
            end = len(self.memory.states)
            self._level()
            for number in range(begin, end):
                if (number - begin) % 64 == 0:
                    self.clock.check(end, self.tally.steps, end - begin, depth)
                self._expand(number)
            begin = end
        while self.levels and not self.levels[-1]:
            self.levels.pop()
            self.lengths.pop()

    def _level(self) -> None:
        self.levels.append(0)
        self.lengths.append(0)

    def _admit(self, state: State, parent: int, update: int, feasible: bool | None) -> int:
        if self.rules.max_states is not None and len(self.memory.states) >= self.rules.max_states:
            raise Stop(f"max-states {self.rules.max_states}")
        if self.most is not None and len(self.memory.states) >= self.most:
            raise TooMany
        if feasible is None:
            feasible = self._judged and not self._feasibility.cone(-1).failing(state)
        if self.ample is not None and not feasible:
            raise Spoilt
        weight = 1 if self.orbits is None else self.orbits.length(state)
        self.feasible.append(feasible)
        self.weights.append(weight)
        number = self.memory.add(state, parent, update)
        self.levels[-1] += weight
        self.lengths[-1] += 1
        self._observe(number, state)
        return number

    def _observe(self, number: int, state: State) -> None:
        tally, watchlist = self.tally, self.watchlist
        values = self._looked(state)
        weight = self.weights[number]
        checks, seen = len(watchlist.checks), len(watchlist.seen)
        for place in range(checks):
            if not values[place]:
                tally.check(place, weight, number)
        for place in range(seen):
            if values[checks + place] and place not in self._loose:
                tally.sight(place, weight, number)
        for places in self.shared:
            true = sum(bool(values[checks + place]) for place in places)
            if true:
                # Counted for all of them together, and shared out at the end.
                for place in places:
                    tally.sight(place, weight * true, number)
        for place in range(len(watchlist.minimums)):
            num, den = values[checks + seen + 2 * place : checks + seen + 2 * place + 2]
            tally.measure(place, Fraction(num, den), number)
        if tally.due is not None:
            raise Stop(tally.due)

    def _expand(self, number: int) -> None:
        """Judge every occurrence; then take the steps, or as many of them as stand for all."""
        state = self.memory.states[number]
        moves: list[tuple[int, State, bool | None]] = []
        for index, on in zip(self._moving, self._when(state), strict=True):
            if on:
                found = self._judge(index, number, state)
                if found is not None:
                    moves.append((index, *found))
        weight = self.weights[number]
        productive = [move for move in moves if move[1] != state]
        self.tally.stutters += weight * (len(moves) - len(productive))
        taken = moves
        if self.ample is not None and len(productive) > 1:
            few = self.ample.choose(state, tuple(index for index, _, _ in productive))
            if few is not None:
                chosen = [move for move in productive if move[0] in few]
                if any(self.memory.numbers.get(self._canonical(after), number + 1) > number for _, after, _ in chosen):
                    taken = chosen
                    self.ample.cut += len(productive) - len(chosen)
        for index, after, feasible in taken:
            known = number if after == state else self._number(after, number, index, feasible)
            self.tally.steps += weight
            self.step_update.append(index)
            self.step_target.append(known)
        self.start.append(len(self.step_target))
        if not productive:
            unended = not any(self._ends(state))
            self.tally.dead(weight, weight * int(unended), number if unended else None)

    def _canonical(self, state: State) -> State:
        return state if self.orbits is None else self.orbits.canonical(state)

    def _number(self, after: State, number: int, index: int, feasible: bool | None) -> int:
        least = self._canonical(after)
        known = self.memory.numbers.get(least)
        return self._admit(least, number, index, feasible) if known is None else known

    def _judge(self, index: int, number: int, state: State) -> tuple[State, bool | None] | None:
        """The successor if the occurrence commits, and whether it is feasible (None: not known). As `_occurrence`, weighted."""
        tally, weight = self.tally, self.weights[number]
        move = self._moves.get(index)
        if move is None:
            move = self._moves[index] = Move(self.system.updates[index], self._roles[index], self._feasibility)
        part = move.part
        tally.enabled[index] += weight
        required = move.requires is None or bool(move.requires(state)[0])
        tally.committable[index] += weight * required
        if not required and not part.attempts_pass:
            tally.refusals[part.attempt, "requires"] += weight
            return None
        if move.defined is not None and not move.defined(state)[0]:
            if required and not part.fault:
                self._illegal(move, index, number, ("range",))
            else:
                tally.refusals[part.name if required else part.attempt, "range"] += weight
            return None
        after = move.successor(state)
        feasible: bool | None = None
        if part.judged and not (self.feasible[number] and index in self.rules.proved):
            broken = self._broken(move, number, after, self.memory.numbers.get(after))
            later = (*move.failing_after(after, broken), *self._feasibility.labels_of(broken))
            failing = tuple(dict.fromkeys((*move.before.failing(state), *later)))
            feasible = not broken
            if failing:
                if part.fault:
                    tally.refusals[part.name, failing[0]] += weight
                    return None
                self._illegal(move, index, number, failing)
                if not move.environment:
                    return None
                if broken and self.ample is not None:
                    raise Spoilt
        elif part.judged:
            feasible = True
        if part.fault and part.judged:
            tally.passed[part.name] += weight
        tally.committed[index] += weight
        return after, feasible

    def _illegal(self, move: Move, index: int, number: int, labels: tuple[str, ...]) -> None:
        for label in labels:
            self.tally.violation(move.update.schema, label, self.weights[number], number, index)
        if self.tally.due is not None:
            raise Stop(self.tally.due)

    # ---- finality --------------------------------------------------------------------------------------------------
    def _sizes(self) -> Sequence[int]:
        return self.lengths

    def _stepped(self, number: int, place: int) -> State:
        """Outcomes may tell members apart: the step itself, and not its representative."""
        return self._moves[self.step_update[place]].successor(self.memory.states[number])

    def _through(self, number: int, came: dict[int, tuple[int, int]]) -> Path:
        numbers, updates = [], []
        while number in came:
            numbers.append(number)
            number, index = came[number]
            updates.append(index)
        first, rest = self.memory.chain(number)
        return self.memory.real([*first, *reversed(numbers)], [*rest, *reversed(updates)])
