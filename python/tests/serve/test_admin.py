"""What an operator changes while requests come: models are swapped, and nobody notices."""

import asyncio
import json
import stat
import threading

import numpy as np
import pytest
from checkpoints import Reference, write
from troupe.serve import ctl
from troupe.serve.admin import listening
from troupe.serve.service import _Coming


@pytest.fixture
def control(serving, tmp_path, capfd):
    """Runs ctl; gives what it prints, and raises what it refuses."""
    path, stop = tmp_path / "admin", asyncio.Event()
    ready = threading.Event()

    async def listen():
        async with listening(serving.service, path):
            ready.set()
            await stop.wait()

    running = asyncio.run_coroutine_threadsafe(listen(), serving.loop)
    ready.wait(5)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600

    def ask(*words):
        status = ctl.main(["--socket", str(path), *words])
        said = capfd.readouterr()
        if status:
            raise ValueError(said.err)
        return json.loads(said.out)

    yield ask
    serving.loop.call_soon_threadsafe(stop.set)
    running.result(5)
    assert not path.exists()


def test_a_model_is_swapped_under_load(serving, control, checkpoint, tmp_path_factory):
    folders = [checkpoint, write(tmp_path_factory.mktemp("other"), seed=2)]
    control("load", f"moving={folders[0]}")
    ids = serving.service.models["moving"].tokenizer.encode("a text").ids
    right = [Reference(one)(ids) for one in folders]
    body = {"model": "moving", "input": "a text", "encoding_format": "float"}
    statuses, seen, over = [], [], False

    async def client():
        while not over:
            answer = await serving.client.post("/v1/embeddings", json=body)
            statuses.append(answer.status_code)
            seen.append(answer.json()["data"][0]["embedding"])

    async def clients():
        await asyncio.gather(*(client() for _ in range(8)))

    load = asyncio.run_coroutine_threadsafe(clients(), serving.loop)
    for turn in range(4):
        made = control("swap", f"moving={folders[(turn + 1) % 2]}")
        assert made == {"version": str(turn + 2)}
    over = True
    load.result(10)
    assert set(statuses) == {200}
    near = np.array([[np.abs(one - y).max() for y in right] for one in seen])
    assert near.min(1).max() < 1e-5  # each is of one version
    assert (near.argmin(1) == 0).any() and (near.argmin(1) == 1).any()
    assert serving.ask("GET", "/v2/models/moving").json()["versions"] == ["5"]
    control("unload", "moving")
    assert serving.post("/v1/embeddings", body).status_code == 404


def test_canaries_keep_a_version_out_that_answers_otherwise(
    serving, control, checkpoint, tmp_path, tmp_path_factory
):
    control("load", f"kept={checkpoint}")
    (tmp_path / "texts").write_text("a text\n\nanother\n")
    canaries = ("--canaries", str(tmp_path / "texts"), "--least", "0.999")
    other = write(tmp_path_factory.mktemp("other"), seed=2)
    with pytest.raises(ValueError, match="canary 0: the likeness is"):
        control("swap", f"kept={other}", *canaries)
    assert serving.ask("GET", "/v2/models/kept").json()["versions"] == ["1"]
    assert control("swap", f"kept={checkpoint}", *canaries) == {"version": "2"}
    for words in (("--share", "2"), ("--over", "-1"), ("--least", "nan")):
        with pytest.raises(ValueError):
            control("swap", f"kept={other}", *words)
    control("unload", "kept")


def test_a_version_comes_bit_by_bit(serving, control, checkpoint):
    control("load", f"shifted={checkpoint}")
    service = serving.service
    old, new = service.models["shifted"], type("Next", (), {"version": "2"})()
    service._coming["shifted"] = _Coming(new, 0.25)
    try:
        picked = [service.model("shifted") for _ in range(100)]
        assert picked.count(new) == 25 and picked.count(old) == 75
        assert service.model("shifted", "1") is old and service.model("shifted", "2") is new
    finally:
        del service._coming["shifted"]
    seen, over = set(), False
    x = {"name": "text", "datatype": "BYTES", "shape": [1], "data": ["a"]}

    async def client():
        while not over:
            answer = await serving.client.post("/v2/models/shifted/infer", json={"inputs": [x]})
            seen.add((answer.status_code, answer.json()["model_version"]))

    load = asyncio.run_coroutine_threadsafe(client(), serving.loop)
    made = control("swap", f"shifted={checkpoint}", "--share", "0.2", "--over", "0.3")
    over = True
    load.result(10)
    assert made == {"version": "2"} and seen <= {(200, "1"), (200, "2")}
    for version, status in (("1", 404), ("2", 200)):
        path = f"/v2/models/shifted/versions/{version}/infer"
        assert serving.post(path, {"inputs": [x]}).status_code == status
    control("unload", "shifted")


def test_a_worker_is_renewed_under_load(serving, control):
    before, over, answers = serving.service.device.generation, False, []

    async def client():
        while not over:
            answers.append(await serving.client.post("/models/roots", json={"numbers": [4] * 4}))

    async def clients():
        await asyncio.gather(*(client() for _ in range(8)))

    load = asyncio.run_coroutine_threadsafe(clients(), serving.loop)
    assert control("renew")["generation"] > before
    over = True
    load.result(10)
    assert {one.status_code for one in answers} == {200}


def test_what_fails_changes_nothing(serving, control, checkpoint, tmp_path):
    (tmp_path / "other").mkdir()
    for words, text in (
        (("load", f"tiny={checkpoint}"), "swap it"),
        (("swap", f"nothing={checkpoint}"), "no model"),
        (("swap", f"tiny={tmp_path}"), "config.json is missing"),
        (("swap", "own_model.py"), "no such file"),
        (("unload", "nothing"), "no model"),
        (("explode",), "no such command"),
    ):
        with pytest.raises(ValueError, match=text):
            control(*words)
    assert serving.post("/v1/embeddings", {"model": "tiny", "input": "x"}).status_code == 200


def test_culprits_are_forgiven(serving, control):
    body = {"model": "tiny", "input": "poison of its own kind"}
    first, second = (serving.post("/v1/embeddings", body) for _ in range(2))
    assert first.json()["error"]["code"] == "device_fault"
    assert second.json()["error"]["code"] == "poisonous" and "retry-after" in second.headers
    (mine,) = (one for one in [control("quarantine")["tiny"]] if one)
    assert mine[0]["offences"] == 1
    assert control("forgive", "tiny")["forgiven"] >= 1
    assert serving.post("/v1/embeddings", body).json()["error"]["code"] == "device_fault"
    control("forgive")
    assert control("models")["tiny"]["version"] == "1"
