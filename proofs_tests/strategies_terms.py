"""Random terms with states, generated from the operator table, and hand-picked corners.

A `Case` is a term that was built towards a wanted value in one state: a conjunction is made true as often as false, a
divisor is zero now and then, a look-up leaves its table. Cases are deterministic in their seed and are built in a bank
that does not simplify, so that the operators are really there.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from icore_kernel.meaning.scalar import HANDLERS
from icore_kernel.terms.table import TABLE, Op, Payload, Sort, Variable
from icore_kernel.terms.term import Term, TermBank, postorder

VARIABLES = (
    Variable("p", 0, 0, 1, True),
    Variable("q", 1, 0, 1, True),
    Variable("r", 2, 0, 1, True),
    Variable("status", 3, 0, 7, False),
    Variable("owner", 4, 0, 2, False),
    Variable("level", 5, -5, 7, False),
    Variable("count", 6, 0, 200, False),
    Variable("debt", 7, -300, 4, False),
    Variable("vast", 8, -(2**63), 2**63 - 1, False),
)
LEAVES = frozenset({Op.CONST, Op.FIELD})
ROOTS = tuple(op for op in TABLE if op not in LEAVES)
BOOLEAN = tuple(op for op in ROOTS if TABLE[op].result is Sort.BOOL)
INTEGER = tuple(op for op in ROOTS if TABLE[op].result is Sort.INT)
DEPTH = 4
"""Every generated term nests at least this deep."""
_BITS = 150
"""No factor wider than this is multiplied again."""


@dataclass(frozen=True, slots=True)
class Case:
    """A term and states to evaluate it in; the term was made with the first of them in mind."""

    term: Term
    states: tuple[tuple[int, ...], ...]


def random_state(rng: random.Random) -> tuple[int, ...]:
    """A state of VARIABLES: the bounds and the integers around 0 more often than the rest."""
    return tuple(_code(rng, variable) for variable in VARIABLES)


def _code(rng: random.Random, variable: Variable) -> int:
    if variable.hi - variable.lo < 10 or rng.random() < 0.5:
        return rng.randint(variable.lo, variable.hi)
    return rng.choice([variable.lo, variable.hi, *range(max(variable.lo, -2), min(variable.hi, 2) + 1)])


class Maker:
    """Builds terms whose value in `state` it knows, as it builds them."""

    def __init__(self, rng: random.Random, bank: TermBank, state: tuple[int, ...]) -> None:
        self.rng = rng
        self.bank = bank
        self.state = state
        self.values: dict[Term, int] = {}

    def made(self, op: Op, args: Sequence[Term] = (), payload: Payload = None) -> Term:
        term = self.bank.build(op, tuple(args), payload)
        self.values[term] = HANDLERS[op](term, [self.values[arg] for arg in args], self.state)
        return term

    def constant(self, value: int) -> Term:
        return self.made(Op.CONST, payload=value)

    def field(self, boolean: bool) -> Term:
        chosen = self.rng.choice([variable for variable in VARIABLES if variable.boolean == boolean])
        return self.made(Op.FIELD, payload=chosen)

    def formula(self, depth: int, wanted: bool, op: Op | None = None) -> Term:
        """A BOOL term of at least `depth` levels with the wanted value in the state; `op` at its root when given."""
        rng = self.rng
        if depth <= 0:
            leaf = self.field(boolean=True) if rng.random() < 0.8 else self.constant(rng.random() < 0.5)
            return leaf if bool(self.values[leaf]) == wanted else self.made(Op.NOT, [leaf])
        op = op or rng.choice(BOOLEAN)
        below = depth - 1
        match op:
            case Op.NOT:
                return self.made(op, [self.formula(below, not wanted)])
            case Op.AND | Op.OR:
                size = rng.randint(1, 3)
                values = [op is Op.AND] * size
                if wanted != (op is Op.AND):
                    values = [rng.random() < 0.5 for _ in range(size)]
                    values[rng.randrange(size)] = wanted
                first, *rest = values
                return self.made(op, [self.formula(below, first), *(self.formula(self._sibling(below), value) for value in rest)])
            case Op.IMPLIES:
                a, b = (True, False) if not wanted else rng.choice([(True, True), (False, True), (False, False)])
                return self.made(op, [self.formula(below, a), self.formula(self._sibling(below), b)])
            case Op.IFF:
                a = rng.random() < 0.5
                return self.made(op, [self.formula(below, a), self.formula(self._sibling(below), a == wanted)])
            case Op.EQ:
                left = self.number(below)
                distance = 0 if wanted else rng.choice([-1, 1, 7])
                return self.made(op, [left, self.near(left, distance)])
            case Op.LT:
                left = self.number(below)
                return self.made(op, [left, self.near(left, rng.choice([1, 1, 9]) if wanted else rng.choice([0, 0, -1, -9]))])
            case Op.LE:
                left = self.number(below)
                return self.made(op, [left, self.near(left, rng.choice([0, 0, 1, 9]) if wanted else rng.choice([-1, -1, -9]))])
            case Op.MEMBER:
                inner = self.number(below)
                value = self.values[inner]
                others = {value + rng.choice([-9, -3, -2, -1, 1, 2, 3, 4, 5, 9]) for _ in range(rng.randint(0, 8))}
                return self.made(op, [inner], frozenset(others | {value} if wanted else others))
            case _:
                raise ValueError(f"no way to make a formula with {op} at its root")

    def near(self, term: Term, distance: int) -> Term:
        """An INT term whose value is that of `term` plus `distance`: a constant, or a variable and a difference."""
        value = self.values[term] + distance
        if self.rng.random() < 0.4:
            return self.constant(value)
        other = self.number(self.rng.randint(0, 1))
        return self.made(Op.ADD, [other, self.constant(value - self.values[other])])

    def number(self, depth: int, op: Op | None = None) -> Term:
        """An INT term of at least `depth` levels; `op` at its root when given."""
        rng = self.rng
        if depth <= 0:
            return self.field(boolean=False) if rng.random() < 0.8 else self.constant(rng.choice([-7, -2, -1, 0, 1, 2, 3, 10]))
        op = op or rng.choice(INTEGER)
        below = depth - 1
        first = self.number(below)
        match op:
            case Op.NEG | Op.ABS:
                return self.made(op, [first])
            case Op.ADD | Op.MIN | Op.MAX:
                return self.made(op, [first, *(self.number(self._sibling(below)) for _ in range(rng.randint(0, 2)))])
            case Op.SUB:
                return self.made(op, [first, self.number(self._sibling(below))])
            case Op.MUL:
                second = self.number(self._sibling(below))
                factors = [self._narrow(first), self._narrow(second)]
                rng.shuffle(factors)
                return self.made(op, factors)
            case Op.DIV | Op.MOD:
                return self.made(op, [first, self._divisor(below)])
            case Op.ITE:
                return self.made(op, [self.formula(self._sibling(below), rng.random() < 0.5), first, self.number(self._sibling(below))])
            case Op.LOOKUP:
                size = rng.randint(1, 6)
                entries = tuple(rng.randint(-20, 20) for _ in range(size))
                return self.made(op, [self._index(first, size)], entries)
            case _:
                raise ValueError(f"no way to make an integer with {op} at its root")

    def _sibling(self, depth: int) -> int:
        """The depth of an argument beside one of `depth`: a little less, mostly."""
        return max(0, depth - self.rng.randint(0, 3))

    def _narrow(self, term: Term) -> Term:
        if max(abs(term.lo), abs(term.hi)).bit_length() <= _BITS:
            return term
        return self.made(Op.MOD, [term, self.constant(1000003)])

    def _divisor(self, depth: int) -> Term:
        """Zero in a fifth of the cases, small of either sign in two fifths."""
        term = self.number(self._sibling(depth))
        wanted = self.rng.choice([None, None, 0, self.rng.choice([-3, -2, -1]), self.rng.choice([1, 2, 3, 5])])
        if wanted is None:
            return term
        return self.made(Op.SUB, [term, self.constant(self.values[term] - wanted)])

    def _index(self, term: Term, size: int) -> Term:
        """Inside the table mostly, at or just over its edges otherwise."""
        wanted = self.rng.choice([self.rng.randrange(size), self.rng.randrange(size), 0, size - 1, size, -1, -2, -size])
        if self.rng.random() < 0.3:
            return self.made(Op.MOD, [term, self.constant(size)])
        return self.made(Op.ADD, [term, self.constant(wanted - self.values[term])])


def cases(seed: int, count: int, bank: TermBank, states: int = 2, roots: Sequence[Op] = ROOTS) -> Iterator[Case]:
    """`count` cases with `states` states each; roots in turn, wanted values of formulas alternating."""
    rng = random.Random(seed)
    for place in range(count):
        op = roots[place % len(roots)]
        state = random_state(rng)
        maker = Maker(rng, bank, state)
        if TABLE[op].result is Sort.BOOL:
            term = maker.formula(DEPTH, wanted=place // len(roots) % 2 == 0, op=op)
        else:
            term = maker.number(DEPTH, op=op)
        yield Case(term, (state, *(_neighbour(rng, state) for _ in range(states - 1))))


def _neighbour(rng: random.Random, state: tuple[int, ...]) -> tuple[int, ...]:
    """The state with one or two fields changed, so that a formula made true or false has a chance to stay so."""
    changed = list(state)
    for variable in rng.sample(VARIABLES, rng.randint(1, 2)):
        changed[variable.index] = _code(rng, variable)
    return tuple(changed)


def depth_of(term: Term) -> int:
    """Levels below the root: a leaf has none."""
    depth: dict[Term, int] = {}
    for part in postorder((term,)):
        depth[part] = 1 + max((depth[arg] for arg in part.args), default=-1)
    return depth[term]


def rebuilt(bank: TermBank, term: Term) -> Term:
    """The same term, built again in another bank (which may simplify it)."""
    done: dict[Term, Term] = {}
    for part in postorder((term,)):
        done[part] = bank.build(part.op, tuple(done[arg] for arg in part.args), part.payload)
    return done[term]
