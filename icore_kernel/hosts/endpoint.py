"""One POST over HTTP, bounded in time and size whatever the server does: what came back, or why nothing did. Never an exception.

Only the standard library. Proxies are taken from the environment, as everywhere in it; redirects are not followed, so that the key is
sent to no other host than the one that was named.
"""

from __future__ import annotations

import http.client
import os
import socket
import ssl
import threading
import time
import urllib.request
import zlib
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from types import TracebackType
from typing import Any
from urllib.error import URLError
from urllib.parse import urlsplit

from icore_kernel.hosts.mistakes import HostError
from icore_kernel.version import VERSION

AGAIN = frozenset({408, 425, 429})
"""Statuses below 500 after which the same request may succeed."""
_PIECE = 64 * 1024
_EXCERPT = 4 * 1024
"""Bytes of an error's body that are read for its message."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """What became of one attempt. `problem` is empty where `body` is a whole response. `again`: another attempt may succeed.

    `status` is None where there was no status line; `pause` is what the server asked to wait, in seconds; `body` beside a problem is the
    beginning of what the server said about it.
    """

    status: int | None
    body: bytes
    problem: str
    again: bool
    milliseconds: int
    pause: int | None = None


class Endpoint:
    """Where to post. Raises HostError for a URL that is not one of http or https, with what is wrong and without repeating it: it may
    hold a password."""

    def __init__(self, url: str, key_from_env: str | None, timeout: Fraction, largest: int) -> None:
        self.url = checked_url(url)
        self.key_from_env = key_from_env
        self.timeout = timeout
        self.largest = largest
        self.key()

    @property
    def place(self) -> str:
        """The address for messages and records: without the query, which may hold a key."""
        return urlsplit(self.url)._replace(query="").geturl()

    def key(self) -> str:
        """The key in the environment, empty where none is asked for. Raises HostError where it is missing or cannot stand in a header."""
        if self.key_from_env is None:
            return ""
        found = os.environ.get(self.key_from_env, "").strip()
        if not found:
            raise HostError(f"the environment variable {self.key_from_env} holds no key")
        if not found.isascii() or not found.isprintable() or " " in found:
            raise HostError(f"the key in the environment variable {self.key_from_env} has characters that no key has")
        return found

    def key_or_nothing(self) -> str:
        """The key, for looking for it in what comes back; empty where it is not there any more."""
        try:
            return self.key()
        except HostError:
            return ""

    def post(self, content: bytes) -> Exchange:
        """One attempt."""
        began = time.monotonic()
        watch = _Watch(float(self.timeout))
        status: int | None = None
        body, problem, again, pause = b"", "", False, None
        try:
            # The watch is first: which of two bounds ended an attempt would be left to chance.
            with watch, _opener(watch).open(self._request(content), timeout=float(self.timeout) + 1) as response:
                status = response.status
                pause = _seconds(response.headers.get("Retry-After"))
                if 200 <= response.status < 300:
                    body, problem, again = _whole(response, self.largest)
                else:
                    body, problem, again = _refused(response)
        except HostError as wrong:
            problem = str(wrong)
        except (OSError, http.client.HTTPException, ValueError) as broken:
            problem, again = _why(broken)
        if watch.expired:
            body, problem, again = b"", f"no whole answer within {_shown(self.timeout)} seconds", True
        return Exchange(status, body, problem, again, int((time.monotonic() - began) * 1000), pause)

    def _request(self, content: bytes) -> urllib.request.Request:
        headers = {"Content-Type": "application/json", "Accept": "application/json", "Accept-Encoding": "identity"}
        headers["User-Agent"] = f"icore/{VERSION}"
        request = urllib.request.Request(self.url, data=content, headers=headers, method="POST")
        key = self.key()
        if key:
            request.add_unredirected_header("Authorization", f"Bearer {key}")
        return request


def checked_url(url: str) -> str:
    """The URL of the completions of a base URL (`http://127.0.0.1:8000/v1`), or the URL itself where it is that already."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as wrong:
        raise HostError("this is no URL: its host or port cannot be read") from wrong
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise HostError("the URL of a host begins with http:// or https:// and names a machine")
    if parts.username is not None or parts.password is not None:
        raise HostError("the URL of a host holds no user or password: a key is taken from an environment variable")
    if port == 0 or not url.isascii() or not url.isprintable() or " " in url or parts.fragment:
        raise HostError("the URL of a host has a port above 0, no spaces, no fragment, and only ASCII characters")
    path = parts.path.rstrip("/")
    return parts._replace(path=path if path.endswith("/chat/completions") else f"{path}/chat/completions").geturl()


def _opener(watch: _Watch) -> urllib.request.OpenerDirector:
    return urllib.request.build_opener(_Http(watch), _Https(watch), _EveryStatus())


class _EveryStatus(urllib.request.HTTPErrorProcessor):
    """Hands every response on as it is: no status is an exception, and no redirect is followed."""

    def http_response(self, request: urllib.request.Request, response: Any) -> Any:
        return response

    https_response = http_response


