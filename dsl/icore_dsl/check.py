"""The whole check of a package against a theory: pure validation of parsed files. It changes and annotates nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from icore_dsl.check_certificates import Certificates
from icore_dsl.check_declarations import Declarations
from icore_dsl.check_definitions import Definitions
from icore_dsl.check_formulas import Formulas
from icore_dsl.check_properties import Properties, name_of
from icore_dsl.check_relations import Relations
from icore_dsl.check_updates import Updates
from icore_dsl.check_views import Views
from icore_dsl.found import Found
from icore_dsl.mistakes import D021, D022, D023, D030, D031, R019, R020, Mistake
from icore_dsl.namespace import declare_package, declare_theory
from icore_dsl.resolve import Names
from icore_dsl.syntax import (
    AgentsDecl,
    AllowDecl,
    AuditDecl,
    CertificateDecl,
    CheckDecl,
    ClauseDecl,
    ClockDecl,
    Decl,
    EnumDecl,
    ExpectDecl,
    FactsDecl,
    FairDecl,
    FunctionDecl,
    ImportDecl,
    InitiallyDecl,
    Module,
    ObligationsDecl,
    ObligationTypeDecl,
    OperationsDecl,
    PrimitiveDecl,
    PropertyDecl,
    RelationDecl,
    RunDecl,
    SlotDecl,
    Span,
    SymmetricDecl,
    UpdateDecl,
)

Libraries = Callable[[str], Module] | Mapping[str, Module]
"""The library that a path names. LookupError or OSError: there is none."""


def check(
    package: Module,
    theory: tuple[Module, ...],
    libraries: Libraries,
    settings: Mapping[str, str | int] = MappingProxyType({}),
) -> tuple[Mistake, ...]:
    """All mistakes of a parsed package and of the libraries it imports, from top to bottom; empty when it may be grounded.

    `settings` are values of the package's parameters (`--set n=6`); where there is none the default counts, and what depends on a
    parameter without either is left to grounding.
    """
    imports = Imports(libraries)
    modules = (*imports.of(package), package)
    found = Found((package, *modules, *theory))
    for mistake in imports.mistakes:
        found.add(mistake.code, mistake.span, mistake.message, mistake.hint)
    if package.kind == "theory":
        found.add(D030, package.name_span or package.span, "this file is a theory, not a package", "give its folder with --theory")
        return found.sorted()
    names = Names(found, theory=False)
    declare_theory(names, theory)
    declare_package(names, modules, settings)
    Checks(names, found).package(modules)
    return found.sorted()


def check_theory(theory: tuple[Module, ...]) -> tuple[Mistake, ...]:
    """All mistakes of the theory's own files."""
    found = Found(theory)
    names = Names(found, theory=True)
    for module in theory:
        if module.kind != "theory":
            found.add(D030, module.name_span or module.span, f"this file is a {module.kind}, not a part of the theory")
    declare_theory(names, theory)
    Checks(names, found).theory(theory)
    return found.sorted()


class Imports:
    """Follows imports, each file once; a circle and a file that is not there are mistakes where they are written."""

    def __init__(self, libraries: Libraries) -> None:
        self.libraries = libraries
        self.mistakes: list[Mistake] = []
        self._done: dict[str, Module] = {}

    def of(self, package: Module) -> tuple[Module, ...]:
        """The imported modules, those that others need first."""
        self._follow(package, (package.file,))
        return tuple(self._done.values())

    def _follow(self, module: Module, above: tuple[str, ...]) -> None:
        for decl in module.decls:
            if isinstance(decl, ImportDecl):
                self._import(decl, above)

    def _import(self, decl: ImportDecl, above: tuple[str, ...]) -> None:
        try:
            module = self.libraries[decl.path] if isinstance(self.libraries, Mapping) else self.libraries(decl.path)
        except (LookupError, OSError):
            self.mistakes.append(
                Mistake(R019, decl.span, f"there is no library `{decl.path}`", "paths are relative to the file that imports")
            )
            return
        if module.file in above:
            self.mistakes.append(Mistake(R020, decl.span, f"`{decl.path}` imports itself: {' -> '.join([*above, module.file])}"))
        elif module.kind != "library":
            self.mistakes.append(
                Mistake(D030, decl.span, f"`{decl.path}` is a {module.kind}, only a library is imported", "begin it with `library NAME`")
            )
        elif module.file not in self._done:
            self._follow(module, (*above, module.file))
            self._done[module.file] = module


