"""The package that a record holds the sources of, read and grounded again, and by whose theory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from icore_kernel.audit.differences import Differs
from icore_kernel.load import Loaded, assemble, load_theory, parse_module
from icore_kernel.record.verify import Unchecked


def load_recorded(body: Mapping[str, Any]) -> tuple[Loaded, str]:
    """The package of an opening from its sources, and whose theory it was grounded with: `installed`, or `record` where that is another.

    Differs where the sources are not those of the digests; InputError and UsageError for a package that is none.
    """
    said, rules = body["package"], body["theory"]
    modules, whose = load_theory(), "installed"
    package, *libraries = ((s["path"], parse_module(s["text"], s["path"])) for s in said["sources"])
    if digest_of_texts(module.text for module in modules) != rules["digest"]:
        modules, whose = tuple(parse_module(s["text"], f"spec/{s['path']}") for s in rules["sources"]), "record"
    loaded = assemble(
        Path(PurePosixPath(package[0]).name), package[1], modules, dict(libraries), said["settings"], own_theory=whose == "record"
    )  # fmt: skip
    if digest_of_texts(source["text"] for source in rules["sources"]) != rules["digest"]:
        raise Differs("the sources of the theory have another digest than it says")
    for name, digest, found in (
        ("theory", rules["digest"], loaded.system.theory_digest),
        ("package", said["digest"], loaded.system.package_digest),
    ):
        if digest != found:
            raise Differs(f"the sources of the {name} have another digest than it says")
    if (said["name"], said["version"]) != (loaded.system.name, loaded.system.version):
        raise Differs("the sources are those of another package")
    return loaded, whose


def require_tables(loaded: Loaded) -> None:
    """Unchecked where a theory that the record brings lacks what is asked of one here: it may be that of another icore."""
    from icore_kernel.ground.values import GroundingError

    try:
        if loaded.grounded is not None:
            loaded.grounded.tables()
    except GroundingError as lacking:
        raise Unchecked(f"the record brings a theory of its own, and {lacking}") from lacking


def digest_of_texts(texts: Iterable[str]) -> str:
    """The digest of a theory, from the texts of its files in reading order."""
    from icore_kernel.ground.assemble import digest

    return digest("\0".join(texts))
