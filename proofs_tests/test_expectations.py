"""`expect violated`, `--only` and what may not be hidden by them: small packages, each with what must come out."""

from __future__ import annotations

from pathlib import Path

import pytest

from icore_kernel import api
from icore_kernel.verdict import ExitStatus, Report, Verdict

COUNTER = """language 1
package P "1"
input x { n: 0..3 = 0 }
update up by environment { when x.n < 3 set x.n := x.n + 1 }
"""

CHEAT = """language 1
package Cheat "1"
input q
agents { ana }
obligation type T {}
obligations { o: T starts ready, required }
certificate asked { issuer environment premises q claims node(o), status(o) is ready starts active }
update cheat operation accept by ana { view global when status(o) == ready set status(o) := accepted }
invariant never: status(o) != accepted
"""


def checked(folder: Path, text: str, *only: str) -> Report:
    file = folder / "p.icore"
    file.write_text(text, encoding="utf-8")
    return api.check(api.load(file), only=only)


@pytest.mark.parametrize(
    ("expectation", "status"),
    [
        ("run z: up expect x.n == 1\nexpect violated z", ExitStatus.VIOLATED),  # the run goes well: the expectation fails
        ("run z: up expect x.n == 2\nexpect violated z", ExitStatus.HOLDS),
        ("expect violated soundness", ExitStatus.VIOLATED),  # nothing of that name is checked without obligations
        ("invariant i: x.n < 3\nexpect violated i", ExitStatus.HOLDS),
        ("invariant i: x.n <= 3\nexpect violated i", ExitStatus.VIOLATED),
    ],
)
def test_an_expected_violation_is_asked_for_whatever_it_is_of(tmp_path: Path, expectation: str, status: ExitStatus) -> None:
    assert checked(tmp_path, COUNTER + expectation + "\n").exit_status() is status


def test_a_violated_legality_is_not_hidden_by_only(tmp_path: Path) -> None:
    # `cheat` is never followed, because it is illegal: so `never` holds of what is left, and that must be said.
    report = checked(tmp_path, CHEAT, "never")
    assert {r.name: r.verdict for r in report.results} == {"legality": Verdict.VIOLATED, "never": Verdict.HOLDS}
    assert report.exit_status() is ExitStatus.VIOLATED


def test_only_keeps_the_findings_of_what_it_names(tmp_path: Path) -> None:
    text = COUNTER + "invariant i: x.n > 2 and x.n < 2 implies x.n == 1\ninvariant j: x.n == 3 or x.n < 3\n"
    report = checked(tmp_path, text, "i")
    assert {f.kind for f in report.findings} >= {"antecedent"}
    assert report.exit_status() is ExitStatus.HOLDS
    assert report.exit_status(strict=True) is ExitStatus.VIOLATED
    assert checked(tmp_path, text, "j").findings == ()
