"""One whole exploration with its step graph: what termination, order stability and liveness are decided on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter

from icore_kernel.check.answers import engine
from icore_kernel.check.walks import Walks
from icore_kernel.explore.model import Exploration, Rules
from icore_kernel.meaning.scalar import compile_terms
from icore_kernel.rewriting.commute import Footprints, Pair
from icore_kernel.rewriting.condense import Condensation, condense
from icore_kernel.rewriting.facts import Facts, facts
from icore_kernel.rewriting.forks import Forks, count_forks
from icore_kernel.rewriting.graph import productive
from icore_kernel.system import GroundUpdate, Kind, System
from icore_kernel.terms.node import Term
from icore_kernel.terms.term import TermBank


class Whole:
    """Parts are computed when first asked for. ValueError for an exploration that stopped or kept no graph."""

    def __init__(self, system: System, bank: TermBank, exploration: Exploration, rules: Rules) -> None:
        if exploration.graph is None or exploration.stopped is not None:
            raise ValueError("decided on a complete exploration that kept its graph")
        self.system = system
        self.bank = bank
        self.exploration = exploration
        self.full = exploration.graph
        self.initial = tuple(range(exploration.levels[0] if exploration.levels else 0))
        self.graph = productive(exploration.graph, self.initial, exploration.stutters)
        self.walks = Walks(system, exploration, self.graph)
        self.engine = engine(exploration)
        self._rules = rules
        self._since = perf_counter() - exploration.seconds
        self._plain: Condensation | None = None
        self._facts: Facts | None = None
        self._forks: Forks | None = None
        self.schemas = tuple(dict.fromkeys(u.schema for u in system.updates))
        self._number = {name: i for i, name in enumerate(self.schemas)}

    def rules(self, most_states: int) -> Rules:
        """For a further search: what is left of the time, and at most so many states."""
        left = None if self._rules.timeout is None else max(self._rules.timeout - self._rules.spent - (perf_counter() - self._since), 1e-3)
        states = most_states if self._rules.max_states is None else min(most_states, self._rules.max_states)
        # Checkpoints are those of the main search.
        return replace(
            self._rules, keep_graph=True, stop_on=frozenset(), stop_when=(), timeout=left, spent=0.0, max_states=states, max_depth=None,
            checkpoints=None,
        )  # fmt: skip

    @property
    def plain(self) -> Condensation:
        """The condensation in which every normal form is a class of its own."""
        if self._plain is None:
            self._plain = condense(self.graph)
        return self._plain

    @property
    def facts(self) -> Facts:
        if self._facts is None:
            self._facts = facts(self.graph, self.plain)
        return self._facts

    def settled(self) -> list[int]:
        """The productive normal forms."""
        if not self.graph.plain:
            from icore_kernel.explore import passes

            return passes.quiet(self.graph.start)
        start = self.graph.start
        return [s for s in range(self.graph.states) if start[s] == start[s + 1]]

    def ends(self, *goals: bytearray) -> tuple[int, ...]:
        """How many productive normal forms are in the first goal, in the second and not the first …, and in none (a byte a state)."""
        if not self.graph.plain:
            from icore_kernel.explore import passes

            return passes.ends(self.graph.start, goals)
        first = [next((place for place, goal in enumerate(goals) if goal[form]), len(goals)) for form in self.settled()]
        return tuple(first.count(place) for place in range(len(goals) + 1))

    def truth(self, terms: Sequence[Term]) -> list[bytearray]:
        """Whether each formula holds, a byte a state."""
        if not self.graph.plain:
            from icore_kernel.explore import passes

            return passes.truths(self.exploration, terms)
        values = compile_terms(list(terms))
        found = [bytearray(self.graph.states) for _ in terms]
        for state in range(self.graph.states):
            for row, value in zip(found, values(self.exploration.store.state(state)), strict=True):
                row[state] = bool(value)
        return found

    # ---- forks ---------------------------------------------------------------------------------------------------------
    def forks(self) -> Forks:
        """Forks by (schema, schema, 1 for a choice), schemas by their numbers in `schemas`."""
        if self._forks is None:
            kinds = _Kinds(self.system, self.bank, bool(self.exploration.violations))
            self._forks = count_forks(self.full, self.graph, self.plain, self.key, kinds)
        return self._forks

    def key(self, a: int, b: int) -> tuple[int, int, int]:
        one, other = self.system.updates[a], self.system.updates[b]
        first, second = sorted((self._number[one.schema], self._number[other.schema]))
        return first, second, int(is_choice(one, other))


NOBODY = "nobody"
"""The actor of updates without one."""


class _Kinds:
    """commute.Pair of two updates, where it may be relied on: where every committable occurrence is legal, and neither is a fault."""

    def __init__(self, system: System, bank: TermBank, illegal: bool) -> None:
        self._updates = system.updates
        self._footprints = Footprints(system.updates, bank)
        self._illegal = illegal

    def __call__(self, a: int, b: int) -> int:
        if self._illegal or Kind.FAULT in {self._updates[a].kind, self._updates[b].kind}:
            return Pair.OPEN
        return self._footprints.pair(a, b)


def is_choice(a: GroundUpdate, b: GroundUpdate) -> bool:
    """Alternatives for the same work, not a matter of order: one schema with another binding (or another outcome), or two updates
    of one actor, that decide the same status, assignee, marker or input."""
    if not _decided(a) & _decided(b):
        return False
    return a.schema.partition(".")[0] == b.schema.partition(".")[0] or (a.actor == b.actor and a.actor != NOBODY)


def _decided(update: GroundUpdate) -> set[int]:
    return {w.field.index for w in update.writes if w.field.kind in {"status", "assignee", "marker", "ifield"}}


def conflict(system: System, a: GroundUpdate, b: GroundUpdate) -> tuple[str, ...]:
    """Fields that one of two updates writes and the other reads or writes; the shown ones where there are any."""

    def writes(u: GroundUpdate) -> int:
        return sum({1 << w.field.index for w in u.writes})

    def reads(u: GroundUpdate) -> int:
        mask = u.when.reads | u.requires.reads
        for w in u.writes:
            mask |= w.value.reads
        return mask

    clash = (writes(a) & (reads(b) | writes(b))) | (writes(b) & (reads(a) | writes(a)))
    met = [f for f in system.fields if clash >> f.index & 1]
    return tuple(f.name for f in ([f for f in met if f.root] or met))

