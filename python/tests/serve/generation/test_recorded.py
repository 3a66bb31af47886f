"""Recorded steps: their tokens are those of steps that are sent request by request, also in faults."""

import os
import signal
import threading

import numpy as np
import pytest
import troupe
from streams import Kept, ask, prompts, run
from troupe.generation import recorded
from troupe.generation.drafts import PromptLookup
from troupe.generation.engine import Engine
from troupe.generation.jobs import Job, Sampling
from troupe.generation.plan import Limits
from troupe.generation.step import Chunk

KINDS = [Sampling(), Sampling(0.9, 0, 0.95, 0.01, 3), Sampling(0.9, 40, 1.0, 0.0, 4)]


@pytest.mark.parametrize("sampling", KINDS)
def test_a_recorded_step_draws_the_same_tokens(engine_of, sampling):
    asked = prompts(5)
    right = run(engine_of(), asked, sampling=sampling)
    engine = engine_of(record=True)
    assert run(engine, asked, sampling=sampling) == right
    assert engine.counts["recorded_steps"] >= 15
    # Those that end leave smaller steps, and longer texts have larger tables.
    limits = [60, 90, 120, 150, 180]
    sinks = [Kept() for _ in asked]
    engine.submit(*(Job(p, s, limit=n, sampling=sampling) for p, s, n in zip(asked, sinks, limits, strict=True)))  # fmt: skip
    for one, tokens in zip(sinks, right, strict=True):
        assert one.wait() == "length" and one.tokens[: len(tokens)] == tokens
    assert engine.counts["recorded_steps"] >= 100


def test_likeliest_tokens_come_with_a_recorded_step(engine_of):
    asked = prompts(3)

    def taken(record):
        engine = engine_of(record=record)
        sinks = ask(engine, asked, logprobs=4)
        for one in sinks:
            one.wait()
        assert (engine.counts["recorded_steps"] > 0) == record
        return [one for sink in sinks for one in sink.taken]

    for a, b in zip(taken(False), taken(True), strict=True):
        assert a.token == b.token and [t for t, _ in a.likeliest] == [t for t, _ in b.likeliest]
        assert np.allclose(a.logprob, b.logprob, atol=1e-4)


@pytest.mark.parametrize("delay", [0.0, 0.0005, 0.002])
def test_a_worker_killed_in_a_recorded_step_changes_no_stream(model, engine_of, gpu, delay):
    asked = prompts(6)
    right = run(engine_of(), asked, limit=60)
    steps, timers = [], []

    def kill():
        if pid := gpu.worker_pid:
            os.kill(pid, signal.SIGKILL)

    def after():
        steps.append(1)
        if len(steps) % 15 == 14:
            timers.append(threading.Timer(delay, kill))
            timers[-1].start()

    engine = Engine(model, tokens=1024, after_step=after)
    generation = gpu.generation
    assert run(engine, asked, limit=60) == right
    for one in timers:
        one.join()
    assert engine.counts["recorded_steps"] > 30 and gpu.generation > generation
    assert engine.counts["failed_steps"] == 0
    engine.close()


class Cursed:
    """A model whose recorded steps fault where one of their tokens is `token`."""

    def __init__(self, model, gpu, what):
        self.model, self.what = model, what
        self.sizes, self.gpu, self.cache = model.sizes, model.gpu, model.cache
        self.token, self.once = -1, True
        self.bad = gpu.host_empty(1, "i32")

    def arm(self, token):
        self.bad.in_place()[:] = token

    def forward(self, step):
        if step.graph is None:
            if not self.once and int(self.bad.in_place()[0]) in step.ids:
                self.gpu.fault.inject(what=self.what, quarantine=False).result()
            return self.model.forward(step)
        ids = step.recorded[0]
        bad = self.gpu.empty(1, "i32")
        self.gpu.copy(self.bad, bad)
        hit = self.gpu.map(lambda x, y: troupe.elementwise.where(x == y, 1, 0), ids, bad)
        any_hit = self.gpu.reduce("max", hit)
        with step.graph.run_if(any_hit.reshape(1)):
            self.gpu.fault.inject(what=self.what)
        return self.model.forward(step)


@pytest.mark.parametrize("what", ["segmentation_fault", "exit"])
@pytest.mark.parametrize("once", [True, False])
def test_a_fault_in_a_recorded_step_costs_its_stream_alone(model, engine_of, gpu, what, once):
    asked = prompts(6)
    right = run(engine_of(), asked, limit=40)
    # A token that one stream alone draws, late enough for steps to be recorded.
    culprit, at = next(
        (i, n)
        for n in range(10, 39)
        for i in range(6)
        if sum((asked[j] + right[j]).count(right[i][n]) for j in range(6)) == 1
    )
    cursed = Cursed(model, gpu, what)
    cursed.once = once
    cursed.arm(right[culprit][at])
    engine = Engine(cursed, tokens=1024)
    sinks = ask(engine, asked, limit=40)
    for i, one in enumerate(sinks):
        why = one.wait()
        if i == culprit and not once:
            assert isinstance(why, troupe.DeviceFault) and one.tokens == right[i][: at + 1]
        else:
            assert why == "length" and one.tokens == right[i]
    assert engine.counts["recorded_steps"] > 5 and engine.counts["failed_steps"] >= 1
    assert engine.counts["culprits"] == (0 if once else 1)
    engine.close()
    engine.planner.prefix.free(engine.planner.pages)
    assert engine.cache.free_pages == engine.planner.pages


def test_a_shape_that_was_dropped_is_recorded_when_it_has_come_often_again(monkeypatch):
    made = []
    monkeypatch.setattr(recorded, "Recorded", lambda model, cache, shape: made.append(shape.batch) or shape)  # fmt: skip
    recordings = recorded.Recordings(None, None, page_size=16, most=1, after=3)

    def come(batch, times=1):
        for _ in range(times):
            found = recordings.find([Chunk(Job([7], Kept(), limit=4), [7], 1)] * batch)
        return found is not None

    assert not come(1, 2) and come(1) and come(1, 5)
    assert come(2, 3) and made == [1, 2]
    assert not come(1, 2) and come(2) and come(1) and made == [1, 2, 1]


def test_preemption_and_guesses_go_with_recorded_steps(engine_of):
    asked = [[7, 8, 9, 10, 11, 12] * 5, *prompts(4, lengths=(20, 40))]
    right = run(engine_of(), asked, limit=60)
    engine = engine_of(record=True, tokens=240, drafts=PromptLookup(), limits=Limits(running=5))
    assert run(engine, asked, limit=60) == right
    assert engine.planner.preemptions > 0 and engine.counts["recorded_steps"] > 0


def test_a_model_that_cannot_be_recorded_goes_on(model, engine_of, caplog):
    class Looks:
        def __init__(self):
            self.sizes, self.gpu, self.cache = model.sizes, model.gpu, model.cache

        def forward(self, step):
            y = model.forward(step)
            y[0].numpy()
            return y

    asked = prompts(2)
    right = run(engine_of(), asked)
    engine = Engine(Looks(), tokens=512)
    assert run(engine, asked) == right
    assert engine.counts["recorded_steps"] == 0 and engine.counts["failed_steps"] == 0
    assert "this cannot be recorded" in caplog.text
    engine.close()
