"""What a file says of its models."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple, TypeVar

Kind = TypeVar("Kind", bound=type)

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class Batch(NamedTuple):
    """How items are put together: those of `troupe.serving.Batcher`."""

    items: int = 32
    cost: int = 0
    delay: float = 0.0
    in_flight: int = 2


class Sequences(NamedTuple):
    """A model with a state for each sequence of requests, as `troupe.serving.Sequences` keeps it."""

    states: dict[str, str]
    """The tensors that the operation reads it from, and those that it writes the next one to."""
    most: int = 256
    idle: float = 60.0


class Declared(NamedTuple):
    """A model of a file: its operation, and the class that encodes and decodes."""

    name: str
    operation: str
    weights: str | None
    batch: Batch
    run_limit: float | None
    sequences: Sequences | None
    kind: type


declared: dict[str, Declared] = {}


def model(
    name: str,
    *,
    operation: str,
    weights: str | None = None,
    batch: Batch = Batch(),  # noqa: B008 # a tuple
    run_limit: float | None = None,
    sequences: Sequences | None = None,
) -> Callable[[Kind], Kind]:
    """Serves an operation under a name. Its tensors have the items of a batch as first dimension.

    The class may have `encode(request) -> dict of arrays`, without that dimension, and
    `decode(**results) -> dict`; without them the model is served by the KServe protocol alone. A
    ValueError of encode is the client's. weights: a .safetensors file beside the model's file, which
    is bound once and given to the operation as `weights`. run_limit: seconds of one batch.
    sequences: the operation has a state, zeros at first, that a client's sequence of requests shares.
    """
    if NAME.fullmatch(name) is None:
        raise ValueError(f"a model's name is letters, digits, '.', '_' and '-'; it is {name!r}")

    def register(kind: Kind) -> Kind:
        declared[name] = Declared(name, operation, weights, batch, run_limit, sequences, kind)
        return kind

    return register
