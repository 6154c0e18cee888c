"""The search in plain Python, one state at a time: best below a few thousand states, and free of NumPy's start-up."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import chain, repeat
from math import prod

from icore_kernel.explore.judge import Role, roles
from icore_kernel.explore.model import Exploration, FinalityBreak, Mode, Path, Rules, State, StepGraph, Watchlist
from icore_kernel.explore.tally import Clock, Stop, Tally
from icore_kernel.meaning.scalar import compile_terms
from icore_kernel.system import Clause, GroundUpdate, Kind, System
from icore_kernel.terms.node import conjuncts
from icore_kernel.terms.table import Op
from icore_kernel.terms.term import Term

Values = Callable[[State], tuple[int, ...]]


class TooMany(Exception):
    """More states, or candidates for initial states, than this engine was asked to take."""


_CANDIDATES = 16
"""So many candidates for an initial state cost as much as one state."""


class Clauses:
    """Clauses to evaluate together in one state; `failing` gives their labels in order, each once."""

    def __init__(self, clauses: tuple[Clause, ...]) -> None:
        self._labels = [clause.label for clause in clauses if not clause.formula.is_true]
        self._values: Values | None = compile_terms([c.formula for c in clauses if not c.formula.is_true]) if self._labels else None

    def failing(self, state: State) -> tuple[str, ...]:
        if self._values is None:
            return ()
        values = self._values(state)
        if all(values):
            return ()
        return tuple(dict.fromkeys(label for label, value in zip(self._labels, values, strict=True) if not value))


class Conjuncts:
    """The parts of some clauses, each once, evaluated together: the parts that fail in a state."""

    def __init__(self, parts: Sequence[Term]) -> None:
        self.parts = tuple(part for part in parts if not part.is_true)
        self._values: Values | None = compile_terms(self.parts) if self.parts else None

    def failing(self, state: State) -> tuple[Term, ...]:
        if self._values is None:
            return ()
        values = self._values(state)
        return () if all(values) else tuple(part for part, value in zip(self.parts, values, strict=True) if not value)


class Feasibility:
    """The clauses that every state must satisfy, by their parts: legality clauses share most of them, term for term."""

    def __init__(self, clauses: Sequence[Clause]) -> None:
        self.clauses = [(clause.label, frozenset(conjuncts(clause.formula))) for clause in clauses]
        self.parts = dict.fromkeys(part for clause in clauses for part in conjuncts(clause.formula))
        self._cones: dict[int, Conjuncts] = {}

    def cone(self, written: int) -> Conjuncts:
        """The parts that writing these fields can break; all of them for -1."""
        found = self._cones.get(written)
        if found is None:
            found = self._cones[written] = Conjuncts([part for part in self.parts if written < 0 or part.reads & written])
        return found

    def labels_of(self, broken: Sequence[Term]) -> tuple[str, ...]:
        """The labels of the clauses that have one of these parts, in the order of the clauses."""
        return tuple(label for label, parts in self.clauses if not parts.isdisjoint(broken)) if broken else ()


class Move:
    """One ground update, compiled."""

    def __init__(self, update: GroundUpdate, part: Role, feasibility: Feasibility) -> None:
        self.update = update
        self.part = part
        self.environment = update.kind is Kind.ENVIRONMENT
        self.requires = _formula(update.requires)
        self.defined = _formula(update.defined)
        fixed = [write for write in update.writes if write.value.op is Op.CONST]
        moving = [write for write in update.writes if write.value.op is not Op.CONST]
        self.fixed = [(write.field.index, int(write.value.value)) for write in fixed]
        self.places = [write.field.index for write in moving]
        self.values = compile_terms([write.value for write in moving]) if moving else None
        self.before = Clauses(update.before)
        self.after = [(clause.label, frozenset(conjuncts(clause.formula))) for clause in update.after]
        parts = dict.fromkeys(part for _, own in self.after for part in own if part not in feasibility.parts)
        self.own_after = Conjuncts(tuple(parts))
        self.written = update.written

    def successor(self, state: State) -> State:
        after = list(state)
        for place, constant in self.fixed:
            after[place] = constant
        if self.values is not None:
            for place, value in zip(self.places, self.values(state), strict=True):
                after[place] = int(value)
        return tuple(after)

    def failing_after(self, state: State, broken: Sequence[Term]) -> tuple[str, ...]:
        """Labels of `after` that fail in the state after, given the parts of feasibility that fail there."""
        failing = {*broken, *self.own_after.failing(state)}
        return tuple(label for label, parts in self.after if not parts.isdisjoint(failing)) if failing else ()


def _formula(term: Term) -> Values | None:
    """None where it is always true."""
    return None if term.is_true else compile_terms([term])


def initial_states(system: System, clock: Clock) -> Iterator[State]:
    """The initial states in lexical order of the free fields, those of `initially`."""
    holds = compile_terms([system.initially])
    state = list(system.initial)
    for count in range(prod(field.domain.size for field in system.free)):
        if count % 1024 == 0:
            clock.check()
        rest = count
        for field in reversed(system.free):
            rest, code = divmod(rest, field.domain.size)
            state[field.index] = field.domain.lo + code
        if holds(tuple(state))[0]:
            yield tuple(state)


class Memory:
    """States in the order of discovery, each with the state and the update it was first reached by (-1: initial)."""

    def __init__(self) -> None:
        self.states: list[State] = []
        self.numbers: dict[State, int] = {}
        self.parents = array("i")
        self.by = array("i")

    def add(self, state: State, parent: int, update: int) -> int:
        number = len(self.states)
        self.parents.append(parent)
        self.by.append(update)
        self.states.append(state)
        self.numbers[state] = number
        return number

    def state(self, number: int) -> State:
        return self.states[number]

    def path(self, number: int) -> Path:
        updates: list[int] = []
        while self.parents[number] >= 0:
            updates.append(self.by[number])
            number = self.parents[number]
        return Path(self.states[number], tuple(reversed(updates)))


class ScalarSearch:
    """Breadth-first, state by state, update by update; `most` states, then TooMany. `more` is asked there, once, whether it may be more."""

    def __init__(
        self,
        system: System,
        watchlist: Watchlist,
        rules: Rules,
        mode: Mode,
        clock: Clock,
        most: int | None = None,
        more: Callable[[], int] | None = None,
    ) -> None:
        self.system = system
        self.watchlist = watchlist
        self.rules = rules
        self.mode = mode
        self.clock = clock
        self.most = most
        self._more = more
        self.tally = Tally(system, watchlist, rules)
        self.memory = Memory()
        self.levels: list[int] = []
        self.feasible = bytearray()
        self.start = array("q", [0])
        self.step_update = array("i")
        self.step_target = array("i")
        self._roles = roles(system, mode)
        self._judged = any(part.judged for part in self._roles)
        self._moving = [number for number, part in enumerate(self._roles) if part.occurs]
        self._when = compile_terms([system.updates[number].when for number in self._moving])
        self._moves: dict[int, Move] = {}
        self._feasibility = Feasibility(system.feasibility)
        self._looked = compile_terms([*watchlist.looked, *watchlist.measured])
        self._ends = compile_terms(watchlist.ends)

    def run(self) -> Exploration:
        """TooMany when more than `most` states are reachable (within the rules), or could be initial."""
        stopped: str | None = None
        finality: tuple[FinalityBreak | None, bool] = (None, False)
        try:
            self._search()
            self.clock.enter("finality")
            finality = self._finality()
        except Stop as stop:
            stopped = stop.reason
        except KeyboardInterrupt:
            stopped = "interrupted"
        graph = StepGraph(self.start, self.step_update, self.step_target) if self.rules.keep_graph and stopped is None else None
        return self.tally.conclude(self.mode, "python", self.levels, self.memory, stopped, finality, graph, self.clock.seconds)

    def _search(self) -> None:
        if self.most is not None and prod(field.domain.size for field in self.system.free) > _CANDIDATES * self.most:
            raise TooMany
        self.levels.append(0)
        for state in initial_states(self.system, self.clock):
            if state not in self.memory.numbers:
                self._admit(state, -1, -1, None)
        if not self.levels[0]:
            self.levels.clear()
            return
        begin = 0
        while begin < len(self.memory.states):
            self.tally.begin_level()
            depth = len(self.levels) - 1
            if depth == self.rules.max_depth:
                raise Stop(f"max-depth {self.rules.max_depth}")
            end = len(self.memory.states)
            self.levels.append(0)
            for number in range(begin, end):
                if (number - begin) % 64 == 0:
                    self.clock.check(end, self.tally.steps, end - begin, depth)
                self._expand(number)
            if not self.levels[-1]:
                self.levels.pop()
            begin = end

    def _admit(self, state: State, parent: int, update: int, feasible: bool | None) -> int:
        """A state not met before. `feasible` is None where it is not known."""
        if self.rules.max_states is not None and len(self.memory.states) >= self.rules.max_states:
            if not self.levels[-1]:
                self.levels.pop()
            raise Stop(f"max-states {self.rules.max_states}")
        if self.most is not None and len(self.memory.states) >= self.most:
            if self._more is not None:
                self.most, self._more = self._more(), None
            if len(self.memory.states) >= self.most:
                raise TooMany
        if feasible is None:
            feasible = self._judged and not self._feasibility.cone(-1).failing(state)
        self.feasible.append(feasible)
        number = self.memory.add(state, parent, update)
        self.levels[-1] += 1
        self._observe(number, state)
        return number

    def _observe(self, number: int, state: State) -> None:
        tally, watchlist = self.tally, self.watchlist
        values = self._looked(state)
        checks, seen = len(watchlist.checks), len(watchlist.seen)
        for place in range(checks):
            if not values[place]:
                tally.check(place, 1, number)
        for place in range(seen):
            if values[checks + place]:
                tally.sight(place, 1, number)
        for place in range(len(watchlist.minimums)):
            num, den = values[checks + seen + 2 * place : checks + seen + 2 * place + 2]
            tally.measure(place, Fraction(num, den), number)
        if tally.due is not None:
            raise Stop(tally.due)

    def _expand(self, number: int) -> None:
        state = self.memory.states[number]
        productive = False
        for index, on in zip(self._moving, self._when(state), strict=True):
            if on and self._occurrence(index, number, state) not in (None, number):
                productive = True
        self.start.append(len(self.step_target))
        if not productive:
            unended = not any(self._ends(state))
            self.tally.dead(1, int(unended), number if unended else None)

    def _occurrence(self, index: int, number: int, state: State) -> int | None:
        """The number of the successor if it commits."""
        tally = self.tally
        move = self._moves.get(index)
        if move is None:
            move = self._moves[index] = Move(self.system.updates[index], self._roles[index], self._feasibility)
        part = move.part
        tally.enabled[index] += 1
        required = move.requires is None or bool(move.requires(state)[0])
        tally.committable[index] += required
        if not required and not part.attempts_pass:
            tally.refusals[part.attempt, "requires"] += 1
            return None
        if move.defined is not None and not move.defined(state)[0]:
            if required and not part.fault:
                self._violates(move, index, number, ("range",))
            else:
                tally.refusals[part.name if required else part.attempt, "range"] += 1
            return None
        after = move.successor(state)
        known = self.memory.numbers.get(after)
        feasible: bool | None = None
        if part.judged and not (self.feasible[number] and index in self.rules.proved):
            broken = self._broken(move, number, after, known)
            later = (*move.failing_after(after, broken), *self._feasibility.labels_of(broken))
            failing = tuple(dict.fromkeys((*move.before.failing(state), *later)))
            feasible = not broken
            if failing:
                if part.fault:
                    tally.refusals[part.name, failing[0]] += 1
                    return None
                self._violates(move, index, number, failing)
                if not move.environment:
                    return None
        elif part.judged:
            feasible = True
        if part.fault and part.judged:
            tally.passed[part.name] += 1
        if known is None:
            known = self._admit(after, number, index, feasible)
        tally.committed[index] += 1
        tally.steps += 1
        tally.stutters += known == number
        self.step_update.append(index)
        self.step_target.append(known)
        return known

    def _violates(self, move: Move, index: int, number: int, labels: tuple[str, ...]) -> None:
        for label in labels:
            self.tally.violation(move.update.schema, label, 1, number, index)
        if self.tally.due is not None:
            raise Stop(self.tally.due)

    def _broken(self, move: Move, number: int, after: State, known: int | None) -> tuple[Term, ...]:
        """The parts of feasibility that fail after the step; from a feasible state only a write can break one."""
        if known is not None and self.feasible[known]:
            return ()
        return self._feasibility.cone(move.written if self.feasible[number] else -1).failing(after)

    def _finality(self) -> tuple[FinalityBreak | None, bool]:
        """Breadth-first over the states at or after a final one; distances count from the initial states."""
        final = compile_terms(self.watchlist.final)
        outcomes = compile_terms([clause.formula for clause in self.watchlist.outcomes])
        states = self.memory.states
        marked = bytearray(len(states))
        came: dict[int, tuple[int, int]] = {}
        frontier: list[int] = []
        begin, found = 0, False
        for size in chain(self._sizes(), repeat(0)):
            self.clock.check(len(states), self.tally.steps, len(frontier))
            arrived, frontier = frontier, []
            for number in (*arrived, *range(begin, begin + size)):
                if not marked[number] and (number in came or any(final(states[number]))):
                    marked[number] = True
                    frontier.append(number)
            begin += size
            if not frontier and begin >= len(states):
                break
            found = found or bool(frontier)
            waiting: list[int] = []
            for number in frontier:
                before = outcomes(states[number])
                for place in range(self.start[number], self.start[number + 1]):
                    target, index = self.step_target[place], self.step_update[place]
                    after = outcomes(self._stepped(number, place))
                    if after != before:
                        changed = tuple(c for c, a, b in zip(self.watchlist.outcomes, before, after, strict=True) if a != b)
                        return FinalityBreak(self._through(number, came), index, changed), True
                    if not marked[target] and target not in came:
                        came[target] = (number, index)
                        waiting.append(target)
            frontier = waiting
        return None, found

    def _sizes(self) -> Sequence[int]:
        """How many states were found at each depth."""
        return self.levels

    def _stepped(self, number: int, place: int) -> State:
        """Where a state's step leads, as the system has it."""
        return self.memory.states[self.step_target[place]]

    def _through(self, number: int, came: dict[int, tuple[int, int]]) -> Path:
        updates: list[int] = []
        while number in came:
            number, index = came[number]
            updates.append(index)
        first, rest = self.memory.path(number)
        return Path(first, (*rest, *reversed(updates)))
