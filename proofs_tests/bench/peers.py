"""The peers as programs: whether they are installed, and what they find in an exported model.

Times are of whole processes, by the monotonic clock; memory is the peak of the process that searches (`ru_maxrss`).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from icore_kernel.export.model import Model
from icore_kernel.export.write import PEERS, configuration, module_name


class PeerError(Exception):
    """A peer did not accept the model, or its answer could not be read: the message holds what it printed."""


@dataclass(frozen=True, slots=True)
class Finished:
    """A process that has ended: what it printed (both streams), its status, seconds, peak memory in MB, seconds of processor time."""

    output: str
    status: int
    seconds: float
    megabytes: float
    cpu: float


@dataclass(frozen=True, slots=True)
class Found:
    """What a peer said: distinct states (icore's way of counting), depth where it prints one, and what the run took."""

    states: int
    depth: int | None
    seconds: float
    megabytes: float
    cpu: float


@dataclass(frozen=True, slots=True)
class Prepared:
    """A model that is ready to be searched, again and again, by `command`; `seconds` were spent on it (compilers included)."""

    peer: Peer
    command: tuple[str, ...]
    folder: Path
    typed: str
    surplus: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Peer:
    """One peer: its name, what it reads (a key of PEERS), and how it is prepared and understood."""

    name: str
    language: str
    missing: Callable[[], str | None]
    """Why it cannot run here, or None."""
    prepare: Callable[[Peer, Model, Path, str], Prepared]
    """Write and compile a model in a folder; the text is gcc's optimisation."""
    states: str
    """A regular expression whose last match holds the number of states."""
    depth: str | None = None

    def search(self, prepared: Prepared, limit: float = 3600) -> Found:
        done = run(prepared.command, prepared.folder, prepared.typed, limit)
        depth = None if self.depth is None else int(last(self.depth, done.output))
        return Found(int(last(self.states, done.output)) - prepared.surplus, depth, done.seconds, done.megabytes, done.cpu)


def run(
    command: Sequence[str], folder: Path, typed: str = "", limit: float = 600, environment: Mapping[str, str] | None = None
) -> Finished:
    """Run one process to its end, in this environment or in `environment`. PeerError when it takes longer than `limit` seconds."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as output:
        given.write(typed.encode())
        given.seek(0)
        started = time.perf_counter()
        process = subprocess.Popen(command, cwd=folder, env=environment, stdin=given, stdout=output, stderr=subprocess.STDOUT)
        while True:
            pid, status, used = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            if time.perf_counter() - started > limit:
                process.kill()
                process.wait()
                raise PeerError(f"{command[0]} took longer than {limit:.0f} s")
            time.sleep(0.001)
        seconds = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        return Finished(
            output.read().decode(errors="replace"), process.returncode, seconds, used.ru_maxrss / 1024, used.ru_utime + used.ru_stime
        )


def last(pattern: str, output: str) -> str:
    """The last match of a pattern's group, without commas. PeerError when there is none."""
    found = re.findall(pattern, output)
    if not found:
        raise PeerError(f"no {pattern!r} in: {output[-2000:]}")
    return str(found[-1]).replace(",", "")


def must(command: Sequence[str], folder: Path) -> Finished:
    """A step that has to succeed: PeerError with what it printed when it does not."""
    done = run(command, folder)
    if done.status != 0:
        raise PeerError(f"{' '.join(command)}: {done.output[-2000:]}")
    return done


def without(*programs: str) -> Callable[[], str | None]:
    def missing() -> str | None:
        absent = [program for program in programs if shutil.which(program) is None]
        return f"not installed: {', '.join(absent)}" if absent else None

    return missing


def variable_unset(variable: str, *programs: str) -> Callable[[], str | None]:
    def missing() -> str | None:
        place = os.environ.get(variable)
        if not place:
            return f"{variable} does not point to it"
        if not Path(place).exists():
            return f"{variable} points to {place}, which does not exist"
        return without(*programs)()

    return missing


def _surplus(model: Model) -> int:
    """SPIN and Maude begin in a state of their own where they have to choose among initial states."""
    return int(len(model.initial_states()) > 1)


def prepare_spin(peer: Peer, model: Model, folder: Path, optimise: str = "-O3") -> Prepared:
    started = time.perf_counter()
    (folder / "model.pml").write_text(PEERS["promela"](model), encoding="utf-8")
    must(("spin", "-a", "model.pml"), folder)
    flags = ("-DSAFETY", "-DNOREDUCE", "-DNOFAIR", "-DBFS", f"-DVECTORSZ={_vector(model)}")
    must(("gcc", optimise, "-w", *flags, "-o", "pan", "pan.c"), folder)
    return Prepared(peer, (str(folder / "pan"), "-w25"), folder, "", _surplus(model), time.perf_counter() - started)


def _vector(model: Model) -> int:
    """SPIN's greatest state, in bytes: its default, unless the model is larger."""
    return max(1024, 8 * len(model.system.fields) + 2048)


def prepare_rumur(peer: Peer, model: Model, folder: Path, optimise: str = "-O3") -> Prepared:
    started = time.perf_counter()
    (folder / "model.m").write_text(PEERS["murphi"](model), encoding="utf-8")
    must(("rumur", "--deadlock-detection", "off", "--value-type", "int32_t", "--threads", "1", "--output", "rumur.c", "model.m"), folder)
    must(("gcc", optimise, "-w", "-march=native", "-mcx16", "-o", "search", "rumur.c", "-lpthread", "-latomic"), folder)
    return Prepared(peer, (str(folder / "search"),), folder, "", 0, time.perf_counter() - started)


def prepare_maude(peer: Peer, model: Model, folder: Path, optimise: str = "-O3") -> Prepared:
    started = time.perf_counter()
    (folder / "model.maude").write_text(PEERS["maude"](model), encoding="utf-8")
    command = ("maude", "-no-banner", "-no-advise", str(folder / "model.maude"))
    typed = "search start =>* S:State such that false .\nquit\n"
    return Prepared(peer, command, folder, typed, _surplus(model), time.perf_counter() - started)


def prepare_tlc(peer: Peer, model: Model, folder: Path, optimise: str = "-O3") -> Prepared:
    started = time.perf_counter()
    name = module_name(model.system)
    (folder / f"{name}.tla").write_text(PEERS["tla"](model), encoding="utf-8")
    # Without the invariants: a violated one would end the count.
    wanted = [line for line in configuration(model).splitlines() if not line.startswith("INVARIANT")]
    (folder / f"{name}.cfg").write_text("\n".join(wanted) + "\n", encoding="utf-8")
    jar = os.environ["ICORE_TLC_JAR"]
    command = ("java", "-XX:+UseParallelGC", "-cp", jar, "tlc2.TLC", "-workers", "1", f"{name}.tla")
    return Prepared(peer, command, folder, "", 0, time.perf_counter() - started)


def prepare_nusmv(peer: Peer, model: Model, folder: Path, optimise: str = "-O3") -> Prepared:
    started = time.perf_counter()
    (folder / "model.smv").write_text(PEERS["smv"](model), encoding="utf-8")
    command = (os.environ["ICORE_NUSMV"], "-int", "model.smv")
    return Prepared(peer, command, folder, "go\nprint_reachable_states\nquit\n", 0, time.perf_counter() - started)


SPIN = Peer("spin", "promela", without("spin", "gcc"), prepare_spin, r"(\d+) states, stored", r"depth reached (\d+)")
RUMUR = Peer("rumur", "murphi", without("rumur", "gcc"), prepare_rumur, r"(\d+) states?, ")
MAUDE = Peer("maude", "maude", without("maude"), prepare_maude, r"states: (\d+)")
TLC = Peer("tlc", "tla", variable_unset("ICORE_TLC_JAR", "java"), prepare_tlc, r"([\d,]+) distinct states found")
NUSMV = Peer("nusmv", "smv", variable_unset("ICORE_NUSMV"), prepare_nusmv, r"reachable states: (\d+)")

EVERY = (SPIN, RUMUR, MAUDE, TLC, NUSMV)
