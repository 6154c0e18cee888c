"""`icore verify` and `icore keygen`: what they print, and their exit statuses."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
from conftest import Icore
from record_lab import SMALL, large, sealed_lines

from icore_kernel import cli_record
from icore_kernel.cli import run
from icore_kernel.record.entry import Entry
from icore_kernel.record.seal import new_key, seal
from icore_kernel.record.store import open_store

HEX = re.compile(r"\b[0-9a-f]{64}\b")


@pytest.fixture(autouse=True)
def only_the_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    """The records here are of no package: what is checked of the entries has tests of its own."""
    monkeypatch.setattr(cli_record, "checks", tuple)


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    status = run(["verify", *arguments])
    said = capsys.readouterr()
    assert bool(said.err) == (status == 2)
    return status, HEX.sub("HASH", said.out + said.err)


def written(folder: Path, lines: Sequence[bytes], name: str = "run.jsonl") -> str:
    path = folder / name
    path.write_bytes(b"".join(lines))
    return str(path)


def test_a_sealed_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, sealed_lines(SMALL))
    assert printed(capsys, path) == (
        0,
        f"""{path} · 4 entries

  chain         intact    head HASH
  seal          intact    after 3 entries
  signature     none      whoever can write the record can have rewritten all of it

intact and sealed, not signed
""",
    )


def test_a_record_that_is_not_sealed_or_was_cut(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = sealed_lines(SMALL)[:-1]
    path = written(tmp_path, lines)
    assert printed(capsys, path) == (
        3,
        f"""{path} · 3 entries

  chain         intact    head HASH
  seal          unknown   not sealed: entries may be missing at the end

intact, not sealed
""",
    )
    status, said = printed(capsys, written(tmp_path, [*lines[:2], lines[2][:50]]))
    assert status == 3
    assert "  seal          unknown   the last line is not whole: 50 bytes without a line break\n" in said
    empty = written(tmp_path, [], "empty.jsonl")
    assert printed(capsys, empty) == (2, f"{empty}: empty: there is no record in it\n")


def test_a_broken_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = sealed_lines(large(3))
    path = written(tmp_path, [lines[0], lines[1].replace(b'"t":1', b'"t":2'), *lines[2:]])
    assert printed(capsys, path) == (
        1,
        f"""{path} · 1 entry

  chain         broken    entry 1 (line 2): the hash is not that of the entry

broken
""",
    )
    assert printed(capsys, written(tmp_path, [b"no database"], "run.db"))[0] == 1
    assert printed(capsys, written(tmp_path, [b"no record\n"]))[0] == 1


def test_a_signed_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("cryptography", reason="the extra `sign` is not installed")
    key, other = new_key(tmp_path / "key"), new_key(tmp_path / "other")
    path = str(tmp_path / "run.db")
    with open_store(path) as store:
        store.append("commit", {})
        seal(store, key)
    assert printed(capsys, path) == (
        0,
        f"""{path} · 2 entries

  chain         intact    head HASH
  seal          intact    after 1 entry
  signature     good      by HASH · whose key that is, is not known here: see --key

intact, sealed and signed by HASH
""",
    )
    for given in (key.public, str(tmp_path / "key.pub")):
        status, said = printed(capsys, path, "--key", given)
        assert status == 0
        assert said.endswith("  signature     good      by HASH\n\nintact, sealed and signed by the trusted key\n")
    status, said = printed(capsys, path, "--key", other.public)
    assert status == 1
    assert said.endswith("""
  signature     other     by HASH, not by the key of --key

  signed by HASH; a signature by HASH is expected

intact and sealed, but not signed by the trusted key
""")
    status, said = printed(capsys, written(tmp_path, sealed_lines(SMALL)), "--key", key.public)
    assert status == 1
    assert said.endswith("""
  signature     none      and one by the key of --key is expected

  not signed; a signature by HASH is expected

