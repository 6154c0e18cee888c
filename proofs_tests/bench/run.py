"""One command that measures icore beside the installed peers: `python proofs_tests/bench/run.py --size S` (README.md says more).

Every count is compared with the closed form (models) or among the engines (packages) before any time is printed, and a
difference ends the run with status 1. Engines take turns within each repetition, so that a busy machine is busy for all.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import platform
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parent.parent
sys.path[:0] = [str(CHECKOUT), str(CHECKOUT / "dsl"), str(HERE)]

import peers  # noqa: E402
from small import small  # noqa: E402

from icore_kernel import api  # noqa: E402
from icore_kernel.export.write import model  # noqa: E402

TABLE = HERE / "figures.csv"
COLUMNS = (
    "date", "commit", "machine", "cpus", "load", "python", "part", "size", "subject", "settings", "engine", "states", "depth", "repeats",
    "seconds", "fastest", "slowest", "cpu_seconds", "states_per_second", "megabytes", "preparation",
)  # fmt: skip

WITHOUT_KERNEL = "import sys\nsys.modules['icore_kernel.explore._kernel'] = None\nfrom icore_kernel.cli import main\nmain()"


class Different(Exception):
    """Two engines, or an engine and a closed form, do not agree."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A system to explore: its file, its parameters, and its states, steps and depth where they are known in closed form."""

    name: str
    path: Path
    settings: Mapping[str, int]
    states: int | None = None
    steps: int | None = None
    depth: int | None = None

    @property
    def setting_options(self) -> list[str]:
        return [word for name, value in self.settings.items() for word in ("--set", f"{name}={value}")]

    @property
    def setting_text(self) -> str:
        return " ".join(f"{name}={value}" for name, value in self.settings.items())


def ladder_grid(n: int, length: int, m: int) -> Subject:
    k, t = length * (1 + m) + 1, 2 * length * m
    return Subject("A", HERE / "models" / "ladder_grid.icore", {"n": n, "L": length, "m": m}, k**n, n * t * k ** (n - 1), 2 * length * n)


def coverage(n: int, m: int) -> Subject:
    k, t = 4 + 5 * m, 2 + 2 * m + 8 * m * (m - 1)
    return Subject("B", HERE / "models" / "coverage.icore", {"n": n, "m": m}, k**n, n * t * k ** (n - 1), 5 * n)


def decompose(c: int, m: int) -> Subject:
    k, t = 2 + 2 * m, 2 * m + m * (m - 1)
    return Subject("C", HERE / "models" / "decompose.icore", {"c": c, "m": m}, k**c + 2, c * t * k ** (c - 1) + 2, 3 * c + 2)


SIZES = {
    "S": (ladder_grid(5, 3, 2), coverage(4, 3), decompose(5, 4)),
    "M": (ladder_grid(6, 3, 2), coverage(5, 2), decompose(6, 4)),
    "L": (ladder_grid(7, 3, 2), coverage(6, 2), decompose(7, 4)),
}
REALISTIC = {"S": 7, "M": 9, "L": 11}
"""Rungs of examples/dependency_ladder.icore: a package whose guards hang together."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One run of one engine."""

    states: int
    depth: int | None
    seconds: float
    megabytes: float
    cpu: float


@dataclass(frozen=True)
class Engine:
    """A name and a way to run once; `preparation` seconds were spent before."""

    name: str
    once: Callable[[], Measured]
    preparation: float = 0.0


def icore(subject: Subject, command: str, home: Path, *options: str, kernel: bool = True) -> Measured:
    """The whole process of one icore command, with an empty HOME."""
    program = ["-m", "icore_kernel"] if kernel else ["-c", WITHOUT_KERNEL]
    words = [sys.executable, *program, command, str(subject.path), *subject.setting_options, "--format", "json", *options]
    done = peers.run(words, home, limit=3600, environment=environment(home))
    if done.status not in (0, 1):
        raise peers.PeerError(f"icore {command} {subject.path.name}: status {done.status}: {done.output[-2000:]}")
    said = json.loads(done.output)
    space = said if command == "explore" else said["space"]
    if command == "explore" and subject.steps is not None and said["steps"] != subject.steps:
        raise Different(f"{subject.name}: {said['steps']} steps, not {subject.steps}")
    return Measured(int(space["states"]), int(space["depth"]), done.seconds, done.megabytes, done.cpu)


