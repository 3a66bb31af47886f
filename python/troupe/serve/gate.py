"""The door: limits, who asks, and the whole body, before any route sees a request."""

from __future__ import annotations

import asyncio
import functools
import hashlib
import hmac
import math
import re
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple

from fastapi import Request
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

import troupe

from .errors import Problem, problem_of

if TYPE_CHECKING:
    from .service import Service

LOCAL = frozenset({b"localhost", b"127.0.0.1", b"[::1]"})
# Health is told to everybody.
_OPEN = frozenset(
    {"/livez", "/readyz", "/healthz", "/health", "/v2/health/live", "/v2/health/ready"}
)


# Bytes of a body that is read to its end although its request is refused.
_SHORT = 64 << 10

_KEY = r"([A-Za-z0-9_.-]{1,64})\s+([0-9a-f]{64})(?:\s+(\d{1,6}(?:\.\d{1,6})?))?"


class Limits(NamedTuple):
    """Of a request, and of all together."""

    body: int = 4 << 20
    tensors: int = 64 << 20  # a body of the KServe protocol
    bodies: int = 256 << 20  # all that are there at once
    head: int = 16 << 10
    connections: int = 1024
    seconds: float = 10.0  # for the head, and then for the body
    idle: float = 60.0  # a connection that sends nothing


class Keys:
    """Keys of a file, as hashes: a line is a tenant's name, the SHA-256 of its key in hex, and its
    share of the device, if that is not 1."""

    def __init__(self, text: str) -> None:
        self._tenants: list[tuple[bytes, str]] = []
        self.shares: dict[str, float] = {}
        for number, line in enumerate(text.splitlines(), 1):
            if not line.strip() or line.startswith("#"):
                continue
            found = re.fullmatch(_KEY, line.strip())
            if found is None or found[3] and not float(found[3]):
                raise ValueError(f"line {number} is no tenant, SHA-256 of a key and share")
            self._tenants.append((bytes.fromhex(found[2]), found[1]))
            if found[3]:
                self.shares[found[1]] = float(found[3])
        if not self._tenants:
            raise ValueError("it has no keys")

    def tenant(self, authorization: bytes) -> str | None:
        """Whose key it is; takes as long whichever it is."""
        kind, _, key = authorization.partition(b" ")
        mine = hashlib.sha256(key.strip()).digest()
        found = None
        for one, tenant in self._tenants:
            if hmac.compare_digest(one, mine):
                found = tenant
        return found if kind.lower() == b"bearer" else None


class Gate:
    """The application of ASGI around all others."""

    def __init__(self, app: Any, service: Service, limits: Limits) -> None:
        self.app, self.service, self.limits = app, service, limits
        self.bytes = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)  # type: ignore[no-any-return]
        held = [0]
        try:
            self._admit(scope)
            body = await self._body(scope, receive, held)
        except Problem as why:
            # The rest of the body is not read: the connection ends with the answer.
            answer = why.response(scope["path"])
            answer.headers["connection"] = "close"
            await answer(scope, receive, send)
        else:
            try:
                self._check(scope)
            except Problem as why:
                await why.response(scope["path"])(scope, receive, send)
            else:
                await self._run(scope, body, receive, send)
        finally:
            self.bytes -= held[0]

    def _admit(self, scope: Any) -> None:
        headers = dict(scope["headers"])
        if sum(len(name) + len(value) for name, value in scope["headers"]) > self.limits.head:
            raise Problem(431, f"the head has more than {self.limits.head} bytes")
        host = headers.get(b"host", b"")
        if self.service.local and re.sub(rb":\d+$", b"", host) not in LOCAL:
            raise Problem(421, "this server is asked as localhost or 127.0.0.1")
        path = scope["path"]
        scope["state"] = {**scope.get("state", {}), "tenant": ""}
        if path in _OPEN:
            return
        if self.service.keys is not None:
            tenant = self.service.keys.tenant(headers.get(b"authorization", b""))
            if tenant is None:
                raise Problem(401, "a key is needed", kind="authentication_error")
            scope["state"]["tenant"] = tenant
        if self.service.draining and scope["method"] == "POST":
            raise Problem(503, "the server is about to end", kind="server_error", retry_after=1)
        if headers.get(b"content-encoding", b"identity") != b"identity":
            raise Problem(415, "bodies are not taken in compressed form")

    async def _body(self, scope: Any, receive: Any, held: list[int]) -> bytes:
        most = self.limits.tensors if scope["path"].startswith("/v2/") else self.limits.body
        length = dict(scope["headers"]).get(b"content-length", b"0")
        if int(length) > most:
            raise Problem(413, f"the body has more than {most} bytes")
        parts = []
        try:
            async with asyncio.timeout(self.limits.seconds):
                more = True
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise Problem(400, "the body has not ended")
                    part = message.get("body", b"")
                    held[0] += len(part)
                    self.bytes += len(part)
                    if held[0] > most:
                        raise Problem(413, f"the body has more than {most} bytes")
                    if self.bytes > self.limits.bodies:
                        raise Problem(
                            503, "overloaded: bytes", kind="overloaded_error", retry_after=1
                        )
                    parts.append(part)
                    more = message.get("more_body", False)
        except TimeoutError:
            raise Problem(408, f"the body took more than {self.limits.seconds:g} s") from None
        return b"".join(parts)

    def _check(self, scope: Any) -> None:
        """Under overload most requests are refused: before anything is made of their bodies."""
        model = self.service.asked_by(scope["path"])
        if model is None:
            return
        terms = self.service.terms(Request(scope))
        try:
            model.check(terms)
        except troupe.Failure as why:
            raise problem_of(why) from None

    def refuses(self, path: str, headers: list[tuple[bytes, bytes]]) -> bytes | None:
        """The whole answer to a POST that the queue would refuse; None if it has to be looked at."""
        if self.service.state != "ready":
            return None
        scope = {"type": "http", "method": "POST", "path": path, "headers": headers}
        try:
            self._admit(scope)
        except Problem:
            return None
        try:
            self._check(scope)
        except Problem as why:
            if why.status_code not in (429, 503):
                return None
            return _whole(path, why.status_code, why.detail, math.ceil(why.retry_after or 0))
        return None

    async def _run(self, scope: Any, body: bytes, receive: Any, send: Any) -> None:
        """Runs the route, and cancels it when its client is gone: its items leave the queue."""
        given, answered = False, False

        async def again() -> Any:
            nonlocal given
            if given:
                return await asyncio.Future()  # the watch below hears of the end
            given = True
            return {"type": "http.request", "body": body, "more_body": False}

        async def sent(message: Any) -> None:
            nonlocal answered
            if message["type"] == "http.response.body" and not message.get("more_body", False):
                answered = True
            await send(message)

        task = asyncio.current_task()
        assert task is not None

        async def watch() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            if not answered:
                task.cancel()

        watching = asyncio.ensure_future(watch())
        counted = scope["method"] == "POST"  # a page that is open holds no drain up
        self.service.running += counted
        try:
            await self.app(scope, again, sent)
        except asyncio.CancelledError:
            if not watching.done():
                raise
        except Exception:
            if not answered:  # else it is in the log, with its id
                raise
        finally:
            self.service.running -= counted
            watching.cancel()


