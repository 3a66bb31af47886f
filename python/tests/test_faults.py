"""Failures as exceptions, and what a lost worker costs."""

import asyncio
import json
import os
import pickle
import signal
import time

import numpy as np
import pytest
import troupe
from troupe import errors


def test_a_fault_costs_one_request(gpu, rng):
    a = rng.standard_normal((64, 64)).astype("f4")
    x = gpu.tensor(a)
    before = gpu.generation
    bad = gpu.fault.inject(what="segmentation_fault")
    good = [gpu.blas.gemm(a=x, b=x) for _ in range(20)]
    with pytest.raises(troupe.DeviceFault) as caught:
        bad.result()
    why = caught.value
    assert (why.code, why.code_name, why.device) == ("device_fault", "SIGSEGV", 0)
    assert "fault.inject" in why.request and "crash" in str(why)
    for future in good:
        np.testing.assert_allclose(future.result().numpy(), a @ a, rtol=1e-3, atol=1e-3)
    assert gpu.generation == before + 1
    gpu.forgive_all()


def test_a_killed_worker_costs_nothing(gpu, rng):
    a = rng.standard_normal((64, 64)).astype("f4")
    x = gpu.tensor(a)
    for _ in range(5):
        futures = [gpu.blas.gemm(a=x, b=x) for _ in range(50)]
        if gpu.worker_pid:
            os.kill(gpu.worker_pid, signal.SIGKILL)
        for future in futures:
            np.testing.assert_allclose(future.result().numpy(), a @ a, rtol=1e-3, atol=1e-3)
        deadline = time.monotonic() + 20
        while gpu.health.state != "ready" and time.monotonic() < deadline:
            time.sleep(0.01)


def test_a_hang_ends_by_its_limit(gpu):
    with pytest.raises(troupe.DeviceFault, match="run limit"):
        gpu.fault.inject(what="hang", run_limit=0.1).result()
    gpu.forgive_all()


def test_an_undefined_result_is_not_read(gpu):
    y = gpu.zeros(100)
    with pytest.raises(troupe.DeviceFault):
        gpu.fault.inject(what="abort", output=y).result()
    assert "tainted" in repr(y) and "tainted" not in repr(gpu.zeros(100))
    with pytest.raises(troupe.TaintedBuffer):
        y.numpy()
    gpu.memory.fill(to=y, value=1).result()
    assert "tainted" not in repr(y)
    np.testing.assert_array_equal(y.numpy(), 1)
    gpu.forgive_all()


def test_every_code_has_a_class():
    for name in errors.__all__:
        kind = getattr(troupe, name)
        assert issubclass(kind, (troupe.Failure, Warning)) and kind.__doc__
    assert issubclass(troupe.ShapeMismatch, ValueError)
    assert issubclass(troupe.DeadlineExceeded, TimeoutError)
    assert issubclass(troupe.OutOfMemory, MemoryError)
    assert issubclass(troupe.DeviceFault, troupe.DeviceFailure)


def test_failures_are_picklable(gpu):
    try:
        gpu.blas.gemm(a=gpu.empty((2, 3)), b=gpu.empty((2, 3)))
    except troupe.ShapeMismatch as why:
        why.__cause__ = troupe.DeviceFault("earlier")
        back = pickle.loads(pickle.dumps(why))
        assert type(back) is troupe.ShapeMismatch and str(back) == str(why)
        assert (back.code, back.message, back.request) == (why.code, why.message, why.request)
        assert isinstance(back.__cause__, troupe.DeviceFault)


def test_a_closed_system_says_so():
    system = troupe.System()
    gpu = system.device(0, backend="cpu", standby=False)
    x = gpu.zeros(4)
    system.close()
    assert system.closed
    with pytest.raises(ValueError, match="the system is closed"):
        system.device(0)
    with pytest.raises(troupe.DeviceStopped):
        gpu.memory.fill(to=x, value=1).result()
    system.close()


def test_wrong_options_are_named(system):
    with pytest.raises(TypeError, match="device\\(\\) has no option 'memory'; it has backend"):
        system.device(5, memory=3)
    with pytest.raises(
        ValueError, match="backend must be one of 'auto', 'cpu', 'cuda'; it is 'gpu'"
    ):
        system.device(5, backend="gpu")


def test_another_devices_tensor_is_refused(gpu, system):
    other = system.device(6, backend="cpu", standby=False)
    with pytest.raises(troupe.ForeignBuffer):
        gpu.memory.fill(to=other.zeros(3), value=1).result()
    array = np.arange(5.0)
    target = gpu.empty(5, "f64")
    gpu.copy(other.tensor(array), target).result()
    np.testing.assert_array_equal(target.numpy(), array)
    other.stop()


def test_statistics_and_health(gpu):
    gpu.drain(10)
    before = gpu.statistics
    gpu.memory.fill(to=gpu.empty(3), value=1).result()
    after = gpu.statistics
    assert (
        after.sent > before.sent and after.sent == after.answered + after.failed + after.in_flight
    )
    assert gpu.health.state in ("ready", "recovering")


def test_health_is_json_after_a_fault(gpu):
    gpu.fault.inject(what="abort").exception()
    health = json.loads(gpu.health.json())
    assert set(health) == set(vars(gpu.health))
    fault = health["last_fault"]
    assert (fault["type"], fault["code"], fault["code_name"]) == (
        "DeviceFault", "device_fault", "SIGABRT",
    )  # fmt: skip
    assert fault["generation"] >= 1 and fault["cause"] is None
    assert json.loads(json.dumps(gpu.statistics.as_dict()))["sent"] > 0
    gpu.forgive_all()


def test_an_abort_has_no_address(gpu):
    assert "address" not in str(gpu.fault.inject(what="abort").exception())
    assert "at address" in str(gpu.fault.inject(what="segmentation_fault").exception())
    gpu.forgive_all()


def test_what_is_not_allocated_says_when_and_why():
    with troupe.System() as system:
        gpu = system.device(0, backend="cpu", standby=False, fault_injection=True, restarts=0)
        gpu.wait_until_ready()
        with pytest.raises(troupe.OutOfMemory, match="memory_limit_bytes") as caught:
            gpu.zeros(1 << 50)
        assert (caught.value.device, caught.value.generation) == (0, 1)
        gpu.stop()
        with pytest.raises(troupe.DeviceStopped, match="hands out no more") as caught:
            gpu.zeros(3)
        assert (caught.value.device, caught.value.generation) == (0, 1)
        assert "stopped by the program" in str(caught.value.__cause__)


def test_a_renewed_worker_takes_over_between_two_requests():
    with troupe.System() as system:
        gpu = system.device(0, backend="cpu", fault_injection=True)
        gpu.wait_until_ready()
        x, ones = gpu.zeros(4), gpu.ones(4)
        for fresh in (False, True):
            before = gpu.worker_pid
            adds = [gpu.blas.axpy(ones, x, alpha=1.0) for _ in range(50)]

            async def main(fresh=fresh):
                await gpu.renew(fresh=fresh)

            asyncio.run(main())
            for one in adds:
                one.result()
            assert gpu.worker_pid != before
        assert x.numpy().tolist() == [100.0] * 4
        assert [e.kind for e in gpu.events()].count("renewed") == 2
        assert (gpu.health.restarts, gpu.statistics.failed) == (0, 0)
        gpu.stop()
        with pytest.raises(troupe.DeviceStopped):
            gpu.renew().result()
