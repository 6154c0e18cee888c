"""The SMT meaning: a term as a Z3 expression, exact, over Booleans and signed bit-vectors.

BOOL variables are Z3 Booleans. Every INT term is a signed bit-vector just wide enough for its inferred interval, so no
operation wraps. Nothing here evaluates a model: whoever asks replays the state in the scalar meaning before reporting it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import z3

from icore_kernel.terms.node import SortError, Term, postorder
from icore_kernel.terms.table import Op, Sort, Variable, check_handlers

Expression = Any
"""A Z3 expression: BoolRef for a BOOL term, BitVecRef for an INT term."""


def width_of(lo: int, hi: int) -> int:
    """Bits of the narrowest signed bit-vector that holds every integer of `lo..hi` (at least 1)."""
    return max((hi if hi >= 0 else ~hi).bit_length(), (lo if lo >= 0 else ~lo).bit_length()) + 1


def _width(term: Term) -> int:
    return width_of(term.lo, term.hi)


def _sized(expression: Expression, width: int) -> Expression:
    """The same integer in `width` bits; dropping high bits is exact when the result fits, and modulo 2^width otherwise."""
    own = expression.size()
    if own < width:
        return z3.SignExt(width - own, expression)
    return z3.Extract(width - 1, 0, expression) if own > width else expression


def _aligned(args: Sequence[Expression], extra: int = 0) -> list[Expression]:
    width = max(arg.size() for arg in args) + extra
    return [_sized(arg, width) for arg in args]


Handler = Callable[[Term, list[Expression], "Encoder", str], Expression]
"""A handler takes a term, the encodings of its arguments, the encoder and the suffix of the variables."""


def _constant(term: Term, args: list[Expression], encoder: Encoder, suffix: str) -> Expression:
    if term.sort is Sort.BOOL:
        return z3.BoolVal(bool(term.value), ctx=encoder.context)
    return encoder.number(term.value, _width(term))


def _compared(relation: Callable[[Expression, Expression], Expression]) -> Handler:
    return lambda term, args, encoder, suffix: relation(*_aligned(args))


def _modular(operation: Callable[[Expression, Expression], Expression]) -> Handler:
    """Sums, differences, products: exact modulo 2^width, and the width holds the result."""

    def handler(term: Term, args: list[Expression], encoder: Encoder, suffix: str) -> Expression:
        width = _width(term)
        result = _sized(args[0], width) if args else encoder.number(0, width)
        for arg in args[1:]:
            result = operation(result, _sized(arg, width))
        return result

    return handler


def _negative(term: Term, args: list[Expression], encoder: Encoder, suffix: str) -> Expression:
    return -_sized(args[0], _width(term))


def _guarded(encoder: Encoder, term: Term, divisor: Expression, result: Expression) -> Expression:
    """`result`, or 0 where the divisor is 0, in the width of `term`."""
    inner = term.args[1]
    if inner.lo <= 0 <= inner.hi:
        result = z3.If(divisor == 0, encoder.number(0, result.size()), result)
    return _sized(result, _width(term))


def _divided(term: Term, args: list[Expression], encoder: Encoder, suffix: str) -> Expression:
    # One bit more, for the lowest integer divided by -1; Z3 rounds towards zero, the table rounds down.
    a, b = _aligned(args, extra=1)
    truncated = a / b
    inexact = z3.SRem(a, b) != 0
    down = z3.And(inexact, (a < 0) != (b < 0))
    return _guarded(encoder, term, b, z3.If(down, truncated - 1, truncated))


def _remainder(term: Term, args: list[Expression], encoder: Encoder, suffix: str) -> Expression:
    a, b = _aligned(args)
    return _guarded(encoder, term, b, a % b)  # bvsmod: the sign of the divisor, as the table says


def _extreme(better: Callable[[Expression, Expression], Expression]) -> Handler:
    def handler(term: Term, args: list[Expression], encoder: Encoder, suffix: str) -> Expression:
        first, *rest = _aligned(args)
        for arg in rest:
            first = z3.If(better(arg, first), arg, first)
        return _sized(first, _width(term))

    return handler


def _choice(term: Term, args: list[Expression], encoder: Encoder, suffix: str) -> Expression:
    width = _width(term)
    return z3.If(args[0], _sized(args[1], width), _sized(args[2], width))


def _magnitude(term: Term, args: list[Expression], encoder: Encoder, suffix: str) -> Expression:
    (a,) = _aligned(args, extra=1)
    return _sized(z3.If(a < 0, -a, a), _width(term))


def _among(encoder: Encoder, inner: Term, expression: Expression, values: Iterable[int]) -> Expression:
    """Whether the integer is one of `values`: one comparison, or two, for each run of neighbours."""
    size = expression.size()
    runs: list[list[int]] = []
    for value in sorted(values):
        if inner.lo <= value <= inner.hi:
            if runs and runs[-1][1] == value - 1:
                runs[-1][1] = value
            else:
                runs.append([value, value])
    parts = []
    for lo, hi in runs:
        if lo == hi:
            parts.append(expression == encoder.number(lo, size))
        else:
            parts.append(z3.And(encoder.number(lo, size) <= expression, expression <= encoder.number(hi, size)))
    return encoder.disjunction(parts)


def _member(term: Term, args: list[Expression], encoder: Encoder, suffix: str) -> Expression:
    return _among(encoder, term.args[0], args[0], term.members)


def _lookup(term: Term, args: list[Expression], encoder: Encoder, suffix: str) -> Expression:
    inner = term.args[0]
    places: dict[int, list[int]] = {}
    for place in range(max(inner.lo, 0), min(inner.hi + 1, len(term.entries))):
        places.setdefault(term.entries[place], []).append(place)
    outside = inner.lo < 0 or inner.hi >= len(term.entries)
    values = sorted(places, key=lambda value: len(places[value]))
    default = 0 if outside else values.pop()
    width = _width(term)
    result = encoder.number(default, width)
    for value in values:
        if value != default:
            result = z3.If(_among(encoder, inner, args[0], places[value]), encoder.number(value, width), result)
    return result


HANDLERS: Mapping[Op, Handler] = {
    Op.CONST: _constant,
    Op.FIELD: lambda term, args, encoder, suffix: encoder.variable(term.variable, suffix),
    Op.NOT: lambda term, args, encoder, suffix: z3.Not(args[0]),
    Op.AND: lambda term, args, encoder, suffix: encoder.conjunction(args),
    Op.OR: lambda term, args, encoder, suffix: encoder.disjunction(args),
    Op.IMPLIES: lambda term, args, encoder, suffix: z3.Implies(args[0], args[1]),
    Op.IFF: lambda term, args, encoder, suffix: args[0] == args[1],
    Op.EQ: _compared(lambda a, b: a == b),
    Op.LT: _compared(lambda a, b: a < b),
    Op.LE: _compared(lambda a, b: a <= b),
    Op.MEMBER: _member,
    Op.ADD: _modular(lambda a, b: a + b),
    Op.SUB: _modular(lambda a, b: a - b),
    Op.NEG: _negative,
    Op.MUL: _modular(lambda a, b: a * b),
    Op.DIV: _divided,
    Op.MOD: _remainder,
    Op.MIN: _extreme(lambda a, b: a < b),
    Op.MAX: _extreme(lambda a, b: a > b),
    Op.ITE: _choice,
    Op.ABS: _magnitude,
    Op.LOOKUP: _lookup,
}
check_handlers("smt", HANDLERS)


class Encoder:
    """Encodes terms in one Z3 context (the default one when None), each once for each suffix of its variables."""

    def __init__(self, context: Any = None, handlers: Mapping[Op, Handler] = HANDLERS) -> None:
        self.context = context
        self.variables: dict[int, Variable] = {}
        """Every variable met so far, by index."""
        self._handlers = handlers
        self._encoded: dict[str, dict[Term, Expression]] = {}
        self._symbols: dict[str, tuple[Variable, str, Expression]] = {}

    def encode(self, term: Term, suffix: str = "") -> Expression:
        """The Z3 expression of `term`; `suffix` names another copy of the variables (`'` for the state after, say)."""
        known = self._encoded.setdefault(suffix, {})
        for part in postorder((term,), known):
            known[part] = self._handlers[part.op](part, [known[arg] for arg in part.args], self, suffix)
        return known[term]

    def variable(self, variable: Variable, suffix: str = "") -> Expression:
        """The symbol of a variable. Two variables of one name raise SortError: their symbols would be the same."""
        name = variable.name + suffix
        found = self._symbols.get(name)
        if found is None:
            self.variables[variable.index] = variable
            if variable.boolean:
                symbol = z3.Bool(name, ctx=self.context)
            else:
                symbol = z3.BitVec(name, width_of(variable.lo, variable.hi), ctx=self.context)
            self._symbols[name] = found = (variable, suffix, symbol)
        if found[:2] != (variable, suffix):
            raise SortError(f"the name {name!r} stands for two variables: {found[0]!r} and {variable!r}")
        return found[2]

    def number(self, value: int, width: int) -> Expression:
        """The integer in `width` bits."""
        return z3.BitVecVal(value, width, ctx=self.context)

    def conjunction(self, parts: Sequence[Expression]) -> Expression:
        if len(parts) == 1:
            return parts[0]
        return z3.And(*parts) if parts else z3.BoolVal(True, ctx=self.context)

    def disjunction(self, parts: Sequence[Expression]) -> Expression:
        if len(parts) == 1:
            return parts[0]
        return z3.Or(*parts) if parts else z3.BoolVal(False, ctx=self.context)

    def domains(self, variables: Iterable[Variable], suffix: str = "") -> list[Expression]:
        """Constraints that keep each variable in its domain, where its symbol could leave it."""
        constraints = []
        for variable in variables:
            symbol = self.variable(variable, suffix)
            if variable.boolean:
                if variable.lo == variable.hi:
                    constraints.append(symbol == bool(variable.lo))
                continue
            width = width_of(variable.lo, variable.hi)
            if variable.lo > -(2 ** (width - 1)):
                constraints.append(symbol >= variable.lo)
            if variable.hi < 2 ** (width - 1) - 1:
                constraints.append(symbol <= variable.hi)
        return constraints

    def decode(self, model: Any, variables: Iterable[Variable], suffix: str = "") -> dict[int, int]:
        """The codes that a model gives to variables, by index; those the model leaves open are completed."""
        state = {}
        for variable in variables:
            value = model.eval(self.variable(variable, suffix), model_completion=True)
            state[variable.index] = int(z3.is_true(value)) if variable.boolean else value.as_signed_long()
        return state


class Result(Enum):
    """What a solver said of `assumptions and not goal`."""

    UNSAT = "unsat"
    SAT = "sat"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Answer:
    """UNSAT: the assumptions imply the goal, and `core` are those that were used (when asked for). SAT: `state` gives a code to
    every variable met, still to be replayed. UNKNOWN: `reason` is the solver's, a time limit for instance."""

    result: Result
    state: Mapping[int, int] | None = None
    core: tuple[Term, ...] = ()
    reason: str = ""


