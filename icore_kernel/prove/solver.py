"""One prepared solver for many questions over the states of a system: facts for good, switched formulas, replayable models.

Measured on the examples for Lemma 2 (some 300 questions each): Z3's plain core with the facts asserted for good answers in a
fifth of the time of its bit-vector solver with everything switched on by assumptions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import z3

from icore_kernel.explore.model import State
from icore_kernel.meaning.smt import Encoder, Result
from icore_kernel.system import System
from icore_kernel.terms.node import Term
from icore_kernel.terms.table import Variable
from icore_kernel.terms.term import TermBank

TIMEOUT_MS = 5_000
"""For one question, where nothing else is said: a solver that needs longer is `unknown`."""

EASY = 250_000
"""Z3's own measure of effort, some quarter of a second. Up to it a question needs no time limit, which would start a thread each time."""
CANCELED, INTERRUPTED = "canceled", "interrupted from keyboard"
"""Why Z3 gave up, in its words: at a limit or at Ctrl-C; at Ctrl-C."""
_EASY_SECONDS = 0.25
_NO_TIMEOUT = 2**32 - 1


@dataclass(frozen=True, slots=True)
class Answer:
    """UNSAT: nothing satisfies what was asked, and `core` are the assumptions that were used. SAT: `state` does. UNKNOWN: `reason`."""

    result: Result
    state: State | None = None
    core: tuple[Term, ...] = ()
    reason: str = ""
    seconds: float = 0.0


class Disagreement(AssertionError):
    """Two meanings, or two engines, disagree: an internal error, never a verdict."""


def variables_of(system: System, bank: TermBank) -> tuple[Variable, ...]:
    """The variable of every field, in their order."""
    return tuple(f.term(bank).variable for f in system.fields)


class Solver:
    """`suffix` names the copy of the variables that a formula is about: '' for the one state most questions are about.

    `encoder`: of other questions about the same system, so that no formula is encoded twice.
    """

    def __init__(self, system: System, bank: TermBank, timeout_ms: int = TIMEOUT_MS, encoder: Encoder | None = None) -> None:
        self.system = system
        self.bank = bank
        self.timeout_ms = timeout_ms
        self.deadline: float | None = None
        """Of `perf_counter`: no question goes on beyond it."""
        self.encoder = Encoder() if encoder is None else encoder
        self.variables = variables_of(system, bank)
        self.core = z3.SimpleSolver()
        self.core.set("random_seed", 0)
        self.core.set("rlimit", EASY)
        self.core.set("ctrl_c", False)
        self._switches: dict[tuple[Term, bool, str], Any] = {}
        self._fresh = 0
        self.copy("")

    def copy(self, suffix: str) -> None:
        """One more copy of the state, in its domains."""
        self.core.add(*self.encoder.domains(self.variables, suffix))

    def fact(self, term: Term, suffix: str = "") -> None:
        """True from now on."""
        if not term.is_true:
            self.core.add(self.encoder.encode(term, suffix))

    def literal(self) -> Any:
        """A Boolean of its own."""
        self._fresh += 1
        return z3.Bool(f"switch!{self._fresh}")

    def switch(self, term: Term, holds: bool = True, suffix: str = "") -> Any:
        """The literal that, assumed, makes `term` true (or false)."""
        key = (term, holds, suffix)
        known = self._switches.get(key)
        if known is None:
            formula = self.encoder.encode(term, suffix)
            known = self._switches[key] = self.literal()
            self.core.add(z3.Implies(known, formula if holds else z3.Not(formula)))
        return known

    def ask(self, assumed: Sequence[Term], goal: Term | None = None, core: bool = False) -> Answer:
        """Does some state satisfy the facts, what is assumed, and not the goal?"""
        switches = {self.switch(term): term for term in assumed}
        literals = list(switches)
        if goal is not None:
            literals.append(self.switch(goal, False))
        answer = self.solve(literals)
        if core and answer.result is Result.UNSAT:
            used = {literal.get_id() for literal in self.core.unsat_core()}
            return Answer(Result.UNSAT, core=tuple(t for s, t in switches.items() if s.get_id() in used), seconds=answer.seconds)
        return answer

    def solve(self, literals: Sequence[Any], suffix: str = "") -> Answer:
        """Whether the facts hold together with the literals; the state of a model is that of the copy `suffix`."""
        started = perf_counter()
        limit = self.timeout_ms if self.deadline is None else min(self.timeout_ms, int(1000 * (self.deadline - started)))
        if limit < 1:
            return Answer(Result.UNKNOWN, reason="the time is up")
        said = self._check(literals) if limit > 1000 * _EASY_SECONDS else z3.Z3_L_UNDEF
        if said == z3.Z3_L_UNDEF:
            said = self._check_long(literals, limit)
        seconds = perf_counter() - started
        if said == z3.Z3_L_FALSE:
            return Answer(Result.UNSAT, seconds=seconds)
        if said == z3.Z3_L_TRUE:
            return Answer(Result.SAT, self.state(self.core.model(), suffix), seconds=seconds)
        return Answer(Result.UNKNOWN, reason=self.core.reason_unknown(), seconds=seconds)

    def _check(self, literals: Sequence[Any]) -> int:
        # By the C interface, which takes literals as they are: with hundreds of them the conversion took longer than the answer.
        asked = (z3.Ast * len(literals))(*(literal.ast for literal in literals))
        answer: int = z3.Z3_solver_check_assumptions(self.core.ctx.ref(), self.core.solver, len(literals), asked)
        return answer

    def _check_long(self, literals: Sequence[Any], limit: int) -> int:
        """With a limit in milliseconds instead of one of effort; Z3 then ends at Ctrl-C, which it takes for itself: it is handed on."""
        self.core.set("rlimit", 0)
        self.core.set("timeout", limit)
        self.core.set("ctrl_c", True)
        started = perf_counter()
        said = self._check(literals)
        # Well before the limit: one that ended at it is never taken for an interruption.
        early = 1000 * (perf_counter() - started) < 0.9 * limit
        self.core.set("ctrl_c", False)
        self.core.set("timeout", _NO_TIMEOUT)
        self.core.set("rlimit", EASY)
        if said == z3.Z3_L_UNDEF and early and self.core.reason_unknown() in (CANCELED, INTERRUPTED):
            raise KeyboardInterrupt
        return said

    def state(self, model: Any, suffix: str = "") -> State:
        """The state that a model gives to a copy of the variables; what the model leaves open has its least code."""
        found = self.encoder.decode(model, self.variables, suffix)
        return tuple(found.get(f.index, f.domain.lo) for f in self.system.fields)
