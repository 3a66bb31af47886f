"""Callbacks of futures, as `concurrent.futures` has them, and what is built on them."""

import asyncio
import concurrent.futures
import threading

import pytest
import troupe


def busy(gpu, seconds):
    return gpu.fault.inject(what="spin", duration_ns=int(seconds * 1e9))


def test_a_repr_says_request_and_state(gpu):
    slow, next_one = busy(gpu, 0.2), busy(gpu, 0.001)
    assert repr(slow) == "<troupe.Future of fault.inject, pending>"
    assert not slow.cancelled() and next_one.cancel() and next_one.cancelled()
    assert repr(next_one) == "<troupe.Future of fault.inject, cancelled>"
    slow.result()
    assert repr(slow) == "<troupe.Future of fault.inject, done>"
    failed = gpu.fault.inject(what="abort")
    failed.exception()
    assert repr(failed) == "<troupe.Future of fault.inject, failed: device_fault>"
    gpu.forgive_all()
    x = gpu.ones((2, 2))
    assert "of elementwise.map," in repr(gpu.map(lambda v: v, x))
    assert "of memory.copy," in repr(gpu.copy(x, gpu.empty((2, 2))))
    assert "of blas.gemm," in repr(gpu.blas.gemm(x, x)[0])


def test_callbacks_are_called_once_in_order(gpu):
    called, threads, all_called = [], set(), threading.Event()

    def note(name):
        def callback(future):
            assert future is slow and future.done()
            called.append(name)
            threads.add(threading.current_thread().name)
            if name == "last":
                all_called.set()

        return callback

    slow, removed = busy(gpu, 0.1), note("removed")
    slow.add_done_callback(note("first"))
    slow.add_done_callback(removed)
    slow.add_done_callback(lambda future: 1 / 0)  # printed
    slow.add_done_callback(note("last"))
    assert slow.remove_done_callback(removed) == 1 and slow.remove_done_callback(removed) == 0
    assert all_called.wait(10)
    assert called == ["first", "last"] and threads == {"troupe-callbacks"}
    slow.add_done_callback(note("at once"))
    assert called[-1] == "at once"
    # Its thread has ended meanwhile, or ends, and there is another.
    again, done = busy(gpu, 0.05), threading.Event()
    again.add_done_callback(lambda _: done.set())
    assert done.wait(10)


def test_what_a_callback_raises_is_printed(gpu, capfd):
    done = gpu.map(lambda v: v, gpu.ones(3))
    done.result()
    done.add_done_callback(lambda future: 1 / 0)
    assert "ZeroDivisionError" in capfd.readouterr().err


def test_many_futures_have_callbacks(gpu):
    left, all_called = [1000], threading.Event()
    lock = threading.Lock()

    def count(_):
        with lock:
            left[0] -= 1
            if left[0] == 0:
                all_called.set()

    x = gpu.ones(4)
    for _ in range(1000):
        gpu.map(lambda v: v + 1, x).add_done_callback(count)
    assert all_called.wait(30)


def test_asyncio_waits_for_futures(gpu):
    async def main():
        here = threading.current_thread()
        slow, x = busy(gpu, 0.2), gpu.ones((2, 2))
        quick = [gpu.blas.on_new_lanes().gemm(x, x) for _ in range(3)]
        done, pending = await asyncio.wait(quick, timeout=10)
        assert done == set(quick) and not pending
        done, pending = await asyncio.wait([slow], timeout=0.001)
        assert pending == {slow} and not done
        threads = []
        slow.add_done_callback(lambda _: threads.append(threading.current_thread()))
        done, pending = await asyncio.wait([slow, *quick], return_when=asyncio.FIRST_COMPLETED)
        assert slow in pending or slow.done()
        assert await asyncio.wrap_future(slow.as_concurrent()) is None
        while not threads:
            await asyncio.sleep(0.001)
        assert threads == [here]
        failed = gpu.fault.inject(what="abort")
        done, _ = await asyncio.wait([failed], return_when=asyncio.FIRST_EXCEPTION)
        assert isinstance(done.pop().exception(), troupe.DeviceFault)
        gpu.forgive_all()

    asyncio.run(main())


def test_concurrent_futures_of_the_same_answers(gpu):
    slow = busy(gpu, 0.1)
    waiting = busy(gpu, 0.001)
    both = [slow.as_concurrent(), waiting.as_concurrent()]
    assert both[1].cancel() and both[1].cancelled()
    assert isinstance(waiting.exception(10), troupe.Cancelled) and waiting.cancelled()
    with pytest.raises(concurrent.futures.CancelledError):
        both[1].result()
    done, _ = concurrent.futures.wait(both, 10)
    assert done == set(both) and both[0].result() is None
    assert not both[0].cancel()
    failed = gpu.fault.inject(what="abort").as_concurrent()
    assert isinstance(failed.exception(10), troupe.DeviceFault)
    gpu.forgive_all()
    assert list(concurrent.futures.as_completed([slow.as_concurrent()]))[0].result() is None
