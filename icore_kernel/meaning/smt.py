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


Handler = Callable[[Term, list[Expression], "Encoder", str], Expression]
"""A handler takes a term, the encodings of its arguments (each as wide as its term), the encoder and the suffix."""


def _aligned(term: Term, args: Sequence[Expression], encoder: Encoder, extra: int = 0) -> tuple[int, list[Expression]]:
    """The INT arguments in one width that holds them all, and `extra` bits more."""
    own = [_width(arg) for arg in term.args]
    width = max(own) + extra
    return width, [encoder.sized(arg, size, width) for arg, size in zip(args, own, strict=True)]


def _constant(term: Term, args: list[Expression], encoder: Encoder, suffix: str) -> Expression:
    return encoder.truth_value(bool(term.value)) if term.sort is Sort.BOOL else encoder.number(term.value, _width(term))


def _connective(make: Any) -> Handler:
    return lambda term, args, encoder, suffix: encoder.formula(make, *args)


def _compared(make: Any) -> Handler:
    return lambda term, args, encoder, suffix: encoder.formula(make, *_aligned(term, args, encoder)[1])


def _modular(make: Any) -> Handler:
    """Sums, differences, products: exact modulo 2^width, and the width holds the result."""

    def handler(term: Term, args: list[Expression], encoder: Encoder, suffix: str) -> Expression:
        width = _width(term)
        sized = [encoder.sized(arg, _width(inner), width) for arg, inner in zip(args, term.args, strict=True)]
        if not sized:
            return encoder.number(0, width)
        result = sized[0]
        for arg in sized[1:]:
            result = encoder.integer(make, result, arg)
        return result

    return handler


def _negative(term: Term, args: list[Expression], encoder: Encoder, suffix: str) -> Expression:
    return -encoder.sized(args[0], _width(term.args[0]), _width(term))


def _guarded(term: Term, divisor: Expression, width: int, result: Expression, encoder: Encoder) -> Expression:
    """`result` (of `width` bits), or 0 where the divisor is 0, in the width of `term`."""
    inner = term.args[1]
    if inner.lo <= 0 <= inner.hi:
        zero = encoder.number(0, width)
        result = z3.If(divisor == zero, zero, result)
    return encoder.sized(result, width, _width(term))


def _divided(term: Term, args: list[Expression], encoder: Encoder, suffix: str) -> Expression:
    # One bit more, for the lowest integer divided by -1; Z3 rounds towards zero, the table rounds down.
    width, (a, b) = _aligned(term, args, encoder, extra=1)
    truncated = a / b
    down = z3.And(z3.SRem(a, b) != 0, (a < 0) != (b < 0))
    return _guarded(term, b, width, z3.If(down, truncated - 1, truncated), encoder)


def _remainder(term: Term, args: list[Expression], encoder: Encoder, suffix: str) -> Expression:
    width, (a, b) = _aligned(term, args, encoder)
    return _guarded(term, b, width, a % b, encoder)  # bvsmod: the sign of the divisor, as the table says


def _extreme(better: Any) -> Handler:
    def handler(term: Term, args: list[Expression], encoder: Encoder, suffix: str) -> Expression:
        width, (best, *rest) = _aligned(term, args, encoder)
        for arg in rest:
            best = encoder.integer(z3.Z3_mk_ite, encoder.formula(better, arg, best), arg, best)
        return encoder.sized(best, width, _width(term))

    return handler


def _choice(term: Term, args: list[Expression], encoder: Encoder, suffix: str) -> Expression:
    width = _width(term)
    yes, no = (encoder.sized(arg, _width(inner), width) for arg, inner in zip(args[1:], term.args[1:], strict=True))
    return encoder.integer(z3.Z3_mk_ite, args[0], yes, no)


def _magnitude(term: Term, args: list[Expression], encoder: Encoder, suffix: str) -> Expression:
    width, (a,) = _aligned(term, args, encoder, extra=1)
    return encoder.sized(z3.If(a < 0, -a, a), width, _width(term))


def _among(inner: Term, expression: Expression, values: Iterable[int], encoder: Encoder) -> Expression:
    """Whether the integer is one of `values`: one comparison, or two, for each run of neighbours."""
    width = _width(inner)
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
            parts.append(encoder.formula(z3.Z3_mk_eq, expression, encoder.number(lo, width)))
        else:
            least = encoder.formula(z3.Z3_mk_bvsle, encoder.number(lo, width), expression)
            most = encoder.formula(z3.Z3_mk_bvsle, expression, encoder.number(hi, width))
            parts.append(encoder.junction(z3.Z3_mk_and, [least, most], True))
    return encoder.junction(z3.Z3_mk_or, parts, False)


def _member(term: Term, args: list[Expression], encoder: Encoder, suffix: str) -> Expression:
    return _among(term.args[0], args[0], term.members, encoder)


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
            here = _among(inner, args[0], places[value], encoder)
            result = encoder.integer(z3.Z3_mk_ite, here, encoder.number(value, width), result)
    return result


