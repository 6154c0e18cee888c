"""The LALR automaton: runs the parse tables over lexemes. What happens at a lexeme that does not fit is in `recover`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from icore_dsl.build import Header, Token
from icore_dsl.declare import Declarations
from icore_dsl.lexemes import Cut, Lexeme
from icore_dsl.mistakes import Mistake
from icore_dsl.source import MAX_DEPTH, Lines


@dataclass(frozen=True, slots=True)
class Rule:
    """One production. `callback`: the builder's method, `*` for a growing list, empty for its only argument."""

    origin: int
    length: int
    callback: str
    plan: tuple[tuple[int, int] | None, ...]


@dataclass(frozen=True, slots=True)
class Tables:
    """`actions[state][symbol]`: a next state when positive, a reduction by rule `-1 - action` when negative."""

    symbols: tuple[str, ...]
    terminals: int
    words: dict[str, tuple[int, ...]]
    rules: tuple[Rule, ...]
    actions: tuple[dict[int, int], ...]
    start: int
    end: int
    number: dict[str, int]


def tables_from_plain(plain: dict[str, Any]) -> Tables:
    """Tables from their plain form, see `parse.plain_tables`."""
    sets = plain["sets"]
    actions: list[dict[int, int]] = []
    for shifts, reduces in plain["states"]:
        row: dict[int, int] = {}
        for place in range(0, len(reduces), 2):
            row.update(dict.fromkeys(sets[reduces[place + 1]], -1 - reduces[place]))
        row.update(zip(shifts[::2], shifts[1::2], strict=True))
        actions.append(row)
    rules = tuple(
        Rule(origin, length, callback, tuple(None if part is None else (part[0], part[1]) for part in plan))
        for origin, length, callback, plan in plain["rules"]
    )
    symbols = tuple(plain["symbols"])
    return Tables(
        symbols,
        plain["terminals"],
        {word: tuple(candidates) for word, candidates in plain["words"].items()},
        rules,
        tuple(actions),
        plain["start"],
        plain["end"],
        {name: place for place, name in enumerate(symbols)},
    )


