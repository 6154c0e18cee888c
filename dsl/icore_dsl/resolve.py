"""Who is called what: the one namespace of a package, its imports and its theory.

`Names` is built before any formula is looked at: first every declared name, then the sorts of parameters and fields, so
that the order of declarations does not matter. Names of updates, properties and runs are apart: formulas cannot say them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from icore_dsl.constants import Value, evaluate, whole
from icore_dsl.found import Found, near
from icore_dsl.mistakes import D001, D002, D003, D004, R003, R021, R022, R024, R025, S003, S009, S013
from icore_dsl.sorts import (
    AGENT,
    BOOL,
    ERROR,
    INT,
    MARKER,
    MARKERS,
    RATIONAL,
    STATUS,
    STATUSES,
    TEXT,
    THEORY_SORTS,
    ItemSort,
    Kind,
    Maybe,
    Number,
    Plain,
    SetSort,
    Whole,
    bare,
    named,
)
from icore_dsl.syntax import (
    CertificateDecl,
    EnumDecl,
    Expr,
    FieldDecl,
    FunctionDecl,
    ObligationDecl,
    Param,
    PrimitiveDecl,
    RelationDecl,
    SlotDecl,
    Sort,
    SortName,
    SortOptional,
    SortRange,
    SortSet,
    SortValues,
    Span,
    UpdateDecl,
)
from icore_dsl.walk import names_in

Scope = Mapping[str, ItemSort]
"""Parameters and bound names, with their sorts."""

RESERVED = ("environment", "monitor", "any")
SORTS: dict[str, ItemSort] = {
    "bool": BOOL,
    "int": INT,
    "rational": RATIONAL,
    "text": TEXT,
    "Agent": AGENT,
    "Obligation": Kind("Obligation"),
    "Status": STATUS,
    "Marker": MARKER,
}
"""The sorts that every file may name."""

HIDDEN_SORTS: dict[str, ItemSort] = {
    **{name: Plain(name) for name in THEORY_SORTS},
    **{name: Kind(name) for name in ("Certificate", "Artifact", "Input")},
}
"""The sorts that only the theory names."""

INTERFACES = ("feasible", "value", "truth")

WORDS = {
    "sort": "a sort",
    "member": "a value of an enumeration",
    "agent": "an agent",
    "status": "a status",
    "marker": "a marker",
    "obligation": "an obligation",
    "family": "a family of obligations",
    "input": "an input",
    "artifact": "an artifact",
    "certificate": "a certificate",
    "relation": "a relation",
    "function": "a definition",
    "signature": "a signature field",
    "clock": "a clock",
    "parameter": "a parameter of the package",
    "operation": "an operation",
    "bound": "a bound name",
}


@dataclass(slots=True)
class Signature:
    """One way to call a name: the sorts of its parameters and of its result (None: inferred from the body of `decl`)."""

    params: tuple[tuple[str, ItemSort], ...]
    result: ItemSort | None
    decl: FunctionDecl | PrimitiveDecl | CertificateDecl | SlotDecl | RelationDecl | FieldDecl | None = None


@dataclass(slots=True)
class Symbol:
    """One visible name. `sort`: of the value it stands for, or the sort it names; `signatures`: how it is called."""

    name: str
    kind: str
    sort: ItemSort
    span: Span | None
    signatures: list[Signature] = field(default_factory=list)
    theory: bool = False
    decl: object = None

    @property
    def word(self) -> str:
        return "a definition of the theory" if self.theory and self.kind == "function" else WORDS[self.kind]


class Names:
    """Everything that can be named in one check. Shapes: `fields` by (base, owner) and name; `scopes` by identity of a declaration."""

    def __init__(self, found: Found, theory: bool) -> None:
        self.found = found
        self.in_theory = theory
        self.reading_theory = theory
        self.symbols: dict[str, Symbol] = {}
        self.constants: dict[str, Value] = {}
        self.fields: dict[tuple[str, str], dict[str, FieldDecl]] = {}
        self.private: set[str] = set()
        self.updates: dict[str, UpdateDecl] = {}
        self.results: dict[str, Span] = {}
        self.operations: set[str] = set()
        self.obligations: dict[str, ObligationDecl] = {}
        self.interfaces: list[FunctionDecl] = []
        self._sorts: dict[int, ItemSort] = {}
        self._scopes: dict[int, dict[str, ItemSort]] = {}
        for name, sort in SORTS.items():
            self.symbols[name] = Symbol(name, "sort", sort, None)
        if theory:
            for name, sort in HIDDEN_SORTS.items():
                self.symbols[name] = Symbol(name, "sort", sort, None)
        for names, sort, kind in ((STATUSES, STATUS, "status"), (MARKERS, MARKER, "marker")):
            for name in names:
                self.symbols[name] = Symbol(name, kind, sort, None)
                self.constants[name] = name

    # ---- declaring ----------------------------------------------------------------------------------------------

    def declare(self, name: str, kind: str, sort: ItemSort, span: Span, decl: object = None) -> Symbol | None:
        """Makes a name visible; None (and a mistake) where it is visible already."""
        if name in RESERVED:
            self.found.add(R025, span, f"`{name}` is a reserved name and cannot be {WORDS[kind]}", "choose another name")
            return None
        old = self.symbols.get(name)
        if old is not None:
            self._clash(old, WORDS[kind], span)
            return None
        symbol = self.symbols[name] = Symbol(name, kind, sort, span, decl=decl)
        if kind in ("member", "agent", "obligation"):
            self.constants[name] = name
        return symbol

    def _clash(self, old: Symbol, new: str, span: Span) -> None:
        if old.span is None or old.theory:
            self.found.add(R021, span, f"{new} cannot be called `{old.name}`: that is already {old.word}", "choose another name")
        else:
            self.found.add(R022, span, f"`{old.name}` is declared already: {old.word}, line {old.span.line}", "choose another name")

    def once(self, table: dict[str, Span], name: str, span: Span, word: str) -> bool:
        """Whether a name is new among its kind (updates, properties, members, fields)."""
        if name in table:
            self.found.add(R022, span, f"{word} `{name}` is declared already, line {table[name].line}", "choose another name")
            return False
        table[name] = span
        return True

    def params(self, decl: object, params: Iterable[Param]) -> dict[str, ItemSort]:
        """The scope of a declaration's parameters. Their mistakes are reported the first time."""
        known = self._scopes.get(id(decl))
        if known is not None:
            return known
        scope: dict[str, ItemSort] = {}
        for param in params:
            span = self.found.word(param.span, param.name)
            self.bind(param.name, span, scope, "a parameter")
            scope[param.name] = self.sort(param.sort)
        self._scopes[id(decl)] = scope
        return scope

    def bind(self, name: str, span: Span, scope: Scope, what: str) -> None:
        """Reports a bound name or parameter that hides a visible one."""
        if name in RESERVED:
            self.found.add(R025, span, f"`{name}` is a reserved name and cannot be {what}", "choose another name")
        elif name in scope:
            self.found.add(R021, span, f"{what} cannot be called `{name}`: that is already a name bound here", "choose another name")
        elif name in self.symbols:
            self.found.add(
                R021, span, f"{what} cannot be called `{name}`: that is already {self.symbols[name].word}", "choose another name"
            )

    # ---- sorts --------------------------------------------------------------------------------------------------

    def sort(self, sort: Sort) -> ItemSort:
        """The sort that is written; mistakes in it are reported the first time."""
        known = self._sorts.get(id(sort))
        if known is None:
            known = self._sorts[id(sort)] = self._read_sort(sort)
        return known

    def _read_sort(self, sort: Sort) -> ItemSort:
        match sort:
            case SortName(name=name, span=span):
                return self._named_sort(name, span)
            case SortRange(low=low, high=high, span=span):
                return self.range(low, high, span)
            case SortValues(values=values, span=span):
                numbers = [evaluate(value, self.constants) for value in values]
                known = [number for number in numbers if isinstance(number, Fraction)]
                if not values:
                    self.found.add(D002, span, "a set of values needs at least one value")
                for place, number in enumerate(known):
                    if number in known[:place]:
                        self.found.add(D003, values[place].span, f"the value {self.found.text(values[place].span)} is in the set already")
                return Number(tuple(dict.fromkeys(known)))
            case SortSet(item=item):
                return SetSort(self.sort(item))
            case SortOptional(item=item):
                return Maybe(self.sort(item))

    def _named_sort(self, name: str, span: Span) -> ItemSort:
        symbol = self.symbols.get(name)
        if symbol is not None and symbol.kind == "sort":
            return symbol.sort
        if symbol is not None:
            self.found.add(S013, span, f"`{name}` is {symbol.word}, not a sort", near(name, self.those("sort")))
        elif name in HIDDEN_SORTS:
            if self.reading_theory:
                return HIDDEN_SORTS[name]
            self.found.add(R024, span, f"only the theory speaks of the sort `{name}`")
        else:
            self.found.add(R003, span, f"there is no sort `{name}`", near(name, self.those("sort"), 14))
        return ERROR

    def range(self, low: Expr, high: Expr, span: Span) -> ItemSort:
        """The sort `low..high` of constant ends."""
        ends: list[int | None] = []
        for end in (low, high):
            value = evaluate(end, self.constants)
            if value is not None and whole(value) is None:
                self.found.add(S003, end.span, f"the end of a range is a whole number, not `{self.found.text(end.span)}`")
                return ERROR
            if value is None and not self.parameters_only(end):
                self.found.add(S009, end.span, f"the ends of this range must be known beforehand, `{self.found.text(end.span)}` is not")
                return ERROR
            ends.append(whole(value))
        if ends[0] is not None and ends[1] is not None and ends[0] > ends[1]:
            self.found.add(D001, span, f"the range {ends[0]}..{ends[1]} is empty", f"write {ends[1]}..{ends[0]}")
            return INT
        return Whole(ends[0], ends[1])

    def parameters_only(self, expr: Expr) -> bool:
        """Whether an expression names nothing but parameters of the package, so that grounding will know its value."""
        return all(name in self.symbols and self.symbols[name].kind == "parameter" for name in names_in(expr))

    def those(self, *kinds: str) -> list[str]:
        return [name for name, symbol in self.symbols.items() if symbol.kind in kinds]

    def enumeration(self, name: str) -> list[str] | None:
        """The values of an enumeration; None where the name is of another sort."""
        decl = self.symbols[name].decl if name in self.symbols else None
        return [member.id for member in decl.members] if isinstance(decl, EnumDecl) else None

    def work(self, of: str | None) -> list[str]:
        """The obligations of a type, or all of them; those of families are left out."""
        return [name for name in self.those("obligation") if of in (None, self.obligations[name].type)]

    def field(self, base: str, owner: str, name: str) -> FieldDecl | None:
        return self.fields.get((base, owner), {}).get(name)

    def default(self, value: Expr, sort: ItemSort, what: str) -> None:
        """Reports a constant that is not in the domain of its sort."""
        known = evaluate(value, self.constants)
        if isinstance(known, Fraction) and not inside(known, sort):
            self.found.add(D004, value.span, f"{what} is {self.found.text(value.span)}, outside {named(bare(sort))}")


def inside(value: Fraction, sort: ItemSort) -> bool:
    """Whether a number is in the domain of a sort of numbers; true where the sort or its bounds say nothing."""
    match sort:
        case Whole(low, high):
            return (low is None or value >= low) and (high is None or value <= high)
        case Number(values):
            return values is None or value in values
        case Maybe(item):
            return inside(value, item)
        case _:
            return True
