"""Murphi (rumur): one rule an update; a large guard is computed in the rule, which then does nothing where it is not legal."""

from __future__ import annotations

from collections.abc import Iterator

from icore_kernel.export.expressions import Style, Writer, cut, tree_size
from icore_kernel.export.model import Invariant, Model, Move, in_sequence
from icore_kernel.export.names import Names, comment, enumerated, quoted, words
from icore_kernel.export.symbols import Enumeration
from icore_kernel.system import DomainKind, Field
from icore_kernel.terms.term import Sort, Term

STYLE = Style(
    true="true", false="false", negation="!", conjunction=" & ", disjunction=" | ", implies=" -> ", iff=" = ", unequal_truth=" != ",
    equal=" = ", unequal=" != ", quotient=" / ", remainder=" % ", choice="({0} ? {1} : {2})",
)  # fmt: skip

_RESERVED = words(
    """alias array assert assume begin boolean by case clear const cover do else elsif end endalias endexists endfor endforall
    endfunction endif endprocedure endrecord endrule endruleset endstartstate endswitch endwhile enum error exists false for forall
    from function if in interleaved invariant isundefined ismember liveness log multiset multisetadd multisetcount multisetremove of
    procedure process program put record return rule ruleset scalarset startstate switch then to traceuntil true type undefine union
    var while choose main new register"""
)

_MOST = 600
"""Nodes of a formula that is written in one piece."""


def murphi(model: Model) -> str:
    """The model in Murphi. ExportError when it has no initial state, or too many."""
    return "\n".join(_Murphi(model).lines()) + "\n"


class _Murphi:
    def __init__(self, model: Model) -> None:
        self._model = model
        names = Names(_RESERVED)
        self._titles, self._constants = enumerated(names, model.symbols.enumerations)
        self._fields = [names.take(field.name, "v") for field in model.system.fields]
        self._writer = Writer(STYLE, self._fields, model.symbols, self._constant, {})
        self._names = names
        self._locals: list[str] = []
        self._initial = model.initial_states()

    def _constant(self, enumeration: Enumeration, code: int) -> str:
        return self._constants[enumeration, code]

    def lines(self) -> Iterator[str]:
        system = self._model.system
        yield f"-- {comment(system.name)} {comment(system.version)}, exported by icore."
        yield "-- Count its states: rumur --deadlock-detection off --value-type int32_t --output pan.c MODEL"
        yield "--                   gcc -O3 -mcx16 -o pan pan.c -lpthread -latomic; ./pan"
        for update, why in self._model.left_out:
            yield f"-- left out: {comment(update)}: {why}"
        if self._titles:
            yield "type"
        for enumeration, title in self._titles.items():
            values = ", ".join(self._constant(enumeration, code) for code in range(len(enumeration.names)))
            yield f"  {title}: enum {{ {values} }};"
        yield "var"
        for field in system.fields:
            yield f"  {self._fields[field.index]}: {self._domain(field)}; -- {comment(field.name)}"
        yield ""
        invariants = [line for invariant in self._model.invariants for line in self._invariant(invariant)]
        for place, state in enumerate(self._initial):
            yield f'startstate "initial {place + 1}"'
            yield "begin"
            yield from (f"  {self._fields[f.index]} := {self._writer.code(f, state[f.index])};" for f in system.fields)
            yield "end;"
        for move in self._model.moves:
            yield from self._rule(move)
        yield from invariants

    def _invariant(self, invariant: Invariant) -> Iterator[str]:
        yield ""
        formula = self._writer.text(invariant.formula) if tree_size([invariant.formula], _MOST) <= _MOST else ""
        if not formula:
            name = self._names.take(f"holds_{invariant.name}")
            steps, local, writer = self._local([invariant.formula])
            yield f"function {name}(): boolean;"
            yield from self._declared(local)
            yield "begin"
            yield from (f"  {step};" for step in steps)
            yield f"  return {writer.text(invariant.formula)};"
            yield "end;"
            formula = f"{name}()"
        if invariant.sought:
            # Murphi stops at the first violation, so that what is only looked for is left to whoever wants it.
            yield "-- looked for: as an invariant it is violated exactly when it is reachable"
        yield f'{"-- " if invariant.sought else ""}invariant "{quoted(invariant.name)}" {formula};'

    def _rule(self, move: Move) -> Iterator[str]:
        yield ""
        yield f'rule "{quoted(move.title)}"'
        roots = [move.enabling, move.legal, *(value for _, value in move.writes)]
        if tree_size(roots, _MOST) <= _MOST:
            yield from self._guard(move.enabling, move.legal)
            assignments, local = self._assignments(move, self._writer)
            yield "==>"
            yield from self._declared(local)
            yield "begin"
            yield from (f"  {assignment};" for assignment in assignments)
            yield "end;"
            return
        plain = tree_size([move.enabling], _MOST) <= _MOST
        yield from self._guard(*([move.enabling] if plain else []))
        steps, local, writer = self._local(roots)
        assignments, more = self._assignments(move, writer)
        yield "==>"
        yield from self._declared([*local, *more])
        yield "begin"
        yield from (f"  {step};" for step in steps)
        legal = writer.conjuncts(*([] if plain else [move.enabling]), move.legal)
        yield "  if " + "\n    & ".join(legal or ["true"]) + " then"
        yield from (f"    {assignment};" for assignment in assignments)
        yield "  end;"
        yield "end;"

    def _guard(self, *terms: Term) -> Iterator[str]:
        yield "  " + "\n  & ".join(self._writer.conjuncts(*terms) or ["true"])

    def _local(self, roots: list[Term]) -> tuple[list[str], list[str], Writer]:
        """Assignments of what is shared to local variables, their declarations, and the writer that knows them."""
        known: dict[Term, str] = {}
        steps: list[str] = []
        declared: list[str] = []
        for number, term in enumerate(cut(roots)):
            name = self._shared(number)
            kind = "boolean" if term.sort is Sort.BOOL else f"{term.lo}..{term.hi}"
            declared.append(f"{name}: {kind}")
            steps.append(f"{name} := {self._writer.knowing(known).body(term)}")
            known[term] = name
        return steps, declared, self._writer.knowing(known)

    def _shared(self, number: int) -> str:
        while number >= len(self._locals):
            self._locals.append(self._names.take(f"t_{len(self._locals) + 1}"))
        return self._locals[number]

    def _declared(self, local: list[str]) -> Iterator[str]:
        if local:
            yield "var"
            yield from (f"  {declaration};" for declaration in local)

    def _assignments(self, move: Move, writer: Writer) -> tuple[list[str], list[str]]:
        """The writes in sequence, and the declarations of what must be computed beforehand."""
        first, rest = in_sequence(move.writes)
        kept = [self._names.take(f"new_{self._fields[field.index]}") for field, _ in first]
        steps = [f"{name} := {self._assigned(writer, field, value)}" for name, (field, value) in zip(kept, first, strict=True)]
        steps += [f"{self._fields[field.index]} := {self._assigned(writer, field, value)}" for field, value in rest]
        steps += [f"{self._fields[field.index]} := {name}" for name, (field, _) in zip(kept, first, strict=True)]
        return steps, [f"{name}: {self._domain(field)}" for name, (field, _) in zip(kept, first, strict=True)]

    def _assigned(self, writer: Writer, field: Field, value: Term) -> str:
        return writer.text(value, self._model.symbols.of_field(field))

    def _domain(self, field: Field) -> str:
        if field.domain.kind is DomainKind.BOOL:
            return "boolean"
        about = self._model.symbols.of_field(field)
        return f"{field.domain.lo}..{field.domain.hi}" if about is None else self._titles[about]
