"""Reports as JUnit XML, the form in which CI servers read the results of tests: a testsuite a file, a testcase a result.

The time of a testcase is its own: what was read off the search takes none, and the search is a testcase. So times can be added up.

What is violated is a failure, what is unknown an error, and so is wrong input: a file whose exit status is not 0 always has one of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import assert_never
from xml.sax.saxutils import escape, quoteattr

from icore_dsl.syntax import Span
from icore_kernel.explore.model import ANSWERED
from icore_kernel.report.layout import number, place, plain
from icore_kernel.report.text import note, violated_lines
from icore_kernel.verdict import Report, Result, Verdict
from icore_kernel.version import VERSION

_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no XML 1.0 document may contain, not even escaped."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a testcase that did not pass: `tag` is `failure`, `error` or `skipped`; `kind` its type; `text` everything."""

    tag: str
    kind: str
    message: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """One testcase. `outcome` is None where it passed, and then `said` is its output; `file` and `line` are where it is declared."""

    name: str
    file: str
    line: int | None = None
    seconds: float = 0.0
    outcome: Outcome | None = None
    said: str = ""


@dataclass(frozen=True, slots=True)
class Suite:
    """One file's testcases, with facts about the check that have no place in them."""

    file: str
    cases: tuple[Case, ...]
    seconds: float = 0.0
    facts: tuple[tuple[str, str], ...] = ()

    def count(self, tag: str) -> int:
        return sum(1 for case in self.cases if case.outcome is not None and case.outcome.tag == tag)


def report_suite(report: Report, strict: bool, settings: Mapping[str, str], sought: bool = True) -> Suite:
    """The suite of a report. `strict`: findings that are not allowed are failures; `sought`: whether findings were looked for."""
    cases = [_case(report, result) for result in report.results]
    if not cases:
        cases.append(Case("verdict", report.file, outcome=Outcome("error", "unknown", "nothing was answered")))
    cases += _state_space(report)
    if sought or report.findings:
        cases.append(_vacuity(report, strict))
    facts = [("icore", VERSION), ("package", report.package), ("version", report.version), ("mode", report.mode)]
    facts += [(f"--set {name}", value) for name, value in sorted(settings.items())]
    facts += [(key, str(report.space[key])) for key in ("states", "steps", "depth") if key in report.space]
    return Suite(report.file, tuple(cases), report.seconds, tuple(facts))


def wrong_suite(file: str, message: str, mistakes: Sequence[Mapping[str, object]] = ()) -> Suite:
    """The suite of a file that got no answer, because it, or what was asked of it, is wrong. `mistakes` as JSON has them."""
    outcome = Outcome("error", "wrong input", message.partition("\n")[0], message)
    span = mistakes[0]["span"] if mistakes else None
    place, line = (span["file"], span["line"]) if isinstance(span, Mapping) else (file, None)
    return Suite(file, (Case("input", place, line, outcome=outcome),))


def undecided_suite(file: str) -> Suite:
    """The suite of a file whose check was interrupted, or did not begin."""
    return Suite(file, (Case("verdict", file, outcome=Outcome("error", "unknown", "not decided: interrupted")),))


def _case(report: Report, result: Result) -> Case:
    file, line = (report.file, None) if result.span is None else _file_and_line(result.span)
    outcome, said = None, result.detail
    match result.verdict:
        case Verdict.HOLDS | Verdict.PROVED:
            said = f"{result.verdict.value}: {result.detail}" if result.detail else result.verdict.value
        case Verdict.VIOLATED:
            text = "\n".join(plain(line) for line in violated_lines(result))
            outcome = Outcome("failure", "violated", result.detail or "violated", text)
        case Verdict.UNKNOWN:
            outcome = Outcome("error", "unknown", result.detail or "unknown", _why_unknown(report, result))
        case _:
            assert_never(result.verdict)
    # A result that was read off the search has the search's time, which is counted once.
    seconds = 0.0 if result.seconds == report.space.get("seconds") else result.seconds
    return Case(result.name, file, line, seconds, outcome, "" if outcome else said)


def _state_space(report: Report) -> Iterator[Case]:
    """The search, where there was one: never a failure or an error, for these are of the results that it leaves open."""
    space = report.space
    seconds = space.get("seconds")
    if not isinstance(seconds, float):
        return
    counts = [number(count, noun) for key, noun in (("states", "state"), ("steps", "step")) if isinstance(count := space.get(key), int)]
    said = " · ".join([*counts, f"depth {space.get('depth')}"])
    stopped = space.get("stopped")
    outcome = None
    if stopped is not None and stopped != ANSWERED:
        outcome = Outcome("skipped", "", f"the search stopped before its end: {stopped}", said)
    yield Case("state space", report.file, seconds=seconds, outcome=outcome, said="" if outcome else said)


