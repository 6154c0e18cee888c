"""The scalar meaning: the value of a term in one state, as exact Python integers (bool for BOOL terms).

`evaluate` is the reference meaning: one handler an operator, a memo, no recursion. `compile_terms` writes the same
meaning as Python source for searches that evaluate the same terms in many states.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice

from icore_kernel.terms.node import Term, postorder
from icore_kernel.terms.table import Op, Sort, check_handlers

State = Sequence[int]
Handler = Callable[[Term, list[int], State], int]


def _div(term: Term, args: list[int], state: State) -> int:
    a, b = args
    return a // b if b else 0


def _mod(term: Term, args: list[int], state: State) -> int:
    a, b = args
    return a % b if b else 0


def _lookup(term: Term, args: list[int], state: State) -> int:
    entries = term.entries
    return entries[args[0]] if 0 <= args[0] < len(entries) else 0


def _field(term: Term, args: list[int], state: State) -> int:
    value = state[term.variable.index]
    return bool(value) if term.sort is Sort.BOOL else int(value)


HANDLERS: Mapping[Op, Handler] = {
    Op.CONST: lambda term, args, state: term.value,
    Op.FIELD: _field,
    Op.NOT: lambda term, args, state: not args[0],
    Op.AND: lambda term, args, state: all(args),
    Op.OR: lambda term, args, state: any(args),
    Op.IMPLIES: lambda term, args, state: bool(not args[0] or args[1]),
    Op.IFF: lambda term, args, state: args[0] == args[1],
    Op.EQ: lambda term, args, state: args[0] == args[1],
    Op.LT: lambda term, args, state: args[0] < args[1],
    Op.LE: lambda term, args, state: args[0] <= args[1],
    Op.MEMBER: lambda term, args, state: args[0] in term.members,
    Op.ADD: lambda term, args, state: sum(args),
    Op.SUB: lambda term, args, state: args[0] - args[1],
    Op.NEG: lambda term, args, state: -args[0],
    Op.MUL: lambda term, args, state: args[0] * args[1],
    Op.DIV: _div,
    Op.MOD: _mod,
    Op.MIN: lambda term, args, state: min(args),
    Op.MAX: lambda term, args, state: max(args),
    Op.ITE: lambda term, args, state: args[1] if args[0] else args[2],
    Op.ABS: lambda term, args, state: abs(args[0]),
    Op.LOOKUP: _lookup,
}
check_handlers("scalar", HANDLERS)


def evaluate(term: Term, state: State, handlers: Mapping[Op, Handler] = HANDLERS) -> int:
    """The value of `term` in `state` (codes by field index): a bool for a BOOL term, else an int."""
    return evaluate_all((term,), state, handlers)[0]


def evaluate_all(terms: Sequence[Term], state: State, handlers: Mapping[Op, Handler] = HANDLERS) -> tuple[int, ...]:
    """The values of several terms in one state; what they share is evaluated once."""
    return Together(terms, handlers).at(state)


class Together:
    """Several terms to be evaluated in one state after another: what they are made of is put in order once."""

    def __init__(self, terms: Sequence[Term], handlers: Mapping[Op, Handler] = HANDLERS) -> None:
        self._terms = tuple(terms)
        self._order = [(term, handlers[term.op]) for term in postorder(terms)]

    def at(self, state: State) -> tuple[int, ...]:
        """Their values, as `evaluate_all` gives them."""
        known: dict[Term, int] = {}
        for term, handler in self._order:
            known[term] = handler(term, [known[arg] for arg in term.args], state)
        return tuple(known[term] for term in self._terms)


# Compilation to Python source. A writer takes a term, the texts of its arguments (each a name or a parenthesised
# expression) and a number of the term's own: `k{number}` is bound to its payload and `d{number}` is free for its use.

Writer = Callable[[Term, list[str], str], str]
Compiled = Callable[[State], tuple[int, ...]]


def _write_guarded(operator: str) -> Writer:
    def write(term: Term, args: list[str], number: str) -> str:
        a, b = args
        divisor = term.args[1]
        if divisor.lo > 0 or divisor.hi < 0:
            return f"{a} {operator} {b}"
        return f"({a} {operator} d{number} if (d{number} := {b}) else 0)"

    return write


def _write_lookup(term: Term, args: list[str], number: str) -> str:
    size, index = len(term.entries), term.args[0]
    if index.lo >= 0 and index.hi < size:
        return f"k{number}[{args[0]}]"
    return f"(k{number}[d{number}] if 0 <= (d{number} := {args[0]}) < {size} else 0)"


def _write_field(term: Term, args: list[str], number: str) -> str:
    place = f"s[{term.variable.index}]"
    return f"({place} != 0)" if term.sort is Sort.BOOL else place


def _write_extreme(name: str) -> Writer:
    return lambda term, args, number: f"{name}({', '.join(args)})" if len(args) > 1 else args[0]


WRITERS: Mapping[Op, Writer] = {
    Op.CONST: lambda term, args, number: str(term.value) if term.sort is Sort.BOOL or term.value >= 0 else f"({term.value})",
    Op.FIELD: _write_field,
    Op.NOT: lambda term, args, number: f"not {args[0]}",
    Op.AND: lambda term, args, number: " and ".join(args) or "True",
    Op.OR: lambda term, args, number: " or ".join(args) or "False",
    Op.IMPLIES: lambda term, args, number: f"not {args[0]} or {args[1]}",
    Op.IFF: lambda term, args, number: f"{args[0]} == {args[1]}",
    Op.EQ: lambda term, args, number: f"{args[0]} == {args[1]}",
    Op.LT: lambda term, args, number: f"{args[0]} < {args[1]}",
    Op.LE: lambda term, args, number: f"{args[0]} <= {args[1]}",
    Op.MEMBER: lambda term, args, number: f"{args[0]} in k{number}",
    Op.ADD: lambda term, args, number: " + ".join(args) or "0",
    Op.SUB: lambda term, args, number: f"{args[0]} - {args[1]}",
    Op.NEG: lambda term, args, number: f"-{args[0]}",
    Op.MUL: lambda term, args, number: f"{args[0]} * {args[1]}",
    Op.DIV: _write_guarded("//"),
    Op.MOD: _write_guarded("%"),
    Op.MIN: _write_extreme("min"),
    Op.MAX: _write_extreme("max"),
    Op.ITE: lambda term, args, number: f"({args[1]} if {args[0]} else {args[2]})",
    Op.ABS: lambda term, args, number: f"abs({args[0]})",
    Op.LOOKUP: _write_lookup,
}
check_handlers("compiled scalar", WRITERS)

_INLINE = 8
"""Terms used once are written in place down to this nesting; deeper ones get a name of their own, so that no parser overflows."""
_WIDE = 100
"""A sum of more parts than this is written in several statements: the parser nests `a + b + c` to the left."""


def compile_terms(terms: Sequence[Term], writers: Mapping[Op, Writer] = WRITERS) -> Compiled:
    """A function from a state (plain Python integers by field index) to the values of `terms`, in order.

    Terms used more than once become local variables. Agrees with `evaluate` in every state.
    """
    order = postorder(terms)
    uses: dict[Term, int] = dict.fromkeys(order, 0)
    for term in order:
        for arg in term.args:
            uses[arg] += 1
    for term in terms:
        uses[term] += 2  # A result has a name: it is returned as well.
    texts: dict[Term, str] = {}
    depth: dict[Term, int] = {}
    namespace: dict[str, object] = {}
    lines: list[str] = []
    for term in order:
        number = str(len(texts))
        name = f"v{number}"
        if term.op in (Op.MEMBER, Op.LOOKUP):
            namespace[f"k{number}"] = term.payload
        args = [texts[arg] for arg in term.args]
        if term.op is Op.ADD and len(args) > _WIDE:
            rest = iter(args)
            lines.append(f"{name} = {' + '.join(islice(rest, _WIDE))}")
            while more := list(islice(rest, _WIDE)):
                lines.append(f"{name} += {' + '.join(more)}")
            texts[term], depth[term] = name, 0
            continue
        text = writers[term.op](term, args, number)
        level = 1 + max((depth[arg] for arg in term.args), default=-1)
        if term.op is Op.CONST:
            texts[term], depth[term] = text, 0
        elif uses[term] > 1 or level > _INLINE:
            lines.append(f"{name} = {text}")
            texts[term], depth[term] = name, 0
        else:
            texts[term], depth[term] = text if term.op is Op.FIELD else f"({text})", level
    results = "".join(f"{texts[term]}, " for term in terms)
    body = "\n    ".join([*lines, f"return ({results})"])
    exec(compile(f"def compiled(s):\n    {body}\n", "<compiled terms>", "exec"), namespace)
    compiled: Compiled = namespace["compiled"]  # type: ignore[assignment]
    return compiled
