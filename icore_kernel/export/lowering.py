"""Terms in the few operators that every peer has, with the corner cases of the operator table written out.

What is left: constants, fields, not, and, or, implies, iff, =, <, <=, member, +, -, *, `if`; and `div` and `mod` of which
only arguments that are not negative, by divisors above 0, are ever used (peers differ beyond that).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from icore_kernel.terms.term import Op, Term, TermBank, postorder


class Lowering:
    """Lowers terms of one bank; what terms share is lowered once."""

    def __init__(self, bank: TermBank) -> None:
        self._bank = bank
        self._known: dict[Term, Term] = {}

    def of(self, term: Term) -> Term:
        for part in postorder([term], self._known):
            self._known[part] = self._lowered(part, tuple(self._known[arg] for arg in part.args))
        return self._known[term]

    def _lowered(self, term: Term, args: tuple[Term, ...]) -> Term:
        bank = self._bank
        match term.op:
            case Op.CONST | Op.FIELD:
                return term
            case Op.MIN:
                return self._best(args, least=True)
            case Op.MAX:
                return self._best(args, least=False)
            case Op.ABS:
                return bank.ite(bank.le(bank.integer(0), args[0]), args[0], bank.neg(args[0]))
            case Op.LOOKUP:
                return self._entry(term.entries, args[0])
            case Op.DIV:
                return self._unless_zero(args[1], self._quotient(*args))
            case Op.MOD:
                a, b = args
                if a.lo >= 0 and b.lo > 0:
                    return bank.mod(a, b)
                return self._unless_zero(b, bank.sub(a, bank.mul(b, self._quotient(a, b))))
            case (
                Op.NOT
                | Op.AND
                | Op.OR
                | Op.IMPLIES
                | Op.IFF
                | Op.EQ
                | Op.LT
                | Op.LE
                | Op.MEMBER
                | Op.ADD
                | Op.SUB
                | Op.NEG
                | Op.MUL
                | Op.ITE
            ):
                return term if args == term.args else bank.build(term.op, args, term.payload)
            case _:
                assert_never(term.op)

    def _best(self, args: Iterable[Term], least: bool) -> Term:
        bank = self._bank
        best, *rest = args
        for arg in rest:
            best = bank.ite(bank.le(best, arg) if least else bank.le(arg, best), best, arg)
        return best

    def _entry(self, entries: tuple[int, ...], index: Term) -> Term:
        """One `if` for each value of the table, the most frequent one last; outside the table it is 0."""
        bank = self._bank
        places: dict[int, list[int]] = {}
        for place in range(index.lo, index.hi + 1):
            places.setdefault(entries[place] if 0 <= place < len(entries) else 0, []).append(place)
        values = sorted(places, key=lambda value: len(places[value]))
        result = bank.integer(values.pop())
        for value in reversed(values):
            result = bank.ite(bank.member(index, places[value]), bank.integer(value), result)
        return result

    def _unless_zero(self, divisor: Term, result: Term) -> Term:
        bank = self._bank
        return bank.ite(bank.eq(divisor, bank.integer(0)), bank.integer(0), result)

    def _quotient(self, a: Term, b: Term) -> Term:
        bank = self._bank
        positive = bank.lt(bank.integer(0), b)
        return bank.ite(positive, self._down(a, b), self._down(bank.neg(a), bank.neg(b)))

    def _down(self, a: Term, b: Term) -> Term:
        """a div b, rounding down, where b is above 0."""
        bank = self._bank
        if a.lo >= 0:
            return bank.floordiv(a, b)
        up = bank.add(bank.neg(a), b, bank.integer(-1))
        return bank.ite(bank.le(bank.integer(0), a), bank.floordiv(a, b), bank.neg(bank.floordiv(up, b)))
