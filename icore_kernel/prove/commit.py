"""Commits decided by Z3: one prepared solver, a literal for every value of every field before and after, a literal for every clause.

A commit is one `check` under assumptions (the two states, the update's clauses, feasibility). It is legal where that is
satisfiable; where it is not, the core names clauses that these two states break. Measured on
proofs_tests/bench/models/coverage_obligations.icore (84 fields, 120 ground updates), all updates encoded: 0.13 ms a commit with Z3's
bit-vector solver, 0.15 with QF_FD, 0.28 with its plain core; in a run of 10,000, between other work, 0.20 (`bench/run.py --part commits`).
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from time import perf_counter
from typing import Any, NamedTuple

import z3

from icore_kernel.explore.judge import own_clause
from icore_kernel.explore.model import Failing, Phase, State
from icore_kernel.meaning.smt import Encoder, width_of
from icore_kernel.prove.solver import variables_of
from icore_kernel.system import Clause, System, Write
from icore_kernel.terms.node import Term
from icore_kernel.terms.table import Variable
from icore_kernel.terms.term import TermBank

EFFORT = 200_000_000
"""What a check may cost in Z3's own units (a commit takes some thousands; so many, some ten seconds) before it gives up."""
NOT_SUCCESSOR = Failing(Phase.RANGE, Clause("definition 12 successor", TermBank().true))
"""What a state after breaks that is not the one the update leads to."""


@dataclass(frozen=True, slots=True)
class Ruling:
    """What Z3 said of one commit. `legal` is None where it gave up (`reason`); `broken` are clauses of its core, in the theory's order."""

    legal: bool | None
    broken: tuple[Failing, ...] = ()
    microseconds: int = 0
    reason: str = ""


class Switch(NamedTuple):
    """The address of the literal that, assumed, asks for a clause."""

    address: int
    failing: Failing


