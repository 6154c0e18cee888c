"""A host that nothing answers for is given up: the run ends as incomplete, sealed, and says which address and why."""

from __future__ import annotations

import json
import socket
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from audit_desk import Scripted, desk
from host_packages import Small, small, view
from misbehaving import answer, close, serving, silent, status

from icore_kernel import api
from icore_kernel.audit.frame import Outcome
from icore_kernel.audit.host import Candidate, Choice, GivenUp, Schedule, Step, View
from icore_kernel.audit.replay import check
from icore_kernel.cli import run
from icore_kernel.hosts.http import HttpHost
from icore_kernel.hosts.mistakes import HostError
from icore_kernel.record.store import read_entries
from icore_kernel.record.verify import verify

REFUSED = "nothing listens there: connection refused"


@pytest.fixture(scope="module")
def paper(tmp_path_factory: pytest.TempPathFactory) -> Small:
    return small(tmp_path_factory.mktemp("given_up"))


@pytest.fixture
def asked(paper: Small) -> View:
    own = [c for c in paper.candidates(paper.after("assign(ana, left)")) if c.update == "finish(ana, left)"]
    return view("ana", own, chosen=own[0])


def dead() -> str:
    """An address on which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return f"http://127.0.0.1:{free.getsockname()[1]}/v1"


def impatient(url: str, **settings: Any) -> HttpHost:
    return HttpHost(url, "m", **{"retries": 0, "sleep": lambda seconds: None, **settings})


def test_the_question_after_three_that_nothing_answered_is_not_put(asked: View) -> None:
    url = dead()
    host = impatient(f"{url}?key=hunter2")
    assert [host.step("ana", asked).problem for _ in range(3)] == [REFUSED] * 3
    with pytest.raises(GivenUp) as gone:
        host.step("ana", asked)
    assert str(gone.value) == f"{url}/chat/completions left 3 questions in a row without any answer; the last: {REFUSED}"
    with pytest.raises(GivenUp):
        host.revise("ana", asked)


def test_it_is_given_up_after_as_many_as_are_set_or_never(asked: View) -> None:
    once = impatient(dead(), give_up=1)
    assert once.step("ana", asked).problem == REFUSED
    with pytest.raises(GivenUp, match="left a question without any answer"):
        once.step("ana", asked)
    never = impatient(dead(), give_up=None)
    assert [never.step("ana", asked).problem for _ in range(5)] == [REFUSED] * 5
    for wrong in (0, -1):
        with pytest.raises(HostError, match="after at least one question"):
            impatient(dead(), give_up=wrong)


def test_one_late_answer_begins_the_count_anew(asked: View) -> None:
    """Closed twice, then an answer; closed twice, then an answer at the second attempt of one question; then three times, and no more."""
    with serving(close, close, answer(0), close, close) as server:
        host = impatient(server.url)
        problems = [host.step("ana", asked).problem for _ in range(5)]
        assert problems == [*["the server closed the connection"] * 2, "", *["the server closed the connection"] * 2]
        server.behaviours[:] = [close, answer(0), close]
        host.retries = 1
        assert host.step("ana", asked).steps == (Step("finish(ana, left)"),)
        host.retries = 0
        assert all(host.step("ana", asked).problem for _ in range(3))
        with pytest.raises(GivenUp, match="the last: the server closed the connection"):
            host.step("ana", asked)
        assert len(server.requests) == 10


def test_a_server_that_says_no_is_asked_again(asked: View) -> None:
    """A status is an answer, were it to say that there is none; so is one after a connection that was lost."""
    with serving(status(503), status(401), status(500), status(404), status(503)) as server:
        host = impatient(server.url, give_up=1)
        assert [host.step("ana", asked).problem for _ in range(5)] == ["HTTP 503", "HTTP 401", "HTTP 500", "HTTP 404", "HTTP 503"]
    with serving(status(503), close) as server:
        host = impatient(server.url, give_up=1, retries=1)
        assert host.step("ana", asked).problem == "the server closed the connection"
        server.behaviours[:] = [status(503), close]
        assert host.step("ana", asked).problem == "the server closed the connection"


def test_a_server_that_never_speaks_is_given_up_too(asked: View) -> None:
    with serving(silent) as server:
        host = impatient(server.url, give_up=1, timeout=Fraction(1, 4))
        assert host.step("ana", asked).problem == "no whole answer within 0.25 seconds"
        with pytest.raises(GivenUp, match="the last: no whole answer within"):
            host.step("ana", asked)


# ---- runs -----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["run.jsonl", "run.db"])
def test_the_run_ends_as_incomplete_and_sealed(name: str, tmp_path: Path) -> None:
    record, url = tmp_path / name, dead()
    assert api.run_host(desk(tmp_path), impatient(url), record, budget=40) is Outcome.INCOMPLETE
    entries = list(read_entries(record))
    assert [e.kind for e in entries[-2:]] == ["end", "seal"]
    assert entries[-2].body["outcome"] == "incomplete"
    assert entries[-2].body["because"] == f"{url}/chat/completions left 3 questions in a row without any answer; the last: {REFUSED}"
    asked = [e.body["outside"]["attempts"] for e in entries if e.kind in {"refusal", "feedback"} and "attempts" in e.body["outside"]]
    assert len(asked) == 3, "every question that was put is in the record"
    found = verify(record)
    assert (found.exit_status, found.problems) == (0, ())


def test_the_command_says_it(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(HttpHost.__init__.__kwdefaults__, "sleep", lambda seconds: None)
    desk(tmp_path)
    url = dead()
    words = ["audit", str(tmp_path / "desk.icore"), "--host", f"http:{url}", "--model", "m", "--budget", "40"]
    assert run(words) == 3
    said = capsys.readouterr().out
    because = f"{url}/chat/completions left 3 questions in a row without any answer; the last: {REFUSED}"
    assert f"  the host was given up: {because}\n" in said
    assert said.splitlines()[-1].startswith("incomplete · ")
    assert run([*words, "--format", "json"]) == 3
    told = json.loads(capsys.readouterr().out)
    assert (told["outcome"], told["because"]) == ("incomplete", because)
    assert run(["audit", str(tmp_path / "desk.icore"), "--budget", "1", "--format", "json"]) == 3
    assert json.loads(capsys.readouterr().out)["because"] is None


class Leaves(Scripted):
    """Does what it was told, and gives up in round 2, while scheduling."""

    def schedule(self, round: int, enabled: Sequence[Candidate], view: Schedule) -> Choice:
        if round == 2:
            raise GivenUp("gone \udc80" + "x" * 2_000)
        return super().schedule(round, enabled, view)


def test_any_host_may_give_up_and_what_was_committed_stays(tmp_path: Path) -> None:
    record = tmp_path / "run.jsonl"
    steps = {0: ("ana", "assign(ana, left)"), 1: ("ana", "assign(ana, right)")}
    assert api.run_host(desk(tmp_path), Leaves(steps), record) is Outcome.INCOMPLETE
    entries = list(read_entries(record))
    assert [e.body["update"] for e in entries if e.kind == "commit"] == ["assign(ana, left)", "assign(ana, right)"]
    end = entries[-2].body
    assert (end["t"], end["line"], end["because"]) == (2, 0, "gone ?" + "x" * 994)
    assert verify(record).exit_status == 0


def test_an_end_before_the_budget_gives_a_reason(tmp_path: Path) -> None:
    """The same record without its reason, or with an empty one, is none of the listing."""
    record = tmp_path / "run.jsonl"
    api.run_host(desk(tmp_path), Leaves({}), record)
    entries = [e for e in read_entries(record) if e.kind != "seal"]
    assert check(entries) == []
    for change in (lambda body: body.pop("because"), lambda body: body.update(because=""), lambda body: body.update(because=True)):
        body = dict(entries[-1].body)
        change(body)
        (problem,) = check([*entries[:-1], type(entries[-1])(**{**_fields(entries[-1]), "body": body})])
        assert problem.endswith("it ends with incomplete, which the run does not show")


def _fields(entry: Any) -> dict[str, Any]:
    return {name: getattr(entry, name) for name in entry.__dataclass_fields__}
