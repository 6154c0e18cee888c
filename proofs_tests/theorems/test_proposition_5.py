"""Proposition 5: a committed recovery does not lower cq over the frozen matched set, for all weights, values and fates of a size.

A recovery may leave a component as it is, transport it (refined, replaced, superseded), settle it, or lose it; A.9 says what each
counts. Sums stand for scores: the frozen set has weight 1. Products are not needed but where a set that is not frozen is compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import z3
from test_theory_feasibility import follows
from theory_lab import Lab

from icore_kernel.meaning.smt import Result

SIZES = (1, 2, 3, 4)
AGENTS = 2
KEPT, REFINED, REPLACED, SUPERSEDED, SETTLED, DELETED = range(6)


def real(value: int) -> Any:
    return z3.RealVal(value)


def total(parts: list[Any]) -> Any:
    return z3.Sum([*parts, real(0)])


def weighed(weights: list[Any], flags: list[Any]) -> Any:
    return total([z3.If(flag, w, real(0)) for w, flag in zip(weights, flags, strict=True)])


class Work:
    """The components of W_F in one state: justified, values v, the assignee, F_D; J and A by A.9 where nothing was lost."""

    def __init__(self, size: int, name: str, epsilon: Any) -> None:
        n = range(size)
        self.justified = [z3.Bool(f"{name}j{i}") for i in n]
        self.v = [[z3.Real(f"{name}v{i}_{m}") for m in range(AGENTS)] for i in n]
        self.f = [[z3.Bool(f"{name}f{i}_{m}") for m in range(AGENTS)] for i in n]
        self.who = [z3.Int(f"{name}a{i}") for i in n]  # -1: nobody, who is worth nothing
        self.stable = [
            z3.And([z3.Implies(self.f[i][m], self.v[i][m] - self.worth(i) <= epsilon) for m in range(AGENTS)]) for i in n
        ]  # fmt: skip

    def worth(self, i: int) -> Any:
        value = real(0)
        for m in range(AGENTS):
            value = z3.If(self.who[i] == m, self.v[i][m], value)
        return value

    def frame(self) -> list[Any]:
        values = [z3.And(v >= 0, v <= 1) for row in self.v for v in row]
        return values + [z3.And(who >= -1, who < AGENTS) for who in self.who]


class Recovery:
    """X^-, the proposal X_f and the committed X^+, with what became of each component."""

    def __init__(self, size: int) -> None:
        n = range(size)
        self.size = size
        self.epsilon = z3.Real("epsilon")
        self.w = [z3.Real(f"w{i}") for i in n]
        """Frozen before the diagnosis is seen."""
        self.w_later = [z3.Real(f"u{i}") for i in n]
        """As they would be read in the proposal."""
        self.before, self.proposed = Work(size, "b", self.epsilon), Work(size, "p", self.epsilon)
        self.fate = [z3.Int(f"fate{i}") for i in n]
        self.recorded = [z3.Bool(f"recorded{i}") for i in n]
        self.evidence = [z3.Bool(f"evidence{i}") for i in n]
        self.stable_then = [z3.Bool(f"then{i}") for i in n]
        self.sound = [self._sound(i) for i in n]
        self.stable = [self._stable(i) for i in n]
        self.sound_committed = [z3.Bool(f"jc{i}") for i in n]
        self.stable_committed = [z3.Bool(f"ac{i}") for i in n]

    def transported(self, i: int) -> Any:
        """Its own identity, or a recorded link; what was deleted has neither."""
        return z3.And(self.fate[i] != DELETED, z3.Or(self.fate[i] == KEPT, self.recorded[i]))

    def _sound(self, i: int) -> Any:
        """J^F(q; X_f)."""
        asks = z3.Or([self.fate[i] == k for k in (REPLACED, SUPERSEDED, SETTLED)])
        return z3.And(self.transported(i), z3.If(asks, self.evidence[i], self.proposed.justified[i]))

    def _stable(self, i: int) -> Any:
        """A^F(q; X_f): settled work by its assignment's context, which is no later than its settlement."""
        return z3.And(self.transported(i), z3.If(self.fate[i] == SETTLED, self.stable_then[i], self.proposed.stable[i]))

    def twice(self, weights: list[Any], sound: list[Any], stable: list[Any]) -> Any:
        """2 cq, over weights that sum to one."""
        return weighed(weights, sound) + weighed(weights, stable)

    @property
    def was(self) -> Any:
        return self.twice(self.w, self.before.justified, self.before.stable)

    @property
    def becomes(self) -> Any:
        return self.twice(self.w, self.sound_committed, self.stable_committed)

    def audited(self, hypothesis: str = "") -> Any:
        """What AuditRecovery compares, correctly or with one mistake."""
        n = range(self.size)
        there = [self.fate[i] != DELETED for i in n]
        match hypothesis:
            case "what is lost counts nothing":  # it keeps the score that it had
                sound = [z3.If(t, j, old) for t, j, old in zip(there, self.sound, self.before.justified, strict=True)]
                stable = [z3.If(t, a, old) for t, a, old in zip(there, self.stable, self.before.stable, strict=True)]
                return self.twice(self.w, sound, stable) >= self.was
            case "the set is frozen":  # what is lost leaves the set, and its weight with it
                left = weighed(self.w, there)
                return z3.And(left > 0, self.twice(self.w, self.sound, self.stable) >= self.was * left)
            case "the weights are frozen":
                return self.twice(self.w_later, self.sound, self.stable) >= self.was
            case "settled work is judged as it was assigned":  # by today's capabilities instead
                stable = [z3.And(self.transported(i), self.proposed.stable[i]) for i in n]
                return self.twice(self.w, self.sound, stable) >= self.was
            case "a settlement shows its evidence":
                return self.twice(self.w, [self.transported(i) for i in n], self.stable) >= self.was
            case "the audit compares":
                return z3.BoolVal(True)
        return self.twice(self.w, self.sound, self.stable) >= self.was

    def frame(self) -> list[Any]:
        kinds = [z3.And(f >= KEPT, f <= DELETED) for f in self.fate]
        weights = [*(w > 0 for w in (*self.w, *self.w_later)), total(self.w) == 1, total(self.w_later) == 1]
        return [self.epsilon >= 0, self.epsilon <= 1, *kinds, *weights, *self.before.frame(), *self.proposed.frame()]

    def commits(self) -> list[Any]:
        """Recording changes nothing that the matched indicators read."""
        pairs = zip((*self.sound_committed, *self.stable_committed), (*self.sound, *self.stable), strict=True)
        return [after == proposed for after, proposed in pairs]


