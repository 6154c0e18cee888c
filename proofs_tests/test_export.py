"""Exported models: every installed peer finds the states that icore finds, and a peer that is not installed is skipped, saying so."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest
import strategies_systems
from conftest import CHECKOUT, Icore
from systems_by_hand import Draft, chains, counters

from icore_kernel import api
from icore_kernel.explore.search import explore
from icore_kernel.export.expressions import cut, tree_size
from icore_kernel.export.lowering import Lowering
from icore_kernel.export.model import ExportError, Model, in_sequence, model
from icore_kernel.export.names import Names, comment
from icore_kernel.export.write import PEERS, configuration, export
from icore_kernel.meaning.scalar import evaluate
from icore_kernel.system import Clause, DomainKind, Kind, Property, PropertyKind, System
from icore_kernel.terms.term import Op, Term, TermBank, postorder

sys.path.insert(0, str(CHECKOUT / "proofs_tests" / "bench"))
import peers

MODELS = CHECKOUT / "proofs_tests" / "bench" / "models"
SMALL: list[tuple[Path, dict[str, str]]] = [
    *((path, {}) for path in sorted((CHECKOUT / "proofs_tests" / "cases" / "counts").glob("*.icore"))),
    (CHECKOUT / "examples" / "capability_assignment.icore", {}),
    (CHECKOUT / "examples" / "dependency_ladder.icore", {"n": "3"}),
]
# (file, settings, states, depth): the closed forms of the models' own comments at size S, k^n and its kin.
SIZE_S = [
    ("ladder_grid", {"n": "5", "L": "3", "m": "2"}, 10**5, 30),
    ("coverage", {"n": "4", "m": "3"}, 19**4, 20),
    ("decompose", {"c": "5", "m": "4"}, 10**5 + 2, 17),
]
# Maude takes about a minute for those.
FOR_MAUDE = [
    ("ladder_grid", {"n": "3", "L": "3", "m": "2"}, 10**3, 18),
    ("coverage", {"n": "2", "m": "3"}, 19**2, 10),
    ("decompose", {"c": "3", "m": "4"}, 10**3 + 2, 11),
]


def present(peer: peers.Peer) -> None:
    reason = peer.missing()
    if reason is not None:
        pytest.skip(f"{peer.name}: {reason}")


def searched(peer: peers.Peer, exported: Model, folder: Path, optimise: str = "-O0") -> peers.Found:
    return peer.search(peer.prepare(peer, exported, folder, optimise))


def agree(peer: peers.Peer, exported: Model, folder: Path, states: int, depth: int) -> None:
    found = searched(peer, exported, folder)
    assert found.states == states
    # SPIN's own first state, where it has to choose an initial one, is one level of its depth as well.
    assert found.depth in (None, depth + (len(exported.initial_states()) > 1))


each_peer = pytest.mark.parametrize("peer", peers.EVERY, ids=lambda peer: peer.name)


# Counts.


@each_peer
@pytest.mark.parametrize(("path", "settings"), SMALL, ids=[path.stem for path, _ in SMALL])
def test_a_peer_finds_the_states_of_a_package(peer: peers.Peer, path: Path, settings: dict[str, str], tmp_path: Path) -> None:
    present(peer)
    loaded = api.load(path, settings=settings)
    exploration = api.explore(loaded)
    assert exploration.stopped is None
    agree(peer, model(loaded.system, loaded.bank), tmp_path, exploration.states, exploration.depth)


@each_peer
@pytest.mark.parametrize("which", range(3), ids=[row[0] for row in SIZE_S])
def test_a_peer_finds_the_closed_form(peer: peers.Peer, which: int, tmp_path: Path) -> None:
    present(peer)
    name, settings, states, depth = (FOR_MAUDE if peer is peers.MAUDE else SIZE_S)[which]
    loaded = api.load(MODELS / f"{name}.icore", settings=settings)
    agree(peer, model(loaded.system, loaded.bank), tmp_path, states, depth)


def random_with_bank(seed: int) -> tuple[System, TermBank]:
    """A random system (infeasible initial states, faults, free fields, environment updates) and the bank of its terms."""
    banks: list[TermBank] = []

    class Kept(TermBank):
        def __init__(self) -> None:
            super().__init__()
            banks.append(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(strategies_systems, "TermBank", Kept)
        return strategies_systems.random_system(Random(seed)), banks[0]


@each_peer
def test_a_peer_finds_the_states_of_random_systems(peer: peers.Peer, tmp_path: Path) -> None:
    present(peer)
    compared = several = 0
    for seed in range(24):
        system, bank = random_with_bank(seed)
        exploration = explore(system)
        if not exploration.states:
            with pytest.raises(ExportError, match="no initial state"):
                model(system, bank).initial_states()
            continue
        exported = model(system, bank)
        folder = tmp_path / str(seed)
        folder.mkdir()
        agree(peer, exported, folder, exploration.states, exploration.depth)
        compared += 1
        several += exploration.levels[0] > 1
    assert compared >= 15
    assert several >= 5


@each_peer
def test_a_peer_finds_the_states_of_systems_by_hand(peer: peers.Peer, tmp_path: Path) -> None:
    present(peer)
    for name, system, states, depth in (("counters", counters(3, 4), 64, 9), ("chains", chains(2, 2, 2), 49, 8)):
        folder = tmp_path / name
        folder.mkdir()
        agree(peer, model(system, TermBank()), folder, states, depth)


def arithmetic(draft: Draft) -> list[Term]:
    """Every operator whose corner cases peers differ in, over x0 (-3..3) and x1 (-2..2)."""
    bank, a, b = draft.bank, draft.x(0), draft.x(1)
    return [
        bank.floordiv(a, b), bank.mod(a, b), bank.floordiv(a, draft.n(2)), bank.mod(a, draft.n(-2)), bank.absolute(bank.sub(a, b)),
        bank.minimum(a, b, draft.n(1)), bank.maximum(bank.neg(a), b), bank.lookup(a, (3, 1, 2)), bank.mul(a, b),
    ]  # fmt: skip


@each_peer
def test_peers_calculate_as_the_operator_table_says(peer: peers.Peer, tmp_path: Path) -> None:
    present(peer)
    draft = Draft((-3, 3), (-2, 2), (-9, 9), (0, 8))
    bank = draft.bank
    step = [draft.update(f"put{i}", bank.true, (2, term), (3, draft.n(i))) for i, term in enumerate(arithmetic(draft))]
    system = draft.system(step, initial=(0, 0, 0, 0), free=(0, 1))
    expected = {(x, y, 0, 0) for x in range(-3, 4) for y in range(-2, 3)}
    for x in range(-3, 4):
        for y in range(-2, 3):
            values = (
                x // y if y else 0, x % y if y else 0, x // 2, x % -2, abs(x - y), min(x, y, 1), max(-x, y),
                (3, 1, 2)[x] if 0 <= x <= 2 else 0, x * y,
            )  # fmt: skip
            expected |= {(x, y, value, i) for i, value in enumerate(values)}
    agree(peer, model(system, bank), tmp_path, len(expected), 1)


# Violations.


def doomed() -> tuple[System, TermBank]:
    """A counter that must not reach 3, and does after three steps."""
    draft = Draft((0, 5))
    system = draft.system([draft.tick(0)])
    bad = Property(PropertyKind.INVARIANT, "below_three", draft.bank.lt(draft.x(), draft.n(3)), strategies_systems.NOWHERE)
    good = Property(PropertyKind.INVARIANT, "below_six", draft.bank.lt(draft.x(), draft.n(6)), strategies_systems.NOWHERE)
    return System(**{**vars(system), "properties": (good, bad)}), draft.bank


def written(folder: Path, name: str, language: str) -> Path:
    system, bank = doomed()
    path = folder / name
    path.write_text(export(system, bank, language), encoding="utf-8")
    return path


def test_spin_finds_a_violation_and_its_depth(tmp_path: Path) -> None:
    present(peers.SPIN)
    written(tmp_path, "model.pml", "promela")
    peers.must(("spin", "-DCLAIMS", "-a", "model.pml"), tmp_path)
    peers.must(("gcc", "-w", "-DSAFETY", "-DNOREDUCE", "-o", "pan", "pan.c"), tmp_path)
    assert "errors: 0" in peers.run((str(tmp_path / "pan"), "-N", "below_six"), tmp_path).output
    assert "errors: 1" in peers.run((str(tmp_path / "pan"), "-N", "below_three"), tmp_path).output


def test_rumur_finds_a_violation_and_a_shortest_run(tmp_path: Path) -> None:
    present(peers.RUMUR)
    written(tmp_path, "model.m", "murphi")
    peers.must(("rumur", "--deadlock-detection", "off", "--threads", "1", "--output", "r.c", "model.m"), tmp_path)
    peers.must(("gcc", "-w", "-mcx16", "-o", "r", "r.c", "-lpthread", "-latomic"), tmp_path)
    done = peers.run((str(tmp_path / "r"),), tmp_path)
    assert done.status != 0
    assert "below_three" in done.output
    assert len(re.findall(r'Rule "tick\(0\)" fired', done.output)) == 3


def test_maude_finds_a_violation_and_a_shortest_run(tmp_path: Path) -> None:
    present(peers.MAUDE)
    path = written(tmp_path, "model.maude", "maude")
    asked = "search [1] start =>* S:State such that not {}(S:State) .\n"
    typed = asked.format("below-six") + asked.format("below-three") + "show path labels 3 .\nquit\n"
    done = peers.run(("maude", "-no-banner", "-no-advise", str(path)), tmp_path, typed)
    assert "No solution." in done.output
    assert "Solution 1 (state 3)" in done.output
    assert done.output.count("tick-0") == 3


# Structure, for the peers that are seldom installed.


def lines_of(text: str, start: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip().startswith(start)]


def test_the_tla_module_has_every_part() -> None:
    loaded = api.load(MODELS / "coverage.icore", settings={"n": "2", "m": "2"})
    exported = model(loaded.system, loaded.bank)
    text = PEERS["tla"](exported)
    assert text.startswith("---- MODULE CoverageTable ----\n")
    assert text.endswith("====\n")
    assert len(lines_of(text, "VARIABLE ")) == 6
    actions = lines_of(text, "\\/ ")
    # open and reopen for 2 obligations; close, certify, withdraw, submit, accept, reject for 2 agents as well.
    assert len(actions) == 2 * 2 + 6 * 2 * 2
    for action in actions:
        assert f"\n{action.strip()[3:]} ==\n" in text
    assert '  /\\ work_1_state = "open"' in lines_of(text, "/\\ work_1_state =")
    assert configuration(exported).splitlines() == [
        "SPECIFICATION Spec", "CHECK_DEADLOCK FALSE", "INVARIANT accepted_on_paper", "INVARIANT owned",
    ]  # fmt: skip


def test_every_tla_action_says_what_becomes_of_every_variable() -> None:
    loaded = api.load(CHECKOUT / "examples" / "dependency_ladder.icore")
    text = export(loaded.system, loaded.bank, "tla")
    names = {line.split()[1] for line in lines_of(text, "VARIABLE ")}
    assert len(names) == len(loaded.system.fields)
    blocks = [block for block in text.split("\n\n") if "UNCHANGED" in block]
    assert len(blocks) == len(lines_of(text, "\\/ "))
    for block in blocks:
        kept = set(re.findall(r"\w+", block.split("UNCHANGED <<")[1]))
        primed = set(re.findall(r"(\w+)' =", block))
        assert primed | kept == names
        assert not primed & kept


def test_the_smv_module_has_every_part() -> None:
    loaded = api.load(MODELS / "coverage.icore", settings={"n": "2", "m": "2"})
    text = export(loaded.system, loaded.bank, "smv")
    assert "  work_1_state : {open, ready, blocked, closed, submitted, accepted, rejected, invalid};" in text
    assert "  work_2_owner : 0..2;" in text
    assert len(lines_of(text, "init(")) == len(lines_of(text, "next(")) == 6
    choices = re.search(r"step : \{(.*)\};", text)
    assert choices is not None
    steps = choices[1].split(", ")
    assert len(steps) == 1 + 28
    assert all(f"  can_{step} := " in text for step in steps[1:])
    assert len(lines_of(text, "INVARSPEC NAME")) == 3


def test_an_smv_value_that_only_its_guard_keeps_in_the_domain_is_a_relation() -> None:
    draft = Draft((0, 2))
    text = export(draft.system([draft.tick(0)]), draft.bank, "smv")
    assert "TRANS\n  next(x0) =\n" in text
    assert "init(x0) := 0;" in text


def test_free_fields_start_anywhere_that_initially_allows() -> None:
    draft = Draft((0, 3), (0, 3))
    system = draft.system([draft.tick(0)], free=(1,), initially=draft.bank.lt(draft.x(1), draft.n(2)))
    tla, smv = export(system, draft.bank, "tla"), export(system, draft.bank, "smv")
    assert "  /\\ x1 \\in 0..3\n" in tla
    assert "  /\\ x1 < 2\n" in tla
    assert "INIT x1 < 2;" in smv
    assert "init(x1)" not in smv
    assert export(system, draft.bank, "promela").count(":: d_step { x1 = ") == 2
    assert export(system, draft.bank, "murphi").count("startstate") == 2
    assert export(system, draft.bank, "maude").count("rl [initial-") == 2


# What is exported.


def test_illegal_updates_do_not_move_and_environment_updates_do() -> None:
    draft = Draft((0, 3))
    below = Clause("A.4(9)", draft.bank.lt(draft.x(), draft.n(2)))
    ordinary = draft.move("work", 0, 3)
    weather = draft.move("weather", 0, 3, kind=Kind.ENVIRONMENT)
    exported = model(draft.system([ordinary, weather], feasibility=(below,)), draft.bank)
    assert [move.update.schema for move in exported.moves] == ["weather"]
    assert exported.left_out == (("work", "it can never move"),)
    # The weather breaks feasibility, so later states may be infeasible, and nothing may be taken for granted.
    assert not exported.feasible


def test_only_touched_clauses_are_asked_for_where_every_state_is_feasible() -> None:
    draft = Draft((0, 3), (0, 3))
    clauses = tuple(Clause(f"A.4({i})", draft.bank.lt(draft.x(i), draft.n(2))) for i in (0, 1))
    exported = model(draft.system([draft.tick(0)], feasibility=clauses), draft.bank)
    assert exported.feasible
    assert exported.moves[0].legal.reads == 1
    infeasible = model(draft.system([draft.tick(0)], initial=(3, 3), feasibility=clauses), draft.bank)
    assert not infeasible.feasible
    assert infeasible.moves[0].legal.reads == 0b11


def test_a_fault_is_left_out_exactly_when_it_is_always_refused() -> None:
    draft = Draft((0, 3), (0, 3))
    bank, x, y = draft.bank, draft.x(0), draft.x(1)
    guard = bank.and_(bank.eq(x, y), bank.lt(x, draft.n(3)))
    fault = draft.update("slip", guard, (0, bank.add(x, draft.n(1))), kind=Kind.FAULT, fault="slip")
    # After the fault x0 is x1 + 1.
    refused = model(draft.system([fault], feasibility=(Clause("A.4(9)", bank.le(x, y)),)), bank)
    assert refused.left_out == (("slip", "a fault that is always refused"),)
    assert "left out: slip: a fault that is always refused" in PEERS["promela"](refused)
    allowed = model(draft.system([fault], feasibility=(Clause("A.4(9)", bank.le(y, x)),)), bank)
    assert [move.title for move in allowed.moves] == ["slip"]


def test_an_enumeration_is_kept_only_where_its_codes_are_names() -> None:
    loaded = api.load(MODELS / "coverage.icore", settings={"n": "1", "m": "2"})
    exported = model(loaded.system, loaded.bank)
    kinds = [exported.symbols.of_field(field) for field in loaded.system.fields]
    assert [kind is not None for kind in kinds] == [field.domain.kind is DomainKind.ENUM for field in loaded.system.fields]
    system, bank = random_with_bank(0)
    ordered = model(system, bank)
    # f1 is an enumeration that is added to (u0 writes f1 + 1), f3 one that is only compared.
    assert ordered.symbols.of_field(system.fields[1]) is None
    assert ordered.symbols.of_field(system.fields[3]) is not None


def test_writes_that_read_each_other_go_through_a_temporary() -> None:
    draft = Draft((0, 3), (0, 3), (0, 3))
    x, y, z = draft.fields
    swap = ((x, draft.x(1)), (y, draft.x(0)), (z, draft.x(0)))
    first, rest = in_sequence(swap)
    assert [field for field, _ in first] == [x]
    assert [field for field, _ in rest] == [z, y]
    assert in_sequence(((x, draft.n(1)), (y, draft.x(0)))) == ((), ((y, draft.x(0)), (x, draft.n(1))))


def test_a_swap_is_at_once_in_every_peer(tmp_path: Path) -> None:
    draft = Draft((0, 3), (0, 3))
    swap = draft.update("swap", draft.bank.true, (0, draft.x(1)), (1, draft.x(0)))
    exported = model(draft.system([swap], initial=(1, 2)), draft.bank)
    assert "t_1 = x1; x1 = x0; x0 = t_1; t_1 = 0" in PEERS["promela"](exported)
    for peer in (peers.SPIN, peers.RUMUR, peers.MAUDE):
        if peer.missing() is None:
            folder = tmp_path / peer.name
            folder.mkdir()
            agree(peer, exported, folder, 2, 1)


# Parts.


def test_names_differ_and_are_what_a_peer_accepts() -> None:
    names = Names({"end", "TRUE"})
    given = [names.take(text) for text in ("a b", "a_b", "A-B", "end", "true", "9", "", "→", "a b")]
    assert given == ["a_b", "a_b_2", "A_B_3", "end_2", "true_2", "x_9", "x", "x_2", "a_b_4"]
    assert len({name.casefold() for name in given}) == len(given)


def test_a_comment_cannot_be_closed_from_inside() -> None:
    assert comment("x */ evil /* y\n *) (* z") == "x * / evil / * y * ) ( * z"


@pytest.mark.parametrize("seed", range(30))
def test_lowering_keeps_the_meaning(seed: int) -> None:
    draft = Draft((-3, 3), (-2, 2))
    random = Random(seed)
    bank, lowering = draft.bank, Lowering(draft.bank)
    makers = [bank.floordiv, bank.mod, bank.minimum, bank.maximum, bank.add, bank.mul, lambda a, b: bank.lookup(a, (2, 0, -1, 4))]
    term = draft.x(random.randrange(2))
    for _ in range(4):
        other = random.choice((draft.x(0), draft.x(1), draft.n(random.randint(-3, 3))))
        maker = random.choice(makers)
        term = maker(term, other) if random.random() < 0.5 else maker(other, term)
        term = bank.absolute(term) if random.random() < 0.2 else term
    lowered = lowering.of(term)
    assert not {part.op for part in postorder([lowered])} & {Op.MIN, Op.MAX, Op.ABS, Op.LOOKUP}
    for x in range(-3, 4):
        for y in range(-2, 3):
            assert evaluate(lowered, (x, y)) == evaluate(term, (x, y))


def test_deep_and_shared_formulas_are_cut_into_pieces() -> None:
    draft = Draft((0, 3), (0, 3))
    bank = draft.bank
    term = draft.is_(1)
    for number in range(400):
        term = bank.or_(bank.and_(term, draft.is_(number % 4, 1)), bank.and_(bank.not_(term), draft.is_(number % 3)))
    assert tree_size([term], 1000) > 1000
    pieces = cut([term])
    place = {piece: number for number, piece in enumerate(pieces)}
    assert len(pieces) > 100
    for piece in pieces:
        inside = [part for part in postorder(piece.args, set(place)) if part not in place]
        assert len(inside) < 200
        assert all(place[arg] < place[piece] for arg in piece.args if arg in place)


def test_what_one_peer_cannot_be_told_is_an_error() -> None:
    draft = Draft(*[(0, 9)] * 6)
    system = draft.system([draft.tick(0)], free=range(6))
    assert "x5 \\in 0..9" in export(system, draft.bank, "tla")
    with pytest.raises(ExportError, match="more than 10,000 initial states"):
        export(system, draft.bank, "maude")


# The command.


@pytest.mark.parametrize("language", sorted(PEERS))
def test_the_command_prints_a_model(icore: Icore, checkout: Path, language: str) -> None:
    done = icore("export", str(checkout / "examples" / "dependency_ladder.icore"), "--to", language, "--set", "n=3")
    assert done.returncode == 0, done.stderr
    assert "DependencyLadder 1.0, exported by icore." in done.stdout
    assert "status(top)" in done.stdout


def test_the_command_writes_a_module_and_its_configuration(icore: Icore, checkout: Path, tmp_path: Path) -> None:
    target = tmp_path / "CoverageTable.tla"
    done = icore("export", str(MODELS / "coverage.icore"), "--to", "tla", "--output", str(target))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert target.read_text(encoding="utf-8").startswith("---- MODULE CoverageTable ----")
    assert "SPECIFICATION Spec" in (tmp_path / "CoverageTable.cfg").read_text(encoding="utf-8")
    other = icore("export", str(MODELS / "coverage.icore"), "--to", "tla", "--output", str(tmp_path / "other.tla"))
    assert "CoverageTable.tla" in other.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--to", "lustre"), "Invalid value for '--to'"),
        ((), "Missing option '--to'"),
        (("--to", "smv", "--set", "q=1"), "no parameter 'q'"),
        (("--to", "smv", "--output", "no/such/place.smv"), "cannot be written"),
    ],
)
def test_what_is_wrong_is_said(icore: Icore, checkout: Path, arguments: Sequence[str], message: str) -> None:
    done = icore("export", str(MODELS / "coverage.icore"), *arguments)
    assert done.returncode == 2
    assert message in done.stderr
