"""Every example of dsl/README.md is run: whole files, and blocks that are added to the package `Desk`.

A block's last comments say what it comes to: `# => holds, 4 states`, `# => violated NAME`, `# => error`, `# => well-formed`
(checked without mistakes, its verdict is not stated), `# => with n=6: 7 states`; `# file: NAME` keeps a library for the later blocks.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import CHECKOUT

from icore_dsl.parse import grammar_text, parse_text
from icore_kernel import api
from icore_kernel.verdict import Verdict

README = CHECKOUT / "dsl" / "README.md"
WHOLE = ("package", "language", "library", "theory")
COUNT = re.compile(r"([0-9,]+) (states?|steps?)|depth ([0-9]+)")
NEVER_NAMES = ["if", "not", "forall", "exists", "count", "sum", "max", "min", "true", "false", "none"]


@dataclass(frozen=True)
class Example:
    """A block of the reference: its text, the line of the document it begins on, and what it is said to come to."""

    text: str
    line: int
    expected: tuple[str, ...]

    @property
    def whole(self) -> bool:
        first = next(line for line in self.text.splitlines() if line.strip() and not line.startswith("#"))
        return first.split()[0] in WHOLE

    @property
    def kind(self) -> str:
        match = re.search(r"^(package|library|theory)\b", self.text, re.MULTILINE)
        return match[1] if match else "fragment"


def examples(document: str) -> list[Example]:
    found = []
    for match in re.finditer(r"^```icore\n(.*?)^```$", document, re.MULTILINE | re.DOTALL):
        text = match[1]
        expected = tuple(line.removeprefix("# => ").strip() for line in text.splitlines() if line.startswith("# => "))
        found.append(Example(text, document.count("\n", 0, match.start()) + 2, expected))
    return found


DOCUMENT = README.read_text(encoding="utf-8")
EXAMPLES = examples(DOCUMENT)
DESK = next(e for e in EXAMPLES if "package Desk" in e.text)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The libraries of the reference, under the names it gives them."""
    where = tmp_path_factory.mktemp("reference")
    for example in EXAMPLES:
        for name in re.findall(r"^# file: (\S+)$", example.text, re.MULTILINE):
            (where / name).write_text(example.text, encoding="utf-8")
    return where


def outcome(said: str, path: Path) -> None:
    """Compare one `# =>` line with what the check finds."""
    settings = {}
    if said.startswith("with "):
        setting, said = said.removeprefix("with ").split(":", 1)
        settings = dict(part.strip().split("=") for part in setting.split(","))
    if said == "error":
        with pytest.raises(api.InputError):
            api.load(path, settings=settings)
        return
    loaded = api.load(path, settings=settings)
    if said == "well-formed":
        return
    words = [word.strip() for word in said.split(",")]
    report = api.check(loaded)
    bad = [r.name for r in report.results if r.verdict is Verdict.VIOLATED]
    unknown = [r.name for r in report.results if r.verdict is Verdict.UNKNOWN]
    if words[0] == "holds":
        assert (bad, unknown) == ([], [])
    elif words[0].startswith("violated "):
        assert bad == [words[0].removeprefix("violated ")]
    found = api.explore(loaded)
    for word in words:
        match = COUNT.fullmatch(word)
        if match is None:
            assert word == words[0] and word.split()[0] in ("holds", "violated"), word
        elif match[3]:
            assert found.depth == int(match[3])
        else:
            count = found.states if match[2].startswith("state") else found.steps
            assert count == int(match[1].replace(",", "")), word


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: f"line {e.line}")
def test_an_example_does_what_it_says(example: Example, folder: Path) -> None:
    if example.kind in ("library", "theory"):
        parsed = parse_text(example.text, "example")
        assert parsed.module is not None and not parsed.mistakes
        if example.kind == "theory":
            from icore_dsl.check import check_theory

            assert check_theory((parsed.module,)) == ()
        return
    assert example.expected, "every package and fragment of the reference states what it comes to"
    text = example.text if example.whole else DESK.text + "\n" + example.text
    path = folder / f"line_{example.line}.icore"
    path.write_text(text, encoding="utf-8")
    for said in example.expected:
        outcome(said, path)


