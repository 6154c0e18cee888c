"""The grammar by which editors colour files: of the words of the language, up to date, and right on what is written in the checkout."""

from __future__ import annotations

import importlib.util
import json
import plistlib
import re
from collections.abc import Iterator
from types import ModuleType

import pytest
from conftest import CHECKOUT

from icore_dsl.parse import load_tables, parse_with
from icore_dsl.recover import Parser
from icore_kernel.version import VERSION

EDITORS = CHECKOUT / "dsl" / "editors"
GRAMMAR = json.loads((EDITORS / "icore.tmLanguage.json").read_text(encoding="utf-8"))
PATTERNS = [(re.compile(pattern["match"]), pattern) for pattern in GRAMMAR["patterns"]]


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("highlighting", CHECKOUT / "dsl" / "highlighting.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def coloured(line: str) -> Iterator[tuple[int, str, str]]:
    """Column, text and scope, as an editor finds them: the leftmost match, of several at one place the pattern that comes first."""
    at = 0
    while True:
        matches = [(found, pattern) for expression, pattern in PATTERNS if (found := expression.search(line, at)) and found.end() > at]
        if not matches:
            return
        found, pattern = min(matches, key=lambda match: match[0].start())
        parts = {0: pattern["name"]} if "name" in pattern else {int(k): v["name"] for k, v in pattern["captures"].items()}
        for group, scope in parts.items():
            words = re.finditer(r"\S+", found[group]) if group else [re.match(r".*", found[0], re.DOTALL)]
            for word in words:
                assert word is not None
                lead = len(word[0]) - len(word[0].lstrip())
                yield found.start(group) + word.start() + lead, word[0].strip(), scope.removesuffix(".icore")
        at = found.end()


def test_it_is_what_the_script_writes(script: ModuleType) -> None:
    files = script.files()
    assert {name: (EDITORS / name).read_text(encoding="utf-8") for name in files} == files, "run dsl/highlighting.py"
    assert plistlib.loads(files["icore.tmLanguage"].encode()) == GRAMMAR


def test_every_word_of_the_grammar_is_coloured_in_exactly_one_way(script: ModuleType) -> None:
    words = {word for word in load_tables().words if word.isalpha()}
    assert {"certificate", "forall", "withhold", "implies", "none"} <= words
    classes = script.classes()
    assert sorted(word for own in classes.values() for word in own) == sorted(words)
    for scope, own in classes.items():
        patterns = [pattern["match"] for pattern in GRAMMAR["patterns"] if pattern.get("name") == f"{scope}.icore"]
        for word in own:
            assert any(re.search(rf"[:|]{word}[|)]", pattern) for pattern in patterns)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("# when x", [("# when x", "comment.line.number-sign")]),
        ('package Grid(n: 1..3) "1.0"  # a grid', [
            ("package", "storage.type"), ("Grid", "entity.name"), ("1", "constant.numeric"), ("..", "keyword.operator"),
            ("3", "constant.numeric"), ('"1.0"', "string.quoted.double"), ("# a grid", "comment.line.number-sign"),
        ]),
        ("invariant low: a.v + 1.5 < 2 and not b", [
            ("invariant", "storage.type"), ("low", "entity.name"), ("+", "keyword.operator"), ("1.5", "constant.numeric"),
            ("<", "keyword.operator"), ("2", "constant.numeric"), ("and", "keyword.operator.word"), ("not", "keyword.operator.word"),
        ]),
        ("  when (report(unit).passed or value == none)", [
            ("when", "keyword.other"), ("or", "keyword.operator.word"), ("==", "keyword.operator"), ("none", "constant.language"),
        ]),
        ("export define sound(m: Agent) = forall w in Task: count(p in Task) > 0", [
            ("export", "storage.type"), ("define", "storage.type"), ("sound", "entity.name"), ("=", "keyword.operator"),
            ("forall", "keyword.control"), ("in", "keyword.operator.word"), ("count", "support.function"), ("in", "keyword.operator.word"),
            (">", "keyword.operator"), ("0", "constant.numeric"),
        ]),
        ("  emit result(w) { value = true }", [
            ("emit", "keyword.other"), ("=", "keyword.operator"), ("true", "constant.language"),
        ]),
        ("update close operation accept by monitor {", [
            ("update", "storage.type"), ("close", "entity.name"), ("operation", "keyword.other"), ("by", "keyword.other"),
        ]),
        ("allow never_fires `skip` because \"it is rare\"", [
            ("allow", "storage.type"), ("never_fires", "entity.name"), ("`skip`", "string.quoted.other"), ("because", "keyword.other"),
            ('"it is rare"', "string.quoted.double"),
        ]),
    ],
)  # fmt: skip
def test_lines_are_coloured_as_a_person_expects(line: str, expected: list[tuple[str, str]]) -> None:
    assert [(text, scope) for _, text, scope in coloured(line)] == expected


def test_what_the_parser_takes_for_a_word_of_the_language_is_coloured_and_what_it_takes_for_a_name_is_not() -> None:
    """Of the names, one in a thousand at most: which words are reserved depends on more than their line."""
    tables = load_tables()
    reserved = names = wrong = 0
    for path in [*CHECKOUT.glob("examples/*.icore"), *CHECKOUT.glob("spec/*.icore"), CHECKOUT / "icore_kernel" / "starter.icore"]:
        text = path.read_text(encoding="utf-8")
        _, parser = parse_with(Parser, text, str(path))
        assert parser is not None
        found = {(row, column): scope for row, line in enumerate(text.split("\n"), 1) for column, _, scope in coloured(line)}
        for lexeme, kind in zip(parser.lexemes, parser.kinds, strict=True):
            if lexeme.kind != "NAME":
                continue
            span = parser.lines.span(lexeme.start, lexeme.end)
            scope = found.get((span.line, span.column - 1), "")
            is_word = scope.startswith(("storage", "keyword", "constant", "support"))
            if kind == tables.number["NAME"]:
                names += 1
                wrong += is_word
            else:
                reserved += 1
                assert is_word, f"{span}: {lexeme.text}"
    assert reserved > 3000 and names > 7000
    assert wrong * 1000 <= names


def test_the_extension_names_what_is_there() -> None:
    extension = json.loads((EDITORS / "package.json").read_text(encoding="utf-8"))
    (language,), (grammar,) = extension["contributes"]["languages"], extension["contributes"]["grammars"]
    assert extension["version"] == VERSION
    assert language["extensions"] == [f".{ending}" for ending in GRAMMAR["fileTypes"]]
    assert grammar["scopeName"] == GRAMMAR["scopeName"]
    for place in (language["configuration"], grammar["path"]):
        assert json.loads((EDITORS / place).read_text(encoding="utf-8"))
