"""Several devices as one."""

import os
import signal

import numpy as np
import pytest
import troupe


@pytest.fixture
def world():
    with troupe.System() as system:
        devices = [system.device(i, backend="cpu", memory_limit_bytes=64 << 20) for i in range(2)]
        yield system.world(devices)


def test_adds_the_tensors_of_all_devices(world):
    x = [d.tensor(np.full(5, d.ordinal + 1, np.float32)) for d in world.devices]
    y = world.collective.all_reduce(x=x, op="sum").result()
    assert [one.numpy().tolist() for one in y] == [[3.0] * 5] * 2
    whole = world.collective.all_gather(x).result()
    assert whole[0].numpy().tolist() == [1.0] * 5 + [2.0] * 5
    parts = world.collective.reduce_scatter(x=whole).result()
    assert parts[1].numpy().tolist() == [4.0] * 5
    copies = world.collective.broadcast(x=[None, x[1]], root=1).result()
    assert copies[0].numpy().tolist() == [2.0] * 5


def test_writes_what_it_is_given(world):
    x = world.tensors([3], "i32")
    for device, one in zip(world.devices, x, strict=True):
        device.memory.fill(to=one, value=4)
    world.collective.all_reduce(x=x, y=x).result()
    assert x[0].numpy().tolist() == [8, 8, 8]
    assert len(world) == 2


def test_goes_on_after_a_worker_is_killed(world):
    x = [d.tensor(np.ones(100_000, np.float32)) for d in world.devices]
    for _ in range(5):
        os.kill(world.devices[1].worker_pid, signal.SIGKILL)
        y = world.collective.all_reduce(x=x).result()
        assert y[0].numpy().sum() == 200_000


def test_refuses_with_the_rule(world):
    x = world.tensors([3])
    with pytest.raises(troupe.errors.ForeignBuffer, match="rank 0"):
        world.collective.all_reduce(x=[x[1], x[0]], y=x).result()
    with pytest.raises(TypeError, match="no argument z"):
        world.collective.all_reduce(z=x)
    with pytest.raises(AttributeError, match="no request 'sum'"):
        world.collective.sum(x=x)
    with troupe.System() as system:
        one = system.device(0, backend="cpu", memory_limit_bytes=64 << 20)
        with pytest.raises(troupe.errors.InvalidArgument, match="a device is in a world once"):
            system.world([one, one])


def test_says_how_devices_reach_each_other():
    with troupe.System() as system:
        assert system.topology() == {}
        for i in range(2):
            system.device(i, backend="cpu", memory_limit_bytes=64 << 20)
        links = system.topology()
        assert set(links) == {(0, 1), (1, 0)}
        assert links[0, 1].through == "shared_memory"
        assert links[0, 1].native_atomics
        assert links[1, 0].performance_rank == 0


def test_makes_worlds_of_some_devices_and_says_how_they_are(world):
    other = world.subset([1, 0])
    assert [d.ordinal for d in other.devices] == [1, 0]
    alone = world.without(world.devices[0])
    assert [d.ordinal for d in alone.devices] == [1]
    x = other.tensors([4], "u8")
    for device, one in zip(other.devices, x, strict=True):
        device.memory.fill(to=one, value=device.ordinal)
    moved = other.collective.exchange(x=[x[0], None], y=[None, x[1]]).result()
    assert moved[0] is None
    assert x[1].numpy().tolist() == [1, 1, 1, 1]
    health = other.health()
    assert health["failed"] == 0
    assert health["last_failure"] is None
    assert health["under_way"] == []
    with pytest.raises(troupe.errors.InvalidArgument, match="there is no rank 2"):
        world.subset([2])
    with pytest.raises(troupe.errors.InvalidArgument, match="needs a device"):
        alone.without(world.devices[1])


def test_a_world_takes_its_transport_and_goes_through_the_host():
    with troupe.System() as system:
        plain = [system.device(i, backend="cpu", memory_limit_bytes=64 << 20) for i in (0, 1)]
        with pytest.raises(troupe.errors.Unsupported, match="is of the CPU backend"):
            system.world(plain, transport="nccl")
        with pytest.raises(ValueError, match="transport must be"):
            system.world(plain, transport="ring")
        apart = [
            system.device(i, backend="cpu", memory_limit_bytes=64 << 20, peer_access=False)
            for i in (2, 3)
        ]
        assert system.topology()[2, 3].through == "host"
        world = system.world(apart, transport="peer", deterministic=True)
        assert world.health()["nccl"] == {
            "state": "none",
            "attempts": 0,
            "operations": 0,
            "reason": "",
        }
        x = [d.tensor(np.full(9000, i + 1, np.int32)) for i, d in enumerate(apart)]
        assert [y.numpy()[-1] for y in world.collective.all_reduce(x=x).result()] == [3, 3]


def test_workers_are_renewed_while_they_meet(world):
    x = [d.tensor(np.ones(100_000, np.float32)) for d in world.devices]
    sums, renewals = [], []
    for i in range(60):
        sums.append(world.collective.all_reduce(x=x))
        if i % 20 == 10:
            renewals += [d.renew() for d in world.devices]
    for one in sums:
        assert [y.numpy()[-1] for y in one.result()] == [2.0, 2.0]
    for one in renewals:
        one.result()
    assert all(d.statistics.failed == d.health.restarts == 0 for d in world.devices)
    assert min(d.generation for d in world.devices) > 1
