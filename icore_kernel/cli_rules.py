"""By whose rules a record says that what was committed is legal: the package and the theory in it, beside those that the reader trusts.

Whoever writes a record chooses what stands in it as its rules. `icore verify` replays by these; here they are compared.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from icore_kernel.record.entry import Entry


@dataclass(frozen=True, slots=True)
class Rules:
    """What was found of the opening of a record. `unsure`: why what holds by its rules is not known to hold by the theory.

    * `theory`: `installed`, `given` (that of --theory), `other`, or `none` where the record has no opening of an audit;
    * `package`: `same` or `other` than --package; empty where none was given.
    """

    theory: str
    package: str = ""
    settings: str = ""
    problems: tuple[str, ...] = ()
    unsure: tuple[str, ...] = ()


def rules_of(entries: Iterable[Entry], package: Path | None, theory: Path | None) -> Rules:
    """Of a record whose first entry is the only one in `entries`.

    Raises Wrong (cli_check) where the package or the theory to compare with cannot be read.
    """
    from icore_kernel.audit.recorded import digest_of_texts
    from icore_kernel.cli_check import answer
    from icore_kernel.load import load_theory

    given = None if theory is None else answer(theory, lambda: load_theory(theory))
    body = next((entry.body for entry in entries if entry.kind == "open"), {})
    try:
        said, its = body["package"], body["theory"]["digest"]
        digest, settings = said["digest"], {str(name): str(value) for name, value in said["settings"].items()}
        title = f"{said['name']} {said['version']}".strip()
    except (AttributeError, LookupError, TypeError):
        asked = [*([f"is it about {package}"] if package else []), *([f"is it by the theory in {theory}"] if theory else [])]
        return Rules("none", problems=tuple(f"{question}: it has no opening of an audit" for question in asked))
    problems: list[str] = []
    unsure: list[str] = []
    modules = given if given is not None else load_theory()
    same_theory = digest_of_texts(module.text for module in modules) == its
    whose = ("given" if given is not None else "installed") if same_theory else "other"
    if not same_theory and given is not None:
        problems.append(f"the theory in it is not that in {theory}")
    elif not same_theory:
        unsure.append("the theory in it is not the installed one")
    about = ""
    if package is not None:
        about = "same" if _digest(package, settings, theory) == digest else "other"
        problems.extend([f"the package in it, {title}, is not {package}"] if about == "other" else [])
    return Rules(whose, about, ", ".join(f"{n}={v}" for n, v in settings.items()), tuple(problems), tuple(unsure))


def _digest(package: Path, settings: dict[str, str], theory: Path | None) -> str:
    """Of a package with these settings; empty where it does not take them."""
    from icore_kernel.cli_check import answer
    from icore_kernel.load import InputError, UsageError, load

    def ask() -> str:
        try:
            return load(package, settings=settings, theory=theory).system.package_digest
        except InputError:
            raise
        except UsageError:
            return ""

    return answer(package, ask)
