"""From text to trees: what every construct becomes, every code of the parser with its place and words, limits, recovery, mutations."""

from __future__ import annotations

import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from language_texts import LIBRARY, PACKAGE, THEORY
from mutations import mutated

from icore_dsl import mistakes, source
from icore_dsl import syntax as s
from icore_dsl.mistakes import MAX_MISTAKES, PARSING, LanguageError, explain, render, table
from icore_dsl.parse import digest, grammar_text, parse_file, parse_text, plain_tables
from icore_dsl.syntax import equal_modulo_spans

NIGHTLY = os.environ.get("ICORE_TESTS") == "nightly"


def module_of(text: str) -> s.Module:
    parsed = parse_text(text, "t.icore")
    assert parsed.mistakes == ()
    assert parsed.module is not None and parsed.partial is parsed.module
    return parsed.module


def decl_of(text: str) -> s.Decl:
    (decl,) = module_of("package A\n" + text).decls
    return decl


def expr_of(text: str) -> s.Expr:
    decl = decl_of(f"invariant x: {text}")
    assert isinstance(decl, s.PropertyDecl)
    return decl.formula


def short(node: object) -> str:
    """An expression with all its brackets, for comparison by eye."""
    match node:
        case s.Num(text=text):
            return text
        case s.BoolLit(value=value):
            return str(value).lower()
        case s.NoneLit():
            return "none"
        case s.Name(id=name):
            return name
        case s.Index(name=name, index=index):
            return f"{name}[{short(index)}]"
        case s.Attr(target=target, name=name):
            return f"{short(target)}.{name}"
        case s.Call(name=name, args=args):
            return f"{name}({','.join(map(short, args))})"
        case s.Unary(op=op, operand=operand):
            return f"({op} {short(operand)})"
        case s.Binary(op=op, left=left, right=right):
            return f"({short(left)} {op} {short(right)})"
        case s.SetLit(items=items):
            return "{" + ",".join(map(short, items)) + "}"
        case s.RangeLit(low=low, high=high):
            return f"{short(low)}..{short(high)}"
        case s.SetOf(item=item, binders=binders, where=where):
            return "{" + f"{short(item)} for {','.join(map(short, binders))} where {short(where)}" + "}"
        case s.If(condition=condition, then=then, otherwise=otherwise):
            return f"if({short(condition)},{short(then)},{short(otherwise)})"
        case s.Binder(name=name, domain=domain):
            return f"{name} in {short(domain)}"
        case s.Quant(kind=kind, binders=binders, where=where, body=body):
            return f"{kind}[{','.join(map(short, binders))} where {short(where)}: {short(body)}]"
        case s.Closure(relation=relation, reflexive=reflexive, left=left, right=right):
            return f"{relation}{'*' if reflexive else '+'}<{short(left)},{short(right)}>"
        case None:
            return "-"
        case _:
            raise AssertionError(node)


# ---- what things become ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a and b or c and d", "((a and b) or (c and d))"),
        ("not a and not not b", "((not a) and (not (not b)))"),
        ("a implies b implies c", "(a implies (b implies c))"),
        ("a iff b iff c implies d", "((a iff b) iff (c implies d))"),
        ("not a == b", "(not (a == b))"),
        ("1 + 2 * 3 - 4", "((1 + (2 * 3)) - 4)"),
        ("a - (b - c) - d", "((a - (b - c)) - d)"),
        ("a / b / c * d", "(((a / b) / c) * d)"),
        ("7 div 2 mod 2", "((7 div 2) mod 2)"),
        ("- - a * b", "((- (- a)) * b)"),
        ("-a.b", "(- a.b)"),
        ("a in {b, c}", "(a in {b,c})"),
        ("a not in 1..n + 1", "(a not_in 1..(n + 1))"),
        ("a in 1..2 and b", "((a in 1..2) and b)"),
        ("hotfix[i + 1].skill", "hotfix[(i + 1)].skill"),
        ("log(w).passed == true", "(log(w).passed == true)"),
        ("x == none", "(x == none)"),
        ("if a then b else if c then d else e", "if(a,b,if(c,d,e))"),
        ("forall p in S where q(p): a and b", "forall[p in S where q(p): (a and b)]"),
        ("a and forall p in S, q in 1..2: b or c", "(a and forall[p in S,q in 1..2 where -: (b or c)])"),
        ("exists x in S where e(x)", "exists[x in S where e(x): -]"),
        ("count(x in S where e) == 2", "(count[x in S where e: -] == 2)"),
        ("sum(x in S: w.v) >= 1", "(sum[x in S where -: w.v] >= 1)"),
        ("max(1, 2, n) > min(i in 1..n: i)", "(max(1,2,n) > min[i in 1..n where -: i])"),
        ("p == {w for w in S where needs(p, w)}", "(p == {w for w in S where needs(p,w)})"),
        ("needs*(p, w) and needs+(p, q)", "(needs*<p,w> and needs+<p,q>)"),
        ("needs*(p)", "(needs * p)"),
        ("needs + (p) + q", "((needs + p) + q)"),
        ("{} == {}", "({} == {})"),
        ("(a)", "a"),
    ],
)
def test_expressions_bind_as_they_are_read(text: str, tree: str) -> None:
    assert short(expr_of(text)) == tree


