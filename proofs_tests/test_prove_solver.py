"""The prepared solver: easy questions without a time limit, hard ones with it, and Ctrl-C in the middle of one."""

from __future__ import annotations

import os
import signal
import threading
import time
from random import Random

import pytest
import strategies_systems
import z3
from systems_by_hand import Draft

from icore_kernel.explore.model import Rules
from icore_kernel.explore.scalar_search import initial_states
from icore_kernel.explore.tally import Clock
from icore_kernel.meaning.smt import Result
from icore_kernel.prove import solver as module
from icore_kernel.prove.first import first_start
from icore_kernel.prove.solver import Solver
from icore_kernel.system import Domain, DomainKind, Field, System
from icore_kernel.terms.term import TermBank


def hard(solver: Solver) -> z3.BoolRef:
    """A literal that asks for the factors of a product of two numbers near 2**40: minutes and more."""
    p, q, some = z3.BitVec("p", 96), z3.BitVec("q", 96), z3.Bool("some")
    product = (2**40 - 87) * (2**40 + 15)
    solver.core.add(z3.Implies(some, z3.And(p * q == product, z3.ULT(p, 2**41), z3.ULT(q, 2**41), z3.UGT(p, 1), z3.UGT(q, p))))
    return some


def counted(solver: Solver, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is set on the core, in order."""
    told: list[str] = []
    core = solver.core

    class Told:
        def __getattr__(self, name: str) -> object:
            return getattr(core, name)

        def set(self, name: str, value: int) -> None:
            told.append(name)
            core.set(name, value)

    monkeypatch.setattr(solver, "core", Told())
    return told


def test_an_easy_question_sets_no_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    draft = Draft((0, 7))
    solver = Solver(draft.system([]), draft.bank)
    told = counted(solver, monkeypatch)
    below, above = draft.bank.lt(draft.x(), draft.n(3)), draft.bank.lt(draft.n(5), draft.x())
    assert solver.ask([below]).state is not None
    assert solver.ask([below, above]).result is Result.UNSAT
    assert told == []


def test_a_hard_question_is_unknown_at_its_time_limit_and_the_next_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "EASY", 20_000)
    draft = Draft((0, 7))
    solver = Solver(draft.system([]), draft.bank, timeout_ms=600)
    some = hard(solver)
    told = counted(solver, monkeypatch)
    began = time.monotonic()
    answer = solver.solve([some])
    assert (answer.result, answer.reason != "") == (Result.UNKNOWN, True)
    assert time.monotonic() - began < 60  # minutes without a limit
    assert told == ["rlimit", "timeout", "ctrl_c", "ctrl_c", "timeout", "rlimit"]
    assert solver.ask([draft.is_(4)]).state == (4,)
    solver.deadline = began
    assert solver.solve([]).reason == "the time is up"


def test_what_is_too_hard_without_a_limit_is_answered_with_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "EASY", 1)
    draft = Draft((0, 7), (0, 7))
    bank = draft.bank
    solver = Solver(draft.system([]), bank)
    told = counted(solver, monkeypatch)
    seven = bank.eq(bank.add(draft.x(0), draft.x(1)), bank.integer(7))
    answer = solver.ask([seven, bank.lt(draft.x(1), draft.x(0)), bank.le(draft.n(2), draft.x(1))])
    assert answer.state is not None and sum(answer.state) == 7 and 2 <= answer.state[1] < answer.state[0]
    assert "timeout" in told


@pytest.mark.parametrize("after", [0.02, 0.8], ids=["while it may be easy", "when it is hard"])
def test_ctrl_c_in_the_middle_of_a_question_is_not_taken_for_an_answer(after: float) -> None:
    draft = Draft((0, 7))
    solver = Solver(draft.system([]), draft.bank, timeout_ms=120_000)
    some = hard(solver)
    timer = threading.Timer(after, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            solver.solve([some])
    finally:
        timer.cancel()


FIELDS = (
    Field("a", Domain(DomainKind.INT, -2, 3), 0),
    Field("b", Domain(DomainKind.BOOL, 0, 1), 1),
    Field("c", Domain(DomainKind.ENUM, 0, 2, ("x", "y", "z")), 2),
    Field("d", Domain(DomainKind.INT, 5, 9), 3),
)


def test_the_first_initial_state_is_that_which_going_through_them_finds() -> None:
    """Under random conditions, with `d` fixed or not; some have no initial state, and the first is not always that of the least values."""
    seen = set()
    for seed in range(60):
        bank, random = TermBank(), Random(seed)
        draft = strategies_systems.Draft(bank, random, list(FIELDS), [field.term(bank) for field in FIELDS])
        condition = bank.and_(*(draft.formula() for _ in range(3)))
        system = System("Random", "", FIELDS, (-2, 0, 0, 7), FIELDS[: random.choice((3, 4))], condition, ())
        found = first_start(system, bank, 10.0)
        expected = next(initial_states(system, Clock(Rules())), None)
        assert found.state == expected
        assert found.result is (Result.UNSAT if expected is None else Result.SAT)
        seen.add((expected is None, expected in {(-2, 0, 0, 5), (-2, 0, 0, 7)}))
    assert seen == {(True, False), (False, True), (False, False)}
