"""The coordinates of the semantic state: every slot a package has, which of them can change, and their terms.

A slot that nothing writes and that starts with one value is that value everywhere: it becomes no field (slicing), and is
reported. Keys are tuples whose first item names the kind.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from icore_dsl.mistakes import G006
from icore_kernel.ground.values import Algebra, Choice, Element, GroundingError, Quantity, SetValue, Value, show_value
from icore_kernel.system import Domain, DomainKind, Due, Field
from icore_kernel.terms.node import Term

Key = tuple[object, ...]


class Free:
    """The mark of a slot that starts anywhere in its domain."""


FREE = Free()


@dataclass(frozen=True, slots=True)
class Slot:
    """values: the domain in order. `initial`: one of them, or FREE. `shown`: whether runs print its changes."""

    key: Key
    name: str
    values: tuple[Value, ...]
    initial: Value | Free
    shown: bool = True


class Slots:
    """All slots; after `freeze` the ones that can change are fields."""

    def __init__(self, algebra: Algebra) -> None:
        self.algebra = algebra
        self.known: dict[Key, Slot] = {}
        self.written: set[Key] = set()
        self.fields: list[Field] = []
        self.free: list[Field] = []
        self.initial: list[int] = []
        self._values: dict[Key, Value] = {}
        self._field_of: dict[Key, Field] = {}
        self._terms: dict[Key, Term] = {}
        self.sliced: list[str] = []
        self.place: dict[Key, int] = {}
        self.owner: dict[int, Element] = {}
        """field index -> the input or artifact it belongs to."""
        self._of: dict[tuple[object, object], list[Key]] = {}
        self._parts: dict[Key, list[Key]] = {}

    def declare(self, slot: Slot) -> None:
        if not slot.values:
            raise GroundingError(G006, f"{slot.name} has an empty domain")
        if not isinstance(slot.initial, Free) and slot.initial not in slot.values:
            raise GroundingError(G006, f"{slot.name} starts as {show_value(slot.initial)}, which is not one of its values")
        self.place[slot.key] = len(self.known)
        self.known[slot.key] = slot
        self._of.setdefault(slot.key[:2], []).append(slot.key)  # type: ignore[arg-type]
        self._parts.setdefault(slot.key[:-1], []).append(slot.key)

    def keys_of(self, kind: str, element: object) -> list[Key]:
        """The slots of one kind that belong to one element, in order."""
        return self._of.get((kind, element), [])

    def parts(self, key: Key) -> list[Key]:
        """The slots of a set-valued field: one a possible element."""
        return self._parts.get(key, [])

    def freeze(self) -> None:
        """Give every slot that can change a field, in order of declaration; the others their constant value."""
        for key, slot in self.known.items():
            if key not in self.written and not isinstance(slot.initial, Free):
                self._values[key] = slot.initial
                self.sliced.append(slot.name)
                continue
            self.add(slot)

    def add(self, slot: Slot) -> None:
        """Make a declared slot a field."""
        key = slot.key
        index = len(self.fields)
        domain = domain_of(slot.values)
        field = Field(slot.name, domain, index, slot.shown, str(key[0]), _owner(key))
        term = self.algebra.bank.variable(slot.name, index, domain.lo, domain.hi, domain.kind is DomainKind.BOOL)
        self.fields.append(field)
        self._field_of[key] = field
        self._terms[key] = term
        if key[0] in {"artifact", "afield", "ifield"} and isinstance(key[1], Element):
            self.owner[index] = key[1]
        if isinstance(slot.initial, Free):
            self.free.append(field)
            self.initial.append(domain.lo)
        else:
            self.initial.append(code_of(slot.values, domain, slot.initial))
        self._values[key] = read(self.algebra, term, slot.values, domain)

    def has(self, key: Key) -> bool:
        return key in self.known

    def value(self, key: Key) -> Value:
        """The slot's value in the state, constant or dynamic."""
        return self._values[key]

    def field(self, key: Key) -> Field | None:
        return self._field_of.get(key)

    def term(self, key: Key) -> Term | None:
        """The variable of the slot's field; None where it is constant."""
        return self._terms.get(key)

    def truth(self, key: Key) -> Term:
        return self.algebra.boolean(self._values[key])

    def encode(self, key: Key, value: Value) -> tuple[Term, Term, Due | None]:
        """A value as the code term to write into the slot's field, the condition under which it is in the domain, and of a
        number the number itself."""
        slot, field = self.known[key], self._field_of[key]
        bank, domain = self.algebra.bank, field.domain
        if domain.kind is DomainKind.BOOL:
            return self.algebra.boolean(value), bank.true, None
        if domain.kind is DomainKind.INT:
            q = self.algebra.quantity(value)
            whole = bank.eq(bank.mod(q.num, q.den), bank.integer(0))
            number = q.num if q.den is bank.integer(1) else bank.floordiv(q.num, q.den)
            inside = bank.and_(whole, bank.le(bank.integer(domain.lo), number), bank.le(number, bank.integer(domain.hi)))
            return (number if inside.is_true else bank.ite(inside, number, bank.integer(domain.lo))), inside, Due(q.num, q.den)
        if isinstance(value, Quantity):
            same = [self.algebra.boolean(self.algebra.equal(value, v)) for v in slot.values]
            code = bank.integer(domain.lo)
            for i, here in enumerate(same):
                code = bank.ite(here, bank.integer(i), code)
            return code, bank.disj(same), Due(value.num, value.den)
        if not isinstance(value, SetValue):
            choice = self.algebra.as_choice(value)
            codes = [i for i, v in enumerate(choice.domain) if v in slot.values]
            inside = bank.member(choice.term, codes) if codes else bank.false
            return self.algebra.recode(choice, slot.values), inside, None
        raise GroundingError(G006, f"{slot.name} cannot hold {value!r}")


def _owner(key: Key) -> str:
    """`report` of report(unit).passed, `needs` of needs(p, q), `done` of done(unit)."""
    return str(key[1]).partition("(")[0]


def domain_of(values: tuple[Value, ...]) -> Domain:
    """BOOL for (false, true); INT for consecutive integers; else an enumeration of the printed values."""
    if values == (False, True) and all(isinstance(v, bool) for v in values):
        return Domain(DomainKind.BOOL, 0, 1)
    if values and all(isinstance(v, Fraction) and v.denominator == 1 for v in values):
        numbers = [int(v) for v in values if isinstance(v, Fraction)]
        if numbers == list(range(numbers[0], numbers[0] + len(numbers))):
            return Domain(DomainKind.INT, numbers[0], numbers[-1])
    return Domain(DomainKind.ENUM, 0, len(values) - 1, tuple(show_value(v) for v in values))


def code_of(values: tuple[Value, ...], domain: Domain, value: Value) -> int:
    if domain.kind is DomainKind.INT and isinstance(value, Fraction):
        return int(value)
    if domain.kind is DomainKind.BOOL:
        return int(value is True)
    for i, known in enumerate(values):
        if type(known) is type(value) and known == value:
            return i
    raise GroundingError(G006, f"{show_value(value)} is not in the domain {', '.join(map(show_value, values))}")


def read(algebra: Algebra, term: Term, values: tuple[Value, ...], domain: Domain) -> Value:
    match domain.kind:
        case DomainKind.BOOL:
            return term
        case DomainKind.INT:
            return Quantity(term, algebra.bank.integer(1))
        case DomainKind.ENUM:
            return Choice(term, values)
