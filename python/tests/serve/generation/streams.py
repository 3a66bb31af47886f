"""Sinks and prompts of the tests of an engine."""

import threading

import numpy as np
import tiny as made
from troupe.generation.jobs import Job


class Kept:
    """A sink that keeps what it gets, and ends its job when it has `enough`."""

    def __init__(self, enough=None):
        self.taken, self.why, self.full = [], None, False
        self.ended, self.enough = threading.Event(), enough

    @property
    def tokens(self):
        return [one.token for one in self.taken]

    def take(self, one):
        assert self.why is None
        self.taken.append(one)
        return len(self.taken) != self.enough

    def end(self, why):
        assert self.why is None
        self.why = why
        self.ended.set()

    def wait(self):
        assert self.ended.wait(60), "it has not ended"
        return self.why


class Watched:
    """A model that calls a function before each step."""

    def __init__(self, model, before):
        self.model, self.before = model, before
        self.sizes, self.gpu, self.cache = model.sizes, model.gpu, model.cache
        self.steps = []

    def forward(self, step):
        self.steps.append(len(step.ids))
        self.before(self, step)
        return self.model.forward(step)


def prompts(count, seed=5, lengths=(3, 40)):
    rng = np.random.default_rng(seed)
    most = len(made.words())
    return [rng.integers(3, most, rng.integers(*lengths)).tolist() for _ in range(count)]


def ask(engine, all_prompts, limit=24, **kwargs):
    sinks = [Kept() for _ in all_prompts]
    engine.submit(*(Job(p, s, limit=limit, **kwargs) for p, s in zip(all_prompts, sinks, strict=True)))  # fmt: skip
    return sinks


def run(engine, all_prompts, limit=24, **kwargs):
    sinks = ask(engine, all_prompts, limit, **kwargs)
    assert [one.wait() for one in sinks] == ["length"] * len(sinks)
    return [one.tokens for one in sinks]
