"""Terms: construction, simplification, intervals, printing, explanation; every value here is worked out by hand."""

from __future__ import annotations

import itertools
import tracemalloc
from typing import Any

import numpy as np
import pytest
import z3

from icore_kernel.meaning.explain import explain
from icore_kernel.meaning.scalar import compile_terms, evaluate, evaluate_all
from icore_kernel.meaning.smt import Encoder, Question, Result, width_of
from icore_kernel.meaning.vector import evaluate_block
from icore_kernel.terms.show import show
from icore_kernel.terms.table import TABLE, Op, Sort, Variable
from icore_kernel.terms.term import SortError, Term, TermBank, postorder, substitute, variables

DEEP = 20_000
NAMES = ("blocked", "ready", "closed", "accepted")


class Model:
    """A bank with a few fields: p, q (BOOL), status 0..3 (an enumeration), x and y in -10..10."""

    def __init__(self, simplify: bool = True) -> None:
        self.bank = TermBank(simplify)
        self.p = self.bank.variable("p", 0, 0, 1, True)
        self.q = self.bank.variable("q", 1, 0, 1, True)
        self.status = self.bank.variable("status(unit)", 2, 0, 3, False)
        self.x = self.bank.variable("x", 3, -10, 10, False)
        self.y = self.bank.variable("y", 4, -10, 10, False)

    def number(self, value: int) -> Term:
        return self.bank.integer(value)

    def show(self, term: Term) -> str:
        return show(term, lambda variable, code: NAMES[code] if variable.name == "status(unit)" else str(code))


@pytest.fixture
def m() -> Model:
    return Model()


def values_everywhere(term: Term, state: tuple[int, ...]) -> tuple[Any, ...]:
    """The value of a term in every meaning: scalar, compiled, vector, SMT (a solver's model, not the simplifier)."""
    columns = {index: np.array([code], dtype=np.int64) for index, code in enumerate(state)}
    encoder = Encoder()
    expression = encoder.encode(term)
    solver = z3.Solver()
    for variable in variables(term):
        symbol = encoder.variable(variable)
        solver.add(symbol == (bool(state[variable.index]) if variable.boolean else state[variable.index]))
    result = z3.Bool("result") if term.sort is Sort.BOOL else z3.BitVec("result", expression.size())
    solver.add(result == expression)
    assert solver.check() == z3.sat
    found = solver.model().eval(result)
    solved = z3.is_true(found) if term.sort is Sort.BOOL else found.as_signed_long()
    return evaluate(term, state), compile_terms([term])(state)[0], evaluate_block([term], columns)[0].tolist()[0], solved


DIVISIONS = [
    # a, b, a div b, a mod b
    (7, 2, 3, 1),
    (7, -2, -4, -1),
    (-7, 2, -4, 1),
    (-7, -2, 3, -1),
    (7, 0, 0, 0),
    (-7, 0, 0, 0),
    (0, 0, 0, 0),
    (0, -3, 0, 0),
    (-7, 3, -3, 2),
    (8, 3, 2, 2),
    (-8, -4, 2, 0),
    (1, -10, -1, -9),
    (-1, 10, -1, 9),
    (-10, -1, 10, 0),
]


@pytest.mark.parametrize("a, b, quotient, remainder", DIVISIONS)
def test_division_rounds_down_and_by_zero_is_zero_in_every_meaning(m: Model, a: int, b: int, quotient: int, remainder: int) -> None:
    state = (0, 0, 0, a, b)
    assert values_everywhere(m.bank.floordiv(m.x, m.y), state) == (quotient,) * 4
    assert values_everywhere(m.bank.mod(m.x, m.y), state) == (remainder,) * 4
    assert m.bank.floordiv(m.number(a), m.number(b)) is m.number(quotient)
    assert m.bank.mod(m.number(a), m.number(b)) is m.number(remainder)


@pytest.mark.parametrize("index, value", [(-10, 0), (-3, 0), (-1, 0), (0, 5), (1, -6), (2, 5), (3, 0), (10, 0)])
def test_look_up_outside_its_table_is_zero_in_every_meaning(m: Model, index: int, value: int) -> None:
    assert values_everywhere(m.bank.lookup(m.x, (5, -6, 5)), (0, 0, 0, index, 0)) == (value,) * 4


