# ruff: noqa: E501 (a table: one row a line)
"""Every mistake the language can report: one table of codes, and what a mistake is.

A code never changes its meaning. `P`: parsing, `R`: names (resolution), `S`: sorts, `D`: declarations, `G`: grounding, which is the kernel's
and is reached by what has no other mistake. Each row has its own section below.
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
    """The mistakes of a file, when a caller asked for a result that does not exist because of them. `text` is what could be read."""

    def __init__(self, mistakes: Iterable[Mistake], text: str = "") -> None:
        self.mistakes = tuple(mistakes)
        self.text = text
        super().__init__("\n".join(str(mistake) for mistake in self.mistakes))


MAX_MISTAKES = 50
"""After this many mistakes in its syntax a file is read no further."""

MAX_DIGITS = 1000
"""Longer numbers are not read: nothing that is declared is so large, and Python turns no more than 4,300 digits into a number."""

SHOWN = 160
"""Longer source lines are cut in messages, to this many characters around the mistake."""


def render(mistake: Mistake, text: str) -> str:
    """The mistake with its line of `text` (the text of the file it is in) and carets under its span, then the hint."""
    span = mistake.span
    lines = text.removeprefix("\ufeff").split("\n")
    parts = [f"{span}: error {mistake.code}: {mistake.message}"]
    if span.line <= len(lines):
        line = lines[span.line - 1].rstrip("\r")
        end = span.end_column if span.end_line == span.line else len(line) + 1
        left = 0 if len(line) <= SHOWN else max(0, span.column - 1 - SHOWN // 2)
        shown = line[left : left + SHOWN]
        before = "".join(character if character == "\t" else " " for character in line[left : span.column - 1])
        carets = "^" * max(1, min(end - span.column, len(shown) - len(before)))
        parts += [f"  {shown}", f"  {before}{carets}"]
    if mistake.hint:
        parts.append(f"  {mistake.hint}")
    return "\n".join(parts)


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
P017 = Code("P017")

PARSING: tuple[Row, ...] = (
    Row("P001", "not UTF-8", "Files are UTF-8 text. Save the file as UTF-8.", "(bytes that are no text)"),
    Row("P002", "NUL byte", "A NUL byte is no text; the file is probably damaged or no text file.", "package A\0"),
    Row("P003", "file too large", "A file holds at most 1 MiB (1,048,576 bytes). Split it and use `import`.", "(more than 1 MiB)"),
    Row("P004", "nested too deeply", "Expressions and braces nest at most 200 deep. Name parts with `define`.", "package A\ninvariant x: " + "not " * 200 + "true"),
    Row("P005", "no header", "A file starts with `package NAME`; an imported file with `library NAME`, a theory with `theory \"VERSION\"`.", "enum Skill { build }"),
    Row("P006", "second header", "A file holds exactly one package, theory or library; its header comes first.", "package A\npackage B"),
    Row("P007", "unknown character", "This character is not part of the language outside comments and strings.", "package A\nenum S { a ? }"),
    Row("P008", "text is not closed", "Text in \"…\" or `…` ends on the line where it starts.", "package A\nallow vacuous because \"latent\nenum S { a }"),
    Row("P009", "something else expected", "What stands here does not fit what stands before it.", "package A\nenum { build }"),
    Row("P010", "file ends too early", "The file ends inside a declaration; often a closing brace or parenthesis is missing.", "package A\nenum S { build"),
    Row("P011", "misspelled word", "No declaration, statement or clause starts with this word, but one with a similar word exists.", "package A\ninvarient x: true"),
    Row("P012", "not a declaration", "Something stands between declarations that starts none; often a closing brace too many.", "package A\n}"),
    Row("P013", "pair out of place", "A pair `(a, b)` is written only after a closure: `needs*(p, w)`, `needs+(p, w)`.", "package A\ninvariant x: (a, b)"),
    Row("P014", "not something to change", "`set`, `emit`, `issue` and their like are followed by a field or a name, not by a computation.", "package A\nupdate u { set 3 := 4 }"),
    Row("P015", "language version not known", "This program reads language 1.", "language 2 package A"),
    Row("P016", "written twice", "A clause that has one value stands at most once in its declaration.", "package A\ncertificate c { valid when true valid when false }"),
    Row("P017", "number too long", "A number is written with at most 1,000 digits.", "package A\ninvariant x: " + "1" * 1001 + " > 0"),
)


# ---- R: names ---------------------------------------------------------------------------------------------------

R001 = Code("R001")
R002 = Code("R002")
R003 = Code("R003")
R004 = Code("R004")
R005 = Code("R005")
R006 = Code("R006")
R007 = Code("R007")
R008 = Code("R008")
R009 = Code("R009")
R010 = Code("R010")
R011 = Code("R011")
R012 = Code("R012")
R013 = Code("R013")
R014 = Code("R014")
R015 = Code("R015")
R016 = Code("R016")
R017 = Code("R017")
R018 = Code("R018")
R019 = Code("R019")
R020 = Code("R020")
R021 = Code("R021")
R022 = Code("R022")
R023 = Code("R023")
R024 = Code("R024")
R025 = Code("R025")
R026 = Code("R026")
R027 = Code("R027")

NAMES: tuple[Row, ...] = (
    Row("R001", "unknown name", "No value, agent, obligation, status, marker, input, clock or definition has this name.", "package A\ninvariant x: ship"),
    Row("R002", "nothing of this name takes arguments", "A call needs a field, a relation, a certificate, an artifact, a family of inputs or a definition.", "package A\ninvariant x: ship(1)"),
    Row("R003", "unknown sort", "Sorts are bool, a range, a set of values, Agent, Obligation, the obligation types and the enumerations.", "package A\ninput head { commit: Commit }"),
    Row("R004", "unknown obligation type", "Declare it with `obligation type NAME { … }`.", "package A\nobligations { a: Step }"),
    Row("R005", "unknown field", "The value has no such field; fields belong to obligation types, agents, inputs, artifacts and certificates.", "package A\ninput head { commit: 1..2 }\ninvariant x: head.comit == 1"),
    Row("R006", "unknown relation", "Declare it with `relation NAME(LEFT, RIGHT)`.", "package A\nneeds = a -> b"),
    Row("R007", "unknown certificate", "Declare it with `certificate NAME(…) { … }`.", "package A\nupdate u by monitor { issue done }"),
    Row("R008", "unknown artifact", "Declare it with `artifact NAME(…) { … }`.", "package A\nupdate u by monitor { emit report }"),
    Row("R009", "unknown agent", "Agents are declared in `agents { … }`.", "package A\nagents { ana {} }\nsymmetric agents ana, bo"),
    Row("R010", "unknown operation", "An update names an operation of Ω. Words are added to Ω with `operations NAME, …`.", "package A\nupdate u operation ship by monitor { }"),
    Row("R011", "unknown update", "It is named in a run, a fairness declaration or `given`, but no `update` or `fault` declares it.", "package A\nfair weak push"),
    Row("R012", "unknown clock", "Declare it with `clock NAME LOW..HIGH`.", "package A\nclock round 0..3\ncertificate c { delay 2 days }"),
    Row("R013", "unknown status", "There are eight: open, ready, blocked, closed, submitted, accepted, rejected, invalid.", "package A\nobligation type T {}\nobligations { a: T starts redy }"),
    Row("R014", "no such part of an update", "After the dot stands an outcome or a fault of the update, in `given` also a parameter.", "package A\nupdate u by monitor { }\nrun r: u.careless expect true"),
    Row("R015", "unknown contribution", "A relation contributes obligation, coverage, support, aggregation, refinement or contradiction.", "package A\nobligation type T {}\nrelation r(T, T) contributes suport"),
    Row("R016", "unknown claim", "Certificates claim node, status, assignment, signature, coverage, compatibility, removal, failure, terminal, or a changing relation.", "package A\ncertificate c { claims finished }"),
    Row("R017", "unknown kind of finding", "`allow` silences one kind of finding; the kinds are fixed.", 'package A\nallow vacous because "no"'),
    Row("R018", "unknown result", "`expect violated` names a property, a run, or one of the standing results of a check.", "package A\nexpect violated safe"),
    Row("R019", "unknown import", "No file is found under this path, or it cannot be read as a library.", 'package A\nimport "comon.icore"'),
    Row("R020", "imports in a circle", "A library imports itself, directly or through others.", 'package A\nimport "circle_a.icore"  # which imports circle_b.icore, which imports it'),
    Row("R021", "a name hides another", "A parameter, a bound name or a declaration repeats a name that is already visible here. Choose another name.", "package A\nenum S { open }"),
    Row("R022", "declared twice", "One name, one declaration.", "package A\nenum S { a }\nenum S { b }"),
    Row("R023", "unknown word", "Here stands one of a few fixed words.", "package A\nsymmetric agent ana, bo"),
    Row("R024", "the theory's own name", "The theory uses this name for itself; packages use what it exports.", "package A\ninvariant x: sup"),
    Row("R025", "a reserved name", "environment, monitor and any are who moves or issues; nothing else is called so.", "package A\nagents { monitor {} }"),
    Row("R026", "no such member", "The family has no member with this index.", "package A\nobligation type T {}\nobligations { a[1..2]: T }\ninvariant x: status(a[3]) == open"),
    Row("R027", "the name of a built-in result", "Every check has results of its own (legality, soundness, reports, …); a property or a run is called otherwise, so that each name says one thing.", "package A\ninvariant soundness: true"),
)


# ---- S: sorts ---------------------------------------------------------------------------------------------------

S001 = Code("S001")
S002 = Code("S002")
S003 = Code("S003")
S004 = Code("S004")
S005 = Code("S005")
S006 = Code("S006")
S007 = Code("S007")
S008 = Code("S008")
S009 = Code("S009")
S010 = Code("S010")
S011 = Code("S011")
S012 = Code("S012")
S013 = Code("S013")
S014 = Code("S014")
S015 = Code("S015")
S016 = Code("S016")
S017 = Code("S017")
S018 = Code("S018")
S019 = Code("S019")
S020 = Code("S020")
S021 = Code("S021")
S022 = Code("S022")
S023 = Code("S023")
S024 = Code("S024")

SORTS: tuple[Row, ...] = (
    Row("S001", "wrong number of arguments", "What is called, and how many arguments it takes, is fixed by its declaration.", "package A\nobligation type T {}\nobligations { a: T }\ninvariant x: status() == open"),
    Row("S002", "argument of the wrong sort", "Each argument has the sort that is declared for it.", "package A\ninvariant x: status(1) == open"),
    Row("S003", "operand of the wrong sort", "`and or not implies iff` join true and false; `+ - * / div mod < <= > >=` take numbers; `in` takes a set.", "package A\ninvariant x: 1 and true"),
    Row("S004", "different sorts are never equal", "Both sides of `==`, `!=` and `in` have the same sort.", "package A\ninvariant x: open == 1"),
    Row("S005", "a condition must be true or false", "Guards, invariants, `where` and `valid when` are formulas.", "package A\ninvariant x: 1 + 1"),
    Row("S006", "`none` has no order", "A value that may be `none` is compared with ==, != and in; say first that it is there.", "package A\nobligation type T { signature n: 1..2 }\nobligations { a: T }\ninvariant x: n(a) < 2"),
    Row("S007", "value of the wrong sort", "The value does not fit the field it is given to.", "package A\ninput head { commit: 1..2 = true }"),
    Row("S008", "cannot be set", "`set` writes status, assignee, marker, signature fields, input fields, changing fields of agents, and clocks.", "package A\ninput head\nupdate u by monitor { set head := 1 }"),
    Row("S009", "must be known beforehand", "Defaults, static fields, ranges and facts do not depend on the state.", "package A\nclock t 0..3\ninput head { c: 0..3 = t }"),
    Row("S010", "no finite domain", "What changes ranges over finitely many values: bool, a range, a set of values, an enumeration, agents, obligations.", "package A\ninput head { commit: int }"),
    Row("S011", "text is only for inessential fields", "Formulas do not read text; declare `inessential NAME: text`.", "package A\ninput head { note: text }"),
    Row("S012", "an inessential field is not read", "States that differ in it are the same state, so no formula may depend on it.", "package A\ninput head { inessential n: 1..2 }\ninvariant x: head.n == 1"),
    Row("S013", "not a domain", "A bound name ranges over a sort, a range or a set; a sort is no value.", "package A\ninvariant x: forall i in 3: true"),
    Row("S014", "not an agent", "An agent, `monitor` or `environment` moves; an agent, `any`, `monitor` or `environment` issues.", "package A\nupdate u by 3 { }"),
    Row("S015", "branches of different sorts", "Both branches of an `if`, all members of a set, have one sort.", "package A\ninvariant x: {1, open} == {}"),
    Row("S016", "may be none", "A definite value is wanted here.", "package A\nagents { ana {} }\nobligation type T {}\nobligations { a: T }\ninvariant x: assignee(a).skill == 1"),
    Row("S017", "has no fields", "Fields are read of agents, obligations, inputs, artifacts and certificates.", "package A\ninvariant x: open.skill"),
    Row("S018", "effect on the wrong kind of thing", "`emit consume discard supersede` take artifacts, `issue revoke supersede withhold` certificates, `create` work, `relate unrelate` relations.", "package A\ninput head\nupdate u by monitor { emit head }"),
    Row("S019", "not a premise", "Premises are inputs, artifacts, certificates and conditions; a certificate neutralizes certificates.", "package A\ncertificate c { premises 3 }"),
    Row("S020", "wrong test of a claim", "`is` and `in` stand after status and assignment, with a value of that sort.", "package A\nobligation type T {}\ncertificate c(w: T) { claims status(w) is 3 }"),
    Row("S021", "not a family", "Square brackets choose a member of a family of obligations; inputs and certificates take parentheses.", "package A\nobligation type T {}\nobligations { a: T }\ninvariant x: status(a[1]) == open"),
    Row("S022", "contributes nothing to obligations", "Only a relation between obligations contributes.", "package A\nagents { ana {} }\nrelation knows(Agent, Agent) contributes support"),
    Row("S023", "not the key of a table", "Rows and columns of a table are agents, obligations or the values of one enumeration.", "package A\nenum S { a }\ndefine f(n: 1..2) = table { a  x: 1 } at (n, a)"),
    Row("S024", "what a quantifier says", "`forall`, `sum`, `max` and `min` say something of each value, after a colon; `count` counts the values, or those of its `where`.", "package A\ninvariant x: count(n in 1..3: n > 1) == 2"),
)


# ---- D: declarations --------------------------------------------------------------------------------------------

D001 = Code("D001")
D002 = Code("D002")
D003 = Code("D003")
D004 = Code("D004")
D005 = Code("D005")
D006 = Code("D006")
D007 = Code("D007")
D008 = Code("D008")
D009 = Code("D009")
D010 = Code("D010")
D011 = Code("D011")
D012 = Code("D012")
D013 = Code("D013")
D014 = Code("D014")
D015 = Code("D015")
D016 = Code("D016")
D017 = Code("D017")
D018 = Code("D018")
D019 = Code("D019")
D020 = Code("D020")
D021 = Code("D021")
D022 = Code("D022")
D023 = Code("D023")
D024 = Code("D024")
D025 = Code("D025")
D026 = Code("D026")
D027 = Code("D027")
D028 = Code("D028")
D029 = Code("D029")
D030 = Code("D030")
D031 = Code("D031")
D032 = Code("D032")

DECLARATIONS: tuple[Row, ...] = (
    Row("D001", "empty range", "The low end of a range is above its high end.", "package A\ninput head { commit: 3..1 }"),
    Row("D002", "nothing in it", "An enumeration, a set of values, and what a name ranges over have at least one member.", "package A\ninvariant x: forall i in {}: true"),
    Row("D003", "the same value twice", "A set of values names each once.", "package A\ninput x { v: {0.2, 0.2} }"),
    Row("D004", "outside its domain", "The value is not one of those that its sort allows.", "package A\ninput head { commit: 1..2 = 3 }"),
    Row("D005", "a required root that waits for other work", "A required root has no predecessor under a relation that contributes obligation.", "package A\nobligation type T {}\nobligations { a: T  b: T required }\nrelation o(T, T) contributes obligation\no = a -> b"),
    Row("D006", "a cyclic relation", "Relations that contribute support, coverage, obligation, aggregation or refinement have no cycle.", "package A\nobligation type T {}\nobligations { a: T  b: T }\nrelation n(T, T) contributes support\nn = a -> b -> a"),
    Row("D007", "evidence that rests on itself", "In every state the certificate needs itself, so it can never be valid.", "package A\ncertificate c { premises c }"),
    Row("D008", "outside 0..1", "Values of agents, ground truth, tolerance, floor and threshold lie between 0 and 1.", "package A\naudit { floor 1.5 }"),
    Row("D009", "a weight that is not positive", "Every obligation weighs something.", "package A\nobligation type T { static weight: rational = 0 }"),
    Row("D010", "not a positive whole number", "Patience, budget, delays and depths count whole steps.", "package A\naudit { patience 0 }"),
    Row("D011", "rows or columns do not match", "A table has each row and each column of its keys exactly once.", "package A\nenum S { a, b }\ndefine f(s: S, t: S) = table { a  a: 1  b: 1 } at (s, t)"),
    Row("D012", "wrong number of cells", "Each row has one number for every column.", "package A\nenum S { a, b }\ndefine f(s: S, t: S) = table { a b  a: 1  b: 1 2 } at (s, t)"),
    Row("D013", "written twice in one update", "All writes of an update happen at once, so each field is written at most once.", "package A\nclock t 0..3\nupdate u by monitor { set t := 1, t := 2 }"),
    Row("D014", "`captured` outside premises", "Only a premise can be frozen at issue.", "package A\ncertificate c { neutralizes captured c }"),
    Row("D015", "a delay without a clock", "A delay counts the ticks of a clock; declare one, or say which.", "package A\ncertificate c { delay 2 }"),
    Row("D016", "reads outside its local view", "An agent's update reads its parameters and their neighbours; widen it with `view`, or pass what it reads as a parameter.", "package A\nagents { ana {} }\nobligation type T {}\nobligations { a: T }\nupdate u by ana { when status(a) == open }"),
    Row("D017", "a definition in terms of itself", "Only `least` definitions may be recursive.", "package A\ndefine f = not f"),
    Row("D018", "a least definition under its own negation", "A least definition uses itself only positively, or it has no least meaning.", "package A\nleast f = not f"),
    Row("D019", "latent work does not start", "Latent work is absent until an update creates it.", "package A\nobligation type T {}\nobligations { a: T latent starts ready }"),
    Row("D020", "only latent work is created", "Work that is not latent is present from the beginning.", "package A\nobligation type T {}\nobligations { a: T }\nupdate u by monitor { create a }"),
    Row("D021", "only in the theory", "Primitives, clauses and exported definitions belong to the theory.", 'package A\nprimitive p: bool "means"'),
    Row("D022", "not in the theory", "A theory holds primitives, definitions, clauses and operations.", 'theory "1"\nagents { ana {} }'),
    Row("D023", "only once", "A package has at most one of these.", "package A\naudit { }\naudit { }"),
    Row("D024", "a value is missing", "A fixed field without a default is given a value by every member.", "package A\nobligation type T { static n: 1..2 }\nobligations { a: T }"),
    Row("D025", "given twice", "Each field is given a value once.", "package A\nobligation type T { static n: 1..2 }\nobligations { a: T { n = 1, n = 2 } }"),
    Row("D026", "not in this place", "`outcome`, `fault` and `view` stand directly in an update, `withhold` in a fault, guards not in a `for`.", "package A\ncertificate c { }\nupdate u by monitor { withhold c }"),
    Row("D027", "nothing to withhold", "A fault withholds a certificate that its update issues.", "package A\ncertificate c { }\nupdate u by monitor { fault lazy: withhold c }"),
    Row("D028", "a fixed relation", "Only a `changing relation` is related and unrelated by updates.", "package A\nobligation type T {}\nrelation r(T, T)\nupdate u(p: T) by monitor { relate r(p, p) }"),
    Row("D029", "division by zero", "The divisor is always zero.", "package A\ninvariant x: 1 / 0 == 1"),
    Row("D030", "not the right kind of file", "`check` takes a package, `import` a library, the theory's folder theories.", 'package A\nimport "other_package.icore"  # which begins with `package`'),
    Row("D031", "an export without a sort", "What a theory exports says its sort, so that packages are checked without its inside.", 'theory "1"\nexport define f = true'),
    Row("D032", "work is written without an operation", "An update that creates work or sets status, assignee, marker or a signature field names its operation of Ω; without one no occurrence is legal (definition 6(ii)).", "package A\nobligation type T {}\nobligations { a: T }\nupdate u by monitor { set status(a) := closed }"),
)


# ---- G: grounding -----------------------------------------------------------------------------------------------

G001 = Code("G001")
G002 = Code("G002")
G003 = Code("G003")
G004 = Code("G004")
G005 = Code("G005")
G006 = Code("G006")
G007 = Code("G007")
G008 = Code("G008")
G009 = Code("G009")
G010 = Code("G010")

GROUNDING: tuple[Row, ...] = (
    Row("G001", "too large", "Obligations, occurrences of updates, members of a family, values of a range and fields have limits, which are computed before anything of that size is made.", "package A\ninput x { at: 0..1000000 = 0 }"),
    Row("G002", "nested too far", "What stands inside quantifiers and `for`s is expanded for every combination of what they, and the parameters of the update around them, range over. Range over less, or say by a relation which combinations count.", "package A\ninput x { at: 0..1 = 0 }\ninvariant i: forall a in 1..3000: forall b in 1..3000: a != b or x.at == 0"),
    Row("G003", "not known beforehand", "Which sets, ranges, facts and targets there are does not depend on the state.", "package A\ninput d { n: 1..2 }\ninput e(i: 1..2) { v: bool }\nupdate u by environment { set e(d.n).v := true, d.n := 2 }"),
    Row("G004", "too many values", "What chooses an element, or is remembered, has at most 4,096 possible values.", "package A\ninput x { at: 0..9999 = 0 }\nupdate u by environment { set x.at := 1 }\ninvariant i: {x.at} == {3}"),
    Row("G005", "no such member here", "The family has no member with the index that comes out here.", "package A\nobligation type T {}\nobligations { a[1..2]: T }\ndefine s(n: 1..3) = status(a[n])\ninvariant x: s(3) == open"),
    Row("G006", "outside what it may be", "A value that comes out here, or is given with --set, is not one of those that its sort allows, or its sort has none.", "package A\nenum S { p, q }\ndefine f(s: S) = table { p: 3 q: 5 } at (s, s)\ninput x { at: {1, 2} = f(p) }\nupdate u by environment { set x.at := 1 }"),
    Row("G007", "asked for by itself", "A definition or a certificate may not ask about what depends on it.", "package A\ninput q\nobligation type T {}\nobligations { one: T starts ready, required }\ncertificate c { issuer environment premises q claims node(one), status(one) is ready valid when not accept starts active }\nupdate u operation resolve by environment { set status(one) := ready }"),
    Row("G008", "not what stands here", "The checker should have refused this: it is a mistake of icore, too. Please report it.", "(none that is known)"),
    Row("G009", "another theory", "The theory asks for, or lacks, what this version of the kernel supplies or asks for.", "(a theory of another version)"),
    Row("G010", "definitions in a long chain", "Definitions that build on later ones are followed only so deep. Declare them in the order of their use, with their sorts.", "(some hundred definitions, each in terms of the next)"),
)


# ---- the whole table --------------------------------------------------------------------------------------------


def table() -> dict[str, Row]:
    """All rows by code. Raises ValueError when two rows have the same code."""
    rows: dict[str, Row] = {}
    for row in PARSING + NAMES + SORTS + DECLARATIONS + GROUNDING:
        if row.code in rows:
            raise ValueError(f"two rows have the code {row.code}")
        rows[row.code] = row
    return rows


def explain(code: str) -> Row | None:
    """The row of a code, or None when there is no such code."""
    return table().get(code.upper())
