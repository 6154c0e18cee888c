"""`icore check -x`: the search ends with the level in which something is violated, says so, and nothing else changes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import CHECKOUT

from icore_kernel import api, cli
from icore_kernel.check.questions import violations
from icore_kernel.check.reductions import Reduce
from icore_kernel.load import Loaded
from icore_kernel.report.json import report_record
from icore_kernel.system import PropertyKind
from icore_kernel.verdict import Report, Verdict

GRID = """language 1
package Grid "1"
input a { v: 0..4 = 0 }
input b { v: 0..4 = 0 }
update left by environment { when a.v < 4 set a.v := a.v + 1 }
update right by environment { when b.v < 4 set b.v := b.v + 1 }
"""
"""1, 2, 3, 4, 5, 4, 3, 2, 1 states at the depths 0 to 8, by a + b."""


def grid(tmp_path: Path, *properties: str) -> Loaded:
    path = tmp_path / "grid.icore"
    path.write_text(GRID + "".join(f"{text}\n" for text in properties), encoding="utf-8")
    return api.load(path)


def found(report: Report) -> tuple[object, object, object]:
    return report.space["states"], report.space["depth"], report.space["stopped"]


def verdicts(report: Report) -> dict[str, str]:
    return {result.name: result.verdict.value for result in report.results}


def same(report: Report) -> object:
    """A report without its times."""
    return json.loads(json.dumps(report_record(report, False, {})), object_hook=lambda d: {k: v for k, v in d.items() if k != "seconds"})


WHOLE = (25, 8, None)


@pytest.mark.parametrize(
    ("properties", "only", "expected"),
    [
        (("invariant low: a.v + b.v < 2",), (), (6, 2, "first violation")),
        (("invariant low: a.v + b.v < 4", "unreachable far: a.v + b.v == 3"), (), (10, 3, "first violation")),
        (("invariant low: a.v + b.v < 2", "invariant high: a.v < 4"), ("high",), (15, 4, "first violation")),
        (("invariant low: a.v + b.v < 2", "expect violated low"), (), WHOLE),
        (("invariant low: a.v + b.v < 2", "expect violated low", "invariant high: a.v < 4"), (), (15, 4, "first violation")),
        (("invariant low: a.v + b.v < 9", "reachable far: a.v + b.v == 3"), (), WHOLE),
        (("reachable never: a.v + b.v == 9",), (), WHOLE),
        # An update of the environment that leaves a domain is found when the states of depth 2 are expanded.
        (("update over by environment { when a.v + b.v == 2 set a.v := a.v + 9 }",), (), (10, 3, "first violation")),
        (("update over by environment { when a.v + b.v == 2 set a.v := a.v + 9 }",), ("well-formed",), WHOLE),
        (("update over by environment { when a.v + b.v == 2 set a.v := a.v + 9 }", "expect violated legality"), (), WHOLE),
    ],
    ids=str,
)
def test_the_search_ends_with_the_level_of_the_first_violation(
    tmp_path: Path, properties: tuple[str, ...], only: tuple[str, ...], expected: tuple[object, object, object]
) -> None:
    report = api.check(grid(tmp_path, *properties), only=only, stop_at_first=True)
    assert found(report) == expected
    if expected is not WHOLE:
        assert report.verdict is Verdict.VIOLATED


@pytest.mark.parametrize("reduce", [Reduce.NONE, Reduce.ALL])
def test_what_was_not_violated_up_to_there_is_unknown(tmp_path: Path, reduce: Reduce) -> None:
    loaded = grid(
        tmp_path, "invariant low: a.v + b.v < 2", "invariant high: a.v < 5", "reachable far: a.v == 4", "reachable near: a.v == 1"
    )
    assert verdicts(api.check(loaded, stop_at_first=True, reduce=reduce)) == {
        "well-formed": "holds",
        "legality": "unknown",
        "low": "violated",
        "high": "unknown",
        "far": "unknown",
        "near": "holds",
    }


def test_a_symmetric_package_ends_there_too(tmp_path: Path) -> None:
    path = tmp_path / "lamps.icore"
    path.write_text(
        'language 1\npackage Lamps "1"\nagents { ana bo cy }\nsymmetric agents ana, bo, cy\ninput lamp(m: Agent) { on: bool = false }\n'
        "update light(m: Agent) by m { view global when not lamp(m).on set lamp(m).on := true }\n"
        "invariant some: exists m in Agent: not lamp(m).on\ninvariant two: count(m in Agent where lamp(m).on) < 2\n"
    )
    report = api.check(api.load(path), stop_at_first=True, reduce=Reduce.SYMMETRY)
    assert found(report) == (7, 2, "first violation")
    assert verdicts(report)["two"] == "violated" and verdicts(report)["some"] == "unknown"
    assert found(api.check(api.load(path), reduce=Reduce.SYMMETRY)) == (8, 3, None)


@pytest.mark.parametrize("name", ["code_change", "dependency_ladder_broken", "capability_assignment"])
def test_where_no_state_and_no_step_violates_anything_the_report_is_the_same(name: str) -> None:
    loaded = api.load(CHECKOUT / "examples" / f"{name}.icore")
    assert same(api.check(loaded, stop_at_first=True)) == same(api.check(loaded))


@pytest.mark.parametrize(("name", "depth"), [("code_change_broken", 3), ("incident_response_broken", 4)])
def test_the_run_is_the_one_of_the_whole_search(name: str, depth: int) -> None:
    """Legality is violated by a step from a state of the depth before: after 2 steps, after 3 steps."""
    loaded = api.load(CHECKOUT / "examples" / f"{name}.icore")
    whole, first = api.check(loaded), api.check(loaded, stop_at_first=True)
    levels = whole.space["levels"]
    assert isinstance(levels, list | tuple)
    assert found(first) == (sum(levels[: depth + 1]), depth, "first violation")
    runs = [next(result.run for result in report.results if result.name == "legality") for report in (whole, first)]
    assert runs[0] == runs[1] is not None
    assert first.exit_status() == 1


def test_an_unaudited_search_ends_at_the_first_too(tmp_path: Path) -> None:
    loaded = grid(tmp_path, "fault jump { when a.v == 0 and b.v == 1 set b.v := 4 }", "invariant low: b.v < 4", "reachable far: a.v == 3")
    assert found(api.check(loaded, unaudited=True)) == (12, 3, "every question is answered")
    assert found(api.check(loaded, unaudited=True, stop_at_first=True)) == (7, 2, "first violation")


def test_the_command_says_why_it_stopped_and_exits_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = grid(tmp_path, "invariant low: a.v + b.v < 2").path
    for option in ("-x", "--stop-at-first"):
        assert cli.run(["check", option, str(path)]) == 1
        out = capsys.readouterr().out
        assert "state space                 6 states · 6 steps · depth 2" in out
        assert "unknown   the search stopped before its end: first violation\n" in out
    assert cli.run(["check", str(path)]) == 1
    assert "25 states" in capsys.readouterr().out


@pytest.mark.parametrize("only", ["feasibility", "soundness"])
def test_a_state_that_breaks_a_clause_ends_it(only: str) -> None:
    """The telemetry that changes after three steps leaves a state at depth 4 that is neither feasible nor sound."""
    loaded = api.load(CHECKOUT / "examples" / "incident_response_broken.icore")
    report = api.check(loaded, only=(only,), stop_at_first=True)
    assert (report.space["depth"], report.space["stopped"], verdicts(report)[only]) == (4, "first violation", "violated")


def test_every_question_that_a_state_can_answer_is_among_them() -> None:
    system = api.load(CHECKOUT / "examples" / "dependency_ladder.icore").system
    ids = violations(system)
    kinds = {kind: len(clauses) for kind, clauses in (("feasibility", system.feasibility), ("soundness", system.soundness))}
    clauses = {f"{kind}:{i}" for kind, count in kinds.items() for i in range(count)}
    assert (kinds["feasibility"], len(system.conclusions)) == (11, 1)
    declared = {f"invariant:{i}" for i, prop in enumerate(system.properties) if prop.kind is PropertyKind.INVARIANT}
    assert ids == {*clauses, *declared, "legality", "both", "conclusion:0"}
    assert violations(system, ("Proposition 4", "reports")) == {"conclusion:0", "both"}
    assert violations(system, ("definedness", "legality"), audited=False) == {"legality"}
    assert violations(system, ("dead ends",)) == frozenset()
