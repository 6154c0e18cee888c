"""The reference of the record's format says what is so: its programs run, and the entries of real runs are as described."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from audit_desk import Scripted, desk, ran
from conftest import CHECKOUT
from record_lab import SMALL, large, rewritten, sealed_lines

from icore_kernel.explore.model import State
from icore_kernel.record.canonical import canonical
from icore_kernel.record.chain import check_chain
from icore_kernel.record.entry import Entry
from icore_kernel.record.seal import new_key, seal

README = (CHECKOUT / "icore_kernel" / "record" / "README.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def by_hand() -> Callable[..., str | None]:
    found: dict[str, Any] = {"__name__": "by hand"}
    exec(PROGRAMS[0], found)
    verify: Callable[..., str | None] = found["verify"]
    return verify


def accepts(verify: Callable[..., str | None], lines: Sequence[bytes], *trusted: str) -> bool:
    try:
        verify(lines, *trusted)
    except (AssertionError, ValueError, KeyError, TypeError, AttributeError):
        return False
    return True


def test_the_program_by_hand_agrees_with_the_checker(by_hand: Callable[..., str | None]) -> None:
    chance = random.Random(3)
    for given in (SMALL, large(6)):
        lines = sealed_lines(given)
        assert by_hand(lines) is None
        for turn in range(400):
            text = bytearray(b"".join(lines))
            match turn % 4:
                case 0:
                    text[chance.randrange(len(text))] = chance.randrange(256)
                case 1:
                    del text[chance.randrange(len(text)) :]
                case 2:
                    at = chance.randrange(len(text))
                    text[at:at] = bytes([chance.choice(b' "0a\n,')])
                case _:
                    shuffled = list(lines)
                    chance.shuffle(shuffled)
                    text = bytearray(b"".join(shuffled))
            changed = [part + b"\n" for part in bytes(text).split(b"\n")]
            changed[-1] = changed[-1][:-1]
            changed = changed if changed[-1] else changed[:-1]
            assert accepts(by_hand, changed) == check_chain(changed).sealed, (turn, bytes(text))


def test_the_program_by_hand_checks_the_signature(tmp_path: Path, by_hand: Callable[..., str | None]) -> None:
    pytest.importorskip("cryptography", reason="the extra `sign` is not installed")
    from cryptography.exceptions import InvalidSignature

    key, other = new_key(tmp_path / "key"), new_key(tmp_path / "other")
    lines = sealed_lines(SMALL, key)
    assert by_hand(lines) == by_hand(lines, key.public) == key.public
    assert not accepts(by_hand, lines, other.public)
    assert not accepts(by_hand, sealed_lines(SMALL), key.public)
    with pytest.raises(InvalidSignature):
        by_hand(rewritten(lines, lambda entry: (entry.kind, {**entry.body, **({"t": 9} if entry.kind == "commit" else {})})))


def test_the_programs_run_as_they_stand(tmp_path: Path) -> None:
    pytest.importorskip("cryptography", reason="the extra `sign` is not installed")
    environment = {"PYTHONPATH": f"{CHECKOUT}:{CHECKOUT / 'dsl'}"}

    def printed(program: str, *arguments: str) -> str:
        command = [sys.executable, "-c", program, *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    (tmp_path / "run.jsonl").write_bytes(b"".join(sealed_lines(SMALL)))
    assert printed(PROGRAMS[0], "run.jsonl") == "sealed, signed by None\n"
    assert re.fullmatch(r"0 open [0-9a-f]{8}\n1 commit [0-9a-f]{8}\n2 seal [0-9a-f]{8}\nSignature\.GOOD\n", printed(PROGRAMS[1]))


def described(kind: str) -> set[str]:
    (row,) = re.findall(rf"^\| `{kind}` \| (.*) \|$", README, re.MULTILINE)
    return set(re.findall(r"`([^`]+)`", row))


@pytest.fixture(scope="module")
def entries(tmp_path_factory: pytest.TempPathFactory) -> list[Entry]:
    """Runs of the audit loop in which every kind of entry occurs."""
    from icore_kernel.prove.commit import CommitSolver, Ruling

    loaded = desk(tmp_path_factory.mktemp("desk"))
    solver = CommitSolver(loaded.system, loaded.bank)

    class Contrary:
        version = "contrary"

        def decide(self, before: State, number: int, after: State | None) -> Ruling:
            return replace(solver.decide(before, number, after), legal=False)

    first = {0: ("ana", "assign(ana, left)"), 1: ("ana", "finish.withheld(ana, left)")}
    run = ran(loaded, Scripted(first, {1: ("finish.withheld(ana, left)",)}), decider=solver, budget=4)
    seal(run.store)
    contrary = ran(loaded, Scripted(first), decider=Contrary())
    return [*run.store.entries(), *contrary.store.entries()]


def test_every_key_of_an_entry_is_described(entries: list[Entry]) -> None:
    seal_keys = {"count", "head", "algorithm", "key", "signature"}
    assert all(f"`{key}`" in README for key in seal_keys)
    inner = ("package", "theory", "solver", "G", "Q", "Pi")
    for entry in entries:
        words = seal_keys if entry.kind == "seal" else described(entry.kind)
        if entry.kind == "feedback":
            words |= described("refusal")
        keys = {*entry.body, *(key for name in inner if isinstance(entry.body.get(name), dict) for key in entry.body[name])}
        if "violations" in entry.body:
            keys |= {key for violation in entry.body["violations"] for key in violation}
        assert not keys - words, entry.kind


def test_every_kind_that_is_described_occurs(entries: list[Entry]) -> None:
    kinds = set(re.findall(r"^\| `([a-z]+)` \| ", README.partition("### Kinds and bodies")[2].partition("\n## ")[0], re.MULTILINE))
    assert {entry.kind for entry in entries} == kinds


def test_digests_are_as_described(entries: list[Entry]) -> None:
    opening = entries[0].body
    names = [field["name"] for field in opening["declared"]["fields"]]
    state = dict(opening["state"])
    assert sha256(canonical([state[name] for name in names])).hexdigest() == opening["digest"]
    (commit,) = [entry.body for entry in entries if entry.kind == "commit"]
    assert commit["rules"] == sha256(f"{opening['theory']['digest']} {opening['package']['digest']}".encode()).hexdigest()
    for part in (commit["G"]["changed"], commit["Q"]["changed"], commit["Pi"]["changed"], commit["other"]):
        for name, (before, after) in part.items():
            assert state[name] == before
            state[name] = after
    assert commit["before"] == opening["digest"]
    assert sha256(canonical([state[name] for name in names])).hexdigest() == commit["after"]
