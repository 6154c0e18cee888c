"""What a person reads and what a program reads, from reports written by hand (design 1, What the user sees)."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from fractions import Fraction

import pytest

from icore_dsl.syntax import Span
from icore_kernel.report import paint
from icore_kernel.report.json import dump, exact, report_record, wrong_record
from icore_kernel.report.layout import Part, line, number, place, plain
from icore_kernel.report.stable import stable_lines
from icore_kernel.report.text import part_of, report_lines, tally
from icore_kernel.verdict import (
    Assurance,
    Cell,
    Change,
    ExitStatus,
    Finding,
    Obligation,
    Reason,
    Report,
    Result,
    Run,
    Step,
    Verdict,
)


def at(line_number: int, file: str = "pipeline.icore") -> Span:
    return Span(file, 100, 110, line_number, 3, line_number, 13)


RUN = Run(
    initial=(("head.commit", "1"),),
    steps=(
        Step("assign(ana, unit)", "ana", (Change("assignee(unit)", "none", "ana"),)),
        Step("push", "environment", (Change("head.commit", "1", "2"), Change("status(unit)", "closed", "ready"))),
        Step("wait(ana)", "ana", ()),
    ),
    offending=Step("finish.careless(ana, unit)", "ana", (Change("status(unit)", "ready", "closed"),)),
)

GOOD = Report(
    file="pipeline.icore",
    package="Pipeline",
    version="1.0",
    results=(
        Result("well-formed", Verdict.HOLDS, Assurance.STATIC, "14 declarations"),
        Result("legality", Verdict.PROVED, Assurance.PROVED, "7/7 updates", engine="z3", seconds=0.02),
        Result("no_stale_release", Verdict.HOLDS, Assurance.EXHAUSTIVE, "in 1,296 states", span=at(88)),
    ),
    space={"states": 1296, "steps": 4870, "stutters": 0, "depth": 12, "fields": "7c1e09", "levels": [1, 5], "stopped": None},
    counts={"agents": 3, "obligations": 1, "updates": 7, "occurrences": 51, "declarations": 14},
    obligations=(Obligation("legality of finish", "unsat", 0.01),),
    seconds=0.344,
)

VIOLATED = Result(
    "no_stale_release",
    Verdict.VIOLATED,
    Assurance.EXHAUSTIVE,
    "12 states",
    span=at(88),
    run=RUN,
    reasons=(
        Reason(
            label="A.4(2)",
            text="status(w) == closed implies\n  valid(done(w))",
            span=at(30, "spec/3-feasibility.icore"),
            values=(("status(unit)", "closed"),),
            instance="unit",
        ),
    ),
    repair="issue done(unit)",
)


def printed(report: Report, strict: bool = False) -> str:
    return "".join(f"{plain(text)}\n" for text in report_lines(report, strict))


def test_a_good_report_is_one_aligned_line_a_result() -> None:
    assert printed(GOOD) == (
        "Pipeline 1.0 · 3 agents · 1 obligation · 7 updates (51 occurrences)\n"
        "\n"
        "  well-formed       holds     14 declarations\n"
        "  legality          proved    7/7 updates\n"
        "  state space                 1,296 states · 4,870 steps · depth 12 · fields 7c1e09\n"
        "  no_stale_release  holds     in 1,296 states\n"
        "  vacuity           0 notes\n"
        "\n"
        "holds · 0.34 s\n"
    )


def test_a_violated_result_says_where_the_run_the_clause_and_the_repair_in_this_order() -> None:
    shown = printed(replace(GOOD, results=(*GOOD.results[:2], VIOLATED)))
    assert shown.endswith(
        "  no_stale_release  violated  12 states\n"
        "  vacuity           0 notes\n"
        "\n"
        "violated: no_stale_release · pipeline.icore:88\n"
        "\n"
        "  the shortest run, 3 steps:\n"
        "       from head.commit = 1\n"
        "    1  assign(ana, unit)           assignee(unit): none -> ana\n"
        "    2  push by environment         head.commit: 1 -> 2, status(unit): closed -> ready\n"
        "    3  wait(ana)                   changes nothing\n"
        " then  finish.careless(ana, unit)  status(unit): ready -> closed\n"
        "       which may not commit\n"
        "\n"
        "  fails  A.4(2) at unit · spec/3-feasibility.icore:30\n"
        "         status(w) == closed implies\n"
        "           valid(done(w))\n"
        "         status(unit) = closed\n"
        "\n"
        "  repair  issue done(unit)\n"
        "\n"
        "violated · 0.34 s\n"
    )


def test_a_run_is_printed_once_and_named_where_it_comes_again() -> None:
    other = replace(VIOLATED, name="settlement")
    shown = printed(replace(GOOD, results=(VIOLATED, other, replace(other, name="longer", run=replace(RUN, offending=None)))))
    assert shown.count("the shortest run, 3 steps:") == 2
    assert "violated: settlement · pipeline.icore:88\n\n  the same run as for `no_stale_release`\n\n  fails  A.4(2)" in shown


def test_a_run_of_no_step_is_called_the_initial_state() -> None:
    shown = printed(replace(GOOD, results=(replace(VIOLATED, run=Run((), ())),)))
    assert "  in the initial state:\n" in shown
    assert "shortest run" not in shown


def test_changes_that_do_not_fit_a_line_stand_below_each_other() -> None:
    many = tuple(Change(f"status(obligation_{i})", "blocked", "accepted") for i in range(4))
    shown = printed(replace(GOOD, results=(replace(VIOLATED, run=Run((), (Step("go", "", many),))),)))
    assert "    1  go  status(obligation_0): blocked -> accepted\n           status(obligation_1): blocked -> accepted\n" in shown


def test_a_bound_that_was_hit_is_printed_and_is_unknown() -> None:
    unknown = Result("ships", Verdict.UNKNOWN, Assurance.BOUNDED, "not seen in 100 states")
    report = replace(GOOD, results=(unknown,), space={**GOOD.space, "stopped": "100 states"})
    shown = printed(report)
    assert "                    unknown   the search stopped before its end: 100 states\n" in shown
    assert "  vacuity           unknown   not decided by a search that stopped\n" in shown
    assert shown.endswith("\nunknown · 0.34 s\n")
    assert report.exit_status() is ExitStatus.UNKNOWN


def test_stutters_are_counted_apart() -> None:
    assert "4,870 steps, of which 7 stutter · depth" in printed(replace(GOOD, space={**GOOD.space, "stutters": 7}))


def test_findings_are_notes_with_their_place_and_their_reason() -> None:
    findings = (
        Finding("never-fires", "skip", "update `skip` never fires", at(41)),
        Finding("vacuous", "hotfix", "`hotfix` is never created", None, allowed="latent work is for incidents"),
    )
    shown = printed(replace(GOOD, findings=findings))
    assert "  vacuity           2 notes   update `skip` never fires (pipeline.icore:41)\n" in shown
    assert "                              `hotfix` is never created, allowed: latent work is for incidents\n" in shown


def test_under_strict_a_finding_that_is_not_allowed_fails_and_the_last_line_says_so() -> None:
    noted = replace(GOOD, findings=(Finding("never-fires", "skip", "update `skip` never fires"),))
    assert printed(noted, strict=True).endswith("holds, but --strict fails it for 1 note · 0.34 s\n")
    assert printed(noted, strict=False).endswith("\nholds · 0.34 s\n")
    assert noted.exit_status(strict=True) is ExitStatus.VIOLATED
    allowed = replace(GOOD, findings=(Finding("never-fires", "skip", "m", allowed="on purpose"),))
    assert printed(allowed, strict=True).endswith("\nholds · 0.34 s\n")


def test_only_icore_stable_names_every_pair_that_settles_apart() -> None:
    cells = tuple(Cell("push", f"write_{i}", False, 0, 0, 10 - i, 0) for i in range(8))
    report = replace(GOOD, results=(Result("order stability", Verdict.VIOLATED, Assurance.EXHAUSTIVE, matrix=cells),))
    few = [plain(words) for words in report_lines(report)]
    assert "    and 2 more pairs: icore stable shows all" in few and not any("write_6" in words for words in few)
    every = [plain(words) for words in stable_lines(report, cells)]
    assert not any("icore stable shows all" in words for words in every)
    at = every.index("  forks that settle apart")
    assert [words.split()[2] for words in every[at + 1 : at + 9]] == [f"write_{i}" for i in range(8)]


def test_where_no_findings_were_looked_for_none_are_claimed_absent() -> None:
    assert "vacuity" in printed(GOOD)
    assert not any("vacuity" in plain(text) for text in report_lines(GOOD, sought=False))
    assert report_record(GOOD, False, {}, sought=False)["findings"] is None
    assert report_record(GOOD, False, {})["findings"] == []


def test_a_report_without_results_is_unknown() -> None:
    assert printed(replace(GOOD, results=())).endswith("\nunknown · 0.34 s\n")


def test_the_mode_is_in_the_headline_when_nothing_was_audited() -> None:
    assert printed(replace(GOOD, mode="unaudited: careless")).splitlines()[0].endswith(" · unaudited: careless")


def test_every_verdict_has_a_part_of_its_own_kind() -> None:
    assert {verdict: part_of(verdict) for verdict in Verdict} == {
        Verdict.HOLDS: Part.GOOD,
        Verdict.PROVED: Part.GOOD,
        Verdict.VIOLATED: Part.BAD,
        Verdict.UNKNOWN: Part.UNSURE,
    }


@pytest.mark.parametrize(
    ("file", "shown"),
    [
        ("a.icore", "a.icore:7"),
        ("../x/a.icore", "../x/a.icore:7"),
        ("/home/me/a.icore", "/home/me/a.icore:7"),
        ("/usr/lib/icore_kernel/spec/3-feasibility.icore", "spec/3-feasibility.icore:7"),
    ],
)
def test_a_place_is_the_file_as_given_and_short_for_the_theory(file: str, shown: str) -> None:
    assert place(at(7, file)) == shown


def test_numbers_agree_with_their_nouns() -> None:
    assert [number(n, "step") for n in (0, 1, 2, 1296)] == ["0 steps", "1 step", "2 steps", "1,296 steps"]
    assert number(2, "property", "properties") == "2 properties"


def test_the_tally_counts_every_file_once() -> None:
    statuses = [ExitStatus.HOLDS, ExitStatus.VIOLATED, ExitStatus.HOLDS, ExitStatus.BAD_INPUT, ExitStatus.UNKNOWN]
    assert tally(statuses) == "5 files: 2 good, 1 violated, 1 wrong, 1 unknown"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "environment", "expected"),
    [
        (Terminal(), {}, True),
        (Terminal(), {"NO_COLOR": ""}, True),
        (Terminal(), {"NO_COLOR": "1"}, False),
        (Terminal(), {"TERM": "dumb"}, False),
        (io.StringIO(), {}, False),
    ],
)
def test_colours_only_on_a_terminal_and_never_with_no_color(stream: io.StringIO, environment: dict[str, str], expected: bool) -> None:
    assert paint.coloured(stream, environment) is expected


def test_a_terminal_shows_the_same_words_with_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    terminal, pipe = Terminal(), io.StringIO()
    report = replace(GOOD, results=(*GOOD.results, VIOLATED))
    paint.write(report_lines(report), terminal)
    paint.write(report_lines(report), pipe)
    assert "\x1b[1;31mviolated\x1b[0m" in terminal.getvalue()
    assert "\x1b" not in pipe.getvalue()
    import re

    bare = re.sub(r"\x1b\[[0-9;]*m", "", terminal.getvalue())
    assert [text.rstrip() for text in bare.splitlines()] == pipe.getvalue().splitlines()


def test_square_brackets_are_text_and_no_markup(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    terminal = Terminal()
    paint.write([line("create hotfix[1] [bold]")], terminal)
    assert terminal.getvalue() == "create hotfix[1] [bold]\n"


def test_the_record_has_every_key_that_the_schema_describes(checkout: object) -> None:
    record = json.loads(dump(report_record(replace(GOOD, results=(VIOLATED,)), True, {"n": "3"})))
    assert record["schema"] == "icore.check/1"
    assert record["verdict"] == "violated"
    assert record["exit_status"] == 1
    assert record["settings"] == {"n": "3"}
    assert record["space"]["states"] == 1296
    assert record["obligations"] == [{"name": "legality of finish", "answer": "unsat", "seconds": 0.01}]
    (result,) = record["results"]
    assert result["span"] == {"file": "pipeline.icore", "line": 88, "column": 3, "end_line": 88, "end_column": 13}
    assert result["run"]["initial"] == {"head.commit": "1"}
    assert [step["update"] for step in result["run"]["steps"]] == ["assign(ana, unit)", "push", "wait(ana)"]
    assert result["run"]["steps"][0]["changes"] == [{"field": "assignee(unit)", "before": "none", "after": "ana"}]
    assert result["run"]["offending"]["update"] == "finish.careless(ana, unit)"
    assert result["reasons"][0]["values"] == {"status(unit)": "closed"}


def test_an_allowed_finding_keeps_its_reason_and_another_has_null() -> None:
    findings = (Finding("a", "x", "m", allowed="because"), Finding("b", "y", "m"))
    record = report_record(replace(GOOD, findings=findings), False, {})
    assert [finding["allowed"] for finding in json.loads(dump(record))["findings"]] == ["because", None]


def test_a_wrong_file_has_no_verdict() -> None:
    record = wrong_record("a.icore", "no such file", ())
    assert (record["verdict"], record["exit_status"], record["mistakes"]) == (None, 2, [])


def test_counts_are_exact_and_a_float_among_them_is_refused() -> None:
    assert exact({"a": Fraction(47, 50), "b": [1, True, None, "x"]}) == {"a": "47/50", "b": [1, True, None, "x"]}
    with pytest.raises(TypeError, match="has no place in a report"):
        exact({"states": 1.0})
    assert exact({"seconds": 0.5}) == {"seconds": 0.5}


def test_counts_that_come_from_arrays_are_integers_again() -> None:
    numpy = pytest.importorskip("numpy")
    shown = exact({"states": numpy.int64(7)})
    assert json.dumps(shown) == '{"states": 7}'
