"""Checkpoints: a search that was stopped, or killed at any moment, goes on to the same counts; bounds on memory."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from conftest import CHECKOUT
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies_systems import systems
from systems_by_hand import Draft, counters

from icore_kernel import cli
from icore_kernel.explore import blocks, checkpoint
from icore_kernel.explore.block_search import explore_blocks
from icore_kernel.explore.checkpoint import MANIFEST
from icore_kernel.explore.memory import anonymous, parse_size, peak, resident, show_size
from icore_kernel.explore.model import Audited, CheckpointError, Checkpoints, Exploration, Mode, Rules, Unaudited, Watchlist
from icore_kernel.explore.search import Engine, explore, has_kernel
from icore_kernel.explore.tally import Clock
from icore_kernel.system import System

NOTHING = Watchlist()


def search(system: System, rules: Rules, watchlist: Watchlist = NOTHING, mode: Mode | None = None, length: int = 3) -> Exploration:
    """The search by blocks of a few states each, so that there are many moments between two."""
    return explore_blocks(system, watchlist, rules, Audited() if mode is None else mode, Clock(rules), length=length)


def by_kernel(system: System, rules: Rules, watchlist: Watchlist = NOTHING, mode: Mode | None = None, length: int = 1) -> Exploration:
    """The search by the C kernel, a block at a time."""
    from icore_kernel.explore.native import explore_native

    return explore_native(system, watchlist, rules, Audited() if mode is None else mode, Clock(rules), turn=1)


SEARCHES = [search, pytest.param(by_kernel, marks=pytest.mark.skipif(not has_kernel(), reason="no C kernel"))]


def assert_same(found: Exploration, whole: Exploration) -> None:
    assert found.stopped is None
    for name in ("states", "steps", "stutters", "depth", "levels", "coverage", "refusals", "passed", "violations", "checks", "seen"):
        assert getattr(found, name) == getattr(whole, name), name
    assert (found.minimums, found.dead_ends, found.finality, found.finality_checked) == (
        whole.minimums, whole.dead_ends, whole.finality, whole.finality_checked,
    )  # fmt: skip
    states = range(whole.states)
    assert [found.store.state(number) for number in states] == [whole.store.state(number) for number in states]


def at_ask(last: int) -> Callable[[], bool]:
    """True when asked for the last time: how a search is stopped at a block of one's choice."""
    asked = 0

    def interrupted() -> bool:
        nonlocal asked
        asked += 1
        return asked >= last

    return interrupted


# ---- stopped and resumed ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("search", SEARCHES)
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(pair=systems(), stops=st.lists(st.integers(1, 40), min_size=1, max_size=5), mode=st.sampled_from([Audited(), Unaudited()]))
def test_a_search_stopped_anywhere_goes_on_to_the_same_answer(
    search: Callable[..., Exploration], pair: tuple[System, Watchlist], stops: list[int], mode: Mode
) -> None:
    system, watchlist = pair
    whole = search(system, Rules(), watchlist, mode)
    with TemporaryDirectory() as place:
        resume = False
        for stop in stops:
            search(system, Rules(interrupted=at_ask(stop), checkpoints=Checkpoints(Path(place), resume, every=0)), watchlist, mode)
            resume = (Path(place) / MANIFEST).exists()
        assert_same(search(system, Rules(checkpoints=Checkpoints(Path(place), resume, every=0)), watchlist, mode), whole)
        # A finished search answers once more, from what is on disk.
        assert_same(search(system, Rules(checkpoints=Checkpoints(Path(place), True)), watchlist, mode), whole)


@pytest.mark.parametrize("search", SEARCHES)
def test_what_stops_a_search_may_be_lifted_when_it_goes_on(search: Callable[..., Exploration], tmp_path: Path) -> None:
    """Six counters of four values: 4096 states, a step for each counter below its end, so 6 * 3 * 4**5 = 18432; depth 18."""
    system = counters(6, 4)
    bounds = (Rules(max_states=100), Rules(max_states=1000), Rules(max_depth=9), Rules(timeout=1e-9), Rules(max_memory=1))
    resume = False
    known = 0
    for rules in bounds:
        found = search(system, replace(rules, checkpoints=Checkpoints(tmp_path, resume, every=3600)), length=50)
        assert found.stopped is not None
        kept = json.loads((tmp_path / MANIFEST).read_text())
        assert sum(kept["levels"]) + kept["rest"] >= known
        known = sum(kept["levels"]) + kept["rest"]
        resume = True
    assert known > 900
    found = search(system, Rules(checkpoints=Checkpoints(tmp_path, True)), length=50)
    assert (found.states, found.steps, found.depth, found.stopped) == (4096, 18432, 18, None)


