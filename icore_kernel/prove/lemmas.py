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
from icore_kernel.prove.samples import reachable_states
from icore_kernel.prove.solver import Disagreement, Solver
from icore_kernel.prove.steps import Steps
from icore_kernel.terms.node import Term
from icore_kernel.terms.term import TermBank

SAMPLES = 3_000

Clauses = dict[int, tuple[int, ...]]
"""Clauses of two literals: the first, and those that stand second beside it."""


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
        self.solver = Solver(steps.system, steps.bank, encoder=steps.encoder)
        self.solver.deadline = deadline
        self.rounds = 0
        for part in steps.feasible:
            self.solver.fact(part)
        self._later: dict[int, dict[int, Any]] = {}
        self._breaks: dict[tuple[int, int], tuple[tuple[int, ...], Any]] = {}
        self._written: dict[int, list[bool]] = {}
        self._facts: dict[int, tuple[tuple[int, ...], Any, int]] = {}
        self._now: tuple[Clauses | None, dict[int, int]] = (None, {})
        """The clauses as they were when their literals were last asked for, and these."""
        self._proofs: dict[int, tuple[Clauses, Clauses]] = {}
        """Of each update what was last proved of its step, and the clauses that the proof used."""

    def run(self) -> bool:
        """Whether it came to its end in time; what is left is then inductive."""
        if not self._base():
            return False
        changed = True
        while changed and self.guesses:
            self.rounds += 1
            changed = False
            for number in range(len(self.steps)):
                said = self._step(number)
                if said is None:
                    return False
                changed |= said
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
        solver = Solver(self.steps.system, self.bank, encoder=self.steps.encoder)
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

    def _step(self, number: int) -> bool | None:
        """Whether the step of this update made guesses drop; None when the time was up."""
        move = self.steps.move(number)
        guard = self.solver.switch(self.steps.commits(number))
        changed = False
        while True:
            asked = self._touched(number)
            if not asked or self._still(number, asked):
                return changed
            assumed = self._assumed()
            some = self.solver.literal()
            breaks = [self._break(number, a, others) for a, others in asked.items()]
            self.solver.core.add(self.solver.encoder.junction(z3.Z3_mk_or, [z3.Not(some), *breaks], False))
            answer = self.solver.solve([guard, some, *(self._facts[a][1] for a in assumed.values())])
            if answer.result is Result.UNSAT:
                used = {literal.get_id() for literal in self.solver.core.unsat_core()}
                self._proofs[number] = (asked, {a: self._facts[a][0] for name, a in assumed.items() if name in used})
                self.solver.core.add(z3.Not(some))
                return changed
            self.solver.core.add(z3.Not(some))
            if answer.state is None:
                return None
            if not self.guesses.drop(successor(move.update, answer.state)):
                raise Disagreement(f"{move.update.name}: a step that the solver found breaks no guess in the scalar meaning")
            changed = True

    def _assumed(self) -> dict[int, int]:
        """A literal for the clauses of each first literal, as they are now: its identity in Z3 -> the first literal."""
        clauses = self.guesses.clauses()
        if clauses is self._now[0]:
            return self._now[1]
        make, terms = self.solver.encoder, self.guesses.terms
        found: dict[int, int] = {}
        for a, others in clauses.items():
            known = self._facts.get(a)
            if known is None or known[0] != others:
                if known is not None:
                    self.solver.core.add(z3.Not(known[1]))
                literal = self.solver.literal()
                seconds = make.junction(z3.Z3_mk_and, [make.encode(terms[b]) for b in others], True)
                self.solver.core.add(make.junction(z3.Z3_mk_or, [z3.Not(literal), make.encode(terms[a]), seconds], False))
                known = self._facts[a] = (others, literal, literal.get_id())
            found[known[2]] = a
        self._now = (clauses, found)
        return found

    def _still(self, number: int, asked: Clauses) -> bool:
        """The last proof about this update asked as much, and every clause that it used is left."""
        known = self._proofs.get(number)
        if known is None:
            return False
        now = self.guesses.clauses()
        return all(now.get(a) == others for a, others in known[1].items()) and all(
            others == known[0].get(a) or set(others) <= set(known[0].get(a, ())) for a, others in asked.items()
        )

    def _touched(self, number: int) -> Clauses:
        """Of the clauses that are left, those that this update writes."""
        written, terms = self.steps.move(number).written, self.guesses.terms
        touched = self._written.get(number)
        if touched is None:
            touched = self._written[number] = [bool(term.reads & written) for term in terms]
        found: Clauses = {}
        for a, others in self.guesses.clauses().items():
            seconds = others if touched[a] else tuple(b for b in others if touched[b])
            if seconds:
                found[a] = seconds
        return found

    def _break(self, number: int, a: int, others: tuple[int, ...]) -> Any:
        """After this update `a` is false, and one of the others too. Encoded once while the clauses stay as they are."""
        known = self._breaks.get((number, a))
        if known is None or known[0] != others:
            make = self.solver.encoder
            second = make.junction(z3.Z3_mk_or, [self._false(number, b) for b in others], False)
            known = self._breaks[number, a] = (others, make.junction(z3.Z3_mk_and, [self._false(number, a), second], True))
        return known[1]

    def _false(self, number: int, place: int) -> Any:
        later = self._later.setdefault(number, {})
        if place not in later:
            later[place] = self.solver.encoder.encode(self.bank.not_(self.steps.move(number).then(self.guesses.terms[place])))
        return later[place]


def find_lemmas(steps: Steps, seconds: float, extra: Sequence[Term] = ()) -> Found:
    """Guess, and drop what some step breaks. `extra`: formulas to guess about too."""
    started = perf_counter()
    deadline = started + seconds
    samples = reachable_states(steps.system, SAMPLES, seconds / 4)
    guesses = Guesses(steps, samples.states, extra)
    houdini = Houdini(steps, guesses, deadline)
    complete = houdini.run()
    lemmas = houdini.kept() if complete else ()
    seconds = perf_counter() - started
    return Found(lemmas, guesses.made, len(samples.states), houdini.rounds, seconds, complete, samples.whole)
