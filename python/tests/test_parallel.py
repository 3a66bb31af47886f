"""Which device gets what, and what all devices of a world share."""

import numpy as np
import pytest
import troupe
from troupe import parallel


@pytest.fixture
def system():
    with troupe.System() as made:
        yield made


@pytest.fixture
def devices(system):
    return [system.device(i, backend="cpu", memory_limit_bytes=64 << 20) for i in range(3)]


def test_a_group_picks_by_what_its_devices_have(devices):
    group = parallel.DeviceGroup(devices)
    big, small = devices[0].empty(1 << 20), devices[2].empty(1 << 10)
    assert group.pick().ordinal == 1
    assert group.pick(near=[small]).ordinal == 2
    assert group.pick(near=[small, big]).ordinal == 0
    assert group.snapshots()[0].free_bytes == 60 << 20
    turns = [group.pick(policy="round_robin").ordinal for _ in range(4)]
    assert turns == [0, 1, 2, 0]
    with pytest.raises(troupe.errors.DeviceUnavailable, match="device 2 has .* bytes free"):
        group.pick(min_free_bytes=1 << 30)
    with pytest.raises(ValueError, match="policy must be"):
        group.pick(policy="best")
    with pytest.raises(TypeError, match=r"near\[0\] must be a Tensor"):
        group.pick(near=[1])
    with pytest.raises(troupe.errors.InvalidArgument, match="twice"):
        parallel.DeviceGroup([devices[0], devices[0]])


class Keeper(troupe.Actor):
    def __init__(self, device, key="", more=0):
        self.device, self.key, self.more = device, key, more

    def who(self):
        return self.key, self.device.ordinal, self.more

    def leave(self):
        self.stop()


def test_an_actor_for_each_key_moves_when_its_device_has_stopped(system, devices):
    where = parallel.ShardMap(devices, [1, 2, 1])
    shards = parallel.Sharded(system, where, Keeper, 7)
    keys = [str(i) for i in range(30)]
    homes = {key: where.device_of(key).ordinal for key in keys}
    assert set(homes.values()) == {0, 1, 2}
    for key in keys:
        assert shards.ask(key, Keeper.who).result() == (key, homes[key], 7)
    key = next(key for key in keys if homes[key] == 1)
    actor = shards.actor_of(key)
    assert shards.actor_of(key) == actor
    shards.tell(key, Keeper.leave)
    actor.when_terminated().result()
    assert shards.ask(key, Keeper.who).result()[1] == 1
    devices[1].stop()
    for key in keys:
        second = where.ranking(key)[1].ordinal
        expected = second if homes[key] == 1 else homes[key]
        assert shards.ask(key, Keeper.who).result()[1] == expected
    with pytest.raises(troupe.errors.InvalidArgument, match="weight"):
        parallel.ShardMap(devices, [1, 2])


def test_replicas_skip_what_does_not_serve(system, devices):
    for one in devices:
        one.wait_until_ready()
    actors = [system.spawn(Keeper, one) for one in devices]
    service = parallel.Replicas(zip(actors, devices, strict=True))
    assert {service.ask(Keeper.who).result()[1] for _ in range(60)} == {0, 1, 2}
    devices[0].stop()
    actors[1].stop()
    actors[1].when_terminated().result()
    assert {service.ask(Keeper.who).result()[1] for _ in range(30)} == {2}
    with pytest.raises(ValueError, match="at least one"):
        parallel.Replicas([])


def test_weights_are_on_all_devices_and_gradients_averaged(system, devices):
    world = system.world(devices)
    weights = [devices[1].tensor(np.arange(5, dtype="f4")), devices[1].full((2, 3), 2)]
    on = parallel.replicate(world, weights, root=1, own=True).result()
    assert all((of_rank[0].numpy() == np.arange(5)).all() for of_rank in on)
    assert on[2][1].freeze().frozen
    buckets = parallel.GradientBuckets(world, weights, out_of_place=True)
    assert len(buckets) == 1
    for r, device in enumerate(devices):
        for i in range(2):
            device.memory.fill(to=buckets.gradient(r, i), value=r + i)
            buckets.sent(r, i)
    assert buckets.average(2, 1).numpy().tolist() == [[2.0] * 3] * 2
    with pytest.raises(IndexError, match="no gradient 0 of rank 3"):
        buckets.gradient(3, 0)
    with pytest.raises(troupe.errors.InvalidArgument, match="no gradient 2"):
        buckets.sent(0, 2)
