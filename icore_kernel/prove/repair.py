"""The smallest legal sequence of steps from a state to a goal, by Z3's Optimize, or a certified "none".

One transition relation, unrolled: at each depth one more copy of the state, one selector an occurrence, exactly one of them true; what no
chosen occurrence writes stays as it is. Depth by depth a plain solver says whether the goal can be met, so the first depth with an answer
is the least number of steps, and every depth before it is certified by `unsat`. At that depth Optimize chooses among the sequences: first
one that does what is preferred, then the least weight of what they change, then the greatest value. Copies differ from one another, so
where no further one exists, every state that these occurrences reach has been looked at, and "none" is for any number of steps.

What Z3 proposes is stepped through in the scalar meaning before it is returned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

import z3

from icore_kernel.explore.judge import failing, occurs, successor
from icore_kernel.explore.model import State
from icore_kernel.meaning import scalar
from icore_kernel.meaning.smt import Encoder, width_of
from icore_kernel.prove.solver import INTERRUPTED, Disagreement, variables_of
from icore_kernel.system import System, Write
from icore_kernel.terms.node import Term
from icore_kernel.terms.table import Variable
from icore_kernel.terms.term import TermBank

EFFORT = 500_000_000
"""Of one question, in Z3's own units (some tens of seconds): the same on every machine, unlike a time limit."""


@dataclass(frozen=True, slots=True)
class Task:
    """What is looked for: occurrences out of `open` from `start`, each legal, the last of which leaves `goal` true.

    * `forbidden`: an occurrence may not be taken in a state where this holds;
    * `settles`: where given, some occurrence has to be taken in a state where its formula holds;
    * `prefers`: where given, and it is possible in so many steps, also one where this holds;
    * `changed`: (index of a field, what it costs that its value at the end is another than at the start);
    * `issued`: for an occurrence, (condition of the state before, what it costs), each time it is taken;
    * `value`: what is to be greatest at the end, among what costs the same.
    """

    start: State
    open: tuple[int, ...]
    goal: Term
    forbidden: Mapping[int, Term] = field(default_factory=dict)
    settles: Mapping[int, Term] | None = None
    prefers: Mapping[int, Term] = field(default_factory=dict)
    changed: tuple[tuple[int, int], ...] = ()
    issued: Mapping[int, tuple[tuple[Term, int], ...]] = field(default_factory=dict)
    value: Term | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """A sequence of least length, of these one that is preferred if there is one, of these one of least cost, of these one of greatest
    value. `states`: the start and each state after. Not `weighed`: Optimize gave up, and it is any one of least length."""

    updates: tuple[int, ...]
    states: tuple[State, ...]
    preferred: bool
    cost: int
    value: int
    weighed: bool = True


@dataclass(frozen=True, slots=True)
class Found:
    """`plan`, or None: up to `depth` steps there is none; `closed`: nor with more. `reason`: why the solver gave up beyond that."""

    plan: Plan | None
    depth: int
    closed: bool = False
    reason: str = ""
    seconds: float = 0.0


def smallest(system: System, bank: TermBank, task: Task, depth: int) -> Found:
    """The smallest plan of at most `depth` steps (at least 1). Disagreement where what Z3 proposes is none in the scalar meaning."""
    if depth < 1:
        raise ValueError(f"a plan has at least one step, not {depth}")
    started = perf_counter()
    search = _Unrolled(system, bank, task)
    for length in range(1, depth + 1):
        search.extend()
        further = search.ask()
        if further == z3.unsat:
            return Found(None, length - 1, closed=True, seconds=perf_counter() - started)
        met = search.ask(search.goal()) if further == z3.sat else further
        if met == z3.unknown:
            return Found(None, length - 1, reason=search.solver.reason_unknown(), seconds=perf_counter() - started)
        if met == z3.sat:
            model, weighed = search.best()
            plan = replayed(system, task, search.updates(model), search.states(model))
            return Found(plan if weighed else replace(plan, weighed=False), length, seconds=perf_counter() - started)
    return Found(None, depth, seconds=perf_counter() - started)


