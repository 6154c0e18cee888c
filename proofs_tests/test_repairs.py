"""What reports advise, and what they say is the matter: on mistakes that a newcomer made."""

from __future__ import annotations

from pathlib import Path

from deploy_texts import DEPLOY, EVERY, PAST

from icore_kernel.check.run import check
from icore_kernel.load import load
from icore_kernel.verdict import Result, Verdict


def results(folder: Path, text: str) -> dict[str, Result]:
    path = folder / "deploy.icore"
    path.write_text(text, encoding="utf-8")
    return {result.name: result for result in check(load(path)).results}


def test_what_an_update_itself_issues_is_never_to_be_revoked_and_the_missing_premise_is_named(tmp_path: Path) -> None:
    """doom issues doomed(deploy), of which failed(tests) is a premise like failed(review)."""
    legality = results(tmp_path, EVERY)["legality"]
    assert legality.run is not None and legality.run.offending is not None and legality.run.offending.update == "doom(review)"
    assert legality.repair == (
        "doomed(deploy) rests on failed(tests) (absent): require that in the guard of doom; "
        "`failed(p) for p in Task where needs(p, w)` makes each of them a premise: "
        "where one of several will do, add `and active(failed(p))`"
    )


def test_the_advice_on_one_of_several_premises_is_right(tmp_path: Path) -> None:
    advised = EVERY.replace(
        "premises failed(p) for p in Task where needs(p, w)", "premises failed(p) for p in Task where needs(p, w) and active(failed(p))"
    )
    assert advised != EVERY
    assert results(tmp_path, advised)["legality"].verdict is Verdict.HOLDS


def test_where_no_premise_is_there_the_filter_leaves_nothing_observable(tmp_path: Path) -> None:
    """What the reference says of `for … where active(…)`: a doom that does not wait for a failure breaks A.4(7)."""
    text = EVERY.replace(
        "where needs(p, w)\n  claims status(w) is rejected", "where needs(p, w) and active(failed(p))\n  claims status(w) is rejected"
    )
    hasty = text.replace("p != deploy and valid(failed(p))", "p == review")
    assert hasty != text != EVERY
    assert "doom breaks A.4(7)" in results(tmp_path, hasty)["legality"].detail


def test_a_missing_premise_that_stands_alone_is_named_without_a_word_on_for(tmp_path: Path) -> None:
    hasty = """update hasty operation accept by monitor {
  when status(deploy) == ready
  set status(deploy) := accepted
  issue shipped(deploy)
}
"""
    legality = results(tmp_path, DEPLOY + hasty)["legality"]
    assert legality.repair == "shipped(deploy) rests on done(deploy) (absent): require that in the guard of hasty"


def test_evidence_that_is_active_and_of_the_past_is_told_as_that(tmp_path: Path) -> None:
    """asked(review) is active from the start; the push writes status(review) anew, and it speaks of the status before."""
    found = results(tmp_path, PAST)
    reasons = [reason for reason in found["legality"].reasons if reason.label == "A.4(2)"]
    assert [(reason.instance, reason.nearest) for reason in reasons] == [
        (
            "status(review)",
            "status(review) rests on asked(review): asked(review) is active, but was issued before status(review) was last written: "
            "issue it again where that is written",
        )
    ]
    assert found["legality"].repair == "let push issue asked(review) again: issued before, it is evidence of what was there before"


def test_a_run_that_waits_for_the_environment_alone_says_what_end_it_misses(tmp_path: Path) -> None:
    """A check failed and deploy is rejected; the verdicts are live, so that Rej does not hold, and push may not come."""
    settlement = results(tmp_path, DEPLOY)["settlement"]
    assert settlement.detail.startswith("a run may stop where only the environment could go on (push)")
    assert [reason.label for reason in settlement.reasons] == ["A.6 Rej(4)"]
    assert "not live(verdict(review)) and not live(verdict(tests))" in settlement.reasons[0].text
    assert (
        settlement.repair == "let an agent bring what is missing there, or declare `fair weak push` if that is sure to come, and brings it"
    )
