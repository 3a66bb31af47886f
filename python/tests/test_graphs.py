"""Graphs: requests that are recorded once and sent as one."""

import asyncio
import os
import signal
import time

import numpy as np
import pytest
import troupe


@pytest.fixture
def arrays(rng):
    return [rng.standard_normal((8, 8)).astype("f4") for _ in range(3)]


def counter(gpu, value):
    return gpu.tensor(np.array([value], "i4"))


def decrease(gpu, x):
    gpu.map(lambda v: v - 1, x, out=x)


def test_a_graph_gives_what_the_same_requests_give(gpu, on_gpu, arrays):
    x, w, v = map(gpu.tensor, arrays)
    expected = gpu.blas.gemm(a=gpu.blas.gemm(a=x, b=w), b=v).numpy()
    sent = gpu.statistics.sent
    with gpu.record("two products") as graph:
        h = gpu.blas.gemm(a=x, b=w)
        y = gpu.blas.gemm(a=h, b=v)
        assert h.done() and isinstance(y.result(), troupe.Tensor)
    assert gpu.statistics.sent == sent
    assert len(graph) == 2 and graph.requests[0].startswith("blas.gemm a=<f32>[8, 8]")
    for _ in range(3):
        gpu.run(graph).result()
    assert gpu.statistics.sent == sent + 3
    np.testing.assert_array_equal(y.numpy(), expected)
    how = graph.info(gpu)
    assert how["runs"] == 3 and bool(how["launches"]) == on_gpu
    assert "n0 -> n1 [label=RAW]" in graph.dot() and '"kind": "RAW"' in graph.json()


def test_replies_come_with_each_run(gpu):
    x, flag = gpu.tensor(np.array([3.0, 4.0])), counter(gpu, 0)
    with gpu.record("norm") as graph:
        norm = gpu.blas.nrm2(x=x)
        assert norm.result() is None
        gpu.blas.scal(x=x, alpha=2)
        with graph.run_if(flag):
            never = gpu.blas.nrm2(x=x)
    assert gpu.run(graph).result()[norm] == 5.0
    replies = gpu.run(graph).result()
    assert replies[norm] == 10.0
    with pytest.raises(troupe.NoReply, match="request 3 of norm did not run"):
        replies[never]
    with pytest.raises(troupe.InvalidArgument, match="of another graph"):
        replies[gpu.blas.nrm2(x=x)]
    with pytest.raises(TypeError, match="the Future of a recorded request"):
        replies[0]


def test_bodies_run_as_their_conditions_say(gpu):
    left, which, x = counter(gpu, 5), counter(gpu, 0), gpu.zeros((), "f4")
    one, ten = gpu.full((), 1), gpu.full((), 10)
    with gpu.record("loop") as graph:
        with graph.repeat_while(left, at_most=100):
            gpu.map(lambda a, b: a + b, x, one, out=x)
            decrease(gpu, left)
        with graph.choose(which) as branch:
            gpu.map(lambda a, b: a + b, x, ten, out=x)
            branch.next()
            gpu.map(lambda a, b: a * b, x, ten, out=x)
        with graph.run_if(which) as branch:
            gpu.map(lambda a, b: a - b, x, one, out=x)
            branch.otherwise()
            gpu.map(lambda a, b: a + b, x, one, out=x)
    gpu.run(graph).result()
    assert x.numpy() == 16
    gpu.copy(np.array([1], "i4"), which).result()
    gpu.run(graph).result()
    assert x.numpy() == 159
    endless = counter(gpu, 1)
    with gpu.record("endless") as graph, graph.repeat_while(endless, at_most=3):
        gpu.memory.fill(to=x, value=0)
    with pytest.raises(troupe.Numerical, match="still holds after 3 rounds"):
        gpu.run(graph).result()


