"""Conditions of the audit loop, read in one state after another: evaluated at first, compiled when they are asked often.

A run of twenty rounds asks most of them a few times, and to compile one takes as long as some ten evaluations; a run of
thousands asks the same ones every round. The two agree in every state (meaning/scalar.py).
"""

from __future__ import annotations

from fractions import Fraction

from icore_kernel.explore.model import State
from icore_kernel.meaning import scalar
from icore_kernel.meaning.scalar import Compiled, compile_terms
from icore_kernel.system import Ratio
from icore_kernel.terms.node import Term

OFTEN = 10
"""A condition asked so often is compiled."""


class Facts:
    """One auditor's: what it has compiled goes with it."""

    def __init__(self) -> None:
        self._asked: dict[Term, int] = {}
        self._compiled: dict[Term, Compiled] = {}

    def value(self, term: Term, state: State) -> int:
        """The value of the term in the state (a bool for a BOOL term)."""
        compiled = self._compiled.get(term)
        if compiled is not None:
            return compiled(state)[0]
        asked = self._asked[term] = self._asked.get(term, 0) + 1
        if asked >= OFTEN:
            self._compiled[term] = compile_terms((term,))
            del self._asked[term]
        return scalar.evaluate(term, state)

    def true(self, term: Term, state: State) -> bool:
        if term.is_true or term.is_false:
            return term.is_true
        return bool(self.value(term, state))

    def ratio(self, ratio: Ratio, state: State) -> Fraction:
        return Fraction(self.value(ratio.num, state), self.value(ratio.den, state))
