"""Appendix B on step graphs: facts, forks and components against brute force; theorem 3; both engines."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import numpy as np
import pytest
from conftest import CHECKOUT
from rewriting_lab import Brute, Edges, brute, in_numpy, in_rows, random_edges
from strategies_systems import random_system

from icore_kernel import api
from icore_kernel.check.whole import Whole
from icore_kernel.explore import step_rows
from icore_kernel.explore.model import Audited, Rules, StepGraph
from icore_kernel.explore.search import Engine, explore
from icore_kernel.rewriting.condense import MANY, condense
from icore_kernel.rewriting.facts import decisive, facts, members
from icore_kernel.rewriting.forks import count_forks
from icore_kernel.rewriting.graph import Quotient
from icore_kernel.terms.term import TermBank

Made = Callable[[Edges], tuple[StepGraph, Quotient]]
BLOCKS = range(5)
EACH = 1000


@pytest.fixture(params=["plain", "numpy", "native"])
def made(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Made:
    """Step graphs as plain arrays; as NumPy rows with the NumPy passes; as NumPy rows with the passes in C, where they were built."""
    if request.param == "numpy":
        monkeypatch.setattr(step_rows, "native", lambda: None)
    if request.param == "native" and step_rows.native() is None:
        pytest.skip("the C extension was not built")
    return in_rows if request.param == "plain" else in_numpy


def by_pair(a: int, b: int) -> tuple[int, int]:
    return (a, b)


def answers(edges: Edges, made: Made, kinds: list[int] | None = None) -> Brute:
    """What the engine says, in the words of the brute force."""
    full, graph = made(edges)
    found = condense(graph, kinds)
    told = facts(graph, found)
    tallies = count_forks(full, graph, found, by_pair).by_pair
    assert all(t.unclassified == 0 for t in tallies.values())
    bottoms = [c for c in range(found.count) if found.bottom[c]]
    assert told.normal_forms == sum(1 for c in bottoms if found.size[c] == 1)
    assert told.cycles == len(bottoms) - told.normal_forms
    return Brute(
        told.terminating, told.normalizing, told.definition_14, told.confluent,
        frozenset(members(found, c)[0] for c in bottoms if found.size[c] == 1),
        frozenset(frozenset(members(found, c)) for c in bottoms),
        {pair: (t.independent, t.joinable, t.not_joinable) for pair, t in tallies.items()},
    )  # fmt: skip


@pytest.mark.parametrize("block", BLOCKS)
def test_brute_force_agrees(made: Made, block: int) -> None:
    """Five thousand systems for each engine: half of them may go round, a third compares settlements by class."""
    seen = set()
    for seed in range(block * EACH, (block + 1) * EACH):
        random = Random(seed)
        edges = random_edges(random, cyclic=seed % 2 == 0)
        kinds = [random.randrange(3) for _ in edges] if seed % 3 == 0 else None
        expected = brute(edges, kinds)
        assert answers(edges, made, kinds) == expected, seed
        seen.add((expected.terminating, expected.normalizing, expected.definition_14, expected.confluent))
    assert len(seen) >= 7, "the sample must hold systems of nearly every kind"


def test_theorem_3(made: Made) -> None:
    """On terminating systems definition 14 holds exactly when every productive local critical pair is joinable."""
    split = 0
    for seed in range(2000):
        edges = random_edges(Random(seed), cyclic=False)
        full, graph = made(edges)
        found = condense(graph)
        told = facts(graph, found)
        total = count_forks(full, graph, found, by_pair).total()
        assert told.terminating
        assert told.definition_14 == (total.critical == total.joinable), seed
        split += not told.definition_14
    assert 200 < split < 1800


def test_components_are_numbered_downwards_and_longest_paths_are_longest(made: Made) -> None:
    for seed in range(500):
        edges = random_edges(Random(seed), cyclic=seed % 2 == 0)
        _, graph = made(edges)
        found = condense(graph)
        after = [{t for _, t in out if t != s} for s, out in enumerate(edges)]
        assert sum(found.size) == len(edges)
        for state in range(graph.states):
            own = found.component[state]
            for _, target in graph.out(state):
                assert found.component[target] <= own
            if found.longest[own] >= 0:
                assert found.longest[own] == max((found.longest[found.component[t]] + 1 for t in after[state]), default=0)
            else:
                assert found.size[own] > 1 or any(found.longest[found.component[t]] < 0 for t in after[state])


def test_a_decisive_component_sees_several_settlements_and_each_exit_one(made: Made) -> None:
    met = apart = 0
    for seed in range(2000):
        edges = random_edges(Random(seed), cyclic=seed % 2 == 0)
        _, graph = made(edges)
        found = condense(graph)
        chosen = decisive(graph, found, True)
        if all(k != MANY for k in found.one_class):
            assert chosen is None
            continue
        assert chosen is not None
        met += 1
        apart += chosen.first[0] != chosen.second[0]
        own = found.component[chosen.first[0]]
        assert found.component[chosen.second[0]] == own
        sees = []
        for state, update, target in (chosen.first, chosen.second):
            assert (update, target) in list(graph.out(state))
            assert found.component[target] != own
            sees.append(found.one_class[found.component[target]])
        assert MANY not in sees
        assert sees[0] != sees[1]
    assert met > 300
    assert apart > 0, "some exits must start in different states of a component"


def test_above_the_limit_of_bits_nothing_is_guessed(made: Made) -> None:
    """With few or no bits a pair is counted as before, or as unclassified; never differently, and the same by every engine."""
    some = 0
    for seed in range(1500):
        edges = random_edges(Random(seed), cyclic=seed % 2 == 0)
        full, graph = made(edges)
        found = condense(graph)
        exact = count_forks(full, graph, found, by_pair).by_pair
        for most in (0, 24):
            rough = count_forks(full, graph, found, by_pair, most_bits=most).by_pair
            assert rough.keys() == exact.keys()
            plain = in_rows(edges)
            assert rough == count_forks(*plain, condense(plain[1]), by_pair, most_bits=most).by_pair
            for pair, tally in rough.items():
                assert tally.independent == exact[pair].independent
                assert tally.joinable <= exact[pair].joinable
                assert tally.not_joinable <= exact[pair].not_joinable
                assert tally.critical == exact[pair].critical
                some += tally.unclassified
    assert some > 0


@pytest.mark.parametrize("engine", [Engine.PYTHON, Engine.NUMPY])
def test_what_is_known_beforehand_of_two_updates_changes_no_count(engine: Engine) -> None:
    """Random packages: forks counted with commuting and clashing pairs taken from their terms, and with every pair looked up."""
    rules = Rules(keep_graph=True)
    known = forks = 0
    for seed in range(150):
        system = random_system(Random(seed))
        exploration = explore(system, rules=rules, mode=Audited(), engine=engine)
        if exploration.states == 0:
            continue
        whole = Whole(system, TermBank(), exploration, rules)
        looked = count_forks(whole.full, whole.graph, whole.plain, whole.key)
        assert whole.forks().by_pair == looked.by_pair, seed
        forks += looked.total().independent + looked.total().critical
        known += not exploration.violations
    assert forks > 1000
    assert known > 10, "violations forbid the short cut: some systems must have none"


def test_both_engines_tell_the_same_facts_of_random_packages() -> None:
    rules = Rules(keep_graph=True)
    for seed in range(150):
        system = random_system(Random(seed))
        plain = explore(system, rules=rules, engine=Engine.PYTHON)
        blocks = explore(system, rules=rules, engine=Engine.NUMPY)
        if plain.states == 0:
            continue
        one, two = Whole(system, TermBank(), plain, rules), Whole(system, TermBank(), blocks, rules)
        assert one.facts == two.facts
        assert one.forks().total().critical == two.forks().total().critical
        counts = [{key: (t.independent, t.joinable, t.not_joinable) for key, t in w.forks().by_pair.items()} for w in (one, two)]
        assert counts[0] == counts[1]


@pytest.mark.parametrize("kernel", [True, False], ids=["native", "numpy"])
@pytest.mark.parametrize(("n", "m"), [(3, 4), (6, 3)])
def test_many_settlements_in_closed_form(kernel: bool, n: int, m: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bench's model of kept owners: k = 1 + 2m states and 2m steps an item, m^n settlements. Who takes an item: m (m - 1) / 2 forks in
    the k^(n-1) states of the others, apart by choice; two items move independently: (2m)^2 forks in k^(n-2) states for each pair."""
    if not kernel:
        monkeypatch.setattr(step_rows, "native", lambda: None)
    elif step_rows.native() is None:
        pytest.skip("the C extension was not built")
    loaded = api.load(CHECKOUT / "proofs_tests" / "bench" / "models" / "kept_owners.icore", settings={"n": str(n), "m": str(m)})
    rules = Rules(keep_graph=True)
    whole = Whole(loaded.system, loaded.bank, explore(loaded.system, rules=rules, engine=Engine.NUMPY), rules)
    k = 1 + 2 * m
    assert (whole.graph.states, whole.graph.steps) == (k**n, n * 2 * m * k ** (n - 1))
    assert (whole.facts.normal_forms, whole.facts.longest, whole.facts.definition_14) == (m**n, 2 * n, False)
    total = whole.forks().total()
    assert (total.not_joinable, total.joinable, total.unclassified) == (n * m * (m - 1) // 2 * k ** (n - 1), 0, 0)
    assert total.independent == n * (n - 1) // 2 * (2 * m) ** 2 * k ** (n - 2)
    assert total.first_open == 0


def test_the_native_reach_sets_refuse_wrong_tables() -> None:
    """0 -> 1, 0 -> 2: component 2 leads to components 0 and 1. Tables that say otherwise, or are too short, are an error and no crash."""
    kernel = step_rows.native()
    if kernel is None:
        pytest.skip("the C extension was not built")
    start, target, component = np.array([0, 2, 2, 2]), np.array([1, 2], dtype=np.int32), np.array([2, 0, 1], dtype=np.int32)
    column, of = np.array([0, 1, -1], dtype=np.int32), np.zeros(3, dtype=np.int32)
    rows = kernel.reach(start, target, component, 3, column, 1, 3, of)
    assert np.frombuffer(rows, dtype=np.uint64)[of].tolist() == [1, 2, 3]
    assert kernel.reach(start, target, component, 3, column, 1, 2, of) is None
    wrong = [
        (component[::-1].copy(), 3, column, 1, 3, of), (component, 4, column, 1, 3, of), (component[:2], 3, column, 1, 3, of),
        (component, 3, column[:2], 1, 3, of), (component, 3, column, 1, 3, of[:2]), (component, 3, column + 63, 1, 3, of),
        (component, 3, column - 1, 1, 3, of), (component, 3, column, 0, 3, of), (component, 3, column, 1, -1, of),
    ]  # fmt: skip
    for tables in wrong:
        with pytest.raises(ValueError, match=r"reach|row"):
            kernel.reach(start, target, *tables)


def test_the_native_counts_of_forks_refuse_wrong_tables() -> None:
    """0 -> 1 by update 0, 0 -> 2 by update 1: one fork, not joinable, at state 0. Any table that is wrong or too short is an error."""
    kernel = step_rows.native()
    if kernel is None:
        pytest.skip("the C extension was not built")

    def row(*values: int) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
        return np.array(values, dtype=np.int32)

    tables = {
        "start": np.array([0, 2, 2, 2]), "update": row(0, 1), "target": row(1, 2), "moves_start": np.array([0, 2, 2, 2]),
        "moves_update": row(0, 1), "moves_target": row(1, 2), "set_of": row(2, 0, 1), "bits": np.array([1, 2, 3], dtype=np.uint64),
        "words": 1, "only": row(MANY, 0, 1), "partial": True, "updates": 2, "pair": row(-1, 0, -1, -1),
        "look": np.array([1], dtype=np.uint8), "counts": np.array([0, 0, 0, 0, -1]),
    }  # fmt: skip
    kernel.forks(*tables.values())
    assert tables["counts"].tolist() == [0, 0, 1, 0, 0]  # type: ignore[attr-defined]
    begins = [np.array([0, 2, 3, 2]), np.array([0, 3, 2, 2]), np.array([0, 2, 2, 3]), np.array([1, 2, 2, 2])]
    wrong = {
        "start": [*begins, np.zeros(0, dtype=np.int64)], "moves_start": [*begins, np.array([0, 2])],
        "update": [row(0), row(0, 2), row(-1, 1)], "moves_update": [row(0), row(0, 2), row(-1, 1)],
        "target": [row(1), row(1, 3), row(-1, 2)], "moves_target": [row(1), row(1, 3), row(-1, 2)],
        "set_of": [row(2, 3, 1), row(2, -1, 1), row(2)], "bits": [np.array([1, 2], dtype=np.uint64)], "words": [-1],
        "only": [row(MANY, 0)], "updates": [3, -1], "pair": [row(-1, 1, -1, -1), row(-1, -2, -1, -1), row(0)],
        "counts": [np.array([0])],
    }  # fmt: skip
    for name, values in wrong.items():
        for value in values:
            with pytest.raises(ValueError, match=r"forks|row"):
                kernel.forks(*{**tables, name: value}.values())