HANDLERS: Mapping[Op, Handler] = {
    Op.CONST: _constant,
    Op.FIELD: lambda term, args, encoder, suffix: encoder.variable(term.variable, suffix),
    Op.NOT: _connective(z3.Z3_mk_not),
    Op.AND: lambda term, args, encoder, suffix: encoder.junction(z3.Z3_mk_and, args, True),
    Op.OR: lambda term, args, encoder, suffix: encoder.junction(z3.Z3_mk_or, args, False),
    Op.IMPLIES: _connective(z3.Z3_mk_implies),
    Op.IFF: _connective(z3.Z3_mk_eq),
    Op.EQ: _compared(z3.Z3_mk_eq),
    Op.LT: _compared(z3.Z3_mk_bvslt),
    Op.LE: _compared(z3.Z3_mk_bvsle),
    Op.MEMBER: _member,
    Op.ADD: _modular(z3.Z3_mk_bvadd),
    Op.SUB: _modular(z3.Z3_mk_bvsub),
    Op.NEG: _negative,
    Op.MUL: _modular(z3.Z3_mk_bvmul),
    Op.DIV: _divided,
    Op.MOD: _remainder,
    Op.MIN: _extreme(z3.Z3_mk_bvslt),
    Op.MAX: _extreme(z3.Z3_mk_bvsgt),
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
        self._context = z3.main_ctx() if context is None else context
        self._reference = self._context.ref()
        self._numbers: dict[tuple[int, int], Expression] = {}
        self._handlers = handlers
        self._encoded: dict[str, dict[Term, Expression]] = {}
        self._symbols: dict[str, tuple[Variable, str, Expression]] = {}

    def encode(self, term: Term, suffix: str = "") -> Expression:
        """The Z3 expression of `term`; `suffix` names another copy of the variables (`'` for the state after, say)."""
        known = self._encoded.setdefault(suffix, {})
        if term in known:
            return known[term]
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

    # Building blocks for the handlers. They call Z3's C interface: its operators on expressions check and convert
    # every argument again, which took most of the time of an encoding.

    def formula(self, make: Any, *args: Expression) -> Expression:
        """The Boolean expression `make(context, *args)` of a constructor of the C interface."""
        return z3.BoolRef(make(self._reference, *(arg.ast for arg in args)), self._context)

    def integer(self, make: Any, *args: Expression) -> Expression:
        """The bit-vector `make(context, *args)` of a constructor of the C interface."""
        return z3.BitVecRef(make(self._reference, *(arg.ast for arg in args)), self._context)

    def junction(self, make: Any, parts: Sequence[Expression], empty: bool) -> Expression:
        """The conjunction or disjunction of the parts; `empty` is its value when there are none."""
        if len(parts) <= 1:
            return parts[0] if parts else self.truth_value(empty)
        return z3.BoolRef(make(self._reference, len(parts), (z3.Ast * len(parts))(*(part.ast for part in parts))), self._context)

    def truth_value(self, value: bool) -> Expression:
        return z3.BoolVal(value, ctx=self._context)

    def number(self, value: int, width: int) -> Expression:
        """The integer in `width` bits."""
        known = self._numbers.get((value, width))
        if known is None:
            known = self._numbers[(value, width)] = z3.BitVecVal(value, width, ctx=self._context)
        return known

    def sized(self, expression: Expression, own: int, width: int) -> Expression:
        """An integer of `own` bits in `width` bits; dropping high bits is exact when the result fits, else modulo 2^width."""
        if own == width:
            return expression
        if own < width:
            return z3.BitVecRef(z3.Z3_mk_sign_ext(self._reference, width - own, expression.ast), self._context)
        return z3.BitVecRef(z3.Z3_mk_extract(self._reference, width - 1, 0, expression.ast), self._context)

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
        # By the C interface: a counterexample has some hundred values, and wrapping each took longer than finding it.
        state = {}
        reference, values, value = self._reference, model.model, (z3.Ast * 1)()
        for variable in variables:
            if not z3.Z3_model_eval(reference, values, self.variable(variable, suffix).ast, True, value):
                raise z3.Z3Exception(f"no value for {variable.name}")
            if variable.boolean:
                state[variable.index] = int(z3.Z3_get_bool_value(reference, value[0]) == z3.Z3_L_TRUE)
            else:
                code, width = int(z3.Z3_get_numeral_string(reference, value[0])), width_of(variable.lo, variable.hi)
                state[variable.index] = code - (1 << width) if code >> (width - 1) else code
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
        """Whether some state of the domains satisfies every assumption and not the goal; `timeout_ms` (at least 1) bounds the search."""
        if timeout_ms < 1:
            raise ValueError(f"a time limit is at least a millisecond, not {timeout_ms}")
        assumed = [(self._switch(term, True), term) for term in assumptions]
        switches = [switch for switch, _ in assumed]
        self._solver.set("timeout", timeout_ms)
        said = self._solver.check(*switches, self._switch(goal, False))
        if said == z3.unsat:
            used = {switch.get_id() for switch in self._solver.unsat_core()} if core else set()
            return Answer(Result.UNSAT, core=tuple(term for switch, term in assumed if switch.get_id() in used))
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