@pytest.mark.parametrize("size", SIZES)
def test_no_committed_recovery_lowers_the_matched_quality(size: int) -> None:
    recovery = Recovery(size)
    solver = z3.Solver()
    solver.add(*recovery.frame(), recovery.audited(), *recovery.commits())
    solver.push()
    solver.add(recovery.becomes > recovery.was, recovery.fate[0] == SETTLED)
    assert solver.check() == z3.sat  # there are such recoveries
    solver.pop()
    solver.add(recovery.becomes < recovery.was)
    assert solver.check() == z3.unsat


@dataclass(frozen=True)
class Shown:
    """A counterexample's numbers: weights, fates, and the indicators before and after the commit."""

    w: list[Fraction]
    fates: list[int]
    was: list[tuple[bool, bool]]
    becomes: list[tuple[bool, bool]]

    def score(self, marks: list[tuple[bool, bool]]) -> Fraction:
        return sum((w * (j + a) for w, (j, a) in zip(self.w, marks, strict=True)), Fraction(0)) / sum(self.w) / 2


def shown(recovery: Recovery, model: Any) -> Shown:
    def said(term: Any) -> bool:
        return z3.is_true(model.eval(term, model_completion=True))

    n = range(recovery.size)
    return Shown(
        [Fraction(str(model.eval(w, model_completion=True))) for w in recovery.w],
        [model.eval(f, model_completion=True).as_long() for f in recovery.fate],
        [(said(recovery.before.justified[i]), said(recovery.before.stable[i])) for i in n],
        [(said(recovery.sound_committed[i]), said(recovery.stable_committed[i])) for i in n],
    )


