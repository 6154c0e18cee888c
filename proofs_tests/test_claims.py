"""The map of spec/README.md has no hole: paper item -> clause or definition -> a test that fails without it."""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from theory_lab import SPEC, theory_copy
from theory_texts import declarations, edit, find, negate, remove

from icore_kernel.load import InputError, load_theory

CHECKOUT = Path(__file__).resolve().parent.parent
MAP = CHECKOUT / "spec" / "README.md"

PAPER = {
    *(f"definition {n}" for n in range(1, 15)),
    *(f"definition 6({n})" for n in ("i", "ii", "iii", "iv")),
    *(f"definition 12({n})" for n in ("i", "ii", "iii", "iv", "v")),
    *(f"proposition {n}" for n in range(1, 6)),
    *(f"theorem {n}" for n in range(1, 4)),
    *(f"lemma {n}" for n in range(1, 6)),
    "corollary 1",
    *(f"A.{n}" for n in range(1, 11)),
    *(f"A.4({n})" for n in range(1, 10)),
    *(f"A.6 Acc({n})" for n in range(1, 6)),
    *(f"A.6 Rej({n})" for n in range(1, 5)),
    *(f"algorithm line {n}" for n in range(1, 46)),
    "section 2.2",
    "section 3.3",
    "section 4.1",
}


@dataclass(frozen=True)
class Row:
    item: str
    names: tuple[str, ...]
    """What is quoted in the second column: definitions, clause labels, primitives."""
    tests: tuple[str, ...]


