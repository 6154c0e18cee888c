"""The HTTP host against a server that misbehaves: whatever comes back is a choice among what was offered, or a proposal of nothing."""

from __future__ import annotations

import gzip
import json
import shutil
import socket
import ssl
import subprocess
import threading
import tracemalloc
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from host_packages import Small, diagnosis, schedule_view, small, view
from hypothesis import given
from hypothesis import strategies as st
from misbehaving import (
    Behaviour,
    answer,
    chunked,
    close,
    completion,
    content,
    cut,
    dripping,
    endless,
    flood,
    gzipped,
    raw,
    reset,
    serving,
    silent,
    status,
)  # fmt: skip

from icore_kernel.audit.host import Choice, Finding, Message, Proposal, Step, View
from icore_kernel.hosts.answers import LONGEST_PROBLEM, LONGEST_TEXT, Usage, cleaned, told
from icore_kernel.hosts.endpoint import Exchange, checked_url
from icore_kernel.hosts.http import SYSTEM, Asked, HttpHost
from icore_kernel.hosts.mistakes import HostError
from icore_kernel.hosts.scored import ScoredHost
from icore_kernel.record.canonical import canonical

SHORT = {"timeout": Fraction(3, 4)}
SECRET = "sk-very-secret-0123456789"


@pytest.fixture(scope="module")
def paper(tmp_path_factory: pytest.TempPathFactory) -> Small:
    return small(tmp_path_factory.mktemp("http"))


@pytest.fixture
def asked(paper: Small) -> View:
    """ana may finish left (0), attempt whole (1), or wait (2); a fault that she may make is not offered."""
    state = paper.after("assign(ana, left)", "assign(ana, whole)")
    own = [c for c in paper.candidates(state) if c.actor == "ana" and c.schema.startswith("finish")]
    return view("ana", own, chosen=own[0], round=4, messages=[Message(i, "bo", f"said {i}") for i in range(7)])


def host(url: str, naps: list[float] | None = None, **more: Any) -> HttpHost:
    kept = naps if naps is not None else []
    return HttpHost(url, "small", **{"timeout": 20, "sleep": kept.append, **more})


def asking(url: str, asked: View, **more: Any) -> Any:
    """One question; the proposal. Whatever the answer, it can be recorded."""
    proposal = host(url, **more).step("ana", asked)
    canonical(dict(proposal.outside))
    assert not (proposal.problem and proposal.steps)
    return proposal


# ---- what is sent -------------------------------------------------------------------------------------------------------------


def test_the_request_is_the_papers(asked: View) -> None:
    with serving(answer(0)) as server:
        asking(server.url, asked, about="The task: a paper.")
        head, _ = server.requests[0]
        sent = server.sent()
    assert head.startswith("POST /v1/chat/completions HTTP/1.1\r\n")
    assert "authorization" not in head.lower()
    assert (sent["model"], sent["temperature"], sent["max_tokens"], sent["response_format"]) == ("small", 0, 160, {"type": "json_object"})
    assert [m["role"] for m in sent["messages"]] == ["system", "user"]
    assert sent["messages"][0]["content"] == f"{SYSTEM}\nThe task: a paper."
    assert json.loads(sent["messages"][1]["content"]) == {
        "observation": {
            "agent": "ana",
            "round": 4,
            "max_rounds": 30,
            "own_assignments": [{"work": "left", "status": "ready"}],
            "messages": [{"agent": "bo", "text": f"said {i}"} for i in range(2, 7)],
            "feedback": None,
        },
        "candidate_actions": [
            {
                "index": 0,
                "action": {"update": "finish", "arguments": {"m": "ana", "w": "left"}},
                "description": "complete: finish(ana, left), writes left",
            },
            {
                "index": 1,
                "action": {"update": "finish", "arguments": {"m": "ana", "w": "whole"}},
                "description": "complete: finish(ana, whole), writes whole; not enabled now",
            },
            {"index": 2, "action": {"update": "wait", "arguments": {}}, "description": "do nothing this round"},
        ],
    }


