"""The kernel's passes over step graphs against plain Python, and its tables when they are wrong."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from random import Random
from typing import NamedTuple

import pytest
from systems_by_hand import Draft, counters

from icore_kernel.explore.model import LEGALITY, Audited, Rules, StepGraph, Watchlist
from icore_kernel.explore.search import has_kernel
from icore_kernel.rewriting import condense as plain
from icore_kernel.rewriting.graph import productive
from icore_kernel.system import Clause, System

if not has_kernel():
    pytest.skip("the C kernel is not installed", allow_module_level=True)

from icore_kernel.explore import _kernel, passes, step_rows
from icore_kernel.explore.native import NativeSearch
from icore_kernel.explore.tally import Clock


def random_graph(random: Random) -> StepGraph:
    states = random.randint(0, 40)
    start, update, target = array("q", [0]), array("i"), array("i")
    spread = random.choice((2, 5, 40))
    for state in range(states):
        for _ in range(random.choice((0, 0, 1, 1, 2, 5))):
            update.append(random.randrange(7))
            target.append(min(states - 1, max(0, state + random.randint(-1, spread))))
        start.append(len(target))
    return StepGraph(start, update, target)


def rising_graph(random: Random) -> StepGraph:
    """Every step goes to a later state."""
    states = random.randint(0, 40)
    start, update, target = array("q", [0]), array("i"), array("i")
    for state in range(states):
        for _ in range(random.choice((0, 1, 2, 5)) if state + 1 < states else 0):
            update.append(random.randrange(7))
            target.append(random.randint(state + 1, min(states - 1, state + 9)))
        start.append(len(target))
    return StepGraph(start, update, target)


class Tables(NamedTuple):
    """What `condense` fills, by component."""

    component: Sequence[int]
    size: Sequence[int]
    bottom: Sequence[int]
    one_bottom: Sequence[int]
    one_class: Sequence[int]
    longest: Sequence[int]

    def by_state(self) -> list[tuple[int, ...]]:
        """The same whatever the components are numbered; a bottom by its first state."""
        first: dict[int, int] = {}
        for state, c in enumerate(self.component):
            first.setdefault(c, state)
        bottoms = [self.one_bottom[c] if self.one_bottom[c] < 0 else first[self.one_bottom[c]] for c in self.component]
        return [
            (self.size[c], bool(self.bottom[c]), bottom, self.one_class[c], self.longest[c])
            for c, bottom in zip(self.component, bottoms, strict=True)
        ]


def test_components_and_the_pass_upwards_are_those_of_plain_python() -> None:
    several = rising = 0
    for seed in range(400):
        random = Random(seed)
        graph = random_graph(random) if seed % 4 else rising_graph(random)
        quotient = productive(graph, (0,) if len(graph.start) > 1 else ())
        rows = [array(kind, list(row)) for kind, row in zip("qi", (quotient.start, quotient.target), strict=True)]
        states = quotient.states
        component = array("i", bytes(4 * states))
        count = _kernel.components(*rows, component)
        expected, sizes = plain.components(*rows)
        assert count == len(sizes)
        if all(t > s for s in range(states) for t in quotient.target[quotient.start[s] : quotient.start[s + 1]]):
            assert list(component) == list(range(states - 1, -1, -1))
            rising += states > 2 and len(quotient.target) > states
        else:
            assert list(component) == list(expected)
        classes = None if seed % 2 else array("i", [random.randrange(3) for _ in range(states)])
        out = [array(kind, bytes(width * count)) for kind, width in (("i", 4), ("b", 1), ("i", 4), ("i", 4), ("q", 8))]
        _kernel.condense(*rows, component, count, classes, *out)
        wanted = plain.condense(quotient, classes)
        tables = wanted.size, wanted.bottom, wanted.one_bottom, wanted.one_class, wanted.longest
        assert Tables(component, *out).by_state() == Tables(wanted.component, *tables).by_state()
        several += count > 1 and max(sizes, default=0) > 1
    assert several > 60 and rising > 60


def test_stutters_are_left_out_and_rows_are_turned_round() -> None:
    for seed in range(100):
        graph = random_graph(Random(seed))
        start, update, target = (array(k, list(row)) for k, row in zip("qii", (graph.start, graph.update, graph.target), strict=True))
        wanted = productive(graph, ())
        sources = sorted((target[p], s) for s in range(len(start) - 1) for p in range(start[s], start[s + 1]))
        back, source = array("q", bytes(8 * len(start))), array("i", bytes(4 * len(target)))
        _kernel.reverse(start, target, back, source)
        assert [(s, source[p]) for s in range(len(start) - 1) for p in range(back[s], back[s + 1])] == sources
        left = _kernel.productive(start, update, target, start, update, target)
        assert (list(start), list(update)[:left], list(target)[:left]) == tuple(map(list, (wanted.start, wanted.update, wanted.target)))


def test_regions_outside_a_goal_are_those_of_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    ends = cycles = 0
    for seed in range(300):
        random = Random(seed)
        graph = productive(random_graph(random), ())
        if not graph.states:
            continue
        # In half of them a run ends nowhere but in the goal, so that it is cycles that matter.
        quiet = random.random() < 0.5
        goal = bytearray((quiet and not list(graph.out(state))) or random.random() < 0.2 for state in range(graph.states))
        starts = [state for state in range(graph.states) if not goal[state] and random.random() < 0.2]
        fair = [quiet or random.random() < 0.7 for _ in range(7)]
        rows = (graph.start, graph.update, graph.target, goal, starts, fair, plain.components)
        with monkeypatch.context() as without:
            without.setattr(step_rows, "native", lambda: None)
            expected = passes.outside(*rows)
        assert passes.outside(*rows) == expected
        ends += expected[0] is not None
        cycles += bool(expected[1])
    assert ends > 60 and cycles > 8, (ends, cycles)


def test_a_region_of_wrong_numbers_is_refused() -> None:
    start, one, goal, region = array("q", [0, 1]), array("i", [0]), bytearray(1), bytearray(1)
    assert _kernel.region(start, one, one, goal, b"\1", one, region) == (-1, 0)
    for update, starts, fair, short in (([1], [0], b"\1", 1), ([0], [1], b"\1", 1), ([0], [-1], b"\1", 1), ([0], [0], b"", 1)):
        with pytest.raises(ValueError, match="out of range"):
            _kernel.region(start, array("i", update), one, goal, fair, array("i", starts), bytearray(short))
    with pytest.raises(ValueError, match="too short"):
        _kernel.region(start, one, one, goal, b"\1", one, bytearray())


@pytest.mark.parametrize(
    ("start", "target"),
    [([1, 1], []), ([0, 2], [0]), ([0, 1], [1]), ([0, 1], [-1]), ([0, 2, 1], [0]), ([], [])],
    ids=["begins late", "ends late", "no such state", "negative", "falling", "no row"],
)
def test_what_is_no_graph_is_refused(start: list[int], target: list[int]) -> None:
    with pytest.raises(ValueError, match="compressed rows"):
        _kernel.components(array("q", start), array("i", target), array("i", bytes(400)))
    with pytest.raises(ValueError, match="too short"):
        _kernel.components(array("q", [0, 0, 0]), array("i"), array("i", [0]))
    with pytest.raises(ValueError, match="not the components"):
        _kernel.condense(array("q", [0, 1, 1]), array("i", [1]), array("i", [0, 1]), 2, None, *[bytearray(16) for _ in range(5)])


# ---- tables of numbers, some of them wrong -------------------------------------------------------------------------


def judged() -> System:
    draft = Draft(*[(0, 2)] * 4, *[(0, 4)] * 20)
    bank = draft.bank
    full = bank.conj([draft.is_(2, i) for i in range(3)])
    clauses = (Clause("A.4(1)", bank.not_(full)), Clause("A.4(2)", bank.lt(draft.x(23), draft.n(4))))
    swap = draft.update("swap", bank.true, (0, draft.x(1)), (1, draft.x(0)), before=(Clause("6", bank.le(draft.x(3), draft.n(1))),))
    ticks = [draft.tick(i) for i in (0, 1, 2, 3, 23)]
    return draft.system([*ticks, swap], feasibility=clauses)


def test_wrong_tables_are_refused_or_harmless() -> None:
    # One number of one table at a time is replaced. Whatever is not refused runs to its bound and gives some answer.
    random = Random(1)
    refused = ran = 0
    for system in (judged(), counters(4, 3)):
        for _ in range(400):
            stop_on = frozenset({LEGALITY}) if random.random() < 0.3 else frozenset()
            rules = Rules(max_states=3000, keep_graph=random.random() < 0.5, stop_on=stop_on)
            search = NativeSearch(system, Watchlist(), rules, Audited(), Clock(rules))
            tables = search.tables
            programs = [row for program in tables.programs.values() for row in (program.gates, program.loads, program.kept)]
            row = random.choice([each for each in (*programs, tables.moves, tables.values, tables.clauses, tables.stops) if len(each)])
            place = random.randrange(len(row))
            row[place] = random.choice((-1, 0, 1, 3, 64, 10**6, -(2**31), row[place] + 1, row[place] ^ 1))
            try:
                found = search._new()
            except ValueError:
                refused += 1
                continue
            threads = random.choice((1, 2))
            assert _kernel.admit(found, b"\0" * 8 * search.layout.words) == 0
            while _kernel.begin_level(found):
                status = 0
                while status == 0:
                    status = _kernel.advance(found, 2, threads)
                if status != 1:
                    break
            assert 1 <= _kernel.totals(found)[0] <= 3000
            ran += 1
    assert refused > 100
    assert ran > 100


def test_a_search_that_is_not_complete_does_nothing() -> None:
    search = _kernel.new(1, 1, -1, 0)
    for call in (lambda: _kernel.advance(search, 1, 1), lambda: _kernel.begin_level(search), lambda: _kernel.admit(search, b"\0" * 8)):
        with pytest.raises(ValueError, match="not complete"):
            call()
    with pytest.raises(ValueError, match="no such program"):
        _kernel.program(search, 9, 1, 0, b"", b"", b"")
    with pytest.raises(ValueError, match="out of range"):
        _kernel.new(0, 1, -1, 0)
    with pytest.raises(IndexError):
        _kernel.state(search, 0)
    with pytest.raises(ValueError):
        _kernel.advance(object(), 1, 1)


def test_the_walk_after_final_states_refuses_what_is_not_there() -> None:
    rules = Rules()
    search = NativeSearch(counters(2, 3), Watchlist(), rules, Audited(), Clock(rules))
    found = search.run()
    assert found.states == 9
    marked, came = bytearray(9), array("I", b"\xff" * 36)
    for waiting, begin, end, marks in (
        (b"\x09\0\0\0", 0, 9, 9),
        (b"\0\0\0", 0, 9, 9),
        (b"", 0, 10, 9),
        (b"", 5, 4, 9),
        (b"", -1, 4, 9),
        (b"", 0, 9, 8),
    ):
        with pytest.raises(ValueError, match="no such states"):
            _kernel.finals(search.search, waiting, begin, end, bytearray(marks))
    updates = len(search.system.updates)
    for numbers, touching, marks, origins in (
        (b"\x09\0\0\0", updates, 9, 9), (b"\0\0\0", updates, 9, 9), (b"\0\0\0\0", updates - 1, 9, 9), (b"\0\0\0\0", updates, 8, 9),
        (b"\0\0\0\0", updates, 9, 8), (bytes(4 * _kernel.BLOCK + 4), updates, 9, 9),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="numbers of existing states"):
            _kernel.after(search.search, numbers, bytes(touching), bytearray(marks), array("I", bytes(4 * origins)))
    # From the initial state both counters move; nobody waits twice.
    arrived, broken = _kernel.after(search.search, b"\0\0\0\0", bytes(updates), marked, came)
    assert (list(memoryview(arrived).cast("I")), broken) == ([1, 2], None)
    assert _kernel.after(search.search, b"\0\0\0\0", bytes(updates), marked, came) == (b"", None)


def test_ends_are_told_apart_as_by_plain_python() -> None:
    met = 0
    for seed in range(100):
        random = Random(seed)
        graph = random_graph(random)
        states = len(graph.start) - 1
        goals = [bytearray(random.random() < 0.4 for _ in range(states)) for _ in range(3)]
        forms = [s for s in range(states) if graph.start[s] == graph.start[s + 1]]
        first = [next((place for place, goal in enumerate(goals) if goal[form]), 3) for form in forms]
        assert passes.ends(graph.start, goals) == tuple(first.count(place) for place in range(4))
        met += len(set(first)) == 4
    assert met > 10
