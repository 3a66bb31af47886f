"""Futures as operands: chains are sent at once, and a failure is the cause of its readers'."""

import asyncio
import gc
import time
import warnings

import numpy as np
import pytest
import troupe
from scripts import run_python
from troupe.descriptions import described, is_result


def busy(gpu, seconds, **operands):
    return gpu.fault.inject(what="spin", duration_ns=int(seconds * 1e9), **operands)


def singular(gpu, **options):
    """A future that fails with Numerical; `.x` is what it was to write."""
    return gpu.solver.gesv(a=gpu.zeros((2, 2)), b=gpu.zeros((2, 1)), **options)


def test_a_chain_is_sent_without_waiting(gpu, rng):
    a = rng.standard_normal((8, 8)).astype("f4") / 8
    x, w = gpu.tensor(a), gpu.tensor(a.T)
    gate = busy(gpu, 0.3)
    gpu.blas.dot(x=x[0], y=x[0]).result()  # everything else is loaded
    slow = gpu.fault.inject(what="spin", duration_ns=300_000_000, output=x)
    begun = time.monotonic()
    y, expected = x, a
    for _ in range(20):
        y = gpu.blas.gemm(a=y, b=w)
        expected = expected @ a.T
    z = gpu.elementwise.softmax(x=y)
    assert time.monotonic() - begun < 0.2 and not z.done()
    e = np.exp(expected - expected.max(axis=-1, keepdims=True))
    np.testing.assert_allclose(z.numpy(), e / e.sum(axis=-1, keepdims=True), rtol=1e-4)
    assert slow.result() is None or slow.result() is x
    gate.result()


def test_operands_may_be_given_in_the_order_of_the_description(gpu, rng):
    a, b = rng.standard_normal((3, 4)).astype("f4"), rng.standard_normal((4, 5)).astype("f4")
    x, w, out = gpu.tensor(a), gpu.tensor(b), gpu.empty((3, 5))
    np.testing.assert_allclose(gpu.blas.gemm(x, w).numpy(), a @ b, rtol=1e-5)
    assert gpu.blas.gemm(x, w, out).result() is out
    assert gpu.blas.gemm(x, b=w, c=out, alpha=2.0).result() is out
    np.testing.assert_allclose(out.numpy(), 2 * a @ b, rtol=1e-5)
    with pytest.raises(TypeError, match=r"gemm\(\) takes 3 operands .*\(a, b, c\); 4 are given"):
        gpu.blas.gemm(x, w, out, 2.0)
    with pytest.raises(TypeError, match="blas.gemm: a is given twice"):
        gpu.blas.gemm(x, w, a=x)
    with pytest.raises(TypeError, match="a must be a troupe.Tensor"):
        gpu.blas.gemm(2.0, w)
    # Optional operands have names, so that a new one shifts nothing.
    y = gpu.elementwise.layer_norm(x, weight=gpu.full(4, 1.0), bias=gpu.full(4, 0.0)).result()
    assert (y[0] if isinstance(y, tuple) else y).shape == (3, 4)


def test_several_results_are_parts_by_name_and_number(gpu, rng):
    a = rng.standard_normal((6, 4))
    both = gpu.solver.geqrf(a=gpu.tensor(a.copy()))
    names = both._names
    assert names == ("qr", "tau")
    factor, tau = both
    assert both.tau.shape == tau.shape == (4,) and both.qr.dtype == "f64"
    assert both.qr.result() is both.result()[0] and tau.result() is both.result()[1]
    total = gpu.blas.asum(x=both.tau).result()
    np.testing.assert_allclose(total, np.abs(tau.numpy()).sum(), rtol=1e-12)
    assert factor.T.shape == (4, 6) and both[0][1:3].shape == (2, 4)

    async def main():
        return await both.tau

    assert asyncio.run(main()) is both.result()[1]
    with pytest.raises(AttributeError, match="no 'x': its results are qr, tau"):
        _ = both.x
    with pytest.raises(TypeError, match="has several, and each is an attribute"):
        gpu.blas.asum(x=both)


