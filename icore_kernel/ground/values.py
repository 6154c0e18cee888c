"""What an expression may denote while grounding, and arithmetic on it.

A *static* value is known now: `bool`, `Fraction`, `Element`, `None`. A *dynamic* one depends on the state: a BOOL `Term`, a
`Choice` among finitely many static values, a `Quantity` (an exact rational, numerator over denominator). Sets keep a
condition for every possible element. Rationals never reach the engines: comparisons are multiplied out here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import NamedTuple

from icore_dsl.mistakes import D013, G004, G008, Code
from icore_dsl.syntax import Span
from icore_kernel.terms.node import Term
from icore_kernel.terms.table import Sort
from icore_kernel.terms.term import TermBank


class GroundingError(Exception):
    """Grounding refuses: what the checker cannot know (a size, a value of a parameter), or should have refused.

    `code` and `message` are those of a mistake of the language; `place` is None where it is not known (yet).
    """

    def __init__(self, code: Code, message: str, place: Span | None = None) -> None:
        self.code = code
        self.message = message
        self.place = place
        super().__init__(message)

    def __str__(self) -> str:
        return self.message if self.place is None else f"{self.place}: {self.message}"


class WrittenTwice(GroundingError):
    """Two iterations of one `for` give a field different values in every state: a mistake of the text, at `place`."""

    def __init__(self, place: Span, field: str, update: str) -> None:
        said = f"`{field}` is written with different values by two iterations of this `for` in `{update}`"
        super().__init__(D013, f"{said}: all writes of an update happen at once", place)


class Element(NamedTuple):
    """A named element of a finite sort: an agent, an obligation, an enumeration's member, a certificate, an assertion …

    A tuple because grounding looks elements up millions of times.
    """

    sort: str
    name: str
    place: int
    """Its number within its sort, in the order of declaration."""

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Choice:
    """A state-dependent static value: `term` is the index into `domain`."""

    term: Term
    domain: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Quantity:
    """A state-dependent exact rational num/den; den > 0 wherever it matters."""

    num: Term
    den: Term


@dataclass(frozen=True, slots=True)
class SetValue:
    """A finite set: each possible element with the condition under which it belongs."""

    items: tuple[tuple[Value, Term], ...]


MOST_CASES = 4_096
"""A number that stands for an index or an element is distinguished into at most so many cases."""

Value = bool | Fraction | Element | None | Term | Choice | Quantity | SetValue


def show_value(value: object) -> str:
    """As users write it: `3`, `0.94` as `47/50`, `ana`, `none`, `true`."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def is_static(value: Value) -> bool:
    return value is None or isinstance(value, (bool, Fraction, Element))


