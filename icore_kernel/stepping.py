"""One run, taken step by step by a person: the state it is in, what may follow, what is refused there and why (`icore step`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path as FilePath

from icore_kernel.check.missing import reasons as reasons_of_step
from icore_kernel.check.plan import make_plan
from icore_kernel.check.reasons import reasons_of
from icore_kernel.explore import judge
from icore_kernel.explore.model import Audited, Failing, Path, Phase, Rules, State
from icore_kernel.explore.scalar_search import initial_states
from icore_kernel.explore.tally import Clock, Stop
from icore_kernel.load import GOAL, Loaded, load
from icore_kernel.meaning import scalar
from icore_kernel.near import near
from icore_kernel.rewriting.witness import Course, breaks
from icore_kernel.runs import run_of, step_of
from icore_kernel.runs_io import RunError, SavedRun, code_of
from icore_kernel.system import Clause, DomainKind, GroundUpdate, Kind, PropertyKind, System
from icore_kernel.terms.term import TermBank
from icore_kernel.verdict import Reason, Step

_AUDITED = Audited()
_GOING_THROUGH, _SOLVING = 1.0, 10.0
"""Seconds for which an initial state is looked for, one way and the other."""


class StepError(Exception):
    """What was asked cannot be done: the message says why, `reasons` which clauses refuse it."""

    def __init__(self, message: str, reasons: tuple[Reason, ...] = ()) -> None:
        self.reasons = reasons
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Offer:
    """One occurrence in a state: the update `number` as a step. `after`: where it leads, None where it may not commit.

    `reasons`: of one that may not commit, or of the environment's that is not legal and happens, why; empty for what is legal.
    `attempt`: it is refused by its own `requires`, which is no mistake of the package, as it would be of what is no fault.
    """

    number: int
    step: Step
    fault: str
    after: State | None
    reasons: tuple[Reason, ...]
    attempt: bool


@dataclass(frozen=True, slots=True)
class View:
    """What there is to see in a state.

    * `last`: the step that led there, None at the start; `place`: how many steps were taken;
    * `rest`: fields that are not at their default and were not changed by the last step, with what they are;
    * `ended`: which of Accept, Reject and Stuck hold; `false`: the invariants and clauses that do not;
    * `offered` may be taken; `refused` occur and may not commit, faults last; `never`: how many bindings of an update schema, no
      fault, occur and can never commit, whatever the state; `dead_end`: nothing changes the state any more, which is no end.
    """

    place: int
    last: Step | None
    rest: tuple[tuple[str, str], ...]
    ended: tuple[str, ...]
    false: tuple[str, ...]
    offered: tuple[Offer, ...]
    refused: tuple[Offer, ...]
    never: tuple[tuple[str, int], ...]
    dead_end: bool


@dataclass(frozen=True, slots=True)
class Truth:
    """Whether a formula holds; where not, why."""

    holds: bool
    reasons: tuple[Reason, ...] = ()


class Walk:
    """A run under way: the states so far and the updates between them. Nothing that fails changes it."""

    def __init__(self, loaded: Loaded, theory: FilePath | None = None) -> None:
        """StepError where the package has no initial state."""
        self.loaded = loaded
        self.theory = theory
        self.system = loaded.system
        self._numbers = {_squeezed(update.name): number for number, update in enumerate(self.system.updates)}
        self._feasible = judge.feasibility(self.system)
        self._plan = make_plan(self.system, loaded.bank)
        self.states = [first_state(self.system, loaded.bank, {})]
        self.taken: list[int] = []

    @property
    def state(self) -> State:
        return self.states[-1]

    def restart(self, values: Mapping[str, str]) -> None:
        """Begin again, where fields that start anywhere have these values. StepError for a field or a value that cannot be."""
        free = {field.name: field for field in self.system.free}
        codes: dict[str, int] = {}
        for name, shown in values.items():
            if name not in free:
                raise StepError(f"{name} is no field that starts anywhere; there are: {', '.join(free) or 'none'}")
            try:
                codes[name] = code_of(free[name].domain, name, shown)
            except RunError as wrong:
                raise StepError(str(wrong)) from wrong
        self.states, self.taken = [first_state(self.system, self.loaded.bank, codes)], []

    def take(self, number: int) -> None:
        """Go on by an update. StepError where it is not enabled, or may not commit."""
        after = judge.committed(self.system, _AUDITED, number, self.state, self._feasible)
        if after is None:
            update = self.system.updates[number]
            if not judge.occurs(update, self.state):
                when = reasons_of(self.system, judge.own_clause("when", update.when, update), self.state)
                raise StepError(f"{update.name} is not enabled", when)
            failing = judge.failing(self.system, update, self.state)
            raise StepError(f"{update.name} is refused", self._why(update, failing, len(failing)))
        self.states.append(after)
        self.taken.append(number)

    def back(self) -> None:
        if not self.taken:
            raise StepError("this is the start")
        self.states.pop()
        self.taken.pop()

    def named(self, name: str) -> int:
        """The number of the update that is called so; white space does not count. StepError where none is."""
        found = self._numbers.get(_squeezed(name))
        if found is not None:
            return found
        if any(name == field for field, _ in self.fields()):
            raise StepError(f"{name} is a field: s {name} shows it")
        every = [update.name for update in self.system.updates]
        here = [update.name for update in self.system.updates if judge.occurs(update, self.state)]
        begun = [known for known in here or every if _squeezed(known).startswith(_squeezed(name))]
        raise StepError(f"{name} is no command (? lists them) and no update; {near(name, begun or dict.fromkeys([*here, *every]))}")

    def view(self) -> View:
        system, state = self.system, self.state
        last = step_of(system, self.taken[-1], self.states[-2], state) if self.taken else None
        changed = set() if last is None else {change.field for change in last.changes}
        defaults = {field.index for field in system.fields if state[field.index] == system.initial[field.index]}
        defaults -= {field.index for field in system.free}
        rest = tuple((name, value) for name, value in self.fields(defaults) if name not in changed)
        offered, refused, never = self._offers()
        ends = (("Accept", self._plan.accept), ("Reject", self._plan.reject), ("Stuck", self._plan.stuck))
        ended = tuple(name for name, term in ends if scalar.evaluate(term, state))
        quiet = all(offer.after == state for offer in offered)
        dead_end = quiet and not any(scalar.evaluate(term, state) for term in self._plan.watchlist.ends)
        return View(len(self.taken), last, rest, ended, self._false(), offered, refused, never, dead_end)

    def fields(self, without: set[int] | frozenset[int] = frozenset()) -> tuple[tuple[str, str], ...]:
        """Name and printed value of the fields that users see, except some, by index. What is absent has no fields."""
        values = {field.name: field.domain.show(self.state[field.index]) for field in self.system.fields}
        return tuple(
            (field.name, values[field.name])
            for field in self.system.fields
            if field.root and field.index not in without and values.get(field.name.rpartition(".")[0]) != "absent"
        )

    def fields_named(self, name: str) -> tuple[tuple[str, str], ...]:
        """The fields of this name, of what has this name, or about it; all where it is empty. StepError where there is none."""
        every = self.fields()
        found = tuple(pair for pair in every if not name or name in _called(pair[0]))
        if name and not found:
            raise StepError(f"the state has no field {name}; {near(name, (field for field, _ in every))}")
        return found

    def is_value(self, name: str) -> bool:
        """Whether this names a field that is neither true nor false, and so no formula."""
        conditions = {field.name for field in self.system.fields if field.domain.kind is DomainKind.BOOL}
        return name not in conditions and any(name == field for field, _ in self.fields())

    def truth(self, formula: str) -> Truth:
        """Whether a formula holds in the state. InputError, UsageError or OSError as `load` raises them.

        The package is grounded again with the formula, which may read what is no field without it. The run is taken again there.
        """
        again = load(self.loaded.path, settings=self.loaded.settings, theory=self.theory, goal=formula)
        asked = again.system
        goal = next(prop for prop in asked.properties if prop.name == GOAL)
        state = first_state(asked, again.bank, {field.name: self.states[0][field.index] for field in self.system.free})
        by_name = {update.name: update for update in asked.updates}
        for number in self.taken:
            state = judge.successor(by_name[self.system.updates[number].name], state)
        if scalar.evaluate(goal.formula, state):
            return Truth(True)
        return Truth(False, reasons_of(asked, Clause("", goal.formula), state))

    def saved(self) -> SavedRun:
        """The run as `--save-run` keeps it, with what it breaks in its last state: empty where it breaks nothing."""
        run = run_of(self.system, Path(self.states[0], tuple(self.taken)))
        return SavedRun.of(self.system, run, self._broken(), self.loaded.settings, False)

    def _offers(self) -> tuple[tuple[Offer, ...], tuple[Offer, ...], tuple[tuple[str, int], ...]]:
        offered: list[Offer] = []
        refused: list[Offer] = []
        never: Counter[str] = Counter()
        for number, update in enumerate(self.system.updates):
            if not judge.occurs(update, self.state):
                continue
            if update.requires.is_false and update.kind is not Kind.FAULT:
                never[update.schema] += 1
                continue
            after = judge.committed(self.system, _AUDITED, number, self.state, self._feasible)
            happens = after is not None and update.kind is not Kind.ENVIRONMENT  # it was judged, then
            failing = () if happens else judge.failing(self.system, update, self.state)
            step = step_of(self.system, number, self.state, judge.successor(update, self.state))
            attempt = bool(failing) and failing[0].phase is Phase.REQUIRES
            offer = Offer(number, step, update.fault, after, self._why(update, failing, 1), attempt)
            (refused if after is None else offered).append(offer)
        refused.sort(key=lambda offer: self.system.updates[offer.number].kind is Kind.FAULT)
        return tuple(offered), tuple(refused), tuple(never.items())

    def _why(self, update: GroundUpdate, failing: tuple[Failing, ...], most: int) -> tuple[Reason, ...]:
        if failing and update.requires.is_false:
            return (Reason("requires", "as declared it is false in every state", update.span),)
        after = judge.successor(update, self.state)
        return tuple(reasons_of_step(self.loaded, failing, failing[:most], self.state, after))

    def _false(self) -> tuple[str, ...]:
        """As a report calls them, each once."""
        system = self.system
        named = [(prop.name, prop.formula) for prop in system.properties if prop.kind is PropertyKind.INVARIANT]
        for kind, clauses in (("feasibility", system.feasibility), ("soundness", system.soundness)):
            named.extend((f"{kind} {clause.label}", clause.formula) for clause in clauses)
        return tuple(dict.fromkeys(name for name, formula in named if not scalar.evaluate(formula, self.state)))

    def _broken(self) -> str:
        kinds = (PropertyKind.INVARIANT, PropertyKind.UNREACHABLE)
        names = [*(prop.name for prop in self.system.properties if prop.kind in kinds), "feasibility", "soundness", "reports"]
        course = Course(tuple(self.states), (), ())
        found = (name for name in names if breaks(self.system, _AUDITED, name, course))
        return next(found, "dead ends" if self.view().dead_end else "")


def _squeezed(name: str) -> str:
    return "".join(name.split())


def _called(field: str) -> set[str]:
    """What a field is called by: `report(unit).passed` by itself, and as `report(unit)`, `report` and `unit`."""
    whole = field.rpartition(".")[0] if not field.endswith(")") else field
    head, _, arguments = whole.partition("(")
    return {field, whole, head, *arguments.removesuffix(")").split(", ")} - {""}


def first_state(system: System, bank: TermBank, codes: Mapping[str, int]) -> State:
    """The first initial state where the free fields named have these codes. StepError where there is none, or none was met in time.

    They are gone through in their order; where that takes long, the solver finds the same one.
    """
    initial = list(system.initial)
    for field in system.free:
        initial[field.index] = codes.get(field.name, initial[field.index])
    rest = tuple(field for field in system.free if field.name not in codes)
    given = replace(system, initial=tuple(initial), free=rest)
    try:
        state = next(initial_states(given, Clock(Rules(timeout=_GOING_THROUGH))), None)
    except Stop:
        from icore_kernel.meaning.smt import Result
        from icore_kernel.prove.first import first_start

        answer = first_start(given, bank, _SOLVING)
        if answer.result is Result.UNKNOWN:
            raise StepError(f"no initial state was found, neither by going through them nor by Z3 ({answer.reason})") from None
        state = answer.state
    if state is None:
        raise StepError(f"{system.name} has no initial state{' with these values' if codes else ''}")
    return state
