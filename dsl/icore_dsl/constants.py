"""Values that are known before anything is grounded: numbers, names, sets, and what is computed from them.

Package parameters count with their defaults. `None` means: not known here, so nothing is said about it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

from icore_dsl.syntax import (
    Attr,
    Binary,
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

Value = Fraction | bool | str | frozenset[object]
"""A number, a truth value, a name (`build`, `hotfix[2]`), or a set of these."""

Field = Callable[[str, str], Value | None]
"""The fixed value of a field of a named agent or obligation."""


def no_field(owner: str, name: str) -> Value | None:
    return None


def evaluate(expr: Expr, env: Mapping[str, Value], field: Field = no_field) -> Value | None:
    """The value of an expression over constants, or None. `env` gives the values of names; the others stand for themselves."""
    match expr:
        case Num(value=value):
            return value
        case BoolLit(value=truth):
            return truth
        case Name(id=name):
            return env.get(name)
        case Index(name=name, index=index):
            at = evaluate(index, env, field)
            return None if at is None or isinstance(at, frozenset) else member(name, at)
        case Attr(target=target, name=name):
            owner = evaluate(target, env, field)
            return field(owner, name) if isinstance(owner, str) else None
        case Unary(op=op, operand=operand):
            inner = evaluate(operand, env, field)
            if op == "not":
                return not inner if isinstance(inner, bool) else None
            return -inner if isinstance(inner, Fraction) else None
        case Binary(op="in" | "not_in" as op, left=left, right=RangeLit(low=low, high=high)):
            values = [evaluate(part, env, field) for part in (left, low, high)]
            if not all(isinstance(value, Fraction) for value in values):
                return None
            inside = values[1] <= values[0] <= values[2]  # type: ignore[operator]
            return inside if op == "in" else not inside
        case Binary(op=op, left=left, right=right):
            return _binary(op, evaluate(left, env, field), evaluate(right, env, field))
        case SetLit(items=items):
            found = [evaluate(item, env, field) for item in items]
            return None if any(item is None for item in found) else frozenset(found)
        case If(condition=condition, then=then, otherwise=otherwise):
            chosen = evaluate(condition, env, field)
            return evaluate(then if chosen else otherwise, env, field) if isinstance(chosen, bool) else None
        case NoneLit() | Call() | RangeLit() | SetOf() | Quant() | Closure():
            return None


def member(family: str, index: Value) -> str:
    """The name of one member of a family: `hotfix[2]`."""
    return f"{family}[{index}]"


def whole(value: Value | None) -> int | None:
    """The value as a whole number, or None."""
    return int(value) if isinstance(value, Fraction) and value.denominator == 1 else None


def shown_value(value: Value) -> str:
    """As it would be written: `0.05`, `1/3`, `build`."""
    if not isinstance(value, Fraction):
        return str(value).lower() if isinstance(value, bool) else str(value)
    if value.denominator == 1:
        return str(value.numerator)
    rest = value.denominator
    digits = 0
    while rest % 2 == 0 or rest % 5 == 0:
        rest //= 2 if rest % 2 == 0 else 5
        digits += 1
    if rest != 1:
        return str(value)
    return f"{'-' if value < 0 else ''}{_decimal(abs(value), digits)}"


def _decimal(value: Fraction, digits: int) -> str:
    scaled = value * 10**digits
    text = str(scaled.numerator).rjust(digits + 1, "0")
    return f"{text[:-digits]}.{text[-digits:]}".rstrip("0")


def _binary(op: str, left: Value | None, right: Value | None) -> Value | None:
    if isinstance(left, bool) and isinstance(right, bool):
        match op:
            case "and":
                return left and right
            case "or":
                return left or right
            case "implies":
                return not left or right
            case "iff" | "==":
                return left == right
            case "!=":
                return left != right
            case _:
                return None
    if op == "and" and (left is False or right is False):
        return False
    if op == "or" and (left is True or right is True):
        return True
    if left is None or right is None:
        return None
    if op == "==":
        return left == right
    if op == "!=":
        return left != right
    if op in ("in", "not_in"):
        return (left in right) == (op == "in") if isinstance(right, frozenset) else None
    if not isinstance(left, Fraction) or not isinstance(right, Fraction):
        return None
    return _number(op, left, right)


def _number(op: str, left: Fraction, right: Fraction) -> Value | None:
    match op:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "/":
            return left / right if right else None
        case "div":
            return Fraction(left // right) if right else None
        case "mod":
            return left - right * (left // right) if right else None
        case "<":
            return left < right
        case "<=":
            return left <= right
        case ">":
            return left > right
        case ">=":
            return left >= right
        case _:
            return None
