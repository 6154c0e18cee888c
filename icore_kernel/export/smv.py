"""NuSMV and nuXmv: an input variable chooses the update; what is not enabled changes nothing."""

from __future__ import annotations

from collections.abc import Iterator

from icore_kernel.export.expressions import Style, Writer, cut
from icore_kernel.export.model import Model
from icore_kernel.export.names import Names, comment, enumerated, words
from icore_kernel.export.symbols import Enumeration
from icore_kernel.system import DomainKind, Field
from icore_kernel.terms.term import Term

STYLE = Style(
    true="TRUE", false="FALSE", negation="!", conjunction=" & ", disjunction=" | ", implies=" -> ", iff=" <-> ", unequal_truth=" xor ",
    equal=" = ", unequal=" != ", quotient=" / ", remainder=" mod ", choice="({0} ? {1} : {2})", member="{0} in {{{1}}}",
)  # fmt: skip

_RESERVED = words(
    """MODULE DEFINE MDEFINE CONSTANTS VAR IVAR FROZENVAR INIT TRANS INVAR SPEC CTLSPEC LTLSPEC PSLSPEC COMPUTE NAME INVARSPEC FAIRNESS
    JUSTICE COMPASSION ISA ASSIGN CONSTRAINT SIMPWFF CTLWFF LTLWFF PSLWFF COMPWFF IN MIN MAX MIRROR PRED PREDICATES process array of
    boolean integer real word word1 bool signed unsigned extend resize sizeof uwconst swconst EX AX EF AF EG AG E F O G H X Y Z A U S V T
    BU EBF ABF EBG ABG case esac mod next init union in xor xnor self TRUE FALSE count abs max min floor toint main step idle
    clock time noncontinuous asynchronous"""
)


def smv(model: Model) -> str:
    """The model as an SMV module `main`."""
    return "\n".join(_Smv(model).lines()) + "\n"


class _Smv:
    def __init__(self, model: Model) -> None:
        self._model = model
        names = Names(_RESERVED)
        _, self._constants = enumerated(names, model.symbols.enumerations)
        self._fields = [names.take(field.name, "v") for field in model.system.fields]
        self._properties = {invariant: names.take(invariant.name, "p") for invariant in model.invariants}
        self._moves = [names.take(move.title, "u") for move in model.moves]
        self._guards = [names.take(f"can_{name}") for name in self._moves]
        self._cut = cut(model.terms(), model.clauses)
        self._known = {term: names.take(model.clauses.get(term, f"fact_{n + 1}"), "c") for n, term in enumerate(self._cut)}
        self._writer = Writer(STYLE, self._fields, model.symbols, self._constant, self._known)

    def _constant(self, enumeration: Enumeration, code: int) -> str:
        return self._constants[enumeration, code]

    def lines(self) -> Iterator[str]:
        system = self._model.system
        yield f"-- {comment(system.name)} {comment(system.version)}, exported by icore."
        yield "-- Count its states: NuSMV -int; then  go; print_reachable_states"
        for update, why in self._model.left_out:
            yield f"-- left out: {comment(update)}: {why}"
        yield "MODULE main"
        yield "VAR"
        for field in system.fields:
            yield f"  {self._fields[field.index]} : {self._domain(field)}; -- {comment(field.name)}"
        yield "IVAR"
        yield f"  step : {{{', '.join(['idle', *self._moves])}}};"
        if self._cut or self._moves:
            yield "DEFINE"
        for term in self._cut:
            note = self._model.clauses.get(term)
            yield f"  {self._known[term]} := {self._writer.body(term)};" + (f" -- {comment(note)}" if note is not None else "")
        for name, move in zip(self._guards, self._model.moves, strict=True):
            guard = " & ".join(self._writer.conjuncts(move.enabling, move.legal)) or "TRUE"
            yield f"  {name} := {guard}; -- {comment(move.title)}"
        yield from self._initial()
        yield from self._steps()
        for invariant, name in self._properties.items():
            yield f"-- {invariant.what} {comment(invariant.name)}" + (": a counterexample is a run to it" if invariant.sought else "")
            yield f"INVARSPEC NAME {name} := {self._writer.text(invariant.formula)};"

    def _initial(self) -> Iterator[str]:
        system = self._model.system
        free = set(system.free)
        yield "ASSIGN"
        for field in system.fields:
            if field not in free:
                yield f"  init({self._fields[field.index]}) := {self._writer.code(field, system.initial[field.index])};"
        if not self._model.initially.is_true:
            yield f"INIT {self._writer.text(self._model.initially)};"

    def _steps(self) -> Iterator[str]:
        """`next(x) := …` where every value is of the domain whatever the state; `TRANS` where only the guard makes it so."""
        values: dict[int, list[tuple[str, Term]]] = {}
        for name, guard, move in zip(self._moves, self._guards, self._model.moves, strict=True):
            for field, value in move.writes:
                values.setdefault(field.index, []).append((f"step = {name} & {guard}", value))
        for field in self._model.system.fields:
            name = self._fields[field.index]
            given = values.get(field.index, [])
            inside = all(field.domain.lo <= value.lo and value.hi <= field.domain.hi for _, value in given)
            about = self._model.symbols.of_field(field)
            cases = [f"    {when} : {self._writer.text(v, about)};" for when, v in given]
            yield "ASSIGN" if inside else "TRANS"
            yield f"  next({name}) {':=' if inside else '='}"
            if cases:
                yield "  case"
                yield from cases
                yield f"    TRUE : {name};"
                yield "  esac;"
            else:
                yield f"    {name};"

    def _domain(self, field: Field) -> str:
        if field.domain.kind is DomainKind.BOOL:
            return "boolean"
        about = self._model.symbols.of_field(field)
        if about is None:
            return f"{field.domain.lo}..{field.domain.hi}"
        return f"{{{', '.join(self._constant(about, code) for code in range(len(about.names)))}}}"
