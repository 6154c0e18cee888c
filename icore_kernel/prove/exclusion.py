"""Acc and Rej exclude each other: for every state, by Z3 (section 3.3; the last paragraph of D.5's proof)."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter

from icore_kernel.meaning.smt import Encoder, Question, Result
from icore_kernel.prove.solver import variables_of
from icore_kernel.system import System
from icore_kernel.terms.node import Term
from icore_kernel.terms.term import TermBank
from icore_kernel.verdict import Obligation

TIMEOUT_MS = 20_000
"""For one question: a solver that needs longer is `unknown`."""


@dataclass(frozen=True, slots=True)
class Exclusion:
    """answer: `unsat` (proved), `sat` (some state, perhaps unreachable, has both: `state`), or `unknown` (`reason`)."""

    answer: str
    obligation: Obligation
    state: tuple[int, ...] | None = None
    reason: str = ""


def exclude(system: System, bank: TermBank, accept: Term, reject: Term, seconds: float | None = None) -> Exclusion:
    """Is there a state of the fields' domains in which both hold? `seconds`: what is left for it, where that is less than TIMEOUT_MS."""
    started = perf_counter()
    limit = TIMEOUT_MS if seconds is None else max(1, min(TIMEOUT_MS, int(1000 * seconds)))
    answer = Question(Encoder(), variables_of(system, bank)).ask([accept], bank.not_(reject), limit)
    seconds = perf_counter() - started
    obligation = Obligation("Acc and Rej exclude each other", answer.result.value, seconds)
    match answer.result:
        case Result.UNSAT:
            return Exclusion("unsat", obligation)
        case Result.SAT:
            found = answer.state or {}
            return Exclusion("sat", obligation, tuple(found.get(f.index, f.domain.lo) for f in system.fields))
        case Result.UNKNOWN:
            return Exclusion("unknown", obligation, reason=answer.reason)
