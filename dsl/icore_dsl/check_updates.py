"""Updates and faults: who moves, guards, what is set, emitted, issued and withheld, and fields that are written twice."""

from __future__ import annotations

from collections.abc import Iterator

from icore_dsl.check_certificates import TERMINALS, Certificates, positive
from icore_dsl.found import listed, near
from icore_dsl.mistakes import (
    D013,
    D020,
    D026,
    D027,
    D028,
    D032,
    R006,
    R007,
    R008,
    R010,
    R012,
    R016,
    S001,
    S008,
    S018,
)  # fmt: skip
from icore_dsl.resolve import Scope
from icore_dsl.sorts import AGENT, ERROR, INT, MARKER, STATUS, WORK, ItemSort, Kind, Maybe, Plain, accepts, shown
from icore_dsl.syntax import (
    Attr,
    Call,
    Effect,
    Expr,
    FieldDecl,
    For,
    Index,
    Name,
    Outcome,
    RelationDecl,
    SetField,
    Span,
    Statement,
    UpdateDecl,
    Variant,
    View,
    When,
)
from icore_dsl.walk import Key, key

SETTABLE: dict[str, ItemSort] = {"status": STATUS, "assignee": Maybe(AGENT), "marker": Maybe(MARKER)}
TAKES = {
    "emit": "Artifact", "consume": "Artifact", "discard": "Artifact", "issue": "Certificate", "revoke": "Certificate",
    "supersede": "Certificate", "withhold": "Certificate", "create": "Obligation",
}  # fmt: skip
_KIND_WORDS = {"Artifact": "an artifact", "Certificate": "a certificate", "Obligation": "an obligation"}


