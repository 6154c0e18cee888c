"""Dead ends that are allowed, as both results that speak of them see them; libraries; packages in which nothing can happen."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import CHECKOUT

from icore_kernel import api, cli
from icore_kernel.verdict import LIBRARY, Assurance, Verdict

Icore = Callable[..., tuple[int, str, str]]


@pytest.fixture
def icore(capsys: pytest.CaptureFixture[str]) -> Icore:
    def run(*arguments: str | Path) -> tuple[int, str, str]:
        status = cli.run([str(argument) for argument in arguments])
        shown = capsys.readouterr()
        return status, shown.out, shown.err

    return run


def written(tmp_path: Path, text: str, name: str = "package.icore") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


# ---- dead ends that are allowed ---------------------------------------------------------------------------------------------

LADDER = "\n".join(
    line
    for line in (CHECKOUT / "examples" / "dependency_ladder_broken.icore").read_text(encoding="utf-8").splitlines()
    if not line.startswith("expect")
)
"""It has 6 dead ends; in 4 of them nothing but `top` is left unresolved."""

ENDS = "complete 22 (Accept 8, Reject 14)"


@pytest.mark.parametrize(
    ("allow", "verdict", "settled", "ends"),
    [
        ("", "violated", f"a dead end · {ENDS} · illegally stuck 6", "6 states where nothing productive can follow"),
        ('allow dead_end because "one waits"', "holds", f"{ENDS} · 6 dead ends allowed: one waits", "6 states allowed: one waits"),
        (
            'allow dead_end top because "it waits"',
            "violated",
            f"a dead end · {ENDS} · 4 dead ends allowed: top (it waits) · illegally stuck 2",
            "2 states where nothing productive can follow",
        ),
        (
            'allow dead_end top because "it waits"\nallow dead_end d because "so does it"\nallow dead_end d0 because "and it"',
            "holds",
            f"{ENDS} · 6 dead ends allowed: top (it waits); d (so does it); d0 (and it)",
            "none but what may leave top (it waits), d (so does it), d0 (and it)",
        ),
    ],
)
def test_settlement_and_dead_ends_agree_on_what_is_allowed(allow: str, verdict: str, settled: str, ends: str, tmp_path: Path) -> None:
    path = written(tmp_path, f"{LADDER}\ncheck settlement\n{allow}\n")
    found = {r.name: r for r in api.check(api.load(path)).results}
    assert (found["settlement"].verdict.value, found["dead ends"].verdict.value) == (verdict, verdict)
    assert found["settlement"].detail == settled
    assert found["dead ends"].detail.startswith(ends)


def test_only_a_state_where_nothing_can_follow_is_an_allowed_end(tmp_path: Path) -> None:
    """A run that goes round for ever does not settle, although what it leaves unresolved might be left in a dead end."""
    text = """package R "1"
