"""A host from the text of `--host`."""

from __future__ import annotations

import os
import re
from fractions import Fraction

from icore_kernel.audit.host import Host
from icore_kernel.hosts.mistakes import HostError, nearest
from icore_kernel.load import Loaded

FORMS = "scripted:FILE, random:SEED[:RATE], scored[:SEED], http:URL"
KEY = "ICORE_HOST_KEY"
"""The environment variable that a key for an HTTP host is taken from, where it is set."""

_SEED = re.compile(r"-?[0-9]{1,30}")
_RATE = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9}|/[0-9]{1,9})?")


def host_named(text: str, loaded: Loaded, *, model: str | None = None, key_from_env: str | None = None, request: str | None = None) -> Host:
    """`scripted:steps.txt`, `random:7`, `random:7:1/4`, `scored`, `scored:7`, `http:http://127.0.0.1:8000/v1` (which needs a `model`).

    `request` is told to language models. Raises HostError for anything else, for a script with a wrong line or that cannot be read,
    and for a key that is not there.
    """
    kind, _, rest = text.partition(":")
    if text.startswith(("http://", "https://")):
        kind, rest = "http", text
    if model is not None and kind != "http":
        raise HostError(f"--model is for --host http:URL, not for {kind}")
    match kind:
        case "scripted" if rest:
            from icore_kernel.hosts.scripted import ScriptedHost

            try:
                return ScriptedHost.read(rest, loaded.system)
            except OSError as wrong:
                raise HostError(f"{rest}: cannot be read: {wrong.strerror or wrong}") from wrong
        case "random" if rest:
            from icore_kernel.hosts.random_host import RandomHost

            seed, _, rate = rest.partition(":")
            return RandomHost(_seed(seed), _rate(rate) if rate or rest.endswith(":") else Fraction(0))
        case "scored":
            from icore_kernel.hosts.scored import ScoredHost

            return ScoredHost(_seed(rest) if rest or text.endswith(":") else None)
        case "http" if rest:
            from icore_kernel.hosts.http import HttpHost

            if model is None:
                raise HostError("--host http:URL needs --model NAME, the model's name at that endpoint")
            key = key_from_env or (KEY if KEY in os.environ else None)
            return HttpHost(rest, model, key_from_env=key, about=about(loaded, request))
        case "scripted" | "random" | "http":
            raise HostError(f"--host {text}: {next(form for form in FORMS.split(', ') if form.startswith(kind))} is expected")
        case _:
            known = [form.split(":")[0].split("[")[0] for form in FORMS.split(", ")]
            raise HostError(f"--host {kind[:80]}: no such host{nearest(kind, known)}; there are {FORMS}")


def _seed(text: str) -> int:
    if not _SEED.fullmatch(text):
        raise HostError(f"{text[:80]!r} is no seed: a whole number is expected")
    return int(text)


def _rate(text: str) -> Fraction:
    try:
        if _RATE.fullmatch(text):
            return Fraction(text)
    except ZeroDivisionError:
        pass  # said below
    raise HostError(f"{text[:80]!r} is no rate: a number from 0 to 1 is expected, such as 0.25 or 1/4")


def about(loaded: Loaded, request: str | None = None) -> str:
    """What a model is told of the task: what was asked for, where somebody said it, and the names in it."""
    asked = f" What is asked for: {request}" if request else ""
    if loaded.grounded is None:
        return f"The task is {loaded.system.name}.{asked}"
    tables = loaded.grounded.tables()
    works = (f"{w.name} (required)" if w.required else w.name for w in tables.works.values())
    return f"The task is {loaded.system.name}. The agents are {', '.join(tables.agents)}. The work is {', '.join(works)}.{asked}"
