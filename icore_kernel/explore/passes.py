"""What is asked of an explored step graph in NumPy rows: where runs end, which formulas hold, what is reached outside a goal."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from icore_kernel.explore import step_rows
from icore_kernel.explore.components import Components, components_of
from icore_kernel.explore.model import Exploration, IntegerRow
from icore_kernel.explore.step_rows import Rows, distinct, gather, rows_of_kernel
from icore_kernel.terms.node import Term


def quiet(start: IntegerRow) -> list[int]:
    """The states without a step."""
    found: list[int] = np.flatnonzero(np.diff(np.asarray(start)) == 0).tolist()
    return found


def ends(start: IntegerRow, goals: Sequence[bytearray]) -> tuple[int, ...]:
    """How many states without a step are in the first goal, in the second and not the first …, and in none."""
    begins = np.asarray(start)
    left = begins[1:] == begins[:-1]
    counts: list[int] = []
    for goal in goals:
        met = left & (np.frombuffer(goal, dtype=np.uint8) != 0)
        counts.append(int(np.count_nonzero(met)))
        left &= ~met
    return (*counts, int(np.count_nonzero(left)))


def truths(exploration: Exploration, terms: Sequence[Term]) -> list[bytearray]:
    """Whether each formula holds, a byte for every state found."""
    from icore_kernel.explore.blocks import Block, LookedAt, PackedStore
    from icore_kernel.explore.layout import lay_out
    from icore_kernel.meaning.vector import evaluate_block

    store = exploration.store
    told = store.truths(terms) if isinstance(store, LookedAt) else None
    if told is not None:
        return told
    assert isinstance(store, PackedStore)
    layout = lay_out(exploration.system.fields)
    found: list[list[bytes]] = [[] for _ in terms]
    for words in store.packed(1 << 14):
        block = Block(layout, words)
        for part, values in zip(found, evaluate_block(terms, block.column, len(block)), strict=True):
            part.append(np.asarray(values, dtype=np.uint8).tobytes())
    return [bytearray(b"".join(part)) for part in found]


def outside(
    start: IntegerRow,
    update: IntegerRow,
    target: IntegerRow,
    goal: bytearray,
    starts: Sequence[int],
    fair: Sequence[bool],
    tarjan: Components,
) -> tuple[int | None, list[list[int]]]:
    """Of the states reachable from `starts` outside `goal`: the first without a fair update (a fair run may end there), and the
    components with a cycle outside the goal, each with its states in order."""
    first, by, to = np.asarray(start), np.asarray(update), np.asarray(target)
    n = len(first) - 1
    kernel = step_rows.native()
    if kernel is not None:
        region = np.zeros(n, dtype=bool)
        begins = np.asarray(starts, dtype=np.int32)
        end, rising = kernel.region(*rows_of_kernel(first, by, to), goal, bytes(fair), begins, region.view(np.uint8))
        if end >= 0 or rising:
            return (end if end >= 0 else None), []
    else:
        region = _region(first, to, goal, starts)
    states = np.flatnonzero(region)
    at, degree = gather(first, states)
    owner = np.repeat(np.arange(len(states)), degree)
    if kernel is None:
        moved = np.bincount(owner[np.asarray(fair, dtype=bool)[by[at]]], minlength=len(states)) if len(at) else np.zeros(len(states))
        ends = states[moved == 0]
        if len(ends):
            return int(ends[0]), []
    place = np.full(n, -1, dtype=np.int32)
    place[states] = np.arange(len(states), dtype=np.int32)
    inner = place[to[at]]
    kept = inner >= 0
    rows = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(np.bincount(owner[kept], minlength=len(states)))])
    component, size = components_of(rows, inner[kept], tarjan)
    cyclic = np.flatnonzero(size[component] > 1)
    by_component = cyclic[np.argsort(component[cyclic], kind="stable")]
    cuts = np.flatnonzero(np.diff(component[by_component])) + 1
    return None, [states[part].tolist() for part in np.split(by_component, cuts) if len(part)]


def _region(start: Rows, target: Rows, goal: bytearray, starts: Sequence[int]) -> Rows:
    """Whether each state is reachable from `starts` outside the goal."""
    allowed = np.frombuffer(goal, dtype=np.uint8) == 0
    region = np.zeros(len(start) - 1, dtype=bool)
    frontier = distinct(np.asarray(starts, dtype=np.int64))[0]
    region[frontier] = True
    while len(frontier):
        at, _ = gather(start, frontier)
        after = distinct(target[at])[0]
        frontier = after[allowed[after] & ~region[after]]
        region[frontier] = True
    return region
