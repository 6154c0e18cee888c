"""What a proof can certify, and whether a certificate is about a package."""

from __future__ import annotations

from pathlib import Path

from icore_kernel.check.proof import Proof
from icore_kernel.load import Loaded
from icore_kernel.prove.certificate import Certificate, CertificateError, Claim, Claims, certify, differences
from icore_kernel.prove.steps import Steps


def certificate_of(proof: Proof) -> Certificate:
    """Everything that is proved, with the lemmas that it needs. Where feasibility is not proved, what needs it is left out.

    CertificateError for a library.
    """
    system = proof.loaded.system
    if proof.loaded.package.kind == "library":
        raise CertificateError(f"{system.name} is a library: what it declares is proved in a package that imports it")
    closed = proof.facts.closed
    extra = [lemma for invariant in proof.invariants for lemma in invariant.lemmas]
    claims = Claims(
        closed,
        tuple(system.updates[n].name for n in sorted(proof.lemma2.proved)) if closed else (),
        tuple(system.updates[n].name for n in sorted(proof.lemma2.refused)) if closed else (),
        tuple(Claim(i.name, i.k) for i in proof.invariants if i.way is not None and (closed or i.inductive_as_given)),
    )
    lemmas = tuple(dict.fromkeys((*proof.facts.lemmas, *extra))) if closed else ()
    return certify(proof.steps, claims, lemmas, dict(proof.loaded.settings))


def unlike(folder: Path, loaded: Loaded) -> list[str]:
    """What in the certificate is not what this package comes to; nothing where it is about this package."""
    return differences(folder, Steps(loaded.system, loaded.bank), dict(loaded.settings))
