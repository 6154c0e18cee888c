"""Explicit and symbolic answers agree: on random systems, on the examples; where they are made to disagree, that is an internal error."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random
from time import perf_counter

import pytest
from conftest import CHECKOUT
from strategies_systems import random_system, random_watchlist

from icore_kernel import api, cli
from icore_kernel.check import cheap, proof
from icore_kernel.check.proof import prove
from icore_kernel.explore.judge import failing
from icore_kernel.explore.model import Rules, State, Watchlist
from icore_kernel.explore.search import explore
from icore_kernel.prove.bounded import Bad, illegal_steps, search
from icore_kernel.prove.induction import Facts, Induction
from icore_kernel.prove.lemmas import find_lemmas
from icore_kernel.prove.onestep import ANSWERED, Lemma2, Outcome, lemma_2, start_is_feasible, with_lemmas
from icore_kernel.prove.steps import Steps
from icore_kernel.system import Kind, System
from icore_kernel.terms.term import TermBank

EXAMPLES = sorted((CHECKOUT / "examples").glob("*.icore"))


def compared(seed: int) -> dict[str, int]:
    """One random system by both engines; how much there was to compare."""
    random = Random(seed)
    bank = TermBank()
    system = random_system(random, bank)
    checks = random_watchlist(system, random, bank).checks
    steps = Steps(system, bank)
    found = explore(system, Watchlist(checks=checks))
    assert found.stopped is None
    if found.states == 0:
        return {"empty": 1}
    reachable: set[State] = {found.store.state(n) for n in range(found.states)}
    plain = lemma_2(system, bank, steps=steps)
    counts = {"pairs": len(plain.pairs), "open": len(plain.open)}
    start = start_is_feasible(steps).answer == "unsat"
    environment = {n for n, u in enumerate(system.updates) if u.kind is Kind.ENVIRONMENT}
    for lemma2, facts in strengthened(steps, plain, start):
        kept = start and environment <= lemma2.proved | {n for n in environment if all(p.update != n for p in lemma2.pairs)}
        if kept:
            assert all(violation.update not in lemma2.proved for violation in found.violations)
            for refusal in lemma2.refusals:
                if refusal.outcome in ANSWERED:
                    assert found.coverage[refusal.update].committed == 0
                    counts["refused"] = counts.get("refused", 0) + 1
            counts["proved"] = len(lemma2.proved)
            engine = Induction(steps, Facts(facts, kept, not facts), float("inf"))
            for name, formula in checks:
                said = engine.prove(name, formula, seconds=20)
                sighting = found.checks[name]
                if said.way is not None:
                    assert sighting.first is None, name
                    counts["invariants"] = counts.get("invariants", 0) + 1
                elif said.path is not None:
                    assert sighting.first is not None, name
                    counts["violated"] = counts.get("violated", 0) + 1
                else:
                    raise AssertionError(f"{name} is decided in a system so small: {said.reason}")
    for pair in plain.open:
        if pair.state in reachable:
            # A counterexample to induction that is reachable is a violation that the explorer saw too.
            labels = {f.clause.label for f in failing(system, system.updates[pair.update], pair.state)}
            assert pair.label in labels
            assert any(v.schema == system.updates[pair.update].schema for v in found.violations)
            counts["reached"] = counts.get("reached", 0) + 1
    counts["bounded"] = bounded_agrees(steps, system, found, checks) if start else 0
    return counts


def strengthened(steps: Steps, plain: Lemma2, start: bool) -> list[tuple[Lemma2, tuple]]:  # type: ignore[type-arg]
    answers: list[tuple[Lemma2, tuple]] = [(plain, ())]  # type: ignore[type-arg]
    if start and plain.open:
        lemmas = find_lemmas(steps, 20.0).lemmas
        answers.append((with_lemmas(steps, plain, lemmas), lemmas))
    return answers


def bounded_agrees(steps: Steps, system: System, found, checks) -> int:  # type: ignore[no-untyped-def]
    """The shortest run to each thing that is bad has the same length for both engines."""
    bad = illegal_steps(steps)
    bad += [Bad(name, steps.bank.not_(formula)) for name, formula in checks]
    said = search(steps, bad, min(found.depth, 6))
    lengths = {f.bad.name: len(f.path.updates) for f in said.found}
    first_illegal = [len(found.store.path(v.state).updates) for v in found.violations if system.updates[v.update].kind is Kind.ENVIRONMENT]
    horizon = min([said.depth, *(length for length in first_illegal)])
    for name, _ in checks:
        first = found.checks[name].first
        expected = None if first is None else len(found.store.path(first).updates)
        if expected is not None and expected <= horizon:
            assert lengths[name] == expected
        elif expected is None:
            assert name not in lengths
    return len(lengths)


@pytest.mark.parametrize("block", range(10))
def test_thirty_random_systems_are_answered_alike(block: int) -> None:
    total: dict[str, int] = {}
    for seed in range(30 * block, 30 * block + 30):
        for key, count in compared(seed).items():
            total[key] = total.get(key, 0) + count
    assert total["pairs"] > 100 and total["open"] > 5 and total["proved"] > 20
    assert total["invariants"] + total["violated"] > 10 and total["bounded"] > 10


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda path: path.stem)
def test_the_examples_are_answered_alike(file: Path) -> None:
    """What is proved, the explorer does not find violated; what it finds violated, `prove` says too."""
    loaded = api.load(file)
    said = prove(loaded)
    found = explore(loaded.system, Watchlist(checks=tuple((f"invariant:{i.name}", i.goal) for i in said.invariants)))
    assert found.stopped is None
    proof.compare(loaded.system, said.lemma2, said.facts.closed, said.invariants, found)
    legality = next(r for r in said.report.results if r.name == "legality")
    assert (legality.verdict is api.Verdict.VIOLATED) == bool(found.violations)
    for invariant in said.invariants:
        result = next(r for r in said.report.results if r.name == invariant.name)
        violated = found.checks[f"invariant:{invariant.name}"].first is not None
        assert (result.verdict is api.Verdict.VIOLATED) == violated


def claims_everything(system: System, bank: TermBank, seconds: float | None = None, steps: Steps | None = None) -> Lemma2:
    """A test double: a solver that proves whatever it is asked."""
    said = lemma_2(system, bank, seconds, steps)
    return replace(said, pairs=tuple(replace(p, outcome=Outcome.PROVED, state=None) for p in said.pairs))


BROKEN = """language 1
package Broken "1"
agents { ana }
input request
obligation type Job { }
obligations { job: Job starts ready, required }
certificate asked(w: Job) { issuer environment premises request claims node(w), status(w) is ready starts active }
update close(w: Job) operation complete by ana { when status(w) == ready set status(w) := closed }
"""


def test_a_planted_disagreement_in_check_ends_in_exit_status_4(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "broken.icore"
    file.write_text(BROKEN, encoding="utf-8")
    assert cli.run(["check", str(file)]) == 1
    monkeypatch.setattr("icore_kernel.prove.onestep.lemma_2", claims_everything)
    assert cheap.legality(api.load(file), None).answer == "unsat"  # type: ignore[union-attr]
    assert cli.run(["check", str(file)]) == 4


def test_a_planted_disagreement_in_prove_ends_in_exit_status_4(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(CHECKOUT / "examples" / "code_change_broken.icore")
    assert cli.run(["prove", file]) == 1

    # One update stays open, so that the explorer is asked; the environment's are claimed like all the others.
    def claims_most(system: System, bank: TermBank, seconds: float | None = None, steps: Steps | None = None) -> Lemma2:
        said = claims_everything(system, bank, seconds, steps)
        first = replace(said.pairs[0], outcome=Outcome.UNKNOWN)
        return replace(said, pairs=(first, *said.pairs[1:]))

    monkeypatch.setattr(proof, "lemma_2", claims_most)
    monkeypatch.setattr(proof, "with_lemmas", lambda steps, plain, lemmas, seconds=None: plain)
    assert cli.run(["prove", file]) == 4
    assert "internal error" in capsys.readouterr().err


def test_a_time_limit_leaves_unknown_and_no_claim(tmp_path: Path) -> None:
    loaded = api.load(CHECKOUT / "examples" / "release_pipeline.icore")
    started = perf_counter()
    said = lemma_2(loaded.system, loaded.bank, 0.0)
    assert perf_counter() - started < 60
    assert not said.complete and not said.pairs and said.proved == frozenset()
    assert explore(loaded.system, Watchlist(), Rules(proved=said.proved, max_states=10)).states == 10
