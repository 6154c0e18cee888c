"""A report as a person reads it (design 1, What the user sees): a headline, a line a result, what is wrong, the verdict."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import assert_never

from icore_kernel.explore.model import ANSWERED
from icore_kernel.report.fork import apart_lines, fork_lines, said
from icore_kernel.report.layout import Line, Part, Piece, line, number, place
from icore_kernel.verdict import LIBRARY, ExitStatus, Finding, Reason, Report, Result, Run, Step, Verdict

_NAME = 16
"""Least width of the column of names; of the verdicts it is the longest verdict's."""
_LONG_NAME = 28
"""Longer names (of several order stability checks, say) do not widen the column for all."""
_VERDICT = len("violated")
_ROOM = 96
"""Changes of a step stand on one line up to this width, else one below the other."""
_BEFORE_SPACE = ("well-formed", "legality", "faults", "feasibility", "soundness")
"""Results that are printed before the line of the state space, as in design 1; the declared properties come after it."""


def part_of(verdict: Verdict) -> Part:
    match verdict:
        case Verdict.HOLDS | Verdict.PROVED:
            return Part.GOOD
        case Verdict.VIOLATED:
            return Part.BAD
        case Verdict.UNKNOWN:
            return Part.UNSURE
        case _:
            assert_never(verdict)


def report_lines(report: Report, strict: bool = False, sought: bool = True, every_pair: bool = False) -> Iterator[Line]:
    """All lines of one report; of results that come from another violation, those in the table. `strict` changes only what is said of
    findings; `sought`: whether findings were looked for at all; `every_pair`: of the pairs that settle apart, all or the first few."""
    yield line(Piece(f"{report.package} {report.version}".rstrip(), Part.STRONG), "".join(f" · {words}" for words in _headline(report)))
    yield line()
    names = [*(result.name for result in report.results), "state space"]
    width = max(_NAME, *(len(name) for name in names if len(name) <= _LONG_NAME))
    ahead = [result for result in report.results if result.name in _BEFORE_SPACE]
    for result in ahead:
        yield _row(result, width)
    yield from _space(report, width)
    for result in report.results:
        if result.name not in _BEFORE_SPACE:
            yield _row(result, width)
    if sought:
        yield from _vacuity(report, width)
    printed: list[tuple[Run, str]] = []
    for result in report.results:
        if result.verdict is Verdict.VIOLATED and result.name not in report.behind:
            yield line()
            yield from violated_lines(result, next((name for run, name in printed if run == result.run), ""), every_pair)
            if result.run is not None:
                printed.append((result.run, result.name))
    if report.first:
        yield line()
        yield line(report.first)
    yield line()
    yield _last(report, strict)


def _headline(report: Report) -> Iterator[str]:
    counts = report.counts
    for key in ("agent", "obligation"):
        if counts.get(f"{key}s"):
            yield number(counts[f"{key}s"], key)
    if "updates" in counts:
        occurrences = f" ({number(counts['occurrences'], 'occurrence')})" if "occurrences" in counts else ""
        yield number(counts["updates"], "update") + occurrences
    if report.mode != "audited":
        yield report.mode


def _columns(name: str, width: int, verdict: Piece, rest: str) -> Line:
    gap = " " * (max(_VERDICT - len(verdict.text), 0) + 2)
    return line(f"  {name:<{width}}  ", verdict, gap if rest else "", rest)


def _row(result: Result, width: int) -> Line:
    return _columns(result.name, width, Piece(result.verdict.value, part_of(result.verdict)), result.detail)


def _space(report: Report, width: int) -> Iterator[Line]:
    space = report.space
    facts = [number(value, noun) for key, noun in (("states", "state"), ("steps", "step")) if isinstance(value := space.get(key), int)]
    stutters = space.get("stutters")
    if isinstance(stutters, int) and stutters and facts:
        facts[-1] += f", of which {stutters:,} stutter"
    if isinstance(depth := space.get("depth"), int):
        facts.append(f"depth {depth:,}")
    if fields := space.get("fields"):
        facts.append(f"fields {fields}")
    if facts:
        yield _columns("state space", width, Piece(""), " · ".join(facts))
    reduction = space.get("reduction")
    if isinstance(reduction, Mapping):
        for words in reduction["said"]:
            yield _columns("", width, Piece(""), words)
    if (stopped := space.get("stopped")) == ANSWERED:
        yield _columns("", width, Piece(""), f"{stopped}: the search went no deeper, and counts are up to there")
    elif stopped:
        yield _columns("", width, Piece("unknown", Part.UNSURE), f"the search stopped before its end: {stopped}")


def _vacuity(report: Report, width: int) -> Iterator[Line]:
    """One line a finding. A search that stopped may have missed what would show that nothing is vacuous, or that something is."""
    findings = report.findings
    stopped = bool(report.space.get("stopped"))
    if stopped:
        yield _columns("vacuity", width, Piece("unknown", Part.UNSURE), "not decided by a search that stopped")
    elif not findings:
        yield _columns("vacuity", width, Piece(number(0, "note")), "")
    notes = Piece(number(len(findings), "note"), Part.UNSURE if any(not f.allowed for f in findings) else Part.PLAIN)
    for position, finding in enumerate(findings):
        first = position == 0
        yield _columns("vacuity" if first and not stopped else "", width, notes if first else Piece(""), note(finding))


