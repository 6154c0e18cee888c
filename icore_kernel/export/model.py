"""What is exported: the audited transition system of a grounded package, as guarded updates.

An ordinary update, and a fault, moves where `when`, `requires`, its range condition and its `before` clauses hold, and its
`after` clauses and all of feasibility hold after it; an environment update moves whether or not its clauses hold, as in
exploration. So a peer finds exactly the states of `icore explore`.

Where every reachable state is feasible (the initial states are, and Z3 proves that environment updates keep it; all others
are judged), an update is asked only for the clauses that its writes touch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TYPE_CHECKING

from icore_kernel.export.lowering import Lowering
from icore_kernel.export.symbols import Symbols
from icore_kernel.meaning.scalar import compile_terms
from icore_kernel.system import Clause, Field, GroundUpdate, Kind, PropertyKind, System, Write
from icore_kernel.terms.term import Term, TermBank, substitute

if TYPE_CHECKING:
    from icore_kernel.meaning.smt import Question

MOST_INITIAL = 10_000
"""Initial states that are written out one by one, for peers that cannot be told a condition."""
_CANDIDATES = 2_000_000
_SOLVER_MS = 2_000
"""For one question. Where the solver needs longer, a fault is exported, and every clause is asked for."""


class ExportError(Exception):
    """The package cannot be exported to this peer; the message says why."""


@dataclass(frozen=True, slots=True)
class Move:
    """A ground update that can move. `enabling` speaks of the state before alone; `legal` is legality after it, over the state before."""

    update: GroundUpdate
    enabling: Term
    legal: Term
    writes: tuple[tuple[Field, Term], ...]

    @property
    def title(self) -> str:
        return self.update.name


@dataclass(frozen=True, slots=True)
class Invariant:
    """`formula` holds in every reachable state, or (`sought`) its negation is exported and a counterexample is a run to it."""

    name: str
    formula: Term
    what: str
    sought: bool = False


@dataclass(frozen=True)
class Model:
    """The exported system. `left_out` are updates that never move, with the reason; `clauses` names formulas by label."""

    system: System
    bank: TermBank
    moves: tuple[Move, ...]
    initially: Term
    invariants: tuple[Invariant, ...]
    left_out: tuple[tuple[str, str], ...]
    clauses: dict[Term, str]
    symbols: Symbols
    feasible: bool
    """Whether every reachable state is known to be feasible, so that untouched clauses are not asked for."""

    def terms(self) -> list[Term]:
        """What its moves, its beginning and its invariants are written with."""
        terms = [term for move in self.moves for term in (move.enabling, move.legal, *(value for _, value in move.writes))]
        return [*terms, self.initially, *(invariant.formula for invariant in self.invariants)]

    def initial_states(self) -> list[tuple[int, ...]]:
        """Every initial state. ExportError when there are too many to write out, or none."""
        return initial_states(self.system)


def initial_states(system: System) -> list[tuple[int, ...]]:
    """Every initial state. ExportError when there are too many to write out, or none."""
    if prod(field.domain.size for field in system.free) > _CANDIDATES:
        raise ExportError(f"{system.name} has too many initial states to write out for this peer")
    holds = compile_terms([system.initially])
    found: list[tuple[int, ...]] = []
    for codes in product(*(range(field.domain.lo, field.domain.hi + 1) for field in system.free)):
        state = list(system.initial)
        for field, code in zip(system.free, codes, strict=True):
            state[field.index] = code
        if holds(tuple(state))[0]:
            found.append(tuple(state))
            if len(found) > MOST_INITIAL:
                raise ExportError(f"{system.name} has more than {MOST_INITIAL:,} initial states: too many to write out for this peer")
    if not found:
        raise ExportError(f"{system.name} has no initial state: there is nothing to export")
    return found


def model(system: System, bank: TermBank) -> Model:
    """The exported system of a grounded package; `bank` is the bank of its terms."""
    lowering = Lowering(bank)
    moves: list[Move] = []
    left_out: list[tuple[str, str]] = []
    clauses: dict[Term, str] = {}
    for label, formula in _parts(system.feasibility):
        clauses.setdefault(lowering.of(formula), label)
    solver = _Solver(bank)
    feasible = _stays_feasible(system, bank, solver)
    for update in system.updates:
        move = _move(system, bank, lowering, update, feasible)
        if bank.and_(move.enabling, move.legal).is_false:
            left_out.append((update.name, "it can never move"))
            continue
        if update.kind is Kind.FAULT and solver.never(bank.and_(move.enabling, move.legal)):
            left_out.append((update.name, "a fault that is always refused"))
            continue
        moves.append(move)
    invariants = tuple(_invariants(system, bank, lowering))
    initially = lowering.of(system.initially)
    formulas = [initially, *(i.formula for i in invariants)]
    writes: list[tuple[Field, Term]] = []
    for move in moves:
        formulas += [move.enabling, move.legal, *(value for _, value in move.writes)]
        writes += move.writes
    symbols = Symbols(system.fields, formulas, writes)
    return Model(system, bank, tuple(moves), initially, invariants, tuple(left_out), clauses, symbols, feasible)


def _stays_feasible(system: System, bank: TermBank, solver: _Solver) -> bool:
    """Whether every reachable state is known to be feasible."""
    clauses = [clause.formula for clause in system.feasibility if not clause.formula.is_true]
    if not clauses:
        return True
    try:
        states = initial_states(system)
    except ExportError:
        return False
    holds = compile_terms(clauses)
    if not all(all(holds(state)) for state in states):
        return False
    whole = bank.conj(clauses)
    for update in system.updates:
        if update.kind is Kind.ENVIRONMENT:
            after = substitute(bank, whole, {write.field.index: write.value for write in update.writes})
            if not solver.never(bank.and_(whole, update.when, update.requires, update.defined, bank.not_(after))):
                return False
    return True


def _parts(clauses: tuple[Clause, ...]) -> Iterator[tuple[str, Term]]:
    """The ground instances of clauses, each with a label."""
    for clause in clauses:
        for name, formula in clause.instances or ((clause.instance, clause.formula),):
            if not formula.is_true:
                yield f"{clause.label} {name}".strip(), formula


def _move(system: System, bank: TermBank, lowering: Lowering, update: GroundUpdate, feasible: bool) -> Move:
    mapping = {write.field.index: write.value for write in update.writes}
    memo: dict[Term, Term] = {}
    judged = update.kind is not Kind.ENVIRONMENT
    before = [clause.formula for clause in update.before] if judged else []
    enabling = bank.conj([update.when, update.requires, update.defined, *before])
    after = [formula for _, formula in _parts(update.after)] if judged else []
    after += [formula for _, formula in _parts(system.feasibility) if judged and (not feasible or formula.reads & update.written)]
    legal = bank.conj(substitute(bank, formula, mapping, memo) for formula in after)
    writes = tuple((write.field, lowering.of(write.value)) for write in _changing(update.writes))
    return Move(update, lowering.of(enabling), lowering.of(legal), writes)


def _changing(writes: tuple[Write, ...]) -> Iterator[Write]:
    """Those that are not `x := x`."""
    for write in writes:
        if write.value.reads != 1 << write.field.index or write.value.args:
            yield write


def _invariants(system: System, bank: TermBank, lowering: Lowering) -> Iterator[Invariant]:
    """What is about single states: liveness, settlement and order are not exported."""
    for declared in system.properties:
        formula = lowering.of(declared.formula)
        if declared.kind is PropertyKind.INVARIANT:
            yield Invariant(declared.name, formula, "invariant")
        elif declared.kind is PropertyKind.UNREACHABLE:
            yield Invariant(declared.name, bank.not_(formula), "unreachable")
        elif declared.kind is PropertyKind.REACHABLE:
            yield Invariant(declared.name, bank.not_(formula), "reachable", sought=True)


class _Solver:
    """Asks Z3 whether a formula holds nowhere. Z3 is imported when there is a first thing to ask."""

    def __init__(self, bank: TermBank) -> None:
        self._false = bank.false
        self._question: Question | None = None

    def never(self, formula: Term) -> bool:
        """True only where it is proved."""
        from icore_kernel.meaning.smt import Encoder, Question, Result

        if self._question is None:
            self._question = Question(Encoder())
        return self._question.ask([formula], self._false, _SOLVER_MS).result is Result.UNSAT


def in_sequence(writes: tuple[tuple[Field, Term], ...]) -> tuple[tuple[tuple[Field, Term], ...], tuple[tuple[Field, Term], ...]]:
    """Writes that happen at once, as assignments one after another: (those to compute into a name first, all others in order).

    A value must not read a field that was assigned before it.
    """
    waiting = list(writes)
    ordered: list[tuple[Field, Term]] = []
    kept: list[tuple[Field, Term]] = []
    while waiting:
        for place, (field, _) in enumerate(waiting):
            others = waiting[:place] + waiting[place + 1 :]
            if not any(value.reads >> field.index & 1 for _, value in others):
                ordered.append(waiting.pop(place))
                break
        else:
            kept.append(waiting.pop(0))
    return tuple(kept), tuple(ordered)