def test_a_diagnosis_is_sent_as_feedback(asked: View) -> None:
    finding = Finding("left", "closed", "ana", ("status(left): done(left) is absent",), (("bo", Fraction(1, 5)),))
    revised = view("ana", asked.candidates, feedback=diagnosis("evidence", finding, flag=3))
    with serving(answer(0)) as server:
        assert host(server.url).revise("ana", revised).steps == (Step("finish(ana, left)"),)
        told = json.loads(server.sent()["messages"][1]["content"])["observation"]["feedback"]
    assert told == {
        "kind": "evidence",
        "because": ["hard flag"],
        "broken_rules": ["definition 7"],
        "findings": [
            {
                "work": "left",
                "status": "closed",
                "assignee": "ana",
                "missing_evidence": ["status(left): done(left) is absent"],
                "better_agents": [{"agent": "bo", "gain": "1/5"}],
            }
        ],
    }


def test_faults_are_offered_where_asked_for(asked: View) -> None:
    with serving(answer(1)) as server:
        chosen = asking(server.url, asked, faults=True)
    assert len(asked.candidates) == 4
    assert chosen.steps == (Step(asked.candidates[1].update),)


# ---- good answers ---------------------------------------------------------------------------------------------------------------

GOOD: dict[str, Behaviour] = {
    "plain": answer(0),
    "without reasoning": content('{"candidate_index": 0}'),
    "with more in it": content('{"candidate_index": 0, "reasoning": "r", "confidence": "high", "next": [1, {"a": null}]}'),
    "with space around": content('\n {"candidate_index": 0} \n'),
    "wrong content type": answer(0, Content_Type="text/html; charset=latin-1"),
    "in chunks": chunked(completion('{"candidate_index": 0}')[:20], completion('{"candidate_index": 0}')[20:]),
    "gzip, though not asked for": gzipped(completion('{"candidate_index": 0}')),
    "until the connection ends": raw(b"HTTP/1.0 200 OK\r\n\r\n" + completion('{"candidate_index": 0}')),
    "after a 100": raw(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n" + completion('{"candidate_index": 0}')),
    "201": status(201, completion('{"candidate_index": 0}')),
}  # fmt: skip


@pytest.mark.parametrize("kind", GOOD)
def test_an_answer_is_what_was_offered_under_its_index(kind: str, asked: View) -> None:
    with serving(GOOD[kind]) as server:
        chosen = asking(server.url, asked)
        assert len(server.requests) == 1
    assert (chosen.problem, chosen.steps) == ("", (Step("finish(ana, left)"),))
    assert chosen.outside["candidate_index"] == 0


def test_the_last_index_is_to_wait(asked: View) -> None:
    with serving(answer(2, "nothing to do")) as server:
        chosen = asking(server.url, asked)
    assert (chosen.problem, chosen.steps, chosen.outside["reasoning"]) == ("", (), "nothing to do")


# ---- bad answers: no second attempt, no exception, nothing proposed -----------------------------------------------------------------

BAD: dict[str, tuple[Behaviour, str]] = {
    "text": (content("I would finish left."), "the answer is not usable JSON: column 1: not JSON: Expecting value"),
    "fenced": (content('```json\n{"candidate_index": 0}\n```'), "the answer is not usable JSON: column 1"),
    "cut off by its length": (content('{"candidate_index": 0, "reasoning": "beca'), "the answer is not usable JSON: column 37"),
    "two objects": (content('{"candidate_index": 0}{"candidate_index": 1}'), "the answer is not usable JSON: column 23"),
    "empty": (content(""), "the answer is not usable JSON"),
    "null": (content(None), "the response has no choices[0].message.content"),
    "a list": (content("[0]"), "the answer is no object with a candidate_index"),
    "a number": (content("0"), "the answer is no object with a candidate_index"),
    "another key": (content('{"index": 0}'), "the answer is no object with a candidate_index"),
    "beyond the end": (answer(3), "candidate_index 3 is not one of 0 to 2"),
    "below zero": (answer(-1), "candidate_index -1 is not one of 0 to 2"),
    "huge": (answer(10**30), "candidate_index of more than 18 digits is not one of 0 to 2"),
    "too huge to read": (content('{"candidate_index": ' + "9" * 5000 + "}"), "the answer is not usable JSON: a number of too many digits"),
    "a text": (answer("0"), "candidate_index is no whole number"),
    "true": (answer(True), "candidate_index is no whole number"),
    "none": (answer(None), "candidate_index is no whole number"),
    "a fraction": (content('{"candidate_index": 0.0}'), "the answer is not usable JSON: 0.0: whole numbers only"),
    "an exponent": (content('{"candidate_index": 0e0}'), "the answer is not usable JSON: 0e0: whole numbers only"),
    "NaN": (content('{"candidate_index": NaN}'), "the answer is not usable JSON: NaN is no number"),
    "Infinity": (content('{"candidate_index": 0, "x": Infinity}'), "the answer is not usable JSON: Infinity is no number"),
    "twice": (content('{"candidate_index": 1, "candidate_index": 0}'), "the key 'candidate_index' stands twice"),
    "twice, inside": (content('{"candidate_index": 0, "x": {"a": 1, "a": 2}}'), "the key 'a' stands twice"),
    "reasoning of no text": (answer(0, ["a"]), "reasoning is no text"),
    "very deep": (content('{"candidate_index": ' + "[" * 100_000), "values nested deeper than 64"),
    "an envelope of no JSON": (status(200, b"<html>hello</html>"), "the response is not usable JSON: column 1"),
    "an envelope of no UTF-8": (status(200, b'{"choices": "\xff"}'), "the response is not UTF-8 (byte 13)"),
    "an envelope that is a list": (status(200, b"[]"), "the response is no JSON object"),
    "an empty body": (status(200), "the response is not usable JSON"),
    "no content at all": (status(204), "the response is not usable JSON"),
    "no choices": (status(200, b'{"choices": []}'), "the response has no choices[0].message.content"),
    "choices twice": (status(200, b'{"choices": [], "choices": []}'), "the key 'choices' stands twice"),
    "an envelope very deep": (status(200, b'{"choices": ' + b"[" * 100_000), "values nested deeper than 64"),
    "an error at 200": (status(200, b'{"error": {"message": "overloaded"}}'), "the server reports: overloaded"),
    "a refusal": (status(200, b'{"choices": [{"message": {"content": null, "refusal": "no"}}]}'), "the model refused: no"),
    "10 MB": (status(200, completion('{"candidate_index": 0}' + " " * 10_000_000)), "an answer above 1,048,576 bytes"),
    "10 MB in chunks": (chunked(*[b" " * 100_000] * 100), "an answer above 1,048,576 bytes"),
    "a body without end": (flood, "an answer above 1,048,576 bytes"),
    "a gzip of 20 MB": (gzipped(b" " * 20_000_000), "an answer above 1,048,576 bytes"),
    "no gzip": (status(200, b"plain", Content_Encoding="gzip"), "an answer that is not the gzip it says it is"),
    "br": (status(200, b"x", Content_Encoding="br"), "an answer in an encoding that was not asked for"),
    "400": (status(400, b'{"error": {"message": "no such model"}}'), "HTTP 400: no such model"),
    "401": (status(401, b"who\r\n  are you"), "HTTP 401: who are you"),
    "404": (status(404), "HTTP 404"),
    "a redirect": (status(307, Location="http://127.0.0.1:1/elsewhere"), "HTTP 307: redirects are not followed"),
    "a redirect to a file": (status(302, Location="file:///etc/passwd"), "HTTP 302: redirects are not followed"),
}  # fmt: skip


@pytest.mark.parametrize("kind", BAD)
def test_a_malformed_answer_is_a_problem_and_no_proposal(kind: str, asked: View) -> None:
    behaviour, said = BAD[kind]
    naps: list[float] = []
    with serving(behaviour) as server:
        chosen = asking(server.url, asked, sleep=naps.append)
        assert len(server.requests) == 1, "the same question would be answered the same"
    assert chosen.steps == ()
    assert said in chosen.problem
    assert (chosen.outside["candidate_index"], chosen.outside["reasoning"], naps) == (None, "", [])


PIECES = (
    "{", "}", "[", "]", ",", ":", '"', "\\", "\\u", "d800", "0", "1", "-1", "1e9", "0.5", "9" * 40, "null",
    "true", "NaN", " ", "\n", "\x00", "é", "😀",
    '"candidate_index"', '"reasoning"', '"choices"', '"message"', '"content"', '"usage"', '"prompt_tokens"', '{"candidate_index": 0}',
)  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES), max_size=30).map("".join)
BODIES = st.one_of(st.binary(max_size=200), TEXTS.map(str.encode), TEXTS.map(completion))


