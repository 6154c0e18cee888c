"""The independent checker of definition 7: it passes every clean run, catches faults of elaboration, and refuses forged bodies."""

from __future__ import annotations

import ast
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from run_lab import Desk, Dicts, dicts, example, random_run, rehashed

from icore_kernel.api import UsageError
from icore_kernel.ground import effects, fixpoint, footprint, primitives, words, world
from icore_kernel.ground.values import Element
from icore_kernel.record import checker
from icore_kernel.record.checker import check

SHOP = """language 1
package Shop "1.0"
agents { ana  bo }
input    request
input    weather { dry: bool = false }
artifact note(w: Job)
obligation type Job {}
obligations {
  left:  Job starts ready, required
  right: Job starts ready, required
}
certificate asked(w: Job)   { issuer environment  premises request  claims node(w), status(w) is ready  starts active }
certificate able(m: Agent, w: Job) { issuer environment  premises request  claims assignment(w) is m }
certificate done(w: Job)    { issuer assignee(w)  premises note(w)  claims status(w) is closed }
certificate ok(w: Job)      { issuer monitor  premises done(w)  claims status(w) is accepted, coverage(w) }
certificate sent(w: Job)    { issuer assignee(w)  premises note(w)  claims status(w) is submitted }
certificate told(w: Job)    { issuer monitor  premises sent(w)  claims status(w) is submitted }
certificate word(w: Job) {
  issuer monitor
  premises note(w), word(v) for v in Job where v != w and status(v) == closed
  claims status(w) is closed
}
certificate like(w: Job) {
  issuer monitor
  premises note(w), status(v) == closed for v in Job where v != w
  claims status(w) is closed
}
certificate seen(w: Job)    { issuer monitor  premises captured weather.dry, note(w)  claims status(w) is closed }

update assign(m: Agent, w: Job) operation assign by m {
  when unresolved(w) and assignee(w) == none
  set assignee(w) := m
  issue able(m, w)
}
update finish(m: Agent, w: Job) operation complete by m {
  when status(w) == ready and assignee(w) == m
  emit note(w)
  set status(w) := closed
  issue done(w)
}
update sign(w: Job) operation accept by monitor { when status(w) == closed and valid(done(w)) set status(w) := accepted issue ok(w) }
"""

# What is wrong with each of these updates, the kernel sees: it is refused. A fault of elaboration lets it through.
HOLLOW = """update hollow(m: Agent, w: Job) operation submit by m {
  when status(w) == ready and assignee(w) == m
  set status(w) := submitted
  issue sent(w)
}
"""
SHORTCUT = """update shortcut(w: Job) operation submit by monitor { when status(w) == ready set status(w) := submitted issue told(w) }
"""
REOPEN = """update reopen(w: Job) operation reopen by monitor { when status(w) == closed set status(w) := ready }
"""
SEIZE = """update seize(m: Agent, w: Job) operation assign by m { when status(w) == ready set assignee(w) := m }
"""
PARK = """update park(m: Agent, w: Job) operation submit by m {
  when status(w) == ready and assignee(w) == m
  emit note(w)
  set status(w) := submitted
  issue done(w)
}
"""
USURP = """update usurp(m: Agent, w: Job) operation complete by m {
  when status(w) == ready and assignee(w) not in {none, m}
  emit note(w)
  set status(w) := closed
  issue done(w)
}
"""
DROP = """update drop(w: Job) operation submit by monitor { when status(w) == ready set status(w) := submitted }
update return(w: Job) operation reopen by monitor { when status(w) == submitted set status(w) := blocked }
"""
VOUCH = """update vouch operation certify by monitor {
  when status(left) == ready and status(right) == ready
  emit note(left)
  emit note(right)
  set status(left) := closed
  set status(right) := closed
  issue word(left)
  issue word(right)
}
"""
ALIKE = VOUCH.replace("vouch", "alike").replace("word(", "like(")
UNSEEN = """update unseen(w: Job) operation certify by monitor {
  when status(w) == ready
  emit note(w)
  set status(w) := closed
  issue seen(w)
}
"""

