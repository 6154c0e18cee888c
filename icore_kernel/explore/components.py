"""Strongly connected components of a step graph in NumPy rows and, bottom-up, what each settles in (rewriting/condense.py).

Linear in the graph, and with no loop over states in Python but for cyclic components. A graph whose steps all lead to a later
breadth-first level is walked level by level backwards in place; any other by peeling off states whose steps are all done.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from icore_kernel.explore import step_rows
from icore_kernel.explore.model import IntegerRow
from icore_kernel.explore.step_rows import Rows, backward_rows, distinct, edges_of, gather, rows_of_kernel

Components = Callable[[IntegerRow, IntegerRow], "tuple[array[int], array[int]]"]

NONE, MANY = -1, -2


def condensed(
    start: IntegerRow, target: IntegerRow, classes: Sequence[int] | IntegerRow | None, tarjan: Components
) -> tuple[Rows, Rows, Rows, Rows, Rows, Rows]:
    """The tables of a `Condensation` (rewriting/condense.py). `tarjan` takes what the NumPy passes cannot peel off."""
    kernel = step_rows.native()
    if kernel is not None:
        return _condensed_natively(kernel, start, target, classes)
    first, to = np.asarray(start), np.asarray(target)
    n = len(first) - 1
    own = np.arange(n, dtype=np.int32) if classes is None else np.asarray(classes, dtype=np.int32)
    levels = _levels(first, to)
    if levels is not None:
        return _backwards(first, to, own, levels)
    component, size = components_of(first, to, tarjan)
    count = len(size)
    if count == n:
        return _peeled(first, to, component, size, own)
    singles = np.flatnonzero(size[component] == 1)
    classes_of = np.full(count, NONE, dtype=np.int32)
    classes_of[component[singles]] = own[singles]
    rows_of, leads = between(first, to, component, count)
    same = np.arange(count, dtype=np.int32)
    _, sizes, bottom, one_bottom, one_class, longest = _peeled(rows_of, leads, same, size, classes_of)
    return component, sizes, bottom, one_bottom, one_class, longest


def _condensed_natively(
    kernel: Any, start: IntegerRow, target: IntegerRow, classes: Sequence[int] | IntegerRow | None
) -> tuple[Rows, Rows, Rows, Rows, Rows, Rows]:
    rows, to = rows_of_kernel(start, target)
    component = np.empty(len(rows) - 1, dtype=np.int32)
    count = kernel.components(rows, to, component)
    size, one_bottom, one_class = (np.empty(count, dtype=np.int32) for _ in range(3))
    bottom, longest = np.empty(count, dtype=np.int8), np.empty(count, dtype=np.int64)
    kinds = None if classes is None else np.ascontiguousarray(classes, dtype=np.int32)
    kernel.condense(rows, to, component, count, kinds, size, bottom, one_bottom, one_class, longest)
    return component, size, bottom, one_bottom, one_class, longest


def _levels(start: Rows, target: Rows) -> Rows | None:
    """Slices of consecutive states such that every step leaves its slice upwards; None where there are none."""
    n = len(start) - 1
    lowest = np.full(n, n, dtype=np.int64)
    moving = np.flatnonzero(np.diff(start))
    if len(moving):
        lowest[moving] = np.minimum.reduceat(target, start[moving])
    if np.any(lowest <= np.arange(n)):
        return None
    ends = [0]
    # The slice that begins at b may take every state before the first target of any state in it.
    reach = np.minimum.accumulate(lowest[::-1])[::-1]
    while ends[-1] < n:
        ends.append(min(int(reach[ends[-1]]), n))
        if len(ends) > n // 8 + 64:
            return None
    return np.array(ends)


def _backwards(start: Rows, target: Rows, own: Rows, levels: Rows) -> tuple[Rows, Rows, Rows, Rows, Rows, Rows]:
    """Component of state s is n - 1 - s: every step goes to a later state."""
    n = len(start) - 1
    one_bottom = np.empty(n, dtype=np.int32)
    one_class = np.empty(n, dtype=np.int32)
    longest = np.zeros(n, dtype=np.int32)
    degree = np.diff(start)
    for begin, end in zip(levels[-2::-1].tolist(), levels[:0:-1].tolist(), strict=True):
        rows = np.flatnonzero(degree[begin:end]) + begin
        ended = np.flatnonzero(degree[begin:end] == 0) + begin
        one_bottom[ended] = n - 1 - ended
        one_class[ended] = own[ended]
        if len(rows):
            base = int(start[begin])
            to = target[base : int(start[end])]
            at = start[rows] - base
            one_bottom[rows] = _only(one_bottom[to], at)
            one_class[rows] = _only(one_class[to], at)
            longest[rows] = np.maximum.reduceat(longest[to], at) + 1
    component = np.arange(n - 1, -1, -1, dtype=np.int32)
    back = slice(None, None, -1)
    size = np.ones(n, dtype=np.int32)
    return component, size, (degree == 0)[back].astype(np.int8), one_bottom[back], one_class[back], longest[back]


def _only(values: Rows, at: Rows) -> Rows:
    """For every row that begins at `at`: its only value, NONE aside; MANY where there are several."""
    least, most = np.minimum.reduceat(values, at), np.maximum.reduceat(values, at)
    if int(least.min()) == NONE or int(least.min()) == MANY:
        # NONE says nothing against a single value; MANY is lower than it and stays.
        some = np.where(values == NONE, np.int32(2**31 - 1), values)
        least = np.minimum.reduceat(some, at)
        least = np.where(least == 2**31 - 1, np.int32(NONE), least)
    return np.where((least == most) | (least == MANY), least, np.int32(MANY)).astype(np.int32)


def components_of(start: Rows, target: Rows, tarjan: Components) -> tuple[Rows, Rows]:
    """(component of each state, size of each). States are peeled off from the ends backwards; Tarjan takes what is left, which
    contains every cycle."""
    kernel = step_rows.native()
    if kernel is not None:
        rows, to = rows_of_kernel(start, target)
        filled = np.empty(len(rows) - 1, dtype=np.int32)
        count = kernel.components(rows, to, filled)
        return filled, np.bincount(filled, minlength=count).astype(np.int32)
    n = len(start) - 1
    order, rest = _peel(start, target)
    component = np.full(n, -1, dtype=np.int32)
    component[order] = np.arange(len(order), dtype=np.int32)
    if not len(rest):
        return component, np.ones(n, dtype=np.int32)
    place = np.full(n, -1, dtype=np.int32)
    place[rest] = np.arange(len(rest), dtype=np.int32)
    at, degree = gather(start, rest)
    inner = place[target[at]]
    kept = inner >= 0
    owner = np.repeat(np.arange(len(rest)), degree)[kept]
    inside = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(np.bincount(owner, minlength=len(rest)))])
    found, sizes = tarjan(array("q", inside.tolist()), array("i", inner[kept].tolist()))
    component[rest] = np.array(found, dtype=np.int32) + len(order)
    return component, np.concatenate([np.ones(len(order), dtype=np.int32), np.array(sizes, dtype=np.int32)])


def _peel(start: Rows, target: Rows) -> tuple[Rows, Rows]:
    """States in an order in which every step of a state leads to an earlier one, and the states from which a cycle is reached."""
    left = np.ones(len(start) - 1, dtype=bool)
    done = [np.zeros(0, dtype=np.int64)]
    for states in _rounds(start, target):
        left[states] = False
        done.append(states)
    return np.concatenate(done), np.flatnonzero(left)


def between(start: Rows, target: Rows, component: Rows, count: int) -> tuple[Rows, Rows]:
    """The steps between different components, by component, each pair once."""
    pairs: list[Rows] = []
    for _, _, _, source, to in edges_of(start, target):
        here, there = component[source].astype(np.int64), component[to]
        moves = here != there
        pairs.append(distinct(here[moves] * count + there[moves])[0])
    whole = distinct(np.concatenate(pairs))[0] if pairs else np.zeros(0, dtype=np.int64)
    first = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(np.bincount(whole // count, minlength=count))])
    return first, (whole % count).astype(np.int32)


def _peeled(start: Rows, target: Rows, component: Rows, size: Rows, own: Rows) -> tuple[Rows, Rows, Rows, Rows, Rows, Rows]:
    """The bottom-up pass over an acyclic graph whose node s is component `component[s]` of size `size[component[s]]`."""
    n = len(start) - 1
    degree = np.diff(start)
    one_bottom = np.full(n, NONE, dtype=np.int32)
    one_class = np.full(n, NONE, dtype=np.int32)
    longest = np.zeros(n, dtype=np.int32)
    for states in acyclic_rounds(start, target):
        ended = states[degree[states] == 0]
        one_bottom[ended] = component[ended]
        one_class[ended] = own[ended]
        rows = states[degree[states] > 0]
        if len(rows):
            at, many = gather(start, rows)
            to = target[at]
            begins = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(many)[:-1]])
            one_bottom[rows] = _only(one_bottom[to], begins)
            one_class[rows] = _only(one_class[to], begins)
            deep = np.maximum.reduceat(longest[to], begins) + 1
            longest[rows] = np.where(np.minimum.reduceat(longest[to], begins) < 0, -1, deep)
        longest[states[size[component[states]] > 1]] = -1
    by = np.empty(n, dtype=np.int64)
    by[component] = np.arange(n)
    return component, size, (degree[by] == 0).astype(np.int8), one_bottom[by], one_class[by], longest[by]


def acyclic_rounds(start: Rows, target: Rows) -> Iterator[Rows]:
    """An acyclic graph bottom-up: slices of states where its order allows it, else rounds."""
    levels = _levels(start, target)
    if levels is None:
        yield from _rounds(start, target)
        return
    for begin, end in zip(levels[-2::-1].tolist(), levels[:0:-1].tolist(), strict=True):
        yield np.arange(begin, end)


def _rounds(start: Rows, target: Rows) -> Iterator[Rows]:
    """The states from which no cycle is reached, in rounds: the steps of a round lead to earlier rounds."""
    owed = np.diff(start)
    back, source = backward_rows(start, target)
    frontier = np.flatnonzero(owed == 0)
    while len(frontier):
        yield frontier
        at, _ = gather(back, frontier)
        before, steps = distinct(source[at])
        owed[before] -= steps
        frontier = before[owed[before] == 0]


def facts(
    component: IntegerRow, size: IntegerRow, bottom: IntegerRow, one_bottom: IntegerRow, one_class: IntegerRow, longest: IntegerRow,
    initial: Sequence[int],
) -> tuple[bool, int | None, bool, bool, bool, int, int, int]:  # fmt: skip
    """The fields of `Facts` (rewriting/facts.py)."""
    sizes, kinds = np.asarray(size), np.asarray(one_class)
    bottoms = np.flatnonzero(np.asarray(bottom))
    forms = bottoms[sizes[bottoms] == 1]
    terminating = bool(np.all(sizes == 1))
    starts = np.asarray(component)[np.asarray(initial, dtype=np.int64)]
    deepest = int(np.asarray(longest)[starts].max()) if terminating and len(starts) else None
    return (
        terminating,
        deepest,
        len(forms) == len(bottoms),
        not np.any(kinds == MANY),
        not np.any(np.asarray(one_bottom) == MANY),
        len(forms),
        len(distinct(kinds[forms])[0]),
        len(bottoms) - len(forms),
    )


def nearest_decisive(start: IntegerRow, target: IntegerRow, component: IntegerRow, table: IntegerRow) -> int | None:
    of, sees = np.asarray(component), np.asarray(table)
    split = sees == MANY
    if not split.any():
        return None
    deferred = np.zeros(len(sees), dtype=bool)
    if len(sees) == len(of):  # no cycles: a state is a component, and none of its steps stays in it
        rows, apart = np.asarray(start), split[of]
        moving = np.flatnonzero(np.diff(rows))
        defers = np.logical_or.reduceat(apart[np.asarray(target)], rows[moving]) if len(moving) else np.zeros(0, dtype=bool)
        apart[moving[defers]] = False
        return int(of[int(np.argmax(apart))])
    for _, _, _, source, to in edges_of(np.asarray(start), np.asarray(target)):
        here, there = of[source], of[to]
        deferred[here[split[here] & split[there] & (here != there)]] = True
    return int(of[int(np.argmax((split & ~deferred)[of]))])


def members_of(component: IntegerRow, c: int) -> list[int]:
    """The states of a component, smallest number first."""
    found: list[int] = np.flatnonzero(np.asarray(component) == c).tolist()
    return found
