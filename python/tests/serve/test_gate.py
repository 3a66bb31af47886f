"""Limits of connections, heads and bodies; keys; what leaves the queue with its client."""

import hashlib
import socket
import time

import orjson
import pytest
from troupe.serve.gate import Keys


def _raw(serving, data: bytes, seconds: float = 3) -> bytes:
    """The answer to bytes on a connection of its own, until it ends."""
    with socket.create_connection(("127.0.0.1", serving.port), seconds) as to:
        to.sendall(data)
        seen = b""
        try:
            while part := to.recv(1 << 16):
                seen += part
        except ConnectionResetError:
            pass
        return seen


POST = b"POST /v1/embeddings HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
BODY = b'{"model": "tiny", "input": "x"}'
LENGTH = b"Content-Length: %d\r\n" % len(BODY)


@pytest.mark.parametrize(
    "data, status",
    [
        (POST + LENGTH + b"\r\n" + BODY, b"200"),
        (POST + LENGTH + b"Expect: 100-continue\r\n\r\n" + BODY, b"100"),
        # A body that is announced as too long is not read.
        (POST + b"Content-Length: 100000000\r\n\r\n", b"413"),
        (POST + b"Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n", b"408"),
        (POST + b"Content-Length: 50\r\n\r\nhalf", b"408"),
        (POST + LENGTH + b"Transfer-Encoding: chunked\r\n\r\n" + BODY, b"400"),
        (POST + LENGTH + b"Content-Encoding: gzip\r\n\r\n" + BODY, b"415"),
        (POST + LENGTH + b"X: " + b"x" * 17_000 + b"\r\n\r\n" + BODY, b"431"),
        (POST.replace(b"localhost", b"evil.example") + LENGTH + b"\r\n" + BODY, b"421"),
        (b"\0" * 100, b"400"),
        # Heads that do not end.
        (b"GET / HTTP/1.1\r\n", b""),
        (b"", b""),
    ],
)
def test_connections(serving, data, status):
    answer = _raw(serving, data)
    assert answer[9:12] == status, answer[:200]


def test_a_head_without_end_is_cut(serving):
    begin = time.monotonic()
    with socket.create_connection(("127.0.0.1", serving.port), 3) as to:
        to.sendall(b"GET / HTTP/1.1\r\n")
        with pytest.raises(OSError):
            while time.monotonic() - begin < 3:
                to.sendall(b"X: y\r\n" * 400)
                time.sleep(0.01)


def test_a_chunked_body_counts_as_it_comes(serving):
    chunk = b"100000\r\n" + b" " * (1 << 20) + b"\r\n"
    answer = _raw(serving, POST + b"Transfer-Encoding: chunked\r\n\r\n" + 6 * chunk)
    assert answer[9:12] == b"413" or answer == b""
    assert serving.gate.bytes == 0


def test_requests_that_come_together_are_answered_in_order(serving):
    keep = POST.replace(b"Connection: close\r\n", b"")
    answer = _raw(serving, keep + LENGTH + b"\r\n" + BODY + b"GET /nowhere HTTP/1.1\r\n"
                  b"Host: localhost\r\n\r\n" + POST + LENGTH + b"\r\n" + BODY)  # fmt: skip
    assert [one[:3] for one in answer.split(b"HTTP/1.1 ")[1:]] == [b"200", b"404", b"200"]


