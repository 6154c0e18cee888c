"""`icore explore` and `icore graph` from end to end, mostly on the starter package, whose six states can be counted by hand:
begin; assigned; finished or given up; approved or noted."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from conftest import CHECKOUT

from icore_kernel import cli
from icore_kernel.explore.model import Progress
from icore_kernel.report.progress import ProgressLine, progress_on, progress_text

SCHEMA = (CHECKOUT / "icore_kernel" / "report" / "SCHEMA.md").read_text(encoding="utf-8")
COVERAGE = CHECKOUT / "proofs_tests" / "bench" / "models" / "coverage.icore"

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command line in this process, in a folder with `mine.icore`."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, str, str]:
        status = cli.run(list(arguments))
        shown = capsys.readouterr()
        return status, shown.out, shown.err

    assert run("init", "mine")[0] == 0
    return run


def keys(value: object) -> set[str]:
    """The keys of records, without those that are names of the package."""
    match value:
        case dict():
            names = ("settings", "endings", "differs", "first", "initial")
            return {str(key) for key in value}.union(*(keys(item) for key, item in value.items() if key not in names))
        case list():
            return set().union(*map(keys, value))
        case _:
            return set()


def assert_described(record: object) -> None:
    assert not {key for key in keys(record) if f"`{key}`" not in SCHEMA}


# ---- counts -------------------------------------------------------------------------------------------------------


def test_what_was_sliced_away_is_said(run: Run, tmp_path: Path) -> None:
    """One field of x moves; y keeps its value, and nothing makes one of the four reports (accept, reject, stuck, budget)."""
    text = "input x { at: 0..3 = 0 }\ninput y { at: 0..3 = 2 }\nupdate up by environment { when x.at < y.at set x.at := x.at + 1 }\n"
    (tmp_path / "sliced.icore").write_text(f'language 1\npackage Sliced "1.0"\n{text}', encoding="utf-8")
    head = run("explore", "sliced.icore")[1].splitlines()[0]
    assert re.fullmatch(r"Sliced 1\.0 · 1 field \(digest [0-9a-f]{6}\), 5 constants sliced away", head)
    space = json.loads(run("check", "--format", "json", "sliced.icore")[1])["space"]
    assert (space["states"], space["field_count"], space["sliced"]) == (3, 1, 5)



def test_counts_name_what_never_fires_and_what_is_always_refused(run: Run) -> None:
    status, out, _ = run("explore", "mine.icore")
    assert status == 0
    assert "\n  6 states · 5 steps · depth 3\n" in out
    assert re.search(r"^  update +occurs +committable +steps$", out, re.MULTILINE)
    assert re.search(r"^  assign +2 +1 +1$", out, re.MULTILINE), "both agents may try, the writer alone is feasible"
    assert "\n  always refused: finish.careless, finish.untruthful\n" in out
    assert "\n  never fires: assign(reader, page), finish(reader, page), give_up(reader, page) (3 of 8 occurrences)\n" in out
    assert "2 agents · 1 obligation · 5 updates (8 occurrences)" in run("check", "mine.icore")[1].splitlines()[0]
    assert re.search(r"^complete · [\d.]+ s · [\d,]+ states/s · [\d.]+ MB at most · engine python$", out, re.MULTILINE)
    record = json.loads(run("explore", "mine.icore", "--format", "json")[1])
    assert record["never_fired"] == ["finish.careless", "finish.untruthful"]
    assert (record["mode"], record["stopped"]) == ("audited", None)
    assert record["peak_memory"] > 10**6
    assert_described(record)


def test_of_many_ground_updates_that_never_fire_eight_are_named(run: Run, tmp_path: Path) -> None:
    """Twelve bindings: x goes from 1 to 2 and back, and would stay where it never is."""
    text = "input x { at: 1..12 = 1 }\nupdate up(i: 1..12) by environment { when x.at == i set x.at := if i <= 2 then 3 - i else i }\n"
    (tmp_path / "many.icore").write_text(f"language 1\npackage Many\n{text}", encoding="utf-8")
    named = ", ".join(f"up({i})" for i in range(3, 11))
    assert f"\n  never fires: {named} and 2 more (10 of 12 occurrences)\n" in run("explore", "many.icore")[1]


def test_a_stopped_search_does_not_say_never(run: Run) -> None:
    status, out, _ = run("explore", "--max-depth", "1", "mine.icore")
    assert status == 3
    assert "never" not in out
    assert "\n  did not fire: " in out
    assert out.splitlines()[-1].startswith("unknown, the search stopped before its end: max-depth 1 · ")


# ---- random runs --------------------------------------------------------------------------------------------------


def test_random_runs_tell_how_they_ended_and_are_never_a_success(run: Run) -> None:
    """A run assigns, then finishes and is approved, or gives up and that is noted: three steps."""
    status, out, _ = run("explore", "mine.icore", "--simulate", "50", "--seed", "7")
    assert status == 3
    assert out.splitlines()[-1] == "unknown, only observed: nothing was violated in 50 random runs"
    assert "\n  50 runs · seed 7 · " in out
    ends = {name: int(count) for name, count in re.findall(r"^  (Accept|Reject|Stuck|dead end|length bound) +(\d+)$", out, re.MULTILINE)}
    assert set(ends) == {"Accept", "Reject"}
    assert sum(ends.values()) == 50
    assert run("explore", "mine.icore", "--simulate", "50", "--seed", "7")[1] == out
    record = json.loads(run("explore", "mine.icore", "--simulate", "50", "--seed", "7", "--format", "json")[1])
    assert (record["verdict"], record["assurance"], record["seed"], record["runs"]) == ("unknown", "observed", 7, 50)
    assert record["endings"] == ends
    assert (record["steps"], record["longest"]) == (150, 3)
    assert_described(record)
    bounded = json.loads(run("explore", "mine.icore", "--simulate", "5", "--max-depth", "1", "--format", "json")[1])
    assert bounded["endings"] == {"length bound": 5}


def test_random_runs_that_break_something_exit_1_with_the_run(run: Run, tmp_path: Path) -> None:
    text = (tmp_path / "mine.icore").read_text(encoding="utf-8")
    (tmp_path / "mine.icore").write_text(text + "\ninvariant never_done: status(page) != closed\n", encoding="utf-8")
    status, out, _ = run("explore", "mine.icore", "--simulate", "50")
    assert status == 1
    assert re.search(r"^violated: never_done · in \d+ visits, at its shortest in run \d+$", out, re.MULTILINE)
    assert "\n  a run, 2 steps:\n    1  assign(writer, page)" in out
    assert re.search(r"^violated · observed · ", out, re.MULTILINE)
    record = json.loads(run("explore", "mine.icore", "--simulate", "50", "--format", "json")[1])
    (broken,) = record["broken"]
    assert (broken["name"], broken["update"], broken["fails"]) == ("never_done", None, None)
    assert [step["update"] for step in broken["run"]["steps"]] == ["assign(writer, page)", "finish(writer, page)"]
    assert_described(record)


def test_an_illegal_step_is_met_by_random_runs(run: Run, tmp_path: Path) -> None:
    """Without its certificate, the writer's finish leaves a status that nothing supports."""
    text = (tmp_path / "mine.icore").read_text(encoding="utf-8")
    (tmp_path / "mine.icore").write_text(text.replace("  issue done(w)\n  fault careless: withhold done(w)", "  #"), encoding="utf-8")
    status, out, err = run("explore", "mine.icore", "--simulate", "20")
    assert status == 1, err
    assert re.search(r"^violated: legality: finish\(writer, page\) fails .* · in \d+ visits", out, re.MULTILINE)
    assert "\n       which may not commit\n" in out


