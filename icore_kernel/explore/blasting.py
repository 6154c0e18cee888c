"""Terms as circuits: a formula is a literal, an integer is an offset and bits. Exact for every value of the fields' domains.

An integer term has the value `offset` + the sum of its bits, the least significant first. Widths follow from the operators and
are cut to what the term's interval allows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

from icore_kernel.explore.circuit import FALSE, TRUE, Circuit
from icore_kernel.explore.layout import Layout
from icore_kernel.system import Write
from icore_kernel.terms.table import check_handlers
from icore_kernel.terms.term import Op, Sort, Term, postorder

TABLE_BITS = 12
"""Operators without a circuit of their own become tables of at most this many bits of argument."""


class Unsupported(Exception):
    """A term that has no circuit of reasonable size."""


class Number(NamedTuple):
    """An integer: offset + sum of 2**i over the literals `bits[i]` that hold."""

    offset: int
    bits: tuple[int, ...] = ()


Found = TypeVar("Found", int, Number)


class Blaster:
    """Literals and numbers of terms in one circuit, each term once."""

    def __init__(self, circuit: Circuit, layout: Layout) -> None:
        self.circuit = circuit
        self._layout = layout
        self._literals: dict[Term, int] = {}
        self._numbers: dict[Term, Number] = {}

    def literal(self, term: Term) -> int:
        """Of a BOOL term."""
        self._blast(term)
        return self._literals[term]

    def number(self, term: Term) -> Number:
        """Of an INT term."""
        self._blast(term)
        return self._numbers[term]

    def code(self, term: Term, lo: int, width: int) -> tuple[int, ...]:
        """The lowest `width` bits of `value - lo`, of either sort: what is written into a field."""
        if term.sort is Sort.BOOL:
            number = self.add_constant((self.literal(term),), -lo, width)
        else:
            own = self.number(term)
            number = self.add_constant(own.bits, own.offset - lo, width)
        return number

    def _blast(self, term: Term) -> None:
        if term in self._literals or term in self._numbers:
            return
        for each in postorder([term], self):
            if each.sort is Sort.BOOL:
                self._literals[each] = FORMULAS[each.op](self, each)
            else:
                self._numbers[each] = self._cut(INTEGERS[each.op](self, each), each)

    def __contains__(self, term: object) -> bool:
        return term in self._literals or term in self._numbers

    def after(self, writes: Iterable[Write]) -> Blaster:
        """Literals of terms in the state after the writes (each within its domain), over the bits of the state before."""
        return _After(self, writes)

    def _cut(self, number: Number, term: Term) -> Number:
        """Without the upper bits that the interval rules out."""
        width = max(0, term.hi - number.offset).bit_length()
        bits = number.bits[:width]
        while bits and bits[-1] == FALSE:
            bits = bits[:-1]
        return Number(number.offset, bits)

    # Arguments.

    def formulas(self, term: Term) -> list[int]:
        return [self._literals[arg] for arg in term.args]

    def numbers(self, term: Term) -> list[Number]:
        return [self._numbers[arg] for arg in term.args]

    def pair(self, term: Term) -> tuple[Number, Number]:
        """Of a term of two integers."""
        a, b = term.args
        return self._numbers[a], self._numbers[b]

    def field(self, term: Term) -> Number:
        place = self._layout.places[term.variable.index]
        return Number(place.lo, tuple(self.circuit.input(place.word, place.shift + bit) for bit in range(place.width)))

    def truth(self, term: Term) -> int:
        offset, bits = self.field(term)
        return bits[0] if bits else (TRUE if offset else FALSE)

    # Arithmetic.

    def total(self, numbers: Iterable[Number]) -> Number:
        """Columns of equal weight, three bits to two until one is left."""
        circuit, offset = self.circuit, 0
        columns: list[list[int]] = []
        for number in numbers:
            offset += number.offset
            for weight, bit in enumerate(number.bits):
                if bit == TRUE:
                    offset += 1 << weight
                elif bit != FALSE:
                    while len(columns) <= weight:
                        columns.append([])
                    columns[weight].append(bit)
        bits: list[int] = []
        for weight, column in enumerate(columns):  # grows while it is walked
            carries: list[int] = []
            place = 0
            while len(column) - place > 1:
                a, b = column[place], column[place + 1]
                odd = circuit.differ(a, b)
                if len(column) - place > 2:
                    c = column[place + 2]
                    carries.append(circuit.either(circuit.both(a, b), circuit.both(c, odd)))
                    column.append(circuit.differ(odd, c))
                    place += 3
                else:
                    carries.append(circuit.both(a, b))
                    column.append(odd)
                    place += 2
            bits.append(column[place] if place < len(column) else FALSE)
            if any(carry != FALSE for carry in carries):
                if len(columns) == weight + 1:
                    columns.append([])
                columns[weight + 1].extend(carry for carry in carries if carry != FALSE)
        return Number(offset, tuple(bits))

    def opposite(self, number: Number) -> Number:
        return Number(1 - number.offset - (1 << len(number.bits)), tuple(bit ^ 1 for bit in number.bits))

    def times(self, number: Number, factor: int) -> Number:
        if factor < 0:
            return self.times(self.opposite(number), -factor)
        shifts = [shift for shift in range(factor.bit_length()) if factor >> shift & 1]
        parts = [Number(number.offset << shift, (*[FALSE] * shift, *number.bits)) for shift in shifts]
        return self.total(parts)

    def product(self, a: Number, b: Number) -> Number:
        parts = [Number(a.offset * b.offset), self.times(Number(0, b.bits), a.offset), self.times(Number(0, a.bits), b.offset)]
        for shift, bit in enumerate(a.bits):
            parts.append(Number(0, (*[FALSE] * shift, *(self.circuit.both(bit, other) for other in b.bits))))
        return self.total(parts)

    def add_constant(self, bits: Sequence[int], constant: int, width: int) -> tuple[int, ...]:
        """The lowest `width` bits of the sum."""
        out: list[int] = []
        carry = FALSE
        for place in range(width):
            bit = bits[place] if place < len(bits) else FALSE
            own = TRUE if constant >> place & 1 else FALSE
            odd = self.circuit.differ(bit, own)
            out.append(self.circuit.differ(odd, carry))
            carry = self.circuit.either(self.circuit.both(bit, own), self.circuit.both(carry, odd))
        return tuple(out)

    def choice(self, condition: int, a: Number, b: Number) -> Number:
        offset = min(a.offset, b.offset)
        width = max((n.offset - offset + (1 << len(n.bits)) - 1).bit_length() for n in (a, b))
        left, right = (self.add_constant(n.bits, n.offset - offset, width) for n in (a, b))
        return Number(offset, tuple(self.circuit.choose(condition, x, y) for x, y in zip(left, right, strict=True)))

    # Comparison.

    def at_most(self, number: Number, bound: int) -> int:
        bound -= number.offset
        if bound < 0:
            return FALSE
        if bound >= (1 << len(number.bits)) - 1:
            return TRUE
        found = TRUE
        for place, bit in enumerate(number.bits):
            found = self.circuit.either(bit ^ 1, found) if bound >> place & 1 else self.circuit.both(bit ^ 1, found)
        return found

    def less_equal(self, a: Number, b: Number, least: int) -> int:
        """Whether a + least <= b."""
        if not b.bits:
            return self.at_most(a, b.offset - least)
        return self.at_most(self.total((a, self.opposite(b))), -least)

    def equal(self, a: Number, b: Number, greatest: int) -> int:
        """`greatest`: no value of `a` is above it."""
        if not a.bits:
            return self.is_constant(b, a.offset, None)
        if not b.bits:
            return self.is_constant(a, b.offset, greatest)
        if a.offset != b.offset:
            return self.is_constant(self.total((a, self.opposite(b))), 0, None)
        width = max(len(a.bits), len(b.bits))
        left, right = ((*n.bits, *[FALSE] * (width - len(n.bits))) for n in (a, b))
        return self.circuit.all(self.circuit.differ(x, y) ^ 1 for x, y in zip(left, right, strict=True))

    def is_constant(self, number: Number, value: int, greatest: int | None) -> int:
        code = value - number.offset
        if code < 0 or code >> len(number.bits):
            return FALSE
        literals: list[int] = []
        for place, bit in enumerate(number.bits):
            if code >> place & 1:
                literals.append(bit)
            elif greatest is None or value + (1 << place) <= greatest:
                literals.append(bit ^ 1)
            # Else the bit needs no test: with it the value would be too great.
        return self.circuit.all(literals)

    # Tables.

    def table(self, bits: Sequence[int], leaves: list[int | None]) -> int:
        """`leaves[code]` by the code of the bits, None where it does not matter."""
        for bit in bits:
            pairs = zip(leaves[::2], leaves[1::2], strict=True)
            leaves = [b if a is None else a if b is None else self.circuit.choose(bit, b, a) for a, b in pairs]
        return leaves[0] or FALSE

    def tabulated(self, bits: Sequence[int], values: Sequence[int | None]) -> Number:
        if len(bits) > TABLE_BITS:
            raise Unsupported(f"a table of {len(bits)} bits")
        known = [value for value in values if value is not None]
        offset = min(known, default=0)
        width = (max(known, default=0) - offset).bit_length()
        return Number(
            offset,
            tuple(self.table(bits, [None if v is None else (v - offset) >> place & 1 for v in values]) for place in range(width)),
        )


class _After(Blaster):
    """What reads no written field is as before."""

    def __init__(self, before: Blaster, writes: Iterable[Write]) -> None:
        super().__init__(before.circuit, before._layout)
        self._before = before
        self._values: dict[int, Number] = {}
        self._written = 0
        for write in writes:
            place = self._layout.places[write.field.index]
            self._written |= 1 << write.field.index
            self._values[write.field.index] = Number(place.lo, before.code(write.value, place.lo, place.width))
        self._literals = _Kept(before.literal)
        self._numbers = _Kept(before.number)

    def __contains__(self, term: object) -> bool:
        return isinstance(term, Term) and (not term.reads & self._written or super().__contains__(term))

    def field(self, term: Term) -> Number:
        return self._values[term.variable.index]


class _Kept(dict[Term, Found], Generic[Found]):
    """What is missing is asked for elsewhere."""

    def __init__(self, elsewhere: Callable[[Term], Found]) -> None:
        super().__init__()
        self._elsewhere: Callable[[Term], Found] = elsewhere

    def __missing__(self, term: Term) -> Found:
        found: Found = self._elsewhere(term)
        return found


def _codes(number: Number, term: Term) -> list[int | None]:
    """The value of each code of a number's bits; None above what the term can be."""
    if len(number.bits) > TABLE_BITS:
        raise Unsupported(f"a table of {len(number.bits)} bits")
    values = range(number.offset, number.offset + (1 << len(number.bits)))
    return [value if value <= term.hi else None for value in values]