def test_a_checkpoint_writes_only_what_is_new(tmp_path: Path) -> None:
    system = counters(6, 4)
    search(system, Rules(max_states=1000, checkpoints=Checkpoints(tmp_path, every=0)), length=200)
    before = {file.name: file.stat().st_mtime_ns for file in tmp_path.glob("states-*")}
    assert len(before) > 1
    search(system, Rules(checkpoints=Checkpoints(tmp_path, True, every=0)), length=200)
    after = {file.name: file.stat().st_mtime_ns for file in tmp_path.glob("states-*")}
    assert before.items() <= after.items()
    assert sum(file.stat().st_size for file in tmp_path.glob("states-*")) == 8 * 4096


def test_an_unlucky_seed_begins_the_checkpoints_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Five binary counters in two words; under seed 0 different states have the same key, but not at first."""
    draft = Draft((0, 2**40), (0, 2**40), *[(0, 1)] * 5)
    system = draft.system([draft.tick(index) for index in range(2, 7)])
    keys_of = blocks.keys_of
    seeds: list[int] = []

    def unlucky(words: blocks.Words, seed: int) -> blocks.Keys:
        seeds.append(seed)
        return keys_of(words, seed) % 2**62 if seed or len(seeds) < 10 else keys_of(words, seed) * 0

    monkeypatch.setattr(blocks, "keys_of", unlucky)
    found = search(system, Rules(checkpoints=Checkpoints(tmp_path, every=0)), length=2)
    assert set(seeds) == {0, 1}
    assert (found.states, found.steps, found.levels) == (32, 80, (1, 5, 10, 10, 5, 1))
    assert json.loads((tmp_path / MANIFEST).read_text())["seed"] == 1
    assert_same(search(system, Rules(checkpoints=Checkpoints(tmp_path, True)), length=2), found)


# ---- killed -------------------------------------------------------------------------------------------------------


class Killed(BaseException):
    """Stands for the end of the process."""


def cut_at(last: int, real: Callable[..., object], done: bool) -> Callable[..., object]:
    """The operation, whose last call ends the process, before or after it is done."""
    asked = 0

    def cut(*given: object) -> object:
        nonlocal asked
        asked += 1
        if asked == last and not done:
            raise Killed
        answer = real(*given)
        if asked == last:
            raise Killed
        return answer

    return cut


@pytest.mark.parametrize("operation", ["replace", "fsync"])
@pytest.mark.parametrize("done", [False, True], ids=["before it", "after it"])
def test_the_last_complete_checkpoint_is_used_wherever_writing_was_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, operation: str, done: bool
) -> None:
    system = counters(4, 4)
    real = getattr(os, operation)
    for last in range(1, 8):
        place = tmp_path / str(last)
        with monkeypatch.context() as patch:
            patch.setattr(checkpoint.os, operation, cut_at(last, real, done))
            with pytest.raises(Killed):
                search(system, Rules(checkpoints=Checkpoints(place, every=0)), length=20)
        found = search(system, Rules(checkpoints=Checkpoints(place, (place / MANIFEST).exists(), every=3600)), length=20)
        assert (found.states, found.steps, found.depth) == (256, 4 * 3 * 64, 12)
        assert not list(place.glob("*.part"))


CHILD = """
import json, sys
sys.path.insert(0, {tests!r})
from pathlib import Path
from systems_by_hand import counters
from icore_kernel.explore import checkpoint  # NumPy, before the time is taken
from icore_kernel.explore.{module} import {function}
from icore_kernel.explore.model import Audited, Checkpoints, Rules, Watchlist
from icore_kernel.explore.tally import Clock
place = Path({place!r})
rules = Rules(checkpoints=Checkpoints(place, (place / "checkpoint.json").exists(), every=0))
print("begun", flush=True)
found = {function}(counters(6, 8), Watchlist(), rules, Audited(), Clock(rules), {more})
print(json.dumps([found.states, found.steps, found.depth, found.levels, [c.committed for c in found.coverage]]))
"""


NUMPY = {"module": "block_search", "function": "explore_blocks", "more": "length=2000"}
NATIVE = {"module": "native", "function": "explore_native", "more": "turn=1"}


def begin(place: Path, engine: dict[str, str]) -> subprocess.Popen[str]:
    code = CHILD.format(tests=str(CHECKOUT / "proofs_tests"), place=str(place), **engine)
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=CHECKOUT)
    assert child.stdout is not None
    assert child.stdout.readline() == "begun\n"
    return child


def kept(place: Path) -> int:
    record = json.loads((place / MANIFEST).read_text()) if (place / MANIFEST).exists() else {"levels": [], "rest": 0}
    return int(sum(record["levels"]) + record["rest"])


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL")
@pytest.mark.parametrize("kills", [3, 20])
@pytest.mark.parametrize(
    "engine", [NUMPY, pytest.param(NATIVE, marks=pytest.mark.skipif(not has_kernel(), reason="no C kernel"))], ids=["numpy", "native"]
)
def test_a_search_killed_at_random_moments_ends_with_the_same_counts(tmp_path: Path, engine: dict[str, str], kills: int) -> None:
    """Six counters of eight values: 8**6 = 262144 states, 6 * 7 * 8**5 steps, depth 42, each counter's step in 7 * 8**5 states."""
    random = Random(kills)
    known = [0]
    for _ in range(kills):
        child = begin(tmp_path, engine)
        time.sleep(random.uniform(0, 0.12))
        child.send_signal(signal.SIGKILL)
        child.communicate()
        known.append(kept(tmp_path))
    assert known == sorted(known), "nothing that was written is lost"
    assert known[-1] > 0
    child = begin(tmp_path, engine)
    said, _ = child.communicate(timeout=120)
    states, steps, depth, levels, committed = json.loads(said)
    assert (states, steps, depth, sum(levels)) == (8**6, 6 * 7 * 8**5, 42, 8**6)
    assert committed == [7 * 8**5] * 6
    assert levels == levels[::-1], "as many states at one distance from the start as from the end"