def environment(home: Path) -> dict[str, str]:
    """Modules are compiled once and kept beside the empty HOME, as an installation has them."""
    paths = os.pathsep.join([str(CHECKOUT), str(CHECKOUT / "dsl")])
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**inherited, "HOME": str(home), "PYTHONPATH": paths, "PYTHONPYCACHEPREFIX": str(home / "compiled")}


def warm(home: Path) -> None:
    """Every module that is measured, loaded once."""
    for kernel in (True, False):
        icore(decompose(4, 3), "explore", home, kernel=kernel)
        icore(Subject("DependencyLadder", CHECKOUT / "examples" / "dependency_ladder.icore", {"n": 6}), "check", home, kernel=kernel)


def of_peer(peer: peers.Peer, subject: Subject, folder: Path) -> Engine:
    loaded = api.load(subject.path, settings={name: str(value) for name, value in subject.settings.items()})
    prepared = peer.prepare(peer, model(loaded.system, loaded.bank), folder, "-O3")

    def once() -> Measured:
        found = peer.search(prepared)
        surplus = prepared.surplus
        return Measured(found.states, None if found.depth is None else found.depth - surplus, found.seconds, found.megabytes, found.cpu)

    return Engine(peer.name, once, prepared.seconds)


def measure(subject: Subject, engines: Iterable[Engine], repeats: int) -> dict[str, list[Measured]]:
    """`repeats` runs of each engine, taking turns. Different when a count is not what it must be."""
    every = list(engines)
    found: dict[str, list[Measured]] = {engine.name: [] for engine in every}
    states, depth = subject.states, subject.depth
    for _ in range(repeats):
        for engine in every:
            run = engine.once()
            states = run.states if states is None else states
            depth = run.depth if depth is None else depth
            if run.states != states or run.depth not in (None, depth):
                raise Different(f"{subject.name} by {engine.name}: {run.states} states, depth {run.depth}; not {states} and {depth}")
            found[engine.name].append(run)
    return found


class Book:
    """Prints what was measured and appends it to the table."""

    def __init__(self, table: Path | None) -> None:
        self._table = table
        self._facts = {
            "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M"),
            "commit": commit(),
            "machine": machine(),
            "cpus": str(os.cpu_count()),
            # What others had the machine do in the minute before: above 0.2 or so, times are too long and spread.
            "load": f"{os.getloadavg()[0]:.1f}",
            "python": platform.python_version(),
        }
        print(" · ".join(f"{name} {value}" for name, value in self._facts.items()))

    def enter(self, part: str, size: str, subject: Subject, found: Mapping[str, list[Measured]], preparation: Mapping[str, float]) -> None:
        first = next(iter(found))
        base = statistics.median(run.seconds for run in found[first])
        base_cpu = statistics.median(run.cpu for run in found[first])
        print(f"\n{part} · {subject.name} · {subject.setting_text} · {found[first][0].states:,} states, depth {found[first][0].depth}")
        heads = f"{'median s':>10}{'min':>9}{'max':>9}{'states/s':>13}{'MB':>8}{'ratio':>9}{'CPU s':>9}{'ratio':>9}{'prepared in':>13}"
        print(f"  {'engine':<14}{heads}")
        rows: list[dict[str, str]] = []
        for name, runs in found.items():
            times = [run.seconds for run in runs]
            seconds = statistics.median(times)
            cpu = statistics.median(run.cpu for run in runs)
            rate = runs[0].states / seconds
            memory = statistics.median(run.megabytes for run in runs)
            before = preparation.get(name, 0.0)
            prepared = f"{before:.1f} s" if before else ""
            print(f"  {name:<14}{seconds:>10.3f}{min(times):>9.3f}{max(times):>9.3f}", end="")
            print(f"{rate:>13,.0f}{memory:>8.0f}{seconds / base:>9.2f}{cpu:>9.3f}{cpu / base_cpu:>9.2f}{prepared:>13}", flush=True)
            rows.append(
                {
                    **self._facts, "part": part, "size": size, "subject": subject.name, "settings": subject.setting_text, "engine": name,
                    "states": str(runs[0].states), "depth": str(runs[0].depth), "repeats": str(len(runs)), "seconds": f"{seconds:.4f}",
                    "fastest": f"{min(times):.4f}", "slowest": f"{max(times):.4f}",
                    "cpu_seconds": f"{cpu:.4f}", "states_per_second": f"{rate:.0f}",
                    "megabytes": f"{memory:.0f}", "preparation": f"{before:.2f}",
                }
            )  # fmt: skip
        if self._table is not None:
            fresh = not self._table.exists()
            with self._table.open("a", encoding="utf-8", newline="") as file:
                writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
                if fresh:
                    writer.writeheader()
                writer.writerows(rows)


