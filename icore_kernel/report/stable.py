"""The report of `icore stable`: verdicts, what is wrong, and the matrix of update pairs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from icore_kernel.report.fork import matrix_lines
from icore_kernel.report.json import Record, cell_record, report_record
from icore_kernel.report.layout import Line, line
from icore_kernel.report.text import report_lines
from icore_kernel.verdict import LIBRARY, Cell, Report

STABLE = "icore.stable/1"


def stable_lines(report: Report, cells: Sequence[Cell]) -> Iterator[Line]:
    """As `icore check` prints it, the matrix before the last line."""
    *lines, last = report_lines(report, sought=report.mode != LIBRARY, every_pair=True)
    yield from lines
    if report.mode != LIBRARY and not report.space.get("stopped"):
        yield from matrix_lines(cells)
        yield line()
    yield last


def stable_record(report: Report, cells: Sequence[Cell], settings: Mapping[str, str]) -> Record:
    """Schema `icore.stable/1`: that of `icore check`, and the whole matrix as `matrix`; null where the search stopped, or of a library."""
    record = report_record(report, False, settings, report.mode != LIBRARY)
    whole = None if report.mode == LIBRARY or report.space.get("stopped") else [cell_record(cell) for cell in cells]
    return {**record, "schema": STABLE, "matrix": whole}
