"""Lemma 2 (D.2), one update at a time: from any feasible state, does a committed occurrence lead to a legal one?

For every ground update and every clause of legality and feasibility Z3 is asked whether the clause can fail in the state
after, whatever feasible state it starts in. Clauses that read nothing the update writes are preserved without a question.
All clauses of an update are asked about together; a model answers for every clause that fails in it, and the rest is asked
again. A model is a counterexample to induction: a feasible state, perhaps unreachable, from which the step breaks the clause.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from time import perf_counter

from icore_kernel.explore.model import State
from icore_kernel.meaning import scalar
from icore_kernel.meaning.smt import Result
from icore_kernel.prove.solver import TIMEOUT_MS, Disagreement, Solver
from icore_kernel.prove.steps import Steps
from icore_kernel.system import Kind, System
from icore_kernel.terms.node import Term
from icore_kernel.terms.term import TermBank
from icore_kernel.verdict import Obligation

RANGE = "range"
"""The label of `every write stays in its domain`."""


class Outcome(Enum):
    """UNTOUCHED and PROVED: in every feasible state; STRENGTHENED: in every one that the lemmas leave, and they hold in every
    reachable state; OPEN: there is a counterexample to induction; UNKNOWN: the solver gave up, or was not asked in time."""

    UNTOUCHED = "untouched"
    PROVED = "proved"
    STRENGTHENED = "strengthened"
    OPEN = "open"
    UNKNOWN = "unknown"


ANSWERED = frozenset({Outcome.UNTOUCHED, Outcome.PROVED, Outcome.STRENGTHENED})


@dataclass(frozen=True, slots=True)
class Pair:
    """One question of Lemma 2: `update` by index, the clause's label, the answer, and a state from which the step breaks it.

    `seconds`: of the questions that it was a part of, shared out among the clauses they were about.
    """

    update: int
    label: str
    outcome: Outcome
    state: State | None = None
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Refusal:
    """Whether a fault is refused from every feasible state: PROVED, STRENGTHENED, OPEN with a state where it is not, or UNKNOWN."""

    update: int
    outcome: Outcome
    state: State | None = None
    seconds: float = 0.0


class OneStep:
    """The questions of one system, on one prepared solver. `lemmas` hold in every reachable state; who makes them has proved that."""

    def __init__(self, steps: Steps, lemmas: Sequence[Term] = (), timeout_ms: int = TIMEOUT_MS, deadline: float | None = None) -> None:
        self.steps = steps
        self.bank = steps.bank
        self.solver = Solver(steps.system, steps.bank, timeout_ms, steps.encoder)
        self.solver.deadline = deadline
        self.proved = Outcome.STRENGTHENED if lemmas else Outcome.PROVED
        self.lemmas = tuple(lemmas)
        for part in (*steps.feasible, *self.lemmas):
            self.solver.fact(part)

    def pairs(self, number: int, only: frozenset[str] | None = None) -> list[Pair]:
        """Every clause that update `number` must keep (or those of these labels), in the order of legality and feasibility, and RANGE."""
        move = self.steps.move(number)
        update = move.update
        found: dict[str, Pair] = {}
        order: list[str] = []
        asked: list[tuple[str, Term]] = []
        for label, goal, touched in self.steps.goals(number):
            order.append(label)
            if goal.is_true:
                found[label] = Pair(number, label, self.proved if touched else Outcome.UNTOUCHED)
            elif only is None or label in only:
                asked.append((label, goal))
        found.update(self._ask(number, move.guard, asked))
        order.append(RANGE)
        if update.defined.is_true:
            found[RANGE] = Pair(number, RANGE, Outcome.UNTOUCHED)
        elif only is None or RANGE in only:
            found.update(self._ask(number, self.bank.and_(update.when, update.requires), [(RANGE, update.defined)]))
        return [found[label] for label in dict.fromkeys(order) if label in found and (only is None or label in only)]

    def refused(self, number: int) -> Refusal:
        """For a fault: no feasible state lets it pass."""
        move = self.steps.move(number)
        pair = self._ask(number, move.guard, [("refused", self.bank.not_(self.steps.legal(number)))])["refused"]
        return Refusal(number, pair.outcome, pair.state, pair.seconds)

    def _ask(self, number: int, guard: Term, asked: list[tuple[str, Term]]) -> dict[str, Pair]:
        """Each goal under the guard; goals of one label (an instance of a clause each) are one."""
        goals: dict[str, list[Term]] = {}
        for label, goal in asked:
            goals.setdefault(label, []).append(goal)
        rest = {label: self.bank.conj(parts) for label, parts in goals.items()}
        found: dict[str, Pair] = {}
        while rest:
            answer = self.solver.ask([guard], self.bank.conj(rest.values()))
            if answer.result is Result.UNKNOWN and len(rest) > 1:
                for label, goal in rest.items():  # together they were too much
                    found[label] = self._one(number, label, guard, goal)
                break
            share = answer.seconds / len(rest)
            match answer.result:
                case Result.UNSAT | Result.UNKNOWN:
                    outcome = self.proved if answer.result is Result.UNSAT else Outcome.UNKNOWN
                    found.update({label: Pair(number, label, outcome, None, share) for label in rest})
                    break
                case Result.SAT:
                    failing = self._replayed(number, guard, rest, answer.state)
                    found.update({label: Pair(number, label, Outcome.OPEN, answer.state, share) for label in failing})
                    rest = {label: goal for label, goal in rest.items() if label not in failing}
        return found

    def _one(self, number: int, label: str, guard: Term, goal: Term) -> Pair:
        answer = self.solver.ask([guard], goal)
        match answer.result:
            case Result.UNSAT:
                return Pair(number, label, self.proved, None, answer.seconds)
            case Result.UNKNOWN:
                return Pair(number, label, Outcome.UNKNOWN, None, answer.seconds)
            case Result.SAT:
                self._replayed(number, guard, {label: goal}, answer.state)
                return Pair(number, label, Outcome.OPEN, answer.state, answer.seconds)

    def _replayed(self, number: int, guard: Term, goals: dict[str, Term], state: State | None) -> frozenset[str]:
        """The labels whose goals fail in the solver's state, by the scalar meaning; it must satisfy all that was assumed."""
        assert state is not None
        terms = [guard, *self.steps.feasible, *self.lemmas, *goals.values()]
        values = scalar.evaluate_all(terms, state)
        assumed = len(terms) - len(goals)
        failing = frozenset(label for label, holds in zip(goals, values[assumed:], strict=True) if not holds)
        if not all(values[:assumed]) or not failing:
            raise Disagreement(f"{self.steps.system.updates[number].name}: the state that the solver found does not replay")
        return failing


