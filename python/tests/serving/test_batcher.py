"""`troupe.serving.Batcher`: batches of which only the culprit fails."""

import asyncio
import gc
import math
import os
import signal
import time

import numpy as np
import pytest
import troupe
from troupe.serving import Batcher, Refused


def in_loop(test):
    """Runs a coroutine function as a test."""

    def run():
        asyncio.run(asyncio.wait_for(test(), 20))

    run.__name__ = test.__name__
    return run


async def double(items):
    await asyncio.sleep(0)
    return [2 * one for one in items]


@in_loop
async def test_items_of_one_turn_share_a_batch():
    sizes = []

    async def run(items):
        sizes.append((len(items), items.cost, items.closed_by))
        return await double(items)

    async with Batcher(run, items=4, in_flight=1) as batcher:
        answers = await asyncio.gather(*(batcher(i, cost=2) for i in range(10)))
    assert answers == [2 * i for i in range(10)]
    assert sizes == [(4, 8, "items"), (4, 8, "items"), (2, 4, "free_lane")]
    facts = batcher.statistics()
    assert facts["waiting_items"] == 0 and facts["requests_total"]["ok"] == 10
    assert facts["batches_total"] == {"items": 2, "free_lane": 1}
    assert facts["batch_items"]["sum"] == 10


@in_loop
async def test_a_plain_function_runs_in_a_thread_one_call_at_a_time():
    running = 0

    def run(items):
        nonlocal running
        running += 1
        assert running == 1
        running -= 1
        return np.asarray(items) + 0.5

    async with Batcher(run, items=2) as batcher:
        assert await asyncio.gather(*map(batcher, range(6))) == [i + 0.5 for i in range(6)]


@pytest.mark.parametrize("n", [1, 2, 31, 32, 33])
@pytest.mark.parametrize("bad", [(), (0,), (-1,), (0, -1), "all"])
def test_only_culprits_fail(n, bad):
    culprits = set(range(n)) if bad == "all" else {(n + b) % n for b in bad}

    async def run(items):
        if any(one in culprits for one in items):
            raise ValueError(f"one of {list(items)}")
        return await double(items)

    async def ask_all():
        async with Batcher(run, items=64) as batcher:
            answers = await asyncio.gather(*map(batcher, range(n)), return_exceptions=True)
            return answers, batcher.statistics()

    answers, facts = asyncio.run(ask_all())
    for i, answer in enumerate(answers):
        if i in culprits:
            assert isinstance(answer, ValueError) and str(answer) == f"one of [{i}]"
        else:
            assert answer == 2 * i
    assert facts["culprits_total"] == len(culprits) and facts["waiting_items"] == 0
    assert facts["waiting_bytes"] == 0 and facts["irreproducible_total"] == 0


@in_loop
async def test_an_answer_may_be_a_failure_or_not_finite():
    async def run(items):
        return [KeyError("no") if one == 1 else np.array([one, math.nan if one == 2 else 0])
                for one in items]  # fmt: skip

    async with Batcher(run, finite=True) as batcher:
        answers = await asyncio.gather(*map(batcher, range(4)), return_exceptions=True)
    assert [type(one) for one in answers] == [np.ndarray, KeyError, troupe.Numerical, np.ndarray]
    assert batcher.statistics()["batches_total"] == {"free_lane": 1}


@in_loop
async def test_a_fault_of_the_device_costs_its_item_and_puts_it_in_quarantine():
    async def run(items):
        if b"bad" in items:
            raise troupe.DeviceFault("signal 11")
        return [one.decode() for one in items]

    async with Batcher(run, failover=0.0) as batcher:
        batch = [b"a", b"bad", b"c"]
        answers = await asyncio.gather(
            *(batcher(one, tenant=f"t{i}") for i, one in enumerate(batch)), return_exceptions=True
        )
        assert answers[0] == "a" and answers[2] == "c"
        assert isinstance(answers[1], troupe.DeviceFault)
        with pytest.raises(troupe.Poisonous) as refused:
            batcher(b"bad", tenant="t0")
        assert 50 < refused.value.retry_after <= 60
        (one,) = batcher.quarantined()
        assert one["offences"] == 1
        # Its tenant gets a batch of its own.
        together = await asyncio.gather(*(batcher(b"x", tenant=t) for t in ("t0", "t1", "t2")))
        assert together == ["x", "x", "x"]
        with pytest.raises(ValueError):
            batcher.forgive("")  # it names none, and does not mean all
        assert batcher.forgive(one["fingerprint"]) == 1
        with pytest.raises(troupe.DeviceFault):
            await batcher(b"bad")
        assert batcher.statistics()["batches_total"]["free_lane"] == 4


@in_loop
async def test_a_device_that_has_stopped_fails_all_and_runs_nothing_again():
    calls = 0

    async def run(items):
        nonlocal calls
        calls += 1
        raise troupe.DeviceStopped("gave up")

    async with Batcher(run) as batcher:
        answers = await asyncio.gather(*map(batcher, range(8)), return_exceptions=True)
    assert all(isinstance(one, troupe.DeviceStopped) for one in answers) and calls == 1


@in_loop
async def test_a_batch_that_was_lost_with_another_runs_again():
    left = 3

    async def run(items):
        nonlocal left
        left -= 1
        if left:
            raise troupe.Aborted("lost with its worker")
        return await double(items)

    async with Batcher(run) as batcher:
        assert await asyncio.gather(*map(batcher, range(4))) == [0, 2, 4, 6]


