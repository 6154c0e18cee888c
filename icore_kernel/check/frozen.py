"""Order stability `given` choices: definition 14 for every way to freeze them (design 3, Choice is not order)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from math import prod

from icore_kernel.check.answers import engine, plural
from icore_kernel.check.walks import Walks
from icore_kernel.check.whole import Whole, conflict
from icore_kernel.explore.model import Audited, Exploration, Path
from icore_kernel.explore.search import explore
from icore_kernel.rewriting.condense import condense
from icore_kernel.rewriting.facts import facts
from icore_kernel.rewriting.frozen import Box, Frozen, boxes, choice_of, collision, freeze
from icore_kernel.rewriting.graph import Quotient, productive
from icore_kernel.rewriting.observe import observed
from icore_kernel.system import Property
from icore_kernel.verdict import Assurance, Fork, Result, Run, Step, Verdict

MOST_STATES = 2_000_000
"""Of the extended system, in which the choices made so far belong to the state."""
MOST_CHOICES = 4096
"""Total choices gone through one by one, where runs can go round."""
MOST_WORK = 20_000_000
"""States times total choices of that."""


def decide_given(whole: Whole, prop: Property) -> Result:
    """One exploration of the extended system for each initial state; then boxes of choices are compared."""
    choices = [choice_of(whole.system, paths) for paths in prop.given]
    frozen = freeze(whole.system, whole.bank, choices)
    said = [f"given {', '.join(c.name for c in choices)}"] if "given" not in prop.name else []
    if prop.on and " on " not in prop.name:
        said.append(f"on {', '.join(prop.on)}")
    named = " ".join(said) + " · " if said else ""
    settlements: set[tuple[int, ...]] = set()
    cyclic = False
    left = MOST_STATES
    for number in whole.initial:
        start = (*whole.exploration.store.state(number), *frozen.system.initial[frozen.first :])
        system = replace(frozen.system, initial=start, free=(), initially=whole.bank.true)
        found = explore(system, rules=whole.rules(left), mode=Audited())
        if found.stopped is not None or found.graph is None:
            return _unknown(whole, prop, f"{named}the search of frozen choices stopped: {found.stopped}")
        left = max(left - found.states, 1)
        decided = _one(whole, replace(frozen, system=system), found, prop, named)
        if isinstance(decided, Result):
            return decided
        settlements |= decided[0]
        cyclic = cyclic or decided[1]
    how = "terminating" if not cyclic else "normalizing"
    detail = f"{named}{how} under every choice · 1 normal form for each way to choose ({plural(len(settlements), 'outcome')} over "
    return Result(
        prop.name, Verdict.HOLDS, Assurance.EXHAUSTIVE, detail + f"{plural(frozen.slots, 'open choice')})", prop.span, engine=whole.engine
    )


def _one(whole: Whole, frozen: Frozen, found: Exploration, prop: Property, named: str) -> Result | tuple[set[tuple[int, ...]], bool]:
    """From one initial state: a result that ends the question, or the settlements met and whether runs can go round."""
    assert found.graph is not None
    graph = productive(found.graph, (0,))
    walks = Walks(frozen.system, found, graph)
    settled, outcomes = _boxes(whole, frozen, found, graph, prop)
    met = collision(settled)
    if isinstance(met, str):
        return _unknown(whole, prop, f"{named}{met}")
    if met is not None:
        return _collides(whole, prop, walks, *met, named)
    told = condense(graph)
    if facts(graph, told).terminating:
        return set(outcomes), False
    choices = prod(frozen.sizes)
    if choices > MOST_CHOICES or choices * graph.states > MOST_WORK:
        run = walks.lasso(told)
        why = f"{named}definition 14 holds, but runs can go round, and {choices:,} ways to choose are too many to see whether all settle"
        return replace(_unknown(whole, prop, why), run=_from(whole, run, frozen.system.initial))
    for total in product(*(range(1, size + 1) for size in frozen.sizes)):
        lost = _unsettled(frozen, found, graph, total)
        if lost is not None:
            said = ", ".join(f.domain.names[c] for f, c in zip(frozen.system.fields[frozen.first :], total, strict=True))
            detail = f"{named}not normalizing: with {said} some runs can never settle (definition 14 itself holds)"
            run = _from(whole, walks.run_to(lost), frozen.system.initial)
            return Result(prop.name, Verdict.VIOLATED, Assurance.EXHAUSTIVE, detail, prop.span, run, engine=engine(found))
    return set(outcomes), True


def _unknown(whole: Whole, prop: Property, detail: str) -> Result:
    return Result(prop.name, Verdict.UNKNOWN, Assurance.NONE, detail, prop.span, engine=whole.engine)


def _from(whole: Whole, run: Run, initial: Sequence[int]) -> Run:
    """A run of the extended system, its initial values named as those of the package."""
    return replace(run, initial=tuple((f.name, f.domain.show(initial[f.index])) for f in whole.system.free))


def _steps(frozen: Frozen, found: Exploration, graph: Quotient, number: int) -> Iterator[tuple[int, int]]:
    """The steps of an extended state that are productive in the system itself."""
    own = found.store.state(number)[: frozen.first]
    for update, target in graph.out(number):
        if found.store.state(target)[: frozen.first] != own:
            yield update, target


def _boxes(
    whole: Whole, frozen: Frozen, found: Exploration, graph: Quotient, prop: Property
) -> tuple[list[Box], dict[tuple[int, ...], int]]:
    places = [f.index for f in observed(whole.system, prop.on)]
    known: dict[tuple[int, ...], int] = {}
    kept: dict[tuple[int, tuple[int, ...]], Box] = {}
    for number in range(graph.states):
        state = found.store.state(number)
        out = [frozen.picks[update] for update, _ in _steps(frozen, found, graph, number)]
        if not all(out):
            continue  # a step that is no choice is always there
        for allowed in boxes(state[frozen.first :], frozen.sizes, out):
            outcome = known.setdefault(tuple(state[i] for i in places), len(known))
            kept.setdefault((outcome, allowed), Box(number, outcome, allowed))
    return list(kept.values()), known


def _unsettled(frozen: Frozen, found: Exploration, graph: Quotient, total: Sequence[int]) -> int | None:
    """Under one total choice: a reachable state from which no normal form is reachable, or None."""
    seen = {0}
    queue = [0]
    before: dict[int, list[int]] = {}
    quiet: list[int] = []
    for number in queue:
        productive_here = False
        own = found.store.state(number)[: frozen.first]
        for update, target in graph.out(number):
            if all(total[slot] == code for slot, code in frozen.picks[update]):
                productive_here = productive_here or found.store.state(target)[: frozen.first] != own
                before.setdefault(target, []).append(number)
                if target not in seen:
                    seen.add(target)
                    queue.append(target)
        if not productive_here:
            quiet.append(number)
    settles = set(quiet)
    for number in quiet:
        for previous in before.get(number, ()):
            if previous not in settles:
                settles.add(previous)
                quiet.append(previous)
    return next((number for number in queue if number not in settles), None)


def _collides(whole: Whole, prop: Property, walks: Walks, first: Box, second: Box, named: str) -> Result:
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
    run = _from(whole, walks.run_along(shared), left.initial)
    return Result(prop.name, Verdict.VIOLATED, Assurance.EXHAUSTIVE, detail, prop.span, run, (), whole.engine, fork)
