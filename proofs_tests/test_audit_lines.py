"""Algorithm 1, line by line: a run for every branch, told by hand, and for every executable line a loop that skips it."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from audit_desk import CLOSING, Ran, Scripted, desk, ran

from icore_kernel.api import Loaded
from icore_kernel.audit import loop as listing
from icore_kernel.audit.auditor import Auditor
from icore_kernel.audit.frame import Outcome, Parameters
from icore_kernel.audit.host import Proposal, View
from icore_kernel.audit.loop import LINES, Loop
from icore_kernel.record.store import open_store

SYNTAX = {7, 19, 21, 22, 24, 37, 41, 42, 43, 44}
"""Lines of the listing that are `else` or `end`."""


@dataclass(frozen=True)
class Scenario:
    """What the host says, and what must come of it: every entry, X's scores in the end, h, and the round of the end."""

    steps: Mapping[int, tuple[str, str]]
    revisions: Mapping[int, tuple[str, ...]]
    told: tuple[tuple[Any, ...], ...]
    h: int
    t: int
    more: str = ""
    patience: int | None = None
    budget: int | None = None

    def run(self, folder: Path, kind: type[Loop] = Loop) -> Ran:
        return ran(_loaded(folder, self.more), Scripted(self.steps, self.revisions), kind, patience=self.patience, budget=self.budget)


_KNOWN: dict[str, Loaded] = {}


def _loaded(folder: Path, more: str) -> Loaded:
    if more not in _KNOWN:
        _KNOWN[more] = desk(folder, more)
    return _KNOWN[more]


# Both jobs are ready and nobody has them, so that the first assignment leaves a beneficial reassignment (nobody is worth 0,
# ana 0.9): the loop asks the declared authority, the monitor, who names ana.
FIRST = {0: ("ana", "assign(ana, left)")}
GIVE = {0: ("assign(ana, right)",)}
BEGUN: tuple[tuple[Any, ...], ...] = (
    ("open",),
    ("commit", 16, "ana", "assign(ana, left)"),
    ("diagnosis", "assignment", "monitor", "beneficial reassignment", "quality"),
    ("commit", 34, "monitor", "assign(ana, right)"),
)
NO_ANSWER = ("feedback", 38, "ana", None, "A.10 recovery")

