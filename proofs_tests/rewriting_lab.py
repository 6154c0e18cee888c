"""Small step graphs made at random, and what appendix B says of them by brute force: full descendant sets, all pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import numpy as np

from icore_kernel.explore.model import StepGraph
from icore_kernel.rewriting.graph import Quotient, productive, steps
from icore_kernel.system import Domain, DomainKind, Field, GroundUpdate, Kind, System, Write
from icore_kernel.terms.term import TermBank

Edges = list[list[tuple[int, int]]]
"""For every state its (update, target), at most one an update."""


def random_edges(random: Random, cyclic: bool, most: int = 12, updates: int = 7) -> Edges:
    """Reachable from state 0. Without `cyclic` every step goes to the state itself (a stutter) or to a later one."""
    n = random.randint(1, most)
    edges: Edges = []
    for state in range(n):
        out: dict[int, int] = {}
        for _ in range(random.randint(0, 4)):
            out[random.randrange(updates)] = random.randrange(n) if cyclic else random.randrange(state, n)
        edges.append(sorted(out.items()))
    return reachable(edges)


def reachable(edges: Edges) -> Edges:
    seen = [0]
    for state in seen:
        seen.extend(dict.fromkeys(t for _, t in edges[state] if t not in seen))
    number = {state: i for i, state in enumerate(seen)}
    return [[(u, number[t]) for u, t in edges[state]] for state in seen]


def in_rows(edges: Edges) -> tuple[StepGraph, Quotient]:
    """As plain arrays, walked in Python."""
    full = steps(edges)
    return full, productive(full, (0,))


def in_numpy(edges: Edges) -> tuple[StepGraph, Quotient]:
    """As NumPy rows, as a block search leaves them."""
    full = steps(edges)
    rows = StepGraph(np.array(full.start), np.array(full.update, dtype=np.int32), np.array(full.target, dtype=np.int32))
    return rows, productive(rows, (0,))


@dataclass(frozen=True)
class Brute:
    terminating: bool
    normalizing: bool
    definition_14: bool
    confluent: bool
    normal_forms: frozenset[int]
    bottoms: frozenset[frozenset[int]]
    forks: dict[tuple[int, int], tuple[int, int, int]]
    """(update, update) -> independent, joinable, not joinable."""


def brute(edges: Edges, kinds: list[int] | None = None) -> Brute:
    """`kinds[s]`: the class of normal form s; None: each its own."""
    n = len(edges)
    step = [dict(out) for out in edges]
    after = [{t for _, t in out if t != s} for s, out in enumerate(edges)]
    reach = [{s} for s in range(n)]
    changing = True
    while changing:
        changing = False
        for s in range(n):
            wider = reach[s].union(*(reach[t] for t in after[s]))
            changing = changing or wider != reach[s]
            reach[s] = wider
    forms = frozenset(s for s in range(n) if not after[s])
    cycle = any(s in reach[t] for s in range(n) for t in after[s])
    classes = [{f if kinds is None else kinds[f] for f in reach[s] & forms} for s in range(n)]
    confluent = all(reach[a] & reach[b] for s in range(n) for a in reach[s] for b in reach[s])
    bottoms = frozenset(frozenset(reach[s]) for s in range(n) if all(s in reach[t] for t in reach[s]))
    forks: dict[tuple[int, int], list[int]] = {}
    for s in range(n):
        moves = [(u, t) for u, t in edges[s] if t != s]
        for i, (a, t) in enumerate(moves):
            for b, v in moves[i + 1 :]:
                tally = forks.setdefault((a, b), [0, 0, 0])
                if b in step[t] and a in step[v] and step[t][b] == step[v][a]:
                    tally[0] += 1
                else:
                    tally[1 if reach[t] & reach[v] else 2] += 1
    return Brute(
        not cycle, all(reach[s] & forms for s in range(n)), all(len(c) <= 1 for c in classes), confluent, forms, bottoms,
        {pair: (a, b, c) for pair, (a, b, c) in forks.items()},
    )  # fmt: skip


Name = tuple[str, tuple[tuple[str, str], ...]]
"""Schema and binding of an update."""


def system_of(edges: Edges, names: Sequence[Name], bank: TermBank, kinds: Sequence[Kind] = (), free: Sequence[int] = ()) -> System:
    """The step graph as a package of one field: update u leads from each of its states to the next, by a table.

    `free`: further initial states.
    """
    state = Field("x", Domain(DomainKind.INT, 0, max(len(edges) - 1, 1)), 0)
    x = bank.variable("x", 0, 0, state.domain.hi, False)
    updates = []
    for number, (schema, binding) in enumerate(names):
        to = {s: t for s, out in enumerate(edges) for u, t in out if u == number}
        value = bank.lookup(x, [to.get(s, 0) for s in range(state.domain.size)])
        kind = kinds[number] if kinds else Kind.ORDINARY
        actor = "environment" if kind is Kind.ENVIRONMENT else "ana"
        when = bank.member(x, to) if to else bank.false
        updates.append(GroundUpdate(schema, binding, actor, schema, kind, when, bank.true, bank.true, (Write(state, value),)))
    initially = bank.member(x, {0, *free})
    return System("Lab", "1", (state,), (0,), (state,) if free else (), initially, tuple(updates), has_obligations=False)
