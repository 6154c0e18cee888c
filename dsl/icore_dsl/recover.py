"""What the parser does at a lexeme that does not fit: say what was expected, and go on at the next statement or declaration."""

from __future__ import annotations

from bisect import bisect_left

from icore_dsl.automaton import Automaton
from icore_dsl.build import Token
from icore_dsl.lexemes import Lexeme
from icore_dsl.mistakes import MAX_MISTAKES, P004, P005, P006, P009, P010, P011, P012, Code, Mistake
from icore_dsl.source import MAX_DEPTH
from icore_dsl.syntax import Name
from icore_dsl.wording import expected, near_word

HEADER_WORDS = ("language", "package", "theory", "library")

INSIDE = frozenset(
    {"fault", "report", "outcome", "changing", "accept", "reject", "stuck", "value", "input", "artifact", "feasible", "truth"},
)
"""Words that start declarations and may also start a line inside one."""


class Parser(Automaton):
    """The automaton with its behaviour at mistakes."""

    def begin(self) -> int:
        first = self.lexemes[0]
        if first.text in HEADER_WORDS:
            return 0
        meant = near_word(first.text, HEADER_WORDS) if first.kind == "NAME" else None
        if meant is not None:
            self.report(0, P011, f"`{first.text}`: did you mean `{meant}`?")
        else:
            self.report(0, P005, "a file starts with `package NAME`", "an imported file starts with `library NAME`")
        self.without_header(0)
        return 0 if meant is None and first.text in self.words(self.states[-1]) else self.next_declaration(0, 0)

    def recover(self, place: int) -> int:
        if self.depth > MAX_DEPTH:
            self.report(place, P004, f"nested more than {MAX_DEPTH} deep", "name parts of it with `define`")
            inside = None
        else:
            finished = self.fits(self.tables.number["ENUM"])
            if finished and (self.base_size() == 0 or self.lexemes[place].text in (")", "]", "}")):
                self.finish_declaration()
            self.explain(place)
            if finished:
                self.finish_declaration()
            inside = self.statement_list()
        if len(self.mistakes) >= MAX_MISTAKES:
            self.keep(self.base_size())
            return -1
        if inside is not None:
            resumed = self.next_statement(place, inside)
            if resumed >= 0:
                self.keep(inside)
                self.resumed = resumed
                return resumed
        size = self.base_size()
        if size == 0:
            self.without_header(place)
            size = self.base_size()
        began = self.starts[size] if len(self.starts) > size else self.lexemes[place].start
        self.keep(size)
        self.builder.end_declaration()
        self.resumed = self.next_declaration(bisect_left(self.lexemes, began, key=lambda lexeme: lexeme.start), place)
        return self.resumed

    # ---- where to go on ------------------------------------------------------------------------------------------

    def without_header(self, place: int) -> None:
        """Goes on as if a header stood before the lexeme at `place`."""
        self.keep(0)
        at = self.lexemes[place].start
        for kind, text in (("LIBRARY", "library"), ("NAME", "")):
            self.push(self.tables.actions[self.states[-1]][self.tables.number[kind]], Token(kind, text, at, at), at, at)
        self.finish_declaration()

    def finish_declaration(self) -> None:
        """Completes the header or the declaration on the stack, as if another declaration followed."""
        follows = self.tables.number["ENUM"]
        while (action := self.tables.actions[self.states[-1]][follows]) < 0:
            self.reduce(-1 - action)

    def next_declaration(self, began: int, place: int) -> int:
        """The first lexeme at or behind `place` that starts a declaration, when the broken one `began`; -1 when none does."""
        words = frozenset(self.words(self.states[-1]))
        depth = 0
        for at in range(began, len(self.lexemes)):
            lexeme = self.lexemes[at]
            if at >= place and at > self.resumed and at > began and lexeme.first and self.starts_declaration(at, depth, words):
                return at
            depth = self.deeper(depth, lexeme)
        return -1

    def deeper(self, depth: int, lexeme: Lexeme) -> int:
        """How many braces are open behind the lexeme."""
        if lexeme.kind != "op":
            return depth
        return depth + 1 if lexeme.text == "{" else max(0, depth - 1) if lexeme.text == "}" else depth

    def starts_declaration(self, at: int, depth: int, words: frozenset[str]) -> bool:
        """Whether a declaration starts at this lexeme, the first of its line."""
        lexeme = self.lexemes[at]
        if lexeme.kind != "NAME":
            return False
        if lexeme.text in words:
            return depth == 0 or (lexeme.text not in INSIDE and self.lines.span(lexeme.start, lexeme.end).column == 1)
        return depth == 0 and (lexeme.text in HEADER_WORDS or self.lexemes[at + 1].text == "=")

    def statement_list(self) -> int | None:
        """How many values lie below the innermost unfinished line of a block in braces; None outside such blocks."""
        closing = self.tables.number["RBRACE"]
        base = self.base_size()
        if base == 0:
            return None
        for size in range(len(self.values), base, -1):
            last = self.values[size - 1]
            opened = last if isinstance(last, Token) else self.values[size - 2] if isinstance(last, list) and size > base + 1 else None
            if isinstance(opened, Token) and opened.kind == "LBRACE" and closing in self.tables.actions[self.states[size]]:
                words = self.words(self.states[size])
                return size if len(words) >= 2 and "and" not in words and "true" not in words else None
        return None

    def next_statement(self, place: int, inside: int) -> int:
        """The first lexeme behind `place` where the block that holds `inside` values goes on or ends; -1 when it does not."""
        state = self.states[inside]
        words = frozenset(self.words(state))
        behind_name = ("{", ":", "[") if self.tables.number["NAME"] in self.tables.actions[state] else ()
        declarations = frozenset(self.words(self.states[self.base_size()]))
        depth = sum(isinstance(value, Token) and value.kind == "LBRACE" for value in self.values[inside:])
        for at in range(place, len(self.lexemes)):
            lexeme = self.lexemes[at]
            if lexeme.first and at > self.resumed:
                if self.starts_declaration(at, 1, declarations):
                    return -1
                if depth == 0 and (lexeme.text in words or (lexeme.kind == "NAME" and self.lexemes[at + 1].text in behind_name)):
                    return at
            if lexeme.text == "}" and lexeme.kind == "op":
                if depth == 0:
                    return at if at > self.resumed else -1
                depth -= 1
            elif lexeme.text == "{" and lexeme.kind == "op":
                depth += 1
        return -1

    # ---- what to say ---------------------------------------------------------------------------------------------

    def report(self, place: int, code: Code, message: str, hint: str = "") -> None:
        """Adds a mistake at a lexeme, unless unreadable characters before it explain it."""
        lexeme = self.lexemes[place]
        before = self.lexemes[place - 1].end if place else 0
        unreadable = bisect_left(self.skipped, before)
        if unreadable < len(self.skipped) and self.skipped[unreadable] < lexeme.start:
            return
        start = before if lexeme.kind == "END" else lexeme.start
        self.mistakes.append(Mistake(code, self.lines.span(start, lexeme.end if lexeme.kind != "END" else start), message, hint))

    def explain(self, place: int) -> None:
        """Reports that the lexeme at `place` does not fit."""
        size = self.base_size()
        lexeme = self.lexemes[place]
        if size and len(self.values) == size:
            self.explain_between(place)
            return
        if size and len(self.values) == size + 1 and isinstance(self.values[size], Token | Name) and self.started_with_name(place):
            self.explain_name(place)
            return
        misspelled = self.misspelled(place)
        if misspelled is not None:
            at, meant = misspelled
            self.report(at, P011, f"`{self.lexemes[at].text}`: did you mean `{meant}`?")
            return
        tables = self.tables
        row = tables.actions[self.states[-1]]
        fitting = {tables.symbols[symbol] for symbol in row if symbol < tables.terminals and self.fits(symbol)}
        before = self.lexemes[place - 1].text if place else ""
        base = tables.actions[self.states[size]]
        wanted = expected(fitting, self.spelling(), before, frozenset(tables.symbols[symbol] for symbol in base))
        if "PACKAGE" in fitting:
            self.report(place, P005, "a file starts with `package NAME`", "an imported file starts with `library NAME`")
        elif lexeme.kind == "END":
            opened = self.opened()
            if opened is None:
                self.report(place, P010, f"the file ends where {wanted} is expected")
            else:
                line = self.lines.span(opened.start, opened.end).line
                self.report(place, P010, f"the file ends, but `{opened.text}` of line {line} is not closed", f"expected {wanted}")
        else:
            self.report(place, P009, f"expected {wanted}, found {self.shown(lexeme)}", self.hint(lexeme, fitting, place))

    def explain_between(self, place: int) -> None:
        """The lexeme stands between declarations and starts none."""
        lexeme = self.lexemes[place]
        if lexeme.kind == "op" and lexeme.text in ")]}":
            self.report(place, P012, f"`{lexeme.text}` closes nothing", "is there one too many before it?")
        else:
            self.report(place, P012, f"{self.shown(lexeme)} starts no declaration")

    def started_with_name(self, place: int) -> bool:
        """Whether the declaration that is broken at `place` has read nothing but a name, as `needs = …` begins."""
        value = self.values[-1]
        return not isinstance(value, Token) or value.kind == "NAME"

    def explain_name(self, place: int) -> None:
        """The lexeme before `place` is a name where a declaration starts, and no `=` follows."""
        at = place - 1
        name = self.lexemes[at]
        meant = near_word(name.text, self.words(self.before[at]))
        if name.text in HEADER_WORDS:
            self.report(at, P006, f"`{name.text}` again: a file has one header", "what follows belongs into a file of its own")
        elif meant is not None:
            self.report(at, P011, f"`{name.text}`: did you mean `{meant}`?")
        elif name.first:
            self.report(at, P012, f"`{name.text}` starts no declaration", "the facts of a relation are written `needs = a -> b`")
        else:
            self.report(at, P009, f"`{name.text}` does not continue what stands before it")

    def misspelled(self, place: int) -> tuple[int, str] | None:
        """A name at `place` or shortly before it on its line that is nearly a word which could stand there, with that word."""
        for at in range(place, max(place - 4, -1), -1):
            lexeme = self.lexemes[at]
            if lexeme.kind == "NAME":
                reserved = self.tables.words.get(lexeme.text, ())
                row = self.tables.actions[self.before[at]]
                meant = None if any(symbol in row for symbol in reserved) else near_word(lexeme.text, self.words(self.before[at]))
                if meant is not None and (at == place or self.tables.symbols[self.tables.words[meant][0]] not in ("TRUE", "FALSE", "NONE")):
                    return at, meant
            if lexeme.first:
                return None
        return None

    def opened(self) -> Token | None:
        """The innermost bracket that is still open."""
        return next((value for value in reversed(self.values) if isinstance(value, Token) and value.text in ("(", "[", "{")), None)

    def spelling(self) -> dict[str, str]:
        """The text of every fixed terminal."""
        return {self.tables.symbols[kind]: word for word, kinds in self.tables.words.items() for kind in kinds}

    def shown(self, lexeme: Lexeme) -> str:
        """A lexeme as messages show it."""
        if lexeme.kind == "END":
            return "the end of the file"
        text = lexeme.text if len(lexeme.text) <= 40 else lexeme.text[:39] + "…"
        return f"the text {text}" if lexeme.kind == "STRING" else text if lexeme.kind == "QUOTED" else f"`{text}`"

    def hint(self, lexeme: Lexeme, fitting: set[str], place: int) -> str:
        """What would mend a frequent mistake."""
        opened = self.opened() or Token("", "", 0, 0)
        line = self.lines.span(opened.start, opened.end).line
        hints: tuple[tuple[bool, str], ...] = (
            (lexeme.text == "=" and "COMPARE" in fitting, "write `==` to compare"),
            (lexeme.text == "=" and self.tables.symbols[self.tables.words[":="][0]] in fitting, "write `:=` to set a field"),
            (lexeme.text in (":=", "==") and "EQUAL" in fitting, "write `=` here"),
            (lexeme.text == "->" and "IMPLIES" in fitting, "write `implies` in formulas"),
            (lexeme.text in ("==", "!=", "<", "<=", ">", ">=") and "AND" in fitting, "join comparisons with `and`: `a < b and b < c`"),
            ("COMPARE" in fitting and opened.text == "(" and self.commented(place), "`#` begins a comment: write `!=` for different"),
            (self.opens_declaration(place), f"is `{opened.text}` of line {line} closed?"),
            (lexeme.text == ";", "`;` stands only between the steps of a run"),
            (fitting == {"IN"} and self.after_repeat(place), "a part repeated with `for` comes last: write the others before it"),
        )
        return next((text for holds, text in hints if holds), "")

    def commented(self, place: int) -> bool:
        """Whether a comment stands between the lexeme and the one before it, on the line of that one."""
        before, here = self.lexemes[place - 1].end, self.lexemes[place].start
        return place > 0 and any(not comment.own_line and before <= comment.span.start < here for comment in self.comments)

    def opens_declaration(self, place: int) -> bool:
        """Whether the lexeme looks like the start of the next declaration although a bracket is still open."""
        words = frozenset(self.words(self.states[self.base_size()]))
        return self.opened() is not None and self.lexemes[place].first and self.starts_declaration(place, 1, words)

    def after_repeat(self, place: int) -> bool:
        """Whether a name behind a comma was taken for another one that a `for` runs over."""
        return place > 1 and self.lexemes[place - 2].text == ","


__all__ = ["HEADER_WORDS", "Parser"]