def _member(blaster: Blaster, term: Term) -> int:
    (number,), (arg,) = blaster.numbers(term), term.args
    if len(number.bits) > TABLE_BITS:
        return blaster.circuit.any(blaster.is_constant(number, value, arg.hi) for value in sorted(term.members))
    return blaster.table(number.bits, [None if v is None else int(v in term.members) for v in _codes(number, arg)])


def _lookup(blaster: Blaster, term: Term) -> Number:
    (number,), entries = blaster.numbers(term), term.entries
    values = [
        None if value is None else entries[value] if 0 <= value < len(entries) else 0 for value in _codes(number, term.args[0])
    ]
    return blaster.tabulated(number.bits, values)


def _divided(operation: Callable[[int, int], int]) -> Callable[[Blaster, Term], Number]:
    def divide(blaster: Blaster, term: Term) -> Number:
        a, b = blaster.numbers(term)
        if len(a.bits) + len(b.bits) > TABLE_BITS:
            raise Unsupported(f"{term.op.value} of {len(a.bits)} and {len(b.bits)} bits")
        divisors = _codes(b, term.args[1])
        dividends = _codes(a, term.args[0])
        values: list[int | None] = [
            None if x is None or y is None else operation(x, y) if y else 0 for y in divisors for x in dividends
        ]
        return blaster.tabulated((*a.bits, *b.bits), values)

    return divide


