"""An update that may not commit for want of evidence: which evidence, also where nothing could ever issue or claim it."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import CHECKOUT

from icore_kernel import api
from icore_kernel.verdict import Result

STARTER = (CHECKOUT / "icore_kernel" / "starter.icore").read_text(encoding="utf-8")


def checked(folder: Path, *changes: tuple[str, str]) -> dict[str, Result]:
    text = STARTER
    for old, new in changes:
        assert text.count(old) == 1
        text = text.replace(old, new)
    path = folder / "changed.icore"
    path.write_text(text, encoding="utf-8")
    return {result.name: result for result in api.check(api.load(path)).results}


def lacking(result: Result) -> dict[str, str]:
    """What each failing clause (with its instance) lacks, or the sub-formula that fails."""
    return {f"{r.label} {r.instance}".rstrip(): r.nearest or r.text for r in result.reasons}


NOT_ISSUED = (
    "assignment(page) rests on able(writer, page) and active(able(writer, page)), which no update that can happen issues"
)  # fmt: skip


@pytest.fixture(scope="module")
def without_issue(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Result]:
    return checked(tmp_path_factory.mktemp("issue"), ("  issue able(m, w)\n", ""))


def test_evidence_that_nothing_issues_is_named(without_issue: dict[str, Result]) -> None:
    """The clauses have folded to `assignee(page) == none`: they seem to forbid the assignment, which was meant."""
    legality = without_issue["legality"]
    assert legality.run is not None and legality.run.offending is not None
    assert legality.run.offending.update == "assign(writer, page)"
    assert lacking(legality) == dict.fromkeys(
        ("definition 6(iii) evidence", "A.4(2) assignment(page)", "A.4(6) page"), NOT_ISSUED
    )  # fmt: skip
    assert all(reason.text != "assignee(page) == none" for reason in legality.reasons)
    assert legality.repair == "let assign issue the evidence that is missing: able(writer, page), which no update that can happen issues"


def test_a_run_that_is_refused_says_the_same(without_issue: dict[str, Result]) -> None:
    happy = without_issue["run happy"]
    assert happy.detail == "step 1, assign(writer, page): refused by definition 6(iii) evidence"
    assert lacking(happy) == {"definition 6(iii) evidence": NOT_ISSUED}


def test_an_assertion_that_nothing_claims_asks_for_a_claim(tmp_path: Path) -> None:
    """To let approve issue evidence would be no repair: it issues ok(page), and that claims no coverage."""
    legality = checked(tmp_path, ("claims status(w) is accepted, coverage(w)", "claims status(w) is accepted"))["legality"]
    lacks = "a certificate that claims coverage(page, page): none does"
    assert lacking(legality) == {"definition 6(iii) evidence": lacks, "A.4(2) coverage(page, page)": lacks}
    assert legality.repair == (
        "no certificate claims coverage(page, page): add it to the claims of a certificate that approve issues (ok(page))"
    )


def test_a_value_that_nothing_claims_is_said_with_the_value(tmp_path: Path) -> None:
    """ok claims that the page is closed, as done does: nothing claims that it is accepted."""
    legality = checked(tmp_path, ("claims status(w) is accepted, coverage(w)", "claims status(w) is closed, coverage(w)"))["legality"]
    assert lacking(legality)["A.4(2) status(page)"] == "a certificate that claims status(page) is accepted: none does"
    assert legality.repair.startswith("no certificate claims status(page) is accepted: add it to the claims of a certificate that approve")


def test_evidence_that_another_update_issues_is_missing_here_only(tmp_path: Path) -> None:
    """finish forgets done(page), and vouch would issue it."""
    other = "update vouch(w: Text) operation complete by writer {\n  when status(w) == closed\n  issue done(w)\n}\n"
    legality = checked(
        tmp_path, ("  issue done(w)\n", ""), ("  fault careless: withhold done(w)", "  #"), ("# ---- who can", f"{other}# ----")
    )["legality"]
    assert "no update that can happen" not in " ".join(lacking(legality).values())
    assert "active(done(page))" in " ".join(lacking(legality).values())
    assert legality.repair == "let finish issue the evidence that is missing, or require in its guard what that evidence rests on"
