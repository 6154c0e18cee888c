"""The parser: what texts become, exactly, and what is accepted quietly."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from language_texts import LIBRARY, PACKAGE, THEORY
from parse_lab import decl_of, expr_of, module_of, short

from icore_dsl import source
from icore_dsl import syntax as s
from icore_dsl.parse import parse_file
from icore_dsl.syntax import equal_modulo_spans


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
