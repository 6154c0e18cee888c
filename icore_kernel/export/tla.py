"""TLC: one module; enumerations are strings, each update an action."""

from __future__ import annotations

import re
from collections.abc import Iterator

from icore_kernel.export.expressions import Style, Writer, cut
from icore_kernel.export.model import Model, Move
from icore_kernel.export.names import Names, comment, quoted, words
from icore_kernel.export.symbols import Enumeration
from icore_kernel.system import DomainKind, Field, System
from icore_kernel.terms.term import Term

STYLE = Style(
    true="TRUE", false="FALSE", negation="~", conjunction=" /\\ ", disjunction=" \\/ ", implies=" => ", iff=" <=> ", unequal_truth=" # ",
    equal=" = ", unequal=" # ", quotient=" \\div ", remainder=" % ", choice="(IF {0} THEN {1} ELSE {2})", member="{0} \\in {{{1}}}",
)  # fmt: skip

_RESERVED = words(
    """ACTION ASSUME ASSUMPTION AXIOM BY CASE CHOOSE CONSTANT CONSTANTS COROLLARY DEF DEFINE DEFS DOMAIN ELSE ENABLED EXCEPT EXTENDS
    HAVE HIDE IF IN INSTANCE LAMBDA LEMMA LET LOCAL MODULE NEW OBVIOUS OMITTED ONLY OTHER PICK PROOF PROPOSITION PROVE QED RECURSIVE
    SF_ WF_ STATE SUBSET SUFFICES TAKE TEMPORAL THEN THEOREM UNCHANGED UNION USE VARIABLE VARIABLES WITH WITNESS BOOLEAN STRING TRUE
    FALSE Int Nat Init Next Spec vars TypeOK Integers Naturals"""
)


def module_name(system: System) -> str:
    """The module's name, which its file must have (with `.tla`)."""
    name = re.sub(r"[^A-Za-z0-9_]", "_", system.name)
    return name if name[:1].isalpha() else f"M{name}"


def configuration(model: Model) -> str:
    """The text of the `.cfg` file that TLC reads beside the module."""
    tla = _Tla(model)
    checked = [f"INVARIANT {name}" for invariant, name in tla.properties.items() if not invariant.sought]
    return "\n".join(["SPECIFICATION Spec", "CHECK_DEADLOCK FALSE", *checked]) + "\n"


def tla(model: Model) -> str:
    """The model as a TLA+ module, with TLC's configuration in its first comment."""
    return "\n".join(_Tla(model).lines()) + "\n"


class _Tla:
    def __init__(self, model: Model) -> None:
        self._model = model
        names = Names(_RESERVED | {module_name(model.system)})
        self._fields = [names.take(field.name, "v") for field in model.system.fields]
        self.properties = {invariant: names.take(invariant.name, "P") for invariant in model.invariants}
        self._actions = [names.take(move.title, "A") for move in model.moves]
        self._cut = cut(model.terms(), model.clauses)
        self._known = {term: names.take(model.clauses.get(term, f"Fact_{n + 1}"), "C") for n, term in enumerate(self._cut)}
        self._writer = Writer(STYLE, self._fields, model.symbols, _constant, self._known)

    def lines(self) -> Iterator[str]:
        system = self._model.system
        yield f"---- MODULE {module_name(system)} ----"
        yield f"\\* {comment(system.name)} {comment(system.version)}, exported by icore."
        yield f"\\* Count its states: java -jar tla2tools.jar -workers 1 {module_name(system)}.tla, with {module_name(system)}.cfg:"
        yield from (f"\\*   {line}" for line in configuration(self._model).splitlines())
        for update, why in self._model.left_out:
            yield f"\\* left out: {comment(update)}: {why}"
        yield "EXTENDS Integers"
        yield ""
        for place, field in enumerate(system.fields):
            yield f"VARIABLE {self._fields[place]} \\* {comment(field.name)}"
        yield ""
        yield f"vars == <<{', '.join(self._fields)}>>"
        yield ""
        yield "TypeOK =="
        yield from (f"  /\\ {self._fields[field.index]} \\in {self._domain(field)}" for field in system.fields)
        yield ""
        yield from self._facts()
        yield "Init =="
        free = set(system.free)
        for field in system.fields:
            name = self._fields[field.index]
            if field in free:
                yield f"  /\\ {name} \\in {self._domain(field)}"
            else:
                yield f"  /\\ {name} = {self._writer.code(field, system.initial[field.index])}"
        yield from (f"  /\\ {part}" for part in self._writer.conjuncts(self._model.initially))
        yield ""
        for name, move in zip(self._actions, self._model.moves, strict=True):
            yield from self._action(name, move)
        yield "Next =="
        yield from [f"  \\/ {name}" for name in self._actions] or ["  FALSE /\\ UNCHANGED vars"]
        yield ""
        yield "Spec == Init /\\ [][Next]_vars"
        yield ""
        for invariant, name in self.properties.items():
            yield f"\\* {invariant.what} {comment(invariant.name)}" + (": a counterexample is a run to it" if invariant.sought else "")
            yield f"{name} == {self._writer.text(invariant.formula)}"
        yield "===="

    def _facts(self) -> Iterator[str]:
        for term in self._cut:
            note = self._model.clauses.get(term)
            if note is not None:
                yield f"\\* {comment(note)}"
            yield f"{self._known[term]} == {self._writer.body(term)}"
        yield ""

    def _action(self, name: str, move: Move) -> Iterator[str]:
        yield f"\\* {comment(move.title)}"
        yield f"{name} =="
        yield from (f"  /\\ {part}" for part in self._writer.conjuncts(move.enabling, move.legal))
        for field, value in move.writes:
            yield f"  /\\ {self._fields[field.index]}' = {self._assigned(field, value)}"
        written = {field.index for field, _ in move.writes}
        kept = [self._fields[field.index] for field in self._model.system.fields if field.index not in written]
        if kept:
            yield f"  /\\ UNCHANGED <<{', '.join(kept)}>>"
        yield ""

    def _assigned(self, field: Field, value: Term) -> str:
        return self._writer.inner(value, self._model.symbols.of_field(field))

    def _domain(self, field: Field) -> str:
        if field.domain.kind is DomainKind.BOOL:
            return "BOOLEAN"
        about = self._model.symbols.of_field(field)
        if about is None:
            return f"({field.domain.lo})..{field.domain.hi}" if field.domain.lo < 0 else f"{field.domain.lo}..{field.domain.hi}"
        return f"{{{', '.join(_constant(about, code) for code in range(len(about.names)))}}}"


def _constant(enumeration: Enumeration, code: int) -> str:
    return f'"{quoted(enumeration.names[code])}"'
