"""The kinds of false success that other checkers have shipped (design 4, Honesty of success): what failed fails the whole."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from conftest import CHECKOUT, Command, Write
from honesty_lab import CASES, COMPLETE, COUNTER

from icore_kernel import api
from icore_kernel.check.run import check
from icore_kernel.verdict import Assurance, Report, Verdict

MISSPELLED: list[tuple[tuple[str, ...], str]] = [
    (("--only", "good_onyl"), "good_onyl"),
    (("--only", "good_only", "--only", "legalty"), "legalty"),
    (("--unaudited=carelss",), "carelss"),
    (("--set", "n=3"), "n"),
]


@pytest.mark.parametrize(("options", "word"), MISSPELLED)
def test_a_misspelled_name_is_wrong_input(command: Command, options: tuple[str, ...], word: str) -> None:
    status, out, err = command("check", *options, COMPLETE)
    assert (status, out) == (2, "")
    assert f"'{word}'" in err


def test_only_answers_what_was_named_and_nothing_else(command: Command) -> None:
    """The name must be a result's: then just that one is answered, and its violation is the verdict."""
    status, out, _ = command("check", "--format", "json", "--only", "good_only", "--only", "legality", COMPLETE)
    assert (status, [r["name"] for r in json.loads(out)["results"]]) == (0, ["legality", "good_only"])


@pytest.mark.parametrize(
    "declared",
    [
        'allow never_fire because "misspelled"',
        'allow never_fires asign because "misspelled"',
        'allow passes `careles` because "misspelled"',
        "expect violated good_onyl",
        "run other: asign(page) expect accept",
        "run other: assign(paeg) expect accept",
        "check terminaton",
        "fair weak aprove",
        "symmetric agents ana, ob",
        "check order stability given asign.w",
    ],
)
def test_a_misspelled_word_in_a_package_is_an_error_and_not_dropped(command: Command, tmp_path: Path, declared: str) -> None:
    path = tmp_path / "misspelled.icore"
    path.write_text(f"{COMPLETE.read_text(encoding='utf-8')}{declared}\n", encoding="utf-8")
    status, out, err = command("check", path)
    assert (status, out) == (2, "")
    assert "misspelled.icore:" in err


def test_a_field_without_a_value_starts_everywhere(command: Command, write: Write) -> None:
    """Left out of the initial state, it is not silently its first value: not for invariants, and not for runs."""
    free = "input x { at: 0..3 }\nupdate down by environment { when x.at > 0 set x.at := x.at - 1 }\n"
    status, out, _ = command("check", "--format", "json", write(f"{free}invariant low: x.at < 3\nrun stays: expect x.at == 0\n"))
    record = json.loads(out)
    assert (status, record["space"]["levels"]) == (1, [4])
    found = {r["name"]: r for r in record["results"] if r["verdict"] == "violated"}
    assert sorted(found) == ["low", "run stays"]
    assert found["low"]["run"]["initial"] == {"x.at": "3"}
    assert found["run stays"]["run"]["initial"] == {"x.at": "1"}
    status, text, _ = command("check", write(f"{free}initially x.at > 1\nrun falls: down; down expect x.at < 2\n"))
    assert status == 0
    assert "2 steps from each of 2 initial states" in text


def test_too_many_initial_states_for_a_run_are_unknown(command: Command, write: Write) -> None:
    fields = "input x(i: 1..15) { on: bool }\ninitially forall i in 1..15: x(i).on\n"
    update = "update off(i: 1..15) by environment { when x(i).on set x(i).on := false }\n"
    status, text, _ = command("check", write(f"{fields}{update}run first: off(1) expect not x(1).on\n"))
    assert status == 3
    assert "too many initial states to replay from each" in text


def test_no_verdict_is_no_success() -> None:
    report = Report(file="p.icore", package="P", version="", results=())
    assert (report.verdict, report.exit_status(), report.exit_status(strict=True)) == (Verdict.UNKNOWN, 3, 3)
    for verdict in Verdict:
        with pytest.raises(TypeError, match="no truth value"):
            bool(verdict)


