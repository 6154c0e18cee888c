"""Rounds of a record that is rewritten with all its hashes: what the listing never does is found by `icore replay`."""

from __future__ import annotations

import re
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from run_lab import Dicts
from test_replay import clean, entries_of, first

from icore_kernel.audit.replay import check

__all__ = ["clean"]


def _of(run: Dicts, kind: str) -> int:
    return next(at for at, entry in enumerate(run) if entry["kind"] == kind)


def _one_round(run: Dicts) -> None:
    for entry in run[1:]:
        entry["body"]["t"] = 0


def _later(run: Dicts) -> None:
    for entry in run[4:]:
        entry["body"]["t"] += 1


def _waits(run: Dicts) -> None:
    run.insert(2, {"kind": "wait", "body": {"t": 0, "line": 16, "phase": "ordinary", "agent": "ana", "outside": {}}})


def _twice(kind: str) -> Callable[[Dicts], None]:
    return lambda run: run.insert(_of(run, kind), deepcopy(run[_of(run, kind)]))


def _unasked(run: Dicts) -> None:
    """The second diagnosis, and the recovery that failed, were never made."""
    del run[5:7]


def _goes_on(run: Dicts) -> None:
    run.insert(-1, {"kind": "wait", "body": {"t": run[-1]["body"]["t"], "line": 16, "phase": "ordinary", "agent": "ana", "outside": {}}})
    run[-1]["body"]["t"] += 1


def _given(key: str, value: Any) -> Callable[[Dicts], None]:
    return lambda run: first(run, "open")["algorithm"].update({key: value})


def _ends(outcome: str) -> Callable[[Dicts], None]:
    return lambda run: first(run, "end").update(outcome=outcome)


def _unended(run: Dicts) -> None:
    run[-1] = {"kind": "seal", "body": {}}


def _ends_twice(run: Dicts) -> None:
    _ends("interrupted")(run)
    run.append({"kind": "end", "body": {**first(run, "end"), "outcome": "accept"}})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_one_round, "second ordinary step in round 0"),
        (_later, r"of round 2, after 1 of at most 12"),
        (lambda run: first(run, "commit", phase="recovery").update(agent="bo"), "is told to"),
        (_waits, "second ordinary step in round 0"),
        (_twice("diagnosis"), "second diagnosis in round 0"),
        (_twice("refusal"), "second ordinary step"),
        (_unasked, "ends without the diagnosis that patience asks for"),
        (_goes_on, "goes on after it has come to its end"),
        (_given("budget", 2), "after 2 of at most 2"),
        (_given("tolerance", "9"), "tolerance"),
        (_given("floor", "1"), "floor"),
        (_given("threshold", "1/0"), "no number"),
        (_given("threshold", "1e400000000"), "no number"),
        (_given("patience", "many"), "no number"),
        (_given("budget", True), "no number"),
        (_ends("incomplete"), "ends with incomplete, which the run does not show"),
        (_ends("internal"), "ends with internal, which the run does not show"),
        (_unended, "sealed, and the run has no end"),
        (_ends_twice, "after the end"),
        (lambda run: first(run, "open").update(format="icore.record/2"), "format"),
    ],
)
def test_what_the_listing_never_does_differs(clean: Dicts, change: Callable[[Dicts], None], said: str) -> None:
    run = deepcopy(clean)
    change(run)
    for seq, entry in enumerate(run):
        entry["seq"] = seq
    (problem,) = check(entries_of(run))
    assert re.search(said, problem), problem
