"""What the parser refuses: every code with its place and its words, several mistakes in one pass, mutated texts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from language_texts import LIBRARY, PACKAGE, THEORY
from mutations import mutated

from icore_dsl import mistakes, source
from icore_dsl.mistakes import MAX_MISTAKES, PARSING, LanguageError, explain, render, table
from icore_dsl.parse import parse_file, parse_text

NIGHTLY = os.environ.get("ICORE_TESTS") == "nightly"
# ---- every code, with its place and its words --------------------------------------------------------------------

PROVOKED = [
    ("P002", "package A\n# x\0", 2, 4, "a NUL byte"),
    ("P004", "package A\ninvariant x: " + "not " * 200 + "a", 2, 14, "nested more than 200 deep"),
    ("P004", "package A\ninvariant x: " + "(" * 201 + "a" + ")" * 201, 2, 214, "nested more than 200 deep"),
    ("P004", "package A\ninvariant x: " + "a implies " * 200 + "a", 2, 14, "nested more than 200 deep"),
    ("P004", "package A\nupdate u { " + "for x in S { " * 201 + "}" * 202, 2, 11 + 13 * 200 - 1, "nested more than 200 deep"),
    ("P004", "package A\ninput x { a: " + "set of " * 200 + "bool }", 2, 14, "nested more than 200 deep"),
    ("P005", "enum S { a }", 1, 1, "a file starts with `package NAME`"),
    ("P005", "", 1, 1, "a file starts with `package NAME`"),
    ("P005", "# nothing\n", 1, 1, "a file starts with `package NAME`"),
    ("P005", "language 1\nenum S { a }", 2, 1, "a file starts with `package NAME`"),
    ("P006", "package A\nenum S { a }\npackage B\n", 3, 1, "`package` again: a file has one header"),
    ("P006", "package A\ninvariant x: a\ntheory \"2\"\n", 3, 1, "`theory` again: a file has one header"),
    ("P007", "package A\nenum S { a ? }", 2, 12, "the character `?` is not part of the language"),
    ("P007", "package A\ninvariant x:\u00a0a", 2, 13, "the character U+00A0 (no-break space) is not part of the language"),
    ("P007", "package A\ninvariant x: a == 3x", 2, 19, "`3x` is neither a number nor a name"),
    ("P008", 'package A\nallow dead because "x\nenum S { a }', 2, 20, 'this text has no closing `"`'),
    ("P009", "package A\nenum { a }", 2, 6, "expected a name for the enumeration, found `{`"),
    ("P009", "package A\nupdate u {\n  set x = 3\n}", 3, 9, "expected `:=` after the field to set, found `=`"),
    ("P009", "package A\ninvariant x: a = b", 2, 16, "expected an operator or a declaration, found `=`"),
    ("P009", "package A\ninvariant x: (a b)", 2, 17, "expected `,`, `)` or an operator, found `b`"),
    ("P009", "package A\ninvariant x: a b\n", 2, 16, "`b` does not continue what stands before it"),
    ("P009", "package A\ninput x { a }", 2, 13, "expected `:`, found `}`"),
    ("P009", "package A\ninvariant x: if a b", 2, 19, "expected an operator or `then` after the condition, found `b`"),
    ("P009", 'package A\nclock r "0"', 2, 9, 'expected a value, found the text "0"'),
    ("P009", "package A\nenum S { a, b\nagents { }", 3, 1, "expected `,` or `}`, found `agents`"),
    ("P010", "package A\nenum S {\n  a", 3, 4, "the file ends, but `{` of line 2 is not closed"),
    ("P010", "package A\nenum", 2, 5, "the file ends where a name for the enumeration is expected"),
    ("P011", "package A\ninvarient x: a", 2, 1, "`invarient`: did you mean `invariant`?"),
    ("P011", "package A\nagents {\n  atribute skills: bool\n}", 3, 3, "`atribute`: did you mean `attribute`?"),
    ("P011", "package A\nupdate u {\n  emmit log(w)\n}", 3, 3, "`emmit`: did you mean `emit`?"),
    ("P011", "package A\nobligations { a: T strats ready }", 2, 20, "`strats`: did you mean `starts`?"),
    ("P011", "pakage A\nenum S { a }", 1, 1, "`pakage`: did you mean `package`?"),
    ("P012", "package A\n}\n", 2, 1, "`}` closes nothing"),
    ("P012", "package A\nenum S { a } }\n", 2, 14, "`}` closes nothing"),
    ("P012", "package A\nrubbish", 2, 1, "`rubbish` starts no declaration"),
    ("P012", "package A 3", 1, 11, "`3` starts no declaration"),
    ("P013", "package A\ninvariant x: (a, b) and c", 2, 14, "a pair stands only after a closure"),
    ("P013", "package A\ninvariant x: 2 * (a, b)", 2, 18, "a pair stands only after a closure"),
    ("P014", "package A\nupdate u { set 3 := 4 }", 2, 16, "`set` needs a field or a name here, not a computation"),
    ("P014", "package A\nupdate u { revoke c { f = 1 } }", 2, 19, "`revoke` takes no values in braces"),
    ("P015", "language 2\npackage A", 1, 10, "language 2 is not known"),
    ("P016", "package A\ncertificate c { issuer any\n  issuer monitor }", 3, 3, "`issuer` is written twice here"),
    ("P016", "package A\nobligations { a: T latent latent }", 2, 27, "`latent` is written twice here"),
]


@pytest.mark.parametrize(("code", "text", "line", "column", "message"), PROVOKED)
def test_each_code_has_its_place_and_its_words(code: str, text: str, line: int, column: int, message: str) -> None:
    parsed = parse_text(text, "t.icore")
    assert parsed.module is None
    found = [(str(mistake.code), mistake.span.line, mistake.span.column, mistake.message) for mistake in parsed.mistakes]
    assert found == [(code, line, column, message)]


def test_bytes_that_are_no_text_are_refused_with_their_line() -> None:
    _, found = source.decode("package A\n# é ".encode() + b"\xff\n", "t.icore")
    (one,) = found
    assert (str(one.code), one.span.line, one.span.column, one.message) == ("P001", 2, 5, "byte 15 (0xff) is not UTF-8")


def test_large_files_are_refused_before_they_are_parsed(tmp_path: Path) -> None:
    path = tmp_path / "large.icore"
    path.write_bytes(b"package A" + b" " * (source.MAX_BYTES - 9))
    assert parse_file(path).mistakes == ()
    path.write_bytes(b"package A" + b" " * (source.MAX_BYTES - 8))
    assert [str(one.code) for one in parse_file(path).mistakes] == ["P003"]
    assert [str(one.code) for one in parse_text("package A\n#" + "é" * (source.MAX_BYTES // 2), "t").mistakes] == ["P003"]
    with pytest.raises(LanguageError) as raised:
        source.read_source(path)
    assert [str(one.code) for one in raised.value.mistakes] == ["P003"]


@pytest.mark.parametrize("row", [row for row in PARSING if row.code not in ("P001", "P003")], ids=lambda row: row.code)
def test_the_example_of_each_row_provokes_it(row: mistakes.Row) -> None:
    assert row.code in [str(mistake.code) for mistake in parse_text(row.example, "t.icore").mistakes]


def test_the_table_has_each_code_once_and_explains_it() -> None:
    assert len(table()) == len({row.code for row in table().values()})
    assert all(row.title and row.explanation and row.example for row in table().values())
    row = explain("p009")
    assert row is not None and row.code == "P009"
    assert explain("P999") is None


def test_hints_say_what_would_mend_it() -> None:
    def hint(text: str) -> str:
        (found,) = parse_text("package A\n" + text, "t.icore").mistakes
        return found.hint

    assert hint("invariant x: a = b") == "write `==` to compare"
    assert hint("invariant x: a -> b") == "write `implies` in formulas"
    assert hint("invariant x: a < b < c") == "join comparisons with `and`: `a < b and b < c`"
    assert hint("update u { set x = 3 }") == "write `:=` to set a field"
    assert hint("enum S { a\nagents { }") == "is `{` of line 2 closed?"
    assert hint("certificate c { premises d(p) for p in S, r(w) }").startswith("a part repeated with `for` comes last")
    assert hint("invariant x: a ∧ b") == "write `and`"


def test_mistakes_are_shown_with_their_line_and_carets() -> None:
    text = "package A\nupdate u {\n\tset  level = 3\n}\n"
    (found,) = parse_text(text, "file.icore").mistakes
    assert render(found, text) == (
        "file.icore:3:13: error P009: expected `:=` after the field to set, found `=`\n"
        "  \tset  level = 3\n"
        "  \t           ^\n"
        "  write `:=` to set a field"
    )
    text = "package A\ninvarient x: a"
    (found,) = parse_text(text, "f").mistakes
    assert render(found, text) == "f:2:1: error P011: `invarient`: did you mean `invariant`?\n  invarient x: a\n  ^^^^^^^^^"
    text = "package A\ninvariant x: " + "a + " * 100 + "?" + " + a" * 100
    (found,) = parse_text(text, "f").mistakes
    _, line, carets, _ = [*render(found, text).split("\n"), ""]
    assert len(line) <= 162 and line[carets.index("^")] == "?"


# ---- several mistakes in one pass --------------------------------------------------------------------------------


def test_parsing_goes_on_at_the_next_declaration_and_statement() -> None:
    text = """\