@functools.lru_cache(256)
def _whole(path: str, status: int, text: str, retry_after: int) -> bytes:
    """An answer of HTTP, but for the lines that all of them have."""
    why = Problem(status, text, kind="overloaded_error", retry_after=retry_after or None)
    answer = why.response(path)
    lines = [
        b"HTTP/1.1 %d %s" % (answer.status_code, HTTPStatus(answer.status_code).phrase.encode())
    ]
    lines += [name + b": " + value for name, value in answer.raw_headers]
    return b"\r\n".join([*lines, b"", b""]) + bytes(answer.body)


class Limited(HttpToolsProtocol):
    """uvicorn's protocol, with limits of what comes before a request is one: size and time of its head.

    Under overload most requests are refused, and none of them should cost what an answer does: if
    the gate refuses one with a short body, the body is dropped, and no task is made for it.
    """

    limits: Limits
    gate: Gate
    _head = 0
    _late: asyncio.TimerHandle | None = None
    _body: asyncio.TimerHandle | None = None  # until a refused request's body has ended
    _refusal: bytes | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._late = self.loop.call_later(self.limits.idle, transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        self._in_time()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        idle = self.cycle is None or self.cycle.response_complete
        if idle and self._head == 0:  # a head begins
            self._in_time()
            self._late = self.loop.call_later(self.limits.seconds, self.transport.close)
        super().data_received(data)
        if self._late is None:
            self._head = 0
        else:
            self._head += len(data)
            if self._head > self.limits.head:
                self.transport.close()

    def on_headers_complete(self) -> None:
        self._in_time()
        self._refusal = self._refused()
        if self._refusal is None:
            return super().on_headers_complete()
        self._body = self.loop.call_later(self.limits.seconds, self.transport.close)

    def on_body(self, body: bytes) -> None:
        if self._refusal is None:
            super().on_body(body)

    def on_message_complete(self) -> None:
        if self._refusal is None:
            return super().on_message_complete()
        date = b"".join(b"%s: %s\r\n" % one for one in self.server_state.default_headers)
        status, _, rest = self._refusal.partition(b"\r\n")
        self._refusal = None
        self._in_time()
        self.transport.write(status + b"\r\n" + date + rest)
        self.on_response_complete()

    def _refused(self) -> bytes | None:
        """What the gate says to a request that may end here and now."""
        idle = self.cycle is None or self.cycle.response_complete
        if not idle or self.parser.get_method() != b"POST" or self.expect_100_continue:
            return None
        if self.parser.get_http_version() != "1.1" or not self.parser.should_keep_alive():
            return None
        names = [name for name, _ in self.headers]
        if b"transfer-encoding" in names or names.count(b"content-length") != 1:
            return None
        length = self.headers[names.index(b"content-length")][1]
        if len(length) > 6 or int(length) > _SHORT or b"%" in self.url:
            return None
        path = self.url.partition(b"?")[0].decode("latin-1")
        return self.gate.refuses(path, self.headers)

    def _in_time(self) -> None:
        for timer in (self._late, self._body):
            if timer is not None:
                timer.cancel()
        self._late = self._body = None


def protocol(limits: Limits, gate: Gate) -> type[Limited]:
    """uvicorn makes one for each connection."""
    return type("Protocol", (Limited,), {"limits": limits, "gate": gate})
