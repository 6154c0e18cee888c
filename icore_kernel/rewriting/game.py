"""`controllable`: can the agents still bring about a goal whatever the environment and passed faults do?

A reachability game on the productive quotient. In a state the agents (and the monitor) may make one of their moves, or wait; the
other side may at any time move first. The agents win a state when it is in the goal, or some move of theirs leads to a state they win
and every move of the other side does too. An other side that is not declared fair may go round for ever before the agents move, and
need not move when they wait: nothing makes it stop, or begin.

What of it is declared fair is counted on (decision 39). Weakly fair: an occurrence that is enabled from some point on is taken. Strongly
fair: where a state is met again and again, what is enabled there is taken there again and again (strong transition fairness).
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from icore_kernel.explore.model import IntegerRow
from icore_kernel.rewriting.graph import Quotient
from icore_kernel.rewriting.liveness import Demands, Escape, Fairness, escape

WAIT = -2
"""In place of a move: the agents do nothing, and what is fair comes."""


@dataclass(frozen=True, slots=True)
class Game:
    """winning[s]: 1 where the agents win; `move[s]`: the update they make there, or WAIT (-1 in the goal and where they lose).

    `sure[s]`: won in at most `rank[s]` moves. Where a state is won only because the other side cannot go round for ever without being
    unfair, no number of moves is known; every rank is still greater than that of some state the play comes to.
    """

    winning: bytearray
    move: IntegerRow
    rank: IntegerRow
    sure: bytearray

    def spoils(self, graph: Quotient, state: int, environment: Sequence[bool]) -> tuple[int, int] | None:
        """A move of the environment out of a lost state into a lost state, or None where the agents simply have no winning move."""
        for update, target in graph.out(state):
            if environment[update] and not self.winning[target]:
                return update, target
        return None


def solve(graph: Quotient, goal: bytearray, environment: Sequence[bool], demands: Demands | None = None) -> Game:
    """`goal[s]`: 1 in the goal; `environment[u]`: update u belongs to the other side; `demands`: which of that is fair.

    Linear in the graph where nothing of the other side is fair, and then in how often fairness has to be used again.
    """
    asked = demands or Demands((), ((),) * len(environment))
    of = [own if theirs else () for own, theirs in zip(asked.of, environment, strict=True)]
    strong = [kind is Fairness.STRONG for kind in asked.kinds]
    if not graph.plain:
        from icore_kernel.explore.game import solved

        return Game(*solved(graph.start, graph.update, graph.target, goal, environment, strong, of))
    board = _Board(graph, environment, of, strong)
    board.grow([state for state in range(graph.states) if goal[state]])
    sure = bytearray(board.won)
    if any(of):
        board.use_fairness()
    for state in range(graph.states):
        if not board.won[state] or goal[state]:
            board.move[state] = -1
        elif board.move[state] < 0:
            board.move[state] = WAIT
    return Game(board.won, board.move, board.rank, sure)


class _Board:
    """What is won so far. `owed[s]`: moves of the other side out of s that do not lead there yet."""

    def __init__(self, graph: Quotient, environment: Sequence[bool], of: Sequence[tuple[int, ...]], strong: Sequence[bool]) -> None:
        n = graph.states
        self.environment, self.of, self.strong = environment, of, strong
        self.theirs = [[(u, t) for u, t in graph.out(state) if environment[u]] for state in range(n)]
        self.before: list[list[tuple[int, int]]] = [[] for _ in range(n)]
        for state in range(n):
            for update, target in graph.out(state):
                self.before[target].append((state, update))
        self.patient = [any(of[u] for u, _ in moves) for moves in self.theirs]
        self.owed = array("i", map(len, self.theirs))
        self.won = bytearray(n)
        self.move = array("i", [-1]) * n
        self.rank = array("i", [0]) * n

    def grow(self, seeds: Iterable[int], rank: int = 0) -> None:
        """The seeds are won, and so are, by counting, the states from which the play must come to won states."""
        queue: deque[int] = deque()
        for state in seeds:
            self.won[state] = 1
            self.rank[state] = rank
            queue.append(state)
        while queue:
            reached = queue.popleft()
            for state, update in self.before[reached]:
                if self.won[state]:
                    continue
                if self.environment[update]:
                    self.owed[state] -= 1
                elif self.move[state] < 0:
                    self.move[state] = update
                if self.owed[state] == 0 and (self.move[state] >= 0 or self.patient[state]):
                    self.won[state] = 1
                    self.rank[state] = self.rank[reached] + 1
                    queue.append(state)

    def use_fairness(self) -> None:
        """The greatest set from which, with moves inside it alone, fairness brings the play on: what strong fairness promises holds as long
        as the play does not leave the set, so the set is made smaller until it is what it promises."""
        base = bytearray(self.won), self.move[:], self.rank[:], self.owed[:]
        inside = bytearray(b"\1") * len(self.won)
        while True:
            while True:
                more = self._promised(inside) or self._stayed()
                if not more:
                    break
                self.grow(more, max(self.rank) + 1)
            if not any(self.strong) or self.won == inside:
                return
            inside = bytearray(self.won)
            self.won, self.move, self.rank, self.owed = bytearray(base[0]), base[1][:], base[2][:], base[3][:]

    def _led(self, state: int, demand: int) -> bool:
        """Whether whatever meets the demand leads to a won state."""
        targets = [t for u, t in self.theirs[state] if demand in self.of[u]]
        return bool(targets) and all(self.won[t] for t in targets)

    def _promised(self, inside: bytearray) -> list[int]:
        """States where, come there again and again, a strongly fair occurrence leads on, and no other move leaves the set."""
        found = []
        for state, moves in enumerate(self.theirs):
            if not self.won[state] and all(inside[t] for _, t in moves):
                demands = {d for u, _ in moves for d in self.of[u] if self.strong[d]}
                if any(self._led(state, d) for d in demands):
                    found.append(state)
        return found

    def _stayed(self) -> list[int]:
        """States that the other side can leave only for won ones, staying among which would starve a weakly fair occurrence."""
        found: set[int] = set()
        for demand, strong in enumerate(self.strong):
            if strong:
                continue
            stays = {state for state in range(len(self.won)) if not self.won[state] and self._led(state, demand)}
            while True:
                leave = {s for s in stays if any(not self.won[t] and t not in stays for _, t in self.theirs[s])}
                if not leave:
                    break
                stays -= leave
            found |= stays
        return sorted(found)


def spoiling(graph: Quotient, game: Game, environment: Sequence[bool], demands: Demands, start: int) -> Escape:
    """A play from a lost state that never leaves what is lost, the other side being as fair as it is declared.

    The agents offer the first of their moves that stays lost, where they have one; the other side keeps them from every other.
    """
    number = {start: 0}
    states = [start]
    starts, labels, targets = array("q", [0]), array("i"), array("i")
    updates: list[int] = []
    kinds = list(demands.kinds)
    of: list[tuple[int, ...]] = []

    def kind(fairness: Fairness) -> int:
        kinds.append(fairness)
        return len(kinds) - 1

    for state in states:  # grows while it is gone through
        out = () if game.winning[state] else tuple(graph.out(state))
        ours = [(u, t) for u, t in out if not environment[u]]
        offered = [(u, t) for u, t in ours if not game.winning[t]][:1]
        # Where the agents have a move the play does not stop: it is made, or the other side moves first. Asked of one state by itself, this
        # holds no longer round to anything. Strong fairness is asked of every state by itself, too.
        moving = (kind(Fairness.WEAK),) if ours else ()
        strong: dict[int, int] = {}
        for update, target in (*((u, t) for u, t in out if environment[u]), *offered):
            asked = [*moving]
            for demand in demands.of[update] if environment[update] else ():
                if demands.kinds[demand] is Fairness.STRONG:
                    if demand not in strong:
                        strong[demand] = kind(Fairness.STRONG)
                    asked.append(strong[demand])
                else:
                    asked.append(demand)
            if target not in number:
                number[target] = len(states)
                states.append(target)
            labels.append(len(updates))
            targets.append(number[target])
            updates.append(update)
            of.append(tuple(asked))
        starts.append(len(targets))
    # What is enabled makes its demand also where it leads out of what is lost; the play avoids that like a goal.
    won = bytearray(game.winning[state] for state in states)
    found = escape(Quotient(starts, labels, targets, (0,)), won, [0], Demands(tuple(kinds), tuple(of)))
    if found is None:
        raise ValueError(f"state {start} is not lost")
    stem, cycle = (tuple((updates[label], states[target]) for label, target in way) for way in (found.stem, found.cycle))
    return Escape(start, stem, states[found.state], cycle)
