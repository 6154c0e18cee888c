"""What the audit loop reads of a package beside its `System`: work, assertions, evidence and footprints, as terms over the state.

`ground/auditing.py` builds the tables. Like a `System` they have no syntax and no theory names in them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from icore_kernel.system import Field, Ratio
from icore_kernel.terms.node import Term


@dataclass(frozen=True, slots=True)
class Candidacy:
    """An agent and one piece of work: whether the agent is in F_D (`feasible`), may be assigned now (`candidate`), and v_D."""

    agent: str
    feasible: Term
    candidate: Term
    assigned: Term
    worth: Ratio


@dataclass(frozen=True, slots=True)
class Work:
    """One obligation. `sound` is J_D, `stable` epsilon-stability (definition 9), `matched_*` the same over a frozen set (A.9)."""

    name: str
    type: str
    weight: Fraction
    required: bool
    latent: bool
    present: Term
    unresolved: Term
    evaluated: Term
    off: Term
    failed: Term
    effective_root: Term
    sound: Term
    stable: Term
    matched_sound: Term
    matched_stable: Term
    agents: tuple[Candidacy, ...]
    ancestors: tuple[tuple[str, Term], ...]
    assertions: tuple[str, ...]
    status: Field | None
    """None where it never changes; then `status_then` says what it is."""
    status_then: str
    assignee: Field | None
    assignee_then: str


@dataclass(frozen=True, slots=True)
class Assertion:
    """A work-level assertion (A.3). `carriers`: the fields that hold its value; writing one establishes it anew."""

    name: str
    kind: str
    about: str
    holds: Term
    justified: Term
    carriers: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Premise:
    """What a certificate rests on, where `when` holds. kind: input, artifact, certificate or assertion.

    `captured`: it is asked once, in the state that the issuing update makes; an input is always asked for now.
    """

    kind: str
    target: str
    when: Term
    captured: bool = False


@dataclass(frozen=True, slots=True)
class Way:
    """One declared claim of an assertion, as it is written: made where `where` holds, of the value that `field` has, or `then` where
    that never changes. It fits where the value is one of `values` under its condition; None: whatever the value is."""

    where: Term
    field: Field | None = None
    then: str = ""
    values: tuple[tuple[str, Term], ...] | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """That a certificate claims an assertion with the value it has now, where `holds`; `supports`: and justifies it (definition 7)."""

    assertion: str
    holds: Term
    supports: Term
    ways: tuple[Way, ...]


@dataclass(frozen=True, slots=True)
class Certificate:
    """One certificate slot. `rule`: V accepts it (its scope, `valid when`, `current when`); `conditions`: its premise formulas hold,
    `captured` the formulas among them that are asked once, in the state that the issuing update makes.

    `issuers`: whose evidence it is, each under its condition, in the state before it is issued; None where any update may attach it.
    """

    name: str
    schema: str
    issuer: str
    issuers: tuple[tuple[str, Term], ...] | None
    starts: bool
    active: Term
    pending: Term
    revoked: Term
    superseded: Term
    rule: Term
    conditions: Term
    valid: Term
    premises: tuple[Premise, ...]
    captured: tuple[Term, ...]
    claims: tuple[Claim, ...]
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Node:
    """An input or an artifact of G, and the fields that hold what is known of it."""

    name: str
    schema: str
    present: Term
    live: Term
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Footprint:
    """What one ground update does to G, Q and Pi that the states before and after need not show, each where its condition holds before."""

    works: frozenset[str]
    """The obligations it may write."""
    established: tuple[tuple[str, Term], ...] = ()
    """The assertions that it makes anew, which only evidence issued with them supports from then on."""
    issued: tuple[tuple[str, Term], ...] = ()
    emitted: tuple[tuple[str, Term], ...] = ()


@dataclass(frozen=True, slots=True)
class Progress:
    """One ground instance of `progress`: it is made where `where` holds before, and `reached` does not hold before but after."""

    where: Term
    reached: Term
    text: str


@dataclass(frozen=True, slots=True)
class Settings:
    """What `audit { … }` declares (section 5); None or empty where the package says nothing. `repairs`: kind -> who is asked, in order."""

    tolerance: Fraction = Fraction(0)
    floor: Fraction = Fraction(0)
    threshold: Fraction | None = None
    patience: int | None = None
    budget: int | None = None
    progress: tuple[Progress, ...] = ()
    repairs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Relation:
    """A declared relation with its facts at the start, and the field of each fact that can change."""

    name: str
    contributes: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]
    changing: tuple[tuple[str, str, Field], ...]


@dataclass(frozen=True)
class Tables:
    """Everything by name, in the order of declaration. `footprints` are those of `System.updates`, by index."""

    agents: tuple[str, ...]
    works: Mapping[str, Work]
    assertions: Mapping[str, Assertion]
    certificates: Mapping[str, Certificate]
    inputs: Mapping[str, Node]
    artifacts: Mapping[str, Node]
    relations: tuple[Relation, ...]
    footprints: tuple[Footprint, ...]
    settings: Settings
    soundness: Ratio
    stability: Ratio
    quality: Ratio