def table(heading: str) -> list[list[str]]:
    """The cells of the first table under a heading, without its head."""
    section = MAP.read_text(encoding="utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line.strip("|").split(" | ") for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip().replace("&#124;", "|") for cell in cells] for cells in lines[2:]]


def rows() -> list[Row]:
    quoted = re.compile(r"`([^`]+)`")
    return [Row(item, tuple(quoted.findall(names)), tuple(quoted.findall(tests))) for item, names, tests in table("The map")]


def known() -> set[str]:
    return {d.name for d in declarations(SPEC)}


def primitives() -> dict[str, str]:
    """primitive word -> its explanation."""
    text = (SPEC / "0-builtins.icore").read_text(encoding="utf-8")
    return dict(re.findall(r'^(?:export )?primitive (\w+)[^"\n]*"([^"\n]*)"', text, flags=re.MULTILINE))


# ---- no hole ------------------------------------------------------------------------------------------------------------
def test_every_item_of_the_paper_is_mapped() -> None:
    assert {row.item for row in rows()} == PAPER


def test_every_definition_and_clause_is_in_the_map_and_nothing_else_is() -> None:
    named = {name for row in rows() for name in row.names}
    assert known() - named == set()
    assert named - known() - primitives().keys() == set()


def test_every_test_of_the_map_exists() -> None:
    for row in rows():
        assert row.tests, row.item
        for test in row.tests:
            file, _, name = test.partition("::")
            tree = ast.parse((CHECKOUT / file).read_text(encoding="utf-8"))
            assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, test


def test_every_declaration_carries_a_label_of_the_paper() -> None:
    label = re.compile(r"A\.\d|[Dd]efinitions? \d|[Ss]ection \d|Proposition \d")
    for decl in declarations(SPEC):
        assert label.search(f"{decl.name} {decl.comment}"), f"{decl.file.name}: {decl.name}: {decl.comment}"


def test_every_primitive_is_explained() -> None:
    """Definition 1: the state is what the primitives of G, Q and Pi can tell. Each says what it means, and each is used."""
    words = primitives()
    assert len(words) > 50 and all(meaning.strip() for meaning in words.values())
    text = "".join(f.read_text(encoding="utf-8") for f in sorted(SPEC.glob("[1-9]*.icore")))
    formulas = re.sub(r'"[^"]*"|#[^\n]*', "", text)
    for_packages_only = {"pending", "accept", "reject", "stuck"}
    assert {w for w in words if not re.search(rf"\b{w}\b", formulas)} == for_packages_only - {"accept", "reject", "stuck"}


# ---- decisions ----------------------------------------------------------------------------------------------------------
def test_every_decision_says_all_five_things_and_shows_a_package() -> None:
    text = (CHECKOUT / "spec" / "decisions.md").read_text(encoding="utf-8")
    sections = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    assert [int(section.partition(".")[0]) for section in sections] == list(range(1, len(sections) + 1))
    for section in sections:
        parts = re.findall(r"^- \*\*([A-Z][a-z ]+):\*\* \S", section, flags=re.MULTILINE)
        assert parts == ["The paper", "Chosen", "Because", "Otherwise", "Shown by"], section.partition("\n")[0]
        shown = re.findall(r"`((?:proofs_tests|examples)/[^`]+)`", section.partition("**Shown by:**")[2])
        assert shown and all((CHECKOUT / path).is_file() for path in shown), section.partition("\n")[0]


def test_a_decision_that_is_referred_to_exists() -> None:
    decided = set(re.findall(r"^## (\d+)\.", (CHECKOUT / "spec" / "decisions.md").read_text(encoding="utf-8"), flags=re.MULTILINE))
    sources = [*SPEC.glob("*.icore"), *(CHECKOUT / "icore_kernel").rglob("*.py"), *(CHECKOUT / "proofs_tests").glob("test_theory_*.py")]
    referred = {n for file in sources for n in re.findall(r"\bdecisions? (\d+)", file.read_text(encoding="utf-8"))}
    assert len(referred) >= 11 and referred <= decided


# ---- a clause or definition is removed ----------------------------------------------------------------------------------
def held() -> dict[str, list[str]]:
    """definition or clause -> the tests on the lines that have it alone: those that a removal must fail."""
    found: dict[str, list[str]] = {}
    for row in rows():
        if len(row.names) == 1 and row.names[0] in known():
            found.setdefault(row.names[0], []).extend(row.tests)
    return found


def function(test: str) -> Callable[..., None]:
    file, _, name = test.partition("::")
    folder = str((CHECKOUT / file).parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    return getattr(importlib.import_module(Path(file).stem), name)  # type: ignore[no-any-return]


def takes_a_theory(test: str) -> bool:
    return list(inspect.signature(function(test)).parameters) == ["theory"]


def fails(test: str, theory: Path, or_input_error: bool) -> bool:
    try:
        function(test)(theory)
    except AssertionError:
        return True
    except InputError:
        return or_input_error
    return False


@pytest.mark.parametrize("name", sorted(known()))
def test_without_it_the_test_of_the_map_fails(name: str, tmp_path: Path) -> None:
    """For a definition it counts that another one needs it; for a clause what the test decides must differ."""
    tests = [test for test in held().get(name, []) if takes_a_theory(test)]
    assert tests, f"no line of the map has {name} alone with a test over a theory"
    copy = theory_copy(SPEC, tmp_path / "spec")
    kind = find(copy, name).kind
    remove(copy, name)
    assert any(fails(test, copy, kind == "definition") for test in tests)


def constants() -> list[tuple[str, str]]:
    """Each definition with the two constants of its sort."""
    found = []
    for decl in declarations(SPEC):
        if decl.kind == "definition":
            head = decl.file.read_text(encoding="utf-8")[decl.start : decl.end].partition("=")[0]
            found.extend((decl.name, constant) for constant in (("0", "1") if ": rational" in head else ("true", "false")))
    return found


nightly = pytest.mark.skipif(os.environ.get("ICORE_TESTS") != "nightly", reason="a minute or two: in the nightly setting")


@nightly
@pytest.mark.parametrize(("name", "constant"), constants())
def test_a_definition_made_constant_fails_a_test_of_the_map(name: str, constant: str, tmp_path: Path) -> None:
    copy = theory_copy(SPEC, tmp_path / "spec")
    head = re.compile(r"(?:export )?(?:define|least) \w+(?:\([^)]*\))?: (?:bool|rational) =")
    edit(copy, name, lambda text: f"{head.match(text)[0]} {constant}\n")  # type: ignore[index]
    load_theory(copy)
    assert any(fails(test, copy, False) for test in held()[name] if takes_a_theory(test))


NOT_NEGATED = {"definition", "measure", "outcome"}
"""Definitions are made constant, a measure is a number, and an outcome is watched for a change of its truth, either way."""


@nightly
@pytest.mark.parametrize("name", sorted(d.name for d in declarations(SPEC) if d.kind not in NOT_NEGATED))
def test_a_negated_clause_fails_a_test_of_the_map(name: str, tmp_path: Path) -> None:
    copy = theory_copy(SPEC, tmp_path / "spec")
    negate(copy, name)
    load_theory(copy)
    assert any(fails(test, copy, False) for test in held()[name] if takes_a_theory(test))