class Algebra:
    """Operations on values; every result is static when it can be."""

    def __init__(self, bank: TermBank) -> None:
        self.bank = bank

    def boolean(self, value: Value) -> Term:
        """As a BOOL term. A Choice over booleans counts too."""
        if isinstance(value, bool):
            return self.bank.boolean(value)
        if isinstance(value, Term) and value.sort is Sort.BOOL:
            return value
        if isinstance(value, Choice):
            return self.bank.member(value.term, [i for i, v in enumerate(value.domain) if v is True])
        raise GroundingError(G008, f"not a truth value: {value!r}")

    def truth(self, term: Term) -> Value:
        """A BOOL term as a value: static when it is constant."""
        if term is self.bank.true:
            return True
        if term is self.bank.false:
            return False
        return term

    def quantity(self, value: Value) -> Quantity:
        if isinstance(value, Fraction):
            return Quantity(self.bank.integer(value.numerator), self.bank.integer(value.denominator))
        if isinstance(value, Quantity):
            return value
        if isinstance(value, Choice):
            numbers = [v if isinstance(v, Fraction) else Fraction(0) for v in value.domain]
            den = lcm(*(n.denominator for n in numbers))
            return Quantity(self.bank.lookup(value.term, [int(n * den) for n in numbers]), self.bank.integer(den))
        raise GroundingError(G008, f"not a number: {value!r}")

    def number(self, q: Quantity) -> Value:
        """A quantity as a value: static when both parts are constant, with a positive denominator."""
        if q.num.lo == q.num.hi and q.den.lo == q.den.hi and q.den.lo > 0:
            return Fraction(q.num.lo, q.den.lo)
        return q

    # ---- logic -----------------------------------------------------------------------------------------------
    def not_(self, a: Value) -> Value:
        return self.truth(self.bank.not_(self.boolean(a)))

    def all_of(self, values: Iterable[Value]) -> Value:
        return self.truth(self.bank.conj([self.boolean(v) for v in values]))

    def any_of(self, values: Iterable[Value]) -> Value:
        return self.truth(self.bank.disj([self.boolean(v) for v in values]))

    def equal(self, a: Value, b: Value) -> Value:
        if is_static(a) and is_static(b):
            return type(a) is type(b) and a == b
        if isinstance(a, Choice) and isinstance(b, Term):
            b = self.as_choice(b)
        elif isinstance(a, Term) and isinstance(b, Choice):
            a = self.as_choice(a)
        if isinstance(a, Choice) and isinstance(b, Choice):
            both = [
                self.bank.and_(self.bank.eq(a.term, self.bank.integer(i)), self.bank.eq(b.term, self.bank.integer(j)))
                for i, v in enumerate(a.domain)
                for j, w in enumerate(b.domain)
                if type(v) is type(w) and v == w
            ]
            if a.domain == b.domain:
                return self.truth(self.bank.eq(a.term, b.term))
            return self.truth(self.bank.disj(both))
        if isinstance(b, Choice):
            a, b = b, a
        if isinstance(a, Choice):
            if isinstance(b, Quantity):
                if not all(v is None or isinstance(v, Fraction) for v in a.domain):
                    return False
                hits = [
                    self.bank.and_(self.bank.eq(a.term, self.bank.integer(i)), self.boolean(self.equal(v, b)))
                    for i, v in enumerate(a.domain)
                    if isinstance(v, Fraction)
                ]
                return self.truth(self.bank.disj(hits))
            if is_static(b):
                codes = [i for i, v in enumerate(a.domain) if type(v) is type(b) and v == b]
                return self.truth(self.bank.member(a.term, codes)) if codes else False
        if isinstance(a, SetValue) and isinstance(b, SetValue):
            left, right = dict(a.items), dict(b.items)
            keys = list(dict.fromkeys([*left, *right]))
            return self.all_of(self.bank.iff(left.get(k, self.bank.false), right.get(k, self.bank.false)) for k in keys)
        if a is None or b is None:
            return False
        if isinstance(a, (Quantity, Fraction)) and isinstance(b, (Quantity, Fraction)):
            x, y = self._crossed(a, b)
            return self.truth(self.bank.eq(x, y))
        return self.truth(self.bank.iff(self.boolean(a), self.boolean(b)))

    def member(self, a: Value, among: Value) -> Value:
        if isinstance(among, SetValue):
            if isinstance(a, Choice) and all(t is self.bank.true and is_static(v) for v, t in among.items):
                inside = {v for v, _ in among.items}
                codes = [i for i, v in enumerate(a.domain) if v in inside]
                return self.truth(self.bank.member(a.term, codes)) if codes else False
            return self.any_of(self.bank.and_(self.boolean(self.equal(a, v)), t) for v, t in among.items)
        raise GroundingError(G008, f"not a set: {among!r}")

    def set_of(self, items: Iterable[tuple[Value, Term]]) -> SetValue:
        """The set of the values whose condition holds. State-dependent values become the static ones they may be, each once."""
        found: dict[Value, list[Term]] = {}
        for value, condition in items:
            if is_static(value):
                found.setdefault(value, []).append(condition)
                continue
            choice = self.as_choice(value)
            for code, each in enumerate(choice.domain):
                here = self.bank.eq(choice.term, self.bank.integer(code))
                found.setdefault(each, []).append(self.bank.and_(condition, here))
        return SetValue(tuple((v, self.bank.disj(t)) for v, t in found.items()))

    def less(self, a: Value, b: Value) -> Value:
        x, y = self._crossed(a, b)
        return self.truth(self.bank.lt(x, y))

    def less_equal(self, a: Value, b: Value) -> Value:
        x, y = self._crossed(a, b)
        return self.truth(self.bank.le(x, y))

    def _crossed(self, a: Value, b: Value) -> tuple[Term, Term]:
        """Both numerators over one common positive denominator, which is dropped."""
        p, q = self.quantity(a), self.quantity(b)
        if p.den is q.den:
            return p.num, q.num
        if p.den.lo == p.den.hi and q.den.lo == q.den.hi:
            common = lcm(p.den.lo, q.den.lo)
            return self._times(p.num, common // p.den.lo), self._times(q.num, common // q.den.lo)
        return self.bank.mul(p.num, q.den), self.bank.mul(q.num, p.den)

    def _times(self, term: Term, factor: int) -> Term:
        return term if factor == 1 else self.bank.mul(term, self.bank.integer(factor))

    # ---- arithmetic ------------------------------------------------------------------------------------------
    def add(self, a: Value, b: Value) -> Value:
        if isinstance(a, Fraction) and isinstance(b, Fraction):
            return a + b
        x, y = self._crossed(a, b)
        return self.number(Quantity(self.bank.add(x, y), self._common(a, b)))

    def sub(self, a: Value, b: Value) -> Value:
        if isinstance(a, Fraction) and isinstance(b, Fraction):
            return a - b
        x, y = self._crossed(a, b)
        return self.number(Quantity(self.bank.sub(x, y), self._common(a, b)))

    def _common(self, a: Value, b: Value) -> Term:
        p, q = self.quantity(a), self.quantity(b)
        if p.den is q.den:
            return p.den
        if p.den.lo == p.den.hi and q.den.lo == q.den.hi:
            return self.bank.integer(lcm(p.den.lo, q.den.lo))
        return self.bank.mul(p.den, q.den)

    def mul(self, a: Value, b: Value) -> Value:
        if isinstance(a, Fraction) and isinstance(b, Fraction):
            return a * b
        p, q = self.quantity(a), self.quantity(b)
        return self.number(Quantity(self.bank.mul(p.num, q.num), self.bank.mul(p.den, q.den)))

    def div(self, a: Value, b: Value) -> Value:
        """Exact division; x / 0 is 0 (the operator table's rule)."""
        if isinstance(a, Fraction) and isinstance(b, Fraction):
            return Fraction(0) if b == 0 else a / b
        p, q = self.quantity(a), self.quantity(b)
        bank = self.bank
        zero = bank.eq(q.num, bank.integer(0))
        flipped = bank.lt(q.num, bank.integer(0))
        top = bank.mul(p.num, q.den)
        num = bank.ite(zero, bank.integer(0), bank.ite(flipped, bank.neg(top), top))
        den = bank.ite(zero, bank.integer(1), bank.mul(p.den, bank.absolute(q.num)))
        return self.number(Quantity(num, den))

    def floordiv(self, a: Value, b: Value) -> Value:
        if isinstance(a, Fraction) and isinstance(b, Fraction):
            return Fraction(0) if b == 0 else Fraction(a // b)
        x, y = self._crossed(a, b)
        return self.number(Quantity(self.bank.floordiv(x, y), self.bank.integer(1)))

    def mod(self, a: Value, b: Value) -> Value:
        if isinstance(a, Fraction) and isinstance(b, Fraction):
            return Fraction(0) if b == 0 else a % b
        x, y = self._crossed(a, b)
        return self.number(Quantity(self.bank.mod(x, y), self._common(a, b)))

    def neg(self, a: Value) -> Value:
        return self.sub(Fraction(0), a)

    def extreme(self, values: Sequence[Value], largest: bool) -> Value:
        """max or min; 0 over nothing (section 4.1's convention for an empty feasible set)."""
        if not values:
            return Fraction(0)
        best = values[0]
        for value in values[1:]:
            smaller = self.less(best, value) if largest else self.less(value, best)
            best = self.choose(self.boolean(smaller), value, best)
        return best

    def choose(self, condition: Term, a: Value, b: Value) -> Value:
        """a where condition, else b."""
        if condition is self.bank.true:
            return a
        if condition is self.bank.false:
            return b
        if type(a) is type(b) and is_static(a) and a == b:
            return a
        if isinstance(a, SetValue) and isinstance(b, SetValue):
            left, right = dict(a.items), dict(b.items)
            keys = list(dict.fromkeys([*left, *right]))
            false = self.bank.false
            return SetValue(tuple((k, self._pick(condition, left.get(k, false), right.get(k, false))) for k in keys))
        if isinstance(a, (Fraction, Quantity)) and isinstance(b, (Fraction, Quantity)):
            x, y = self._crossed(a, b)
            return self.number(Quantity(self.bank.ite(condition, x, y), self._common(a, b)))
        if isinstance(a, (bool, Term)) and isinstance(b, (bool, Term)):
            return self.truth(self._pick(condition, self.boolean(a), self.boolean(b)))
        left_choice, right_choice = self.as_choice(a), self.as_choice(b)
        domain = tuple(dict.fromkeys([*left_choice.domain, *right_choice.domain]))
        x = self.recode(left_choice, domain)
        y = self.recode(right_choice, domain)
        return Choice(self.bank.ite(condition, x, y), domain)

    def _pick(self, condition: Term, a: Term, b: Term) -> Term:
        return self.bank.or_(self.bank.and_(condition, a), self.bank.and_(self.bank.not_(condition), b))

    def as_choice(self, value: Value) -> Choice:
        """A value as one of finitely many; numbers need a constant denominator and at most MOST_CASES numerators."""
        if isinstance(value, Choice):
            return value
        if is_static(value):
            return Choice(self.bank.integer(0), (value,))
        if isinstance(value, Term):
            return Choice(self.bank.ite(value, self.bank.integer(1), self.bank.integer(0)), (False, True))
        if isinstance(value, Quantity) and value.den.lo == value.den.hi:
            lo, hi = value.num.lo, value.num.hi
            if hi - lo < MOST_CASES:
                shifted = value.num if lo == 0 else self.bank.sub(value.num, self.bank.integer(lo))
                return Choice(shifted, tuple(Fraction(n, value.den.lo) for n in range(lo, hi + 1)))
        raise GroundingError(G004, "a number with too many possible values stands where one of a few is needed")

    def recode(self, choice: Choice, domain: tuple[Value, ...]) -> Term:
        """The index term of `choice` in another domain that contains its values (values outside: index 0)."""
        if choice.domain == domain:
            return choice.term
        table = [domain.index(v) if v in domain else 0 for v in choice.domain]
        return self.bank.lookup(choice.term, table)

    def lift(self, args: Sequence[Value], apply: Callable[[tuple[Value, ...]], Value]) -> Value:
        """`apply` to static arguments, by cases over those that depend on the state."""
        for position, given in enumerate(args):
            if not is_static(given) and not isinstance(given, SetValue):
                arg = self.as_choice(given)
                result: Value = None
                first = True
                for code, value in reversed(list(enumerate(arg.domain))):
                    replaced = (*args[:position], value, *args[position + 1 :])
                    here = self.lift(replaced, apply)
                    if first:
                        result, first = here, False
                    else:
                        result = self.choose(self.bank.eq(arg.term, self.bank.integer(code)), here, result)
                return result
        return apply(tuple(args))
