"""`order stability given …`: frozen choices against the plain definition, one exploration for each way to choose."""

from __future__ import annotations

from functools import partial
from itertools import product
from random import Random

import pytest
from rewriting_lab import Edges, Name, brute, random_edges, system_of
from strategies_systems import NOWHERE

from icore_kernel.check.frozen import decide_given
from icore_kernel.check.whole import Whole
from icore_kernel.explore.model import Rules
from icore_kernel.explore.search import Engine, explore
from icore_kernel.rewriting.frozen import Box, boxes, choice_of, collision, freeze
from icore_kernel.system import Kind, Property, PropertyKind, System
from icore_kernel.terms.term import TermBank
from icore_kernel.verdict import Result, Verdict

RULES = Rules(keep_graph=True)

NAMES: list[Name] = [
    ("assign", (("m", "ana"), ("w", "a"))),
    ("assign", (("m", "bo"), ("w", "a"))),
    ("assign", (("m", "ana"), ("w", "b"))),
    ("assign", (("m", "cy"), ("w", "a"))),
    ("finish.ok", (("w", "a"),)),
    ("finish.broken", (("w", "a"),)),
    ("push", ()),
]

GIVEN: list[tuple[tuple[str, ...], ...]] = [
    (("assign.m",),),
    (("finish.ok",),),
    (("assign.m",), ("finish.ok",)),
    (("assign", "push"),),
    (("finish.ok", "finish.broken"), ("assign.w",)),
    (("assign.m",), ("assign.w",)),
]


def slots_of(system: System, given: tuple[tuple[str, ...], ...]) -> list[dict[int, tuple[object, str]]]:
    """For every item: update -> (slot, value), by the words of the design alone."""
    found = []
    for paths in given:
        own: dict[int, tuple[object, str]] = {}
        head, _, part = paths[0].partition(".")
        for number, update in enumerate(system.updates):
            base = update.schema.partition(".")[0]
            binding = dict(update.binding)
            if len(paths) == 1 and part and part in binding and base == head:
                own[number] = (tuple(sorted((k, v) for k, v in binding.items() if k != part)), binding[part])
            elif len(paths) == 1 and part and base == head:
                own[number] = (update.binding, update.schema)
            elif len(paths) > 1 and (update.schema in paths or base in paths):
                own[number] = (update.binding, update.schema if update.schema in paths else base)
        found.append(own)
    return found


def plain(edges: Edges, system: System, given: tuple[tuple[str, ...], ...], starts: list[int]) -> tuple[bool, bool]:
    """(definition 14 in every class, normalizing in every class), each class a system in which the choices are constants."""
    items = slots_of(system, given)
    slots: dict[tuple[int, object], list[str]] = {}
    for number, own in enumerate(items):
        for slot, value in own.values():
            known = slots.setdefault((number, slot), [])
            if value not in known:
                known.append(value)
    definition = normalizing = True
    for total in product(*slots.values()):
        constant = dict(zip(slots, total, strict=True))
        allowed = [
            all(u not in own or constant[i, own[u][0]] == own[u][1] for i, own in enumerate(items)) for u in range(len(system.updates))
        ]
        for start in starts:
            own_edges, order = [], [start]
            for state in order:
                kept = [(u, t) for u, t in edges[state] if allowed[u]]
                order.extend(dict.fromkeys(t for _, t in kept if t not in order))
            number_of = {s: i for i, s in enumerate(order)}
            own_edges = [[(u, number_of[t]) for u, t in edges[s] if allowed[u]] for s in order]
            told = brute(own_edges)
            definition = definition and told.definition_14
            normalizing = normalizing and told.normalizing
    return definition, normalizing


def decide(system: System, bank: TermBank, given: tuple[tuple[str, ...], ...]) -> Result:
    prop = Property(PropertyKind.STABILITY, "order stability", bank.true, NOWHERE, given=given)
    return decide_given(Whole(system, bank, explore(system, rules=RULES), RULES), prop)


