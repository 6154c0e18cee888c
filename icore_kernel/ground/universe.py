"""The finite universe of a package: its constants, elements, families, static facts and declared functions.

Nothing here depends on the state. Elements are numbered in the order of their declaration.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from icore_dsl import syntax as s
from icore_kernel.ground.values import Element, Value, show_value

STATUSES = ("open", "ready", "blocked", "closed", "submitted", "accepted", "rejected", "invalid")
"""The eight statuses of A.2, in the paper's order."""
MARKERS = ("duplicated", "excluded", "irrelevant", "superseded")
"""The off markers of A.6."""
REPORTS = ("accept", "reject", "stuck", "budget")


@dataclass(slots=True)
class Work:
    """One obligation: its type, static values, and how it starts."""

    element: Element
    type: str
    decl: s.ObligationDecl
    statics: dict[str, Value]
    required: bool
    latent: bool
    starts: str
    assigned: Value
    key: Value
    """Its index in its family; None for a single."""


@dataclass(slots=True)
class Instance:
    """One member of a family of inputs, artifacts or certificates, with its arguments by parameter name."""

    element: Element
    schema: str
    args: dict[str, Value]


@dataclass(slots=True)
class Function:
    """A declared or theory function, with the scope its body is read in."""

    decl: s.FunctionDecl
    theory: bool


@dataclass(slots=True)
class Universe:
    """Tables of everything named, filled by `build.py`."""

    constants: dict[str, Value] = field(default_factory=dict)
    """Package parameters."""
    enums: dict[str, tuple[Element, ...]] = field(default_factory=dict)
    agents: tuple[Element, ...] = ()
    agent_values: dict[tuple[Element, str], Value] = field(default_factory=dict)
    agent_fields: dict[str, s.FieldDecl] = field(default_factory=dict)
    types: dict[str, s.ObligationTypeDecl] = field(default_factory=dict)
    works: dict[Element, Work] = field(default_factory=dict)
    families: dict[str, dict[Value, Element]] = field(default_factory=dict)
    slots: dict[str, s.SlotDecl] = field(default_factory=dict)
    inputs: dict[Element, Instance] = field(default_factory=dict)
    artifacts: dict[Element, Instance] = field(default_factory=dict)
    certificate_decls: dict[str, s.CertificateDecl] = field(default_factory=dict)
    certificates: dict[Element, Instance] = field(default_factory=dict)
    instances: dict[tuple[str, tuple[Value, ...]], Element] = field(default_factory=dict)
    """(family, arguments) -> element, for inputs, artifacts and certificates."""
    relations: dict[str, s.RelationDecl] = field(default_factory=dict)
    facts: dict[str, set[tuple[Element, Element]]] = field(default_factory=dict)
    clocks: dict[str, tuple[int, int]] = field(default_factory=dict)
    operations: tuple[str, ...] = ()
    functions: dict[str, Function] = field(default_factory=dict)
    valuations: dict[str, list[Function]] = field(default_factory=dict)
    """feasible, value, truth: one declaration for each sort of work that has its own."""
    theory_functions: dict[str, Function] = field(default_factory=dict)
    primitives: dict[str, bool] = field(default_factory=dict)
    """Primitive names of the theory, and whether packages may use them."""
    signatures: dict[str, s.FieldDecl] = field(default_factory=dict)
    names: dict[str, Value] = field(default_factory=dict)
    """Names in package scope that denote static values."""
    theory_names: dict[str, Value] = field(default_factory=dict)
    statuses: dict[str, Element] = field(default_factory=lambda: {n: Element("Status", n, i) for i, n in enumerate(STATUSES)})
    markers: dict[str, Element] = field(default_factory=lambda: {n: Element("Marker", n, i) for i, n in enumerate(MARKERS)})
    updates: list[s.UpdateDecl] = field(default_factory=list)
    ground_updates: tuple[Element, ...] = ()
    assertions: tuple[Element, ...] = ()
    _of_type: dict[str, tuple[Element, ...]] = field(default_factory=dict)

    def elements(self, sort: str) -> tuple[Value, ...] | None:
        """The elements of a sort, in order; None when it is no finite sort of elements."""
        match sort:
            case "Agent":
                return self.agents
            case "Obligation":
                return self._typed("")
            case "Status":
                return tuple(self.statuses.values())
            case "Marker":
                return tuple(self.markers.values())
            case "Certificate":
                return tuple(self.certificates)
            case "Artifact":
                return tuple(self.artifacts)
            case "Input":
                return tuple(self.inputs)
            case "Assertion":
                return self.assertions
            case "Update":
                return self.ground_updates
            case "bool":
                return (False, True)
        if sort in self.enums:
            return self.enums[sort]
        return self._typed(sort) if sort in self.types else None

    def _typed(self, name: str) -> tuple[Element, ...]:
        """The obligations of a type, or all; remembered once all are declared (the number of them tells)."""
        known = self._of_type.get(name)
        if known is None or len(self._of_type.get("", ())) != len(self.works):
            self._of_type = {"": tuple(self.works)}
            for each in self.types:
                self._of_type[each] = tuple(e for e, w in self.works.items() if w.type == each)
            known = self._of_type.get(name, ())
        return known

    def edges(self, contribution: str) -> list[str]:
        """The relations that contribute `contribution`."""
        return [n for n, r in self.relations.items() if any(c.id == contribution for c in r.contributes)]


def instance_name(schema: str, args: Iterable[Value]) -> str:
    inner = ", ".join(show_value(a) for a in args)
    return f"{schema}({inner})" if inner else schema


def parse_setting(text: str) -> Fraction:
    """A value given by `--set`: an exact number. ValueError for another text."""
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"not a number: {text!r}") from None


def parameters(params: Iterable[s.Param], settings: Mapping[str, str]) -> dict[str, Value]:
    """Package parameters given by `--set` or by a plain number as default; `build.py` adds the other defaults and checks ranges."""
    found: dict[str, Value] = {}
    for param in params:
        if param.name in settings:
            found[param.name] = parse_setting(settings[param.name])
        elif isinstance(param.default, s.Num):
            found[param.name] = param.default.value
    return found