@in_loop
async def test_one_that_hangs_is_found_by_the_run_limit():
    async def run(items):
        if 3 in items:
            await asyncio.sleep(60)
        return await double(items)

    async with Batcher(run, run_limit=0.05, failover=0.0) as batcher:
        answers = await asyncio.gather(*map(batcher, range(6)), return_exceptions=True)
    assert isinstance(answers.pop(3), troupe.DeviceFault)
    assert answers == [0, 2, 4, 8, 10]


@in_loop
async def test_the_run_limit_accuses_nobody_whose_function_is_in_a_thread():
    def run(items):
        time.sleep(0.3)  # its pieces would wait for this thread, and for one another
        return [2 * one for one in items]

    async with Batcher(run, run_limit=0.05, failover=0.0) as batcher:
        assert await asyncio.gather(*map(batcher, range(6))) == [0, 2, 4, 6, 8, 10]


@in_loop
async def test_deadlines_cancellation_and_limits():
    gate = asyncio.Event()
    seen = []

    async def run(items):
        seen.extend(items)
        await gate.wait()
        return await double(items)

    async with Batcher(run, items=1, in_flight=1, queue_items=4, cost=8) as batcher:
        first = batcher("first")
        await asyncio.sleep(0)
        late, gone, last = batcher("late", deadline=0.02), batcher("gone"), batcher("last")
        with pytest.raises(Refused) as full:
            batcher("fifth")
        assert full.value.reason == "items" and full.value.retry_after > 0
        assert isinstance(full.value, troupe.MailboxFull)
        with pytest.raises(Refused) as large:
            batcher("large", cost=9)
        assert large.value.reason == "cost" and large.value.retry_after is None
        with pytest.raises(troupe.DeadlineExceeded):
            await late
        gone.cancel()
        assert batcher.check() >= 0
        gate.set()
        assert await first == "firstfirst" and await last == "lastlast"
    assert seen == ["first", "last"]
    facts = batcher.statistics()
    assert facts["requests_total"] == {
        "ok": 2, "failed": 0, "culprit": 0, "deadline_exceeded": 1, "cancelled": 1,
    }  # fmt: skip
    assert facts["rejected_total"] == {"items": 1, "cost": 1}
    with pytest.raises(Refused, match="closed"):
        batcher("after")


@in_loop
async def test_items_of_a_sequence_run_one_after_the_other():
    batches = []

    async def run(items):
        batches.append(list(items))
        return await double(items)

    async with Batcher(run) as batcher:
        await asyncio.gather(*(batcher(i, sequence=f"s{i % 2}") for i in range(6)))
    assert batches == [[0, 1], [2, 3], [4, 5]]


@in_loop
async def test_closing_does_not_wait_for_ever():
    async def run(items):
        await asyncio.sleep(60)

    wrong = []
    asyncio.get_running_loop().set_exception_handler(lambda _, what: wrong.append(what))
    batcher = Batcher(run, items=1)
    answers = [batcher(i) for i in range(5)]  # two are in batches, three wait
    await asyncio.sleep(0)
    await batcher.close(drain=0.01)
    for one in answers:
        with pytest.raises(troupe.DeviceStopped):
            await one
    gc.collect()
    assert wrong == []


def test_items_that_end_their_worker_fail_alone(system, tmp_path):
    """The whole way: a batch is a request; items of it abort, exit and raise; and somebody kills it."""
    (tmp_path / "doubles.py").write_text("""
import os, numpy as np, troupe
@troupe.operation("serving.double")
def double(x: troupe.Reads, y: troupe.Writes):
    x, y = np.asarray(x), np.asarray(y)
    if (x == 7).any():
        os.abort()
    if (x == 20).any():
        os._exit(3)
    if (x == 31).any():
        raise ValueError("31")
    y[:] = 2 * x
""")
    device = system.device(31, backend="cpu", operations=[tmp_path / "doubles.py"], restarts=30)
    device.wait_until_ready()
    runs = 0

    async def run(items):
        nonlocal runs
        runs += 1
        if runs == 5 and device.worker_pid:
            os.kill(device.worker_pid, signal.SIGKILL)
        x = device.tensor(np.asarray(items, "f4"))
        y = device.tensor((len(items),), "f4")
        await device.serving.double(x, y)
        return y.numpy().tolist()

    async def ask_all():
        async with Batcher(run) as batcher:
            answers = await asyncio.gather(*map(batcher, range(32)), return_exceptions=True)
            return answers, batcher.statistics()

    answers, facts = asyncio.run(asyncio.wait_for(ask_all(), 50))
    device.stop()
    assert [type(answers[i]) for i in (7, 20, 31)] == [
        troupe.DeviceFault, troupe.DeviceFault, troupe.HandlerFailed,
    ]  # fmt: skip
    assert [one for i, one in enumerate(answers) if i not in (7, 20, 31)] == [
        2.0 * i for i in range(32) if i not in (7, 20, 31)
    ]
    assert facts["culprits_total"] == 3 and facts["quarantined_items"] == 3
    assert facts["waiting_items"] == 0 and facts["running_batches"] == 0


@in_loop
async def test_an_item_whose_worker_is_killed_each_time_fails_alone():
    async def run(items):
        if "bad" in items:
            raise troupe.Aborted("6 workers were killed from outside", code_name="SIGKILL")
        return await double(items)

    async with Batcher(run) as batcher:
        ends = await asyncio.gather(*map(batcher, ["a", "bad", "b"]), return_exceptions=True)
        assert (ends[0], ends[2]) == ("aa", "bb") and isinstance(ends[1], troupe.Aborted)
        assert batcher.statistics()["culprits_total"] == 1
        with pytest.raises(troupe.Poisonous):
            await batcher("bad")