intact and sealed, but not signed by the trusted key
""")
    assert printed(capsys, path, "--key", str(tmp_path / "none"))[0] == 2
    assert printed(capsys, path, "--key", path)[0] == 2


def test_what_the_standing_checks_find_makes_it_broken(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    def check(entries: Iterable[Entry]) -> list[str]:
        seen.extend(entry.kind for entry in entries)
        return ["entry 1 (commit): one thing", "entry 2 (end): another"]

    monkeypatch.setattr(cli_record, "checks", lambda: (("definition 7", check), ("nothing", lambda entries: [])))
    path = written(tmp_path, sealed_lines(SMALL))
    status, said = printed(capsys, path)
    assert (status, seen) == (1, ["open", "commit", "end", "seal"])
    assert said.endswith("""
  signature     none      whoever can write the record can have rewritten all of it
  definition 7  violated  2 problems
  nothing       holds

  entry 1 (commit, line 2): one thing
  and 1 more problem, in entry 2, which may follow from it: --all prints all

broken
""")
    status, said = printed(capsys, path, "--all")
    assert (status, said.splitlines()[-5:]) == (
        1, ["", "  entry 1 (commit, line 2): one thing", "  entry 2 (end, line 3): another", "", "broken"]
    )  # fmt: skip
    assert run(["verify", path, "--format", "json"]) == 1
    assert json.loads(capsys.readouterr().out)["problems"] == ["entry 1 (commit): one thing", "entry 2 (end): another"]


def test_the_earliest_problem_of_all_checks_is_shown_and_the_others_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """20 are as many as the checker says. What is wrong with the seal is of no entry, and stays."""
    many = [f"entry {2 + n // 10} (commit): problem {n}" for n in range(20)]
    monkeypatch.setattr(cli_record, "checks", lambda: (("definition 7", lambda _: many), ("replay", lambda _: ["entry 1 (commit): early"])))
    key = "0" * 64
    status, said = printed(capsys, written(tmp_path, sealed_lines(SMALL)), "--key", key)
    assert status == 1
    assert said.endswith("""
  definition 7  violated  at least 20 problems
  replay        violated  1 problem

  not signed; a signature by HASH is expected
  entry 1 (commit, line 2): early
  and 20 more problems, in entries 2 to 3, which may follow from it: --all prints all

broken
""")


def test_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = sealed_lines(SMALL)
    cases = {
        0: (lines, {"entries": 4, "sealed": True, "broken": None, "tail": 0, "problems": [], "unsure": []}),
        3: ([*lines[:2], b"{"], {"entries": 2, "sealed": False, "broken": None, "tail": 1, "problems": []}),
        1: (
            [lines[0], lines[2]],
            {"entries": 1, "sealed": False, "broken": {"entry": 1, "line": 2, "what": "entry 2 where entry 1 is expected"}},
        ),
    }
    for status, (given, expected) in cases.items():
        assert run(["verify", written(tmp_path, given), "--format", "json"]) == status
        record = json.loads(capsys.readouterr().out)
        assert (
            record.items() >= {**expected, "schema": "icore.verify/1", "exit_status": status, "signed_by": None, "trusted": False}.items()
        )


def test_there_must_be_a_record(tmp_path: Path, icore: Icore) -> None:
    for target, says in (
        ("none.jsonl", "none.jsonl: cannot be read: No such file or directory\n"),
        ("none.db", "none.db: there is no such record\n"),
        ("run.txt", "run.txt: a record is a file NAME.jsonl or NAME.db, or postgresql://SERVER/DATABASE?record=NAME\n"),
        ("postgresql://u:secret@h/d", "postgresql://u:…@h/d: name one record there, as in …?record=NAME\n"),
    ):
        done = icore("verify", target)
        assert (done.returncode, done.stdout, done.stderr) == (2, "", says)


def test_a_new_key(tmp_path: Path, icore: Icore) -> None:
    pytest.importorskip("cryptography", reason="the extra `sign` is not installed")
    done = icore("keygen", "team.key")
    assert (done.returncode, done.stderr) == (0, "")
    public = (tmp_path / "team.key.pub").read_text(encoding="utf-8").strip()
    assert done.stdout == f"wrote team.key, to be kept secret, and team.key.pub; the public key is {public}\n"
    again = icore("keygen", "team.key")
    assert (again.returncode, again.stderr) == (2, "team.key: exists already and was left as it is\n")
