"""From a file's path to a grounded system: read, parse, import, check, ground."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from icore_dsl.mistakes import G010, MAX_DIGITS, Code, LanguageError, Mistake
from icore_dsl.parse import parse_formula, parse_text
from icore_dsl.source import read_source
from icore_dsl.syntax import ImportDecl, Module, Span
from icore_kernel.ground.limits import Deadline
from icore_kernel.ground.limits import OutOfTime as OutOfTime
from icore_kernel.near import near
from icore_kernel.system import System
from icore_kernel.terms.term import TermBank
from icore_kernel.theory_files import theory_directory

if TYPE_CHECKING:
    from icore_kernel.ground.assemble import Grounded

GOAL = "--trace-to"
"""The name of a formula that was given beside the package, also in messages. No name in a file is like it."""


TOO_DEEP = "definitions build on later ones too deeply to be followed: declare them in the order of their use, with their sorts"


class InputError(Exception):
    """The declaration is wrong: `mistakes`, from top to bottom, and the `text` they are in (of the first one's file)."""

    def __init__(self, mistakes: tuple[Mistake, ...], text: str) -> None:
        self.mistakes = mistakes
        self.text = text
        super().__init__("; ".join(f"{m.span}: {m.message}" for m in mistakes))


class UsageError(Exception):
    """What was asked does not fit the package: an unknown property, setting or fault, a package too large to ground."""


class NotGrounded(InputError, UsageError):
    """A package that is well-formed, and cannot be grounded with these settings: too large, say. One mistake, with a code `G…`."""


@dataclass(frozen=True)
class Loaded:
    """A package that is well-formed, with its grounded system."""

    path: Path
    package: Module
    theory: tuple[Module, ...]
    system: System
    bank: TermBank
    settings: Mapping[str, str]
    libraries: Mapping[str, Module] = field(default_factory=dict)
    """What the package imports, by the path it is imported under."""
    grounded: Grounded | None = field(default=None, repr=False, compare=False)
    """What else can be asked of the package: the audit loop's tables."""


def load_theory(folder: Path | None = None) -> tuple[Module, ...]:
    """The theory's files in reading order. Raises InputError for a mistake in them, FileNotFoundError where there are none."""
    directory = theory_directory() if folder is None else folder
    files = sorted(directory.glob("*.icore"))
    if not files:
        raise FileNotFoundError(2, "no *.icore files here", str(directory))
    modules: list[Module] = []
    for file in files:
        modules.append(read_module(file))
    return tuple(modules)


def read_module(file: Path) -> Module:
    """One parsed file. Raises InputError for its mistakes, OSError where it cannot be read."""
    try:
        text = read_source(file)
    except LanguageError as wrong:
        raise InputError(wrong.mistakes, wrong.text) from wrong
    return parse_module(text, str(file))


def load(
    path: str | Path,
    *,
    settings: Mapping[str, str] | None = None,
    theory: Path | None = None,
    goal: str | None = None,
    seconds: float | None = None,
) -> Loaded:
    """Read, check and ground a package. `settings` are its parameters by name; `theory` a folder to use instead of spec/; `goal`
    the text of a formula with the package's names, which becomes the last of the system's properties, called GOAL; `seconds` are
    how long it may take (None: as long as it does).

    Raises InputError for a wrong declaration, UsageError for a wrong setting, both (NotGrounded) where the package is too large to
    ground, OSError where a file cannot be read, OutOfTime where `seconds` are over.
    """
    deadline = Deadline(seconds)
    file = Path(path)
    package = read_module(file)
    modules = load_theory(theory)
    libraries = _libraries(file, package)
    if goal is not None:
        libraries[GOAL] = asked = _goal(goal)
        package = replace(package, decls=(*package.decls, ImportDecl(GOAL, asked.span)))
    deadline.look()
    return assemble(file, package, modules, libraries, settings or {}, own_theory=theory is not None, deadline=deadline)


def parse_module(text: str, name: str) -> Module:
    """A module from its text, called `name` in messages. Raises InputError for its mistakes."""
    parsed = parse_text(text, name)
    if parsed.module is None or parsed.mistakes:
        raise InputError(parsed.mistakes, text)
    return parsed.module


def assemble(
    file: Path,
    package: Module,
    modules: tuple[Module, ...],
    libraries: Mapping[str, Module],
    settings: Mapping[str, str],
    *,
    own_theory: bool = False,
    deadline: Deadline | None = None,
) -> Loaded:
    """Check and ground modules that were read. `own_theory`: the theory is not the installed one, so it is checked too. As `load`."""
    from icore_dsl.check import check, check_theory
    from icore_kernel.ground.assemble import ground
    from icore_kernel.ground.values import GroundingError

    given = dict(settings)
    for name, text in given.items():
        if len(text) > MAX_DIGITS:
            raise UsageError(f"--set {name}: a value of {len(text):,} characters; at most {MAX_DIGITS:,} are read")
    if own_theory:
        _refuse(check_theory(modules), {m.file: m.text for m in modules})
    try:
        mistakes = check(package, modules, libraries, given)
    except RecursionError as deep:
        raise _not_grounded(G010, TOO_DEEP, package.span, package.text) from deep
    texts = {m.file: m.text for m in (package, *libraries.values())}
    _refuse(mistakes, texts)
    _settings(package, given)
    try:
        grounded = ground(package, modules, libraries, given, deadline)
    except GroundingError as wrong:
        place = wrong.place or package.span
        texts.update((m.file, m.text) for m in modules)
        raise _not_grounded(wrong.code, wrong.message, place, texts.get(place.file, "")) from wrong
    except RecursionError as deep:
        raise _not_grounded(G010, TOO_DEEP, package.span, package.text) from deep
    return Loaded(file, package, modules, grounded.system, grounded.bank, given, libraries, grounded)


def _goal(text: str) -> Module:
    """A formula as a library, so that its mistakes have places of their own."""
    parsed = parse_formula(text, GOAL)
    if parsed.module is None:
        raise InputError(parsed.mistakes, text)
    return parsed.module


def _refuse(mistakes: tuple[Mistake, ...], texts: Mapping[str, str]) -> None:
    if mistakes:
        raise InputError(mistakes, texts.get(mistakes[0].span.file, ""))


def _not_grounded(code: Code, message: str, place: Span, text: str) -> NotGrounded:
    return NotGrounded((Mistake(code, place, message),), text)


def _libraries(file: Path, package: Module) -> dict[str, Module]:
    """Every imported file, by the path it is imported under. One that cannot be read is left out: the checker reports it."""
    found: dict[str, Module] = {}
    open_paths = [d.path for d in package.decls if isinstance(d, ImportDecl)]
    while open_paths:
        name = open_paths.pop()
        target = file.parent / name
        if name in found or not target.is_file():
            continue
        found[name] = read_module(target)
        open_paths.extend(d.path for d in found[name].decls if isinstance(d, ImportDecl))
    return found


def files_read(package: Path, theory: Path | None = None) -> list[Path]:
    """What `load` reads: the package, the theory, and what is imported (not where there are mistakes, of which `load` tells)."""
    found = [package, *(theory_directory() if theory is None else theory).glob("*.icore")]
    try:
        found.extend(Path(module.file) for module in _libraries(package, read_module(package)).values())
    except (InputError, OSError):
        return found
    return found


def _settings(package: Module, given: Mapping[str, str]) -> None:
    """Every parameter has a value in its range, every setting names a parameter."""
    from icore_dsl.syntax import Num, SortRange
    from icore_kernel.ground.universe import parse_setting

    names = {p.name: p for p in package.params}
    for name, text in given.items():
        if name not in names:
            raise UsageError(f"{package.name} has no parameter {name!r}; {near(name, names)}")
        try:
            value = parse_setting(text)
        except ValueError as wrong:
            raise UsageError(f"--set {name}: {wrong}") from wrong
        sort = names[name].sort
        low = sort.low.value if isinstance(sort, SortRange) and isinstance(sort.low, Num) else None
        high = sort.high.value if isinstance(sort, SortRange) and isinstance(sort.high, Num) else None
        if value.denominator != 1 or (low is not None and value < low) or (high is not None and value > high):
            raise UsageError(f"--set {name}={text}: {name} is in {low}..{high}")
    for name, param in names.items():
        if param.default is None and name not in given:
            raise UsageError(f"{package.name} needs a value for {name}: --set {name}=…")
