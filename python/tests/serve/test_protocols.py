"""The protocols, asked by the clients that people use."""

import base64
import pathlib
import re
import socket

import numpy as np
import pytest
from checkpoints import Reference

PAGE = pathlib.Path(__file__).parents[3] / "docs/serve/operations.md"


@pytest.fixture(scope="module")
def expected(serving, checkpoint):
    reference, tokenizer = Reference(checkpoint), serving.service.models["tiny"].tokenizer
    return lambda text: reference(tokenizer.encode(text).ids)


def test_openai_client(serving, expected):
    openai = pytest.importorskip("openai")
    with openai.OpenAI(api_key="any", base_url=serving.url + "/v1", max_retries=0) as client:
        assert [one.id for one in client.models.list()] == ["tiny", "roots", "smooth"]
        assert client.models.retrieve("tiny").owned_by == "troupe"
        # It asks for base64 by itself, and gives numbers.
        made = client.embeddings.create(model="tiny", input=["one text", "another"])
        for text, one in zip(("one text", "another"), made.data, strict=True):
            assert np.abs(one.embedding - expected(text)).max() < 1e-5
        assert made.usage.prompt_tokens == sum(map(len, ("onetext", "another"))) + 4
        cut = client.embeddings.create(
            model="tiny", input="one text", dimensions=8, encoding_format="float"
        )
        whole = expected("one text")[:8]
        assert np.abs(cut.data[0].embedding - whole / np.linalg.norm(whole)).max() < 1e-5
        with pytest.raises(openai.NotFoundError):
            client.embeddings.create(model="huge", input="x")
        with pytest.raises(openai.APIStatusError) as why:
            client.embeddings.create(model="tiny", input="poison")
        assert why.value.status_code == 424
        assert why.value.body["culprit"] is True


def test_tokens_and_base64(serving, expected):
    ids = serving.service.models["tiny"].tokenizer.encode("some text").ids
    answers = [
        serving.post(
            "/v1/embeddings", {"model": "tiny", "input": value, "encoding_format": "base64"}
        )
        for value in (ids, [ids], "some text", ["some text"])
    ]
    for one in answers:
        row = np.frombuffer(base64.b64decode(one.json()["data"][0]["embedding"]), "f4")
        assert np.abs(row - expected("some text")).max() < 1e-5
    ignored = serving.post("/v1/embeddings", {"model": "tiny", "input": "x", "colour": 1, "é\n": 2})
    assert ignored.headers["x-troupe-ignored"] == "colour"


def test_tei(serving, expected):
    rows = serving.post("/embed", {"inputs": ["a b c", "d"]}).json()
    assert np.abs(np.array(rows) - [expected("a b c"), expected("d")]).max() < 1e-5
    info = serving.ask("GET", "/info").json()
    assert (info["model_id"], info["max_input_length"]) == ("tiny", 256)
    long = "a " * 300
    assert serving.post("/embed", {"inputs": long}).status_code == 413
    cut = serving.post("/embed", {"inputs": long, "truncate": True}).json()
    assert np.abs(cut[0] - expected("a " * 254)).max() < 1e-5


def test_triton_client(serving, expected):
    triton = pytest.importorskip("tritonclient.http")
    with triton.InferenceServerClient(f"127.0.0.1:{serving.port}") as client:
        assert client.is_server_live() and client.is_server_ready()
        assert client.is_model_ready("tiny") and client.is_model_ready("roots", "1")
        assert client.get_server_metadata()["name"] == "troupe"
        assert client.get_model_metadata("roots")["inputs"] == [
            {"name": "x", "datatype": "FP32", "shape": [-1, 4]}
        ]
        x = np.arange(12, dtype="f4").reshape(3, 4)
        texts = np.array([b"some text", b"more"], object)
        for binary in (True, False):
            numbers = triton.InferInput("x", [3, 4], "FP32")
            numbers.set_data_from_numpy(x, binary_data=binary)
            wanted = [triton.InferRequestedOutput("y", binary_data=binary)]
            made = client.infer("roots", [numbers], outputs=wanted, request_id="7", priority=2)
            assert np.array_equal(made.as_numpy("y"), np.sqrt(x))
            assert made.get_response()["id"] == "7"
            words = triton.InferInput("text", [2], "BYTES")
            words.set_data_from_numpy(texts, binary_data=binary)
            made = client.infer("tiny", [words], timeout=20_000_000)
            rows = made.as_numpy("embedding")
            assert np.abs(rows - [expected("some text"), expected("more")]).max() < 1e-5
        with pytest.raises(triton.InferenceServerException, match="ended the model"):
            numbers.set_data_from_numpy(np.full((3, 4), 666, "f4"))
            client.infer("roots", [numbers])


def test_a_model_of_ones_own_with_json(serving):
    answer = serving.post("/models/roots", {"numbers": [1, 4, 9, 16]})
    assert answer.json() == {"numbers": [1, 2, 3, 4]}
    few = serving.post("/models/roots", {"numbers": [1]})
    assert (few.status_code, few.json()["error"]["message"]) == (400, "numbers must be four")
    assert serving.post("/models/roots", {}).status_code == 400
    raised = serving.post("/models/roots", {"numbers": [-1, 0, 0, 0]})
    assert (raised.status_code, raised.json()["error"]["code"]) == (424, "handler_failed")
    assert "negative" not in raised.text


def test_operations_are_shown(serving):
    for path in ("/livez", "/readyz", "/healthz", "/v2/health/ready", "/snapshot.json", "/top"):
        assert serving.ask("GET", path).status_code == 200, path
    page = serving.ask("GET", "/")
    assert "<title>" in page.text and "sha256-" in page.headers["content-security-policy"]
    metrics = serving.ask("GET", "/metrics").text
    assert 'troupe_serve_waiting_items{model="tiny"} 0' in metrics
    assert 'troupe_serve_batch_items_bucket{model="tiny",le="+Inf"} ' in metrics
    assert 'troupe_serve_requests_total{model="roots",outcome="ok"} ' in metrics
    of_batches = PAGE.read_text(encoding="utf-8").partition("A model that [generates]")[0]
    names = re.findall(r"troupe_serve_\w+", of_batches)
    assert names and all(f"# TYPE {one} " in metrics for one in names)
    assert "troupe_device_info" in metrics


def test_events_are_a_stream(serving):
    with socket.create_connection(("127.0.0.1", serving.port), 5) as to:
        to.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        seen = b""
        while b"event: rows" not in seen:
            seen += to.recv(4096)
    assert b"text/event-stream" in seen
