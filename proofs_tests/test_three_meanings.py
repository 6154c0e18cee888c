"""The three meanings of a term agree: generated from the operator table, with bugs planted in every operator of each.

1,000 (term, state) pairs a run; 20,000 with ICORE_TESTS=nightly.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
import z3
from strategies_terms import BOOLEAN, DEPTH, LEAVES, ROOTS, VARIABLES, Case, cases, depth_of, random_state, rebuilt

from icore_kernel.meaning import scalar, smt, vector
from icore_kernel.terms.table import TABLE, Op, Sort, TableError, check_handlers
from icore_kernel.terms.term import Term, TermBank, postorder

PAIRS = 20_000 if os.environ.get("ICORE_TESTS") == "nightly" else 1_000
STATES = 2
WITHOUT_RESULTS_BOTH_WAYS: frozenset[Op] = frozenset()
"""BOOL operators excused from being true and false a fifth of the time each: none."""

Values = list[tuple[int | None, ...]]
"""For each case the value of its term in each of its states; None where a meaning gave no value."""


@cache
def corpus(pairs: int, seed: int = 2026) -> tuple[Case, ...]:
    return tuple(cases(seed, pairs // STATES, TermBank(simplify=False), STATES))


def scalar_values(some: Sequence[Case], handlers: Mapping[Op, Any] = scalar.HANDLERS) -> Values:
    return [tuple(scalar.evaluate(case.term, state, handlers) for state in case.states) for case in some]


def compiled_values(some: Sequence[Case], writers: Mapping[Op, Any] = scalar.WRITERS) -> Values:
    compiled = [scalar.compile_terms((case.term,), writers) for case in some]
    return [tuple(function(state)[0] for state in case.states) for function, case in zip(compiled, some, strict=True)]


def columns_of(states: Sequence[Sequence[int]]) -> dict[int, Any]:
    """Each field as a column of the narrowest type that holds its domain."""
    columns = {}
    for variable in VARIABLES:
        types = (bool,) if variable.boolean else (np.uint8, np.int8, np.int16, np.int64)
        dtype = next(dtype for dtype in types if dtype is bool or np.iinfo(dtype).min <= variable.lo <= variable.hi <= np.iinfo(dtype).max)
        columns[variable.index] = np.array([state[variable.index] for state in states], dtype=dtype)
    return columns


def vector_values(some: Sequence[Case], handlers: Mapping[Op, Any] = vector.HANDLERS) -> Values:
    return [tuple(vector.evaluate_block([case.term], columns_of(case.states), handlers=handlers)[0].tolist()) for case in some]


def smt_values(some: Sequence[Case], handlers: Mapping[Op, Any] = smt.HANDLERS) -> Values:
    """Each variable of the encoding replaced by its code; Z3's simplifier computes the rest."""
    results: Values = []
    encoder = smt.Encoder(handlers=handlers)
    for case in some:
        expression = encoder.encode(case.term)
        results.append(tuple(_ground(encoder, expression, state) for state in case.states))
    return results


def _ground(encoder: smt.Encoder, expression: Any, state: Sequence[int]) -> int | None:
    pairs = []
    for variable in encoder.variables.values():
        symbol = encoder.variable(variable)
        code = state[variable.index]
        pairs.append((symbol, z3.BoolVal(bool(code)) if variable.boolean else z3.BitVecVal(code, symbol.size())))
    value = z3.simplify(z3.substitute(expression, *pairs))
    if z3.is_bv_value(value):
        return int(value.as_signed_long())
    return bool(z3.is_true(value)) if z3.is_true(value) or z3.is_false(value) else None


MEANINGS: dict[str, tuple[Callable[..., Values], Mapping[Op, Any]]] = {
    "scalar": (scalar_values, scalar.HANDLERS),
    "compiled": (compiled_values, scalar.WRITERS),
    "vector": (vector_values, vector.HANDLERS),
    "smt": (smt_values, smt.HANDLERS),
}


def disagreements(some: Sequence[Case], mine: Values, others: Values) -> list[str]:
    """The pairs for which two meanings differ, in value or in being a truth value."""
    return [
        f"{case.term!r} in {state}: {a!r} and {b!r}"
        for case, row, other in zip(some, mine, others, strict=True)
        for state, a, b in zip(case.states, row, other, strict=True)
        if a != b or isinstance(a, bool) != isinstance(b, bool)
    ]


@cache
def expected(pairs: int) -> Values:
    return scalar_values(corpus(pairs))


@pytest.mark.parametrize("meaning", ["compiled", "vector", "smt"])
def test_agrees_with_the_scalar_meaning_on_random_pairs(meaning: str) -> None:
    values, _ = MEANINGS[meaning]
    some = corpus(PAIRS)
    assert sum(len(case.states) for case in some) == PAIRS
    assert disagreements(some, expected(PAIRS), values(some)) == []


