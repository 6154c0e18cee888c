"""The smallest plan, by hand: each case is decided by one part of what a plan has to be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from systems_by_hand import Draft

from icore_kernel.prove.repair import Found, Task, smallest
from icore_kernel.system import Clause, GroundUpdate


def _draft() -> Draft:
    return Draft((0, 4), (0, 4))


def _found(
    draft: Draft, updates: list[GroundUpdate], goal: Any, depth: int = 5, feasibility: tuple[Clause, ...] = (), **more: Any
) -> Found:
    system = draft.system(updates, (0, 0), feasibility)
    return smallest(system, draft.bank, Task((0, 0), tuple(range(len(updates))), goal, **more), depth)


def _names(draft: Draft, updates: list[GroundUpdate], found: Found) -> list[str] | None:
    return None if found.plan is None else [updates[n].schema for n in found.plan.updates]


def test_one_step_after_the_other_and_everything_else_stays() -> None:
    d = _draft()
    ticks = [d.tick(0), d.tick(1)]
    found = _found(d, ticks, d.bank.and_(d.is_(2, 0), d.is_(1, 1)))
    assert found.plan is not None and found.depth == 3
    assert sorted(found.plan.updates) == [0, 0, 1]
    assert found.plan.states[0] == (0, 0) and found.plan.states[-1] == (2, 1)
    one = _found(d, ticks, d.bank.and_(d.is_(2, 0), d.is_(1, 1)), depth=2)
    assert (one.plan, one.depth, one.closed) == (None, 2, False)


def test_no_state_on_the_way_breaks_feasibility() -> None:
    d = _draft()
    clause = Clause("not two", d.bank.ne(d.x(0), d.n(2)))
    assert _found(d, [d.tick(0)], d.is_(3)).depth == 3
    found = _found(d, [d.tick(0)], d.is_(3), feasibility=(clause,))
    assert (found.plan, found.closed, found.depth) == (None, True, 1), "one step leads to 1, and none from there"


@pytest.mark.parametrize("phase", ["before", "after", "requires"])
def test_every_step_is_legal(phase: str) -> None:
    d = _draft()
    forbids = d.bank.ne(d.x(0), d.n(1 if phase != "after" else 2))
    what: Mapping[str, Any] = {"requires": forbids} if phase == "requires" else {phase: (Clause("a clause", forbids),)}
    update = d.update("tick", d.bank.lt(d.x(0), d.n(4)), (0, d.bank.add(d.x(0), d.n(1))), **what)
    found = _found(d, [update], d.is_(3))
    assert (found.plan, found.closed, found.depth) == (None, True, 1)


def test_a_write_out_of_its_domain_is_no_step() -> None:
    d = _draft()
    update = d.update("double", d.bank.true, (0, d.bank.add(d.x(0), d.n(3))))
    found = _found(d, [update], d.is_(1))
    assert (found.plan, found.closed, found.depth) == (None, True, 1), "3, and then 6 is no value of it"


def test_a_forbidden_step_is_not_taken() -> None:
    d = _draft()
    updates = [d.tick(0), d.move("leap", 0, 3)]
    assert _names(d, updates, _found(d, updates, d.is_(3))) == ["leap"]
    around = _found(d, updates, d.is_(3), forbidden={1: d.is_(0)})
    assert _names(d, updates, around) == ["tick", "tick", "tick"]
    none = _found(d, updates, d.is_(3), forbidden={1: d.bank.true, 0: d.is_(1)})
    assert (none.plan, none.closed, none.depth) == (None, True, 1)


def test_where_steps_go_round_every_state_is_seen_once() -> None:
    d = _draft()
    updates = [d.move("on", 0, 1), d.move("back", 1, 0)]
    found = _found(d, updates, d.is_(2), depth=9)
    assert (found.plan, found.closed, found.depth) == (None, True, 2)


def test_a_plan_may_come_back_to_where_it_began() -> None:
    """The start is no end of a plan: a plan has a step."""
    d = _draft()
    updates = [d.move("on", 0, 1), d.move("back", 1, 0)]
    assert _names(d, updates, _found(d, updates, d.is_(0))) == ["on", "back"]


def test_what_has_to_be_settled_is_settled_on_the_way() -> None:
    d = _draft()
    updates = [d.tick(0), d.update("mark", d.is_(1)), d.tick(1)]
    assert _names(d, updates, _found(d, updates, d.is_(1))) == ["tick"]
    # `mark` changes nothing; only that it was taken counts.
    assert _names(d, updates, _found(d, updates, d.is_(1), settles={1: d.bank.true})) == ["tick", "mark"]
    # Where its condition holds before the step.
    late = _found(d, updates, d.is_(1), settles={1: d.is_(1, 1)})
    assert late.plan is not None and len(late.plan.updates) == 3 and late.plan.updates[-1] == 1
    never = _found(d, updates[:1], d.is_(1), settles={})
    assert (never.plan, never.closed) == (None, True)


def test_fewest_steps_then_what_is_preferred_then_cost_then_value() -> None:
    d = _draft()
    updates = [
        d.update("cheap", d.is_(0), (0, d.n(3))),
        d.update("wide", d.is_(0), (0, d.n(3)), (1, d.n(1))),
        d.update("paper", d.is_(0), (0, d.n(3)), (1, d.n(2))),
        d.tick(0),
    ]
    task: dict[str, Any] = {"changed": ((0, 7), (1, 3)), "value": d.x(1)}

    def chosen(**more: Any) -> tuple[list[str] | None, int, int, bool]:
        found = _found(d, updates, d.bank.le(d.n(3), d.x(0)), **{**task, **more})
        assert found.plan is not None
        return _names(d, updates, found), found.plan.cost, found.plan.value, found.plan.preferred

    assert chosen() == (["cheap"], 7, 0, False), "three ticks cost no more, and are more"
    assert chosen(changed=((0, 7), (1, 0))) == (["paper"], 7, 2, False), "of the same cost: the greatest value"
    assert chosen(changed=((0, 7), (1, 0)), issued={2: ((d.bank.true, 1),)}) == (["wide"], 7, 1, False)
    assert chosen(changed=((0, 7), (1, 0)), issued={2: ((d.is_(4, 1), 1),)}) == (["paper"], 7, 2, False), "its condition does not hold"
    assert chosen(prefers={1: d.bank.true, 2: d.bank.true}) == (["paper"], 10, 2, True), "preferred, though it costs more"
    assert chosen(prefers={3: d.bank.true}) == (["cheap"], 7, 0, False), "not for more steps"
    assert chosen(value=d.bank.neg(d.x(1)), prefers={1: d.bank.true, 2: d.bank.true}) == (["wide"], 10, -1, True)


def test_nothing_open_reaches_nothing() -> None:
    d = _draft()
    system = d.system([d.tick(0)], (0, 0))
    found = smallest(system, d.bank, Task((0, 0), (), d.is_(0)), 4)
    assert (found.plan, found.closed, found.depth, found.reason) == (None, True, 0, "")
    there = replace(Task((0, 0), (), d.is_(1)), start=(3, 0), open=(0,), goal=d.is_(4))
    elsewhere = smallest(system, d.bank, there, 4)
    assert elsewhere.plan is not None and elsewhere.plan.states == ((3, 0), (4, 0)), "any state may be the start"