# ---- a run to a formula -------------------------------------------------------------------------------------------


def test_a_shortest_run_to_a_formula(run: Run) -> None:
    status, out, _ = run("explore", "mine.icore", "--trace-to", "accept and draft(page).good")
    assert status == 0
    assert "\n  the shortest run, 3 steps:\n    1  assign(writer, page)" in out
    assert out.splitlines()[-1].startswith("reached: accept and draft(page).good · ")
    record = json.loads(run("explore", "mine.icore", "--trace-to", "status(page) == rejected", "--format", "json")[1])
    assert record["reached"] is True
    assert [step["update"] for step in record["run"]["steps"]] == ["assign(writer, page)", "give_up(writer, page)"]
    assert_described(record)
    assert run("explore", "mine.icore", "--trace-to", "status(page) == ready")[1].count("in the initial state:") == 1


def test_a_formula_that_no_reachable_state_satisfies_exits_1(run: Run) -> None:
    status, out, _ = run("explore", "mine.icore", "--trace-to", "accept and reject")
    assert status == 1
    assert "not reached: accept and reject · in none of 6 reachable states" in out
    status, out, _ = run("explore", "mine.icore", "--trace-to", "accept", "--max-depth", "2", "--format", "json")
    assert status == 3
    assert json.loads(out)["reached"] is None


