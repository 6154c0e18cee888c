"""One core and two, memory and disk: where the states of a search by the C kernel lie and who makes them changes nothing it finds."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from conftest import CHECKOUT, Icore
from strategies_systems import random_system, random_watchlist
from systems_by_hand import Draft, counters
from test_native import assert_same

from icore_kernel import api
from icore_kernel.explore import memory
from icore_kernel.explore.model import Audited, Exploration, Rules, Watchlist
from icore_kernel.explore.search import SMALL_FOR_KERNEL, Engine, explore, has_kernel
from icore_kernel.system import Clause, System

pytestmark = pytest.mark.skipif(not has_kernel(), reason="the C kernel is not installed")
NOTHING = Watchlist()
Make = Callable[[int, int], System]
COUNTED = ("states", "steps", "stutters", "levels", "coverage", "refusals", "violations", "checks", "seen", "dead_ends", "stopped")


def found(system: System, rules: Rules, watchlist: Watchlist = NOTHING, blocks: int = 5) -> Exploration:
    """By the kernel, so many blocks a call."""
    from icore_kernel.explore.native import explore_native
    from icore_kernel.explore.tally import Clock

    return explore_native(system, watchlist, rules, Audited(), Clock(rules), blocks)


def rows(exploration: Exploration) -> tuple[bytes, bytes]:
    """The words of all states in the order of their numbers, and the state that each was first reached from."""
    from icore_kernel.explore import _kernel

    search = exploration.store._search  # type: ignore[attr-defined]
    return _kernel.states(search, 0, exploration.states), _kernel.origins(search, 0, exploration.states)[0]


def assert_alike(one: Exploration, other: Exploration) -> None:
    for name in COUNTED:
        assert getattr(one, name) == getattr(other, name), name
    assert rows(one) == rows(other)


def wide_counters(count: int, size: int) -> System:
    """As `counters`, and between each two 62 bits that nothing reads or writes: states of several words."""
    draft = Draft(*[(0, size - 1), (0, 2**62 - 1)] * count)
    return draft.system([draft.tick(2 * place) for place in range(count)])


# ---- two cores ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [counters, wide_counters])
@pytest.mark.parametrize("blocks", [1, 3, 100])
def test_two_cores_number_every_state_as_one_does(make: Make, blocks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # 8**5 states, 5 * 7 * 8**4 steps; the widest level has 2,460 or so, which is two blocks.
    monkeypatch.setattr("icore_kernel.explore.native._WIDE", 0)
    system = make(5, 8)
    one, two = (found(system, Rules(cores=cores), blocks=blocks) for cores in (1, 2))
    assert (one.states, one.steps, one.depth) == (8**5, 5 * 7 * 8**4, 35)
    assert_alike(one, two)


def test_a_wide_search_on_two_cores_has_its_closed_form() -> None:
    # Levels of up to 20,000 states: as many as are given to two threads without being told.
    one, two = (found(counters(6, 8), Rules(cores=cores), blocks=20) for cores in (1, 2))
    assert (one.states, one.steps, one.depth) == (8**6, 6 * 7 * 8**5, 42)
    assert_alike(one, two)


@pytest.mark.parametrize("most", [1, 2, 700, 2048, 2049, 5000, 12345, 20000])
def test_two_cores_stop_where_one_does(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("icore_kernel.explore.native._WIDE", 0)
    one, two = (found(counters(5, 8), Rules(cores=cores, max_states=most)) for cores in (1, 2))
    assert (one.states, one.stopped) == (most, f"max-states {most}")
    assert_alike(one, two)


def test_two_cores_see_first_what_one_does(monkeypatch: pytest.MonkeyPatch) -> None:
    # Every value of every counter is first reached along that counter alone.
    monkeypatch.setattr("icore_kernel.explore.native._WIDE", 0)
    draft = Draft(*[(0, 7)] * 5)
    system = draft.system([draft.tick(place) for place in range(5)])
    seen = tuple((f"c{place}={value}", draft.bank.eq(draft.x(place), draft.n(value))) for place in range(5) for value in (3, 7))
    watchlist = Watchlist(seen=seen, ends=(draft.bank.eq(draft.x(0), draft.n(0)),))
    one, two = (found(system, Rules(cores=cores), watchlist) for cores in (1, 2))
    assert {name: sighting.count for name, sighting in one.seen.items()} == {name: 8**4 for name, _ in seen}
    assert (one.dead_ends.quiet, one.dead_ends.unended) == (1, 1)
    assert_alike(one, two)
    stopped = [found(system, Rules(cores=cores, stop_on=frozenset({"c4=7"})), watchlist) for cores in (1, 2)]
    assert stopped[0].stopped == "reached c4=7"
    assert_alike(*stopped)


def test_random_systems_on_two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("icore_kernel.explore.native._WIDE", 0)
    for seed in range(60):
        random = Random(seed)
        system = random_system(random)
        watchlist = random_watchlist(system, random)
        two = found(system, Rules(cores=2), watchlist)
        assert_same(two, explore(system, watchlist, engine=Engine.PYTHON))


def test_the_command_line_says_the_same_for_any_number_of_cores(icore: Icore) -> None:
    model = CHECKOUT / "proofs_tests" / "bench" / "models" / "decompose.icore"
    said = []
    for cores in ("1", "2", "7"):
        record = json.loads(icore("explore", str(model), "--set", "c=5", "--format", "json", "--cores", cores).stdout)
        said.append({name: value for name, value in record.items() if name != "seconds"})
    assert said[0]["states"] == 10**5 + 2
    assert said[0] == said[1] == said[2]
    assert icore("explore", str(model), "--cores", "0").returncode == 2


# ---- the disk -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cores", [1, 2])
@pytest.mark.parametrize("make", [counters, wide_counters])
def test_states_on_disk_are_those_in_memory(make: Make, cores: int) -> None:
    # 6**7 = 279,936 states: more than one piece of the store, so that some are moved to the disk and some begin there.
    system = make(7, 6)
    spilled = found(system, Rules(spill_at=1, cores=cores), blocks=20)
    assert (spilled.states, spilled.steps, spilled.depth) == (6**7, 7 * 5 * 6**6, 35)
    assert spilled.engine == "native, spilled to disk"
    kept = found(system, Rules(cores=1), blocks=20)
    assert kept.engine == "native"
    assert_alike(kept, spilled)


def test_what_is_judged_and_kept_is_the_same_on_disk() -> None:
    # Four counters of 12 may not all be at their ends: 12**4 - 1 states; the table grows, and the first piece goes to the disk.
    draft = Draft(*[(0, 11)] * 4)
    bank = draft.bank
    full = bank.and_(*(bank.eq(draft.x(place), draft.n(11)) for place in range(4)))
    system = draft.system([draft.tick(place) for place in range(4)], feasibility=(Clause("A.4(1)", bank.not_(full)),))
    spilled, kept = (found(system, Rules(spill_at=at, keep_graph=True)) for at in (1, 2**40))
    assert (spilled.engine, kept.engine) == ("native, spilled to disk", "native")
    assert spilled.states == 12**4 - 1
    assert [(violation.label, violation.count) for violation in spilled.violations] == [("A.4(1)", 4)]
    assert spilled.graph is not None and kept.graph is not None
    assert list(spilled.graph.target) == list(kept.graph.target)
    assert_alike(kept, spilled)


def test_a_bound_on_memory_that_only_the_disk_can_keep() -> None:
    """6**8 states with the state each came from take 22 MB, their table 16: with 28 MB the states go to the disk, and all are found."""
    system = counters(8, 6)
    bound = memory.anonymous() + 28 * 10**6
    spilled = found(system, Rules(max_memory=bound, cores=1), blocks=50)
    assert (spilled.states, spilled.stopped, spilled.engine) == (6**8, None, "native, spilled to disk")
    assert spilled.steps == 8 * 5 * 6**7
    least = found(system, Rules(max_memory=memory.anonymous() + 8 * 10**6, cores=1), blocks=50)
    assert least.stopped is not None and least.stopped.startswith("max-memory")
    assert 0 < least.states < 6**8


FULL_DISK = """
import resource, sys
sys.path.insert(0, {tests!r})
resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, 2**20))
from test_cores_and_disk import found, counters, Rules
print(found(counters(7, 6), Rules(spill_at=1), blocks=20).stopped)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="a bound on files")
def test_a_disk_that_is_full_ends_the_search_and_is_said() -> None:
    code = FULL_DISK.format(tests=str(CHECKOUT / "proofs_tests"))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=CHECKOUT, check=True, timeout=120)
    assert done.stdout == "out of memory\n"


