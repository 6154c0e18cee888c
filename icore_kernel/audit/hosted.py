"""A whole run of Algorithm 1 from Python: a package, a host, a record that is sealed at the end.

from icore_kernel import api
api.run_host("workflow.icore", MyHost(), "run.jsonl")     # Outcome.ACCEPT …
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path

from icore_kernel.audit.auditor import Auditor
from icore_kernel.audit.frame import Outcome, Parameters
from icore_kernel.audit.host import CodeOrName, Host
from icore_kernel.audit.loop import Loop
from icore_kernel.load import Loaded, load
from icore_kernel.record.entry import RecordError, TakenRecord
from icore_kernel.record.seal import PrivateKey, read_key, seal
from icore_kernel.record.store import Store, open_store


def run_host(
    package: str | Path | Loaded,
    host: Host,
    record: str | Path = "memory:",
    *,
    settings: Mapping[str, str] | None = None,
    inputs: Mapping[str, CodeOrName] | None = None,
    request: str | None = None,
    threshold: Fraction | None = None,
    patience: int | None = None,
    budget: int | None = None,
    sign_key: str | Path | None = None,
    durable: bool = False,
) -> Outcome:
    """Run the loop with this host, seal the record (signed with the key in the file `sign_key`), and return what the run came to.

    `package` is a path, or what `load` returned; `record` is `NAME.jsonl`, `NAME.db` or PostgreSQL; threshold, patience and budget are
    else the package's. What the host raises is raised again, after the record was ended as interrupted, and sealed.

    Raises InputError and UsageError as `load` does, ValueError for a number that makes no sense, RecordError where the record cannot
    be begun or written.
    """
    loaded = package if isinstance(package, Loaded) else load(package, settings=settings)
    key = None if sign_key is None else read_key(Path(sign_key))
    with open_store(record, durable=durable, begin=True) as store:
        _, outcome = run_on(
            store, loaded, lambda _: host, request=request, inputs=inputs, threshold=threshold, patience=patience, budget=budget, key=key
        )
        return outcome


def run_on(
    store: Store,
    loaded: Loaded,
    host_of: Callable[[Auditor], Host],
    *,
    request: str | None = None,
    inputs: Mapping[str, CodeOrName] | None = None,
    threshold: Fraction | None = None,
    patience: int | None = None,
    budget: int | None = None,
    key: PrivateKey | None = None,
) -> tuple[Loop, Outcome]:
    """The same on an open store, which stays open, with a host that may be made for the auditor; the loop as the run left it."""
    if store.head()[0]:
        raise TakenRecord(store.name)
    auditor = Auditor(loaded, store, inputs=inputs or {})
    parameters = Parameters.of(auditor.tables.settings, threshold=threshold, patience=patience, budget=budget)
    loop = Loop(auditor, host_of(auditor), parameters, request)
    try:
        outcome = loop.run()
    except RecordError:
        raise  # what could not be written cannot be sealed
    except BaseException:
        if loop.interrupted() is not None:
            _seal(store, key)
        raise
    _seal(store, key)
    return loop, outcome


def _seal(store: Store, key: PrivateKey | None) -> None:
    """Set the seal, also where an interruption comes meanwhile."""
    try:
        seal(store, key)
    except KeyboardInterrupt:
        if not store.sealed():
            seal(store, key)
        raise