@pytest.mark.parametrize("p, q", list(itertools.product((0, 1), repeat=2)))
def test_connectives_have_their_truth_tables_in_every_meaning(m: Model, p: int, q: int) -> None:
    state = (p, q, 0, 0, 0)
    b = m.bank
    table = {
        b.not_(m.p): {0: True, 1: False}[p],
        b.and_(m.p, m.q): (p, q) == (1, 1),
        b.or_(m.p, m.q): (p, q) != (0, 0),
        b.implies(m.p, m.q): (p, q) != (1, 0),
        b.iff(m.p, m.q): (p, q) in ((0, 0), (1, 1)),
        m.p: p == 1,
    }
    for term, truth in table.items():
        assert values_everywhere(term, state) == (truth,) * 4
        assert all(type(value) is bool for value in values_everywhere(term, state))


@pytest.mark.parametrize(
    "x, y, expected",
    [
        # sum, difference, product, minimum, maximum, opposite, magnitude, ==, <, <=, in {-3, 0, 4}
        (3, -4, (-1, 7, -12, -4, 3, -3, 3, False, False, False, False)),
        (-3, 5, (2, -8, -15, -3, 5, 3, 3, False, True, True, True)),
        (4, 4, (8, 0, 16, 4, 4, -4, 4, True, False, True, True)),
        (-10, 10, (0, -20, -100, -10, 10, 10, 10, False, True, True, False)),
        (-10, -10, (-20, 0, 100, -10, -10, 10, 10, True, False, True, False)),
        (0, 1, (1, -1, 0, 0, 1, 0, 0, False, True, True, True)),
    ],
)
def test_arithmetic_and_comparisons_are_exact_in_every_meaning(m: Model, x: int, y: int, expected: tuple[int, ...]) -> None:
    b = m.bank
    terms = (
        b.add(m.x, m.y),
        b.sub(m.x, m.y),
        b.mul(m.x, m.y),
        b.minimum(m.x, m.y),
        b.maximum(m.x, m.y),
        b.neg(m.x),
        b.absolute(m.x),
        b.eq(m.x, m.y),
        b.lt(m.x, m.y),
        b.le(m.x, m.y),
        b.member(m.x, (-3, 0, 4)),
    )
    for term, value in zip(terms, expected, strict=True):
        assert values_everywhere(term, (0, 0, 0, x, y)) == (value,) * 4, term.op


def test_conditional_takes_its_branch_in_every_meaning(m: Model) -> None:
    term = m.bank.ite(m.p, m.x, m.bank.add(m.y, m.number(100)))
    assert values_everywhere(term, (1, 0, 0, -9, 7)) == (-9,) * 4
    assert values_everywhere(term, (0, 0, 0, -9, 7)) == (107,) * 4


def test_integers_beyond_64_bits_are_exact_in_every_meaning(m: Model) -> None:
    big = 2**62
    term = m.bank.mul(m.bank.add(m.x, m.number(big)), m.bank.add(m.y, m.number(big)))
    assert values_everywhere(term, (0, 0, 0, 1, -1)) == ((big + 1) * (big - 1),) * 4
    back = m.bank.sub(m.bank.floordiv(term, m.number(big)), m.number(big))
    assert values_everywhere(back, (0, 0, 0, 0, 3)) == (3,) * 4


def test_empty_sums_and_junctions_have_their_units() -> None:
    for simplify in (True, False):
        bank = TermBank(simplify)
        columns = {0: np.zeros(2, dtype=np.int8)}
        for term, unit, encoded in ((bank.add(), 0, "#b0"), (bank.and_(), True, "true"), (bank.or_(), False, "false")):
            assert evaluate(term, ()) == compile_terms([term])(())[0] == unit
            assert evaluate_block([term], columns)[0].tolist() == [unit, unit]
            assert z3.simplify(Encoder().encode(term)).sexpr() == encoded
        with pytest.raises(SortError):
            bank.minimum()


# Construction.