def start_is_feasible(steps: Steps) -> Obligation:
    """`unsat`: every initial state is feasible."""
    solver = Solver(steps.system, steps.bank, encoder=steps.encoder)
    solver.fact(steps.start())
    answer = solver.ask([], steps.feasibility)
    return Obligation("initial states are feasible", answer.result.value, answer.seconds)


def start_exists(steps: Steps) -> Result:
    """SAT: there is an initial state. UNSAT: there is none, and whatever is said of reachable states is said of nothing."""
    if scalar.evaluate(steps.system.initially, steps.system.initial):  # most packages: no question for the solver
        return Result.SAT
    solver = Solver(steps.system, steps.bank, encoder=steps.encoder)
    solver.fact(steps.start())
    answer = solver.ask([])
    if answer.result is Result.SAT and (answer.state is None or not scalar.evaluate(steps.start(), answer.state)):
        raise Disagreement("the initial state that the solver found is none")
    return answer.result


@dataclass(frozen=True, slots=True)
class Lemma2:
    """All answers for a system. `proved`: indices of non-fault updates proved legal; `refused`: faults proved refused.

    `complete` is false when the time was up before every update was asked about.
    """

    pairs: tuple[Pair, ...]
    refusals: tuple[Refusal, ...]
    seconds: float
    complete: bool = True

    @property
    def proved(self) -> frozenset[int]:
        bad = {p.update for p in self.pairs if p.outcome not in ANSWERED}
        return frozenset(p.update for p in self.pairs) - bad

    @property
    def refused(self) -> frozenset[int]:
        return frozenset(r.update for r in self.refusals if r.outcome in ANSWERED)

    @property
    def open(self) -> tuple[Pair, ...]:
        return tuple(p for p in self.pairs if p.outcome is Outcome.OPEN)

    @property
    def share(self) -> float:
        """Of all pairs of update and clause, those that are answered without a search."""
        return sum(p.outcome in ANSWERED for p in self.pairs) / len(self.pairs) if self.pairs else 1.0


def lemma_2(system: System, bank: TermBank, seconds: float | None = None, steps: Steps | None = None) -> Lemma2:
    """Every update and clause from every feasible state; what is not asked in time is left out, and `complete` is false."""
    started = perf_counter()
    deadline = None if seconds is None else started + seconds
    engine = OneStep(steps or Steps(system, bank), deadline=deadline)
    pairs: list[Pair] = []
    refusals: list[Refusal] = []
    for number, update in enumerate(system.updates):
        if deadline is not None and perf_counter() > deadline:
            return Lemma2(tuple(pairs), tuple(refusals), perf_counter() - started, complete=False)
        if update.kind is Kind.FAULT:
            refusals.append(engine.refused(number))
        else:
            pairs.extend(engine.pairs(number))
    return Lemma2(tuple(pairs), tuple(refusals), perf_counter() - started)


def with_lemmas(steps: Steps, plain: Lemma2, lemmas: Sequence[Term], seconds: float | None = None) -> Lemma2:
    """What was left open or unknown, asked again in the states that the lemmas leave."""
    started = perf_counter()
    engine = OneStep(steps, lemmas, deadline=None if seconds is None else started + seconds)
    again: dict[tuple[int, str], Pair] = {}
    left: dict[int, set[str]] = {}
    for pair in plain.pairs:
        if pair.outcome not in ANSWERED:
            left.setdefault(pair.update, set()).add(pair.label)
    for number, labels in left.items():
        again.update({(p.update, p.label): p for p in engine.pairs(number, frozenset(labels))})
    refusals = tuple(r if r.outcome in ANSWERED else engine.refused(r.update) for r in plain.refusals)
    pairs = tuple(again.get((p.update, p.label), p) for p in plain.pairs)
    return Lemma2(pairs, refusals, plain.seconds + perf_counter() - started, plain.complete)
