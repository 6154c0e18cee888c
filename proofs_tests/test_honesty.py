"""Success is never empty: what holds for no reason is a finding, what was not looked at is unknown, what failed fails the whole.

The last part goes through the kinds of false success that other checkers have shipped (design 4, Honesty of success).
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import CHECKOUT

from icore_kernel import api, cli
from icore_kernel.check.run import check
from icore_kernel.meaning import smt
from icore_kernel.runs_io import SavedRun, replay
from icore_kernel.system import Property, PropertyKind
from icore_kernel.verdict import Assurance, Report, Run, Verdict

CASES = CHECKOUT / "proofs_tests" / "cases" / "honesty"
COUNTS = CHECKOUT / "proofs_tests" / "cases" / "counts"
COMPLETE = CASES / "complete.icore"

Icore = Callable[..., tuple[int, str, str]]


@pytest.fixture
def icore(capsys: pytest.CaptureFixture[str]) -> Icore:
    """One command line in this process: exit status, standard output, standard error."""

    def run(*arguments: str | Path) -> tuple[int, str, str]:
        status = cli.run([str(argument) for argument in arguments])
        shown = capsys.readouterr()
        return status, shown.out, shown.err

    return run


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], Path]:
    def written(text: str, name: str = "package.icore") -> Path:
        path = tmp_path / name
        path.write_text(f"language 1\npackage P\n{text}", encoding="utf-8")
        return path

    return written


Write = Callable[..., Path]

COUNTER = """
input x { at: 0..3 = 0 }
update up by environment { when x.at < 3 set x.at := x.at + 1 }
"""


def result_of(report: Report, name: str) -> Verdict:
    (verdict,) = {result.verdict for result in report.results if result.name == name}
    return verdict


# ---- each way to hold for no reason is a finding ---------------------------------------------------------------------

# file, kind, subject, how the line that its span points to begins. A clause of the theory is pointed to where no line of the
# package could be.
FINDINGS = [
    ("no_start", "no_start", "", "initially x.at < 1"),
    ("nothing_enabled", "no_start", "", "update up"),
    ("never_fires", "never_fires", "overflow", "update overflow"),
    ("never_fires", "never_fires", "impossible", "update impossible"),
    ("never_valid", "never_valid", "blessed", "certificate blessed"),
    ("antecedent", "antecedent", "alarm_stops_it", "invariant alarm_stops_it"),
    ("unread_invariant", "unread_invariant", "y_stays_small", "invariant y_stays_small"),
    ("accept_unreachable", "accept_unreachable", "", 'finding "accept_unreachable"'),
    ("reject_unreachable", "reject_unreachable", "", 'finding "reject_unreachable"'),
    ("uncovered_root", "uncovered_root", "annex", "annex: Task"),
    ("empty_roots", "empty_roots", "", 'finding "empty_roots"'),
    ("never_refused", "never_refused", "careless", "fault careless"),
    ("passes", "passes", "careless", "fault careless"),
    ("idle_fault", "never_fires", "careless", "fault careless"),
]
EMPTY = sorted({file for file, *_ in FINDINGS})


@pytest.mark.parametrize(("file", "kind", "subject", "begins"), FINDINGS)
def test_a_finding_has_its_place_in_text_and_json(icore: Icore, file: str, kind: str, subject: str, begins: str) -> None:
    path = CASES / f"{file}.icore"
    _, out, _ = icore("check", "--format", "json", path)
    (found,) = [f for f in json.loads(out)["findings"] if (f["kind"], f["subject"]) == (kind, subject)]
    place = found["span"]
    line = Path(place["file"]).read_text(encoding="utf-8").splitlines()[place["line"] - 1]
    assert line.strip().startswith(begins)
    _, text, _ = icore("check", path)
    shown = place["file"] if place["file"] == str(path) else f"spec/{Path(place['file']).name}"
    assert f"{found['message']} ({shown}:{place['line']})" in text


@pytest.mark.parametrize("file", EMPTY)
def test_each_fails_under_strict_and_only_there(icore: Icore, file: str) -> None:
    path = CASES / f"{file}.icore"
    status, text, _ = icore("check", path)
    assert (status, text.splitlines()[-1].split(" ·")[0]) == ((1, "violated") if file == "no_start" else (0, "holds"))
    assert icore("check", "--strict", path)[0] == 1
    status, out, _ = icore("check", "--strict", "--format", "json", path)
    assert (status, json.loads(out)["exit_status"]) == (1, 1)


@pytest.mark.parametrize("file", [file for file in EMPTY if file != "no_start"])
def test_allow_silences_it_with_its_reason(icore: Icore, tmp_path: Path, file: str) -> None:
    """Each finding by its kind and subject. (That there is no initial state cannot be allowed: it is no finding alone.)"""
    text = (CASES / f"{file}.icore").read_text(encoding="utf-8")
    found = check(api.load(CASES / f"{file}.icore")).findings
    allowed = [f'allow {f.kind} {f"`{f.subject}` " if f.subject else ""}because "so it is meant"\n' for f in found]
    path = tmp_path / "allowed.icore"
    path.write_text(text + "".join(allowed), encoding="utf-8")
    status, out, _ = icore("check", "--strict", "--format", "json", path)
    assert status == 0
    assert [f["allowed"] for f in json.loads(out)["findings"]] == ["so it is meant"] * len(found)
    path.write_text(text + "".join(allowed[1:]), encoding="utf-8")
    assert icore("check", "--strict", path)[0] == 1


def test_what_is_unreachable_by_what_nothing_moves_is_a_finding_too(icore: Icore, write: Write) -> None:
    path = write(f"{COUNTER}input y {{ at: 0..3 = 0 }}\nunreachable never: y.at == 3\n")
    status, text, _ = icore("check", "--strict", path)
    assert status == 1
    assert f"`never` reads nothing that an update writes ({path}:7)" in text


def test_allow_vacuous_silences_by_subject_alone(icore: Icore, tmp_path: Path) -> None:
    path = tmp_path / "allowed.icore"
    text = (CASES / "never_fires.icore").read_text(encoding="utf-8")
    path.write_text(text + 'allow vacuous `overflow` because "later"\n', encoding="utf-8")
    status, out, _ = icore("check", "--strict", "--format", "json", path)
    assert status == 1
    assert {f["subject"]: f["allowed"] for f in json.loads(out)["findings"]} == {"impossible": None, "overflow": "later"}


def test_allow_dead_end_of_some_work(tmp_path: Path) -> None:
    """Two pages that may be left to nobody, and then nothing is assigned any more. Page and cover end ready (r, for good) or accepted (a):
    ra, ar, and rr in three states, since either or both were assigned before, which certificates tell. That `cover` is left is allowed in
    ar alone. The sixth settlement is aa."""
    text = (CHECKOUT / "proofs_tests" / "cases" / "rewriting" / "abandoned.icore").read_text(encoding="utf-8")
    page = "  page: Task starts ready, required\n"
    text = text.replace(page, page + page.replace("page", "cover")).replace("check settlement\n", "")
    path = tmp_path / "two.icore"
    left = {}
    for names in ((), ("cover",), ("page",), ("page", "cover")):
        path.write_text(text + "".join(f'allow dead_end {name} because "seen {name}"\n' for name in names), encoding="utf-8")
        (found,) = (r for r in api.check(api.load(path)).results if r.name == "dead ends")
        left[names] = int(found.detail.split()[0]) if found.verdict is Verdict.VIOLATED else 0
    assert left == {(): 5, ("cover",): 4, ("page",): 4, ("page", "cover"): 0}
    assert found.detail == (
        "none but what may leave page (seen page), cover (seen cover) · 6 settlements: Accept, Reject or certified Stuck, or allowed"
    )


def test_allow_takes_a_family_for_all_its_members(icore: Icore, tmp_path: Path) -> None:
    text = (CASES / "uncovered_root.icore").read_text(encoding="utf-8").replace("annex: Task", "annex[i: 1..2]: Task")
    path = tmp_path / "family.icore"
    for allowed, reasons in (
        ("", (None, None)),
        ('allow uncovered_root `annex[2]` because "later"\n', (None, "later")),
        ('allow uncovered_root annex because "later"\n', ("later", "later")),
    ):
        path.write_text(text + allowed, encoding="utf-8")
        _, out, _ = icore("check", "--format", "json", path)
        found = {f["subject"]: f["allowed"] for f in json.loads(out)["findings"] if f["kind"] == "uncovered_root"}
        assert (found["annex[1]"], found["annex[2]"]) == reasons


def test_what_is_not_empty_has_no_finding(icore: Icore) -> None:
    status, text, _ = icore("check", "--strict", COMPLETE)
    assert status == 0
    assert "0 notes" in text


# ---- what was not looked at is unknown -----------------------------------------------------------------------------------

LARGE = COUNTS / "rings.icore"
LARGE_SIZE = ("--set", "n=8", "--set", "k=9")  # 43 million states: no search here comes to its end
BOUNDS = [("--max-states", "500"), ("--max-depth", "3"), ("--timeout", "3")]


@pytest.mark.parametrize("bound", BOUNDS)
def test_a_bound_is_unknown_and_says_what_was_covered(icore: Icore, bound: tuple[str, str]) -> None:
    status, out, _ = icore("check", "--format", "json", *bound, *LARGE_SIZE, LARGE)
    record = json.loads(out)
    assert (status, record["verdict"], record["exit_status"]) == (3, "unknown", 3)
    stopped = record["space"]["stopped"]
    assert stopped.startswith(bound[0].removeprefix("--"))
    assert record["space"]["states"] > 0
    (legality,) = [r for r in record["results"] if r["name"] == "legality"]
    assert (legality["verdict"], legality["assurance"]) == ("unknown", "bounded")
    assert legality["detail"] == f"nothing found in {record['space']['states']:,} states ({stopped})"
    status, text, _ = icore("check", *bound, *LARGE_SIZE, LARGE)
    assert status == 3
    assert f"the search stopped before its end: {stopped}" in text
    assert text.splitlines()[-1].startswith("unknown")


@pytest.mark.parametrize("bound", BOUNDS)
def test_what_was_found_before_the_bound_is_violated(icore: Icore, tmp_path: Path, bound: tuple[str, str]) -> None:
    path = tmp_path / "large.icore"
    path.write_text(LARGE.read_text(encoding="utf-8") + "invariant stays: ring(1).at == 1\n", encoding="utf-8")
    status, out, _ = icore("check", "--format", "json", *bound, *LARGE_SIZE, path)
    record = json.loads(out)
    assert (status, record["verdict"]) == (1, "violated")
    assert record["space"]["stopped"]
    (stays,) = [r for r in record["results"] if r["name"] == "stays"]
    assert (stays["verdict"], len(stays["run"]["steps"])) == ("violated", 1)
    assert stays["detail"].endswith("or more")


def test_a_bound_that_is_not_reached_changes_nothing(icore: Icore) -> None:
    """6 states, depth 3: bounds just large enough leave the verdict, one less does not."""
    for bound, enough in (("--max-states", 6), ("--max-depth", 4)):
        assert icore("check", bound, str(enough), COMPLETE)[0] == 0
        assert icore("check", bound, str(enough - 1), COMPLETE)[0] == 3


def test_nothing_is_found_vacuous_by_a_search_that_stopped(icore: Icore) -> None:
    """After 2 states no certificate was valid yet and Accept not reached: that says nothing."""
    status, out, _ = icore("check", "--strict", "--max-states", "2", "--format", "json", COMPLETE)
    assert (status, json.loads(out)["findings"]) == (3, [])


def test_a_bound_is_unknown_even_where_nothing_was_asked(icore: Icore, write: Write) -> None:
    """No update, no property, no obligation: there is no result that could be unknown but the search itself."""
    path = write("input x { at: 0..9 }\n")
    status, text, _ = icore("check", "--max-states", "3", path)
    assert status == 3
    assert "nothing found in 3 states (max-states 3)" in text


MANY = 10_000


def interrupted(path: Path) -> tuple[int, str]:
    """Ctrl-C as soon as the search has told of its progress, which it does on a terminal: exit status, standard output."""
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "icore_kernel", "check", "--format", "json", *LARGE_SIZE, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, text=True, cwd=CHECKOUT) as child:
        os.close(theirs)
        told = ""
        try:
            while not any(int(count.replace(",", "")) > MANY for count in re.findall(r"([\d,]+) states ·", told)):
                told += os.read(ours, 1000).decode(errors="replace")
            child.send_signal(signal.SIGINT)
            out, _ = child.communicate(timeout=60)
        finally:
            child.kill()
    os.close(ours)
    return child.returncode, out


def test_an_interrupt_is_unknown_and_says_what_was_covered() -> None:
    status, out = interrupted(LARGE)
    record = json.loads(out)
    assert (status, record["verdict"], record["space"]["stopped"]) == (3, "unknown", "interrupted")
    assert record["space"]["states"] > MANY


def test_an_interrupt_does_not_lose_a_violation(tmp_path: Path) -> None:
    path = tmp_path / "large.icore"
    path.write_text(LARGE.read_text(encoding="utf-8") + "invariant stays: ring(1).at == 1\n", encoding="utf-8")
    status, out = interrupted(path)
    record = json.loads(out)
    assert (status, record["verdict"], record["space"]["stopped"]) == (1, "violated", "interrupted")


# ---- what this version cannot decide is unknown ---------------------------------------------------------------------------

LATER = {
    "leadsto later: x.at == 0 ~> x.at == 3": "later",
    "eventually done: x.at == 3": "done",
    "controllable steered: x.at == 3": "steered",
    "check termination": "termination",
    "check settlement": "settlement",
    "check order stability": "order stability",
    "symmetric agents ana, bo": "symmetric ana, bo",
    "fair strong up": "fair strong up",
}


@pytest.mark.parametrize(("declared", "name"), LATER.items())
def test_a_declared_property_is_answered_and_never_dropped(icore: Icore, write: Write, declared: str, name: str) -> None:
    """Undecided: `unknown: not decided by this version`, exit 3. Once a version decides it, it has a verdict of its own."""
    path = write(f"agents {{ ana bo }}\n{COUNTER}\n{declared}\n")
    status, out, _ = icore("check", "--format", "json", path)
    named = [r for r in json.loads(out)["results"] if r["name"] == name]
    undecided = [p for p in api.load(path).system.properties if p.kind is PropertyKind.UNDECIDED]
    if undecided:
        assert [(r["verdict"], r["assurance"], r["detail"]) for r in named] == [("unknown", "none", "not decided by this version")]
        assert status == 3
    elif not declared.startswith("fair"):  # an assumption, which the properties that use it name
        assert len(named) == 1
        assert "not decided by this version" not in named[0]["detail"]
    path.write_text(path.read_text(encoding="utf-8") + "invariant low: x.at < 3\n", encoding="utf-8")
    assert icore("check", path)[0] == 1


def test_an_undecided_property_is_unknown_beside_others_that_hold() -> None:
    loaded = api.load(COMPLETE)
    undecided = Property(PropertyKind.UNDECIDED, "later", loaded.bank.true, loaded.package.span, what="leadsto")
    system = replace(loaded.system, properties=(*loaded.system.properties, undecided))
    report = check(replace(loaded, system=system))
    assert result_of(report, "later") is Verdict.UNKNOWN
    assert result_of(report, "good_only") is Verdict.HOLDS
    assert (report.verdict, report.exit_status()) == (Verdict.UNKNOWN, 3)
    only = check(replace(loaded, system=system), only=("good_only",))
    assert only.exit_status() == 0


# ---- kinds of false success that other checkers shipped ----------------------------------------------------------------


MISSPELLED: list[tuple[tuple[str, ...], str]] = [
    (("--only", "good_onyl"), "good_onyl"),
    (("--only", "good_only", "--only", "legalty"), "legalty"),
    (("--unaudited=carelss",), "carelss"),
    (("--set", "n=3"), "n"),
]


@pytest.mark.parametrize(("options", "word"), MISSPELLED)
def test_a_misspelled_name_is_wrong_input(icore: Icore, options: tuple[str, ...], word: str) -> None:
    status, out, err = icore("check", *options, COMPLETE)
    assert (status, out) == (2, "")
    assert f"'{word}'" in err


def test_only_answers_what_was_named_and_nothing_else(icore: Icore) -> None:
    """The name must be a result's: then just that one is answered, and its violation is the verdict."""
    status, out, _ = icore("check", "--format", "json", "--only", "good_only", "--only", "legality", COMPLETE)
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
def test_a_misspelled_word_in_a_package_is_an_error_and_not_dropped(icore: Icore, tmp_path: Path, declared: str) -> None:
    path = tmp_path / "misspelled.icore"
    path.write_text(f"{COMPLETE.read_text(encoding='utf-8')}{declared}\n", encoding="utf-8")
    status, out, err = icore("check", path)
    assert (status, out) == (2, "")
    assert "misspelled.icore:" in err


