"""`icore audit`: one run of Algorithm 1, printed as it went; the record holds everything."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby, pairwise
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import click

from icore_kernel.cli_check import Wrong, answer, refuse
from icore_kernel.cli_signals import ended_by_signals
from icore_kernel.report import paint
from icore_kernel.report.layout import Line, Part, Piece, line, number, plain
from icore_kernel.verdict import ExitStatus

if TYPE_CHECKING:
    from icore_kernel.audit.auditor import Auditor
    from icore_kernel.audit.frame import Outcome
    from icore_kernel.audit.host import Host
    from icore_kernel.audit.loop import Loop
    from icore_kernel.record.entry import Entry, RecordError

AUDIT = "icore.audit/1"
LONGEST_NUMBER = 20
"""Digits of a value on the command line; what has more is in no range, and is refused as a text that is none of the values."""
FIRST, LAST = 30, 15
"""Lines of a long run that are printed; `--all` prints every one."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What one `icore audit` asks; numbers that are None are the package's."""

    settings: Mapping[str, str]
    theory: Path | None
    host: str
    model: str | None
    inputs: Mapping[str, str]
    record: str | None
    request: str | None
    threshold: Fraction | None
    patience: int | None
    budget: int | None
    repair: bool
    sign_key: Path | None
    durable: bool
    every: bool
    as_json: bool

    @property
    def kept(self) -> bool:
        """Whether the run's record outlives the command."""
        from icore_kernel.record.store import MEMORY

        return self.record not in {None, MEMORY}


def audit_file(path: Path, asked: Asked) -> int:
    """Run the loop, print the run, seal the record. Exit status: 0 accept, 1 reject, 2 wrong input, 3 none of the two, 4 internal.

    Ctrl-C, SIGTERM and SIGHUP end the run as interrupted.
    """
    try:
        with ended_by_signals():
            return _audit(path, asked)
    except Wrong as wrong:
        return refuse(wrong, path, AUDIT if asked.as_json else None).value


def _audit(path: Path, asked: Asked) -> int:
    from icore_kernel import api
    from icore_kernel.audit.hosted import run_on
    from icore_kernel.hosts.mistakes import HostError
    from icore_kernel.hosts.named import host_named
    from icore_kernel.hosts.repairing import RepairHost
    from icore_kernel.record.entry import RecordError, TakenRecord
    from icore_kernel.record.seal import read_key
    from icore_kernel.record.store import MEMORY, open_store

    _no_record(path)
    started = monotonic()
    loaded = answer(path, lambda: api.load(path, settings=asked.settings, theory=asked.theory))
    try:
        host = host_named(asked.host, loaded, model=asked.model, request=asked.request)
        key = None if asked.sign_key is None else read_key(asked.sign_key)
        store = open_store(MEMORY if asked.record is None else asked.record, durable=asked.durable, begin=True)
    except (HostError, RecordError) as wrong:
        raise Wrong(str(wrong)) from wrong
    inputs = {name: _value(text) for name, text in asked.inputs.items()}

    def host_of(auditor: Auditor) -> Host:
        return RepairHost(host, auditor) if asked.repair else host

    with store:
        try:
            loop, outcome = run_on(
                store, loaded, host_of, request=asked.request, inputs=inputs, threshold=asked.threshold, patience=asked.patience,
                budget=asked.budget, key=key,
            )  # fmt: skip
        except api.UsageError as wrong:
            raise Wrong(f"{path}: {wrong}") from wrong
        except TakenRecord as wrong:
            raise Wrong(str(wrong)) from wrong
        except RecordError as lost:
            return _unwritten(path, lost, asked)
        finally:
            if store.warning is not None:
                click.echo(store.warning, err=True)
        entries = list(store.entries())
        if asked.as_json:
            from icore_kernel.report.json import dump

            click.echo(dump(run_record(loop, outcome, entries, asked)))
        else:
            paint.write(run_lines(path, loop, outcome, entries, asked, monotonic() - started), sys.stdout)
    return exit_status(outcome)


def _unwritten(path: Path, lost: RecordError, asked: Asked) -> int:
    """A run whose record could not be written to its end (a full disk, a server that is gone): nothing is wrong with what was asked."""
    said = f"unknown: {lost}; the run ends here, and what was recorded of it is not sealed"
    if asked.as_json:
        from icore_kernel.report.json import dump, wrong_record

        click.echo(dump(wrong_record(str(path), said, (), AUDIT, ExitStatus.UNKNOWN)))
    else:
        click.echo(said, err=True)
    return ExitStatus.UNKNOWN.value


