"""The parser on long, deep and endless texts, and the tables it is started from."""

from __future__ import annotations

import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from parse_lab import expr_of, module_of, short

from icore_dsl import syntax as s
from icore_dsl.parse import digest, grammar_text, parse_text, plain_tables


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