def note(finding: Finding) -> str:
    where = f" ({place(finding.span)})" if finding.span else ""
    allowed = f", allowed: {finding.allowed}" if finding.allowed else ""
    return f"{finding.message}{where}{allowed}"


def violated_lines(result: Result, same: str = "", every_pair: bool = False) -> Iterator[Line]:
    """What is wrong: the run, the clauses that fail, the repair. `same`: the result above that was printed with the same run."""
    where = f" · {place(result.span)}" if result.span else ""
    yield line(Piece(f"violated: {result.name}", Part.BAD), where)
    if result.run is not None:
        yield line()
        yield from [line(f"  the same run as for `{same}`")] if same and result.run.steps else run_lines(result.run, run_name(result))
    if result.fork is not None:
        yield line()
        yield from fork_lines(result.fork)
    if any(cell.not_joinable for cell in result.matrix):
        yield line()
        yield from apart_lines(result.matrix, every_pair)
    for reason in result.reasons:
        yield line()
        yield from reason_lines(reason)
    if result.repair:
        yield line()
        yield line("  repair  ", result.repair)


def run_name(result: Result) -> str:
    """A run that the solver found leads to the state it asked about: there may be a shorter one to another."""
    return "a run" if result.engine == "Z3" else "the shortest run"


def run_lines(run: Run, what: str = "the shortest run") -> Iterator[Line]:
    """A run, one line a step: only what each step changed."""
    steps = len(run.steps)
    yield line(f"  {what}, {number(steps, 'step')}:" if steps else "  in the initial state:")
    if run.initial:
        yield line("       from ", ", ".join(f"{name} = {value}" for name, value in run.initial))
    shown = [*run.steps, *run.cycle, run.offending] if run.offending else [*run.steps, *run.cycle]
    width = max((len(said(step)) for step in shown), default=0)
    for position, step in enumerate(run.steps, start=1):
        yield from _step(f"{position:>5}", step, width)
    if run.cycle:
        yield line("  then for ever:")
    for position, step in enumerate(run.cycle, start=steps + 1):
        yield from _step(f"{position:>5}", step, width)
    if run.offending:
        yield from _step(" then", run.offending, width)
        refused = run.offending.actor != "environment"  # the world moves: what it does is judged, and happens
        yield line(Piece("       which may not commit" if refused else "       which is not legal, and cannot be refused", Part.DIM))


def _step(label: str, step: Step, width: int) -> Iterator[Line]:
    changes = [f"{change.field}: {change.before} -> {change.after}" for change in step.changes] or ["changes nothing"]
    together = ", ".join(changes)
    head = f"{label}  {said(step):<{width}}  "
    if len(head) + len(together) <= _ROOM:
        yield line(head, Piece(together, Part.DIM))
        return
    yield line(head, Piece(changes[0], Part.DIM))
    for change in changes[1:]:
        yield line(" " * len(head), Piece(change, Part.DIM))


def reason_lines(reason: Reason) -> Iterator[Line]:
    at = f" at {reason.instance}" if reason.instance else ""
    where = f" · {place(reason.span)}" if reason.span else ""
    yield line("  fails  ", Piece(f"{reason.label}{at}", Part.STRONG), where)
    for text in reason.text.splitlines():
        yield line(f"         {text}")
    if reason.nearest:
        yield line("         lacks ", reason.nearest)
    width = max((len(name) for name, _ in reason.values), default=0)
    for name, value in reason.values:
        yield line(f"         {name:<{width}} = {value}")


def _last(report: Report, strict: bool) -> Line:
    verdict = report.verdict
    found = sum(1 for finding in report.findings if not finding.allowed)
    seconds = f" · {report.seconds:.2f} s"
    if strict and found and verdict is not Verdict.VIOLATED:
        return line(Piece(f"{verdict.value}, but --strict fails it for {number(found, 'note')}", Part.BAD), seconds)
    said = verdict.value
    if report.mode == LIBRARY:
        said = "well-formed"
    elif report.counts.get("updates") == 0 and verdict is Verdict.HOLDS:
        said += ", of the initial states alone: no update is declared"
    return line(Piece(said, part_of(verdict)), seconds)


_WORDS = {
    ExitStatus.HOLDS: "{} good",
    ExitStatus.VIOLATED: "{} violated",
    ExitStatus.BAD_INPUT: "{} wrong",
    ExitStatus.UNKNOWN: "{} unknown",
    ExitStatus.INTERNAL: "{} failed inside",
}


def tally(statuses: Iterable[ExitStatus]) -> str:
    """`3 files: 2 good, 1 violated`: the closing line of a check of several files."""
    found = list(statuses)
    words = [_WORDS[status].format(found.count(status)) for status in ExitStatus if status in found]
    return f"{number(len(found), 'file')}: {', '.join(words)}"