Plant = Callable[[pytest.MonkeyPatch], None]


def premises_are_ignored(patch: pytest.MonkeyPatch) -> None:
    """`valid` and `rests` do not look at what a certificate rests on."""
    whole = primitives.Primitives.premise

    def premise(self: Any, certificate: Any, target: Any) -> Any:
        inner = isinstance(target, Element) and target.sort in {"Certificate", "Artifact"}
        return False if inner else whole(self, certificate, target)

    patch.setattr(primitives.Primitives, "premise", premise)


def one_premise_is_dropped(patch: pytest.MonkeyPatch) -> None:
    """That of `told(left)` on `sent(left)`, and no other."""
    whole = primitives.Primitives.premise

    def premise(self: Any, certificate: Any, target: Any) -> Any:
        return False if (str(certificate), str(target)) == ("told(left)", "sent(left)") else whole(self, certificate, target)

    patch.setattr(primitives.Primitives, "premise", premise)


def epochs_never_end(patch: pytest.MonkeyPatch) -> None:
    """`under` is set by an issue, and never cleared."""
    whole = effects.Effects._evidence

    def evidence(self: Any, draft: Any) -> None:
        draft.established, kept = {}, draft.established
        whole(self, draft)
        draft.established = {**kept, **draft.established}

    patch.setattr(effects.Effects, "_evidence", evidence)