def test_a_field_without_a_value_starts_everywhere(icore: Icore, write: Write) -> None:
    """Left out of the initial state, it is not silently its first value: not for invariants, and not for runs."""
    free = "input x { at: 0..3 }\nupdate down by environment { when x.at > 0 set x.at := x.at - 1 }\n"
    status, out, _ = icore("check", "--format", "json", write(f"{free}invariant low: x.at < 3\nrun stays: expect x.at == 0\n"))
    record = json.loads(out)
    assert (status, record["space"]["levels"]) == (1, [4])
    found = {r["name"]: r for r in record["results"] if r["verdict"] == "violated"}
    assert sorted(found) == ["low", "run stays"]
    assert found["low"]["run"]["initial"] == {"x.at": "3"}
    assert found["run stays"]["run"]["initial"] == {"x.at": "1"}
    status, text, _ = icore("check", write(f"{free}initially x.at > 1\nrun falls: down; down expect x.at < 2\n"))
    assert status == 0
    assert "2 steps from each of 2 initial states" in text


def test_too_many_initial_states_for_a_run_are_unknown(icore: Icore, write: Write) -> None:
    fields = "input x(i: 1..15) { on: bool }\ninitially forall i in 1..15: x(i).on\n"
    update = "update off(i: 1..15) by environment { when x(i).on set x(i).on := false }\n"
    status, text, _ = icore("check", write(f"{fields}{update}run first: off(1) expect not x(1).on\n"))
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
def test_a_failure_at_step_0_is_a_failure(icore: Icore, write: Write, declared: str, name: str) -> None:
    status, out, _ = icore("check", "--format", "json", write(f"{COUNTER}{declared}\n"))
    (failed,) = [r for r in json.loads(out)["results"] if r["verdict"] == "violated"]
    assert (status, failed["name"], failed["run"]["steps"]) == (1, name, [])


