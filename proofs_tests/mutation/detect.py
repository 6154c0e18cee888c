"""What looks at a changed theory: the tests of the map of spec/README.md, those next to it first, then reports of whole packages."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from test_claims import function, rows, takes_a_theory
from theory_texts import declarations

from icore_kernel import api
from icore_kernel.check.proof import prove
from icore_kernel.load import InputError, UsageError
from icore_kernel.prove.onestep import Outcome
from icore_kernel.verdict import Report

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parents[1]
EXPECTED = HERE / "expected.json"

PACKAGES = (
    "icore_kernel/starter.icore",
    "proofs_tests/cases/counts/decomposition.icore",
    "examples/code_change.icore",
    "examples/code_change_broken.icore",
    "examples/decompose_and_solve.icore",
    "examples/incident_response.icore",
    "examples/incident_response_broken.icore",
    "examples/dependency_ladder.icore",
    "examples/dependency_ladder_broken.icore",
    "examples/literature_answer.icore",
    "examples/literature_answer_broken.icore",
    "examples/repair_verification.icore",
)
PROVED = ("icore_kernel/starter.icore", "examples/code_change.icore")


class Detector:
    """`caught(name, theory)`: the first thing that is different under a changed theory, or None. `name` was changed."""

    def __init__(self, theory: Path, near: bool = False) -> None:
        self.near = near
        """Ask only the tests of what was changed and of what says so by it, which is quick and finds nearly all."""
        self.expected: dict[str, object] = json.loads(EXPECTED.read_text(encoding="utf-8"))
        self.tests: dict[str, list[str]] = {}
        """definition or label -> the tests of its lines in the map that can be asked of another theory."""
        for row in rows():
            for name in row.names:
                own = self.tests.setdefault(name, [])
                own.extend(t for t in row.tests if takes_a_theory(t) and t not in own)
        mapped = {test for own in self.tests.values() for test in own}
        self.others = [test for test in _tests() if test not in mapped and takes_a_theory(test)]
        """Tests over a theory that no line of the map has."""
        bodies = {d.name: d.file.read_text(encoding="utf-8")[d.start : d.end] for d in declarations(theory)}
        self.users = {name: [other for other, body in bodies.items() if other != name and _mentions(body, name)] for name in bodies}

    def caught(self, name: str, theory: Path) -> str | None:
        return next(self._caught(name, theory), None)

    def _caught(self, name: str, theory: Path) -> Iterator[str]:
        for test in self._order(name):
            said = failed(lambda test=test: function(test)(theory))  # type: ignore[misc]
            if said is not None:
                yield f"{test.partition('::')[2]}{said}"
        for file, expected in self.expected.items() if not self.near else ():
            found: list[object] = []
            said = failed(lambda file=file, found=found: found.append(summary(file, theory)))  # type: ignore[misc]
            if said is not None or found != [expected]:
                yield f"{file}{said or ''}"

    def _order(self, name: str) -> list[str]:
        """The tests of what was changed and of what says so by it; those in no line of the map; then of what says so by that, and so on;
        then all others."""
        reached = [name, *self.users.get(name, ())]
        order = dict.fromkeys(test for one in reached for test in self.tests.get(one, ()))
        order.update(dict.fromkeys(self.others))
        for one in reached if not self.near else ():
            reached.extend(user for user in self.users.get(one, ()) if user not in reached)
            order.update(dict.fromkeys(self.tests.get(one, ())))
        if not self.near:
            order.update(dict.fromkeys(test for own in self.tests.values() for test in own))
        return list(order)


def _tests() -> list[str]:
    """Every test of the files about the theory, by its path and name, that takes one argument."""
    found = []
    for file in sorted((CHECKOUT / "proofs_tests").glob("test_theory_*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        names = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name.startswith("test_")]
        found += [f"proofs_tests/{file.name}::{n.name}" for n in names if [a.arg for a in n.args.args] == ["theory"]]
    return found


def failed(ask: Callable[[], None]) -> str | None:
    """How a test failed: "" by a wrong answer, else the kind of refusal. None: it did not."""
    try:
        ask()
    except AssertionError:
        return ""
    except (InputError, UsageError) as refused:
        return f" ({type(refused).__name__})"
    return None


def _mentions(body: str, name: str) -> bool:
    return re.search(rf"\b{re.escape(name)}\b", re.sub(r'"[^"]*"|#[^\n]*', "", body)) is not None


def summary(file: str, theory: Path) -> object:
    """What `icore check` counts and decides of a package, and `icore prove` of the small ones."""
    loaded = api.load(CHECKOUT / file, theory=theory)
    said = _report(api.check(loaded))
    if file in PROVED:
        proof = prove(loaded)
        said["proved"] = {r.name: r.verdict.value for r in proof.report.results}
        kept = {Outcome.UNTOUCHED: "kept", Outcome.PROVED: "kept"}
        pairs = sorted((loaded.system.updates[p.update].name, p.label, kept.get(p.outcome, p.outcome.value)) for p in proof.plain.pairs)
        said["pairs"] = ["; ".join(pair) for pair in pairs]
    plain: object = json.loads(json.dumps(said))
    return plain


def _report(report: Report) -> dict[str, object]:
    return {
        "space": {key: report.space[key] for key in ("states", "steps", "stutters", "depth") if key in report.space},
        "results": {r.name: [r.verdict.value, r.detail] for r in report.results},
        "findings": sorted(f"{f.kind} {f.subject}" for f in report.findings),
    }
