"""The check of packages and theories: what is wrong is told, each once and at its place; what is right is let through."""

from __future__ import annotations

import copy
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from icore_dsl.check import check, check_theory
from icore_dsl.check_definitions import components
from icore_dsl.constants import evaluate, shown_value
from icore_dsl.mistakes import DECLARATIONS, GROUNDING, NAMES, SORTS, Mistake, Row, table
from icore_dsl.parse import parse_file, parse_text
from icore_dsl.source import MAX_BYTES, decode
from icore_dsl.syntax import EnumDecl, Module, PropertyDecl

HERE = Path(__file__).parent
WRONG = sorted((HERE / "cases" / "wrong").glob("*.icore"))
GOOD = sorted((HERE / "cases" / "good").glob("*.icore"))
SPEC = sorted((HERE.parent / "spec").glob("*.icore"))


def library(path: str) -> Module:
    """A library of the corpus. Raises OSError when there is none."""
    module = parse_text((HERE / "cases" / "libraries" / path).read_text(encoding="utf-8"), path).module
    assert module is not None
    return module


def read_theory() -> tuple[Module, ...]:
    modules = []
    for path in SPEC:
        parsed = parse_file(path)
        assert parsed.module is not None, [str(mistake) for mistake in parsed.mistakes]
        modules.append(parsed.module)
    return tuple(modules)


@pytest.fixture(scope="module")
def theory() -> tuple[Module, ...]:
    return read_theory()


def mistakes(text: str, file: str, theory: tuple[Module, ...]) -> tuple[Mistake, ...]:
    """All mistakes of a text: the parser's, or those of the check when it can be parsed."""
    parsed = parse_text(text, file)
    if parsed.module is None:
        return parsed.mistakes
    if parsed.module.kind == "theory":
        return check_theory((parsed.module,))
    return check(parsed.module, theory, library)


def shown(mistake: Mistake, file: str) -> str:
    """As it stands in an `.expect` file: `CODE LINE:COL message (hint)`; the file's name before the line when it is another."""
    span = mistake.span
    place = "" if span.file == file else f"{span.file}:"
    hint = f" ({mistake.hint})" if mistake.hint else ""
    return f"{mistake.code} {place}{span.line}:{span.column} {mistake.message}{hint}"


@pytest.mark.parametrize("path", WRONG, ids=lambda path: path.stem)
def test_wrong_file_gets_exactly_the_expected_mistakes(path: Path, theory: tuple[Module, ...]) -> None:
    expected = path.with_suffix(".expect").read_text(encoding="utf-8").splitlines()
    found = [shown(mistake, path.name) for mistake in mistakes(path.read_text(encoding="utf-8"), path.name, theory)]
    assert found == expected


def test_corpus_is_large_and_each_file_has_its_expectation() -> None:
    assert len(WRONG) >= 80
    assert {path.stem for path in WRONG} == {path.stem for path in (HERE / "cases" / "wrong").glob("*.expect")}


def test_every_code_of_the_table_is_provoked() -> None:
    provoked = {line.split()[0] for path in WRONG for line in path.with_suffix(".expect").read_text(encoding="utf-8").splitlines()}
    bytes_that_are_no_text = parse_file_of(b"package A \xff")
    too_large = parse_text("#" * (MAX_BYTES + 1), "large.icore").mistakes
    provoked |= {mistake.code.text for mistake in (*bytes_that_are_no_text, *too_large)}
    # Those of grounding are provoked in test_ground_limits.py.
    assert provoked == set(table()) - {row.code for row in GROUNDING}


def parse_file_of(content: bytes) -> tuple[Mistake, ...]:
    return decode(content, "bytes.icore")[1]


@pytest.mark.parametrize("row", NAMES + SORTS + DECLARATIONS, ids=lambda row: row.code)
def test_example_of_the_table_provokes_its_code(row: Row, theory: tuple[Module, ...]) -> None:
    assert row.code in [mistake.code.text for mistake in mistakes(row.example, "example.icore", theory)]


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.stem)
def test_good_file_has_no_mistakes(path: Path, theory: tuple[Module, ...]) -> None:
    assert [str(mistake) for mistake in mistakes(path.read_text(encoding="utf-8"), path.name, theory)] == []


def test_the_theory_has_no_mistakes(theory: tuple[Module, ...]) -> None:
    assert [str(mistake) for mistake in check_theory(theory)] == []


def test_spans_cover_exactly_the_offending_words(theory: tuple[Module, ...]) -> None:
    text = "language 1\npackage A\nenum Skill { build }\nobligation type T { static s: Skill }\nobligations { a: T { s = build } }\n"
    text += "invariant x: status(a) == build and a.z == b\n"
    found = mistakes(text, "a.icore", theory)
    assert [(mistake.code.text, text[mistake.span.start : mistake.span.end]) for mistake in found] == [
        ("S004", "status(a) == build"),
        ("R005", "z"),
        ("R001", "b"),
    ]