def test_an_initial_state_that_is_not_feasible_is_a_failure(icore: Icore, tmp_path: Path) -> None:
    """The request's certificate does not start active: the work that is there from the start rests on nothing."""
    path = tmp_path / "unanchored.icore"
    path.write_text(COMPLETE.read_text(encoding="utf-8").replace("  starts active\n", ""), encoding="utf-8")
    status, out, _ = icore("check", "--format", "json", path)
    results = json.loads(out)["results"]
    failed = {r["name"]: r for r in results if r["verdict"] == "violated"}
    assert status == 1
    assert [r["name"] for r in results][1] == "feasibility"
    assert failed["feasibility"]["run"]["steps"] == []
    assert failed["feasibility"]["detail"].startswith("the initial state is not feasible: A.4(1) in 1 state")
    # No update is blamed for what was false before it, and none is called legal.
    (legality,) = [r for r in results if r["name"] == "legality"]
    assert (legality["verdict"], legality["assurance"]) == ("unknown", "none")
    assert icore("check", "--only", "legality", path)[0] == 3


def test_what_is_reachable_nowhere_says_what_the_nearest_end_lacks(icore: Icore, tmp_path: Path) -> None:
    """No page is accepted and failed at once; the run leads to the end where least is missing."""
    text = COMPLETE.read_text(encoding="utf-8")
    path = tmp_path / "one_end.icore"
    path.write_text(text.replace("reachable fails: reject", "reachable fails: status(page) == accepted and reject"), encoding="utf-8")
    _, out, _ = icore("check", "--format", "json", path)
    (fails,) = [r for r in json.loads(out)["results"] if r["name"] == "fails"]
    assert fails["verdict"] == "violated"
    assert re.search(r"in none of \d+ reachable states · the nearest end is after \d+ steps", fails["detail"])
    assert fails["run"]["steps"]
    assert {reason["label"] for reason in fails["reasons"]} == {"fails"}


