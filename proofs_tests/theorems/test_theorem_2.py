"""Theorem 2 and Lemma 1: two states with one unlabeled topology of G and different verdicts, found by Z3; and exclusion of Acc and Rej.

Two runs of a package are asked for, not audited, of the same length, whose steps emit and consume artifacts alike, one by one: their
cooperation graphs differ in labels alone. What a monitor sees of G is the same, and what it should say is not.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
import z3
from conftest import CHECKOUT

from icore_kernel import api
from icore_kernel.explore.judge import successor
from icore_kernel.explore.model import State
from icore_kernel.load import Loaded
from icore_kernel.meaning import scalar
from icore_kernel.prove.exclusion import exclude
from icore_kernel.prove.relation import Relation
from icore_kernel.prove.solver import Solver
from icore_kernel.prove.steps import Steps
from icore_kernel.system import GroundUpdate
from icore_kernel.terms.node import Term

EXAMPLES = CHECKOUT / "examples"
Shape = tuple[int, int]


def shape(update: GroundUpdate) -> Shape:
    """What an occurrence adds to the unlabeled graph: one node, with so many artifacts emitted, so many used up."""
    return sum(n.startswith("emits") for n in update.notes), sum(n.startswith(("consumes", "discards")) for n in update.notes)


def pair(loaded: Loaded, holds: Term, length: int, labels_too: bool) -> tuple[list[State], list[State], list[int], list[int]] | None:
    """Two runs of this length with equal topology (or equal updates, if `labels_too`): after the first it holds, after the second not."""
    steps = Steps(loaded.system, loaded.bank)
    solver = Solver(loaded.system, loaded.bank, timeout_ms=60_000)
    relation = Relation(solver, steps, audited=False)
    shapes = sorted({shape(u) for u in loaded.system.updates})
    for side in "xy":
        solver.copy(f"@{side}0")
        solver.fact(steps.start(), f"@{side}0")
        for n in range(length):
            solver.copy(f"@{side}{n + 1}")
            relation.join(f"@{side}{n}", f"@{side}{n + 1}")
    for n in range(length):
        first, second = relation.which(f"@x{n}"), relation.which(f"@y{n}")
        if labels_too:
            solver.core.add(first == second)
        for one in shapes:
            own = [number for number, u in enumerate(loaded.system.updates) if shape(u) == one]
            solver.core.add(z3.Or([first == k for k in own]) == z3.Or([second == k for k in own]))
    if not labels_too:
        for f, variable in zip(loaded.system.fields, solver.variables, strict=True):
            if f.kind == "artifact":  # the same artifacts are there, in the same slots
                for n in range(length + 1):
                    solver.core.add(solver.encoder.variable(variable, f"@x{n}") == solver.encoder.variable(variable, f"@y{n}"))
    answer = solver.solve([solver.switch(holds, True, f"@x{length}"), solver.switch(holds, False, f"@y{length}")])
    if answer.result.value == "unsat":
        return None
    assert answer.result.value == "sat", answer.reason
    model = solver.core.model()
    states = [[solver.state(model, f"@{side}{n}") for n in range(length + 1)] for side in "xy"]
    updates = [[relation.step(model, f"@{side}{n}") for n in range(length)] for side in "xy"]
    return states[0], states[1], updates[0], updates[1]


def properties(loaded: Loaded) -> dict[str, Term]:
    bank, system = loaded.bank, loaded.system
    astab = next(m.ratio for m in system.measures if "astab" in m.name)
    return {
        "work-sound": bank.conj([*(c.formula for c in system.soundness), *(c.formula for c in system.feasibility)]),
        "assignment-stable": bank.eq(astab.num, astab.den),
    }


@pytest.mark.parametrize(("example", "name", "length"), [
    ("code_change", "work-sound", 2), ("release_pipeline", "work-sound", 2), ("capability_assignment", "assignment-stable", 4),
])  # fmt: skip
def test_two_runs_of_one_topology_with_different_verdicts(example: str, name: str, length: int) -> None:
    loaded = api.load(EXAMPLES / f"{example}.icore")
    holds = properties(loaded)[name]
    found = pair(loaded, holds, length, labels_too=False)
    assert found is not None
    plus, minus, first, second = found
    updates = loaded.system.updates
    for states, run in ((plus, first), (minus, second)):  # both replay in the scalar meaning
        for n, number in enumerate(run):
            assert scalar.evaluate(updates[number].when, states[n])
            assert successor(updates[number], states[n]) == states[n + 1]
    assert [shape(updates[n]) for n in first] == [shape(updates[n]) for n in second] and first != second
    artifacts = [f.index for f in loaded.system.fields if f.kind == "artifact"]
    assert [[s[i] for i in artifacts] for s in plus] == [[s[i] for i in artifacts] for s in minus]
    assert scalar.evaluate(holds, plus[-1]) and not scalar.evaluate(holds, minus[-1])


@pytest.mark.parametrize(
    ("example", "name", "length"), [("code_change", "work-sound", 2), ("capability_assignment", "assignment-stable", 4)]
)
def test_what_sees_everything_that_happened_is_not_deceived(example: str, name: str, length: int) -> None:
    """Proposition 2's side of it: from one initial state, runs of the same updates end in the same state."""
    loaded = api.load(EXAMPLES / f"{example}.icore")
    assert not loaded.system.free
    assert pair(loaded, properties(loaded)[name], length, labels_too=True) is None