@pytest.mark.parametrize(
    ("block", "engine", "together"),
    [(0, "python", True), (1, "python", True), (2, "python", True), (0, "numpy", True), (1, "python", False)],
)
@pytest.mark.parametrize("cyclic", [False, True])
def test_the_plain_definition_agrees(cyclic: bool, block: int, engine: str, together: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nine hundred systems, half of them cyclic, some with several initial states: searched from all of them at once, or one by one."""
    monkeypatch.setattr("icore_kernel.check.frozen.explore", partial(explore, engine=Engine(engine)))
    if not together:
        monkeypatch.setattr("icore_kernel.rewriting.frozen.MOST_CANDIDATES", 0)
    verdicts = dict.fromkeys(Verdict, 0)
    for seed in range(150 * block, 150 * (block + 1)):
        random = Random(seed)
        edges = random_edges(random, cyclic, most=9)
        given = GIVEN[seed % len(GIVEN)]
        bank = TermBank()
        starts = [0] if seed % 3 else sorted({0, random.randrange(len(edges))})
        system = system_of(edges, NAMES, bank, free=starts[1:])
        definition, normalizing = plain(edges, system, given, starts)
        found = decide(system, bank, given)
        expected = Verdict.HOLDS if definition and normalizing else Verdict.VIOLATED
        assert found.verdict is expected, (seed, given, found.detail)
        assert ("definition 14 fails" in found.detail) == (not definition), (seed, found.detail)
        verdicts[found.verdict] += 1
        if found.run is not None:
            assert [name for name, _ in found.run.initial] == [f.name for f in system.free], "copies of the start are not told"
            assert found.run.initial in [tuple((f.name, f.domain.show(s)) for f in system.free) for s in starts]
    assert verdicts[Verdict.HOLDS] > 30
    assert verdicts[Verdict.VIOLATED] > 20
    assert verdicts[Verdict.UNKNOWN] == 0


def test_faults_choose_nothing() -> None:
    """A passing fault is taken whatever was chosen: 0 -> 1 by assign(ana), 0 -> 2 by a fault of assign."""
    bank = TermBank()
    names: list[Name] = [("assign", (("m", "ana"),)), ("assign.slip", (("m", "bo"),))]
    edges: Edges = [[(0, 1), (1, 2)], [], []]
    ordinary = system_of(edges, [names[0], ("assign", (("m", "bo"),))], bank)
    assert decide(ordinary, bank, (("assign.m",),)).verdict is Verdict.HOLDS
    bank = TermBank()
    fault = system_of(edges, names, bank, [Kind.ORDINARY, Kind.FAULT])
    assert decide(fault, bank, (("assign.m",),)).verdict is Verdict.VIOLATED


def test_too_many_ways_to_choose_where_runs_go_round_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """0 <-> 1, 1 -> 2 by a choice with one value: normalizing under it. Gone through it holds; not gone through it is unknown."""
    bank = TermBank()
    names: list[Name] = [("go", ()), ("back", ()), ("end", (("m", "ana"),))]
    system = system_of([[(0, 1)], [(1, 0), (2, 2)], []], names, bank)
    assert decide(system, bank, (("end.m",),)).verdict is Verdict.HOLDS
    monkeypatch.setattr("icore_kernel.check.frozen.MOST_CHOICES", 0)
    found = decide(system, bank, (("end.m",),))
    assert found.verdict is Verdict.UNKNOWN
    assert found.run is not None
    assert [step.update for step in found.run.cycle] == ["go", "back"]


def test_a_choice_may_take_the_only_exit_away() -> None:
    """0 <-> 1; 1 -> 2 by end(ana) or end(bo) at 0: frozen to ana, bo's exit is gone and ana's remains; both exits by different
    schemas as alternatives: frozen to the one that is not there, the run never settles."""
    bank = TermBank()
    names: list[Name] = [("go", ()), ("back", ()), ("end", ()), ("stop", ())]
    system = system_of([[(0, 1)], [(1, 0), (2, 2)], [(3, 3)], []], names, bank)
    found = decide(system, bank, (("end", "stop"),))
    assert found.verdict is Verdict.VIOLATED
    assert "not normalizing: with stop" in found.detail


def test_boxes_by_hand() -> None:
    """Slots of 2 and 3 values, the first bound to its first value; the only step would bind the second slot to its third value:
    a normal form under the choices (1, 1) and (1, 2)."""
    assert boxes([1, 0], [2, 3], [((1, 3),)]) == [(0b10, 0b0110)]
    assert boxes([1, 0], [2, 3], [((0, 1),)]) == [], "a step that keeps to its choice is there"
    assert boxes([0, 0], [2, 2], [((0, 1), (1, 1))]) == [(0b100, 0b110), (0b010, 0b100)], "it is absent where either differs"


def test_collisions_by_hand() -> None:
    one, other = Box(1, 0, (0b010, 0b110)), Box(2, 1, (0b110, 0b100))
    assert collision([one, other]) == (one, other)
    assert collision([one, Box(2, 1, (0b100, 0b110))]) is None
    assert collision([one, Box(3, 0, (0b110, 0b110))]) is None, "the same outcome does not collide"
    assert isinstance(collision([one, other], budget=0), str)


def test_choices_are_read_as_written() -> None:
    bank = TermBank()
    system = system_of([[]], NAMES, bank)
    assert choice_of(system, ("assign.m",)).parameter == "m"
    assert choice_of(system, ("finish.ok",)).schemas == ("finish.ok", "finish.broken")
    frozen = freeze(system, bank, [choice_of(system, ("assign.m",)), choice_of(system, ("finish.ok",))])
    assert frozen.sizes == (3, 1, 2), "assign.m for a: ana, bo, cy; for b: ana; the outcome of finish(a): two"