@given(BODIES)
def test_any_bytes_are_an_answer_or_a_problem(body: bytes) -> None:
    asked = Asked(3, "")
    asked.read(Exchange(200, body, "", False, 1))
    assert (asked.answer is None) == (asked.problem != "")
    assert asked.answer is None or asked.answer.index in range(3)
    canonical(asked.outside("m", b""))
    refused = Asked(3, "")
    refused.read(Exchange(500, body, "HTTP 500", True, 1))
    assert refused.answer is None
    assert refused.problem.startswith("HTTP 500")
    canonical(refused.outside("m", b""))


# ---- what may pass: more attempts, with pauses ------------------------------------------------------------------------------------

SLOW: dict[str, tuple[Behaviour, str]] = {
    "silence": (silent, "no whole answer within 0.75 seconds"),
    "a slow drip": (dripping(completion('{"candidate_index": 0}')), "no whole answer within 0.75 seconds"),
    "a slow drip of the head": (dripping(b"", headers_too=True), "no whole answer within 0.75 seconds"),
    "endless 100s": (endless(b"HTTP/1.1 100 Continue\r\n\r\n"), "no whole answer within 0.75 seconds"),
    "an endless head": (endless(b"HTTP/1.1 200 OK\r\n"), "no whole answer within 0.75 seconds"),
    "an endless error": (endless(b"HTTP/1.1 500 X\r\n\r\n"), "no whole answer within 0.75 seconds"),
}  # fmt: skip
PASSING: dict[str, tuple[Behaviour, str]] = {
    "500": (status(500, b"<h1>oops</h1>"), "HTTP 500: <h1>oops</h1>"),
    "502": (status(502), "HTTP 502"),
    "503": (status(503, b'{"error": "busy"}'), "HTTP 503: busy"),
    "429": (status(429, b'{"message": "slow down"}'), "HTTP 429: slow down"),
    "408": (status(408), "HTTP 408"),
    "some 100s and an end": (raw(b"HTTP/1.1 100 Continue\r\n\r\n" * 3), "closed the connection"),
    "a reset": (reset, "the server closed the connection"),
    "a close": (close, "the server closed the connection"),
    "a body cut off": (cut(completion('{"candidate_index": 0}')), "the answer is cut off: 7 bytes are missing"),
    "chunks cut off": (chunked(b"{", whole=False), "the answer is cut off"),
    "chunks that are none": (raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"), "the answer is cut off"),
    "gzip cut off": (gzipped(completion('{"candidate_index": 0}'), missing=4), "the answer is cut off within its gzip"),
    "no HTTP": (raw(b"SSH-2.0-OpenSSH_9.6\r\n"), "the answer is not HTTP (BadStatusLine)"),
    "a head without end": (raw(b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 5_000), "the answer is not HTTP"),
    "a line without end": (raw(b"HTTP/1.1 200 OK\r\nA: " + b"b" * 200_000), "the answer is not HTTP (LineTooLong)"),
}  # fmt: skip


@pytest.mark.parametrize("kind", [*PASSING, *SLOW])
def test_what_may_pass_is_tried_again_and_then_a_problem(kind: str, asked: View) -> None:
    behaviour, said = (PASSING | SLOW)[kind]
    naps: list[float] = []
    with serving(behaviour) as server:
        chosen = asking(server.url, asked, retries=1, sleep=naps.append, **(SHORT if kind in SLOW else {}))
        assert len(server.requests) == 2
    assert chosen.steps == ()
    assert said in chosen.problem
    assert naps == [1.0]
    assert [said in attempt["problem"] for attempt in chosen.outside["attempts"]] == [True, True]


@pytest.mark.parametrize("kind", [*PASSING, "silence"])
def test_after_a_failure_that_passed_the_answer_counts(kind: str, asked: View) -> None:
    behaviour, said = (PASSING | SLOW)[kind]
    with serving(behaviour, answer(0, usage={"prompt_tokens": 9, "completion_tokens": 4})) as server:
        chosen = asking(server.url, asked, **(SHORT if kind in SLOW else {}))
    assert (chosen.problem, chosen.steps) == ("", (Step("finish(ana, left)"),))
    first, second = chosen.outside["attempts"]
    assert said in first["problem"]
    assert first["prompt_tokens"] is None
    assert (second["status"], second["problem"], second["prompt_tokens"]) == (200, "", 9)


def test_pauses_double_and_what_the_server_asks_for_counts_within_bounds(asked: View) -> None:
    naps: list[float] = []
    behaviours = [
        status(500),
        status(503),
        status(429, Retry_After="7"),
        status(429, Retry_After="86400"),
        status(429, Retry_After="Mon"),
        status(500),
    ]
    with serving(*behaviours) as server:
        chosen = asking(server.url, asked, retries=5, sleep=naps.append)
    assert naps == [1.0, 2.0, 7.0, 30.0, 16.0]
    assert chosen.problem == "HTTP 500"


def test_nobody_listens(asked: View) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    chosen = asking(f"http://127.0.0.1:{port}/v1", asked, retries=0)
    assert (chosen.problem, chosen.steps) == ("nothing listens there: connection refused", ())
    assert chosen.outside["attempts"][0]["status"] is None


def test_tls_that_does_not_come_about(asked: View) -> None:
    """A server that says nothing, and one that does not know TLS: the bound in time holds for the handshake too."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        silence = asking(f"https://127.0.0.1:{listener.getsockname()[1]}/v1", asked, retries=0, **SHORT)
    assert (silence.steps, silence.problem) == ((), "no whole answer within 0.75 seconds")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        plain = threading.Thread(target=_say_once, args=(listener, b"HTTP/1.1 400 plain\r\n\r\n"))
        plain.start()
        chosen = asking(f"https://127.0.0.1:{listener.getsockname()[1]}/v1", asked, retries=0)
        plain.join()
    assert (chosen.steps, chosen.problem) == ((), "no TLS connection comes about")


def _say_once(listener: socket.socket, text: bytes) -> None:
    connection, _ = listener.accept()
    with connection:
        connection.recv(65536)
        connection.sendall(text)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl to make a certificate")
def test_tls_with_a_certificate_that_is_known_and_one_that_is_not(asked: View, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", str(key), "-out", str(certificate), *subject],
        check=True,
        capture_output=True,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with serving(answer(0), context=context) as server:
        unknown = asking(server.url, asked)
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        known = asking(server.url, asked)
    assert (unknown.steps, unknown.problem) == ((), "the server's certificate is not accepted")
    assert len(unknown.outside["attempts"]) == 1
    assert (known.steps, known.problem) == ((Step("finish(ana, left)"),), "")
    with serving(status(401), status(307, Location="http://127.0.0.1:1/"), context=context) as server:
        assert [asking(server.url, asked).problem for _ in range(2)] == ["HTTP 401", "HTTP 307: redirects are not followed"]
    dripped: list[bytes] = []
    body = completion('{"candidate_index": 0}')
    with serving(dripping(body, dripped=dripped), context=context) as server:
        slow = asking(server.url, asked, retries=0, **SHORT)
    assert (slow.steps, slow.problem) == ((), "no whole answer within 0.75 seconds")
    assert len(dripped) < len(body), "the connection is ended, not waited for"


# ---- accounting -----------------------------------------------------------------------------------------------------------------


def test_usage_is_counted_for_every_attempt_and_unknown_is_no_zero(asked: View) -> None:
    usage = {"prompt_tokens": 120, "completion_tokens": 30, "completion_tokens_details": {"reasoning_tokens": 10}}
    with serving(status(500), answer(0, usage=usage)) as server:
        chosen = asking(server.url, asked)
    assert chosen.outside["usage"] == {
        "prompt_tokens": None, "prompt_tokens_known": 120, "completion_tokens": None, "completion_tokens_known": 30,
        "reasoning_tokens": None, "reasoning_tokens_known": 10,
    }  # fmt: skip
    with serving(answer(7, usage=usage)) as server:
        wrong = asking(server.url, asked)
    assert wrong.problem and wrong.outside["usage"] == {
        "prompt_tokens": 120, "prompt_tokens_known": 120, "completion_tokens": 30, "completion_tokens_known": 30,
        "reasoning_tokens": 10, "reasoning_tokens_known": 10,
    }, "an answer that is of no use costs the same"  # fmt: skip


@pytest.mark.parametrize(
    "usage",
    [None, 7, {}, {"prompt_tokens": "9"}, {"prompt_tokens": -1}, {"prompt_tokens": True}, {"prompt_tokens": 10**20},
     {"prompt_tokens": 1.5, "completion_tokens_details": 3}],
)  # fmt: skip
def test_usage_that_makes_no_sense_is_unknown(usage: Any, asked: View) -> None:
    with serving(answer(0, usage=usage)) as server:
        chosen = asking(server.url, asked)
    assert chosen.steps
    assert {chosen.outside["usage"][n] for n in ("prompt_tokens", "completion_tokens", "reasoning_tokens")} == {None}


def test_sums_by_hand() -> None:
    assert told([Usage(1, 2, 0), Usage(3, 4, 1)]) == {
        "prompt_tokens": 4, "prompt_tokens_known": 4, "completion_tokens": 6, "completion_tokens_known": 6, "reasoning_tokens": 1,
        "reasoning_tokens_known": 1,
    }  # fmt: skip


# ---- the key ----------------------------------------------------------------------------------------------------------------------


def test_the_key_is_sent_and_stands_nowhere_else(asked: View, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ICORE_TEST_KEY", f" {SECRET}\n")
    for behaviour in (
        answer(0, f"my key is {SECRET}!"),
        status(401, json.dumps({"error": {"message": f"wrong key {SECRET}"}}).encode()),
        status(500, f"Bearer {SECRET}".encode()),
        content(f"{SECRET} is no JSON"),
        content(f'{{"candidate_index": 0, "{SECRET}": 1, "{SECRET}": 2}}'),
        status(307, Location=f"http://127.0.0.1/?{SECRET}"),
        raw(f"{SECRET}\r\n".encode()),
    ):
        with serving(behaviour) as server:
            asker = host(server.url, key_from_env="ICORE_TEST_KEY")
            chosen = asker.step("ana", asked)
            head, body = server.requests[0]
        assert f"\r\nAuthorization: Bearer {SECRET}\r\n" in head + "\r\n"
        assert SECRET.encode() not in body
        assert SECRET not in json.dumps(chosen.outside) + chosen.problem + repr(asker) + repr(vars(asker)) + repr(vars(asker.endpoint))


def test_a_key_that_cannot_be_sent_is_refused_without_showing_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for wrong in ("", "  ", f"{SECRET}\nX: y", f"{SECRET} z", f"{SECRET}é"):
        monkeypatch.setenv("ICORE_TEST_KEY", wrong)
        with pytest.raises(HostError, match="ICORE_TEST_KEY") as refused:
            HttpHost("http://127.0.0.1/v1", "m", key_from_env="ICORE_TEST_KEY")
        assert SECRET not in str(refused.value)


def test_a_key_that_is_gone_during_the_run_is_a_problem(asked: View, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ICORE_TEST_KEY", SECRET)
    with serving(answer(0)) as server:
        asker = host(server.url, key_from_env="ICORE_TEST_KEY")
        monkeypatch.delenv("ICORE_TEST_KEY")
        chosen = asker.step("ana", asked)
        assert server.requests == []
    assert (chosen.steps, chosen.problem) == ((), "the environment variable ICORE_TEST_KEY holds no key")


def test_texts_from_outside_can_be_recorded_and_shown(asked: View) -> None:
    said = '{"candidate_index": 0, "reasoning": "a\\ud800b\\u001b[2J\\ud83d\\ude00"}'
    body = json.dumps({"choices": [{"message": {"content": said}}]}).encode()
    with serving(status(200, body)) as server:
        assert asking(server.url, asked).outside["reasoning"] == "a\ufffdb\ufffd[2J\U0001f600"
    assert cleaned("x" * 5_000, "") == "x" * (LONGEST_TEXT - 1) + "…"
    with serving(content("x" * 5_000 + '"')) as server, serving(status(404, json.dumps({"message": "y" * 1_000}).encode())) as other:
        assert len(asking(server.url, asked).problem) < LONGEST_PROBLEM
        assert asking(other.url, asked).problem == "HTTP 404: " + "y" * (LONGEST_PROBLEM - 11) + "…"
    assert cleaned("a\tb\nc", "") == "a\tb\nc"


# ---- proxies and URLs -------------------------------------------------------------------------------------------------------------


def test_the_environments_proxy_is_used(asked: View, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(answer(0)) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url.removesuffix("/v1"))
        monkeypatch.setenv("no_proxy", "")
        chosen = asking("http://models.invalid/v1", asked)
        assert proxy.requests[0][0].startswith("POST http://models.invalid/v1/chat/completions HTTP/1.1")
    assert chosen.steps


@pytest.mark.parametrize(
    ("url", "whole"),
    [
        ("http://127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1/chat/completions"),
        ("https://a.example/v1/", "https://a.example/v1/chat/completions"),
        ("https://a.example", "https://a.example/chat/completions"),
        ("http://[::1]:80/v1/chat/completions", "http://[::1]:80/v1/chat/completions"),
        ("https://a.example/x?api-version=1", "https://a.example/x/chat/completions?api-version=1"),
    ],
)
def test_urls(url: str, whole: str) -> None:
    assert checked_url(url) == whole


@pytest.mark.parametrize(
    "url",
    ["", "a.example/v1", "ftp://a.example", "file:///etc/passwd", "http://", "http://u:hunter2@a.example", "http://a:b/", "http://a:99999/",
     "http://a b/", "http://a/\r\nX: y", "http://a/#f", "http://ä.example/", "http://[::1/v1", "http://a:0/"],
)  # fmt: skip
def test_what_is_no_url_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(HostError) as refused:
        checked_url(url)
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    "wrong", [{"timeout": 0}, {"retries": -1}, {"pause": -1}, {"tokens": 0}, {"largest": 0}, {"model": ""}, {"model": "a\udcff"}]
)
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(HostError):
        HttpHost("http://127.0.0.1/v1", **{"model": "m", **wrong})


# ---- turns ------------------------------------------------------------------------------------------------------------------------


def test_actors_take_turns(paper: Small) -> None:
    names = ("assign(ana, left)", "finish(ana, left)")
    enabled = [c for c in paper.candidates(paper.after(*names)) if c.enabled]
    assert {c.actor for c in enabled} == {"ana", "bo", "monitor"}
    asker = host("http://127.0.0.1/v1")
    turns = [asker.schedule(t, enabled, schedule_view()) for t in range(4)]
    assert [t.agent for t in turns] == ["ana", "bo", "monitor", "ana"]
    assert turns[2] == Choice("monitor", paper.candidate("sign_off(left)"))
    assert asker.schedule(4, [c for c in enabled if c.actor != "bo"], schedule_view()).agent == "monitor"


def test_another_host_may_choose_whose_turn_it_is(paper: Small) -> None:
    enabled = [c for c in paper.candidates(paper.after()) if c.enabled]
    asker = host("http://127.0.0.1/v1", scheduler=ScoredHost())
    assert asker.features
    same = {c.number: (Fraction(int(c.update == "assign(bo, right)")),) * 12 for c in enabled}
    assert asker.schedule(0, enabled, schedule_view(features=same)) == Choice("bo", paper.candidate("assign(bo, right)"))


def test_no_model_speaks_for_the_monitor(paper: Small) -> None:
    """The URL leads nowhere: nothing may be asked there."""
    asker = host("http://127.0.0.1:1/v1")
    signed = paper.candidate("sign_off(left)")
    other = paper.candidate("sign_off(whole)")
    assert asker.step("monitor", view("monitor", [signed], chosen=signed)) == Proposal((Step("sign_off(left)"),))
    about = diagnosis("progress", Finding("left", "closed", "ana", (), ()))
    assert asker.revise("monitor", view("monitor", [other, signed], feedback=about)) == Proposal((Step("sign_off(left)"),))
    assert asker.revise("monitor", view("monitor", [], feedback=about)) == Proposal()
    assert asker.step("ana", view("ana", [])) == Proposal(), "nothing is offered: nothing is asked"


def test_a_small_gzip_of_much_does_not_fill_the_memory(asked: View) -> None:
    packed = gzip.compress(b" " * 40_000_000)
    assert len(packed) < 2**20, "else the other bound is met first"
    with serving(status(200, packed, Content_Encoding="gzip")) as server:
        tracemalloc.start()
        try:
            assert asking(server.url, asked).problem == "an answer above 1,048,576 bytes"
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < 10_000_000