def test_one_unknown_name_silences_its_consequences(theory: tuple[Module, ...]) -> None:
    text = "language 1\npackage A\ninvariant x: (shp + 1 < 3) and shp.size == true and status(shp) in shp\ninvariant y: 1 and true\n"
    found = mistakes(text, "a.icore", theory)
    assert [(mistake.code.text, mistake.span.line, mistake.span.column) for mistake in found] == [
        ("R001", 3, 15),
        ("R001", 3, 32),
        ("R001", 3, 60),
        ("R001", 3, 68),
        ("S003", 4, 14),
    ]


def test_circles_of_definitions_are_found_among_very_many(theory: tuple[Module, ...]) -> None:
    chain = "".join(f"define f{n}: bool = {f'f{n - 1}' if n else 'true'}\n" for n in range(3000))
    circle = "define a: bool = b and f2999\ndefine b: bool = c or f7\ndefine c: bool = a and b\ndefine d: bool = a\n"
    least = "least p: bool = q or r\nleast q: bool = f3 and not p\nleast r: bool = not f4\n"
    found = mistakes(f"language 1\npackage A\n{chain}{circle}{least}", "a.icore", theory)
    assert [(m.code.text, m.span.line) for m in found if m.code.text.startswith("D")] == [("D017", 3003), ("D018", 3008)]
    assert "defined in terms of itself: a -> b -> c -> a" in next(m.message for m in found if m.code.text == "D017")


def test_components_are_those_that_lie_on_a_circle() -> None:
    found = components({"a": ["b"], "b": ["c", "e"], "c": ["a"], "d": ["a", "d"], "e": [], "f": ["e"]})
    assert set(found) == {"a", "b", "c", "d"}
    assert found["a"] == found["b"] == found["c"] != found["d"]
    long = {str(n): [str(n + 1)] for n in range(20_000)} | {"20000": ["0"]}
    assert len(set(components(long).values())) == 1 and len(components(long)) == 20_001


def test_theory_may_be_small() -> None:
    small = parse_text(
        'theory "t"\nexport primitive status(w: Obligation): Status "s"\nprimitive hidden(w: Obligation): bool "h"\n', "t.icore"
    ).module
    assert small is not None
    text = "language 1\npackage A\nobligation type T { }\nobligations { a: T }\n"
    assert mistakes(text + "invariant x: status(a) == open\n", "a.icore", (small,)) == ()
    codes = [mistake.code.text for mistake in mistakes(text + "invariant x: present(a) and hidden(a)\n", "a.icore", (small,))]
    assert codes == ["R002", "R024"]


def test_libraries_may_be_a_mapping_and_are_checked_where_they_are_written(theory: tuple[Module, ...]) -> None:
    bad = parse_text("language 1\nlibrary Bad\nenum Skill { build }\ndefine f = build and true\n", "bad.icore").module
    package = parse_text('language 1\npackage A\nimport "bad.icore"\ninvariant x: f and test == build\n', "a.icore").module
    assert bad is not None and package is not None
    found = [(str(mistake.span), mistake.code.text) for mistake in check(package, theory, {"bad.icore": bad})]
    assert found == [("a.icore:4:20", "R001"), ("bad.icore:4:12", "S003")]


def test_two_libraries_may_import_the_same_third(theory: tuple[Module, ...]) -> None:
    texts = {
        "base.icore": "language 1\nlibrary Base\nenum Skill { build }\n",
        "left.icore": 'language 1\nlibrary Left\nimport "base.icore"\ndefine l(s: Skill) = s == build\n',
        "right.icore": 'language 1\nlibrary Right\nimport "base.icore"\ndefine r(s: Skill) = s != build\n',
    }
    modules = {name: parse_text(text, name).module for name, text in texts.items()}
    known = {name: module for name, module in modules.items() if module is not None}
    package = parse_text(
        'language 1\npackage A\nimport "left.icore"\nimport "right.icore"\ninvariant x: l(build) or r(build)\n', "a.icore"
    ).module
    assert package is not None
    assert check(package, theory, known) == ()


def test_an_enumeration_without_members_is_told_when_a_tree_has_one(theory: tuple[Module, ...]) -> None:
    package = parse_text("language 1\npackage A\nenum Skill { build }\n", "a.icore").module
    assert package is not None
    enum = package.decls[0]
    assert isinstance(enum, EnumDecl)
    emptied = replace(package, decls=(replace(enum, members=()),))
    assert [mistake.code.text for mistake in check(emptied, theory, {})] == ["D002"]


