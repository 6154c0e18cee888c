"""What is asked of a complete block search afterwards: finality, and the step graph. Both take the steps once more."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from icore_kernel.explore.blocks import Block, Run, Visited, Words, distinct, keys_of
from icore_kernel.explore.judging import Stepper, Steps
from icore_kernel.explore.level_store import LevelStore
from icore_kernel.explore.model import FinalityBreak, Path, StepGraph, Watchlist
from icore_kernel.explore.tally import Clock
from icore_kernel.meaning.vector import evaluate_block
from icore_kernel.system import Clause


def finality(
    watchlist: Watchlist, stepper: Stepper, store: LevelStore, length: int, seed: int, clock: Clock
) -> tuple[FinalityBreak | None, bool]:
    """The shortest run that passes a final state and then changes an outcome; and whether a final state exists.

    Breadth-first over the states at or after a final one: `settled[t]` are those first so met in a run of t steps.
    """
    met = Visited()
    settled: list[Words] = []
    arrived: list[Words] = []
    found = False
    while arrived or len(settled) < len(store.levels):
        depth = len(settled)
        level = store.levels[depth] if depth < len(store.levels) else None
        own = [] if level is None else _final(watchlist, stepper, level, length)
        keys, frontier = _new(met, stepper, [*arrived, *own], seed)
        met.add(keys, frontier)
        settled.append(frontier)
        found = found or len(frontier) > 0
        arrived = []
        for begin in range(0, len(frontier), length):
            clock.check(store.total, 0, len(frontier), depth)
            block = Block(stepper.layout, frontier[begin : begin + length])
            steps = stepper.steps(block)
            change = _first_change(watchlist.outcomes, stepper, block, steps)
            if change is not None:
                row, update, changed = change
                path = _through(watchlist, stepper, store, settled, frontier[begin + row], length)
                return FinalityBreak(path, update, changed), True
            arrived.extend(taken.successors for taken in steps)
            _, fresh = _new(met, stepper, arrived, seed)
            arrived = [fresh] if len(fresh) else []
    return None, found


def _new(met: Visited, stepper: Stepper, parts: list[Words], seed: int) -> tuple[np.ndarray, Words]:
    words = np.concatenate(parts) if parts else np.zeros((0, stepper.layout.words), dtype=np.uint64)
    return met.absent(*distinct(words, seed))


def _final(watchlist: Watchlist, stepper: Stepper, level: Words, length: int) -> list[Words]:
    """The final states of a level."""
    found: list[Words] = []
    for begin in range(0, len(level), length):
        block = Block(stepper.layout, level[begin : begin + length])
        values = evaluate_block(watchlist.final, block.column, len(block))
        if values:
            found.append(block.words[np.logical_or.reduce(values)])
    return found


def _first_change(
    outcomes: Sequence[Clause], stepper: Stepper, block: Block, steps: list[Steps]
) -> tuple[int, int, tuple[Clause, ...]] | None:
    """The least (row, update) whose step changes the truth of an outcome, and the outcomes that it changes."""
    best: tuple[int, int, tuple[Clause, ...]] | None = None
    for taken in steps:
        written = stepper.system.updates[taken.update].written
        asked = [clause for clause in outcomes if clause.formula.reads & written]
        if not asked:
            continue
        formulas = [clause.formula for clause in asked]
        after = evaluate_block(formulas, Block(stepper.layout, taken.successors).column, len(taken.rows))
        before = evaluate_block(formulas, block.take(taken.rows).column, len(taken.rows))
        differs = np.stack([a != b for a, b in zip(after, before, strict=True)], axis=1)
        changing = np.flatnonzero(differs.any(axis=1))
        if len(changing) and (best is None or int(taken.rows[changing[0]]) < best[0]):
            place = changing[0]
            changed = tuple(clause for clause, differ in zip(asked, differs[place].tolist(), strict=True) if differ)
            best = (int(taken.rows[place]), taken.update, changed)
    return best


def _through(
    watchlist: Watchlist, stepper: Stepper, store: LevelStore, settled: list[Words], target: Words, length: int
) -> Path:
    """The run to a state of the newest settled level: to a final state by the levels, onward by the settled ones."""
    updates: list[int] = []
    for depth in range(len(settled) - 1, -1, -1):
        if depth < len(store.levels):
            alike = np.all(store.levels[depth] == target, axis=1)
            if alike.any() and any(len(part) for part in _final(watchlist, stepper, target[np.newaxis], length)):
                first, rest = store.path_to(depth, target)
                return Path(first, (*rest, *reversed(updates)))
        row, update = store.predecessor(settled[depth - 1], target)
        updates.append(update)
        target = settled[depth - 1][row]
    raise AssertionError("a settled state comes from a final one")


def step_graph(stepper: Stepper, store: LevelStore, length: int, seed: int, clock: Clock) -> StepGraph:
    """The steps of every state in the order of state numbers, then updates; targets by state number."""
    words = np.concatenate(store.levels) if store.levels else np.zeros((0, stepper.layout.words), dtype=np.uint64)
    keys = keys_of(words, seed)
    order = np.argsort(keys)
    run = Run(keys[order], words[order])
    counts: list[np.ndarray] = [np.zeros(1, dtype=np.int64)]
    updates: list[np.ndarray] = [np.zeros(0, dtype=np.int32)]
    targets: list[np.ndarray] = [np.zeros(0, dtype=np.int32)]
    numbers = np.int32 if len(words) < 2**31 else np.int64
    for begin in range(0, len(words), length):
        clock.check(len(words), 0, len(words) - begin, len(store.levels) - 1)
        block = Block(stepper.layout, words[begin : begin + length])
        steps = stepper.steps(block)
        rows = np.concatenate([np.zeros(0, dtype=np.intp), *(taken.rows for taken in steps)])
        by_row = np.argsort(rows, kind="stable")
        counts.append(np.bincount(rows, minlength=len(block)))
        labels = [np.full(len(taken.rows), taken.update, dtype=np.int32) for taken in steps]
        updates.append(np.concatenate([updates[0], *labels])[by_row])
        found = [order[run.find(keys_of(taken.successors, seed), taken.successors)[1]].astype(numbers) for taken in steps]
        targets.append(np.concatenate([targets[0], *found])[by_row])
    return StepGraph(np.cumsum(np.concatenate(counts)), np.concatenate(updates), np.concatenate(targets))
