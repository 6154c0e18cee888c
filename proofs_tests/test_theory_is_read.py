"""The theory is read, not built in: renamed it decides the same, changed it decides as the change says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import Icore
from theory_lab import load_text, theory_copy
from theory_packages import VIOLATORS, violator
from theory_texts import edit, negate, rename_everything, swap

from icore_kernel import api
from icore_kernel.verdict import Report, Result, Verdict

CHECKOUT = Path(__file__).resolve().parent.parent
EXAMPLES = ("release_pipeline", "dependency_ladder", "capability_assignment", "incident_response", "code_change_broken")
FILES = {
    **{name.replace("_", " "): CHECKOUT / "examples" / f"{name}.icore" for name in EXAMPLES},
    "starter": CHECKOUT / "icore_kernel" / "starter.icore",
}


def text_of(name: str) -> str:
    return FILES[name].read_text(encoding="utf-8") if name in FILES else violator(name)


@pytest.fixture
def copy(theory: Path, tmp_path: Path) -> Path:
    return theory_copy(theory, tmp_path / "spec")


def results(report: Report) -> dict[str, Result]:
    return {r.name: r for r in report.results}


# ---- renamed ------------------------------------------------------------------------------------------------------------
def plain(text: str, labels: dict[str, str]) -> str:
    """A text with the new labels as the old ones. What hangs on a label's text is levelled: the word `smallest`, which `snd` stands
    without, and the hypotheses `Proposition 4(i)`, which a report shortens to `(i)`."""
    for old, new in sorted(labels.items(), key=lambda pair: -len(pair[1])):
        text = text.replace(new, old)
    return text.replace("smallest ", "").replace("Proposition 4(", "(")


def seen(report: Report, labels: dict[str, str]) -> list[tuple[object, ...]]:
    space = {k: v for k, v in report.space.items() if k != "seconds"}
    lines: list[tuple[object, ...]] = [("space", repr(space))]
    for r in report.results:
        reasons = tuple((plain(x.label, labels), x.instance, x.values) for x in r.reasons)
        lines.append((plain(r.name, labels), r.verdict, r.assurance, plain(r.detail, labels), r.run, reasons))
    return [*lines, *((plain(f.kind, labels), f.subject, f.allowed) for f in report.findings)]


@pytest.mark.parametrize("name", [*FILES, *VIOLATORS])
def test_renamed_clauses_and_definitions_decide_the_same(name: str, theory: Path, copy: Path) -> None:
    names, labels = rename_everything(copy)
    assert len(names) > 50 and len(labels) > 35
    written = "\n".join(re.sub(r'"[^"]*"|#[^\n]*', "", f.read_text(encoding="utf-8")) for f in sorted(copy.glob("*.icore")))
    assert not any(re.search(rf"\b{name}\b", written) for name in names)
    text = text_of(name)
    before, after = api.check(load_text(text, theory)), api.check(load_text(text, copy))
    assert seen(after, labels) == seen(before, {})


# ---- changed ------------------------------------------------------------------------------------------------------------
def check(name: str, theory: Path) -> dict[str, Result]:
    return results(api.check(load_text(text_of(name), theory)))


def violated(found: dict[str, Result]) -> set[str]:
    return {name for name, result in found.items() if result.verdict is Verdict.VIOLATED}


def test_swapping_a_clause_of_acc_with_one_of_rej_makes_both_unreachable(theory: Path, copy: Path) -> None:
    assert violated(check("starter", theory)) == set()
    swap(copy, "A.6 Acc(2)", "A.6 Rej(2)")  # Acc would need that every root has failed, and that none has
    assert violated(check("starter", copy)) == {"it_can_succeed", "it_can_fail", "dead ends", "run happy"}


def test_swapping_two_clauses_of_feasibility_swaps_the_names_in_the_verdict(theory: Path, copy: Path) -> None:
    assert "breaks A.4(3)" in check("A.4(3)", theory)["legality"].detail
    swap(copy, "A.4(3)", "A.4(4)")
    assert "breaks A.4(4)" in check("A.4(3)", copy)["legality"].detail
    assert "breaks A.4(3)" in check("A.4(4)", copy)["legality"].detail


def test_a_negated_clause_of_acc_makes_failure_a_condition_of_success(copy: Path) -> None:
    negate(copy, "A.6 Acc(3)")
    assert violated(check("starter", copy)) == {"it_can_succeed", "dead ends", "run happy"}


def test_negated_soundness_is_violated_from_the_start(copy: Path) -> None:
    negate(copy, "definition 7")
    found = check("starter", copy)
    assert violated(found) == {"soundness"} and found["soundness"].run is not None and found["soundness"].run.steps == ()


def test_a_negated_clause_of_legality_forbids_what_was_right(copy: Path) -> None:
    negate(copy, "definition 6(ii)")
    assert "definition 6(ii)" in check("starter", copy)["legality"].detail


def test_a_weakened_definition_lets_bad_work_pass(theory: Path, copy: Path) -> None:
    assert violated(check("starter", theory)) == set()
    edit(copy, "valid", lambda text: text.replace("accepted_by_rule(c) and ", ""))
    found = check("starter", copy)  # nothing asks any more whether the draft is good
    assert "finish.untruthful passes 1 of 1 time" in found["faults"].detail
    assert violated(found) == {"nothing_bad_is_accepted"}


def test_a_clause_that_is_added_is_enforced(theory: Path, copy: Path) -> None:
    rule = "count(w in Obligation where assignee(w) == m) <= 1"
    house_rule = f'language 1\ntheory "house rules"\nfeasibility "house rule" (m: Agent): {rule}\n'
    text = text_of("release pipeline")
    assert results(api.check(load_text(text, theory)))["legality"].verdict is Verdict.HOLDS
    legality = results(api.check(load_text(text, copy, {"9-house.icore": house_rule})))["legality"]
    assert legality.verdict is Verdict.VIOLATED and "assign breaks house rule" in legality.detail
    assert legality.run is not None and len(legality.run.steps) == 1  # ana takes one step, then another


def test_a_bound_that_is_added_to_acc_is_asked(copy: Path) -> None:
    stricter = 'language 1\ntheory "house rules"\naccept "house rule": forall w in Obligation: marker(w) == superseded\n'
    assert violated(results(api.check(load_text(text_of("starter"), copy, {"9-house.icore": stricter})))) == {
        "it_can_succeed", "dead ends", "run happy",
    }  # fmt: skip


def test_the_command_line_takes_another_theory(icore: Icore, copy: Path) -> None:
    starter = str(FILES["starter"])
    assert icore("check", starter, "--theory", str(copy)).returncode == 0
    negate(copy, "A.6 Acc(3)")
    changed = icore("check", starter, "--theory", str(copy))
    assert changed.returncode == 1 and "it_can_succeed" in changed.stdout
    (copy / "5-terminal.icore").write_text('language 1\ntheory "5-terminal"\n', encoding="utf-8")
    missing = icore("check", starter, "--theory", str(copy))
    assert missing.returncode == 2 and "settled_for_accept" in missing.stderr + missing.stdout
