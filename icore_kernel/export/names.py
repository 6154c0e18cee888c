"""Names that a peer accepts, one for each name of the package and never one for two."""

from __future__ import annotations

import re
from collections.abc import Iterable

from icore_kernel.export.symbols import Enumeration

_FOREIGN = re.compile(r"[^A-Za-z0-9]+")


class Names:
    """Gives out names of ASCII letters, digits and a separator that differ even where case does not count."""

    def __init__(self, reserved: Iterable[str], separator: str = "_") -> None:
        self._taken = {word.casefold() for word in reserved}
        self._separator = separator

    def take(self, original: str, prefix: str = "x") -> str:
        """A new name like `original`: what is foreign becomes the separator, a leading digit gets `prefix`, a clash a number."""
        separator = self._separator
        base = _FOREIGN.sub(separator, original).strip(separator)
        if not base or not base[0].isalpha():
            base = f"{prefix}{separator}{base}" if base else prefix
        name, number = base, 2
        while name.casefold() in self._taken:
            name = f"{base}{separator}{number}"
            number += 1
        self._taken.add(name.casefold())
        return name

    def free(self, original: str) -> bool:
        """Whether `take` would need no number and no prefix."""
        base = _FOREIGN.sub(self._separator, original).strip(self._separator)
        return base[:1].isalpha() and base.casefold() not in self._taken


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def enumerated(names: Names, enumerations: Iterable[Enumeration]) -> tuple[dict[Enumeration, str], dict[tuple[Enumeration, int], str]]:
    """A name for each enumeration, and for each of its codes: the value's own where no other enumeration has it."""
    every = list(enumerations)
    used: dict[str, int] = {}
    for enumeration in every:
        for value in enumeration.names:
            used[value] = used.get(value, 0) + 1
    titles = {enumeration: names.take(enumeration.title, "kind") for enumeration in every}
    constants: dict[tuple[Enumeration, int], str] = {}
    for enumeration in every:
        for code, value in enumerate(enumeration.names):
            own = used[value] == 1 and names.free(value)
            constants[enumeration, code] = names.take(value if own else f"{enumeration.title}_{value}", "v")
    return titles, constants


def comment(text: str) -> str:
    """Text that may stand in any peer's comment: of one line, and free of what closes one."""
    return " ".join(text.split()).replace("*/", "* /").replace("/*", "/ *").replace("*)", "* )").replace("(*", "( *")


def quoted(text: str) -> str:
    """Text that may stand between double quotes."""
    return " ".join(text.split()).replace("\\", "/").replace('"', "'")
