"""What would answer each question of an unaudited check by what is found, so that the search may end there.

A state that is found can answer a question: feasibility, soundness or an invariant, by breaking it; (un)reachable, by satisfying it.
The other answer, that there is no such state, needs all of them. Whether every write stays in its domain, and whether every fault did
commit, are beside those: once something is violated they do not change the verdict.
"""

from __future__ import annotations

from collections.abc import Sequence

from icore_kernel.check.plan import FEASIBILITY, INVARIANT, SEEN, SOUNDNESS
from icore_kernel.explore.model import LEGALITY
from icore_kernel.system import Clause, PropertyKind, System


def unaudited_questions(system: System, only: Sequence[str] = ()) -> tuple[frozenset[str], ...]:
    """For `Rules.stop_when`: the questions of the results in `only` (none: all), and last that something is violated. Empty where one is
    asked that no finding answers."""
    found: list[frozenset[str]] = []
    bad: set[str] = set()
    named = set(only)
    theory: tuple[tuple[str, tuple[Clause, ...]], ...] = ((FEASIBILITY, system.feasibility), (SOUNDNESS, system.soundness))
    for kind, clauses in theory:
        if system.has_obligations and clauses and (not only or kind in named):
            ids = frozenset(f"{kind}:{i}" for i in range(len(clauses)))
            found.append(ids)
            bad |= ids
            named.discard(kind)
    for i, prop in enumerate(system.properties):
        if only and prop.name not in only:
            continue
        named.discard(prop.name)
        match prop.kind:
            case PropertyKind.INVARIANT:
                found.append(frozenset({f"{INVARIANT}:{i}"}))
                bad.add(f"{INVARIANT}:{i}")
            case PropertyKind.UNREACHABLE:
                found.append(frozenset({f"{SEEN}:{i}"}))
                bad.add(f"{SEEN}:{i}")
            case PropertyKind.REACHABLE:
                found.append(frozenset({f"{SEEN}:{i}"}))
            case _:  # decided without the states (symmetry), or not at all in the unaudited system
                continue
    if named - {"well-formed"}:  # `let through`, `definedness`, …
        return ()
    return (*found, frozenset(bad if only else {*bad, LEGALITY}))
