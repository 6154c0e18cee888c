"""Terms: construction, simplification, substitution, depth and printing; every value here is worked out by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from terms_lab import DEEP, Model

from icore_kernel.meaning.scalar import compile_terms, evaluate, evaluate_all
from icore_kernel.meaning.smt import Encoder, Question, width_of
from icore_kernel.meaning.vector import evaluate_block
from icore_kernel.terms.show import show
from icore_kernel.terms.table import TABLE, Op, Sort
from icore_kernel.terms.term import SortError, Term, TermBank, postorder, substitute, variables


@pytest.fixture
def m() -> Model:
    return Model()


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