def test_numbers_are_exact() -> None:
    decl = decl_of("invariant x: f(0.94, 3, 007, 1.50)")
    assert isinstance(decl, s.PropertyDecl) and isinstance(decl.formula, s.Call)
    numbers = [(part.value, part.whole, part.text) for part in decl.formula.args if isinstance(part, s.Num)]
    assert numbers == [
        (Fraction(47, 50), False, "0.94"),
        (Fraction(3), True, "3"),
        (Fraction(7), True, "007"),
        (Fraction(3, 2), False, "1.50"),
    ]


def test_a_package_with_everything_is_read() -> None:
    module = module_of(PACKAGE)
    assert (module.kind, module.language, module.name, module.version) == ("package", 1, "Everything", "2.1")
    assert [(param.name, param.default is not None) for param in module.params] == [("n", True), ("m", False)]
    assert module.name_span is not None and str(module.name_span) == "t.icore:3:9"
    assert [type(decl) for decl in module.decls[:5]] == [s.ImportDecl, s.EnumDecl, s.OperationsDecl, s.AgentsDecl, s.SlotDecl]
    kinds = {type(decl) for decl in module.decls}
    assert {s.CertificateDecl, s.UpdateDecl, s.FunctionDecl, s.CheckDecl, s.FairDecl, s.RunDecl, s.AllowDecl, s.AuditDecl} <= kinds
    assert [comment.text for comment in module.comments if comment.own_line] == ["# A comment before the header.", "# The last word."]


def test_theories_and_libraries_are_read() -> None:
    theory = module_of(THEORY)
    assert (theory.kind, theory.name) == ("theory", "1")
    primitive, other, *_ = theory.decls
    assert isinstance(primitive, s.PrimitiveDecl) and (primitive.exported, primitive.meaning) == (True, "the status of w")
    assert isinstance(other, s.PrimitiveDecl) and not other.exported and isinstance(other.result, s.SortOptional)
    clauses = [(decl.kind, decl.label, decl.moment, len(decl.params)) for decl in theory.decls if isinstance(decl, s.ClauseDecl)]
    assert clauses[:3] == [("feasibility", "A.2(1)", None, 1), ("legality", "A.4(1)", "before", 1), ("legality", "A.4(2)", "after", 1)]
    assert [kind for kind, *_ in clauses[3:9]] == ["soundness", "accept", "reject", "stuck", "outcome", "report"]
    assert [kind for kind, *_ in clauses[9:]] == ["hypothesis", "conclusion", "measure", "evaluated", "finding"]
    assert module_of(LIBRARY).kind == "library"


def test_agents_have_fields_and_members_with_names_that_are_words_elsewhere() -> None:
    decl = next(decl for decl in module_of(PACKAGE).decls if isinstance(decl, s.AgentsDecl))
    assert [(part.kind, part.name, part.default is not None) for part in decl.fields] == [
        ("attribute", "skills", False),
        ("changing", "available", True),
    ]
    assert [(member.name, len(member.values)) for member in decl.members] == [("ana", 2), ("value", 1), ("report", 0)]


