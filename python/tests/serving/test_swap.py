"""`troupe.serving.Swap`: the next version of a model, while it serves."""

import asyncio
import contextlib
import os
import signal

import numpy as np
import pytest
import troupe
from test_batcher import in_loop
from troupe.serving import Batcher, Swap, canaries


class Versions:
    """Makes versions whose answers say which they are; counts those that are loaded."""

    def __init__(self):
        self.loaded = []

    def make(self, version, fails=False):
        @contextlib.asynccontextmanager
        async def made():
            async def run(items):
                await asyncio.sleep(0.002)
                return [(version, one) for one in items]

            if fails:
                raise OSError("no such file")
            self.loaded.append(version)
            async with Batcher(run, items=4) as batcher:
                yield batcher
            self.loaded.remove(version)

        return made


@in_loop
async def test_a_hundred_swaps_under_load_fail_nothing():
    versions, answers = Versions(), []
    async with Swap(versions.make("0"), version="0") as model:
        ending = False

        async def client():
            while not ending:
                said = await model.ask(len(answers))
                assert said.answer[0] == said.version
                answers.append(said.version)

        clients = [asyncio.ensure_future(client()) for _ in range(8)]
        for number in range(1, 101):
            await model.swap(versions.make(str(number)), version=str(number))
            assert (model.version, versions.loaded) == (str(number), [str(number)])
            await asyncio.sleep(0)
        ending = True
        await asyncio.gather(*clients)
        assert (await model(5)) == ("100", 5)
    assert versions.loaded == []
    assert len(set(answers)) > 20


@in_loop
async def test_a_share_of_items_goes_to_the_next_version():
    versions = Versions()
    async with Swap(versions.make("a"), version="a") as model:
        async with model.beside(versions.make("b"), version="b", share=0.25) as new:
            said = [(await model.ask(i)).version for i in range(40)]
            assert said.count("b") == 10
            with pytest.raises(troupe.InvalidArgument, match="'b' is coming already"):
                await model.swap(versions.make("c"), version="c")
            await new.shift(0.5, over=0.1)
            assert new.share == 0.5
            with pytest.raises(troupe.InvalidArgument):
                await new.shift(1.5)
        assert (model.version, versions.loaded) == ("b", ["b"])


@in_loop
async def test_what_fails_leaves_the_old_version_as_it_was():
    versions = Versions()

    async def check(old, new):
        assert await old(1) == ("a", 1)
        if (await new(1))[0] == "worse":
            raise ValueError("it is worse")

    async with Swap(versions.make("a"), version="a") as model:
        with pytest.raises(OSError):
            await model.swap(versions.make("b", fails=True), version="b")
        with pytest.raises(ValueError, match="worse"):
            await model.swap(versions.make("worse"), version="b", check=check)
        with pytest.raises(ZeroDivisionError):
            async with model.beside(versions.make("b"), version="b", share=1.0):
                asked = asyncio.ensure_future(model(7))
                await asyncio.sleep(0)
                raise ZeroDivisionError
        assert await asked == ("b", 7), "it had begun with it"
        assert (model.version, versions.loaded) == ("a", ["a"])
        await model.swap(versions.make("b"), version="b", check=check)
        assert await model(2) == ("b", 2)
    with pytest.raises(troupe.InvalidArgument, match="async with"):
        await model(3)


def test_weights_beside_each_other_through_kills():
    with troupe.System() as system:
        gpu = system.device(0, backend="cpu", restarts=1000)
        gpu.wait_until_ready()
        empty = gpu.statistics.memory_used_bytes

        def weights(factor):
            @contextlib.asynccontextmanager
            async def made():
                w = gpu.full((16, 16), factor)

                async def run(items):
                    return list((await gpu.blas.gemm(gpu.tensor(np.stack(items)), w)).numpy())

                async with Batcher(run, items=8) as batcher:
                    yield batcher
                w.release()

            return made

        async def main():
            async with Swap(weights(1.0), version="1") as model:
                for version in range(2, 8):
                    asked = [asyncio.ensure_future(model.ask(np.ones(16, "f4"))) for _ in range(8)]
                    await asyncio.sleep(0)
                    os.kill(gpu.worker_pid, signal.SIGKILL)
                    await model.swap(weights(float(version)), version=str(version))
                    for one in await asyncio.gather(*asked):
                        assert (one.answer == 16 * float(one.version)).all()
                    assert ((await model(np.ones(16, "f4"))) == 16 * version).all()
                    gpu.wait_until_ready()

        asyncio.run(main())
        assert gpu.statistics.memory_used_bytes == empty


@in_loop
async def test_canaries_compare_both_versions_item_by_item():
    def version(factor):
        @contextlib.asynccontextmanager
        async def made():
            async def run(items):
                return [np.array([one, factor]) for one in items]

            async with Batcher(run) as batcher:
                yield batcher

        return made

    async with Swap(version(1.0), version="1") as model:
        await model.swap(version(1.0), version="2", check=canaries([1.0, 2.0], least=1 - 1e-9))
        with pytest.raises(troupe.InvalidArgument, match=r"canary 1: .* below 0.87"):
            # [9, 1] and [9, 5] are alike, [1, 1] and [1, 5] are not.
            await model.swap(version(5.0), version="3", check=canaries([9.0, 1.0], least=0.87))
        with pytest.raises(troupe.InvalidArgument, match="canary 0: the likeness is 0"):
            await model.swap(version(np.nan), version="3", check=canaries([1.0], least=0.5))
        same = canaries([1.0], likeness=lambda a, b: (a == b).all(), least=1)
        await model.swap(version(1.0), version="3", check=same)
        assert model.version == "3"
