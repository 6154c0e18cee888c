"""Independence of update pairs over all feasible states: the solver against every state, one by one."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from random import Random

from strategies_systems import random_system
from systems_by_hand import Draft

from icore_kernel.explore import judge
from icore_kernel.explore.model import Audited, State
from icore_kernel.meaning import scalar
from icore_kernel.prove.independence import Independence, Independent
from icore_kernel.rewriting.commute import Footprints, Pair
from icore_kernel.system import Clause, GroundUpdate, Kind, System
from icore_kernel.terms.term import TermBank


def feasible_states(system: System) -> list[State]:
    ranges = [range(f.domain.lo, f.domain.hi + 1) for f in system.fields]
    return [s for s in product(*ranges) if all(scalar.evaluate(c.formula, s) for c in system.feasibility)]


def step(system: System, number: int, state: State) -> State | None:
    """The legal successor, whatever kind of update it is."""
    update = system.updates[number]
    return None if not judge.occurs(update, state) or judge.failing(system, update, state) else judge.successor(update, state)


def conflicts(system: System, a: int, b: int, states: list[State]) -> list[State]:
    """The feasible states in which both are productive and legal, and not residual-sound independent."""
    found = []
    for state in states:
        one, other = step(system, a, state), step(system, b, state)
        if one is None or other is None or state in (one, other):
            continue
        after = step(system, b, one)
        if after is None or after != step(system, a, other):
            found.append(state)
    return found


def test_every_state_one_by_one_agrees() -> None:
    answers = dict.fromkeys(Independent, 0)
    proved = conditions = 0
    for seed in range(60):
        system = random_system(Random(seed))
        if any(f.domain.size > 400 for f in system.fields):
            continue
        states = feasible_states(system)
        asked = Independence(system, TermBank())
        for a in range(len(system.updates)):
            for b in range(a + 1, len(system.updates)):
                found = asked.of(a, b, 5_000)
                bad = conflicts(system, a, b, states)
                assert found.answer is (Independent.CONFLICT if bad else Independent.EVERYWHERE), (seed, a, b)
                answers[found.answer] += 1
                proved += found.how == "footprints"
                if found.answer is Independent.CONFLICT:
                    assert found.state in bad
                    if found.condition is not None:
                        conditions += bool(found.condition)
                        for state in states:
                            both = step(system, a, state) not in (None, state) and step(system, b, state) not in (None, state)
                            if both and all(state[f.index] == value for f, value in found.condition):
                                assert state in bad, "the condition suffices"
    assert answers[Independent.CONFLICT] > 50
    assert answers[Independent.EVERYWHERE] > 50
    assert proved > 10
    assert conditions > 40


def test_known_beforehand_where_every_committable_step_is_legal() -> None:
    """commute.Pair against every state of systems without legality: what commutes never conflicts, what clashes always does."""
    counts = dict.fromkeys(Pair, 0)
    for seed in range(80):
        random = Random(seed)
        system = random_system(random)
        if any(f.domain.size > 400 for f in system.fields):
            continue
        bare = System(**{**vars(system), "feasibility": (), "updates": tuple(_bare(u) for u in system.updates)})
        states = feasible_states(bare)
        known = Footprints(bare.updates, TermBank())
        for a in range(len(bare.updates)):
            for b in range(a + 1, len(bare.updates)):
                pair = known.pair(a, b)
                counts[pair] += 1
                bad = conflicts(bare, a, b, states)
                if pair is Pair.COMMUTE:
                    assert not bad
                if pair is Pair.CLASH:
                    both = [s for s in states if step(bare, a, s) not in (None, s) and step(bare, b, s) not in (None, s)]
                    assert bad == both
    assert counts[Pair.COMMUTE] > 20
    assert counts[Pair.CLASH] > 5
    assert counts[Pair.OPEN] > 100


def _bare(update: GroundUpdate) -> GroundUpdate:
    return replace(update, kind=Kind.ORDINARY, before=(), after=())


def test_a_clause_of_feasibility_that_two_updates_share() -> None:
    """x0 and x1 may each become 1, not both: each update alone is legal, its residual is not. Without the clause they are independent."""
    draft = Draft((0, 1), (0, 1))
    bank = draft.bank
    ups = [draft.update(f"up{i}", draft.is_(0, i), (i, draft.n(1))) for i in range(2)]
    not_both = Clause("A.4(1)", bank.not_(bank.and_(draft.is_(1, 0), draft.is_(1, 1))))
    found = Independence(draft.system(ups, feasibility=(not_both,)), bank).of(0, 1, 5_000)
    assert found.answer is Independent.CONFLICT
    assert found.how == "Z3"
    assert found.state == (0, 0)
    free = Independence(draft.system(ups), bank).of(0, 1, 5_000)
    assert (free.answer, free.how) == (Independent.EVERYWHERE, "footprints")


def test_updates_that_are_never_enabled_together_are_independent_for_that_reason() -> None:
    draft = Draft((0, 3),)
    found = Independence(draft.system([draft.move("a", 0, 1), draft.move("b", 1, 2)]), draft.bank).of(0, 1, 5_000)
    assert found.answer is Independent.EVERYWHERE
    assert judge.committed(draft.system([draft.move("a", 0, 1)]), Audited(), 0, (0,)) == (1,)
