"""Where the packages of the tests of honesty lie, one that counts to three, and one verdict of a report."""

from __future__ import annotations

from conftest import CHECKOUT

from icore_kernel.verdict import Report, Verdict

CASES = CHECKOUT / "proofs_tests" / "cases" / "honesty"
COUNTS = CHECKOUT / "proofs_tests" / "cases" / "counts"
COMPLETE = CASES / "complete.icore"
COUNTER = """
input x { at: 0..3 = 0 }
update up by environment { when x.at < 3 set x.at := x.at + 1 }
"""


def result_of(report: Report, name: str) -> Verdict:
    (verdict,) = {result.verdict for result in report.results if result.name == name}
    return verdict
