"""Actors in Python: messages, state, supervision, timers, watching."""

import asyncio
import threading
import time

import pytest
import troupe


class Counter(troupe.Actor):
    def __init__(self, start=0):
        self.total = start

    async def add(self, n):
        await asyncio.sleep(0)
        self.total += n
        return self.total

    def plain(self):
        return self.total

    def fail(self):
        raise ValueError("no such thing")

    async def fail_later(self):
        await asyncio.sleep(0.01)
        raise troupe.DeviceFault("as if")


def test_messages_come_in_order(system):
    counter = system.spawn(Counter, 10)
    answers = [counter.ask(Counter.add, 1) for _ in range(500)]
    assert [a.result() for a in answers] == list(range(11, 511))
    assert counter.tell(Counter.add, 5)
    assert counter.ask("plain").result() == 515

    async def main():
        return await counter.ask(Counter.add, n=1)

    assert asyncio.run(main()) == 516
    with pytest.raises(TypeError, match="Counter has no handler"):
        counter.ask("subtract", 1)


def test_event_loops_come_and_go(system, gpu):
    """The thread that brings the last answer may be the last that knows the loop."""
    counter = system.spawn(Counter)
    x = gpu.tensor([1.0])

    async def main():
        return await counter.ask(Counter.plain), await gpu.blas.dot(x=x, y=x)

    for _ in range(300):
        assert asyncio.run(main()) == (0, 1)


def test_one_message_at_a_time(system):
    class Careful(troupe.Actor):
        inside = 0

        async def enter(self):
            self.inside += 1
            assert self.inside == 1
            await asyncio.sleep(0.005)
            self.inside -= 1

    actor = system.spawn(Careful)
    troupe.gather(*(actor.ask(Careful.enter) for _ in range(20)))


def test_a_failed_actor_is_made_anew(system):
    counter = system.spawn(Counter, 7)
    counter.ask(Counter.add, 3).result()
    with pytest.raises(troupe.HandlerFailed, match="ValueError: no such thing") as caught:
        counter.ask(Counter.fail).result()
    assert "in fail" in str(caught.value)
    assert counter.ask(Counter.plain).result(5) == 7
    with pytest.raises(troupe.DeviceFault, match="as if"):
        counter.ask(Counter.fail_later).result()
    assert counter.ask(Counter.plain).result(5) == 7


class NoText(Exception):
    def __str__(self):
        raise RuntimeError("no text")

    __repr__ = __str__


class NoFailureText(troupe.Failure):
    __str__ = NoText.__str__


class OddCode(troupe.Failure):
    code = 7


class Raises(troupe.Actor):
    def now(self, what):
        raise what()

    async def later(self, what):
        await asyncio.sleep(0)
        raise what()


@pytest.mark.parametrize(
    ("what", "says"),
    [
        (lambda: ValueError("\ud800 \0"), r"\ud800"),
        (lambda: troupe.Failure("\udcff"), r"\udcff"),
        (lambda: troupe.InvalidArgument("\udcff"), r"\udcff"),
        (lambda: OddCode("odd"), "odd"),
        (NoText, "NoText"),
        (NoFailureText, "NoFailureText"),
        (lambda: ExceptionGroup("many", [ValueError("\ud800"), NoText()]), "many"),
        (GeneratorExit, "GeneratorExit"),
        (lambda: SystemExit(3), "SystemExit"),
        (lambda: ValueError("x" * 3000), "xxx"),
    ],
    ids=range(10),
)
@pytest.mark.parametrize("how", ["now", "later"])
def test_whatever_a_handler_raises_is_answered(system, how, what, says):
    actor = system.spawn(Raises)
    with pytest.raises(troupe.Failure) as caught:
        actor.ask(how, what).result(5)
    assert says in str(caught.value)
    actor.stop()


