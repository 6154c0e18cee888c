"""What the tests of order stability share: the packages that are argued by hand, and the results of one."""

from __future__ import annotations

from pathlib import Path

from conftest import CHECKOUT

from icore_kernel import api
from icore_kernel.verdict import Result

CASES = CHECKOUT / "proofs_tests" / "cases" / "rewriting"
HOLDS, VIOLATED, UNKNOWN = "holds", "violated", "unknown"


def results(name: str, folder: Path = CASES) -> dict[str, Result]:
    return {r.name: r for r in api.check(api.load(folder / f"{name}.icore")).results}
