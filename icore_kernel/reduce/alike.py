"""Whether a formula, with names exchanged, says the same as another: by form, else by trying all values, else by Z3.

By form means: equal after sorting what commutes. Each term gets a number under each action; equal numbers, equal meaning.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from math import prod

from icore_kernel.meaning.scalar import compile_terms
from icore_kernel.reduce.renaming import Action, Codes
from icore_kernel.system import System
from icore_kernel.terms.node import Term, conjuncts, postorder
from icore_kernel.terms.table import Op, Payload
from icore_kernel.terms.term import TermBank, substitute

Values = tuple[tuple[str, str], ...]

_SORTED = frozenset({Op.AND, Op.OR, Op.IFF, Op.EQ, Op.ADD, Op.MUL, Op.MIN, Op.MAX})
_ONCE = frozenset({Op.AND, Op.OR, Op.MIN, Op.MAX})
_TRIED = 4096
"""With so many valuations of what two formulas read, trying them all is quicker than importing a solver."""
_TIMEOUT_MS = 3_000

Part = tuple[object, ...]


class Forms:
    """Numbers of terms as they look under an action. `None` is the action that changes nothing."""

    def __init__(self) -> None:
        self._numbers: dict[Part, int] = {}
        self._memos: dict[int, dict[Term, int]] = {}
        self._acting: dict[int, Action] = {}

    def number(self, term: Term, action: Action | None = None) -> int:
        memo = self._memo(action)
        known = memo.get(term)
        if known is not None:
            return known
        for inner in postorder([term], memo):
            memo[inner] = self._intern(self._form(inner, action, memo))
        return memo[term]

    def written(self, value: Term, codes: Codes | None, action: Action) -> int:
        """The number of a value of a field, recoded as the field's values are."""
        if codes is None:
            return self.number(value, action)
        match value.op:
            case Op.CONST if 0 <= value.value < len(codes):
                return self._intern((Op.CONST, False, codes[value.value]))
            case Op.FIELD if action.codes[value.variable.index] == codes:
                return self._intern((Op.FIELD, action.places[value.variable.index]))
            case Op.ITE:
                condition, yes, no = value.args
                branches = (self.written(yes, codes, action), self.written(no, codes, action))
                return self._intern((Op.ITE, None, self.number(condition, action), *branches))
            case _:
                return self._intern(("recoded", codes, self.number(value, action)))

    def _memo(self, action: Action | None) -> dict[Term, int]:
        key = 0 if action is None else id(action)
        if action is not None:
            self._acting[key] = action  # so that the number stays its own
        return self._memos.setdefault(key, {})

    def _intern(self, form: Part) -> int:
        return self._numbers.setdefault(form, len(self._numbers))

    def _form(self, term: Term, action: Action | None, memo: dict[Term, int]) -> Part:
        """The operator, its payload, and the numbers of its arguments."""
        op, args = term.op, term.args
        if op is Op.CONST:
            return (op, isinstance(term.payload, bool), term.value)
        if op is Op.FIELD:
            index = term.variable.index
            if action is None:
                return (op, index)
            codes = action.codes[index]
            place = (op, action.places[index])
            return place if codes is None else ("decoded", codes, self._intern(place))
        payload: Payload = term.payload
        if op is Op.LOOKUP:
            payload = _padded(term)
        if action is not None and args and args[0].op is Op.FIELD:
            coded = self._of_codes(term, action)
            if coded is not None:
                return coded
        numbers = [memo[arg] for arg in args]
        if op in _ONCE:
            numbers = list(set(numbers))
        if op in _SORTED:
            numbers.sort()
        return (op, payload, *numbers)

    def _of_codes(self, term: Term, action: Action) -> Part | None:
        """Of a field whose codes move: what is said of its code, said of the code it goes to."""
        first = term.args[0].variable.index
        codes = action.codes[first]
        if codes is None:
            return None
        place = self._intern((Op.FIELD, action.places[first]))
        match term.op:
            case Op.EQ if term.args[1].op is Op.CONST and 0 <= term.args[1].value < len(codes):
                constant = self._intern((Op.CONST, False, codes[term.args[1].value]))
                return (Op.EQ, None, *sorted((place, constant)))
            case Op.EQ if term.args[1].op is Op.FIELD and action.codes[term.args[1].variable.index] == codes:
                other = self._intern((Op.FIELD, action.places[term.args[1].variable.index]))
                return (Op.EQ, None, *sorted((place, other)))
            case Op.MEMBER:
                return (Op.MEMBER, frozenset(codes[v] for v in term.members if 0 <= v < len(codes)), place)
            case Op.LOOKUP:
                entries = _padded(term)
                moved = [0] * len(codes)
                for code, to in enumerate(codes):
                    moved[to] = entries[code]
                return (Op.LOOKUP, tuple(moved), place)
            case _:
                return None