def test_equal_terms_are_one_object_and_equality_is_identity(m: Model) -> None:
    first = m.bank.and_(m.p, m.bank.lt(m.x, m.number(3)))
    assert m.bank.and_(m.p, m.bank.lt(m.x, m.number(3))) is first
    assert m.bank.integer(1) is not m.bank.true
    assert Term.__eq__ is object.__eq__
    assert first != m.bank.lt(m.x, m.number(3))
    with pytest.raises(TypeError):
        bool(first)
    with pytest.raises(AttributeError):
        first.lo = 0  # type: ignore[misc]


def test_wrong_sorts_are_refused(m: Model) -> None:
    b = m.bank
    refused = [
        lambda: b.and_(m.p, m.x),
        lambda: b.not_(m.x),
        lambda: b.eq(m.p, m.x),
        lambda: b.add(m.x, m.p),
        lambda: b.lt(m.p, m.q),
        lambda: b.ite(m.x, m.x, m.y),
        lambda: b.ite(m.p, m.p, m.y),
        lambda: b.build(Op.SUB, (m.x,)),
        lambda: b.build(Op.LOOKUP, (m.x,)),
        lambda: b.build(Op.MEMBER, (m.x,)),
        lambda: b.build(Op.CONST, ()),
        lambda: b.build(Op.FIELD, ()),
        lambda: b.variable("other", 3, 0, 1, False),
        lambda: b.variable("empty", 9, 1, 0, False),
        lambda: b.variable("wide", 9, 0, 2, True),
        lambda: substitute(b, m.p, {0: m.x}),
        lambda: explain(m.x, (0, 0, 0, 0, 0)),
        lambda: Question(Encoder()).ask([], m.x, 1000),
    ]
    for build in refused:
        with pytest.raises(SortError):
            build()


def test_terms_know_what_they_read_and_the_bounds_of_their_values(m: Model) -> None:
    term = m.bank.add(m.bank.mul(m.x, m.y), m.status, m.number(1))
    assert (term.reads, term.lo, term.hi) == (0b11100, -99, 104)
    assert [variable.name for variable in variables(term, m.p)] == ["p", "status(unit)", "x", "y"]
    assert m.bank.lt(m.x, m.status).reads == 0b1100


def test_intervals_contain_every_value_of_small_arguments() -> None:
    ends = list(itertools.combinations_with_replacement(range(-3, 4), 2))
    for op in (Op.ADD, Op.SUB, Op.MUL, Op.DIV, Op.MOD, Op.MIN, Op.MAX, Op.EQ, Op.LT, Op.LE):
        for (al, ah), (bl, bh) in itertools.product(ends, repeat=2):
            bank = TermBank(simplify=False)
            term = bank.build(op, (bank.variable("a", 0, al, ah, False), bank.variable("b", 1, bl, bh, False)))
            values = {evaluate(term, state) for state in itertools.product(range(al, ah + 1), range(bl, bh + 1))}
            assert term.lo <= min(values) and max(values) <= term.hi, (op, al, ah, bl, bh)
            if op is not Op.MOD:
                assert (term.lo, term.hi) == (min(values), max(values)), (op, al, ah, bl, bh)
    for lo, hi in ends:
        bank = TermBank(simplify=False)
        a = bank.variable("a", 0, lo, hi, False)
        for term in (bank.neg(a), bank.absolute(a), bank.lookup(a, (7, -7)), bank.member(a, (-1, 0, 1))):
            values = {evaluate(term, (code,)) for code in range(lo, hi + 1)}
            assert (term.lo, term.hi) == (min(values), max(values)), (term.op, lo, hi)


def test_bit_vectors_are_as_narrow_as_their_intervals() -> None:
    widths = {(0, 0): 1, (-1, 0): 1, (0, 1): 2, (-2, 1): 2, (0, 3): 3, (-4, 3): 3, (-5, 0): 4, (0, 127): 8, (-128, 0): 8, (0, 128): 9}
    assert {bounds: width_of(*bounds) for bounds in widths} == widths


# Simplification.


