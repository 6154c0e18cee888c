"""A plain Python workflow under audit: what it does is in `merge_when_good`, and nothing in it knows of icore.

    python examples/embedding/plain.py [RECORD.jsonl]

The package says what must be true of a change before it goes in; the ten lines in `audited_run` make the workflow keep to it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from icore_kernel import api
from icore_kernel.hosts.framework import Gate
from icore_kernel.record.entry import RecordError

PACKAGE = Path(__file__).parents[1] / "code_change.icore"


# ---- the workflow, as it was ----------------------------------------------------------------------------------------------


def review(diff: str) -> bool:
    return "eval(" not in diff


def run_tests(diff: str) -> bool:
    return len(diff) > 0


def merge_when_good(diff: str, review: Callable[[str], bool], run_tests: Callable[[str], bool]) -> str:
    if not review(diff):
        return "turned down in review"
    if not run_tests(diff):
        return "tests fail"
    return "good"


# ---- the same under audit -------------------------------------------------------------------------------------------------


def audited_run(diff: str, record: str = "memory:") -> tuple[str, str]:
    with api.audit_session(PACKAGE, record) as run:
        gate = Gate(run)
        gate.propose("assign(ben, review)")
        gate.propose("assign(ci, tests)")
        said = merge_when_good(
            diff,
            gate.node(review, lambda good: "pass(ben, review)" if good else "refuse(ben, review)"),
            gate.node(run_tests, lambda good: "pass(ci, tests)" if good else "refuse(ci, tests)"),
        )
        gate.follow("monitor")
    return said, run.outcome.value


if __name__ == "__main__":
    record = sys.argv[1] if len(sys.argv) > 1 else "memory:"
    try:
        said, outcome = audited_run("+ return a + b", record)
    except RecordError as wrong:
        sys.exit(str(wrong))
    print(f"the workflow says: {said}; the record shows: {outcome}")
