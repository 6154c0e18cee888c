"""Success is never empty: what holds for no reason is a finding, with its place, and `allow` silences it with a reason."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import CHECKOUT, Command, Write
from honesty_lab import CASES, COMPLETE, COUNTER

from icore_kernel import api
from icore_kernel.check.run import check
from icore_kernel.verdict import Verdict

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
def test_a_finding_has_its_place_in_text_and_json(command: Command, file: str, kind: str, subject: str, begins: str) -> None:
    path = CASES / f"{file}.icore"
    _, out, _ = command("check", "--format", "json", path)
    (found,) = [f for f in json.loads(out)["findings"] if (f["kind"], f["subject"]) == (kind, subject)]
    place = found["span"]
    line = Path(place["file"]).read_text(encoding="utf-8").splitlines()[place["line"] - 1]
    assert line.strip().startswith(begins)
    _, text, _ = command("check", path)
    shown = place["file"] if place["file"] == str(path) else f"spec/{Path(place['file']).name}"
    assert f"{found['message']} ({shown}:{place['line']})" in text


@pytest.mark.parametrize("file", EMPTY)
def test_each_fails_under_strict_and_only_there(command: Command, file: str) -> None:
    path = CASES / f"{file}.icore"
    status, text, _ = command("check", path)
    assert (status, text.splitlines()[-1].split(" ·")[0]) == ((1, "violated") if file == "no_start" else (0, "holds"))
    assert command("check", "--strict", path)[0] == 1
    status, out, _ = command("check", "--strict", "--format", "json", path)
    assert (status, json.loads(out)["exit_status"]) == (1, 1)


@pytest.mark.parametrize("file", [file for file in EMPTY if file != "no_start"])
def test_allow_silences_it_with_its_reason(command: Command, tmp_path: Path, file: str) -> None:
    """Each finding by its kind and subject. (That there is no initial state cannot be allowed: it is no finding alone.)"""
    text = (CASES / f"{file}.icore").read_text(encoding="utf-8")
    found = check(api.load(CASES / f"{file}.icore")).findings
    allowed = [f'allow {f.kind} {f"`{f.subject}` " if f.subject else ""}because "so it is meant"\n' for f in found]
    path = tmp_path / "allowed.icore"
    path.write_text(text + "".join(allowed), encoding="utf-8")
    status, out, _ = command("check", "--strict", "--format", "json", path)
    assert status == 0
    assert [f["allowed"] for f in json.loads(out)["findings"]] == ["so it is meant"] * len(found)
    path.write_text(text + "".join(allowed[1:]), encoding="utf-8")
    assert command("check", "--strict", path)[0] == 1


def test_what_is_unreachable_by_what_nothing_moves_is_a_finding_too(command: Command, write: Write) -> None:
    path = write(f"{COUNTER}input y {{ at: 0..3 = 0 }}\nunreachable never: y.at == 3\n")
    status, text, _ = command("check", "--strict", path)
    assert status == 1
    assert f"the formula of `never` is false whatever updates do ({path}:7)" in text


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        ("invariant a: x.at >= 0", "the formula of `a` is true whatever updates do"),
        ("unreachable a: x.at + 1 < 1", "the formula of `a` is false whatever updates do"),
        ("invariant a: x.at >= 0 and y.at < 4 and z.at == 0", "`a` depends on nothing that an update writes"),
    ],
)
def test_what_the_domains_decide_is_not_said_to_read_nothing(command: Command, write: Write, declared: str, said: str) -> None:
    """All three read `x.at`, which an update writes; `z` starts anywhere and is written by none."""
    path = write(f"{COUNTER}input y {{ at: 0..3 = 0 }}\ninput z {{ at: 0..1 }}\ninitially z.at == 0\n{declared}\n")
    assert f"{said} ({path}:9)" in command("check", path)[1]


def test_allow_vacuous_silences_by_subject_alone(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "allowed.icore"
    text = (CASES / "never_fires.icore").read_text(encoding="utf-8")
    path.write_text(text + 'allow vacuous `overflow` because "later"\n', encoding="utf-8")
    status, out, _ = command("check", "--strict", "--format", "json", path)
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


def test_allow_takes_a_family_for_all_its_members(command: Command, tmp_path: Path) -> None:
    text = (CASES / "uncovered_root.icore").read_text(encoding="utf-8").replace("annex: Task", "annex[i: 1..2]: Task")
    path = tmp_path / "family.icore"
    for allowed, reasons in (
        ("", (None, None)),
        ('allow uncovered_root `annex[2]` because "later"\n', (None, "later")),
        ('allow uncovered_root annex because "later"\n', ("later", "later")),
    ):
        path.write_text(text + allowed, encoding="utf-8")
        _, out, _ = command("check", "--format", "json", path)
        found = {f["subject"]: f["allowed"] for f in json.loads(out)["findings"] if f["kind"] == "uncovered_root"}
        assert (found["annex[1]"], found["annex[2]"]) == reasons


def test_what_is_not_empty_has_no_finding(command: Command) -> None:
    status, text, _ = command("check", "--strict", COMPLETE)
    assert status == 0
    assert "0 notes" in text
