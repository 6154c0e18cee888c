"""The scalar half of an audit: which clauses a labelled update breaks (definitions 6 and 12), every one, and why in words.

Z3 decides (prove/commit.py); this explains, and the two must name the same clauses.
"""

from __future__ import annotations

from dataclasses import dataclass

from icore_dsl.syntax import Span
from icore_kernel.check.reasons import reasons_of, work_changed
from icore_kernel.explore.judge import own_clause, roles
from icore_kernel.explore.model import Audited, Failing, Phase, State
from icore_kernel.explore.scalar_search import Feasibility, Move
from icore_kernel.meaning.scalar import Compiled, compile_terms
from icore_kernel.system import GroundUpdate, Kind, System


@dataclass(frozen=True, slots=True)
class Violation:
    """One clause that a proposal breaks: its label, the ground instance, the failing part with its values, where it is written."""

    clause: str
    instance: str
    text: str
    values: tuple[tuple[str, str], ...] = ()
    spans: tuple[Span, ...] = ()
    needs: str = ""
    """What would be missing least, where a family of alternatives failed."""

    @property
    def said(self) -> str:
        """In one line: `A.4(2) status(unit): needs active(done(unit))`."""
        where = f" {self.instance}" if self.instance else ""
        return f"{self.clause}{where}: {f'needs {self.needs}' if self.needs else self.text}"


class _Move:
    """One ground update, compiled."""

    def __init__(self, update: GroundUpdate) -> None:
        self.first = [
            Failing(Phase.REQUIRES, own_clause("when", update.when, update)),
            Failing(Phase.REQUIRES, own_clause("requires", update.requires, update)),
            Failing(Phase.RANGE, own_clause("range", update.defined, update)),
        ]
        self.first.extend(Failing(Phase.BEFORE, clause) for clause in update.before)
        self.second = [Failing(Phase.AFTER, clause) for clause in update.after]
        self.before = compile_terms([f.clause.formula for f in self.first])
        self.after: Compiled | None = compile_terms([f.clause.formula for f in self.second]) if self.second else None
        self.places = [write.field.index for write in update.writes]
        self.domains = [(write.field.domain.lo, write.field.domain.hi) for write in update.writes]
        self.values: Compiled | None = compile_terms([write.value for write in update.writes]) if update.writes else None


class Judge:
    """`failing(before, number, after)`: the broken clauses in the order of the theory; empty where the step is legal."""

    def __init__(self, system: System) -> None:
        self.system = system
        self._moves: dict[int, _Move] = {}
        self._quick: dict[int, Move] = {}
        self._roles = roles(system, Audited())
        self._enabled: tuple[State, tuple[list[int], list[int]]] | None = None
        self._parts = Feasibility(system.feasibility)
        self._when = compile_terms([update.when for update in system.updates])
        self._feasibility = [Failing(Phase.FEASIBILITY, clause) for clause in system.feasibility]
        self._feasible: Compiled | None = compile_terms([c.formula for c in system.feasibility]) if system.feasibility else None

    def successor(self, before: State, number: int) -> State | None:
        """The state that the update leads to; None where a write leaves its domain or two writes collide (`range`)."""
        move = self._move(number)
        if not move.before(before)[2]:
            return None
        after = list(before)
        for place, (lo, hi), value in zip(move.places, move.domains, move.values(before) if move.values else (), strict=True):
            if not lo <= value <= hi:
                return None
            after[place] = int(value)
        return tuple(after)

    def failing(self, before: State, number: int, after: State | None) -> tuple[Failing, ...]:
        move = self._move(number)
        found = [f for f, value in zip(move.first, move.before(before), strict=True) if not value]
        if after is None:
            return tuple(found)
        if move.after is not None:
            found.extend(f for f, value in zip(move.second, move.after(after), strict=True) if not value)
        return (*found, *self.infeasible(after))

    def infeasible(self, state: State) -> tuple[Failing, ...]:
        """The clauses of feasibility (A.4) that the state breaks."""
        if self._feasible is None:
            return ()
        return tuple(f for f, value in zip(self._feasibility, self._feasible(state), strict=True) if not value)

    def enabled(self, state: State) -> tuple[list[int], list[int]]:
        """(EnabledProd_D, attempts): the updates that would commit and change a feasible state, and whatever else could be attempted.

        No fault is in the first list, even where no clause refuses it. Feasibility is read where the update writes: the state is feasible.
        """
        # Asked up to three times of one state (lines 8, 27, 29).
        if self._enabled is not None and self._enabled[0] == state:
            return self._enabled[1]
        found: list[int] = []
        attempts: list[int] = []
        for number, value in enumerate(self._when(state)):
            if value:
                move = self._quick_move(number)
                (found if move.update.kind is not Kind.FAULT and self._commits(move, state) else attempts).append(number)
        self._enabled = state, (found, attempts)
        return found, attempts

    def _commits(self, move: Move, state: State) -> bool:
        if (move.requires is not None and not move.requires(state)[0]) or (move.defined is not None and not move.defined(state)[0]):
            return False
        after = move.successor(state)
        if after == state or move.before.failing(state):
            return False
        broken = self._parts.cone(move.written).failing(after)
        return not broken and not move.failing_after(after, broken)

    def _quick_move(self, number: int) -> Move:
        known = self._quick.get(number)
        if known is None:
            known = self._quick[number] = Move(self.system.updates[number], self._roles[number], self._parts)
        return known

    def explain(self, failing: Failing, before: State, after: State | None) -> tuple[Violation, ...]:
        """One violation a failing instance of the clause, at most three."""
        state = after if failing.phase in {Phase.AFTER, Phase.FEASIBILITY} and after is not None else before
        meant = work_changed(self.system, before, state)
        return tuple(
            Violation(reason.label, reason.instance, reason.text, reason.values, failing.clause.spans, reason.nearest)
            for reason in reasons_of(self.system, failing.clause, state, meant)
        )

    def _move(self, number: int) -> _Move:
        known = self._moves.get(number)
        if known is None:
            known = self._moves[number] = _Move(self.system.updates[number])
        return known
