"""What the documentation of the hosts says is what they are: the table of weights, the payload, the program, the script."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import CHECKOUT

from icore_kernel.api import load
from icore_kernel.audit.features import FEATURES
from icore_kernel.audit.host import Candidate, Message, View
from icore_kernel.hosts.http import payload
from icore_kernel.hosts.scored import WEIGHTS
from icore_kernel.hosts.scripted import read_lines
from icore_kernel.record.verify import verify

README = CHECKOUT / "icore_kernel" / "hosts" / "README.md"


def block(language: str) -> str:
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return str(found)


def test_the_table_is_the_features_and_the_weights() -> None:
    rows = re.findall(r"^\| (\d+) \| `(\w+)` \| (.*) \| (\S+) \| (.*) \|$", README.read_text(encoding="utf-8"), re.MULTILINE)
    assert rows == [
        (str(number), name, meaning, str(weight), why)
        for number, ((name, meaning), (_, weight, why)) in enumerate(zip(FEATURES, WEIGHTS, strict=True), 1)
    ]


def test_the_payload_is_what_is_sent() -> None:
    own = Candidate(3, "finish(ana, unit)", "finish", {"m": "ana", "w": "unit"}, "ana", "complete", ("unit",))
    said = Message(7, "bo", "the last five, from the record")
    view = View("ana", 4, 40, (("unit", "ready"),), (said,), (own,), own, {}, None)
    assert json.loads(block("json")) == payload(view, [own])


def test_the_script_is_one(checkout: Path) -> None:
    (script,) = re.findall(r"^```text\n(.*?)^```$", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    lines = read_lines(script, system=load(checkout / "examples" / "release_pipeline.icore").system)
    assert [len(line.steps) for line in lines] == [1, 0, 2, 1, 1, 1]
    assert [line.revision for line in lines] == [False, False, True, False, False, True]


def test_the_program_runs_and_its_host_is_short(tmp_path: Path, checkout: Path) -> None:
    program = block("python")
    (host,) = re.findall(r"^class InOrder:\n(?:(?:    .*)?\n)+", program, re.MULTILINE)
    assert len([line for line in host.splitlines() if line.strip()]) <= 15
    shutil.copytree(checkout / "examples", tmp_path / "examples")
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "Outcome.ACCEPT\n")
    assert verify(tmp_path / "in_order.jsonl").exit_status == 0, "intact and sealed"


@pytest.mark.parametrize("name", ["408, 425, 429 and 5xx", "1 MiB", "at most 30", "2,000 characters", "ICORE_HOST_KEY"])
def test_numbers_in_the_text_are_those_of_the_code(name: str) -> None:
    from icore_kernel.hosts.answers import LONGEST_TEXT
    from icore_kernel.hosts.endpoint import AGAIN
    from icore_kernel.hosts.http import LONGEST_PAUSE, HttpHost
    from icore_kernel.hosts.named import KEY

    real = {
        "408, 425, 429 and 5xx": ", ".join(map(str, sorted(AGAIN))) + " and 5xx",
        "1 MiB": f"{HttpHost('http://a.example', 'm').endpoint.largest // 2**20} MiB",
        "at most 30": f"at most {LONGEST_PAUSE}",
        "2,000 characters": f"{LONGEST_TEXT:,} characters",
        "ICORE_HOST_KEY": KEY,
    }
    assert real[name] == name
    assert name in README.read_text(encoding="utf-8")
