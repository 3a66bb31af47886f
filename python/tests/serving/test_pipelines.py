"""Pipelines: order, room, failures, cancelled items, and a worker that is killed."""

import asyncio
import os
import random
import signal

import numpy as np
import pytest
import troupe


def test_items_come_in_order_whatever_their_stages_take(gpu):
    w = gpu.tensor(np.eye(4, dtype="f4") * 2)

    async def read(y):
        return (await y).numpy()

    async def main():
        pipeline = (
            troupe.Pipeline(in_flight=3)
            .stage(lambda i: gpu.tensor(np.full((4, 4), i, "f4")))
            .stage(lambda x: gpu.blas.gemm(x, w))
            .stage(read, at_once=2)
        )
        results = [r[0, 0] async for r in pipeline.run(range(50))]
        assert results == [2 * i for i in range(50)]
        assert (await pipeline.push(7))[0, 0] == 14
        await pipeline.close()
        with pytest.raises(troupe.Cancelled):
            await pipeline.push(8)

    asyncio.run(main())


def test_no_more_items_than_it_has_room_for():
    async def main():
        inside, most = 0, 0

        async def work(i):
            nonlocal inside, most
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(random.random() / 500)
            inside -= 1
            return i

        pipeline = troupe.Pipeline(in_flight=8).stage(work, at_once=2)
        assert [i async for i in pipeline.run(range(40))] == list(range(40))
        assert most == 2

        hold = asyncio.get_running_loop().create_future()
        full = troupe.Pipeline(in_flight=1, waiting=1, when_full="reject").stage(lambda _: hold)
        tasks = [asyncio.create_task(full.push(i)) for i in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(troupe.MailboxFull, match="2 items"):
            await full.push(2)
        hold.set_result(1)
        assert await asyncio.gather(*tasks) == [1, 1]

    asyncio.run(main())


def test_a_failure_costs_its_item_alone_and_names_its_stage():
    def halve(i):
        if i % 2:
            raise ValueError(f"{i} is odd")
        return i // 2

    async def main():
        pipeline = troupe.Pipeline().stage(halve).stage(lambda i: i + 100, "add")
        results = await asyncio.gather(
            *(pipeline.push(i) for i in range(20)), return_exceptions=True
        )
        for i, r in enumerate(results):
            if i % 2:
                assert r.__notes__ == ["in stage halve of a pipeline"]
            else:
                assert r == 100 + i // 2

    asyncio.run(main())


def test_cancelled_items_are_in_nobodys_way():
    async def main():
        async def work(i):
            await asyncio.sleep(0.001)
            return i

        pipeline = troupe.Pipeline(in_flight=3).stage(work).stage(work)
        tasks = [asyncio.create_task(pipeline.push(i)) for i in range(60)]
        for i, task in enumerate(tasks):
            if i % 3 == 1:
                await asyncio.sleep(0.001)
                task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        for i, r in enumerate(results):
            assert r == i or (i % 3 == 1 and isinstance(r, asyncio.CancelledError))
        await pipeline.close()

    asyncio.run(asyncio.wait_for(main(), 20))


def test_a_worker_is_killed_with_items_in_flight(system):
    gpu = system.device(0)
    w = gpu.tensor(np.eye(8, dtype="f4") * 3)

    async def read(y):
        return (await y).numpy()[0, 0]

    async def main():
        pipeline = (
            troupe.Pipeline(in_flight=8)
            .stage(lambda i: gpu.tensor(np.full((8, 8), i, "f4")))
            .stage(lambda x: gpu.blas.gemm(x, w))
            .stage(read, at_once=8)
        )
        done = 0
        async for value in pipeline.run(range(200)):
            assert value == 3 * done
            done += 1
            if done % 50 == 10 and gpu.worker_pid:
                os.kill(gpu.worker_pid, signal.SIGKILL)
        assert done == 200

    asyncio.run(main())


def test_numbers_that_make_no_sense():
    with pytest.raises(ValueError, match="in_flight is 0"):
        troupe.Pipeline(in_flight=0)
    with pytest.raises(ValueError, match="when_full"):
        troupe.Pipeline(when_full="drop")
    with pytest.raises(ValueError, match="at_once is 0"):
        troupe.Pipeline().stage(str, at_once=0)
