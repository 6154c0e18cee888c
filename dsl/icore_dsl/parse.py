"""Parses files and texts: the only way from text to a `Module`.

The parse tables are made by Lark from `grammar.lark` and kept in `grammar.json`; Lark itself is loaded only when these are out of
date, which a test forbids.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

from icore_dsl import source
from icore_dsl.automaton import Tables, tables_from_plain
from icore_dsl.declare import Declarations
from icore_dsl.lexemes import OPERATORS, Lexeme, cut
from icore_dsl.mistakes import MAX_MISTAKES, P005, Mistake, render
from icore_dsl.recover import Parser
from icore_dsl.source import Lines
from icore_dsl.syntax import Module

TABLES_FORMAT = 1

AnyParser = TypeVar("AnyParser", bound=Parser)


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a text says. `module` is None exactly when there are mistakes; `partial` then has the declarations that could be read."""

    module: Module | None
    mistakes: tuple[Mistake, ...]
    partial: Module | None


def grammar_text() -> str:
    """The text of `grammar.lark`."""
    return files("icore_dsl").joinpath("grammar.lark").read_text(encoding="utf-8")


def digest(grammar: str) -> str:
    """What tells whether tables belong to a grammar."""
    return hashlib.sha256(f"{TABLES_FORMAT}\n{grammar}".encode()).hexdigest()


def plain_tables(grammar: str) -> dict[str, Any]:
    """The parse tables of a grammar as plain lists and numbers, made by Lark.

    `symbols` names terminals, then rules. `words`: text of a fixed terminal to the terminals that it may be.
    `rules`: origin, length, callback, and the plan of its arguments (a position, whether its list is spliced; null for a part left out).
    `states`: pairs of symbol and next state (counted from 1; 0 is none), then pairs of a rule and the number of the terminal set (in
    `sets`) on which it is reduced.
    Raises ValueError when a fixed terminal is none of the operators.
    """
    from lark import Lark

    machine = Lark(grammar, start="module", parser="lalr", lexer="contextual", maybe_placeholders=True)
    table = machine.parser.parser._parse_table
    rules = list(machine.rules)
    symbols = [terminal.name for terminal in machine.terminals] + ["$END"]
    terminals = len(symbols)
    symbols += sorted({rule.origin.name for rule in rules} | {"$root_module"})
    number = {name: place for place, name in enumerate(symbols)}
    sets, states = _plain_states(table, rules, number)
    return {
        "digest": digest(grammar),
        "symbols": symbols,
        "terminals": terminals,
        "words": _plain_words(machine.terminals, number),
        "rules": [[number[rule.origin.name], len(rule.expansion), *_called(rule)] for rule in rules],
        "sets": sets,
        "states": states,
        "start": table.start_states["module"] + 1,
        "end": table.end_states["module"] + 1,
    }


def _plain_words(terminals: Iterable[Any], number: dict[str, int]) -> dict[str, list[int]]:
    """The `words` of `plain_tables`."""
    import re

    words: dict[str, list[int]] = {}
    for terminal in terminals:
        if terminal.name in ("NAME", "INT", "DECIMAL", "STRING", "QUOTED", "COMMENT") or terminal.name.startswith("__IGNORE"):
            continue
        fixed = [terminal.pattern.value] if terminal.pattern.type == "str" else []
        fixed = fixed or [operator for operator in OPERATORS if re.fullmatch(terminal.pattern.value, operator)]
        if not fixed:
            raise ValueError(f"no operator is a {terminal.name}")
        for word in fixed:
            words.setdefault(word, []).append(number[terminal.name])
    return words


def _called(rule: Any) -> tuple[str, list[list[int] | None]]:
    """The callback of a rule and the plan of its arguments, as `Rule` has them."""
    from lark.grammar import NonTerminal, Terminal

    plan: list[list[int] | None] = []
    left_out = list(rule.options.empty_indices) if rule.options.empty_indices else [False] * len(rule.expansion)
    parts = iter(enumerate(rule.expansion))
    for empty in left_out:
        if empty:
            plan.append(None)
            continue
        place, symbol = next(parts)
        if isinstance(symbol, Terminal) and symbol.filter_out:
            continue
        plan.append([place, int(isinstance(symbol, NonTerminal) and symbol.name.startswith("_"))])
    if rule.origin.name.startswith("_"):
        return "*", plan
    if rule.options.expand1 and not rule.alias and len(plan) == 1:
        return "", plan
    return str(rule.alias or rule.origin.name), plan


