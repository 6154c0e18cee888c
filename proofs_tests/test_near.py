"""A name that is not known: the nearest is named, never a whole page of them."""

from __future__ import annotations

import pytest
from conftest import CHECKOUT

from icore_kernel.cli import run
from icore_kernel.near import MOST, near


def test_the_nearest_or_some() -> None:
    assert near("done(unti)", ["done(unit)", "failed(unit)"]) == "did you mean done(unit)?"
    assert near("x", ["alpha", "beta"]) == "there are: alpha, beta"
    assert near("x", []) == "there are none"
    assert near("x", [f"name {n}" for n in range(MOST + 3)]).endswith("name 7 and 3 more")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["whatif", "FILE", "--revoke", "done(unti)"], "no certificate 'done(unti)'; did you mean done(unit)?"),
        (
            ["check", "FILE", "--max-states", "5", "--only", "no_stale_relase"],
            "no property 'no_stale_relase'; did you mean no_stale_release?",
        ),
        (["check", "FILE", "--max-states", "5", "--unaudited=finish.carless"], "'finish.carless'; did you mean finish.careless?"),
        (["check", "FILE", "--set", "agnts=3"], "no parameter 'agnts'; there are none"),
    ],
)
def test_on_the_command_line(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(CHECKOUT / "examples" / "release_pipeline.icore")
    assert run([file if word == "FILE" else word for word in arguments]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert len(err) < 400
