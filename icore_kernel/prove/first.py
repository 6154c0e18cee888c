"""The first initial state, by the solver: where the fields that start anywhere have too many combinations to be gone through."""

from __future__ import annotations

from time import perf_counter

from icore_kernel.meaning import scalar
from icore_kernel.meaning.smt import Result
from icore_kernel.prove.solver import Answer, Disagreement, Solver
from icore_kernel.prove.steps import Steps, equals
from icore_kernel.system import System
from icore_kernel.terms.term import TermBank


def first_start(system: System, bank: TermBank, seconds: float) -> Answer:
    """SAT: the first one, in lexical order of the free fields, as going through them would find it. UNSAT: there is none. UNKNOWN: the
    solver gave up, or `seconds` were over."""
    steps = Steps(system, bank)
    solver = Solver(system, bank, int(1000 * seconds), steps.encoder)
    solver.deadline = perf_counter() + seconds
    start = steps.start()
    solver.fact(start)
    answer = solver.ask([])
    if answer.state is None:
        return answer
    state = answer.state
    for field in system.free:
        variable = field.term(bank)
        low, high = field.domain.lo, state[field.index]
        while low < high:  # the least value is one of low..high
            middle = (low + high) // 2
            tried = solver.ask([bank.not_(variable) if variable.variable.boolean else bank.le(variable, bank.integer(middle))])
            if tried.result is Result.UNKNOWN:
                return tried
            if tried.state is None:
                low = middle + 1
            else:
                answer, state = tried, tried.state
                high = state[field.index]
        solver.fact(equals(bank, variable, high))
    if not scalar.evaluate(start, state):
        raise Disagreement("the initial state that the solver found is none")
    return answer
