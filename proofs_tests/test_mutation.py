"""The mutation run over spec/ (mutation/README.md): its changes, its detection set, a sample here and the whole in the nightly setting."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from mutation.__main__ import REFUSED, SURVIVED, Run, chosen, explained, report
from mutation.detect import EXPECTED, PACKAGES, failed, summary
from mutation.mutants import mutants
from theory_lab import SPEC

from icore_dsl import syntax as s
from icore_kernel.load import load_theory

EVERY = mutants(SPEC)
nightly = pytest.mark.skipif(os.environ.get("ICORE_TESTS") != "nightly", reason="a quarter of an hour: in the nightly setting")


def test_every_clause_and_definition_is_changed_in_several_ways() -> None:
    decls = [d for module in load_theory(SPEC) for d in module.decls]
    clauses = {d.label for d in decls if isinstance(d, s.ClauseDecl)}
    definitions = {d.name for d in decls if isinstance(d, s.FunctionDecl)}
    assert {m.name for m in EVERY} == clauses | definitions and len(EVERY) > 1_000
    assert len({m.identity for m in EVERY}) == len(EVERY)
    assert {m.name for m in EVERY if m.change == "the clause is dropped"} == clauses
    negated = {m.name for m in EVERY if m.change == "the clause is negated"}
    assert clauses - negated == {"snd", "astab", "cq", "|W(X)|"}  # measures are numbers


def test_a_change_says_what_it_does() -> None:
    by = {m.identity: m for m in EVERY}
    source = (SPEC / "1-vocabulary.icore").read_text(encoding="utf-8")
    line = "define is_accepted(w: Obligation): bool = {}"

    def changed(identity: str) -> str:
        return by[identity].apply(source)

    assert line.format("(status(w) == accepted)") in changed("is_accepted: without present(w)")
    assert line.format("present(w) and status(w) != accepted") in changed("is_accepted: status(w) == accepted -> !=")
    assert line.format("present(w) or status(w) == accepted") in changed("is_accepted: present(w) and status(w) == accepted -> or")
    assert "status(w) in {open, blocked, submitted}" in changed("unresolved: without ready")
    assert "required_root(r) and cov+(r, q)" in changed("covers: cov*(r, q) -> cov+")
    assert "not (forall p in Obligation where obl(p, r): present(p))" in changed("required_root: exists p -> forall")
    assert "not (exists p in Obligation : present(p))" in changed("required_root: without where obl(p, r)")


@pytest.mark.parametrize("package", PACKAGES)
def test_packages_report_what_the_run_expects(package: str) -> None:
    assert summary(package, SPEC) == json.loads(EXPECTED.read_text(encoding="utf-8"))[package]


def test_a_failure_is_a_wrong_answer_or_a_refusal() -> None:
    def wrong() -> None:
        raise AssertionError

    assert failed(wrong) == "" and failed(lambda: None) is None


@pytest.mark.parametrize("identity", [
    "is_accepted: without present(w)",
    "has_failed: without rests(c)",
    "A.4(7): without closed",
    "definition 6(ii): without permitted(u)",
    "stability: if evaluated_weight == 0: always then",
])  # fmt: skip
def test_a_weakened_clause_is_caught(identity: str, tmp_path: Path) -> None:
    run = Run(tmp_path, near=True)
    (mutant,) = [m for m in EVERY if m.identity == identity]
    assert run.outcome(mutant) not in (SURVIVED, REFUSED)
    assert {f.name: f.read_text(encoding="utf-8") for f in run.copy.glob("*.icore")} == run.sources  # and put back


def test_what_is_no_theory_is_refused(tmp_path: Path) -> None:
    run = Run(tmp_path)
    assert run.outcome(replace(EVERY[0], text="nonsense(w)")) == REFUSED


def test_a_sample_is_a_part_in_the_order_of_the_text() -> None:
    some = chosen(EVERY, "", 20, 1)
    assert len(some) == 20 and [EVERY.index(m) for m in some] == sorted(EVERY.index(m) for m in some)
    assert {m.name for m in chosen(EVERY, "covers:", 0, 0)} == {"covers"}


def test_every_explained_survivor_is_a_mutant() -> None:
    assert set(explained()) <= {m.identity for m in EVERY}
    assert all(len(why) > 20 for why in explained().values())


@nightly
def test_every_mutant_is_caught_or_explained() -> None:
    assert report(EVERY, whole=True) == 0
