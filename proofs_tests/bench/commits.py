"""What a commit of the audit loop takes: 10,000 commits of model B as obligations with evidence, each decided by Z3 and recorded.

    python proofs_tests/bench/commits.py auditor      # one proposal after another: labelled, audited twice, committed
    python proofs_tests/bench/commits.py loop         # the whole of Algorithm 1, with a host that draws

Each prints one JSON object. `run.py --part commits` runs both, as processes of their own, and prints them as a table.
Times are of the wall and of the processor (where the machine is busy, judge by the second); memory is what is resident.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import statistics
import sys
import tempfile
from array import array
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from time import perf_counter, process_time

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parent.parent
sys.path[:0] = [str(CHECKOUT), str(CHECKOUT / "dsl")]

from icore_kernel import api  # noqa: E402
from icore_kernel.audit.auditor import Audit, Auditor, Receipt  # noqa: E402
from icore_kernel.audit.frame import Outcome, Parameters  # noqa: E402
from icore_kernel.audit.host import Json, Step  # noqa: E402
from icore_kernel.audit.loop import Loop  # noqa: E402
from icore_kernel.explore.model import State  # noqa: E402
from icore_kernel.hosts.random_host import RandomHost, draw  # noqa: E402
from icore_kernel.prove.commit import CommitSolver, Ruling  # noqa: E402
from icore_kernel.record.store import open_store  # noqa: E402

MODEL = HERE / "models" / "coverage_obligations.icore"
SEED = 1
EARLY = 1_000
"""Memory is read after so many commits, and at the end."""


class Timed(CommitSolver):
    """The commit solver, and what it took of the wall and of the processor, each time."""

    def __init__(self, loaded: api.Loaded) -> None:
        super().__init__(loaded.system, loaded.bank)
        # Arrays: lists of a hundred thousand floats would be seen in the memory that is measured.
        self.wall = array("d")
        self.cpu = array("d")

    def decide(self, before: State, number: int, after: State | None) -> Ruling:
        started, began = perf_counter(), process_time()
        found = super().decide(before, number, after)
        self.wall.append(perf_counter() - started)
        self.cpu.append(process_time() - began)
        return found


class Counted(Auditor):
    """An auditor that counts its commits, and reads the memory after EARLY of them."""

    commits = 0
    early = 0.0

    def commit(self, audit: Audit, *, line: int, round: int, agent: str, phase: str, outside: Mapping[str, Json]) -> tuple[Receipt, ...]:
        found = super().commit(audit, line=line, round=round, agent=agent, phase=phase, outside=outside)
        for _ in found:
            self.commits += 1
            if self.commits == EARLY:
                self.early = resident()
        return found


class Limited(Loop):
    """The loop, until so many commits are made."""

    limit = 0

    def next_round(self) -> bool:
        assert isinstance(self.auditor, Counted)
        return self.auditor.commits < self.limit and super().next_round()


def resident() -> float:
    """Megabytes of this process in memory."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def auditor(counted: Counted, commits: int) -> tuple[Sequence[float], Sequence[float]]:
    """Seconds of each commit (wall, processor): labelling, both audits, the record, the move. Choosing the next is not counted."""
    wall, cpu = array("d"), array("d")
    counted.open({})
    while counted.commits < commits:
        enabled, _ = counted.judge.enabled(counted.state)
        update = counted.system.updates[enabled[draw(len(enabled), SEED, counted.commits)]]
        started, began = perf_counter(), process_time()
        audit = counted.audit(counted.label(update.actor, (Step(update.name),)))
        counted.commit(audit, line=16, round=counted.commits, agent=update.actor, phase="ordinary", outside={})
        assert audit.after is not None
        counted.adopt(audit.after)
        wall.append(perf_counter() - started)
        cpu.append(process_time() - began)
    return wall, cpu


def loop(counted: Counted, commits: int) -> None:
    run = Limited(counted, RandomHost(SEED), Parameters(Fraction(0), 3, 10 * commits))
    run.limit = commits
    outcome = run.run()
    if outcome is not Outcome.INCOMPLETE or counted.commits < commits:
        raise SystemExit(f"the run ended as {outcome.value} after {counted.commits} commits: choose another seed")


def measure(what: str, commits: int, target: str) -> dict[str, object]:
    """One run; seconds, and medians in milliseconds."""
    loaded = api.load(MODEL)
    timed = Timed(loaded)
    with open_store(target) as store:
        counted = Counted(loaded, store, decider=timed)
        started, began = perf_counter(), process_time()
        each: tuple[Sequence[float], Sequence[float]] | None = None
        if what == "auditor":
            each = auditor(counted, commits)
        else:
            loop(counted, commits)
        seconds, cpu = perf_counter() - started, process_time() - began
        late = resident()
        entries, _ = store.head()
    made = counted.commits
    found: dict[str, object] = {
        "what": what, "record": "memory" if target == "memory:" else "file", "commits": made, "entries": entries,
        "seconds": round(seconds, 2), "cpu_seconds": round(cpu, 2),
        "solver_ms": milliseconds(timed.wall), "solver_cpu_ms": milliseconds(timed.cpu), "solver_seconds": round(sum(timed.wall), 2),
        "all_ms": milliseconds(each[0]) if each else round(1000 * seconds / made, 3),
        "all_cpu_ms": milliseconds(each[1]) if each else round(1000 * cpu / made, 3),
        f"mb_at_{EARLY}": round(counted.early, 1), "mb_at_end": round(late, 1),
        "fields": len(loaded.system.fields), "updates": len(loaded.system.updates),
        "clauses": clauses(loaded),
    }  # fmt: skip
    if target != "memory:":
        found["record_mb"] = round(Path(target).stat().st_size / 2**20, 1)
    return found


def milliseconds(times: Sequence[float]) -> float:
    return round(1000 * statistics.median(times), 3)


def clauses(loaded: api.Loaded) -> int:
    """Clauses of the package: those of feasibility, each update schema's of legality, and what the schemas themselves ask for."""
    found = {("", c.label) for c in loaded.system.feasibility}
    for u in loaded.system.updates:
        found |= {(u.schema, c.label) for c in (*u.before, *u.after)}
        own = (("when", u.when), ("requires", u.requires), ("range", u.defined))
        found |= {(u.schema, label) for label, formula in own if not formula.is_true}
    return len(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("auditor", "loop"))
    parser.add_argument("--commits", type=int, default=10_000, metavar="N")
    parser.add_argument("--memory", action="store_true", help="keep the record in memory, not in a file")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        target = "memory:" if asked.memory else str(Path(folder) / "run.jsonl")
        print(json.dumps(measure(asked.what, asked.commits, target)))


if __name__ == "__main__":
    main()
