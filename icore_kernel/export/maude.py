"""Maude: the state is one constructor, each update a conditional rule; shared formulas are matched once in its condition."""

from __future__ import annotations

from collections.abc import Iterator

from icore_kernel.export.expressions import Style, Writer, cut
from icore_kernel.export.model import Invariant, Model, Move
from icore_kernel.export.names import Names, comment, enumerated, words
from icore_kernel.export.symbols import Enumeration
from icore_kernel.system import DomainKind, Field
from icore_kernel.terms.term import Sort, Term

STYLE = Style(
    true="true", false="false", negation="not ", conjunction=" and-then ", disjunction=" or-else ", implies=None, iff=" == ",
    unequal_truth=" =/= ", equal=" == ", unequal=" =/= ", quotient=" quo ", remainder=" rem ", choice="(if {0} then {1} else {2} fi)",
)  # fmt: skip

_RESERVED = words(
    """mod endm fmod endfm omod endom is sort sorts subsort subsorts op ops var vars eq ceq mb cmb rl crl if then else fi true false
    and or not xor implies and-then or-else quo rem abs min max gcd lcm divides s sd modExp State state start ctor memo id assoc comm
    iter ditto strat frozen poly label metadata owise nonexec print format gather prec special in such that search red reduce rew
    Bool Int Nat Zero NzNat NzInt Universal protecting including extending inc pr ex class msg"""
)


def maude(model: Model) -> str:
    """The model as a Maude system module. ExportError when it has no initial state, or too many."""
    return "\n".join(_Maude(model).lines()) + "\n"


class _Maude:
    def __init__(self, model: Model) -> None:
        self._model = model
        names = Names(_RESERVED, "-")
        self._module = names.take(model.system.name, "M")
        self._titles, self._constants = enumerated(names, model.symbols.enumerations)
        self._titles = {enumeration: title[:1].upper() + title[1:] for enumeration, title in self._titles.items()}
        self._fields = [names.take(field.name, "v") for field in model.system.fields]
        self._properties = {invariant: names.take(invariant.name, "p") for invariant in model.invariants}
        self._labels = [names.take(move.title, "u") for move in model.moves]
        self._facts: dict[tuple[int, Sort], str] = {}
        self._names = names
        self._writer = Writer(STYLE, self._fields, model.symbols, self._constant, {})
        self._initial = model.initial_states()

    def _constant(self, enumeration: Enumeration, code: int) -> str:
        return self._constants[enumeration, code]

    def lines(self) -> Iterator[str]:
        system = self._model.system
        rules = [line for label, move in zip(self._labels, self._model.moves, strict=True) for line in self._rule(label, move)]
        properties = [line for invariant in self._model.invariants for line in self._property(invariant)]
        yield f"*** {comment(system.name)} {comment(system.version)}, exported by icore."
        yield "*** Count its states:  search start =>* S:State such that false ."
        yield "*** Look for a violation of one of its invariants:  search [1] start =>* S:State such that not NAME(S:State) ."
        if len(self._initial) > 1:
            yield "*** Maude counts one state more than icore: the one before an initial state is chosen."
        for update, why in self._model.left_out:
            yield f"*** left out: {comment(update)}: {why}"
        yield f"mod {self._module} is"
        yield "  protecting EXT-BOOL ."
        yield "  protecting INT ."
        yield f"  sorts {' '.join(['State', *self._titles.values()])} ."
        for enumeration, title in self._titles.items():
            values = [self._constant(enumeration, code) for code in range(len(enumeration.names))]
            yield f"  op{'s' if len(values) > 1 else ''} {' '.join(values)} : -> {title} [ctor] ."
        yield f"  op state : {' '.join(self._sort(field) for field in system.fields)} -> State [ctor] ."
        yield "  op start : -> State ."
        for field in system.fields:
            yield f"  var {self._fields[field.index]} : {self._sort(field)} . *** {comment(field.name)}"
        for (_, sort), name in self._facts.items():
            yield f"  var {name} : {'Bool' if sort is Sort.BOOL else 'Int'} ."
        yield ""
        for place, state in enumerate(self._initial):
            text = self._state([self._writer.code(field, state[field.index]) for field in system.fields])
            yield f"  eq start = {text} ." if len(self._initial) == 1 else f"  rl [initial-{place + 1}] : start => {text} ."
        yield from rules
        yield from properties
        yield "endm"

    def _state(self, values: list[str]) -> str:
        return f"state({', '.join(values)})"

    def _rule(self, label: str, move: Move) -> Iterator[str]:
        facts, writer = self._matched([move.enabling, move.legal, *(value for _, value in move.writes)])
        # What is cheap is asked first, before anything is matched.
        early = [move.enabling] if not cut([move.enabling]) else []
        late = [move.legal] if early else [move.enabling, move.legal]
        if not facts:
            early, late = [], [move.enabling, move.legal]
        asked = [" and-then ".join(self._writer.conjuncts(*early)), *facts, " and-then ".join(writer.conjuncts(*late))]
        conditions = [condition for condition in asked if condition]
        after = list(self._fields)
        for field, value in move.writes:
            after[field.index] = writer.text(value, self._model.symbols.of_field(field))
        yield f"  {'crl' if conditions else 'rl'} [{label}] : *** {comment(move.title)}"
        yield f"    {self._state(self._fields)}"
        yield f"    => {self._state(after)}" + ("" if conditions else " .")
        if conditions:
            yield "    if " + "\n    /\\ ".join(conditions) + " ."

    def _matched(self, roots: list[Term]) -> tuple[list[str], Writer]:
        """Conditions that match what is shared to variables, and the writer that knows these."""
        known: dict[Term, str] = {}
        conditions: list[str] = []
        for number, term in enumerate(cut(roots)):
            name = self._fact(number, term.sort)
            conditions.append(f"{name} := {self._writer.knowing(known).body(term)}")
            known[term] = name
        return conditions, self._writer.knowing(known)

    def _fact(self, number: int, sort: Sort) -> str:
        """The name of the variable of this sort that is used `number`-th in a condition."""
        known = self._facts.get((number, sort))
        if known is None:
            known = self._facts[number, sort] = self._names.take(f"{'fact' if sort is Sort.BOOL else 'number'}-{number + 1}")
        return known

    def _property(self, invariant: Invariant) -> Iterator[str]:
        name = self._properties[invariant]
        facts, writer = self._matched([invariant.formula])
        sought = ": where it is false, a run is found" if invariant.sought else ""
        yield f"  op {name} : State -> Bool . *** {invariant.what} {comment(invariant.name)}{sought}"
        condition = "\n    if " + "\n    /\\ ".join(facts) if facts else ""
        yield f"  {'ceq' if facts else 'eq'} {name}({self._state(self._fields)}) = {writer.text(invariant.formula)}{condition} ."

    def _sort(self, field: Field) -> str:
        if field.domain.kind is DomainKind.BOOL:
            return "Bool"
        about = self._model.symbols.of_field(field)
        return "Int" if about is None else self._titles[about]
