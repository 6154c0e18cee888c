"""The search by blocks of packed states, level by level, in NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from icore_kernel.explore.blocks import Block, Collision, Keys, Rows, Visited, Words, distinct, pack_block
from icore_kernel.explore.checkpoint import Folder, Mark, Snapshot
from icore_kernel.explore.judge import roles
from icore_kernel.explore.judging import Stepper
from icore_kernel.explore.kernel import VectorKernel
from icore_kernel.explore.layout import Layout, lay_out
from icore_kernel.explore.level_store import LevelStore
from icore_kernel.explore.memory import peak, resident
from icore_kernel.explore.model import Exploration, FinalityBreak, Mode, Rules, StepGraph, Watchlist
from icore_kernel.explore.sequel import finality, step_graph
from icore_kernel.explore.tally import Clock, Stop, Tally
from icore_kernel.meaning.vector import evaluate_block
from icore_kernel.system import Field, System


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
        length: int | None = None,
        seed: int = 0,
        folder: Folder | None = None,
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
        self.parts: list[Words] = []
        self.full = False
        self.surge = 0.0
        self.most = peak()
        self.folder = folder
        self.mark: Mark | None = None
        self.tally = Tally(system, watchlist, rules)
        self.visited = Visited()
        self.store = LevelStore(system, mode, self.layout)
        kernel = VectorKernel(system, self.layout, roles(system, mode))
        self.stepper = Stepper(system, self.layout, roles(system, mode), kernel, self.visited, rules.proved, seed)
        self._looked, self._measured = watchlist.looked, watchlist.measured

    def run(self, begun: Snapshot | None = None) -> Exploration:
        """Collision where the seed was unlucky. `begun`: go on from there."""
        stopped: str | None = None
        final: tuple[FinalityBreak | None, bool] = (None, False)
        graph: StepGraph | None = None
        try:
            self._search(begun)
            self.clock.enter("finality")
            final = finality(self.watchlist, self.stepper, self.store, self.length, self.seed, self.clock)
            if self.rules.keep_graph:
                self.clock.enter("graph")
                graph = step_graph(self.stepper, self.store, self.length, self.seed, self.clock)
        except Stop as stop:
            stopped = stop.reason
            self._write()
        except KeyboardInterrupt:
            stopped = "interrupted"
        levels = [len(level) for level in self.store.levels]
        return self.tally.conclude(self.mode, "numpy", levels, self.store, stopped, final, graph, self.clock.seconds)

    def _search(self, begun: Snapshot | None) -> None:
        if begun is None or not begun.levels:
            self._marked(0)
            level, begin = self._initial(), 0
            if len(level):
                self._begin(level)
        else:
            level, begin = self._restore(begun)
        while len(level):
            depth = len(self.store.levels) - 1
            if self.full:
                break
            if not begin:
                self.tally.begin_level()
            if depth == self.rules.max_depth:
                raise Stop(f"max-depth {self.rules.max_depth}")
            level, begin = self._expand(level, begin), 0
            if len(level):
                self._begin(level)
        if self.full:
            raise Stop(f"max-states {self.rules.max_states}")
        self._write()

    def _begin(self, level: Words) -> None:
        """A level is complete: look at its states, and remember that it may be expanded from its first one."""
        self._keep(level)
        self._marked(0)

    def _restore(self, begun: Snapshot) -> tuple[Words, int]:
        """The level that was being expanded, and how many of its states were."""
        self.tally.restore(begun.mark.tally)
        self.store.levels, self.parts = list(begun.levels), [begun.rest] if len(begun.rest) else []
        self.pending = len(begun.rest)
        self.visited.add(*distinct(begun.words, self.seed))
        self.stepper.infeasible.add(*distinct(begun.infeasible, self.seed))
        self.mark = begun.mark
        return self.store.levels[-1], begun.mark.begin

    # ---- checkpoints -----------------------------------------------------------------------------------------------
    def _marked(self, begin: int) -> None:
        """The search could go on from here; and does so later, where it is time to write that down."""
        if self.folder is None or self.full:
            return
        lengths = tuple(len(level) for level in self.store.levels)
        self.mark = Mark(lengths, begin, sum(map(len, self.parts)), self.tally.record())
        if self.folder.due():
            self._write()

    def _write(self) -> None:
        """The newest mark, on disk."""
        if self.folder is None or self.mark is None:
            return
        runs = [run.words for run in self.stepper.infeasible.runs]
        self.folder.write(self.seed, self.mark, [*self.store.levels, *self.parts], runs)

    # ---- levels ----------------------------------------------------------------------------------------------------
    def _keep(self, level: Words) -> None:
        self.store.levels.append(level)
        self.pending, self.parts = 0, []
        self._observe(level)

    def _initial(self) -> Words:
        parts: list[Words] = []
        for words in initial_blocks(self.system, self.layout, self.length):
            self.clock.check()
            parts.append(self._admit(*self.stepper.fresh(words)))
            if self.full:
                break
        level = joined(parts, self.layout)
        self.stepper.note_infeasible(level)
        return level

    def _admit(self, keys: Keys, fresh: Words) -> Words:
        """States not met before, cut where `max_states` is full."""
        most = self.rules.max_states
        if most is not None:
            room = max(0, most - self.store.total - self.pending)
            if len(keys) > room:
                self.full = True
                keys, fresh = keys[:room], fresh[:room]
        self.clock.take(self.visited.coming(len(keys), self.layout.words))
        self.pending += len(keys)
        self.visited.add(keys, fresh)
        return fresh

    def _expand(self, level: Words, begin: int) -> Words:
        """The next level, while the occurrences of this one are judged and counted. Lost when a rule stops the search on the way:
        states are counted only when they are looked at too."""
        base = self.store.total - len(level)
        depth = len(self.store.levels) - 1
        at = begin
        while at < len(level):
            length = min(self._fitting(), len(level) - at)
            coming = int(self.surge * length)
            self.clock.check(self.store.total + self.pending, self.tally.steps, len(level), depth, coming)
            block = Block(self.layout, level[at : at + length])
            keys, fresh, productive = self._step(block, base + at)
            self._dead_ends(block, base + at, productive)
            self.parts.append(self._admit(keys, fresh))
            if self.tally.due is not None:
                raise Stop(self.tally.due)
            if self.full:
                break
            at += length
            self._marked(at)
        self.clock.take(8 * self.pending * self.layout.words)
        return joined(self.parts, self.layout)

    def _fitting(self) -> int:
        """States to a block: fewer where the memory that is left would not do for a block of the usual length."""
        most = self.rules.max_memory
        if most is None or self.surge * self.length < 2**20:
            return self.length
        return min(self.length, max(2**11, int((most - resident()) / self.surge)))

    def _step(self, block: Block, base: int) -> tuple[Keys, Words, np.ndarray]:
        """One block, and how much memory it took on the way for each of its states, where that is limited."""
        if self.rules.max_memory is None:
            return self.stepper.step(block, base, self.tally)
        before = resident()
        found = self.stepper.step(block, base, self.tally)
        most = peak()
        if most > self.most:
            self.most = most
            if len(block) >= 2**10:
                self.surge = max(self.surge, (most - before) / len(block))
        return found

    def _dead_ends(self, block: Block, base: int, productive: np.ndarray) -> None:
        rows: Rows = np.flatnonzero(~productive)
        if not len(rows):
            return
        left = unended(self.watchlist, block.take(rows))
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
                for value, row in extremes(measured[2 * place], measured[2 * place + 1]):
                    self.tally.measure(place, value, base + begin + row)
            if self.tally.due is not None:
                raise Stop(self.tally.due)


def joined(parts: list[Words], layout: Layout) -> Words:
    """The states of several blocks, one block after the other."""
    return np.concatenate(parts) if parts else np.zeros((0, layout.words), dtype=np.uint64)


def unended(watchlist: Watchlist, quiet: Block) -> Rows:
    """Which states, of those without a productive step, satisfy none of `ends`."""
    left = np.ones(len(quiet), dtype=bool)
    for ended in evaluate_block(watchlist.ends, quiet.column, len(quiet)):
        left &= ~ended
    return np.flatnonzero(left)


def extremes(num: np.ndarray, den: np.ndarray) -> Iterator[tuple[Fraction, int]]:
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
    length: int | None = None,
) -> Exploration:
    """The search, begun again under another seed should two states share a key (once in 10**5 searches of 10**7 states).

    CheckpointError where the rules name a folder that does not fit.
    """
    folder = None if rules.checkpoints is None else Folder.of(rules.checkpoints, system, watchlist, rules, mode)
    begun = None if folder is None else folder.begun()
    seed = 0 if begun is None else begun.seed
    while True:
        try:
            return BlockSearch(system, watchlist, rules, mode, clock, length, seed, folder).run(begun)
        except Collision:
            seed, begun = seed + 1, None
            if folder is not None:
                folder.forget()
