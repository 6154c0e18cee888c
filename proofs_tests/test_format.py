"""The layout of `icore fmt`: what it looks like, that it is stable, that it changes nothing but white space."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from language_texts import LIBRARY, PACKAGE, THEORY
from mutations import mutated, respaced

from icore_dsl.format import format_text
from icore_dsl.lexemes import cut
from icore_dsl.mistakes import LanguageError
from icore_dsl.parse import parse_text
from icore_dsl.source import Lines, without_mark
from icore_dsl.syntax import equal_modulo_spans

NIGHTLY = os.environ.get("ICORE_TESTS") == "nightly"


def words(text: str) -> list[str]:
    """The lexemes of a text, and its comments."""
    text = without_mark(text)
    found = cut(text, Lines(text, ""))
    return [lexeme.text for lexeme in found.lexemes] + [comment.text for comment in found.comments]


def assert_formats_well(text: str) -> None:
    """The layout keeps lexemes, comments, their kinds and the trees, and formatting again changes nothing."""
    formatted = format_text(text, "t.icore")
    assert words(formatted) == words(text)
    before, after = parse_text(text, "t.icore").module, parse_text(formatted, "t.icore").module
    assert before is not None and after is not None and equal_modulo_spans(before, after)
    assert format_text(formatted, "t.icore") == formatted
    assert formatted.endswith("\n") and not formatted.endswith("\n\n") and "\n\n\n" not in formatted
    assert not any(line != line.rstrip() or "\t" in line for line in formatted.split("\n"))


@pytest.mark.parametrize("text", [PACKAGE, THEORY, LIBRARY], ids=["package", "theory", "library"])
def test_every_construct_is_kept(text: str) -> None:
    assert_formats_well(text)


def test_every_file_of_the_checkout_is_kept(checkout: Path) -> None:
    files = [*checkout.glob("spec/*.icore"), *checkout.glob("examples/*.icore")]
    assert files
    for path in files:
        text = path.read_text(encoding="utf-8")
        if not parse_text(text, str(path)).mistakes:
            assert_formats_well(text)


FORMATTED = [
    ("spaces", "package  A\nenum S{a,b ,c}", "package A\nenum S { a, b, c }\n"),
    (
        "operators",
        "package A\ninvariant x:(a+b)*-c<=x . y and d in 1 ..3 and not( f (x , y) in{1,2} ) or needs * (p,w)",
        "package A\ninvariant x: (a + b) * -c <= x.y and d in 1..3 and not (f(x, y) in {1, 2}) or needs*(p, w)\n",
    ),
    ("blank lines", "\n\npackage A\n\n\n\nenum S { a }\n\n", "package A\n\nenum S { a }\n"),
    (
        "indentation",
        "package A\nupdate u(w: T)\nby m {\n      when a\n   and b\nfor w in S {\nset x := 1,\n y := 2\n}\n}",
        "package A\nupdate u(w: T)\n  by m {\n  when a\n    and b\n  for w in S {\n    set x := 1,\n      y := 2\n  }\n}\n",
    ),
    (
        "comments",
        "package A   # trailing\n#own\nupdate u {\n# first\nwhen a# t\n      # last\n}\n# end",
        "package A  # trailing\n#own\nupdate u {\n  # first\n  when a  # t\n  # last\n}\n# end\n",
    ),
    (
        "columns",
        "package A\nupdate u {\n when      a   # one\n requires  bc  # two\n set x := 1\n}",
        "package A\nupdate u {\n  when     a   # one\n  requires bc  # two\n  set x := 1\n}\n",
    ),
    (
        "columns go with what grows",
        "package A\nagents {\n  ana   { skills={build,test} }\n  bo    { skills = {} }\n}",
        "package A\nagents {\n  ana { skills = {build, test} }\n  bo  { skills = {} }\n}\n",
    ),
    (
        "a table",
        "package A\nvalue(m: Agent) = table {\n         build    test\n  ana:   0.5      1\n  bobby: 0.25     0\n} at (m, s)",
        "package A\nvalue(m: Agent) = table {\n         build test\n  ana:   0.5   1\n  bobby: 0.25  0\n} at (m, s)\n",
    ),
    (
        "clauses below each other",
        "package A\ncertificate c  {  issuer any\n                  claims a   valid when b }",
        "package A\ncertificate c { issuer any\n                claims a  valid when b }\n",
    ),
    (
        "what belongs to a fault",
        "package A\nupdate u {\nfault a:\nset x := 1\nset y := 2\nfault b: set x := 2\n}",
        "package A\nupdate u {\n  fault a:\n    set x := 1\n    set y := 2\n  fault b: set x := 2\n}\n",
    ),
    ("a brace on its own line", "package A\nupdate u\n  {\n when a\n  }", "package A\nupdate u\n{\n  when a\n}\n"),
    ("line ends", "\ufeffpackage A\r\nenum S {\r\n\ta }\r\n", "package A\nenum S {\n  a }\n"),
    ("braces", "package A\ninput x { }\nagents {\n}\n", "package A\ninput x {}\nagents {\n}\n"),
]


@pytest.mark.parametrize(("text", "formatted"), [case[1:] for case in FORMATTED], ids=[case[0] for case in FORMATTED])
def test_layout_is_as_shown(text: str, formatted: str) -> None:
    assert format_text(text, "t.icore") == formatted
    assert_formats_well(text)


def test_texts_with_mistakes_are_not_formatted() -> None:
    text = "package A\nenum S { a\n# kept"
    with pytest.raises(LanguageError) as raised:
        format_text(text, "t.icore")
    assert [str(mistake.code) for mistake in raised.value.mistakes] == ["P010"]
    assert raised.value.text == text


@settings(max_examples=2_000 if NIGHTLY else 150)
@given(st.sampled_from((PACKAGE, THEORY, LIBRARY)), st.integers(0, 2**32))
def test_any_white_space_becomes_the_same_kind_of_layout(text: str, seed: int) -> None:
    assert_formats_well(respaced(text, seed))


@settings(max_examples=5_000 if NIGHTLY else 200)
@given(st.sampled_from((PACKAGE, THEORY, LIBRARY)), st.integers(0, 2**32))
def test_mutated_texts_are_kept_or_refused(text: str, seed: int) -> None:
    changed = mutated(text, seed)
    if parse_text(changed, "t.icore").mistakes:
        with pytest.raises(LanguageError):
            format_text(changed, "t.icore")
    else:
        assert_formats_well(changed)