# On a GPU, bodies are recorded once all of their requests have run.
def test_conditions_hold_in_each_run(gpu, on_gpu):
    left, which, x = counter(gpu, 0), counter(gpu, 0), gpu.zeros((1,), "f4")
    one, ten = gpu.full((1,), 1), gpu.full((1,), 10)
    with gpu.record("conditions") as graph:
        gpu.memory.fill(to=x, value=0)
        with graph.repeat_while(left):
            gpu.map(lambda a, b: a + b, x, one, out=x)
            decrease(gpu, left)
            with graph.run_if(left):
                gpu.map(lambda a, b: a + b, x, ten, out=x)
        with graph.choose(which) as branch:
            norm = gpu.blas.nrm2(x=x)
            branch.next()
            gpu.map(lambda a, b: a * b, x, ten, out=x)
    for i in range(60 if on_gpu else 5):
        rounds, kind = i % 4, i % 3
        gpu.copy(np.array([rounds], "i4"), left)
        gpu.copy(np.array([kind], "i4"), which)
        replies = gpu.run(graph).result()
        expected = 11.0 * rounds - (10 if rounds else 0)
        if kind == 0:
            assert replies[norm] == expected
        else:
            with pytest.raises(troupe.NoReply):
                replies[norm]
        assert x.numpy() == expected * (10 if kind == 1 else 1)
    assert bool(graph.info(gpu)["launches"]) == on_gpu


def test_a_run_takes_other_tensors_for_parameters(gpu, arrays):
    x, w, other = map(gpu.tensor, arrays)
    with gpu.record("step") as graph:
        y = gpu.blas.gemm(a=x, b=w)
    graph.parameter("x", x)
    graph.parameter("y", y)
    out = gpu.empty((8, 8))
    gpu.run(graph, x=other, y=out, deadline=10).result()
    np.testing.assert_array_equal(out.numpy(), gpu.blas.gemm(a=other, b=w).numpy())
    with pytest.raises(troupe.ShapeMismatch, match="parameter x must have the recorded extents"):
        gpu.run(graph, x=gpu.empty((4, 4)))
    with pytest.raises(troupe.InvalidArgument, match="has no parameter z"):
        gpu.run(graph, z=other)
    with pytest.raises(troupe.InvalidArgument, match="it cannot be changed"):
        graph.parameter("w", w)


def test_a_run_takes_other_numbers_for_parameters(gpu):
    x = gpu.tensor([1.0, 2.0])
    with gpu.record("scale") as graph:
        scaled = gpu.blas.scal(x=x, alpha=2)
    graph.parameter("factor", scaled, "alpha")
    gpu.run(graph, factor=10).result()
    gpu.run(graph).result()
    assert x.tolist() == [20, 40]
    with pytest.raises(troupe.InvalidArgument, match="parameter factor: it must be a number"):
        gpu.run(graph, factor=x)


def test_a_run_takes_other_rows_of_a_cache(gpu):
    cache, token, out = gpu.zeros((4, 2)), gpu.tensor([1.0, 2.0], "f4"), gpu.empty((4, 2))
    with gpu.record("append") as graph:
        gpu.memory.copy(from_=token, to=cache[0])
        gpu.memory.copy(from_=cache, to=out)
    graph.parameter("row", cache[0], within=cache)
    for row in (2, 0):
        gpu.run(graph, row=cache[row]).result()
    assert out.tolist() == [[1, 2], [0, 0], [1, 2], [0, 0]]
    with pytest.raises(troupe.Aliasing, match="parameter row must lie within"):
        gpu.run(graph, row=gpu.zeros((2,)))
    with gpu.record("scale") as graph:
        scaled = gpu.blas.scal(x=token, alpha=2)
    with pytest.raises(troupe.InvalidArgument, match="a number lies within no tensor"):
        graph.parameter("factor", scaled, "alpha", within=token)