def test_items_of_a_client_that_is_gone_leave(serving):
    body = b'{"model": "tiny", "input": [' + b", ".join([b'"a b c d"'] * 2000) + b"]}"
    with socket.create_connection(("127.0.0.1", serving.port), 3) as to:
        to.sendall(POST + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        while not serving.service.running:
            time.sleep(0.001)
    until = time.monotonic() + 3
    while serving.service.running and time.monotonic() < until:
        time.sleep(0.005)
    assert serving.service.running == 0
    assert serving.post("/v1/embeddings", {"model": "tiny", "input": "x"}).status_code == 200


def test_keys_name_tenants(serving):
    digest = hashlib.sha256(b"secret").hexdigest()
    keys = Keys(f"# one\nalice {digest}\n\n")
    assert keys.tenant(b"Bearer secret") == "alice"
    assert [keys.tenant(one) for one in (b"Bearer other", b"Basic secret", b"")] == [None] * 3
    assert Keys(f"alice {digest} 2.5\nbob {digest[::-1]}").shares == {"alice": 2.5}
    for text in ("", "alice secret", f"a b {digest}", f"a {digest} x", f'"a {digest}'):
        with pytest.raises(ValueError):
            Keys(text)
    serving.service.keys = keys
    try:
        body = {"model": "tiny", "input": "x"}
        refused = serving.post("/v1/embeddings", body)
        assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
        headers = {"authorization": "Bearer secret"}
        assert serving.ask("POST", "/v1/embeddings", json=body, headers=headers).status_code == 200
        assert serving.ask("GET", "/metrics").status_code == 401
        assert serving.ask("GET", "/readyz").status_code == 200
    finally:
        serving.service.keys = None


def test_a_service_that_loads_or_ends_says_so(serving):
    body = {"model": "tiny", "input": "x"}
    for state in ("loading", "draining"):
        serving.service.state = state
        try:
            ready = serving.ask("GET", "/readyz")
            assert (ready.status_code, ready.json()["reason"]) == (503, state)
            refused = serving.post("/v1/embeddings", body)
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
            assert serving.ask("GET", "/livez").status_code == 200
        finally:
            serving.service.state = "ready"
    assert serving.post("/v1/embeddings", body).status_code == 200


@pytest.mark.parametrize("reason, status", [("items", 503), ("deadline", 503), ("tenant", 429)])
def test_under_overload_a_body_is_not_looked_at(serving, monkeypatch, reason, status):
    from troupe.serving import Refused

    def check(**terms):
        assert terms == {"tenant": "", "priority": 1, "deadline": 0.5}
        raise Refused("full", reason=reason, retry_after=2.2)

    monkeypatch.setattr(serving.service.models["roots"].batcher, "check", check)
    headers = {"x-troupe-deadline-ms": "500"}
    answer = serving.ask("POST", "/models/roots", content=b"no JSON", headers=headers)
    assert (answer.status_code, answer.headers["retry-after"]) == (status, "3")
    assert answer.json()["error"]["type"] == "overloaded_error"
    assert "connection" not in answer.headers


def test_what_the_queue_refuses_costs_no_task_and_keeps_the_connection(serving, monkeypatch):
    from troupe.serving import Refused

    made = []

    def check(**terms):
        raise Refused("full", reason="items", retry_after=2.2)

    monkeypatch.setattr(serving.service.models["roots"].batcher, "check", check)
    monkeypatch.setattr(serving.gate, "_run", made.append)
    before = serving.service.models["roots"].statistics()["rejected_total"].get("items", 0)
    head = "POST /models/roots HTTP/1.1\r\nHost: localhost\r\nContent-Length: 28\r\n\r\n"
    asked = (head + '{"numbers": [1, 4, 9, 16]}  ').encode()
    with socket.create_connection(("127.0.0.1", serving.port), 5) as to:
        answers = to.makefile("rb")

        def answer():
            lines = iter(answers.readline, b"\r\n")
            status, *headers = [one.decode().strip().lower() for one in lines]
            fields = dict(one.split(": ", 1) for one in headers)
            return int(status.split()[1]), fields, answers.read(int(fields["content-length"]))

        for parts in ([asked], [asked * 2], [asked[i : i + 1] for i in range(len(asked))]):
            for one in parts:
                to.sendall(one)
            for _ in range(max(1, sum(map(len, parts)) // len(asked))):
                status, fields, body = answer()
                assert (status, fields["retry-after"]) == (503, "3") and "date" in fields
                assert orjson.loads(body)["error"]["type"] == "overloaded_error"
        monkeypatch.undo()
        to.sendall(asked)
        status, _, body = answer()
        assert (status, orjson.loads(body)) == (200, {"numbers": [1, 2, 3, 4]})
    assert made == []
    assert serving.service.models["roots"].statistics()["rejected_total"]["items"] == before + 4


@pytest.mark.parametrize(
    "head, status",
    [
        ("Host: evil\r\nContent-Length: 2\r\n", 421),
        ("Host: localhost\r\nContent-Length: 2\r\nContent-Encoding: gzip\r\n", 415),
        ("Host: localhost\r\nContent-Length: 99999999\r\n", 413),
        ("Host: localhost\r\nContent-Length: 2\r\nExpect: 100-continue\r\n", 503),
        ("Host: localhost\r\nTransfer-Encoding: chunked\r\n", 503),
        ("Host: localhost\r\nContent-Length: 3\r\n", None),  # its body does not end
        ("Host: localhost\r\nContent-Length: 2\r\nx-troupe-deadline-ms: soon\r\n", 400),
    ],
)
def test_a_full_queue_hides_no_other_reason(serving, monkeypatch, head, status):
    from troupe.serving import Refused

    def check(**terms):
        raise Refused("full", reason="items", retry_after=1.0)

    monkeypatch.setattr(serving.service.models["roots"].batcher, "check", check)
    body = b"2\r\n{}\r\n0\r\n\r\n" if "chunked" in head else b"{}"
    with socket.create_connection(("127.0.0.1", serving.port), 5) as to:
        to.sendall(f"POST /models/roots HTTP/1.1\r\n{head}\r\n".encode())
        if "100-continue" in head:
            assert to.recv(100).startswith(b"HTTP/1.1 100")
        to.sendall(body)
        said = to.recv(100)
        assert said == b"" if status is None else said.split()[1] == str(status).encode()
