"""`icore step` as a person reads it: the state, what may follow, what is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from textwrap import wrap

from icore_kernel.report.fork import said
from icore_kernel.report.layout import Line, Part, Piece, line, number
from icore_kernel.report.text import reason_lines
from icore_kernel.stepping import Offer, StepError, Truth, View
from icore_kernel.verdict import Reason

ROOM = 130
"""Columns of a line, where no terminal says how many it has."""
_WIDEST = 44
"""Of the column of updates: longer names do not push the reasons to the right for all."""
_ALIKE = 3
"""Faults that are refused by the same clause and differ in their bindings alone: more are counted, and not shown one by one."""

HELP = """\
  N, UPDATE          take step N, or the update of this name (of one that is refused: why)
  a                  all that is refused here, one by one
  b                  back, one step
  r [FIELD=VALUE …]  from the start again; with values of fields that start anywhere
  s [NAME]           the whole state, or the fields of this name or about it
  p FORMULA          whether a formula holds here
  w FILE             save the run: icore explore PACKAGE --replay FILE
  ?, q               this help, quit (or Ctrl-D); an empty line shows the state again, `;` separates commands

"""


def view_lines(view: View, room: int = ROOM) -> Iterator[Line]:
    """`room`: columns of a line; longer reasons are cut, and told in full where the refused update is asked for by its name."""
    if view.last is None:
        yield line(Piece("start", Part.STRONG))
    else:
        yield line(Piece(f"{number(view.place, 'step')}: {said(view.last)}", Part.STRONG))
        changes = [f"{change.field}: {change.before} -> {change.after}" for change in view.last.changes]
        yield from (line("  ", change) for change in changes or ["changes nothing"])
    yield from _wrapped("  also " if view.last is not None else "  with ", [f"{name} = {value}" for name, value in view.rest], room)
    if view.ended:
        yield line("  ", Piece(f"{' and '.join(view.ended)} {'holds' if len(view.ended) == 1 else 'hold'}", Part.GOOD))
    if view.false:
        yield line("  ", Piece(f"false here: {', '.join(view.false)}", Part.BAD))
    yield line()
    refused = list(_refused(view.refused))
    names = [name if count == 1 else f"{name}, {number(count, 'binding')}" for name, count, _ in refused]
    names += [said(offer.step) for offer in view.offered]
    width = min(max(map(len, names), default=0), _WIDEST)
    for place, offer in enumerate(view.offered, start=1):
        yield _offer(f"{place:>4}  ", offer, width, room)
    if not view.offered:
        yield line("      nothing may follow")
    if view.dead_end:
        yield line("      ", Piece("a dead end: nothing changes the state any more, and none of Accept, Reject and Stuck holds", Part.BAD))
    if view.refused or view.never:
        yield line("  refused")
    for name, count, offer in refused:
        if count == 1:
            yield _offer("      ", offer, width, room)
        else:
            note = Piece(f"fault · {offer.reasons[0].label} · a lists them", Part.DIM)
            yield line("      ", f"{name}, {number(count, 'binding')}".ljust(width + 2), note)
    for schema, count in view.never:
        yield line(
            "      ",
            f"{schema}, {number(count, 'binding')}".ljust(width + 2),
            Piece("requires: as declared it is false in every state", Part.DIM),
        )


def refused_lines(view: View, room: int = ROOM) -> Iterator[Line]:
    """Every refused occurrence on a line of its own."""
    width = min(max((len(said(offer.step)) for offer in view.refused), default=0), _WIDEST)
    yield from (_offer("      ", offer, width, room) for offer in view.refused)
    if not view.refused:
        yield line("      nothing is refused")


def _refused(refused: Sequence[Offer]) -> Iterator[tuple[str, int, Offer]]:
    """Name, count and first of what is shown on a line: an occurrence, or the faults of one name that one clause refuses."""
    many = {key: count for key, count in Counter(map(_kind, refused)).items() if count > _ALIKE and key[-1]}
    for offer in refused:
        key = _kind(offer)
        if key not in many:
            yield said(offer.step), 1, offer
        elif many[key]:
            yield key[0], many[key], offer
            many[key] = 0


def _kind(offer: Offer) -> tuple[str, str, str]:
    """The name without its binding, the clause that refuses it, the fault (empty of what is none)."""
    return offer.step.update.partition("(")[0], offer.reasons[0].label if offer.reasons else "", offer.fault


def _offer(head: str, offer: Offer, width: int, room: int) -> Line:
    note, part = _note(offer)
    name = said(offer.step)
    left = max(room - len(head) - max(width, len(name)) - 2, 1)
    if len(note) > left:
        note = f"{note[: left - 1].rstrip()}…"
    return line(head, f"{name:<{width}}  " if note else name, Piece(note, part))


def _note(offer: Offer) -> tuple[str, Part]:
    """What is said beside an occurrence. Of what is no fault, only an attempt may be refused without a mistake in the package."""
    why = f" · {_short(offer.reasons[0])}" if offer.reasons else ""
    if offer.fault:
        return (f"fault{why}", Part.DIM) if offer.after is None else ("fault, and nothing refuses it", Part.BAD)
    if offer.after is None:
        return (why.removeprefix(" · "), Part.DIM) if offer.attempt else (f"not legal{why}", Part.BAD)
    if why:
        return f"not legal, and cannot be refused{why}", Part.BAD
    return ("", Part.PLAIN) if offer.step.changes else ("changes nothing", Part.DIM)


def _short(reason: Reason) -> str:
    """In one line: the clause, what it is about, and what is missing."""
    about = f" {reason.instance}" if reason.instance and "(" in reason.instance and not reason.label.startswith(_OWN) else ""
    why = f"lacks {reason.nearest}" if reason.nearest else " ".join(reason.text.split())
    return f"{reason.label}{about}: {why}"


_OWN = ("requires", "range", "when")
"""Parts of the update's own text: what they are about is the update."""


def _wrapped(head: str, items: Sequence[str], room: int) -> Iterator[Line]:
    row = ""
    for item in items:
        if row and len(head) + len(row) + len(item) + 2 > room:
            yield line(head, f"{row},")
            head, row = " " * len(head), ""
        row = f"{row}, {item}" if row else item
    if row:
        yield line(head, row)


def field_lines(fields: Sequence[tuple[str, str]]) -> Iterator[Line]:
    width = max((len(name) for name, _ in fields), default=0)
    return (line(f"  {name:<{width}} = {value}") for name, value in fields)


def truth_lines(formula: str, truth: Truth, room: int = ROOM) -> Iterator[Line]:
    """The formula is said again: commands that come from a pipe are not seen."""
    yield line(f"  p {formula}: ", Piece("true", Part.GOOD) if truth.holds else Piece("false", Part.BAD))
    for reason in truth.reasons:
        yield from (line("         ", part) for part in wrap(reason.text, max(room - 9, 20), break_long_words=False))
        yield from _values(reason)


def _values(reason: Reason) -> Iterator[Line]:
    width = max((len(name) for name, _ in reason.values), default=0)
    return (line(Piece(f"         {name:<{width}} = {value}", Part.DIM)) for name, value in reason.values)


def error_lines(wrong: StepError) -> Iterator[Line]:
    yield line(Piece(f"  {wrong}", Part.BAD))
    for reason in wrong.reasons:
        yield from reason_lines(reason)
