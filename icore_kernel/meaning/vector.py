"""The vector meaning: the values of terms in a block of states at once, as NumPy arrays.

A block is given by columns: for each field index a one-dimensional array of codes, one for each state. BOOL terms become
bool arrays. INT terms become int64 arrays, or object arrays of exact Python integers where the inferred interval does not
fit 64 bits: nothing overflows. Common subterms are computed once, and every intermediate is freed after its last use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from icore_kernel.terms.node import Term, postorder
from icore_kernel.terms.table import Op, Sort, check_handlers

Column = NDArray[Any]
Columns = Mapping[int, Column] | Callable[[int], Column]
Handler = Callable[[Term, list[Any], Callable[[int], Column]], Any]
"""A handler takes a term, the arrays of its arguments (constants may be plain integers) and the columns."""

_LO, _HI = -(2**63), 2**63 - 1
_TABLE = 2**16
"""Membership in a span of up to this many values is one look-up in a table of bools."""


def _fits(lo: int, hi: int) -> bool:
    return lo >= _LO and hi <= _HI


def _wide(term: Term) -> bool:
    """Whether the operator needs exact Python integers: a value, an argument or a partial sum may leave 64 bits."""
    if not all(_fits(arg.lo, arg.hi) for arg in term.args):
        return True
    if term.op is Op.ADD and sum(max(abs(arg.lo), abs(arg.hi)) for arg in term.args) > _HI:
        return True
    return not _fits(term.lo, term.hi)


def _field(term: Term, args: list[Any], columns: Callable[[int], Column]) -> Any:
    column = columns(term.variable.index)
    if term.sort is Sort.BOOL:
        return column.astype(bool, copy=False)
    if column.dtype.kind not in "biuO":
        raise ValueError(f"the column of {term.variable.name} holds {column.dtype}, not integers")
    if column.dtype.kind in "iu" and column.dtype != np.uint64:
        return column
    return column.astype(np.int64 if _fits(term.lo, term.hi) else object)


def _fold(ufunc: Callable[[Any, Any], Any], empty: Any) -> Handler:
    def handler(term: Term, args: list[Any], columns: Callable[[int], Column]) -> Any:
        if not args:
            return empty
        result = args[0]
        for arg in args[1:]:
            result = ufunc(result, arg)
        return result

    return handler


def _divided(ufunc: Callable[[Any, Any], Any]) -> Handler:
    def handler(term: Term, args: list[Any], columns: Callable[[int], Column]) -> Any:
        a, b = args
        divisor = term.args[1]
        if divisor.lo > 0 or divisor.hi < 0:
            return ufunc(a, b)
        zero = np.equal(b, 0).astype(bool)
        return np.where(zero, 0, ufunc(a, np.where(zero, 1, b)))

    return handler


def _member(term: Term, args: list[Any], columns: Callable[[int], Column]) -> Any:
    (a,) = args
    inner = term.args[0]
    values = sorted(value for value in term.members if inner.lo <= value <= inner.hi)
    if len(values) <= 4 or not _fits(inner.lo, inner.hi):
        found: Any = np.zeros(np.shape(a), dtype=bool)
        for value in values:
            found = found | np.equal(a, value).astype(bool)
        return found
    if inner.hi - inner.lo < _TABLE:
        table = np.zeros(inner.hi - inner.lo + 1, dtype=bool)
        table[[value - inner.lo for value in values]] = True
        return table[a if inner.lo == 0 else _integers(a) - inner.lo]
    return np.isin(a, np.array(values, dtype=np.int64))


def _lookup(term: Term, args: list[Any], columns: Callable[[int], Column]) -> Any:
    (a,) = args
    entries = term.entries
    if not entries:
        return np.zeros(np.shape(a), dtype=np.int64)
    exact = not _fits(min(entries), max(entries))
    table = np.array(entries, dtype=object if exact else np.int64)
    index = term.args[0]
    if index.lo >= 0 and index.hi < len(entries):
        return table[np.asarray(a, dtype=np.int64)]
    inside = (np.greater_equal(a, 0) & np.less(a, len(entries))).astype(bool)
    return np.where(inside, table[np.where(inside, a, 0).astype(np.int64)], 0)


HANDLERS: Mapping[Op, Handler] = {
    Op.CONST: lambda term, args, columns: np.bool_(term.value) if term.sort is Sort.BOOL else term.value,
    Op.FIELD: _field,
    Op.NOT: lambda term, args, columns: np.logical_not(args[0]),
    Op.AND: _fold(np.logical_and, np.bool_(True)),
    Op.OR: _fold(np.logical_or, np.bool_(False)),
    Op.IMPLIES: lambda term, args, columns: np.logical_or(np.logical_not(args[0]), args[1]),
    Op.IFF: lambda term, args, columns: np.equal(args[0], args[1]),
    Op.EQ: lambda term, args, columns: np.equal(args[0], args[1]),
    Op.LT: lambda term, args, columns: np.less(args[0], args[1]),
    Op.LE: lambda term, args, columns: np.less_equal(args[0], args[1]),
    Op.MEMBER: _member,
    Op.ADD: _fold(np.add, 0),
    Op.SUB: lambda term, args, columns: np.subtract(args[0], args[1]),
    Op.NEG: lambda term, args, columns: np.negative(args[0]),
    Op.MUL: lambda term, args, columns: np.multiply(args[0], args[1]),
    Op.DIV: _divided(np.floor_divide),
    Op.MOD: _divided(np.remainder),
    Op.MIN: _fold(np.minimum, 0),
    Op.MAX: _fold(np.maximum, 0),
    Op.ITE: lambda term, args, columns: np.where(args[0], args[1], args[2]),
    Op.ABS: lambda term, args, columns: np.absolute(args[0]),
    Op.LOOKUP: _lookup,
}
check_handlers("vector", HANDLERS)

_ANY_INTEGERS = (Op.EQ, Op.LT, Op.LE, Op.MEMBER, Op.LOOKUP)
"""Operators that cannot overflow and so take a column as it is stored (uint8, say); the others compute in int64."""


def _integers(value: Any) -> Any:
    return value if isinstance(value, int) else np.asarray(value).astype(np.int64, copy=False)


def _objects(value: Any) -> Any:
    return np.array(value, dtype=object) if isinstance(value, int) else np.asarray(value).astype(object, copy=False)


def _settled(term: Term, value: Any) -> Any:
    """The array of a result in the type of its sort and interval; constants and stored columns stay as they are."""
    if term.op is Op.CONST or term.op is Op.FIELD:
        return value
    if term.sort is Sort.BOOL:
        return np.asarray(value).astype(bool, copy=False)
    return np.asarray(value).astype(np.int64 if _fits(term.lo, term.hi) else object, copy=False)


def evaluate_block(
    terms: Sequence[Term], columns: Columns, length: int | None = None, handlers: Mapping[Op, Handler] = HANDLERS
) -> list[Column]:
    """The values of `terms` in every state of a block: one array a term, of the block's length.

    `columns` gives the array of a field index, as a mapping or a function. The length is that of the columns; `length` says
    it where only constants are evaluated and no mapping is given (ValueError without; also for a column of floats). A result
    may be a column itself: do not write into it.
    """
    read = columns if callable(columns) else columns.__getitem__
    if length is None and not callable(columns):
        length = next((len(column) for column in columns.values()), None)
    order = postorder(terms)
    remaining: dict[Term, int] = dict.fromkeys(order, 0)
    for term in order:
        for arg in term.args:
            remaining[arg] += 1
    for term in terms:
        remaining[term] += 1
    known: dict[Term, Any] = {}
    for term in order:
        args = [known[arg] for arg in term.args]
        if term.args and term.args[-1].sort is Sort.INT:
            if _wide(term):
                args = [_objects(arg) if inner.sort is Sort.INT else arg for inner, arg in zip(term.args, args, strict=True)]
            elif term.op not in _ANY_INTEGERS:
                args = [_integers(arg) if inner.sort is Sort.INT else arg for inner, arg in zip(term.args, args, strict=True)]
        known[term] = _settled(term, handlers[term.op](term, args, read))
        if term.op is Op.FIELD and length is None:
            length = len(known[term])
        del args
        for arg in term.args:
            remaining[arg] -= 1
            if not remaining[arg]:
                del known[arg]
    if length is None and any(np.ndim(known[term]) == 0 for term in terms):
        raise ValueError("the block has no column to take its length from: pass length")
    return [_filled(term, known[term], length) for term in terms]


def _filled(term: Term, value: Any, length: int | None) -> Column:
    if term.sort is Sort.BOOL:
        dtype: Any = bool
    else:
        dtype = np.int64 if _fits(term.lo, term.hi) else object
    if np.ndim(value) == 0:
        column = np.empty(length or 0, dtype=dtype)
        column[...] = value
        return column
    return np.asarray(value).astype(dtype, copy=False)
