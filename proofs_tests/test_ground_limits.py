"""What grounding refuses, with its codes; how much is nested, counted before it is expanded; and how long grounding may take."""

from __future__ import annotations

import json
import shutil
from itertools import count
from pathlib import Path

import pytest
from conftest import CHECKOUT

from icore_dsl.mistakes import GROUNDING, Row
from icore_kernel import api, cli
from icore_kernel.explore.model import Rules
from icore_kernel.explore.search import explore
from icore_kernel.ground import limits, quantifiers
from icore_kernel.ground.assemble import ground
from icore_kernel.ground.limits import OutOfTime
from icore_kernel.ground.values import GroundingError
from icore_kernel.load import NotGrounded, load_theory, parse_module

SPOKEN = ("G008", "G009", "G010")
"""Codes whose example is no text of a package."""


def load(tmp_path: Path, text: str, **asked: float) -> api.Loaded:
    path = tmp_path / "package.icore"
    path.write_text(text, encoding="utf-8")
    return api.load(path, seconds=asked.get("seconds"))


# ---- codes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", [row for row in GROUNDING if row.code not in SPOKEN], ids=lambda row: row.code)
def test_the_example_of_a_code_provokes_it(row: Row, tmp_path: Path) -> None:
    with pytest.raises(NotGrounded) as refused:
        load(tmp_path, row.example)
    (mistake,) = refused.value.mistakes
    assert mistake.code.text == row.code
    assert mistake.span.file == str(tmp_path / "package.icore") and mistake.message in str(refused.value)


def test_the_other_codes_are_known_by_name() -> None:
    assert [row.code for row in GROUNDING if row.example.startswith("(")] == list(SPOKEN)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("invariant i: nowhere == 1", "nothing is called 'nowhere'"),
        ("invariant i: forall a in 1..3 where a > 1", "forall needs a body"),
        ("invariant i: forall a in 3: a > 1", "not a finite set"),
        ("update u(p: int) by environment { }", "int is not a finite sort"),
        ("update u(p: set of 1..3) by environment { }", "a set is no element"),
        ("invariant i: count(a in 1..3: a > 1) == 2", "not a number: False"),
        ("define d = 3\nupdate u by environment { issue d }", "not a declared element"),
    ],
)
def test_what_the_checker_should_have_refused_is_told_with_its_place(text: str, said: str) -> None:
    """Without the checker, which refuses each of them."""
    module = parse_module(f"package U\n{text}\n", "unchecked.icore")
    with pytest.raises(GroundingError) as refused:
        ground(module, load_theory(), {}, {})
    wrong = refused.value
    assert (wrong.code.text, wrong.message) == ("G008", said)
    assert wrong.place is not None and wrong.place.file == "unchecked.icore" and wrong.place.line == text.count("\n") + 2


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("set y(n).v := 1", "no member y(4)"),
        ("emit r(n) { v = 1 }", "no member r(4)"),
        ("consume r(n)", "no member r(4)"),
        ("issue c(n)", "no member c(4)"),
        ("revoke c(n)", "no member c(4)"),
    ],
)
def test_a_statement_about_a_member_that_there_is_not_is_refused(statement: str, said: str, tmp_path: Path) -> None:
    families = "input y(i: 1..3) { v: 0..2 = 0 }\nartifact r(i: 1..3) { v: 0..2 }\nagents { ana }\n"
    families += "certificate c(i: 1..3) { issuer environment claims terminal(accept) }\n"
    text = f"package M\n{families}update u(n: 1..LAST) by environment {{ {statement} }}\n"
    assert len(load(tmp_path, text.replace("LAST", "3")).system.updates) == 3
    with pytest.raises(NotGrounded) as refused:
        load(tmp_path, text.replace("LAST", "4"))
    (mistake,) = refused.value.mistakes
    assert (mistake.code.text, mistake.message, mistake.span.line) == ("G005", said, 6)


