"""`explore`: one search, by whichever engine suits. All give the same counts, and first finds of the same depth."""

from __future__ import annotations

from enum import Enum

from icore_kernel.explore.model import Audited, Exploration, Mode, Rules, Watchlist
from icore_kernel.explore.scalar_search import ScalarSearch, TooMany
from icore_kernel.explore.tally import Clock
from icore_kernel.system import System

_NOTHING = Watchlist()
_NO_RULES = Rules()
_AUDITED = Audited()

SMALL = 2000
"""Up to this many states plain Python is faster than NumPy's start-up and its many small arrays."""

SMALL_FOR_KERNEL = 200
"""The same beside the C kernel, which needs some hundredths of a second to begin."""

MANY = 60
"""With more ground updates than these the kernel begins: plain Python compiles each of them before it has seen a hundred states."""


class Engine(Enum):
    """AUTO begins in plain Python and begins again above SMALL_FOR_KERNEL states by the C kernel where it is installed, else above
    SMALL by NumPy; of more than MANY ground updates the kernel takes all."""

    AUTO = "auto"
    PYTHON = "python"
    NUMPY = "numpy"
    NATIVE = "native"


EDITION = 8
"""Of the C kernel, as in csrc/module.c: one that was built from other sources is left alone."""


def has_kernel() -> bool:
    """Whether the C kernel is installed, and fits."""
    try:
        from icore_kernel.explore import _kernel
    except ImportError:
        return False
    return getattr(_kernel, "EDITION", 0) == EDITION


def explore(
    system: System,
    watchlist: Watchlist = _NOTHING,
    rules: Rules = _NO_RULES,
    mode: Mode = _AUDITED,
    engine: Engine = Engine.AUTO,
) -> Exploration:
    """Search the reachable states breadth-first and report what the watchlist asks for (model.py).

    ValueError for a watchlist that uses one id twice, or a field too wide for a block search. Where NATIVE is asked for: ImportError
    without the C kernel, Unsupported for a term that it has no circuit for (AUTO then takes NumPy). CheckpointError for a folder of
    checkpoints that does not fit; the search in plain Python writes none.
    """
    for ids in (
        [name for name, _ in (*watchlist.checks, *watchlist.seen)],
        [measure.name for measure in watchlist.minimums],
    ):
        twice = sorted({name for name in ids if ids.count(name) > 1})
        if twice:
            raise ValueError(f"the watchlist uses an id twice: {', '.join(twice)}")
    clock = Clock(rules)
    plain = engine is Engine.PYTHON or (engine is Engine.AUTO and not (len(system.updates) > MANY and has_kernel()))
    if plain and rules.checkpoints is None:
        try:
            if engine is Engine.PYTHON:
                return ScalarSearch(system, watchlist, rules, mode, clock).run()
            # The kernel is not loaded before it is needed.
            return ScalarSearch(system, watchlist, rules, mode, clock, SMALL_FOR_KERNEL, lambda: 0 if has_kernel() else SMALL).run()
        except TooMany:
            pass
    # NumPy is imported only when it is needed: it takes a tenth of a second.
    if engine is Engine.NATIVE or (engine is Engine.AUTO and has_kernel() and _by_kernel(rules)):
        from icore_kernel.explore.blasting import Unsupported
        from icore_kernel.explore.native import explore_native

        try:
            return explore_native(system, watchlist, rules, mode, clock)
        except Unsupported:
            if engine is Engine.NATIVE:
                raise
    from icore_kernel.explore.block_search import explore_blocks

    return explore_blocks(system, watchlist, rules, mode, clock)


def _by_kernel(rules: Rules) -> bool:
    """Whether the kernel may do it as far as checkpoints are concerned: it keeps none of steps, and each engine resumes its own."""
    if rules.checkpoints is None:
        return True
    if not rules.checkpoints.resume:
        return not rules.keep_graph
    from icore_kernel.explore.checkpoint import engine_of

    return engine_of(rules.checkpoints.folder) == "native"