def all_is(definition: str) -> Plant:
    """A `least` definition is true of everything: in the clauses, and in the tables of the loop."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        whole = primitives.Primitives.least

        def least(self: Any, function: Any, args: Any) -> Any:
            return True if function.decl.name == definition else whole(self, function, args)

        patch.setattr(primitives.Primitives, "least", least)

    return plant


def claims_are_of_any_value(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(primitives.Primitives, "_claim", lambda self, claim: self.condition(claim.where, claim.certificate, claim.env))


def anybody_issues(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(footprint, "may_issue", lambda p, draft, certificate: p.alg.bank.true)


def statuses_are_not_asserted(patch: pytest.MonkeyPatch) -> None:
    whole = words.holds
    patch.setattr(words, "holds", lambda p, a: False if str(a).startswith("status(") else whole(p, a))


def fixpoints_are_greatest(patch: pytest.MonkeyPatch) -> None:
    """What is in a circle holds itself up."""

    def component(self: Any, keys: Any, reads: Any) -> None:
        false, self.bank = self.bank, _Upside(self.bank)
        try:
            whole(self, keys, reads)
        finally:
            self.bank = false

    whole = fixpoint.Fixpoints._component
    patch.setattr(fixpoint.Fixpoints, "_component", component)


class _Upside:
    """A bank whose `false` is true: what `Fixpoints` begins with."""

    def __init__(self, bank: Any) -> None:
        self._bank = bank
        self.false = bank.true

    def __getattr__(self, name: str) -> Any:
        return getattr(self._bank, name)


def formulas_carry_no_justification(patch: pytest.MonkeyPatch) -> None:
    whole = primitives.Primitives.premise

    def premise(self: Any, certificate: Any, target: Any) -> Any:
        return False if isinstance(target, Element) and target.sort == "Assertion" else whole(self, certificate, target)

    patch.setattr(primitives.Primitives, "premise", premise)


def captured_premises_always_held(patch: pytest.MonkeyPatch) -> None:
    whole = world._World._flag
    patch.setattr(world._World, "_flag", lambda self, key, name, initial: whole(self, key, name, initial or key[0] == "captured"))
    patch.setattr(effects.Effects, "_premises_first", lambda self, draft: [])


FAULTS: dict[str, tuple[Plant, str, tuple[str, ...], str, str]] = {
    "artifacts are no premises": (premises_are_ignored, HOLLOW, ("assign(ana, left)",), "hollow(ana, left)", "status(left) is asserted"),
    "certificates are no premises": (premises_are_ignored, SHORTCUT, (), "shortcut(left)", "status(left) is asserted"),
    "one premise is dropped": (one_premise_is_dropped, SHORTCUT, (), "shortcut(left)", "status(left) is asserted"),
    "epochs never end": (epochs_never_end, REOPEN, ("assign(ana, left)", "finish(ana, left)"), "reopen(left)", "status(left) is asserted"),
    "all is justified": (all_is("justified"), SEIZE, (), "seize(bo, right)", "assignment(right) is asserted"),
    "claims are of any value": (
        claims_are_of_any_value, PARK, ("assign(ana, left)",), "park(ana, left)", "status(left) is asserted"
    ),
    "anybody issues": (anybody_issues, USURP, ("assign(ana, left)",), "usurp(bo, left)", "by somebody else than its issuer"),
    "statuses are not asserted": (statuses_are_not_asserted, DROP, ("assign(ana, left)",), "drop(left)", "status(left) is asserted"),
    "fixpoints are greatest": (fixpoints_are_greatest, VOUCH, (), "vouch", "status(left) is asserted"),
    "formulas carry no justification": (formulas_carry_no_justification, ALIKE, (), "alike", "status(right) is asserted"),
    "captured premises always held": (captured_premises_always_held, UNSEEN, (), "unseen(left)", "status(left) is asserted"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_planted_in_the_elaborator_is_caught(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant, update, before, wrong, said = FAULTS[name]
    honest = Desk(tmp_path, SHOP + update)
    assert not honest.propose(*before)
    assert honest.propose(wrong), "without the fault it is refused"
    assert check(honest.entries) == []

    plant(monkeypatch)
    faulty = Desk(tmp_path, SHOP + update)
    assert faulty.propose(*before, wrong) == [], "the kernel sees nothing"
    problems = check(faulty.entries)
    last = len(before) + 1
    assert problems, "the checker sees it"
    assert all(problem.startswith(f"entry {last} (commit): ") for problem in problems)
    assert any(said in problem for problem in problems)


def test_initial_evidence_must_reach_an_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = SHOP.replace("issuer environment  premises request  claims node(w)", "issuer environment  claims node(w)")
    with pytest.raises(UsageError, match=r"its initial state is not feasible: A\.4\(1\)"):
        Desk(tmp_path, text)
    all_is("anchored")(monkeypatch)
    faulty = Desk(tmp_path, text)
    assert faulty.propose("assign(ana, left)") == []
    assert {p for p in check(faulty.entries) if p.startswith("entry 0")} == {
        f"entry 0 (open): {a} is asserted, and no valid evidence supports it"
        for a in ("node(left)", "status(left)", "node(right)", "status(right)")
    }


def test_captured_evidence_outlives_what_it_was_about(tmp_path: Path) -> None:
    """Reviewed while it was dry: the review stands when it rains, and a new one in the rain does not."""
    rain = """update sun by environment { when not weather.dry set weather.dry := true }
