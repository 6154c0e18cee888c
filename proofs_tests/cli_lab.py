"""What the tests of the command line share: an engine that answers as it is told, and three answers."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from test_report import GOOD, VIOLATED

import icore_kernel
from icore_dsl.mistakes import Mistake
from icore_kernel.check.reductions import Reduce
from icore_kernel.verdict import Assurance, Report, Result, Verdict

UNKNOWN = replace(GOOD, results=(Result("ships", Verdict.UNKNOWN, Assurance.NONE, "not decided by this version"),))
BROKEN = replace(GOOD, results=(VIOLATED,))


class InputError(Exception):
    def __init__(self, mistakes: tuple[Mistake, ...], text: str) -> None:
        super().__init__("wrong input")
        self.mistakes = mistakes
        self.text = text


class UsageError(Exception):
    pass


@dataclass
class Engine:
    """Stands for `icore_kernel.api`: answers by file name, and remembers what it was asked."""

    answers: dict[str, Report | BaseException] = field(default_factory=dict)
    loads: list[dict[str, object]] = field(default_factory=list)
    checks: list[dict[str, Any]] = field(default_factory=list)

    def load(self, path: Path, *, settings: Mapping[str, str], theory: Path | None, seconds: float | None = None) -> SimpleNamespace:
        self.loads.append({"path": path, "settings": dict(settings), "theory": theory})
        system = SimpleNamespace(name="P", version="1.0", package_digest="p", theory_digest="t", fields_digest="f")
        return SimpleNamespace(path=path, system=system)

    def check(self, loaded: SimpleNamespace, **asked: object) -> Report:
        self.checks.append(asked)
        answer = self.answers[loaded.path.name]
        if isinstance(answer, BaseException):
            raise answer
        return answer


def stand_in(monkeypatch: pytest.MonkeyPatch) -> Engine:
    """An engine in the place of `icore_kernel.api` for the time of a test; it knows the files `good`, `broken` and `unknown`."""
    engine = Engine({"good": GOOD, "broken": BROKEN, "unknown": UNKNOWN})
    module = ModuleType("icore_kernel.api")
    vars(module).update(load=engine.load, check=engine.check, InputError=InputError, UsageError=UsageError, Reduce=Reduce)
    monkeypatch.setitem(sys.modules, "icore_kernel.api", module)
    monkeypatch.setattr(icore_kernel, "api", module, raising=False)
    return engine
