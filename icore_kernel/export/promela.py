"""SPIN: one process, one loop, one `d_step` an update, so that the stored states are those of the package."""

from __future__ import annotations

from collections.abc import Iterator

from icore_kernel.export.expressions import Style, Writer, cut, tree_size
from icore_kernel.export.model import Model, Move, in_sequence
from icore_kernel.export.names import Names, comment, enumerated, words
from icore_kernel.export.symbols import Enumeration
from icore_kernel.system import DomainKind, Field
from icore_kernel.terms.term import Sort, Term

STYLE = Style(
    true="true", false="false", negation="!", conjunction=" && ", disjunction=" || ", implies=None, iff=" == ", unequal_truth=" != ",
    equal=" == ", unequal=" != ", quotient=" / ", remainder=" % ", choice="({0} -> {1} : {2})",
)  # fmt: skip

_RESERVED = words(
    """active assert atomic bit bool break byte c_code c_decl c_expr c_state c_track chan do d_step d_proctype eval else empty
    enabled end false fi for full get_priority goto hidden if in init int inline len local ltl mtype nempty never nfull np_ od of
    pc_value pid printf printm priority proctype provided return run select set_priority short show skip STDIN timeout trace
    notrace true typedef unless unsigned xr xs always eventually until weakuntil stronguntil release implies equivalent next
    system progress accept define undef include ifdef ifndef endif now u v w x f g t p q s z main i8 u8"""
)
_MOST = 600
"""Nodes of a guard that is written in one piece: the preprocessor and the C compiler read what SPIN writes out of it."""
_MOST_CONSTANTS = 250


def promela(model: Model) -> str:
    """The model as Promela. ExportError when it has no initial state, or too many."""
    return "\n".join(_Promela(model).lines()) + "\n"


