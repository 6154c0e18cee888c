"""Checks of enumerations, agents, inputs, artifacts, obligations and tables: values, defaults and what is missing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

from icore_dsl.check_formulas import Formulas
from icore_dsl.constants import Value, evaluate, shown_value
from icore_dsl.found import counted, listed, near
from icore_dsl.mistakes import D004, D008, D009, D011, D012, D019, D024, D025, R001, R004, R005, R013, R022, S003, S007, S010, S023
from icore_dsl.resolve import Scope, inside
from icore_dsl.sorts import AGENT, ERROR, STATUSES, ItemSort, Kind, Maybe, Plain, Whole, bare, named, numeric, shown
from icore_dsl.syntax import (
    AgentsDecl,
    Assign,
    Expr,
    FieldDecl,
    FunctionDecl,
    If,
    Name,
    Num,
    ObligationDecl,
    ObligationsDecl,
    ObligationTypeDecl,
    SlotDecl,
    Span,
    TableBody,
)


class Declarations:
    """Checks that belong to single declarations of agents, observables and work."""

    def __init__(self, formulas: Formulas) -> None:
        self.formulas = formulas
        self.names = formulas.names
        self.found = formulas.found

    # ---- fields and values --------------------------------------------------------------------------------------

    def fields(self, fields: tuple[FieldDecl, ...]) -> None:
        """Defaults: of the field's sort, known beforehand, in the domain."""
        for field in fields:
            if field.default is not None:
                self.constant(field.default, self.names.sort(field.sort), f"the default of `{field.name}`", {})
            if field.name == "weight" and field.kind == "static":
                self._weight_field(field)

    def _weight_field(self, field: FieldDecl) -> None:
        sort = self.names.sort(field.sort)
        if not numeric(sort):
            self.found.add(S010, field.sort.span, f"a weight is a number, not {shown(sort)}", "write `static weight: rational = 1`")
        elif field.default is not None:
            self._positive(field.default, {})

    def _positive(self, value: Expr, env: Mapping[str, Value]) -> None:
        known = evaluate(value, {**self.names.constants, **env})
        if isinstance(known, Fraction) and known <= 0:
            self.found.add(D009, value.span, f"the weight is {shown_value(known)}, it must be positive")

    def constant(self, value: Expr, sort: ItemSort, what: str, scope: Scope) -> None:
        """A value that is fixed before anything happens."""
        if self.formulas.value(value, scope, sort, what) != ERROR and self.formulas.fixed(value, scope, what):
            known = evaluate(value, self.names.constants)
            if isinstance(known, Fraction) and not inside(known, sort):
                self.found.add(D004, value.span, f"{what} is {shown_value(known)}, outside {named(bare(sort))}")

    def values(self, assigns: Iterable[Assign], table: Mapping[str, FieldDecl], owner: str) -> dict[str, Assign]:
        """Values in braces by field name: each field exists and is given once."""
        given: dict[str, Assign] = {}
        for assign in assigns:
            span = self.found.word(assign.span, assign.name)
            if assign.name in given:
                self.found.add(D025, span, f"`{assign.name}` is given a value twice")
            elif assign.name in table:
                given[assign.name] = assign
            else:
                self.found.add(R005, span, f"{owner} has no field `{assign.name}`", near(assign.name, table))
        return given

    # ---- agents and observables ---------------------------------------------------------------------------------

    def agents(self, decl: AgentsDecl) -> None:
        self.fields(decl.fields)
        table = self.names.fields.get(("Agent", ""), {})
        for agent in decl.members:
            given = self.values(agent.values, table, "an agent")
            for name, assign in given.items():
                self.constant(assign.value, self.names.sort(table[name].sort), f"`{name}` of {agent.name}", {})
            self._missing(agent.name, table.values(), given, self.found.word(agent.span, agent.name))

    def _missing(self, owner: str, fields: Iterable[FieldDecl], given: Mapping[str, object], span: Span) -> None:
        lacking = [field.name for field in fields if field.kind != "signature" and field.default is None and field.name not in given]
        lacking = [name for name in lacking if name != "weight"]
        if lacking:
            hint = f"write {{ {lacking[0]} = … }}, or give the field a default"
            self.found.add(D024, span, f"`{owner}` lacks {'a value' if len(lacking) == 1 else 'values'} for {listed(lacking)}", hint)

    def slot(self, decl: SlotDecl) -> None:
        self.fields(decl.fields)

    # ---- work ---------------------------------------------------------------------------------------------------

    def obligation_type(self, decl: ObligationTypeDecl) -> None:
        self.fields(decl.fields)

    def obligations(self, decl: ObligationsDecl) -> None:
        for item in decl.items:
            self._obligation(item)

    def _obligation(self, item: ObligationDecl) -> None:
        symbol = self.names.symbols.get(item.type)
        start = self.found.word(item.span, item.name)
        scope: dict[str, ItemSort] = {}
        if item.index is not None:
            sort = self.names.sort(item.index.sort)
            if not isinstance(sort, Whole | Plain | Kind) and sort != ERROR:
                self.found.add(S010, item.index.sort.span, f"a family is indexed by a range or an enumeration, not by {named(sort)}")
            if item.index.name:
                self.names.bind(item.index.name, self.found.word(item.index.span, item.index.name), {}, "an index")
                scope[item.index.name] = sort
        if symbol is None or symbol.kind != "sort" or not isinstance(symbol.sort, Kind) or symbol.sort.base != "Obligation":
            skip = 1 if item.type == item.name else 0
            types = [name for base, name in self.names.fields if base == "Obligation"]
            message = f"there is no obligation type `{item.type}`"
            self.found.add(R004, self.found.word(item.span, item.type, skip), message, near(item.type, types))
        else:
            table = {name: field for name, field in self.names.fields.get(("Obligation", item.type), {}).items() if field.kind == "static"}
            given = self.values(item.values, {**table, "weight": _WEIGHT} if "weight" not in table else table, f"work of type {item.type}")
            for name, assign in given.items():
                sort = self.names.sort(table[name].sort) if name in table else self.names.symbols["rational"].sort
                self.constant(assign.value, sort, f"`{name}` of {item.name}", scope)
                if name == "weight":
                    self._positive(assign.value, {})
            self._missing(item.name, table.values(), given, start)
        self._modifiers(item, scope)

    def _modifiers(self, item: ObligationDecl, scope: Scope) -> None:
        if item.starts is not None:
            span = self.found.word(item.span, item.starts, 1 if item.starts in (item.name, item.type) else 0)
            if item.starts not in STATUSES:
                self.found.add(
                    R013, span, f"there is no status `{item.starts}`", near(item.starts, STATUSES) or f"one of {listed(STATUSES)}"
                )
            elif item.latent:
                self.found.add(D019, span, f"`{item.name}` is latent: absent until an update creates it, so it cannot start {item.starts}")
        if item.assigned is not None:
            self.constant(item.assigned, Maybe(AGENT), f"the assignee of {item.name}", scope)

    # ---- values in tables ---------------------------------------------------------------------------------------

    def function(self, decl: FunctionDecl) -> None:
        """A definition: its body, its declared result, values in 0..1."""
        scope = self.names.params(decl, decl.params)
        if decl.kind in ("feasible", "value", "truth"):
            self._interface(decl)
        unit = decl.kind in ("value", "truth")
        if isinstance(decl.body, TableBody):
            self._table(decl, decl.body, scope, unit)
            return
        if decl.kind in ("least", "feasible"):
            self.formulas.condition(decl.body, scope, f"`{decl.name if decl.kind == 'least' else decl.kind}`")
        elif unit:
            self.formulas.value(decl.body, scope, self.names.symbols["rational"].sort, f"`{decl.kind}`")
            self._unit_results(decl.body, decl.kind)
        elif decl.result is not None:
            self.formulas.value(decl.body, scope, self.names.sort(decl.result), f"`{decl.name}`")
        else:
            for signature in self.names.symbols[decl.name].signatures if decl.name in self.names.symbols else []:
                if signature.decl is decl:
                    self.formulas.result(signature)
                    return
            self.formulas.infer(decl.body, scope)

    def _interface(self, decl: FunctionDecl) -> None:
        sorts = [self.names.sort(param.sort) for param in decl.params]
        if (
            len(sorts) == 2
            and sorts[0] in (AGENT, ERROR)
            and (sorts[1] == ERROR or (isinstance(sorts[1], Kind) and sorts[1].base == "Obligation"))
        ):
            return
        span = self.found.word(decl.span, decl.kind)
        self.found.add(S007, span, f"`{decl.kind}` is of an agent and an obligation", f"write {decl.kind}(m: Agent, w: Obligation)")

    def _unit_results(self, expr: Expr, what: str) -> None:
        """The constant ends of a value: each must lie in 0..1."""
        if isinstance(expr, If):
            self._unit_results(expr.then, what)
            self._unit_results(expr.otherwise, what)
            return
        self.unit(expr, f"`{what}`")

    def unit(self, expr: Expr, what: str) -> None:
        known = evaluate(expr, self.names.constants)
        if isinstance(known, Fraction) and not 0 <= known <= 1:
            self.found.add(D008, expr.span, f"{what} is {shown_value(known)}, it must lie between 0 and 1")

    def _table(self, decl: FunctionDecl, table: TableBody, scope: Scope, unit: bool) -> None:
        if decl.kind in ("feasible", "least"):
            self.found.add(
                S003, table.span, f"a table holds numbers, `{decl.kind}` is true or false", f"write `{decl.kind}(…) = a formula`"
            )
        rows = self._keys(table.row_key, scope, "row")
        self._matched(tuple(name for name, _ in table.rows), rows, "row", table.row_key)
        if table.columns or any(len(cells) != 1 for _, cells in table.rows):
            self._matched(table.columns, self._keys(table.column_key, scope, "column"), "column", table.column_key)
        for name, cells in table.rows:
            want = max(len(table.columns), 1)
            if len(cells) != want:
                has = counted(len(cells), "number")
                self.found.add(D012, name.span, f"the row `{name.id}` has {has} for {counted(want, 'column')}")
            for cell in cells:
                if unit:
                    self._cell(cell, decl.kind)

    def _cell(self, cell: Num, what: str) -> None:
        if cell.value > 1 or cell.value < 0:
            self.found.add(D008, cell.span, f"`{what}` is {cell.text} here, it must lie between 0 and 1")

    def _keys(self, key: Expr, scope: Scope, what: str) -> list[str] | None:
        """The names that rows or columns must have; None where that is not known."""
        sort = self.formulas.infer(key, scope)
        match sort:
            case Plain("Agent"):
                return self.names.those("agent")
            case Plain("Status"):
                return list(STATUSES)
            case Plain(name):
                values = self.names.enumeration(name)
                if values is not None:
                    return values
            case Kind("Obligation", of):
                return self.names.work(of)
            case _:
                pass
        if sort != ERROR:
            said = f"a {what} is chosen by an agent, an obligation or a value of an enumeration, not by {shown(sort)}"
            self.found.add(S023, key.span, said)
        return None

    def _matched(self, given: tuple[Name, ...], wanted: list[str] | None, what: str, key: Expr) -> None:
        if wanted is None:
            return
        seen: set[str] = set()
        for name in given:
            if name.id in seen:
                self.found.add(R022, name.span, f"the table has the {what} `{name.id}` already")
            elif name.id not in wanted:
                self.found.add(R001, name.span, f"no {what} of this table is called `{name.id}`", near(name.id, wanted))
            seen.add(name.id)
        missing = [name for name in wanted if name not in seen]
        if missing:
            self.found.add(D011, key.span, f"the table lacks {counted(len(missing), what)}: {listed(missing)}")


_NOWHERE = Span("", 0, 0, 1, 1, 1, 1)
_WEIGHT = FieldDecl("static", "weight", Name("rational", _NOWHERE), None, False, _NOWHERE)  # type: ignore[arg-type]
