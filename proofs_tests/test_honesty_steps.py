"""Faults that were never let through, steps that were taken back, failures that were not looked at."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from conftest import Command, Write
from honesty_lab import CASES, COMPLETE, COUNTER

from icore_kernel import api
from icore_kernel.runs_io import SavedRun, replay
from icore_kernel.verdict import Run


def test_a_fault_that_never_commits_shows_nothing(command: Command) -> None:
    """Unaudited, the system with a fault that never occurs is as sound as without it: that the fault does no harm is unknown."""
    path = CASES / "idle_fault.icore"
    for option in ("--unaudited", "--unaudited=careless"):
        status, text, _ = command("check", option, path)
        assert status == 3
        assert "never committed: careless: nothing is shown" in text


def test_without_faults_there_is_nothing_to_let_through(command: Command, write: Write) -> None:
    status, text, _ = command("check", "--unaudited", write(f"{COUNTER}invariant low: x.at <= 3\n"))
    assert status == 3
    assert "no fault, and no attempt that `requires` refuses, is declared" in text


def test_a_fault_that_commits_is_counted(command: Command) -> None:
    status, out, _ = command("check", "--unaudited=careless", "--format", "json", COMPLETE)
    results = {r["name"]: r for r in json.loads(out)["results"]}
    assert (status, results["soundness"]["verdict"]) == (1, "violated")
    assert results["let through"]["detail"] == "careless 1"


def test_unaudited_a_value_outside_its_domain_is_still_a_failure(command: Command, write: Write) -> None:
    attempt = "update leave by environment { when x.at == 0 requires x.at > 0 set x.at := 1 }\n"
    path = write(f"input x {{ at: 0..3 = 0 }}\nupdate up by environment {{ set x.at := x.at + 1 }}\n{attempt}")
    assert command("check", path)[0] == 1
    status, out, _ = command("check", "--unaudited", "--format", "json", path)
    (failed,) = [r for r in json.loads(out)["results"] if r["verdict"] == "violated"]
    assert (status, failed["name"], len(failed["run"]["steps"])) == (1, "definedness", 3)


def test_a_refused_step_leaves_no_state_behind(command: Command, tmp_path: Path) -> None:
    """The fault is refused: the run ends before it, and does not go on from the state that it would have made."""
    text = COMPLETE.read_text(encoding="utf-8")
    path = tmp_path / "refused.icore"
    path.write_text(f"{text}run careless_one: assign(page); careless(page); approve(page) expect true\n", encoding="utf-8")
    status, out, _ = command("check", "--format", "json", path)
    (failed,) = [r for r in json.loads(out)["results"] if r["verdict"] == "violated"]
    assert (status, failed["name"]) == (1, "run careless_one")
    assert failed["detail"].startswith("step 2, careless(page): refused by ")
    assert [step["update"] for step in failed["run"]["steps"]] == ["assign(page)"]
    assert failed["run"]["offending"]["update"] == "careless(page)"


def test_a_replay_ends_where_a_step_is_refused() -> None:
    """What is false at its end is asked of the last committed state, not of the one that was taken back."""
    system = api.load(COMPLETE).system
    run = SavedRun.of(system, Run((), ()), "by hand", {}, False)
    replayed = replay(system, replace(run, steps=("assign(page)", "careless(page)", "approve(page)")))
    assert [step.committed for step in replayed.steps] == [True, False]
    assert (replayed.committed, replayed.borne_out, replayed.false_at_end) == (False, False, ())
    let_through = replay(system, replace(run, unaudited=("careless",), steps=("assign(page)", "careless(page)")))
    assert let_through.committed
    assert "A.4(2)" in let_through.false_at_end


def test_what_a_run_was_refused_for_is_kept(command: Command) -> None:
    """Of each refusal the clause is counted: that something failed is not all that is known of it."""
    _, out, _ = command("check", "--format", "json", COMPLETE)
    (faults,) = [r for r in json.loads(out)["results"] if r["name"] == "faults"]
    assert faults["detail"] == "1 fault refused 1 time: by definition 6(iii) evidence 1"
