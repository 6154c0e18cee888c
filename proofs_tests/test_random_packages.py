"""200 random packages with obligations: the reference search, and every engine and reduction on one core and two, find the same."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import pytest
import reference
from explore_lab import assert_agrees
from random_packages import FLAWS, random_package

from icore_kernel import api
from icore_kernel.api import Reduce
from icore_kernel.check.plan import make_plan
from icore_kernel.explore.model import Audited, Rules
from icore_kernel.explore.search import Engine, explore, has_kernel

PIECES = [range(begin, begin + 25) for begin in range(0, 200, 25)]
ENGINES = [(Engine.PYTHON, 1), (Engine.NUMPY, 1), *([(Engine.NATIVE, 1), (Engine.NATIVE, 2)] if has_kernel() else [])]


def drawn_at(seed: int, folder: Path) -> api.Loaded:
    path = folder / "drawn.icore"
    path.write_text(random_package(Random(seed)).text, encoding="utf-8")
    return api.load(path)


def agree(loaded: api.Loaded, met: Counter[str]) -> None:
    system = loaded.system
    watchlist = make_plan(system, loaded.bank).watchlist
    expected = reference.search(system, Audited())
    for engine, cores in ENGINES:
        found = explore(system, watchlist, Rules(keep_graph=True, cores=cores), Audited(), engine)
        assert_agrees(system, watchlist, Audited(), found, expected)
    whole = explore(system, watchlist, engine=Engine.PYTHON)
    met["violated"] += bool(whole.violations) or any(sighting.first is not None for sighting in whole.checks.values())
    met["states"] += whole.states
    # With symmetry every count is that of the whole space; partial order keeps what exists.
    for reduce in (Reduce.SYMMETRY, Reduce.PARTIAL_ORDER, Reduce.ALL):
        found = api.explore(loaded, watchlist=watchlist, reduce=reduce)
        reduction = found.reduction
        met[reduce.value] += reduction is not None
        if reduction is None or not reduction.partial_order:
            for name in ("states", "steps", "levels", "coverage", "refusals", "passed"):
                assert getattr(found, name) == getattr(whole, name), (reduce, name)
            assert {name: s.count for name, s in found.checks.items()} == {name: s.count for name, s in whole.checks.items()}
            assert {name: s.count for name, s in found.seen.items()} == {name: s.count for name, s in whole.seen.items()}
        for name, sighting in whole.checks.items():
            assert (found.checks[name].first is None) is (sighting.first is None), (reduce, name)
        for name, sighting in whole.seen.items():
            assert (found.seen[name].first is None) is (sighting.first is None), (reduce, name)
        assert {(v.schema, v.label) for v in found.violations} == {(v.schema, v.label) for v in whole.violations}
        assert (found.dead_ends.unended > 0) is (whole.dead_ends.unended > 0)


@pytest.mark.parametrize("seeds", PIECES, ids=lambda seeds: f"{seeds.start}-{seeds.stop - 1}")
def test_packages_are_explored_alike_by_everything(seeds: range, tmp_path: Path) -> None:
    met: Counter[str] = Counter()
    for seed in seeds:
        agree(drawn_at(seed, tmp_path), met)
    print(dict(met))
    assert met["violated"] >= 3


@pytest.mark.parametrize("seed", [0, 3, 10, 18])
def test_a_few_packages_are_explored_alike_by_everything(seed: int, tmp_path: Path) -> None:
    agree(drawn_at(seed, tmp_path), Counter())


def test_what_is_drawn() -> None:
    """At least a third with premise chains of three or more; every flaw, symmetry and a few sizes occur. Printed with -s."""
    met: Counter[str] = Counter()
    chains: Counter[int] = Counter()
    for seed in range(200):
        drawn = random_package(Random(seed))
        chains[drawn.chain] += 1
        met["symmetric"] += drawn.symmetric
        met["sound"] += not drawn.flaws
        met.update(drawn.flaws)
    print(f"premise chains: {dict(sorted(chains.items()))}; {dict(met)}")
    assert sum(count for length, count in chains.items() if length >= 3) >= 67
    assert all(met[flaw] >= 8 for flaw in FLAWS)
    assert met["symmetric"] >= 30 and met["sound"] >= 30


def test_at_least_a_third_are_violated(tmp_path: Path) -> None:
    violated = 0
    for seed in range(60):
        loaded = drawn_at(seed, tmp_path)
        found = explore(loaded.system, make_plan(loaded.system, loaded.bank).watchlist)
        violated += bool(found.violations) or any(sighting.first is not None for sighting in found.checks.values())
    print(f"violated: {violated} of 60")
    assert 20 <= violated <= 50