def test_views_of_a_future_are_futures(gpu, rng):
    a = rng.standard_normal((4, 6)).astype("f4")
    y = gpu.blas.gemm(gpu.tensor(np.eye(4, dtype="f4")), gpu.tensor(a))
    assert (y.shape, y.dtype, y.ndim, y.size) == ((4, 6), "f32", 2, 24)
    for view, expected in (
        (y.T, a.T), (y[1:3], a[1:3]), (y.reshape(2, 12), a.reshape(2, 12)),
        (y.reshape(2, 2, 6).permute(1, 0, 2), a.reshape(2, 2, 6).transpose(1, 0, 2)), (y.c, a),
    ):  # fmt: skip
        copied = gpu.memory.copy(from_=view, to=gpu.empty(view.shape))
        np.testing.assert_allclose(copied.numpy(), expected, rtol=1e-6)
        np.testing.assert_allclose(np.asarray(view), expected, rtol=1e-6)
    assert y[0, 0].item() == pytest.approx(a[0, 0]) and y.tolist()[0][0] == pytest.approx(a[0, 0])


@pytest.mark.usefixtures("cuda_context")
def test_whatever_takes_tensors_takes_futures(gpu, rng):
    a = rng.standard_normal((4, 4)).astype("f4")
    x, one = gpu.tensor(a), gpu.tensor(np.eye(4, dtype="f4"))
    y = gpu.blas.gemm(x, one)
    near = dict(rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(gpu.map(lambda v, w: v + w, y, x).numpy(), a + a, **near)
    np.testing.assert_allclose(gpu.map(lambda v: 2 * v, x, out=y).numpy(), 2 * a, **near)
    y = gpu.blas.gemm(x, one)
    np.testing.assert_allclose(gpu.reduce("sum", y, axis=0).numpy(), a.sum(0), **near)
    np.testing.assert_allclose(gpu.rows(lambda v: v - v, y).numpy(), 0 * a, **near)
    np.testing.assert_allclose(gpu.einsum("ij,jk->ki", y, y).numpy(), (a @ a).T, **near)
    np.testing.assert_allclose(gpu.compute(lambda v, w: v @ w, y, y).numpy(), a @ a, **near)
    np.testing.assert_allclose(gpu.copy(y, gpu.empty((4, 4))).numpy(), a, **near)
    target = np.empty((4, 4), "f4")
    np.testing.assert_allclose(gpu.copy(y, target).result(), a, **near)
    np.testing.assert_allclose(gpu.tensor(y).numpy(), a, **near)
    both = gpu.map(lambda v: (v, -v), y)
    np.testing.assert_allclose(gpu.map(lambda v, w: v - w, *both).numpy(), 2 * a, **near)
    with y.mapped("read") as mapped:
        assert mapped.shape == (4, 4)
    updated = gpu.elementwise.adamw(
        parameters=[y], gradients=[gpu.blas.gemm(x, one)], first_moments=[gpu.full((4, 4), 0)],
        second_moments=[gpu.full((4, 4), 0)], learning_rate=0.0, weight_decay=0.0, step=1,
    )  # fmt: skip
    updated.result()
    np.testing.assert_allclose(y.numpy(), a, **near)


def test_a_copy_is_an_operand_unless_it_goes_to_another_device(gpu, system):
    other = system.device(33, backend="cpu")
    x = gpu.tensor([1.0, 2.0])
    assert gpu.blas.dot(x=gpu.copy([3.0, 4.0], x), y=x).result() == 25
    across = gpu.copy(x, other.empty(2, "f64" if x.dtype == "f64" else "f32"))
    with pytest.raises(TypeError, match="has to be awaited first"):
        other.blas.dot(x=across, y=across)
    assert other.blas.dot(x=across.result(), y=across.result()).result() == 25
    with pytest.raises(TypeError, match="has to be awaited first"):
        gpu.blas.dot(x=gpu.blas.dot(x=x, y=x), y=x)
    with pytest.raises(troupe.ForeignBuffer):
        other.blas.asum(x=gpu.memory.fill(to=x, value=1)).result()
    other.stop()


def caused(why, kind, text):
    assert isinstance(why, troupe.TaintedBuffer), why
    assert isinstance(why.__cause__, kind) and text in why.__cause__.request, why
    return True


@pytest.mark.parametrize("known", [False, True])
def test_a_failure_fails_its_readers_whenever_it_is_found(gpu, known):
    failed = singular(gpu)
    while known and not failed.done():
        time.sleep(0.001)
    x = failed.x
    readers = [
        gpu.blas.gemm(gpu.zeros((2, 2)), x),
        gpu.map(lambda v: v + 1, x),
        gpu.compute(lambda v: v + 1, x.reshape(2, 1)),
        gpu.copy(x, gpu.empty((2, 1), x.dtype)),
        gpu.copy(x, np.empty((2, 1), "f4")),
        gpu.reduce("sum", x),
    ]
    for one in readers:
        assert caused(one.exception(), troupe.Numerical, "solver.gesv")
    last = gpu.map(lambda v: v + 1, readers[1])
    why = last.exception()
    assert caused(why, troupe.TaintedBuffer, "elementwise.map")
    assert isinstance(why.__cause__.__cause__, troupe.Numerical)
    with pytest.raises(troupe.Numerical):
        failed.result()
    with pytest.raises(troupe.Numerical):
        failed.x.numpy()


def test_a_long_chain_of_failures_names_the_first(gpu):
    y = singular(gpu).x
    for _ in range(3000):
        y = gpu.map(lambda v: v + 1, y)
    why = y.exception()
    assert caused(why, troupe.TaintedBuffer, "elementwise.map")
    assert isinstance(why.__cause__.__cause__, troupe.Numerical)
    assert why.__cause__.__cause__.__cause__ is None


def test_a_cancelled_writer_fails_its_readers(gpu, on_gpu):
    if on_gpu:
        pytest.skip("a stream takes requests ahead, so a cancelled one may run; device_test has it")
    busy(gpu, 0.2)
    out = gpu.zeros(1)
    writer = gpu.fault.inject(what="spin", duration_ns=1, output=out)
    reader = gpu.blas.asum(x=out)
    assert writer.cancel()
    assert caused(reader.exception(), troupe.Cancelled, "fault.inject")
    gpu.memory.fill(to=out, value=2).result()
    assert gpu.blas.asum(x=out).result() == 2


def test_a_request_that_is_refused_at_the_call_leaves_what_it_was_given(gpu):
    out = gpu.full((2, 2), 3)
    with pytest.raises(troupe.ShapeMismatch):
        gpu.blas.gemm(gpu.zeros((2, 3)), gpu.zeros((2, 3)), out)
    assert out.tolist() == [[3.0, 3.0]] * 2


def test_a_failed_operand_is_told_by_its_reader(gpu):
    def settle():
        gpu.drain(5)
        gc.collect()
        time.sleep(0.01)  # noted failures are reported between two bytecodes

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        z = gpu.map(lambda v: v + 1, singular(gpu).x)  # the first future is dropped
        assert caused(z.exception(), troupe.Numerical, "solver.gesv")
        settle()
        done = singular(gpu)
        while not done.done():
            time.sleep(0.001)
        gpu.map(lambda v: v + 1, done.x).exception()
        del done, z
        settle()
        with pytest.raises(troupe.Numerical):
            singular(gpu).x.result()
        settle()
    with pytest.warns(troupe.UnretrievedFailure, match="(?s)elementwise.map.*solver.gesv") as told:
        gpu.map(lambda v: v + 1, singular(gpu).x)
        settle()
    assert len(told) == 1
    with pytest.warns(troupe.UnretrievedFailure, match="(?s)solver.gesv") as told:
        _ = singular(gpu).x  # no request uses this part
        del _
        settle()
    assert len(told) == 1


def test_dropped_operands_do_not_pile_up(gpu):
    x = gpu.zeros(8)
    gpu.drain(5)
    before = gpu.statistics.buffers
    y = x
    for i in range(5000):
        y = gpu.map(lambda v: v + 1, y)
        if i % 500 == 0:
            y.result()
    assert y.numpy()[0] == 5000
    gpu.memory.fill(to=x, value=0).result()
    gpu.drain(5)
    assert gpu.statistics.buffers - before < 50


def test_a_queued_writer_that_is_not_sent_fails_its_readers(system):
    gpu = system.device(34, backend="cpu", fault_injection=True, mailbox_capacity=16)
    x = gpu.full(4, 1)
    gpu.wait_until_ready()

    async def work():
        gate = [busy(gpu, 0.2) for _ in range(20)]
        late = gpu.map(lambda v: v + 1, x, deadline=0.05)
        cancelled = gpu.map(lambda v: v + 1, x)
        readers = gpu.map(lambda v: v + 1, late), gpu.map(lambda v: v + 1, cancelled)
        assert cancelled.cancel()
        return await asyncio.gather(*readers, *gate, return_exceptions=True)

    by_late, by_cancelled, *_ = asyncio.run(work())
    assert caused(by_late, troupe.DeadlineExceeded, "elementwise.map")
    assert caused(by_cancelled, troupe.Cancelled, "elementwise.map")
    assert x.tolist() == [1.0] * 4
    gpu.stop()


def test_a_future_goes_to_an_actor_and_is_an_operand_there(gpu, system):
    class Adder(troupe.Actor):
        async def total(self, device, x):
            return await device.blas.asum(x=x)

        def twice(self, device, x):
            return device.map(lambda v: 2 * v, x).result()

    adder = system.spawn(Adder)
    x = gpu.tensor([1.0, 2.0])
    y = gpu.map(lambda v: v + 1, x)
    assert adder.ask(Adder.total, gpu, y).result(10) == 5
    assert adder.ask(Adder.twice, gpu, y).result(10).tolist() == [4.0, 6.0]
    why = adder.ask(Adder.twice, gpu, singular(gpu).x).exception(10)
    assert "solver.gesv" in str(why)
    adder.stop()


@pytest.mark.usefixtures("cuda_context")
def test_a_mapped_tensor_is_awaited(gpu, on_gpu):
    x = gpu.tensor([1.0, 2.0])

    async def main():
        with await x.mapped("update", wait=False) as mapped:
            if not on_gpu:
                mapped.numpy()[:] = 3
            return mapped.__dlpack_device__()[0]

    assert asyncio.run(main()) == (2 if on_gpu else 1)
    assert on_gpu or x.tolist() == [3.0, 3.0]
    with pytest.raises(AttributeError, match="no 'map'"):
        x.map()


def test_no_result_has_the_name_of_something_else():
    taken = set(dir(troupe.Future)) | {
        "shape", "strides", "dtype", "ndim", "size", "nbytes", "T", "reshape", "permute",
        "transpose",
    }  # fmt: skip
    for library in troupe.libraries():
        for name in troupe.requests(library):
            results = {f["name"] for f in described(name)["fields"] if is_result(f)}
            assert not results & taken, name


def test_futures_as_operands_end_with_the_interpreter():
    run_python(
        """
        import troupe
        gpu = troupe.System().device(0, fault_injection=True)
        x = gpu.zeros(4)
        gpu.fault.inject(what="spin", duration_ns=100_000_000, output=x)
        for _ in range(100):
            x = gpu.map(lambda v: v + 1, x)
        y = x[1:3]
        """
    )