def machine() -> str:
    """The processor's name and the memory, as far as the system tells."""
    name = platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [line.partition(":")[2].strip() for line in cpuinfo.read_text().splitlines() if line.startswith("model name")]
        name = names[0] if names else name
    gigabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{name}, {gigabytes:.0f} GB"


def commit() -> str:
    done = peers.run(("git", "rev-parse", "--short", "HEAD"), CHECKOUT)
    return done.output.strip() if done.status == 0 else "unknown"


def chosen(wanted: str | None, size: str) -> list[str]:
    """Names of engines. By default all that are installed; Maude, a minute a model at size S, is left out above it."""
    if wanted is not None:
        return wanted.split(",")
    return ["icore", "icore-2", "icore-numpy", *(peer.name for peer in peers.EVERY if size == "S" or peer is not peers.MAUDE)]


def exploration(size: str, names: list[str], repeats: int, book: Book, home: Path, models: list[str]) -> None:
    for subject in SIZES[size]:
        if subject.name not in models:
            continue
        with ExitStack() as stack:
            engines: list[Engine] = []
            for name, cores in (("icore", "1"), ("icore-2", "2")):
                if name in names:
                    engines.append(Engine(name, lambda s=subject, n=cores: icore(s, "explore", home, "--cores", n)))
            if "icore-numpy" in names:
                engines.append(Engine("icore-numpy", lambda s=subject: icore(s, "explore", home, kernel=False)))
            for peer in peers.EVERY:
                if peer.name not in names:
                    continue
                missing = peer.missing()
                if missing is not None:
                    print(f"skipped: {peer.name}: {missing}")
                    continue
                engines.append(of_peer(peer, subject, Path(stack.enter_context(tempfile.TemporaryDirectory()))))
            found = measure(subject, engines, repeats)
            book.enter("exploration", size, subject, found, {engine.name: engine.preparation for engine in engines})


def with_checks(size: str, repeats: int, book: Book, home: Path) -> None:
    """All that `icore check` does beside bare exploration of the same package."""
    subject = Subject("DependencyLadder", CHECKOUT / "examples" / "dependency_ladder.icore", {"n": REALISTIC[size]})
    bare = Engine("explore", lambda: icore(subject, "explore", home))
    full = Engine("check", lambda: icore(subject, "check", home))
    book.enter("checks", size, subject, measure(subject, (bare, full), repeats), {})


def disk(size: str, repeats: int, book: Book, home: Path) -> None:
    """With less memory than the states take: they lie on disk. The bound is 150 MB at size L, half of what it takes."""
    bound = "150MB" if size == "L" else "60MB"
    for subject in SIZES[size]:
        free = Engine("in memory", lambda s=subject: icore(s, "explore", home, "--cores", "1"))
        bound_to = Engine(f"in {bound}", lambda s=subject: icore(s, "explore", home, "--cores", "1", "--max-memory", bound))
        book.enter("disk", size, subject, measure(subject, (free, bound_to), repeats), {})