# ---- Lemma 1 -----------------------------------------------------------------------------------------------------------------
def monitors(seen: list[str], truth: list[bool]) -> list[dict[str, bool]]:
    """Every rule over what is seen that is sound and complete for the property on these states."""
    values = sorted(set(seen))
    rules = [dict(zip(values, said, strict=True)) for said in product((False, True), repeat=len(values))]
    return [rule for rule in rules if all(rule[s] == t for s, t in zip(seen, truth, strict=True))]


def test_no_monitor_of_the_topology_is_sound_and_complete() -> None:
    assert monitors(["same", "same"], [True, False]) == []


def test_with_different_topologies_there_is_one() -> None:
    """The hypothesis dropped: states that look different can be told apart."""
    assert monitors(["one", "other"], [True, False]) == [{"one": True, "other": False}]


# ---- Acc and Rej -------------------------------------------------------------------------------------------------------------
def without(loaded: Loaded, dropped: tuple[str, ...]) -> tuple[Term, Term]:
    bank, system = loaded.bank, loaded.system
    accept, reject = ([c.formula for c in clauses if c.label not in dropped] for clauses in (system.accept, system.reject))
    return bank.conj(accept), bank.conj(reject)


@pytest.mark.parametrize("file", sorted(p for p in EXAMPLES.glob("*.icore") if "broken" not in p.stem), ids=lambda p: p.stem)
def test_acc_and_rej_exclude_each_other_in_every_state(file: Path) -> None:
    loaded = api.load(file)
    assert exclude(loaded.system, loaded.bank, *without(loaded, ())).answer == "unsat"


@pytest.mark.parametrize("dropped", [
    ("A.6 Acc(2)", "A.6 Acc(3)"), ("A.6 Rej(2)", "A.6 Rej(3)"), ("A.6 Acc(3)", "A.6 Acc(4)", "A.6 Rej(3)"),
])  # fmt: skip
def test_without_their_reasons_a_state_has_both(dropped: tuple[str, ...]) -> None:
    """The paper gives more reasons than one: each of these clauses alone may go, and these together may not."""
    loaded = api.load(EXAMPLES / "code_change.icore")
    for label in dropped:
        rest = tuple(other for other in dropped if other != label)
        assert exclude(loaded.system, loaded.bank, *without(loaded, rest)).answer == "unsat"
    accept, reject = without(loaded, dropped)
    found = exclude(loaded.system, loaded.bank, accept, reject)
    assert found.answer == "sat" and found.state is not None
    assert scalar.evaluate(accept, found.state) and scalar.evaluate(reject, found.state)
