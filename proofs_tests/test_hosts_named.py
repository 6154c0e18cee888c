"""`--host`: every form, and what a wrong one is told."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from host_packages import Small, small

from icore_kernel.hosts.http import HttpHost
from icore_kernel.hosts.mistakes import HostError
from icore_kernel.hosts.named import about, host_named
from icore_kernel.hosts.random_host import RandomHost
from icore_kernel.hosts.scored import ScoredHost
from icore_kernel.hosts.scripted import ScriptedHost


@pytest.fixture(scope="module")
def paper(tmp_path_factory: pytest.TempPathFactory) -> Small:
    return small(tmp_path_factory.mktemp("named"))


def test_every_form(paper: Small, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ICORE_HOST_KEY", raising=False)
    script = tmp_path / "a:b.txt"
    script.write_text("assign(ana, left)\n", encoding="utf-8")
    scripted = host_named(f"scripted:{script}", paper.loaded)
    assert isinstance(scripted, ScriptedHost)
    assert scripted.left == 1
    for text, seed, rate in (
        ("random:7", 7, 0),
        ("random:-1:0.25", -1, Fraction(1, 4)),
        ("random:7:1/3", 7, Fraction(1, 3)),
        ("random:0:1", 0, 1),
    ):
        drawn = host_named(text, paper.loaded)
        assert isinstance(drawn, RandomHost)
        assert (drawn.seed, drawn.faults) == (seed, rate)
    for text, tie in (("scored", None), ("scored:12", 12)):
        scored = host_named(text, paper.loaded)
        assert isinstance(scored, ScoredHost)
        assert scored.seed == tie
    for text in ("http:http://127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1"):
        asked = host_named(text, paper.loaded, model="m")
        assert isinstance(asked, HttpHost)
        assert (asked.endpoint.url, asked.model) == ("http://127.0.0.1:8000/v1/chat/completions", "m")
        assert (asked.endpoint.key_from_env, asked.about) == (None, about(paper.loaded))
    monkeypatch.setenv("ICORE_HOST_KEY", "k")
    keyed = host_named("https://a.example/v1", paper.loaded, model="m")
    assert isinstance(keyed, HttpHost)
    assert keyed.endpoint.key_from_env == "ICORE_HOST_KEY"


def test_a_model_is_told_the_names(paper: Small) -> None:
    assert about(paper.loaded) == "The task is Paper. The agents are ana, bo. The work is left, right, whole (required)."
    assert about(paper.loaded, "Two pages on bees.").endswith("whole (required). What is asked for: Two pages on bees.")


WRONG = {
    "": "--host : no such host; there are scripted:FILE, random:SEED[:RATE], scored[:SEED], http:URL",
    "scord": "--host scord: no such host; nearest: scored, scripted; there are scripted:FILE",
    "scripted": "--host scripted: scripted:FILE is expected",
    "random": "--host random: random:SEED[:RATE] is expected",
    "random:x": "'x' is no seed: a whole number is expected",
    "random:": "--host random:: random:SEED[:RATE] is expected",
    "random:1:": "'' is no rate",
    "random:1:a": "'a' is no rate: a number from 0 to 1 is expected, such as 0.25 or 1/4",
    "random:1:1/0": "'1/0' is no rate",
    "random:1:-1": "'-1' is no rate",
    "random:1:2": "the rate of faults is from 0 to 1, not 2",
    "random:1:1:1": "'1:1' is no rate",
    "scored:": "'' is no seed",
    "scored:1.5": "'1.5' is no seed",
    "http:": "--host http:: http:URL is expected",
    "http:http://a.example/v1": "--host http:URL needs --model NAME",
    "scripted:/nowhere/at/all": "/nowhere/at/all: cannot be read: No such file or directory",
}


@pytest.mark.parametrize("text", WRONG)
def test_wrong_forms(text: str, paper: Small) -> None:
    with pytest.raises(HostError) as told:
        host_named(text, paper.loaded)
    assert WRONG[text] in str(told.value)


def test_what_a_host_refuses_is_told(paper: Small, tmp_path: Path) -> None:
    script = tmp_path / "steps"
    script.write_text("asign(ana, left)\n", encoding="utf-8")
    with pytest.raises(HostError, match=r"steps: line 1: 'asign\(ana, left\)' is no occurrence; nearest: assign\(ana, left\)"):
        host_named(f"scripted:{script}", paper.loaded)
    with pytest.raises(HostError, match="begins with http:// or https://"):
        host_named("http:ftp://a.example", paper.loaded, model="m")
    with pytest.raises(HostError, match="--model is for --host http:URL, not for random"):
        host_named("random:1", paper.loaded, model="m")
    with pytest.raises(HostError, match="NO_SUCH_KEY holds no key"):
        host_named("http://a.example", paper.loaded, model="m", key_from_env="NO_SUCH_KEY")
