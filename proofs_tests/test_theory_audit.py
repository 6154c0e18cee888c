"""A.9 and what a diagnosis reads, by hand: J^F and A^F of a frozen component, and the ancestors under whose support it stands.

The hard job is ana's, who is worth 0.9 of it, the easy one bo's, who is worth 0.4 where ana would be worth 0.9 too.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from audit_tricks import TRICKS
from conftest import CHECKOUT

from icore_kernel.api import load, load_theory
from icore_kernel.audit.auditor import Auditor
from icore_kernel.explore.model import State
from icore_kernel.ground.auditing import ASKED
from icore_kernel.meaning import scalar
from icore_kernel.record.store import open_store
from icore_kernel.terms.node import Term


def _auditor(package: Path, theory: Path) -> Auditor:
    defined = {getattr(decl, "name", "") for module in load_theory(theory) for decl in module.decls}
    assert defined.issuperset(ASKED)
    return Auditor(load(package, theory=theory), open_store("memory:"))


def _tricks(theory: Path) -> Auditor:
    with TemporaryDirectory() as folder:
        package = Path(folder) / "tricks.icore"
        package.write_text(TRICKS, encoding="utf-8")
        return _auditor(package, theory)


def _true(term: Term, state: State) -> bool:
    return bool(scalar.evaluate(term, state))


def _after(auditor: Auditor, *updates: str) -> State:
    state = auditor.state
    for update in updates:
        number = auditor.labeller.number(update)
        assert number is not None
        after = auditor.judge.successor(state, number)
        assert after is not None
        state = after
    return state


def _sound(auditor: Auditor, state: State) -> list[bool]:
    return [_true(auditor.tables.works[name].matched_sound, state) for name in ("hard", "easy", "spare")]


def _stable(auditor: Auditor, state: State) -> list[bool]:
    return [_true(auditor.tables.works[name].matched_stable, state) for name in ("hard", "easy", "spare")]


def test_what_is_gone_or_off_without_evidence_counts_as_unsound(theory: Path) -> None:
    auditor = _tricks(theory)
    assert _sound(auditor, auditor.state) == [True, True, False]  # the spare job is not there
    assert _sound(auditor, _after(auditor, "finish(ana, hard)")) == [True, True, False]
    assert _sound(auditor, _after(auditor, "finish.withheld(ana, hard)")) == [False, True, False]
    assert _sound(auditor, _after(auditor, "exclude(ana)")) == [False, True, False]
    assert _sound(auditor, _after(auditor, "flop(ana)")) == [False, True, False]  # its own failure is no evidence for its removal
    assert _sound(auditor, _after(auditor, "rule(hard)", "waive(hard)")) == [True, True, False]


def test_settled_work_keeps_the_stability_of_its_assignment(theory: Path) -> None:
    auditor = _tricks(theory)
    assert _stable(auditor, auditor.state) == [True, False, False]
    assert _stable(auditor, _after(auditor, "unassign(ana, hard)")) == [False, False, False]
    assert _stable(auditor, _after(auditor, "give(ana, bo, hard)")) == [False, False, False]
    assert _stable(auditor, _after(auditor, "finish(ana, hard)", "finish(bo, easy)")) == [True, False, False]
    assert _stable(auditor, _after(auditor, "rename(ana)")) == [True, False, True]  # it is there, and open: nobody can have it yet


def test_rejected_and_invalid_work_has_failed(theory: Path) -> None:
    auditor = _tricks(theory)
    hard = auditor.tables.works["hard"]
    assert hard.status is not None
    states = {n: list(auditor.state) for n in hard.status.domain.names}
    for code, state in enumerate(states.values(), start=hard.status.domain.lo):
        state[hard.status.index] = code
    assert len(states) == 8
    assert [name for name, state in states.items() if _true(hard.failed, tuple(state))] == ["rejected", "invalid"]
    assert [_true(hard.failed, _after(auditor, update)) for update in ("finish(ana, hard)", "flop(ana)")] == [False, True]


def test_ancestors_are_what_supports_the_work_and_is_there(theory: Path) -> None:
    ladder = _auditor(CHECKOUT / "examples" / "dependency_ladder.icore", theory)
    assert [[p for p, term in w.ancestors if _true(term, ladder.state)] for w in ladder.tables.works.values()] == [
        [], ["d0"], ["d0", "d[1]"], ["d0", "d[1]", "d[2]"],
    ]  # fmt: skip
    goal = _auditor(CHECKOUT / "examples" / "decompose_and_solve.icore", theory)
    root = next(w for w in goal.tables.works.values() if w.required)
    parts = [w.name for w in goal.tables.works.values() if w.latent]
    assert [p for p, term in root.ancestors if _true(term, goal.state)] == []
    planned = _after(goal, f"assign(agent_1, {root.name})", f"decompose(agent_1, {root.name})")
    assert [p for p, term in root.ancestors if _true(term, planned)] == parts