input request
input lamp { on: bool = false }
agents { ana }
obligation type Step {}
obligations { one: Step starts ready, required }
certificate asked { issuer environment premises request claims node(one), status(one) is ready starts active }
update switch by environment { set lamp.on := not lamp.on }
fair weak switch
check settlement
allow dead_end because "nobody does it"
"""
    (found,) = [r for r in api.check(api.load(written(tmp_path, text))).results if r.name == "settlement"]
    assert (found.verdict, found.detail) == (
        Verdict.VIOLATED, "a fair run goes round for ever · complete 0 (Accept 0, Reject 0) · going round: 1 cycle without an exit",
    )  # fmt: skip


# ---- libraries --------------------------------------------------------------------------------------------------------------

COMMON = """library Common
enum Size { small, large }
input parcel { size: Size = small }
update grow by environment { set parcel.size := large }
invariant stays: parcel.size == small
"""


def test_of_a_library_only_that_it_is_well_formed_is_said(tmp_path: Path, icore: Icore) -> None:
    path = written(tmp_path, COMMON, "common.icore")
    report = api.check(api.load(path))
    (result,) = report.results
    assert (report.mode, report.space, report.findings) == (LIBRARY, {}, ())
    assert (result.name, result.verdict, result.assurance) == ("well-formed", Verdict.HOLDS, Assurance.STATIC)
    assert result.detail == (
        "4 declarations of a library, and nothing else is decided of one: its property is decided in a package that imports it"
    )
    for options in ((), ("--strict",)):
        status, out, _ = icore("check", *options, path)
        assert status == 0
        assert out.splitlines()[0] == "Common · library" and out.splitlines()[-1].startswith("well-formed · ")
        assert "state space" not in out and "vacuity" not in out
    record = json.loads(icore("check", "--format", "json", path)[1])
    assert (record["verdict"], record["mode"], record["findings"], record["space"]) == ("holds", "library", None, {})


@pytest.mark.parametrize("kept", ["stays", "grows"])
@pytest.mark.parametrize("asked", ["prove", "stable"])
def test_nothing_of_a_library_is_proved_or_holds(tmp_path: Path, icore: Icore, asked: str, kept: str) -> None:
    """`stays` is violated and `grows` would be proved, in a package that imports them."""
    text = COMMON if kept == "stays" else COMMON.replace("stays: parcel.size == small", "grows: parcel.size in {small, large}")
    path = written(tmp_path, text, "common.icore")
    checked, said = icore("check", path), icore(asked, path)
    assert said[0] == checked[0] == 0
    assert said[1].splitlines()[:-1] == checked[1].splitlines()[:-1]
    assert said[1].splitlines()[-1].startswith("well-formed · ")
    record = json.loads(icore(asked, "--format", "json", path)[1])
    assert (record["mode"], [r["name"] for r in record["results"]], record["findings"]) == ("library", ["well-formed"], None)


def test_no_certificate_is_written_of_a_library(tmp_path: Path, icore: Icore) -> None:
    folder = tmp_path / "certificate"
    status, out, err = icore("prove", "--certificate", folder, written(tmp_path, COMMON, "common.icore"))
    assert (status, out, folder.exists()) == (2, "", False)
    assert "Common is a library: what it declares is proved in a package that imports it" in err


def test_what_a_library_declares_is_decided_where_it_is_imported(tmp_path: Path, icore: Icore) -> None:
    written(tmp_path, COMMON, "common.icore")
    path = written(tmp_path, 'package P\nimport "common.icore"\n')
    report = api.check(api.load(path))
    assert {r.name: r.verdict for r in report.results}["stays"] is Verdict.VIOLATED
    status, _, err = icore("check", "--only", "stays", tmp_path / "common.icore")
    assert status == 2
    assert "Common is a library: stays is decided in a package that imports it" in err
    assert icore("check", "--only", "well-formed", tmp_path / "common.icore")[0] == 0


def test_a_library_that_is_wrong_is_wrong(tmp_path: Path, icore: Icore) -> None:
    status, _, err = icore("check", written(tmp_path, COMMON + "invariant bad: parcel.size == 3\n", "common.icore"))
    assert status == 2 and "error S004" in err


# ---- nothing can happen -----------------------------------------------------------------------------------------------------

STILL = "package Still\ninput x { at: 0..3 = 0 }\ninvariant low: x.at <= 2\n"


def test_a_package_without_updates_holds_of_its_initial_states_and_says_so(tmp_path: Path, icore: Icore) -> None:
    path = written(tmp_path, STILL)
    status, out, _ = icore("check", path)
    assert status == 0
    assert "no update is declared: nothing ever happens" in out
    assert out.splitlines()[-1].startswith("holds, of the initial states alone: no update is declared · ")
    assert icore("check", "--strict", path)[0] == 1
    kinds = [finding["kind"] for finding in json.loads(icore("check", "--format", "json", path)[1])["findings"]]
    assert kinds == ["unread_invariant", "no_start"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("update up by environment { set x.at := x.at + 4 }\n", "no update that is enabled can take place (`up`): nothing ever happens"),
        (
            "update up by monitor { requires x.at == 3 set x.at := 1 }\nupdate down by monitor { when x.at == 2 set x.at := 1 }\n",
            "no update that is enabled can take place (`up`): nothing ever happens",
        ),
        (
            "update up by environment { when x.at == 3 set x.at := 1 }\nfault slip { when x.at == 0 set x.at := 1 }\n",
            "no update is enabled in the initial state: nothing but faults ever happens",
        ),
    ],
)
def test_what_is_enabled_and_cannot_take_place_is_not_called_disabled(tmp_path: Path, icore: Icore, more: str, said: str) -> None:
    assert f"{said} (" in icore("check", written(tmp_path, STILL + more))[1]


def test_a_package_with_updates_that_never_happen_is_another_thing(tmp_path: Path, icore: Icore) -> None:
    path = written(tmp_path, STILL + "update up by environment { when x.at == 3 set x.at := 1 }\n")
    status, out, _ = icore("check", path)
    assert status == 0
    assert "no update is enabled in the initial state: nothing ever happens" in out
    assert out.splitlines()[-1].startswith("holds · ")


def test_what_is_violated_without_updates_is_violated(tmp_path: Path, icore: Icore) -> None:
    status, out, _ = icore("check", written(tmp_path, STILL + "invariant wrong: x.at > 0\n"))
    assert status == 1 and out.splitlines()[-1].startswith("violated · ")