def start_up(repeats: int, book: Book, home: Path) -> None:
    """`icore check` on the example with the fewest states, and what Python itself takes to start."""
    subject = Subject("RepairVerification", CHECKOUT / "examples" / "repair_verification.icore", {})
    states = icore(subject, "check", home)

    def interpreter() -> Measured:
        done = peers.run((sys.executable, "-c", "pass"), home, environment=environment(home))
        return Measured(states.states, states.depth, done.seconds, done.megabytes, done.cpu)

    def helped() -> Measured:
        done = peers.run((sys.executable, "-m", "icore_kernel", "--help"), home, environment=environment(home))
        return Measured(states.states, states.depth, done.seconds, done.megabytes, done.cpu)

    engines = (Engine("check", lambda: icore(subject, "check", home)), Engine("--help", helped), Engine("bare Python", interpreter))
    book.enter("start-up", "", subject, measure(subject, engines, repeats), {})


def commits(repeats: int, home: Path) -> None:
    """Commits of the audit loop (commits.py), alone and in the whole loop, each run a process of its own."""
    heads = ("solver ms", "CPU", "all ms", "CPU", "total s", "CPU", "MB at 1,000", "at the end", "record MB")
    print(f"\ncommits · model B as obligations with evidence · {repeats} runs each, medians")
    print(f"  {'':<10}{'commits':>9}" + "".join(f"{head:>13}" for head in heads))
    for what in ("auditor", "loop"):
        runs = []
        for _ in range(repeats):
            words = (sys.executable, str(HERE / "commits.py"), what)
            done = peers.run(words, home, limit=3600, environment=environment(home))
            if done.status != 0:
                raise peers.PeerError(f"commits.py {what}: status {done.status}: {done.output[-2000:]}")
            runs.append(json.loads(done.output))
        keys = ("solver_ms", "solver_cpu_ms", "all_ms", "all_cpu_ms", "seconds", "cpu_seconds", "mb_at_1000", "mb_at_end", "record_mb")
        shown = "".join(f"{statistics.median(run[key] for run in runs):>13.3f}" for key in keys)
        print(f"  {what:<10}{runs[0]['commits']:>9,}{shown}", flush=True)
    print(f"  {runs[0]['fields']} fields, {runs[0]['updates']} ground updates, {runs[0]['clauses']} clauses")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=tuple(SIZES), default="S")
    parser.add_argument(
        "--engines", metavar="NAME,...", help="icore, icore-2, icore-numpy, spin, rumur, maude, tlc, nusmv (default: what is installed)"
    )
    parser.add_argument("--repeat", type=int, default=5, metavar="N")
    parser.add_argument("--part", choices=("all", "exploration", "checks", "start-up", "commits", "small", "disk"), default="all")
    parser.add_argument("--models", metavar="A,B,C", default="A,B,C", help="which of the models (default: all)")
    parser.add_argument("--no-table", action="store_true", help="do not append to figures.csv")
    asked = parser.parse_args()
    names = chosen(asked.engines, asked.size)
    unknown = set(names) - {"icore", "icore-2", "icore-numpy", *(peer.name for peer in peers.EVERY)}
    if unknown or asked.repeat < 1:
        parser.error(f"there is no engine {', '.join(sorted(unknown))}" if unknown else "--repeat is at least 1")
    book = Book(None if asked.no_table else TABLE)
    try:
        with tempfile.TemporaryDirectory() as folder:
            home = Path(folder)
            warm(home)
            if asked.part in ("all", "exploration"):
                exploration(asked.size, names, asked.repeat, book, home, asked.models.split(","))
            if asked.part in ("all", "checks"):
                with_checks(asked.size, asked.repeat, book, home)
            if asked.part in ("all", "start-up"):
                start_up(asked.repeat, book, home)
            if asked.part in ("all", "commits"):
                commits(asked.repeat, home)
            if asked.part in ("all", "small"):
                small()
            if asked.part in ("all", "disk"):
                disk(asked.size, asked.repeat, book, home)
    except Different as wrong:
        sys.exit(f"DIFFERENT: {wrong}")


if __name__ == "__main__":
    main()