def test_formulas_simplify_to_what_they_plainly_are(m: Model) -> None:
    b, p, q, x, n = m.bank, m.p, m.q, m.x, m.number
    small = b.lt(x, n(3))
    assert b.and_(p, b.true, p) is p
    assert b.and_(p, b.false) is b.false
    assert b.and_(p, small, b.not_(p)) is b.false
    assert b.or_(p, b.and_(q, b.or_(small, b.not_(small)))) is b.or_(p, q)
    assert b.and_(b.and_(p, q), small) is b.and_(p, q, small)
    assert b.and_(b.eq(x, n(1)), b.eq(x, n(2))) is b.false
    assert b.or_(b.eq(x, n(1)), b.eq(x, n(2))).op is Op.OR
    assert b.not_(b.not_(p)) is p
    assert b.implies(p, b.false) is b.not_(p)
    assert b.implies(b.true, p) is p
    assert b.implies(p, p) is b.true
    assert b.implies(p, b.not_(p)) is b.not_(p)
    assert b.iff(p, b.true) is p
    assert b.eq(p, b.false) is b.not_(p)
    assert b.iff(p, b.not_(p)) is b.false
    assert b.eq(x, x) is b.true
    assert b.lt(x, x) is b.false
    assert b.le(x, n(10)) is b.true
    assert b.eq(x, n(11)) is b.false
    assert b.eq(n(3), x) is b.eq(x, n(3))
    assert b.member(m.status, (0, 1, 2, 3, 9)) is b.true
    assert b.member(m.status, (2, 9)) is b.eq(m.status, n(2))
    assert b.member(m.status, ()) is b.false


def test_conditionals_simplify_to_what_they_plainly_are(m: Model) -> None:
    b, p, q, x, n = m.bank, m.p, m.q, m.x, m.number
    assert b.ite(p, x, x) is x
    assert b.ite(b.false, n(1), x) is x
    assert b.ite(b.not_(p), n(1), x) is b.ite(p, x, n(1))
    assert b.eq(b.ite(p, n(3), n(4)), n(3)) is p
    assert b.eq(b.ite(p, n(3), n(4)), n(4)) is b.not_(p)
    assert b.eq(b.ite(p, n(3), n(4)), n(5)) is b.false
    assert b.eq(b.ite(p, n(3), b.ite(q, n(1), x)), n(1)) is b.and_(b.not_(p), b.or_(q, b.eq(x, n(1))))
    assert b.lt(b.ite(p, n(3), n(4)), n(4)) is p
    assert b.member(b.ite(p, n(3), n(4)), (4, 5)) is b.not_(p)
    assert b.ite(p, b.true, q) is b.or_(p, q)
    assert b.ite(p, q, b.false) is b.and_(p, q)
    assert b.ite(p, q, q) is q


def test_integers_simplify_to_what_they_plainly_are(m: Model) -> None:
    b, x, y, n = m.bank, m.x, m.y, m.number
    assert b.add(n(2), x, b.add(n(3), y)) is b.add(x, y, n(5))
    assert b.add(x, n(0)) is x
    assert b.sub(x, x) is n(0)
    assert b.sub(x, n(2)) is b.add(x, n(-2))
    assert b.neg(b.neg(x)) is x
    assert b.mul(n(0), x) is n(0)
    assert b.mul(n(1), x) is x
    assert b.floordiv(x, n(1)) is x
    assert b.floordiv(x, n(0)) is n(0)
    assert b.mod(m.status, n(4)) is m.status
    assert b.mod(x, n(1)) is n(0)
    assert b.minimum(x, n(12), x) is x
    assert b.maximum(x, n(12), y) is n(12)
    assert b.absolute(m.status) is m.status
    assert b.lookup(m.status, (6, 6, 6, 6)) is n(6)


def test_bank_that_does_not_simplify_keeps_what_it_is_given() -> None:
    m = Model(simplify=False)
    b = m.bank
    double = b.not_(b.not_(m.p))
    assert (double.op, double.args[0].op) == (Op.NOT, Op.NOT)
    assert b.add(m.number(1), m.number(2)).op is Op.ADD
    assert b.and_(m.p, b.not_(m.p)).op is Op.AND


