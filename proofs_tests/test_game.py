"""Controllability against a naive solver, and its strategies and spoiling moves against the definition; with a fair environment against
all strategies."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest
from rewriting_lab import Edges, in_numpy, in_rows, random_edges

from icore_kernel.rewriting.game import WAIT, solve, spoiling
from icore_kernel.rewriting.liveness import Demands, Escape, Fairness, each


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


# ---- an environment that is fair ----------------------------------------------------------------------------------------
def by_strategies(edges: Edges, goal: bytearray, environment: list[bool], demands: Demands) -> set[int]:
    """The states from which some strategy of the agents (one move, or to wait, a state) leaves the other side no fair play
    outside the goal.

    Strategies without memory are enough: what the agents want is reachability or a breach of fairness, a Rabin condition.
    """
    steps = [[(u, t) for u, t in out if t != s] for s, out in enumerate(edges)]
    theirs = [[(u, t) for u, t in moves if environment[u]] for moves in steps]
    won: set[int] = set()
    for strategy in product(*([None, *(t for u, t in moves if not environment[u])] for moves in steps)):
        after = [[t for _, t in theirs[s]] + ([s] if own is None else [own]) for s, own in enumerate(strategy)]
        kept = [chosen for chosen in subsets(len(edges)) if fair_for_ever(chosen, after, goal, theirs, demands)]
        for start in range(len(edges)):
            reached = [] if goal[start] else [start]
            for state in reached:
                reached.extend(dict.fromkeys(t for t in after[state] if t not in reached and not goal[t]))
            if not any(chosen & set(reached) for chosen in kept):
                won.add(start)
    return won


def subsets(states: int) -> list[set[int]]:
    return [{s for s in range(states) if bits >> s & 1} for bits in range(1, 1 << states)]


def fair_for_ever(
    chosen: set[int], after: list[list[int]], goal: bytearray, theirs: list[list[tuple[int, int]]], demands: Demands
) -> bool:
    """Whether a play may repeat exactly these states for ever, outside the goal, the other side being fair."""
    if any(goal[s] for s in chosen):
        return False
    for begin in chosen:
        seen = {t for t in after[begin] if t in chosen}
        while True:
            wider = seen | {t for s in seen for t in after[s] if t in chosen}
            if wider == seen:
                break
            seen = wider
        if seen != chosen:
            return False
    for demand, kind in enumerate(demands.kinds):
        asked = [s for s in chosen if any(demand in demands.of[u] for u, _ in theirs[s])]
        met = [s for s in asked if any(demand in demands.of[u] and t in chosen for u, t in theirs[s])]
        if kind is Fairness.STRONG and met != asked:
            return False
        if kind is Fairness.WEAK and len(asked) == len(chosen) and not met:
            return False
    return True


def random_demands(random: Random, environment: list[bool]) -> Demands:
    """Of each move of the environment, or of a few together."""
    kinds = [Fairness.UNFAIR, Fairness.WEAK, Fairness.STRONG]
    if random.random() < 0.6:
        return each([random.choice(kinds) if theirs else Fairness.WEAK for theirs in environment])
    of = tuple(tuple(sorted(random.sample(range(2), random.choice([0, 1, 1, 2])))) if theirs else () for theirs in environment)
    return Demands(tuple(random.choice(kinds[1:]) for _ in range(2)), of)


@pytest.mark.parametrize("block", range(4))
def test_all_strategies_agree(block: int) -> None:
    """Two thousand games in which the environment is fair in part: who wins, and that the strategy keeps to what is won and leads on."""
    seeds = range(500 * block, 500 * (block + 1))
    more = longer = 0
    for seed in seeds:
        random = Random(seed)
        states = random.randint(3, 5)
        moves = [{random.randrange(5): random.randrange(states) for _ in range(random.randint(1, 4))} for _ in range(states)]
        edges = [sorted(out.items()) for out in moves]
        environment = [random.random() < 0.75 for _ in range(5)]
        goal = bytearray(s == states - 1 for s in range(states))
        demands = random_demands(random, environment)
        expected = by_strategies(edges, goal, environment, demands)
        for made in (in_rows, in_numpy):
            _, graph = made(edges)
            game = solve(graph, goal, environment, demands)
            assert {s for s in range(len(edges)) if game.winning[s]} == expected, (seed, made)
            sure = {s for s in range(len(edges)) if game.sure[s]}
            assert sure <= expected
            longer += len(expected) - len(sure)
            for state in expected:
                if goal[state]:
                    assert game.move[state] == -1
                    continue
                theirs = [t for u, t in edges[state] if environment[u] and t != state]
                chosen = [t for u, t in edges[state] if u == game.move[state] and t != state]
                assert len(chosen) == (game.move[state] != WAIT)
                assert game.move[state] == WAIT or not environment[game.move[state]]
                assert all(game.winning[t] for t in theirs + chosen), "no move leads out of what is won"
                assert any(game.rank[t] < game.rank[state] for t in theirs + chosen)
                if state in sure:
                    assert all(game.rank[t] < game.rank[state] for t in theirs + chosen)
            for state in set(range(len(edges))) - expected:
                assert game.move[state] == -1
                check_spoiling(edges, goal, environment, demands, state, spoiling(graph, game, environment, demands, state))
        more += len(expected) - len(naive(edges, goal, environment))
    assert more > len(seeds) // 8, "fairness must help in some"
    assert longer > len(seeds) // 40, "in some only by forbidding that the play goes round"


def check_spoiling(edges: Edges, goal: bytearray, environment: list[bool], demands: Demands, start: int, play: Escape) -> None:
    """It is a play from there outside the goal, fair to the end."""
    assert play.start == start
    state = start
    visited = {play.state}
    met: set[tuple[int, int]] = set()
    for number, (update, target) in enumerate((*play.stem, *play.cycle)):
        assert (update, target) in edges[state] and state != target
        assert not goal[state]
        if number >= len(play.stem):
            visited.add(state)
            met |= {(state, d) for d in demands.of[update]} if environment[update] else set()
        state = target
        if number + 1 == len(play.stem):
            assert state == play.state
    assert state == play.state and not goal[state]
    asked = {(s, d) for s in visited for u, t in edges[s] if environment[u] and t != s for d in demands.of[u]}
    assert play.cycle or not asked, "the other side may stop only where nothing of it is fair"
    for demand, kind in enumerate(demands.kinds):
        if kind is Fairness.STRONG:
            assert {pair for pair in asked if pair[1] == demand} <= met
        elif {s for s, d in asked if d == demand} == visited:
            assert any(d == demand for _, d in met)


def test_a_weakly_fair_move_that_stays_enabled_comes() -> None:
    """0 <-> 1 by the environment, and from both it may go on to 2, the goal: weakly fair, it does so in the end, nobody knows after
    how many moves. Where only 0 offers that, and the agents go from 1 back to 0, it is never enabled without a break: strong fairness is
    needed."""
    both: Edges = [[(0, 1), (1, 2)], [(0, 0), (1, 2)], []]
    one: Edges = [[(0, 1), (1, 2)], [(2, 0)], []]
    goal, theirs = bytearray([0, 0, 1]), [True, True, False]
    for edges, kind, wins in [
        (both, Fairness.UNFAIR, False), (both, Fairness.WEAK, True), (one, Fairness.WEAK, False), (one, Fairness.STRONG, True),
    ]:  # fmt: skip
        _, graph = in_rows(edges)
        game = solve(graph, goal, theirs, each([Fairness.UNFAIR, kind, Fairness.WEAK]))
        assert bool(game.winning[0]) == wins
        assert not game.sure[0]
        assert game.move[0] == (WAIT if wins else -1)


def test_a_fair_environment_need_not_come_back() -> None:
    """As before, but only the environment leads from 1 back to 0, and it is not fair: it stops at 1."""
    edges: Edges = [[(0, 1), (1, 2)], [(0, 0)], []]
    _, graph = in_rows(edges)
    game = solve(graph, bytearray([0, 0, 1]), [True, True], each([Fairness.UNFAIR, Fairness.STRONG]))
    assert list(game.winning) == [0, 0, 1]
