"""Proposition 2: a record holds its run. Replay rebuilds every state, and every accepted root has a finite explanation.

Runs are made over all examples by a random host that makes one step in four a fault; the nightly setting makes ten times as many.
"""

from __future__ import annotations

import os
from typing import Any

import pytest
from explanation_checker import wrong
from run_lab import EXAMPLES, QUARTER, dicts, example

from icore_kernel.audit.auditor import Auditor
from icore_kernel.audit.frame import Parameters
from icore_kernel.audit.host import Host
from icore_kernel.audit.loop import Loop
from icore_kernel.audit.replay import states
from icore_kernel.hosts.named import host_named
from icore_kernel.hosts.random_host import RandomHost
from icore_kernel.load import Loaded
from icore_kernel.record.checker import check as holds
from icore_kernel.record.entry import Entry
from icore_kernel.record.explain import Explanation, explain
from icore_kernel.record.memory import MemoryStore
from icore_kernel.report.explanation import explanation_json

RUNS = 500 if os.environ.get("ICORE_TESTS") == "nightly" else 14
SEEDS = {path.stem: range(place, RUNS, len(EXAMPLES)) for place, path in enumerate(EXAMPLES)}


def watched_run(loaded: Loaded, host: Host) -> tuple[list[Entry], dict[int, tuple[int, ...]]]:
    """The entries of a run, and of each the state in which the auditor wrote it; of a commit, the state that it led to."""
    written: dict[int, tuple[int, ...]] = {}

    class Watched(MemoryStore):
        def append(self, kind: str, body: Any) -> Entry:
            entry = super().append(kind, body)
            if kind != "commit":
                written[entry.seq] = tuple(auditor.state)
            return entry

    with Watched() as store:
        auditor = Auditor(loaded, store)
        whole = auditor.commit

        def commit(audit: Any, **said: Any) -> Any:
            receipts = whole(audit, **said)
            written.update((r.entry, tuple(s.after)) for r, s in zip(receipts, audit.steps, strict=True))
            return receipts

        auditor.commit = commit  # type: ignore[method-assign]
        Loop(auditor, host, Parameters.of(auditor.tables.settings)).run()
        return list(store.entries()), written


@pytest.mark.parametrize("name", SEEDS)
def test_replay_rebuilds_every_state_of_every_run(name: str) -> None:
    for seed in SEEDS[name]:
        entries, written = watched_run(example(name), RandomHost(seed, QUARTER))
        assert {entry.seq: tuple(state) for entry, state in states(entries)} == written
        assert len(written) == len(entries) > 3
        assert holds(entries) == []


def explained(entries: list[Entry], asked: str) -> Explanation:
    return explain("run", lambda: iter(entries), asked)


@pytest.mark.parametrize("name", SEEDS)
def test_every_accepted_component_has_a_finite_explanation(name: str) -> None:
    """Of roots and of whatever else is accepted when the run ends; the checker is the tests' own. A host that works well makes one more."""
    loaded = example(name)
    for host in (host_named("scored", loaded), *(RandomHost(seed, QUARTER) for seed in SEEDS[name])):
        entries, written = watched_run(loaded, host)
        state = dict(zip((f.name for f in loaded.system.fields), written[entries[-1].seq], strict=True))
        statuses = {w["name"]: w["status"] for w in entries[0].body["declared"]["obligations"]}
        codes = {f["name"]: f["values"] for f in entries[0].body["declared"]["fields"]}
        accepted = [w for w, field in statuses.items() if field and codes[field][state[field]] == "accepted"]
        assert accepted or entries[-1].body["outcome"] != "accept"
        for work in accepted:
            found = explanation_json(explained(entries, work), "run")
            assert f"status({work})" in found["goals"]  # type: ignore[operator]
            assert wrong(dicts(entries), found) == []
