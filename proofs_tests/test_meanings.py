"""What terms mean: their values in every meaning, compilation, blocks and the solver; every value here is worked out by hand."""

from __future__ import annotations

import itertools
import tracemalloc

import numpy as np
import pytest
import z3
from terms_lab import DEEP, Model, values_everywhere

from icore_kernel.meaning.scalar import compile_terms, evaluate
from icore_kernel.meaning.smt import Encoder, Question, Result
from icore_kernel.meaning.vector import evaluate_block
from icore_kernel.terms.table import Variable
from icore_kernel.terms.term import SortError, TermBank, variables


@pytest.fixture
def m() -> Model:
    return Model()


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
