"""Checks of properties, fairness, symmetry, runs, `allow`, `expect violated` and `audit`."""

from __future__ import annotations

from icore_dsl.check_certificates import positive
from icore_dsl.check_declarations import Declarations
from icore_dsl.constants import evaluate
from icore_dsl.found import counted, listed, near
from icore_dsl.mistakes import (
    D023,
    R001,
    R009,
    R011,
    R014,
    R017,
    R018,
    R022,
    R023,
    S001,
    S003,
    S004,
    S007,
    S009,
)  # fmt: skip
from icore_dsl.results import STANDING
from icore_dsl.sorts import AGENT, ERROR, accepts, comparable, numeric, shown
from icore_dsl.syntax import (
    AllowDecl,
    AuditDecl,
    AuditEntry,
    CheckDecl,
    CheckItem,
    ExpectDecl,
    FairDecl,
    Name,
    Outcome,
    PropertyDecl,
    RunDecl,
    RunStep,
    SymmetricDecl,
    UpdateDecl,
    Variant,
)

FINDINGS = (
    "vacuous", "never_fires", "never_valid", "antecedent", "unread_invariant", "accept_unreachable", "reject_unreachable", "uncovered_root",
    "empty_roots", "serves_no_root", "never_refused", "passes", "not_final", "dead_end", "no_start", "no_fork",
)  # fmt: skip
OBSERVED = ("status", "assignee", "marker", "coverage", "terminal", "evidence")
REPAIRS = ("assignment", "work", "evidence", "progress", "report")
REPAIRERS = ("assignee", "proposer", "issuer", "monitor", "environment")
COUNTS = ("patience", "budget")