def test_obligations_have_modifiers_in_any_order() -> None:
    decl = decl_of("obligations { a: T latent  b: T { n = 1 } starts ready assigned ana, required  c[i: 1..2]: T  d[Skill]: T }")
    assert isinstance(decl, s.ObligationsDecl)
    a, b, c, d = decl.items
    assert (a.latent, a.required, a.starts, a.assigned, a.index) == (True, False, None, None, None)
    assert (b.latent, b.required, b.starts, short(b.assigned)) == (False, True, "ready", "ana")
    assert c.index is not None and c.index.name == "i" and isinstance(c.index.sort, s.SortRange)
    assert d.index is not None and d.index.name == "" and isinstance(d.index.sort, s.SortName)


def test_facts_are_chains_over_binders() -> None:
    decl = decl_of("needs = a -> {b, c} -> d, e[i] -> f for i in 1..2 where i > 1")
    assert isinstance(decl, s.FactsDecl) and decl.relation == "needs"
    first, second = decl.chains
    assert [short(link) for link in first.links] == ["a", "{b,c}", "d"] and first.binders == ()
    assert [short(link) for link in second.links] == ["e[i]", "f"]
    assert [short(binder) for binder in second.binders] == ["i in 1..2"] and short(second.where) == "(i > 1)"


def test_certificates_keep_each_clause() -> None:
    decl = next(decl for decl in module_of(PACKAGE).decls if isinstance(decl, s.CertificateDecl))
    assert (short(decl.issuer), short(decl.scope)) == ("assignee(w)", "w")
    assert [(short(part.expr), part.captured, len(part.binders)) for part in decl.premises] == [
        ("head", True, 0),
        ("log(w)", False, 0),
        ("done(p)", False, 1),
    ]
    assert [(short(claim.assertion), claim.test, short(claim.value), len(claim.binders)) for claim in decl.claims] == [
        ("status(w)", "is", "closed", 0),
        ("status(w)", "in", "{ready,blocked}", 0),
        ("signature(w)", None, "-", 0),
        ("needs(w,p)", None, "-", 1),
    ]
    assert (short(decl.valid), short(decl.current)) == ("log(w).passed", "(log(w).commit == head.commit)")
    assert (short(decl.delay), decl.delay_clock) == ("2", "rounds")
    assert [short(who) for who in decl.revocable_by] == ["monitor", "assignee(w)"]
    assert [short(part.expr) for part in decl.neutralizes] == ["failed(w)"]
    assert [(part.name, short(part.default)) for part in decl.fields] == [("parts", "-"), ("size", "2")]
    assert decl.starts_active and short(decl.starts_when) == "(not log(w).passed)"


def test_updates_keep_their_statements_in_order() -> None:
    decl = next(decl for decl in module_of(PACKAGE).decls if isinstance(decl, s.UpdateDecl))
    assert (decl.name, decl.operation, short(decl.actor), decl.is_fault) == ("finish", "complete", "m", False)
    kinds = " ".join(node.kind if isinstance(node, s.When | s.Effect) else type(node).__name__ for node in decl.body)
    assert kinds == (
        "when requires View View View emit SetField SetField SetField issue issue consume discard create relate unrelate revoke"
        " supersede report For Outcome Outcome Variant Variant"
    )
    views = [(node.relation, short(node.depth), node.everything) for node in decl.body if isinstance(node, s.View)]
    assert views == [(None, "-", True), (None, "2", False), ("needs", "1", False)]
    issue = next(node for node in decl.body if isinstance(node, s.Effect) and node.kind == "issue")
    assert [(value.name, short(value.value)) for value in issue.values] == [("parts", "{p for p in Step where needs*<p,w>}")]


def test_faults_of_an_update_stand_beside_each_other() -> None:
    decl = decl_of("update u { fault a: withhold c  set x := 1\n fault b: emit r { f = 2 }\n fault c { }\n when true }")
    assert isinstance(decl, s.UpdateDecl)
    faults = [(node.name, len(node.body)) for node in decl.body if isinstance(node, s.Variant)]
    assert faults == [("a", 2), ("b", 1), ("c", 0)] and isinstance(decl.body[-1], s.When)


def test_functions_may_be_tables() -> None:
    decl = decl_of("value(m: Agent, w: T): rational = table { a b ana: 0.5 1 bo: 0 0 } at (m, w.skill)")
    assert isinstance(decl, s.FunctionDecl) and isinstance(decl.body, s.TableBody)
    assert (decl.kind, decl.name, [column.id for column in decl.body.columns]) == ("value", "value", ["a", "b"])
    rows = [(row.id, [number.text for number in numbers]) for row, numbers in decl.body.rows]
    assert rows == [("ana", ["0.5", "1"]), ("bo", ["0", "0"])]
    assert (short(decl.body.row_key), short(decl.body.column_key)) == ("m", "w.skill")


