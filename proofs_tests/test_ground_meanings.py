"""Three meanings of grounded systems: on every example, every term of the system is the same number by the scalar, the vector and
the solver's meaning, on states drawn from the whole product of the domains (most of them unreachable) and on reachable ones."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import z3
from conftest import CHECKOUT

from icore_kernel import api
from icore_kernel.explore.model import Rules, State
from icore_kernel.meaning import scalar, smt, vector
from icore_kernel.system import DomainKind, System
from icore_kernel.terms.term import Term, variables

NIGHTLY = os.environ.get("ICORE_TESTS") == "nightly"
VECTOR_STATES = 400
SOLVER_STATES = 200 if NIGHTLY else 8
SOLVER_TERMS = 4_000 if NIGHTLY else 60
EXAMPLES = sorted((CHECKOUT / "examples").glob("*.icore"))
CASES = sorted(p for p in (CHECKOUT / "proofs_tests" / "cases" / "semantics").glob("*.icore"))


def terms_of(system: System) -> Iterator[Term]:
    """Clauses, measures, properties, watches; guards, values and legality of every update."""
    for clauses in (system.feasibility, system.soundness, system.accept, system.reject, system.stuck, system.outcomes):
        yield from (clause.formula for clause in clauses)
    yield system.initially
    for measure in system.measures:
        yield measure.ratio.num
        yield measure.ratio.den
    yield from (p.formula for p in system.properties)
    yield from (w.formula for w in system.watches)
    for update in system.updates:
        yield from (update.when, update.requires, update.defined)
        yield from (write.value for write in update.writes)
        yield from (clause.formula for clause in (*update.before, *update.after))


def draw(system: System, chance: random.Random, count: int) -> list[State]:
    """Random states of the whole product, and reachable ones."""
    states = [tuple(chance.randint(f.domain.lo, f.domain.hi) for f in system.fields) for _ in range(count * 3 // 4)]
    return [*states, *reachable(system, count - len(states))]


def reachable(system: System, count: int) -> list[State]:
    from icore_kernel.explore.search import explore

    found = explore(system, rules=Rules(max_states=max(count, 1)))
    return [found.store.state(i) for i in range(min(count, found.states))]


def columns(system: System, states: Sequence[State]) -> dict[int, Any]:
    return {
        f.index: np.array([s[f.index] for s in states], dtype=bool if f.domain.kind is DomainKind.BOOL else np.int64) for f in system.fields
    }


@pytest.mark.parametrize("path", [*EXAMPLES, *CASES], ids=lambda p: p.stem)
def test_scalar_and_vector_agree_on_every_term(path: Path) -> None:
    system = api.load(path).system
    if not system.fields:
        pytest.skip("nothing of this package can change")
    terms = list(dict.fromkeys(terms_of(system)))
    states = draw(system, random.Random(path.stem), VECTOR_STATES if path in EXAMPLES else 60)
    compiled = scalar.compile_terms(tuple(terms), scalar.WRITERS)
    by_scalar = [compiled(state) for state in states]
    block = vector.evaluate_block(terms, columns(system, states))
    for number, column in enumerate(block):
        expected = [int(row[number]) for row in by_scalar]
        assert [int(v) for v in np.broadcast_to(column, len(states)).tolist()] == expected, terms[number]
    if path in EXAMPLES:
        varied = [n for n in range(len(terms)) if len({row[n] for row in by_scalar}) > 1]
        assert len(varied) > len(terms) // 4, "the states say too little"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_the_solver_agrees_on_every_clause_and_on_terms_of_every_kind(path: Path) -> None:
    system = api.load(path).system
    chance = random.Random(path.stem)
    terms = [t for t in dict.fromkeys(terms_of(system)) if t.reads]
    clauses = {c.formula for group in (system.feasibility, system.soundness, system.accept, system.reject) for c in group}
    chosen = [t for t in terms if t in clauses]
    rest = [t for t in terms if t not in clauses]
    chosen += rest if len(rest) <= SOLVER_TERMS else chance.sample(rest, SOLVER_TERMS)
    states = draw(system, chance, SOLVER_STATES)
    encoder = smt.Encoder()
    for term in chosen:
        expression = encoder.encode(term)
        for state in states:
            pairs = []
            for variable in variables(term):
                symbol, code = encoder.variable(variable), state[variable.index]
                pairs.append((symbol, z3.BoolVal(bool(code)) if variable.boolean else z3.BitVecVal(code, symbol.size())))
            found = z3.simplify(z3.substitute(expression, *pairs))
            number = found.as_signed_long() if z3.is_bv_value(found) else int(z3.is_true(found))
            assert z3.is_bv_value(found) or z3.is_true(found) or z3.is_false(found)
            assert number == int(scalar.evaluate(term, state)), term