@pytest.mark.parametrize(
    ("formula", "place", "message"),
    [
        ("status(paige) == ready", "--trace-to:1:8", "nothing is called `paige`"),
        ("status(page)", "--trace-to:1:1", "must be true or false"),
        ("status(page) ==", "--trace-to:1:16", "the file ends where a value is expected"),
        ("true\ninvariant x: true", "--trace-to:2:1", "one formula is expected"),
        ("", "--trace-to:1:1", "ends where an expression is expected"),
    ],
)
def test_a_wrong_formula_is_wrong_input_with_its_place(run: Run, formula: str, place: str, message: str) -> None:
    status, out, err = run("explore", "mine.icore", "--trace-to", formula)
    assert (status, out) == (2, "")
    assert err.endswith("the formula of --trace-to: 1 mistake\n")
    assert err.startswith(f"{place}: error ")
    assert message in err


def test_the_goal_is_reached_by_the_search_by_blocks_too(run: Run) -> None:
    """Five obligations accepted: five steps each (the model's comment: depth 5n)."""
    status, out, _ = run("explore", str(COVERAGE), "--set", "n=4", "--trace-to", "forall i in 1..4: work(i).state == accepted")
    assert status == 0
    assert "the shortest run, 20 steps:" in out or "the shortest run, 16 steps:" in out
    assert int(re.findall(r"the shortest run, (\d+) steps", out)[0]) == 20


# ---- drawings -----------------------------------------------------------------------------------------------------


def test_the_step_graph_is_written_in_each_form(run: Run, tmp_path: Path) -> None:
    status, out, err = run("explore", "mine.icore", "--dot", "a.dot", "--graphml", "a.graphml", "--json", "a.json")
    assert (status, err) == (0, "")
    assert out == "a.dot: 6 states, 5 steps\na.graphml: 6 states, 5 steps\na.json: 6 states, 5 steps\n"
    assert (tmp_path / "a.dot").read_text(encoding="utf-8").count(" -> ") == 5
    assert "<graphml" in (tmp_path / "a.graphml").read_text(encoding="utf-8")
    record = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    assert (len(record["states"]), len(record["steps"]), record["cut"]) == (6, 5, None)
    assert sorted(mark for state in record["states"] for mark in state["marks"]) == ["Accept", "Reject"]
    assert_described(record)


def test_a_cut_step_graph_says_so(run: Run, tmp_path: Path) -> None:
    status, out, err = run("explore", "mine.icore", "--dot", "a.dot", "--graph-limit", "3")
    assert (status, out) == (0, "a.dot: 3 states, 2 steps\n")
    assert err.startswith("the graph is cut: --graph-limit 3; ")
    assert "cut: max-states 3" in (tmp_path / "a.dot").read_text(encoding="utf-8")
    status, _, err = run("explore", "mine.icore", "--dot", "a.dot", "--max-depth", "1")
    assert status == 3
    assert err.startswith("the graph is cut: max-depth 1; ")
    status, _, err = run("explore", "mine.icore", "--dot", "no/a.dot")
    assert (status, err) == (2, "no/a.dot: cannot be written: No such file or directory\n")