AT_STEP_0 = {
    "invariant later: x.at > 0": "later",
    "unreachable never: x.at == 0": "never",
    "run nothing: expect x.at > 0": "run nothing",
    "bound late: x.at >= 1 when x.at < 2": "late",
}


@pytest.mark.parametrize(("declared", "name"), AT_STEP_0.items())
def test_a_failure_at_step_0_is_a_failure(command: Command, write: Write, declared: str, name: str) -> None:
    status, out, _ = command("check", "--format", "json", write(f"{COUNTER}{declared}\n"))
    (failed,) = [r for r in json.loads(out)["results"] if r["verdict"] == "violated"]
    assert (status, failed["name"], failed["run"]["steps"]) == (1, name, [])


def test_an_initial_state_that_is_not_feasible_is_a_failure(command: Command, tmp_path: Path) -> None:
    """The request's certificate does not start active: the work that is there from the start rests on nothing."""
    path = tmp_path / "unanchored.icore"
    path.write_text(COMPLETE.read_text(encoding="utf-8").replace("  starts active\n", ""), encoding="utf-8")
    status, out, _ = command("check", "--format", "json", path)
    results = json.loads(out)["results"]
    failed = {r["name"]: r for r in results if r["verdict"] == "violated"}
    assert status == 1
    assert [r["name"] for r in results][1] == "feasibility"
    assert failed["feasibility"]["run"]["steps"] == []
    assert failed["feasibility"]["detail"].startswith("the initial state is not feasible: A.4(1) in 1 state")
    # No update is blamed for what was false before it, and none is called legal.
    (legality,) = [r for r in results if r["name"] == "legality"]
    assert (legality["verdict"], legality["assurance"]) == ("unknown", "none")
    assert command("check", "--only", "legality", path)[0] == 3


def test_what_is_reachable_nowhere_says_what_the_nearest_end_lacks(command: Command, tmp_path: Path) -> None:
    """No page is accepted and failed at once; the run leads to the end where least is missing."""
    text = COMPLETE.read_text(encoding="utf-8")
    path = tmp_path / "one_end.icore"
    path.write_text(text.replace("reachable fails: reject", "reachable fails: status(page) == accepted and reject"), encoding="utf-8")
    _, out, _ = command("check", "--format", "json", path)
    (fails,) = [r for r in json.loads(out)["results"] if r["name"] == "fails"]
    assert fails["verdict"] == "violated"
    assert re.search(r"in none of \d+ reachable states · the nearest end is after \d+ steps", fails["detail"])
    assert fails["run"]["steps"]
    assert {reason["label"] for reason in fails["reasons"]} == {"fails"}


def test_where_no_work_is_required_one_line_says_so_instead_of_clauses_that_are_constant(command: Command, tmp_path: Path) -> None:
    text = COMPLETE.read_text(encoding="utf-8")
    path = tmp_path / "rootless.icore"
    path.write_text(f"{text.replace(', required', '')}\nreachable settles: accept or reject\n", encoding="utf-8")
    status, out, _ = command("check", "--format", "json", path)
    results = {r["name"]: r for r in json.loads(out)["results"]}
    assert status == 1
    for name in ("succeeds", "fails", "dead ends"):
        assert results[name]["verdict"] == "violated"
        said = 'no work is marked required, so Accept and Reject can never hold: write "page: Task starts ready, required"'
        assert results[name]["repair"] == said
        assert results[name]["reasons"] == []
    assert results["succeeds"]["run"] is None and results["dead ends"]["run"]["steps"]
    assert not any("A.6" in reason["label"] for reason in results["settles"]["reasons"])


