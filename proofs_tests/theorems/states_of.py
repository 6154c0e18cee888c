"""Reachable states with the quantities of section 4, and the paper's sums over them: nothing of the kernel's own arithmetic."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from pathlib import Path

from theory_lab import Lab

from icore_kernel import api
from icore_kernel.explore.model import Rules
from icore_kernel.meaning.scalar import evaluate_all
from icore_kernel.terms.node import Term

WORTHS = ("0", "0.1", "0.5", "0.6", "0.7", "0.8", "0.88", "0.9", "0.91", "0.94", "0.95", "1")


@dataclass(frozen=True)
class Evaluated:
    """One state: per component of W(X) its weight, its assignee's worth, F_D with values, whether it is justified, E[Y]."""

    weights: tuple[Fraction, ...]
    assigned: tuple[Fraction, ...]
    options: tuple[tuple[Fraction, ...], ...]
    """per component, v_D of each member of F_D(q, X)."""
    justified: tuple[bool, ...]
    expected: tuple[Fraction, ...]
    said: dict[str, Fraction]
    """astab, and with earnings snd and cq, as the theory has them."""
    hypotheses: bool

    def share(self, chosen: list[bool]) -> Fraction:
        """The weight of the chosen components in that of all; one where there is none."""
        whole = sum(self.weights, Fraction(0))
        return Fraction(1) if whole == 0 else sum((w for w, c in zip(self.weights, chosen, strict=True) if c), Fraction(0)) / whole

    def stable(self, tolerance: Fraction) -> list[bool]:
        """Definition 9, with the convention that a maximum over nothing is zero."""
        pairs = zip(self.options, self.assigned, strict=True)
        return [max((value - now for value in options), default=Fraction(0)) <= tolerance for options, now in pairs]

    def regrets(self) -> Iterator[Fraction]:
        """U(beta) - U(alpha) for every feasible joint assignment beta, `none` included, with normalized weights."""
        whole = sum(self.weights)
        for beta in product(*((Fraction(0), *options) for options in self.options)):
            yield sum((w * (b - a) for w, b, a in zip(self.weights, beta, self.assigned, strict=True)), Fraction(0)) / whole


class Space:
    """The reachable states of a package (the first `most` of them), each different reading of section 4 once.

    `earnings` adds what Proposition 4 asks: justification, E[Y], snd and cq. Theorem 1 needs none of it.
    """

    def __init__(
        self, text: str, theory: Path, weights: dict[str, int], agents: tuple[str, ...], most: int, earnings: bool = False
    ) -> None:
        values = {f"v {v}": f"(m: Agent, q: Obligation): worth(m, q) == {v}" for v in WORTHS}
        earned = {f"y {v}": f"(q: Obligation): earned(q) == {v}" for v in WORTHS}
        assigned = {f"a {v}": f"(q: Obligation): assigned_worth(q) == {v}" for v in WORTHS}
        own = {"W": "(q: Obligation): evaluated(q)", "F": "(m: Agent, q: Obligation): candidate(m, q)"}
        more = {**earned, "J": "(q: Obligation): all_justified(q)"} if earnings else {}
        self.earnings = earnings
        self.lab = Lab(text, theory, {**values, **assigned, **own, **more})
        self.weights, self.agents = weights, agents
        self.exploration = api.explore(self.lab.loaded, rules=Rules(max_states=most))
        self._terms: dict[tuple[str, tuple[str, ...]], Term] = {}
        for clause in self.lab.system.soundness:
            for name, term in clause.instances if clause.label.startswith("probe ") else ():
                self._terms[clause.label.removeprefix("probe "), tuple(name.split(", "))] = term
        for measure in self.lab.system.measures:
            if earnings or measure.name == "astab":
                self._terms["num", (measure.name,)] = measure.ratio.num
                self._terms["den", (measure.name,)] = measure.ratio.den
        for i, clause in enumerate(self.lab.system.hypotheses if earnings else ()):
            self._terms["hypothesis", (str(i),)] = clause.formula

    def __iter__(self) -> Iterator[Evaluated]:
        reads = 0
        for term in self._terms.values():
            reads |= term.reads
        places = [i for i in range(len(self.lab.system.fields)) if reads >> i & 1]
        keys, terms = list(self._terms), list(self._terms.values())
        seen: set[tuple[int, ...]] = set()
        for number in range(self.exploration.states):
            state = self.exploration.store.state(number)
            key = tuple(state[i] for i in places)
            if key not in seen:
                seen.add(key)
                yield self._evaluated(dict(zip(keys, evaluate_all(terms, state), strict=True)))

    def _evaluated(self, found: dict[tuple[str, tuple[str, ...]], int]) -> Evaluated:
        def holds(what: str, *names: str) -> bool:
            return bool(found.get((what, names), True))  # an instance that is true in every state is not kept

        def number(what: str, *names: str) -> Fraction:
            fitting = [v for v in WORTHS if holds(f"{what} {v}", *names)]
            assert len(fitting) == 1, f"{what} of {names} is none of the values that the package declares"
            return Fraction(fitting[0])

        works = [w for w in self.weights if holds("W", w)]
        return Evaluated(
            weights=tuple(Fraction(self.weights[w]) for w in works),
            assigned=tuple(number("a", w) for w in works),
            options=tuple(tuple(number("v", m, w) for m in self.agents if holds("F", m, w)) for w in works),
            justified=tuple(holds("J", w) for w in works) if self.earnings else (),
            expected=tuple(number("y", w) for w in works) if self.earnings else (),
            said={names[0]: Fraction(found["num", names], found["den", names]) for what, names in found if what == "num"},
            hypotheses=self.earnings and all(v for (what, _), v in found.items() if what == "hypothesis"),
        )
