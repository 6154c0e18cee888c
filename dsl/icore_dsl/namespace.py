"""Fills `Names` from the files that are checked together: first who exists, then of which sorts."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from icore_dsl.constants import evaluate
from icore_dsl.mistakes import D002, D023, R021, R022, R027, S003, S009, S010, S011
from icore_dsl.resolve import INTERFACES, Names, Signature, Symbol
from icore_dsl.results import BUILT_IN
from icore_dsl.sorts import AGENT, BOOL, ERROR, INT, TEXT, ItemSort, Kind, Maybe, Number, Plain, SetSort, Whole, named, shown
from icore_dsl.syntax import (
    AgentsDecl,
    CertificateDecl,
    ClockDecl,
    Decl,
    EnumDecl,
    Expr,
    FieldDecl,
    FunctionDecl,
    Module,
    ObligationsDecl,
    ObligationTypeDecl,
    OperationsDecl,
    Param,
    PrimitiveDecl,
    PropertyDecl,
    RelationDecl,
    RunDecl,
    SlotDecl,
    Sort,
    SortName,
    Span,
    UpdateDecl,
)

BASE_OPERATIONS = (
    "create", "assign", "reassign", "enable", "block", "transform", "complete", "submit", "verify", "accept", "reject", "resolve",
    "reopen", "refine", "aggregate", "repair", "recertify", "revoke", "supersede", "exclude", "discard", "report",
)  # fmt: skip
"""Ω where the theory declares no `operations`: the verbs of definition 5 and of the life of an obligation."""


def declare_theory(names: Names, theory: tuple[Module, ...]) -> None:
    """Makes the theory's primitives and definitions visible: all of them to the theory, the exported ones to packages.

    A word may be a marker and a primitive: `superseded` the value, `superseded(c)` the call.
    """
    operations: set[str] = set()
    names.reading_theory = True
    for module in theory:
        for decl in module.decls:
            match decl:
                case PrimitiveDecl() | FunctionDecl():
                    if decl.exported or names.in_theory:
                        _theory_function(names, decl)
                    else:
                        names.private.add(decl.name)
                case OperationsDecl(names=words):
                    operations.update(word.id for word in words)
                case EnumDecl():
                    _enum(names, decl)
                case _:
                    pass
    names.reading_theory = False
    names.private -= set(names.symbols)
    names.operations |= operations or set(BASE_OPERATIONS)


def _theory_function(names: Names, decl: PrimitiveDecl | FunctionDecl) -> None:
    symbol = names.symbols.get(decl.name)
    if symbol is None:
        symbol = names.symbols[decl.name] = Symbol(decl.name, "function", ERROR, decl.span, theory=True, decl=decl)
    elif symbol.kind not in ("function", "status", "marker"):
        span = names.found.word(decl.span, decl.name)
        names.found.add(R021, span, f"a definition cannot be called `{decl.name}`: that is already {symbol.word}")
        return
    params = _sorts(names, decl.params)
    result = BOOL if isinstance(decl, FunctionDecl) and decl.kind == "least" else None if decl.result is None else names.sort(decl.result)
    if any([sort for _, sort in old.params] == [sort for _, sort in params] for old in symbol.signatures):
        names.found.add(R022, names.found.word(decl.span, decl.name), f"`{decl.name}` is declared already for these parameters")
        return
    if result is None and not names.in_theory:
        result = ERROR
    symbol.signatures.append(Signature(params, result, decl))


def declare_package(names: Names, modules: tuple[Module, ...], settings: Mapping[str, str | int]) -> None:
    """Makes the package's names visible, then reads the sorts of its fields, parameters and definitions."""
    for module in modules:
        for param in module.params:
            _package_parameter(names, param, settings.get(param.name))
    for module in modules:
        for decl in module.decls:
            _first(names, decl)
    for module in modules:
        for decl in module.decls:
            _second(names, decl)
    for decl in names.interfaces:
        _once_for_a_type(names, decl)


def _package_parameter(names: Names, param: Param, setting: str | int | None) -> None:
    """`setting` is what it is set to for this check; the default counts without one."""
    span = names.found.word(param.span, param.name)
    sort = names.sort(param.sort)
    if not isinstance(sort, Whole):
        if sort != ERROR:
            names.found.add(
                S010, param.sort.span, f"a parameter of a package is a whole number in a range, not {named(sort)}", "write 1..20"
            )
        sort = INT
    if names.declare(param.name, "parameter", sort, span, param) is None:
        return
    if param.default is not None:
        _default(names, param, param.default, sort)
    if setting is not None:
        names.constants.pop(param.name, None)
        if str(setting).strip().lstrip("-").isdecimal():
            names.constants[param.name] = Fraction(int(setting))