def test_where_no_work_is_required_one_line_says_so_instead_of_clauses_that_are_constant(icore: Icore, tmp_path: Path) -> None:
    text = COMPLETE.read_text(encoding="utf-8")
    path = tmp_path / "rootless.icore"
    path.write_text(f"{text.replace(', required', '')}\nreachable settles: accept or reject\n", encoding="utf-8")
    status, out, _ = icore("check", "--format", "json", path)
    results = {r["name"]: r for r in json.loads(out)["results"]}
    assert status == 1
    for name in ("succeeds", "fails", "dead ends"):
        assert results[name]["verdict"] == "violated"
        said = 'no work is marked required, so Accept and Reject can never hold: write "page: Task starts ready, required"'
        assert results[name]["repair"] == said
        assert results[name]["reasons"] == []
    assert results["succeeds"]["run"] is None and results["dead ends"]["run"]["steps"]
    assert not any("A.6" in reason["label"] for reason in results["settles"]["reasons"])


def test_accept_that_can_never_hold_is_explained_by_its_own_clauses(icore: Icore, tmp_path: Path) -> None:
    """Nothing certifies coverage and nothing certifies failure: both predicates are false in every state, and no longer told apart."""
    text = COMPLETE.read_text(encoding="utf-8")
    path = tmp_path / "neither.icore"
    path.write_text(text.replace(", coverage(w)", "").replace(", failure(w)", ""), encoding="utf-8")
    _, out, _ = icore("check", "--format", "json", path)
    results = {r["name"]: r for r in json.loads(out)["results"]}
    assert {reason["label"] for reason in results["succeeds"]["reasons"]} == {"A.6 Acc(2)", "A.6 Acc(5)"}
    assert {reason["label"] for reason in results["fails"]["reasons"]} == {"A.6 Rej(2)", "A.6 Rej(4)"}


