"""The steps of a system as formulas: from what states an update moves, into what state, and what makes the step legal."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from icore_kernel.explore.model import State
from icore_kernel.meaning.smt import Encoder
from icore_kernel.system import GroundUpdate, Kind, System
from icore_kernel.terms.node import Term, conjuncts
from icore_kernel.terms.term import TermBank, substitute


@dataclass
class Move:
    """One ground update. `guard`: it could commit; `legal`: the parts of legality, over the state before, by their clause's label."""

    number: int
    update: GroundUpdate
    guard: Term
    after: dict[int, Term]
    written: int
    bank: TermBank
    memo: dict[Term, Term]

    def then(self, term: Term) -> Term:
        """`term` of the state after, over the state before."""
        return term if not term.reads & self.written else substitute(self.bank, term, self.after, self.memo)

    @property
    def environment(self) -> bool:
        return self.update.kind is Kind.ENVIRONMENT

    @property
    def fault(self) -> bool:
        return self.update.kind is Kind.FAULT


class Steps:
    """Every update of a system as a Move. `feasible` are the parts of feasibility, each once; `encoder` is for all questions about them."""

    def __init__(self, system: System, bank: TermBank) -> None:
        self.system = system
        self.bank = bank
        self.feasible = tuple(dict.fromkeys(p for clause in system.feasibility for p in conjuncts(clause.formula) if not p.is_true))
        self._known = frozenset(self.feasible)
        self._moves: dict[int, Move] = {}
        self.encoder = Encoder()

    @cached_property
    def feasibility(self) -> Term:
        return self.bank.conj(self.feasible)

    def __len__(self) -> int:
        return len(self.system.updates)

    def move(self, number: int) -> Move:
        found = self._moves.get(number)
        if found is None:
            update = self.system.updates[number]
            guard = self.bank.and_(update.when, update.requires, update.defined)
            after = {w.field.index: w.value for w in update.writes}
            found = self._moves[number] = Move(number, update, guard, after, update.written, self.bank, {})
        return found

    def goals(self, number: int) -> list[tuple[str, Term, bool]]:
        """(label, what must hold in the state before, whether a write touches it) for each clause that the step must keep.

        From a feasible state: parts of feasibility that no write touches are left out.
        """
        move = self.move(number)
        found = [(clause.label, clause.formula, True) for clause in move.update.before]
        for clause in (*move.update.after, *self.system.feasibility):
            touched = [p for p in conjuncts(clause.formula) if p.reads & move.written or p not in self._known]
            found.append((clause.label, self.bank.conj([move.then(p) for p in touched]), bool(touched)))
        return found

    def legal(self, number: int) -> Term:
        """The step from a feasible state is legal: every goal."""
        return self.bank.conj([goal for _, goal, _ in self.goals(number)])

    def commits(self, number: int) -> Term:
        """The step is taken in the audited system, from a feasible state: the environment is never refused."""
        move = self.move(number)
        return move.guard if move.environment else self.bank.and_(move.guard, self.legal(number))

    def start(self) -> Term:
        """The initial states."""
        system, bank = self.system, self.bank
        free = {f.index for f in system.free}
        values = zip(system.fields, system.initial, strict=True)
        fixed = [equals(bank, f.term(bank), value) for f, value in values if f.index not in free]
        return bank.and_(*fixed, system.initially)


def equals(bank: TermBank, variable: Term, value: int) -> Term:
    """The variable has this code."""
    if variable.variable.boolean:
        return variable if value else bank.not_(variable)
    return bank.eq(variable, bank.integer(value))


def field_terms(system: System, bank: TermBank) -> tuple[Term, ...]:
    """The FIELD term of each field, in their order."""
    return tuple(f.term(bank) for f in system.fields)


def is_state(system: System, bank: TermBank, state: State) -> Term:
    """True of one state alone."""
    return bank.conj([equals(bank, variable, value) for variable, value in zip(field_terms(system, bank), state, strict=True)])
