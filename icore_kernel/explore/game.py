"""The reachability game of rewriting/game.py on NumPy rows, round by round."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from icore_kernel.explore.model import IntegerRow
from icore_kernel.explore.passes import Rows, backward_rows, distinct, edges_of, gather


def solved(
    start: IntegerRow, update: IntegerRow, target: IntegerRow, goal: bytearray, environment: Sequence[bool]
) -> tuple[bytearray, Rows, Rows]:
    """(won, move, rank) of every state, as in `Game`: a state is won in the round after its last needed successor."""
    first, by, to = np.asarray(start), np.asarray(update), np.asarray(target)
    n = len(first) - 1
    theirs = np.asarray(environment, dtype=bool)[by] if len(by) else np.zeros(0, dtype=bool)
    source = np.repeat(np.arange(n, dtype=np.int32), np.diff(first))
    owed = np.bincount(source[theirs], minlength=n)
    sides = [backward_rows(_rows_of(source[side], n), to[side]) for side in (theirs, ~theirs)]
    moved = np.zeros(n, dtype=bool)
    won = np.frombuffer(goal, dtype=np.uint8) > 0
    rank = np.zeros(n, dtype=np.int32)
    frontier = np.flatnonzero(won)
    while len(frontier):
        reached = int(rank[frontier[0]])
        answered, count = distinct(sides[0][1][gather(sides[0][0], frontier)[0]])
        owed[answered] -= count
        offered, _ = distinct(sides[1][1][gather(sides[1][0], frontier)[0]])
        moved[offered] = True
        touched = distinct(np.concatenate([answered, offered]))[0]
        frontier = touched[moved[touched] & (owed[touched] == 0) & ~won[touched]]
        won[frontier] = True
        rank[frontier] = reached + 1
    return bytearray(won.astype(np.uint8).tobytes()), _moves(first, by, to, theirs, won, rank), rank


def _rows_of(source: Rows, states: int) -> Rows:
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(np.bincount(source, minlength=states))])


def _moves(first: Rows, by: Rows, to: Rows, theirs: Rows, won: Rows, rank: Rows) -> Rows:
    """The first own update that leads to a won state of a lower rank; -1 in the goal (rank 0) and where the state is lost."""
    move = np.full(len(won), -1, dtype=np.int32)
    for _, begin, end, source, target in edges_of(first, to):
        good = np.flatnonzero(~theirs[begin:end] & won[source] & won[target] & (rank[target] < rank[source]))[::-1]
        move[source[good]] = by[begin:end][good]  # backwards: the first of a state is written last
    return move
