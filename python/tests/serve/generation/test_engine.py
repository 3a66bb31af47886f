"""Streams of an engine: what they are, and that faults, preemption and guesses change none."""

import os
import signal
import time

import pytest
import troupe
from streams import Kept, ask, prompts, run
from troupe.generation.drafts import PromptLookup
from troupe.generation.engine import Engine, pieces
from troupe.generation.jobs import Job, Sampling
from troupe.generation.plan import Limits
from troupe.serve.models.llama import Llama


def test_streams_are_those_of_the_reference(engine_of, reference):
    asked = prompts(12)
    engine = engine_of(limits=Limits(running=6, step_tokens=32))
    for prompt, tokens in zip(asked, run(engine, asked), strict=True):
        assert len(tokens) == 24 and reference.accepts(prompt, tokens)
    assert max(engine.model.steps) <= 32


def test_a_long_prompt_delays_nobody(engine_of):
    engine = engine_of(limits=Limits(step_tokens=16))
    (first,) = ask(engine, [[5, 6, 7]], limit=200)
    while len(first.taken) < 3:
        time.sleep(0.001)
    before = len(first.taken)
    (second,) = ask(engine, prompts(1, lengths=(160, 161)), limit=1)
    second.wait()
    # 160 tokens in chunks of 15: as many tokens of the first stream came meanwhile.
    assert len(first.taken) - before >= 10 or first.why
    first.wait()


@pytest.mark.parametrize("sampling", [Sampling(), Sampling(0.9, 40, 0.95, 0.01, 3)])
def test_a_killed_worker_changes_no_stream(engine_of, gpu, sampling):
    asked = prompts(6)
    right = run(engine_of(), asked, sampling=sampling)

    def kill(watched, _):
        if len(watched.steps) % 7 == 5 and gpu.worker_pid:
            os.kill(gpu.worker_pid, signal.SIGKILL)

    generation = gpu.generation
    assert run(engine_of(kill), asked, sampling=sampling) == right
    assert gpu.generation > generation


def test_a_culprit_costs_its_own_stream(engine_of, gpu):
    asked = prompts(6)
    right = run(engine_of(), asked)
    asked[3] = [*asked[3], 250, 251, 250, 251]

    def poison(_, step):
        if "250, 251, 250, 251" in str(step.ids.tolist()):
            gpu.fault.inject(what="segmentation_fault", quarantine=False).result()

    engine = engine_of(poison)
    sinks = ask(engine, asked)
    assert isinstance(sinks[3].wait(), troupe.DeviceFault) and sinks[3].tokens == []
    for i in (0, 1, 2, 4, 5):
        assert sinks[i].wait() == "length" and sinks[i].tokens == right[i]
    assert engine.counts["culprits"] == 1


def test_a_failed_step_is_divided_by_cost():
    assert pieces(64, failover=0.150, step=0.002) == 64
    assert pieces(64, failover=0.05, step=0.1) == 4
    assert [pieces(n, 0.05, 0.01) for n in (2, 3)] == [2, 3]


@pytest.mark.parametrize("streams", [1, 4])
def test_a_fault_that_does_not_come_again_costs_nothing(engine_of, gpu, streams):
    asked = prompts(streams)
    right = run(engine_of(), asked)

    def once(watched, _):
        if len(watched.steps) == 6:
            gpu.fault.inject(what="exit", quarantine=False).result()

    engine = engine_of(once)
    assert run(engine, asked) == right
    assert engine.counts["failed_steps"] == 1 and engine.counts["culprits"] == 0


def test_a_device_that_gives_up_in_a_divided_step_ends_all(engine_of, caplog):
    def fail(watched, _):
        if len(watched.steps) == 1:
            raise troupe.DeviceFault("one of them")
        raise troupe.DeviceStopped("it is gone")

    sinks = ask(engine_of(fail), prompts(4))
    assert all(isinstance(one.wait(), troupe.DeviceStopped) for one in sinks)
    assert [one for one in caplog.records if one.name == "troupe.generation"] == []


def test_preemption_changes_no_text(engine_of):
    asked = prompts(5, lengths=(20, 40))
    right = run(engine_of(), asked, limit=40)
    engine = engine_of(tokens=176)
    assert run(engine, asked, limit=40) == right
    assert engine.planner.preemptions > 0


def test_a_prefix_is_computed_once_for_each_tenant(engine_of, reference):
    (prompt,) = prompts(1, lengths=(100, 101))
    engine = engine_of()
    (right,) = run(engine, [prompt], limit=8)
    computed = sum(engine.model.steps)
    assert run(engine, [prompt], limit=8) == [right]
    assert sum(engine.model.steps) - computed == 4 + 7
    assert run(engine, [[*prompt[:50], *prompt[51:]]], limit=8) != [right]
    computed = sum(engine.model.steps)
    assert run(engine, [prompt], limit=8, tenant="other") == [right]
    assert sum(engine.model.steps) - computed == 100 + 7
    # An answer is a beginning, too.
    computed = sum(engine.model.steps)
    run(engine, [prompt + right + [9]], limit=1)
    assert sum(engine.model.steps) - computed == 109 - 96


