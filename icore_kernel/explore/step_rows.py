"""Step graphs in compressed rows of NumPy: those of state s are `target[start[s]:start[s+1]]`. What every pass over them is made of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from icore_kernel.explore.model import IntegerRow, StepGraph

Rows = np.ndarray[Any, np.dtype[Any]]

CHUNK = 1 << 18
"""States looked at together where a pass needs the source of every step."""


def native() -> Any:
    """The passes in C, where the extension was built; they answer the same (proofs_tests/test_rewriting.py)."""
    from icore_kernel.explore.search import has_kernel

    if not has_kernel():
        return None
    from icore_kernel.explore import _kernel

    return _kernel


def rows_of_kernel(start: IntegerRow, *others: IntegerRow) -> tuple[Rows, ...]:
    """As the extension takes them: 64 bits for the begins of rows, 32 for states and updates."""
    return np.ascontiguousarray(start, dtype=np.int64), *(np.ascontiguousarray(row, dtype=np.int32) for row in others)


def edges_of(start: Rows, target: Rows) -> Iterator[tuple[int, int, int, Rows, Rows]]:
    """By chunks of states: first state, first and last place, source and target of each step."""
    n = len(start) - 1
    for begin in range(0, n, CHUNK):
        end = min(n, begin + CHUNK)
        first, last = int(start[begin]), int(start[end])
        source = np.repeat(np.arange(begin, end, dtype=target.dtype), np.diff(start[begin : end + 1]))
        yield begin, first, last, source, target[first:last]


def gather(start: Rows, states: Rows) -> tuple[Rows, Rows]:
    """The places of the steps of some states, row after row, and how many each has."""
    degree = start[states + 1] - start[states]
    total = int(degree.sum())
    ends = np.cumsum(degree)
    return np.repeat(start[states] - ends + degree, degree) + np.arange(total), degree


def distinct(row: Rows) -> tuple[Rows, Rows]:
    """The different numbers of a row, ascending, and how often each occurs. (np.unique hashes, which took most of the time here.)"""
    ordered = np.sort(row)
    if not len(ordered):
        return ordered, np.zeros(0, dtype=np.int64)
    begins = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    return ordered[begins], np.diff(np.append(begins, len(ordered)))


def backward_rows(start: Rows, target: Rows) -> tuple[Rows, Rows]:
    """The same steps by target: (start, source)."""
    kernel = native()
    if kernel is not None:
        rows, to = rows_of_kernel(start, target)
        begins, sources = np.empty_like(rows), np.empty_like(to)
        kernel.reverse(rows, to, begins, sources)
        return begins, sources
    n = len(start) - 1
    order = np.argsort(target, kind="stable")
    source = np.repeat(np.arange(n, dtype=target.dtype), np.diff(start))[order]
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(np.bincount(target, minlength=n))]), source


def without_stutters(graph: StepGraph) -> tuple[Rows, Rows, Rows]:
    kernel = native()
    if kernel is not None:
        start, update, target = rows_of_kernel(graph.start, graph.update, graph.target)
        rows = np.empty_like(start), np.empty_like(update), np.empty_like(target)
        left = kernel.productive(start, update, target, *rows)
        if left == len(target):
            return start, update, target
        # What is cut off is given back only where it is much: a copy takes as long as the pass.
        kept = [row[:left] if left > len(target) // 2 else row[:left].copy() for row in rows[1:]]
        return rows[0], kept[0], kept[1]
    start, update, target = (np.asarray(row) for row in (graph.start, graph.update, graph.target))
    moving: list[Rows] = []
    degrees: list[Rows] = []
    some = False
    for begin, _, _, source, to in edges_of(start, target):
        moves = to != source
        moving.append(moves)
        some = some or not moves.all()
        degrees.append(np.bincount(source[moves] - begin, minlength=min(CHUNK, len(start) - 1 - begin)))
    if not some:
        return start, update, target
    mask = np.concatenate(moving)
    counts = np.concatenate([np.zeros(1, dtype=np.int64), *degrees])
    return np.cumsum(counts), update[mask], target[mask]