# ---- what does not fit --------------------------------------------------------------------------------------------


@pytest.fixture
def place(tmp_path: Path) -> Path:
    search(counters(4, 4), Rules(max_states=200, checkpoints=Checkpoints(tmp_path, every=0, facts=(("--set", "n=4"),))))
    return tmp_path


def resumed(place: Path, system: System, mode: Mode | None = None, watchlist: Watchlist = NOTHING, setting: str = "n=4") -> Exploration:
    return search(system, Rules(checkpoints=Checkpoints(place, True, facts=(("--set", setting),))), watchlist, mode)


def test_a_checkpoint_of_another_search_is_refused_and_says_what_differs(place: Path) -> None:
    system = counters(4, 4)
    bank = Draft((0, 1)).bank
    for differs, asked in (
        ("the text of the package", lambda: resumed(place, replace(system, package_digest="other"))),
        ("the theory", lambda: resumed(place, replace(system, theory_digest="other"))),
        ("the fields", lambda: resumed(place, counters(4, 5))),
        ("the updates", lambda: resumed(place, replace(system, updates=system.updates[1:]))),
        ("the mode was audited, is unaudited: slip", lambda: resumed(place, system, Unaudited(frozenset({"slip"})))),
        ("what is looked at", lambda: resumed(place, system, watchlist=Watchlist(seen=(("true", bank.true),)))),
        ("--set was n=4, is n=5", lambda: resumed(place, system, setting="n=5")),
    ):
        with pytest.raises(CheckpointError, match=f"is a checkpoint of another search: {differs}"):
            asked()
    assert resumed(place, system).states == 256


