"""The grounded system: what every engine takes, and all that any engine knows of a package.

A `System` has no syntax and no theory names in it: finite-domain fields, initial states, ground updates (guard,
writes, what they record), named clauses, properties. `ground` builds it; exploration, proof and audit read it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from dataclasses import field as dataclass_field
from enum import Enum
from fractions import Fraction

from icore_dsl.syntax import Span
from icore_kernel.terms.term import Term, TermBank


class DomainKind(Enum):
    BOOL = "bool"
    INT = "int"
    ENUM = "enum"


@dataclass(frozen=True, slots=True)
class Domain:
    """A finite domain of codes `lo..hi`. BOOL: 0..1. INT: the integers themselves. ENUM: 0..len(names)-1, printed by name."""

    kind: DomainKind
    lo: int
    hi: int
    names: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        return self.hi - self.lo + 1

    def show(self, value: int) -> str:
        match self.kind:
            case DomainKind.BOOL:
                return "true" if value else "false"
            case DomainKind.INT:
                return str(int(value))
            case DomainKind.ENUM:
                return self.names[value]


@dataclass(frozen=True, slots=True)
class Field:
    """One coordinate of the semantic state (design: layer 3). `index` is its place in the state tuple."""

    name: str
    domain: Domain
    index: int
    root: bool = True
    """Whether it always belongs to the slice (status, assignee, off marker, coverage, evidence identity), and runs print it."""
    kind: str = ""
    """What it is a coordinate of: `status`, `assignee`, `certificate`, `ifield` … (the first item of its slot's key)."""
    owner: str = ""
    """The name of the declaration it belongs to: an input, an artifact, a certificate schema, a relation."""

    def term(self, bank: TermBank) -> Term:
        """The FIELD term that reads it."""
        return bank.variable(self.name, self.index, self.domain.lo, self.domain.hi, self.domain.kind is DomainKind.BOOL)


@dataclass(frozen=True, slots=True)
class Clause:
    """A named formula: of A.4, of definition 6, of A.6, or a property's. `spans` point into spec/ or the user's file."""

    label: str
    formula: Term
    text: str = ""
    spans: tuple[Span, ...] = ()
    instance: str = ""
    """Which ground instance, where the clause was split (`status(unit)`); empty when it is whole."""
    instances: tuple[tuple[str, Term], ...] = ()
    """The ground instances that `formula` is the conjunction of, by the names of what they speak of: for reports."""


class Kind(Enum):
    """Who moves (design 3, Who moves). An attempt is not a kind: it is an occurrence with `when` and not `requires`."""

    ORDINARY = "ordinary"
    ENVIRONMENT = "environment"
    FAULT = "fault"


@dataclass(frozen=True, slots=True)
class Due:
    """The number num/den that is to be written, where that can leave the field's domain."""

    num: Term
    den: Term


@dataclass(frozen=True, slots=True)
class Write:
    """field := value, the value a term over the state before. All writes of an update happen at once.

    Where an update is not `defined`, `value` is some code of the domain all the same; `due` says what was to be written, for people.
    """

    field: Field
    value: Term
    due: Due | None = dataclass_field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class GroundUpdate:
    """One update schema (or fault variant, or outcome) at one binding: R̂_ρ of definition 12.

    * attemptable when `when`; committable when `when` and `requires`;
    * `defined` is true when every write stays in its field's domain (violating it while committable is an error of the package);
    * the successor replaces exactly the fields of `writes`; a field is written at most once;
    * legal from X to X' when every clause of `before` holds in X, every clause of `after` and every
      clause of `System.feasibility` holds in X'.
    """

    schema: str
    binding: tuple[tuple[str, str], ...]
    actor: str
    operation: str
    kind: Kind
    when: Term
    requires: Term
    defined: Term
    writes: tuple[Write, ...]
    before: tuple[Clause, ...] = ()
    after: tuple[Clause, ...] = ()
    fault: str = ""
    """The fault's own name (`careless`, `misdirect`); empty for updates that are no fault."""
    span: Span | None = None
    notes: tuple[str, ...] = ()
    """What it records beside its writes, for reports (`emits report(unit)`, `issues done(unit)`)."""

    @property
    def name(self) -> str:
        """`finish(ana, unit)`, `finish.careless(ana, unit)`: how runs and reports call it."""
        inner = ", ".join(value for _, value in self.binding)
        return f"{self.schema}({inner})" if self.binding else self.schema

    @property
    def written(self) -> int:
        """The fields it writes: bit i for field i."""
        return sum({1 << write.field.index for write in self.writes})

    @property
    def reads(self) -> int:
        """The fields that decide whether it can commit and what it writes: bit i for field i. Legality may read others."""
        mask = self.when.reads | self.requires.reads | self.defined.reads
        for write in self.writes:
            mask |= write.value.reads
        return mask


class PropertyKind(Enum):
    INVARIANT = "invariant"
    REACHABLE = "reachable"
    UNREACHABLE = "unreachable"
    TERMINATION = "termination"
    SETTLEMENT = "settlement"
    STABILITY = "order stability"
    EVENTUALLY = "eventually"
    LEADSTO = "leadsto"
    CONTROLLABLE = "controllable"
    SYMMETRY = "symmetric"
    UNDECIDED = "undecided"
    """Parsed and type-checked, answered `unknown: not decided by this version`."""


@dataclass(frozen=True, slots=True)
class Property:
    """A declared property. INVARIANT: formula in every reachable state; REACHABLE/UNREACHABLE: in some / in none;
    EVENTUALLY: every fair run meets it; LEADSTO: what satisfies it is followed by `goal`; CONTROLLABLE: the agents can
    bring it about. TERMINATION, SETTLEMENT and STABILITY have no formula, nor has SYMMETRY: the names `on` are treated alike.

    `antecedents` are what must hold somewhere, or the property holds for no reason (vacuity).
    `given`: frozen choices of STABILITY, each a tuple of paths (`("assign.m",)`, `("finish", "fail")`); `on`: what it observes.
    """

    kind: PropertyKind
    name: str
    formula: Term
    span: Span
    antecedents: tuple[tuple[Term, Span], ...] = ()
    text: str = ""
    expect_violated: bool = False
    what: str = ""
    """For UNDECIDED: what it is. For SYMMETRY: `agents` or `obligations`."""
    goal: Term | None = None
    given: tuple[tuple[str, ...], ...] = ()
    on: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ratio:
    """An exact rational expression num/den over the state; den is positive wherever it is evaluated."""

    num: Term
    den: Term

    def at(self, num: int, den: int) -> Fraction:
        return Fraction(num, den)


@dataclass(frozen=True, slots=True)
class Measure:
    """A named quantity reported over reachable states: snd, astab, cq, |W(X)|."""

    name: str
    ratio: Ratio
    label: str = ""


@dataclass(frozen=True, slots=True)
class Scenario:
    """`run NAME: steps expect FORMULA`: update names in order, then a formula that must hold."""

    name: str
    steps: tuple[tuple[str, Span], ...]
    expect: Term
    span: Span


@dataclass(frozen=True, slots=True)
class Watch:
    """Something that must be true somewhere, or a finding is due (vacuity): kind, message, formula, span."""

    kind: str
    subject: str
    message: str
    formula: Term
    span: Span | None


@dataclass(frozen=True)
class System:
    """A grounded package. `initial` gives each field's initial value; fields in `free` range over their domain, filtered by `initially`."""

    name: str
    version: str
    fields: tuple[Field, ...]
    initial: tuple[int, ...]
    free: tuple[Field, ...]
    initially: Term
    updates: tuple[GroundUpdate, ...]
    feasibility: tuple[Clause, ...] = ()
    soundness: tuple[Clause, ...] = ()
    accept: tuple[Clause, ...] = ()
    reject: tuple[Clause, ...] = ()
    stuck: tuple[Clause, ...] = ()
    outcomes: tuple[Clause, ...] = ()
    """What must not change after Accept or Reject: discharge, failure, exclusion of each root."""
    measures: tuple[Measure, ...] = ()
    properties: tuple[Property, ...] = ()
    scenarios: tuple[Scenario, ...] = ()
    watches: tuple[Watch, ...] = ()
    has_obligations: bool = True
    hypotheses: tuple[Clause, ...] = ()
    conclusions: tuple[Clause, ...] = ()
    """Proposition 4, where the package declares `truth`: where every hypothesis holds, every conclusion must."""
    allowed: tuple[tuple[str, str | None, str], ...] = ()
    """`allow`: kind, subject (None: all), reason."""
    expect_violated: tuple[str, ...] = ()
    fairness: tuple[tuple[str, str], ...] = ()
    """`fair`: (weak or strong, update schema), beyond the weak fairness that agents and the monitor have anyway."""
    silent: tuple[str, ...] = ()
    """Update schemas that no binding can ever enable: dropped while grounding."""
    sliced: tuple[str, ...] = ()
    """Names of candidate fields that were left out because nothing reads or writes them."""
    counts: dict[str, int] = field(default_factory=dict)
    """Declared sizes for the headline: agents, obligations, updates, occurrences, declarations."""
    fields_digest: str = ""
    theory_digest: str = ""
    package_digest: str = ""
