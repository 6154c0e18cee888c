"""Lemmas: facts of reachable states that are found, not given (Houdini over clauses of two literals).

Random runs say which short clauses may be true: `x` or `not x` of each value of a field, and pairs of these. Z3 then drops every
guess that some step from a state with all the remaining ones could break, until none can: what is left is inductive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import z3

from icore_kernel.explore.judge import successor
from icore_kernel.meaning.smt import Result
from icore_kernel.prove.guesses import Guesses
from icore_kernel.prove.samples import Samples, reachable_states
from icore_kernel.prove.solver import Disagreement, Solver
from icore_kernel.prove.steps import Steps
from icore_kernel.terms.node import Term
from icore_kernel.terms.term import TermBank

SAMPLES = 3_000


@dataclass(frozen=True, slots=True)
class Found:
    """`lemmas` hold initially and are kept by every step from a feasible state with all of them.

    That they hold in every reachable state needs one thing more: that the environment cannot leave feasibility from such a state
    (Lemma 2 of its updates). `guesses`: how many were tried; `whole`: on all reachable states, which are few.
    """

    lemmas: tuple[Term, ...]
    guesses: int
    samples: int
    rounds: int
    seconds: float
    complete: bool = True
    whole: bool = False


class Houdini:
    """Drops guesses until every step keeps all that are left.

    Clauses that share their first literal `a` are one formula, `a or (b and c and …)`: building them one by one took longer
    than solving.
    """

    def __init__(self, steps: Steps, guesses: Guesses, deadline: float) -> None:
        self.steps = steps
        self.bank: TermBank = steps.bank
        self.guesses = guesses
        self.deadline = deadline
        self.solver = Solver(steps.system, steps.bank)
        self.solver.deadline = deadline
        self.rounds = 0
        for part in steps.feasible:
            self.solver.fact(part)
        self._later: dict[int, dict[int, Any]] = {}

    def run(self) -> bool:
        """Whether it came to its end in time; what is left is then inductive."""
        if not self._base():
            return False
        changed = True
        while changed and self.guesses:
            self.rounds += 1
            changed = False
            epoch = self.solver.literal()
            self.solver.core.add(z3.Implies(epoch, self._all(self.solver)))
            for number in range(len(self.steps)):
                said = self._step(epoch, number)
                if said is None:
                    return False
                changed |= said
            self.solver.core.add(z3.Not(epoch))
        return True

    def kept(self) -> tuple[Term, ...]:
        terms = self.guesses.terms
        return tuple(dict.fromkeys(self.bank.or_(terms[a ^ 1], terms[b]) for a, b in sorted(self.guesses.edges)))

    def _all(self, solver: Solver) -> Any:
        """Every clause that is left."""
        terms, make = self.guesses.terms, solver.encoder
        parts = []
        for a, others in self.guesses.clauses().items():
            seconds = make.junction(z3.Z3_mk_and, [make.encode(terms[b]) for b in others], True)
            parts.append(make.junction(z3.Z3_mk_or, [make.encode(terms[a]), seconds], False))
        return make.junction(z3.Z3_mk_and, parts, True)

    def _base(self) -> bool:
        """Every initial state has them all."""
        solver = Solver(self.steps.system, self.bank)
        solver.deadline = self.deadline
        solver.fact(self.steps.start())
        while self.guesses:
            some = solver.literal()
            solver.core.add(z3.Implies(some, z3.Not(self._all(solver))))
            answer = solver.solve([some])
            if answer.result is Result.UNSAT:
                return True
            if answer.state is None:
                return False
            if not self.guesses.drop(answer.state):
                raise Disagreement("an initial state that the solver found breaks no guess in the scalar meaning")
        return True

    def _step(self, epoch: Any, number: int) -> bool | None:
        """Whether the step of this update made guesses drop; None when the time was up."""
        move = self.steps.move(number)
        guard = self.solver.switch(self.steps.commits(number))
        make, terms = self.solver.encoder, self.guesses.terms
        later = self._later.setdefault(number, {})
        changed = False

        def false(place: int) -> Any:
            if place not in later:
                later[place] = make.encode(self.bank.not_(move.then(terms[place])))
            return later[place]

        while True:
            breaks: list[Any] = []
            for a, others in self.guesses.clauses().items():
                touched = bool(terms[a].reads & move.written)
                seconds = [false(b) for b in others if touched or terms[b].reads & move.written]
                if seconds:
                    second = make.junction(z3.Z3_mk_or, seconds, False)
                    breaks.append(make.junction(z3.Z3_mk_and, [false(a), second], True))
            if not breaks:
                return changed
            some = self.solver.literal()
            self.solver.core.add(make.junction(z3.Z3_mk_or, [z3.Not(some), *breaks], False))
            answer = self.solver.solve([epoch, guard, some])
            self.solver.core.add(z3.Not(some))
            if answer.result is Result.UNSAT:
                return changed
            if answer.state is None:
                return None
            if not self.guesses.drop(successor(move.update, answer.state)):
                raise Disagreement(f"{move.update.name}: a step that the solver found breaks no guess in the scalar meaning")
            changed = True


def find_lemmas(steps: Steps, seconds: float, extra: Sequence[Term] = (), samples: Samples | None = None) -> Found:
    """Guess, and drop what some step breaks. `extra`: formulas to guess about too."""
    started = perf_counter()
    deadline = started + seconds
    if samples is None:
        samples = reachable_states(steps.system, SAMPLES, seconds / 4)
    guesses = Guesses(steps, samples.states, extra)
    houdini = Houdini(steps, guesses, deadline)
    complete = houdini.run()
    lemmas = houdini.kept() if complete else ()
    seconds = perf_counter() - started
    return Found(lemmas, guesses.made, len(samples.states), houdini.rounds, seconds, complete, samples.whole)
