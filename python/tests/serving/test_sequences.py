"""`troupe.serving.Sequences`: streams whose items are computed with a state."""

import asyncio
import os
import signal

import numpy as np
import pytest
import troupe
from test_batcher import in_loop
from troupe.elementwise import tanh
from troupe.serving import Refused, Sequences


async def add_up(items, states):
    await asyncio.sleep(0)
    sums = [state + item for item, state in zip(items, states, strict=True)]
    return sums, sums


def sums(**options):
    return Sequences(add_up, initial=lambda: 0, **options)


@in_loop
async def test_each_sequence_has_its_state_and_many_share_a_batch():
    sizes = []

    async def step(items, states):
        sizes.append(len(items))
        assert items.cost == len(items)
        return await add_up(items, states)

    async with Sequences(step, initial=lambda: 0, items=8) as all:
        for turn in range(4):
            answers = await asyncio.gather(
                *(all(one + 1, sequence=one, start=turn == 0) for one in range(8))
            )
            assert answers == [(turn + 1) * (one + 1) for one in range(8)]
        assert sizes == [8] * 4
        # The items of one sequence run in order, also if they are asked for at once.
        assert await asyncio.gather(*(all(1, sequence=0) for _ in range(5))) == [5, 6, 7, 8, 9]
        assert await all(1, sequence=0, end=True) == 10
        assert len(all) == 7


@in_loop
async def test_a_missing_or_second_start_is_refused():
    async with sums(most=2, waiting=1) as all:
        with pytest.raises(troupe.InvalidArgument, match="no sequence 'a': it was never started"):
            await all(1, sequence="a")
        await all(1, sequence="a", start=True)
        with pytest.raises(troupe.InvalidArgument, match="has begun already"):
            await all(1, sequence="a", start=True)
        # The same name of two tenants means two sequences.
        assert await all(5, sequence="a", tenant="other", start=True) == 5
        assert await all(1, sequence="a") == 2
        with pytest.raises(troupe.MailboxFull, match="there are 2 sequences already"):
            await all(1, sequence="b", start=True)
        first = asyncio.ensure_future(all(1, sequence="a", end=True))
        await asyncio.sleep(0)
        with pytest.raises(troupe.MailboxFull, match="1 items of sequence 'a' wait"):
            await all(1, sequence="a")
        assert await first == 3
        with pytest.raises(troupe.InvalidArgument, match="it was ended"):
            await all(1, sequence="a")
        assert await all(7, sequence="a", start=True) == 7


@in_loop
async def test_idle_ones_end():
    async with sums(idle=0.2) as all:
        await all(1, sequence="a", start=True)
        for _ in range(4):
            await asyncio.sleep(0.03)
            await all(1, sequence="a")
        await asyncio.sleep(0.35)
        assert len(all) == 0
        with pytest.raises(troupe.InvalidArgument, match=r"it had no items for 0.2 s"):
            await all(1, sequence="a")


@in_loop
async def test_only_the_culprit_ends_and_what_was_not_answered_changes_nothing():
    async def step(items, states):
        if "poison" in items:
            raise ValueError("it does not like poison")
        await asyncio.sleep(0.01)
        new = [state + item for item, state in zip(items, states, strict=True)]
        return [KeyError("own") if item == "own" else one
                for item, one in zip(items, new, strict=True)], new  # fmt: skip

    async with Sequences(step, initial=lambda: "", items=8) as all:
        for one in range(8):
            await all(str(one), sequence=one, start=True)
        given = ["poison" if one == 3 else "own" if one == 4 else "x" for one in range(8)]
        behind = [all("y", sequence=one) for one in (3, 4)]
        answers = await asyncio.gather(
            *(all(what, sequence=one) for one, what in enumerate(given)), *behind,
            return_exceptions=True,
        )  # fmt: skip
        assert [type(answers[one]) for one in (3, 4, 8, 9)] == [
            ValueError, KeyError, ValueError, KeyError,
        ]  # fmt: skip
        assert [a for one, a in enumerate(answers[:8]) if one not in (3, 4)] == [
            f"{one}x" for one in range(8) if one not in (3, 4)
        ]
        with pytest.raises(troupe.InvalidArgument, match="ValueError: it does not like poison"):
            await all("z", sequence=3)
        # Cancelled, and late.
        asked = asyncio.ensure_future(all("c", sequence=0))
        await asyncio.sleep(0.005)
        asked.cancel()
        with pytest.raises(Refused):
            await all("d", sequence=1, deadline=-1.0)
        assert await all("z", sequence=0) == "0xz"
        assert await all("z", sequence=1) == "1xz"
        # A sequence whose first item was not computed does not exist.
        with pytest.raises(Refused):
            await all("e", sequence="late", start=True, deadline=-1.0)
        assert await all("f", sequence="late", start=True) == "f"