def test_a_folder_with_a_checkpoint_is_not_overwritten_and_one_without_is_not_resumed(place: Path) -> None:
    with pytest.raises(CheckpointError, match="holds a checkpoint already"):
        search(counters(4, 4), Rules(checkpoints=Checkpoints(place)))
    with pytest.raises(CheckpointError, match="holds no checkpoint"):
        search(counters(4, 4), Rules(checkpoints=Checkpoints(place / "other", True)))


def test_what_else_is_in_the_folder_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The package may lie there itself, and be called as the files of a checkpoint begin."""
    package = tmp_path / "states-a.icore"
    update = "update up by environment { when c.n < 9 set c.n := c.n + 1 }"
    package.write_text(f"package P\ninput c {{ n: 0..9 = 0 }}\n{update}\n", encoding="utf-8")
    strangers = [tmp_path / name for name in ("video.part", "states-12", "infeasible-notes", "x-000001")]
    for stranger in strangers:
        stranger.write_text("precious", encoding="utf-8")
    left = tmp_path / "states-000007.part"
    left.write_text("left behind by a search that was killed", encoding="utf-8")
    assert cli.run(["check", str(package), "--checkpoint", str(tmp_path)]) == 0
    assert "10 states" in capsys.readouterr().out
    assert package.exists() and all(stranger.read_text(encoding="utf-8") == "precious" for stranger in strangers)
    assert not left.exists()


def test_a_damaged_checkpoint_is_refused(place: Path) -> None:
    system = counters(4, 4)
    segment = place / "states-000002"
    content = segment.read_bytes()
    for damaged in (content[:-1], bytes([content[0] ^ 1]) + content[1:]):
        segment.write_bytes(damaged)
        with pytest.raises(CheckpointError, match="damaged: states-000002 is not what was written"):
            resumed(place, system)
    segment.unlink()
    with pytest.raises(CheckpointError, match="damaged: states-000002 is missing"):
        resumed(place, system)
    (place / MANIFEST).write_text('{"schema": "other"}')
    with pytest.raises(CheckpointError, match="is not a checkpoint of the schema"):
        resumed(place, system)
    (place / MANIFEST).write_text("{")
    with pytest.raises(CheckpointError, match="is not a checkpoint"):
        resumed(place, system)


def test_a_disk_that_is_full_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint.os, "fsync", full)
    with pytest.raises(CheckpointError, match="cannot be written: No space left on device"):
        search(counters(4, 4), Rules(checkpoints=Checkpoints(tmp_path)))


@pytest.mark.skipif(not has_kernel(), reason="no C kernel")
def test_each_engine_goes_on_from_its_own(place: Path, tmp_path: Path) -> None:
    """AUTO takes the engine that wrote the checkpoint; one that is asked for refuses the other's."""
    system = counters(4, 4)
    rules = Rules(checkpoints=Checkpoints(place, True, facts=(("--set", "n=4"),)))
    with pytest.raises(CheckpointError, match="written by the engine numpy, this is native"):
        explore(system, rules=rules, engine=Engine.NATIVE)
    assert explore(system, rules=rules).engine == "numpy"
    own = tmp_path / "own"
    stopped = explore(system, rules=Rules(max_states=99, checkpoints=Checkpoints(own)))
    assert (stopped.engine, stopped.stopped) == ("native", "max-states 99")
    found = explore(system, rules=Rules(checkpoints=Checkpoints(own, True)))
    assert (found.engine, found.states, found.steps) == ("native", 256, 768)
    # The kernel keeps no steps, so a search that is to keep them is NumPy's from the start.
    graph = tmp_path / "graph"
    explore(system, rules=Rules(max_states=99, keep_graph=True, checkpoints=Checkpoints(graph)))
    whole = explore(system, rules=Rules(keep_graph=True, checkpoints=Checkpoints(graph, True)))
    assert (whole.engine, whole.states) == ("numpy", 256)
    assert whole.graph is not None
    assert len(whole.graph.target) == 768


