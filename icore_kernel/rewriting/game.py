"""`controllable`: can the agents still bring about a goal whatever the environment and passed faults do?

A reachability game on the productive quotient. In a state the agents (and the monitor) may make one of their moves; the
environment may at any time move first. The agents win a state when it is in the goal, or some move of theirs leads to a state
they win and every move of the environment does too, in finitely many moves all told. An environment that can go round for
ever before the agents move therefore wins: nothing makes it stop.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from icore_kernel.explore.model import IntegerRow
from icore_kernel.rewriting.graph import Quotient


@dataclass(frozen=True, slots=True)
class Game:
    """winning[s]: 1 where the agents win; `move[s]`: the update they make there (-1 in the goal and where they lose);
    `rank[s]`: an upper bound on the moves still needed."""

    winning: bytearray
    move: IntegerRow
    rank: IntegerRow

    def spoils(self, graph: Quotient, state: int, environment: Sequence[bool]) -> tuple[int, int] | None:
        """A move of the environment out of a lost state into a lost state, or None where the agents simply have no winning move."""
        for update, target in graph.out(state):
            if environment[update] and not self.winning[target]:
                return update, target
        return None


def solve(graph: Quotient, goal: bytearray, environment: Sequence[bool]) -> Game:
    """Least fixpoint, by counting: linear in the graph. `goal[s]`: 1 in the goal; `environment[u]`: update u belongs to the other side."""
    if not graph.plain:
        from icore_kernel.explore.game import solved

        return Game(*solved(graph.start, graph.update, graph.target, goal, environment))
    n = graph.states
    before: list[list[tuple[int, int]]] = [[] for _ in range(n)]
    owed = array("i", [0]) * n
    for state in range(n):
        for update, target in graph.out(state):
            before[target].append((state, update))
            if environment[update]:
                owed[state] += 1
    winning = bytearray(n)
    move = array("i", [-1]) * n
    rank = array("i", [0]) * n
    queue: deque[int] = deque()
    for state in range(n):
        if goal[state]:
            winning[state] = 1
            queue.append(state)
    while queue:
        won = queue.popleft()
        for state, update in before[won]:
            if winning[state]:
                continue
            if environment[update]:
                owed[state] -= 1
            elif move[state] < 0:
                move[state] = update
            if owed[state] == 0 and move[state] >= 0:
                winning[state] = 1
                rank[state] = rank[won] + 1
                queue.append(state)
    for state in range(n):
        if not winning[state]:
            move[state] = -1
    return Game(winning, move, rank)