HYPOTHESES = {
    "the audit compares": SIZES,
    "what is lost counts nothing": SIZES,
    "the set is frozen": SIZES[1:],  # of one component nothing would be left
    "the weights are frozen": SIZES[1:],  # one component's share is 1 whatever it weighs
    "settled work is judged as it was assigned": SIZES,
    "a settlement shows its evidence": SIZES,
}


@pytest.mark.parametrize(("dropped", "size"), [(name, size) for name, sizes in HYPOTHESES.items() for size in sizes])
def test_it_needs_each_hypothesis(dropped: str, size: int) -> None:
    recovery = Recovery(size)
    solver = z3.Solver()
    if dropped == "the set is frozen":  # a share of a share: with weights left open that is no linear question, and may take for ever
        solver.add(*(w == z3.Q(1, size) for w in recovery.w))
    solver.add(*recovery.frame(), recovery.audited(dropped), *recovery.commits(), recovery.becomes < recovery.was)
    assert solver.check() == z3.sat
    found = shown(recovery, solver.model())
    assert sum(found.w) == 1 and min(found.w) > 0
    assert found.score(found.becomes) < found.score(found.was)
    if dropped in ("what is lost counts nothing", "the set is frozen"):
        assert DELETED in found.fates
    assert all(mark == (False, False) for fate, mark in zip(found.fates, found.becomes, strict=True) if fate == DELETED)


@pytest.mark.parametrize("size", SIZES)
def test_what_the_commit_records_must_not_change_what_is_matched(size: int) -> None:
    recovery = Recovery(size)
    solver = z3.Solver()
    solver.add(*recovery.frame(), recovery.audited(), recovery.becomes < recovery.was)
    assert solver.check() == z3.sat
    found = shown(recovery, solver.model())
    assert found.score(found.becomes) < found.score(found.was)


# ---- A.9: deletion ---------------------------------------------------------------------------------------------------------
def deletion(size: int) -> tuple[Recovery, list[Any]]:
    """The first component is deleted; of the others nothing changes."""
    recovery = Recovery(size)
    others = range(1, size)
    same = [recovery.sound[i] == recovery.before.justified[i] for i in others]
    same += [recovery.stable[i] == recovery.before.stable[i] for i in others]
    something = z3.Or(recovery.before.justified[0], recovery.before.stable[0])
    return recovery, [recovery.fate[0] == DELETED, something, *same]


@pytest.mark.parametrize("size", SIZES)
def test_deleting_what_counted_is_never_accepted(size: int) -> None:
    recovery, facts = deletion(size)
    solver = z3.Solver()
    solver.add(*recovery.frame(), *facts)
    assert solver.check() == z3.sat
    solver.add(recovery.audited())
    assert solver.check() == z3.unsat


@pytest.mark.parametrize(("dropped", "size"), [
    *(("what is lost counts nothing", size) for size in SIZES),
    *((dropped, size) for dropped in ("the set is frozen", "weights are positive") for size in SIZES[1:]),
])  # fmt: skip
def test_deletion_pays_with_one_hypothesis_less(dropped: str, size: int) -> None:
    recovery, facts = deletion(size)
    frame = recovery.frame()
    if dropped == "weights are positive":  # then of something that weighs nothing
        frame = [part for part in frame if part.sexpr() != (recovery.w[0] > 0).sexpr()] + [recovery.w[0] >= 0]
    solver = z3.Solver()
    solver.add(*frame, *facts, recovery.audited(dropped))
    assert solver.check() == z3.sat


# ---- Proposition 4's bound, and the theory's own words -----------------------------------------------------------------------
def bound(quality: Any, gap: Any) -> Any:
    """2 (p_min - epsilon) max(0, cq - 1/2)."""
    return 2 * gap * z3.If(quality > z3.RealVal("1/2"), quality - z3.RealVal("1/2"), real(0))