def test_properties_checks_runs_and_allowances() -> None:
    text = (
        "package A\nleadsto l: a ~> b\nbound q: quality >= 0.8 when accept\n"
        "check termination, order stability given assign.m, finish or fail on status\nrun r: u(a); v.bad; w expect accept\n"
        'allow dead `u.bad` because "so"\nexpect violated l'
    )
    leads, bound, check, run, allow, expect = module_of(text).decls
    assert isinstance(leads, s.PropertyDecl) and (leads.kind, short(leads.formula), short(leads.second)) == ("leadsto", "a", "b")
    assert isinstance(bound, s.PropertyDecl) and (short(bound.formula), short(bound.second)) == ("(quality >= 0.8)", "accept")
    assert isinstance(check, s.CheckDecl) and [item.what for item in check.items] == ["termination", "order stability"]
    assert [[name.id for name in given] for given in check.items[1].given] == [["assign.m"], ["finish", "fail"]]
    assert [name.id for name in check.items[1].on] == ["status"]
    assert isinstance(run, s.RunDecl) and short(run.expect) == "accept"
    assert [(step.update, step.variant, len(step.args)) for step in run.steps] == [("u", None, 1), ("v", "bad", 0), ("w", None, 0)]
    assert isinstance(allow, s.AllowDecl) and (allow.kind, allow.subject, allow.reason) == ("dead", "u.bad", "so")
    assert isinstance(expect, s.ExpectDecl) and expect.name == "l"


def test_the_audit_keeps_its_entries() -> None:
    progress_said = "progress some w in T where p(w): status(w) changes to closed"
    decl = decl_of(f"audit {{ tolerance 0.05 budget 40 {progress_said} repairs {{ a: x y: b, c }} }}")
    assert isinstance(decl, s.AuditDecl)
    tolerance, budget, progress, repairs = decl.entries
    assert [(entry.key, short(entry.value)) for entry in (tolerance, budget)] == [("tolerance", "0.05"), ("budget", "40")]
    assert (short(progress.value), short(progress.where), short(progress.changes)) == ("status(w)", "p(w)", "closed")
    assert [(key, [name.id for name in names]) for key, names in repairs.repairs] == [("a", ["x"]), ("y", ["b", "c"])]


@pytest.mark.parametrize("word", ["value", "report", "set", "view", "field", "accept", "clock", "package", "depth", "when", "starts"])
def test_words_are_reserved_only_where_they_are_expected(word: str) -> None:
    module = module_of(
        f"package A\nenum {word} {{ {word}, b }}\ndefine f({word}: S) = {word} == b and g({word}.{word})\n"
        f"input {word} {{ {word}: bool }}"
    )
    enum, function, slot = module.decls
    assert isinstance(enum, s.EnumDecl) and enum.members[0].id == word
    assert isinstance(function, s.FunctionDecl) and short(function.body) == f"(({word} == b) and g({word}.{word}))"
    assert isinstance(slot, s.SlotDecl) and (slot.name, slot.fields[0].name) == (word, word)


def test_spans_cover_exactly_what_they_name() -> None:
    text = "package A\n\ninvariant x:\n  größe(w) and\n\tneeds*(p, w)\n"
    decl = module_of(text).decls[0]
    assert isinstance(decl, s.PropertyDecl) and isinstance(decl.formula, s.Binary)
    left, right = decl.formula.left, decl.formula.right
    assert isinstance(left, s.Call) and isinstance(right, s.Closure)
    assert [text[node.span.start : node.span.end] for node in (left, right, right.left)] == ["größe(w)", "needs*(p, w)", "p"]
    assert text[left.name_span.start : left.name_span.end] == "größe"
    assert (left.span.line, left.span.column, left.span.end_line, left.span.end_column) == (4, 3, 4, 11)
    assert (right.span.line, right.span.column) == (5, 2)
    assert (decl.span.line, decl.span.column, decl.span.end_line, decl.span.end_column) == (3, 1, 5, 14)