def replayed(system: System, task: Task, updates: Sequence[int], expected: Sequence[State]) -> Plan:
    """The plan of these steps, in the scalar meaning. Disagreement where it is none, or leads elsewhere than `expected`."""
    states, settled, preferred, cost = [task.start], False, False, 0
    for number in updates:
        state, update = states[-1], system.updates[number]
        legal = number in task.open and occurs(update, state) and not failing(system, update, state)
        if not legal or _holds(task.forbidden, number, state):
            raise Disagreement(f"the repair that the solver found does not replay at {update.name}")
        settled = settled or _holds(task.settles or {}, number, state)
        preferred = preferred or _holds(task.prefers, number, state)
        cost += sum(weight for condition, weight in task.issued.get(number, ()) if scalar.evaluate(condition, state))
        states.append(successor(update, state))
    if not scalar.evaluate(task.goal, states[-1]) or (task.settles is not None and not settled) or tuple(states) != tuple(expected):
        raise Disagreement("the repair that the solver found does not end where it should")
    cost += sum(weight for index, weight in task.changed if states[-1][index] != task.start[index])
    value = 0 if task.value is None else int(scalar.evaluate(task.value, states[-1]))
    return Plan(tuple(updates), tuple(states), preferred, cost, value)


def _holds(conditions: Mapping[int, Term], number: int, state: State) -> bool:
    return number in conditions and bool(scalar.evaluate(conditions[number], state))


def _heeded(solver: Any, said: Any) -> Any:
    """What a search came to. While Z3 searches it takes Ctrl-C for itself, and ends as one that gave up: here it is handed on."""
    if said == z3.unknown and solver.reason_unknown() == INTERRUPTED:
        raise KeyboardInterrupt
    return said


