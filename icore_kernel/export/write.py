"""The peers by name, and one function that writes a package for any of them."""

from __future__ import annotations

from collections.abc import Callable

from icore_kernel.export.maude import maude
from icore_kernel.export.model import ExportError, Model, model
from icore_kernel.export.murphi import murphi
from icore_kernel.export.promela import promela
from icore_kernel.export.smv import smv
from icore_kernel.export.tla import configuration, module_name, tla
from icore_kernel.system import System
from icore_kernel.terms.term import TermBank

PEERS: dict[str, Callable[[Model], str]] = {"promela": promela, "tla": tla, "smv": smv, "maude": maude, "murphi": murphi}

__all__ = ["PEERS", "ExportError", "configuration", "export", "model", "module_name"]


def export(system: System, bank: TermBank, peer: str) -> str:
    """The grounded system as a model of `peer`, one of PEERS; `bank` is the bank of its terms. ExportError says why not."""
    return PEERS[peer](model(system, bank))
