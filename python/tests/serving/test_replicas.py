"""`troupe.serving.Replicas` and `Cascade`: several devices, several models."""

import asyncio
import os
import signal
from types import SimpleNamespace

import numpy as np
import pytest
import troupe
from test_batcher import in_loop
from troupe.serving import Batcher, Cascade, Refused, Replicas


class Device:
    """Stands for a device whose state the test decides."""

    def __init__(self, ordinal, seconds=0.01):
        self.ordinal, self.seconds, self.seen = ordinal, seconds, []
        self.health = SimpleNamespace(state="ready")

    def make(self):
        async def run(items):
            await asyncio.sleep(self.seconds * len(items))
            if self.health.state == "stopped":
                raise troupe.DeviceStopped(f"{self.ordinal} has stopped")
            self.seen += items
            return [(self.ordinal, one) for one in items]

        return run


def on(devices, **options):
    return Replicas(Device.make, devices, **options)


@in_loop
async def test_an_item_goes_where_it_is_answered_first():
    devices = [Device(0, 0.01), Device(1, 0.002)]
    async with on(devices, items=1, in_flight=1) as all:
        for one in all.batchers:
            one.learn(1, devices[all.batchers.index(one)].seconds)
        answers = await asyncio.gather(*(all(i) for i in range(60)))
    assert [one for _, one in answers] == list(range(60))
    assert 2 * len(devices[0].seen) < len(devices[1].seen), "it takes a fifth of the time"
    assert len(devices[0].seen) >= 4


@in_loop
async def test_one_that_does_not_serve_gets_nothing_while_another_does():
    devices = [Device(0), Device(1), Device(2)]
    async with on(devices) as all:
        devices[0].health.state, devices[1].health.state = "stopped", "recovering"
        assert {all.choose() for _ in range(6)} == {2}
        devices[2].health.state = "stopped"
        assert {all.choose() for _ in range(6)} == {1}
        devices[1].health.state = "stopped"
        with pytest.raises(troupe.DeviceStopped):
            await all(1)
    with pytest.raises(ValueError, match="at least one"):
        on([])


@in_loop
async def test_what_was_not_answered_moves_and_keeps_its_deadline():
    devices = [Device(0, 0.02), Device(1, 0.001)]
    async with on(devices, items=4, in_flight=1) as all:
        asked = [asyncio.ensure_future(all(i, deadline=5.0)) for i in range(40)]
        await asyncio.sleep(0.01)
        devices[0].health.state = "stopped"
        answers = await asyncio.gather(*asked)
        assert [one for _, one in answers] == list(range(40))
        assert devices[0].seen == [] or len(devices[0].seen) <= 4
        devices[1].health.state = "stopped"
        with pytest.raises((Refused, troupe.DeviceStopped)):
            await all(1, deadline=0.001)


@in_loop
async def test_full_ones_refuse_with_the_first_chance():
    async with on([Device(0), Device(1)], items=1, queue_items=1) as all:
        asked = [asyncio.ensure_future(all(i)) for i in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(Refused) as refused:
            await all(3)
        assert refused.value.reason == "items"
        assert len(await asyncio.gather(*asked)) == 2


def test_devices_of_which_one_stops_and_one_is_killed():
    def make(gpu):
        async def run(items):
            sums = await gpu.elementwise.softmax(gpu.tensor(np.stack(items)))
            return list(sums.numpy())

        return run

    async def main(devices):
        async with Replicas(make, devices, items=4, in_flight=1) as all:
            rows = np.random.default_rng(1).standard_normal((80, 16)).astype("f4")
            asked = [asyncio.ensure_future(all(row)) for row in rows]
            await asyncio.sleep(0.003)
            os.kill(devices[0].worker_pid, signal.SIGKILL)
            await asyncio.to_thread(devices[1].stop)
            answers = np.stack(await asyncio.gather(*asked))
            one = all.choose()
            assert one == 0
        e = np.exp(rows - rows.max(1, keepdims=True))
        np.testing.assert_allclose(answers, e / e.sum(1, keepdims=True), rtol=1e-5)

    with troupe.System() as system:
        devices = [system.device(n, backend="cpu") for n in range(2)]
        for one in devices:
            one.wait_until_ready()
        asyncio.run(main(devices))


# Cascades


async def small(item, deadline=None):
    await asyncio.sleep(0.01)
    return item, 0.95 if item < 5 else 0.5


async def large(item, deadline=None):
    if deadline is not None and deadline < 0.05:
        raise Refused("too late", reason="deadline")
    if item == 13:
        raise troupe.DeviceFault("13")
    return item, 0.99


def is_sure(answer):
    return answer[1] >= 0.9


@in_loop
async def test_a_cascade_goes_on_only_where_it_must():
    read = Cascade([small, large], is_sure)
    found = await asyncio.gather(*(read(i) for i in range(10)))
    assert [one.stage for one in found] == [0] * 5 + [1] * 5
    assert all(one.accepted and one.answer[0] == i for i, one in enumerate(found))
    async with Batcher(lambda items: [(one, 0.5) for one in items]) as unsure:
        last = await Cascade([unsure], is_sure)(3)
        assert (last.answer, last.stage, last.accepted) == ((3, 0.5), 0, False)


@in_loop
async def test_without_time_for_the_next_stage_the_last_answer_is_given():
    read = Cascade([small, large], is_sure)
    late = await read(7, deadline=0.04)
    assert (late.answer, late.stage, late.accepted) == ((7, 0.5), 0, False)
    assert (await read(7, deadline=5.0)).stage == 1
    with pytest.raises(Refused):
        await Cascade([large], is_sure)(7, deadline=0.01)


@in_loop
async def test_a_fault_in_one_stage_fails_or_goes_on():
    with pytest.raises(troupe.DeviceFault):
        await Cascade([small, large], is_sure)(13)
    best = await Cascade([small, large], is_sure, on_fault="next")(13)
    assert (best.answer, best.stage, best.accepted) == ((13, 0.5), 0, False)
    assert (await Cascade([large, small], is_sure, on_fault="next")(13)).stage == 1
    with pytest.raises(troupe.DeviceFault):
        await Cascade([large], is_sure, on_fault="next")(13)
