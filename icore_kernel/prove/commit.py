"""Commits decided by Z3: one prepared solver, a literal for every value of every field before and after, a literal for every clause.

A commit is one `check` under assumptions (the two states, the update's clauses, feasibility). It is legal where that is
satisfiable; where it is not, the core names clauses that these two states break. Measured on examples/binary_coverage.icore
(123 fields, 122 ground updates): 0.17 ms a commit with Z3's bit-vector solver, 0.19 with QF_FD, 0.42 with its plain core.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import z3

from icore_kernel.explore.judge import own_clause
from icore_kernel.explore.model import Failing, Phase, State
from icore_kernel.meaning.smt import Encoder, width_of
from icore_kernel.prove.solver import variables_of
from icore_kernel.system import Clause, System, Write
from icore_kernel.terms.node import Term
from icore_kernel.terms.term import TermBank

TIMEOUT_MS = 10_000
NOT_SUCCESSOR = Failing(Phase.RANGE, Clause("definition 12 successor", TermBank().true))
"""What a state after breaks that is not the one the update leads to."""


@dataclass(frozen=True, slots=True)
class Ruling:
    """What Z3 said of one commit. `legal` is None where it gave up (`reason`); `broken` are clauses of its core, in the theory's order."""

    legal: bool | None
    broken: tuple[Failing, ...] = ()
    microseconds: int = 0
    reason: str = ""


class CommitSolver:
    """`decide(before, number, after)`: may update `number` lead from one state to the other? A clause is encoded when first used."""

    def __init__(self, system: System, bank: TermBank) -> None:
        self.system = system
        self._context = z3.Context()
        self._encoder = Encoder(self._context)
        self._solver = z3.SolverFor("QF_BV", ctx=self._context)
        self._solver.set("random_seed", 0)
        self._solver.set("timeout", TIMEOUT_MS)
        self._variables = variables_of(system, bank)
        self._named: dict[int, Failing] = {}
        """literal -> the clause that it switches on."""
        self._keep: list[Any] = []
        self._before: list[dict[int, Any]] = []
        self._after: list[dict[int, Any]] = []
        self._states()
        self._updates: dict[int, tuple[list[Any], list[Any]]] = {}
        self._feasible = [self._clause(Failing(Phase.FEASIBILITY, c), c.formula, "'") for c in system.feasibility]

    @property
    def version(self) -> str:
        return f"z3 {z3.get_version_string()}"

    def decide(self, before: State, number: int, after: State | None) -> Ruling:
        """One check. `after` is None where the update has no successor: then only what is asked of the state before is decided."""
        started = perf_counter()
        first, second = self._update(number)
        state = [self._before[f][v] for f, v in enumerate(before)]
        switches = first
        if after is not None:
            state.extend(self._after[f][v] for f, v in enumerate(after))
            switches = [*first, *second, *self._feasible]
        said = self._check([*state, *switches])
        if said == z3.Z3_L_TRUE:
            return Ruling(True, microseconds=_since(started))
        if said == z3.Z3_L_UNDEF:
            return Ruling(None, microseconds=_since(started), reason=self._solver.reason_unknown())
        return Ruling(False, self._broken(state, switches), _since(started))

    # ---- the core --------------------------------------------------------------------------------------------------------
    def _check(self, literals: Sequence[Any]) -> int:
        array = (z3.Ast * len(literals))(*(literal.ast for literal in literals))
        answer: int = z3.Z3_solver_check_assumptions(self._context.ref(), self._solver.solver, len(literals), array)
        return answer

    def _broken(self, state: list[Any], switches: list[Any]) -> tuple[Failing, ...]:
        """Every clause that the two states break: the core's are taken out until what is left can hold, and each is asked alone,
        because a core need not be minimal."""
        suspects: list[Any] = []
        left = list(switches)
        while True:
            used = {literal.get_id() for literal in self._solver.unsat_core()}
            core = [literal for literal in left if literal.get_id() in used]
            suspects.extend(core)
            left = [literal for literal in left if literal.get_id() not in used]
            if not core or self._check([*state, *left]) != z3.Z3_L_FALSE:
                break
        alone = {s.get_id() for s in suspects if self._check([*state, s]) == z3.Z3_L_FALSE}
        return tuple(dict.fromkeys(self._named[s.get_id()] for s in switches if s.get_id() in alone))

    # ---- encoding --------------------------------------------------------------------------------------------------------
    def _states(self) -> None:
        for suffix, table in (("", self._before), ("'", self._after)):
            self._solver.add(*self._encoder.domains(self._variables, suffix))
            for variable in self._variables:
                symbol = self._encoder.variable(variable, suffix)
                if variable.boolean:
                    values = {1: symbol, 0: z3.Not(symbol)}
                else:
                    values = {}
                    for value in range(variable.lo, variable.hi + 1):
                        values[value] = literal = z3.Bool(f"{variable.name}{suffix} is {value}", ctx=self._context)
                        self._solver.add(z3.Implies(literal, symbol == value))
                table.append(values)
        for variable in self._variables:
            kept = z3.Bool(f"{variable.name} is kept", ctx=self._context)
            self._solver.add(z3.Implies(kept, self._encoder.variable(variable, "'") == self._encoder.variable(variable)))
            self._named[kept.get_id()] = NOT_SUCCESSOR
            self._keep.append(kept)

    def _clause(self, failing: Failing, formula: Term, suffix: str = "") -> Any:
        literal = z3.Bool(f"clause {len(self._named)}", ctx=self._context)
        self._solver.add(z3.Implies(literal, self._encoder.encode(formula, suffix)))
        self._named[literal.get_id()] = failing
        return literal

    def _update(self, number: int) -> tuple[list[Any], list[Any]]:
        """The literals of an update: those about the state before, then those about the step: what it writes, keeps and must leave true."""
        known = self._updates.get(number)
        if known is None:
            update = self.system.updates[number]
            first = [
                self._clause(Failing(Phase.REQUIRES, own_clause("when", update.when, update)), update.when),
                self._clause(Failing(Phase.REQUIRES, own_clause("requires", update.requires, update)), update.requires),
                self._clause(Failing(Phase.RANGE, own_clause("range", update.defined, update)), update.defined),
                *(self._clause(Failing(Phase.BEFORE, c), c.formula) for c in update.before),
            ]
            written = {write.field.index for write in update.writes}
            second = [
                *(self._written(write) for write in update.writes),
                *(literal for i, literal in enumerate(self._keep) if i not in written),
                *(self._clause(Failing(Phase.AFTER, c), c.formula, "'") for c in update.after),
            ]
            known = self._updates[number] = first, second
        return known

    def _written(self, write: Write) -> Any:
        variable = self._variables[write.field.index]
        symbol, value = self._encoder.variable(variable, "'"), self._encoder.encode(write.value)
        if not variable.boolean:
            own, other = width_of(variable.lo, variable.hi), width_of(write.value.lo, write.value.hi)
            symbol, value = (self._encoder.sized(e, w, max(own, other)) for e, w in ((symbol, own), (value, other)))
        literal = z3.Bool(f"write {len(self._named)}", ctx=self._context)
        self._solver.add(z3.Implies(literal, symbol == value))
        self._named[literal.get_id()] = NOT_SUCCESSOR
        return literal


def _since(started: float) -> int:
    return round(1_000_000 * (perf_counter() - started))