class Question:
    """One prepared solver for many questions: does `goal` follow from `assumptions` in every state of the domains?

    Each assumption is switched on by a literal of its own, so what the solver learns serves the next question too.
    `variables` are those that a state must always name, beside those of the terms asked about.
    """

    def __init__(self, encoder: Encoder, variables: Iterable[Variable] = ()) -> None:
        self._encoder = encoder
        self._solver = z3.SolverFor("QF_BV", ctx=encoder.context)
        self._solver.set("random_seed", 0)
        self._declared: dict[int, Variable] = {}
        self._switches: dict[tuple[Term, bool], Any] = {}
        self._declare(variables)

    def ask(self, assumptions: Sequence[Term], goal: Term, timeout_ms: int, core: bool = False) -> Answer:
        """Whether some state of the domains satisfies every assumption and not the goal; `timeout_ms` bounds the search."""
        wanted = {self._switch(term, True): term for term in assumptions}
        switches = [*wanted, self._switch(goal, False)]
        self._solver.set("timeout", timeout_ms)
        said = self._solver.check(*switches)
        if said == z3.unsat:
            used = {literal.get_id() for literal in self._solver.unsat_core()} if core else set()
            return Answer(Result.UNSAT, core=tuple(term for literal, term in wanted.items() if literal.get_id() in used))
        if said == z3.sat:
            return Answer(Result.SAT, state=self._encoder.decode(self._solver.model(), self._declared.values()))
        return Answer(Result.UNKNOWN, reason=self._solver.reason_unknown())

    def _switch(self, term: Term, holds: bool) -> Any:
        """The literal that switches on `term` (or its negation) in this solver."""
        known = self._switches.get((term, holds))
        if known is None:
            if term.sort is not Sort.BOOL:
                raise SortError(f"only a BOOL term can be assumed or asked, not {term!r}")
            formula = self._encoder.encode(term)
            self._declare(variable for index, variable in self._encoder.variables.items() if term.reads >> index & 1)
            known = z3.Bool(f"switch!{len(self._switches)}", ctx=self._encoder.context)
            self._solver.add(z3.Implies(known, formula if holds else z3.Not(formula)))
            self._switches[(term, holds)] = known
        return known

    def _declare(self, variables: Iterable[Variable]) -> None:
        for variable in variables:
            if variable.index not in self._declared:
                self._declared[variable.index] = variable
                self._solver.add(*self._encoder.domains((variable,)))
