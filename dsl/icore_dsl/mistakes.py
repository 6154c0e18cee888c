"""Every mistake the language can report: one table of codes, and what a mistake is.

A code never changes its meaning. `P`: parsing, `R`: names (resolution), `S`: sorts, `D`: declarations. Each row has its own section below.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from icore_dsl.syntax import Span


@dataclass(frozen=True, slots=True)
class Row:
    """One kind of mistake: its code, a title, what it means and how to mend it, and a snippet that provokes it."""

    code: str
    title: str
    explanation: str
    example: str


@dataclass(frozen=True, slots=True)
class Code:
    """A reference to a row of the table, as mistakes carry it."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Mistake:
    """One mistake at one place. `message` says what is wrong there, `hint` (may be empty) what would mend it."""

    code: Code
    span: Span
    message: str
    hint: str = ""

    def __str__(self) -> str:
        return f"{self.span}: error {self.code}: {self.message}" + (f" ({self.hint})" if self.hint else "")


class LanguageError(Exception):
    """The mistakes of a file, when a caller asked for a result that does not exist because of them."""

    def __init__(self, mistakes: Iterable[Mistake]) -> None:
        self.mistakes = tuple(mistakes)
        super().__init__("\n".join(str(mistake) for mistake in self.mistakes))


# ---- P: parsing and reading files -------------------------------------------------------------------------------

P001 = Code("P001")
P002 = Code("P002")
P003 = Code("P003")
P004 = Code("P004")
P005 = Code("P005")
P006 = Code("P006")
P007 = Code("P007")
P008 = Code("P008")
P009 = Code("P009")
P010 = Code("P010")
P011 = Code("P011")
P012 = Code("P012")
P013 = Code("P013")
P014 = Code("P014")
P015 = Code("P015")
P016 = Code("P016")

PARSING: tuple[Row, ...] = (
    Row("P001", "not UTF-8", "Files are UTF-8 text. Save the file as UTF-8.", 'package A # \\xff'),
    Row("P002", "NUL byte", "A NUL byte is no text; the file is probably damaged or no text file.", "package A\\x00"),
    Row("P003", "file too large", "A file holds at most 1 MiB (1,048,576 bytes). Split it and use `import`.", "(more than 1 MiB)"),
    Row("P004", "nested too deeply", "Expressions and braces nest at most 200 deep. Name parts with `define`.", "not not not … (201 times)"),
    Row("P005", "no header", "A file starts with `package NAME`; an imported file with `library NAME`, a theory with `theory \"VERSION\"`.", "enum Skill { build }"),
    Row("P006", "second header", "A file holds exactly one package, theory or library; its header comes first.", "package A\npackage B"),
    Row("P007", "unknown character", "This character is not part of the language outside comments and strings.", "package A\nenum S { a ; b ? }"),
    Row("P008", "text is not closed", "Text in \"…\" or `…` ends on the line where it starts.", "package A\nallow vacuous because \"latent"),
    Row("P009", "something else expected", "What stands here does not fit what stands before it.", "package A\nenum { build }"),
    Row("P010", "file ends too early", "The file ends inside a declaration; often a closing brace or parenthesis is missing.", "package A\nenum S { build"),
    Row("P011", "misspelled word", "No declaration, statement or clause starts with this word, but one with a similar word exists.", "package A\ninvarient x: true"),
    Row("P012", "not a declaration", "Something stands between declarations that starts none; often a closing brace too many.", "package A\n}"),
    Row("P013", "pair out of place", "A pair `(a, b)` is written only after a closure: `needs*(p, w)`, `needs+(p, w)`.", "package A\ninvariant x: (a, b)"),
    Row("P014", "not something to change", "`set`, `emit`, `issue` and their like are followed by a field or a name, not by a computation.", "package A\nupdate u { set 3 := 4 }"),
    Row("P015", "language version not known", "This program reads language 1.", "language 2 package A"),
    Row("P016", "written twice", "A clause that has one value stands at most once in its declaration.", "package A\ncertificate c { valid when true valid when false }"),
)


# ---- R: names ---------------------------------------------------------------------------------------------------

NAMES: tuple[Row, ...] = ()


# ---- S: sorts ---------------------------------------------------------------------------------------------------

SORTS: tuple[Row, ...] = ()


# ---- D: declarations --------------------------------------------------------------------------------------------

DECLARATIONS: tuple[Row, ...] = ()


# ---- the whole table --------------------------------------------------------------------------------------------


def table() -> dict[str, Row]:
    """All rows by code. Raises ValueError when two rows have the same code."""
    rows: dict[str, Row] = {}
    for row in PARSING + NAMES + SORTS + DECLARATIONS:
        if row.code in rows:
            raise ValueError(f"two rows have the code {row.code}")
        rows[row.code] = row
    return rows


def explain(code: str) -> Row | None:
    """The row of a code, or None when there is no such code."""
    return table().get(code.upper())
