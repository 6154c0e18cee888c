"""The conditions that a certificate holds under, as a record states them: in words, with what they read and the values that it had.

They are the formulas of the first entry, which the checker evaluates after every commit, as grounded: what is the same in every
state is not in them. A reader's form of them, and no second judgement.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from icore_kernel.record.checker import Run

LONGEST = 60
"""Operators and operands of a condition that is still written out."""
_INFIX = {
    "and": (2, "and"), "or": (1, "or"), "implies": (0, "implies"), "iff": (0, "iff"), "eq": (4, "=="), "lt": (4, "<"), "le": (4, "<="),
    "member": (4, "in"), "add": (5, "+"), "sub": (5, "-"), "mul": (6, "*"), "div": (6, "/"), "mod": (6, "mod"),
}  # fmt: skip
_SAME_ANYWHERE = {"and", "or", "add", "mul"}
"""Operators whose operands need no parentheses among their own."""


@dataclass(frozen=True, slots=True)
class Condition:
    """`word`: `valid when` (scope, `valid when` and `current when` are one formula in a record), or `premise`; `text` is empty where it is
    too long to be written out; `reads`: every field in it, with the value that it had; `entry`: where a captured premise was asked."""

    word: str
    text: str
    reads: tuple[tuple[str, Any], ...]
    entry: int | None = None


def conditions_of(run: Run, certificate: Mapping[str, Any]) -> list[Condition]:
    """What must hold now for the certificate to be valid, beside its premises that are evidence."""
    found = [Condition("valid when", *_said(run, certificate["rule"]))] if _changes(run, certificate["rule"]) else []
    found += [Condition("premise", *_said(run, part)) for part in _parts(run, certificate["conditions"]) if _changes(run, part)]
    return found


def captured_of(run: Run, certificate: Mapping[str, Any], entry: int) -> list[Condition]:
    """The premise formulas that were asked once, of the state after the entry that issued it."""
    return [Condition("premise", *_said(run, part), entry) for part in certificate["captured"] if _changes(run, part)]


def _nodes(run: Run) -> Sequence[Sequence[Any]]:
    nodes: Sequence[Sequence[Any]] = run.declared["formulas"]
    return nodes


def _changes(run: Run, number: int) -> bool:
    """Whether it reads anything, and more than whether captured premises held when they were asked."""
    return any(run.fields[name]["kind"] != "captured" for name, _ in _reads(run, number))


def _parts(run: Run, number: int) -> Iterator[int]:
    op, args, *_ = _nodes(run)[number]
    if op != "and":
        yield number
        return
    for arg in args:
        yield from _parts(run, arg)


def _said(run: Run, number: int) -> tuple[str, tuple[tuple[str, Any], ...]]:
    text = _written(run, number)[0] if _size(run, number) <= LONGEST else ""
    return text, _reads(run, number)


def _size(run: Run, number: int) -> int:
    """How many operators and operands it has written out, as far as LONGEST + 1: what is shared counts each time."""
    left, count = [number], 0
    while left and count <= LONGEST:
        op, args, *_ = _nodes(run)[left.pop()]
        count += 1
        if op not in {"const", "field"}:
            left.extend(args)
    return count


def _reads(run: Run, number: int) -> tuple[tuple[str, Any], ...]:
    """The fields in it from left to right, each once."""
    fields = list(run.fields)
    seen: set[int] = set()
    found: dict[str, Any] = {}
    left = [number]
    while left:
        here = left.pop()
        if here in seen:
            continue
        seen.add(here)
        op, args, *_ = _nodes(run)[here]
        if op == "field":
            found[fields[args]] = run.state[fields[args]]
        elif op != "const":
            left.extend(reversed(args))
    return tuple(found.items())


def _domain(run: Run, number: int) -> Sequence[Any] | None:
    """The names that a value of this formula stands for; None where it is a number of its own."""
    op, args, *_ = _nodes(run)[number]
    if op == "field":
        values = list(run.fields.values())[args]["values"]
        return None if type(values[0]) is int else values
    return next((d for arg in args[1:] if (d := _domain(run, arg))), None) if op == "ite" else None


def _written(run: Run, number: int, domain: Sequence[Any] | None = (False, True)) -> tuple[str, int]:
    """The text of a formula, and how tightly its operator binds. `domain`: what a constant in this place stands for."""
    op, args, *payload = _nodes(run)[number]
    match op:
        case "const":
            return _named(int(args), domain), 9
        case "field":
            return list(run.fields)[args], 9
        case "not" if _nodes(run)[args[0]][0] == "eq":
            text = _joined(run, "eq", "!=", _nodes(run)[args[0]][1], domain)
            return text, _INFIX["eq"][0]
        case "not" | "neg":
            inner = _within(run, args[0], 3 if op == "not" else 7, domain)
            return (f"not {inner}", 3) if op == "not" else (f"-{inner}", 7)
        case "ite":
            parts = [_within(run, arg, 1, (False, True) if place == 0 else domain) for place, arg in enumerate(args)]
            return f"if {parts[0]} then {parts[1]} else {parts[2]}", -1
        case "lookup":
            return f"({', '.join(map(str, payload[0]))})[{_written(run, args[0], None)[0]}]", 9
        case _ if op not in _INFIX:
            return f"{op}({', '.join(_written(run, arg, None)[0] for arg in args)})", 9
    binds, sign = _INFIX[op]
    if op == "member":
        among = ", ".join(_named(code, _domain(run, args[0])) for code in payload[0])
        return f"{_within(run, args[0], binds + 1, None)} in {{{among}}}", binds
    return _joined(run, op, sign, args, domain), binds


def _joined(run: Run, op: str, sign: str, args: Sequence[int], domain: Sequence[Any] | None) -> str:
    """Operands with an operator between them; the constants of a comparison are of the domain of what they are compared with."""
    inside = domain if op in {"and", "or", "implies", "iff"} else next((d for arg in args if (d := _domain(run, arg))), None)
    least = _INFIX[op][0] + (op not in _SAME_ANYWHERE)
    return f" {sign} ".join(_within(run, arg, least, inside) for arg in args)


def _within(run: Run, number: int, least: int, domain: Sequence[Any] | None) -> str:
    text, binds = _written(run, number, domain)
    return text if binds >= least else f"({text})"


def _named(code: int, domain: Sequence[Any] | None) -> str:
    if domain is None or not 0 <= code < len(domain):
        return str(code)
    return shown(domain[code])


def shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