@in_loop
async def test_a_sequence_stays_with_its_device():
    stopped = set()

    def on(device):
        async def step(items, states):
            if device in stopped:
                raise troupe.DeviceStopped(device)
            return states, [state + item for state, item in zip(states, items, strict=True)]

        return step

    async with Sequences([on("a"), on("b")], initial=[lambda: "a", lambda: "b"]) as all:
        said = [await all("x", sequence=n, start=True) for n in range(6)]
        assert said == ["a", "b"] * 3
        stopped.add("b")
        assert await all("y", sequence=0) == "ax"
        with pytest.raises(troupe.DeviceStopped):
            await all("y", sequence=1)
        assert [await all("x", sequence=n, start=True) for n in (6, 7)] == ["a", "a"]
        stopped.clear()
        assert await all("y", sequence=1) == "bx", "nothing has changed it"
        assert await all("x", sequence=8, start=True) == "b"
    with pytest.raises(ValueError, match="2 steps and 1 initial"):
        Sequences([on("a"), on("b")], initial=[str])


@in_loop
async def test_a_function_runs_in_a_thread():
    def step(items, states):
        return [None] * len(items), [*states[1:], 1][: len(items) - 1]

    async with Sequences(step) as all:
        with pytest.raises(ValueError, match="1 answers and 0 states"):
            await all(1, sequence=1, start=True)


def recurrent(gpu, width, hidden, rng):
    """A layer h' = tanh(x · w + h · u), its answers the sums of h'."""
    w, u = (
        gpu.tensor((rng.standard_normal(shape) / 4).astype("f4"))
        for shape in ((width, hidden), (hidden, hidden))
    )
    zero = gpu.zeros((1, hidden))

    async def step(items, states):
        x, h = gpu.tensor(np.stack(items)), gpu.concatenate(states)
        both = gpu.map(lambda a, b: tanh(a + b), gpu.blas.gemm(x, w), gpu.blas.gemm(h, u))
        new = await both
        return list(new.numpy().sum(1)), [new[i : i + 1] for i in range(len(items))]

    return Sequences(step, initial=lambda: zero, items=64, failover=0.01)


def test_states_are_the_same_to_the_bit_through_kills_and_a_renewal(rng):
    streams, chunks, width, hidden = 16, 40, 8, 32
    given = rng.standard_normal((chunks, streams, width)).astype("f4")
    weights = rng.integers(1 << 30)

    async def run(gpu, disturb):
        async with recurrent(gpu, width, hidden, np.random.default_rng(weights)) as all:
            # Each chunk of all streams is one batch: other batches may differ in the last bits.
            async def feed():
                return [
                    await asyncio.gather(
                        *(all(chunk[one], sequence=one, start=i == 0) for one in range(streams))
                    )
                    for i, chunk in enumerate(given)
                ]

            async def faults():
                for i in range(8 if disturb else 0):
                    await asyncio.sleep(0.01)
                    if i % 4 == 3:
                        await gpu.renew()
                    elif gpu.worker_pid:
                        os.kill(gpu.worker_pid, signal.SIGKILL)

            answers, _ = await asyncio.gather(feed(), faults())
            return answers

    with troupe.System() as system:
        gpu = system.device(0, backend="cpu", restarts=1000)
        gpu.wait_until_ready()
        undisturbed = asyncio.run(run(gpu, False))
        disturbed = asyncio.run(run(gpu, True))
        assert gpu.health.restarts >= 3
    np.testing.assert_array_equal(disturbed, undisturbed)