class CommitSolver:
    """`decide(before, number, after)`: may update `number` lead from one state to the other? A clause is encoded when first used.

    What several updates ask (the same formula, the same value for the same field) has one literal.
    """

    def __init__(self, system: System, bank: TermBank) -> None:
        self.system = system
        self._context = z3.Context()
        self._encoder = Encoder(self._context)
        self._solver = z3.SolverFor("QF_BV", ctx=self._context)
        self._solver.set("random_seed", 0)
        # No time limit: it starts a thread a check. This one is also the same on every machine.
        self._solver.set("rlimit", EFFORT)
        self._solver.set("ctrl_c", False)
        self._variables = variables_of(system, bank)
        self._clauses: dict[tuple[Term, str], Any] = {}
        self._writes: dict[tuple[int, Term], Any] = {}
        self._keep: list[Any] = []
        self._before: list[_Values] = []
        self._after: list[_Values] = []
        self._kept_alive: list[Any] = []
        self._states()
        self._updates: dict[int, tuple[list[Switch], list[Switch]]] = {}
        self._feasible = self._switches((Failing(Phase.FEASIBILITY, c) for c in system.feasibility), "'")

    @property
    def version(self) -> str:
        return f"z3 {z3.get_version_string()}"

    def decide(self, before: State, number: int, after: State | None) -> Ruling:
        """One check. `after` is None where the update has no successor: then only what is asked of the state before is decided."""
        started = perf_counter()
        known = self._updates.get(number)
        first, all_of_it = self._update(number) if known is None else known
        asked = [values[v] for values, v in zip(self._before, before, strict=True)]
        switches = first
        if after is not None:
            asked.extend([values[v] for values, v in zip(self._after, after, strict=True)])
            switches = all_of_it
        said = self._check([*asked, *(switch.address for switch in switches)])
        if said == z3.Z3_L_TRUE:
            return Ruling(True, microseconds=_since(started))
        if said == z3.Z3_L_UNDEF:
            return Ruling(None, microseconds=_since(started), reason=self._solver.reason_unknown())
        return Ruling(False, self._broken(asked, switches), _since(started))

    # ---- the core --------------------------------------------------------------------------------------------------------
    def _check(self, addresses: list[int]) -> int:
        # By the C interface, from addresses: to wrap and unwrap some 250 expressions took longer than to answer.
        literals = (z3.Ast * len(addresses)).from_buffer(array("Q", addresses))
        answer: int = z3.Z3_solver_check_assumptions(self._context.ref(), self._solver.solver, len(addresses), literals)
        return answer

    def _broken(self, state: list[int], switches: list[Switch]) -> tuple[Failing, ...]:
        """Every clause that the two states break: the core's are taken out until what is left can hold, and each is asked alone,
        because a core need not be minimal."""
        left = dict.fromkeys(switch.address for switch in switches)
        suspects: list[int] = []
        while True:
            core = [address for literal in self._solver.unsat_core() if (address := literal.ast.value) in left]
            suspects.extend(core)
            for address in core:
                del left[address]
            if not core or self._check([*state, *left]) != z3.Z3_L_FALSE:
                break
        alone = {address for address in suspects if self._check([*state, address]) == z3.Z3_L_FALSE}
        return tuple(dict.fromkeys(switch.failing for switch in switches if switch.address in alone))

    # ---- encoding --------------------------------------------------------------------------------------------------------
    def _states(self) -> None:
        for suffix, table in (("", self._before), ("'", self._after)):
            self._solver.add(*self._encoder.domains(self._variables, suffix))
            table.extend(_Values(self, variable, suffix) for variable in self._variables)
        for variable in self._variables:
            kept = z3.Bool(f"{variable.name} is kept", ctx=self._context)
            self._solver.add(z3.Implies(kept, self._encoder.variable(variable, "'") == self._encoder.variable(variable)))
            self._keep.append(kept)

    @property
    def literals(self) -> int:
        """How many values of fields have been met, before and after."""
        return len(self._kept_alive)

    def literal(self, variable: Variable, suffix: str, value: int) -> int:
        """The address of the literal that, assumed, gives a variable a value: made when the value is first met."""
        symbol = self._encoder.variable(variable, suffix)
        if variable.boolean:
            made = symbol if value else z3.Not(symbol)
        else:
            made = z3.Bool(f"{variable.name}{suffix} is {value}", ctx=self._context)
            self._solver.add(z3.Implies(made, symbol == value))
        self._kept_alive.append(made)
        address: int = made.ast.value
        return address

    def _switches(self, asked: Iterable[Failing], suffix: str = "") -> list[Switch]:
        return [Switch(self._clause(f.clause.formula, suffix).ast.value, f) for f in asked]

    def _clause(self, formula: Term, suffix: str) -> Any:
        known = self._clauses.get((formula, suffix))
        if known is None:
            known = self._clauses[formula, suffix] = z3.Bool(f"clause {len(self._clauses)}", ctx=self._context)
            self._solver.add(z3.Implies(known, self._encoder.encode(formula, suffix)))
        return known

    def _update(self, number: int) -> tuple[list[Switch], list[Switch]]:
        """What is asked of the state before; and that with what is asked of the step: what it writes, keeps and must leave true."""
        update = self.system.updates[number]
        first = self._switches(
            [
                Failing(Phase.REQUIRES, own_clause("when", update.when, update)),
                Failing(Phase.REQUIRES, own_clause("requires", update.requires, update)),
                Failing(Phase.RANGE, own_clause("range", update.defined, update)),
                *(Failing(Phase.BEFORE, clause) for clause in update.before),
            ]
        )
        written = {write.field.index for write in update.writes}
        second = [
            *(Switch(self._written(write).ast.value, NOT_SUCCESSOR) for write in update.writes),
            *(Switch(literal.ast.value, NOT_SUCCESSOR) for i, literal in enumerate(self._keep) if i not in written),
            *self._switches((Failing(Phase.AFTER, clause) for clause in update.after), "'"),
        ]
        found = self._updates[number] = first, [*first, *second, *self._feasible]
        return found

    def _written(self, write: Write) -> Any:
        known = self._writes.get((write.field.index, write.value))
        if known is None:
            variable = self._variables[write.field.index]
            symbol, value = self._encoder.variable(variable, "'"), self._encoder.encode(write.value)
            if not variable.boolean:
                own, other = width_of(variable.lo, variable.hi), width_of(write.value.lo, write.value.hi)
                symbol, value = (self._encoder.sized(e, w, max(own, other)) for e, w in ((symbol, own), (value, other)))
            known = self._writes[write.field.index, write.value] = z3.Bool(f"write {len(self._writes)}", ctx=self._context)
            self._solver.add(z3.Implies(known, symbol == value))
        return known


class _Values(dict[int, int]):
    """value -> the address of its literal, of one field of one copy of the state."""

    def __init__(self, solver: CommitSolver, variable: Variable, suffix: str) -> None:
        super().__init__()
        self._of = solver, variable, suffix

    def __missing__(self, value: int) -> int:
        solver, variable, suffix = self._of
        found = self[value] = solver.literal(variable, suffix, value)
        return found


def _since(started: float) -> int:
    return round(1_000_000 * (perf_counter() - started))
