"""Writes `icore_dsl/grammar.json`, the parse tables of `icore_dsl/grammar.lark`. Run it after every change of the grammar."""

from __future__ import annotations

import json
from pathlib import Path

from icore_dsl.parse import grammar_text, plain_tables


def main() -> None:
    """Writes the tables, one part a line, so that differences stay readable."""
    plain = plain_tables(grammar_text())
    lines = [f"{json.dumps(key)}: {json.dumps(value, separators=(',', ':'))}" for key, value in plain.items()]
    path = Path(__file__).parent / "icore_dsl" / "grammar.json"
    path.write_text("{" + ",\n".join(lines) + "}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
