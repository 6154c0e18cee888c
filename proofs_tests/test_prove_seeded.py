"""The seeded mistakes are found, each with the run or the clause that says why."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

from icore_kernel import api
from icore_kernel.check.proof import prove
from icore_kernel.explore.model import Rules
from icore_kernel.verdict import Verdict

FILE = Path(__file__).parent / "seeded" / "mistakes.py"


def _module() -> ModuleType:
    spec = importlib.util.spec_from_file_location("seeded_mistakes", FILE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


MISTAKES = {m.name: m for m in _module().MISTAKES}


def test_there_are_forty_and_more_of_every_kind() -> None:
    assert len(MISTAKES) >= 40
    assert {m.kind for m in MISTAKES.values()} >= {
        "a guard weakened", "a certificate not issued", "a revocation forgotten", "a premise dropped", "an infeasible assignee",
        "a version not bumped", "a wrong status", "a signature not reset", "a wrong issuer", "a missing cascade",
    }  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_exploration_finds_it(name: str, tmp_path: Path) -> None:
    """Violated, by the clause that was written down, with a run to it; and the example without it is not."""
    mistake = MISTAKES[name]
    file = tmp_path / f"{name}.icore"
    file.write_text(mistake.text(), encoding="utf-8")
    report = api.check(api.load(file), rules=Rules(timeout=60))
    found = next(r for r in report.results if r.name == mistake.breaks)
    assert found.verdict is Verdict.VIOLATED and found.run is not None
    assert not mistake.clause or mistake.clause in {r.label for r in found.reasons}


BY_PROOF = [name for name, mistake in MISTAKES.items() if mistake.breaks != "dead ends"]
"""That nothing can follow is no question of a proof by steps: three mistakes are found by exploration alone."""
ASKED = BY_PROOF if os.environ.get("ICORE_TESTS") == "nightly" else BY_PROOF[::6]


@pytest.mark.parametrize("name", ASKED)
def test_proof_finds_it_too(name: str, tmp_path: Path) -> None:
    """The same verdict by the same clause, with a reachable counterexample: never shorter than the shortest run."""
    mistake = MISTAKES[name]
    file = tmp_path / f"{name}.icore"
    file.write_text(mistake.text(), encoding="utf-8")
    loaded = api.load(file)
    proved = next(r for r in prove(loaded).report.results if r.name == mistake.breaks)
    checked = next(r for r in api.check(loaded).results if r.name == mistake.breaks)
    assert proved.verdict is checked.verdict is Verdict.VIOLATED
    assert not mistake.clause or mistake.clause in {r.label for r in proved.reasons}
    assert proved.run is not None and checked.run is not None and len(proved.run.steps) >= len(checked.run.steps)


def test_only_dead_ends_are_left_to_exploration() -> None:
    assert len(BY_PROOF) == len(MISTAKES) - 3
