"""Invariants for every reachable state without visiting them: as given, with the theory, with lemmas, k-inductive, by reachability.

The ways are tried from the plainest on. What is answered is `proved`, a run that violates, or nothing (`unknown`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from time import perf_counter

from icore_kernel.explore.model import Path, State
from icore_kernel.meaning.smt import Result
from icore_kernel.prove.pdr import reach
from icore_kernel.prove.relation import Relation, replayed
from icore_kernel.prove.solver import Solver
from icore_kernel.prove.steps import Steps
from icore_kernel.terms.node import Term

MOST_STEPS = 3
"""k-induction is tried up to this k: what needs more is better left to reachability."""


class Way(Enum):
    """How an invariant was proved; the text is what a report says of it."""

    AS_GIVEN = "inductive as given"
    FOLLOWS = "follows from feasibility"
    WITH_THEORY = "inductive with the clauses of feasibility"
    FOLLOWS_LEMMAS = "follows from feasibility and the lemmas"
    WITH_LEMMAS = "inductive with feasibility and the lemmas"
    K_INDUCTIVE = "k-inductive"
    REACHABILITY = "strengthened by reachability"


@dataclass(frozen=True, slots=True)
class Invariant:
    """`way` None: not proved. `lemmas`: what holds beside the goal and the facts that were given; `k`: steps of the induction.

    `path` leads to a state that breaks the goal; `state`: a state from which a step breaks it, where no plain induction does
    (perhaps unreachable), `update` the step.
    """

    name: str
    goal: Term
    way: Way | None
    lemmas: tuple[Term, ...] = ()
    k: int = 1
    path: Path | None = None
    state: State | None = None
    update: int | None = None
    seconds: float = 0.0
    reason: str = ""

    @property
    def inductive_as_given(self) -> bool:
        return self.way is Way.AS_GIVEN


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of every reachable state. `closed`: feasibility is, with the lemmas; `bare`: feasibility alone already."""

    lemmas: tuple[Term, ...] = ()
    closed: bool = False
    bare: bool = False


class Induction:
    """The invariants of one system."""

    def __init__(self, steps: Steps, facts: Facts, deadline: float) -> None:
        self.steps = steps
        self.bank = steps.bank
        self.facts = facts
        self.deadline = deadline
        self.deadline_of_goal = deadline
        self._start: Solver | None = None
        self._solvers: dict[tuple[Term, ...], Solver] = {}

    def prove(self, name: str, goal: Term, proved: Sequence[Term] = (), seconds: float = 10.0, hard: bool = True) -> Invariant:
        """`proved` are invariants that were proved before, and serve as lemmas. Not `hard`: one step of induction is all that is tried."""
        started = perf_counter()
        self.deadline_of_goal = min(self.deadline, started + seconds)

        def answer(way: Way | None, **rest: object) -> Invariant:
            return Invariant(name, goal, way, seconds=perf_counter() - started, **rest)  # type: ignore[arg-type]

        first = self._outside_start(goal)
        if first is not None:
            return answer(None, path=replayed(self.steps.system, [first], []))
        given = self._step((), goal)
        if given is True:
            return answer(Way.AS_GIVEN)
        state, update = given if isinstance(given, tuple) else (None, None)
        feasible = self.steps.feasible
        levels: list[tuple[tuple[Term, ...], Way, Way]] = []
        if self.facts.bare:
            levels.append((feasible, Way.FOLLOWS, Way.WITH_THEORY))
        if self.facts.closed and self.facts.lemmas:
            levels.append(((*feasible, *self.facts.lemmas), Way.FOLLOWS_LEMMAS, Way.WITH_LEMMAS))
        for facts, follows, inductive in levels:
            if self._solver(facts).ask(proved, goal).result is Result.UNSAT:
                return answer(follows, state=state, update=update)
            if self._step(facts, goal, proved, audited=True) is True:
                return answer(inductive, state=state, update=update)
        if not levels:
            return answer(None, state=state, update=update, reason="feasibility is not proved to be kept")
        if not hard:
            return answer(None, state=state, update=update, reason="not inductive")
        facts = (*levels[-1][0], *proved)
        for k in range(2, MOST_STEPS + 1):
            if self._late():
                return answer(None, state=state, update=update, reason="the time is up")
            if self._k_step(facts, goal, k):
                return answer(Way.K_INDUCTIVE, k=k, state=state, update=update)
        left = self.deadline_of_goal - perf_counter()
        if left <= 0:
            return answer(None, state=state, update=update, reason="the time is up")
        found = reach(self.steps, facts, goal, left)
        if found.lemmas is not None:
            return answer(Way.REACHABILITY, lemmas=found.lemmas, state=state, update=update)
        return answer(None, path=found.path, state=state, update=update, reason=found.reason)

    def _late(self) -> bool:
        return perf_counter() > self.deadline_of_goal

    def _solver(self, facts: tuple[Term, ...]) -> Solver:
        known = self._solvers.get(facts)
        if known is None:
            known = self._solvers[facts] = Solver(self.steps.system, self.bank, encoder=self.steps.encoder)
            for fact in facts:
                known.fact(fact)
        known.deadline = self.deadline_of_goal
        return known

    def _outside_start(self, goal: Term) -> State | None:
        if self._start is None:
            self._start = Solver(self.steps.system, self.bank, encoder=self.steps.encoder)
            self._start.fact(self.steps.start())
        self._start.deadline = self.deadline_of_goal
        return self._start.ask([], goal).state

    def _step(
        self, facts: tuple[Term, ...], goal: Term, proved: Sequence[Term] = (), audited: bool = False
    ) -> bool | tuple[State, int] | None:
        """Whether every update keeps the goal; else a state and an update that break it; None where the solver gave up.

        `audited`: what the audit refuses does not happen (that needs feasibility among the facts).
        """
        solver = self._solver(facts)
        for number in range(len(self.steps)):
            move = self.steps.move(number)
            after = move.then(goal)
            if after is goal or after.is_true:
                continue
            answer = solver.ask([*proved, goal, self.steps.commits(number) if audited else move.guard], after)
            if answer.state is not None:
                return answer.state, number
            if answer.result is not Result.UNSAT:
                return None
        return True

    def _k_step(self, facts: tuple[Term, ...], goal: Term, k: int) -> bool:
        """No run of k steps through states with the facts and the goal ends in one without; and none from the start is shorter."""
        solver = Solver(self.steps.system, self.bank, encoder=self.steps.encoder)
        solver.deadline = self.deadline_of_goal
        relation = Relation(solver, self.steps)
        for number in range(k + 1):
            here = f"@{number}"
            solver.copy(here)
            for fact in facts:
                solver.fact(fact, here)
            if number < k:
                solver.fact(goal, here)
        for number in range(k):
            relation.join(f"@{number}", f"@{number + 1}")
        if solver.solve([solver.switch(goal, False, f"@{k}")]).result is not Result.UNSAT:
            return False
        start = Solver(self.steps.system, self.bank, encoder=self.steps.encoder)
        start.deadline = self.deadline_of_goal
        relation = Relation(start, self.steps)
        start.copy("@0")
        start.fact(self.steps.start(), "@0")
        for number in range(1, k):
            start.copy(f"@{number}")
            relation.join(f"@{number - 1}", f"@{number}")
            if start.solve([start.switch(goal, False, f"@{number}")]).result is not Result.UNSAT:
                return False
        return True
