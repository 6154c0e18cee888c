"""Syntax trees of the declaration language. Every node keeps its span to the end.

Nodes are plain slotted dataclasses. Nesting is bounded when they are built (`source.MAX_DEPTH`), so every later walk may recurse.
Names are not resolved here: `resolve.py` checks them, the kernel looks them up by scope. What declarations are made of stands in
`expressions.py` and is imported from here.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass

from icore_dsl.expressions import (
    Assign as Assign,
)
from icore_dsl.expressions import (
    Attr as Attr,
)
from icore_dsl.expressions import (
    Binary as Binary,
)
from icore_dsl.expressions import (
    Binder as Binder,
)
from icore_dsl.expressions import (
    BoolLit as BoolLit,
)
from icore_dsl.expressions import (
    Call as Call,
)
from icore_dsl.expressions import (
    Claim as Claim,
)
from icore_dsl.expressions import (
    Closure as Closure,
)
from icore_dsl.expressions import (
    Effect as Effect,
)
from icore_dsl.expressions import (
    Expr as Expr,
)
from icore_dsl.expressions import (
    FieldDecl as FieldDecl,
)
from icore_dsl.expressions import (
    For as For,
)
from icore_dsl.expressions import (
    If as If,
)
from icore_dsl.expressions import (
    Index as Index,
)
from icore_dsl.expressions import (
    Name as Name,
)
from icore_dsl.expressions import (
    NoneLit as NoneLit,
)
from icore_dsl.expressions import (
    Num as Num,
)
from icore_dsl.expressions import (
    Outcome as Outcome,
)
from icore_dsl.expressions import (
    Param as Param,
)
from icore_dsl.expressions import (
    Quant as Quant,
)
from icore_dsl.expressions import (
    RangeLit as RangeLit,
)
from icore_dsl.expressions import (
    SetField as SetField,
)
from icore_dsl.expressions import (
    SetLit as SetLit,
)
from icore_dsl.expressions import (
    SetOf as SetOf,
)
from icore_dsl.expressions import (
    Sort as Sort,
)
from icore_dsl.expressions import (
    SortName as SortName,
)
from icore_dsl.expressions import (
    SortOptional as SortOptional,
)
from icore_dsl.expressions import (
    SortRange as SortRange,
)
from icore_dsl.expressions import (
    SortSet as SortSet,
)
from icore_dsl.expressions import (
    SortValues as SortValues,
)
from icore_dsl.expressions import (
    Span as Span,
)
from icore_dsl.expressions import (
    Statement as Statement,
)
from icore_dsl.expressions import (
    Target as Target,
)
from icore_dsl.expressions import (
    Unary as Unary,
)
from icore_dsl.expressions import (
    Variant as Variant,
)
from icore_dsl.expressions import (
    View as View,
)
from icore_dsl.expressions import (
    When as When,
)

# ---- declarations -----------------------------------------------------------------------------------------------


@dataclass(slots=True)
class EnumDecl:
    name: str
    members: tuple[Name, ...]
    span: Span


@dataclass(slots=True)
class Member:
    """One agent: its name and the values of its attributes and changing fields."""

    name: str
    values: tuple[Assign, ...]
    span: Span


@dataclass(slots=True)
class AgentsDecl:
    fields: tuple[FieldDecl, ...]
    members: tuple[Member, ...]
    span: Span


@dataclass(slots=True)
class SlotDecl:
    """kind: `input` or `artifact`. A family has parameters."""

    kind: str
    name: str
    params: tuple[Param, ...]
    fields: tuple[FieldDecl, ...]
    span: Span


@dataclass(slots=True)
class ObligationTypeDecl:
    name: str
    fields: tuple[FieldDecl, ...]
    span: Span


@dataclass(slots=True)
class ObligationDecl:
    """`compile: Step { skill = build } starts ready, required`; `hotfix[i: 1..2]: Step latent`."""

    name: str
    index: Param | None
    type: str
    values: tuple[Assign, ...]
    starts: str | None
    latent: bool
    required: bool
    assigned: Expr | None
    span: Span


@dataclass(slots=True)
class ObligationsDecl:
    items: tuple[ObligationDecl, ...]
    span: Span


@dataclass(slots=True)
class RelationDecl:
    """`relation needs(Step, Step) contributes support`; `changing` when updates may relate and unrelate."""

    name: str
    left: Sort
    right: Sort
    contributes: tuple[Name, ...]
    changing: bool
    span: Span


@dataclass(slots=True)
class Chain:
    """`a -> {b, c} -> d for i in 1..n where …`: each element of a link relates to each of the next."""

    links: tuple[Expr, ...]
    binders: tuple[Binder, ...]
    where: Expr | None
    span: Span


@dataclass(slots=True)
class FactsDecl:
    relation: str
    chains: tuple[Chain, ...]
    span: Span


@dataclass(slots=True)
class CertificateDecl:
    """A certificate schema (A.3). `issuer` is an expression or the name environment, monitor, any."""

    name: str
    params: tuple[Param, ...]
    issuer: Expr | None
    scope: Expr | None
    premises: tuple[Target, ...]
    claims: tuple[Claim, ...]
    valid: Expr | None
    current: Expr | None
    delay: Expr | None
    delay_clock: str | None
    revocable_by: tuple[Expr, ...]
    neutralizes: tuple[Target, ...]
    fields: tuple[FieldDecl, ...]
    starts_active: bool
    starts_when: Expr | None
    span: Span


@dataclass(slots=True)
class UpdateDecl:
    """`update` or (is_fault) a free-standing `fault`. `actor` is an expression or the name environment or monitor."""

    name: str
    params: tuple[Param, ...]
    operation: str | None
    actor: Expr | None
    body: tuple[Statement, ...]
    is_fault: bool
    span: Span


@dataclass(slots=True)
class TableBody:
    """`table { build test  ana: 0.94 0.70 } at (m, w.skill)`."""

    columns: tuple[Name, ...]
    rows: tuple[tuple[Name, tuple[Num, ...]], ...]
    row_key: Expr
    column_key: Expr
    span: Span


@dataclass(slots=True)
class FunctionDecl:
    """kind: `define`, `least`, `feasible`, `value`, `truth`. `exported` definitions of the theory may be named by packages."""

    kind: str
    name: str
    params: tuple[Param, ...]
    result: Sort | None
    body: Expr | TableBody
    exported: bool
    span: Span


@dataclass(slots=True)
class PropertyDecl:
    """kind: `invariant reachable unreachable eventually controllable leadsto bound`. `second`: of leadsto the goal, of bound its `when`."""

    kind: str
    name: str
    formula: Expr
    second: Expr | None
    span: Span


@dataclass(slots=True)
class CheckItem:
    """what: `termination`, `settlement`, `order stability`; given: `assign.m`, `finish or fail`, `finish.ok`; on: field words."""

    what: str
    given: tuple[tuple[Name, ...], ...]
    on: tuple[Name, ...]
    span: Span


@dataclass(slots=True)
class CheckDecl:
    items: tuple[CheckItem, ...]
    span: Span


@dataclass(slots=True)
class FairDecl:
    """`fair weak push`, `fair strong finish.ok, enable`: updates, or one of their outcomes or faults (the name keeps the dot)."""

    strength: str
    updates: tuple[Name, ...]
    span: Span


@dataclass(slots=True)
class SymmetricDecl:
    """`symmetric agents cy, bo`, `symmetric obligations a, b`."""

    what: str
    members: tuple[Name, ...]
    span: Span


@dataclass(slots=True)
class ClockDecl:
    name: str
    low: Expr
    high: Expr
    span: Span


@dataclass(slots=True)
class RunStep:
    """`finish(ana, unit)`, `finish.careless(ana, unit)`."""

    update: str
    variant: str | None
    args: tuple[Expr, ...]
    span: Span


@dataclass(slots=True)
class RunDecl:
    name: str
    steps: tuple[RunStep, ...]
    expect: Expr
    span: Span


@dataclass(slots=True)
class AllowDecl:
    """`allow vacuous `hotfix` because "…"`: `subject` None silences the whole kind."""

    kind: str
    subject: str | None
    reason: str
    span: Span


@dataclass(slots=True)
class ExpectDecl:
    """`expect violated NAME`: this file teaches; the named result must be violated."""

    name: str
    span: Span


@dataclass(slots=True)
class AuditEntry:
    """One line of `audit { … }`: tolerance, floor, threshold, patience, budget (a value); progress (`value` is the formula that
    `changes` to the given value, over binders and where); repairs."""

    key: str
    value: Expr | None
    binders: tuple[Binder, ...]
    where: Expr | None
    changes: Expr | None
    repairs: tuple[tuple[str, tuple[Name, ...]], ...]
    span: Span


@dataclass(slots=True)
class AuditDecl:
    entries: tuple[AuditEntry, ...]
    span: Span


@dataclass(slots=True)
class InitiallyDecl:
    formula: Expr
    span: Span


@dataclass(slots=True)
class OperationsDecl:
    """`operations deploy, roll_back`: words added to Ω."""

    names: tuple[Name, ...]
    span: Span


@dataclass(slots=True)
class ImportDecl:
    path: str
    span: Span


# ---- only in spec/ ----------------------------------------------------------------------------------------------


@dataclass(slots=True)
class PrimitiveDecl:
    """What the kernel supplies to the theory: a name, parameters, a sort, and what it means. `exported`: packages may use it."""

    name: str
    params: tuple[Param, ...]
    result: Sort
    meaning: str
    exported: bool
    span: Span


@dataclass(slots=True)
class ClauseDecl:
    """A clause of the theory. kind: `feasibility legality soundness accept reject stuck outcome report hypothesis bound measure finding`.

    `label` is the paper's (`A.4(1)`); `moment` is `before` or `after` for legality (read in X or in X'); `params` quantify it.
    """

    kind: str
    label: str
    moment: str | None
    params: tuple[Param, ...]
    formula: Expr
    span: Span


Decl = (
    EnumDecl | AgentsDecl | SlotDecl | ObligationTypeDecl | ObligationsDecl | RelationDecl | FactsDecl | CertificateDecl | UpdateDecl
    | FunctionDecl | PropertyDecl | CheckDecl | FairDecl | SymmetricDecl | ClockDecl | RunDecl | AllowDecl | ExpectDecl | AuditDecl
    | InitiallyDecl | OperationsDecl | ImportDecl | PrimitiveDecl | ClauseDecl
)


@dataclass(slots=True)
class Comment:
    """A `#` comment, kept for the formatter: `text` with its `#`; `own_line` when nothing stands before it on its line."""

    text: str
    own_line: bool
    span: Span


@dataclass(slots=True)
class Module:
    """One file. kind: `package`, `theory`, or `library` (a file that is imported)."""

    kind: str
    language: int
    name: str
    version: str
    params: tuple[Param, ...]
    decls: tuple[Decl, ...]
    comments: tuple[Comment, ...]
    text: str
    file: str
    span: Span
    name_span: Span | None = field(default=None)


def equal_modulo_spans(first: object, second: object) -> bool:
    """Whether two trees (or tuples of trees, or comments) differ at most in their spans, and modules in their files and layout."""
    if isinstance(first, Span) and isinstance(second, Span):
        return True
    if type(first) is not type(second):
        return False
    if isinstance(first, tuple) and isinstance(second, tuple):
        return len(first) == len(second) and all(map(equal_modulo_spans, first, second))
    if not is_dataclass(first):
        return first == second
    skipped = ("text", "file") if isinstance(first, Module) else ()
    names = [part.name for part in fields(first) if part.name not in skipped]
    return all(equal_modulo_spans(getattr(first, name), getattr(second, name)) for name in names)
