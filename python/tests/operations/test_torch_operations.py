"""PyTorch and CuPy code as operations, where these are installed; on a GPU if there is one."""

import os
import time

import numpy as np
import pytest
import troupe

torch = pytest.importorskip("torch")
TRIALS = int(os.environ.get("TROUPE_TRIALS", "2"))  # for each fault
MODULE = os.path.join(os.path.dirname(__file__), "torch_operations.py")


@pytest.fixture(scope="module")
def service():
    with troupe.System() as system:  # its own: device 0 may be its GPU only
        device = system.device(0, operations=[MODULE], restarts=100_000, start_timeout=60)
        device.wait_until_ready()
        yield device


@pytest.fixture(scope="module")
def on_card(service):
    return service.hardware.architecture != ""


@pytest.fixture(scope="module")
def module():
    import torch_operations

    torch.manual_seed(1)
    made = torch_operations.make().eval()
    made[2].running_mean.uniform_()
    return made.requires_grad_(False)


def _right(y, module, a, scale=1.0):
    expected = module(torch.from_numpy(a)).numpy() * scale
    np.testing.assert_allclose(y.numpy(), expected, rtol=1e-3, atol=1e-3)


def test_a_module_answers_as_in_this_program(service, module, rng, tmp_path):
    a = rng.standard_normal((32, 256)).astype("f4")
    x = service.tensor(a)
    file = tmp_path / "weights.pt"
    torch.save(module.state_dict(), file)
    for source in (module, module.state_dict(), file):
        weights = troupe.torch.load(service, "model", source)
        assert len(weights) == len(module.state_dict())
        _right(service.net.forward(x=x, weights=weights).result(), module, a)
    _right(service.net.forward(x=x, weights="model", scale=0.5).result(), module, a, 0.5)
    del weights
    with pytest.raises(troupe.HandlerFailed, match="the bound set has no 0.weight"):
        service.bind("none", {"other": np.zeros(3, "f4")})
        service.net.forward(x=x, weights="none").result()


def test_a_late_call_reads_the_set_it_was_sent_with(service):
    service.net.where(x=service.zeros(4)).exception()  # the worker serves
    ran = 0
    for i in range(3):
        service.bind("rolling", {"w": np.full(1 << 18, i, "f4")})
        y = service.tensor(np.array([-1], "f4"))
        late = service.net.late_sum(weights="rolling", y=y, seconds=0.3, deadline=0.1)
        with pytest.raises(troupe.DeadlineExceeded) as why:
            late.result()
        service.bind("rolling", {"w": np.full(1 << 18, -7, "f4")})
        service.trim()
        noise = [service.tensor(np.full(1 << 18, -1, "f4"), own=True) for _ in range(8)]
        got = y.numpy()[0]
        if got == -1 and "before" in why.value.message:
            continue  # on a busy machine it had not begun
        assert got == (1 << 18) * i
        ran += 1
        del noise
    assert ran


@pytest.mark.parametrize("name", ["doubles", "doubles_by_cupy"])
def test_views_are_taken_in_place(service, on_card, rng, name):
    if name == "doubles_by_cupy" and not on_card:
        pytest.skip("CuPy needs a GPU")
    if name == "doubles_by_cupy":
        pytest.importorskip("cupy")
    for dtype in ("f4", "f8", "f2", "i4"):
        a = (rng.standard_normal(1000) * 100).astype(dtype)
        y = getattr(service.net, name)(x=service.tensor(a)).result()
        np.testing.assert_array_equal(y.numpy(), a * 2)


def test_work_is_enqueued_on_the_lanes_stream(service, on_card):
    if not on_card:
        pytest.skip("needs a GPU")
    about = service.net.where(x=service.zeros(4)).result()
    assert about["stream"] == about["lane"] != 0
    assert about["device"] == "cuda:0"


def test_a_module_may_ask_for_a_gpu_while_it_is_imported(service, on_card):
    assert service.net.asked_while_imported().result() == on_card
    service.net.doubles(x=service.zeros(4)).result()


def test_other_libraries_go_on_meanwhile(service, on_card):
    y = service.empty(1000)
    service.memory.fill(to=y, value=1).result()
    sleeps = service.net.sleeps(seconds=1.0)
    time.sleep(0.1)
    begin = time.perf_counter()
    for i in range(100):
        service.memory.fill(to=y, value=i).result()
    assert time.perf_counter() - begin < 0.5
    assert not sleeps.done()
    sleeps.result()


SAYS = {
    "raise": "bad model input",
    "out of memory": "",
    "assert": "more lines like it]",  # one for each thread
    "write what is frozen": "",
    "segfault": "in goes_wrong",
    "exit": "exit: the worker process ended with status 1",
    "loop": "in goes_wrong",
    "kernel loop": "run limit of 300 ms",
}


@pytest.mark.parametrize("how", SAYS)
def test_a_fault_costs_its_request(service, on_card, module, rng, how):
    if not on_card and how in ("assert", "kernel loop"):
        pytest.skip("needs a GPU")
    troupe.torch.load(service, "model", module)
    a = rng.standard_normal((8, 256)).astype("f4")
    x = service.tensor(a)
    frozen = service.zeros(1 << 20, "f32", own=True).freeze()
    lives = how in ("raise", "out of memory")
    times = []
    for _ in range(TRIALS):
        while not service.health.standby_ready:
            time.sleep(0.01)
        generation = service.generation
        good = [service.net.forward(x=x, weights="model") for _ in range(5)]
        limit = 0.3 if "loop" in how else None
        bad = service.net.goes_wrong(x=frozen, how=how, run_limit=limit)
        begin = time.perf_counter()
        good += [service.net.forward(x=x, weights="model") for _ in range(5)]
        with pytest.raises(troupe.HandlerFailed if lives else troupe.DeviceFault) as caught:
            bad.result(timeout=60)
        assert "net.goes_wrong" in caught.value.request
        assert SAYS[how] in str(caught.value)
        for one in good:
            _right(one.result(timeout=60), module, a)
        times.append(time.perf_counter() - begin)
        assert service.generation == generation + (0 if lives else 1)
        service.forgive_all()
    print(f"{how}: {[round(1e3 * t) for t in times]} ms; {str(caught.value)[:300]}")


def test_a_killed_worker_costs_nothing(service, module, rng):
    troupe.torch.load(service, "model", module)
    a = rng.standard_normal((8, 256)).astype("f4")
    x = service.tensor(a)
    futures = [service.net.forward(x=x, weights="model") for _ in range(300)]
    os.kill(service.worker_pid, 9)
    for one in futures:
        _right(one.result(timeout=60), module, a)