def test_accept_that_can_never_hold_is_explained_by_its_own_clauses(command: Command, tmp_path: Path) -> None:
    """Nothing certifies coverage and nothing certifies failure: both predicates are false in every state, and no longer told apart."""
    text = COMPLETE.read_text(encoding="utf-8")
    path = tmp_path / "neither.icore"
    path.write_text(text.replace(", coverage(w)", "").replace(", failure(w)", ""), encoding="utf-8")
    _, out, _ = command("check", "--format", "json", path)
    results = {r["name"]: r for r in json.loads(out)["results"]}
    assert {reason["label"] for reason in results["succeeds"]["reasons"]} == {"A.6 Acc(2)", "A.6 Acc(5)"}
    assert {reason["label"] for reason in results["fails"]["reasons"]} == {"A.6 Rej(2)", "A.6 Rej(4)"}


def test_what_fails_through_an_illegal_step_is_told_to_wait_for_legality(command: Command, tmp_path: Path) -> None:
    """The environment's illegal step happens: feasibility, soundness and a dead end are beyond it. What fails before it is not."""
    broken = CHECKOUT / "examples" / "incident_response_broken.icore"
    _, out, _ = command("check", broken)
    through = "fix legality first: the others pass through its illegal step, new_telemetry"
    assert out.splitlines()[-3] == f"{through}; their runs are shown by `--only NAME`"
    assert "fix legality" not in command("check", broken, "--only", "legality")[1]
    path = tmp_path / "more.icore"
    path.write_text(f"{broken.read_text(encoding='utf-8')}\ninvariant never_closed: status(cause) != closed\n", encoding="utf-8")
    said = command("check", path, "--only", "never_closed", "--only", "soundness")[1].splitlines()[-3]
    assert said == "fix legality first: soundness passes through its illegal step, new_telemetry"
    assert "fix legality" not in command("check", path, "--only", "never_closed")[1]
    refused = CHECKOUT / "examples" / "code_change_broken.icore"  # an illegal step of an agent does not happen: nothing is beyond it
    out = command("check", refused)[1]
    assert "violated: legality" in out and "violated: dead ends" in out and "fix legality" not in out


def test_what_fails_through_an_illegal_step_is_a_line_until_it_is_asked_for(command: Command, tmp_path: Path) -> None:
    """Verdicts, exit status and JSON keep everything; a person sees the runs of legality and of what fails without its illegal step."""
    path = tmp_path / "more.icore"
    broken = CHECKOUT / "examples" / "incident_response_broken.icore"
    path.write_text(f"{broken.read_text(encoding='utf-8')}\ninvariant never_closed: status(cause) != closed\n", encoding="utf-8")
    status, out, _ = command("check", path)
    assert status == 1
    _, said, _ = command("check", "--format", "json", path)
    violated = [result["name"] for result in json.loads(said)["results"] if result["verdict"] == "violated"]
    assert {"legality", "never_closed", "feasibility", "soundness"} < set(violated)
    for name in violated:
        assert re.search(rf"^  {re.escape(name)} +violated ", out, re.MULTILINE)
        assert (f"violated: {name} ·" in out) == (name in {"legality", "never_closed"})
    assert all(result["run"] for result in json.loads(said)["results"] if result["name"] in violated)
    asked = command("check", path, "--only", "soundness")[1]
    assert "violated: soundness ·" in asked and "new_telemetry by environment" in asked


REOPENED = """update reopen(w: Task) operation reopen by bo {
  when status(w) == accepted
  set status(w) := ready
  issue again(w)
}
certificate again(w: Task) { issuer bo premises request claims status(w) is ready }
"""