def test_what_fails_through_an_illegal_step_is_told_to_wait_for_legality(icore: Icore, tmp_path: Path) -> None:
    """The environment's illegal step happens: feasibility, soundness and a dead end are beyond it. What fails before it is not."""
    broken = CHECKOUT / "examples" / "incident_response_broken.icore"
    _, out, _ = icore("check", broken)
    assert out.splitlines()[-3] == "fix legality first: the others pass through its illegal step, new_telemetry"
    assert "fix legality" not in icore("check", broken, "--only", "legality")[1]
    path = tmp_path / "more.icore"
    path.write_text(f"{broken.read_text(encoding='utf-8')}\ninvariant never_closed: status(cause) != closed\n", encoding="utf-8")
    said = icore("check", path, "--only", "never_closed", "--only", "soundness")[1].splitlines()[-3]
    assert said == "fix legality first: soundness passes through its illegal step, new_telemetry"
    assert "fix legality" not in icore("check", path, "--only", "never_closed")[1]
    refused = CHECKOUT / "examples" / "code_change_broken.icore"  # an illegal step of an agent does not happen: nothing is beyond it
    out = icore("check", refused)[1]
    assert "violated: legality" in out and "violated: dead ends" in out and "fix legality" not in out


REOPENED = """update reopen(w: Task) operation reopen by bo {
  when status(w) == accepted
  set status(w) := ready
  issue again(w)
}
certificate again(w: Task) { issuer bo premises request claims status(w) is ready }
"""


