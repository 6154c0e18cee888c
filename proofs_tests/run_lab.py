"""Runs to test records on: of the examples with a random host, and of a small package step by step."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from icore_kernel.audit.auditor import Audit, Auditor
from icore_kernel.audit.frame import Outcome, Parameters
from icore_kernel.audit.host import Step
from icore_kernel.audit.loop import Loop
from icore_kernel.hosts.random_host import RandomHost
from icore_kernel.load import Loaded, load
from icore_kernel.record.entry import Entry
from icore_kernel.record.memory import MemoryStore
from icore_kernel.record.seal import seal

EXAMPLES = sorted((Path(__file__).resolve().parent.parent / "examples").glob("*.icore"))
QUARTER = Fraction(1, 4)

Dicts = list[dict[str, Any]]


@cache
def example(name: str) -> Loaded:
    return load(next(path for path in EXAMPLES if path.stem == name))


def random_run(loaded: Loaded, seed: int, faults: Fraction = QUARTER) -> tuple[Outcome, list[Entry]]:
    """The outcome and the entries, with a seal, of a run that a random host makes."""
    with MemoryStore() as store:
        auditor = Auditor(loaded, store)
        outcome = Loop(auditor, RandomHost(seed, faults), Parameters.of(auditor.tables.settings)).run()
        seal(store, None)
        return outcome, list(store.entries())


class Desk:
    """A run step by step. `propose` commits what is legal, and records the refusal of what is not."""

    def __init__(self, folder: Path, text: str) -> None:
        path = folder / "package.icore"
        path.write_text(text, encoding="utf-8")
        self.store = MemoryStore()
        self.auditor = Auditor(load(path), self.store)
        self.auditor.open({"host": "desk"})
        self.round = 0

    def propose(self, *updates: str) -> list[str]:
        """The clauses that each breaks, by name; none where it was committed."""
        broken: list[str] = []
        for name in updates:
            number = self.auditor.labeller.number(name)
            assert number is not None, f"no update {name}"
            actor = self.auditor.system.updates[number].actor
            audit: Audit = self.auditor.audit(self.auditor.label(actor, (Step(name),)))
            if audit.violations:
                self.auditor.refuse(audit, kind="refusal", round=self.round, agent=actor, more={"line": 20}, outside={})
                broken.extend(violation.clause for violation in audit.violations)
            else:
                self.auditor.commit(audit, line=16, round=self.round, agent=actor, phase="ordinary", outside={})
                assert audit.after is not None
                self.auditor.adopt(audit.after)
            self.round += 1
        return broken

    def end(self, outcome: str) -> None:
        self.store.append("end", {"t": self.round, "line": 0, "outcome": outcome, "state": self.auditor.state_digest})

    @property
    def entries(self) -> list[Entry]:
        return list(self.store.entries())


def dicts(entries: Iterable[Entry]) -> Dicts:
    """The entries as a reader of the file sees them; a copy that a forger may write to."""
    return [{"kind": e.kind, "seq": e.seq, "body": json.loads(json.dumps(e.body))} for e in entries]


def digest_of(opening: Mapping[str, Any], state: Mapping[str, Any]) -> str:
    values = [state[field["name"]] for field in opening["declared"]["fields"]]
    return sha256(json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode()).hexdigest()


def rehashed(entries: Dicts) -> Dicts:
    """With every digest of a state computed anew from the changes, as a forger would: what is wrong then is only what was done."""
    opening = entries[0]["body"]
    state = dict(opening["state"])
    opening["digest"] = now = digest_of(opening, state)
    for entry in entries[1:]:
        body = entry["body"]
        if entry["kind"] == "commit":
            body["before"] = now
            for part in (body["G"]["changed"], body["Q"]["changed"], body["Pi"]["changed"], body["other"]):
                for name, pair in part.items():
                    pair[0], state[name] = state[name], pair[1]
            body["after"] = now = digest_of(opening, state)
        elif "state" in body:
            body["state"] = now
    return entries
