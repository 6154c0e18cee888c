"""Controllability against a naive solver, and its strategies and spoiling moves against the definition."""

from __future__ import annotations

from random import Random

import pytest
from rewriting_lab import Edges, in_numpy, in_rows, random_edges

from icore_kernel.rewriting.game import solve


def naive(edges: Edges, goal: bytearray, environment: list[bool]) -> set[int]:
    """A state is won when it is in the goal, or the agents have a move to a won state and every move of the other side leads to one."""
    won = {s for s in range(len(edges)) if goal[s]}
    while True:
        more = set()
        for state, out in enumerate(edges):
            moves = [(u, t) for u, t in out if t != state]
            ours = any(t in won for u, t in moves if not environment[u])
            theirs = all(t in won for u, t in moves if environment[u])
            if state not in won and ours and theirs:
                more.add(state)
        if not more:
            return won
        won |= more


@pytest.mark.parametrize("block", range(4))
def test_a_naive_solver_agrees(block: int) -> None:
    """Two thousand games; the strategy of a won state leads to the goal in at most its rank of moves, whatever the other side does."""
    won = lost = 0
    for seed in range(500 * block, 500 * (block + 1)):
        random = Random(seed)
        edges = random_edges(random, cyclic=seed % 3 != 0, most=16)
        environment = [random.random() < 0.4 for _ in range(7)]
        goal = bytearray(random.random() < 0.2 for _ in edges)
        for made in (in_rows, in_numpy):
            _, graph = made(edges)
            game = solve(graph, goal, environment)
            expected = naive(edges, goal, environment)
            assert {s for s in range(len(edges)) if game.winning[s]} == expected, seed
            for state in range(len(edges)):
                moves = [(u, t) for u, t in edges[state] if t != state]
                if state in expected and not goal[state]:
                    won += 1
                    chosen = [t for u, t in moves if u == game.move[state]]
                    answers = chosen + [t for u, t in moves if environment[u]]
                    assert len(chosen) == 1
                    assert not environment[game.move[state]]
                    assert all(game.winning[t] and game.rank[t] < game.rank[state] for t in answers)
                elif state not in expected:
                    lost += 1
                    assert game.move[state] == -1
                    spoiling = game.spoils(graph, state, environment)
                    if spoiling is None:
                        assert all(t not in expected for u, t in moves if not environment[u])
                    else:
                        assert environment[spoiling[0]]
                        assert spoiling[1] not in expected
    assert won > 300
    assert lost > 300


def test_an_environment_that_may_go_round_for_ever_is_not_beaten() -> None:
    """0 <-> 1 by the environment, 0 -> 2 (goal) by an agent: nothing makes the environment stop at 0 … but the agents win at 0 only if
    every answer is won, and 1 offers the agents nothing."""
    edges: Edges = [[(0, 1), (1, 2)], [(0, 0)], []]
    _, graph = in_rows(edges)
    game = solve(graph, bytearray([0, 0, 1]), [True, False])
    assert list(game.winning) == [0, 0, 1]
    assert game.spoils(graph, 0, [True, False]) == (0, 1)


def test_the_agents_win_where_the_other_side_can_only_delay() -> None:
    """0 -> 1 by the environment, 0 -> 2 and 1 -> 2 by an agent, 2 the goal: at most two moves."""
    edges: Edges = [[(0, 1), (1, 2)], [(1, 2)], []]
    _, graph = in_rows(edges)
    game = solve(graph, bytearray([0, 0, 1]), [True, False])
    assert list(game.winning) == [1, 1, 1]
    assert list(game.rank) == [2, 1, 0]
