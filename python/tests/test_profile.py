"""The time of a call: in Python, waiting for a turn, on the device."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import troupe

MODULE = os.path.join(os.path.dirname(__file__), "operations", "python_operations.py")


@pytest.mark.parametrize("isolation", ["process", "thread"])
def test_python_and_turns_are_told_apart(isolation):
    profile = troupe.profile()
    with troupe.System() as system:
        gpu = system.device(
            0,
            backend="cpu",
            operations=[MODULE],
            trace=profile,
            lane_threads=4,
            isolation=isolation,
        )
        gpu.py.waits(seconds=0.0).result()
        profile.clear()
        lanes = [gpu.py.on_new_lanes() for _ in range(3)]
        for one in [lane.waits(seconds=0.2) for lane in lanes]:
            one.result()
        x = gpu.empty(1000)
        gpu.memory.fill(to=x, value=1).result()
        with pytest.raises(troupe.HandlerFailed):
            gpu.py.goes_wrong(x=x[:8], how="raise").result()
        rows = profile.rows()
    waits = rows["py.waits"]
    assert (waits["calls"], waits["failed"]) == (3, 0)
    assert 0.6 <= waits["host"] < 1.0  # three sleeps
    # The second waits for the first, the third for both.
    assert 0.45 <= waits["turn"] < 0.9 and 0 <= waits["queue"] < 0.3
    assert waits["device"] == waits["host"]
    fill = rows["memory.fill"]
    assert fill["calls"] == 1 and fill["turn"] == 0 < fill["host"] < 0.1
    assert (rows["py.goes_wrong"]["calls"], rows["py.goes_wrong"]["failed"]) == (1, 1)


def test_it_is_shown_as_a_table():
    profile = troupe.profile()
    header = "operation calls failed queue us turn us host us device us answer us"
    assert " ".join(str(profile).split()) == header
    with troupe.System() as system:
        gpu = system.device(0, backend="cpu", operations=[MODULE], trace=profile)
        x = gpu.tensor(np.ones(8, "f4"))
        for _ in range(10):
            gpu.py.scale(x=x).result()
        gpu.py.waits(seconds=0.05).result()
    lines = str(profile).splitlines()
    assert lines[1].split()[:3] == ["py.waits", "1", "0"]  # the longest comes first
    assert float(lines[1].split()[5]) >= 50_000
    assert ["py.scale", "10", "0"] in [line.split()[:3] for line in lines]


def test_a_trace_has_turns_too(tmp_path):
    path = tmp_path / "trace.json"
    program = f"""
import troupe
with troupe.System() as system:
    gpu = system.device(0, backend="cpu", operations=[{MODULE!r}], trace={str(path)!r}, lane_threads=2)
    lanes = [gpu.py.on_new_lanes() for _ in range(2)]
    for one in [lane.waits(seconds=0.2) for lane in lanes]:
        one.result()
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
    events = [one for one in json.loads(path.read_text()) if one["name"] == "py.waits"]
    turns = sorted(one["args"]["turn_us"] for one in events)
    assert len(turns) == 2 and turns[0] < 50_000 and turns[1] > 100_000
    assert all(one["args"]["queue_us"] >= one["args"]["turn_us"] for one in events)


@pytest.mark.skipif("'cuda' not in os.environ.get('TROUPE_BACKEND', '')", reason="needs a GPU")
def test_time_on_a_gpu_is_the_gpus():
    pytest.importorskip("torch")
    profile = troupe.profile()
    with troupe.System() as system:
        module = os.path.join(os.path.dirname(__file__), "operations", "torch_operations.py")
        gpu = system.device(0, backend="cuda", operations=[module], trace=profile)
        gpu.net.spins(cycles=1000).result()
        profile.clear()
        gpu.net.spins(cycles=200_000_000).result()  # some 0.1 s, enqueued in microseconds
        row = profile.rows()["net.spins"]
    assert row["device"] > 0.03 and row["host"] < 0.02