def test_a_theory_that_asks_for_other_words_is_told_so(tmp_path: Path) -> None:
    theory = tmp_path / "theory"
    shutil.copytree(CHECKOUT / "spec", theory)
    builtins = theory / "0-builtins.icore"
    builtins.write_text(builtins.read_text(encoding="utf-8") + '\nprimitive weather: bool "rain"\n', encoding="utf-8")
    with pytest.raises(NotGrounded) as refused:
        api.load(CHECKOUT / "examples" / "code_change.icore", theory=theory)
    assert refused.value.mistakes[0].code.text == "G009" and "does not supply: weather" in str(refused.value)


def test_a_long_chain_of_definitions_has_a_code(tmp_path: Path) -> None:
    chain = [f"define f{i} = f{i + 1}" for i in range(9_999)]
    with pytest.raises(NotGrounded) as refused:
        load(tmp_path, "\n".join(["package D", "input x { n: 0..3 = 0 }", *chain, "define f9999 = x.n", "invariant i: f0 <= 3"]))
    assert refused.value.mistakes[0].code.text == "G010"


def test_text_and_json_say_code_place_and_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "package.icore"
    path.write_text("package A\ninput x { at: 0..1000000 = 0 }\n", encoding="utf-8")
    assert cli.run(["check", str(path)]) == 2
    said = "0..1000000 has 1,000,001 values: a range may have at most 1,000,000"
    shown = f"{path}:2:15: error G001: {said}\n  input x {{ at: 0..1000000 = 0 }}\n                ^^^^^^^^^^\n\n{path}: 1 mistake\n"
    assert capsys.readouterr().err == shown
    assert cli.run(["check", "--format", "json", str(path)]) == 2
    record = json.loads(capsys.readouterr().out)
    (mistake,) = record["mistakes"]
    assert (mistake["code"], mistake["message"], mistake["span"]["line"], record["exit_status"]) == ("G001", said, 2, 2)


def test_a_start_outside_its_values_is_refused(tmp_path: Path) -> None:
    table = "package A\nenum S { p, q }\ndefine f(s: S) = table { p: 3 q: 5 } at (s, s)\ninput x { at: {2, 3} = f(WHICH) }\n"
    written = "update u by environment { set x.at := 2 }\n"
    for text in (table, table + written):
        assert load(tmp_path, text.replace("WHICH", "p")).system.counts["declarations"] >= 3
        with pytest.raises(NotGrounded, match=r"x\.at starts as 5, which is not one of its values"):
            load(tmp_path, text.replace("WHICH", "q"))


# ---- what is nested ----------------------------------------------------------------------------------------------------

