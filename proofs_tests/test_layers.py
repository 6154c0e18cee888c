"""Imports point one way, and each library is imported where the design says (design 6, principles 14 and 15)."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import CHECKOUT

SOURCES = sorted([*(CHECKOUT / "icore_kernel").rglob("*.py"), *(CHECKOUT / "dsl").rglob("*.py")])

# A layer is a module or a folder of icore_kernel; it may import itself and what stands here. `icore_dsl` is a layer too.
_ENGINES = {"terms", "meaning", "system", "explore", "rewriting", "prove", "reduce", "verdict", "icore_dsl"}
_ANSWERS = {"check", "load", "record", "runs", "runs_io", "report", "stepping"}
MAY_IMPORT: dict[str, set[str]] = {
    "icore_dsl": set(),
    "terms": set(),
    "version": set(),
    "near": set(),
    "theory_files": set(),
    "meaning": {"terms"},
    "system": {"terms", "icore_dsl"},
    "verdict": {"icore_dsl"},
    "explore": {"terms", "meaning", "system"},
    "prove": {"terms", "meaning", "system", "explore", "verdict", "near"},
    "export": {"terms", "meaning", "system"},
    "reduce": {"terms", "meaning", "system", "explore", "icore_dsl"},
    "rewriting": {"terms", "meaning", "system", "explore", "verdict"},
    "ground": {"terms", "system", "icore_dsl", "audit"},
    "audit": _ENGINES | {"check", "ground", "load", "record", "version", "near"},
    "record": {"near"},
    "hosts": {"audit", "load", "meaning", "record", "system", "terms", "version"},
    "load": {"terms", "system", "icore_dsl", "ground", "theory_files", "near"},
    "runs": {"system", "verdict", "explore"},
    "runs_io": _ENGINES | {"runs"},
    "stepping": _ENGINES | {"check", "load", "near", "runs", "runs_io"},
    "check": _ENGINES | {"load", "runs", "near"},
    "graphs": _ENGINES | {"load", "ground"},
    "report": {"explore", "system", "icore_dsl", "record", "runs_io", "stepping", "verdict", "version"},
    "api": _ENGINES | {"load", "check", "audit", "record"},
    "cli": _ENGINES | _ANSWERS | {"export", "api", "audit", "graphs", "hosts", "version"},
    "__init__": set(),
    "__main__": {"cli"},
}

ONLY_IN: dict[str, tuple[str, ...]] = {
    "z3": ("icore_kernel/meaning/smt.py", "icore_kernel/prove/"),
    "numpy": ("icore_kernel/meaning/vector.py", "icore_kernel/explore/"),
    "lark": ("dsl/icore_dsl/parse.py",),
    "click": ("icore_kernel/cli",),
    "rich": ("icore_kernel/report/",),
    "networkx": ("icore_kernel/graphs.py", "icore_kernel/record/graphs.py"),
    "sqlite3": ("icore_kernel/record/sqlite.py",),
    "cryptography": ("icore_kernel/record/seal.py",),
    "psycopg": ("icore_kernel/record/postgres.py",),
}

SLOW = ("z3", "numpy", "lark", "networkx", "rich", "msgspec", "sqlite3", "cryptography", "psycopg")


def imported(source: str) -> set[str]:
    """Full names of all modules that a source imports, wherever in it: `from a import b` gives a and a.b."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                found |= {alias.name for alias in names}
            case ast.ImportFrom(module=str(module), level=0, names=names):
                found |= {module, *(f"{module}.{alias.name}" for alias in names)}
            case ast.ImportFrom():
                found.add("a relative import")
    return found


def layer_of(path: Path) -> str:
    relative = path.relative_to(CHECKOUT)
    if relative.parts[0] == "dsl":
        return "icore_dsl"
    name = Path(relative.parts[1]).stem
    return "cli" if name.startswith("cli") else name


