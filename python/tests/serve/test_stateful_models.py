"""Sequences with a state, by the KServe protocol."""

import os
import signal

import numpy as np
import pytest


def ask(serving, x, model="smooth", **parameters):
    body = {
        "inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 4], "data": x}],
        "parameters": {f"sequence_{name}": value for name, value in parameters.items()},
    }
    return serving.post(f"/v2/models/{model}/infer", body)


def values(answer):
    assert answer.status_code == 200, answer.text
    (output,) = answer.json()["outputs"]
    assert output["name"] == "y"
    return np.array(output["data"], "f4")


def alone(items):
    """What the operation computes for one sequence."""
    mean, found = np.zeros(4, "f4"), []
    for x in items:
        mean = np.float32(0.5) * mean + np.float32(0.5) * np.array(x, "f4")
        found.append(np.array(x, "f4") - mean)
    return found


def test_a_state_goes_on_from_request_to_request_and_through_a_lost_worker(serving):
    rows = {
        id: [[float(i * k), 1.0, -float(k), 3.0] for k in range(6)]
        for i, id in enumerate(["a", 7, 2**64 - 1])
    }
    found = {id: [] for id in rows}
    for step in range(6):
        if step == 3:
            os.kill(serving.service.device.worker_pid, signal.SIGKILL)
        for id, items in rows.items():
            answer = ask(serving, items[step], id=id, start=step == 0, end=step == 5)
            found[id].append(values(answer))
    for id, items in rows.items():
        np.testing.assert_array_equal(found[id], alone(items))


def test_no_state_is_made_or_shared_in_silence(serving):
    one = [1.0, 2.0, 3.0, 4.0]
    assert "never started" in ask(serving, one, id="new").json()["error"]
    values(ask(serving, one, id="new", start=True))
    again = ask(serving, one, id="new", start=True)
    assert again.status_code == 400 and "begun already" in again.json()["error"]
    values(ask(serving, one, id="new", end=True))
    assert "it was ended" in ask(serving, one, id="new").json()["error"]


@pytest.mark.parametrize(
    "parameters, says",
    [
        ({}, "parameters.sequence_id"),
        ({"id": 0}, "parameters.sequence_id"),
        ({"id": -1}, "parameters.sequence_id"),
        ({"id": 2**64}, "parameters.sequence_id"),
        ({"id": 1.5}, "parameters.sequence_id"),
        ({"id": True}, "parameters.sequence_id"),
        ({"id": ["a"]}, "parameters.sequence_id"),
        ({"id": "x" * 257}, "parameters.sequence_id"),
        ({"id": 1, "start": 1}, "parameters.sequence_start"),
        ({"id": 1, "end": "yes"}, "parameters.sequence_end"),
        ({"start": True}, "parameters.sequence_id"),
    ],
)
def test_parameters_that_name_no_sequence_are_refused(serving, parameters, says):
    answer = ask(serving, [0.0] * 4, **parameters)
    assert answer.status_code == 400 and says in answer.json()["error"]


def test_a_sequence_is_of_a_model_with_a_state_and_of_one_row(serving):
    answer = ask(serving, [0.0] * 4, model="roots", id=1, start=True)
    assert answer.status_code == 400 and "has no sequences" in answer.json()["error"]
    body = {
        "inputs": [{"name": "x", "datatype": "FP32", "shape": [2, 4], "data": [0.0] * 8}],
        "parameters": {"sequence_id": 1, "sequence_start": True},
    }
    answer = serving.post("/v2/models/smooth/infer", body)
    assert answer.status_code == 400 and "one row" in answer.json()["error"]
    asked = serving.post("/models/smooth", {"x": [0.0] * 4})
    assert asked.status_code == 404


def test_what_a_client_sees_of_the_model_is_without_its_state(serving):
    about = serving.ask("GET", "/v2/models/smooth").json()
    assert [one["name"] for one in about["inputs"] + about["outputs"]] == ["x", "y"]
