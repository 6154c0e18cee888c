"""Theorem 3 (appendix B, D.9): where the reachable productive quotient terminates, definition 14 holds exactly when every reachable
productive local critical pair is joinable. On packages; on bare step graphs it is in test_rewriting.py.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from conftest import CHECKOUT
from rewriting_lab import random_edges, system_of
from strategies_systems import random_system

from icore_kernel import api
from icore_kernel.check.whole import Whole
from icore_kernel.explore.model import Rules
from icore_kernel.explore.search import explore
from icore_kernel.system import System
from icore_kernel.terms.term import TermBank

RULES = Rules(keep_graph=True, max_states=10_000)
PACKAGES = sorted([*(CHECKOUT / "examples").glob("*.icore"), *(CHECKOUT / "proofs_tests" / "cases" / "rewriting").glob("*.icore")])


def sides(system: System, bank: TermBank) -> tuple[bool, bool, bool] | None:
    """(terminating, definition 14, every critical pair joinable); None where the exploration stopped or there is no state."""
    exploration = explore(system, rules=RULES)
    if exploration.stopped is not None or exploration.states == 0:
        return None
    whole = Whole(system, bank, exploration, RULES)
    total = whole.forks().total()
    assert total.unclassified == 0
    return whole.facts.terminating, whole.facts.definition_14, total.critical == total.joinable


@pytest.mark.parametrize("path", PACKAGES, ids=lambda path: path.stem)
def test_packages(path: Path) -> None:
    loaded = api.load(path)
    found = sides(loaded.system, loaded.bank)
    assert found is not None
    terminating, definition, joinable = found
    if terminating:
        assert definition == joinable
    if not definition and joinable:
        assert not terminating, "every pair joins and yet two settlements: only where runs go round"


def test_the_hypothesis_is_needed() -> None:
    """a <-> b, a -> c, b -> d: every critical pair is joinable, and definition 14 fails."""
    loaded = api.load(CHECKOUT / "proofs_tests" / "cases" / "rewriting" / "round_trip.icore")
    assert sides(loaded.system, loaded.bank) == (False, False, True)


def test_random_packages() -> None:
    seen = set()
    for seed in range(300):
        random = Random(seed)
        bank = TermBank()
        if seed % 2:
            system = random_system(random)
        else:
            edges = random_edges(random, cyclic=False)
            system = system_of(edges, [(f"u{number}", ()) for number in range(7)], bank)
        found = sides(system, bank)
        if found is None or not found[0]:
            continue
        assert found[1] == found[2], seed
        seen.add((seed % 2, found[1]))
    assert seen == {(0, False), (0, True), (1, False), (1, True)}
