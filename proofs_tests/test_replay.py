"""`icore replay`: a record is what its package makes of it, entry by entry, and the first entry that is not is named."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from audit_desk import Scripted, desk, ran
from run_lab import Dicts, dicts, example, random_run, rehashed
from theory_lab import SPEC, theory_copy

from icore_kernel.audit import replay as module
from icore_kernel.audit.auditor import Auditor
from icore_kernel.audit.frame import Parameters
from icore_kernel.audit.judge import Violation
from icore_kernel.audit.loop import Loop
from icore_kernel.audit.replay import check, replay
from icore_kernel.cli import run as command
from icore_kernel.hosts.random_host import RandomHost
from icore_kernel.load import load
from icore_kernel.prove.commit import Ruling
from icore_kernel.record.checker import check as holds
from icore_kernel.record.entry import ZERO, Entry
from icore_kernel.record.memory import MemoryStore
from icore_kernel.record.seal import seal
from icore_kernel.record.store import open_store


def entries_of(given: Dicts) -> list[Entry]:
    """As a store hands them out. Replay does not look at the hashes."""
    return [Entry(e["seq"], ZERO, ZERO, e["kind"], e["body"]) for e in given]


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Dicts:
    """A run on the desk: a withheld proof is refused, the flag asks for a recovery, one is made; and so on to the end."""
    folder = tmp_path_factory.mktemp("desk")
    host = Scripted(
        {0: ("bo", "assign(bo, left)"), 1: ("ana", "assign(ana, right)"), 2: ("ana", "finish.withheld(ana, right)"),
         3: ("monitor", "sign(right)"), 4: ("ana", "finish(ana, left)"), 5: ("monitor", "sign(left)")},
        {0: ["reassign(ana, left)"], 2: ["finish(ana, right)"], 3: ["assign(bo, left)"]},
    )  # fmt: skip
    made = ran(desk(folder), host)
    found = dicts(made.store.entries())
    assert made.outcome.value == "accept", made.told
    assert {"open", "commit", "refusal", "diagnosis", "end"} <= {e["kind"] for e in found}
    assert check(entries_of(found)) == []
    return found


@pytest.fixture
def run(clean: Dicts) -> Dicts:
    return deepcopy(clean)


def first(run: Dicts, kind: str, **said: Any) -> dict[str, Any]:
    """The body of the first entry of a kind in which this is said."""
    return next(e["body"] for e in run if e["kind"] == kind and all(e["body"].get(k) == v for k, v in said.items()))


def problems(run: Dicts) -> str:
    found = check(entries_of(run))
    assert len(found) == 1, "the first that differs, and no more"
    return found[0]


Change = Callable[[Dicts], None]


def put(kind: str, path: Sequence[str], value: Any, **said: Any) -> Change:
    def change(run: Dicts) -> None:
        at = first(run, kind, **said)
        for key in path[:-1]:
            at = at[key]
        assert at[path[-1]] != value
        at[path[-1]] = value

    return change


def insert(number: int, entry: dict[str, Any]) -> Change:
    return lambda run: run.insert(number, {"seq": number, **entry})


CHANGES: dict[str, tuple[Change, str]] = {
    "another occurrence": (put("commit", ["update"], "assign(ana, left)", line=16), "assign(ana, left) is for ana to do, not for bo"),
    "no occurrence": (put("commit", ["update"], "assign(cy, left)", line=16), "is no occurrence of a declared update"),
    "another binding": (put("commit", ["binding", "m"], "ana", line=16), 'it has as binding m = "ana", where the package has "bo"'),
    "another operation": (put("commit", ["operation"], "complete", line=16), "it has as operation"),
    "another actor": (put("commit", ["actor"], "ana", line=16), "it has as actor"),
    "fewer clauses": (put("commit", ["clauses"], 1, line=16), "it has as clauses 1, where the package has"),
    "another change": (put("commit", ["Q", "changed", "assignee(left)"], ["none", "ana"], line=16), "has as Q changed.assignee(left)[1]"),
    "nothing issued": (put("commit", ["Pi", "issued"], [], line=16), "it has as Pi issued = []"),
    "other rules": (put("commit", ["rules"], ZERO, line=16), "it has as rules"),
    "another state after": (put("commit", ["after"], ZERO, line=16), "it has as after"),
    "another state before": (put("commit", ["before"], ZERO, line=16), "it has as before"),
    "a refusal for another reason": (put("refusal", ["violations"], []), "where the record says nothing"),
    "a refusal of something else": (put("refusal", ["proposal"], [{"update": "finish(ana, right)"}]), "it breaks nothing"),
    "a refusal in another state": (put("refusal", ["state"], ZERO), "it is about the state"),
    "another phase": (put("commit", ["phase"], "recovery", line=16), "it is in the phase"),
    "another line": (put("commit", ["line"], 34, line=16), "it is in the phase"),
    "an earlier round": (put("diagnosis", ["t"], -1), "it is of round -1"),
    "no round": (put("commit", ["t"], "0", line=16), 'it is of round "0"'),
    "a refusal of another update": (put("refusal", ["update"], "finish(ana, left)"), "it is about"),
    "feedback to somebody else": (put("feedback", ["agent"], "bo"), "it is told to"),
    "other sources of the theory": (put("open", ["theory", "sources"], []), "the sources of the theory have another digest"),
    "another trigger": (put("diagnosis", ["triggers"], ["quality"]), "it has the triggers"),
    "another score": (put("diagnosis", ["stability"], "1"), "it diagnoses stability"),
    "somebody else asked": (put("diagnosis", ["responsible"], "bo"), "it diagnoses responsible"),
    "less is matched": (put("diagnosis", ["matched"], {"left": "1"}), "it diagnoses matched"),
    "other patience": (put("diagnosis", ["h"], 0), "it diagnoses h"),
    "another outcome": (put("end", ["outcome"], "reject"), "it ends with reject, which the state does not show"),
    "stuck": (put("end", ["outcome"], "stuck"), "it ends with stuck"),
    "budget": (put("end", ["outcome"], "budget"), "it ends with budget"),
    "no outcome": (put("end", ["outcome"], "won"), "not as the format says: ValueError"),
    "another end": (put("end", ["state"], ZERO), "it is about the state"),
    "another beginning": (put("open", ["state", "status(left)"], "closed"), "it begins in status(left)"),
    "another digest": (put("open", ["digest"], ZERO), "it has the digest"),
    "other tables": (put("open", ["declared", "agents"], ["ana"]), "it declares agents"),
    "another package": (put("open", ["package", "name"], "Chair"), "the sources are those of another package"),
    "another package's digest": (put("open", ["package", "digest"], ZERO), "the sources of the package have another digest"),
    "another setting": (put("open", ["package", "settings"], {"n": "3"}), "has no parameter"),
    "another theory's digest": (put("open", ["theory", "digest"], ZERO), "the sources of the theory have another digest"),
    "an entry of no kind": (insert(2, {"kind": "verdict", "body": {}}), "no such kind of entry"),
    "a commit without its state": (lambda run: first(run, "commit").pop("after") and None, "KeyError: 'after'"),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_what_differs_from_the_package_is_named(name: str, run: Dicts) -> None:
    change, said = CHANGES[name]
    change(run)
    assert said in problems(run)


def test_sources_that_were_changed_have_another_digest(run: Dicts) -> None:
    source = run[0]["body"]["package"]["sources"][0]
    source["text"] = source["text"].replace("when     status(w) == ready and assignee(w) == none", "when status(w) == ready")
    assert "the sources of the package have another digest" in problems(run)
    source["text"] = "language 1\npackage"
    assert problems(run).startswith("entry 0 (open): ")


def test_no_entries_and_no_opening_are_problems(run: Dicts) -> None:
    assert check([]) == ["entry 0 (open): there are no entries"]
    assert check(entries_of(run[1:])) == ["entry 1 (commit): the first entry of a record is its opening"]


def test_a_commit_left_out_or_put_in_is_found(run: Dicts) -> None:
    commits = [i for i, e in enumerate(run) if e["kind"] == "commit"]
    for number in commits:
        assert check(entries_of(rehashed(deepcopy(run[:number] + run[number + 1 :]))))
    for number in commits[:-1]:
        assert check(entries_of(rehashed(deepcopy(run[: number + 1] + run[number:]))))


def test_a_refused_step_that_was_committed_all_the_same_is_found(run: Dicts) -> None:
    """The withheld proof, written as the commit it would have been, with all digests right."""
    at = next(i for i, e in enumerate(run) if e["kind"] == "refusal")
    like = deepcopy(next(e["body"] for e in run if e["kind"] == "commit" and e["body"]["schema"] == "finish"))
    like.update(update="finish.withheld(ana, right)", agent="ana", actor="ana", t=run[at]["body"]["t"], line=16, phase="ordinary")
    like["Pi"] = {"changed": {}, "issued": [], "revoked": [], "superseded": []}
    like["other"] = {}
    forged = rehashed([*run[:at], {"kind": "commit", "seq": at, "body": like}])
    assert "definition 6(iii)" in problems(forged)


def test_a_recovery_answers_its_diagnosis(run: Dicts, monkeypatch: pytest.MonkeyPatch) -> None:
    at = next(i for i, e in enumerate(run) if e["kind"] == "commit" and e["body"]["phase"] == "recovery")
    alone = deepcopy(run)
    alone[at]["body"]["t"] += 1
    assert problems(alone) == f"entry {at + 1} (commit): the recovery before this entry answers no diagnosis"

    asked: list[tuple[str, ...]] = []

    def violations(auditor: Any, diagnostician: Any, diagnosis: Any, before: Any, audit: Any) -> tuple[Violation, ...]:
        asked.append((*sorted(diagnosis.matched), *(step.update for step in audit.steps)))
        return (Violation("A.9 matched quality", "", "it falls"),)

    monkeypatch.setattr(module, "recovery_violations", violations)
    assert problems(run) == f"entry {at + 1} (commit): the recovery before this entry: A.9 matched quality: it falls"
    assert asked == [("left", "right", "reassign(ana, left)")]


def test_up_to_an_entry(run: Dicts) -> None:
    whole, part = replay(entries_of(run)), replay(entries_of(run), to=1)
    assert (part.problem, part.entries, part.kinds) == (None, 2, {"open": 1, "commit": 1})
    assert (part.state["assignee(left)"], part.state["status(left)"]) == ("bo", "ready")
    assert part.digest == run[1]["body"]["after"]
    assert (whole.entries, whole.digest, whole.theory) == (len(run), run[-1]["body"]["state"], "installed")
    assert whole.state["status(left)"] == whole.state["status(right)"] == "accepted"


def test_the_solver_is_asked_where_it_is_wanted(run: Dicts, monkeypatch: pytest.MonkeyPatch) -> None:
    assert replay(entries_of(run), solver=True).problem is None
    from icore_kernel.prove.commit import CommitSolver

    monkeypatch.setattr(CommitSolver, "decide", lambda self, before, number, after: Ruling(False))
    found = replay(entries_of(run), solver=True).problem
    assert found is not None
    assert found[:2] == (1, "commit")
    assert "assign(bo, left): by evaluation legal, by z3" in found[2]
    assert replay(entries_of(run)).problem is None


def test_a_record_of_another_theory_is_replayed_by_its_own(tmp_path: Path) -> None:
    folder = theory_copy(SPEC, tmp_path / "spec")
    file = folder / "3-feasibility.icore"
    file.write_text(file.read_text(encoding="utf-8") + "\n# Read again.\n", encoding="utf-8")
    loaded = load(desk(tmp_path).path, theory=folder)
    with MemoryStore() as store:
        auditor = Auditor(loaded, store)
        Loop(auditor, RandomHost(1, Fraction(1, 4)), Parameters.of(auditor.tables.settings)).run()
        entries = list(store.entries())
    found = replay(entries)
    assert (found.problem, found.theory) == (None, "record")
    forged = dicts(entries)
    forged[0]["body"]["theory"]["sources"][0]["text"] += "# and again\n"
    assert "the sources of the theory have another digest" in problems(forged)


def test_a_session_is_replayed(tmp_path: Path) -> None:
    from icore_kernel.api import Refused, audit_session

    desk(tmp_path)
    with audit_session(tmp_path / "desk.icore", str(tmp_path / "run.jsonl")) as run:
        run.propose("assign(bo, left)")
        with pytest.raises(Refused):
            run.propose("finish.withheld(bo, left)")
        run.propose("finish(bo, left)")
    with open_store(tmp_path / "run.jsonl") as store:
        entries = list(store.entries())
    assert [e.kind for e in entries] == ["open", "commit", "refusal", "commit", "end", "seal"]
    assert check(entries) == []


NARRATED = {
    ("open", "tool"), ("open", "solver"), ("open", "request"), ("open", "format"), ("open", "algorithm"),
    ("commit", "outside"), ("commit", "solver"), ("refusal", "outside"), ("refusal", "solver"), ("refusal", "violations"),
    ("refusal", "line"),
    ("feedback", "outside"), ("feedback", "solver"), ("feedback", "violations"), ("feedback", "line"), ("feedback", "proposal"),
    ("diagnosis", "line"), ("end", "line"), ("end", "t"), ("refusal", "t"), ("feedback", "t"), ("commit", "t"), ("diagnosis", "t"),
}  # fmt: skip
"""What replay cannot say again, or reads only in part: what hosts and solvers said, wording, rounds that stay in order."""
VALUES: tuple[Any, ...] = (None, [], {}, "x", 0, -1, True, ZERO, ["x"], {"x": 1}, 10**6, "9" * 50, "ready")


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield at
    if isinstance(value, (dict, list)):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from places(value[key], (*at, key))


@pytest.mark.parametrize("changes", [20, 400])
def test_a_random_change_of_what_was_done_is_found_and_nothing_fails_over_one(
    changes: int, run: Dicts, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded, whole = module.load_recorded(run[0]["body"]), module.load_recorded
    packages = json.dumps([run[0]["body"]["package"], run[0]["body"]["theory"]])
    known = lambda body: loaded if json.dumps([body["package"], body["theory"]]) == packages else whole(body)  # noqa: E731
    monkeypatch.setattr(module, "load_recorded", known)
    chance, found = random.Random(5), 0
    every = [[at for at in places(e["body"]) if at] for e in run]
    for _ in range(changes):
        number = chance.randrange(len(run))
        at, value = chance.choice(every[number]), chance.choice(VALUES)
        forged = [*run[:number], deepcopy(run[number]), *run[number + 1 :]]
        inside = forged[number]["body"]
        for key in at[:-1]:
            inside = inside[key]
        if json.dumps(inside[at[-1]]) == json.dumps(value):
            continue
        inside[at[-1]] = value
        problems = [*holds(forged), *check(entries_of(forged))]
        found += bool(problems)
        narrated = (forged[number]["kind"], at[0]) in NARRATED or at[-1] == "path"  # what a source is called is in no digest
        assert problems or narrated, (number, at, value)
    assert found > changes // 2


# ---- the command -------------------------------------------------------------------------------------------------------------


def kept(folder: Path, entries: Sequence[Entry] | Sequence[dict[str, Any]], name: str = "run.jsonl") -> str:
    """A file of these entries, chained and sealed anew."""
    path = folder / name
    with open_store(path) as store:
        for e in entries:
            kind, body = (e.kind, dict(e.body)) if isinstance(e, Entry) else (e["kind"], e["body"])
            if kind != "seal":
                store.append(kind, body)
        seal(store, None)
    return str(path)


def test_the_command(run: Dicts, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = kept(tmp_path, run)
    assert command(["replay", path, "--to", "1"]) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"Desk 1.0 · {path}\n\n  1 commit, by evaluation\n\n  after entry 1, digest ")
    assert re.search(r"^    assignee\(left\) += bo$", said, re.MULTILINE)
    assert "note(left)" not in said, "what is absent is left out"
    assert said.endswith("\n2 entries replayed: each is what the package makes of those before\n")
    assert command(["replay", path, "--solver", "--format", "json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["schema"], record["problem"], record["entries"]) == ("icore.record_replay/1", None, len(run) + 1)
    assert record["decided_by"].startswith("z3 ")

    first(run, "refusal")["violations"] = []
    wrong = kept(tmp_path, run, "wrong.db")
    assert command(["replay", wrong]) == 1
    assert "(refusal) differs: it breaks " in capsys.readouterr().out
    assert command(["replay", wrong, "--format", "json"]) == 1
    assert json.loads(capsys.readouterr().out)["problem"]["kind"] == "refusal"
    assert command(["replay", str(tmp_path / "none.jsonl")]) == 2
    assert command(["verify", path]) == 0
    assert "  replay        holds\n" in capsys.readouterr().out
    assert command(["verify", wrong]) == 1
    assert "  replay        violated  1 problem\n" in capsys.readouterr().out


def test_a_record_of_an_example_is_verified(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, entries = random_run(example("code_change"), 3)
    assert command(["verify", kept(tmp_path, entries)]) == 0
    assert capsys.readouterr().out.endswith("intact and sealed, not signed\n")
    assert module.check(entries) == []