def _default(names: Names, param: Param, default: Expr, sort: ItemSort) -> None:
    value = evaluate(default, names.constants)
    if value is None:
        names.found.add(S009, default.span, f"the default of `{param.name}` must be known beforehand")
    elif not isinstance(value, Fraction) or value.denominator != 1:
        said = names.found.text(default.span)
        names.found.add(S003, default.span, f"the default of `{param.name}` is a whole number, not `{said}`")
    else:
        names.default(default, sort, f"the default of `{param.name}`")
        names.constants[param.name] = value


# ---- who exists -----------------------------------------------------------------------------------------------------


def _first(names: Names, decl: Decl) -> None:
    found = names.found
    match decl:
        case EnumDecl():
            _enum(names, decl)
        case ObligationTypeDecl(name=name, span=span):
            names.declare(name, "sort", Kind("Obligation", name), found.word(span, name), decl)
        case AgentsDecl(members=members):
            for member in members:
                names.declare(member.name, "agent", AGENT, found.word(member.span, member.name), member)
        case SlotDecl(kind=kind, name=name, span=span):
            names.declare(name, kind, Kind(kind.capitalize(), name), found.word(span, name), decl)
        case CertificateDecl(name=name, span=span):
            names.declare(name, "certificate", Kind("Certificate", name), found.word(span, name), decl)
        case ObligationsDecl(items=items):
            for item in items:
                kind = "obligation" if item.index is None else "family"
                if names.declare(item.name, kind, Kind("Obligation", item.type), found.word(item.span, item.name), item) is not None:
                    names.obligations[item.name] = item
        case RelationDecl(name=name, span=span):
            names.declare(name, "relation", BOOL, found.word(span, name), decl)
        case ClockDecl(name=name, low=low, high=high, span=span):
            names.declare(name, "clock", names.range(low, high, between(low.span, high.span)), found.word(span, name), decl)
        case FunctionDecl():
            _function(names, decl)
        case UpdateDecl(name=name, span=span):
            if name in names.updates:
                line = found.word(names.updates[name].span, name).line
                found.add(R022, found.word(span, name), f"update `{name}` is declared already, line {line}", "choose another name")
            else:
                names.updates[name] = decl
        case PropertyDecl(name=name, span=span) | RunDecl(name=name, span=span):
            if name in BUILT_IN:
                said = f"`{name}` is a result of its own in reports: nothing that is declared is called so"
                found.add(R027, found.word(span, name), said, "choose another name")
            names.once(names.results, name, found.word(span, name), "a property or run")
        case OperationsDecl(names=words):
            names.operations.update(word.id for word in words)
        case _:
            pass


def between(first: Span, last: Span) -> Span:
    """The span from the start of one to the end of the other."""
    return Span(first.file, first.start, last.end, first.line, first.column, last.end_line, last.end_column)


def _enum(names: Names, decl: EnumDecl) -> None:
    span = names.found.word(decl.span, decl.name)
    if not decl.members:
        names.found.add(D002, span, f"the enumeration `{decl.name}` has no values", "name at least one")
    names.declare(decl.name, "sort", Plain(decl.name), span, decl)
    for member in decl.members:
        names.declare(member.id, "member", Plain(decl.name), member.span, decl)


def _function(names: Names, decl: FunctionDecl) -> None:
    if decl.kind not in INTERFACES:
        names.declare(decl.name, "function", ERROR, names.found.word(decl.span, decl.name), decl)
        return
    names.interfaces.append(decl)
    if decl.kind not in names.symbols:
        names.symbols[decl.kind] = Symbol(decl.kind, "function", ERROR, decl.span, decl=decl)


_RESULTS: dict[str, ItemSort] = {"least": BOOL, "feasible": BOOL, "value": Number(), "truth": Number()}


# ---- of which sorts -------------------------------------------------------------------------------------------------


def _second(names: Names, decl: Decl) -> None:
    match decl:
        case ObligationTypeDecl(name=name, fields=fields):
            _fields(names, ("Obligation", name), fields)
            for field in fields:
                if field.kind == "signature":
                    _signature_field(names, name, field)
        case AgentsDecl(fields=fields):
            _fields(names, ("Agent", ""), fields)
        case SlotDecl(kind=kind, name=name, params=params, fields=fields):
            _fields(names, (kind.capitalize(), name), fields)
            _called(names, decl, name, params, Kind(kind.capitalize(), name))
        case CertificateDecl(name=name, params=params, fields=fields):
            _fields(names, ("Certificate", name), fields)
            _called(names, decl, name, params, Kind("Certificate", name))
        case RelationDecl(name=name, left=left, right=right):
            symbol = names.symbols.get(name)
            sides = (("the left side", names.sort(left)), ("the right side", names.sort(right)))
            if symbol is not None and symbol.decl is decl:
                symbol.signatures.append(Signature(sides, BOOL, decl))
        case FunctionDecl(params=params, result=result, kind=kind):
            names.params(decl, params)
            fixed: ItemSort | None = _RESULTS.get(kind)
            written = None if result is None else names.sort(result)
            symbol = names.symbols.get(kind if kind in INTERFACES else decl.name)
            if symbol is not None and (symbol.decl is decl or (kind in INTERFACES and not symbol.theory)):
                symbol.signatures.append(Signature(_sorts(names, params), fixed or written, decl))
        case UpdateDecl(params=params):
            names.params(decl, params)
            for param in params:
                _bound(names, param)
        case _:
            pass


