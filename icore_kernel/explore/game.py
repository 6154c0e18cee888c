"""The reachability game of rewriting/game.py on NumPy rows, round by round."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from icore_kernel.explore.model import IntegerRow
from icore_kernel.explore.step_rows import Rows, backward_rows, distinct, edges_of, gather

WAIT = -2


def solved(
    start: IntegerRow,
    update: IntegerRow,
    target: IntegerRow,
    goal: bytearray,
    environment: Sequence[bool],
    strong: Sequence[bool],
    of: Sequence[tuple[int, ...]],
) -> tuple[bytearray, Rows, Rows, bytearray]:
    """(won, move, rank, sure) of every state, as in `Game`: a state is won in the round after its last needed successor.

    `strong[d]`: whether demand d is strong; `of[u]`: the demands that update u meets.
    """
    first, by, to = np.asarray(start), np.asarray(update), np.asarray(target)
    theirs = np.asarray(environment, dtype=bool)[by] if len(by) else np.zeros(0, dtype=bool)
    board = _Board(first, by, to, theirs, strong, of)
    aims = np.frombuffer(goal, dtype=np.uint8) > 0
    board.grow(np.flatnonzero(aims), 0)
    sure = bytearray(board.won.astype(np.uint8).tobytes())
    if board.members:
        board.use_fairness()
    move = _moves(first, by, to, theirs, board.won, board.rank)
    move[board.won & (move < 0) & ~aims] = WAIT
    return bytearray(board.won.astype(np.uint8).tobytes()), move, board.rank, sure


class _Board:
    """What is won so far. `owed[s]`: moves of the other side out of s that do not lead there yet; `moved[s]`: a move of the agents does."""

    def __init__(self, first: Rows, by: Rows, to: Rows, theirs: Rows, strong: Sequence[bool], of: Sequence[tuple[int, ...]]) -> None:
        n = len(first) - 1
        source = np.repeat(np.arange(n, dtype=np.int32), np.diff(first))
        self.back = [backward_rows(_rows_of(source[side], n), to[side]) for side in (theirs, ~theirs)]
        self.source, self.to = source[theirs], to[theirs]
        self.rows = _rows_of(self.source, n)
        self.strong = strong
        self.members: dict[int, Rows] = {}
        """For every demand that is made somewhere, the moves that meet it, by their places."""
        self.patient = np.zeros(n, dtype=bool)
        for demand in range(len(strong)):
            places = np.flatnonzero(np.array([demand in own for own in of], dtype=bool)[by[theirs]])
            if len(places):
                self.members[demand] = places
                self.patient[self.source[places]] = True
        self.owed = np.bincount(self.source, minlength=n)
        self.moved = np.zeros(n, dtype=bool)
        self.won = np.zeros(n, dtype=bool)
        self.rank = np.zeros(n, dtype=np.int32)

    def grow(self, frontier: Rows, rank: int) -> None:
        self.won[frontier] = True
        self.rank[frontier] = rank
        theirs, ours = self.back
        while len(frontier):
            rank += 1
            answered, count = distinct(theirs[1][gather(theirs[0], frontier)[0]])
            self.owed[answered] -= count
            offered, _ = distinct(ours[1][gather(ours[0], frontier)[0]])
            self.moved[offered] = True
            touched = distinct(np.concatenate([answered, offered]))[0]
            goes = (self.moved[touched] | self.patient[touched]) & (self.owed[touched] == 0) & ~self.won[touched]
            frontier = touched[goes]
            self.won[frontier] = True
            self.rank[frontier] = rank

    def use_fairness(self) -> None:
        tables = "won", "rank", "owed", "moved"
        base = {name: getattr(self, name).copy() for name in tables}
        inside = np.ones(len(self.won), dtype=bool)
        while True:
            while True:
                more = self._promised(inside)
                if not len(more):
                    more = self._stayed()
                if not len(more):
                    break
                self.grow(more, int(self.rank.max()) + 1)
            if not any(self.strong[d] for d in self.members) or np.array_equal(self.won, inside):
                return
            inside = self.won
            for name in tables:
                setattr(self, name, base[name].copy())

    def _led(self, demand: int) -> Rows:
        """The states, not won, where whatever meets the demand leads to a won state; ascending."""
        places = self.members[demand]
        source, good = self.source[places], self.won[self.to[places]]
        begins = np.flatnonzero(np.concatenate([[True], source[1:] != source[:-1]]))
        states = source[begins]
        led: Rows = states[np.logical_and.reduceat(good, begins) & ~self.won[states]]
        return led

    def _promised(self, inside: Rows) -> Rows:
        found = np.zeros(len(self.won), dtype=bool)
        for demand in self.members:
            if self.strong[demand]:
                found[self._led(demand)] = True
        if found.any():
            found[self.source[~inside[self.to]]] = False
        return np.flatnonzero(found)

    def _stayed(self) -> Rows:
        found = np.zeros(len(self.won), dtype=bool)
        for demand in self.members:
            if self.strong[demand]:
                continue
            stays = self._led(demand)
            kept = self.won.copy()
            while len(stays):
                kept[stays] = True
                at, _ = gather(self.rows, stays)
                leave = distinct(self.source[at[~kept[self.to[at]]]])[0]
                if not len(leave):
                    break
                kept[leave] = False
                stays = stays[kept[stays]]
            found[stays] = True
        return np.flatnonzero(found)


def _rows_of(source: Rows, states: int) -> Rows:
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(np.bincount(source, minlength=states))])


def _moves(first: Rows, by: Rows, to: Rows, theirs: Rows, won: Rows, rank: Rows) -> Rows:
    """The first own update that leads to a won state of a lower rank; -1 in the goal (rank 0) and where the state is lost."""
    move = np.full(len(won), -1, dtype=np.int32)
    for _, begin, end, source, target in edges_of(first, to):
        good = np.flatnonzero(~theirs[begin:end] & won[source] & won[target] & (rank[target] < rank[source]))[::-1]
        move[source[good]] = by[begin:end][good]  # backwards: the first of a state is written last
    return move