def _padded(term: Term) -> tuple[int, ...]:
    """The entries of a lookup, one for every value that its argument can have, no more (outside the table they are 0)."""
    argument = term.args[0]
    if argument.op is not Op.FIELD or argument.lo != 0:
        return term.entries
    entries = term.entries[: argument.hi + 1]
    return entries + (0,) * (argument.hi + 1 - len(entries))


class Alike:
    """Questions about one system."""

    def __init__(self, system: System, bank: TermBank) -> None:
        self.system = system
        self.bank = bank
        self.forms = Forms()
        self.differs: Values = ()
        """Where the last two formulas that were found different are so."""
        self._images: dict[int, tuple[Action, dict[int, Term], dict[Term, Term]]] = {}

    def image(self, term: Term, action: Action) -> Term:
        """The formula that says of the state with names exchanged what `term` says of the state."""
        found = self._images.get(id(action))
        if found is None:
            found = self._images[id(action)] = (action, self._inverse(action), {})
        return substitute(self.bank, term, found[1], found[2])

    def _inverse(self, action: Action) -> dict[int, Term]:
        bank = self.bank
        mapping: dict[int, Term] = {}
        for i, (place, codes) in enumerate(zip(action.places, action.codes, strict=True)):
            if place == i and codes is None:
                continue
            variable = self.system.fields[place].term(bank)
            if codes is not None:
                back = [0] * len(codes)
                for code, to in enumerate(codes):
                    back[to] = code
                variable = bank.lookup(variable, back)
            mapping[i] = variable
        return mapping

    def same(self, term: Term, other: Term, action: Action, codes: Codes | None = None) -> bool:
        """Whether `term` with names exchanged equals `other` in every state; recoded by `codes` first, where a field is written."""
        if self.forms.written(term, codes, action) == self.forms.number(other):
            return True
        image = self.image(term, action)
        return self._equal(image if codes is None else self.bank.lookup(image, codes), other)

    def same_conjunction(self, terms: Iterable[Term], others: Iterable[Term], action: Action) -> bool:
        """The same of two conjunctions; only the parts that have no counterpart by form are looked at further."""
        left = {self.forms.number(part, action): part for term in terms for part in conjuncts(term)}
        right = {self.forms.number(part): part for term in others for part in conjuncts(term)}
        if left.keys() == right.keys():
            return True
        bank = self.bank
        mine = [self.image(part, action) for number, part in left.items() if number not in right]
        yours = [part for number, part in right.items() if number not in left]
        if self._equal(bank.conj(mine), bank.conj(yours)):
            return True
        whole = bank.conj(self.image(part, action) for part in left.values())
        return self._equal(whole, bank.conj(right.values()))

    def _equal(self, a: Term, b: Term) -> bool:
        """In every state of the domains. False, too, where that could not be shown."""
        self.differs = ()
        if a is b:
            return True
        same = self.bank.eq(a, b)
        if same.is_true:
            return True
        read = [f for f in self.system.fields if same.reads >> f.index & 1]
        state = {f.index: f.domain.lo for f in self.system.fields}
        if prod(f.domain.size for f in read) <= _TRIED:
            holds = compile_terms([same])
            for codes in product(*(range(f.domain.lo, f.domain.hi + 1) for f in read)):
                state.update(zip((f.index for f in read), codes, strict=True))
                if not holds(tuple(state.values()))[0]:
                    return self._different(same, state)
            return True
        from icore_kernel.meaning.smt import Encoder, Question, Result

        answer = Question(Encoder()).ask([], same, _TIMEOUT_MS)
        if answer.result is Result.SAT and answer.state is not None:
            return self._different(same, {**state, **answer.state})
        return answer.result is Result.UNSAT

    def _different(self, same: Term, state: dict[int, int]) -> bool:
        read = [f for f in self.system.fields if same.reads >> f.index & 1]
        self.differs = tuple((f.name, f.domain.show(state[f.index])) for f in read[:8])
        return False
