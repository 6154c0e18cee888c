"""A host that draws: seeded, and the same on every machine and version of Python.

Every draw is keyed by the seed and by what is asked (the round, whose turn), so the host has no state: a run that is taken up again draws
what it would have drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from hashlib import sha256

from icore_kernel.audit.host import Candidate, Choice, Proposal, Schedule, Step, View
from icore_kernel.hosts.mistakes import HostError


def draw(below: int, *key: int | str) -> int:
    """A number in 0..below-1, any with the same chance, up to 2^-64: SHA-256 over the key."""
    if below < 1:
        raise ValueError(f"a number below {below}")
    width = below.bit_length() + 64
    count = -(-width // 256)
    blocks = (sha256("\x1f".join([*map(str, key), str(i)]).encode()).digest() for i in range(count))
    return int.from_bytes(b"".join(blocks), "big") % below


class RandomHost:
    """Schedules any of U with the same chance. At the rate `faults` the step is not what was scheduled, but a fault or an attempt that
    the agent may make (any with the same chance), where there is one. A recovery is any enabled candidate; where there is none, the
    agent waits.
    """

    features = False

    def __init__(self, seed: int, faults: Fraction = Fraction(0)) -> None:
        """`faults`: from 0 to 1. Raises HostError for another rate."""
        if not 0 <= faults <= 1:
            raise HostError(f"the rate of faults is from 0 to 1, not {faults}")
        self.name = f"random:{seed}:{Fraction(faults)}" if faults else f"random:{seed}"
        self.seed = seed
        self.faults = Fraction(faults)

    def schedule(self, round: int, enabled: Sequence[Candidate], view: Schedule) -> Choice:
        chosen = enabled[draw(len(enabled), self.seed, "schedule", round)]
        return Choice(chosen.actor, chosen)

    def step(self, agent: str, view: View) -> Proposal:
        wrong = [c for c in view.candidates if c.fault or not c.enabled]
        if wrong and draw(self.faults.denominator, self.seed, "whether", view.round, agent) < self.faults.numerator:
            return _proposed(wrong[draw(len(wrong), self.seed, "which", view.round, agent)])
        return Proposal() if view.chosen is None else _proposed(view.chosen)

    def revise(self, agent: str, view: View) -> Proposal:
        sound = [c for c in view.candidates if c.enabled and not c.fault]
        return _proposed(sound[draw(len(sound), self.seed, "revise", view.round, agent)]) if sound else Proposal()


def _proposed(candidate: Candidate) -> Proposal:
    return Proposal((Step(candidate.update),))
