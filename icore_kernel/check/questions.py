"""What would answer each question of an unaudited check by what is found, so that the search may end there; or any check, by violating it.

A state that is found can answer a question: feasibility, soundness or an invariant, by breaking it; (un)reachable, by satisfying it.
The other answer, that there is no such state, needs all of them. Whether every write stays in its domain, and whether every fault did
commit, are beside those: once something is violated they do not change the verdict. What the file expects to be violated does not count.
"""

from __future__ import annotations

from collections.abc import Sequence

from icore_kernel.check.plan import CONCLUSION, FEASIBILITY, INVARIANT, SEEN, SOUNDNESS
from icore_kernel.explore.model import LEGALITY
from icore_kernel.system import Clause, PropertyKind, System


def unaudited_questions(system: System, only: Sequence[str] = ()) -> tuple[frozenset[str], ...]:
    """For `Rules.stop_when`: the questions of the results in `only` (none: all), and last that something is violated which the file does
    not expect to be. Empty where one is asked that no finding answers."""
    found: list[frozenset[str]] = []
    named = set(only)
    theory: tuple[tuple[str, tuple[Clause, ...]], ...] = ((FEASIBILITY, system.feasibility), (SOUNDNESS, system.soundness))
    for kind, clauses in theory:
        if system.has_obligations and clauses and (not only or kind in named):
            found.append(frozenset(f"{kind}:{i}" for i in range(len(clauses))))
            named.discard(kind)
    for i, prop in enumerate(system.properties):
        if only and prop.name not in only:
            continue
        named.discard(prop.name)
        match prop.kind:
            case PropertyKind.INVARIANT:
                found.append(frozenset({f"{INVARIANT}:{i}"}))
            case PropertyKind.UNREACHABLE | PropertyKind.REACHABLE:
                found.append(frozenset({f"{SEEN}:{i}"}))
            case _:  # decided without the states (symmetry), or not at all in the unaudited system
                continue
    if named - {"well-formed"}:  # `let through`, `definedness`, …
        return ()
    return (*found, violations(system, only, audited=False) & frozenset({LEGALITY}).union(*found))


def violations(system: System, only: Sequence[str] = (), audited: bool = True) -> frozenset[str]:
    """What a finding violates, as an alternative of `Rules.stop_when`: of the results in `only` (none: all), but for what the file expects
    to be violated. Dead ends, and what is decided on the whole graph, are not among them."""

    def asked(name: str) -> bool:
        return (not only or name in only) and name not in system.expect_violated

    ids = {LEGALITY} if asked("legality" if audited else "definedness") else set[str]()
    for kind, clauses in ((FEASIBILITY, system.feasibility), (SOUNDNESS, system.soundness)):
        if system.has_obligations and asked(kind):
            ids |= {f"{kind}:{i}" for i in range(len(clauses))}
    if system.has_obligations and asked("reports"):
        ids.add("both")
    ids |= {f"{CONCLUSION}:{i}" for i, clause in enumerate(system.conclusions) if asked(clause.label)}
    for i, prop in enumerate(system.properties):
        if asked(prop.name):
            ids |= {PropertyKind.INVARIANT: {f"{INVARIANT}:{i}"}, PropertyKind.UNREACHABLE: {f"{SEEN}:{i}"}}.get(prop.kind, set())
    return frozenset(ids)
