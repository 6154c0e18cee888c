"""Legality by Z3 inside `check`, where it costs next to nothing: the bound is on sizes, so that no report depends on the clock."""

from __future__ import annotations

from icore_kernel.load import Loaded
from icore_kernel.system import Kind
from icore_kernel.terms.node import postorder
from icore_kernel.verdict import Obligation

MOST_TERMS = 20_000
"""Terms of feasibility times updates. Measured, that is below a tenth of a second."""


def legality(loaded: Loaded, seconds: float | None) -> Obligation | None:
    """`unsat`: every update that is no fault is proved legal in every reachable state, initial states being feasible and every
    update legal from every feasible state; `sat`: some is not, from a state that is perhaps unreachable. None: not asked."""
    system = loaded.system
    terms = len(postorder([clause.formula for clause in system.feasibility]))
    if not (system.has_obligations and system.accept and system.reject) or terms * len(system.updates) > MOST_TERMS:
        return None
    from icore_kernel.prove.onestep import lemma_2, start_is_feasible
    from icore_kernel.prove.steps import Steps

    steps = Steps(system, loaded.bank)
    start = start_is_feasible(steps)
    found = lemma_2(system, loaded.bank, seconds, steps)
    moving = frozenset(n for n, u in enumerate(system.updates) if u.kind is not Kind.FAULT)
    proved = start.answer == "unsat" and found.complete and moving == found.proved
    return Obligation("every update is legal from every feasible state", "unsat" if proved else "sat", found.seconds + start.seconds)
