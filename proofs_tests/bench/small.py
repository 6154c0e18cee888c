"""Packages of about a hundred states: the search as `icore` chooses it beside the one that is told to be in plain Python, in one process.

The first explorer was the plain one. The two take turns; what is given is the ratio of the medians of processor time.
"""

from __future__ import annotations

import statistics
import time
from pathlib import Path

from icore_kernel import api
from icore_kernel.explore.search import Engine, explore

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parent.parent / "examples"

SMALL = (
    (HERE / "models" / "decompose.icore", {"c": "2", "m": "4"}),
    (EXAMPLES / "code_change_broken.icore", {}),
    (EXAMPLES / "dependency_ladder_broken.icore", {}),
)
REPEATS = 41


def small() -> None:
    print("\nsmall · seconds of processor time of the search alone, medians of", REPEATS)
    for path, settings in SMALL:
        system = api.load(path, settings=settings).system
        times: dict[Engine, list[float]] = {Engine.AUTO: [], Engine.PYTHON: []}
        states = explore(system).states
        for _ in range(REPEATS):
            for engine, own in times.items():
                begun = time.process_time()
                explore(system, engine=engine)
                own.append(time.process_time() - begun)
        chosen, plain = (statistics.median(own) for own in times.values())
        print(f"  {path.stem:<28}{states:>6} states  chosen {chosen:.4f}  plain {plain:.4f}  ratio {chosen / plain:.2f}", flush=True)