def test_no_file_is_left_and_none_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    assert found(counters(7, 6), Rules(spill_at=1), blocks=20).engine == "native, spilled to disk"
    assert os.listdir(tmp_path) == []
    monkeypatch.setenv("TMPDIR", str(tmp_path / "missing"))
    assert found(counters(7, 6), Rules(spill_at=1), blocks=20).engine == "native"


def test_the_kernel_takes_one_file() -> None:
    from icore_kernel.explore import _kernel

    search = _kernel.new(1, 1, -1, 0)
    with pytest.raises(ValueError, match="no such file"):
        _kernel.spill(search, -1, 0)
    with open(os.devnull, "rb") as file:
        _kernel.spill(search, file.fileno(), 0)
        with pytest.raises(ValueError, match="in use"):
            _kernel.spill(search, file.fileno(), 0)


# ---- small packages -------------------------------------------------------------------------------------------------

KERNEL = ("_kernel", "native", "native_tables", "blasting", "circuit")
NEEDLESS = ("numpy", *(f"icore_kernel.explore.{name}" for name in KERNEL))

LOADED = """
import sys
from icore_kernel.cli import cli
try:
    cli({arguments!r}, standalone_mode=False)
finally:
    print([name for name in {needless!r} if name in sys.modules], file=sys.stderr)
"""