# ---- what is accepted quietly ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\ufeff" + text,
        lambda text: text.replace("  ", "\t"),
        lambda text: text.rstrip("\n"),
        lambda text: text + "# no newline",
        lambda text: "\n\n" + text + "\n\n",
    ],
    ids=["crlf", "byte-order mark", "tabs", "no newline", "comment at the end", "blank lines"],
)
def test_layout_of_files_does_not_matter(change: object) -> None:
    assert callable(change)
    first, second = module_of(PACKAGE), module_of(change(PACKAGE))
    assert equal_modulo_spans(first.decls, second.decls)


def test_names_may_be_of_any_script_and_are_normalised() -> None:
    decl = decl_of("enum Größe { klein, 大きい, e\u0301te\u0301 }")
    assert isinstance(decl, s.EnumDecl)
    assert [member.id for member in decl.members] == ["klein", "大きい", "\u00e9t\u00e9"]


def test_files_are_read_as_bytes(tmp_path: Path) -> None:
    path = tmp_path / "a.icore"
    path.write_bytes(b"\xef\xbb\xbfpackage A\r\nenum S { a }\r\n")
    module = parse_file(path).module
    assert module is not None and module.file == str(path) and len(module.decls) == 1
    assert source.read_source(path) == "package A\r\nenum S { a }\r\n"


# ---- every code, with its place and its words --------------------------------------------------------------------

PROVOKED = [
    ("P002", "package A\n# x\0", 2, 4, "a NUL byte"),
    ("P004", "package A\ninvariant x: " + "not " * 200 + "a", 2, 14, "nested more than 200 deep"),
    ("P004", "package A\ninvariant x: " + "(" * 201 + "a" + ")" * 201, 2, 214, "nested more than 200 deep"),
    ("P004", "package A\ninvariant x: " + "a implies " * 200 + "a", 2, 14, "nested more than 200 deep"),
    ("P004", "package A\nupdate u { " + "for x in S { " * 201 + "}" * 202, 2, 11 + 13 * 200 - 1, "nested more than 200 deep"),
    ("P004", "package A\ninput x { a: " + "set of " * 200 + "bool }", 2, 14, "nested more than 200 deep"),
    ("P005", "enum S { a }", 1, 1, "a file starts with `package NAME`"),
    ("P005", "", 1, 1, "a file starts with `package NAME`"),
    ("P005", "# nothing\n", 1, 1, "a file starts with `package NAME`"),
    ("P005", "language 1\nenum S { a }", 2, 1, "a file starts with `package NAME`"),
    ("P006", "package A\nenum S { a }\npackage B\n", 3, 1, "`package` again: a file has one header"),
    ("P006", "package A\ninvariant x: a\ntheory \"2\"\n", 3, 1, "`theory` again: a file has one header"),
    ("P007", "package A\nenum S { a ? }", 2, 12, "the character `?` is not part of the language"),
    ("P007", "package A\ninvariant x:\u00a0a", 2, 13, "the character U+00A0 (no-break space) is not part of the language"),
    ("P007", "package A\ninvariant x: a == 3x", 2, 19, "`3x` is neither a number nor a name"),
    ("P008", 'package A\nallow dead because "x\nenum S { a }', 2, 20, 'this text has no closing `"`'),
    ("P009", "package A\nenum { a }", 2, 6, "expected a name for the enumeration, found `{`"),
    ("P009", "package A\nupdate u {\n  set x = 3\n}", 3, 9, "expected `:=` after the field to set, found `=`"),
    ("P009", "package A\ninvariant x: a = b", 2, 16, "expected an operator or a declaration, found `=`"),
    ("P009", "package A\ninvariant x: (a b)", 2, 17, "expected `,`, `)` or an operator, found `b`"),
    ("P009", "package A\ninvariant x: a b\n", 2, 16, "`b` does not continue what stands before it"),
    ("P009", "package A\ninput x { a }", 2, 13, "expected `:`, found `}`"),
    ("P009", "package A\ninvariant x: if a b", 2, 19, "expected an operator or `then` after the condition, found `b`"),
    ("P009", 'package A\nclock r "0"', 2, 9, 'expected a value, found the text "0"'),
    ("P009", "package A\nenum S { a, b\nagents { }", 3, 1, "expected `,` or `}`, found `agents`"),
    ("P010", "package A\nenum S {\n  a", 3, 4, "the file ends, but `{` of line 2 is not closed"),
    ("P010", "package A\nenum", 2, 5, "the file ends where a name for the enumeration is expected"),
    ("P011", "package A\ninvarient x: a", 2, 1, "`invarient`: did you mean `invariant`?"),
    ("P011", "package A\nagents {\n  atribute skills: bool\n}", 3, 3, "`atribute`: did you mean `attribute`?"),
    ("P011", "package A\nupdate u {\n  emmit log(w)\n}", 3, 3, "`emmit`: did you mean `emit`?"),
    ("P011", "package A\nobligations { a: T strats ready }", 2, 20, "`strats`: did you mean `starts`?"),
    ("P011", "pakage A\nenum S { a }", 1, 1, "`pakage`: did you mean `package`?"),
    ("P012", "package A\n}\n", 2, 1, "`}` closes nothing"),
    ("P012", "package A\nenum S { a } }\n", 2, 14, "`}` closes nothing"),
    ("P012", "package A\nrubbish", 2, 1, "`rubbish` starts no declaration"),
    ("P012", "package A 3", 1, 11, "`3` starts no declaration"),
    ("P013", "package A\ninvariant x: (a, b) and c", 2, 14, "a pair stands only after a closure"),
    ("P013", "package A\ninvariant x: 2 * (a, b)", 2, 18, "a pair stands only after a closure"),
    ("P014", "package A\nupdate u { set 3 := 4 }", 2, 16, "`set` needs a field or a name here, not a computation"),
    ("P014", "package A\nupdate u { revoke c { f = 1 } }", 2, 19, "`revoke` takes no values in braces"),
    ("P015", "language 2\npackage A", 1, 10, "language 2 is not known"),
    ("P016", "package A\ncertificate c { issuer any\n  issuer monitor }", 3, 3, "`issuer` is written twice here"),
    ("P016", "package A\nobligations { a: T latent latent }", 2, 27, "`latent` is written twice here"),
]


