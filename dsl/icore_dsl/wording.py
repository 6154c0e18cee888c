"""Says in plain words what could have stood in a place."""

from __future__ import annotations

from collections.abc import Iterable, Set
from difflib import get_close_matches

OPERATORS = frozenset({"ADD", "MUL", "DIV", "MOD", "COMPARE", "IN", "NOT", "AND", "OR", "IMPLIES", "IFF", "DOT", "LPAR", "LSQB"})
"""Terminals that go on with a finished expression."""

GROUPS: tuple[tuple[frozenset[str], str], ...] = (
    (frozenset({"NOT", "MINUS", "NAME", "INT"}), "an expression"),
    (frozenset({"SET", "MINUS", "NAME", "LBRACE"}), "a sort"),
    (frozenset({"MINUS", "NAME", "INT"}), "a value"),
    (frozenset({"INT", "DECIMAL"}), "a number"),
    (frozenset({"ENUM", "CERTIFICATE", "INVARIANT"}), "a declaration"),
    (frozenset({"WHEN", "REQUIRES", "EMIT", "ISSUE"}), "a statement"),
    (frozenset({"ISSUER", "PREMISES", "CLAIMS"}), "a clause of the certificate"),
    (frozenset({"TOLERANCE", "FLOOR", "REPAIRS"}), "an entry of the audit"),
    (frozenset({"ATTRIBUTE", "CHANGING"}), "`attribute`, `changing`"),
    (frozenset({"STATIC", "SIGNATURE"}), "`static` or `signature`"),
)
"""Terminals that stand for something together. The first that fits is said, and takes all terminals of its kind with it."""

EXPRESSION = frozenset(
    {"NOT", "MINUS", "NAME", "INT", "DECIMAL", "LPAR", "LBRACE", "SET", "IF", "TRUE", "FALSE", "NONE", "COUNT", "SUM", "MAX", "MIN"}
    | {"FORALL", "EXISTS"}
)

STATEMENT = frozenset(
    {"WHEN", "REQUIRES", "VIEW", "SET", "EMIT", "ISSUE", "REVOKE", "SUPERSEDE", "CONSUME", "DISCARD", "CREATE", "RELATE", "UNRELATE"}
    | {"WITHHOLD", "REPORT", "FOR", "OUTCOME", "FAULT"}
)

CLAUSE = frozenset(
    {"ISSUER", "SCOPE", "PREMISES", "CLAIMS", "VALID", "CURRENT", "DELAY", "REVOCABLE", "NEUTRALIZES", "FIELD", "STARTS"},
)

ENTRY = frozenset({"TOLERANCE", "FLOOR", "THRESHOLD", "PATIENCE", "BUDGET", "PROGRESS", "REPAIRS"})

TAKES: dict[str, frozenset[str]] = {
    "an expression": EXPRESSION,
    "a sort": EXPRESSION,
    "a value": EXPRESSION,
    "a statement": STATEMENT,
    "a clause of the certificate": CLAUSE,
    "an entry of the audit": ENTRY,
}

PHRASES = {
    ":=": "`:=` after the field to set",
    "NAME": "a name",
    "INT": "a whole number",
    "STRING": 'text in `"…"`',
    "QUOTED": "a name in backquotes",
    "$END": "the end of the file",
    "->": "`->` to the next element",
    "~>": "`~>` before the goal",
    "THEN": "`then` after the condition",
    "ELSE": "`else` with the other value",
    "IN": "`in` with what it runs over",
    "AT": "`at` with the row and the column",
    "BECAUSE": "`because` with a reason",
    "EXPECT": "`expect` with a formula",
}

NAMED = {
    "package": "package", "library": "library", "enum": "enumeration", "clock": "clock", "input": "input", "artifact": "artifact",
    "type": "obligation type", "relation": "relation", "certificate": "certificate", "update": "update", "fault": "fault",
    "define": "definition", "least": "definition", "invariant": "invariant", "reachable": "property", "unreachable": "property",
    "eventually": "property", "controllable": "property", "leadsto": "property", "bound": "bound", "run": "run", "outcome": "outcome",
    "attribute": "attribute", "changing": "field", "static": "field", "signature": "field", "inessential": "field", "field": "field",
}  # fmt: skip
"""What is named by the name behind these words."""

MOST = 4
"""So many alternatives are listed."""


def expected(fitting: Set[str], spelling: dict[str, str], before: str, declarations: Set[str]) -> str:
    """What may stand behind the text `before`, when the terminals `fitting` may; `spelling` gives the text of fixed ones.

    `declarations` are the terminals that start declarations.
    """
    if fitting == {"NAME"} and before in NAMED:
        return f"a name for the {NAMED[before]}"
    left = set(fitting)
    phrases: list[str] = []
    if {"ADD", "MUL"} <= left:
        phrases.append("an operator")
        left -= OPERATORS
    elif {"AND", "OR"} <= left:
        phrases.append("`and`, `or` and their like")
        left -= OPERATORS | {"DOT"}
    for group, phrase in GROUPS:
        if group <= left:
            phrases.append(phrase)
            left -= declarations if phrase == "a declaration" else TAKES.get(phrase, group)
    left = left - {"DOT", "LPAR", "LSQB"} or left
    texts = {name: spelling.get(name, "") for name in left}
    words = {name: PHRASES.get(name) or PHRASES.get(text) or f"`{text}`" for name, text in texts.items()}
    marks = [words[name] for name in sorted(left) if texts[name] and not texts[name].isalpha()]
    others = [words[name] for name in sorted(left) if not texts[name] or texts[name].isalpha()]
    return alternatives(marks + phrases + others, MOST)


def alternatives(phrases: list[str], limit: int) -> str:
    """`a`, `a or b`, `a, b or c`; at most `limit` of them."""
    shown = list(dict.fromkeys(phrases))
    if len(shown) > limit:
        return ", ".join(shown[: limit - 1]) + " or the like"
    if not shown:
        return "something else"
    return shown[0] if len(shown) == 1 else ", ".join(shown[:-1]) + " or " + shown[-1]


def near_word(word: str, words: Iterable[str]) -> str | None:
    """The reserved word that someone who wrote `word` most likely meant."""
    choices = sorted(set(words) - {word})
    if len(word) < 4:
        return next((choice for choice in choices if len(word) > 2 and sorted(choice) == sorted(word)), None)
    close = get_close_matches(word.lower(), choices, 1, 0.75)
    return close[0] if close else None
