"""Where a package says what a finding speaks of, for what the grounded system no longer has: its header, `initially`, dropped updates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from icore_dsl.syntax import InitiallyDecl, ObligationsDecl, Outcome, Span, UpdateDecl, Variant
from icore_kernel.load import Loaded


@dataclass(frozen=True, slots=True)
class Schema:
    """One update schema, outcome or fault variant as it is written."""

    span: Span
    fault: bool


@dataclass(frozen=True, slots=True)
class Places:
    """`initially`: the first such declaration. `schemas`: every update schema by its full name, those that were dropped too."""

    package: Span
    initially: Span | None
    schemas: Mapping[str, Schema]

    @property
    def start(self) -> Span:
        """What to look at when there is no initial state."""
        return self.initially or self.package

    @property
    def first_update(self) -> Span:
        """What to look at when nothing ever happens."""
        return next((schema.span for schema in self.schemas.values() if not schema.fault), self.package)


def places(loaded: Loaded) -> Places:
    decls = [decl for module in (loaded.package, *loaded.libraries.values()) for decl in module.decls]
    schemas: dict[str, Schema] = {}
    for decl in decls:
        if isinstance(decl, UpdateDecl):
            schemas.update(_schemas(decl))
    initially = next((decl.span for decl in decls if isinstance(decl, InitiallyDecl)), None)
    return Places(loaded.package.name_span or loaded.package.span, initially, schemas)


def unrequired(loaded: Loaded) -> str:
    """Where no work is marked `required`: that, and how to mark the first. Empty where some is, or there is no work.

    Accept and Reject ask for some effective root (A.6), and roots are required work.
    """
    first = ""
    for module in (loaded.package, *loaded.libraries.values()):
        for decl in module.decls:
            for item in decl.items if isinstance(decl, ObligationsDecl) else ():
                if item.required:
                    return ""
                written = " ".join(module.text[item.span.start : item.span.end].split())
                first = first or f"{written}{', ' if item.starts or item.latent or item.assigned else ' '}required"
    return f'no work is marked required, so Accept and Reject can never hold: write "{first}"' if first else ""


def _schemas(decl: UpdateDecl) -> Iterator[tuple[str, Schema]]:
    """The names that occurrences have: of the update itself or each of its outcomes, and of each fault variant."""
    outcomes = [part for part in decl.body if isinstance(part, Outcome)]
    for outcome in outcomes:
        yield f"{decl.name}.{outcome.name}", Schema(outcome.span, decl.is_fault)
    if not outcomes:
        yield decl.name, Schema(decl.span, decl.is_fault)
    for variant in (part for part in decl.body if isinstance(part, Variant)):
        yield f"{decl.name}.{variant.name}", Schema(variant.span, True)