SCENARIOS = {
    # Each closed job is progress; two sign-offs are not (h = 2). Acc is tested at the head of round 5.
    "accept": Scenario(
        {
            **FIRST,
            1: ("ana", "finish(ana, left)"),
            2: ("ana", "finish(ana, right)"),
            3: ("monitor", "sign(left)"),
            4: ("monitor", "sign(right)"),
        },
        GIVE,
        (
            *BEGUN,
            ("commit", 16, "ana", "finish(ana, left)"),
            ("commit", 16, "ana", "finish(ana, right)"),
            ("commit", 16, "monitor", "sign(left)"),
            ("commit", 16, "monitor", "sign(right)"),
            ("end", 4, "accept"),
        ),
        h=2,
        t=5,
    ),
    # Assigning twice (h = 1, 2) and failing (h = 3) is no progress: patience is at its end, the assignee is asked and proposes
    # nothing (h = 4); the same once more (h = 5, 6). Then both roots have failed.
    "reject": Scenario(
        {**FIRST, 1: ("ana", "fail(ana, left)"), 2: ("ana", "fail(ana, right)")},
        GIVE,
        (
            *BEGUN,
            ("commit", 16, "ana", "fail(ana, left)"),
            ("diagnosis", "progress", "ana", "patience"),
            NO_ANSWER,
            ("commit", 16, "ana", "fail(ana, right)"),
            ("diagnosis", "progress", "ana", "patience"),
            NO_ANSWER,
            ("end", 6, "reject"),
        ),
        h=6,
        t=3,
    ),
    # A job finished without its certificate is refused and leaves a hard flag; its assignee repairs it with the certificate,
    # which is progress (h = 0) and settles the flag. Then nothing more happens until the budget is spent.
    "repaired": Scenario(
        {**FIRST, 1: ("ana", "finish.withheld(ana, left)"), 2: ("monitor", "sign(left)")},
        {**GIVE, 1: ("finish(ana, left)",)},
        (
            *BEGUN,
            ("refusal", 20, "ana", "finish.withheld(ana, left)", "definition 6(iii) evidence", "A.4(2)", "A.4(7)"),
            ("diagnosis", "evidence", "ana", "patience", "hard flag"),
            ("commit", 34, "ana", "finish(ana, left)"),
            ("commit", 16, "monitor", "sign(left)"),
            ("end", 45, "incomplete"),
        ),
        h=1,
        t=3,
        budget=3,
    ),
    # The same attempt as recovery is refused too: h = 3 by the refusal, 4 by the feedback.
    "unrepaired": Scenario(
        {**FIRST, 1: ("ana", "finish.withheld(ana, left)")},
        {**GIVE, 1: ("finish.withheld(ana, left)",)},
        (
            *BEGUN,
            ("refusal", 20, "ana", "finish.withheld(ana, left)", "definition 6(iii) evidence", "A.4(2)", "A.4(7)"),
            ("diagnosis", "evidence", "ana", "patience", "hard flag"),
            ("feedback", 38, "ana", "finish.withheld(ana, left)", "definition 6(iii) evidence", "A.4(2)", "A.4(7)"),
            ("end", 45, "incomplete"),
        ),
        h=4,
        t=2,
        budget=2,
    ),
    # One job accepted and the other failed: the monitor certifies that nobody can go on. In the round after that nothing is
    # enabled (h = 5), nothing is proposed (h = 6: an empty U counts twice), and only now is Stuck tested.
    "stuck": Scenario(
        {
            **FIRST,
            1: ("ana", "finish(ana, left)"),
            2: ("monitor", "sign(left)"),
            3: ("ana", "fail(ana, right)"),
            4: ("monitor", "halt"),
        },
        GIVE,
        (
            *BEGUN,
            ("commit", 16, "ana", "finish(ana, left)"),
            ("commit", 16, "monitor", "sign(left)"),
            ("commit", 16, "ana", "fail(ana, right)"),
            ("commit", 16, "monitor", "halt"),
            ("diagnosis", "progress", "ana", "no enabled productive update"),
            NO_ANSWER,
            ("end", 40, "stuck"),
        ),
        h=5,
        t=5,
        patience=10,
    ),
    # The package can certify that the budget is spent, once a job is closed.
    "budget": Scenario(
        {**FIRST, 1: ("ana", "finish(ana, left)")},
        GIVE,
        (*BEGUN, ("commit", 16, "ana", "finish(ana, left)"), ("commit", 45, "monitor", "close_books"), ("end", 45, "budget")),
        h=0,
        t=2,
        more=CLOSING,
        budget=2,
    ),
    # Acc that is reached in the last round is never tested.
    "too late": Scenario(
        {
            **FIRST,
            1: ("ana", "finish(ana, left)"),
            2: ("ana", "finish(ana, right)"),
            3: ("monitor", "sign(left)"),
            4: ("monitor", "sign(right)"),
        },
        GIVE,
        (
            *BEGUN,
            ("commit", 16, "ana", "finish(ana, left)"),
            ("commit", 16, "ana", "finish(ana, right)"),
            ("commit", 16, "monitor", "sign(left)"),
            ("commit", 16, "monitor", "sign(right)"),
            ("end", 45, "incomplete"),
        ),
        h=2,
        t=5,
        budget=5,
    ),
}

CAUGHT_BY = {
    1: "accept", 2: "accept", 3: "accept", 4: "accept", 5: "reject", 6: "reject", 8: "accept", 9: "accept", 10: "accept", 11: "accept",
    12: "accept", 13: "accept", 14: "repaired", 15: "accept", 16: "accept", 17: "accept", 18: "accept", 20: "repaired", 23: "stuck",
    25: "accept", 26: "accept", 27: "accept", 28: "accept", 29: "accept", 30: "accept", 31: "accept", 32: "unrepaired", 33: "accept",
    34: "accept", 35: "repaired", 36: "accept", 38: "unrepaired", 39: "stuck", 40: "stuck", 45: "budget",
}  # fmt: skip
"""For each executable line a scenario that cannot come out as it must when the line is skipped."""


def _facts(run: Ran) -> tuple[object, ...]:
    return (tuple(run.told), run.loop.frame.h, run.loop.frame.t)


def _wanted(scenario: Scenario) -> tuple[object, ...]:
    return (scenario.told, scenario.h, scenario.t)


@pytest.mark.parametrize("name", SCENARIOS)
def test_each_branch_comes_out_as_told_by_hand(name: str, tmp_path: Path) -> None:
    scenario = SCENARIOS[name]
    run = scenario.run(tmp_path)
    assert tuple(run.told) == scenario.told
    assert (run.loop.frame.h, run.loop.frame.t) == (scenario.h, scenario.t)
    assert run.outcome.value == scenario.told[-1][2]