def test_every_word_of_the_grammar_stands_in_an_example() -> None:
    grammar = grammar_text()
    words = set(re.findall(r'"([a-z]+)"', grammar))
    shown = {word for e in EXAMPLES for word in re.findall(r"[a-z_]+", re.sub(r"#.*|\"[^\"\n]*\"", "", e.text))}
    assert len(words) > 130
    assert sorted(words - shown) == []


def test_every_mark_of_the_grammar_stands_in_an_example() -> None:
    shown = "\n".join(re.sub(r"#.*", "", e.text) for e in EXAMPLES)
    for mark in (":=", "->", "~>", "==", "!=", "<=", ">=", "+", "*", "/", "..", "[", "{", "`", '"', "needs+(", "*("):
        assert mark in shown, mark


def test_what_is_said_of_names_is_so() -> None:
    (said,) = re.findall(r"Never a name of a value are: `([a-z ]+)`", DOCUMENT)
    assert said.split() == NEVER_NAMES
    words = set(re.findall(r'"([a-z]+)"', grammar_text()))
    for word in sorted(words | set(NEVER_NAMES)):
        text = f"package P\nenum E {{ {word}, other_word }}\ninput x {{ e: E = {word} }}\ninvariant i: x.e == {word}\n"
        parsed = parse_text(text, "p")
        if word in ("true", "false", "none"):
            continue  # they are read, as the values that they are
        assert bool(parsed.mistakes) == (word in NEVER_NAMES), word


def test_the_limits_said_are_those_of_the_program() -> None:
    from icore_dsl.source import MAX_BYTES, MAX_DEPTH
    from icore_kernel.ground.fixpoint import PLACEHOLDERS
    from icore_kernel.ground.limits import MOST_INSTANCES, MOST_MEMBERS, MOST_NUMBERS, MOST_OBLIGATIONS, MOST_OCCURRENCES
    from icore_kernel.ground.values import MOST_CASES

    limits = DOCUMENT[DOCUMENT.index("## Limits") : DOCUMENT.index("## Defaults")]
    numbers = [int(n.replace(",", "")) for n in re.findall(r"\| ([0-9,]+)", limits)]
    assert numbers == [
        MAX_BYTES, MAX_DEPTH, MOST_OBLIGATIONS, MOST_OCCURRENCES, MOST_MEMBERS, MOST_NUMBERS, MOST_INSTANCES, PLACEHOLDERS, MOST_CASES,
    ]  # fmt: skip


def test_the_kinds_of_findings_said_are_those_of_the_program() -> None:
    from icore_dsl.check_properties import FINDINGS

    (said,) = re.findall(r"Kinds: `(vacuous[a-z_\s]+)`", DOCUMENT)
    assert sorted(said.split()) == sorted(FINDINGS)


@pytest.mark.parametrize("change", ["crlf", "tabs", "mark", "comment", "no newline"])
def test_what_is_accepted_quietly_is_accepted(change: str) -> None:
    text = DESK.text
    changed = {
        "crlf": text.replace("\n", "\r\n"),
        "tabs": text.replace("  ", "\t"),
        "mark": "\ufeff" + text,
        "comment": text + "# the end",
        "no newline": text.rstrip("\n"),
    }[change]
    parsed = parse_text(changed, "desk")
    assert parsed.module is not None and not parsed.mistakes


def test_examples_are_found_with_their_expectations() -> None:
    document = "words\n```icore\npackage A\n# => holds, 1 state\n```\n```\nnot one\n```\n```icore\ninput x\n```\n"
    first, second = examples(document)
    assert (first.whole, first.kind, first.expected, first.line) == (True, "package", ("holds, 1 state",), 3)
    assert (second.whole, second.kind, second.expected) == (False, "fragment", ())
    assert len(EXAMPLES) >= 25
