"""Verdicts, assurance, findings: what a check answers (design 1, What the user sees; design 4, Honesty of success)."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, IntEnum
from typing import NoReturn

from icore_dsl.syntax import Span


class ExitStatus(IntEnum):
    """A function of the verdict alone (design 1)."""

    HOLDS = 0
    VIOLATED = 1
    BAD_INPUT = 2
    UNKNOWN = 3
    INTERNAL = 4


class Verdict(Enum):
    """Holds (exhaustive), proved (for all states), violated, unknown. It has no truth value: compare it."""

    HOLDS = "holds"
    PROVED = "proved"
    VIOLATED = "violated"
    UNKNOWN = "unknown"

    def __bool__(self) -> NoReturn:
        raise TypeError("a verdict has no truth value: compare it with Verdict.HOLDS, PROVED, VIOLATED or UNKNOWN")


class Assurance(Enum):
    """On what a verdict rests."""

    PROVED = "proved"
    EXHAUSTIVE = "exhaustive"
    BOUNDED = "bounded"
    OBSERVED = "observed"
    STATIC = "static"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Change:
    """One field that a step changed: name, value before, value after, as printed."""

    field: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Step:
    """One committed occurrence of a run: `finish(ana, unit)`, who did it, and only what it changed."""

    update: str
    actor: str
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Run:
    """A run from an initial state: a list of (update, binding), never of state hashes. `initial` names the values of free fields."""

    initial: tuple[tuple[str, str], ...]
    steps: tuple[Step, ...]
    offending: Step | None = None
    """The occurrence that may not commit, where the violation is a refused or illegal step after `steps`."""
    cycle: tuple[Step, ...] = ()
    """Of a run that goes on for ever: what it repeats after `steps`."""


@dataclass(frozen=True, slots=True)
class Fork:
    """Where two orders, or two choices, settle apart (appendix B). The run of the result leads to it.

    `way`: where the two exits of a decisive component start in different states of it, the steps inside it from the first's
    state to the second's. `choice`: the two updates are alternatives for the same work, so the divergence is a choice and no
    matter of order. `conflict`: the fields that one writes and the other reads or writes. `settlements`: field, value after the first
    side, value after the second, where they differ. `continuations`: what each side does from there until it settles.
    """

    first: Step
    second: Step
    choice: bool
    conflict: tuple[str, ...]
    settlements: tuple[tuple[str, str, str], ...]
    continuations: tuple[tuple[Step, ...], tuple[Step, ...]]
    way: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class Cell:
    """One row of the matrix of update pairs: forks of two schemas, `choice` or order, by what became of them.

    `everywhere`: proved independent in every feasible state, not only where reached; `condition`: where not, two
    occurrences and the values with which they conflict.
    """

    first: str
    second: str
    choice: bool
    independent: int
    joinable: int
    not_joinable: int
    unclassified: int
    everywhere: bool = False
    condition: str = ""

    @property
    def kind(self) -> str:
        """The worst that happens between the two."""
        if self.not_joinable:
            return "not joinable"
        if self.unclassified:
            return "unclassified"
        if self.joinable:
            return "joinable"
        return "independent everywhere" if self.everywhere else "independent where reached"


@dataclass(frozen=True, slots=True)
class Reason:
    """The smallest failing sub-formula: clause label, its text, its span, the values in it (name, printed value)."""

    label: str
    text: str
    span: Span | None
    values: tuple[tuple[str, str], ...] = ()
    instance: str = ""
    nearest: str = ""
    """Where a family of alternatives failed: what the alternative that lacks least would still need."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A vacuity or style finding: `kind` is what `allow` names; under --strict each exits 1 unless allowed."""

    kind: str
    subject: str
    message: str
    span: Span | None = None
    allowed: str = ""
    """The reason given by `allow`, where it was allowed."""


@dataclass(frozen=True, slots=True)
class Obligation:
    """One question that was put to a solver: its name, the answer (`unsat`, `sat`, `unknown`), seconds."""

    name: str
    answer: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Result:
    """One line of a report: a property, its verdict, on what it rests, and why."""

    name: str
    verdict: Verdict
    assurance: Assurance
    detail: str = ""
    span: Span | None = None
    run: Run | None = None
    reasons: tuple[Reason, ...] = ()
    engine: str = ""
    fork: Fork | None = None
    matrix: tuple[Cell, ...] = ()
    """Of order stability: the update pairs that are ever enabled together."""
    repair: str = ""
    """What would repair it, where something is known."""
    not_guaranteed: str = ""
    seconds: float = 0.0


LIBRARY = "library"
"""The mode of a report on a library: it is well-formed, and nothing was searched or proved."""


@dataclass(frozen=True)
class Report:
    """What `icore check` answers for one file."""

    file: str
    package: str
    version: str
    results: tuple[Result, ...]
    findings: tuple[Finding, ...] = ()
    obligations: tuple[Obligation, ...] = ()
    space: dict[str, object] = field(default_factory=dict)
    """states, steps, stutters, depth, fields (digest), per level and per update counts, stopped (why) or None."""
    counts: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    mode: str = "audited"
    first: str = ""
    """Which violation to look at first, where others come from it: for a person."""
    behind: tuple[str, ...] = ()
    """The results that come from it: a person is shown their lines, and their runs where they are asked for by name."""

    @property
    def verdict(self) -> Verdict:
        """The gravest of the results: violated, unknown, then holds; proved only when nothing else is there."""
        found = [r.verdict for r in self.results]
        if not found:
            return Verdict.UNKNOWN
        for grave in (Verdict.VIOLATED, Verdict.UNKNOWN, Verdict.HOLDS):
            if grave in found:
                return grave
        return Verdict.PROVED

    def exit_status(self, strict: bool = False) -> ExitStatus:
        """0 holds or proved, 1 violated (or, when strict, a finding that was not allowed), 3 unknown."""
        verdict = self.verdict
        if verdict is Verdict.VIOLATED or (strict and any(not f.allowed for f in self.findings)):
            return ExitStatus.VIOLATED
        if verdict is Verdict.UNKNOWN:
            return ExitStatus.UNKNOWN
        return ExitStatus.HOLDS
