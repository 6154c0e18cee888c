"""What the audit loop and a host policy say to each other (section 5): the host schedules, steps and revises; it never commits.

The loop imports no host. A host is anything with these three methods: see `icore_kernel/hosts/`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol

from icore_kernel.record.canonical import CanonicalError, require_canonical

Json = None | bool | int | str | list["Json"] | dict[str, "Json"]
"""What a record can hold beside the state: no floats (canonical JSON has one way to write everything it has)."""

CodeOrName = bool | int | str
"""A field's value as people write it: `true`, `3`, `closed`, `ana`, `none`."""


def require_recordable(outside: object) -> None:
    """CanonicalError for what cannot stand in a record beside a proposal: `outside.why: 0.5 is not written in a record; write text`."""
    if not isinstance(outside, Mapping):
        raise CanonicalError(f"outside: a {type(outside).__name__}, where keys with values are expected")
    require_canonical(dict(outside), "outside")


@dataclass(frozen=True, slots=True)
class Candidate:
    """One occurrence that may be attempted in the state. `enabled`: it would commit and change something; else an attempt or a fault."""

    number: int
    """Its index in `System.updates`."""
    update: str
    """`finish(ana, unit)`."""
    schema: str
    binding: Mapping[str, str]
    actor: str
    """An agent, `monitor`, `environment`, or `nobody` where the update names none."""
    operation: str
    works: tuple[str, ...]
    """The obligations it may write, in order."""
    enabled: bool = True
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """What an agent did or was told, in public: from the record."""

    entry: int
    agent: str
    text: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One component of a diagnosis: what is wrong with it, the evidence that is missing or invalid, who has it and who else could."""

    component: str
    status: str
    assignee: str
    missing: tuple[str, ...]
    """Assertions without support, each with what its evidence lacks: `status(unit): done(unit) is not active`."""
    alternatives: tuple[tuple[str, Fraction], ...]
    """Feasible agents who would improve the declared value by more than the tolerance, with the gain, best first."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """F (line 27). kind: what is to be repaired (`assignment work evidence progress report`); `triggers`: why the loop intervenes."""

    kind: str
    triggers: tuple[str, ...]
    findings: tuple[Finding, ...]
    flag: int | None
    """The entry of the hard flag that is to be resolved; None where the state itself called for the intervention."""
    proposer: str
    broken: tuple[str, ...]
    """The clauses that the flagged proposal broke."""
    history: tuple[Message, ...]
    matched: Mapping[str, Fraction] = field(default_factory=dict)
    """W_F with its frozen weights (A.9)."""


@dataclass(frozen=True, slots=True)
class View:
    """What an agent is shown (lines 11 and 29; C.6): its own work, the last messages, what it may attempt, and the diagnosis if any."""

    agent: str
    round: int
    rounds: int
    """The budget B."""
    assignments: tuple[tuple[str, str], ...]
    """(obligation, status) of the agent's work."""
    messages: tuple[Message, ...]
    candidates: tuple[Candidate, ...]
    chosen: Candidate | None
    """The occurrence that was scheduled (line 10); None in a revision."""
    visible: Mapping[str, CodeOrName]
    """The fields that what is scheduled may read (definition 6(i))."""
    feedback: Diagnosis | None
    features: Mapping[int, tuple[Fraction, ...]] = field(default_factory=dict)
    """The twelve features of C.5 of each candidate, by its number, where the host asks for them."""


@dataclass(frozen=True, slots=True)
class Step:
    """One proposed update: an occurrence by name, or the fields that are to change, from which the loop finds the occurrence."""

    update: str | None = None
    changes: Mapping[str, CodeOrName] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Proposal:
    """What an agent answers: (o, C) of lines 12 and 30. No steps: the agent waits. A recovery may take several steps, in order.

    CanonicalError, a ValueError, where `outside` cannot stand in a record: it names the key. The loop asks again when it takes it.
    """

    steps: tuple[Step, ...] = ()
    outside: Mapping[str, Json] = field(default_factory=dict)
    """What goes into the record with it: reasoning, tool results, usage."""
    problem: str = ""
    """Why there is no usable answer (a time-out, an answer that is no JSON): recorded, nothing is proposed."""

    def __post_init__(self) -> None:
        if self.outside:
            require_recordable(self.outside)


@dataclass(frozen=True, slots=True)
class Choice:
    """(m, rho) of line 10."""

    agent: str
    candidate: Candidate


class GivenUp(Exception):
    """Raised by a host that has nobody left to ask. The run ends as `incomplete`, and the message stands in the record's end."""


class Host(Protocol):
    """A policy over proposals. Methods may take their time. GivenUp ends the run as `incomplete`, what else they raise as `interrupted`;
    the record is intact and sealed.
    """

    name: str
    features: bool
    """Whether views carry the twelve features."""

    def schedule(self, round: int, enabled: Sequence[Candidate], view: Schedule) -> Choice:
        """Who acts, and the occurrence that is expected (line 10). `enabled` is U, never empty."""
        ...

    def step(self, agent: str, view: View) -> Proposal:
        """What the agent does (line 12): it may deviate from what was scheduled."""
        ...

    def revise(self, agent: str, view: View) -> Proposal:
        """What the responsible agent proposes as recovery (line 30); `view.feedback` is the diagnosis."""
        ...


@dataclass(frozen=True, slots=True)
class Schedule:
    """What a scheduler is shown: the state by name, everything that may be attempted, and features where asked for."""

    state: Mapping[str, CodeOrName]
    attempts: tuple[Candidate, ...]
    features: Mapping[int, tuple[Fraction, ...]]
    rounds: int