class _Promela:
    def __init__(self, model: Model) -> None:
        self._model = model
        names = Names(_RESERVED)
        self._titles, self._constants = enumerated(names, model.symbols.enumerations)
        self._fields = [names.take(field.name, "v") for field in model.system.fields]
        self._names = names
        self._properties = {invariant: names.take(invariant.name, "p") for invariant in model.invariants}
        self._temporaries: list[tuple[Sort, str]] = []
        self._writer = Writer(STYLE, self._fields, model.symbols, self._constant, {})
        self._initial = model.initial_states()

    def _constant(self, enumeration: Enumeration, code: int) -> str:
        return self._constants[enumeration, code]

    def lines(self) -> Iterator[str]:
        system = self._model.system
        moves = [line for move in self._model.moves for line in self._move(move)]
        yield f"/* {comment(system.name)} {comment(system.version)}, exported by icore."
        yield " * Count its states:  spin -a MODEL; gcc -O3 -DSAFETY -DNOREDUCE -DNOFAIR -DBFS -o pan pan.c; ./pan -w25"
        yield " * Check one of its invariants:  spin -DCLAIMS -a MODEL; gcc -DSAFETY -DNOREDUCE -o pan pan.c; ./pan -N NAME"
        if len(self._initial) > 1:
            yield " * SPIN counts one state more than icore: the one before an initial state is chosen."
        if self._temporaries:
            yield " * An update with temporaries (t_1, ...) computes them first, does nothing where it is not legal, and clears them, so"
            yield " * that no two states differ by them."
        yield " */"
        for update, why in self._model.left_out:
            yield f"/* left out: {comment(update)}: {why} */"
        yield ""
        yield from self._enumerations()
        for field in system.fields:
            yield self._declaration(field)
        for sort, name in self._temporaries:
            yield f"{'bool' if sort is Sort.BOOL else 'int'} {name};"
        yield ""
        yield "active proctype system() {"
        if len(self._initial) > 1:
            yield "  if"
            for state in self._initial:
                chosen = "; ".join(f"{self._fields[f.index]} = {self._writer.code(f, state[f.index])}" for f in system.free)
                yield f"  :: d_step {{ {chosen} }}"
            yield "  fi;"
        yield "end:"
        yield "  do"
        yield from moves or ["  :: d_step { false -> skip }"]
        yield from self._reading()
        yield "  od"
        yield "}"
        yield from self._claims()

    def _enumerations(self) -> Iterator[str]:
        numbered = self._numbered
        for enumeration in self._model.symbols.enumerations:
            values = [self._constants[enumeration, code] for code in range(len(enumeration.names))]
            yield f"/* {comment(self._titles[enumeration])}: {comment(', '.join(enumeration.names))} */"
            if numbered:
                yield from (f"#define {value} {code}" for code, value in enumerate(values))
            else:
                yield f"mtype:{self._titles[enumeration]} = {{ {', '.join(values)} }};"
        yield ""

    @property
    def _numbered(self) -> bool:
        return sum(len(e.names) for e in self._model.symbols.enumerations) > _MOST_CONSTANTS

    def _declaration(self, field: Field) -> str:
        name = self._fields[field.index]
        start = self._initial[0] if len(self._initial) == 1 else self._model.system.initial
        value = self._writer.code(field, start[field.index])
        about = self._model.symbols.of_field(field)
        kind = _type(field) if about is None or self._numbered else f"mtype:{self._titles[about]}"
        note = f"{comment(field.name)}: {field.domain.lo}..{field.domain.hi}"
        if about is None and field.domain.kind is DomainKind.ENUM:
            note += f" ({comment(', '.join(field.domain.names))})"
        return f"{kind} {name} = {value}; /* {note} */"

    def _move(self, move: Move) -> Iterator[str]:
        yield f"  /* {comment(move.title)} */"
        roots = [move.enabling, move.legal, *(value for _, value in move.writes)]
        if tree_size(roots, _MOST) <= _MOST:
            guard = " && ".join(self._writer.conjuncts(move.enabling, move.legal)) or "true"
            swapped: list[str] = []
            steps = list(self._assignments(move, self._writer, swapped))
            steps += [f"{name} = 0" for name in swapped]
            yield f"  :: d_step {{ {guard} -> {'; '.join(steps) or 'skip'} }}"
            return
        plain = tree_size([move.enabling], _MOST) <= _MOST
        guard = " && ".join(self._writer.conjuncts(move.enabling)) if plain else ""
        known: dict[Term, str] = {}
        steps = []
        used: list[str] = []
        for term in cut(roots):
            name = self._temporary(term.sort, used)
            steps.append(f"{name} = {self._writer.knowing(known).body(term)}")
            known[term] = name
        writer = self._writer.knowing(known)
        legal = " && ".join(writer.conjuncts(*([] if plain else [move.enabling]), move.legal)) or "true"
        yield f"  :: d_step {{ {guard or 'true'} ->"
        yield from (f"       {step};" for step in steps)
        yield "       if"
        yield f"       :: {legal} -> {'; '.join(self._assignments(move, writer, used)) or 'skip'}"
        yield "       :: else -> skip"
        yield "       fi" + (";" if used else "")
        yield "       " + "; ".join(f"{name} = 0" for name in used) + " }"

    def _reading(self) -> Iterator[str]:
        """SPIN leaves out of its states what is written and never read: an option that is never taken reads it."""
        read, written = 0, sum(1 << field.index for field in self._model.system.free)
        for move in self._model.moves:
            read |= move.enabling.reads | move.legal.reads
            for field, value in move.writes:
                read |= value.reads
                written |= 1 << field.index
        unread = [field for field in self._model.system.fields if written & ~read & 1 << field.index]
        if unread:
            values = " && ".join(f"{self._fields[field.index]} == {self._writer.code(field, field.domain.lo)}" for field in unread)
            yield "  /* never taken: it reads what no update reads, which SPIN would else leave out of its states */"
            yield f"  :: d_step {{ false && {values} -> skip }}"

    def _assignments(self, move: Move, writer: Writer, used: list[str]) -> Iterator[str]:
        """The writes in sequence; what must be computed beforehand goes to temporaries, and these to `used`."""
        first, rest = in_sequence(move.writes)
        kept = [self._temporary(value.sort, used) for _, value in first]
        for name, (field, value) in zip(kept, first, strict=True):
            yield f"{name} = {self._assigned(writer, field, value)}"
        for field, value in rest:
            yield f"{self._fields[field.index]} = {self._assigned(writer, field, value)}"
        for name, (field, _) in zip(kept, first, strict=True):
            yield f"{self._fields[field.index]} = {name}"

    def _assigned(self, writer: Writer, field: Field, value: Term) -> str:
        return writer.inner(value) if value.sort is Sort.BOOL else writer.text(value, self._model.symbols.of_field(field))

    def _temporary(self, sort: Sort, used: list[str]) -> str:
        """A temporary of this sort that is not in `used`, and is from now on."""
        for own, name in self._temporaries:
            if own is sort and name not in used:
                used.append(name)
                return name
        name = self._names.take(f"t_{len(self._temporaries) + 1}")
        self._temporaries.append((sort, name))
        used.append(name)
        return name

    def _claims(self) -> Iterator[str]:
        if not self._model.invariants:
            return
        yield ""
        yield "#ifdef CLAIMS"
        for invariant, name in self._properties.items():
            if tree_size([invariant.formula], 20 * _MOST) > 20 * _MOST:
                yield f"/* {comment(invariant.name)} is too large to be written in one piece, and left out */"
                continue
            sought = ": a counterexample is a run to it" if invariant.sought else ""
            yield f"/* {invariant.what} {comment(invariant.name)}{sought} */"
            yield f"ltl {name} {{ [] ({self._writer.text(invariant.formula)}) }}"
        yield "#endif"


def _type(field: Field) -> str:
    domain = field.domain
    if domain.kind is DomainKind.BOOL:
        return "bool"
    if domain.lo >= 0 and domain.hi <= 255:
        return "byte"
    return "short" if domain.lo >= -(2**15) and domain.hi < 2**15 else "int"
