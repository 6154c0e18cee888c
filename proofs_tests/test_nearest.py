"""What is missing: the alternative that lacks least, by hand."""

from __future__ import annotations

from icore_kernel.meaning.nearest import nearest
from icore_kernel.terms.term import Term, TermBank


def booleans(bank: TermBank, count: int) -> list[Term]:
    return [bank.variable(f"b{i}", i, 0, 1, True) for i in range(count)]


def test_of_two_alternatives_the_one_that_lacks_less_is_named() -> None:
    bank = TermBank()
    a, b, c, d, e = booleans(bank, 5)
    formula = bank.or_(bank.and_(a, b, c), bank.and_(d, e))
    # First alternative: b is missing. Second: d and e are.
    assert nearest(formula, (1, 0, 1, 0, 0)) == ((b, True),)
    assert nearest(formula, (0, 0, 0, 0, 1)) == ((d, True),)


def test_every_failing_part_of_a_conjunction_is_named() -> None:
    bank = TermBank()
    a, b, c, *_ = booleans(bank, 3)
    assert set(nearest(bank.and_(a, b, bank.not_(c)), (0, 1, 1))) == {(a, True), (c, False)}


def test_an_implication_is_repaired_by_its_consequent() -> None:
    bank = TermBank()
    a, b, *_ = booleans(bank, 2)
    assert nearest(bank.implies(a, b), (1, 0)) == ((b, True),)
    assert nearest(bank.implies(a, b), (0, 0)) == ()


def test_heavier_leaves_are_called_missing_last() -> None:
    bank = TermBank()
    a, b, c, *_ = booleans(bank, 3)
    formula = bank.or_(a, bank.and_(b, c))
    assert nearest(formula, (0, 0, 0)) == ((a, True),)
    assert set(nearest(formula, (0, 0, 0), lambda leaf: 5 if leaf is a else 1)) == {(b, True), (c, True)}


def test_comparisons_are_leaves() -> None:
    bank = TermBank()
    x = bank.variable("x", 0, 0, 9, False)
    y = bank.variable("y", 1, 0, 9, False)
    same = bank.eq(x, y)
    assert nearest(bank.and_(same, bank.le(x, bank.integer(3))), (3, 4)) == ((same, True),)
