"""The search by blocks over one state of each orbit: level by level, each level's states in the order of their orbits' lengths.

States of one length are counted together: what a block of them tells is told for that many times as many states.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from icore_kernel.explore import judge
from icore_kernel.explore.block_search import block_length, extremes, initial_blocks, joined, unended
from icore_kernel.explore.blocks import Block, Collision, Rows, Visited, Words, differ, distinct
from icore_kernel.explore.judge import roles
from icore_kernel.explore.judging import Stepper
from icore_kernel.explore.kernel import VectorKernel
from icore_kernel.explore.layout import Layout, lay_out
from icore_kernel.explore.level_store import LevelStore
from icore_kernel.explore.model import Exploration, FinalityBreak, Mode, Path, Rules, State, Watchlist
from icore_kernel.explore.orbit_blocks import Group, OrbitBlocks
from icore_kernel.explore.tally import Clock, Stop, Tally, add, share
from icore_kernel.meaning.scalar import evaluate
from icore_kernel.meaning.vector import evaluate_block
from icore_kernel.system import System

Real = Callable[[Sequence[State], Sequence[int]], Path]
"""From a run of the quotient (representatives, and updates that lead from each into the orbit of the next) the run of the system that
ends in the last of them."""


class OrbitStore(LevelStore):
    """Representatives by level. A run is found backwards: which step of the level before leads into the orbit."""

    def __init__(self, search: OrbitSearch, real: Real) -> None:
        super().__init__(search.system, search.mode, search.layout)
        self._search = search
        self._real = real

    def path_to(self, depth: int, target: Words) -> Path:
        return self.real(*self.back(self.levels[:depth], target))

    def real(self, states: Sequence[Words], updates: Sequence[int]) -> Path:
        return self._real([self._layout.unpack(words.tolist()) for words in states], updates)

    def back(self, levels: Sequence[Words], target: Words) -> tuple[list[Words], list[int]]:
        """A run of the quotient from the first of these levels to the target."""
        updates: list[int] = []
        states = [target]
        for before in reversed(levels):
            row, update = self.predecessor(before, target)
            updates.append(update)
            target = before[row]
            states.append(target)
        return states[::-1], updates[::-1]

    def predecessor(self, states: Words, target: Words) -> tuple[int, int]:
        search = self._search
        for begin in range(0, len(states), search.length):
            block = Block(self._layout, states[begin : begin + search.length])
            for taken in search.stepper.steps(block):
                alike = np.flatnonzero(np.all(search.orbits.canonical(taken.successors) == target, axis=1))
                if len(alike):
                    return begin + int(taken.rows[alike[0]]), taken.update
        raise judge.LostStep(f"nothing leads to {self._layout.unpack(target.tolist())}")


class OrbitSearch:
    """TooWide, or ValueError for a field that is too wide. Collision where the seed was unlucky."""

    def __init__(
        self,
        system: System,
        watchlist: Watchlist,
        rules: Rules,
        mode: Mode,
        clock: Clock,
        group: Group,
        real: Real,
        shared: Sequence[Sequence[int]] = (),
        seed: int = 0,
    ) -> None:
        self.system, self.watchlist, self.rules, self.mode, self.clock = system, watchlist, rules, mode, clock
        self.shared = shared
        self.loose = {place for places in shared for place in places}
        self.seed = seed
        self.layout: Layout = lay_out(system.fields)
        self.length = block_length(len(system.updates))
        self.orbits = OrbitBlocks(self.layout, group)
        self.visited = Visited()
        kernel = VectorKernel(system, self.layout, roles(system, mode))
        self.stepper = Stepper(system, self.layout, roles(system, mode), kernel, self.visited, rules.proved, seed)
        self.store = OrbitStore(self, real)
        self.tally = Tally(system, watchlist, rules)
        self.levels: list[int] = []
        """States by level; the store has representatives."""
        self.weights: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.full = False
        self.pending = 0
        self.looked, self.measured = watchlist.looked, watchlist.measured

    def run(self, updates: Sequence[Sequence[int]]) -> Exploration:
        """`updates`: those of the system by orbit."""
        stopped: str | None = None
        final: tuple[FinalityBreak | None, bool] = (None, False)
        try:
            self._search()
            self.clock.enter("finality")
            final = self._finality()
        except Stop as stop:
            stopped = stop.reason
        except KeyboardInterrupt:
            stopped = "interrupted"
        share(self.tally, updates, self.shared, stopped is None)
        return self.tally.conclude(
            self.mode, "numpy, symmetry", self.levels, self.store, stopped, final, None, self.clock.seconds
        )  # fmt: skip

    # ---- levels ----------------------------------------------------------------------------------------------------
    def _search(self) -> None:
        parts = []
        for words in initial_blocks(self.system, self.layout, self.length):
            self.clock.check()
            parts.append(self._admit(words))
        level = joined(parts, self.layout)
        while len(level):
            level = self._begin(level)
            if self.full:
                break
            self.tally.begin_level()
            if len(self.levels) - 1 == self.rules.max_depth:
                raise Stop(f"max-depth {self.rules.max_depth}")
            level = self._expand(level)
        if self.full:
            raise Stop(f"max-states {self.rules.max_states}")

    def _admit(self, words: Words) -> Words:
        """The representatives not met before."""
        keys, fresh = self.stepper.fresh(self.orbits.canonical(words))
        most = self.rules.max_states
        if most is not None and len(keys) > most - self.store.total - self.pending:
            self.full = True
            room = most - self.store.total - self.pending
            keys, fresh = keys[:room], fresh[:room]
        self.clock.take(self.visited.coming(len(keys), self.layout.words))
        self.pending += len(keys)
        self.visited.add(keys, fresh)
        if self.stepper.infeasible.runs or not self.levels:
            # Their images were judged; the representatives themselves are remembered as well.
            _, unknown = self.stepper.infeasible.absent(keys, fresh)
            self.stepper.note_infeasible(unknown)
        return fresh

    def _begin(self, level: Words) -> Words:
        """The level in the order of lengths, kept and looked at."""
        weights = self.orbits.lengths(level)
        order = np.argsort(weights, kind="stable")
        level, self.weights = np.take(level, order, axis=0), weights[order]
        self.store.levels.append(level)
        self.levels.append(int(self.weights.sum()))
        self.pending = 0
        if self.looked or self.measured:
            base = self.store.total - len(level)
            for begin, end, weight in self._pieces(block_length((len(self.looked) + 8 * len(self.measured)) // 2)):
                self.clock.check(self.store.total, self.tally.steps, len(level), len(self.levels) - 1)
                self._observe(Block(self.layout, level[begin:end]), base + begin, weight)
                if self.tally.due is not None:
                    raise Stop(self.tally.due)
        return level

    def _pieces(self, length: int) -> list[tuple[int, int, int]]:
        """Of the newest level: begin, end and orbit length of blocks of states of one orbit length."""
        values, begins = np.unique(self.weights, return_index=True)
        ends = [*begins.tolist()[1:], len(self.weights)]
        return [
            (at, min(at + length, end), weight)
            for weight, begin, end in zip(values.tolist(), begins.tolist(), ends, strict=True)
            for at in range(begin, end, length)
        ]

    def _observe(self, block: Block, base: int, weight: int) -> None:
        values = evaluate_block([*self.looked, *self.measured], block.column, len(block))
        checks = len(self.watchlist.checks)
        for place, holds in enumerate(values[: len(self.looked)]):
            found = holds if place >= checks else ~holds
            count = int(np.count_nonzero(found))
            if not count:
                continue
            first = base + int(np.argmax(found))
            if place < checks:
                self.tally.check(place, weight * count, first)
            elif place - checks not in self.loose:
                self.tally.sight(place - checks, weight * count, first)
            else:
                for same in next(places for places in self.shared if place - checks in places):
                    self.tally.sight(same, weight * count, first)
        measured = values[len(self.looked) :]
        for place in range(len(self.watchlist.minimums)):
            for value, row in extremes(measured[2 * place], measured[2 * place + 1]):
                self.tally.measure(place, value, base + row)

    def _expand(self, level: Words) -> Words:
        base = self.store.total - len(level)
        parts: list[Words] = []
        for begin, end, weight in self._pieces(self.length):
            self.clock.check(self.store.total + self.pending, self.tally.steps, len(level), len(self.levels) - 1)
            told = Tally(self.system, self.watchlist, self.rules)
            block = Block(self.layout, level[begin:end])
            _, fresh, productive = self.stepper.step(block, base + begin, told)
            rows: Rows = np.flatnonzero(~productive)
            if len(rows):
                left = unended(self.watchlist, block.take(rows))
                told.dead(len(rows), len(left), base + begin + int(rows[left[0]]) if len(left) else None)
            add(self.tally, told, weight)
            parts.append(self._admit(fresh))
            if self.tally.due is not None:
                raise Stop(self.tally.due)
            if self.full:
                break
        return joined(parts, self.layout)

    # ---- finality --------------------------------------------------------------------------------------------------
    def _finality(self) -> tuple[FinalityBreak | None, bool]:
        """As sequel.finality, over representatives; whether an outcome changes is asked of the real steps."""
        met = Visited()
        settled: list[Words] = []
        arrived = np.zeros((0, self.layout.words), dtype=np.uint64)
        found = False
        while len(arrived) or len(settled) < len(self.store.levels):
            depth = len(settled)
            own = self._final(self.store.levels[depth]) if depth < len(self.store.levels) else arrived[:0]
            keys, frontier = met.absent(*distinct(np.concatenate((arrived, own)), self.seed))
            met.add(keys, frontier)
            settled.append(frontier)
            found = found or len(frontier) > 0
            parts: list[Words] = []
            for begin in range(0, len(frontier), self.length):
                self.clock.check(self.store.total, 0, len(frontier), depth)
                block = Block(self.layout, frontier[begin : begin + self.length])
                for taken in self.stepper.steps(block):
                    change = self._change(block, taken.rows, taken.successors)
                    if change is not None:
                        state = self.layout.unpack(block.words[change].tolist())
                        return self._break(settled, frontier[begin + change], taken.update, state), True
                    moved = differ(taken.successors, np.take(block.words, taken.rows, axis=0))
                    parts.append(self.orbits.canonical(np.compress(moved, taken.successors, axis=0)))
            _, arrived = met.absent(*distinct(joined(parts, self.layout), self.seed))
        return None, found

    def _final(self, level: Words) -> Words:
        values = evaluate_block(self.watchlist.final, Block(self.layout, level).column, len(level))
        return level[np.logical_or.reduce(values)] if values else level[:0]

    def _change(self, block: Block, rows: Rows, successors: Words) -> int | None:
        """The first row whose step changes an outcome."""
        formulas = [clause.formula for clause in self.watchlist.outcomes]
        if not formulas or not len(rows):
            return None
        after = evaluate_block(formulas, Block(self.layout, successors).column, len(rows))
        before = evaluate_block(formulas, block.take(rows).column, len(rows))
        differs = np.flatnonzero(np.logical_or.reduce([a != b for a, b in zip(after, before, strict=True)]))
        return int(rows[differs[0]]) if len(differs) else None

    def _break(self, settled: list[Words], target: Words, update: int, state: State) -> FinalityBreak:
        after = judge.successor(self.system.updates[update], state)
        changed = tuple(c for c in self.watchlist.outcomes if evaluate(c.formula, state) != evaluate(c.formula, after))
        states: list[Words] = []
        updates: list[int] = []
        for depth in range(len(settled) - 1, -1, -1):
            here = self.store.levels[depth] if depth < len(self.store.levels) else target[np.newaxis][:0]
            if np.all(here == target, axis=1).any() and len(self._final(target[np.newaxis])):
                first, rest = self.store.back(self.store.levels[:depth], target)
                return FinalityBreak(self.store.real([*first, *reversed(states)], [*rest, *reversed(updates)]), update, changed)
            states.append(target)
            row, came = self.store.predecessor(settled[depth - 1], target)
            updates.append(came)
            target = settled[depth - 1][row]
        raise AssertionError("a settled state comes from a final one")


def search_orbits(
    system: System,
    watchlist: Watchlist,
    rules: Rules,
    mode: Mode,
    clock: Clock,
    group: Group,
    real: Real,
    updates: Sequence[Sequence[int]],
    shared: Sequence[Sequence[int]] = (),
) -> tuple[Exploration, int]:
    """The exploration, and how many representatives it kept. TooWide; ValueError for a field too wide for a block search."""
    seed = 0
    while True:
        try:
            search = OrbitSearch(system, watchlist, rules, mode, clock, group, real, shared, seed)
            found = search.run(updates)
            return found, search.store.total
        except Collision:
            seed += 1
