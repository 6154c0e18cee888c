"""A server on 127.0.0.1 that answers as the test says: every connection takes the next behaviour, the last one stays."""

from __future__ import annotations

import gzip
import json
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

Behaviour = Callable[[socket.socket, bytes], None]
"""What is done with a connection, given the body of the request."""


class Server:
    """`requests`: (head, body) of each request that came in whole."""

    def __init__(self, behaviours: Sequence[Behaviour], context: ssl.SSLContext | None = None) -> None:
        self.behaviours = list(behaviours)
        self.context = context
        self.requests: list[tuple[str, bytes]] = []
        self.closing = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"{'https' if context else 'http'}://127.0.0.1:{self._listener.getsockname()[1]}/v1"
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def _accept(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            if self.closing.is_set():
                connection.close()
                return
            behaviour = self.behaviours.pop(0) if len(self.behaviours) > 1 else self.behaviours[0]
            thread = threading.Thread(target=self._serve, args=(connection, behaviour))
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket, behaviour: Behaviour) -> None:
        if self.context is not None:
            try:
                connection = self.context.wrap_socket(connection, server_side=True)
            except OSError:
                return  # the client does not know the certificate
        with connection:
            connection.settimeout(10)
            received = b""
            while b"\r\n\r\n" not in received:
                piece = connection.recv(65536)
                if not piece:
                    return  # the client went away before it had asked
                received += piece
            head, _, body = received.partition(b"\r\n\r\n")
            length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length"))
            while len(body) < length:
                body += connection.recv(65536)
            self.requests.append((head.decode("latin-1"), body))
            try:
                behaviour(connection, body)
            except OSError:
                return  # the client gave up, as it should

    def sent(self, number: int = 0) -> Any:
        """The JSON of a request."""
        return json.loads(self.requests[number][1])

    def close(self) -> None:
        self.closing.set()
        socket.create_connection(self._listener.getsockname()).close()
        for thread in self._threads:
            thread.join(15)
            assert not thread.is_alive()
        self._listener.close()


@contextmanager
def serving(*behaviours: Behaviour, context: ssl.SSLContext | None = None) -> Iterator[Server]:
    server = Server(behaviours, context)
    try:
        yield server
    finally:
        server.close()


# ---- behaviours ---------------------------------------------------------------------------------------------------------------


def raw(content: bytes) -> Behaviour:
    return lambda connection, request: connection.sendall(content)


def status(code: int, body: bytes = b"", **headers: str) -> Behaviour:
    lines = [
        f"HTTP/1.1 {code} X",
        f"Content-Length: {len(body)}",
        *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items()),
    ]
    return raw("\r\n".join([*lines, "Connection: close", "", ""]).encode() + body)


def completion(content: str | None, usage: Any = None, **more: Any) -> bytes:
    """The usual envelope around an answer."""
    found: dict[str, Any] = {
        "id": "x",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": content}}],
        "time": 0.25,
        **more,
    }
    return json.dumps(found if usage is None else {**found, "usage": usage}).encode()


def answer(index: Any, reasoning: Any = "because", usage: Any = None, **headers: str) -> Behaviour:
    return status(200, completion(json.dumps({"candidate_index": index, "reasoning": reasoning}), usage), **headers)


def choosing(pick: Callable[[list[dict[str, Any]]], int]) -> Behaviour:
    """The index that is picked from the candidates of the request."""

    def choose(connection: socket.socket, request: bytes) -> None:
        user = json.loads(json.loads(request)["messages"][1]["content"])
        answer(pick(user["candidate_actions"]))(connection, request)

    return choose


def content(text: str | None) -> Behaviour:
    """200, with this as what the model said."""
    return status(200, completion(text))


def silent(connection: socket.socket, request: bytes) -> None:
    """Says nothing, until the client goes away."""
    connection.recv(1)


def reset(connection: socket.socket, request: bytes) -> None:
    """Closes with a reset instead of an end."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def close(connection: socket.socket, request: bytes) -> None:
    """Closes without a word."""


def dripping(body: bytes, headers_too: bool = False, dripped: list[bytes] | None = None) -> Behaviour:
    """A byte every 50 ms: no single read takes long. `dripped` gets each byte that could be sent."""

    def drip(connection: socket.socket, request: bytes) -> None:
        head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body)
        if not headers_too:
            connection.sendall(head)
        for byte in (head if headers_too else b"") + body:
            connection.sendall(bytes([byte]))
            if dripped is not None:
                dripped.append(bytes([byte]))
            time.sleep(0.05)

    return drip


def endless(head: bytes) -> Behaviour:
    """The same again and again, until the client goes away."""

    def repeat(connection: socket.socket, request: bytes) -> None:
        while True:
            connection.sendall(head)
            time.sleep(0.01)

    return repeat


def flood(connection: socket.socket, request: bytes) -> None:
    """A body without end, as fast as it goes."""
    connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        connection.sendall(b" " * 65_536)


def cut(body: bytes, missing: int = 7) -> Behaviour:
    """Fewer bytes than announced."""
    return raw(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body[:-missing])


def chunked(*pieces: bytes, whole: bool = True) -> Behaviour:
    coded = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + (b"0\r\n\r\n" if whole else b"")
    return raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + coded)


def gzipped(body: bytes, missing: int = 0) -> Behaviour:
    packed = gzip.compress(body)
    return status(200, packed[: len(packed) - missing], Content_Encoding="gzip")
