"""The operator table: every operator of a term, once, with its sorts, its interval rule and its corner cases.

The three meanings key their handlers by `Op`; `check_handlers` makes a meaning that misses an operator, or invents one,
fail at import. Corner cases are decided here and nowhere else: every operator is total.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

from icore_kernel.terms import interval as bounds
from icore_kernel.terms.interval import Interval


class Sort(Enum):
    BOOL = "bool"
    INT = "int"

    # Members are singletons, so identity is their hash; Enum's own hash is a Python call for each interned term.
    __hash__ = object.__hash__


class Op(Enum):
    """The operators. Rationals are gone before terms: an exact rational is a pair of INT terms."""

    CONST = "const"
    FIELD = "field"
    NOT = "not"
    AND = "and"
    OR = "or"
    IMPLIES = "implies"
    IFF = "iff"
    EQ = "eq"
    LT = "lt"
    LE = "le"
    MEMBER = "member"
    ADD = "add"
    SUB = "sub"
    NEG = "neg"
    MUL = "mul"
    DIV = "div"
    MOD = "mod"
    MIN = "min"
    MAX = "max"
    ITE = "ite"
    ABS = "abs"
    LOOKUP = "lookup"

    __hash__ = object.__hash__


@dataclass(frozen=True, slots=True)
class Variable:
    """What a FIELD term reads: place `index` of the state, a code in `lo..hi`; `boolean` decides its sort."""

    name: str
    index: int
    lo: int
    hi: int
    boolean: bool


Payload = int | Variable | frozenset[int] | tuple[int, ...] | None
"""CONST: its value (bool or int); FIELD: its Variable; MEMBER: a frozenset; LOOKUP: a tuple; otherwise None."""


@dataclass(frozen=True, slots=True)
class Row:
    """One operator: `arguments` are its sorts (of each argument when variadic); `least` is the fewest it takes;
    `result` is None where the payload decides (CONST, FIELD); `defined` says what happens in the corners."""

    arguments: tuple[Sort, ...]
    variadic: bool
    least: int
    result: Sort | None
    interval: Callable[[Payload, Sequence[Interval]], Interval]
    defined: str = "everywhere"


class TableError(Exception):
    """The handlers of a meaning are not exactly the operators of the table."""


def _leaf(payload: Payload, args: Sequence[Interval]) -> Interval:
    match payload:
        case Variable(lo=lo, hi=hi):
            return (lo, hi)
        case int():
            return (int(payload), int(payload))
        case _:
            raise TableError(f"a leaf holds a constant or a variable, not {payload!r}")


def _member(payload: Payload, args: Sequence[Interval]) -> Interval:
    if not isinstance(payload, frozenset):
        raise TableError(f"member takes a frozenset of integers, not {payload!r}")
    return bounds.membership(payload, args)


def _lookup(payload: Payload, args: Sequence[Interval]) -> Interval:
    if not isinstance(payload, tuple):
        raise TableError(f"lookup takes a tuple of integers, not {payload!r}")
    return bounds.entry(payload, args)


def _row(
    arguments: tuple[Sort, ...], result: Sort, rule: Callable[[Sequence[Interval]], Interval], defined: str = "everywhere"
) -> Row:
    return Row(arguments, False, len(arguments), result, lambda _, args: rule(args), defined)


def _many(sort: Sort, least: int, rule: Callable[[Sequence[Interval]], Interval], defined: str) -> Row:
    return Row((sort,), True, least, sort, lambda _, args: rule(args), defined)


_B, _I = Sort.BOOL, Sort.INT

TABLE: Mapping[Op, Row] = MappingProxyType(
    {
        Op.CONST: Row((), False, 0, None, _leaf),
        Op.FIELD: Row((), False, 0, None, _leaf, "a code of the field's domain; a BOOL field is 0 or 1"),
        Op.NOT: _row((_B,), _B, bounds.negation),
        Op.AND: _many(_B, 0, bounds.conjunction, "everywhere; true of no arguments"),
        Op.OR: _many(_B, 0, bounds.disjunction, "everywhere; false of no arguments"),
        Op.IMPLIES: _row((_B, _B), _B, bounds.implication),
        Op.IFF: _row((_B, _B), _B, bounds.equality),
        Op.EQ: _row((_I, _I), _B, bounds.equality),
        Op.LT: _row((_I, _I), _B, bounds.less),
        Op.LE: _row((_I, _I), _B, bounds.less_equal),
        Op.MEMBER: Row((_I,), False, 1, _B, _member, "everywhere; nothing is in the empty set"),
        Op.ADD: _many(_I, 0, bounds.total, "exact integers; 0 of no arguments"),
        Op.SUB: _row((_I, _I), _I, bounds.difference, "exact integers"),
        Op.NEG: _row((_I,), _I, bounds.opposite, "exact integers"),
        Op.MUL: _row((_I, _I), _I, bounds.product, "exact integers"),
        Op.DIV: _row((_I, _I), _I, bounds.quotient, "rounds down (7 div -2 == -4); x div 0 == 0"),
        Op.MOD: _row((_I, _I), _I, bounds.remainder, "has the sign of the divisor (-7 mod 3 == 2, 7 mod -2 == -1); x mod 0 == 0"),
        Op.MIN: _many(_I, 1, bounds.least, "of at least one argument"),
        Op.MAX: _many(_I, 1, bounds.greatest, "of at least one argument"),
        Op.ITE: _row((_B, _I, _I), _I, bounds.choice),
        Op.ABS: _row((_I,), _I, bounds.magnitude, "exact integers"),
        Op.LOOKUP: Row((_I,), False, 1, _I, _lookup, "counts from 0; 0 outside the table, negative indices included"),
    }
)


def check_handlers(meaning: str, handlers: Mapping[Op, object]) -> None:
    """Raise TableError unless `handlers` has a handler for every operator and for nothing else."""
    missing = [op.name for op in TABLE if op not in handlers]
    unknown = [str(op) for op in handlers if op not in TABLE]
    if missing or unknown:
        raise TableError(f"the {meaning} meaning lacks {missing} and has unknown {unknown}")


if set(TABLE) != set(Op):
    raise TableError(f"operators without a row: {[op.name for op in Op if op not in TABLE]}")