def test_a_request_writes_only_its_rows(gpu):
    cache, out = gpu.zeros((4, 2)), gpu.empty((4, 2))
    token, index = gpu.tensor(np.ones((1, 2), "f4")), gpu.tensor(np.array([0], "i4"))
    with gpu.record("append") as graph:
        stored = gpu.elementwise.scatter_rows(x=token, indices=index, table=cache)
        gpu.memory.copy(from_=cache, to=out)
    graph.writes_only(stored, "table", [cache[0:1]])
    graph.parameter("row", cache[0:1], within=cache)
    for row in (1, 3):
        gpu.copy(np.array([row], "i4"), index).result()
        gpu.run(graph, row=cache[row : row + 1]).result()
    assert out.tolist() == [[0, 0], [1, 1], [0, 0], [1, 1]]
    with (
        pytest.raises(troupe.InvalidArgument, match="it has no tensor y"),
        gpu.record("append") as graph,
    ):
        stored = gpu.elementwise.scatter_rows(x=token, indices=index, table=cache)
        graph.writes_only(stored, "y", [])


def test_a_graph_is_part_of_another(gpu, arrays):
    x, w, _ = map(gpu.tensor, arrays)
    with gpu.record("inner") as inner:
        y = gpu.blas.gemm(a=x, b=w)
    inner.parameter("x", x)
    with gpu.record("outer") as outer:
        z = gpu.zeros((8, 8))
        gpu.run(inner, x=z)
    assert len(outer) == 2
    gpu.run(outer).result()
    assert not y.numpy().any()


def test_only_requests_can_be_recorded(gpu, arrays):
    x = gpu.tensor(arrays[0])
    for what in (x.numpy, lambda: gpu.tensor(arrays[1]), lambda: gpu.copy(arrays[1], x), x.mapped):
        with pytest.raises(troupe.InvalidArgument, match="nothing has run yet"), gpu.record("step"):
            gpu.blas.gemm(a=x, b=x)
            what()
    with (
        pytest.raises(troupe.InvalidArgument, match="options are those of the run"),
        gpu.record("step"),
    ):
        gpu.blas.gemm(a=x, b=x, deadline=1)
    with (
        pytest.raises(troupe.ShapeMismatch, match="graph step, request 0"),
        gpu.record("step") as graph,
    ):
        gpu.blas.gemm(a=x, b=x, c=gpu.empty((2, 2)))
    with pytest.raises(troupe.InvalidArgument, match="left by an exception"):
        gpu.run(graph)
    with gpu.record("step") as graph:
        pass
    with pytest.raises(troupe.InvalidArgument, match="it has no requests"):
        gpu.run(graph)
    with (
        pytest.raises(troupe.InvalidArgument, match="records another graph"),
        gpu.record("one"),
        gpu.record("other"),
    ):
        pass
    with gpu.record("once") as graph:
        gpu.memory.fill(to=x, value=0)
    with pytest.raises(troupe.InvalidArgument, match="it has been recorded"), graph:
        pass
    assert x.numpy().any()  # the device is untouched


def test_a_graph_is_awaited_and_outlives_its_worker(gpu, arrays):
    x, w, _ = map(gpu.tensor, arrays)
    with gpu.record("step") as graph:
        y = gpu.blas.gemm(a=x, b=w)
        z = gpu.blas.gemm(a=y, b=w)

    async def steps():
        await gpu.run(graph)
        expected = z.numpy()
        generation = gpu.generation
        os.kill(gpu.worker_pid, signal.SIGKILL)
        for _ in range(20):
            await gpu.run(graph)
        np.testing.assert_array_equal(z.numpy(), expected)
        end = time.monotonic() + 10
        while gpu.generation == generation and time.monotonic() < end:
            await asyncio.sleep(0.01)
        assert gpu.generation > generation

    asyncio.run(steps())


def test_a_fault_names_the_request_in_the_graph(gpu, on_gpu):
    x = gpu.zeros((2,))
    with gpu.record("faulty") as graph:
        gpu.memory.fill(to=x, value=1)
        gpu.fault.inject(what="abort")
    if on_gpu:
        # From then on the worker waits for each request.
        with pytest.raises(troupe.DeviceFault, match="graph.run faulty"):
            gpu.run(graph, quarantine=False).result()
    with pytest.raises(
        troupe.DeviceFault, match=r"graph.run faulty \(2 requests\), request 1: fault"
    ):
        gpu.run(graph, quarantine=False).result()