package A
enum { a }
enum Good { a, b }
update u(w T) { }
needs = a -> b
update v(w: T) {
  when a = b
  set x := { 1, 2
  issue done(w)
}
certificate c {
  claimz a
  valid when
  issuer any
}
agents {
  ana [ ]
  bo { }
}
invariant x: (a
invariant y: b
  c
obligations {
  a T
  b: T
}
clock r 0..7
"""
    parsed = parse_text(text, "t.icore")
    assert [(mistake.span.line, str(mistake.code)) for mistake in parsed.mistakes] == [
        (2, "P009"), (4, "P009"), (7, "P009"), (9, "P009"), (12, "P011"), (14, "P009"), (17, "P009"), (21, "P009"), (22, "P012"),
        (24, "P009"),
    ]  # fmt: skip
    assert parsed.module is None and parsed.partial is not None
    names = [type(decl).__name__ for decl in parsed.partial.decls]
    assert names[0] == "EnumDecl" and "FactsDecl" in names and names[-1] == "ClockDecl"


def test_a_file_full_of_mistakes_is_read_until_fifty() -> None:
    parsed = parse_text("package A\n" + "invariant x: (a\n" * 500, "t.icore")
    assert len(parsed.mistakes) == 50
    assert len(parse_text("package A\n" + "?$" * 100_000, "t.icore").mistakes) == 50
    assert len(parse_text("package A\n" + "invariant x: (a, b)\n" * 500, "t.icore").mistakes) == 50


# ---- mutations ---------------------------------------------------------------------------------------------------


@settings(max_examples=5_000 if NIGHTLY else 300)
@given(st.sampled_from((PACKAGE, THEORY, LIBRARY)), st.integers(0, 2**32))
def test_mutated_texts_give_a_module_or_mistakes(text: str, seed: int) -> None:
    changed = mutated(text, seed)
    parsed = parse_text(changed, "t.icore")
    assert (parsed.module is None) == bool(parsed.mistakes)
    assert len(parsed.mistakes) <= MAX_MISTAKES
    for mistake in parsed.mistakes:
        assert 0 <= mistake.span.start <= mistake.span.end <= len(changed)
        assert str(mistake.code) in table() and mistake.message
        assert render(mistake, changed).startswith(f"t.icore:{mistake.span.line}:{mistake.span.column}: error P")


@given(st.sampled_from((PACKAGE, THEORY, LIBRARY)), st.text(min_size=1, max_size=30))
def test_nothing_is_accepted_behind_a_complete_package(text: str, rubbish: str) -> None:
    parsed = parse_text(f"{text}\n;{rubbish}", "t.icore")
    assert parsed.module is None and parsed.mistakes


@given(st.binary(max_size=60))
def test_any_bytes_give_a_module_or_mistakes(content: bytes) -> None:
    text, found = source.decode(b"package A\n" + content, "t.icore")
    parsed = parse_text(text, "t.icore")
    assert found or parsed.mistakes or parsed.module is not None