def test_every_simplification_of_two_operators_keeps_the_meaning_in_every_state() -> None:
    raw, bank = TermBank(simplify=False), TermBank()

    def leaves(b: TermBank) -> dict[Sort, list[Term]]:
        p, x = b.variable("p", 0, 0, 1, True), b.variable("x", 1, -1, 2, False)
        return {Sort.BOOL: [p, b.true, b.false], Sort.INT: [x, *(b.integer(value) for value in (-1, 0, 1))]}

    def grown(b: TermBank, base: dict[Sort, list[Term]]) -> list[Term]:
        terms = []
        for op, row in TABLE.items():
            if op in (Op.CONST, Op.FIELD):
                continue
            sorts = row.arguments * 2 if row.variadic else row.arguments
            payload = frozenset({0, 2}) if op is Op.MEMBER else (3, -1) if op is Op.LOOKUP else None
            terms += [b.build(op, args, payload) for args in itertools.product(*(base[sort] for sort in sorts))]
        return terms

    def twice(b: TermBank) -> list[Term]:
        base = leaves(b)
        once = grown(b, base)
        wider = {sort: base[sort][:2] + [term for term in once if term.sort is sort][::7] for sort in Sort}
        return once + grown(b, wider)

    # The simplified and the plain terms are not grown from the same picks: rebuild the plain ones instead.
    plain = twice(raw)
    done: dict[Term, Term] = {}
    for part in postorder(plain):
        done[part] = bank.build(part.op, tuple(done[arg] for arg in part.args), part.payload)
    assert len(plain) > 5_000
    for state in itertools.product((0, 1), (-1, 0, 1, 2)):
        for term, a, b in zip(plain, evaluate_all(plain, state), evaluate_all([done[term] for term in plain], state), strict=True):
            assert a == b, (show(term), show(done[term]), state)


# Substitution.


def test_substitution_replaces_all_variables_at_once(m: Model) -> None:
    b = m.bank
    term = b.and_(b.lt(m.x, m.y), b.eq(m.status, m.number(1)))
    swapped = substitute(b, term, {3: m.y, 4: m.x, 2: b.ite(m.p, m.number(1), m.status)})
    assert swapped is b.and_(b.lt(m.y, m.x), b.or_(m.p, b.eq(m.status, m.number(1))))
    assert substitute(b, term, {0: b.true}) is term
    assert substitute(b, term, {2: m.number(0)}) is b.false


def test_substitution_shares_its_memo_between_terms(m: Model) -> None:
    memo: dict[Term, Term] = {}
    shared = m.bank.mul(m.x, m.y)
    mapping = {3: m.number(2)}
    first = substitute(m.bank, m.bank.lt(shared, m.number(5)), mapping, memo)
    assert memo[shared] is m.bank.mul(m.y, m.number(2))
    assert first is m.bank.lt(memo[shared], m.number(5))
    assert substitute(m.bank, shared, mapping, memo) is memo[shared]


def test_walk_visits_each_term_once_with_its_arguments_first(m: Model) -> None:
    b = m.bank
    total = b.add(m.x, m.y)
    term = b.and_(b.lt(total, m.status), b.lt(m.status, b.mul(total, total)))
    order = postorder([term, total, term])
    assert len(order) == len(set(order)) == 8
    assert all(order.index(arg) < order.index(part) for part in order for arg in part.args)
    assert postorder([term], known={term.args[0], total, m.status}) == [b.mul(total, total), term.args[1], term]


# Depth.


