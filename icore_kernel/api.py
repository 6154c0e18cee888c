"""The Python API, as small as the command line.

    from icore_kernel import api
    loaded = api.load("examples/release_pipeline.icore")
    report = api.check(loaded)
    report.verdict            # Verdict.HOLDS, PROVED, VIOLATED or UNKNOWN: it has no truth value
    api.explore(loaded).states
    with api.audit_session(loaded, "run.jsonl") as run:   # every proposal is verified, then committed and recorded
        run.propose("assign(ana, compile)")               # or raises api.Refused
    api.run_host(loaded, host, "other.jsonl")             # the whole loop, with a host of yours: its outcome

`load` raises InputError (a wrong declaration), UsageError (a wrong setting) or OutOfTime (after its `seconds`); `check` raises
UsageError for a name that does not exist. Neither prints, and neither keeps anything between calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from icore_kernel.check.reductions import Reduce
from icore_kernel.check.run import check
from icore_kernel.explore.model import Audited, CheckpointError, Exploration, Rules, Watchlist
from icore_kernel.explore.search import explore as _explore
from icore_kernel.load import InputError, Loaded, OutOfTime, UsageError, load, load_theory
from icore_kernel.system import PropertyKind
from icore_kernel.verdict import Assurance, ExitStatus, Finding, Report, Result, Run, Verdict

if TYPE_CHECKING:
    from icore_kernel.audit.hosted import run_host
    from icore_kernel.audit.session import Refused, Session
    from icore_kernel.audit.session import open_session as audit_session

NO_RULES = Rules()
NOTHING = Watchlist()


def explore(loaded: Loaded, *, rules: Rules = NO_RULES, watchlist: Watchlist = NOTHING, reduce: Reduce = Reduce.NONE) -> Exploration:
    """The audited state space of a loaded package: exact counts, or a part of it when a rule stops the search.

    `reduce` says which reductions may be used; what they did is in `reduction` (with partial order, counts are of the states
    visited). CheckpointError where `rules.checkpoints` does not fit.
    """
    if reduce.partial_order or (reduce.symmetry and any(p.kind is PropertyKind.SYMMETRY for p in loaded.system.properties)):
        from icore_kernel.check.reduced import choose, search

        return search(loaded, watchlist, rules, Audited(), choose(loaded, watchlist, Audited(), rules, reduce, only=True))
    return _explore(loaded.system, watchlist, rules)


_AUDIT = {
    "audit_session": ("session", "open_session"),
    "Refused": ("session", "Refused"),
    "Session": ("session", "Session"),
    "run_host": ("hosted", "run_host"),
}


def __getattr__(name: str) -> object:
    """The audit layer is imported when it is asked for: a check needs neither records nor its solver."""
    if name not in _AUDIT:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module, own = _AUDIT[name]
    found: object = getattr(import_module(f"icore_kernel.audit.{module}"), own)
    return found


def __dir__() -> list[str]:
    """With what is imported when it is asked for."""
    return sorted({*globals(), *_AUDIT})


__all__ = [
    "Assurance", "CheckpointError", "ExitStatus", "Exploration", "Finding", "InputError", "Loaded", "OutOfTime", "Reduce", "Refused",
    "Report", "Result", "Rules", "Run", "Session", "UsageError", "Verdict", "Watchlist", "audit_session", "check", "explore", "load",
    "load_theory", "run_host",
]  # fmt: skip