@pytest.mark.parametrize("number", sorted(CAUGHT_BY))
def test_a_loop_that_skips_the_line_comes_out_otherwise(number: int, tmp_path: Path) -> None:
    scenario = SCENARIOS[CAUGHT_BY[number]]
    skipping = type("Skipping", (Loop,), {LINES[number]: lambda self: None})
    run = scenario.run(tmp_path, skipping)
    assert isinstance(run.outcome, Outcome)
    assert _facts(run) != _wanted(scenario)


def test_every_executable_line_has_a_step_a_row_and_a_scenario() -> None:
    executable = set(range(1, 46)) - SYNTAX
    assert len(executable) == 35
    assert set(LINES) == executable == set(CAUGHT_BY)
    rows = dict(re.findall(r"^\| (\d+) \|.*\| `(\w+)` \|$", listing.__doc__ or "", flags=re.MULTILINE))
    assert {int(number): name for number, name in rows.items()} == LINES


def test_the_listing_calls_the_steps_in_the_order_of_the_lines() -> None:
    source = Path(listing.__file__).read_text(encoding="utf-8")
    function = next(n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.FunctionDef) and n.name == "listing")
    called = [
        (n.lineno, n.col_offset, n.func.attr) for n in ast.walk(function) if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)
    ]
    lines = {name: number for number, name in LINES.items()}
    in_order = [lines[name] for _, _, name in sorted(called)]
    assert in_order == sorted(in_order)
    assert set(in_order) == set(LINES)


def test_the_trigger_of_quality_alone_reads_the_threshold(tmp_path: Path) -> None:
    loaded = _loaded(tmp_path, "")
    steps = SCENARIOS["accept"].steps
    told = [entry for entry in ran(loaded, Scripted(steps, GIVE), threshold=Fraction(0)).told if entry[0] == "diagnosis"]
    assert told == [("diagnosis", "assignment", "monitor", "beneficial reassignment")]


def test_parameters_that_make_no_sense_are_refused() -> None:
    from icore_kernel.audit.tables import Settings

    assert Parameters.of(Settings()) == Parameters(Fraction(0), 3, 100)
    assert Parameters.of(Settings(patience=7, threshold=Fraction(1, 2)), budget=5) == Parameters(Fraction(1, 2), 7, 5)
    for wrong in ({"threshold": Fraction(3, 2)}, {"threshold": Fraction(-1)}, {"patience": 0}, {"budget": -1}):
        with pytest.raises(ValueError, match=r"between 0 and 1|at least"):
            Parameters.of(Settings(), **wrong)  # type: ignore[arg-type]


def test_work_elsewhere_is_no_answer_to_a_flag(tmp_path: Path) -> None:
    """`right` is ana's too, and in W_F: but it is not what was flagged, nor does the flagged job stand on it."""
    steps = {**FIRST, 1: ("ana", "finish.withheld(ana, left)")}
    run = ran(_loaded(tmp_path, ""), Scripted(steps, {**GIVE, 1: ("finish(ana, right)",)}), budget=2)
    assert run.told[-2] == ("feedback", 38, "ana", "finish(ana, right)", "A.10 hard flag")
    assert set(run.loop.frame.matched) == {"left", "right"}
    both = ran(_loaded(tmp_path, ""), Scripted(steps, {**GIVE, 1: ("finish(ana, right)", "finish(ana, left)")}), budget=2)
    assert [entry[3] for entry in both.told if entry[:2] == ("commit", 34)] == [
        "assign(ana, right)",
        "finish(ana, right)",
        "finish(ana, left)",
    ]
    assert both.loop.auditor.flags == []


class _Failing(Scripted):
    """A host that breaks, or is interrupted, in round 1."""

    def __init__(self, error: type[BaseException]) -> None:
        super().__init__(FIRST, GIVE)
        self.error = error

    def step(self, agent: str, view: View) -> Proposal:
        if view.round:
            raise self.error("stop")
        return super().step(agent, view)


def test_an_interrupted_run_leaves_a_record_that_says_so(tmp_path: Path) -> None:
    run = ran(_loaded(tmp_path, ""), _Failing(KeyboardInterrupt))
    assert run.outcome is Outcome.INTERRUPTED
    assert tuple(run.told) == (*BEGUN, ("end", 0, "interrupted"))


def test_an_error_of_the_host_is_raised_after_the_record_says_so(tmp_path: Path) -> None:
    store = open_store("memory:")
    auditor = Auditor(_loaded(tmp_path, ""), store)
    loop = Loop(auditor, _Failing(ZeroDivisionError), Parameters.of(auditor.tables.settings))
    with pytest.raises(ZeroDivisionError):
        loop.run()
    assert tuple(Ran(loop, Outcome.INTERRUPTED, store).told) == (*BEGUN, ("end", 0, "interrupted"))