def test_the_repair_of_too_much_evidence_is_to_take_it_back(command: Command, tmp_path: Path) -> None:
    """The work is ready again, and its acceptance is still claimed: A.4(5) alone fails. Without `issue` evidence is missing too."""
    path = tmp_path / "reopened.icore"
    path.write_text(f"{COMPLETE.read_text(encoding='utf-8')}{REOPENED}", encoding="utf-8")
    _, out, _ = command("check", "--format", "json", path)
    (legality,) = [r for r in json.loads(out)["results"] if r["name"] == "legality"]
    assert {reason["label"] for reason in legality["reasons"]} == {"A.4(5)"}
    assert legality["repair"] == "revoke or supersede done(page) or ok(page) where reopen happens"
    path.write_text(path.read_text(encoding="utf-8").replace("  issue again(w)\n", ""), encoding="utf-8")
    _, out, _ = command("check", "--format", "json", path)
    (legality,) = [r for r in json.loads(out)["results"] if r["name"] == "legality"]
    assert legality["repair"].startswith("let reopen issue the evidence that is missing")
    assert legality["repair"].endswith("; revoke or supersede done(page) or ok(page) where reopen happens")


def test_a_fault_that_passes_sometimes_is_counted_against_its_occurrences(command: Command) -> None:
    _, out, _ = command("check", "--format", "json", CASES / "passes.icore")
    (faults,) = [r for r in json.loads(out)["results"] if r["name"] == "faults"]
    assert faults["detail"] == "0 of 1 always refused; careless passes 1 of 2 times"


NESTED = (
    "forall w in Task: exists m in Agent: status(w) == ready or (assignee(w) == m and (if status(w) == rejected then m == bo else true))"
)


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"status(page) == accepted implies report(page).good": NESTED}, "good_only"),
        ({"expect accept": "expect reject"}, "run happy"),
        ({"reachable fails: reject": "reachable fails: reject and accept"}, "fails"),
        ({"  issue ok(w)\n": ""}, "legality"),
    ],
)
def test_a_failure_anywhere_reaches_the_exit_status(command: Command, tmp_path: Path, changes: Mapping[str, str], name: str) -> None:
    text = COMPLETE.read_text(encoding="utf-8")
    for old, new in changes.items():
        assert text.count(old) == 1
        text = text.replace(old, new)
    path = tmp_path / "failing.icore"
    path.write_text(text, encoding="utf-8")
    status, out, _ = command("check", "--format", "json", path)
    record = json.loads(out)
    assert (status, record["exit_status"]) == (1, 1), record
    assert name in [r["name"] for r in record["results"] if r["verdict"] == "violated"]
    assert command("check", COMPLETE, path)[0] == command("check", path, COMPLETE)[0] == 1
    assert command("check", path, tmp_path / "absent.icore")[0] == 2


def test_a_verdict_is_never_a_remembered_one(command: Command, write: Write) -> None:
    """The same name, size and time of change, another text: another verdict. And nothing is left beside the file."""
    path = write(f"{COUNTER}invariant low: x.at <= 3\n")
    before = path.stat()
    assert command("check", path)[0] == 0
    path.write_text(path.read_text(encoding="utf-8").replace("x.at <= 3", "x.at <= 2"), encoding="utf-8")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert command("check", path)[0] == 1
    assert [found.name for found in path.parent.iterdir()] == [path.name]


def nested(depth: int) -> str:
    return "not (" * depth + "x.at == 3" + ")" * depth


DEEP = {
    "brackets": f"invariant deep: {nested(81)}",
    "a long chain": f"invariant deep: {' and '.join(f'x.at != {k % 3 + 7}' for k in range(3000))} and x.at != 3",
    "definitions": "define d0 = x.at == 3\n"
    + "".join(f"define d{k} = d{k - 1} and x.at <= 3\n" for k in range(1, 400))
    + "invariant deep: not d399",
}


@pytest.mark.parametrize("declared", DEEP.values(), ids=DEEP.keys())
def test_a_deep_formula_is_read_to_its_end(command: Command, write: Write, declared: str) -> None:
    """Each is false exactly where x is 3, at the bottom of the formula: three steps from the start."""
    status, out, err = command("check", "--format", "json", write(f"{COUNTER}{declared}\n"))
    assert status == 1, (out, err)
    (deep,) = [r for r in json.loads(out)["results"] if r["name"] == "deep"]
    assert (deep["detail"], len(deep["run"]["steps"])) == ("in 1 state", 3)