def _no_record(path: Path) -> None:
    """Wrong where the file is a record, which has commands of its own."""
    from icore_kernel.cli_replay import begins_as_record, is_record

    if is_record(str(path)) and begins_as_record(path):
        raise Wrong(f"{path} is a record, and no package: see icore verify, replay, explain and graph")


def _value(text: str) -> bool | int | str:
    if text in {"true", "false"}:
        return text == "true"
    digits = text.removeprefix("-")
    return int(text) if digits.isascii() and digits.isdecimal() and len(digits) <= LONGEST_NUMBER else text


def exit_status(outcome: Outcome) -> int:
    from icore_kernel.audit.frame import Outcome

    match outcome:
        case Outcome.ACCEPT:
            return ExitStatus.HOLDS.value
        case Outcome.REJECT:
            return ExitStatus.VIOLATED.value
        case Outcome.INTERNAL:
            return ExitStatus.INTERNAL.value
        case _:
            return ExitStatus.UNKNOWN.value


# ---- text ----------------------------------------------------------------------------------------------------------------


def run_lines(path: Path, loop: Loop, outcome: Outcome, entries: list[Entry], asked: Asked, seconds: float) -> Iterator[Line]:
    system = loop.auditor.system
    p = loop.parameters
    yield line(Piece(f"{system.name} {system.version}".strip(), Part.STRONG), Piece(f" · {path} · host {loop.host.name}", Part.DIM))
    yield line(Piece(f"  patience {p.patience}, budget {p.budget}, threshold {p.threshold}", Part.DIM))
    yield line()
    told = [said for entry in entries for said in _told(entry)] if asked.every else list(_rounds(entries))
    if asked.every or len(told) <= FIRST + LAST:
        yield from told
    else:
        yield from told[:FIRST]
        yield line(Piece(f"        … {len(told) - FIRST - LAST:,} lines left out: --all prints them", Part.DIM))
        yield from told[-LAST:]
    yield line()
    counts = Counter(entry.kind for entry in entries)
    mistakes = Counter(_mistake(entry) for entry in entries if entry.kind == "refusal")
    unanswered, misscheduled = mistakes["answer"], mistakes["schedule"]
    said = [number(counts["commit"], "commit"), number(mistakes[""], "refusal")]
    said.extend([number(unanswered, "answer that could not be used", "answers that could not be used")] if unanswered else [])
    said.extend([number(misscheduled, "wrong schedule")] if misscheduled else [])
    yield line("  ", ", ".join([*said, number(counts["diagnosis"], "intervention")]))
    found = loop.diagnostician.diagnostics(loop.auditor.state)
    yield line(f"  snd {found.soundness}, astab {found.stability}, cq {found.quality}")
    if because := _gave_up(entries):
        yield line("  the host was given up: ", because)
    if not asked.kept:
        yield line(Piece("  nothing was kept: --record FILE.jsonl keeps the run", Part.DIM))
    else:
        signed = "sealed and signed" if asked.sign_key is not None else "sealed"
        yield line(f"  record: {asked.record}, {number(len(entries), 'entry', 'entries')}, {signed}")
    yield line()
    yield line(Piece(outcome.value, _part(outcome)), f" · {seconds:.2f} s")


def _rounds(entries: list[Entry]) -> Iterator[Line]:
    """The lines of every round; rounds that say the same as the one before are counted, on their line where they have only one."""
    before: list[Line] = []
    same = 0
    for _, own in groupby(entries, key=lambda entry: entry.body.get("t", -1)):
        said = list(_round(list(own)))
        if said and [plain(piece[1:]) for piece in said] == [plain(piece[1:]) for piece in before]:
            same += 1
            continue
        yield from _repeated(before, same)
        same, before = 0, said
    yield from _repeated(before, same)


def _round(entries: list[Entry]) -> Iterator[Line]:
    """The lines of a round. A diagnosis to which nobody proposed anything is one line."""
    idle = {entry.seq for entry, then in pairwise(entries) if entry.kind == "diagnosis" and _proposes_nothing(then)}
    for entry in entries:
        if entry.seq in idle:
            (told,) = _told(entry)
            yield (*told, Piece(": no proposal", Part.DIM))
        elif entry.seq - 1 not in idle:
            yield from _told(entry)


def _proposes_nothing(entry: Entry) -> bool:
    return entry.kind == "feedback" and not entry.body["proposal"] and not _mistake(entry)


