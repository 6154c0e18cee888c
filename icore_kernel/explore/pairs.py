"""Forks of a step graph in NumPy rows, counted by pairs of updates (rewriting/forks.py says what is counted).

Which updates are enabled together is counted on bit vectors over states, one an update: most pairs are known beforehand to
commute, or to switch each other off, and cost one AND and one population count for 64 states. Only the rest is looked up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from icore_kernel.explore import step_rows
from icore_kernel.explore.components import MANY, acyclic_rounds, between
from icore_kernel.explore.model import IntegerRow, StepGraph
from icore_kernel.explore.step_rows import Rows, distinct, edges_of, gather, rows_of_kernel

OPEN, COMMUTE, CLASH = 0, 1, 2
ROWS = 1 << 15
"""Nodes whose reach sets are joined at once."""
_BYTES = np.array([bin(byte).count("1") for byte in range(256)], dtype=np.uint8)


@dataclass(frozen=True, slots=True)
class Reach:
    """bits[of[c]]: the bottom components, a column each, that component c reaches; every different set is a row once. `partial`: there
    are others without a column."""

    bits: Rows
    of: Rows
    partial: bool

    def meet(self, c: Rows, d: Rows) -> Rows:
        one, other = self.of[c], self.of[d]
        pairs = one.astype(np.int64) * len(self.bits) + other
        asked, _ = distinct(pairs)
        answers = [
            np.any(self.bits[some // len(self.bits)] & self.bits[some % len(self.bits)], axis=1)
            for some in (asked[begin : begin + ROWS] for begin in range(0, len(asked), ROWS))
        ]
        return np.concatenate([np.zeros(0, dtype=bool), *answers])[np.searchsorted(asked, pairs)]

    def some(self, c: Rows) -> Rows:
        return np.asarray(np.any(self.bits, axis=1))[self.of[c]]


def reach(
    start: IntegerRow, target: IntegerRow, component: IntegerRow, size: IntegerRow, one_bottom: IntegerRow, most_bits: int
) -> Reach | None:
    """None where everything sees one bottom component. Where the different sets with a column for each would take more than `most_bits`,
    those that are the only one some successor sees get a column, if these fit, else none does."""
    first, to, of, only = np.asarray(start), np.asarray(target), np.asarray(component), np.asarray(one_bottom)
    if not np.any(only == MANY):
        return None
    count = len(np.asarray(size))
    sets = _sets(first, to, of, count, distinct(only[only >= 0])[0], most_bits)
    if sets is not None:
        return Reach(*sets, False)
    singles = [np.zeros(0, dtype=only.dtype)]
    for _, _, _, source, ends in edges_of(first, to):
        sees = only[of[ends]]
        singles.append(distinct(sees[(only[of[source]] == MANY) & (sees >= 0)])[0])
    sets = _sets(first, to, of, count, distinct(np.concatenate(singles))[0], most_bits)
    if sets is None:
        return Reach(np.zeros((1, 1), dtype=np.uint64), np.zeros(count, dtype=np.int32), True)
    return Reach(*sets, True)


def _sets(start: Rows, target: Rows, component: Rows, count: int, wanted: Rows, most_bits: int) -> tuple[Rows, Rows] | None:
    """The different sets of `wanted` components that components reach, as rows of bits, and which set each one's is; None where they
    are too many."""
    words = (len(wanted) + 63) // 64 or 1
    most = most_bits // max(1, len(wanted))
    column = np.full(count, -1, dtype=np.int32)
    column[wanted] = np.arange(len(wanted), dtype=np.int32)
    kernel = step_rows.native()
    if kernel is None:
        return _sets_in_rounds(start, target, component, column, words, most)
    of = np.empty(count, dtype=np.int32)
    rows = kernel.reach(*rows_of_kernel(start, target, component), count, column, words, most, of)
    return None if rows is None else (np.frombuffer(rows, dtype=np.uint64).reshape(-1, words), of)


def _sets_in_rounds(start: Rows, target: Rows, component: Rows, column: Rows, words: int, most: int) -> tuple[Rows, Rows] | None:
    """The same without the kernel."""
    count = len(column)
    if count == len(component):  # without cycles the states themselves are the nodes
        rows_of, leads, number = start, target, component
    else:
        rows_of, leads = between(start, target, component, count)
        number = np.arange(count)
    known: dict[bytes, int] = {}
    bits = np.zeros((64, words), dtype=np.uint64)
    of = np.zeros(count, dtype=np.int32)  # by node
    for nodes in acyclic_rounds(rows_of, leads):
        for begin in range(0, len(nodes), ROWS):
            some = nodes[begin : begin + ROWS]
            moving = rows_of[some + 1] > rows_of[some]
            moved, ended = some[moving], some[~moving]
            rows = np.zeros((len(ended), words), dtype=np.uint64)
            place = column[number[ended]].astype(np.int64)
            marked = np.flatnonzero(place >= 0)
            rows[marked, place[marked] // 64] = np.uint64(1) << (place[marked] % 64).astype(np.uint64)
            if len(moved):
                at, many = gather(rows_of, moved)
                begins = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(many)[:-1]])
                sets = of[leads[at]]
                least = np.minimum.reduceat(sets, begins)
                same = least == np.maximum.reduceat(sets, begins)
                of[moved[same]] = least[same]
                at, many = gather(rows_of, moved[~same])
                if len(many):
                    begins = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(many)[:-1]])
                    rows = np.concatenate([rows, np.bitwise_or.reduceat(bits[of[leads[at]]], begins, axis=0)])
                ended = np.concatenate([ended, moved[~same]])
            for node, row in zip(ended.tolist(), rows, strict=True):
                own = known.setdefault(row.tobytes(), len(known))
                of[node] = own
                if own >= most:
                    return None
                if own >= len(bits):
                    bits = np.concatenate([bits, np.zeros_like(bits)])
                bits[own] = row
    by_component = np.empty_like(of)
    by_component[number] = of
    return bits[: len(known)], by_component


Key = tuple[int, ...]
Counts = dict[Key, list[int]]
"""By key: independent, joinable, not joinable, unclassified, first state with one that is not joinable (-1)."""


class _Counter:
    """Looks forks up where there is no kernel."""

    def __init__(self, full: StepGraph, component: IntegerRow, one_bottom: IntegerRow, reached: Reach | None) -> None:
        self.start, self.update, self.target = (np.asarray(row) for row in (full.start, full.update, full.target))
        self.component = np.asarray(component)
        self.only = np.asarray(one_bottom)
        self.reached = reached

    def step(self, states: Rows, wanted: int) -> Rows:
        """Where update `wanted` leads from each state, or -1: bisection in the rows, which are in the order of updates."""
        low, end = self.start[states], self.start[states + 1]
        high = end.copy()
        for _ in range(int((high - low).max(initial=0)).bit_length()):
            middle = (low + high) >> 1
            below = (middle < high) & (self.update[np.minimum(middle, len(self.update) - 1)] < wanted)
            low = np.where(below, middle + 1, low)
            high = np.where(below, high, middle)
        safe = np.minimum(low, len(self.update) - 1)
        found: Rows = np.where((low < end) & (self.update[safe] == wanted), self.target[safe], -1)
        return found

    def classify(self, states: Rows, t: Rows, v: Rows, a: int, b: int, look: bool) -> tuple[int, int, int, int, int]:
        independent = 0
        if look:
            over = self.step(t, b)
            meets = (over >= 0) & (over == self.step(v, a))
            independent = int(np.count_nonzero(meets))
            states, t, v = states[~meets], t[~meets], v[~meets]
        if self.reached is None:
            return independent, len(states), 0, 0, -1
        c, d = self.component[t], self.component[v]
        one, other = self.only[c], self.only[d]
        joined = (t == v) | ((one == other) & (one != MANY))
        clear = joined | ((one != MANY) & (other != MANY))
        unsure = np.flatnonzero(~clear)
        unclassified = np.zeros(len(states), dtype=bool)
        if len(unsure):
            meet = self.reached.meet(c[unsure], d[unsure])
            joined[unsure] = meet
            if self.reached.partial:
                # A side that sees one bottom component only is exact where that one has a column.
                has_c, has_d = self.reached.some(c[unsure]), self.reached.some(d[unsure])
                exact = ((one[unsure] != MANY) & has_c) | ((other[unsure] != MANY) & has_d)
                unclassified[unsure[~meet & ~exact]] = True
        apart = ~joined & ~unclassified
        first = int(states[apart].min()) if apart.any() else -1
        return independent, int(np.count_nonzero(joined)), int(np.count_nonzero(apart)), int(np.count_nonzero(unclassified)), first


def count_pairs(
    full: StepGraph,
    quotient: tuple[IntegerRow, IntegerRow, IntegerRow],
    component: IntegerRow,
    one_bottom: IntegerRow,
    reached: Reach | None,
    key: Callable[[int, int], Key],
    kind: Callable[[int, int], int],
) -> Counts:
    """Every fork of every state once; of two updates a < b `kind` says what is known beforehand, `key` where to count."""
    updates = int(np.asarray(full.update).max(initial=-1)) + 1
    rows = np.asarray(quotient[0]), np.asarray(quotient[1]), np.asarray(quotient[2])
    together = np.zeros((updates, updates), dtype=np.int64)
    for begin, end in _chunks(rows[0], updates):
        for a, b, amount in _together(_enabled(rows, begin, end, updates)):
            together[a, b] += amount
    met = np.argwhere(together > 0)
    kinds = np.array([kind(a, b) for a, b in met.tolist()], dtype=np.int8)
    looked = (kinds == OPEN) | ((kinds == CLASH) & (reached is not None))
    counts: Counts = {}
    for (one, two), known in zip(met[~looked].tolist(), kinds[~looked].tolist(), strict=True):
        number = int(together[one, two])
        _add(counts, key(one, two), (number, 0, 0, 0, -1) if known == COMMUTE else (0, number, 0, 0, -1))
    asked, look = met[looked], kinds[looked] == OPEN
    if len(asked):
        kernel = step_rows.native()
        if kernel is None:
            found = _counted(_Counter(full, component, one_bottom, reached), rows, updates, asked, look)
        else:
            found = _counted_natively(kernel, full, rows, component, one_bottom, reached, updates, asked, look)
        for (one, two), own in zip(asked.tolist(), found.tolist(), strict=True):
            _add(counts, key(one, two), own)
    return counts


def _counted_natively(
    kernel: Any,
    full: StepGraph,
    rows: tuple[Rows, Rows, Rows],
    component: IntegerRow,
    one_bottom: IntegerRow,
    reached: Reach | None,
    updates: int,
    asked: Rows,
    look: Rows,
) -> Rows:
    """The five numbers of `classify` for every pair of updates asked of."""
    counts = np.zeros((len(asked), 5), dtype=np.int64)
    counts[:, 4] = -1
    pair = np.full((updates, updates), -1, dtype=np.int32)
    pair[asked[:, 0], asked[:, 1]] = np.arange(len(asked))
    of = only = np.zeros(0, dtype=np.int32)
    bits, words, partial = np.zeros(0, dtype=np.uint64), 0, False
    if reached is not None:
        here = np.asarray(component)
        of, bits, words, partial = reached.of[here].astype(np.int32), reached.bits, reached.bits.shape[1], reached.partial
        if partial:
            only = np.asarray(one_bottom)[here].astype(np.int32)
    graphs = *rows_of_kernel(full.start, full.update, full.target), *rows_of_kernel(*rows)
    kernel.forks(*graphs, of, bits, words, only, partial, updates, pair, look.astype(np.uint8), counts)
    return counts


def _counted(counter: _Counter, rows: tuple[Rows, Rows, Rows], updates: int, asked: Rows, look: Rows) -> Rows:
    """The same in NumPy, chunk by chunk."""
    counts = np.zeros((len(asked), 5), dtype=np.int64)
    counts[:, 4] = -1
    start, _, target = rows
    for begin, end in _chunks(start, updates):
        places = _places(rows, begin, end, updates)
        moved = target[int(start[begin]) : int(start[end])]
        for own, (a, b), open_ in zip(counts, asked.tolist(), look.tolist(), strict=True):
            states = np.flatnonzero((places[a] >= 0) & (places[b] >= 0))
            if len(states):
                found = counter.classify(states + begin, moved[places[a][states]], moved[places[b][states]], a, b, open_)
                own[:4] += found[:4]
                own[4] = found[4] if own[4] < 0 else own[4]
    return counts


def _chunks(start: Rows, updates: int) -> Iterator[tuple[int, int]]:
    """First and last state of chunks that a table of all updates fits."""
    states = len(start) - 1
    length = max(64, (1 << 22) // max(1, updates) // 64 * 64)
    for begin in range(0, states, length):
        yield begin, min(begin + length, states)


def _enabled(rows: tuple[Rows, Rows, Rows], begin: int, end: int, updates: int) -> Rows:
    """A bit for every update and state of the chunk, rows of 64 bits or a multiple: whether the state does the update."""
    start, update, _ = rows
    row = np.repeat(np.arange(end - begin), np.diff(start[begin : end + 1]))
    enabled = np.zeros((updates, (end - begin + 63) // 64 * 64), dtype=bool)
    enabled[update[int(start[begin]) : int(start[end])], row] = True
    return np.packbits(enabled, axis=1)


def _places(rows: tuple[Rows, Rows, Rows], begin: int, end: int, updates: int) -> Rows:
    """places[u, i]: where in the chunk's steps state begin + i does update u, or -1."""
    start, update, _ = rows
    base, last = int(start[begin]), int(start[end])
    row = np.repeat(np.arange(end - begin), np.diff(start[begin : end + 1]))
    places = np.full((updates, end - begin), -1, dtype=np.int32)
    places[update[base:last], row] = np.arange(last - base, dtype=np.int32)
    return places


def _together(packed: Rows) -> Iterator[tuple[int, Rows, Rows]]:
    """For every update a: the later updates b that some state of the chunk enables with it, and in how many states. A row of `packed` has
    a bit for every state, 64 of them or a multiple."""
    bits = packed.view(np.uint64)
    present = np.flatnonzero(bits.any(axis=1))
    packed = bits[present]
    for i in range(len(present) - 1):
        amount = _ones(packed[i] & packed[i + 1 :])
        some = np.flatnonzero(amount)
        if len(some):
            yield int(present[i]), present[i + 1 :][some], amount[some]


def _ones(words: Rows) -> Rows:
    """Bits set in each row of 64-bit words."""
    count: Any = getattr(np, "bitwise_count", None)  # NumPy 2
    each = count(words) if count is not None else _BYTES[words.view(np.uint8)]
    summed: Rows = each.sum(axis=1, dtype=np.int64)
    return summed


def _add(counts: Counts, key: Key, found: Sequence[int]) -> None:
    tally = counts.setdefault(key, [0, 0, 0, 0, -1])
    for place in range(4):
        tally[place] += found[place]
    if found[4] >= 0 and (tally[4] < 0 or found[4] < tally[4]):
        tally[4] = found[4]