class _Unrolled:
    """`length` copies of the state beside the first, and what joins them."""

    def __init__(self, system: System, bank: TermBank, task: Task) -> None:
        self.system, self.task = system, task
        self.context = z3.Context()
        self.encoder = Encoder(self.context)
        self.solver = z3.SolverFor("QF_BV", ctx=self.context)
        self.solver.set("random_seed", 0)
        self.solver.set("rlimit", EFFORT)
        self.variables = variables_of(system, bank)
        self.length = 0
        self._facts: list[Any] = []
        self._chosen: list[dict[int, Any]] = []
        self._settled: list[Any] = [z3.BoolVal(False, ctx=self.context)]
        self._written = sorted({w.field.index for number in task.open for w in system.updates[number].writes})
        self._add(*(self._is(variable, value, "@0") for variable, value in zip(self.variables, task.start, strict=True)))

    def ask(self, *literals: Any) -> Any:
        return _heeded(self.solver, self.solver.check(*literals))

    def extend(self) -> None:
        """One more copy: the state after a legal step out of `open`, another than those after the steps before."""
        here, there = f"@{self.length}", f"@{self.length + 1}"
        encode, updates = self.encoder.encode, self.system.updates
        self._add(*self.encoder.domains(self.variables, there))
        chosen = {number: z3.Bool(f"step {self.length} is {number}", ctx=self.context) for number in self.task.open}
        writers: dict[int, list[Any]] = {index: [] for index in self._written}
        for number, literal in chosen.items():
            update = updates[number]
            asked = [encode(t, here) for t in (update.when, update.requires, update.defined, *(c.formula for c in update.before))]
            asked.extend(encode(c.formula, there) for c in update.after)
            asked.extend(self._writes(write, here, there) for write in update.writes)
            if number in self.task.forbidden:
                asked.append(z3.Not(encode(self.task.forbidden[number], here)))
            self._add(z3.Implies(literal, z3.And(asked)))
            for write in update.writes:
                writers[write.field.index].append(literal)
        self._add(z3.Or([*chosen.values(), z3.BoolVal(False, ctx=self.context)]))
        if len(chosen) > 1:
            self._add(z3.AtMost(*chosen.values(), 1))
        for variable in self.variables:
            kept = self.encoder.variable(variable, there) == self.encoder.variable(variable, here)
            self._add(z3.Or([kept, *writers.get(variable.index, ())]))
        self._add(*(encode(clause.formula, there) for clause in self.system.feasibility))
        self._settle(chosen)
        self.length += 1
        self._chosen.append(chosen)
        # From the first step on: a plan may come back to the start, which had no step behind it.
        for other in range(1, self.length):
            self._add(self._differ(other, self.length))

    def goal(self) -> Any:
        """The literal that, assumed, makes the present copy the end of a plan."""
        literal = z3.Bool(f"goal {self.length}", ctx=self.context)
        self._add(z3.Implies(literal, self.encoder.encode(self.task.goal, f"@{self.length}")))
        if self.task.settles is not None:
            self._add(z3.Implies(literal, self._settled[-1]))
        return literal

    def best(self) -> tuple[Any, bool]:
        """By Optimize: a model of a plan of this length that costs least, and of these has the greatest value; where it gives up
        (false) the model that the plain solver has just found."""
        found = self.solver.model()
        best = z3.Optimize(ctx=self.context)
        best.set("priority", "lex")
        best.set("rlimit", EFFORT)
        best.add(*self._facts)
        best.add(z3.Bool(f"goal {self.length}", ctx=self.context))
        end = f"@{self.length}"
        if self.task.prefers:
            best.add_soft(
                z3.Or([part for i, chosen in enumerate(self._chosen) for part in self._taken(self.task.prefers, chosen, i)]),
                "1",
                "preferred",
            )
        for index, weight in self.task.changed:
            if index in self._written:
                best.add_soft(self._is(self.variables[index], self.task.start[index], end), str(weight), "cost")
        for step, chosen in enumerate(self._chosen):
            for number, literal in chosen.items():
                for condition, weight in self.task.issued.get(number, ()):
                    taken = z3.And(literal, self.encoder.encode(condition, f"@{step}"))
                    best.add_soft(z3.Not(taken), str(weight), "cost")
        if self.task.value is not None and self.task.value.lo < self.task.value.hi:
            best.maximize(self._natural(self.task.value, end))
        said = _heeded(best, best.check())
        if said == z3.unsat:
            raise Disagreement(f"a plan of {self.length} steps is there, and Optimize finds none")
        return (best.model(), True) if said == z3.sat else (found, False)

    def updates(self, model: Any) -> list[int]:
        return [next(n for n, literal in chosen.items() if z3.is_true(model.eval(literal, True))) for chosen in self._chosen]

    def states(self, model: Any) -> list[State]:
        return [self._state(model, f"@{i}") for i in range(self.length + 1)]

    # ---- parts -----------------------------------------------------------------------------------------------------------
    def _add(self, *facts: Any) -> None:
        self._facts.extend(facts)
        self.solver.add(*facts)

    def _is(self, variable: Variable, value: int, suffix: str) -> Any:
        symbol = self.encoder.variable(variable, suffix)
        if variable.boolean:
            return symbol if value else z3.Not(symbol)
        return symbol == self.encoder.number(value, width_of(variable.lo, variable.hi))

    def _writes(self, write: Write, here: str, there: str) -> Any:
        variable = self.variables[write.field.index]
        symbol, value = self.encoder.variable(variable, there), self.encoder.encode(write.value, here)
        if not variable.boolean:
            # Where `defined` holds the value is in the field's domain.
            value = self.encoder.sized(value, width_of(write.value.lo, write.value.hi), width_of(variable.lo, variable.hi))
        return symbol == value

    def _settle(self, chosen: Mapping[int, Any]) -> None:
        if self.task.settles is None:
            return
        settled = z3.Bool(f"settled {self.length + 1}", ctx=self.context)
        self._add(settled == z3.Or([self._settled[-1], *self._taken(self.task.settles, chosen, self.length)]))
        self._settled.append(settled)

    def _taken(self, conditions: Mapping[int, Term], chosen: Mapping[int, Any], step: int) -> list[Any]:
        """For each occurrence with a condition: it is chosen at this step, and its condition holds before."""
        return [z3.And(chosen[n], self.encoder.encode(term, f"@{step}")) for n, term in conditions.items() if n in chosen]

    def _differ(self, one: int, other: int) -> Any:
        pairs = [
            (self.encoder.variable(self.variables[i], f"@{one}"), self.encoder.variable(self.variables[i], f"@{other}"))
            for i in self._written
        ]  # fmt: skip
        if self.task.settles is not None:
            pairs.append((self._settled[one], self._settled[other]))
        return z3.Or([z3.BoolVal(False, ctx=self.context), *(a != b for a, b in pairs)])

    def _natural(self, term: Term, suffix: str) -> Any:
        """The term above its least value, as an unsigned number: what Optimize compares bit-vectors by."""
        width = width_of(term.lo, term.hi) + 1
        signed = self.encoder.sized(self.encoder.encode(term, suffix), width_of(term.lo, term.hi), width)
        return signed - self.encoder.number(term.lo, width)

    def _state(self, model: Any, suffix: str) -> State:
        found = self.encoder.decode(model, self.variables, suffix)
        return tuple(found[f.index] for f in self.system.fields)
