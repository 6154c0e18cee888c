"""Order stability `given` choices: definition 14 for every way to freeze them (design 3, Choice is not order)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from math import prod
from typing import Protocol

from icore_kernel.check.answers import engine, plural
from icore_kernel.check.walks import Walks
from icore_kernel.check.whole import Whole, conflict
from icore_kernel.explore.model import Audited, Exploration, Path
from icore_kernel.explore.search import explore
from icore_kernel.rewriting.condense import condense
from icore_kernel.rewriting.facts import facts
from icore_kernel.rewriting.frozen import Box, Frozen, boxes, choice_of, collision, freeze, from_everywhere
from icore_kernel.rewriting.graph import Quotient, productive
from icore_kernel.rewriting.observe import observed
from icore_kernel.system import Property
from icore_kernel.terms.term import TermBank
from icore_kernel.verdict import Assurance, Fork, Result, Run, Step, Verdict

MOST_STATES = 2_000_000
"""Of the extended system, in which the choices made so far belong to the state."""
MOST_CHOICES = 4096
"""Total choices gone through one by one, where runs can go round."""
MOST_WORK = 20_000_000
"""States times total choices of that."""


def decide_given(whole: Whole, prop: Property) -> Result:
    """The extended system is explored, from all initial states at once where it can be; then boxes of choices are compared."""
    choices = [choice_of(whole.system, paths) for paths in prop.given]
    bank = whole.bank.copy()  # the fields of the slots are of this question alone
    frozen = freeze(whole.system, bank, choices)
    said = [f"given {', '.join(c.name for c in choices)}"] if "given" not in prop.name else []
    if prop.on and " on " not in prop.name:
        said.append(f"on {', '.join(prop.on)}")
    named = " ".join(said) + " · " if said else ""
    settlements: set[tuple[int, ...]] = set()
    cyclic = False
    left = MOST_STATES
    for part in _parts(whole, frozen, bank):
        found = explore(part.system, rules=whole.rules(left), mode=Audited())
        if found.stopped is not None or found.graph is None:
            return _unknown(whole, prop, f"{named}the search of frozen choices stopped: {found.stopped}")
        left = max(left - found.states, 1)
        decided = _one(whole, part, found, prop, named)
        if isinstance(decided, Result):
            return decided
        settlements |= decided[0]
        cyclic = cyclic or decided[1]
    how = "terminating" if not cyclic else "normalizing"
    detail = f"{named}{how} under every choice · 1 normal form for each way to choose ({plural(len(settlements), 'outcome')} over "
    return Result(
        prop.name, Verdict.HOLDS, Assurance.EXHAUSTIVE, detail + f"{plural(frozen.slots, 'open choice')})", prop.span, engine=whole.engine
    )


def _parts(whole: Whole, frozen: Frozen, bank: TermBank) -> Iterator[Frozen]:
    """What is explored at once: everything, or what each initial state leads to."""
    together = from_everywhere(frozen, bank) if len(whole.initial) > 1 else None
    if together is not None:
        yield together
        return
    for number in whole.initial:
        start = (*whole.exploration.store.state(number), *frozen.system.initial[frozen.first :])
        yield replace(frozen, system=replace(frozen.system, initial=start, free=(), initially=bank.true))


def _one(whole: Whole, frozen: Frozen, found: Exploration, prop: Property, named: str) -> Result | tuple[set[tuple[int, ...]], bool]:
    """Of one exploration: a result that ends the question, or the settlements met and whether runs can go round."""
    assert found.graph is not None
    graph = productive(found.graph, tuple(range(found.levels[0])))
    walks = Walks(frozen.system, found, graph)
    steps = _steps(frozen, found, graph)
    settled, outcomes = _boxes(whole, frozen, found, graph, steps, prop)
    for group in settled:
        met = collision(group)
        if isinstance(met, str):
            return _unknown(whole, prop, f"{named}{met}")
        if isinstance(met, tuple):
            return _collides(whole, frozen, prop, walks, *met, named)
    told = condense(graph)
    if facts(graph, told).terminating:
        return set(outcomes), False
    choices = prod(frozen.sizes)
    if choices > MOST_CHOICES or choices * graph.states > MOST_WORK:
        run = walks.lasso(told)
        why = f"{named}definition 14 holds, but runs can go round, and {choices:,} ways to choose are too many to see whether all settle"
        return replace(_unknown(whole, prop, why), run=_from(whole, frozen, run))
    for total in product(*(range(1, size + 1) for size in frozen.sizes)):
        lost = steps.unsettled(total)
        if lost is not None:
            said = ", ".join(f.domain.names[c] for f, c in zip(frozen.system.fields[frozen.first :], total, strict=False))
            detail = f"{named}not normalizing: with {said} some runs can never settle (definition 14 itself holds)"
            run = _from(whole, frozen, walks.run_to(lost))
            return Result(prop.name, Verdict.VIOLATED, Assurance.EXHAUSTIVE, detail, prop.span, run, engine=engine(found))
    return set(outcomes), True


def _unknown(whole: Whole, prop: Property, detail: str) -> Result:
    return Result(prop.name, Verdict.UNKNOWN, Assurance.NONE, detail, prop.span, engine=whole.engine)


def _from(whole: Whole, frozen: Frozen, run: Run) -> Run:
    """A run of the extended system, its initial values named as those of the package."""
    told = dict(run.initial)
    initial = frozen.system.initial
    return replace(run, initial=tuple((f.name, told.get(f.name, f.domain.show(initial[f.index]))) for f in whole.system.free))


class _Steps(Protocol):
    """Of an extended system: `moves` says of a step, by its place, whether it changes the system's own state, `open` are the states all of
    whose steps bind a slot, `unsettled` is a state from which no run settles under a total choice."""

    def moves(self, place: int) -> bool: ...
    @property
    def open(self) -> Sequence[int]: ...
    def unsettled(self, total: Sequence[int]) -> int | None: ...


def _steps(frozen: Frozen, found: Exploration, graph: Quotient) -> _Steps:
    if graph.plain:
        return _PlainSteps(frozen, found, graph)
    from icore_kernel.explore.choices import ChoiceSteps

    return ChoiceSteps(found, graph.start, graph.target, frozen.first, frozen.slots)


class _PlainSteps:
    """As explore/choices.py, in plain Python."""

    def __init__(self, frozen: Frozen, found: Exploration, graph: Quotient) -> None:
        states = [found.store.state(number) for number in range(graph.states)]
        self._own = [state[: frozen.first] for state in states]
        self._bound = [state[frozen.first : frozen.first + frozen.slots] for state in states]
        self._out = [[target for _, target in graph.out(number)] for number in range(graph.states)]
        self._moves = [self._own[target] != self._own[number] for number, out in enumerate(self._out) for target in out]
        self.open = [number for number, out in enumerate(self._out) if all(self._bound[target] != self._bound[number] for target in out)]

    def moves(self, place: int) -> bool:
        return self._moves[place]

    def unsettled(self, total: Sequence[int]) -> int | None:
        agrees = [all(code in (0, wanted) for code, wanted in zip(bound, total, strict=True)) for bound in self._bound]
        before: dict[int, list[int]] = {}
        quiet: list[int] = []
        for number, out in enumerate(self._out):
            if not agrees[number]:
                continue
            for target in out:
                before.setdefault(target, []).append(number)
            if not any(agrees[target] and self._own[target] != self._own[number] for target in out):
                quiet.append(number)
        settles = set(quiet)
        for number in quiet:
            for previous in before.get(number, ()):
                if previous not in settles:
                    settles.add(previous)
                    quiet.append(previous)
        return next((number for number, reached in enumerate(agrees) if reached and number not in settles), None)


Outcomes = dict[tuple[int, ...], int]


def _boxes(
    whole: Whole, frozen: Frozen, found: Exploration, graph: Quotient, steps: _Steps, prop: Property
) -> tuple[list[list[Box]], Outcomes]:
    """The boxes of choices under which states are normal forms, those from each initial state together; and the outcomes met."""
    places = [f.index for f in observed(whole.system, prop.on)]
    last = frozen.first + frozen.slots
    known: Outcomes = {}
    kept: dict[tuple[int, ...], dict[tuple[int, tuple[int, ...]], Box]] = {}
    for number in steps.open:
        state = found.store.state(number)
        begin, end = int(graph.start[number]), int(graph.start[number + 1])
        out = [frozen.picks[int(graph.update[place])] for place in range(begin, end) if steps.moves(place)]
        own = kept.setdefault(tuple(state[i] for i in frozen.starts), {})
        for allowed in boxes(state[frozen.first : last], frozen.sizes, out):
            outcome = known.setdefault(tuple(state[i] for i in places), len(known))
            own.setdefault((outcome, allowed), Box(number, outcome, allowed))
    return [list(group.values()) for group in kept.values()], known


def _collides(whole: Whole, frozen: Frozen, prop: Property, walks: Walks, first: Box, second: Box, named: str) -> Result:
    """Two runs that keep to the same choices and settle apart: they share a beginning and part at a fork."""
    left, right = walks.path(first.state), walks.path(second.state)
    common = 0
    while common < min(len(left.updates), len(right.updates)) and left.updates[common] == right.updates[common]:
        common += 1
    shared = Path(left.initial, left.updates[:common])
    nothing = Step("(nothing more)", "", ())
    one, other = walks.steps_along(left, common) or (nothing,), walks.steps_along(right, common) or (nothing,)
    clash: tuple[str, ...] = ()
    if common < min(len(left.updates), len(right.updates)):
        clash = conflict(whole.system, whole.system.updates[left.updates[common]], whole.system.updates[right.updates[common]])
    differ = walks.difference(first.state, second.state, observed(whole.system, prop.on))
    fork = Fork(one[0], other[0], False, clash, differ, (one[1:], other[1:]))
    detail = f"{named}definition 14 fails: the same choices settle apart"
    run = _from(whole, frozen, walks.run_along(shared))
    return Result(prop.name, Verdict.VIOLATED, Assurance.EXHAUSTIVE, detail, prop.span, run, (), whole.engine, fork)