def _sorts(names: Names, params: tuple[Param, ...]) -> tuple[tuple[str, ItemSort], ...]:
    return tuple((param.name, names.sort(param.sort)) for param in params)


def _called(names: Names, decl: SlotDecl | CertificateDecl, name: str, params: tuple[Param, ...], result: ItemSort) -> None:
    names.params(decl, params)
    for param in params:
        _bound(names, param)
    symbol = names.symbols.get(name)
    if symbol is not None and symbol.decl is decl:
        symbol.signatures.append(Signature(_sorts(names, params), result, decl))


def _once_for_a_type(names: Names, decl: FunctionDecl) -> None:
    """`value` may be given once for every obligation type, or once for all."""
    for other in names.interfaces:
        if other is decl:
            return
        if other.kind != decl.kind:
            continue
        if len(other.params) == len(decl.params) == 2:
            mine, theirs = names.sort(decl.params[1].sort), names.sort(other.params[1].sort)
            if mine != theirs and Kind("Obligation") not in (mine, theirs):
                continue
        names.found.add(D023, names.found.word(decl.span, decl.kind), f"`{decl.kind}` is given already, line {other.span.line}")
        return


def _fields(names: Names, owner: tuple[str, str], fields: tuple[FieldDecl, ...]) -> None:
    table = names.fields.setdefault(owner, {})
    places: dict[str, Span] = {}
    for field in fields:
        if names.once(places, field.name, names.found.word(field.span, field.name), "a field"):
            table.setdefault(field.name, field)
        sort = names.sort(field.sort)
        what = f"the field `{field.name}`"
        if sort == TEXT:
            if not field.inessential:
                names.found.add(
                    S011, field.sort.span, f"{what} is text, which no formula can read", f"write `inessential {field.name}: text`"
                )
        elif field.kind not in ("static", "attribute"):
            finite(names, sort, field.sort, what)


def _bound(names: Names, param: Param) -> None:
    """A parameter that is bound to each value of its sort in turn."""
    sort, what = names.sort(param.sort), f"the parameter `{param.name}`"
    if isinstance(sort, SetSort):
        names.found.add(S010, param.sort.span, f"{what} is one value at a time, not {shown(sort)}", "the state may hold a set, in a field")
    else:
        finite(names, sort, param.sort, what)


def finite(names: Names, sort: ItemSort, written: Sort, what: str) -> None:
    """Reports a sort with infinitely many values, or with text, where the state or a binding holds one."""
    inner = sort.item if isinstance(sort, SetSort | Maybe) else sort
    if isinstance(inner, SetSort | Maybe):
        names.found.add(S010, written.span, f"{what} is one value or one set of values", "an empty set can say that there is nothing")
    elif inner == TEXT:
        names.found.add(S011, written.span, f"{what} cannot be text, which no formula can read")
    elif inner == Number(None):
        names.found.add(S010, written.span, f"{what} must have finitely many values, `rational` has not", "write {0.2, 0.5} or a range")
    elif isinstance(written, SortName) and written.name == "int" and inner == INT:
        names.found.add(S010, written.span, f"{what} must have finitely many values, `int` has not", "write a range, as 0..7")


def _signature_field(names: Names, owner: str, field: FieldDecl) -> None:
    span = names.found.word(field.span, field.name)
    symbol = names.symbols.get(field.name)
    if symbol is None:
        symbol = names.declare(field.name, "signature", ERROR, span, field)
    elif symbol.kind != "signature":
        hint = "choose another name"
        names.found.add(R021, span, f"a signature field cannot be called `{field.name}`: that is already {symbol.word}", hint)
        return
    if isinstance(names.sort(field.sort), SetSort):
        hint = "declare one bool field for each element, or a field of a certificate"
        names.found.add(S010, field.sort.span, f"the signature field `{field.name}` holds one value or none, not a set", hint)
    if symbol is not None and all(old.params[0][1] != Kind("Obligation", owner) for old in symbol.signatures):
        symbol.signatures.append(Signature((("w", Kind("Obligation", owner)),), Maybe(names.sort(field.sort)), field))
