"""`icore replay`, `icore explain` and `icore graph` of a record: what a run left behind, as text, as JSON and as drawings."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from icore_kernel.record.entry import RecordError
from icore_kernel.record.store import POSTGRES, read_entries, shown
from icore_kernel.report import paint
from icore_kernel.report.layout import Line, Part, Piece, line, number
from icore_kernel.verdict import ExitStatus
from icore_kernel.version import VERSION

if TYPE_CHECKING:
    from icore_kernel.audit.replay import Replayed
    from icore_kernel.record.history import History

REPLAY = "icore.record_replay/1"


def is_record(name: str) -> bool:
    """Whether a name is that of a record, and not of a package."""
    return name.startswith(POSTGRES) or name.endswith((".jsonl", ".db"))


def begins_as_record(path: Path) -> bool:
    """Whether the first line of a file is an entry, or the file a database."""
    try:
        with path.open("rb") as file:
            first = file.read(32)
    except OSError:
        return False
    return first.startswith((b'{"body":', b"SQLite format 3\x00"))


def no_saved_run(name: str) -> None:
    """RecordError where the file is a counterexample that `icore check --save-run` wrote, which has a command of its own."""
    from icore_kernel.runs_io import is_saved_run

    if not name.startswith(POSTGRES) and is_saved_run(Path(name)):
        raise RecordError(f"{name} is a saved run of icore check, and no record: icore explore FILE --replay {name}")


def guarded(ask: Callable[[], ExitStatus]) -> ExitStatus:
    """The status of `ask`; 2 for a record that cannot be read, which is said on standard error."""
    try:
        return ask()
    except RecordError as wrong:
        click.echo(paint.visible(str(wrong)), err=True)
        return ExitStatus.BAD_INPUT


# ---- replay ----------------------------------------------------------------------------------------------------------------


def replay_record(target: str, to: int | None, solver: bool, as_json: bool) -> ExitStatus:
    """Replay and print. 0 when every entry agrees, 1 at the first that differs, 2 for no record, 3 where it cannot be replayed here."""
    from icore_kernel.audit.replay import replay
    from icore_kernel.record.verify import Unchecked

    no_saved_run(target)
    try:
        found = replay(read_entries(target), to=to, solver=solver)
    except Unchecked as why:
        click.echo(paint.visible(f"unknown: {shown(target)}: {why}"), err=True)
        return ExitStatus.UNKNOWN
    if not found.entries and next(read_entries(target), None) is None:
        raise RecordError(f"{shown(target)}: empty: there is no record in it")
    if found.problem is None and to is not None and found.entries <= to:
        raise RecordError(f"{shown(target)}: there is no entry {to:,}: the last entry is {found.entries - 1:,}")
    if as_json:
        from icore_kernel.report.json import dump

        click.echo(dump(replay_json(target, found)))
    else:
        paint.write(replay_lines(target, found, to), sys.stdout)
    return ExitStatus.HOLDS if found.problem is None else ExitStatus.VIOLATED


def replay_lines(target: str, found: Replayed, to: int | None) -> Iterator[Line]:
    yield line(Piece(f"{found.package} {found.version}".strip() or shown(target), Part.STRONG), f" · {shown(target)}")
    if found.theory == "record":
        yield line(Piece("  by the theory in the record: the installed one is another", Part.UNSURE))
    yield line()
    counted = [_count(kind, count) for kind, count in found.kinds.items() if kind not in {"open", "end", "seal"}]
    yield line(f"  {', '.join(counted) or 'nothing happened'}, by {found.decider or 'nothing'}")
    if to is not None and found.problem is None:
        yield line()
        yield line(f"  after entry {to:,}, digest {found.digest}")
        absent = {name for name, value in found.state.items() if value == "absent"}
        shown_here = (n for n in found.state if n in found.shown and n not in absent and n.rpartition(".")[0] not in absent)
        there = {name: found.state[name] for name in shown_here}
        width = max(map(len, there), default=0)
        for name, value in there.items():
            yield line(f"    {name:<{width}} = ", str(value).lower() if isinstance(value, bool) else str(value))
    yield line()
    if found.problem is None:
        replayed = number(found.entries, "entry", "entries")
        yield line(Piece(f"{replayed} replayed: each is what the package makes of those before", Part.GOOD))
        return
    at, kind, what = found.problem
    yield line(Piece(f"entry {at:,} ({kind}) differs", Part.BAD), f": {what}")


def _count(kind: str, count: int) -> str:
    plural = {"diagnosis": "diagnoses", "feedback": "feedbacks", "internal": "internal errors"}.get(kind, f"{kind}s")
    return number(count, kind, plural)


def replay_json(target: str, found: Replayed) -> dict[str, object]:
    problem = None if found.problem is None else dict(zip(("entry", "kind", "what"), found.problem, strict=True))
    return {
        "schema": REPLAY,
        "icore": VERSION,
        "record": shown(target),
        "package": found.package,
        "version": found.version,
        "theory": found.theory,
        "decided_by": found.decider,
        "entries": found.entries,
        "kinds": dict(found.kinds),
        "problem": problem,
        "exit_status": 0 if problem is None else 1,
        "digest": found.digest,
        "state": dict(found.state),
    }


# ---- explain ---------------------------------------------------------------------------------------------------------------


def explain_record(target: str, asked: str | None, at: int | None, form: str) -> ExitStatus:
    """Print an explanation. 0; 1 where nothing of the kind is asserted, or the record is not that of justified work; 2 for no record."""
    from icore_kernel.record.explain import NothingToExplain, explain
    from icore_kernel.record.history import Unexplained
    from icore_kernel.report import explanation as forms
    from icore_kernel.report.json import dump

    no_saved_run(target)
    try:
        found = explain(shown(target), lambda: read_entries(target), asked, at)
    except (NothingToExplain, Unexplained) as wrong:
        click.echo(paint.visible(str(wrong)), err=True)
        return ExitStatus.VIOLATED
    match form:
        case "json":
            click.echo(dump(forms.explanation_json(found, shown(target))))
        case "dot":
            click.echo(forms.explanation_dot(found), nl=False)
        case "prov":
            click.echo(dump(forms.explanation_prov(found)))
        case _:
            paint.write(forms.explanation_lines(found), sys.stdout)
    return ExitStatus.HOLDS


# ---- graph -----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Drawings:
    """Where the graphs of a record are written, in which form; None is not asked for."""

    html: Path | None
    dot: Path | None
    graphml: Path | None
    prov: Path | None

    @property
    def asked(self) -> bool:
        return any(path is not None for path in (self.html, self.dot, self.graphml, self.prov))


def graph_record(target: str, at: int | None, drawings: Drawings) -> ExitStatus:
    """Write what is asked for; where nothing is, print the three graphs in DOT. 1 where the record is not that of justified work."""
    from icore_kernel.record import graphs
    from icore_kernel.record.explain import explained
    from icore_kernel.record.history import Unexplained, read
    from icore_kernel.report.json import dump

    try:
        history = read(shown(target), read_entries(target), at)
    except Unexplained as wrong:
        click.echo(paint.visible(str(wrong)), err=True)
        return ExitStatus.VIOLATED
    found = graphs.graphs(history)
    if drawings.html is not None:
        from icore_kernel.report.timeline import page_of

        settled = [w for w in history.run.works if history.run.on(history.run.works[w]["present"]) and is_settled(history, w)]
        why = {work: explained(history, lambda seq: read(shown(target), read_entries(target), seq), work) for work in settled}
        _write(drawings.html, page_of(history, found, why, at))
    if drawings.dot is not None:
        _write(drawings.dot, graphs.dot(found))
    if drawings.graphml is not None:
        _write(drawings.graphml, graphs.graphml(found))
    if drawings.prov is not None:
        _write(drawings.prov, f"{dump(graphs.prov(history, found))}\n")
    if not drawings.asked:
        click.echo(graphs.dot(found), nl=False)
    return ExitStatus.HOLDS


def is_settled(history: History, work: str) -> bool:
    return history.value(f"status({work})") in {"accepted", "rejected", "closed", "invalid"}


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    click.echo(f"wrote {path}")