def layers_in(modules: set[str]) -> set[str]:
    found = {"icore_dsl" for module in modules if module.split(".")[0] == "icore_dsl"}
    for module in modules:
        parts = module.split(".")
        if parts[0] == "icore_kernel" and len(parts) > 1:
            found.add("cli" if parts[1].startswith("cli") else parts[1])
    return found


def test_imports_are_found_wherever_they_stand() -> None:
    source = """
import numpy as np
if x:
    from icore_kernel import api
def f():
    from icore_kernel.meaning.smt import encode
from . import y
"""
    modules = imported(source)
    assert {"numpy", "icore_kernel.api", "icore_kernel.meaning.smt", "a relative import"} <= modules
    assert layers_in(modules) == {"api", "meaning"}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(CHECKOUT)))
def test_imports_point_one_way(path: Path) -> None:
    layer = layer_of(path)
    assert layer in MAY_IMPORT, f"{layer} is new: say in MAY_IMPORT what it may import"
    modules = imported(path.read_text(encoding="utf-8"))
    assert "a relative import" not in modules
    wrong = layers_in(modules) - MAY_IMPORT[layer] - {layer}
    assert not wrong, f"{layer} may not import {sorted(wrong)}"


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(CHECKOUT)))
def test_libraries_are_imported_only_where_they_belong(path: Path) -> None:
    relative = path.relative_to(CHECKOUT).as_posix()
    for library in {module.split(".")[0] for module in imported(path.read_text(encoding="utf-8"))} & set(ONLY_IN):
        assert relative.startswith(ONLY_IN[library]), f"{library} may be imported only in {ONLY_IN[library]}"


def test_the_three_meanings_do_not_import_each_other() -> None:
    meanings = {"scalar", "vector", "smt"}
    for name in meanings:
        modules = imported((CHECKOUT / "icore_kernel" / "meaning" / f"{name}.py").read_text(encoding="utf-8"))
        others = {f"icore_kernel.meaning.{other}" for other in meanings - {name}}
        assert any(module.startswith("icore_kernel.terms") for module in modules)
        assert not modules & others


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(CHECKOUT)))
def test_files_stay_short_enough_to_read(path: Path) -> None:
    lines = len(path.read_text(encoding="utf-8").splitlines())
    decisions = CHECKOUT / "spec" / "decisions.md"
    reasoned = decisions.exists() and f"`{path.relative_to(CHECKOUT).as_posix()}`" in decisions.read_text(encoding="utf-8")
    assert lines <= 600 or reasoned, "a file above 600 lines needs a reason in spec/decisions.md, or is better split"


def modules_after(code: str) -> set[str]:
    """Top-level modules in a fresh interpreter after `code`."""
    script = f"{code}\nimport sys\nprint(*sorted({{name.split('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=CHECKOUT, check=True)
    return set(done.stdout.splitlines()[-1].split())


def test_the_command_line_starts_without_the_slow_libraries() -> None:
    found = modules_after("import icore_kernel.cli")
    assert "click" in found
    assert not found & set(SLOW)
    assert "numpy" in modules_after("import numpy"), "the way of looking must be able to find one"


def test_help_imports_none_of_the_slow_libraries() -> None:
    code = "from icore_kernel.cli import run\nassert run(['--help']) == 0\nassert run(['check', '--help']) == 0"
    assert not modules_after(code) & set(SLOW)


def test_plain_text_is_written_without_rich() -> None:
    code = "import sys\nfrom icore_kernel.report import paint, text\npaint.write(text.report_lines({}), sys.stdout)"
    report = "__import__('icore_kernel.verdict').verdict.Report('a.icore', 'A', '1.0', ())"
    assert "rich" not in modules_after(code.format(report))


def test_formatting_needs_neither_solver_nor_arrays(tmp_path: Path) -> None:
    path = tmp_path / "a.icore"
    path.write_text('language 1\npackage A "1.0"\n', encoding="utf-8")
    code = f"from icore_kernel.cli import run\nassert run(['fmt', {str(path)!r}]) == 0"
    assert not modules_after(code) & {"z3", "numpy", "networkx", "rich"}