class Properties:
    """Checks of what a package asks for."""

    def __init__(self, declarations: Declarations) -> None:
        self.declarations = declarations
        self.formulas = declarations.formulas
        self.names = declarations.names
        self.found = declarations.found
        self.checked: list[str] = []
        """Names of the results of all `check` declarations."""
        self._asked: dict[str, int] = {}
        """Those seen so far, with their lines."""

    def property(self, decl: PropertyDecl) -> None:
        self.formulas.condition(decl.formula, {}, f"`{decl.kind} {decl.name}`")
        if decl.second is not None:
            what = "what `leadsto` leads to" if decl.kind == "leadsto" else "`when`"
            self.formulas.condition(decl.second, {}, what)

    # ---- updates by name ----------------------------------------------------------------------------------------

    def _update(self, name: Name) -> UpdateDecl | None:
        decl = self.names.updates.get(name.id)
        if decl is None:
            self.found.add(R011, name.span, f"there is no update `{name.id}`", near(name.id, self.names.updates))
        return decl

    def check(self, decl: CheckDecl) -> None:
        for item in decl.items:
            name = name_of(item, True)
            if name in self._asked:
                self.found.add(R022, item.span, f"`check {name}` is declared already, line {self._asked[name]}", "leave it out here")
            self._asked.setdefault(name, item.span.line)
            for alternatives in item.given:
                self._given(alternatives)
            self._on(item)

    def _given(self, names: tuple[Name, ...]) -> None:
        """`assign.m` is one path; `finish or fail` comes as names of updates. A dotted name keeps its dot in the text."""
        for name in names:
            head, _, part = name.id.partition(".")
            span = self.found.word(name.span, head)
            decl = self._update(Name(head, span))
            if decl is not None and part:
                known = [param.name for param in decl.params] + parts_of(decl)
                if part not in known:
                    hint = near(part, known)
                    self.found.add(R014, self.found.word(name.span, part), f"`{head}` has no parameter and no outcome `{part}`", hint)

    def _on(self, item: CheckItem) -> None:
        words = [*OBSERVED, *self.names.those("signature")]
        for word in item.on:
            if word.id not in words:
                self.found.add(
                    R023, word.span, f"outcomes are not compared on `{word.id}`", near(word.id, words) or f"one of {listed(words)}"
                )

    def fair(self, decl: FairDecl) -> None:
        for name in decl.updates:
            head, _, part = name.id.partition(".")
            update = self._update(Name(head, self.found.word(name.span, head)))
            if update is not None and part and part not in parts_of(update):
                hint = near(part, parts_of(update))
                self.found.add(R014, self.found.word(name.span, part), f"`{head}` has no outcome and no fault `{part}`", hint)

    def symmetric(self, decl: SymmetricDecl) -> None:
        if decl.what not in ("agents", "obligations"):
            span = self.found.word(decl.span, decl.what)
            self.found.add(R023, span, f"`{decl.what}` cannot be symmetric", near(decl.what, ("agents", "obligations")))
            return
        # A family stands for all its members.
        known = self.names.those("agent") if decl.what == "agents" else self.names.those("obligation", "family")
        seen: set[str] = set()
        for name in decl.members:
            if name.id in seen:
                self.found.add(R022, name.span, f"`{name.id}` is named already")
            elif name.id not in known:
                code = R009 if decl.what == "agents" else R001
                self.found.add(code, name.span, f"there is no {decl.what.removesuffix('s')} `{name.id}`", near(name.id, known))
            seen.add(name.id)

    # ---- runs ---------------------------------------------------------------------------------------------------

    def run(self, decl: RunDecl) -> None:
        for step in decl.steps:
            self._step(step)
        self.formulas.condition(decl.expect, {}, "what a run expects")

    def _step(self, step: RunStep) -> None:
        span = self.found.word(step.span, step.update)
        decl = self._update(Name(step.update, span))
        if decl is None:
            for arg in step.args:
                self.formulas.infer(arg, {})
            return
        outcomes = [part.name for part in decl.body if isinstance(part, Outcome)]
        if step.variant is not None:
            if step.variant not in parts_of(decl):
                place = self.found.word(step.span, step.variant, 1 if step.variant == step.update else 0)
                hint = near(step.variant, parts_of(decl))
                self.found.add(R014, place, f"`{step.update}` has no outcome and no fault `{step.variant}`", hint)
        elif outcomes:
            self.found.add(R014, span, f"`{step.update}` ends in one of several ways, say which", f"write {step.update}.{outcomes[0]}(…)")
        if len(step.args) != len(decl.params):
            given = "none given" if not step.args else f"{len(step.args)} given"
            hint = f"write {step.update}({', '.join(param.name for param in decl.params)})" if decl.params else ""
            self.found.add(S001, step.span, f"`{step.update}` takes {counted(len(decl.params), 'argument')}, {given}", hint)
            for arg in step.args:
                self.formulas.infer(arg, {})
            return
        scope = self.names.params(decl, decl.params)
        for param, arg in zip(decl.params, step.args, strict=True):
            self.declarations.constant(arg, scope[param.name], f"`{param.name}` of `{step.update}`", {})

    # ---- findings and results -----------------------------------------------------------------------------------

    def allow(self, decl: AllowDecl) -> None:
        if decl.kind not in FINDINGS:
            hint = near(decl.kind, FINDINGS) or f"one of {listed(FINDINGS)}"
            self.found.add(R017, self.found.word(decl.span, decl.kind), f"there is no kind of finding `{decl.kind}`", hint)
        if decl.subject is None:
            return
        # What findings speak of. A member of a family is known by its family here, and by its index only when the package is grounded.
        # A dead end is left by the work that stays unresolved in it.
        known = self.names.those("obligation", "family")
        if decl.kind != "dead_end":
            known = [*self.names.those("certificate", "obligation", "family"), *self.names.results, *self.checked, *self._schemas()]
        if decl.subject not in known and decl.subject.partition("[")[0] not in self.names.those("family"):
            span = self.found.word(decl.span, decl.subject, 1 if decl.subject == decl.kind else 0)
            said = "no obligation" if decl.kind == "dead_end" else "nothing"
            self.found.add(R001, span, f"no finding speaks of `{decl.subject}`: {said} is called so", near(decl.subject, known))

    def _schemas(self) -> list[str]:
        """Updates, and their outcomes and faults as `update.part`."""
        return [name for update in self.names.updates.values() for name in (update.name, *(f"{update.name}.{p}" for p in parts_of(update)))]

    def expect(self, decl: ExpectDecl) -> None:
        known = [*self.names.results, *STANDING, *self.checked]
        if decl.name not in known:
            span = self.found.word(decl.span, decl.name)
            self.found.add(R018, span, f"nothing that is checked is called `{decl.name}`", near(decl.name, known))

    # ---- audit --------------------------------------------------------------------------------------------------

    def audit(self, decl: AuditDecl) -> None:
        seen: set[str] = set()
        for entry in decl.entries:
            if entry.key in seen:
                self.found.add(D023, self.found.word(entry.span, entry.key), f"`{entry.key}` is given already in this `audit`")
            seen.add(entry.key)
            self._entry(entry)

    def _entry(self, entry: AuditEntry) -> None:
        if entry.key == "progress":
            self._progress(entry)
        elif entry.key == "repairs":
            self._repairs(entry)
        elif entry.value is not None:
            sort = self.formulas.infer(entry.value, {})
            if not numeric(sort):
                self.found.add(S003, entry.value.span, f"`{entry.key}` is a number, not {shown(sort)}")
            elif entry.key in COUNTS:
                positive(entry.value, f"`{entry.key}`", self.names, self.found, sort)
            elif self.formulas.fixed(entry.value, {}, f"`{entry.key}`"):
                if sort != ERROR and evaluate(entry.value, self.names.constants) is None and not self.names.parameters_only(entry.value):
                    self.found.add(S009, entry.value.span, f"`{entry.key}` must be known beforehand")
                self.declarations.unit(entry.value, f"`{entry.key}`")

    def _progress(self, entry: AuditEntry) -> None:
        scope = self.formulas.bind(entry.binders, entry.where, {})
        if entry.value is None or entry.changes is None:
            return
        sort, goal = self.formulas.infer(entry.value, scope), self.formulas.infer(entry.changes, scope)
        if not comparable(sort, goal):
            said = f"`{self.found.text(entry.value.span)}` is {shown(sort)} and never changes to {shown(goal)}"
            self.found.add(S004, entry.changes.span, f"{said} (`{self.found.text(entry.changes.span)}`)", self.formulas.choices(sort))

    def _repairs(self, entry: AuditEntry) -> None:
        seen: set[str] = set()
        for word, names in entry.repairs:
            span = self.found.word(entry.span, word)
            if word not in REPAIRS:
                self.found.add(R023, span, f"`{word}` is nothing that is repaired", near(word, REPAIRS))
            if word in seen:
                self.found.add(D023, self.found.word(entry.span, word, 1), f"`{word}` is given already in `repairs`")
            seen.add(word)
            for name in names:
                self._repairer(name)

    def _repairer(self, name: Name) -> None:
        symbol = self.names.symbols.get(name.id)
        if (symbol is not None and symbol.kind == "agent") or name.id in REPAIRERS:
            return
        if symbol is not None and not accepts(AGENT, symbol.sort):
            self.found.add(S007, name.span, f"an agent or a role repairs; `{name.id}` is {symbol.word}", f"roles are {listed(REPAIRERS)}")
        else:
            self.found.add(
                R009, name.span, f"there is no agent and no role `{name.id}`", near(name.id, [*self.names.those("agent"), *REPAIRERS])
            )


def name_of(item: CheckItem, several: bool) -> str:
    """What a result is called: `order stability given assign.m on status` where a package asks for `several`, else `order stability`."""
    name = item.what
    if several and item.given:
        name += " given " + ", ".join(" or ".join(path.id for path in alternatives) for alternatives in item.given)
    if several and item.on:
        name += " on " + ", ".join(word.id for word in item.on)
    return name


def parts_of(decl: UpdateDecl) -> list[str]:
    """The names of an update's outcomes and faults."""
    return [part.name for part in decl.body if isinstance(part, Outcome | Variant)]
