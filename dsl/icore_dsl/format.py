"""The layout of `icore fmt`: normal spaces and indentation; line breaks, comments and aligned columns stay as they were written.

Only white space changes, so the lexemes and with them the meaning stay the same. Columns count as written: where a token stands further
right than it must, exactly below or above a token of a neighbouring line, both stay in one column.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass

from icore_dsl.automaton import Tables
from icore_dsl.build import Draft
from icore_dsl.declare import Declarations
from icore_dsl.lexemes import Cut
from icore_dsl.mistakes import LanguageError
from icore_dsl.parse import parse_with
from icore_dsl.recover import Parser
from icore_dsl.source import Lines
from icore_dsl.syntax import Closure

STEP = 2
"""Spaces of one level of indentation."""

ITEM_GAP = 2
"""Spaces before an item that does not start its line."""

COMMENT_GAP = 2

TAB = 8

STATEMENTS = frozenset({"when", "requires", "view_global", "view_depth", "sets", "effects", "report", "for_statement", "outcome"})
ITEMS = STATEMENTS | frozenset(
    {"variant", "variant_block", "agent_field", "agent_member", "field", "otype_field", "obligation", "assign", "table_row", "repair"}
    | {"issuer", "scope", "premises", "claims", "valid_when", "current_when", "delay", "revocable", "neutralizes", "cert_field"}
    | {"starts_active", "audit_value", "audit_progress", "audit_repairs", "language"}
    | {"function", "named_function", "property", "leadsto", "bound"}
)
"""Rules whose text starts a line of its own kind: what stands below it, further in, continues it."""

TIGHT = frozenset({"set_lit", "set_of", "sort_values"})
"""Rules whose braces have no spaces inside."""

CALLED = frozenset({"NAME", "COUNT", "SUM", "MAX", "MIN", "FEASIBLE", "VALUE", "TRUTH"})
"""Terminals that a parenthesis follows without a space."""


class LayoutParser(Parser):
    """The parser, noting what the layout depends on: the starts of items, of tight braces, of what is glued, and one-line faults."""

    def __init__(self, tables: Tables, pieces: Cut, lines: Lines, builder: Declarations) -> None:
        super().__init__(tables, pieces, lines, builder)
        self.items: set[int] = set()
        self.tight: set[int] = set()
        self.glued: set[int] = set()
        self.variants: list[tuple[int, int]] = []

    def reduce(self, rule_place: int) -> None:
        super().reduce(rule_place)
        callback = self.tables.rules[rule_place].callback
        start = self.starts[-1]
        if callback in ITEMS or callback.endswith(("_decl", "_header")):
            self.items.add(start)
        elif callback in TIGHT:
            self.tight.add(start)
        if callback == "variant":
            self.variants.append((start, self.ends[-1]))
        elif callback == "arithmetic":
            value = self.values[-1]
            if isinstance(value, Draft) and isinstance(value.node, Closure) and value.start == start:
                name = bisect_left(self.lexemes, start, key=lambda lexeme: lexeme.start)
                self.glued.update((self.lexemes[name + 1].start, self.lexemes[name + 2].start))


@dataclass(slots=True)
class Piece:
    """A token or a comment. `column` and `written` (the spaces before it on its line) as written; `gap` is the
    normal number of those. `item`: it starts an item; `depth`: how many brackets are open, negative when the innermost is no brace."""

    text: str
    kind: str
    start: int
    column: int
    written: int = 0
    gap: int = 0
    item: bool = False
    depth: int = 0


@dataclass(slots=True)
class Row:
    """One line with text. `number` is its line as written, `indent` its normal indentation, of which `continued`
    because it continues an item. `out` has its first `placed` pieces."""

    number: int
    pieces: list[Piece]
    indent: int = 0
    continued: int = 0
    placed: int = 0
    out: str = ""

    def natural(self, place: int) -> int:
        """The column of a piece behind the pieces that are placed."""
        self.advance(place)
        return len(self.out) + self.pieces[place].gap if place else self.indent

    def advance(self, place: int) -> None:
        """Places all pieces before `place`."""
        while self.placed < place:
            self.put(self.natural(self.placed))

    def put(self, column: int) -> None:
        """Places the next piece at a column."""
        self.out = self.out.ljust(column) + self.pieces[self.placed].text
        self.placed += 1


@dataclass(slots=True)
class Frame:
    """An open bracket: the indentation of the line that opens it, that of what is inside, whether it is tight, a brace, and holds items."""

    outer: int
    inner: int
    tight: bool
    braces: bool
    items: bool = False


def format_text(text: str, file: str) -> str:
    """The text in normal layout. Raises LanguageError when it has mistakes; the caller keeps the old text then."""
    parsed, parser = parse_with(LayoutParser, text, file)
    if parsed.mistakes or parser is None:
        raise LanguageError(parsed.mistakes, text)
    rows = _rows(parser)
    _indent(rows, parser)
    _align(rows)
    lines: list[str] = []
    previous = rows[0].number
    for row in rows:
        if row.number > previous + 1:
            lines.append("")
        previous = row.number
        row.advance(len(row.pieces))
        lines.append(row.out)
    return "\n".join(lines) + "\n"


def _rows(parser: LayoutParser) -> list[Row]:
    """The lines with their tokens and comments, and where these stand."""
    lines, symbols = parser.lines, parser.tables.symbols
    pieces = [
        Piece(lexeme.text if lexeme.text.isascii() else lines.text[lexeme.start : lexeme.end], symbols[kind], lexeme.start, 0)
        for lexeme, kind in zip(parser.lexemes[:-1], parser.kinds, strict=False)
    ]
    pieces += [Piece(comment.text, "comment", comment.span.start, 0) for comment in parser.comments]
    pieces.sort(key=lambda piece: piece.start)
    rows: list[Row] = []
    at = column = 0
    for piece in pieces:
        number = bisect_right(lines.starts, piece.start)
        if not rows or rows[-1].number != number:
            rows.append(Row(number, []))
            at, column = lines.starts[number - 1], 0
        end = column
        for character in lines.text[at : piece.start]:
            column = column + TAB - column % TAB if character == "\t" else column + (character == " ")
        piece.column, piece.written = column, column - end
        piece.item = piece.start in parser.items and piece.kind != "comment"
        at, column = piece.start + len(piece.text), column + len(piece.text)
        rows[-1].pieces.append(piece)
    return rows


def _indent(rows: list[Row], parser: LayoutParser) -> None:
    """Sets the normal indentation of every line and the normal gap before every piece."""
    frames = [Frame(0, 0, False, True)]
    variants = sorted(parser.variants)
    before = Piece("", "", 0, 0)
    for row in rows:
        for place, piece in enumerate(row.pieces):
            if piece.kind == "comment":
                piece.gap = COMMENT_GAP
                if place == 0:
                    row.indent = frames[-1].inner
                continue
            closed = frames.pop() if piece.kind in ("RPAR", "RSQB", "RBRACE") else None
            frame = frames[-1]
            if place == 0 and closed is not None:
                row.indent = closed.outer
            elif place == 0 and piece.item:
                row.indent = frame.inner + (STEP if _within(piece.start, variants) else 0)
            elif place == 0:
                block = piece.kind == "LBRACE" and piece.start not in parser.tight
                row.continued = STEP if frame.items and not block else 0
                row.indent = frame.inner + row.continued
            piece.gap = 0 if piece.start in parser.glued else _gap(before, piece, frame, closed)
            piece.depth = len(frames) if frame.braces else -len(frames)
            frame.items = frame.items or piece.item
            if piece.kind in ("LPAR", "LSQB", "LBRACE"):
                tight = piece.kind != "LBRACE" or piece.start in parser.tight
                outer = row.indent - (0 if tight else row.continued)
                frames.append(Frame(outer, outer + STEP, tight, piece.kind == "LBRACE"))
            before = piece
    for row, below in zip(reversed(rows[:-1]), reversed(rows[1:]), strict=True):
        if row.pieces[0].kind == "comment" and below.pieces[0].kind not in ("RPAR", "RSQB", "RBRACE"):
            row.indent = below.indent


def _within(start: int, variants: list[tuple[int, int]]) -> bool:
    """Whether a statement belongs to a fault that is written without braces."""
    place = bisect_left(variants, (start, 0)) - 1
    return place >= 0 and start < variants[place][1]


def _gap(before: Piece, piece: Piece, frame: Frame, closed: Frame | None) -> int:
    """How many spaces normally stand between two tokens of a line, in `frame`, or at the end of the one that is `closed`."""
    left, right = before.text, piece.text
    if right in (",", ";", ":", ".", "..") or left in (".", "..", "(", "["):
        return 0
    if closed is not None and (closed.tight or left == "{"):
        return 0
    if (right == "(" and before.kind in CALLED) or (right == "[" and before.kind == "NAME"):
        return 0
    if before.kind == "MINUS" or (left == "{" and frame.tight):
        return 0
    return ITEM_GAP if piece.item and left not in (",", "{", ":", ";") else 1


def _align(rows: list[Row]) -> None:
    """Places the pieces that stand in columns over neighbouring lines, column by column from left to right."""
    column_of: dict[tuple[int, int], int] = {}
    columns: list[list[tuple[int, int]]] = []
    for above in range(len(rows) - 1):
        below = above + 1
        if rows[below].number != rows[above].number + 1:
            continue
        places = {piece.column: place for place, piece in enumerate(rows[above].pieces)}
        for place, piece in enumerate(rows[below].pieces):
            other = places.get(piece.column)
            if other is None or not _in_column(rows[above], other, rows[below], place):
                continue
            column = column_of.get((above, other))
            if column is None:
                column = len(columns)
                columns.append([(above, other)])
                column_of[above, other] = column
            columns[column].append((below, place))
            column_of[below, place] = column
    for members in sorted(columns, key=lambda members: rows[members[0][0]].pieces[members[0][1]].column):
        target = max(rows[row].natural(place) for row, place in members)
        for row, _ in members:
            rows[row].put(target)


def _in_column(above: Row, upper: int, below: Row, lower: int) -> bool:
    """Whether two pieces, one exactly above the other, were put there on purpose: one of them stands further right than it must."""
    first, second = above.pieces[upper], below.pieces[lower]
    if (first.kind == "comment") != (second.kind == "comment") or (upper == 0 and lower == 0):
        return False
    if first.depth != second.depth or first.item != second.item:
        return False
    if upper == 0:
        return not first.item and first.kind != "comment" and first.column > above.indent and second.gap > 0
    if lower == 0:
        return second.kind != "comment" and second.column > below.indent and first.gap > 0 and above.pieces[-1].text not in ("{", "(", "[")
    return first.gap > 0 and second.gap > 0 and (first.written > first.gap or second.written > second.gap)