@pytest.mark.parametrize(("code", "text", "line", "column", "message"), PROVOKED)
def test_each_code_has_its_place_and_its_words(code: str, text: str, line: int, column: int, message: str) -> None:
    parsed = parse_text(text, "t.icore")
    assert parsed.module is None
    found = [(str(mistake.code), mistake.span.line, mistake.span.column, mistake.message) for mistake in parsed.mistakes]
    assert found == [(code, line, column, message)]


def test_bytes_that_are_no_text_are_refused_with_their_line() -> None:
    _, found = source.decode("package A\n# é ".encode() + b"\xff\n", "t.icore")
    (one,) = found
    assert (str(one.code), one.span.line, one.span.column, one.message) == ("P001", 2, 5, "byte 15 (0xff) is not UTF-8")


def test_large_files_are_refused_before_they_are_parsed(tmp_path: Path) -> None:
    path = tmp_path / "large.icore"
    path.write_bytes(b"package A" + b" " * (source.MAX_BYTES - 9))
    assert parse_file(path).mistakes == ()
    path.write_bytes(b"package A" + b" " * (source.MAX_BYTES - 8))
    assert [str(one.code) for one in parse_file(path).mistakes] == ["P003"]
    assert [str(one.code) for one in parse_text("package A\n#" + "é" * (source.MAX_BYTES // 2), "t").mistakes] == ["P003"]
    with pytest.raises(LanguageError) as raised:
        source.read_source(path)
    assert [str(one.code) for one in raised.value.mistakes] == ["P003"]


@pytest.mark.parametrize("row", [row for row in PARSING if row.code not in ("P001", "P003")], ids=lambda row: row.code)
def test_the_example_of_each_row_provokes_it(row: mistakes.Row) -> None:
    assert row.code in [str(mistake.code) for mistake in parse_text(row.example, "t.icore").mistakes]


def test_the_table_has_each_code_once_and_explains_it() -> None:
    assert len(table()) == len({row.code for row in table().values()})
    assert all(row.title and row.explanation and row.example for row in table().values())
    row = explain("p009")
    assert row is not None and row.code == "P009"
    assert explain("P999") is None


def test_hints_say_what_would_mend_it() -> None:
    def hint(text: str) -> str:
        (found,) = parse_text("package A\n" + text, "t.icore").mistakes
        return found.hint

    assert hint("invariant x: a = b") == "write `==` to compare"
    assert hint("invariant x: a -> b") == "write `implies` in formulas"
    assert hint("invariant x: a < b < c") == "join comparisons with `and`: `a < b and b < c`"
    assert hint("update u { set x = 3 }") == "write `:=` to set a field"
    assert hint("enum S { a\nagents { }") == "is `{` of line 2 closed?"
    assert hint("certificate c { premises d(p) for p in S, r(w) }").startswith("a part repeated with `for` comes last")
    assert hint("invariant x: a ∧ b") == "write `and`"


def test_mistakes_are_shown_with_their_line_and_carets() -> None:
    text = "package A\nupdate u {\n\tset  level = 3\n}\n"
    (found,) = parse_text(text, "file.icore").mistakes
    assert render(found, text) == (
        "file.icore:3:13: error P009: expected `:=` after the field to set, found `=`\n"
        "  \tset  level = 3\n"
        "  \t           ^\n"
        "  write `:=` to set a field"
    )
    text = "package A\ninvarient x: a"
    (found,) = parse_text(text, "f").mistakes
    assert render(found, text) == "f:2:1: error P011: `invarient`: did you mean `invariant`?\n  invarient x: a\n  ^^^^^^^^^"
    text = "package A\ninvariant x: " + "a + " * 100 + "?" + " + a" * 100
    (found,) = parse_text(text, "f").mistakes
    _, line, carets, _ = [*render(found, text).split("\n"), ""]
    assert len(line) <= 162 and line[carets.index("^")] == "?"


# ---- several mistakes in one pass --------------------------------------------------------------------------------


def test_parsing_goes_on_at_the_next_declaration_and_statement() -> None:
    text = """\
package A
enum { a }
enum Good { a, b }
update u(w T) { }
needs = a -> b
update v(w: T) {
  when a = b
  set x := { 1, 2
  issue done(w)
}
certificate c {
  claimz a
  valid when
  issuer any
}
agents {
  ana [ ]
  bo { }
}
invariant x: (a
invariant y: b
  c
obligations {
  a T
  b: T
}
clock r 0..7
"""
    parsed = parse_text(text, "t.icore")
    assert [(mistake.span.line, str(mistake.code)) for mistake in parsed.mistakes] == [
        (2, "P009"), (4, "P009"), (7, "P009"), (9, "P009"), (12, "P011"), (14, "P009"), (17, "P009"), (21, "P009"), (22, "P012"),
        (24, "P009"),
    ]  # fmt: skip
    assert parsed.module is None and parsed.partial is not None
    names = [type(decl).__name__ for decl in parsed.partial.decls]
    assert names[0] == "EnumDecl" and "FactsDecl" in names and names[-1] == "ClockDecl"


def test_a_file_full_of_mistakes_is_read_until_fifty() -> None:
    parsed = parse_text("package A\n" + "invariant x: (a\n" * 500, "t.icore")
    assert len(parsed.mistakes) == 50
    assert len(parse_text("package A\n" + "?$" * 100_000, "t.icore").mistakes) == 50
    assert len(parse_text("package A\n" + "invariant x: (a, b)\n" * 500, "t.icore").mistakes) == 50


# ---- size and depth ----------------------------------------------------------------------------------------------


def depth(node: object) -> int:
    match node:
        case s.Binary(left=left, right=right):
            return 1 + max(depth(left), depth(right))
        case s.Unary(operand=operand):
            return 1 + depth(operand)
        case _:
            return 1


def operands(node: s.Expr, op: str) -> list[str]:
    if isinstance(node, s.Binary) and node.op == op:
        return operands(node.left, op) + operands(node.right, op)
    return [short(node)]


@pytest.mark.parametrize("op", ["and", "or", "+", "*"])
def test_long_flat_chains_are_shallow_and_keep_their_order(op: str) -> None:
    names = [f"a{place}" for place in range(5_000)]
    node = expr_of(f" {op} ".join(names))
    assert depth(node) == 14
    assert operands(node, op) == names


@given(st.lists(st.tuples(st.sampled_from("+-"), st.integers(0, 99)), min_size=1, max_size=60))
def test_sums_keep_their_value_however_they_are_balanced(terms: list[tuple[str, int]]) -> None:
    def value(node: s.Expr) -> Fraction:
        match node:
            case s.Num(value=number):
                return number
            case s.Binary(op="+", left=left, right=right):
                return value(left) + value(right)
            case s.Binary(op="-", left=left, right=right):
                return value(left) - value(right)
            case _:
                raise AssertionError(node)

    text = "0" + "".join(f" {sign} {number}" for sign, number in terms)
    node = expr_of(text)
    assert value(node) == sum(number if sign == "+" else -number for sign, number in terms)
    assert depth(node) <= 9 and (node.span.end - node.span.start) == len(text)


def test_depth_is_allowed_up_to_its_limit() -> None:
    assert depth(expr_of("not " * 199 + "a")) == 200
    assert depth(expr_of("a implies " * 199 + "a")) == 200
    assert short(expr_of("(" * 200 + "a" + ")" * 200)) == "a"


ENDLESS = ["not ", "- ", "a implies ", "a iff ", "(", "{", "f(", "a.", "a / ", "if a then b else ", "forall x in S: ", "set of "]


@pytest.mark.parametrize("text", ENDLESS)
def test_endless_nesting_is_a_mistake_and_not_a_crash(text: str) -> None:
    before = "input x { a: " if text == "set of " else "invariant x: "
    parsed = parse_text(f"package A\n{before}{text * 20_000}a\n\nclock r 0..1", "t.icore")
    assert parsed.mistakes and parsed.module is None
    assert {str(mistake.code) for mistake in parsed.mistakes} <= {"P004", "P009", "P010"}


def test_ten_thousand_declarations_are_read() -> None:
    module = module_of("package A\n" + "".join(f"enum E{place} {{ a{place} }}\n" for place in range(10_000)))
    assert len(module.decls) == 10_000
    last = module.decls[-1]
    assert isinstance(last, s.EnumDecl) and last.name == "E9999" and last.span.line == 10_001


# ---- tables ------------------------------------------------------------------------------------------------------


def test_the_kept_tables_are_those_of_the_grammar(checkout: Path) -> None:
    import json

    kept = json.loads((checkout / "dsl/icore_dsl/grammar.json").read_text(encoding="utf-8"))
    assert kept["digest"] == digest(grammar_text()), "run dsl/tables.py"
    fresh = plain_tables(grammar_text())
    assert fresh["words"] == kept["words"] and sorted(map(str, fresh["rules"])) == sorted(map(str, kept["rules"]))
    assert len(fresh["states"]) == len(kept["states"])


def test_parsing_does_not_load_the_parser_generator() -> None:
    code = "import sys; from icore_dsl.parse import parse_text; parse_text('package A', 'f'); print('lark' in sys.modules)"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment, timeout=60)
    assert ran.stdout == "False\n"


# ---- mutations ---------------------------------------------------------------------------------------------------


@settings(max_examples=5_000 if NIGHTLY else 300)
@given(st.sampled_from((PACKAGE, THEORY, LIBRARY)), st.integers(0, 2**32))
def test_mutated_texts_give_a_module_or_mistakes(text: str, seed: int) -> None:
    changed = mutated(text, seed)
    parsed = parse_text(changed, "t.icore")
    assert (parsed.module is None) == bool(parsed.mistakes)
    assert len(parsed.mistakes) <= MAX_MISTAKES
    for mistake in parsed.mistakes:
        assert 0 <= mistake.span.start <= mistake.span.end <= len(changed)
        assert str(mistake.code) in table() and mistake.message
        assert render(mistake, changed).startswith(f"t.icore:{mistake.span.line}:{mistake.span.column}: error P")


@given(st.sampled_from((PACKAGE, THEORY, LIBRARY)), st.text(min_size=1, max_size=30))
def test_nothing_is_accepted_behind_a_complete_package(text: str, rubbish: str) -> None:
    parsed = parse_text(f"{text}\n;{rubbish}", "t.icore")
    assert parsed.module is None and parsed.mistakes


@given(st.binary(max_size=60))
def test_any_bytes_give_a_module_or_mistakes(content: bytes) -> None:
    text, found = source.decode(b"package A\n" + content, "t.icore")
    parsed = parse_text(text, "t.icore")
    assert found or parsed.mistakes or parsed.module is not None
