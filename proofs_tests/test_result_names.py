"""What a report calls its own results, no property and no run is called: each line, and each case of JUnit, has a name of its own."""

from __future__ import annotations

import ast
from pathlib import Path
from xml.etree import ElementTree

import pytest
from conftest import CHECKOUT, Command

from icore_dsl.results import BUILT_IN, STANDING
from icore_kernel.ground.properties import CHECKED

NAMING = {"Result": 0, "Case": 0, "exhaustive": 1, "_clauses": 0, "_illegal": 0}
"""Calls that name a line, and the place of the name among their arguments."""

ALONE = {"input", "verdict"}
"""Cases of JUnit that stand where there are no results."""


def named(source: str) -> set[str]:
    """The names of lines that stand in a source as texts."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        called = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id if isinstance(node.func, ast.Name) else ""
        place = NAMING.get(called)
        if place is not None and len(node.args) > place:
            name = node.args[place]
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                found.add(name.value)
    return found


def test_names_are_found_wherever_they_stand() -> None:
    source = 'def f(self):\n    yield exhaustive(x, "a", "b")\n    return [self._clauses("c", d), Result("e", f), Result(g.name, f)]\n'
    assert named(source) == {"a", "c", "e"}


def test_every_name_that_a_report_gives_is_reserved() -> None:
    sources = [
        *CHECKOUT.glob("icore_kernel/check/*.py"),
        *CHECKOUT.glob("icore_kernel/cli*.py"),
        *CHECKOUT.glob("icore_kernel/report/*.py"),
    ]
    given = {name for path in sources for name in named(path.read_text(encoding="utf-8"))} - ALONE
    assert {"legality", "let through", "start", "vacuity", "grounding", "search"} <= given
    assert given | set(CHECKED) == BUILT_IN


@pytest.mark.parametrize("name", sorted(name for name in BUILT_IN if name.isidentifier()))
@pytest.mark.parametrize("declared", ["invariant {}: c.n < 2", "unreachable {}: c.n == 2", "run {}: inc expect c.n == 1"])
def test_a_name_that_a_report_gives_is_refused(command: Command, tmp_path: Path, name: str, declared: str) -> None:
    path = tmp_path / "a.icore"
    update = "update inc by environment { when c.n == 0 set c.n := 1 }"
    path.write_text(f"package A\ninput c {{ n: 0..1 = 0 }}\n{update}\n  {declared.format(name)}\n", encoding="utf-8")
    status, out, err = command("check", path)
    column = 3 + declared.index("{}")
    assert (status, out) == (2, "")
    assert err.startswith(f"{path}:4:{column}: error R027: `{name}` is a result of its own in reports")


def test_what_can_be_expected_is_among_them() -> None:
    assert set(STANDING) < BUILT_IN and not any(" " in name and name not in CHECKED for name in STANDING)


@pytest.mark.parametrize("name", ["incident_response_broken", "code_change_broken"])
@pytest.mark.parametrize("options", [(), ("--unaudited",)])
def test_no_two_cases_have_one_name(command: Command, name: str, options: tuple[str, ...]) -> None:
    _, out, _ = command("check", "--format", "junit", *options, CHECKOUT / "examples" / f"{name}.icore")
    cases = [str(case.get("name")) for case in ElementTree.fromstring(out.encode()).iter("testcase")]
    assert len(cases) == len(set(cases)) > 5
