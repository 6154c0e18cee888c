"""Of evidence that a step issues in vain: which of its premises do not hold after the step, and how the declaration asks for them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from icore_dsl.syntax import Call, CertificateDecl, Module, Target
from icore_kernel.explore.model import State
from icore_kernel.load import Loaded
from icore_kernel.meaning import scalar
from icore_kernel.system import Field, GroundUpdate


@dataclass(frozen=True, slots=True)
class Unmet:
    """A premise of `certificate` that does not hold: `premise` is a certificate or an artifact, `state` what it is.

    `repeated`: the text of a premise with `for`, where it is one of the several that this asks for; empty where it stands alone.
    """

    certificate: str
    premise: str
    state: str
    repeated: str
    artifact: bool

    @property
    def one_of_several(self) -> str:
        """How `for` asks for those alone that are there: `and active(failed(p))`."""
        each, _, rest = self.repeated.removeprefix("captured ").partition(" for ")
        return f"{'and' if ' where ' in rest else 'where'} {'present' if self.artifact else 'active'}({each})"


def may_issue(update: GroundUpdate, certificate: str) -> bool:
    return f"issue {certificate}" in update.notes


def unmet(loaded: Loaded, update: GroundUpdate, after: State) -> list[Unmet]:
    """Of the certificates that the update issues and that are active after it: the premises that are not there, each once."""
    issued = [f for f in loaded.system.fields if f.kind == "certificate" and f.domain.show(after[f.index]) == "active"]
    found: dict[tuple[str, str], Unmet] = {}
    for field in issued:
        if may_issue(update, field.name):
            for one in _unmet(loaded, field.name, after):
                found.setdefault((one.certificate, one.premise), one)
    return list(found.values())


def _unmet(loaded: Loaded, certificate: str, state: State) -> Iterator[Unmet]:
    """Down to the first that are missing: a premise that is there may lack its own."""
    if loaded.grounded is None:
        return
    primitives = loaded.grounded.primitives
    fields = {field.name: field for field in loaded.system.fields if field.kind in {"certificate", "artifact"}}
    elements = {element.name: element for element in primitives.u.certificates}
    seen = {certificate}
    stack = [certificate]
    while stack:
        here = elements[stack.pop()]
        decl = primitives.u.certificate_decls[primitives.u.certificates[here].schema]
        for premise in primitives.evidence.premises_of.get(here, ()):
            target = premise.target
            field = None if target is None else fields.get(target.name)
            if target is None or field is None or target.name in seen:
                continue
            where = primitives.alg.boolean(primitives.condition(premise.where, here, premise.env))
            if not scalar.evaluate(where, state):
                continue
            seen.add(target.name)
            shown = field.domain.show(state[field.index])
            if _there(field, shown):
                stack.extend([target.name] if target.name in elements else [])
            else:
                yield Unmet(here.name, target.name, shown, _repeated(loaded, decl, field.owner), target.sort == "Artifact")


def _there(field: Field, shown: str) -> bool:
    return shown != "absent" if field.kind == "artifact" else shown == "active"


def _repeated(loaded: Loaded, decl: CertificateDecl, schema: str) -> str:
    """The text of the premise with `for` that speaks of members of this schema, in one line; empty where there is none."""
    modules: tuple[Module, ...] = (loaded.package, *loaded.libraries.values())
    text = next((module.text for module in modules if module.file == decl.span.file), "")
    for target in decl.premises:
        if target.binders and _schema(target) == schema:
            return " ".join(text[target.span.start : target.span.end].split())
    return ""


def _schema(target: Target) -> str:
    return target.expr.name if isinstance(target.expr, Call) else ""
