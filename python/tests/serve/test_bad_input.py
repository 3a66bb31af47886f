"""What clients must not send: each has its answer, and the service goes on."""

import json
import struct

import pytest

PAIR = {"name": "x", "datatype": "FP32", "shape": [1, 4]}
GOOD = {**PAIR, "data": [1, 2, 3, 4]}
DEEP = b'{"model": "tiny", "input": ' + b"[" * 10_000 + b"]" * 10_000 + b"}"


def _embed(**fields):
    return {"model": "tiny", "input": "x", **fields}


EMBEDDINGS = [
    ({}, 400, "model"),
    ([], 400, None),
    (_embed(model=7), 400, "model"),
    (_embed(model="../../etc/passwd"), 404, "model"),
    (_embed(model="roots"), 400, "model"),
    (_embed(input=""), 200, None),
    (_embed(input="\0 nul"), 200, None),
    (_embed(input="a" * 100_000), 200, None),
    (_embed(input=[]), 400, "input"),
    (_embed(input=None), 400, "input"),
    (_embed(input=5), 400, "input"),
    (_embed(input={"a": 1}), 400, "input"),
    (_embed(input=["x"] * 2049), 413, "input"),
    (_embed(input="a " * 300), 413, "input"),
    (_embed(input=["x", "a " * 300]), 413, "input[1]"),
    (_embed(input=[[]]), 400, "input[0]"),
    (_embed(input=["x", 1]), 400, "input"),
    (_embed(input=[True]), 400, "input"),
    (_embed(input=[-1]), 400, "input"),
    (_embed(input=[76]), 400, "input"),
    (_embed(input=[2**63]), 400, "input"),
    (_embed(input=[[1], [1.5]]), 400, "input[1]"),
    (_embed(input=[[1], [[1]]]), 400, "input[1]"),
    (_embed(input=[1] * 257), 413, "input"),
    (_embed(dimensions=0), 400, "dimensions"),
    (_embed(dimensions=33), 400, "dimensions"),
    (_embed(dimensions="8"), 400, "dimensions"),
    (_embed(encoding_format="hex"), 400, "encoding_format"),
]

RAW = [
    (b"", 400),
    (b"{", 400),
    (b"\xff\xfe", 400),
    (b'{"model": "tiny", "input": NaN}', 400),
    (b'{"model": "tiny", "input": "\\ud800"}', 400),
    (b'{"model": "no", "model": "tiny", "input": "x"}', 200),
    (DEEP, 400),
    (b'{"model": "tiny", "input": "x", "y": ' + b"[" * 40 + b"]" * 40 + b"}", 400),
    (b'{"model": "tiny", "input": "' + b"a" * (4 << 20) + b'"}', 413),
]

TENSORS = [
    ([], "inputs"),
    ({}, "inputs"),
    ([GOOD, GOOD], "there twice"),
    ([{**GOOD, "name": "z"}], "the model takes x"),
    ([{**GOOD, "datatype": "FP64"}], "must be FP32"),
    ([{**GOOD, "datatype": "BYTES"}], "must be FP32"),
    ([{**GOOD, "shape": [4]}], "must be [-1, 4]"),
    ([{**GOOD, "shape": [1, -4]}], "extents are integers"),
    ([{**GOOD, "shape": [1, True]}], "extents are integers"),
    ([{**GOOD, "shape": [2**33, 2**33]}], "elements"),
    ([{**GOOD, "shape": [2**70, 4]}], "extents are integers"),
    ([{**GOOD, "shape": [0, 4], "data": []}], "at least 1"),
    ([{**GOOD, "shape": [2, 4]}], "needs 8 elements"),
    ([{**GOOD, "data": [1, 2, 3, "4"]}], "not those of FP32"),
    ([{**GOOD, "data": [[1, 2], 3, 4]}], "several depths"),
    ([PAIR], "needs data"),
    ([{**GOOD, "parameters": 3}], "an object"),
    ([{**GOOD, "parameters": {"binary_data_size": 16}}], "both data and"),
    ([{**PAIR, "parameters": {"binary_data_size": -1}}], "up to the 16 bytes"),
    ([{**PAIR, "parameters": {"binary_data_size": 17}}], "up to the 16 bytes"),
    ([{**PAIR, "parameters": {"binary_data_size": 12}}], "need 16 bytes"),
    ([GOOD], "left behind"),
]