BASE = """package N
input x { at: 0..9 = 0 }
obligation type T {}
obligations { t[1..4]: T }
relation next(T, T)
next = t[i] -> t[i + 1] for i in 1..3
update up by environment { when x.at < 9 set x.at := x.at + 1 }
"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("invariant i: forall a in 1..3: forall b in 1..4: a * b + 1 > x.at or x.at < 9", None),
        ("invariant i: forall a in 1..3: forall b in 1..5: a * b + 1 > x.at or x.at < 9", "3 x 5 = 15 instances"),
        ("invariant i: forall a in 1..3, b in 1..5: a * b + 1 > x.at or x.at < 9", "3 x 5 = 15 instances"),
        ("invariant i: count(a in 1..3, b in 1..2, c in 1..3 where a + b + c > x.at) >= 0", "3 x 2 x 3 = 18 instances"),
        ("invariant i: max(a in 1..7: sum(b in 1..2: a * b + x.at)) < 90", "7 x 2 = 14 instances"),
        ("invariant i: {a + b for a in 1..5, b in 1..3 where a + b > x.at} == {}", "5 x 3 = 15 instances"),
        ("invariant i: forall a in 1..3: x.at < 9 and (exists b in 1..2: forall c in 1..3: b + c > x.at)", "3 x 2 x 3 = 18 instances"),
        ("invariant i: (forall a in 1..12: a + 9 > x.at) and (forall b in 1..12: b + 9 > x.at)", None),
        ("invariant i: forall v in T: forall w in T: status(v) == status(w) or x.at < 9", "4 x 4 = 16 instances"),
        ("invariant i: forall a in 1..5: forall b in 1..a: a * b + 1 > x.at or x.at < 9", "5 x 3 = 15 instances"),
        ("update u by environment { for a in 1..3 { for b in 1..5 where a == b { set x.at := a } } }", "3 x 5 = 15 instances"),
        # The parameters of an update count as what is around it: it is grounded for each of their values.
        ("update u(i: 1..3) by environment { when exists b in 1..4: b + i > x.at set x.at := i }", None),
        ("update u(i: 1..3, j: 1..2) by environment { when exists b in 1..3: b + i > x.at set x.at := j }", "3 x 2 x 3 = 18 instances"),
        ("update u(i: 1..3) by environment { set x.at := count(b in 1..2, c in 1..3 where b + c > x.at) }", "3 x 2 x 3 = 18 instances"),
        ("update u(i: 1..3) by environment { for b in 1..5 { set x.at := 1 } }", "3 x 5 = 15 instances"),
        ("update u(i: 1..3) by environment { for b in 1..5 where b == i { set x.at := b } }", "3 x 5 = 15 instances"),
        ("update u(m: T) by environment { when forall b in T: status(b) == status(m) set x.at := 1 }", "4 x 4 = 16 instances"),
        ("update u(i: 1..3) by environment { set x.at := 1 fault f { requires exists b in 1..5: b > x.at } }", "3 x 5 = 15 instances"),
        ("define f(a: 1..3) = exists b in 1..4: a + b > x.at\nupdate u(i: 1..3, j: 1..4) by environment { when f(i) set x.at := j }", None),
        # What a definition has inside counts as often as it is evaluated: once with each argument.
        ("define f(a: 1..3) = exists b in 1..5: a + b > x.at\ninvariant i: forall a in 1..3: f(a)", "3 x 5 = 15 instances"),
        ("define f = exists b in 1..12: b > x.at\ninvariant i: forall a in 1..12: f or a > x.at", None),
        ("define f(v: bool) = exists b in 1..6: (b > x.at) == v\ninvariant i: forall a in 1..12: f(a > 3)", None),
        ("define f(a: int) = exists b in 1..6: a + b > x.at\ninvariant i: forall a in 1..3: f(a mod 2)", "3 x 6 = 18 instances"),
    ],
)
def test_nested_quantifiers_are_counted_before_they_are_expanded(
    text: str, said: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MOST_INSTANCES", 12)
    monkeypatch.setattr(quantifiers, "MOST_INSTANCES", 12)
    if said is None:
        load(tmp_path, BASE + text)
        return
    with pytest.raises(NotGrounded) as refused:
        load(tmp_path, BASE + text)
    (mistake,) = refused.value.mistakes
    assert (mistake.code.text, mistake.message) == ("G002", f"{said} of what is nested here: at most 12 are expanded")
    # The place is that of the binder with which it is too much.
    line = (BASE + text).splitlines()[mistake.span.line - 1]
    assert line[mistake.span.column - 1] in "abcw" and mistake.span.line > BASE.count("\n")


def test_what_a_relation_leaves_is_counted_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From each of the four a relation leads to one other at most: what is looked at is 4 x 1, and not 4 x 4."""
    monkeypatch.setattr(quantifiers, "MOST_INSTANCES", 4)
    text = "invariant i: forall a in T: exists b in T where next(a, b): status(b) == open or status(a) == open"
    assert load(tmp_path, BASE + text).system.properties[0].name == "i"
    with pytest.raises(NotGrounded, match="4 x 4 = 16 instances"):
        load(tmp_path, BASE + text.replace("where next(a, b)", "where a != b"))
    text = "update u(a: T) by environment { when exists b in T where next(a, b): status(b) == open set x.at := 1 }"
    assert load(tmp_path, BASE + text).system.counts["occurrences"] == 1 + 3  # the last of the four has none after it
    with pytest.raises(NotGrounded, match="4 x 4 = 16 instances"):
        load(tmp_path, BASE + text.replace("where next(a, b)", "where a != b"))


def test_the_limit_is_that_of_all_pairs_of_obligations() -> None:
    assert limits.MOST_INSTANCES == limits.MOST_OBLIGATIONS**2


