"""`icore check --format junit`: what a CI server reads says what the exit status says."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import replace
from itertools import product
from pathlib import Path
from xml.etree import ElementTree

import pytest
from conftest import CHECKOUT, Icore
from test_report import GOOD, VIOLATED

from icore_kernel import cli, cli_check
from icore_kernel.report.junit import Case, Outcome, Suite, document, report_suite, undecided_suite, wrong_suite
from icore_kernel.verdict import Assurance, Finding, Report, Result, Verdict

UNKNOWN = Result("ships", Verdict.UNKNOWN, Assurance.BOUNDED, "not reached", not_guaranteed="beyond the bound")

BROKEN = "examples/code_change_broken.icore"
LEGALITY = """violated: legality · examples/code_change_broken.icore:118

  the shortest run, 2 steps:
    1  assign(ben, review)  assignee(review): none -> ben
    2  pass(ben, review)    status(review): ready -> closed
                            verdict(review): absent -> live
                            verdict(review).good: false -> true
                            passed(review): absent -> active
 then  push(change) by ada  head.revision: 1 -> 2, verdict(review).revision: 1 -> 2
       which may not commit

  fails  definition 6(ii) · spec/4-legality.icore:9
         status(review) == closed implies assignee(review) == ada
         status(review)   = closed
         assignee(review) = ben

  repair  let the declared issuer do push, or name its actor in `revocable by`"""


def parsed(suites: Iterable[Suite]) -> ElementTree.Element:
    return ElementTree.fromstring(document(list(suites)).encode())


def shape(case: ElementTree.Element) -> tuple[str, str, str | None, str | None, tuple[str, ...]]:
    return case.attrib["classname"], case.attrib["name"], case.get("file"), case.get("line"), tuple(child.tag for child in case)


# ---- from end to end ----


def test_a_broken_example_is_what_a_person_expects(icore: Icore) -> None:
    done = icore("check", "--format", "junit", BROKEN, cwd=CHECKOUT)
    assert (done.returncode, done.stderr) == (1, "")
    root = ElementTree.fromstring(done.stdout.encode())
    assert [(root.tag, root.get("tests"), root.get("failures"), root.get("errors"), root.get("skipped"))] == [
        ("testsuites", "14", "2", "0", "0")
    ]
    (suite,) = root
    assert [suite.get(name) for name in ("name", "file", "tests", "failures", "errors", "skipped")] == [BROKEN, BROKEN, "14", "2", "0", "0"]
    passed, failed = ("system-out",), ("failure",)
    group = "examples.code_change_broken"
    assert [shape(case) for case in suite.iter("testcase")] == [
        (group, "well-formed", BROKEN, None, passed),
        (group, "legality", BROKEN, "118", failed),
        (group, "faults", BROKEN, None, passed),
        (group, "feasibility", BROKEN, None, passed),
        (group, "soundness", BROKEN, None, passed),
        (group, "merged_as_seen", BROKEN, "166", passed),
        (group, "four_eyes", BROKEN, "168", passed),
        (group, "goes_in", BROKEN, "169", passed),
        (group, "second_try", BROKEN, "170", passed),
        (group, "turned_down", BROKEN, "171", passed),
        (group, "reports", BROKEN, None, passed),
        (group, "dead ends", BROKEN, None, failed),
        (group, "state space", BROKEN, None, passed),
        (group, "vacuity", BROKEN, None, passed),
    ]
    failures = list(suite.iter("failure"))
    assert failures[0].attrib == {"type": "violated", "message": "push breaks definition 6(ii) (13)"}
    assert failures[0].text == LEGALITY
    assert failures[1].text is not None
    assert failures[1].text.startswith("violated: dead ends\n\n  the shortest run, 4 steps:\n    1  assign(ben, review)")
    facts = {fact.get("name"): fact.get("value") for fact in suite.iter("property")}
    assert (facts["mode"], facts["states"], facts["steps"], facts["depth"]) == ("audited", "153", "229", "8")
    assert facts["package"] == "CodeChangeBroken"
    assert [case[0].text for case in suite.iter("testcase") if case.get("name") == "state space"] == ["153 states · 229 steps · depth 8"]


def test_several_files_are_as_many_suites_and_a_wrong_one_is_an_error(icore: Icore, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.icore"
    wrong.write_text('language 1\npackage W "1"\n\ninvariant x: ann\n')
    small = tmp_path / "small.icore"
    small.write_text(
        'language 1\npackage Small "1"\ninput c { v: 0..2 = 0 }\nupdate up by environment { when c.v < 2 set c.v := c.v + 1 }\n'
    )
    done = icore("check", "--format", "junit", "--only", "well-formed", "small.icore", "wrong.icore", "absent.icore")
    assert (done.returncode, done.stderr) == (2, "")
    root = ElementTree.fromstring(done.stdout.encode())
    assert [suite.get("name") for suite in root] == ["small.icore", "wrong.icore", "absent.icore"]
    assert [(suite.get("failures"), suite.get("errors")) for suite in root] == [("0", "0"), ("0", "1"), ("0", "1")]
    one, other = root.iter("error")
    assert (one.get("type"), other.get("type")) == ("wrong input", "wrong input")
    assert one.get("message") == "wrong.icore:4:14: error R001: nothing is called `ann`"
    assert one.text is not None and one.text.endswith("\n\nwrong.icore: 1 mistake")
    assert [shape(case)[2:4] for case in root[1].iter("testcase")] == [("wrong.icore", "4")]
    assert other.get("message") == "absent.icore: cannot be read: No such file or directory"


def test_a_bound_that_was_hit_is_an_error_of_everything_it_leaves_open(icore: Icore) -> None:
    done = icore("check", "--format", "junit", "--max-states", "20", "examples/release_pipeline.icore", cwd=CHECKOUT)
    assert done.returncode == 3
    (suite,) = ElementTree.fromstring(done.stdout.encode())
    kinds = {case.attrib["name"]: [child.tag for child in case] for case in suite.iter("testcase")}
    assert kinds["ships"] == kinds["feasibility"] == kinds["soundness"] == ["error"]
    assert kinds["vacuity"] == kinds["state space"] == ["skipped"]
    assert kinds["well-formed"] == ["system-out"]
    errors = list(suite.iter("error"))
    assert {error.get("type") for error in errors} == {"unknown"}
    assert all("the search stopped before its end: max-states 20" in (error.text or "") for error in errors)


def test_wrong_usage_is_a_document_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["check", "a.icore", "--format", "junit", "--max-states", "none"]) == 2
    out, err = capsys.readouterr()
    (error,) = ElementTree.fromstring(out.encode()).iter("error")
    assert err == ""
    assert "'none' is not a valid integer" in (error.get("message") or "")


def test_it_is_utf_8_wherever_it_goes() -> None:
    command = [sys.executable, "-m", "icore_kernel", "check", "--format=junit", "--only", "well-formed", BROKEN, "no·where"]
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    done = subprocess.run(command, capture_output=True, cwd=CHECKOUT, env=environment, check=False, timeout=120)
    names = [suite.get("name") for suite in ElementTree.fromstring(done.stdout)]
    assert names == [BROKEN, "no·where"]


def test_files_that_were_not_decided_are_errors(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(path: Path, asked: object) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli_check, "_check", interrupted)
    assert cli.run(["check", "--format", "junit", "one", "two"]) == 3
    root = ElementTree.fromstring(capsys.readouterr().out.encode())
    assert [(suite.get("name"), suite.get("errors")) for suite in root] == [("one", "1"), ("two", "1")]


# ---- from reports written by hand ----


def reports() -> Iterable[tuple[Report, bool, bool]]:
    """Every mixture of verdicts and findings, with and without `--strict`, sought or not, stopped or not."""
    good = GOOD.results[0]
    notes: tuple[tuple[Finding, ...], ...] = ((), (Finding("k", "s", "m"),), (Finding("k", "s", "m", allowed="why"),))
    for results, findings, stopped, strict, sought in product(
        [(), (good,), (VIOLATED,), (UNKNOWN,), (good, VIOLATED), (good, UNKNOWN), (VIOLATED, UNKNOWN)],
        notes,
        [None, "max-states 7"],
        [False, True],
        [False, True],
    ):
        yield replace(GOOD, results=results, findings=findings, space={"states": 7, "stopped": stopped}), strict, sought


def test_a_suite_is_clean_exactly_where_the_exit_status_is_0() -> None:
    seen = set()
    for report, strict, sought in reports():
        (suite,) = parsed([report_suite(report, strict, {}, sought)])
        clean = suite.get("failures") == suite.get("errors") == "0"
        assert clean == (report.exit_status(strict) == 0)
        seen.add((clean, int(report.exit_status(strict))))
    assert seen == {(True, 0), (False, 1), (False, 3)}


def test_counts_are_those_of_what_is_in_it() -> None:
    suites = [report_suite(report, strict, {}, sought) for report, strict, sought in reports()]
    root = parsed([*suites, wrong_suite("w", "no"), undecided_suite("u")])
    for place, tests in ((root, len(list(root.iter("testcase")))), *((suite, len(suite.findall("testcase"))) for suite in root)):
        counted = [tests, *(len(list(place.iter(tag))) for tag in ("failure", "error", "skipped"))]
        assert [int(place.attrib[name]) for name in ("tests", "failures", "errors", "skipped")] == counted


def test_findings_fail_under_strict_and_are_told_without() -> None:
    noted = replace(
        GOOD, findings=(Finding("never-fires", "skip", "`skip` never fires", VIOLATED.span), Finding("k", "s", "m", allowed="why"))
    )
    (loose,) = parsed([report_suite(noted, False, {})])
    (strict,) = parsed([report_suite(noted, True, {})])
    said = "`skip` never fires (pipeline.icore:88)\nm, allowed: why"
    assert [(child.tag, child.text) for child in loose[-1]] == [("system-out", said)]
    assert [(child.tag, child.get("message"), child.text) for child in strict[-1]] == [("failure", "1 note", said)]
    assert strict[-1].get("line") == "88"


def test_the_time_of_the_search_is_told_once() -> None:
    """0.4 s of search, of which three results share; one answered on its graph in 0.25 s, one by the solver in 0.125 s; 1 s in all."""
    good = GOOD.results[0]
    shared = tuple(replace(good, name=f"read off {number}", seconds=0.4) for number in range(3))
    own = (replace(good, name="on the graph", seconds=0.25), replace(good, name="solved", seconds=0.125))
    report = replace(GOOD, results=(*shared, *own), seconds=1.0, space={"states": 7, "steps": 1, "depth": 3, "seconds": 0.4})
    (suite,) = parsed([report_suite(report, False, {})])
    times = {case.attrib["name"]: case.attrib["time"] for case in suite.iter("testcase")}
    assert times == {
        **{f"read off {number}": "0.000" for number in range(3)},
        "on the graph": "0.250",
        "solved": "0.125",
        "state space": "0.400",
        "vacuity": "0.000",
    }
    (searched,) = (case for case in suite.iter("testcase") if case.get("name") == "state space")
    assert searched[0].text == "7 states · 1 step · depth 3"


@pytest.mark.parametrize("example", ["release_pipeline", "incident_response_broken", "compatible_merge"])
def test_the_times_of_the_cases_are_a_part_of_the_suites(icore: Icore, example: str) -> None:
    done = icore("check", "--format", "junit", f"examples/{example}.icore", cwd=CHECKOUT)
    (suite,) = ElementTree.fromstring(done.stdout.encode())
    times = [float(case.attrib["time"]) for case in suite.iter("testcase")]
    # Each is written in thousandths.
    assert 0 < sum(times) <= float(suite.attrib["time"]) + 0.0005 * (len(times) + 1)


@pytest.mark.parametrize(
    ("file", "group"),
    [
        ("a.icore", "a"),
        ("examples/a.icore", "examples.a"),
        ("./examples/a.icore", "examples.a"),
        (str(Path.cwd() / "examples" / "a.icore"), "examples.a"),
        ("../other/a.icore", "__.other.a"),
        ("v1.2/a.b.icore", "v1_2.a_b"),
        ("/there/a.icore", "there.a"),
    ],
)
def test_a_classname_is_the_path_as_pytest_writes_it(file: str, group: str) -> None:
    (suite,) = parsed([wrong_suite(file, "no")])
    assert [case.get("classname") for case in suite.iter("testcase")] == [group]


def test_two_files_of_one_package_are_two_groups() -> None:
    suites = parsed([report_suite(replace(GOOD, file=file), False, {}) for file in ("a.icore", "b.icore")])
    named = [(case.get("classname"), case.get("name")) for case in suites.iter("testcase")]
    assert len(set(named)) == len(named) > 2


def test_settings_are_among_the_facts() -> None:
    (suite,) = parsed([report_suite(GOOD, False, {"n": "6", "m": "<2>"})])
    facts = [(fact.get("name"), fact.get("value")) for fact in suite.iter("property")]
    assert ("--set n", "6") in facts and ("--set m", "<2>") in facts


def test_clauses_of_the_theory_are_named_by_the_theory() -> None:
    from icore_dsl.syntax import Span

    installed = replace(VIOLATED, span=Span("/usr/lib/x/spec/4-legality.icore", 0, 1, 9, 1, 9, 2))
    (suite,) = parsed([report_suite(replace(GOOD, results=(installed,)), False, {})])
    assert (suite[1].get("file"), suite[1].get("line")) == ("spec/4-legality.icore", "9")


def test_whatever_is_said_comes_back_and_what_xml_cannot_carry_is_replaced() -> None:
    nasty = "a <b> & \"c\" 'd' ]]> \n second\tline é €"
    outcome = Outcome("failure", "violated", nasty, nasty + "\x00\x1b[1m\ud800\ufffe")
    root = parsed([Suite(nasty, (Case(nasty, nasty, outcome=outcome), Case("n", "f", said=nasty)))])
    (failure,) = root.iter("failure")
    assert failure.get("message") == nasty
    assert failure.text == nasty + "\ufffd\ufffd[1m\ufffd\ufffd"
    assert root[0].get("name") == root[0][0].get("name") == root[0][0].get("file") == nasty
    assert root[0][1][0].text == nasty


def test_the_document_is_read_by_another_parser() -> None:
    from xml.sax import ContentHandler, parse

    class Tags(ContentHandler):
        def __init__(self) -> None:
            super().__init__()
            self.tags: list[str] = []

        def startElement(self, name: str, attrs: object) -> None:
            self.tags.append(name)

    read = Tags()
    parse(io.BytesIO(document([wrong_suite("f", "m")]).encode()), read)
    assert read.tags == ["testsuites", "testsuite", "testcase", "error"]