def test_the_repair_of_too_much_evidence_is_to_take_it_back(icore: Icore, tmp_path: Path) -> None:
    """The work is ready again, and its acceptance is still claimed: A.4(5) alone fails. Without `issue` evidence is missing too."""
    path = tmp_path / "reopened.icore"
    path.write_text(f"{COMPLETE.read_text(encoding='utf-8')}{REOPENED}", encoding="utf-8")
    _, out, _ = icore("check", "--format", "json", path)
    (legality,) = [r for r in json.loads(out)["results"] if r["name"] == "legality"]
    assert {reason["label"] for reason in legality["reasons"]} == {"A.4(5)"}
    assert legality["repair"] == "revoke or supersede done(page) or ok(page) where reopen happens"
    path.write_text(path.read_text(encoding="utf-8").replace("  issue again(w)\n", ""), encoding="utf-8")
    _, out, _ = icore("check", "--format", "json", path)
    (legality,) = [r for r in json.loads(out)["results"] if r["name"] == "legality"]
    assert legality["repair"].startswith("let reopen issue the evidence that is missing")
    assert legality["repair"].endswith("; revoke or supersede done(page) or ok(page) where reopen happens")


def test_a_fault_that_passes_sometimes_is_counted_against_its_occurrences(icore: Icore) -> None:
    _, out, _ = icore("check", "--format", "json", CASES / "passes.icore")
    (faults,) = [r for r in json.loads(out)["results"] if r["name"] == "faults"]
    assert faults["detail"] == "0 of 1 always refused; careless passes in 1 of 2 occurrences"


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
def test_a_failure_anywhere_reaches_the_exit_status(icore: Icore, tmp_path: Path, changes: Mapping[str, str], name: str) -> None:
    text = COMPLETE.read_text(encoding="utf-8")
    for old, new in changes.items():
        assert text.count(old) == 1
        text = text.replace(old, new)
    path = tmp_path / "failing.icore"
    path.write_text(text, encoding="utf-8")
    status, out, _ = icore("check", "--format", "json", path)
    record = json.loads(out)
    assert (status, record["exit_status"]) == (1, 1), record
    assert name in [r["name"] for r in record["results"] if r["verdict"] == "violated"]
    assert icore("check", COMPLETE, path)[0] == icore("check", path, COMPLETE)[0] == 1
    assert icore("check", path, tmp_path / "absent.icore")[0] == 2


