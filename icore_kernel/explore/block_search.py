"""The search by blocks of packed states, level by level. The successors come from a `SuccessorKernel`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np

from icore_kernel.explore.blocks import Block, Collision, Keys, Rows, Visited, Words, pack_block
from icore_kernel.explore.judge import roles
from icore_kernel.explore.judging import Stepper
from icore_kernel.explore.kernel import SuccessorKernel, VectorKernel
from icore_kernel.explore.layout import Layout, lay_out
from icore_kernel.explore.level_store import LevelStore
from icore_kernel.explore.model import Exploration, FinalityBreak, Mode, Rules, StepGraph, Watchlist
from icore_kernel.explore.sequel import finality, step_graph
from icore_kernel.explore.tally import Clock, Stop, Tally
from icore_kernel.meaning.vector import evaluate_block
from icore_kernel.system import Field, System

KernelMaker = Callable[[System, Layout, Mode], SuccessorKernel]


def vector_kernel(system: System, layout: Layout, mode: Mode) -> SuccessorKernel:
    return VectorKernel(system, layout, roles(system, mode))


def block_length(updates: int) -> int:
    """States a block: so many that the masks and candidates of a block stay in tens of megabytes."""
    return max(2**11, min(2**17, 2**23 // max(1, updates)))


class BlockSearch:
    """Breadth-first. States are numbered level by level; a level stands in the order in which its blocks found it."""

    def __init__(
        self,
        system: System,
        watchlist: Watchlist,
        rules: Rules,
        mode: Mode,
        clock: Clock,
        make_kernel: KernelMaker = vector_kernel,
        length: int | None = None,
        seed: int = 0,
    ) -> None:
        self.system = system
        self.watchlist = watchlist
        self.rules = rules
        self.mode = mode
        self.clock = clock
        self.seed = seed
        self.layout = lay_out(system.fields)
        self.length = length or block_length(len(system.updates))
        self.pending = 0
        self.full = False
        self.tally = Tally(system, watchlist, rules)
        self.visited = Visited()
        self.store = LevelStore(system, mode, self.layout)
        self.kernel = make_kernel(system, self.layout, mode)
        self.stepper = Stepper(system, self.layout, roles(system, mode), self.kernel, self.visited, rules.proved, seed)
        self._looked = [term for _, term in (*watchlist.checks, *watchlist.seen)]
        self._measured = [term for measure in watchlist.minimums for term in (measure.ratio.num, measure.ratio.den)]

    def run(self) -> Exploration:
        """Collision where the seed was unlucky."""
        stopped: str | None = None
        final: tuple[FinalityBreak | None, bool] = (None, False)
        graph: StepGraph | None = None
        try:
            self._search()
            final = finality(self.watchlist, self.stepper, self.store, self.length, self.seed, self.clock)
            if self.rules.keep_graph:
                graph = step_graph(self.stepper, self.store, self.length, self.seed, self.clock)
        except Stop as stop:
            stopped = stop.reason
        except KeyboardInterrupt:
            stopped = "interrupted"
        levels = [len(level) for level in self.store.levels]
        return self.tally.conclude(self.mode, "numpy", levels, self.store, stopped, final, graph, self.clock.seconds)

    def _search(self) -> None:
        level = self._initial()
        while len(level):
            depth = len(self.store.levels)
            self._keep(level)
            if self.full:
                break
            if depth == self.rules.max_depth:
                raise Stop(f"max-depth {self.rules.max_depth}")
            level = self._expand(level)
        if self.full:
            raise Stop(f"max-states {self.rules.max_states}")

    def _keep(self, level: Words) -> None:
        self.store.levels.append(level)
        self.pending = 0
        self._observe(level)

    def _initial(self) -> Words:
        parts: list[Words] = []
        for words in initial_blocks(self.system, self.layout, self.length):
            self.clock.check()
            parts.append(self._admit(*self.stepper.fresh(words)))
            if self.full:
                break
        level = _joined(parts, self.layout)
        self.stepper.note_infeasible(level)
        return level

    def _admit(self, keys: Keys, fresh: Words) -> Words:
        """States not met before, cut where `max_states` is full."""
        most = self.rules.max_states
        if most is not None:
            room = most - self.store.total - self.pending
            if len(keys) > room:
                self.full = True
                keys, fresh = keys[:room], fresh[:room]
        self.pending += len(keys)
        self.visited.add(keys, fresh)
        return fresh

    def _expand(self, level: Words) -> Words:
        """The next level, while the occurrences of this one are judged and counted. Lost when a rule stops the search on the way:
        states are counted only when they are looked at too."""
        base = self.store.total - len(level)
        parts: list[Words] = []
        for begin in range(0, len(level), self.length):
            self.clock.check(self.store.total + self.pending, self.tally.steps, len(level), len(self.store.levels) - 1)
            block = Block(self.layout, level[begin : begin + self.length])
            keys, fresh, productive = self.stepper.step(block, base + begin, self.tally)
            self._dead_ends(block, base + begin, productive)
            parts.append(self._admit(keys, fresh))
            if self.tally.due is not None:
                raise Stop(self.tally.due)
            if self.full:
                break
        return _joined(parts, self.layout)

    def _dead_ends(self, block: Block, base: int, productive: np.ndarray) -> None:
        rows: Rows = np.flatnonzero(~productive)
        if not len(rows):
            return
        quiet = block.take(rows)
        unended = np.ones(len(rows), dtype=bool)
        for ended in evaluate_block(self.watchlist.ends, quiet.column, len(rows)):
            unended &= ~ended
        left = np.flatnonzero(unended)
        self.tally.dead(len(rows), len(left), base + int(rows[left[0]]) if len(left) else None)

    def _observe(self, level: Words) -> None:
        """Checks, sightings and measures over the states of the newest level."""
        base = self.store.total - len(level)
        checks = len(self.watchlist.checks)
        if not self._looked and not self._measured:
            return
        length = block_length((len(self._looked) + 8 * len(self._measured)) // 2)
        for begin in range(0, len(level), length):
            self.clock.check(self.store.total, self.tally.steps, len(level), len(self.store.levels) - 1)
            block = Block(self.layout, level[begin : begin + length])
            values = evaluate_block([*self._looked, *self._measured], block.column, len(block))
            for place, holds in enumerate(values[: len(self._looked)]):
                found = holds if place >= checks else ~holds
                count = int(np.count_nonzero(found))
                if count:
                    first = base + begin + int(np.argmax(found))
                    if place >= checks:
                        self.tally.sight(place - checks, count, first)
                    else:
                        self.tally.check(place, count, first)
            measured = values[len(self._looked) :]
            for place in range(len(self.watchlist.minimums)):
                for value, row in _extremes(measured[2 * place], measured[2 * place + 1]):
                    self.tally.measure(place, value, base + begin + row)
            if self.tally.due is not None:
                raise Stop(self.tally.due)


def _joined(parts: list[Words], layout: Layout) -> Words:
    return np.concatenate(parts) if parts else np.zeros((0, layout.words), dtype=np.uint64)


def _extremes(num: np.ndarray, den: np.ndarray) -> Iterator[tuple[Fraction, int]]:
    """The least and greatest num/den for each den that occurs, each with its first row. ZeroDivisionError unless den > 0."""
    for divisor in np.unique(den).tolist():
        if divisor <= 0:
            raise ZeroDivisionError(f"a measure with the divisor {divisor}")
        rows = np.flatnonzero(den == divisor)
        for row in sorted({int(rows[np.argmin(num[rows])]), int(rows[np.argmax(num[rows])])}):
            yield Fraction(int(num[row]), divisor), row


def initial_blocks(system: System, layout: Layout, length: int) -> Iterator[Words]:
    """The initial states in lexical order of the free fields, those of `initially`, in blocks of up to `length` candidates."""
    free: tuple[Field, ...] = system.free
    total = 1
    for field in free:
        total *= field.domain.size
    for begin in range(0, total, length):
        count = min(length, total - begin)
        columns = [np.full(count, value, dtype=np.int64) for value in system.initial]
        digits = np.array([begin + step for step in range(count)], dtype=object) if total >= 2**62 else np.arange(begin, begin + count)
        for field in reversed(free):
            columns[field.index] = (digits % field.domain.size).astype(np.int64) + field.domain.lo
            digits = digits // field.domain.size
        words = pack_block(layout, columns, count)
        (holds,) = evaluate_block([system.initially], Block(layout, words).column, count)
        yield words[holds]


def explore_blocks(
    system: System,
    watchlist: Watchlist,
    rules: Rules,
    mode: Mode,
    clock: Clock,
    make_kernel: KernelMaker = vector_kernel,
    length: int | None = None,
) -> Exploration:
    """The search, begun again under another seed should two states share a key (once in 10**5 searches of 10**7 states)."""
    seed = 0
    while True:
        try:
            return BlockSearch(system, watchlist, rules, mode, clock, make_kernel, length, seed).run()
        except Collision:
            seed += 1
