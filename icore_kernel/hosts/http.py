"""A host whose agents are language models behind an OpenAI-compatible endpoint, with the paper's payloads (C.6).

Each agent is sent what it may observe and the numbered list of what it may do, at temperature 0 and as JSON, and answers with a number of
that list. Whatever else comes back, and whatever goes wrong on the way, is a proposal of nothing with the reason in it; the loop audits
what was chosen as it audits everybody's. For the monitor and the environment no model speaks: what was scheduled happens.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from hashlib import sha256
from typing import Any

from icore_kernel.audit.host import Candidate, Choice, Diagnosis, GivenUp, Host, Json, Proposal, Schedule, Step, View
from icore_kernel.audit.label import WORLD
from icore_kernel.hosts.answers import LONGEST_PROBLEM, Answer, AnswerError, Usage, cleaned, read_answer, read_envelope, told
from icore_kernel.hosts.endpoint import Endpoint, Exchange
from icore_kernel.hosts.mistakes import HostError

SYSTEM = (
    "You are one agent of a team. Everything the team does is recorded and audited. The message you receive is a JSON object: "
    "`observation` is what you can see, `candidate_actions` is everything you may do now. Pick exactly one action, the one that brings "
    "the work forward and that you can show evidence for; an action without evidence is refused and costs a round. If `feedback` is not "
    "null, an auditor has found a defect: prefer the action that repairs what it names. Reply with one JSON object and nothing around "
    'it: {"candidate_index": <the index of your action>, "reasoning": "<one short sentence>"}.'
)
TOKENS = 160
"""At most so many are asked for (C.6)."""
MESSAGES = 5
LONGEST_PAUSE = 30
"""Seconds between two attempts, whatever the server asks for."""


class HttpHost:
    """Asks a model at each agent's turn. `scheduler` chooses whose turn it is; without one the actors of U take turns.

    * `key_from_env` names the environment variable with the key; it is read for each request, sent as a bearer token, kept nowhere.
    * `timeout`: seconds for one whole exchange; `retries`: further attempts after time-outs, lost or cut-off connections, and statuses 408,
      425, 429 and 5xx, with pauses of `pause` seconds, doubled each time, or as long as the server asks, at most 30.
    * `give_up`: after so many questions in a row of which no attempt got even a status from the server, it is given up: the next question
      raises GivenUp, which ends the run as incomplete. One answer, whatever it says, and the count begins anew. None: never.
    * `about`: what the task is, for the models. `faults`: faults that the package declares are offered too. `largest`: bytes of an answer.

    Raises HostError for what cannot work: a URL that is none, a key that is not there.
    """

    name = "http"

    def __init__(
        self,
        url: str,
        model: str,
        *,
        key_from_env: str | None = None,
        timeout: Fraction | int = 60,
        retries: int = 2,
        pause: Fraction | int = 1,
        give_up: int | None = 3,
        scheduler: Host | None = None,
        about: str = "",
        faults: bool = False,
        tokens: int = TOKENS,
        largest: int = 2**20,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if timeout <= 0 or retries < 0 or pause < 0 or tokens < 1 or largest < 1:
            raise HostError("time-out, tokens and size are above 0; retries and pause not below")
        if give_up is not None and give_up < 1:
            raise HostError("a host is given up after at least one question without an answer, or never (None)")
        if not model or not model.isprintable():
            raise HostError("the host needs the name of a model, of printable characters")
        self.endpoint = Endpoint(url, key_from_env, Fraction(timeout), largest)
        self.model, self.about, self.faults, self.tokens = model, about, faults, tokens
        self.retries, self.pause, self.sleep = retries, Fraction(pause), sleep
        self.scheduler = scheduler
        self.features = scheduler is not None and scheduler.features
        self.give_up = give_up
        self._last = ""
        self._unheard = 0
        """Questions in a row, up to the last, that nothing answered."""
        self._cause = ""

    # ---- the protocol -----------------------------------------------------------------------------------------------------
    def schedule(self, round: int, enabled: Sequence[Candidate], view: Schedule) -> Choice:
        if self.scheduler is not None:
            return self.scheduler.schedule(round, enabled, view)
        actors = sorted({c.actor for c in enabled})
        agent = next((actor for actor in actors if actor > self._last), actors[0])
        self._last = agent
        return Choice(agent, min((c for c in enabled if c.actor == agent), key=lambda c: c.number))

    def step(self, agent: str, view: View) -> Proposal:
        if agent in WORLD:
            return Proposal() if view.chosen is None else _proposed(view.chosen)
        return self._ask(view)

    def revise(self, agent: str, view: View) -> Proposal:
        if agent in WORLD:
            diagnosed = {f.component for f in view.feedback.findings} if view.feedback is not None else set()
            sound = [c for c in view.candidates if c.enabled and not c.fault]
            sound.sort(key=lambda c: (not diagnosed.intersection(c.works), c.number))
            return _proposed(sound[0]) if sound else Proposal()
        return self._ask(view)

    # ---- one question ---------------------------------------------------------------------------------------------------------
    def _ask(self, view: View) -> Proposal:
        offered = [c for c in view.candidates if self.faults or not c.fault]
        if not offered:
            return Proposal()
        if self.give_up is not None and self._unheard >= self.give_up:
            times = "a question" if self._unheard == 1 else f"{self._unheard} questions in a row"
            raise GivenUp(f"{self.endpoint.place} left {times} without any answer; the last: {self._cause}")
        content = json.dumps(self._request(view, offered), ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
        asked = Asked(len(offered) + 1, self.endpoint.key_or_nothing())
        for attempt in range(self.retries + 1):
            exchange = self.endpoint.post(content)
            asked.read(exchange)
            if not exchange.again or attempt == self.retries:
                break
            wanted = self.pause * 2**attempt if exchange.pause is None else exchange.pause
            self.sleep(float(min(wanted, LONGEST_PAUSE)))
        self._unheard, self._cause = (0, "") if asked.heard else (self._unheard + 1, asked.problem)
        outside = asked.outside(self.model, content)
        if asked.answer is None:
            return Proposal((), outside, asked.problem)
        chosen = asked.answer.index
        return Proposal((Step(offered[chosen].update),) if chosen < len(offered) else (), outside)

    def _request(self, view: View, offered: Sequence[Candidate]) -> dict[str, Any]:
        system = f"{SYSTEM}\n{self.about}" if self.about else SYSTEM
        user = json.dumps(payload(view, offered), ensure_ascii=False)
        return {
            "model": self.model,
            "messages": [{"role": "system", "content": system}, {"role": "user", "content": user}],
            "temperature": 0,
            "max_tokens": self.tokens,
            "response_format": {"type": "json_object"},
        }


class Asked:
    """What came of the attempts so far: the answer or the last problem, and what each attempt used."""

    def __init__(self, offered: int, secret: str) -> None:
        self.offered, self.secret = offered, secret
        self.answer: Answer | None = None
        self.heard = False
        """Whether a server answered at all, were it to say that it cannot."""
        self.problem = ""
        self.attempts: list[Json] = []
        self.usages: list[Usage] = []

    def read(self, exchange: Exchange) -> None:
        usage, problem = Usage(), exchange.problem
        self.heard = self.heard or exchange.status is not None
        try:
            if not problem:
                envelope, usage = read_envelope(exchange.body)
                self.answer = read_answer(envelope, self.offered)
            elif exchange.body:
                problem = f"{problem}: {_said(exchange.body)}"
        except AnswerError as wrong:
            problem = str(wrong)
        self.problem = cleaned(problem, self.secret, LONGEST_PROBLEM)
        self.usages.append(usage)
        self.attempts.append({
            "status": exchange.status,
            "problem": self.problem,
            "milliseconds": exchange.milliseconds,
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
            "reasoning_tokens": usage.reasoning_tokens,
        })  # fmt: skip

    def outside(self, model: str, content: bytes) -> dict[str, Json]:
        """What goes into the record: the answer, what each attempt came to, and what was used."""
        return {
            "model": model,
            "request": sha256(content).hexdigest(),
            "candidate_index": None if self.answer is None else self.answer.index,
            "reasoning": "" if self.answer is None else cleaned(self.answer.reasoning, self.secret),
            "attempts": [*self.attempts],
            "usage": told(self.usages),
        }


def _said(body: bytes) -> str:
    """What a server says about its refusal: the usual place for it, or the beginning of its text."""
    try:
        match read_envelope(body)[0]:
            case {"error": {"message": str(message)}} | {"message": str(message)} | {"error": str(message)}:
                return message
    except AnswerError:
        pass  # no JSON: its text is shown
    return " ".join(body.decode("utf-8", "replace").split())[:200]


def _proposed(candidate: Candidate) -> Proposal:
    return Proposal((Step(candidate.update),))


# ---- the user's payload (C.6) -------------------------------------------------------------------------------------------------


def payload(view: View, offered: Sequence[Candidate]) -> dict[str, Any]:
    """What an agent is sent: its observation and the numbered candidates, the last of which is to wait."""
    actions = [{"index": i, "action": _action(c), "description": describe(c)} for i, c in enumerate(offered)]
    actions.append({"index": len(offered), "action": {"update": "wait", "arguments": {}}, "description": "do nothing this round"})
    return {
        "observation": {
            "agent": view.agent,
            "round": view.round,
            "max_rounds": view.rounds,
            "own_assignments": [{"work": work, "status": status} for work, status in view.assignments],
            "messages": [{"agent": m.agent, "text": m.text} for m in view.messages[-MESSAGES:]],
            "feedback": None if view.feedback is None else feedback(view.feedback),
        },
        "candidate_actions": actions,
    }


def _action(candidate: Candidate) -> dict[str, Any]:
    return {"update": candidate.schema, "arguments": dict(candidate.binding)}


def describe(candidate: Candidate) -> str:
    """`complete: finish(ana, unit), writes unit`, and whether it would be refused."""
    writes = f", writes {', '.join(candidate.works)}" if candidate.works else ""
    return f"{candidate.operation}: {candidate.update}{writes}{'' if candidate.enabled else '; not enabled now'}"


def feedback(found: Diagnosis) -> dict[str, Any]:
    """A diagnosis as an agent reads it; gains as exact fractions in text."""
    return {
        "kind": found.kind,
        "because": list(found.triggers),
        "broken_rules": list(found.broken),
        "findings": [
            {
                "work": f.component,
                "status": f.status,
                "assignee": f.assignee,
                "missing_evidence": list(f.missing),
                "better_agents": [{"agent": agent, "gain": str(gain)} for agent, gain in f.alternatives],
            }
            for f in found.findings
        ],
    }