def _extreme(blaster: Blaster, term: Term) -> Number:
    found, *rest = blaster.numbers(term)
    for number in rest:
        smaller = blaster.less_equal(found, number, 0)
        found = blaster.choice(smaller if term.op is Op.MIN else smaller ^ 1, found, number)
    return found


def _magnitude(blaster: Blaster, term: Term) -> Number:
    (number,) = blaster.numbers(term)
    return blaster.choice(blaster.at_most(number, -1), blaster.opposite(number), number)


def _choice(blaster: Blaster, term: Term) -> Number:
    condition, a, b = term.args
    return blaster.choice(blaster.literal(condition), blaster.number(a), blaster.number(b))


FORMULAS: Mapping[Op, Callable[[Blaster, Term], int]] = {
    Op.CONST: lambda blaster, term: TRUE if term.value else FALSE,
    Op.FIELD: Blaster.truth,
    Op.NOT: lambda blaster, term: blaster.formulas(term)[0] ^ 1,
    Op.AND: lambda blaster, term: blaster.circuit.all(blaster.formulas(term)),
    Op.OR: lambda blaster, term: blaster.circuit.any(blaster.formulas(term)),
    Op.IMPLIES: lambda blaster, term: blaster.circuit.either(blaster.formulas(term)[0] ^ 1, blaster.formulas(term)[1]),
    Op.IFF: lambda blaster, term: blaster.circuit.differ(*blaster.formulas(term)) ^ 1,
    Op.EQ: lambda blaster, term: blaster.equal(*blaster.pair(term), term.args[0].hi),
    Op.LT: lambda blaster, term: blaster.less_equal(*blaster.pair(term), 1),
    Op.LE: lambda blaster, term: blaster.less_equal(*blaster.pair(term), 0),
    Op.MEMBER: _member,
}

INTEGERS: Mapping[Op, Callable[[Blaster, Term], Number]] = {
    Op.CONST: lambda blaster, term: Number(term.value),
    Op.FIELD: lambda blaster, term: blaster.field(term),
    Op.ADD: lambda blaster, term: blaster.total(blaster.numbers(term)),
    Op.SUB: lambda blaster, term: blaster.total((blaster.numbers(term)[0], blaster.opposite(blaster.numbers(term)[1]))),
    Op.NEG: lambda blaster, term: blaster.opposite(blaster.numbers(term)[0]),
    Op.MUL: lambda blaster, term: blaster.product(*blaster.pair(term)),
    Op.DIV: _divided(lambda a, b: a // b),
    Op.MOD: _divided(lambda a, b: a % b),
    Op.MIN: _extreme,
    Op.MAX: _extreme,
    Op.ITE: _choice,
    Op.ABS: _magnitude,
    Op.LOOKUP: _lookup,
}
check_handlers("circuit", {**FORMULAS, **INTEGERS})
