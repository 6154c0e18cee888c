"""The Python API, as small as the command line.

    from icore_kernel import api
    loaded = api.load("examples/release_pipeline.icore")
    report = api.check(loaded)
    report.verdict            # Verdict.HOLDS, PROVED, VIOLATED or UNKNOWN: it has no truth value
    api.explore(loaded).states

`load` raises InputError (a wrong declaration) or UsageError (a wrong setting); `check` raises UsageError for a name that
does not exist. Neither prints, and neither keeps anything between calls.
"""

from __future__ import annotations

from icore_kernel.check.run import check
from icore_kernel.explore.model import CheckpointError, Exploration, Rules, Watchlist
from icore_kernel.explore.search import explore as _explore
from icore_kernel.load import InputError, Loaded, UsageError, load, load_theory
from icore_kernel.verdict import Assurance, ExitStatus, Finding, Report, Result, Run, Verdict

NO_RULES = Rules()
NOTHING = Watchlist()


def explore(loaded: Loaded, *, rules: Rules = NO_RULES, watchlist: Watchlist = NOTHING) -> Exploration:
    """The audited state space of a loaded package: exact counts, or a part of it when a rule stops the search.

    CheckpointError where `rules.checkpoints` does not fit.
    """
    return _explore(loaded.system, watchlist, rules)


__all__ = [
    "Assurance", "CheckpointError", "ExitStatus", "Exploration", "Finding", "InputError", "Loaded", "Report", "Result", "Rules", "Run",
    "UsageError", "Verdict", "Watchlist", "check", "explore", "load", "load_theory",
]  # fmt: skip