class _Http(urllib.request.HTTPHandler):
    def __init__(self, watch: _Watch) -> None:
        super().__init__()
        self.watch = watch

    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(partial(_Connection, self.watch), req)


class _Https(urllib.request.HTTPSHandler):
    def __init__(self, watch: _Watch) -> None:
        super().__init__()
        self.watch = watch

    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(partial(_SecureConnection, self.watch), req)


class _Connection(http.client.HTTPConnection):
    def __init__(self, watch: _Watch, *args: Any, **keywords: Any) -> None:
        super().__init__(*args, **keywords)
        self._create_connection = watch.connect


class _SecureConnection(http.client.HTTPSConnection):
    def __init__(self, watch: _Watch, *args: Any, **keywords: Any) -> None:
        super().__init__(*args, **keywords)
        self._create_connection = watch.connect


class _Watch:
    """Ends a connection when its time is over. A socket's own time-out begins anew with every byte, this one does not."""

    def __init__(self, seconds: float) -> None:
        self.expired = False
        self._guarded: socket.socket | None = None
        self._lock = threading.Lock()
        self._timer = threading.Timer(seconds, self._expire)
        self._timer.daemon = True

    def connect(self, *args: Any, **keywords: Any) -> socket.socket:
        """A connection that is watched: through a duplicate, which stays valid when TLS takes the socket over."""
        made = socket.create_connection(*args, **keywords)
        with self._lock:
            self._guarded = made.dup()
            if self.expired:
                _shut(self._guarded)
        return made

    def _expire(self) -> None:
        with self._lock:
            self.expired = True
            if self._guarded is not None:
                _shut(self._guarded)

    def __enter__(self) -> None:
        self._timer.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._timer.cancel()
        with self._lock:
            if self._guarded is not None:
                self._guarded.close()
                self._guarded = None


def _shut(guarded: socket.socket) -> None:
    try:
        guarded.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # the other side was faster


def _whole(response: Any, largest: int) -> tuple[bytes, str, bool]:
    """(body, problem, again) of a response that succeeded: all of it, decompressed, up to `largest` bytes."""
    body = _upto(response, largest)
    if len(body) > largest:
        return b"", f"an answer above {largest:,} bytes", False
    if response.length:
        return b"", f"the answer is cut off: {response.length:,} bytes are missing", True
    encoding = (response.headers.get("Content-Encoding") or "identity").strip().lower()
    if encoding == "identity":
        return bytes(body), "", False
    if encoding not in ("gzip", "x-gzip"):
        return b"", "an answer in an encoding that was not asked for", False
    unpack = zlib.decompressobj(wbits=31)
    try:
        plain = unpack.decompress(body, largest + 1)
    except zlib.error:
        return b"", "an answer that is not the gzip it says it is", False
    if len(plain) > largest:
        return b"", f"an answer above {largest:,} bytes", False
    return (plain, "", False) if unpack.eof else (b"", "the answer is cut off within its gzip", True)


def _upto(response: Any, bound: int) -> bytearray:
    """The body, or its beginning of a little more than `bound` bytes."""
    body = bytearray()
    while len(body) <= bound and (piece := response.read1(_PIECE)):
        body += piece
    return body


def _refused(response: Any) -> tuple[bytes, str, bool]:
    """(beginning of the body, problem, again) of a response that did not succeed."""
    if 300 <= response.status < 400:
        return b"", f"HTTP {response.status}: redirects are not followed", False
    return bytes(_upto(response, _EXCERPT)), f"HTTP {response.status}", response.status >= 500 or response.status in AGAIN


def _why(broken: Exception) -> tuple[str, bool]:
    """What went wrong in words of our own: messages of the library may repeat what was sent."""
    reason = broken.reason if isinstance(broken, URLError) else broken
    match reason:
        case TimeoutError():
            return "the server does not answer in time", True
        case ssl.SSLCertVerificationError():
            return "the server's certificate is not accepted", False
        case ssl.SSLError():
            return "no TLS connection comes about", True
        case http.client.IncompleteRead():
            return "the answer is cut off", True
        case http.client.RemoteDisconnected() | ConnectionResetError() | BrokenPipeError():
            return "the server closed the connection", True
        case ConnectionRefusedError():
            return "nothing listens there: connection refused", True
        case socket.gaierror():
            return "the name of the machine is not known", True
        case OSError():
            return f"no connection: {os.strerror(reason.errno) if reason.errno else type(reason).__name__}", True
        case http.client.HTTPException():
            return f"the answer is not HTTP ({type(reason).__name__})", True
        case _:
            return f"the request cannot be made ({type(reason).__name__})", False


def _seconds(told: str | None) -> int | None:
    """Retry-After in seconds; its other form, a date, is not read."""
    text = (told or "").strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def _shown(seconds: Fraction) -> str:
    return str(seconds.numerator) if seconds.denominator == 1 else f"{float(seconds):g}"
