"""Syntax trees of what declarations are made of: spans, expressions, sorts, effects of updates. Users import `syntax`."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Span:
    """Characters `start..end` of a file; `line` and `column` count from 1."""

    file: str
    start: int
    end: int
    line: int
    column: int
    end_line: int
    end_column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


# ---- expressions ------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Num:
    """`3`, `0.94`: exact; `whole` when written without a decimal point."""

    value: Fraction
    whole: bool
    text: str
    span: Span


@dataclass(slots=True)
class BoolLit:
    value: bool
    span: Span


@dataclass(slots=True)
class NoneLit:
    span: Span


@dataclass(slots=True)
class Name:
    id: str
    span: Span


@dataclass(slots=True)
class Index:
    """`hotfix[1]`: a member of an indexed family."""

    name: str
    index: Expr
    span: Span


@dataclass(slots=True)
class Attr:
    """`w.skill`, `head.commit`, `report(w).passed`."""

    target: Expr
    name: str
    span: Span


@dataclass(slots=True)
class Call:
    """`status(w)`, `done(p)`, `needs(p, w)`, `feasible(m, w)`: whatever the name is declared as. `name_span` covers the name."""

    name: str
    args: tuple[Expr, ...]
    span: Span
    name_span: Span


@dataclass(slots=True)
class Unary:
    """op: `not`, `-`."""

    op: str
    operand: Expr
    span: Span


@dataclass(slots=True)
class Binary:
    """op: `+ - * / div mod == != < <= > >= in not_in and or implies iff`."""

    op: str
    left: Expr
    right: Expr
    span: Span


@dataclass(slots=True)
class SetLit:
    items: tuple[Expr, ...]
    span: Span


@dataclass(slots=True)
class RangeLit:
    """`1..n`, only after `in`."""

    low: Expr
    high: Expr
    span: Span


@dataclass(slots=True)
class SetOf:
    """`{ w for w in Step where needs(p, w) }`."""

    item: Expr
    binders: tuple[Binder, ...]
    where: Expr | None
    span: Span


@dataclass(slots=True)
class If:
    condition: Expr
    then: Expr
    otherwise: Expr
    span: Span


@dataclass(slots=True)
class Binder:
    """`p in Step`; `domain` is a sort's name, a range, a set, or an attribute that is a set."""

    name: str
    domain: Expr
    span: Span


@dataclass(slots=True)
class Quant:
    """kind: `forall exists count sum max min`. `body` is None for count (and for exists without `:`)."""

    kind: str
    binders: tuple[Binder, ...]
    where: Expr | None
    body: Expr | None
    span: Span


@dataclass(slots=True)
class Closure:
    """`needs*(p, w)` (reflexive-transitive) and `needs+(p, w)` (transitive) closure of a relation or binary definition."""

    relation: str
    reflexive: bool
    left: Expr
    right: Expr
    span: Span


Expr = Num | BoolLit | NoneLit | Name | Index | Attr | Call | Unary | Binary | SetLit | RangeLit | SetOf | If | Quant | Closure


# ---- sorts ------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class SortName:
    """`bool`, `rational`, `text`, `Agent`, `Obligation`, an enum, an obligation type, a theory sort."""

    name: str
    span: Span


@dataclass(slots=True)
class SortRange:
    low: Expr
    high: Expr
    span: Span


@dataclass(slots=True)
class SortValues:
    """`{0.2, 0.3, 0.5}`: a finite domain of exact rationals."""

    values: tuple[Expr, ...]
    span: Span


@dataclass(slots=True)
class SortSet:
    """`set of Skill`."""

    item: Sort
    span: Span


@dataclass(slots=True)
class SortOptional:
    """`Agent or none`."""

    item: Sort
    span: Span


Sort = SortName | SortRange | SortValues | SortSet | SortOptional


# ---- pieces of declarations -------------------------------------------------------------------------------------


@dataclass(slots=True)
class Param:
    """`w: Step`; package parameters may have a default (`n: 1..20 = 4`)."""

    name: str
    sort: Sort
    default: Expr | None
    span: Span


@dataclass(slots=True)
class FieldDecl:
    """kind: `attribute` (fixed) and `changing` of agents, `static` and `signature` of obligations, `plain` of the others."""

    kind: str
    name: str
    sort: Sort
    default: Expr | None
    inessential: bool
    span: Span


@dataclass(slots=True)
class Assign:
    """`skill = build` inside braces."""

    name: str
    value: Expr
    span: Span


@dataclass(slots=True)
class Target:
    """`done(p) for p in Step where needs(p, w)`: an expression, perhaps repeated over binders. `captured` only in premises."""

    expr: Expr
    binders: tuple[Binder, ...]
    where: Expr | None
    captured: bool
    span: Span


@dataclass(slots=True)
class Claim:
    """`status(w) is closed`, `status(w) in {ready, blocked}`, `signature(w)`. test: None, `is`, `in`."""

    assertion: Expr
    test: str | None
    value: Expr | None
    binders: tuple[Binder, ...]
    where: Expr | None
    span: Span


# ---- statements of an update ------------------------------------------------------------------------------------


@dataclass(slots=True)
class When:
    """kind: `when` or `requires`."""

    kind: str
    formula: Expr
    span: Span


@dataclass(slots=True)
class View:
    """`view global` (depth None, relation None), `view depth 2`, `view needs depth 1`."""

    relation: str | None
    depth: Expr | None
    everything: bool
    span: Span


@dataclass(slots=True)
class SetField:
    """`status(w) := closed`, `head.commit := 2`, `round := round + 1`."""

    target: Expr
    value: Expr
    span: Span


@dataclass(slots=True)
class Effect:
    """kind: `emit issue` (with values in braces) or `revoke supersede consume discard create relate unrelate withhold report`."""

    kind: str
    target: Expr
    values: tuple[Assign, ...]
    span: Span


@dataclass(slots=True)
class For:
    """`for w in Step where … { … }`: bounded repetition; all writes happen at once."""

    binders: tuple[Binder, ...]
    where: Expr | None
    body: tuple[Statement, ...]
    span: Span


@dataclass(slots=True)
class Outcome:
    """`outcome good { … }`: one of several ways the same update may end; each becomes an update `name.good`."""

    name: str
    body: tuple[Statement, ...]
    span: Span


@dataclass(slots=True)
class Variant:
    """`fault careless: withhold done(w)`: the update with these effects replaced; the audit must refuse it."""

    name: str
    body: tuple[Statement, ...]
    span: Span


Statement = When | View | SetField | Effect | For | Outcome | Variant