class Checks:
    """One check, with all its parts over one set of names."""

    def __init__(self, names: Names, found: Found) -> None:
        self.names = names
        self.found = found
        self.formulas = Formulas(names, found)
        self.declarations = Declarations(self.formulas)
        self.relations = Relations(self.formulas)
        self.certificates = Certificates(self.declarations)
        self.updates = Updates(self.certificates)
        self.views = Views(self.formulas)
        self.properties = Properties(self.declarations)
        self.once: dict[str, Span] = {}

    def package(self, modules: tuple[Module, ...]) -> None:
        checks = [decl for module in modules for decl in module.decls if isinstance(decl, CheckDecl)]
        self.properties.checked = [name_of(item, True) for decl in checks for item in decl.items]
        for module in modules:
            for decl in module.decls:
                self._declaration(decl)
        self.relations.graph(modules)
        self.certificates.circles(modules)
        Definitions(modules, self.found).check()

    def theory(self, modules: tuple[Module, ...]) -> None:
        for module in modules:
            for decl in module.decls:
                self._theory_declaration(decl)
        Definitions(modules, self.found).check()

    def _theory_declaration(self, decl: Decl) -> None:
        match decl:
            case PrimitiveDecl(params=params):
                self.names.params(decl, params)
            case FunctionDecl():
                if decl.exported and decl.result is None and decl.kind != "least":
                    place = self.found.word(decl.span, decl.name)
                    self.found.add(D031, place, f"`{decl.name}` is exported and does not say its sort", "write `: bool =`, or what it is")
                self.declarations.function(decl)
            case ClauseDecl(params=params, formula=formula, kind=kind):
                scope = self.names.params(decl, params)
                if kind in ("measure", "evaluated"):
                    self.formulas.infer(formula, scope)
                else:
                    self.formulas.condition(formula, scope, f"`{kind}`")
            case OperationsDecl() | EnumDecl():
                pass
            case _:
                self.found.add(D022, self._keyword(decl.span), "a theory declares no packages' things, only definitions and clauses")

    def _keyword(self, span: Span) -> Span:
        text = self.found.text(span)
        return self.found.word(span, text.split()[0].rstrip(":{(")) if text else span

    def _single(self, word: str, span: Span) -> None:
        place = self.found.word(span, word)
        if word in self.once:
            self.found.add(D023, place, f"there is a block `{word}` already, line {self.once[word].line}", "put both into one")
        self.once.setdefault(word, place)

    def _declaration(self, decl: Decl) -> None:
        match decl:
            case EnumDecl() | OperationsDecl() | ClockDecl() | ImportDecl():
                pass
            case AgentsDecl():
                self._single("agents", decl.span)
                self.declarations.agents(decl)
            case SlotDecl():
                self.declarations.slot(decl)
            case ObligationTypeDecl():
                self.declarations.obligation_type(decl)
            case ObligationsDecl():
                self.declarations.obligations(decl)
            case RelationDecl():
                self.relations.relation(decl)
            case FactsDecl():
                self.relations.facts(decl)
            case CertificateDecl():
                self.certificates.certificate(decl)
            case UpdateDecl():
                self.updates.update(decl)
                self.views.update(decl)
            case FunctionDecl():
                if decl.exported:
                    self.found.add(D021, self.found.word(decl.span, "export"), "only the theory exports definitions", "drop `export`")
                self.declarations.function(decl)
            case PropertyDecl():
                self.properties.property(decl)
            case CheckDecl():
                self.properties.check(decl)
            case FairDecl():
                self.properties.fair(decl)
            case SymmetricDecl():
                self.properties.symmetric(decl)
            case RunDecl():
                self.properties.run(decl)
            case AllowDecl():
                self.properties.allow(decl)
            case ExpectDecl():
                self.properties.expect(decl)
            case AuditDecl():
                self._single("audit", decl.span)
                self.properties.audit(decl)
            case InitiallyDecl(formula=formula):
                self.formulas.condition(formula, {}, "`initially`")
            case PrimitiveDecl() | ClauseDecl():
                word = "a primitive" if isinstance(decl, PrimitiveDecl) else f"a clause ({decl.kind})"
                self.found.add(D021, self._keyword(decl.span), f"{word} belongs to the theory, not to a package")