def test_a_long_chain_of_premises_is_followed_to_its_end(command: Command, write: Write) -> None:
    """Certificate 120 rests on the ones before it, the first on an input: it is valid until the input moves, and not after."""
    text = """
input head { at: 0..1 = 0 }
certificate link(i: 1..120) {
  issuer environment
  premises head, link(j) for j in 1..120 where j == i - 1
  valid when i > 1 or head.at == 0
  starts active
}
update move by environment { when head.at == 0 set head.at := 1 }
invariant holds_on: valid(link(120))
"""
    status, out, err = command("check", "--format", "json", write(text))
    assert status == 1, (out, err)
    (result,) = [r for r in json.loads(out)["results"] if r["name"] == "holds_on"]
    assert (result["detail"], len(result["run"]["steps"])) == ("in 1 state", 1)


def test_expecting_a_violation_that_is_not_there_is_a_failure(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "expects.icore"
    path.write_text(f"{COMPLETE.read_text(encoding='utf-8')}expect violated good_only\n", encoding="utf-8")
    status, text, _ = command("check", path)
    assert status == 1
    assert "the file expects a violation, and there is none" in text
    assert command("check", "--max-states", "3", path)[0] == 3


def test_every_result_says_on_what_it_rests() -> None:
    """Nothing holds on nothing: an assurance stands beside each verdict, bounded and none only beside unknown."""
    for rules in (api.Rules(), api.Rules(max_states=3)):
        for result in check(api.load(COMPLETE), rules=rules).results:
            if result.assurance in {Assurance.NONE, Assurance.BOUNDED}:
                assert result.verdict is Verdict.UNKNOWN, result
            else:
                assert result.verdict in {Verdict.HOLDS, Verdict.PROVED, Verdict.VIOLATED}, result


def test_ten_thousand_definitions_that_each_use_a_later_one_are_refused_in_words(tmp_path: Path) -> None:
    text = ['language 1\npackage D "1"\ninput x { n: 0..3 = 0 }']
    text += [f"define f{i} = f{i + 1}" for i in range(9_999)] + ["define f9999 = x.n", "invariant i: f0 <= 3"]
    file = tmp_path / "deep.icore"
    file.write_text("\n".join(text), encoding="utf-8")
    with pytest.raises(api.UsageError, match="too deeply"):
        api.load(file)


def test_faults_say_what_is_counted_and_what_was_never_attempted(command: Command, tmp_path: Path) -> None:
    """Two faults and what `requires` forbids are refused; of two faults one is enabled in no state, the other in no reachable one."""
    path = tmp_path / "never.icore"
    base = """package Never
input x { n: 0..3 = 0 }
agents { ana }
certificate ok { issuer ana premises x }
update up by environment { when x.n < 2 set x.n := x.n + 1 }
update sign by ana { when not active(ok) requires x.n == 1 issue ok }
fault forge by monitor { when x.n == 1 issue ok }
fault early by environment { when x.n == 0 set x.n := 7 }
"""
    path.write_text(base, encoding="utf-8")
    _, out, _ = command("check", "--only", "faults", path)
    assert "2 faults and 1 attempt refused " in out and "never" not in out
    never = "fault late by monitor { when x.n == 3 issue ok }\nfault nowhere by monitor { when x.n == 0 and x.n == 1 issue ok }\n"
    path.write_text(base + never, encoding="utf-8")
    _, out, _ = command("check", "--only", "faults", path)
    assert re.search(r"2 faults and 1 attempt refused \d+ times: by [^;]*; 2 faults never attempted", out)


def test_prove_counts_faults_as_check_does(command: Command) -> None:
    package = CHECKOUT / "examples" / "code_change.icore"
    assert "6 faults and 1 attempt refused" in command("check", package, "--only", "faults")[1]
    assert "6 faults refused in every state · 27 occurrences · attempts are refused by their `requires`" in command("prove", package)[1]