class Updates:
    """Checks of `update` and `fault`."""

    def __init__(self, certificates: Certificates) -> None:
        self.certificates = certificates
        self.declarations = certificates.declarations
        self.formulas = certificates.formulas
        self.names = certificates.names
        self.found = certificates.found

    def update(self, decl: UpdateDecl) -> None:
        scope = self.names.params(decl, decl.params)
        if decl.operation is not None and decl.operation not in self.names.operations:
            skip = 1 if decl.operation == decl.name else 0
            close = near(decl.operation, self.names.operations, 0)
            hint = f"{close} " if close else ""
            hint += f"Ω is {listed(sorted(self.names.operations))}; add a word with `operations {decl.operation}`"
            span = self.found.word(decl.span, decl.operation, skip)
            self.found.add(R010, span, f"`{decl.operation}` is no operation", hint)
        elif decl.operation is None and not decl.is_fault:
            self._named(decl)
        if decl.actor is not None:
            self.certificates.someone(decl.actor, scope, ("environment", "monitor"), "who moves")
            self.formulas.fixed(decl.actor, scope, "who moves")
        parts: dict[str, Span] = {}
        for statement in decl.body:
            if isinstance(statement, Outcome | Variant):
                word = "outcome" if isinstance(statement, Outcome) else "fault"
                self.names.once(parts, statement.name, self.found.word(statement.span, statement.name), word)
        self._block(decl.body, scope, "update", decl)
        self._twice(decl)

    def _named(self, decl: UpdateDecl) -> None:
        """Without an operation no update that writes work is legal. A fault may do without: it is refused, as it should be."""
        for what, span in self._writes(decl.body):
            omega = f"one of Ω: {listed(sorted(self.names.operations))}, or a word of your own, declared by `operations NAME`"
            self.found.add(D032, span, f"`{decl.name}` {what} and names no operation", f"write `operation NAME` before `by`: {omega}")
            return

    def _writes(self, body: tuple[Statement, ...]) -> Iterator[tuple[str, Span]]:
        """What an update itself, not a fault of it, creates or sets of work, with its place."""
        for statement in body:
            match statement:
                case SetField(target=Call(name=name) as target) if name in SETTABLE or self._is_signature(name):
                    yield f"writes {self.found.text(target.span)}", target.span
                case Effect(kind="create", target=target):
                    yield f"creates {self.found.text(target.span)}", target.span
                case For(body=inner) | Outcome(body=inner):
                    yield from self._writes(inner)
                case _:
                    pass

    def _is_signature(self, name: str) -> bool:
        symbol = self.names.symbols.get(name)
        return symbol is not None and symbol.kind == "signature"

    def _block(self, body: tuple[Statement, ...], scope: Scope, place: str, decl: UpdateDecl) -> None:
        """place: `update`, `for`, `outcome`, `fault` (a variant)."""
        for statement in body:
            self._statement(statement, scope, place, decl)

    def _statement(self, statement: Statement, scope: Scope, place: str, decl: UpdateDecl) -> None:
        match statement:
            case When(kind=kind, formula=formula, span=span):
                if place == "for":
                    where = "does not belong in a `for`: a guard is of the whole update"
                    self._misplaced(span, kind, where, "put the condition after `where`")
                self.formulas.condition(formula, scope, f"`{kind}`")
            case View():
                if place != "update":
                    self._misplaced(statement.span, "view", "belongs directly in the update")
                self._view(statement)
            case SetField():
                self._set(statement, scope)
            case Effect():
                self._effect(statement, scope, place, decl)
            case For(binders=binders, where=where, body=body):
                inner = self.formulas.bind(binders, where, scope)
                self._block(body, inner, place if place == "fault" else "for", decl)
            case Outcome(body=body, span=span):
                if place != "update":
                    self._misplaced(span, "outcome", "belongs directly in the update")
                self._block(body, scope, "outcome", decl)
            case Variant(body=body, span=span):
                if place != "update":
                    self._misplaced(span, "fault", "belongs directly in the update")
                elif decl.is_fault:
                    self._misplaced(span, "fault", "belongs in an update, not in another fault")
                self._block(body, scope, "fault", decl)

    def _misplaced(self, span: Span, word: str, where: str, hint: str = "") -> None:
        self.found.add(D026, self.found.word(span, word), f"`{word}` {where}", hint)

    def _view(self, view: View) -> None:
        if view.relation is not None:
            symbol = self.names.symbols.get(view.relation)
            if symbol is None or symbol.kind != "relation":
                span = self.found.word(view.span, view.relation)
                self.found.add(R006, span, f"there is no relation `{view.relation}`", near(view.relation, self.names.those("relation")))
        if view.depth is not None:
            positive(view.depth, "a depth", self.names, self.found, self.formulas.infer(view.depth, {}))

    # ---- set ----------------------------------------------------------------------------------------------------

    def _set(self, statement: SetField, scope: Scope) -> None:
        want = self._target(statement.target, scope)
        what = f"`{self.found.text(statement.target.span)}`"
        if want is None:
            self.formulas.infer(statement.value, scope)
        else:
            self.formulas.value(statement.value, scope, want, what)

    def _target(self, target: Expr, scope: Scope) -> ItemSort | None:
        """The sort of what is set, None (and a mistake) where it cannot be."""
        match target:
            case Call(name=name) if name not in scope:
                symbol = self.names.symbols.get(name)
                if name in SETTABLE:
                    self._one_obligation(target, scope)
                    return SETTABLE[name]
                if symbol is not None and symbol.kind == "signature":
                    return self.formulas.call(target, scope)
                if symbol is None:
                    self.formulas.call(target, scope)
                    return None
                self._cannot(target, f"is {symbol.word}", _instead(symbol.kind, name))
            case Attr():
                return self._field(target, scope)
            case Name(id=name) if name in scope:
                self._cannot(target, "is a parameter or a bound name", "")
            case Name(id=name):
                symbol = self.names.symbols.get(name)
                if symbol is None:
                    clocks = self.names.those("clock")
                    hint = near(name, [*clocks, *self.names.those("input")], 6)
                    self.found.add(R012 if clocks else S008, target.span, f"there is no clock `{name}` to set", hint)
                    return None
                if symbol.kind == "clock":
                    return INT
                if symbol.kind == "input":
                    fields = self.names.fields.get(("Input", name), {})
                    hint = f"set one of its fields: {name}.{next(iter(fields))}" if fields else "it has no fields"
                    self._cannot(target, "is a whole input", hint)
                else:
                    self._cannot(target, f"is {symbol.word}", _instead(symbol.kind, name))
            case _:
                if self.formulas.infer(target, scope) != ERROR:
                    self._cannot(target, "is no field", "")
        return None

    def _one_obligation(self, call: Call, scope: Scope) -> None:
        """The argument of status, assignee or marker, where the theory declares it and where it does not."""
        if call.name in self.names.symbols:
            self.formulas.call(call, scope)
        elif len(call.args) != 1:
            self.found.add(S001, call.span, f"`{call.name}` takes 1 argument, {len(call.args)} given")
        elif not accepts(WORK, self.formulas.infer(call.args[0], scope)):
            self.found.add(S018, call.args[0].span, f"`{call.name}` is of an obligation")

    def _field(self, target: Attr, scope: Scope) -> ItemSort | None:
        owner = self.formulas.infer(target.target, scope)
        said = self.found.text(target.target.span)
        match owner:
            case Kind("Input", _):
                return self.formulas.attribute(target, scope, writing=True)
            case Plain("Agent"):
                sort = self.formulas.attribute(target, scope, writing=True)
                field = self.names.field("Agent", "", target.name)
                if field is not None and field.kind != "changing":
                    self._cannot(target, "is an attribute, which is fixed", f"declare `changing {target.name}: …` in agents")
                    return None
                return sort
            case Kind("Artifact", _):
                self._cannot(target, "is a field of an artifact", f"write `emit {said} {{ {target.name} = … }}`")
            case Kind("Certificate", _):
                self._cannot(target, "is a field of a certificate", f"write `issue {said} {{ {target.name} = … }}`")
            case Kind("Obligation", _):
                symbol = self.names.symbols.get(target.name)
                if symbol is not None and symbol.kind == "signature":
                    self._cannot(target, "is written as a call", f"write {target.name}({said})")
                elif self.formulas.attribute(target, scope) != ERROR:
                    self._cannot(target, "is a static field, which is fixed", "")
            case _:
                self.formulas.attribute(target, scope)
        return None

    def _cannot(self, target: Expr, why: str, hint: str) -> None:
        self.found.add(S008, target.span, f"`{self.found.text(target.span)}` {why} and cannot be set", hint)

    # ---- effects ------------------------------------------------------------------------------------------------

    def _effect(self, effect: Effect, scope: Scope, place: str, decl: UpdateDecl) -> None:
        target = effect.target
        if effect.kind == "report":
            if not isinstance(target, Name) or target.id not in TERMINALS:
                said = self.found.text(target.span)
                self.found.add(R016, target.span, f"`{said}` cannot be reported", near(said, TERMINALS))
            return
        if effect.kind in ("relate", "unrelate"):
            self._relate(effect, scope)
            return
        base = TAKES[effect.kind]
        if not self._known(target, base, scope):
            for assign in effect.values:
                self.formulas.infer(assign.value, scope)
            return
        sort = self.formulas.infer(target, scope)
        allowed = (base, "Artifact") if effect.kind == "supersede" else (base,)
        if sort != ERROR and not (isinstance(sort, Kind) and sort.base in allowed):
            said = f"`{self.found.text(target.span)}` is {shown(sort)}"
            mends = {("emit", "Certificate"): "write `issue`", ("issue", "Artifact"): "write `emit`"}
            mend = mends.get((effect.kind, sort.base), "") if isinstance(sort, Kind) else ""
            self.found.add(S018, target.span, f"`{effect.kind}` takes {_KIND_WORDS[base]}, {said}", mend)
            return
        self._values(effect, sort, scope)
        if effect.kind == "create":
            self._created(target, sort)
        if effect.kind == "withhold":
            self._withheld(effect, place, decl)

    def _known(self, target: Expr, base: str, scope: Scope) -> bool:
        """Unknown certificates and artifacts are told as such, not as unknown names."""
        name = target.id if isinstance(target, Name) else target.name if isinstance(target, Call) else None
        if name is None or name in scope or name in self.names.symbols or base == "Obligation":
            return True
        span = target.name_span if isinstance(target, Call) else target.span
        kind = base.lower()
        self.found.add(R007 if kind == "certificate" else R008, span, f"there is no {kind} `{name}`", near(name, self.names.those(kind)))
        return False

    def _values(self, effect: Effect, sort: ItemSort, scope: Scope) -> None:
        if not isinstance(sort, Kind) or sort.of is None:
            return
        table = self.names.fields.get((sort.base, sort.of), {})
        given = self.declarations.values(effect.values, table, f"`{sort.of}`")
        for assign in effect.values:
            field = table.get(assign.name) if given.get(assign.name) is assign else None
            if field is None:
                self.formulas.infer(assign.value, scope)
            else:
                self._field_value(field, assign.value, scope)

    def _field_value(self, field: FieldDecl, value: Expr, scope: Scope) -> None:
        self.formulas.value(value, scope, self.names.sort(field.sort), f"`{field.name}`")

    def _created(self, target: Expr, sort: ItemSort) -> None:
        items = self.names.obligations
        if isinstance(target, Name | Index):
            name = target.id if isinstance(target, Name) else target.name
            if name in items:
                if not items[name].latent:
                    self.found.add(D020, target.span, f"`{name}` is not latent: it is there from the beginning", "declare it `latent`")
                return
        of = sort.of if isinstance(sort, Kind) else None
        if sort != ERROR and not any(item.latent and of in (None, item.type) for item in items.values()):
            what = "no work is latent" if of is None else f"no work of type {of} is latent"
            self.found.add(D020, target.span, f"nothing can be created here: {what}", "declare it `latent`")

    def _relate(self, effect: Effect, scope: Scope) -> None:
        target = effect.target
        name = target.name if isinstance(target, Call) else target.id if isinstance(target, Name) else None
        symbol = None if name is None else self.names.symbols.get(name)
        if name is None or name in scope or (symbol is not None and symbol.kind != "relation"):
            self.found.add(S018, target.span, f"`{effect.kind}` takes a relation, as needs(p, w), not `{self.found.text(target.span)}`")
        elif symbol is None:
            span = target.name_span if isinstance(target, Call) else target.span
            self.found.add(R006, span, f"there is no relation `{name}`", near(name, self.names.those("relation")))
        else:
            self.formulas.infer(target, scope)
            if isinstance(symbol.decl, RelationDecl) and not symbol.decl.changing:
                hint = f"declare `changing relation {name}`"
                self.found.add(D028, target.span, f"`{name}` is a fixed relation, no update changes it", hint)

    def _withheld(self, effect: Effect, place: str, decl: UpdateDecl) -> None:
        if place != "fault":
            self._misplaced(effect.span, "withhold", "belongs in a `fault` of an update")
            return
        issued = [one.target for one in _effects(decl.body) if one.kind == "issue"]
        if key(effect.target) not in [key(target) for target in issued]:
            said = self.found.text(effect.target.span)
            hint = f"it issues {listed(self.found.text(target.span) for target in issued)}" if issued else "it issues nothing"
            self.found.add(D027, effect.target.span, f"`{decl.name}` does not issue `{said}`, so nothing is withheld", hint)

    # ---- written twice ------------------------------------------------------------------------------------------

    def _twice(self, decl: UpdateDecl) -> None:
        shared = self._once(decl.body, {})
        for statement in decl.body:
            if isinstance(statement, Outcome):
                self._once(statement.body, dict(shared))
            elif isinstance(statement, Variant):
                self._once(statement.body, {})

    def _once(self, body: tuple[Statement, ...], written: dict[Key, Span]) -> dict[Key, Span]:
        """Reports a field that one block writes twice; blocks of `for` are looked at alone, later ones override."""
        for statement in body:
            match statement:
                case SetField(target=target):
                    self._write(("set", key(target)), target, written)
                case Effect(kind="relate" | "unrelate", target=target):
                    self._write(("relation", key(target)), target, written)
                case Effect(kind="emit" | "consume" | "discard" | "issue" | "revoke" | "supersede" as kind, target=target):
                    what = "artifact" if kind in ("emit", "consume", "discard") else "certificate"
                    self._write((what, key(target)), target, written)
                case Effect(kind="create", target=target):
                    self._write(("created", key(target)), target, written)
                case For(body=inner):
                    self._once(inner, {})
                case _:
                    pass
        return written

    def _write(self, at: Key, target: Expr, written: dict[Key, Span]) -> None:
        if at in written:
            said = self.found.text(target.span)
            self.found.add(
                D013, target.span, f"`{said}` is written already, line {written[at].line}: all writes of an update happen at once"
            )
        written.setdefault(at, target.span)


def _effects(body: tuple[Statement, ...]) -> list[Effect]:
    """The effects of an update itself: not those of its faults."""
    found: list[Effect] = []
    for statement in body:
        match statement:
            case Effect():
                found.append(statement)
            case For(body=inner) | Outcome(body=inner):
                found += _effects(inner)
            case _:
                pass
    return found


def _instead(kind: str, name: str) -> str:
    match kind:
        case "relation":
            return f"write `relate {name}(…)` or `unrelate {name}(…)`"
        case "certificate":
            return f"write `issue {name}`, `revoke {name}` or `supersede {name}`"
        case "artifact":
            return f"write `emit {name}`"
        case _:
            return "settable are status, assignee, marker, signature fields, input fields, changing fields of agents, clocks"
