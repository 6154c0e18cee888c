"""Formulas in reports are the language: pasted back into the package they are read, and mean there what they meant."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from icore_kernel.check.reasons import reasons_of
from icore_kernel.check.wording import said, sayable
from icore_kernel.explore import judge
from icore_kernel.explore.model import Audited, State
from icore_kernel.load import GOAL, load
from icore_kernel.meaning import scalar
from icore_kernel.stepping import first_state
from icore_kernel.system import Clause, Domain, DomainKind, Field, System
from icore_kernel.terms.node import Term, postorder, variables
from icore_kernel.terms.show import ATOMIC
from icore_kernel.terms.table import Sort
from icore_kernel.terms.term import TermBank
from icore_kernel.verdict import Reason, Run, Verdict

HERE = Path(__file__).parent
EXAMPLES = sorted((HERE.parent / "examples").glob("*.icore"))
AWKWARD = """
package Awkward
enum Colour { red, green, blue }
agents { changing at: Colour = red  ana bo }
input d { n: 0..4 = 0, price: {0.2, 0.3, 0.5} = 0.2, cost: {0.5, 2, 3} = 2, held: set of Colour = {}, by: Agent or none = none }
input e { by: Agent = bo, m: -2..2 = 0, likes: Colour or none = none }
artifact page { good: bool, n: 1..3 }
clock round 0..4
certificate soon { issuer monitor premises d delay 2 rounds }
certificate now { issuer monitor premises d field grade: 1..3 }
update count by environment { when d.n < 4 set d.n := d.n + 1, e.m := (d.n + 3) mod 5 - 2, round := if round < 4 then round + 1 else round }
update price by environment {
  set d.price := if d.price == 0.2 then 0.3 else if d.price == 0.3 then 0.5 else 0.2
  set d.cost := if d.n > 2 then 0.5 else 3
}
update take(m: Agent) by environment { set d.by := m, e.by := if m == ana then bo else ana, d.held := {red, green}, m.at := blue }
update drop by environment { set d.by := none, d.held := {blue}, e.likes := green }
update write by monitor { when not live(page) emit page { good = true, n = 2 } }
update file by monitor { when live(page) consume page }
update start by monitor { issue soon, now { grade = 3 } }
update stop by monitor { when active(now) revoke now }
update replace by monitor { when active(now) supersede now }
"""
AWKWARD_FORMULAS = (
    "active(soon)", "pending(soon)", "not active(soon) and not pending(soon)", "revoked(now)", "superseded(now)",
    "present(page)", "live(page)", "present(page) and not live(page)", "page.good", "now.grade == 3", "round >= 2",
    "d.price in {0.2, 0.5}", "d.price < 0.4", "d.price + d.cost > 2", "d.price * 2 == d.cost - 0.1", "d.cost == 3",
    "red in d.held", "blue not in d.held", "d.held == {red, green}", "d.by == e.by", "d.by != e.by", "d.by == none", "ana.at == bo.at",
    "e.m < 0", "e.m * 2 <= d.n", "not e.m + d.n < 2", "max(e.m, d.n) == 2", "e.likes == ana.at", "e.likes != none", "d.n in 1..3",
    "d.n div 2 == e.m", "count(m in Agent where m.at == blue) >= 1", "(if page.good then d.n else 0) > 1", "d.n == round",
)  # fmt: skip


def leaves(system: System) -> list[Term]:
    """Every comparison and Boolean field below the clauses, guards and properties of a package."""
    formulas = [c.formula for c in (*system.feasibility, *system.soundness, *system.accept, *system.reject, *system.stuck)]
    formulas += [prop.formula for prop in system.properties]
    for update in system.updates:
        formulas += [update.when, update.requires, *(clause.formula for clause in (*update.before, *update.after))]
    return [t for t in postorder(formulas) if t.sort is Sort.BOOL and t.op in ATOMIC]


def read_back(path: Path, folder: Path, texts: list[str]) -> System:
    """The package with a property more for each text."""
    added = "".join(f"\ninvariant said_{place}: {text}" for place, text in enumerate(texts))
    target = folder / path.name
    target.write_text(path.read_text() + added + "\n")
    return load(target).system


def agree(system: System, terms: list[tuple[Term, bool]], read: System, steps: int = 60) -> set[tuple[int, bool]]:
    """Walk both systems by the same updates, and compare every term with what was read of its text. What was seen of each: which values."""
    properties = {p.name: p.formula for p in read.properties}
    by_name = {update.name: update for update in read.updates}
    draw = Random(7)
    seen: set[tuple[int, bool]] = set()
    here, there = first_state(system, TermBank(), {}), first_state(read, TermBank(), {})
    for _ in range(steps):
        for place, (term, wanted) in enumerate(terms):
            value = bool(scalar.evaluate(term, here)) == wanted
            assert bool(scalar.evaluate(properties[f"said_{place}"], there)) == value, said(system, term, wanted)
            seen.add((place, value))
        moves = [n for n in range(len(system.updates)) if judge.committed(system, Audited(), n, here) not in (None, here)]
        if not moves:
            here, there = first_state(system, TermBank(), {}), first_state(read, TermBank(), {})
            continue
        update = system.updates[draw.choice(moves)]
        here, there = judge.successor(update, here), judge.successor(by_name[update.name], there)
    return seen


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_guard_and_comparison_of_an_example_is_read_back_and_means_the_same(path: Path, tmp_path: Path) -> None:
    system = load(path).system
    whole = [clause.formula for clause in (*system.accept, *system.feasibility)] + [update.when for update in system.updates]
    able = [term for term in (*leaves(system), *whole) if sayable(system, term)]
    terms = [(term, wanted) for term in able for wanted in (True, False) if len(said(system, term, wanted, 10_000)) < 400]
    read = read_back(path, tmp_path, [said(system, term, wanted) for term, wanted in terms])
    seen = agree(system, terms, read)
    assert len(terms) > 100 and len(seen) > 1.3 * len(terms)  # most were met both true and false


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_what_an_example_cannot_say_is_what_packages_have_no_words_for(path: Path) -> None:
    system = load(path).system
    for term in leaves(system):
        read = [system.fields[v.index] for v in variables(term)]
        if not sayable(system, term) and len(read) == 1:
            text = said(system, term)
            assert " rests on " in text or text.startswith("reported ") or " == pending " in text, text


def test_comparisons_of_codes_are_told_by_what_they_are_true_of(tmp_path: Path) -> None:
    path = tmp_path / "awkward.icore"
    path.write_text(AWKWARD + "".join(f"\ninvariant asked_{i}: {text}" for i, text in enumerate(AWKWARD_FORMULAS)))
    system = load(path).system
    whole = [(prop.formula, wanted) for prop in system.properties for wanted in (True, False)]
    able = [(term, wanted) for term in leaves(system) if sayable(system, term) for wanted in (True, False)]
    (tmp_path / "back").mkdir()
    read = read_back(path, tmp_path / "back", [said(system, term, wanted, 10_000) for term, wanted in (*whole, *able)])
    seen = agree(system, [*whole, *able], read, 400)
    assert {place for place, _ in seen if place < len(whole)} == set(range(len(whole)))
    assert sum((place, not value) in seen for place, value in seen) >= 100


WORDS = {
    "active(now)": ("active(now)", "not active(now)"),
    "not active(now) and not revoked(now) and not superseded(now)": (
        "not active(now) and not revoked(now) and not superseded(now)",
        "active(now) or revoked(now) or superseded(now)",
    ),
    "not (active(now) or revoked(now))": ("not active(now) and not revoked(now)", "active(now) or revoked(now)"),
    "pending(soon)": ("pending(soon)", "not pending(soon)"),
    "(active(now) or revoked(now) or superseded(now)) and not superseded(now) and d.n == 1": (
        "(active(now) or revoked(now)) and d.n == 1",
        "not ((active(now) or revoked(now)) and d.n == 1)",
    ),
    "pending(soon) and d.n == 1": ("pending(soon) and d.n == 1", "not (pending(soon) and d.n == 1)"),
    "present(page)": ("present(page)", "not present(page)"),
    "live(page)": ("live(page)", "not live(page)"),
    "present(page) and not live(page)": ("present(page) and not live(page)", "not present(page) or live(page)"),
    "e.m < 2": ("e.m < 2", "e.m >= 2"),
    "d.n in {1, 2}": ("d.n in {1, 2}", "d.n not in {1, 2}"),
    "d.by == e.by": ("d.by == e.by", "d.by != e.by"),
    "blue in d.held": ("blue in d.held", "blue not in d.held"),
    "d.price < 0.4": ("d.price * 10 < 4", "d.price * 10 >= 4"),
}
"""What is asked, what is said of it, and of its denial."""


def test_words_of_slots_and_codes(tmp_path: Path) -> None:
    path = tmp_path / "awkward.icore"
    path.write_text(AWKWARD + "".join(f"\ninvariant asked_{i}: {text}" for i, text in enumerate(WORDS)))
    system = load(path).system
    told = [(said(system, p.formula), said(system, p.formula, False)) for p in system.properties]
    assert dict(zip(WORDS, told, strict=True)) == WORDS


def test_the_parts_of_a_reason_are_one_formula(tmp_path: Path) -> None:
    path = tmp_path / "awkward.icore"
    path.write_text(f"{AWKWARD}\ninvariant both: (d.n == 1 or e.m == 2) and d.n < 3 and (live(page) or d.n == 2)\n")
    system = load(path).system
    (reason,) = reasons_of(system, Clause("both", system.properties[0].formula), first_state(system, TermBank(), {}))
    assert reason.text == "(d.n == 1 or e.m == 2) and (live(page) or d.n == 2)"


def test_terms_that_share_are_told_in_time_and_cut() -> None:
    """As a tree the term has 3 to the 60 leaves."""
    bank = TermBank()
    field = Field("x.n", Domain(DomainKind.INT, 0, 1), 0)
    other = Field("x.m", Domain(DomainKind.INT, 0, 1), 1)
    system = System("Shared", "", (field, other), (0, 0), (), bank.true, ())
    total = field.term(bank)
    for _ in range(60):
        total = bank.ite(bank.lt(total, other.term(bank)), bank.add(total, other.term(bank)), bank.sub(total, other.term(bank)))
    asked = bank.lt(total, other.term(bank))
    assert sayable(system, asked)
    assert len(said(system, asked, limit=300)) < 310


# ---- reports -------------------------------------------------------------------------------------------------------------


def end_of(system: System, run: Run) -> State:
    """The state that a reason is about: after the run, and after the step that may not commit."""
    free = {f.name: f for f in system.free}
    codes = {
        name: next(code for code in range(free[name].domain.lo, free[name].domain.hi + 1) if free[name].domain.show(code) == value)
        for name, value in run.initial
    }
    state = first_state(system, TermBank(), codes)
    by_name = {update.name: update for update in system.updates}
    for step in (*run.steps, *([run.offending] if run.offending else [])):
        state = judge.successor(by_name[step.update], state)
    return state


def parts_of(reason: Reason) -> list[str]:
    """The formulas of a reason that are made of the package's names: not the clause's own text, not what has no words."""
    text = reason.nearest or reason.text
    if " would move it" in text or text.startswith("no update ") or "…" in text:
        return []
    return [part for part in text.partition(": ")[0].split(" and ") if " rests on " not in part]


BROKEN = [path for path in EXAMPLES if path.stem.endswith("_broken")]


@pytest.mark.parametrize("path", BROKEN, ids=lambda path: path.stem)
def test_what_a_report_prints_of_a_failing_clause_is_a_goal_and_is_false_there(path: Path) -> None:
    from icore_kernel.check.run import check

    asked: dict[str, set[tuple[str, ...]]] = {}
    runs: dict[tuple[str, ...], Run] = {}
    for result in check(load(path)).results:
        if result.verdict is Verdict.VIOLATED and result.run is not None:
            key = tuple(step.update for step in (*result.run.steps, *([result.run.offending] if result.run.offending else [])))
            runs[key] = result.run
            for reason in result.reasons:
                for part in parts_of(reason):
                    asked.setdefault(part, set()).add(key)
    assert asked
    for text, keys in asked.items():
        system = load(path, goal=text).system
        goal = next(prop.formula for prop in system.properties if prop.name == GOAL)
        for key in keys:
            assert not scalar.evaluate(goal, end_of(system, runs[key])), (text, key)
