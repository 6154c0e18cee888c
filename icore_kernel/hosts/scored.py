"""A host that takes the best candidate by a fixed linear score over the paper's twelve features (C.5).

The paper trains a small network and falls back to a linear score that it does not print. These weights are ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from hashlib import sha256

from icore_kernel.audit.features import NAMES
from icore_kernel.audit.host import Candidate, Choice, Proposal, Schedule, Step, View

WEIGHTS: tuple[tuple[str, Fraction, str], ...] = (
    ("enabled", Fraction(16), "more than all the others together: what would be refused comes last"),
    ("assigned_to_self", Fraction(1), "an agent finishes what it has before anything else is begun"),
    ("unassigned", Fraction(1, 2), "work that nobody has is taken before work is handed from one to another"),
    ("prerequisites_ready", Fraction(1), "work whose support stands need not be done again"),
    ("aggregate_ready", Fraction(1, 2), "putting finished parts together makes a root decidable"),
    ("evidence_available", Fraction(2), "an assertion without evidence is what the audit refuses"),
    ("own_capability", Fraction(1), "of several agents the most capable"),
    ("best_capability", Fraction(-1, 2), "with the one above: what is lost against the best agent weighs more than what the work is worth"),
    ("already_complete", Fraction(-1, 4), "what is settled waits for open work that is ready, not for work that is blocked"),
    ("duplicate_risk", Fraction(-2), "work is done once"),
    ("audit_recommendation", Fraction(3), "a diagnosis is answered before ordinary work is done"),
    ("terminal_ready", Fraction(1), "where the roots are done, the run is brought to its end"),
)  # fmt: skip
"""(feature, weight, reason), in the order of the features."""

assert tuple(name for name, _, _ in WEIGHTS) == NAMES

_FACTORS = tuple(weight for _, weight, _ in WEIGHTS)


def score(features: Sequence[Fraction]) -> Fraction:
    """The weighted sum, exactly."""
    return sum((weight * value for weight, value in zip(_FACTORS, features, strict=True)), Fraction(0))


class ScoredHost:
    """Schedules the best of U, proposes what was scheduled, and answers a diagnosis with the best of what writes a diagnosed component.
    What the environment does is scheduled only where U has nothing else.

    Ties go to the lowest number, or, with a seed, to the lowest SHA-256 of seed, round and name (the paper's keyed jitter, exactly).
    """

    name = "scored"
    features = True

    def __init__(self, seed: int | None = None) -> None:
        self.seed = seed

    def schedule(self, round: int, enabled: Sequence[Candidate], view: Schedule) -> Choice:
        best = self.best([c for c in enabled if c.actor != "environment"] or enabled, view.features, round)
        return Choice(best.actor, best)

    def step(self, agent: str, view: View) -> Proposal:
        return Proposal() if view.chosen is None else Proposal((Step(view.chosen.update),))

    def revise(self, agent: str, view: View) -> Proposal:
        sound = [c for c in view.candidates if c.enabled and not c.fault]
        diagnosed = {f.component for f in view.feedback.findings} if view.feedback is not None else set()
        related = [c for c in sound if diagnosed.intersection(c.works)]
        if not sound:
            return Proposal()
        return Proposal((Step(self.best(related or sound, view.features, view.round).update),))

    def best(self, candidates: Sequence[Candidate], features: Mapping[int, tuple[Fraction, ...]], round: int) -> Candidate:
        """The candidate with the largest score."""
        return min(candidates, key=lambda c: (-score(features[c.number]), self._tie(round, c), c.number))

    def _tie(self, round: int, candidate: Candidate) -> bytes:
        return b"" if self.seed is None else sha256(f"{self.seed}\x1f{round}\x1f{candidate.update}".encode()).digest()
