"""The search by the C kernel: the same as plain Python in every field, and circuits the same as the scalar meaning."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from random import Random

import pytest
from conftest import CHECKOUT
from strategies_systems import random_system, random_watchlist
from strategies_terms import ROOTS, VARIABLES, cases, rebuilt
from systems_by_hand import Draft, chains, counters

from icore_kernel import api
from icore_kernel.check.plan import make_plan
from icore_kernel.explore.blasting import Blaster, Unsupported
from icore_kernel.explore.circuit import FALSE, Circuit
from icore_kernel.explore.layout import lay_out
from icore_kernel.explore.model import LEGALITY, Audited, Exploration, Mode, Progress, Rules, Unaudited, Watchlist, trace
from icore_kernel.explore.search import Engine, explore, has_kernel
from icore_kernel.meaning.scalar import evaluate
from icore_kernel.system import Clause, Domain, DomainKind, Field, Kind, System, Write
from icore_kernel.terms.table import Op, Sort
from icore_kernel.terms.term import Term, TermBank

MODES: tuple[Mode, ...] = (Audited(), Unaudited(), Unaudited(frozenset({"slip", "u1.attempt"})))
EXAMPLES = sorted((CHECKOUT / "examples").glob("*.icore"))
needs_kernel = pytest.mark.skipif(not has_kernel(), reason="the C kernel is not installed")
NOTHING, NO_RULES = Watchlist(), Rules()
APART = ("seconds", "engine", "store", "graph")


def native(system: System, watchlist: Watchlist = NOTHING, rules: Rules = NO_RULES, mode: Mode = MODES[0]) -> Exploration:
    return explore(system, watchlist, rules, mode, Engine.NATIVE)


def assert_same(found: Exploration, expected: Exploration) -> None:
    """Every field, state by state in the same order, and shortest runs that are the same steps."""
    for each in fields(Exploration):
        if each.name not in APART:
            assert getattr(found, each.name) == getattr(expected, each.name), each.name
    assert (found.graph is None) is (expected.graph is None)
    if found.graph is not None and expected.graph is not None:
        for row in ("start", "update", "target"):
            assert list(getattr(found.graph, row)) == list(getattr(expected.graph, row)), row
    for number in range(found.states):
        assert found.store.state(number) == expected.store.state(number)
    for number in range(0, found.states, 1 + found.states // 10):
        assert trace(found, number) == trace(expected, number)


# ---- against the search in plain Python ---------------------------------------------------------------------------


@needs_kernel
@pytest.mark.parametrize("mode", MODES, ids=["audited", "unaudited", "two let through"])
def test_random_systems_are_explored_exactly_as_by_plain_python(mode: Mode) -> None:
    met: Counter[str] = Counter()
    for seed in range(200):
        random = Random(seed)
        system = random_system(random)
        watchlist = random_watchlist(system, random)
        # Without steps to keep or to judge, blocks are plain (plain.c).
        for rules in (Rules(), Rules(keep_graph=True)):
            found = native(system, watchlist, rules, mode)
            assert_same(found, explore(system, watchlist, rules, mode, Engine.PYTHON))
        met["violated"] += bool(found.violations)
        met["refused"] += bool(found.refusals)
        met["deep"] += found.depth >= 3
        met["finality"] += found.finality is not None
        met["dead"] += found.dead_ends.unended > 0
    if isinstance(mode, Audited):
        assert all(met[case] >= 8 for case in ("deep", "finality", "dead")), met
        assert met["violated"] >= 66 and met["refused"] >= 60, met


@needs_kernel
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
@pytest.mark.parametrize("mode", (Audited(), Unaudited()), ids=str)
def test_examples_are_explored_as_by_the_other_engines(path: Path, mode: Mode) -> None:
    loaded = api.load(path)
    watchlist = make_plan(loaded.system, loaded.bank).watchlist
    rules = Rules(max_depth=9)
    found = native(loaded.system, watchlist, rules, mode)
    blocks = explore(loaded.system, watchlist, rules, mode, Engine.NUMPY)
    for name in ("levels", "steps", "stutters", "coverage", "refusals", "passed", "stopped", "finality_checked"):
        assert getattr(found, name) == getattr(blocks, name), name
    assert {v[:3] for v in map(by_label, found.violations)} == {v[:3] for v in map(by_label, blocks.violations)}
    assert {name: sighting.count for name, sighting in (*found.checks.items(), *found.seen.items())} == {
        name: sighting.count for name, sighting in (*blocks.checks.items(), *blocks.seen.items())
    }
    for name, extent in found.minimums.items():
        assert (extent.least, extent.greatest) == (blocks.minimums[name].least, blocks.minimums[name].greatest)
    assert (found.dead_ends.quiet, found.dead_ends.unended) == (blocks.dead_ends.quiet, blocks.dead_ends.unended)
    if sum(found.levels) < 600:
        assert_same(found, explore(loaded.system, watchlist, rules, mode, Engine.PYTHON))


def by_label(violation: object) -> tuple[object, ...]:
    return tuple(getattr(violation, name) for name in ("schema", "label", "count"))


@needs_kernel
def test_from_an_infeasible_state_every_clause_counts() -> None:
    # The world breaks x <= 2. From 3, `on` leaves it broken and is refused; `back` mends it; `stay` is a stutter that is illegal.
    draft = Draft((0, 4))
    bank = draft.bank
    system = draft.system(
        [
            draft.move("break", 2, 3, kind=Kind.ENVIRONMENT),
            draft.move("on", 3, 4),
            draft.move("back", 3, 1),
            draft.move("stay", 3, 3),
            draft.move("up", 0, 1),
            draft.move("up", 1, 2),
        ],
        feasibility=(Clause("A.4(1)", bank.le(draft.x(), draft.n(2))), Clause("A.4(2)", bank.lt(draft.x(), draft.n(3)))),
    )
    found = native(system, rules=Rules(keep_graph=True))
    assert_same(found, explore(system, rules=Rules(keep_graph=True), engine=Engine.PYTHON))
    counts = {(v.schema, v.label): v.count for v in found.violations}
    assert counts == {(schema, label): 1 for schema in ("break", "on", "stay") for label in ("A.4(1)", "A.4(2)")}
    assert (found.states, found.steps, found.stutters) == (4, 4, 0)


# ---- counts computed by hand --------------------------------------------------------------------------------------


@needs_kernel
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257])
@pytest.mark.parametrize("lo", [0, -3])
@pytest.mark.parametrize("before", [0, 19])
def test_fields_around_every_power_of_two_wherever_they_stand(size: int, lo: int, before: int) -> None:
    # `before` fields of 5 values fill 3 bits each, so that the two counters lie in one word, or in two, or in the second.
    draft = Draft(*[(0, 4)] * before, (lo, lo + size - 1), (lo, lo + size - 1))
    bank, x, y = draft.bank, draft.x(before), draft.x(before + 1)
    # The second is set to the first: size - 1 ticks of x from every state, and a copy in every state.
    copy = draft.update("copy", bank.true, (before + 1, x))
    system = draft.system([draft.tick(before), copy])
    seen = (("level", bank.eq(x, y)), ("below", bank.lt(y, x)), ("greatest", bank.le(draft.n(lo + size - 1), y)))
    found = native(system, Watchlist(seen=seen))
    # y never exceeds x: pairs y <= x.
    states = size * (size + 1) // 2
    assert found.states == states
    assert (found.steps, found.stutters) == (states - size + states, size)
    assert [found.seen[name].count for name in ("level", "below", "greatest")] == [size, states - size, 1]
    assert found.store.state(found.states - 1)[before] == lo + size - 1


@needs_kernel
@pytest.mark.parametrize("count", [5, 6])
def test_the_table_grows_and_loses_nothing(count: int) -> None:
    # 16807 and 117649 states: beyond the first table once, and twice.
    found = native(chains(count, 2, 2))
    assert (found.states, found.steps, found.depth) == (7**count, count * 8 * 7 ** (count - 1), 4 * count)


@needs_kernel
def test_states_of_several_chunks() -> None:
    found = native(counters(12, 3))
    assert (found.states, found.steps, found.depth) == (3**12, 12 * 2 * 3**11, 24)
    # The levels are the coefficients of (1 + z + z^2)^12.
    row = [1]
    for _ in range(12):
        row = [sum(row[max(0, i - 2) : i + 1]) for i in range(len(row) + 2)]
    assert found.levels == tuple(row)
    assert len(trace(found, 3**12 - 1).updates) == 24


@needs_kernel
def test_many_moves_to_one_state_in_one_block() -> None:
    # 150 updates (three words of moves) all lead from each of 40 states to the same one.
    draft = Draft((0, 39), (0, 1))
    moves = [draft.update("end", draft.bank.true, (0, draft.n(0)), (1, draft.n(1)), binding=str(i)) for i in range(150)]
    system = draft.system(moves, (0, 0), free=(0,))
    found = native(system, rules=Rules(keep_graph=True))
    assert (found.states, found.steps, found.stutters, found.levels) == (41, 41 * 150, 150, (40, 1))
    assert found.graph is not None
    assert set(found.graph.target.tolist()) == {40}
    assert found.graph.update.tolist() == list(range(150)) * 41


# ---- stopping -----------------------------------------------------------------------------------------------------


@needs_kernel
@pytest.mark.parametrize("most", [0, 1, 2, 100, 2048, 2049, 2400, 2401, 5000])
def test_max_states_keeps_exactly_so_many(most: int) -> None:
    found = native(chains(4, 2, 2), Watchlist(seen=(("all", Draft((0, 1)).bank.true),)), Rules(max_states=most))
    assert found.states == min(most, 2401) == found.seen["all"].count
    assert found.stopped == (f"max-states {most}" if most < 2401 else None)


@needs_kernel
@pytest.mark.parametrize("depth", [0, 1, 7, 16, 17])
def test_max_depth_looks_at_the_last_level_and_does_not_expand_it(depth: int) -> None:
    system, rules = chains(4, 2, 2), Rules(max_depth=depth)
    found = native(system, Watchlist(seen=(("all", Draft((0, 1)).bank.true),)), rules)
    assert found.levels == explore(system, rules=Rules()).levels[: depth + 1]
    assert found.seen["all"].count == found.states
    assert found.stopped == ("max-depth 16" if depth == 16 else None if depth == 17 else f"max-depth {depth}")


@needs_kernel
def test_time_interruption_and_memory_end_a_search_with_what_it_knows() -> None:
    system = counters(14, 3)
    assert native(system, rules=Rules(timeout=0.0)).stopped == "timeout 0 s"
    asked = [0]

    def interrupted() -> bool:
        asked[0] += 1
        return asked[0] > 6

    found = native(system, rules=Rules(interrupted=interrupted))
    assert (found.stopped, 0 < found.states < 3**14) == ("interrupted", True)

    def struck() -> bool:
        asked[0] += 1
        if asked[0] > 20:
            raise KeyboardInterrupt
        return False

    assert native(system, rules=Rules(interrupted=struck)).stopped == "interrupted"
    least = native(system, rules=Rules(max_memory=1))
    assert least.stopped == "max-memory 1 B"
    assert least.states < 3**14


@needs_kernel
def test_progress_is_told_of_long_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("icore_kernel.explore.tally.FIRST_TOLD", 0.0)
    monkeypatch.setattr("icore_kernel.explore.tally.TOLD_EVERY", 0.0)
    told: list[Progress] = []
    native(counters(10, 3), rules=Rules(progress=told.append))
    assert [progress.states for progress in told] == sorted(progress.states for progress in told)
    assert told[-1].depth == 20


@needs_kernel
def test_what_is_looked_for_stops_the_search_at_the_same_place_each_time() -> None:
    draft = Draft(*[(0, 2)] * 10)
    bank = draft.bank
    full = bank.conj([draft.is_(2, i) for i in range(3)])
    bad = draft.update("bad", full, (0, draft.n(0)), after=(Clause("12(a)", bank.false),))
    out = draft.update("out", full, (0, draft.n(7)))
    ticks = [draft.tick(i) for i in range(10)]
    for system, watchlist, stop, reason in (
        (draft.system(ticks), Watchlist(seen=(("full", full),)), "full", "reached full"),
        (draft.system(ticks), Watchlist(checks=(("never", bank.not_(full)),)), "never", "violated never"),
        (draft.system([*ticks, bad]), Watchlist(), LEGALITY, "violated legality"),
        (draft.system([*ticks, out]), Watchlist(), LEGALITY, "violated legality"),
    ):
        rules = Rules(stop_on=frozenset({stop}))
        first, second = (native(system, watchlist, rules) for _ in range(2))
        assert first.stopped == second.stopped == reason
        assert (first.levels, first.steps, first.violations) == (second.levels, second.steps, second.violations)
        assert first.states < 3**10
        # The first one met lies as shallow as without the rule: six ticks.
        state = first.violations[0].state if first.violations else next(iter((*first.seen.values(), *first.checks.values()))).first
        assert state is not None
        assert len(trace(first, state).updates) == 6


def test_what_has_no_circuit_is_left_to_numpy() -> None:
    draft = Draft((0, 4000), (1, 4000))
    bank = draft.bank
    up = draft.update("up", bank.lt(draft.x(), draft.n(3000)), (0, bank.add(draft.x(), draft.n(1))))
    system = draft.system([up])
    watchlist = Watchlist(seen=(("ratio", bank.lt(draft.n(100), bank.floordiv(draft.x(0), draft.x(1)))),))
    found = explore(system, watchlist)
    assert (found.engine, found.states, found.seen["ratio"].count) == ("numpy", 3001, 2900)
    if has_kernel():
        with pytest.raises(Unsupported):
            native(system, watchlist)


@needs_kernel
def test_a_kernel_of_another_edition_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    from icore_kernel.explore import _kernel

    monkeypatch.setattr(_kernel, "EDITION", 1)
    assert not has_kernel()
    assert explore(chains(4, 2, 2)).engine == "numpy"


def test_a_small_search_loads_no_kernel() -> None:
    script = (
        "import sys; from systems_by_hand import counters; from icore_kernel.explore.search import explore;"
        "found = explore(counters(2, 3)); print(found.states, 'icore_kernel.explore._kernel' in sys.modules)"
    )
    paths = [path for path in sys.path if path]
    run = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {paths!r}; {script}"], capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == ["9", "False"]


# ---- circuits -----------------------------------------------------------------------------------------------------


# Fields of more than 2**63 values have no layout: the block searches refuse them before there is a circuit.
WIDE = sum(1 << v.index for v in VARIABLES if v.hi - v.lo >= 2**63)
FIELDS = [
    Field(v.name, Domain(DomainKind.BOOL if v.boolean else DomainKind.INT, v.lo, v.lo if WIDE >> v.index & 1 else v.hi), v.index)
    for v in VARIABLES
]
LAYOUT = lay_out(FIELDS)


def packed(state: Sequence[int]) -> tuple[int, ...]:
    return LAYOUT.pack([VARIABLES[i].lo if WIDE >> i & 1 else value for i, value in enumerate(state)])


def simulate(circuit: Circuit, words: tuple[int, ...]) -> list[int]:
    """The value of every node in one packed state; node 0 is false."""
    values = [0]
    for node in range(1, len(circuit)):
        a, b = circuit.left[node], circuit.right[node]
        if circuit.kinds[node] == 0:
            values.append(words[a] >> b & 1)
            continue
        x, y = values[a >> 1] ^ (a & 1), values[b >> 1] ^ (b & 1)
        values.append(x & y if circuit.kinds[node] == 1 else x ^ y)
    return values


def value_of(blaster: Blaster, term: Term, values: list[int]) -> int:
    def bit(literal: int) -> int:
        return values[literal >> 1] ^ (literal & 1)

    if term.sort is Sort.BOOL:
        return bit(blaster.literal(term))
    number = blaster.number(term)
    return number.offset + sum(bit(literal) << weight for weight, literal in enumerate(number.bits))


@pytest.mark.parametrize("simplify", [True, False])
def test_circuits_have_the_values_of_the_scalar_meaning(simplify: bool) -> None:
    bank, other = TermBank(simplify=False), TermBank()
    met: Counter[Op] = Counter()
    for case in cases(7, 4000, bank):
        if case.term.reads & WIDE:
            continue
        term = rebuilt(other, case.term) if simplify else case.term
        circuit = Circuit()
        blaster = Blaster(circuit, LAYOUT)
        try:
            blaster.literal(term) if term.sort is Sort.BOOL else blaster.number(term)
        except Unsupported:
            continue
        for state in case.states:
            assert value_of(blaster, term, simulate(circuit, packed(state))) == evaluate(case.term, state)
        met[case.term.op] += 1
    assert all(met[op] >= 20 for op in ROOTS), met


def test_circuits_of_what_holds_after_writes_have_the_values_of_the_scalar_meaning() -> None:
    bank, random = TermBank(), Random(3)
    p, q, _, status, owner, level, *_ = (bank.variable(v.name, v.index, v.lo, v.hi, v.boolean) for v in VARIABLES)
    # All at once: p and q change places, and `level` is set by the status before.
    values = {p: q, q: p, status: bank.add(owner, bank.integer(1)), owner: bank.integer(2), level: bank.sub(status, bank.integer(5))}
    met: Counter[str] = Counter()
    for case in cases(8, 3000, TermBank(simplify=False)):
        if case.term.reads & WIDE:
            continue
        written = [field for field in values if random.random() < 0.6]
        writes = [Write(FIELDS[field.variable.index], values[field]) for field in written]
        circuit = Circuit()
        before = Blaster(circuit, LAYOUT)
        then = before.after(writes)
        try:
            then.literal(case.term) if case.term.sort is Sort.BOOL else then.number(case.term)
        except Unsupported:
            continue
        for state in case.states:
            after = list(state)
            for field in written:
                after[field.variable.index] = int(evaluate(values[field], state))
            expected = evaluate(case.term, after)
            assert value_of(then, case.term, simulate(circuit, packed(state))) == expected
            met["changed"] += expected != evaluate(case.term, state)
            met["untouched"] += not any(case.term.reads >> field.variable.index & 1 for field in written)
    assert met["changed"] > 500 and met["untouched"] > 20, met


def test_a_circuit_folds_what_is_known() -> None:
    circuit = Circuit()
    a, b = circuit.input(0, 0), circuit.input(0, 1)
    assert circuit.input(0, 0) == a
    assert circuit.both(a, b) == circuit.both(b, a)
    assert circuit.both(a, a ^ 1) == FALSE
    assert circuit.choose(a, b, b) == b
    assert circuit.differ(a, b ^ 1) == circuit.differ(b, a) ^ 1
    assert len(circuit) == 5  # The constant, two inputs, a conjunction, an exclusive disjunction.


@pytest.mark.parametrize("top", [4, 5, 6, 7])
def test_equality_tests_no_more_bits_than_the_domain_needs(top: int) -> None:
    draft = Draft((0, top))
    circuit = Circuit()
    blaster = Blaster(circuit, lay_out(draft.fields))
    literal = blaster.literal(draft.is_(4))
    assert [value_of(blaster, draft.is_(4), simulate(circuit, (code,))) for code in range(top + 1)] == [int(c == 4) for c in range(top + 1)]
    assert (literal == circuit.input(0, 2)) is (top == 4)