def _file_and_line(span: Span) -> tuple[str, int]:
    """As `place` shows them: a clause of the theory is in `spec/FILE`, wherever it is installed."""
    file, _, line = place(span).rpartition(":")
    return file, int(line)


def _why_unknown(report: Report, result: Result) -> str:
    stopped = report.space.get("stopped")
    lines = [result.detail, result.not_guaranteed, f"the search stopped before its end: {stopped}" if stopped else ""]
    return "\n".join(line for line in lines if line)


def _vacuity(report: Report, strict: bool) -> Case:
    """All findings together: their number changes with the text of the package, and a testcase is followed by its name."""
    notes = "\n".join(map(note, report.findings))
    counted = [finding for finding in report.findings if not finding.allowed]
    first = next((finding.span for finding in counted if finding.span is not None), None)
    file, line = (report.file, None) if first is None else _file_and_line(first)
    outcome = None
    if strict and counted:
        outcome = Outcome("failure", "finding", number(len(counted), "note"), notes)
    elif report.space.get("stopped"):
        outcome = Outcome("skipped", "", "not decided by a search that stopped", notes)
    return Case("vacuity", file, line, outcome=outcome, said="" if outcome else notes or number(0, "note"))


def document(suites: list[Suite]) -> str:
    """The XML document. Its characters are those that XML 1.0 allows; others are replaced."""
    return _FORBIDDEN.sub("\ufffd", "\n".join(_lines(suites))) + "\n"


def _lines(suites: list[Suite]) -> Iterator[str]:
    yield '<?xml version="1.0" encoding="utf-8"?>'
    tests = sum(len(suite.cases) for suite in suites)
    totals = {f"{tag}s": str(sum(suite.count(tag) for suite in suites)) for tag in ("failure", "error")}
    skipped = str(sum(suite.count("skipped") for suite in suites))
    seconds = sum(suite.seconds for suite in suites)
    yield _open("testsuites", {"name": "icore check", "tests": str(tests), **totals, "skipped": skipped, "time": f"{seconds:.3f}"})
    for suite in suites:
        yield from _suite(suite)
    yield "</testsuites>"


def _suite(suite: Suite) -> Iterator[str]:
    counts = {"failures": str(suite.count("failure")), "errors": str(suite.count("error")), "skipped": str(suite.count("skipped"))}
    shape = {"name": suite.file, "file": suite.file, "tests": str(len(suite.cases)), **counts, "time": f"{suite.seconds:.3f}"}
    yield "  " + _open("testsuite", shape)
    if suite.facts:
        yield "    <properties>"
        for name, value in suite.facts:
            yield "      " + _open("property", {"name": name, "value": value}, closed=True)
        yield "    </properties>"
    for case in suite.cases:
        yield from _testcase(case, _group(suite.file))
    yield "  </testsuite>"


def _testcase(case: Case, group: str) -> Iterator[str]:
    shape = {"classname": group, "name": case.name, "file": case.file}
    if case.line is not None:
        shape["line"] = str(case.line)
    yield "    " + _open("testcase", {**shape, "time": f"{case.seconds:.3f}"})
    outcome = case.outcome
    if outcome is not None:
        kind = {"type": outcome.kind} if outcome.kind else {}
        yield f"      {_open(outcome.tag, {'message': outcome.message, **kind})}{escape(outcome.text)}</{outcome.tag}>"
    elif case.said:
        yield f"      <system-out>{escape(case.said)}</system-out>"
    yield "    </testcase>"


def _group(file: str) -> str:
    """`examples/a.icore` is `examples.a`, as pytest has it: two files of one package are two groups.

    The dots of a name become underscores, because servers cut a classname at its dots. A path below the working directory is as seen
    from there, so that the groups of a job are the same wherever it runs.
    """
    path = Path(file)
    if path.is_absolute() and path.is_relative_to(Path.cwd()):
        path = path.relative_to(Path.cwd())
    folders = [part for part in path.parent.parts if part != path.anchor]
    return ".".join(part.replace(".", "_") for part in (*folders, path.stem))


def _open(tag: str, attributes: Mapping[str, str], closed: bool = False) -> str:
    shown = "".join(f" {name}={quoteattr(value)}" for name, value in attributes.items())
    return f"<{tag}{shown}{'/' if closed else ''}>"
