"""Sets of frozen tensors that calls name: they are operands of each call, in every respect."""

import os

import numpy as np
import pytest
import troupe

MODULE = os.path.join(os.path.dirname(__file__), "python_operations.py")


@pytest.fixture(scope="module")
def service(system):
    device = system.device(38, backend="cpu", operations=[MODULE], restarts=1000)
    yield device
    device.stop()


def test_bound_sets(service):
    arrays = {f"w{i}": np.full(100, i, "f8") for i in range(10)}
    weights = service.bind("model", arrays)
    for given in (weights, "model", list(weights.tensors.values())):
        assert service.py.total(weights=given).result().numpy()[0] == 4500
    first = service.py.identities(weights=weights).result()
    assert first == service.py.identities(weights="model").result()
    assert first[1:] == ("mappingproxy", sorted(arrays))
    with pytest.raises(ValueError, match="no set is bound as 'other' on this device; there are"):
        service.py.total(weights="other")
    # The set survives the worker, and a new one of the name takes its place.
    with pytest.raises(troupe.DeviceFault):
        service.py.goes_wrong(x=service.zeros(8), how="segfault").result()
    assert service.py.total(weights="model").result().numpy()[0] == 4500
    service.bind("model", [np.ones(7)])
    assert service.py.total(weights="model").result().numpy()[0] == 7
    assert service.py.identities(weights="model").result()[1] == "tuple"
    assert service.py.total(weights=weights).result().numpy()[0] == 4500
    service.forgive_all()


def test_a_dropped_set_stays_for_calls_in_flight(service):
    for i in range(20):
        weights = service.bind("passing", [np.full(100_000, i, "f8")])
        future = service.py.total(weights=weights)
        del weights
        service.unbind("passing")
        noise = [service.tensor(np.full(100_000, -1.0), own=True) for _ in range(3)]
        assert future.result().numpy()[0] == 100_000 * i
        del noise


def test_a_late_call_reads_the_set_it_was_sent_with(service):
    ran = 0
    for i in range(4):
        service.bind("rolling", {"w": np.full(100_000, i, "f8")})
        y = service.tensor(np.array([-1.0]))
        late = service.py.late_total(weights="rolling", y=y, seconds=0.15, deadline=0.05)
        with pytest.raises(troupe.DeadlineExceeded) as why:
            late.result()
        service.bind("rolling", {"w": np.full(100_000, -7.0)})
        noise = [service.tensor(np.full(100_000, -1.0), own=True) for _ in range(12)]
        got = y.numpy()[0]  # waits for what writes it
        if got == -1 and "before" in why.value.message:
            continue  # on a busy machine it had not begun
        assert got == 100_000 * i
        ran += 1
        del noise
    assert ran


def test_tensors_of_a_set_are_operands(service, system):
    weights = service.bind("operands", {name: np.full(1000, 1.0) for name in ("a", "b")})
    a = weights.tensors["a"]
    total = lambda: service.py.total(weights="operands").result().numpy()[0]  # noqa: E731
    assert total() == 2000
    # A tensor that is being thawed may be written, so its set is refused as a whole.
    late = service.py.late_total(weights=weights, seconds=0.1)
    a.thaw()
    assert late.done()
    service.memory.fill(to=a, value=-1)
    with pytest.raises(troupe.InvalidArgument, match="a of the bound set operands is not frozen"):
        total()
    assert late.result().numpy()[0] == 2000
    a.freeze()
    assert total() == 0
    # A set or a tensor that belongs to another device.
    other = system.device(36, backend="cpu", operations=[MODULE])
    there = other.bind("there", {"w": np.ones(3)})
    with pytest.raises(troupe.ForeignBuffer, match="the bound set there belongs to device 36"):
        service.py.total(weights=there).result()
    with pytest.raises(troupe.ForeignBuffer, match="w of the bound set mixed belongs to device 38"):
        other.bind("mixed", {"w": a})
    other.stop()
    # Released.
    a.release()
    with pytest.raises(troupe.StaleBuffer, match="a of the bound set operands is stale"):
        total()
    with pytest.raises(troupe.StaleBuffer):
        service.bind("again", {"a": a})
    with pytest.raises(ValueError, match="no set is bound as 'again'"):
        service.py.total(weights="again")


def test_a_poisonous_call_is_known_by_its_set(service):
    service.bind("fatal", {"w": np.ones(3)})
    for _ in range(2):
        with pytest.raises(troupe.DeviceFault):
            service.py.ends(weights="fatal").result()
    with pytest.raises(troupe.Poisonous):
        service.py.ends(weights="fatal").result()
    service.bind("fatal", {"w": np.ones(3)})
    with pytest.raises(troupe.DeviceFault):  # the device must assume other weights
        service.py.ends(weights="fatal").result()
    service.forgive_all()


def test_names_of_a_set_are_texts(service):
    for names in ({1: np.ones(3), "1": np.zeros(3)}, {None: np.ones(3)}):
        with pytest.raises(TypeError, match="the names of tensors are str; (1 is int|None is)"):
            service.bind("numbers", names)


def test_a_call_cannot_change_which_arrays_a_set_has(service):
    weights = service.bind("fixed", {"w": np.ones(3)})
    with pytest.raises(troupe.HandlerFailed, match="mappingproxy.*does not support item assign"):
        service.py.changes_its_set(weights=weights).result()
    assert service.py.total(weights=weights).result().numpy()[0] == 3


def test_a_table_that_was_overwritten_is_an_error(service):
    weights = service.bind("table", {"w": np.ones(3)})
    before = service.worker_pid
    table = weights._table.in_place()
    kept = table.copy()
    table[8:16] = 0xEE  # another id, or the worker has its arrays already
    for size in (2**64 - 1, 2**64 - 7, 2**40):
        table[-16:-8] = np.frombuffer(np.uint64(size).tobytes(), np.uint8)
        with pytest.raises(troupe.HandlerFailed, match="a bound set's table is cut"):
            service.py.total(weights=weights).result()
    table[:] = kept
    assert service.py.total(weights=weights).result().numpy()[0] == 3
    assert service.worker_pid == before
