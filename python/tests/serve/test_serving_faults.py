"""A fault costs the items that caused it, and no other."""

import asyncio
import os
import signal

import numpy as np


def _body(text):
    return {"model": "tiny", "input": text, "encoding_format": "float"}


async def _all(serving, texts):
    asked = (serving.client.post("/v1/embeddings", json=_body(one)) for one in texts)
    return await asyncio.gather(*asked)


def _vectors(answers):
    return np.array([one.json()["data"][0]["embedding"] for one in answers])


def test_one_of_a_batch_is_poisoned(serving):
    texts = [f"text {i}" for i in range(32)]
    right = _vectors(serving.run(_all(serving, texts)))
    texts[11] = "poison"
    serving.service.models["tiny"].batcher.forgive(None)
    answers = serving.run(_all(serving, texts))
    culprit = answers.pop(11)
    assert [one.status_code for one in answers] == [200] * 31
    assert np.abs(_vectors(answers) - np.delete(right, 11, 0)).max() < 1e-6
    assert culprit.status_code == 424
    error = culprit.json()["error"]
    assert error["culprit"] is True and error["code"] in ("device_fault", "poisonous")
    assert "0x" not in culprit.text and "/" not in error["message"]


def test_the_worker_is_killed_under_load(serving):
    texts = [f"text {i % 32}" for i in range(200)]
    right = _vectors(serving.run(_all(serving, texts[:32])))

    async def disturbed():
        load = asyncio.ensure_future(_all(serving, texts))
        for _ in range(3):
            await asyncio.sleep(0.02)
            await serving.service.device.ready()
            if worker := serving.service.device.worker_pid:
                os.kill(worker, signal.SIGKILL)
        return await load

    answers = serving.run(disturbed())
    assert {one.status_code for one in answers} == {200}
    places = [i % 32 for i in range(200)]
    assert np.abs(_vectors(answers) - right[places]).max() < 1e-6


def test_an_item_of_a_model_of_ones_own_ends_its_worker(serving):
    async def asked():
        numbers = [[i * i, 0, 0, 0] for i in range(16)]
        numbers[5] = [666, 0, 0, 0]
        numbers[9] = [-1, 0, 0, 0]
        posts = (serving.client.post("/models/roots", json={"numbers": one}) for one in numbers)
        return await asyncio.gather(*posts)

    answers = serving.run(asked())
    failed = {i for i, one in enumerate(answers) if one.status_code == 424}
    assert failed == {5, 9}
    right = [one.json()["numbers"][0] for i, one in enumerate(answers) if i not in failed]
    assert right == [i for i in range(16) if i not in failed]
    assert answers[9].json()["error"]["code"] == "handler_failed"