@pytest.mark.parametrize("body, status, param", EMBEDDINGS)
def test_embeddings(serving, body, status, param):
    answer = serving.post("/v1/embeddings", body)
    assert answer.status_code == status, answer.text[:300]
    if status != 200:
        error = answer.json()["error"]
        assert (error["type"], error["param"]) == ("invalid_request_error", param)


@pytest.mark.parametrize("body, status", RAW, ids=lambda one: str(one)[:40])
def test_bodies(serving, body, status):
    answer = serving.ask("POST", "/v1/embeddings", content=body)
    assert answer.status_code == status, answer.text[:300]


@pytest.mark.parametrize("inputs, text", TENSORS)
def test_tensors(serving, inputs, text):
    answer = _infer(serving, "roots", {"inputs": inputs}, b"\0" * 16)
    assert answer.status_code == 400 and text in answer.json()["error"], answer.text


@pytest.mark.parametrize(
    "body, text",
    [
        ({"inputs": [GOOD], "parameters": {"sequence_id": 1}}, "sequences"),
        ({"inputs": [GOOD], "parameters": {"priority": 300}}, "from 1 to 255"),
        ({"inputs": [GOOD], "parameters": {"timeout": -5}}, "parameters.timeout"),
        ({"inputs": [GOOD], "parameters": []}, "an object"),
        ({"inputs": [GOOD], "outputs": [{"name": "q"}]}, "the model gives y"),
        ({"inputs": [GOOD], "outputs": "y"}, "a list"),
    ],
)
def test_inference_requests(serving, body, text):
    answer = _infer(serving, "roots", body, b"")
    assert answer.status_code == 400 and text in answer.json()["error"], answer.text


def test_much_json_is_refused_where_many_bytes_are_not(serving):
    answer = serving.ask("POST", "/v2/models/roots/infer", content=b" " * ((4 << 20) + 1))
    assert answer.status_code == 413 and "send tensors as bytes" in answer.json()["error"]
    x = {**PAIR, "shape": [400_000, 4], "parameters": {"binary_data_size": 6_400_000}}
    answer = _infer(serving, "roots", {"inputs": [x]}, b"\0" * 6_400_000)
    assert answer.status_code == 413 and "2048 are the most" in answer.json()["error"]


@pytest.mark.parametrize("length", ["-1", "99999999", "x", "1" * 400, "0x10", "²"])
def test_lengths_of_headers(serving, length):
    headers = {"Inference-Header-Content-Length": length.encode()}
    answer = serving.ask("POST", "/v2/models/roots/infer", content=b"{}", headers=headers)
    assert answer.status_code == 400


@pytest.mark.parametrize(
    "data, count", [(b"", 1), (b"\1\0\0\0", 1), (b"\xff\xff\xff\xffabc", 1), (b"\0\0\0\0x", 1)]
)
def test_texts(serving, data, count):
    entry = {"name": "text", "datatype": "BYTES", "shape": [count],
             "parameters": {"binary_data_size": len(data)}}  # fmt: skip
    assert _infer(serving, "tiny", {"inputs": [entry]}, data).status_code == 400


def test_text_that_is_no_utf_8(serving):
    data = struct.pack("<I", 2) + b"\xff\xfe"
    entry = {"name": "text", "datatype": "BYTES", "shape": [1],
             "parameters": {"binary_data_size": len(data)}}  # fmt: skip
    assert "UTF-8" in _infer(serving, "tiny", {"inputs": [entry]}, data).json()["error"]


def test_paths_and_methods(serving):
    for method, path, status in (
        ("GET", "/v1/embeddings", 405),
        ("POST", "/v1/responses", 404),
        ("GET", "/v2/models/tiny/versions/2", 404),
        ("GET", "/v2/models/..%2f..%2fetc", 404),
        ("POST", "/v2/models/no/infer", 404),
        ("POST", "/models/tiny", 404),
    ):
        answer = serving.ask(method, path, json={})
        assert answer.status_code == status and answer.json()["error"], path


def test_deadlines_are_numbers(serving):
    for value in ("0", "-1", "x", "9" * 30):
        headers = {"x-troupe-deadline-ms": value}
        answer = serving.ask("POST", "/v1/embeddings", json=_embed(), headers=headers)
        assert answer.json()["error"]["param"] == "x-troupe-deadline-ms"


def _infer(serving, model, body, data):
    head = json.dumps(body).encode()
    headers = {"Inference-Header-Content-Length": str(len(head))}
    return serving.ask("POST", f"/v2/models/{model}/infer", content=head + data, headers=headers)
