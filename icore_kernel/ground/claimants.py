"""Which certificates claim an assertion, as names: for reports of what evidence is missing."""

from __future__ import annotations

from dataclasses import dataclass

from icore_kernel.ground.evidence import Claim
from icore_kernel.ground.primitives import Primitives
from icore_kernel.ground.values import Element, GroundingError, SetValue, show_value
from icore_kernel.system import Field


@dataclass(frozen=True, slots=True)
class Claimant:
    """A certificate that may claim the assertion. `values`: the printed values with which it does, None for whatever value;
    `starts`: whether it is active from the start."""

    certificate: str
    values: frozenset[str] | None
    starts: bool


@dataclass(frozen=True, slots=True)
class Claimed:
    """One assertion: the field that holds its value (None where that never changes, or there are several), and who may claim it."""

    carrier: Field | None
    claimants: tuple[Claimant, ...]


def claimed(p: Primitives, name: str) -> Claimed | None:
    """Of the assertion of this name (`assignment(page)`); None where there is none."""
    assertion = next((known for known in p.evidence.info if known.name == name), None)
    if assertion is None:
        return None
    carrier = next((p.slots.field(slot) for slot, carried in p.evidence.carried.items() if assertion in carried), None)
    found = [Claimant(claim.certificate.name, _values(p, claim), _starts(p, claim)) for claim in p.evidence.claimed_by.get(assertion, ())]
    return Claimed(carrier, tuple(found))


def _values(p: Primitives, claim: Claim) -> frozenset[str] | None:
    if claim.test is None or claim.value is None:
        return None
    try:
        value = p.ev.static(claim.value, {**p.certificate_env(claim.certificate), **claim.env})
    except GroundingError:  # it depends on the state
        return None
    items = [item for item, _ in value.items] if isinstance(value, SetValue) else [value]
    return frozenset(show_value(item) for item in items)


def _starts(p: Primitives, claim: Claim) -> bool:
    initial = p.slots.known["certificate", claim.certificate].initial
    return isinstance(initial, Element) and initial.name == "active"