def test_pairs_reach_every_operator_at_depth_with_both_truth_values() -> None:
    some = corpus(PAIRS)
    roots = Counter(case.term.op for case in some)
    assert set(roots) == set(ROOTS)
    assert {part.op for case in some for part in postorder((case.term,))} == set(TABLE)
    assert min(depth_of(case.term) for case in some) >= DEPTH
    held: Counter[Op] = Counter()
    seen: Counter[Op] = Counter()
    for case in some:
        parts = postorder((case.term,))
        for state in case.states:
            for part, value in zip(parts, scalar.evaluate_all(parts, state), strict=True):
                seen[part.op] += 1
                held[part.op] += bool(value)
    for op in BOOLEAN:
        if op not in WITHOUT_RESULTS_BOTH_WAYS:
            assert 0.2 <= held[op] / seen[op] <= 0.8, (op, held[op], seen[op])
            truths = [row[0] for case, row in zip(some, expected(PAIRS), strict=True) if case.term.op is op]
            assert 0.2 <= sum(map(bool, truths)) / len(truths) <= 0.8, op


def test_pairs_reach_the_corners_of_partial_operators() -> None:
    reached: Counter[str] = Counter()
    for case in corpus(PAIRS):
        for part in postorder((case.term,)):
            if part.op in (Op.DIV, Op.MOD, Op.LOOKUP):
                for state in case.states:
                    args = scalar.evaluate_all(part.args, state)
                    if part.op is Op.LOOKUP:
                        size = len(part.entries)
                        reached["lookup below" if args[0] < 0 else "lookup above" if args[0] >= size else "lookup inside"] += 1
                    else:
                        sign = "zero" if args[1] == 0 else "negative" if args[1] < 0 else "positive"
                        reached[f"{part.op.value} {sign} {'inexact' if args[1] and args[0] % args[1] else 'exact'}"] += 1
    wanted = {f"{op} {kind}" for op in ("div", "mod") for kind in ("zero exact", "negative inexact", "positive inexact", "negative exact")}
    assert {"lookup below", "lookup above", "lookup inside", *wanted} <= set(reached), reached
    assert min(reached.values()) >= 5, reached


def test_every_value_lies_in_the_inferred_interval() -> None:
    for case in corpus(PAIRS):
        parts = postorder((case.term,))
        for state in case.states:
            for part, value in zip(parts, scalar.evaluate_all(parts, state), strict=True):
                assert part.lo <= value <= part.hi, (part, state, value)


def test_simplified_terms_agree_with_the_terms_as_written() -> None:
    bank = TermBank()
    some = corpus(PAIRS)
    simplified = [Case(rebuilt(bank, case.term), case.states) for case in some]
    assert disagreements(simplified, scalar_values(simplified), expected(PAIRS)) == []
    assert sum(len(postorder((case.term,))) for case in simplified) < sum(len(postorder((case.term,))) for case in some)


def test_block_of_all_terms_agrees_with_their_compiled_function() -> None:
    rng = random.Random(7)
    states = [random_state(rng) for _ in range(40)]
    terms = [case.term for case in corpus(PAIRS)[:500]]
    block = vector.evaluate_block(terms, columns_of(states))
    function = scalar.compile_terms(terms)
    for place, state in enumerate(states):
        assert tuple(column[place] for column in block) == function(state)


# A bug planted in each operator of each meaning is caught.

SWAPPED = {
    Op.AND: Op.OR,
    Op.OR: Op.AND,
    Op.IMPLIES: Op.OR,
    Op.IFF: Op.IMPLIES,
    Op.EQ: Op.LE,
    Op.LT: Op.LE,
    Op.LE: Op.LT,
    Op.ADD: Op.MAX,
    Op.SUB: Op.ADD,
    Op.NEG: Op.ABS,
    Op.MUL: Op.ADD,
    Op.DIV: Op.MOD,
    Op.MOD: Op.DIV,
    Op.MIN: Op.MAX,
    Op.MAX: Op.MIN,
    Op.ABS: Op.NEG,
}
"""Operators that a planted bug takes for another; a conditional takes the other branch; the rest are off by one, or denied."""


def _off(meaning: str, sort: Sort, result: Any) -> Any:
    boolean = sort is Sort.BOOL
    match meaning:
        case "scalar":
            return (not result) if boolean else result + 1
        case "compiled":
            return f"(not {result})" if boolean else f"({result} + 1)"
        case "vector":
            return np.logical_not(result) if boolean else result + 1
        case _:
            return z3.Not(result) if boolean else result + 1


