"""`icore explore` as JSON, schemas `icore.explore/1`, `icore.simulate/1` and `icore.trace/1` (SCHEMA.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from icore_kernel.explore.memory import peak
from icore_kernel.explore.model import Coverage, Exploration, Reduction, Unaudited
from icore_kernel.report.json import Record, run_record
from icore_kernel.system import System
from icore_kernel.verdict import Run
from icore_kernel.version import VERSION

if TYPE_CHECKING:
    from icore_kernel.explore.simulate import Simulation

EXPLORE = "icore.explore/1"
SIMULATE = "icore.simulate/1"
TRACE = "icore.trace/1"


def _package(schema: str, system: System, settings: Mapping[str, str]) -> Record:
    return {
        "schema": schema,
        "icore": VERSION,
        "package": system.name,
        "version": system.version,
        "settings": dict(settings),
        "fields_digest": system.fields_digest,
    }


def _updates(system: System, coverage: Sequence[Coverage]) -> list[Record]:
    return [
        {
            "update": update.name,
            "schema": update.schema,
            "enabled": covered.enabled,
            "committable": covered.committable,
            "committed": covered.committed,
        }
        for update, covered in zip(system.updates, coverage, strict=True)
    ]


def never_fired(system: System, coverage: Sequence[Coverage]) -> list[str]:
    """The schemas none of whose ground updates committed."""
    fired = {update.schema for update, covered in zip(system.updates, coverage, strict=True) if covered.committed}
    return [name for name in dict.fromkeys([*system.silent, *(update.schema for update in system.updates)]) if name not in fired]


def exploration_record(exploration: Exploration, settings: Mapping[str, str]) -> Record:
    system = exploration.system
    return {
        **_package(EXPLORE, system, settings),
        "mode": "unaudited" if isinstance(exploration.mode, Unaudited) else "audited",
        "engine": exploration.engine,
        "states": exploration.states,
        "steps": exploration.steps,
        "stutters": exploration.stutters,
        "depth": exploration.depth,
        "levels": list(exploration.levels),
        "updates": _updates(system, exploration.coverage),
        "never_fired": never_fired(system, exploration.coverage),
        "peak_memory": peak(),
        "stopped": exploration.stopped,
        "reduction": reduction_record(exploration.reduction),
        "seconds": exploration.seconds,
    }


def reduction_record(reduction: Reduction | None) -> Record | None:
    if reduction is None:
        return None
    return {
        "symmetry": [list(members) for _, members in reduction.sets],
        "permutations": reduction.group,
        "partial_order": reduction.partial_order,
        "stored": reduction.stored,
        "left_out": reduction.cut,
        "said": reduction.said(),
    }


def simulation_record(found: Simulation, names: Mapping[str, str], runs: Mapping[int, Run], settings: Mapping[str, str]) -> Record:
    """`names` of checks by id; `runs` by place in `broken`."""
    broken = [
        {
            "name": names.get(one.name, one.name),
            "update": None if one.update is None else found.system.updates[one.update].name,
            "fails": one.label or None,
            "visits": one.times,
            "number": one.number,
            "run": run_record(runs[place]),
        }
        for place, one in enumerate(found.broken)
    ]
    return {
        **_package(SIMULATE, found.system, settings),
        "verdict": "violated" if broken else "unknown",
        "assurance": "observed",
        "seed": found.seed,
        "asked": found.asked,
        "length": found.length,
        "runs": found.runs,
        "steps": found.steps,
        "longest": found.longest,
        "states": found.states,
        "more_states": found.more,
        "endings": dict(found.endings),
        "updates": _updates(found.system, found.coverage),
        "broken": broken,
        "stopped": found.stopped,
        "seconds": found.seconds,
    }


def trace_record(exploration: Exploration, formula: str, run: Run | None, settings: Mapping[str, str]) -> Record:
    complete = exploration.stopped is None
    return {
        **_package(TRACE, exploration.system, settings),
        "formula": formula,
        "reached": True if run is not None else False if complete else None,
        "run": None if run is None else run_record(run),
        "states": exploration.states,
        "stopped": None if run is not None else exploration.stopped,
        "seconds": exploration.seconds,
    }