update rain by environment { when weather.dry set weather.dry := false }
"""
    desk = Desk(tmp_path, SHOP + UNSEEN + rain)
    assert desk.propose("sun", "unseen(left)", "rain") == []
    assert "A.4(2)" in desk.propose("unseen(right)")
    assert check(desk.entries) == []


@pytest.mark.parametrize("name", ["dependency_ladder_broken", "release_pipeline"])
def test_clean_runs_pass(name: str) -> None:
    """Those of all examples, over many seeds, are checked in theorems/test_proposition_2.py."""
    _, entries = random_run(example(name), 2)
    assert {"open", "commit", "refusal", "diagnosis", "end", "seal"} <= {entry.kind for entry in entries}
    assert check(entries) == []
    assert check(dicts(entries)) == []


def test_it_is_small_and_stands_alone() -> None:
    source = Path(checker.__file__).read_text(encoding="utf-8")
    assert len(source.splitlines()) <= 200
    tree = ast.walk(ast.parse(source))
    imported = {n.module for n in tree if isinstance(n, ast.ImportFrom)} | {
        alias.name for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Import) for alias in n.names
    }
    assert imported == {"__future__", "collections.abc", "hashlib", "json", "typing"}


# ---- forged bodies ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Dicts:
    """Entries 1 to 7: two jobs are assigned, finished, one is signed, a reopening is refused, the other is signed; and the end."""
    desk = Desk(tmp_path_factory.mktemp("shop"), SHOP + REOPEN)
    first = ("assign(ana, left)", "assign(bo, right)", "finish(ana, left)", "sign(left)", "finish(bo, right)")
    assert desk.propose(*first) == []
    assert desk.propose("reopen(right)")
    assert desk.propose("sign(right)") == []
    desk.end("accept")
    entries = dicts(desk.entries)
    assert check(entries) == []
    assert [e["kind"] for e in entries] == ["open", *["commit"] * 5, "refusal", "commit", "end"]
    return entries


@pytest.fixture
def run(clean: Dicts) -> Dicts:
    return deepcopy(clean)


def body(number: int, *path: str) -> Callable[[Dicts, Any], None]:
    def put(entries: Dicts, value: Any) -> None:
        at = entries[number]["body"]
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] = value

    return put


ZERO = "0" * 64
CHANGES: dict[str, tuple[Callable[[Dicts, Any], None], Any, str]] = {
    "another state before": (body(2, "before"), ZERO, "the state before is another"),
    "another state after": (body(2, "after"), ZERO, "the digest is not that of the state after"),
    "a value before": (body(3, "Q", "changed", "status(left)"), ["blocked", "closed"], "a value before is another"),
    "a value after": (body(3, "Q", "changed", "status(left)"), ["ready", "accepted"], "the digest is not"),
    "no such value": (body(3, "Q", "changed", "status(left)"), ["ready", "finished"], "status(left) cannot be 'finished'"),
    "a truth for a word": (body(3, "Q", "changed", "status(left)"), ["ready", True], "status(left) cannot be True"),
    "no such field": (body(3, "Q", "changed", "status(middle)"), ["ready", "closed"], "KeyError: 'status(middle)'"),
    "in another part": (body(3, "Pi", "changed", "status(left)"), ["ready", "closed"], "a change stands in the wrong part"),
    "not established": (body(3, "Q", "established"), [], "an assertion changes that is not established anew"),
    "not issued": (body(3, "Pi", "issued"), [], "evidence becomes active that was not issued"),
    "no such certificate": (body(3, "Pi", "issued"), ["done(middle)"], "KeyError"),
    "issued by another": (body(3, "actor"), "nobody", "by somebody else than its issuer"),
    "done by another": (body(3, "agent"), "bo", "it is for another to do"),
    "emitted otherwise": (body(3, "G", "emitted"), [{"artifact": "note(left)", "fields": {"note(left)": "spent"}}], "what is emitted"),
    "spent": (body(3, "G", "spent"), ["note(left)"], "something else is lost"),
    "revoked": (body(3, "Pi", "revoked"), ["done(left)"], "something else is lost"),
    "superseded": (body(3, "Pi", "superseded"), ["done(left)"], "something else is lost"),
    "observed": (body(3, "G", "observed"), {"weather.dry": True}, "what is observed is something else"),
    "by other rules": (body(3, "rules"), ZERO, "not found legal by the rules"),
    "the solver said no": (body(3, "solver", "answer"), "illegal", "not found legal"),
    "a refusal that changed something": (body(6, "state"), ZERO, "another state than the present one"),
    "an end elsewhere": (body(8, "state"), ZERO, "another state than the present one"),
    "an end without its report": (body(8, "outcome"), "stuck", "it ends as no standing report says"),
    "another opening": (body(0, "state", "status(left)"), "closed", "the digest is not that of the state"),
    "an unknown operator": (body(0, "declared", "formulas"), [["xor", []]], "KeyError: 'xor'"),
    "no formulas": (body(0, "declared", "formulas"), [], "IndexError"),
    "nothing declared": (body(0, "declared"), None, "TypeError"),
    "a number without end": (
        body(0, "declared", "formulas"), [["const", 3], *([["mul", [i, i]] for i in range(40)])], "has a value of"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_body_is_refused(name: str, run: Dicts) -> None:
    put, value, said = CHANGES[name]
    put(run, value)
    assert any(said in problem for problem in check(run))


@pytest.mark.parametrize("key", ["G", "Q", "Pi", "other", "before", "after", "rules", "solver", "agent", "actor", "phase"])
def test_a_commit_without_one_of_its_parts_is_refused(key: str, run: Dicts) -> None:
    del run[3]["body"][key]
    assert any(f"not as the format says: KeyError: '{key}'" in problem for problem in check(run))


def test_dropped_doubled_and_swapped_commits_are_refused(run: Dicts) -> None:
    for dropped in range(1, 6):
        assert check([e for e in run if e["seq"] != dropped])
        assert check(run[: dropped + 1] + run[dropped:])
    for first in range(1, 5):
        assert check([*run[:first], run[first + 1], run[first], *run[first + 2 :]])


def test_entries_out_of_place_are_refused(run: Dicts) -> None:
    assert check(run[1:]) == ["entry 1 (commit): not as the format says: ValueError: the first entry of a record is its opening"]
    assert "no such kind of entry" in check([run[0], run[0]])[0]
    assert "after the end" in check([*run, run[7]])[0]
    assert "no such kind of entry" in check([*run[:8], {**run[8], "kind": "verdict"}])[0]
    assert check([*run, {"kind": "seal", "seq": 9, "body": {}}]) == []
    assert check([]) == []


def test_a_forgery_whose_digests_are_right_is_caught_by_definition_7(run: Dicts) -> None:
    """Work accepted on nothing: every digest is computed anew, the change is named as established, and the chain would hold."""
    assert check(rehashed(run)) == []
    forged = rehashed([*run[:3], *run[4:]])  # left is never finished
    assert any("status(left) is asserted, and no valid evidence supports it" in problem for problem in check(forged))


def test_a_forgery_that_issues_what_it_needs_is_caught_by_the_issuer(run: Dicts) -> None:
    run[3]["body"]["actor"] = run[3]["body"]["agent"] = "monitor"
    assert check(run) == [
        "entry 3 (commit): evidence is issued by somebody else than its issuer",
    ]


def test_evidence_of_an_epoch_that_is_over_supports_nothing(run: Dicts) -> None:
    """`asked(left)` is valid to the end and claims that left is ready: not after left was closed and made ready again."""
    again = {
        "kind": "commit", "seq": 4,
        "body": {**run[3]["body"], "update": "reopen(left)", "actor": "monitor", "agent": "monitor", "operation": "reopen",
                 "G": {"changed": {}, "emitted": [], "observed": {}, "spent": []},
                 "Q": {"changed": {"status(left)": ["closed", "ready"]}, "established": ["status(left)", "coverage(left, left)"]},
                 "Pi": {"changed": {}, "issued": [], "revoked": [], "superseded": []}, "other": {}},
    }  # fmt: skip
    forged = rehashed([*run[:4], again])
    assert check(forged) == ["entry 4 (commit): status(left) is asserted, and no valid evidence supports it"]


def test_a_matched_set_has_the_declared_weights(run: Dicts) -> None:
    weighed = {"kind": "diagnosis", "seq": 3, "body": {"t": 2, "matched": {"left": "1"}}}
    assert check([*run[:3], weighed, *run[3:]]) == []
    weighed["body"] = {"t": 2, "matched": {"left": "1/2"}}
    assert check([*run[:3], weighed, *run[3:]]) == ["entry 3 (diagnosis): other weights than the work's"]