def planted(meaning: str, op: Op) -> dict[Op, Any]:
    """The handlers of a meaning with one of them wrong."""
    right = MEANINGS[meaning][1]
    handlers = dict(right)
    if op in SWAPPED:
        handlers[op] = right[SWAPPED[op]]
    elif op is Op.ITE:
        handlers[op] = lambda term, args, *rest: right[op](term, [_off(meaning, Sort.BOOL, args[0]), *args[1:]], *rest)
    else:
        handlers[op] = lambda term, args, *rest: _off(meaning, term.sort, right[op](term, args, *rest))
    return handlers


def cases_about(op: Op, some: Sequence[Case]) -> list[int]:
    """Places of cases with `op` at the root; for a leaf, the first dozen cases."""
    return list(range(12)) if op in LEAVES else [place for place, case in enumerate(some) if case.term.op is op]


def is_caught(meaning: str, op: Op, handlers: Mapping[Op, Any]) -> bool:
    """Whether the agreement check objects to these handlers, on the cases about one operator.

    A wrong value may also leave its interval, and so make another operator divide by zero or leave its table: that shows too.
    """
    some, right = corpus(1_000), expected(1_000)
    places = cases_about(op, some)
    chosen = [some[place] for place in places]
    assert disagreements(chosen, MEANINGS[meaning][0](chosen), [right[place] for place in places]) == []
    try:
        values = MEANINGS[meaning][0](chosen, handlers)
    except (ArithmeticError, IndexError, RuntimeWarning):
        return True
    return disagreements(chosen, [right[place] for place in places], values) != []


@pytest.mark.parametrize("meaning", sorted(MEANINGS))
@pytest.mark.parametrize("op", list(TABLE), ids=lambda op: op.name)
def test_bug_planted_in_an_operator_is_caught(meaning: str, op: Op) -> None:
    assert is_caught(meaning, op, planted(meaning, op))


def _truncated(a: int, b: int) -> int:
    return 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _solver_division(term: Term, args: list[Any], encoder: smt.Encoder, suffix: str) -> Any:
    width, (a, b) = smt._aligned(term, args, encoder, extra=1)
    return encoder.sized(a / b, width, smt.width_of(term.lo, term.hi))


def _solver_remainder(term: Term, args: list[Any], encoder: smt.Encoder, suffix: str) -> Any:
    width, (a, b) = smt._aligned(term, args, encoder)
    return encoder.sized(z3.SRem(a, b), width, smt.width_of(term.lo, term.hi))


SUBTLE: dict[str, tuple[str, Op, Any]] = {
    "scalar division rounds towards zero": ("scalar", Op.DIV, lambda term, args, state: _truncated(*args)),
    "scalar division by zero gives the dividend": ("scalar", Op.DIV, lambda term, args, state: args[0] // args[1] if args[1] else args[0]),
    "scalar remainder has the sign of the dividend": (
        "scalar",
        Op.MOD,
        lambda term, args, state: args[0] - args[1] * _truncated(*args) if args[1] else 0,
    ),
    "scalar look-up counts negative indices from the end": (
        "scalar",
        Op.LOOKUP,
        lambda term, args, state: term.entries[args[0]] if -len(term.entries) <= args[0] < len(term.entries) else 0,
    ),
    "compiled remainder by zero gives the dividend": (
        "compiled",
        Op.MOD,
        lambda term, args, number: f"({args[0]} % d{number} if (d{number} := {args[1]}) else {args[0]})",
    ),
    "vector sum wraps at 64 bits": (
        "vector",
        Op.ADD,
        lambda term, args, columns: (sum(np.asarray(arg).astype(object) for arg in args) + 2**63) % 2**64 - 2**63,
    ),
    "vector look-up clips its index": (
        "vector",
        Op.LOOKUP,
        lambda term, args, columns: np.array(term.entries)[np.clip(np.asarray(args[0]), 0, len(term.entries) - 1).astype(np.int64)],
    ),
    "smt division is the solver's": (
        "smt",
        Op.DIV,
        _solver_division,
    ),
    "smt remainder has the sign of the dividend": (
        "smt",
        Op.MOD,
        _solver_remainder,
    ),
    "smt order is that of unsigned numbers": (
        "smt",
        Op.LT,
        lambda term, args, encoder, suffix: z3.ULT(*smt._aligned(term, args, encoder)[1]),
    ),
}


@pytest.mark.parametrize("name", sorted(SUBTLE))
def test_subtle_bug_is_caught(name: str) -> None:
    meaning, op, handler = SUBTLE[name]
    assert is_caught(meaning, op, {**MEANINGS[meaning][1], op: handler})


@pytest.mark.parametrize("meaning", sorted(MEANINGS))
def test_meaning_that_lacks_an_operator_is_refused_at_import(meaning: str) -> None:
    right = MEANINGS[meaning][1]
    assert set(right) == set(TABLE)
    with pytest.raises(TableError, match="MOD"):
        check_handlers(meaning, {op: handler for op, handler in right.items() if op is not Op.MOD})