def test_the_end_waits_for_handlers_as_long_as_it_is_told(system):
    class Slow(troupe.Actor):
        async def sleep(self, seconds):
            await asyncio.sleep(seconds)
            return seconds

    begun = time.monotonic()
    with troupe.System(drain=5) as patient:
        answer = patient.spawn(Slow).ask(Slow.sleep, 0.2)
    assert answer.result(0) == 0.2 and time.monotonic() - begun < 2
    begun = time.monotonic()
    impatient = troupe.System(drain=0.1)
    answer = impatient.spawn(Slow).ask(Slow.sleep, 60)
    with pytest.warns(RuntimeWarning, match="0 messages waited to be handled, 1 for their replies"):
        impatient.close()
    with pytest.raises(troupe.RequestFailure):
        answer.result(1)
    assert time.monotonic() - begun < 2
    with pytest.raises(TypeError, match="drain"):
        troupe.System(drain="long")


def test_children_and_their_supervision(system):
    class Parent(troupe.Actor):
        supervision = troupe.Supervision(on_failure="resume")

        def __init__(self):
            self.child = self.spawn_child(Counter, 1)

        async def break_child(self):
            try:
                await self.child.ask(Counter.fail)
            except troupe.HandlerFailed:
                return await self.child.ask(Counter.plain)

        async def add(self, n):
            return await self.child.ask(Counter.add, n)

    parent = system.spawn(Parent, name="parent")
    assert parent.path == "/parent"
    assert parent.ask(Parent.add, 4).result() == 5
    assert parent.ask(Parent.break_child).result() == 5  # resumed: its state is kept
    with pytest.raises(ValueError, match="on_failure must be one of"):
        troupe.Supervision(on_failure="ignore")


def test_hooks_watching_and_stopping(system):
    said = []
    ended = threading.Event()

    class Worker(troupe.Actor):
        def pre_start(self):
            said.append("start")

        def post_stop(self):
            said.append("stop")

        def leave(self):
            self.stop()

    class Watcher(troupe.Actor):
        def look(self, other):
            self.watch(other)

        def terminated(self, who, reason):
            said.append(("ended", who.path, reason))
            ended.set()

    worker, watcher = system.spawn(Worker, name="worker"), system.spawn(Watcher)
    watcher.ask(Watcher.look, worker).result()
    worker.ask(Worker.leave).result()
    assert worker.when_terminated().result(5) is None
    assert ended.wait(5)
    assert said == ["start", "stop", ("ended", "/worker", None)]
    with pytest.raises(troupe.ActorStopped):
        worker.ask(Worker.leave).result()
    assert not worker.tell(Worker.leave) and worker.stopped


def test_timers(system):
    class Clock(troupe.Actor):
        def __init__(self):
            self.ticks = 0
            self.rang = False

        def begin(self):
            self.timer = self.every(0.01, Clock.tick)
            self.after(0.02, Clock.ring)

        def tick(self):
            self.ticks += 1

        def ring(self):
            self.rang = True

        def end(self):
            self.timer.cancel()
            return self.ticks, self.rang

    clock = system.spawn(Clock)
    clock.ask(Clock.begin).result()
    time.sleep(0.2)
    ticks, rang = clock.ask(Clock.end).result()
    assert rang and 5 <= ticks <= 25


def test_an_ask_has_a_limit(system):
    class Slow(troupe.Actor):
        async def sleep(self):
            await asyncio.sleep(0.3)

    slow = system.spawn(Slow)
    with pytest.raises(troupe.TimedOut):
        slow.ask_within(0.02, Slow.sleep).result()


def test_an_actor_uses_a_device(system, gpu):
    class Scorer(troupe.Actor):
        def __init__(self):
            self.weights = gpu.tensor([1.0, 2.0, 3.0]).freeze()

        async def score(self, values):
            return await gpu.blas.dot(x=gpu.tensor(values), y=self.weights)

    assert system.spawn(Scorer).ask(Scorer.score, [1.0, 1.0, 1.0]).result() == 6


def test_only_actors_are_spawned(system):
    with pytest.raises(TypeError, match="a subclass of troupe.Actor is wanted"):
        system.spawn(dict)