def _plain_states(table: Any, rules: list[Any], number: dict[str, int]) -> tuple[list[list[int]], list[list[list[int]]]]:
    """The `sets` and the `states` of `plain_tables`."""
    place_of_rule = {rule: place for place, rule in enumerate(rules)}
    sets: dict[tuple[int, ...], int] = {}
    states: list[list[list[int]]] = [[[], []] for _ in range(len(table.states) + 1)]
    for state, row in table.states.items():
        shifts: list[int] = []
        reduced: dict[int, list[int]] = {}
        for name, (action, argument) in row.items():
            if action.name == "Shift":
                shifts += [number[name], argument + 1]
            else:
                reduced.setdefault(place_of_rule[argument], []).append(number[name])
        reduces: list[int] = []
        for rule_place, on in reduced.items():
            reduces += [rule_place, sets.setdefault(tuple(sorted(on)), len(sets))]
        states[state + 1] = [shifts, reduces]
    return [list(on) for on in sets], states


@cache
def load_tables() -> Tables:
    """The tables of the grammar in use: those kept beside it, or made afresh when they are of another grammar."""
    grammar = grammar_text()
    kept = files("icore_dsl").joinpath("grammar.json")
    if kept.is_file():
        plain = json.loads(kept.read_text(encoding="utf-8"))
        if plain["digest"] == digest(grammar):
            return tables_from_plain(plain)
    return tables_from_plain(plain_tables(grammar))


def parse_with(kind: type[AnyParser], text: str, file: str, before: tuple[Lexeme, ...] = ()) -> tuple[Parsed, AnyParser | None]:
    """Parses with a kind of parser, and gives the parser too, for what it saw; None when the text was refused unread.

    `before` are lexemes to be read before those of the text.
    """
    text = source.without_mark(text)
    refused = source.check_text(text, file)
    if refused is not None:
        return Parsed(None, (refused,), None), None
    lines = Lines(text, file)
    pieces = cut(text, lines)
    pieces.lexemes[:0] = before
    builder = Declarations(lines)
    parser = kind(load_tables(), pieces, lines, builder)
    header, decls = parser.run()
    module = builder.finish(header, decls, tuple(pieces.comments)) if header is not None else None
    mistakes = sorted(pieces.mistakes + parser.mistakes + builder.mistakes, key=lambda mistake: (mistake.span.start, str(mistake.code)))
    return Parsed(None if mistakes else module, tuple(mistakes[:MAX_MISTAKES]), module), parser


def parse_text(text: str, file: str) -> Parsed:
    """Parses a text that is called `file` in messages. Never raises for what the text says."""
    return parse_with(Parser, text, file)[0]


def parse_formula(text: str, name: str) -> Parsed:
    """Parses one formula that stands alone, on a command line: the module is a library whose only declaration is
    `reachable name: formula`. The text is called `name` in messages, and places in it count from its own beginning."""
    words = (("NAME", "library"), ("NAME", name), ("NAME", "reachable"), ("NAME", name), ("op", ":"))
    before = tuple(Lexeme(kind, word, 0, 0, place in (0, 2)) for place, (kind, word) in enumerate(words))
    parsed, _ = parse_with(Parser, text, name, before)
    if parsed.module is None or len(parsed.module.decls) == 1:
        return parsed
    second = parsed.module.decls[1].span
    return Parsed(None, (Mistake(P005, second, "one formula is expected, and here another declaration begins"),), parsed.module)


def parse_file(path: str | Path) -> Parsed:
    """Parses a file: UTF-8, with or without a byte-order mark. Raises OSError when it cannot be read."""
    text, mistakes = source.read(path)
    if mistakes:
        return Parsed(None, mistakes, None)
    return parse_text(text, str(path))


__all__ = [
    "Parsed", "digest", "grammar_text", "load_tables", "parse_file", "parse_formula", "parse_text", "parse_with", "plain_tables", "render",
]  # fmt: skip
