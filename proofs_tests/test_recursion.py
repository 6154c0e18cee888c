"""Grounding may recurse deeply; the interpreter's limit is afterwards what it was, because it bounds recursion in C as well."""

from __future__ import annotations

import sys

from conftest import CHECKOUT

from icore_kernel.api import load


def test_the_limit_is_put_back() -> None:
    before = sys.getrecursionlimit()
    loaded = load(CHECKOUT / "examples" / "dependency_ladder.icore")
    assert sys.getrecursionlimit() == before
    assert loaded.grounded is not None
    loaded.grounded.tables()
    assert sys.getrecursionlimit() == before
