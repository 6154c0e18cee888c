"""Good packages with random mistakes in them, through all of `icore check`: wrong input is told or a verdict is given; nothing breaks.

A third of the mutants get past the parser and a tenth past the checker of names and sorts, so that grounding, search and solver
meet strange packages too. 5,000 in the nightly setting, the first fifty in CI. Which mutant comes of a number is fixed, so that a
failure can be repeated.
"""

from __future__ import annotations

import os
import re
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest
from conftest import CHECKOUT
from mutations import mutated, parts

from icore_dsl.parse import parse_text
from icore_kernel import api

COUNT = 5_000 if os.environ.get("ICORE_TESTS") == "nightly" else 50
BATCH = 50
CASES = CHECKOUT / "proofs_tests" / "cases"
BASES = (
    *sorted(path for path in (CHECKOUT / "examples").glob("*.icore") if not path.stem.endswith("_broken")),
    CHECKOUT / "icore_kernel" / "starter.icore",
    CASES / "good" / "constructs.icore",
    *sorted((CASES / "honesty").glob("*.icore")),
    *sorted((CASES / "semantics").glob("*.icore")),
    *sorted((CASES / "counts").glob("*.icore")),
)
RULES = api.Rules(max_states=500, timeout=5)
"""Verdicts on mutants are of no interest, and a changed size may make a state space of any size."""

INTERCHANGEABLE = (("==", "!="), ("<", "<=", ">", ">="), ("+", "-", "*"), ("and", "or", "implies", "iff"), ("forall", "exists"))


def sort_of(word: str) -> str | None:
    """Words of one sort can often stand for each other: the text can be read afterwards, and means something else."""
    for words in INTERCHANGEABLE:
        if word in words:
            return words[0]
    return "number" if re.fullmatch(r"\d[\d.]*", word) else "name" if re.fullmatch(r"[^\W\d]\w*", word) else None


def exchanged(text: str, seed: int) -> str:
    """The text with one or two words put for others of their sort."""
    random = Random(seed)
    pieces = parts(text)
    of_sort: dict[str, list[int]] = {}
    for place, (_, word) in enumerate(pieces):
        sort = sort_of(word)
        if sort is not None:
            of_sort.setdefault(sort, []).append(place)
    words = [word for _, word in pieces]
    for _ in range(random.randint(1, 2)):
        places = of_sort[random.choice(sorted(of_sort))]
        words[random.choice(places)] = pieces[random.choice(places)][1]
    return "".join(space + word for (space, _), word in zip(pieces, words, strict=True))


def mutant(seed: int) -> str:
    text = BASES[seed % len(BASES)].read_text(encoding="utf-8")
    return mutated(text, seed) if Random(seed).random() < 0.3 else exchanged(text, seed)


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """TimeoutError after so many seconds of this process's own time, where the platform can tell it."""
    if sys.platform == "win32":
        yield
        return

    def over(*_: object) -> None:
        raise TimeoutError(f"more than {seconds} s")

    before = signal.signal(signal.SIGPROF, over)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def assert_refused(wrong: api.InputError) -> None:
    assert wrong.mistakes
    for mistake in wrong.mistakes:
        assert mistake.message and mistake.span.line >= 1 and mistake.span.column >= 1


def come_to(path: Path, text: str) -> str:
    """How far a text comes: `text`, `tree` (past the parser), `system` (past the checker, and there it has a verdict)."""
    path.write_text(text, encoding="utf-8")
    parsed = parse_text(text, str(path)).module is not None
    try:
        loaded = api.load(path)
    except api.InputError as wrong:
        assert_refused(wrong)
        return "tree" if parsed else "text"
    except api.UsageError as refused:  # told only when the package is grounded, with its place in front
        assert str(refused)
        return "tree"
    assert parsed
    report = api.check(loaded, rules=RULES)
    assert report.results and report.exit_status() in (0, 1, 3)
    return "system"


@pytest.mark.parametrize("first", range(0, COUNT, BATCH))
def test_a_mutant_is_refused_with_its_place_or_gets_a_verdict(first: int, tmp_path: Path) -> None:
    stages: Counter[str] = Counter()
    for seed in range(first, first + BATCH):
        path = tmp_path / f"{BASES[seed % len(BASES)].stem}_{seed}.icore"  # a failure names it
        with at_most(10):
            stages[come_to(path, mutant(seed))] += 1
    assert stages["tree"] + stages["system"] >= BATCH / 3, stages
    assert stages["system"] >= BATCH / 10, stages


RUBBISH = ("\n}", "\n)", '\n"', "\n?", "\n;", "\npackage Again", "\nrubbish", "\n3", "\n\0", "\nenum", "\nupdate u {", "\ninvariant x:")


@pytest.mark.parametrize("rubbish", RUBBISH, ids=repr)
def test_rubbish_behind_a_good_file_is_never_a_success(rubbish: str, tmp_path: Path) -> None:
    path = tmp_path / "trailing.icore"
    for base in BASES[::4]:
        path.write_text(base.read_text(encoding="utf-8") + rubbish, encoding="utf-8")
        with pytest.raises(api.InputError) as refused:
            api.load(path)
        assert_refused(refused.value)


def test_ten_thousand_declarations_and_five_thousand_brackets_through_the_whole_check(tmp_path: Path) -> None:
    path = tmp_path / "large.icore"
    start = "language 1\npackage Large\ninput x { at: 0..3 = 0 }\nupdate up by environment { when x.at < 3 set x.at := x.at + 1 }\n"
    many = "".join(f"define d{i} = x.at <= {i % 4}\n" for i in range(10_000))
    path.write_text(f"{start}{many}invariant last: d9998 implies d9999\n", encoding="utf-8")
    with at_most(10):
        loaded = api.load(path)
        assert api.check(loaded).verdict is api.Verdict.HOLDS
    for opening, closing in (("(", ")"), ("not (", ")"), ("{", "}"), ("max(1, ", ")")):
        path.write_text(f"{start}invariant deep: {opening * 5_000}x.at == 3{closing * 5_000}\n", encoding="utf-8")
        with at_most(10), pytest.raises(api.InputError) as refused:
            api.load(path)
        assert "P004" in [str(mistake.code) for mistake in refused.value.mistakes]
