"""Wrong input and broken output, told in the form that was asked for, and never as a verdict."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from icore_kernel.cli import run


@pytest.mark.parametrize(
    ("words", "schema"),
    [
        (["check", "nowhere.icore"], "icore.check/1"),
        (["explore", "nowhere.icore"], "icore.explore/1"),
        (["explore", "nowhere.icore", "--trace-to", "accept"], "icore.trace/1"),
        (["explore", "nowhere.icore", "--simulate", "3"], "icore.simulate/1"),
        (["stable", "nowhere.icore"], "icore.stable/1"),
        (["prove", "nowhere.icore"], "icore.prove/1"),
        (["whatif", "nowhere.icore", "--revoke", "c"], "icore.whatif/1"),
        (["audit", "nowhere.icore"], "icore.audit/1"),
        (["check", "nowhere.icore", "--no-such-option"], "icore.check/1"),
        (["stable"], "icore.stable/1"),
    ],
)
def test_wrong_input_is_json_where_json_was_asked_for(words: list[str], schema: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*words, "--format", "json"]) == 2
    said, err = capsys.readouterr()
    record = json.loads(said)
    record = record[0] if isinstance(record, list) else record
    assert (record["schema"], record["verdict"], record["exit_status"], err) == (schema, None, 2, "")
    assert record["message"]


def test_wrong_usage_is_text_without_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "nowhere.icore", "--no-such-option"]) == 2
    said, err = capsys.readouterr()
    assert said == "" and "--no-such-option" in err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_output_that_cannot_be_written_is_no_verdict(tmp_path: Path) -> None:
    path = tmp_path / "small.icore"
    path.write_text(
        'language 1\npackage Small "1"\ninput c { v: 0..1 = 0 }\nupdate up by environment { when c.v < 1 set c.v := c.v + 1 }\n'
    )
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "icore_kernel", "explore", str(path)], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 3
    assert done.stderr.startswith("unknown: ")
