"""Changes to a copy of the theory's text: a declaration removed, negated, renamed, two bodies swapped, one added.

A declaration starts at the margin and goes on as long as its lines are indented: so spec/ is written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

CLAUSES = ("feasibility", "legality", "soundness", "accept", "reject", "stuck", "outcome", "hypothesis", "conclusion", "measure", "finding")
DECLARATION = re.compile(
    rf'(?P<export>export )?(?:(?:define|least) (?P<name>\w+)|(?P<kind>{"|".join(CLAUSES)}) "(?P<label>[^"]*)")(?P<head>[^\n]*)'
)


@dataclass(frozen=True)
class Declaration:
    """A definition or clause of the theory: where it stands, and what it is called (a definition's name, a clause's label)."""

    file: Path
    start: int
    end: int
    name: str
    kind: str
    """`definition`, or the clause's kind."""
    exported: bool
    comment: str
    """The comment above it and at the end of its lines."""


def declarations(theory: Path) -> Iterator[Declaration]:
    for file in sorted(theory.glob("*.icore")):
        text = file.read_text(encoding="utf-8")
        lines = text.splitlines(keepends=True)
        offset, above = 0, ""
        for number, line in enumerate(lines):
            found = DECLARATION.match(line)
            if found:
                inside = [line]
                for later in lines[number + 1 :]:
                    if not later.startswith(" "):
                        break
                    inside.append(later)
                trailing = " ".join(piece.partition("#")[2].strip() for piece in inside)
                name, kind = (found["name"], "definition") if found["name"] else (found["label"], found["kind"])
                length = len("".join(inside))
                yield Declaration(file, offset, offset + length, name, kind, bool(found["export"]), f"{above} {trailing}".strip())
            elif line.startswith("#"):
                above = f"{above} {line[1:].strip()}".strip() if number and lines[number - 1].startswith("#") else line[1:].strip()
            elif not line.strip():
                above = ""
            offset += len(line)


def find(theory: Path, name: str) -> Declaration:
    """The declaration with a name or label; the ones that share a label (`A.6 Acc(1)`) do not exist in spec/."""
    found = [d for d in declarations(theory) if d.name == name]
    assert len(found) == 1, f"{len(found)} declarations are called {name}"
    return found[0]


def edit(theory: Path, name: str, change: Callable[[str], str]) -> None:
    """Replace the text of one declaration. The change must change something."""
    decl = find(theory, name)
    text = decl.file.read_text(encoding="utf-8")
    before = text[decl.start : decl.end]
    after = change(before)
    assert after != before, f"nothing changed in {name}"
    decl.file.write_text(text[: decl.start] + after + text[decl.end :], encoding="utf-8")


def remove(theory: Path, name: str) -> None:
    edit(theory, name, lambda text: "\n")


def parts(declaration: str) -> tuple[str, str]:
    """The head of a clause, up to its colon, and its body."""
    found = re.match(r'((?:\w+ )"[^"]*"(?: before| after)?(?: ?\([^)]*\))?:)(.*)', declaration, re.DOTALL)
    assert found, declaration
    return found[1], "\n".join(line.partition("#")[0].rstrip() for line in found[2].splitlines())


def negate(theory: Path, name: str) -> None:
    edit(theory, name, lambda text: "{} not ({})\n".format(*parts(text)))


def replace_body(theory: Path, name: str, body: str) -> None:
    edit(theory, name, lambda text: f"{parts(text)[0]} {body}\n")


def swap(theory: Path, first: str, second: str) -> None:
    """Two clauses with the same parameters exchange their bodies."""
    bodies = {}
    for name in (first, second):
        decl = find(theory, name)
        bodies[name] = parts(decl.file.read_text(encoding="utf-8")[decl.start : decl.end])[1].strip()
    replace_body(theory, first, bodies[second])
    replace_body(theory, second, bodies[first])


def rename_everything(theory: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Every definition and every clause label that packages cannot name gets another name everywhere. Returns both tables.

    Packages name exported definitions, and the labels of findings (`allow uncovered_root …`).
    """
    found = list(declarations(theory))
    names = {d.name: f"notion_{i}" for i, d in enumerate(found) if d.kind == "definition" and not d.exported}
    labels = {d.name: f"clause_{i}" for i, d in enumerate(found) if d.kind not in {"definition", "finding"}}
    for file in sorted(theory.glob("*.icore")):
        text = file.read_text(encoding="utf-8")
        for kind in set(CLAUSES) - {"finding"}:
            text = re.sub(rf'^{kind} "([^"]*)"', lambda m: f'{m[0].partition(chr(34))[0]}"{labels[m[1]]}"', text, flags=re.MULTILINE)
        code = re.compile(r'"[^"]*"|#[^\n]*|\b(?:' + "|".join(names) + r")\b")
        text = code.sub(lambda m: names.get(m[0], m[0]), text)
        file.write_text(text, encoding="utf-8")
    return names, labels
