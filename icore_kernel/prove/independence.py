"""Residual-sound independence of two ground updates over all feasible states (appendix B), by footprints or by Z3.

Two updates are independent everywhere when in each feasible state in which both are productive and legal, each is committable and
legal after the other and both orders end in one state. Where they are not, the solver gives a state, and of its values those that
suffice for the conflict.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from icore_kernel.meaning.smt import Encoder, Question, Result
from icore_kernel.prove.steps import equals, field_terms
from icore_kernel.system import Field, GroundUpdate, System
from icore_kernel.terms.node import Term, conjuncts
from icore_kernel.terms.term import TermBank, substitute

Values = tuple[tuple[Field, int], ...]


class Independent(Enum):
    """EVERYWHERE: in all feasible states. CONFLICT: not in some feasible state, reachable or not. UNKNOWN: the solver gave up."""

    EVERYWHERE = "everywhere"
    CONFLICT = "conflict"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Finding:
    """`how`: `footprints` or `Z3`. `condition`: with these values the two conflict wherever both happen (none: always; None: not found).
    `state`: a state in which they do."""

    answer: Independent
    how: str
    condition: Values | None = None
    state: tuple[int, ...] = ()


class Independence:
    """Questions about pairs of one system. `bank` is the bank of its terms."""

    def __init__(self, system: System, bank: TermBank) -> None:
        self.system = system
        self.bank = bank
        self._conjuncts = [part for clause in system.feasibility for part in conjuncts(clause.formula)]
        self._sides: dict[int, _Side] = {}
        self._variables = field_terms(system, bank)
        self._question: Question | None = None

    def of(self, a: int, b: int, timeout_ms: int) -> Finding:
        """Updates a and b by index; at most `timeout_ms` for each question to the solver."""
        one, other = self._side(a), self._side(b)
        if not one.disturbs(other) and not other.disturbs(one) and not one.writes & other.writes:
            return Finding(Independent.EVERYWHERE, "footprints")
        question = self._asked()
        feasible = self.bank.conj(self._conjuncts)
        both = self.bank.and_(one.happens, other.happens)
        if both.is_false:
            return Finding(Independent.EVERYWHERE, "footprints")
        independent = self._independent(one, other)
        answer = question.ask([feasible, both], independent, timeout_ms)
        if answer.result is Result.UNSAT:
            return Finding(Independent.EVERYWHERE, "Z3")
        if answer.result is Result.UNKNOWN or answer.state is None:
            return Finding(Independent.UNKNOWN, "Z3")
        state = tuple(answer.state.get(f.index, f.domain.lo) for f in self.system.fields)
        return Finding(Independent.CONFLICT, "Z3", self._condition(feasible, both, independent, state, timeout_ms), state)

    def _condition(self, feasible: Term, both: Term, independent: Term, state: Sequence[int], timeout_ms: int) -> Values | None:
        """Of the values in a state of conflict some that suffice: with them the two are never independent. None when the solver gave up."""
        bank = self.bank
        literals: dict[Term, tuple[Field, int]] = {}
        for field, variable in zip(self.system.fields, self._variables, strict=True):
            if independent.reads >> field.index & 1:
                value = state[field.index]
                literal = equals(bank, variable, value)
                if not literal.is_true:
                    literals[literal] = (field, value)
        answer = self._asked().ask([feasible, both, *literals], bank.not_(independent), timeout_ms, core=True)
        if answer.result is not Result.UNSAT:
            return None
        return tuple(literals[term] for term in answer.core if term in literals)

    def _asked(self) -> Question:
        if self._question is None:
            self._question = Question(Encoder(), [term.variable for term in self._variables])
        return self._question

    def _side(self, index: int) -> _Side:
        side = self._sides.get(index)
        if side is None:
            side = self._sides[index] = _Side(self.system.updates[index], self.bank, self._conjuncts, self._variables)
        return side

    def _independent(self, one: _Side, other: _Side) -> Term:
        """Both residuals committable and legal, and the two orders equal."""
        bank = self.bank
        first = {**one.after, **{i: one.seen(value) for i, value in other.after.items()}}
        second = {**other.after, **{i: other.seen(value) for i, value in one.after.items()}}
        equal: list[Term] = []
        for index in sorted(first.keys() | second.keys()):
            here = self._variables[index]
            equal.append(bank.eq(first.get(index, here), second.get(index, here)))
        parts = [one.seen(other.committable), other.seen(one.committable), *equal]
        for mapping, side in ((first, other), (second, one)):
            memo: dict[Term, Term] = {}
            parts.extend(substitute(bank, part, mapping, memo) for part in side.judged)
        return bank.conj(parts)


class _Side:
    """One update: what it needs, what it leaves behind, and which legality conjuncts its writes touch."""

    def __init__(self, update: GroundUpdate, bank: TermBank, feasibility: Sequence[Term], variables: Sequence[Term]) -> None:
        self.bank = bank
        self.after = {w.field.index: w.value for w in update.writes}
        self.writes = update.written
        self.committable = bank.conj([update.when, update.requires, update.defined, *(c.formula for c in update.before)])
        self.judged = [part for part in feasibility if part.reads & self.writes]
        self.judged += [part for clause in update.after for part in conjuncts(clause.formula)]
        self._memo: dict[Term, Term] = {}
        moves = bank.disj([bank.ne(variables[index], value) for index, value in self.after.items()])
        self.happens = bank.conj([self.committable, moves, *(self.seen(part) for part in self.judged)])
        reads = self.committable.reads
        for value in self.after.values():
            reads |= value.reads
        for part in self.judged:
            reads |= part.reads
        self.reads = reads

    def seen(self, term: Term) -> Term:
        """A formula over the state after, as one over the state before."""
        return substitute(self.bank, term, self.after, self._memo)

    def disturbs(self, other: _Side) -> bool:
        return bool(self.writes & other.reads)
