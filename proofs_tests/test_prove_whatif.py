"""What rests on a certificate: its revocation by hand, and minimal sets that acceptance rests on, by brute force."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import pytest
from conftest import CHECKOUT, Icore

from icore_kernel import api
from icore_kernel.check.plan import conjunction
from icore_kernel.check.whatif import what_if
from icore_kernel.explore.model import Rules, Watchlist
from icore_kernel.explore.search import explore
from icore_kernel.load import Loaded, UsageError
from icore_kernel.meaning import scalar
from icore_kernel.prove.steps import Steps
from icore_kernel.prove.whatif import certificate_named, certificates, code, rests_on, without
from icore_kernel.system import Field

EXAMPLES = CHECKOUT / "examples"

TWO_WITNESSES = """language 1
package TwoWitnesses "1"
agents { ana  bo }
input request
artifact paper(m: Agent)
obligation type Job { }
obligations { job: Job starts ready, required }
certificate asked(w: Job) { issuer environment premises request claims node(w), status(w) is ready starts active }
certificate seen(m: Agent, w: Job) { issuer environment premises paper(m) claims status(w) is accepted, coverage(w) }
update finish(w: Job) operation accept by monitor {
  view global
  when status(w) == ready
  set status(w) := accepted
  for m in Agent { emit paper(m) issue seen(m, w) }
  for m in Agent { consume paper(m) }
}
reachable done: accept
"""
"""Two certificates, each of which alone says that the job is accepted."""


def two_witnesses(tmp_path: Path) -> Loaded:
    file = tmp_path / "two.icore"
    file.write_text(TWO_WITNESSES, encoding="utf-8")
    return api.load(file)


def test_of_two_witnesses_one_may_go(tmp_path: Path) -> None:
    loaded = two_witnesses(tmp_path)
    said = what_if(loaded, "seen(ana, job)")
    assert (said.where, said.stands) == ("the first state with Acc", "Acc")
    assert said.loss.unjustified == () and said.loss.falls == () and said.loss.everywhere is False
    assert said.sets == (("seen(ana, job)",), ("seen(bo, job)",))


def test_revoking_the_tests_fells_the_release_and_what_rests_on_it() -> None:
    said = what_if(api.load(EXAMPLES / "release_pipeline.icore"), "done(unit)")
    assert said.run.steps[-1].update == "sign_off(release)"
    assert set(said.loss.unjustified) == {
        f"{what}({w})" for what in ("status", "signature") for w in ("unit", "approve", "release")
    } | {f"coverage({w}, release)" for w in ("unit", "approve", "release")}  # fmt: skip
    assert said.loss.falls[0] == "Acc" and "discharge release" in said.loss.falls and said.loss.everywhere is True
    assert {r.label for r in said.reasons} >= {"A.4(2)", "A.4(7)"}
    assert all(r.span is not None and r.span.file.endswith("3-feasibility.icore") for r in said.reasons if r.label.startswith("A.4"))


def test_a_certificate_may_count_only_before_the_end() -> None:
    """`at` a formula: the first state that satisfies it. Work that waits rests on the request alone."""
    file = EXAMPLES / "release_pipeline.icore"
    said = what_if(api.load(file, goal="status(compile) == closed"), "done(compile)")
    assert [s.update for s in said.run.steps] == ["assign(ana, compile)", "finish(ana, compile)"]
    assert set(said.loss.unjustified) == {"status(compile)", "signature(compile)"}
    assert said.loss.falls == () and said.stands == "" and said.sets == ()


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    loaded = two_witnesses(tmp_path)
    with pytest.raises(UsageError, match=r"no certificate 'done\(job\)'; there are: seen\(ana, job\), seen\(bo, job\)"):
        what_if(loaded, "done(job)")
    with pytest.raises(UsageError, match=r"no certificate 'seen\(bo, jb\)'; did you mean seen\(bo, job\)\?$"):
        what_if(loaded, "seen(bo, jb)")
    with pytest.raises(UsageError, match=r"asked\(job\) is the same in every state"):
        what_if(loaded, "asked(job)")
    file = tmp_path / "two.icore"
    with pytest.raises(UsageError, match="active in no state that was asked for"):
        what_if(api.load(file, goal="status(job) == ready"), "seen(bo, job)")


@pytest.mark.parametrize("name", ["code_change", "two witnesses"])
def test_the_minimal_sets_are_those_of_brute_force(name: str, tmp_path: Path) -> None:
    """In the first state with Acc: every set of active certificates, with every choice of the others revoked."""
    loaded = two_witnesses(tmp_path) if name == "two witnesses" else api.load(EXAMPLES / f"{name}.icore")
    system, bank = loaded.system, loaded.bank
    accept = conjunction(bank, system.accept, system)
    found = explore(system, Watchlist(seen=(("accept", accept),)), Rules(stop_on=frozenset({"accept"})))
    first = found.seen["accept"].first
    assert first is not None
    state = found.store.state(first)
    active = [f for f in certificates(system) if state[f.index] == code(f, "active")]
    holds = {}
    for size in range(len(active) + 1):
        for kept in combinations(active, size):
            after = state
            for field in active:
                if field not in kept:
                    after = without(after, field)
            holds[frozenset(kept)] = bool(scalar.evaluate(accept, after))
    suffices: dict[frozenset[Field], bool] = {}
    for kept in sorted(holds, key=len, reverse=True):
        suffices[kept] = holds[kept] and all(suffices[kept | {f}] for f in active if f not in kept)
    minimal = {frozenset(f.name for f in kept) for kept, yes in suffices.items() if yes and not any(suffices[kept - {f}] for f in kept)}
    assert minimal and {frozenset(one) for one in rests_on(Steps(system, bank), state, accept)} == minimal


def test_only_the_certificate_changes() -> None:
    loaded = api.load(EXAMPLES / "code_change.icore")
    state = loaded.system.initial
    field = certificate_named(loaded.system, "passed( tests )")
    after = without(state, field)
    assert [i for i, (a, b) in enumerate(zip(state, after, strict=True)) if a != b] == [field.index]
    assert field.domain.show(after[field.index]) == "revoked"


def test_the_command_line(icore: Icore) -> None:
    file = str(EXAMPLES / "code_change.icore")
    said = icore("whatif", file, "--revoke", "passed(tests)")
    assert said.returncode == 1 and "Acc falls" in said.stdout and "Acc rests on" in said.stdout
    record = json.loads(icore("whatif", file, "--revoke", "passed(tests)", "--format", "json").stdout)
    assert record["schema"] == "icore.whatif/1" and record["stands"] == "Acc" and "Acc" in record["falls"]
    assert all("passed(tests)" in one for one in record["rests_on"])
    assert icore("whatif", file, "--revoke", "nobody(tests)").returncode == 2