def _repeated(said: list[Line], more: int) -> Iterator[Line]:
    """The lines of a round, and in how many more they are the same."""
    if len(said) == 1 and more:
        yield (*said[0], Piece(f"  {more + 1:,} times", Part.DIM))
        return
    yield from said
    if more:
        yield line(Piece(f"        … and the same in {number(more, 'more round')}", Part.DIM))


def _mistake(entry: Entry) -> str:
    """Of a refusal or feedback: the host's mistake in it (`answer`, `schedule`); empty where what was proposed breaks a clause."""
    clause = entry.body["violations"][0]["clause"] if entry.body["violations"] else ""
    return clause if clause in {"answer", "schedule"} else ""


def _gave_up(entries: Sequence[Entry]) -> str | None:
    """Why the host gave up, where it did."""
    return next((entry.body.get("because") for entry in reversed(entries) if entry.kind == "end"), None)


def _part(outcome: Outcome) -> Part:
    return {0: Part.GOOD, 1: Part.BAD, 4: Part.BAD}.get(exit_status(outcome), Part.UNSURE)


def _told(entry: Entry) -> Iterator[Line]:
    """The lines of one entry."""
    b = entry.body
    head = Piece(f"  {entry.seq:>4}  ", Part.DIM)
    match entry.kind:
        case "commit":
            how = {"ordinary": "", "recovery": " (recovery)", "report": " (report)"}[b["phase"]]
            yield line(head, Piece("commit     ", Part.GOOD), f"{b['update']}", Piece(f"  by {b['agent']}{how}", Part.DIM))
        case "wait":
            yield line(head, Piece("wait       ", Part.DIM), f"{b['agent']}")
        case "refusal" | "feedback":
            what = b["update"] or {"answer": "no usable answer", "schedule": "the schedule", "": "no proposal"}[_mistake(entry)]
            label = "refused    " if entry.kind == "refusal" else "feedback   "
            who = "by the host" if _mistake(entry) == "schedule" else f"by {b['agent']}"
            yield line(head, Piece(label, Part.BAD), what, Piece(f"  {who}", Part.DIM))
            yield from _broken(b["violations"], what)
        case "diagnosis":
            names = ", ".join(c["component"] for c in b["components"])
            what = f"{b['kind']} of {names}" if names else b["kind"]
            yield line(
                head,
                Piece("diagnosis  ", Part.UNSURE),
                f"{what}: {', '.join(b['triggers'])}",
                Piece(f"  asks {b['responsible']}", Part.DIM),
            )
        case "internal":
            yield line(head, Piece("internal   ", Part.BAD), f"{b['what']}: {b['update']}")


def _broken(violations: Sequence[Mapping[str, Any]], what: str) -> Iterator[Line]:
    """What is missing, each thing once and with what it is said of; then the other clauses by their labels."""
    own = [v for v in violations if v["instance"] and v["instance"] != what] or list(violations)
    shown: list[Mapping[str, Any]] = []
    for violation in own:
        if len(shown) < 2 and all((violation["needs"], violation["text"]) != (other["needs"], other["text"]) for other in shown):
            shown.append(violation)
    for violation in shown:
        place = f"  {violation['spans'][0]}" if violation["spans"] else ""
        instance = f" {violation['instance']}" if violation["instance"] != what else ""
        why = f"needs {violation['needs']}" if violation["needs"] else violation["text"]
        yield line(f"                   {violation['clause']}{instance}".rstrip(), f": {why}", Piece(place, Part.DIM))
    rest = dict.fromkeys(v["clause"] for v in violations if all(v["clause"] != other["clause"] for other in shown))
    if rest:
        yield line(Piece(f"                   also {', '.join(rest)}", Part.DIM))


# ---- JSON ----------------------------------------------------------------------------------------------------------------


def run_record(loop: Loop, outcome: Outcome, entries: list[Entry], asked: Asked) -> dict[str, object]:
    found = loop.diagnostician.diagnostics(loop.auditor.state)
    counts = Counter(entry.kind for entry in entries)
    return {
        "schema": AUDIT,
        "package": loop.auditor.system.name,
        "host": loop.host.name,
        "outcome": outcome.value,
        "exit_status": exit_status(outcome),
        "because": _gave_up(entries),
        "rounds": loop.frame.t,
        "entries": len(entries),
        "commits": counts["commit"],
        "refusals": counts["refusal"],
        "interventions": counts["diagnosis"],
        "soundness": str(found.soundness),
        "stability": str(found.stability),
        "quality": str(found.quality),
        "record": asked.record if asked.kept else None,
        "head": entries[-1].hash,
        "state": loop.auditor.labeller.named(loop.auditor.state),
    }