def test_the_certified_bound_does_not_fall_and_grows_above_one_half() -> None:
    before, after, gap = z3.Reals("before after gap")
    solver = z3.Solver()
    solver.add(gap > 0, after >= before)
    solver.push()
    solver.add(bound(after, gap) < bound(before, gap))
    assert solver.check() == z3.unsat
    solver.pop()
    solver.add(after > before, bound(after, gap) <= bound(before, gap))
    solver.push()
    solver.add(after > z3.RealVal("1/2"))
    assert solver.check() == z3.unsat
    solver.pop()
    assert solver.check() == z3.sat  # up to one half it may stand still


COUNTS = {
    "lost is not sound": "(q: Obligation): matched_sound(q) implies present(q)",
    "lost is not stable": "(q: Obligation): matched_stable(q) implies present(q)",
    "put away is not sound without evidence": "(q: Obligation): marker(q) != none and not off(q) implies not matched_sound(q)",
    "sound is justified": "(q: Obligation): matched_sound(q) implies all_justified(q)",
}


@pytest.mark.parametrize("probe", COUNTS)
@pytest.mark.parametrize("package", ["roots", "quality"])
def test_what_is_lost_counts_nothing_in_every_state_of_the_theory(package: str, probe: str, theory: Path) -> None:
    assert {result for _, result in follows(Lab(package, theory, COUNTS), f"probe {probe}")} <= {Result.UNSAT}
    weaker = {"all": COUNTS[probe].replace("matched_sound(q)", "true").replace("matched_stable(q)", "true")}
    if "implies present" in COUNTS[probe]:
        said = {result for _, result in follows(Lab("roots", theory, weaker), "probe all")}
        assert Result.SAT in said  # `late` may be absent: it does not hold for nothing


A9 = {
    "sound": "(q: Obligation): matched_sound(q)",
    "stable": "(q: Obligation): matched_stable(q)",
    "ancestor": "(p: Obligation, q: Obligation): ancestor(p, q)",
}


def test_matched_soundness_in_single_states(theory: Path) -> None:
    lab = Lab("roots", theory, A9)
    everything = ("r", "s", "c1", "c2", "z", "x", "y")
    assert lab.those(lab.start, "sound", (*everything, "late")) == set(everything)  # absent work counts nothing
    assert not lab.holds(lab.after("take_in_silently(z)"), "sound", "z")
    assert lab.holds(lab.after("finish(z)", "take_in(z)"), "sound", "z")
    assert not lab.holds(lab.after("drop_silently(c1)"), "sound", "c1")
    assert lab.holds(lab.after("drop(c1)"), "sound", "c1")  # put away, with evidence
    assert not lab.holds(lab.after("fail(c1)", "drop_failed(c1)"), "sound", "c1")  # its own failure is no evidence for its removal


def test_matched_stability_in_single_states(theory: Path) -> None:
    lab = Lab("quality", theory, A9)
    for agent, stable in (("ana", True), ("cy", True), ("bo", False)):
        assert lab.holds(lab.after(f"assign({agent}, p)"), "stable", "p") is stable
    settled = lab.after("assign(bo, p)", "finish(p)", "leave(ana)", "leave(cy)")
    assert not lab.holds(settled, "stable", "p")  # settled under an assignment that was not stable then
    assert not lab.holds(settled, "stable", "q") and lab.holds(lab.start, "stable", "t")  # ready and nobody's; blocked
    roots = Lab("roots", theory, A9)
    assert not roots.holds(roots.start, "stable", "late")


def test_ancestors_are_what_supports_it_however_far_round(theory: Path) -> None:
    lab = Lab("roots", theory, A9)
    everything = ("r", "s", "c1", "c2", "z", "x", "y", "late")
    assert lab.those(lab.start, "ancestor", everything, "r") == {"c1", "c2"}
    assert lab.those(lab.after("put_before(x, y)", "put_before(y, z)"), "ancestor", everything, "z") == {"x", "y"}
    assert lab.those(lab.after("put_before(late, z)"), "ancestor", everything, "z") == set()  # it is not there