def test_a_verdict_is_never_a_remembered_one(icore: Icore, write: Write) -> None:
    """The same name, size and time of change, another text: another verdict. And nothing is left beside the file."""
    path = write(f"{COUNTER}invariant low: x.at <= 3\n")
    before = path.stat()
    assert icore("check", path)[0] == 0
    path.write_text(path.read_text(encoding="utf-8").replace("x.at <= 3", "x.at <= 2"), encoding="utf-8")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert icore("check", path)[0] == 1
    assert [found.name for found in path.parent.iterdir()] == [path.name]


def test_the_solver_that_gives_up_is_unknown(icore: Icore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every question has a limit of time; where it is reached there is no proof, and no other engine is asked in silence."""
    asked: list[int] = []

    def ask(self: smt.Question, *given: object) -> smt.Answer:
        limit = given[-1]
        assert isinstance(limit, int)
        asked.append(limit)
        return smt.Answer(smt.Result.UNKNOWN, reason="timeout")

    monkeypatch.setattr(smt.Question, "ask", ask)
    status, out, _ = icore("check", "--format", "json", COMPLETE)
    record = json.loads(out)
    (reports,) = [r for r in record["results"] if r["name"] == "reports"]
    assert (status, record["verdict"], reports["verdict"], reports["detail"]) == (3, "unknown", "unknown", "the solver gave up: timeout")
    assert asked and all(0 < limit <= 60_000 for limit in asked)


def test_the_solver_gets_only_what_is_left_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def ask(self: smt.Question, *given: object) -> smt.Answer:
        asked.append(int(str(given[-1])))
        return smt.Answer(smt.Result.UNKNOWN, reason="timeout")

    monkeypatch.setattr(smt.Question, "ask", ask)
    loaded = api.load(COMPLETE)
    check(loaded, rules=api.Rules(timeout=7))
    check(loaded, rules=api.Rules(interrupted=lambda: True))
    within, after_interrupt = asked
    assert 0 < within <= 7000
    assert 0 < after_interrupt <= 1000


def test_the_search_for_initial_states_has_a_budget(icore: Icore, write: Write) -> None:
    """10^12 candidates, of which none is initial: stopped before the end, that there is none is not known."""
    text = "input x(i: 1..12) { at: 0..9 }\ninitially sum(i in 1..12: x(i).at) > 107 and x(1).at == 0\n"
    status, out, _ = icore("check", "--timeout", "0.5", write(f"{text}invariant calm: x(1).at == 0\n"))
    assert status == 3
    assert "timeout 0.5 s" in out
    assert "no initial state" not in out and "no reachable state" not in out


def test_the_search_after_a_report_has_a_budget() -> None:
    """Finality is asked after the state space is complete. Stopped there, nothing is said to be final, and the whole is unknown."""
    loaded = api.load(COMPLETE)
    calls = 0

    def count() -> bool:
        nonlocal calls
        calls += 1
        return False

    assert check(loaded, rules=api.Rules(interrupted=count)).verdict is Verdict.HOLDS
    last, calls = calls, 0
    report = check(loaded, rules=api.Rules(interrupted=lambda: count() or calls == last))
    assert (report.space["states"], report.space["stopped"]) == (6, "interrupted")
    assert report.verdict is Verdict.UNKNOWN


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
def test_a_deep_formula_is_read_to_its_end(icore: Icore, write: Write, declared: str) -> None:
    """Each is false exactly where x is 3, at the bottom of the formula: three steps from the start."""
    status, out, err = icore("check", "--format", "json", write(f"{COUNTER}{declared}\n"))
    assert status == 1, (out, err)
    (deep,) = [r for r in json.loads(out)["results"] if r["name"] == "deep"]
    assert (deep["detail"], len(deep["run"]["steps"])) == ("in 1 state", 3)


def test_a_long_chain_of_premises_is_followed_to_its_end(icore: Icore, write: Write) -> None:
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
    status, out, err = icore("check", "--format", "json", write(text))
    assert status == 1, (out, err)
    (result,) = [r for r in json.loads(out)["results"] if r["name"] == "holds_on"]
    assert (result["detail"], len(result["run"]["steps"])) == ("in 1 state", 1)


# ---- faults that were never let through, steps that were taken back, failures that were not looked at ----


def test_a_fault_that_never_commits_shows_nothing(icore: Icore) -> None:
    """Unaudited, the system with a fault that never occurs is as sound as without it: that the fault does no harm is unknown."""
    path = CASES / "idle_fault.icore"
    for option in ("--unaudited", "--unaudited=careless"):
        status, text, _ = icore("check", option, path)
        assert status == 3
        assert "never committed: careless: nothing is shown" in text


def test_without_faults_there_is_nothing_to_let_through(icore: Icore, write: Write) -> None:
    status, text, _ = icore("check", "--unaudited", write(f"{COUNTER}invariant low: x.at <= 3\n"))
    assert status == 3
    assert "no fault, and no attempt that `requires` refuses, is declared" in text


def test_a_fault_that_commits_is_counted(icore: Icore) -> None:
    status, out, _ = icore("check", "--unaudited=careless", "--format", "json", COMPLETE)
    results = {r["name"]: r for r in json.loads(out)["results"]}
    assert (status, results["soundness"]["verdict"]) == (1, "violated")
    assert results["let through"]["detail"] == "careless 1"


def test_unaudited_a_value_outside_its_domain_is_still_a_failure(icore: Icore, write: Write) -> None:
    attempt = "update leave by environment { when x.at == 0 requires x.at > 0 set x.at := 1 }\n"
    path = write(f"input x {{ at: 0..3 = 0 }}\nupdate up by environment {{ set x.at := x.at + 1 }}\n{attempt}")
    assert icore("check", path)[0] == 1
    status, out, _ = icore("check", "--unaudited", "--format", "json", path)
    (failed,) = [r for r in json.loads(out)["results"] if r["verdict"] == "violated"]
    assert (status, failed["name"], len(failed["run"]["steps"])) == (1, "definedness", 3)


def test_a_refused_step_leaves_no_state_behind(icore: Icore, tmp_path: Path) -> None:
    """The fault is refused: the run ends before it, and does not go on from the state that it would have made."""
    text = COMPLETE.read_text(encoding="utf-8")
    path = tmp_path / "refused.icore"
    path.write_text(f"{text}run careless_one: assign(page); careless(page); approve(page) expect true\n", encoding="utf-8")
    status, out, _ = icore("check", "--format", "json", path)
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


def test_what_a_run_was_refused_for_is_kept(icore: Icore) -> None:
    """Of each refusal the clause is counted: that something failed is not all that is known of it."""
    _, out, _ = icore("check", "--format", "json", COMPLETE)
    (faults,) = [r for r in json.loads(out)["results"] if r["name"] == "faults"]
    assert faults["detail"] == "1/1 refused · 1 occurrence: by definition 6(iii) evidence 1"


def test_expecting_a_violation_that_is_not_there_is_a_failure(icore: Icore, tmp_path: Path) -> None:
    path = tmp_path / "expects.icore"
    path.write_text(f"{COMPLETE.read_text(encoding='utf-8')}expect violated good_only\n", encoding="utf-8")
    status, text, _ = icore("check", path)
    assert status == 1
    assert "the file expects a violation, and there is none" in text
    assert icore("check", "--max-states", "3", path)[0] == 3


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
