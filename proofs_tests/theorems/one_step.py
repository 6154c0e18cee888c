"""One committed update as an obligation for Z3: from what states, under which clauses of legality, to states of which kind.

A counterexample is a state and an update; `refuted` computes it again in the scalar meaning before it is believed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from icore_kernel.explore.judge import successor
from icore_kernel.explore.model import State
from icore_kernel.load import Loaded
from icore_kernel.meaning import scalar
from icore_kernel.prove.solver import Solver
from icore_kernel.prove.steps import Move, Steps
from icore_kernel.system import Kind
from icore_kernel.terms.node import Term, conjuncts


@dataclass(frozen=True)
class Broken:
    """From `before`, which has what was assumed, `update` commits under the clauses that were kept, and `after` lacks the goal."""

    update: str
    kind: Kind
    before: State
    after: State


class OneStep:
    """`whole`: legality asks every clause of the state after; else only what the update's writes touch, as the audit loop may."""

    def __init__(self, loaded: Loaded, goal: Term, whole: bool) -> None:
        self.loaded, self.goal, self.whole = loaded, goal, whole
        self.system, self.bank = loaded.system, loaded.bank
        self.steps = Steps(loaded.system, loaded.bank)

    def legality(self, move: Move, without: Sequence[str] = ()) -> list[Term]:
        """The clauses of definition 6 of one update, all but those of the given labels, over the state before."""
        kept = [clause.formula for clause in move.update.before if clause.label not in without]
        for clause in (*move.update.after, *self.system.feasibility):
            if clause.label not in without:
                parts = conjuncts(clause.formula)
                kept.extend(move.then(p) for p in parts if self.whole or p.reads & move.written)
        return kept

    def ask(self, assumed: Sequence[Term], without: Sequence[str] = (), kinds: Sequence[Kind] = tuple(Kind)) -> tuple[int, Broken | None]:
        """How many updates are proved to lead to the goal, up to the first that need not."""
        solver = Solver(self.system, self.bank, timeout_ms=60_000)
        for term in assumed:
            solver.fact(term)
        proved = 0
        for number, update in enumerate(self.system.updates):
            if update.kind not in kinds:
                continue
            move = self.steps.move(number)
            kept = self.legality(move, without)
            answer = solver.ask([move.guard, *kept], move.then(self.goal))
            assert answer.result.value != "unknown", update.name
            if answer.state is not None:
                after = successor(update, answer.state)
                assert all(scalar.evaluate_all([*assumed, move.guard, *kept], answer.state))
                assert not scalar.evaluate(self.goal, after)
                return proved, Broken(update.name, update.kind, answer.state, after)
            proved += 1
        return proved, None