# ---- time --------------------------------------------------------------------------------------------------------------

WIDE = """package W
input x(i: 1..300) { at: 0..9 = 0 }
update u(i: 1..40, j: 1..40) by environment { for k in 1..300 { set x(k).at := (x(k).at + i * j) mod 9 } }
"""


def test_grounding_ends_where_its_time_is_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that goes on by a second whenever it is looked at."""
    seconds = count()
    looks: list[int] = []

    def clock() -> float:
        looks.append(next(seconds))
        return float(looks[-1])

    monkeypatch.setattr(limits, "monotonic", clock)
    with pytest.raises(OutOfTime):
        load(tmp_path, WIDE, seconds=100)
    assert looks[-1] == 100


def test_what_is_nested_too_far_is_refused_before_the_time_is_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same clock: the 480,000 instances would take far more looks at it than a hundred."""
    monkeypatch.setattr(limits, "monotonic", map(float, count()).__next__)
    monkeypatch.setattr(quantifiers, "MOST_INSTANCES", 479_999)
    with pytest.raises(NotGrounded, match="40 x 40 x 300 = 480,000 instances"):
        load(tmp_path, WIDE, seconds=100)


def test_what_is_asked_later_has_all_the_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(limits, "monotonic", lambda: now[0])
    path = CHECKOUT / "examples" / "code_change.icore"
    loaded = api.load(path, seconds=1)
    now[0] = 5.0
    assert loaded.grounded is not None
    assert loaded.grounded.tables() is not None
    with pytest.raises(OutOfTime):
        monkeypatch.setattr(limits, "monotonic", iter((0.0, *(2.0 for _ in range(10)))).__next__)
        api.load(path, seconds=1)


def test_a_check_whose_grounding_is_not_finished_is_unknown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "wide.icore"
    path.write_text(WIDE, encoding="utf-8")
    fine = tmp_path / "fine.icore"
    fine.write_text(
        "package F\ninput x { at: 0..3 = 0 }\nupdate u by environment { set x.at := 1 }\nreachable one: x.at == 1\n", encoding="utf-8"
    )
    assert cli.run(["check", "--timeout", "0.00001", str(path)]) == 3
    out = capsys.readouterr().out
    assert "  grounding         unknown   not finished (timeout 1e-05 s): nothing was searched" in out
    assert "vacuity           unknown" in out and out.splitlines()[-1].startswith("unknown · ")
    assert cli.run(["check", "--timeout", "0.00001", "--format", "json", str(path), str(fine)]) == 3
    records = json.loads(capsys.readouterr().out)
    assert [(r["verdict"], r["exit_status"], r["results"][0]["name"], r["space"]["stopped"]) for r in records] == [
        ("unknown", 3, "grounding", "timeout 1e-05 s")
    ] * 2
    assert cli.run(["check", "--timeout", "600", str(fine)]) == 0


def test_the_time_of_loading_is_part_of_the_timeout() -> None:
    system = api.load(CHECKOUT / "examples" / "code_change.icore").system
    assert explore(system, rules=Rules(timeout=50.0, spent=50.0)).stopped == "timeout 50 s"
    assert explore(system, rules=Rules(timeout=5000.0, spent=50.0)).stopped is None


@pytest.mark.parametrize(
    "command",
    [
        ("explore",),
        ("explore", "--simulate", "2"),
        ("explore", "--trace-to", "true"),
        ("stable",),
        ("prove",),
        ("whatif", "--revoke", "c"),
    ],
    ids=" ".join,
)
def test_other_commands_that_have_a_timeout_keep_to_it(
    command: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "wide.icore"
    path.write_text(WIDE, encoding="utf-8")
    name, *options = command
    assert cli.run([name, "--timeout", "0.00001", *options, str(path)]) == 3
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", f"{path}: unknown: its grounding was not finished before the timeout\n")
    assert cli.run([name, "--timeout", "0.00001", "--format", "json", *options, str(path)]) == 3
    record = json.loads(capsys.readouterr().out)
    assert (record["verdict"], record["exit_status"], record["mistakes"]) == ("unknown", 3, [])
    assert record["schema"].startswith("icore.")
