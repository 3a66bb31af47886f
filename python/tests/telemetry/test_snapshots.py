"""Snapshots, tags and traces of a running program."""

from __future__ import annotations

import json
import threading
import time

import pytest
import troupe


def test_a_snapshot_counts_by_operation_and_adds_time_up_by_tag() -> None:
    with troupe.System(sample=1) as system:
        gpu = system.device(backend="cpu")
        a = gpu.zeros((4, 4), "float32")
        for _ in range(3):
            gpu.memory.fill(to=a, value=1, tag=7).result()
        with pytest.raises(troupe.ShapeMismatch):
            gpu.blas.gemm(a, gpu.zeros((3, 2), "float32"))
        now = system.snapshot()
        device = now.devices[0]
        assert device.health.state == "ready"
        counts = device.statistics
        assert counts.sent == counts.answered + counts.failed + counts.in_flight
        by_name = {one.name: one for one in device.operations}
        assert by_name["blas.gemm"].failed.shape_mismatch == 1
        assert by_name["memory.fill"].timed.count >= 3
        assert [one.requests for one in device.tags if one.tag == 7] == [3]
        assert json.loads(now.json())["devices"][0]["statistics"]["sent"] == counts.sent
        assert gpu.snapshot().statistics.sent >= counts.sent
        names = {event["name"] for event in json.loads(system.trace(60))}
        assert {"memory.fill", "started", "clock_sync"} <= names


def test_every_way_of_sending_has_a_tag() -> None:
    with troupe.System(sample=1) as system:
        gpu = system.device(backend="cpu")
        x = gpu.zeros((4, 4), "float32")
        with gpu.record("fill") as graph:
            gpu.memory.fill(to=x, value=1)
        ways = [
            lambda tag: gpu.memory.fill(to=x, value=1, tag=tag),
            lambda tag: gpu.map(lambda a: a + 1, x, tag=tag),
            lambda tag: gpu.rows(lambda a: a + 1, x, tag=tag),
            lambda tag: gpu.reduce("sum", x, tag=tag),
            lambda tag: gpu.compute(lambda a: a + a, x, tag=tag),
            lambda tag: gpu.einsum("ij,jk", x, x, tag=tag),
            lambda tag: gpu.run(graph, tag=tag),
        ]
        for tag, send in enumerate(ways, 1):
            send(tag).result()
        counted = {one.tag: one.requests for one in gpu.snapshot().tags}
        assert all(counted.get(tag, 0) >= 1 for tag in range(1, len(ways) + 1)), counted


class Busy(troupe.Actor):
    def wait_for(self, event: threading.Event) -> None:
        event.wait(10)


def test_what_waits_is_shown() -> None:
    with troupe.System() as system:
        gpu = system.device(backend="cpu", fault_injection=True)
        sent = [gpu.fault.inject(what="spin", duration_ns=n) for n in (500_000_000, 1000, 1000)]
        end = time.monotonic() + 5
        while not (lanes := gpu.snapshot().lanes) and time.monotonic() < end:
            time.sleep(0.001)
        assert [(one.requests, one.oldest) for one in lanes] == [(3, "fault.inject")]
        troupe.gather(*sent)

        event = threading.Event()
        actor = system.spawn(Busy, name="busy")
        asked = [actor.ask(Busy.wait_for, event) for _ in range(3)]
        while len(system.snapshot().longest_mailboxes) == 0 and time.monotonic() < end:
            time.sleep(0.001)
        (longest,) = system.snapshot().longest_mailboxes
        assert longest.path.endswith("busy")
        assert 1 <= longest.messages <= 3
        event.set()
        troupe.gather(*asked)
