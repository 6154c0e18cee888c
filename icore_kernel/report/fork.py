"""Forks, lassos and the matrix of update pairs as a person reads them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from icore_kernel.report.layout import Line, Part, Piece, line, number
from icore_kernel.verdict import Cell, Fork, Step

_MOST = 6
"""Pairs of updates that a violated result names; `icore stable` prints them all."""


def said(step: Step) -> str:
    """The update, and who moved where its name does not say."""
    return step.update if not step.actor or step.actor in step.update else f"{step.update} by {step.actor}"


def fork_lines(fork: Fork) -> Iterator[Line]:
    """The two updates, by whom, choice or order, what they both touch, the two settlements and how far each is."""
    kind = "a choice: alternatives for the same work" if fork.choice else "a matter of order"
    yield line("  then two ways, ", Piece(kind, Part.STRONG))
    yield line(f"    one    {said(fork.first)}")
    if fork.way:
        yield line(f"    other  {'; '.join(said(step) for step in fork.way)}; then {said(fork.second)}")
    else:
        yield line(f"    other  {said(fork.second)}")
    if fork.conflict:
        yield line(f"    both touch  {', '.join(fork.conflict)}")
    for name, steps in zip(("one", "other"), fork.continuations, strict=True):
        way = f"after {number(len(steps), 'more step')}: {'; '.join(said(step) for step in steps)}" if steps else "at once"
        yield line(f"    {name:<5}  settles {way}")
    if fork.settlements:
        yield line()
        width = max(len(name) for name, _, _ in fork.settlements)
        left = max(len("one"), *(len(value) for _, value, _ in fork.settlements))
        yield line("  ", Piece(f"{'settles in':<{width}}   {'one':<{left}}   other", Part.DIM))
        for name, one, other in fork.settlements:
            yield line(f"  {name:<{width}}   {one:<{left}}   {other}")


def apart_lines(cells: Sequence[Cell], every: bool = False) -> Iterator[Line]:
    """The update pairs whose forks settle apart, most forks first; `every` of them, or the first few."""
    apart = sorted((c for c in cells if c.not_joinable), key=lambda c: (-c.not_joinable, c.first, c.second))
    if not apart:
        return
    yield line("  forks that settle apart")
    shown = len(apart) if every else _MOST
    names = [f"{c.first} / {c.second}" for c in apart[:shown]]
    width = max(map(len, names))
    for name, cell in zip(names, apart, strict=False):
        yield line(f"    {name:<{width}}  {cell.not_joinable:>9,}  {'choice' if cell.choice else 'order'}")
    if len(apart) > shown:
        yield line(Piece(f"    and {number(len(apart) - shown, 'more pair')}: icore stable shows all", Part.DIM))


def matrix_lines(cells: Sequence[Cell]) -> Iterator[Line]:
    """Every pair of updates that is ever enabled together, what comes of it, and the exact counts of forks."""
    if not cells:
        yield line("  no two productive updates are ever enabled together")
        return
    heads = ("independent", "joinable", "apart", "unclassified")
    rows = [(f"{c.first} / {c.second}", c, (c.independent, c.joinable, c.not_joinable, c.unclassified)) for c in cells]
    width = max(len("pair of updates"), *(len(name) for name, _, _ in rows))
    yield line("  ", Piece(f"{'pair of updates':<{width}}  {''.join(f'{head:>14}' for head in heads)}   what comes of it", Part.DIM))
    for name, cell, counts in rows:
        kind = cell.kind + (", a choice" if cell.choice and cell.kind not in _INDEPENDENT else "")
        part = Part.BAD if cell.not_joinable else Part.UNSURE if cell.unclassified else Part.PLAIN
        yield line(f"  {name:<{width}}  {''.join(f'{count:>14,}' for count in counts)}   ", Piece(kind, part))
        if cell.condition:
            yield line(Piece(f"  {'':<{width}}  conflict: {cell.condition}", Part.DIM))


_INDEPENDENT = ("independent everywhere", "independent where reached")
