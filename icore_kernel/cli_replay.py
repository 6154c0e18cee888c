"""`icore replay`, `icore explain` and `icore graph` of a record: what a run left behind, as text, as JSON and as drawings."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import click

from icore_kernel.record.entry import RecordError
from icore_kernel.record.store import read_entries, shown
from icore_kernel.report import paint
from icore_kernel.report.layout import Line, Part, Piece, line, number
from icore_kernel.verdict import ExitStatus
from icore_kernel.version import VERSION

if TYPE_CHECKING:
    from icore_kernel.audit.replay import Replayed

REPLAY = "icore.record_replay/1"


def guarded(ask: Callable[[], ExitStatus]) -> ExitStatus:
    """The status of `ask`; 2 for a record that cannot be read, which is said on standard error."""
    try:
        return ask()
    except RecordError as wrong:
        click.echo(str(wrong), err=True)
        return ExitStatus.BAD_INPUT


# ---- replay ----------------------------------------------------------------------------------------------------------------


def replay_record(target: str, to: int | None, solver: bool, as_json: bool) -> ExitStatus:
    """Replay and print. 0 when every entry agrees, 1 at the first that differs, 2 for no record."""
    from icore_kernel.audit.replay import replay

    found = replay(read_entries(target), to=to, solver=solver)
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

    try:
        found = explain(shown(target), lambda: read_entries(target), asked, at)
    except (NothingToExplain, Unexplained) as wrong:
        click.echo(str(wrong), err=True)
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