def test_the_obligations_are_a_graph(run: Run) -> None:
    status, out, _ = run("graph", "mine.icore")
    assert status == 0
    assert out.startswith('digraph "Mine" {\n')
    assert '  "page" [label="page: Text\\lstarts ready\\l", peripheries=2]\n' in out
    assert run("graph", "absent.icore")[0] == 2


# ---- usage --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        ["explore", "--simulate", "0", "mine.icore"],
        ["explore", "--seed", "1", "mine.icore"],
        ["explore", "--simulate", "1", "--trace-to", "true", "mine.icore"],
        ["explore", "--dot", "a", "--replay", "b", "mine.icore"],
        ["explore", "--graph-limit", "0", "--dot", "a", "mine.icore"],
        ["explore", "--max-memory", "much", "mine.icore"],
        ["explore", "--max-memory", "0", "mine.icore"],
        ["explore", "--checkpoint", "a", "--resume", "b", "mine.icore"],
        ["explore", "--checkpoint", "a", "--simulate", "1", "mine.icore"],
        ["explore", "--resume", "a", "--dot", "b", "mine.icore"],
        ["check", "--checkpoint", "a", "mine.icore", "mine.icore"],
    ],
    ids=" ".join,
)
def test_wrong_usage(run: Run, arguments: list[str]) -> None:
    status, out, err = run(*arguments)
    assert (status, out) == (2, "")
    assert "Usage: icore" in err or err.startswith("Error: ")


# ---- checkpoints --------------------------------------------------------------------------------------------------


def test_a_search_is_resumed_from_the_command_line(run: Run) -> None:
    """Model B with four obligations and three agents: 19**4 states, 4 * 56 * 19**3 steps, depth 20 (its comment)."""
    model = (str(COVERAGE), "--set", "n=4")
    status, out, _ = run("explore", *model, "--checkpoint", "kept", "--max-states", "9000")
    assert status == 3
    status, out, _ = run("explore", *model, "--resume", "kept", "--format", "json")
    record = json.loads(out)
    assert (status, record["states"], record["steps"], record["depth"]) == (0, 19**4, 4 * 56 * 19**3, 20)
    status, out, err = run("explore", *model, "--checkpoint", "kept")
    assert (status, out) == (2, "")
    assert "kept holds a checkpoint already" in err
    status, _, err = run("explore", str(COVERAGE), "--set", "n=3", "--resume", "kept")
    assert status == 2
    assert "kept is a checkpoint of another search: --set was n=4, is n=3" in err
    assert "of another search: what is looked at" in run("check", *model, "--resume", "kept")[2]
    assert run("explore", *model, "--resume", "none")[2] == "none holds no checkpoint\n"


def test_a_check_is_resumed_to_the_same_report(run: Run) -> None:
    def comparable(text: str) -> dict[str, Any]:
        record = json.loads(text)
        for result in [record, record["space"], *record["results"], *record["obligations"]]:
            del result["seconds"]
        return {**record, "results": [{**result, "engine": ""} for result in record["results"]], "space": {**record["space"], "engine": ""}}

    model = ("check", str(COVERAGE), "--set", "n=3", "--format", "json")
    whole = run(*model)
    assert run(*model, "--checkpoint", "kept", "--max-states", "3000")[0] == 3
    resumed = run(*model, "--resume", "kept")
    assert resumed[0] == whole[0] == 0
    assert comparable(resumed[1]) == comparable(whole[1])


# ---- bounds and interruption --------------------------------------------------------------------------------------


def test_a_bound_on_memory_is_unknown_and_says_so(run: Run) -> None:
    for command in ("explore", "check"):
        status, out, _ = run(command, str(COVERAGE), "--set", "n=4", "--max-memory", "1MB")
        assert status == 3
        assert "the search stopped before its end: max-memory 1 MB" in out


