"""What a chat-completions endpoint answers, read without trust: a choice among the candidates that were sent, or what is wrong with it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from icore_kernel.audit.host import Json
from icore_kernel.hosts.strict import StrictError, read_json
from icore_kernel.record.canonical import LARGEST

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
LONGEST_TEXT, LONGEST_PROBLEM = 2_000, 300
"""Characters of a reasoning, and of what is wrong with an answer, that are kept."""


class AnswerError(Exception):
    """An answer that cannot be used. The message says why, for the record."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What one attempt used, as the server counts. None is unknown, and not zero. Reasoning tokens are among the completion tokens."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """`index` refers to the list of candidates that was sent."""

    index: int
    reasoning: str


def read_envelope(body: bytes) -> tuple[Any, Usage]:
    """The response's object, and what it says was used. Raises AnswerError where it is no JSON object."""
    try:
        envelope = read_json(body.decode("utf-8"), floats=True)
    except UnicodeDecodeError as broken:
        raise AnswerError(f"the response is not UTF-8 (byte {broken.start})") from broken
    except StrictError as broken:
        raise AnswerError(f"the response is not usable JSON: {broken}") from broken
    if not isinstance(envelope, dict):
        raise AnswerError("the response is no JSON object")
    return envelope, _usage(envelope.get("usage"))


def _usage(told: object) -> Usage:
    if not isinstance(told, dict):
        return Usage()
    details = told.get("completion_tokens_details")
    reasoning = details.get("reasoning_tokens") if isinstance(details, dict) else None
    return Usage(_count(told.get("prompt_tokens")), _count(told.get("completion_tokens")), _count(reasoning))


def _count(told: object) -> int | None:
    return told if type(told) is int and 0 <= told <= LARGEST else None


def read_answer(envelope: Any, offered: int) -> Answer:
    """The choice in a response, among so many candidates. Raises AnswerError: everything else than one index of one is no answer."""
    match envelope:
        case {"choices": [{"message": {"content": str(content)}}, *_]}:
            pass
        case {"choices": [{"message": {"refusal": str(refusal)}}, *_]} if refusal:
            raise AnswerError(f"the model refused: {refusal}")
        case {"error": {"message": str(message)}}:
            raise AnswerError(f"the server reports: {message}")
        case _:
            raise AnswerError("the response has no choices[0].message.content")
    try:
        found = read_json(content.strip())
    except StrictError as broken:
        raise AnswerError(f"the answer is not usable JSON: {broken}") from broken
    if not isinstance(found, dict) or "candidate_index" not in found:
        raise AnswerError("the answer is no object with a candidate_index")
    index, reasoning = found["candidate_index"], found.get("reasoning", "")
    if type(index) is not int:
        raise AnswerError("candidate_index is no whole number")
    if not 0 <= index < offered:
        raise AnswerError(f"candidate_index {_brief(index)} is not one of 0 to {offered - 1}")
    if not isinstance(reasoning, str):
        raise AnswerError("reasoning is no text")
    return Answer(index, reasoning)


def _brief(index: int) -> str:
    return str(index) if -(10**18) < index < 10**18 else "of more than 18 digits"


def told(usages: list[Usage]) -> dict[str, Json]:
    """Sums over attempts: None where one is unknown, and beside it the sum of what is known."""
    found: dict[str, Json] = {}
    for name in ("prompt_tokens", "completion_tokens", "reasoning_tokens"):
        counts: list[int | None] = [getattr(usage, name) for usage in usages]
        known = [count for count in counts if count is not None]
        found[name] = min(sum(known), LARGEST) if len(known) == len(counts) else None
        found[f"{name}_known"] = min(sum(known), LARGEST)
    return found


def cleaned(text: str, secret: str, longest: int = LONGEST_TEXT) -> str:
    """A text from outside as a record may hold it and a terminal show it: no key, no lone surrogates, no controls, of bounded length."""
    plain = text.replace(secret, "[key]") if secret else text
    plain = plain.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    plain = _CONTROLS.sub("\ufffd", plain)
    return plain if len(plain) <= longest else plain[: longest - 1] + "…"
