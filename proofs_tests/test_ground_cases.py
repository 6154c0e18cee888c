"""Hand-computed semantics: the packages of cases/semantics, each with its derivation and expectations in its leading comments.

# expect: states 4, steps 6, depth 2, initial 1        counts of the audited exploration, each optional
# expect with n=1: states 2, steps 2                   the same with a setting
# expect: refused forge by definition 6(ii) 16         refusals of a schema, by the clause that is named first
# expect: passed silent 2                              occurrences of a fault that nothing refuses
# expect: violated legality, dead ends                 results that are violated; every other one must hold or be proved
# expect: unknown legality                            results that are not decided: illegal steps, all from a start that is infeasible
# expect: finding never_refused silent                 a finding that is due
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import CHECKOUT

from icore_kernel import api
from icore_kernel.check.plan import make_plan
from icore_kernel.explore.model import Exploration
from icore_kernel.explore.search import explore
from icore_kernel.verdict import Verdict

FOLDER = CHECKOUT / "proofs_tests" / "cases" / "semantics"
CASES = sorted(path for path in FOLDER.glob("*.icore") if "package" in path.read_text(encoding="utf-8"))
LINE = re.compile(r"^# expect(?: with (?P<with>[^:]*))?: (?P<what>.*)$", re.MULTILINE)
COUNT = re.compile(r"(states|steps|depth|initial|stutters) ([0-9]+)")


def lines(text: str) -> list[tuple[dict[str, str], str]]:
    """The expectations of a case: settings and words."""
    found = []
    for match in LINE.finditer(text):
        settings = dict(item.split("=") for item in (match["with"] or "").replace(" ", "").split(",") if item)
        found.append((settings, match["what"].strip()))
    return found


def counts(exploration: Exploration) -> dict[str, int]:
    return {
        "states": exploration.states,
        "steps": exploration.steps,
        "depth": exploration.depth,
        "initial": exploration.levels[0] if exploration.levels else 0,
        "stutters": exploration.stutters,
    }


@pytest.mark.parametrize("path", CASES, ids=lambda p: p.stem)
def test_counts_and_verdicts_are_those_computed_by_hand(path: Path) -> None:
    expected = lines(path.read_text(encoding="utf-8"))
    assert any(COUNT.search(what) for _, what in expected)
    plain = api.load(path)
    exploration = explore(plain.system, make_plan(plain.system, plain.bank).watchlist)
    other: dict[str, Verdict] = {}
    refused: dict[tuple[str, str], int] = {}
    findings: set[tuple[str, str]] = set()
    for settings, what in expected:
        if what.startswith("violated "):
            other.update((name.strip(), Verdict.VIOLATED) for name in what.removeprefix("violated ").split(","))
        elif what.startswith("unknown "):
            other[what.removeprefix("unknown ")] = Verdict.UNKNOWN
        elif match := re.fullmatch(r"refused (\S+) by (.+) ([0-9]+)", what):
            refused[match[1], match[2]] = int(match[3])
        elif match := re.fullmatch(r"passed (\S+) ([0-9]+)", what):
            assert exploration.passed.get(match[1], 0) == int(match[2])
        elif match := re.fullmatch(r"finding (\S+) (\S+)", what):
            findings.add((match[1], match[2]))
        else:
            wanted = {key: int(number) for key, number in COUNT.findall(what)}
            assert wanted, what
            found = exploration if not settings else explore(api.load(path, settings=settings).system)
            assert {key: counts(found)[key] for key in wanted} == wanted, settings
    if refused:
        assert dict(exploration.refusals) == refused
    report = api.check(plain)
    assert {r.name: r.verdict for r in report.results if r.verdict not in (Verdict.HOLDS, Verdict.PROVED)} == other
    assert findings <= {(f.kind, f.subject) for f in report.findings}


def test_the_cases_are_many_and_the_notation_is_read() -> None:
    assert len(CASES) >= 20
    text = "# expect: states 4, steps 6\n# expect with n=1, m=2: states 2\n# other\n"
    assert lines(text) == [({}, "states 4, steps 6"), ({"n": "1", "m": "2"}, "states 2")]
