"""Writes `editors/icore.tmLanguage.json` and the same as a property list, by which editors colour the language: the words are those of
`icore_dsl/grammar.lark`.

Run it after every change of the grammar, after `tables.py`.
"""

from __future__ import annotations

import json
import plistlib
import re
from pathlib import Path

from icore_dsl.automaton import Automaton
from icore_dsl.declare import Declarations
from icore_dsl.lexemes import cut
from icore_dsl.parse import load_tables
from icore_dsl.source import Lines

FOLDER = Path(__file__).parent / "editors"

CONSTANTS = frozenset({"false", "none", "true"})
CONTROL = frozenset({"else", "exists", "for", "forall", "if", "then", "where"})
UNNAMED = frozenset({"initially"})
"""Of the words that begin a declaration: what follows them is no name."""
LAWS = frozenset({"feasible", "truth", "value"})
"""Declarations that are called by their word alone."""
NAME = r"[^\W\d]\w*"


def words() -> frozenset[str]:
    """Every word that the grammar reserves somewhere."""
    return frozenset(word for word in load_tables().words if word.isalpha())


def fitting(text: str) -> frozenset[str]:
    """The words that may stand after a text, the beginning of a file."""
    tables, lines = load_tables(), Lines(text, "")
    automaton = Automaton(tables, cut(text, lines), lines, Declarations(lines))
    states = automaton.states
    for lexeme in automaton.lexemes[:-1]:
        symbol = automaton.terminal(lexeme, tables.actions[states[-1]])
        while (action := tables.actions[states[-1]][symbol]) < 0:
            rule = tables.rules[-1 - action]
            del states[len(states) - rule.length :]
            states.append(tables.actions[states[-1]][rule.origin])
        states.append(action)
    return frozenset(word for word in words() if any(map(automaton.fits, tables.words[word])))


def classes() -> dict[str, frozenset[str]]:
    """Every word once, by what it is coloured as."""
    header = "library x"
    declarations = fitting("") | fitting("language 1") | fitting(header)
    infix = fitting(f"{header} reachable y: (a") | {"not"}
    functions = fitting(f"{header} reachable y:") - CONSTANTS - CONTROL - {"not"}
    rest = words() - CONSTANTS - CONTROL - infix - functions
    return {
        "constant.language": CONSTANTS,
        "keyword.control": CONTROL,
        "keyword.operator.word": infix - CONTROL,
        "support.function": functions,
        "storage.type": declarations & rest,
        "keyword.other": rest - declarations,
    }


def grammar() -> dict[str, object]:
    """The grammar as editors read it: of two patterns that match at one place, the one that comes first colours."""
    found = classes()
    audit = fitting("library x audit {")
    named = _any((found["storage.type"] | {"type", "strong", "violated", "weak"}) - UNNAMED)
    patterns: list[dict[str, object]] = [
        {"name": "comment.line.number-sign.icore", "match": "#.*$"},
        {"name": "string.quoted.double.icore", "match": '"[^"\\n]*"'},
        {"name": "string.quoted.other.icore", "match": "`[^`\\n]*`"},
        {"name": "constant.numeric.icore", "match": r"(?<!\w)[0-9]+(?:\.[0-9]+)?(?!\w)"},
        {
            "match": rf"^\s*((?:{named}\s+)+)(?!{_any(words())}(?!\w))({NAME})(?!\w|\()",
            "captures": {"1": {"name": "storage.type.icore"}, "2": {"name": "entity.name.icore"}},
        },
        {
            "match": rf"^\s*((?:{named}\s+)+)({NAME})(?=\()",
            "captures": {"1": {"name": "storage.type.icore"}, "2": {"name": "entity.name.icore"}},
        },
    ]
    # Words are reserved only where the grammar expects them: what is called, has parts, or is given a value is a name.
    infix = _any(found["keyword.operator.word"] | {"by"} - {"not"})
    word = r"(?![\w(\[.]|\s*[:=])"
    begins = rf"{word}(?=\s+(?!{infix}(?!\w))[\w\"`{{]|\s*\{{)"
    after = {"storage.type": begins, "keyword.other": word, "constant.language": word}
    for scope, own in found.items():
        parts = [(own - audit, after.get(scope, r"(?!\w)")), (own & audit, begins)]
        patterns += [{"name": f"{scope}.icore", "match": rf"(?<![\w.])(?<!operation ){_any(of)}{end}"} for of, end in parts if of]
    patterns.append({"name": "storage.type.icore", "match": rf"^\s*{_any(LAWS)}(?=\()"})
    patterns.append({"name": "keyword.operator.icore", "match": r":=|->|~>|==|!=|<=|>=|\.\.|[<>+*/=-]"})
    return {"name": "iCORE", "scopeName": "source.icore", "fileTypes": ["icore"], "patterns": patterns}


def _any(own: frozenset[str]) -> str:
    return f"(?:{'|'.join(map(re.escape, sorted(own)))})"


def files() -> dict[str, str]:
    """Name and text of each file: JSON for VS Code, a property list for Sublime Text and TextMate."""
    found = grammar()
    return {"icore.tmLanguage.json": json.dumps(found, indent=2) + "\n", "icore.tmLanguage": plistlib.dumps(found).decode()}


if __name__ == "__main__":
    for name, text in files().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