@pytest.mark.parametrize("command", ["check", "explore"])
def test_a_small_package_loads_neither_numpy_nor_the_kernel(command: str) -> None:
    path = CHECKOUT / "examples" / "code_change_broken.icore"
    assert explore(api.load(path).system, engine=Engine.PYTHON).states < SMALL_FOR_KERNEL
    code = LOADED.format(arguments=[command, str(path)], needless=NEEDLESS)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=CHECKOUT, check=False, timeout=120)
    assert done.stderr.splitlines()[-1] == "[]", done.stderr


def test_a_larger_one_is_explored_by_the_kernel_without_numpy() -> None:
    model = CHECKOUT / "proofs_tests" / "bench" / "models" / "decompose.icore"
    code = LOADED.format(arguments=["explore", str(model), "--set", "c=4"], needless=NEEDLESS)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=CHECKOUT, check=True, timeout=120)
    assert done.stderr.splitlines()[-1] == str([name for name in NEEDLESS if name != "numpy"])
    assert "10,002" in done.stdout


# ---- when nothing is asked ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("there", "busy", "asked", "used"),
    [(2, 0, None, 2), (2, 1, None, 1), (1, 0, None, 1), (4, 2, None, 2), (4, 3, None, 1), (2, 5, 2, 2), (2, 0, 1, 1), (8, 0, 5, 2)],
)
def test_a_second_core_is_used_where_nobody_else_wants_it(
    there: int, busy: int, asked: int | None, used: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from icore_kernel.explore import native

    monkeypatch.setattr(native, "cores", lambda: there)
    monkeypatch.setattr(native, "others", lambda: busy)
    assert native.threads(Rules(cores=asked)) == used


def test_the_others_are_those_that_run_beside_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    from icore_kernel.explore import native

    said = {"text": "0.20 0.18 0.12 3/80 11206\n"}
    monkeypatch.setattr(native, "open", lambda *_, **__: io.StringIO(said["text"]), raising=False)
    assert native.others() == 2
    monkeypatch.setattr(os, "getloadavg", lambda: (1.5, 0.0, 0.0), raising=False)
    for said["text"] in ("", "1.5 0 0\n", "1.5 0 0 many/80 1\n"):
        assert native.others() == 2.0


# ---- imports meanwhile ----------------------------------------------------------------------------------------------


IMPORTING = """
import sys
from icore_kernel.explore import native
from icore_kernel.explore.model import Audited, Rules, Watchlist
from icore_kernel.explore.search import Engine, explore
from systems_by_hand import counters
native.cores = lambda: int(sys.argv[2])
assert "colorsys" not in sys.modules
rules = Rules(cores=int(sys.argv[1]) or None, wanted=("colorsys", "no_such_module"))
found = explore(counters(int(sys.argv[3]), 7), Watchlist(), rules, Audited(), Engine.NATIVE)
print(found.states, "colorsys" in sys.modules)
"""


@pytest.mark.parametrize(
    ("asked", "there", "places", "said"),
    [
        (0, 2, 6, "117649 True"),
        (2, 2, 6, "117649 True"),
        (1, 2, 6, "117649 False"),
        (0, 1, 6, "117649 False"),
        (0, 2, 5, "16807 False"),
    ],
    ids=["two are there", "two are asked for", "one is asked for", "one is there", "a short search"],
)
def test_what_is_wanted_afterwards_is_imported_during_a_long_search(asked: int, there: int, places: int, said: str) -> None:
    environment = {**os.environ, "PYTHONPATH": f"{CHECKOUT}:{CHECKOUT / 'dsl'}:{CHECKOUT / 'proofs_tests'}"}
    command = [sys.executable, "-c", IMPORTING, str(asked), str(there), str(places)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert (done.stdout.strip(), done.stderr, done.returncode) == (said, "", 0)