@pytest.mark.parametrize(
    "kind, simplify", [("formula", True), ("sum", True), ("conditional", True), ("negation", True), ("formula", False), ("sum", False)]
)
def test_terms_twenty_thousand_deep_are_built_read_printed_and_encoded(kind: str, simplify: bool) -> None:
    m = Model(simplify)
    b = m.bank
    term = m.p if kind in ("formula", "negation") else m.x
    for place in range(DEEP):
        match kind:
            case "formula":
                term = b.or_(b.and_(term, b.lt(m.x, m.number(place % 7))), b.eq(m.y, m.number(place % 5)))
            case "negation":
                term = b.implies(b.not_(term), m.q)
            case "sum":
                term = b.mod(b.add(m.y, term), m.number(9))
            case _:
                term = b.ite(b.lt(m.x, m.number(place % 7)), b.add(term, m.number(1)), m.y)
    state = (1, 0, 0, 8, 9)
    value = evaluate(term, state)
    # By hand: with x = 8 no comparison `x < k` holds (so the conditional is y), with y = 9 no `y == k`;
    # `not t implies q` with q false is t; and y = 9 adds nothing modulo 9.
    assert value == {"formula": False, "negation": True, "sum": 8, "conditional": 9}[kind]
    assert compile_terms([term])(state) == (value,)
    columns = {index: np.array([code, code], dtype=np.int16) for index, code in enumerate(state)}
    assert evaluate_block([term], columns)[0].tolist() == [value, value]
    assert substitute(b, term, {0: b.false, 3: m.y}).reads & 0b1001 == 0
    assert len(show(term)) <= 2_002
    assert Encoder().encode(term).num_args() >= 1
    assert len(repr(term)) < 300


