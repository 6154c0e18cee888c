"""What a search is asked and what it answers, as records: rules, watchlist, mode; exploration (design 4, Exploration).

Words: an *occurrence* is one ground update in one reachable state where its `when` holds. A *step* is a committed
occurrence; a *stutter* is a step that changes nothing (it is counted among the steps as well). An *attempt* is an
occurrence without `requires`. States have numbers in the order of discovery, so a smaller number is never deeper.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from pathlib import Path as FilePath
from typing import Any, NamedTuple, Protocol

from icore_kernel.system import Clause, Measure, System
from icore_kernel.terms.term import Term

State = tuple[int, ...]
"""One value a field, by field index."""

LEGALITY = "legality"
"""In `Rules.stop_on` and `Rules.stop_when`: an illegal occurrence, or one whose write leaves its domain."""

ANSWERED = "every question is answered"
"""Why a search stopped by `Rules.stop_when`. What was found is exact, and all that its questions need; counts are up to there."""


@dataclass(frozen=True, slots=True)
class Audited:
    """Every occurrence is judged: what is illegal is refused, or is a violation (design 3, Who moves)."""


@dataclass(frozen=True, slots=True)
class Unaudited:
    """Nothing is judged. `through` names the faults and attempts that commit (None: all of them).

    With names given, the other faults do not occur and the other attempts are still refused by `requires`.
    A name is a fault's own (`careless`), a schema's, or `schema.attempt`.
    """

    through: frozenset[str] | None = None


Mode = Audited | Unaudited


@dataclass(frozen=True, slots=True)
class Progress:
    """What a long search tells: states found, steps, states of the level under expansion, its depth, seconds, what it is at
    (`search`, then `finality`, `graph`, which go through the steps again), and bytes of memory in use."""

    states: int
    steps: int
    frontier: int
    depth: int
    seconds: float
    phase: str = "search"
    memory: int = 0


class CheckpointError(Exception):
    """A checkpoint that is not there, is damaged, or is of another search; or a folder that has one already. The message says which."""


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """Where a search by blocks writes what it would need to go on, and whether it begins with what is there.

    * `folder`: of one search; made where there is none;
    * `resume`: go on from the checkpoint in it; else there must be none;
    * `every`: seconds between checkpoints, more where the disk is slow, 0: at every block (they are also written when a rule
      stops the search, and at its end);
    * `facts`: what the caller wants to agree too, by name: the version of the program, settings.
    """

    folder: FilePath
    resume: bool = False
    every: float = 5.0
    facts: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Rules:
    """When to stop, as data. None never stops.

    * `max_states`: keep this many states, stop when there is one more;
    * `max_depth`: states of this depth are found and checked, not expanded;
    * `timeout`: seconds of a monotonic clock from the start, of which `spent` went by before it;
    * `max_memory`: bytes of memory that the process may take for its own; the search by the C kernel then keeps its states on disk,
      and all stop before an allocation that would go beyond;
    * `spill_at`: bytes of states and tables from which on the C kernel keeps states on disk (None: 3/4 of the memory available);
    * `cores`: how many the search may use (None: two, where a second is idle); what it finds does not depend on it;
    * `stop_on`: watchlist ids (a check violated, something seen), or LEGALITY;
    * `stop_when`: questions, each as the ids (as in `stop_on`) of which one is enough to answer it. Once all are answered, no further
      level is begun: every engine then stops with the same states;
    * `interrupted`: asked now and then; true stops like Ctrl-C does;
    * `keep_graph`: keep the steps of a complete exploration (8 bytes a step and more);
    * `wanted`: modules that the caller will need after the search: imported while the C kernel is at work, where that takes long and
      `cores` is not 1;
    * `proved`: indices of updates proved legal in every feasible state where they are committable; not tested there again;
    * `checkpoints`: where to write them.
    """

    max_states: int | None = None
    max_depth: int | None = None
    timeout: float | None = None
    spent: float = 0.0
    stop_on: frozenset[str] = frozenset()
    stop_when: tuple[frozenset[str], ...] = ()
    interrupted: Callable[[], bool] | None = None
    progress: Callable[[Progress], None] | None = None
    keep_graph: bool = False
    wanted: tuple[str, ...] = ()
    proved: frozenset[int] = frozenset()
    max_memory: int | None = None
    spill_at: int | None = None
    cores: int | None = None
    checkpoints: Checkpoints | None = None


@dataclass(frozen=True, slots=True)
class Watchlist:
    """What to look at in every reachable state; ids are the caller's.

    `checks` must hold in each state; `seen` are looked for; `minimums` are measured; a state without a productive
    step that satisfies none of `ends` is a dead end; from a state that satisfies one of `final` onward no step may
    change the truth of an `outcomes` clause (finality).
    """

    checks: tuple[tuple[str, Term], ...] = ()
    seen: tuple[tuple[str, Term], ...] = ()
    minimums: tuple[Measure, ...] = ()
    ends: tuple[Term, ...] = ()
    final: tuple[Term, ...] = ()
    outcomes: tuple[Clause, ...] = ()

    @property
    def looked(self) -> list[Term]:
        """The formulas of `checks`, then those of `seen`."""
        return [term for _, term in (*self.checks, *self.seen)]

    @property
    def measured(self) -> list[Term]:
        """Numerator and denominator of each of `minimums`."""
        return [term for measure in self.minimums for term in (measure.ratio.num, measure.ratio.den)]


class Phase(Enum):
    """Where an occurrence fails, in the order of judgement. BEFORE, REQUIRES and RANGE are about the state before."""

    REQUIRES = "requires"
    RANGE = "range"
    BEFORE = "before"
    AFTER = "after"
    FEASIBILITY = "feasibility"


class Failing(NamedTuple):
    """A clause that fails for an occurrence, and where."""

    phase: Phase
    clause: Clause


@dataclass(frozen=True, slots=True)
class Sighting:
    """In how many reachable states a formula was true (of a check: false), and the first of them."""

    count: int = 0
    first: int | None = None


@dataclass(frozen=True, slots=True)
class Extent:
    """Exact least and greatest value of a measure over the states found, each with the first state that has it; None: no state."""

    least: Fraction | None = None
    least_at: int | None = None
    greatest: Fraction | None = None
    greatest_at: int | None = None


@dataclass(frozen=True, slots=True)
class Coverage:
    """Of one ground update: states where `when` holds, where `requires` holds too, and steps taken."""

    enabled: int = 0
    committable: int = 0
    committed: int = 0


@dataclass(frozen=True, slots=True)
class Violation:
    """Illegal (or out of range) occurrences of one schema that fail `label`: how many, and the shortest: `update` in `state`.

    `failing` are all clauses that fail there. An ordinary one did not commit; an environment one did, unless out of range.
    """

    schema: str
    label: str
    count: int
    state: int
    update: int
    failing: tuple[Failing, ...]


@dataclass(frozen=True, slots=True)
class DeadEnds:
    """`quiet`: states without a productive step; `unended`: those that satisfy none of `ends`; the first of these, and
    what was refused there: (update index, label)."""

    quiet: int = 0
    unended: int = 0
    first: int | None = None
    refused: tuple[tuple[int, str], ...] = ()


class Path(NamedTuple):
    """A run: the initial state and the indices of the updates that commit, in order."""

    initial: State
    updates: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class FinalityBreak:
    """A shortest run through a final state whose next step `update` changes the outcome clauses `changed`."""

    path: Path
    update: int
    changed: tuple[Clause, ...]


class IntegerRow(Protocol):
    """What array.array and a one-dimensional integer NumPy array have in common."""

    def __len__(self) -> int: ...

    def __getitem__(self, place: Any, /) -> Any: ...

    def __iter__(self) -> Iterator[Any]: ...

    def tolist(self) -> Any: ...


@dataclass(frozen=True, slots=True)
class StepGraph:
    """All steps in compressed rows: those of state s are `update[start[s]:start[s + 1]]` to `target[...]`, stutters included.

    The rows are arrays (array.array, or one-dimensional NumPy arrays after a block search).
    """

    start: IntegerRow
    update: IntegerRow
    target: IntegerRow


class Store(Protocol):
    """What remembers the states found."""

    def state(self, number: int) -> State: ...

    def path(self, number: int) -> Path:
        """A shortest run to the state."""
        ...


@dataclass(frozen=True, slots=True)
class Reduction:
    """What a reduced search saved: it kept `stored` states.

    With symmetry (`sets` of names, `group` permutations) these stand for `states`, and every count is of those. With
    `partial_order` counts are of the states visited, and `cut` steps were left out.
    """

    stored: int
    states: int
    group: int = 1
    sets: tuple[tuple[str, tuple[str, ...]], ...] = ()
    partial_order: bool = False
    cut: int = 0

    def said(self) -> list[str]:
        """`symmetry: 3! on ana, bo, cy, 27 of 86 states`, for a person."""
        found: list[str] = []
        if self.sets:
            names = [f"{len(members)}! on {', '.join(members[:4])}{', …' if len(members) > 4 else ''}" for _, members in self.sets]
            found.append(f"symmetry: {' × '.join(names)}, {self.stored:,} of {self.states:,} states")
        if self.partial_order:
            found.append(f"partial order: {self.cut:,} steps left out; counts are of the states visited, and runs need not be shortest")
        return found


@dataclass(frozen=True)
class Exploration:
    """What a search found. Unless `stopped` is None it is a part only, and proves nothing by what it did not find.

    states = sum(levels); depth = len(levels) - 1 (0 when there is no state); steps includes stutters. `refusals` counts
    refused occurrences by (fault schema or `schema.attempt`, first failing label); `passed` counts by fault schema the
    occurrences that no clause refuses. `finality_checked` is false when no final state exists or the search stopped.
    """

    system: System
    mode: Mode
    engine: str
    states: int
    steps: int
    stutters: int
    depth: int
    levels: tuple[int, ...]
    coverage: tuple[Coverage, ...]
    refusals: Mapping[tuple[str, str], int]
    passed: Mapping[str, int]
    violations: tuple[Violation, ...]
    checks: Mapping[str, Sighting]
    seen: Mapping[str, Sighting]
    minimums: Mapping[str, Extent]
    dead_ends: DeadEnds
    finality: FinalityBreak | None
    finality_checked: bool
    graph: StepGraph | None
    stopped: str | None
    seconds: float
    store: Store = field(repr=False)
    reduction: Reduction | None = None


def trace(exploration: Exploration, number: int) -> Path:
    """A shortest run to a state found: (initial state, update indices). IndexError when there is no such state."""
    if not 0 <= number < exploration.states:
        raise IndexError(f"state {number}: the exploration found {exploration.states}")
    return exploration.store.path(number)