def test_a_job_that_waits_for_pages_is_counted_once(engine_of):
    engine = engine_of(tokens=160)
    run(engine, prompts(2, lengths=(100, 101)), limit=8)
    assert engine.planner.preemptions == 0
    assert (engine.planner.prefix.queries, engine.planner.prefix.hits) == (2 * 99, 0)


def test_choices_share_their_prompt(engine_of):
    (prompt,) = prompts(1, lengths=(64, 65))
    engine = engine_of()
    sinks = [Kept() for _ in range(4)]
    leader = Job(prompt, sinks[0], limit=6, sampling=Sampling(1.0, seed=1))
    others = [Job(prompt, s, limit=6, sampling=Sampling(1.0, seed=2 + i), after=leader)
              for i, s in enumerate(sinks[1:])]  # fmt: skip
    engine.submit(leader, *others)
    for one in sinks:
        assert one.wait() == "length"
    assert len({tuple(one.tokens) for one in sinks}) > 1
    assert sum(engine.model.steps) <= 64 + 3 * 16 + 4 * 6


@pytest.mark.parametrize("sampling", [Sampling(), Sampling(0.7, 0, 0.9, 0.0, 11)])
def test_guesses_change_no_token(engine_of, sampling):
    asked = [[7, 8, 9, 10, 11, 12] * 5, [4, 5] * 9, *prompts(2)]
    right = run(engine_of(), asked, limit=60, sampling=sampling)
    engine = engine_of(drafts=PromptLookup())
    assert run(engine, asked, limit=60, sampling=sampling) == right
    assert engine.counts["drafted"] > 0


def test_right_guesses_save_steps(engine_of):
    class Oracle(PromptLookup):
        def guess(self, job, most):
            return right[job.made : job.made + min(4, most)]

    asked = [[5, 6, 7]]
    (right,) = run(engine_of(), asked, limit=41)
    engine = engine_of(drafts=Oracle())
    assert run(engine, asked, limit=41) == [right]
    assert len(engine.model.steps) <= 1 + 40 / 5 + 1


def test_jobs_end_for_each_reason(engine_of):
    (prompt,) = prompts(1)
    engine = engine_of()
    (tokens,) = run(engine, [prompt], limit=10)
    end = tokens[4]
    sink = Kept()
    engine.submit(Job(prompt, sink, limit=50, ends=frozenset([end])))
    assert sink.wait() == "stop" and sink.tokens == tokens[: tokens.index(end)]
    sink = Kept(enough=3)
    engine.submit(Job(prompt, sink, limit=50))
    assert sink.wait() == "stop" and sink.tokens == tokens[:3]
    (late,) = ask(engine, [prompt], limit=400, deadline=0.0)
    assert isinstance(late.wait(), troupe.DeadlineExceeded)
    sink = Kept()
    job = Job(prompt, sink, limit=400)
    engine.submit(job)
    engine.cancel(job)
    assert isinstance(sink.wait(), troupe.Cancelled)
    with pytest.raises(troupe.InvalidArgument, match="a prompt has 1 to 1023 tokens; it has 0"):
        engine.submit(Job([], Kept(), limit=1))


def test_who_does_not_read_holds_up_nobody(engine_of):
    engine = engine_of()
    lagging, other = Kept(), Kept()
    lagging.full = True
    asked = prompts(2)
    engine.submit(Job(asked[0], lagging, limit=8), Job(asked[1], other, limit=8))
    assert other.wait() == "length" and lagging.taken == []
    lagging.full = False
    engine.wake()
    assert lagging.wait() == "length"


def test_those_who_have_had_least_are_next(engine_of):
    engine = engine_of(limits=Limits(running=1))
    order = []

    class Named(Kept):
        def end(self, why):
            order.append(self.name)
            super().end(why)

    def job(name, tenant, priority=1):
        sink = Named()
        sink.name = name
        return Job([5, 6, 7], sink, limit=4, tenant=tenant, priority=priority)

    jobs = [job("a1", "a"), job("a2", "a"), job("a3", "a"), job("b1", "b"), job("b2", "b"), job("urgent", "a", 0)]  # fmt: skip
    engine.submit(*jobs)
    for one in jobs:
        one.sink.wait()
    assert order[0] == "urgent"
    assert order.index("b1") < order.index("a2") and order.index("b2") < order.index("a3")


def test_logits_that_are_no_numbers_end_their_stream(engine_of, model):
    class Broken(Llama):
        def __init__(self):
            self.__dict__.update(model.__dict__)

        def forward(self, step):
            y = model.forward(step)
            if 250 in step.ids:
                self.gpu.memory.fill(y[:1], value=float("nan"))
            return y

    engine = Engine(Broken(), tokens=256)
    good, bad = Kept(), Kept()
    engine.submit(Job([250, 4], bad, limit=3), Job([5, 4], good, limit=3))
    assert isinstance(bad.wait(), troupe.Numerical) and good.wait() == "length"
    engine.close()