def test_wide_terms_compile(m: Model) -> None:
    raw = TermBank(simplify=False)
    x = raw.variable("x", 0, 0, 9, False)
    parts = [raw.sub(x, raw.integer(place)) for place in range(DEEP)]
    terms = [raw.add(*parts), raw.maximum(*parts), raw.conj(raw.le(part, x) for part in parts)]
    assert compile_terms(terms)((7,)) == (7 * DEEP - DEEP * (DEEP - 1) // 2, 7, True)


# Compilation and blocks.


def test_compiled_divisions_nested_in_each_other_do_not_mix_their_divisors(m: Model) -> None:
    b = m.bank
    term = b.floordiv(b.floordiv(m.x, b.add(m.y, m.status)), b.mod(m.y, m.status))
    # 10 div (2 + 3) = 2; 2 mod 3 = 2; 2 div 2 = 1 (and 0, were the last divisor 5).
    assert compile_terms([term])((0, 0, 3, 10, 2)) == (1,)
    # 10 div (-2 + 3) = 10; -2 mod 3 = 1; 10 div 1 = 10.  10 div (2 + 0) = 5; 2 mod 0 = 0; 5 div 0 = 0.
    assert compile_terms([term])((0, 0, 3, 10, -2)) == (10,)
    assert compile_terms([term])((0, 0, 0, 10, 2)) == (0,)


def test_block_frees_intermediates_after_their_last_use(m: Model) -> None:
    raw = TermBank(simplify=False)
    x = raw.variable("x", 0, 0, 9, False)
    total = x
    for _ in range(100):
        total = raw.add(total, x)
    columns = {0: np.full(100_000, 2, dtype=np.uint8)}
    tracemalloc.start()
    try:
        (result,) = evaluate_block([total], columns)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert result[0] == 202
    assert peak < 10 * result.nbytes  # All hundred sums at once would be 100 times as much.


def test_block_takes_columns_of_any_integer_type_from_a_function(m: Model) -> None:
    term = m.bank.add(m.bank.mul(m.x, m.y), m.status)
    columns = {2: np.array([3, 0], dtype=np.uint8), 3: np.array([10, -10], dtype=np.int8), 4: np.array([-10, 9], dtype=np.int32)}
    assert evaluate_block([term, m.status], columns.__getitem__)[0].tolist() == [-97, -90]
    assert evaluate_block([m.bank.eq(m.x, m.number(-10))], columns)[0].tolist() == [False, True]
    with pytest.raises(ValueError, match="float64"):
        evaluate_block([m.x], {3: np.array([1.0])})


def test_block_of_constants_takes_its_length_from_the_columns_or_the_caller(m: Model) -> None:
    assert evaluate_block([m.number(4)], {0: np.zeros(3, dtype=bool)})[0].tolist() == [4, 4, 4]
    assert evaluate_block([m.bank.true], {}, length=2)[0].tolist() == [True, True]
    with pytest.raises(ValueError, match="length"):
        evaluate_block([m.bank.true], {})


def test_block_of_no_states_is_empty(m: Model) -> None:
    columns = {index: np.zeros(0, dtype=np.int8) for index in range(5)}
    results = evaluate_block([m.bank.floordiv(m.x, m.y), m.bank.lookup(m.x, (1, 2)), m.bank.true], columns)
    assert [len(result) for result in results] == [0, 0, 0]


# The solver.


def test_question_answers_unsat_for_what_follows_and_names_the_core(m: Model) -> None:
    b = m.bank
    question = Question(Encoder())
    small, large = b.lt(m.x, m.number(3)), b.lt(m.number(5), m.y)
    answer = question.ask([m.p, small, large], b.lt(m.x, m.y), 10_000, core=True)
    assert (answer.result, set(answer.core)) == (Result.UNSAT, {small, large})


def test_question_answers_with_a_state_of_the_domains_that_falsifies_the_goal(m: Model) -> None:
    b = m.bank
    question = Question(Encoder(), variables(m.p, m.q))
    goal = b.implies(b.le(m.number(0), m.x), b.eq(b.mod(m.x, m.number(7)), b.absolute(m.y)))
    answer = question.ask([b.eq(m.status, m.number(3)), m.q], goal, 10_000)
    assert answer.result is Result.SAT and answer.state is not None
    assert sorted(answer.state) == [0, 1, 2, 3, 4]
    state = [answer.state[index] for index in range(5)]
    assert (state[1], state[2]) == (1, 3)
    assert all(-10 <= code <= 10 for code in state[3:])
    assert evaluate(goal, state) is False
    assert question.ask([], goal, 10_000).result is Result.SAT
    assert question.ask([b.lt(m.x, m.number(0))], goal, 10_000).result is Result.UNSAT


def test_question_keeps_variables_in_their_domains(m: Model) -> None:
    question = Question(Encoder())
    raw = TermBank(simplify=False)
    status = raw.variable("status", 0, 1, 5, False)
    assert question.ask([], raw.and_(raw.le(raw.integer(1), status), raw.le(status, raw.integer(5))), 10_000).result is Result.UNSAT
    assert question.ask([raw.eq(status, raw.integer(5))], raw.false, 10_000).state == {0: 5}


def test_question_that_exhausts_its_time_is_unknown_with_a_reason_and_leaves_the_solver_usable(m: Model) -> None:
    bank = TermBank()
    a, b = (bank.variable(name, index, 2, 2**40, False) for index, name in enumerate("ab"))
    question = Question(Encoder())
    prime = (2**31 - 1) * (2**61 - 1)
    answer = question.ask([bank.lt(a, b)], bank.ne(bank.mul(bank.mul(a, a), b), bank.integer(prime)), 5)
    assert (answer.result, answer.state) == (Result.UNKNOWN, None)
    assert answer.reason
    assert question.ask([bank.lt(a, b)], bank.lt(b, a), 10_000).result is Result.SAT
    with pytest.raises(ValueError, match="millisecond"):
        question.ask([], bank.true, 0)


def test_encoder_makes_a_second_copy_of_the_variables_for_a_suffix(m: Model) -> None:
    encoder = Encoder()
    before, after = encoder.encode(m.x), encoder.encode(m.x, "'")
    assert (str(before), str(after)) == ("x", "x'")
    solver = z3.Solver()
    solver.add(*encoder.domains([m.x.variable]), *encoder.domains([m.x.variable], "'"), after > before + 0, before == 9)
    assert solver.check() == z3.sat
    assert encoder.decode(solver.model(), [m.x.variable], "'") == {3: 10}
    with pytest.raises(SortError, match="two variables"):
        encoder.variable(Variable("x", 8, 0, 1, False))


# Printing.


def test_terms_print_in_the_syntax_of_the_language(m: Model) -> None:
    b, n = m.bank, m.number
    shown = {
        b.and_(m.p, b.or_(m.q, b.eq(m.status, n(1)))): "p and (q or status(unit) == ready)",
        b.implies(b.and_(m.p, m.q), b.implies(m.p, b.ne(m.status, n(2)))): "p and q implies p implies status(unit) != closed",
        b.implies(b.implies(m.p, m.q), m.p): "(p implies q) implies p",
        b.member(m.status, (0, 2)): "status(unit) in {blocked, closed}",
        b.not_(b.member(m.status, (0, 2))): "status(unit) not in {blocked, closed}",
        b.not_(b.lt(m.x, n(3))): "not x < 3",
        b.not_(b.and_(m.p, m.q)): "not (p and q)",
        b.iff(m.p, b.or_(m.q, b.lt(m.x, m.y))): "p iff q or x < y",
        b.lt(b.add(m.x, n(-1)), b.mul(b.add(m.x, m.y), n(2))): "x - 1 < (x + y) * 2",
        b.sub(m.x, b.sub(m.y, m.x)): "x - (y - x)",
        b.add(m.x, b.neg(m.y)): "x - y",
        b.neg(b.add(m.x, m.y)): "-(x + y)",
        b.floordiv(m.x, b.mod(m.y, n(3))): "x div (y mod 3)",
        b.minimum(m.x, b.absolute(m.y)): "min(x, abs(y))",
        b.add(b.ite(m.p, m.x, m.y), n(1)): "(if p then x else y) + 1",
        b.eq(b.ite(b.lt(m.x, m.y), n(2), m.status), m.status): "(if x < y then closed else status(unit)) == status(unit)",
        b.lookup(m.x, (4, -5)): "[4, -5][x]",
        b.eq(m.x, n(-3)): "x == -3",
        b.true: "true",
    }
    for term, text in shown.items():
        assert m.show(term) == text
    assert show(b.eq(m.status, n(1))) == "status(unit) == 1"


def test_long_text_is_cut_with_an_ellipsis(m: Model) -> None:
    term = m.bank.disj(m.bank.eq(m.x, m.number(value)) for value in range(10))
    assert show(term, limit=24) == "x == 0 or x == 1 or x …"
    doubling = m.p
    for _ in range(200):
        doubling = m.bank.iff(m.bank.and_(doubling, m.q), m.bank.implies(doubling, m.bank.lt(m.x, m.y)))
    assert len(show(doubling, limit=500)) <= 502


# Explanation.


def test_explanation_names_the_failing_conjunct_with_its_values(m: Model) -> None:
    b = m.bank
    ready = b.eq(m.status, m.number(1))
    small = b.lt(m.x, m.y)
    failures = explain(b.and_(m.p, ready, b.or_(m.q, small)), (1, 0, 1, 5, 3))
    assert [(failure.term, failure.wanted, failure.values) for failure in failures] == [
        (m.q, True, (("q", False),)),
        (small, True, (("x", 5), ("y", 3))),
    ]
    assert explain(b.and_(m.p, ready), (1, 0, 1, 0, 0)) == []


def test_explanation_records_the_antecedent_that_made_a_consequent_binding(m: Model) -> None:
    b = m.bank
    closed = b.eq(m.status, m.number(2))
    (failure,) = explain(b.implies(b.and_(m.p, m.q), b.and_(m.p, closed)), (1, 1, 0, 0, 0))
    assert (failure.term, failure.because, failure.values) == (closed, (b.and_(m.p, m.q),), (("status(unit)", 0),))


def test_explanation_of_a_negation_names_what_should_not_hold(m: Model) -> None:
    b = m.bank
    small = b.lt(m.x, m.number(4))
    failures = explain(b.not_(b.or_(m.p, small)), (0, 0, 0, 3, 0))
    assert [(failure.term, failure.wanted, failure.values) for failure in failures] == [(small, False, (("x", 3),))]
    (both,) = explain(b.not_(b.implies(m.p, m.q)), (1, 1, 0, 0, 0))
    assert (both.term, both.wanted, both.because) == (m.q, False, (m.p,))


def test_explanation_counts_what_it_does_not_list(m: Model) -> None:
    b = m.bank
    alternatives = b.disj(b.eq(b.add(m.x, m.y), m.number(value)) for value in range(1, 6))
    (none,) = explain(alternatives, (0, 0, 0, 0, 0))
    assert (none.term, none.note) == (alternatives, "none of its 5 alternatives holds")
    five = b.conj(b.eq(m.x, b.add(m.y, m.number(value))) for value in range(1, 6))
    failures = explain(five, (0, 0, 0, 0, 0), limit=2)
    assert [failure.term for failure in failures] == list(five.args[:2])
    assert {failure.note for failure in failures} == {"3 more parts fail"}