@pytest.mark.skipif(os.name != "posix", reason="SIGINT")
@pytest.mark.parametrize("command", ["explore", "check"])
def test_ctrl_c_ends_a_long_search_with_what_it_knows(command: str) -> None:
    """A search of 19**9 states, stopped once it has told of its progress. How long the answer takes is measured where nothing else runs."""
    ours, theirs = os.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "icore_kernel", command, str(COVERAGE), "--set", "n=9"],
        stdout=subprocess.PIPE, stderr=theirs, text=True, encoding="utf-8", cwd=CHECKOUT,
    )  # fmt: skip
    os.close(theirs)
    err = ""
    try:
        while " states · " not in err:
            err += os.read(ours, 1000).decode(errors="replace")
        child.send_signal(signal.SIGINT)
        out, _ = child.communicate(timeout=60)
    finally:
        child.kill()
    with suppress(OSError):  # nothing was written after the interrupt
        err += os.read(ours, 100_000).decode(errors="replace")
    os.close(ours)
    assert child.returncode == 3, err
    assert "Traceback" not in err
    assert "the search stopped before its end: interrupted" in out
    assert re.search(r"  [\d,]+ states · ", out)


# ---- progress -----------------------------------------------------------------------------------------------------


class Terminal:
    """A stream that says it is a terminal."""

    encoding = "utf-8"

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> int:
        self.text += text
        return len(text)

    def flush(self) -> None:
        pass

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        raise OSError


def test_the_line_says_what_there_is() -> None:
    search = Progress(12_000, 34_000, 560, 7, 3.2, "search", 150_000_000)
    said = "3 s · depth 7 · 150 MB · 34,000 steps"
    assert progress_text(search, 5000.4) == f"12,000 states · 5,000 states/s · {said}"
    assert progress_text(search, None) == f"12,000 states · {said} · frontier 560"
    finality = Progress(12_000, 34_000, 560, 7, 3.2, "finality", 150_000_000)
    assert progress_text(finality, 5.0) == f"finality · 12,000 states · {said}"
    runs = Progress(12, 34, 5, 7, 3.2, "simulation", 150_000_000)
    assert progress_text(runs, None) == "simulation · 12 states · 3 s · run 5 · 150 MB · 34 steps"


def test_the_line_of_a_large_search_fits_80_columns_and_begins_with_states_rate_and_time() -> None:
    large = Progress(190_123_456, 550_000_000, 12_345_678, 28, 1440.0, "search", 12_500_000_000)
    assert progress_text(large, 1_400_000.0) == "190,123,456 states · 1,400,000 states/s · 1440 s · depth 28 · 12.5 GB"
    assert progress_text(large, None) == "190,123,456 states · 1440 s · depth 28 · 12.5 GB · 550,000,000 steps"


def test_the_line_is_rewritten_and_gone_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    terminal = Terminal()
    with progress_on(terminal) as tell:  # type: ignore[arg-type]
        assert tell is not None
        assert terminal.text == "", "nothing before there is something to say"
        tell(Progress(1000, 2000, 30, 4, 1.0, "search", 10**8))
        tell(Progress(3000, 9000, 40, 5, 2.0, "search", 10**8))
    assert "1,000 states · 1 s · depth 4" in terminal.text
    assert "2,000 states/s" in terminal.text
    assert terminal.text.rstrip().endswith("\x1b[2K"), "the line is cleared"


def test_no_terminal_no_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    with progress_on(Terminal()) as tell:  # type: ignore[arg-type]
        assert tell is None
    with progress_on(sys.__stderr__) as tell:  # type: ignore[arg-type]
        assert tell is None or sys.__stderr__.isatty()  # type: ignore[union-attr]


def test_the_rate_is_of_the_last_seconds() -> None:
    """A resumed search has its first million for nothing."""
    line = ProgressLine(Terminal())  # type: ignore[arg-type]
    given = 10**6
    told = ((1, given), (2, given + 50), (3, given + 150), (9, given + 750))
    assert [line._rate(Progress(states, 0, 0, 0, seconds)) for seconds, states in told] == [None, 50, 75, 100]