class Automaton:
    """One run over one text."""

    def __init__(self, tables: Tables, pieces: Cut, lines: Lines, builder: Declarations) -> None:
        self.tables = tables
        self.lexemes = pieces.lexemes
        self.skipped = pieces.skipped
        self.comments = pieces.comments
        self.lines = lines
        self.builder = builder
        self.mistakes: list[Mistake] = []
        self.states = [tables.start]
        self.values: list[Any] = []
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.before = [tables.start] * len(pieces.lexemes)
        self.kinds = [-1] * len(pieces.lexemes)
        self.depth = 0
        self.resumed = -1
        self.callbacks: list[Callable[..., Any] | None] = [
            getattr(builder, rule.callback) if rule.callback not in ("", "*") else None for rule in tables.rules
        ]

    def terminal(self, lexeme: Lexeme, row: dict[int, int]) -> int:
        """Which terminal the lexeme is in this state; -1 when it does not fit. A word is reserved only where it can be."""
        kind = "$END" if lexeme.kind == "END" else lexeme.kind
        fitting = [candidate for candidate in self.tables.words.get(lexeme.text, ()) if candidate in row] if kind in ("NAME", "op") else []
        if kind != "op":
            symbol = self.tables.number[kind]
            if symbol in row:
                fitting.append(symbol)
        if len(fitting) > 1:
            return next((candidate for candidate in fitting if self.fits(candidate)), fitting[0])
        return fitting[0] if fitting else -1

    def fits(self, symbol: int) -> bool:
        """Whether the terminal can be shifted after the reductions that it asks for."""
        tables = self.tables
        states = self.states
        size = len(states)
        above: list[int] = []
        while True:
            action = tables.actions[above[-1] if above else states[size - 1]].get(symbol, 0)
            if action >= 0:
                return action > 0
            rule = tables.rules[-1 - action]
            taken = min(rule.length, len(above))
            del above[len(above) - taken :]
            size -= rule.length - taken
            state = tables.actions[above[-1] if above else states[size - 1]][rule.origin]
            if state == tables.end:
                return symbol == tables.number["$END"]
            above.append(state)

    def reduce(self, rule_place: int) -> None:
        """Replaces the topmost values by what the rule makes of them."""
        rule = self.tables.rules[rule_place]
        length = rule.length
        values, starts, ends = self.values, self.starts, self.ends
        if length:
            parts = values[-length:]
            start, end = starts[-length], ends[-1]
            del values[-length:], starts[-length:], ends[-length:], self.states[-length:]
        else:
            parts = []
            start = end = ends[-1] if ends else 0
        value: Any
        if rule.callback == "*" and rule.plan and rule.plan[0] == (0, 1):
            value = parts[0]
            value.extend(parts[place[0]] if place else None for place in rule.plan[1:])
        else:
            arguments: list[Any] = []
            for place in rule.plan:
                if place is None:
                    arguments.append(None)
                elif place[1]:
                    arguments.extend(parts[place[0]])
                else:
                    arguments.append(parts[place[0]])
            callback = self.callbacks[rule_place]
            unchanged = arguments if rule.callback == "*" else arguments[0] if arguments else None
            value = unchanged if callback is None else callback(arguments, start, end)
        self.push(self.tables.actions[self.states[-1]][rule.origin], value, start, end)

    def push(self, state: int, value: Any, start: int, end: int) -> None:
        self.states.append(state)
        self.values.append(value)
        self.starts.append(start)
        self.ends.append(end)

    def run(self) -> tuple[Header | None, list[Any]]:
        """The header and the declarations that could be read."""
        tables, lexemes = self.tables, self.lexemes
        actions = tables.actions
        place = self.begin()
        while place >= 0:
            lexeme = lexemes[place]
            row = actions[self.states[-1]]
            self.before[place] = self.states[-1]
            symbol = self.terminal(lexeme, row)
            action = row.get(symbol, 0)
            if action < 0 and not self.fits(symbol):
                action = 0  # Found before anything is reduced, so that all that could stand here is still known.
            while action < 0:
                self.reduce(-1 - action)
                if lexeme.kind == "END" and self.states[-1] == tables.end:
                    return self.base()
                action = actions[self.states[-1]].get(symbol, 0)
            if action == 0:
                place = self.recover(place)
                continue
            if len(self.values) <= 3 and self.values and isinstance(self.values[-1], (list, Header)):
                self.builder.end_declaration()
            self.kinds[place] = symbol
            self.push(action, Token(tables.symbols[symbol], lexeme.text, lexeme.start, lexeme.end), lexeme.start, lexeme.end)
            place += 1
            if lexeme.kind == "op":
                if lexeme.text in "([{":
                    self.depth += 1
                    if self.depth > MAX_DEPTH:
                        place = self.recover(place - 1)
                elif lexeme.text in ")]}":
                    self.depth -= 1
        return self.base()

    def begin(self) -> int:
        """Where to start: at the first lexeme, or behind what stands in the place of a header."""
        raise TypeError("an automaton that reads files says how it begins")

    def recover(self, place: int) -> int:
        """Reports the lexeme at `place` and forgets what it interrupts. Returns where to go on, -1 for nowhere."""
        raise TypeError("an automaton that reads files says how it recovers")

    # ---- the stack between declarations --------------------------------------------------------------------------

    def base_size(self) -> int:
        """How many values belong to the module itself: up to its header and the list of declarations. 0 when there is no header yet."""
        for place, value in enumerate(self.values[:2]):
            if isinstance(value, Header):
                return place + 2 if len(self.values) > place + 1 and isinstance(self.values[place + 1], list) else place + 1
        return 0

    def base(self) -> tuple[Header | None, list[Any]]:
        """The header and the declarations on the stack."""
        if self.states[-1] == self.tables.end:
            parts = [part for part in self.values[-1] if not isinstance(part, int)]
            self.builder.end_declaration()
            return parts[0], parts[1:]
        size = self.base_size()
        if size == 0:
            return None, []
        last = self.values[size - 1]
        return (self.values[size - 2], last) if isinstance(last, list) else (last, [])

    def keep(self, size: int) -> None:
        """Forgets all values but the first `size`."""
        del self.states[size + 1 :], self.values[size:], self.starts[size:], self.ends[size:]
        self.depth = sum(isinstance(value, Token) and value.text in ("(", "[", "{") for value in self.values)

    def words(self, state: int) -> list[str]:
        """The reserved words that fit in a state."""
        row = self.tables.actions[state]
        return [word for word, kinds in self.tables.words.items() if word[0].isalpha() and any(kind in row for kind in kinds)]
