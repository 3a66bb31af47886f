"""Bodies with random bytes and pieces changed: each has an answer, and none is a failure of ours."""

import json
import random
import struct

SEEDS = [
    ("/v1/embeddings", b'{"model": "tiny", "input": ["a", "b"], "dimensions": 3}', None),
    ("/embed", b'{"inputs": [[5, 6], [7]], "truncate": true}', None),
    ("/models/roots", b'{"numbers": [1, 2, 3, 4]}', None),
    ("/v2/models/tiny/infer", {"name": "text", "datatype": "BYTES", "shape": [2]}, b"\2\0\0\0hi\0\0\0\0"),
    ("/v2/models/roots/infer", {"name": "x", "datatype": "FP32", "shape": [1, 4]},
     struct.pack("<4f", 1, 2, 3, 4)),
]  # fmt: skip
PIECES = [
    b"null",
    b"-1",
    b"1e400",
    b"{}",
    b"[]",
    b'""',
    b"9" * 25,
    b'"\\ud800"',
    b"\xff",
    b"",
    b"true",
]


def _changed(data: bytes, pick: random.Random) -> bytes:
    for _ in range(pick.choice((1, 1, 2, 5))):
        at, end = sorted(pick.randrange(len(data) + 1) for _ in range(2))
        end = min(end, at + pick.choice((0, 1, 4)))
        piece = pick.choice((*PIECES, bytes([pick.randrange(256)]), data[at : at + 9]))
        data = data[:at] + piece + data[end:]
    return data


def test_no_change_of_a_body_is_a_failure_of_ours(serving):
    pick = random.Random(20261127)
    seen = set()
    for turn in range(400):
        path, body, tensor = SEEDS[turn % len(SEEDS)]
        headers = {}
        if tensor is not None:
            entry = {**body, "parameters": {"binary_data_size": len(tensor)}}
            head = json.dumps({"inputs": [entry]}).encode()
            if pick.random() < 0.7:
                head = _changed(head, pick)
            else:
                tensor = _changed(tensor, pick)
            headers["Inference-Header-Content-Length"] = str(
                len(head) + pick.choice((0, 0, 0, 1, -1))
            )
            body = head + tensor
        else:
            body = _changed(body, pick)
        answer = serving.ask("POST", path, content=body, headers=headers)
        seen.add(answer.status_code)
        assert answer.status_code in (200, 400, 404, 413, 422, 424), (path, body, answer.text)
        answer.json() if answer.headers["content-type"] == "application/json" else None
    assert {200, 400} <= seen
