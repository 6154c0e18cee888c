"""What the tests of terms share: a bank with a few fields, and the value of a term in every meaning."""

from __future__ import annotations

from typing import Any

import numpy as np
import z3

from icore_kernel.meaning.scalar import compile_terms, evaluate
from icore_kernel.meaning.smt import Encoder
from icore_kernel.meaning.vector import evaluate_block
from icore_kernel.terms.show import show
from icore_kernel.terms.table import Sort
from icore_kernel.terms.term import Term, TermBank, variables

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
