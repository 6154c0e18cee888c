"""The part of the builder that makes declarations, statements and the module; see `build`."""

from __future__ import annotations

from typing import Any

from icore_dsl import syntax as s
from icore_dsl.build import Args, Block, Builder, Clause, Draft, Header, Repeat
from icore_dsl.mistakes import P014, P015, P016

LANGUAGE = 1


def quoted(text: str) -> str:
    """A text without its quotes."""
    return text[1:-1]


class Declarations(Builder):
    """Adds to expressions and sorts all that stands around them."""

    # ---- the module ----------------------------------------------------------------------------------------------

    def language(self, args: Args, start: int, end: int) -> int:
        number = int(args[0].text)
        if number != LANGUAGE:
            self.mistake(P015, args[0].start, args[0].end, f"language {number} is not known", f"write `language {LANGUAGE}`")
        return number

    def version(self, args: Args, start: int, end: int) -> str:
        return quoted(args[0].text)

    def package_header(self, args: Args, start: int, end: int) -> Header:
        name = args[0]
        params: tuple[s.Param, ...] = ()
        version = ""
        for part in args[1:]:
            if isinstance(part, str):
                version = part
            else:
                params = part
        return Header("package", LANGUAGE, name.id, version, params, self.lines.span(start, end), name.span)

    def theory_header(self, args: Args, start: int, end: int) -> Header:
        token = args[0]
        return Header("theory", LANGUAGE, quoted(token.text), "", (), self.lines.span(start, end), self.lines.span(token.start, token.end))

    def library_header(self, args: Args, start: int, end: int) -> Header:
        return Header("library", LANGUAGE, args[0].id, "", (), self.lines.span(start, end), args[0].span)

    def module(self, args: Args, start: int, end: int) -> Args:
        return args

    def finish(self, header: Header, decls: list[s.Decl], comments: tuple[s.Comment, ...]) -> s.Module:
        """The module of a header and its declarations; its span is the whole text."""
        return s.Module(
            header.kind, header.language, header.name, header.version, header.params, tuple(decls), comments,
            self.lines.text, self.lines.file, self.lines.span(0, len(self.lines.text)), header.name_span,
        )  # fmt: skip

    # ---- vocabulary ----------------------------------------------------------------------------------------------

    def import_decl(self, args: Args, start: int, end: int) -> s.Decl:
        return s.ImportDecl(quoted(args[0].text), self.lines.span(start, end))

    def enum_decl(self, args: Args, start: int, end: int) -> s.Decl:
        return s.EnumDecl(args[0].id, args[1], self.lines.span(start, end))

    def operations_decl(self, args: Args, start: int, end: int) -> s.Decl:
        return s.OperationsDecl(args[0], self.lines.span(start, end))

    def initially_decl(self, args: Args, start: int, end: int) -> s.Decl:
        return s.InitiallyDecl(self.expr(args[0]), self.lines.span(start, end))

    def clock_decl(self, args: Args, start: int, end: int) -> s.Decl:
        return s.ClockDecl(args[0].id, self.expr(args[1]), self.expr(args[2]), self.lines.span(start, end))

    def field_of(self, kind: str, parts: Args, start: int, end: int, inessential: bool = False) -> s.FieldDecl:
        name, sort, default = parts
        return s.FieldDecl(kind, name.id, sort.node, self.optional(default), inessential, self.lines.span(start, end))

    def agent_field(self, args: Args, start: int, end: int) -> s.FieldDecl:
        return self.field_of(args[0].text, args[1:], start, end)

    def otype_field(self, args: Args, start: int, end: int) -> s.FieldDecl:
        return self.field_of(args[0].text, args[1:], start, end)

    def field(self, args: Args, start: int, end: int) -> s.FieldDecl:
        return self.field_of("plain", args[1:], start, end, args[0] is not None)

    def field_block(self, args: Args, start: int, end: int) -> tuple[s.FieldDecl, ...]:
        return tuple(part for part in args if part is not None)

    def assign(self, args: Args, start: int, end: int) -> s.Assign:
        return s.Assign(args[0].id, self.expr(args[1]), self.lines.span(start, end))

    def braces(self, args: Args, start: int, end: int) -> tuple[s.Assign, ...]:
        return tuple(part for part in args if part is not None)

    def agent_member(self, args: Args, start: int, end: int) -> s.Member:
        return s.Member(args[0].id, args[1] or (), self.lines.span(start, end))

    def agents_decl(self, args: Args, start: int, end: int) -> s.Decl:
        fields = tuple(part for part in args if isinstance(part, s.FieldDecl))
        members = tuple(part for part in args if isinstance(part, s.Member))
        return s.AgentsDecl(fields, members, self.lines.span(start, end))

    def slot_decl(self, args: Args, start: int, end: int) -> s.Decl:
        kind, name, params, fields = args
        return s.SlotDecl(kind.text, name.id, params or (), fields or (), self.lines.span(start, end))

    def otype_decl(self, args: Args, start: int, end: int) -> s.Decl:
        return s.ObligationTypeDecl(args[0].id, tuple(args[1:]), self.lines.span(start, end))

    # ---- obligations and relations -------------------------------------------------------------------------------

    def starts(self, args: Args, start: int, end: int) -> Clause:
        return Clause("starts", args[0].id, start, end)

    def latent(self, args: Args, start: int, end: int) -> Clause:
        return Clause("latent", True, start, end)

    def required(self, args: Args, start: int, end: int) -> Clause:
        return Clause("required", True, start, end)

    def assigned(self, args: Args, start: int, end: int) -> Clause:
        return Clause("assigned", self.expr(args[0]), start, end)

    def once(self, clauses: Args, several: frozenset[str] = frozenset()) -> dict[str, Any]:
        """The values of clauses by key; those of `several` are joined, any other that is written twice is a mistake."""
        found: dict[str, Any] = {}
        for clause in clauses:
            if clause.key in several:
                found[clause.key] = found.get(clause.key, ()) + clause.value
            elif clause.key in found:
                self.mistake(P016, clause.start, clause.end, f"`{clause.key}` is written twice here", "keep one of them")
            else:
                found[clause.key] = clause.value
        return found

    def index_param(self, args: Args, start: int, end: int) -> s.Param:
        name, sort = args
        return s.Param("" if name is None else name.id, sort.node, None, self.lines.span(start, end))

    def obligation(self, args: Args, start: int, end: int) -> s.ObligationDecl:
        name, index, type_, values, *modifiers = args
        said = self.once([modifier for modifier in modifiers if modifier is not None])
        return s.ObligationDecl(
            name.id, index, type_.id, values or (), said.get("starts"), "latent" in said, "required" in said, said.get("assigned"),
            self.lines.span(start, end),
        )  # fmt: skip

    def obligations_decl(self, args: Args, start: int, end: int) -> s.Decl:
        return s.ObligationsDecl(tuple(args), self.lines.span(start, end))

    def relation_decl(self, args: Args, start: int, end: int) -> s.Decl:
        changing, name, left, right, contributes = args
        return s.RelationDecl(name.id, left.node, right.node, contributes or (), changing is not None, self.lines.span(start, end))

    def chain_of_facts(self, args: Args, start: int, end: int) -> s.Chain:
        links = self.exprs(part for part in args if isinstance(part, Draft))
        repeat: Repeat | None = args[-1]
        return s.Chain(links, repeat.binders if repeat else (), repeat.where if repeat else None, self.lines.span(start, end))

    def facts_decl(self, args: Args, start: int, end: int) -> s.Decl:
        return s.FactsDecl(args[0].id, tuple(args[1:]), self.lines.span(start, end))

    # ---- certificates --------------------------------------------------------------------------------------------

    def premise(self, args: Args, start: int, end: int) -> s.Target:
        captured, target, repeat = args
        binders, where = (repeat.binders, repeat.where) if repeat else ((), None)
        return s.Target(self.expr(target), binders, where, captured is not None, self.lines.span(start, end))

    def claim(self, args: Args, start: int, end: int) -> s.Claim:
        said, value, repeat = args
        binders, where = (repeat.binders, repeat.where) if repeat else ((), None)
        assertion = self.expr(said)
        span = self.lines.span(start, end)
        if value is not None:
            return s.Claim(assertion, "is", self.expr(value), binders, where, span)
        if isinstance(assertion, s.Binary) and assertion.op == "in":
            return s.Claim(assertion.left, "in", assertion.right, binders, where, span)
        return s.Claim(assertion, None, None, binders, where, span)

    def issuer(self, args: Args, start: int, end: int) -> Clause:
        return Clause("issuer", self.expr(args[0]), start, end)

    def scope(self, args: Args, start: int, end: int) -> Clause:
        return Clause("scope", self.expr(args[0]), start, end)

    def premises(self, args: Args, start: int, end: int) -> Clause:
        return Clause("premises", tuple(args), start, end)

    def claims(self, args: Args, start: int, end: int) -> Clause:
        return Clause("claims", tuple(args), start, end)

    def valid_when(self, args: Args, start: int, end: int) -> Clause:
        return Clause("valid when", self.expr(args[0]), start, end)

    def current_when(self, args: Args, start: int, end: int) -> Clause:
        return Clause("current when", self.expr(args[0]), start, end)

    def delay(self, args: Args, start: int, end: int) -> Clause:
        return Clause("delay", (self.expr(args[0]), None if args[1] is None else args[1].id), start, end)

    def revocable(self, args: Args, start: int, end: int) -> Clause:
        return Clause("revocable by", self.exprs(args), start, end)

    def neutralizes(self, args: Args, start: int, end: int) -> Clause:
        return Clause("neutralizes", tuple(args), start, end)

    def cert_field(self, args: Args, start: int, end: int) -> Clause:
        return Clause("field", (self.field_of("plain", args, start, end),), start, end)

    def starts_active(self, args: Args, start: int, end: int) -> Clause:
        return Clause("starts active", (self.optional(args[0]),), start, end)

    def certificate_decl(self, args: Args, start: int, end: int) -> s.Decl:
        name, params, *clauses = args
        said = self.once(clauses, frozenset({"premises", "claims", "revocable by", "neutralizes", "field"}))
        delay, clock = said.get("delay", (None, None))
        return s.CertificateDecl(
            name.id, params or (), said.get("issuer"), said.get("scope"), said.get("premises", ()), said.get("claims", ()),
            said.get("valid when"), said.get("current when"), delay, clock, said.get("revocable by", ()), said.get("neutralizes", ()),
            said.get("field", ()), "starts active" in said, said.get("starts active", (None,))[0], self.lines.span(start, end),
        )  # fmt: skip

    # ---- updates -------------------------------------------------------------------------------------------------

    def statement(self, node: s.Statement) -> Block:
        return Block([node], 1)

    def block(self, blocks: Args) -> tuple[tuple[s.Statement, ...], int]:
        """The statements of several blocks, and the depth of the deepest."""
        return tuple(node for block in blocks for node in block.statements), max((block.height for block in blocks), default=0)

    def when(self, args: Args, start: int, end: int) -> Block:
        return self.statement(s.When("when", self.expr(args[0]), self.lines.span(start, end)))

    def requires(self, args: Args, start: int, end: int) -> Block:
        return self.statement(s.When("requires", self.expr(args[0]), self.lines.span(start, end)))

    def view_global(self, args: Args, start: int, end: int) -> Block:
        return self.statement(s.View(None, None, True, self.lines.span(start, end)))

    def view_depth(self, args: Args, start: int, end: int) -> Block:
        relation, depth = args
        return self.statement(s.View(None if relation is None else relation.id, self.expr(depth), False, self.lines.span(start, end)))

    def place(self, draft: Draft, verb: str) -> s.Expr:
        """What a statement changes: a field, or a name with its arguments."""
        node = self.expr(draft)
        if not isinstance(node, (s.Name, s.Index, s.Attr, s.Call)):
            self.mistake(P014, draft.start, draft.end, f"`{verb}` needs a field or a name here, not a computation")
        return node

    def set_item(self, args: Args, start: int, end: int) -> s.SetField:
        return s.SetField(self.place(args[0], "set"), self.expr(args[1]), self.lines.span(start, end))

    def sets(self, args: Args, start: int, end: int) -> Block:
        return Block(list(args), 1)

    def effect_item(self, args: Args, start: int, end: int) -> tuple[Draft, tuple[s.Assign, ...] | None, int, int]:
        return args[0], args[1], start, end

    def effects(self, args: Args, start: int, end: int) -> Block:
        kind, *items = args
        nodes: list[s.Statement] = []
        for target, values, item_start, item_end in items:
            if values is not None and kind.text not in ("emit", "issue"):
                self.mistake(P014, item_start, item_end, f"`{kind.text}` takes no values in braces", "only `emit` and `issue` do")
            span = self.lines.span(item_start, item_end)
            nodes.append(s.Effect(kind.text, self.place(target, kind.text), values or (), span))
        return Block(nodes, 1)

    def report(self, args: Args, start: int, end: int) -> Block:
        return self.statement(s.Effect("report", args[0], (), self.lines.span(start, end)))

    def for_statement(self, args: Args, start: int, end: int) -> Block:
        binders, where, *blocks = args
        repeat = self.repeat(binders, where)
        body, height = self.block(blocks)
        span = self.lines.span(start, end)
        if self.deep(1 + height, start, end):
            return Block([], 1)
        return Block([s.For(repeat.binders, repeat.where, body, span)], 1 + height)

    def outcome(self, args: Args, start: int, end: int) -> Block:
        body, height = self.block(args[1:])
        if self.deep(1 + height, start, end):
            return Block([], 1)
        return Block([s.Outcome(args[0].id, body, self.lines.span(start, end))], 1 + height)

    def variant(self, args: Args, start: int, end: int) -> Block:
        body, height = self.block(args[1:])
        if self.deep(1 + height, start, end):
            return Block([], 1)
        return Block([s.Variant(args[0].id, body, self.lines.span(start, end))], 1 + height)

    def variant_block(self, args: Args, start: int, end: int) -> Block:
        return self.variant(args, start, end)

    def update_decl(self, args: Args, start: int, end: int) -> s.Decl:
        kind, name, params, operation, actor, *blocks = args
        body, _ = self.block(blocks)
        return s.UpdateDecl(
            name.id, params or (), None if operation is None else operation.id, self.optional(actor), body, kind.text == "fault",
            self.lines.span(start, end),
        )  # fmt: skip

    # ---- definitions ---------------------------------------------------------------------------------------------

    def body_of(self, body: Any) -> s.Expr | s.TableBody:
        return body if isinstance(body, s.TableBody) else self.expr(body)

    def function(self, args: Args, start: int, end: int) -> s.Decl:
        export, kind, name, params, result, body = args
        return s.FunctionDecl(
            kind.text, name.id, params or (), None if result is None else result.node, self.body_of(body), export is not None,
            self.lines.span(start, end),
        )  # fmt: skip

    def named_function(self, args: Args, start: int, end: int) -> s.Decl:
        kind, params, result, body = args
        sort = None if result is None else result.node
        return s.FunctionDecl(kind.text, kind.text, params, sort, self.body_of(body), False, self.lines.span(start, end))

    def table(self, args: Args, start: int, end: int) -> s.TableBody:
        columns = tuple(part for part in args if isinstance(part, s.Name))
        rows = tuple(part for part in args if isinstance(part, tuple))
        row_key, column_key = self.exprs(args[-2:])
        return s.TableBody(columns, rows, row_key, column_key, self.lines.span(start, end))

    def table_row(self, args: Args, start: int, end: int) -> tuple[s.Name, tuple[s.Num, ...]]:
        return args[0], tuple(args[1:])

    # ---- properties ----------------------------------------------------------------------------------------------

    def property(self, args: Args, start: int, end: int) -> s.Decl:
        return s.PropertyDecl(args[0].text, args[1].id, self.expr(args[2]), None, self.lines.span(start, end))

    def leadsto(self, args: Args, start: int, end: int) -> s.Decl:
        return s.PropertyDecl("leadsto", args[0].id, self.expr(args[1]), self.expr(args[2]), self.lines.span(start, end))

    def bound(self, args: Args, start: int, end: int) -> s.Decl:
        return s.PropertyDecl("bound", args[0].id, self.expr(args[1]), self.optional(args[2]), self.lines.span(start, end))

    def check_decl(self, args: Args, start: int, end: int) -> s.Decl:
        return s.CheckDecl(tuple(args), self.lines.span(start, end))

    def termination(self, args: Args, start: int, end: int) -> s.CheckItem:
        return s.CheckItem("termination", (), (), self.lines.span(start, end))

    def settlement(self, args: Args, start: int, end: int) -> s.CheckItem:
        return s.CheckItem("settlement", (), (), self.lines.span(start, end))

    def stability(self, args: Args, start: int, end: int) -> s.CheckItem:
        given = tuple(part.value for part in args if isinstance(part, Clause))
        on = next((part for part in args if isinstance(part, tuple)), ())
        return s.CheckItem("order stability", given, on, self.lines.span(start, end))

    def given(self, args: Args, start: int, end: int) -> Clause:
        return Clause("given", tuple(args), start, end)

    def path(self, args: Args, start: int, end: int) -> s.Name:
        return s.Name(".".join(part.id for part in args), self.lines.span(start, end))

    def fair_decl(self, args: Args, start: int, end: int) -> s.Decl:
        return s.FairDecl(args[0].text, tuple(args[1:]), self.lines.span(start, end))

    def symmetric_decl(self, args: Args, start: int, end: int) -> s.Decl:
        return s.SymmetricDecl(args[0].id, args[1], self.lines.span(start, end))

    def run_step(self, args: Args, start: int, end: int) -> s.RunStep:
        update, variant, arguments = args
        return s.RunStep(update.id, None if variant is None else variant.id, self.exprs(arguments or ()), self.lines.span(start, end))

    def run_decl(self, args: Args, start: int, end: int) -> s.Decl:
        steps = tuple(part for part in args if isinstance(part, s.RunStep))
        return s.RunDecl(args[0].id, steps, self.expr(args[-1]), self.lines.span(start, end))

    def allow_decl(self, args: Args, start: int, end: int) -> s.Decl:
        kind, subject, reason = args
        if subject is not None:
            subject = subject.id if isinstance(subject, s.Name) else quoted(subject.text)
        return s.AllowDecl(kind.id, subject, quoted(reason.text), self.lines.span(start, end))

    def expect_decl(self, args: Args, start: int, end: int) -> s.Decl:
        name = args[0].id if isinstance(args[0], s.Name) else quoted(args[0].text)
        return s.ExpectDecl(name, self.lines.span(start, end))

    # ---- audit ---------------------------------------------------------------------------------------------------

    def audit_value(self, args: Args, start: int, end: int) -> s.AuditEntry:
        return s.AuditEntry(args[0].text, self.expr(args[1]), (), None, None, (), self.lines.span(start, end))

    def audit_progress(self, args: Args, start: int, end: int) -> s.AuditEntry:
        binders, where, value, changes = args
        repeat = self.repeat(binders, where)
        span = self.lines.span(start, end)
        return s.AuditEntry("progress", self.expr(value), repeat.binders, repeat.where, self.expr(changes), (), span)

    def repair(self, args: Args, start: int, end: int) -> tuple[str, tuple[s.Name, ...]]:
        return args[0].id, args[1]

    def audit_repairs(self, args: Args, start: int, end: int) -> s.AuditEntry:
        return s.AuditEntry("repairs", None, (), None, None, tuple(args), self.lines.span(start, end))

    def audit_decl(self, args: Args, start: int, end: int) -> s.Decl:
        return s.AuditDecl(tuple(args), self.lines.span(start, end))

    # ---- only in theories ----------------------------------------------------------------------------------------

    def primitive_decl(self, args: Args, start: int, end: int) -> s.Decl:
        export, name, params, result, meaning = args
        return s.PrimitiveDecl(name.id, params or (), result.node, quoted(meaning.text), export is not None, self.lines.span(start, end))

    def clause_decl(self, args: Args, start: int, end: int) -> s.Decl:
        kind, label, moment, params, formula = args
        said = None if moment is None else moment.text
        return s.ClauseDecl(kind.text, quoted(label.text), said, params or (), self.expr(formula), self.lines.span(start, end))