@pytest.mark.parametrize(
    "path", [path for path in WRONG if path.stem in ("cycle", "outside_view", "unknown_field")], ids=lambda path: path.stem
)
def test_the_check_changes_nothing_and_says_the_same_again(path: Path, theory: tuple[Module, ...]) -> None:
    package = parse_text(path.read_text(encoding="utf-8"), path.name).module
    assert package is not None
    before = copy.deepcopy(package)
    first = check(package, theory, library)
    assert package == before
    assert check(package, theory, library) == first != ()


def test_mistakes_come_from_top_to_bottom(theory: tuple[Module, ...]) -> None:
    for path in WRONG:
        found = mistakes(path.read_text(encoding="utf-8"), path.name, theory)
        own = [mistake.span.start for mistake in found if mistake.span.file == path.name]
        assert own == sorted(own), path.name


PIPELINE = (HERE / "cases" / "good" / "release_pipeline.icore").read_text(encoding="utf-8")
CONSTRUCTS = (HERE / "cases" / "good" / "constructs.icore").read_text(encoding="utf-8")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from([PIPELINE, CONSTRUCTS]), st.data())
def test_a_word_put_for_another_is_told_or_let_through_never_a_crash(text: str, data: st.DataObject) -> None:
    places = [match.span() for match in re.finditer(r"[^\W\d]\w*|[0-9]+", text)]
    words = sorted({text[start:end] for start, end in places})
    for _ in range(data.draw(st.integers(1, 3))):
        start, end = places[data.draw(st.integers(0, len(places) - 1))]
        word = data.draw(st.sampled_from(words))
        text = text[:start] + word[: end - start].ljust(end - start) + text[end:]
    for mistake in mistakes(text, "a.icore", THEORY):
        if mistake.span.file == "a.icore":
            assert 0 <= mistake.span.start <= mistake.span.end <= len(text)
            assert mistake.message and "\n" not in mistake.message


THEORY = read_theory()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("7 div 0 - 2", None),
        ("7 div (0 - 2)", "-4"),
        ("7 mod (0 - 2)", "-1"),
        ("1 / 3 + 1 / 6", "0.5"),
        ("1 / 3", "1/3"),
        ("if 2 in 1..3 then 0.05 else 1", "0.05"),
        ("if 1 == 1 or x then 100 else 0", "100"),
        ("x + 1", None),
    ],
)
def test_constants(text: str, value: str | None) -> None:
    module = parse_text(f"package A\ninvariant x: {text} == 0\n", "a.icore").module
    assert module is not None
    invariant = module.decls[0]
    assert isinstance(invariant, PropertyDecl)
    found = evaluate(getattr(invariant.formula, "left", invariant.formula), {})
    assert (None if found is None else shown_value(found)) == value


def test_numbers_are_shown_as_they_are_written() -> None:
    assert [shown_value(Fraction(*parts)) for parts in ((47, 50), (-1, 8), (3, 1), (2, 7))] == ["0.94", "-0.125", "3", "2/7"]


@pytest.mark.parametrize(
    ("header", "settings", "codes"),
    [
        ("package A(n: 1..9 = 2)", {}, ["R026"]),
        ("package A(n: 1..9 = 2)", {"n": "3"}, []),
        ("package A(n: 1..9)", {}, []),
        ("package A(n: 1..9)", {"n": 2}, ["R026"]),
    ],
)
def test_settings_count_before_defaults(header: str, settings: dict[str, str | int], codes: list[str], theory: tuple[Module, ...]) -> None:
    text = header + "\nobligation type T { }\nobligations { part[i: 1..n]: T }\ninvariant x: status(part[3]) == open\n"
    package = parse_text(text, "a.icore").module
    assert package is not None
    assert [mistake.code.text for mistake in check(package, theory, {}, settings)] == codes


@pytest.mark.parametrize(
    "formula",
    [
        "not " * 190 + "true",
        "max(1, " * 190 + "2" + ")" * 190 + " == 2",
        "".join(f"forall x{i} in T: " for i in range(190)) + "true",
        " and ".join(["true"] * 3_000),
    ],
    ids=["not", "max", "forall", "and"],
)
def test_formulas_as_deep_as_the_parser_allows_are_checked(formula: str, theory: tuple[Module, ...]) -> None:
    before = "package A\nagents { ana { } }\nobligation type T { }\nobligations { a: T }\nupdate u(w: T) by ana { when "
    assert mistakes(f"{before}{formula} }}\n", "a.icore", theory) == ()
    assert [m.code.text for m in mistakes(f"{before}{formula} and ship }}\n", "a.icore", theory)] == ["R001"]
