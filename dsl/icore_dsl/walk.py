"""Walks over expressions: their parts, the names in them, and a key that forgets where they are written."""

from __future__ import annotations

from collections.abc import Iterator

from icore_dsl.syntax import (
    Attr,
    Binary,
    Binder,
    BoolLit,
    Call,
    Closure,
    Expr,
    If,
    Index,
    Name,
    NoneLit,
    Num,
    Quant,
    RangeLit,
    SetLit,
    SetOf,
    Unary,
)


def parts(expr: Expr) -> tuple[Expr, ...]:
    """The direct sub-expressions, domains of bound names included, in the order they are written or nearly so."""
    match expr:
        case Num() | BoolLit() | NoneLit() | Name():
            return ()
        case Index(index=index):
            return (index,)
        case Attr(target=target):
            return (target,)
        case Call(args=args):
            return args
        case Unary(operand=operand):
            return (operand,)
        case Binary(left=left, right=right) | Closure(left=left, right=right):
            return (left, right)
        case SetLit(items=items):
            return items
        case RangeLit(low=low, high=high):
            return (low, high)
        case SetOf(item=item, binders=binders, where=where):
            return (item, *domains(binders), *present(where))
        case If(condition=condition, then=then, otherwise=otherwise):
            return (condition, then, otherwise)
        case Quant(binders=binders, where=where, body=body):
            return (*domains(binders), *present(where), *present(body))


def domains(binders: tuple[Binder, ...]) -> tuple[Expr, ...]:
    return tuple(binder.domain for binder in binders)


def present(expr: Expr | None) -> tuple[Expr, ...]:
    return () if expr is None else (expr,)


def walk(expr: Expr) -> Iterator[Expr]:
    """The expression and everything inside it."""
    yield expr
    for part in parts(expr):
        yield from walk(part)


def names_in(expr: Expr) -> set[str]:
    """Every name that the expression says: of values, of what it calls, of families and relations."""
    found: set[str] = set()
    for part in walk(expr):
        match part:
            case Name(id=name) | Call(name=name) | Index(name=name) | Closure(relation=name):
                found.add(name)
            case _:
                pass
    return found


def conjuncts(expr: Expr | None) -> tuple[Expr, ...]:
    """The parts of a conjunction; the expression itself where it is none."""
    match expr:
        case None:
            return ()
        case Binary(op="and", left=left, right=right):
            return conjuncts(left) + conjuncts(right)
        case _:
            return (expr,)


Key = tuple[object, ...]


def key(expr: Expr) -> Key:
    """Equal for expressions that are written alike (names included), wherever they stand."""
    own: object = None
    match expr:
        case Num(value=value) | BoolLit(value=value):
            return (type(expr).__name__, value)
        case NoneLit():
            return ("NoneLit",)
        case Name(id=name):
            return ("Name", name)
        case Index(name=name) | Attr(name=name) | Call(name=name):
            own = name
        case Unary(op=op) | Binary(op=op):
            own = op
        case Closure(relation=relation, reflexive=reflexive):
            own = (relation, reflexive)
        case SetOf(binders=binders, where=where):
            own = (tuple(binder.name for binder in binders), where is None)
        case Quant(kind=kind, binders=binders, where=where, body=body):
            own = (kind, tuple(binder.name for binder in binders), where is None, body is None)
        case SetLit() | RangeLit() | If():
            pass
    return (type(expr).__name__, own, *(key(part) for part in parts(expr)))