@pytest.mark.skipif(not has_kernel(), reason="no C kernel")
def test_the_kernel_refuses_what_is_not_a_search() -> None:
    """Rows of other lengths, a state twice, a parent after its child, counts of another search."""
    import numpy as np

    from icore_kernel.explore import _kernel
    from icore_kernel.explore.native import NativeSearch

    def fresh() -> object:
        return NativeSearch(counters(3, 4), NOTHING, Rules(), Audited(), Clock(Rules())).search

    nowhere = 2**32 - 1
    words, parents, flags = np.arange(3, dtype=np.uint64), np.array([nowhere, 0, 1], dtype=np.uint32), np.zeros(3, dtype=np.uint8)
    search = fresh()
    assert _kernel.put(search, words, parents, flags)
    assert _kernel.totals(search)[0] == 3
    assert [int(n) for n in np.frombuffer(_kernel.origins(search, 0, 3)[0], dtype=np.uint32)] == [nowhere, 0, 1]
    for wrong in ((words[:2], parents, flags), (words, parents[:2], flags), (words, parents, flags[:2]), (words, parents, flags)):
        with pytest.raises(ValueError, match="put: "):
            _kernel.put(search, *wrong)
    with pytest.raises(ValueError, match="a parent after its state"):
        _kernel.put(fresh(), words, parents[::-1].copy() % nowhere + 1, flags)
    row = _kernel.counted(search)
    _kernel.recount(search, row)
    numbers = np.frombuffer(row, dtype=np.int64)
    for place, value in ((0, 2), (4, 4), (5, 4), (6, -1)):
        other = numbers.copy()
        other[place] = value
        with pytest.raises(ValueError, match="recount: of another search"):
            _kernel.recount(search, other)
    for cut in (row[:-8], row + b"\0" * 8, row[:-1], b""):
        with pytest.raises(ValueError, match="recount: of another search"):
            _kernel.recount(fresh(), cut)
    with pytest.raises(ValueError, match="no such states"):
        _kernel.origins(search, 0, 4)


# ---- memory -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", [Engine.PYTHON, Engine.NUMPY])
def test_a_bound_on_memory_stops_and_is_named(engine: Engine) -> None:
    found = explore(counters(6, 8), rules=Rules(max_memory=10**6), engine=engine)
    assert found.stopped == "max-memory 1 MB"
    assert found.states < 8**6
    assert explore(counters(4, 4), rules=Rules(max_memory=2**50), engine=engine).stopped is None


def test_what_would_be_taken_counts_before_it_is() -> None:
    """In a process of its own: one that has given memory back may take it again without growing."""
    program = "import sys; sys.path.insert(0, sys.argv[1]); import test_checkpoint; test_checkpoint.what_would_be_taken()"
    done = subprocess.run([sys.executable, "-c", program, str(Path(__file__).parent)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def what_would_be_taken() -> None:
    """A bound a little above what is in use now: merging the states of a search of 8**7 (16 MB and more at once) does not fit."""
    system = counters(7, 8)
    search(counters(5, 8), Rules(), length=2**17)
    bound, most = anonymous() + 40 * 10**6, resident() + 40 * 10**6
    before = peak()
    found = search(system, Rules(max_memory=bound), length=2**17)
    assert found.stopped == f"max-memory {show_size(bound)}"
    assert 1000 < found.states < 8**7
    assert peak() <= max(before, most + 10 * 10**6)


@pytest.mark.parametrize(
    ("text", "size", "shown"),
    [
        ("300MB", 300 * 10**6, "300 MB"),
        ("2gb", 2 * 10**9, "2 GB"),
        ("1.5 GB", 1_500_000_000, "1.5 GB"),
        ("512MiB", 512 * 2**20, "536.9 MB"),
        ("4096", 4096, "4.1 kB"),
        ("999", 999, "999 B"),
    ],
)
def test_sizes(text: str, size: int, shown: str) -> None:
    assert parse_size(text) == size
    assert show_size(size) == shown


@pytest.mark.parametrize("text", ["", "MB", "300 megabytes", "-1MB", "1,5GB", "0", "0.1B", "1e9", "nan", "²MB"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a size|less than one byte"):
        parse_size(text)


def test_the_process_takes_memory() -> None:
    """At least a megabyte, at most what there was at the worst moment (told in other units, so a little slack)."""
    assert 10**6 < resident() <= peak() * 1.1 + 10**6
