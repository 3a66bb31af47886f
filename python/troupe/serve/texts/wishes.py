"""How a request wants its tokens drawn, in the words of OpenAI's API."""

from __future__ import annotations

import secrets
from typing import Annotated, Any

from pydantic import BaseModel, Field

from ...generation.jobs import Sampling
from ..errors import Problem

_MOST_STOPS, _LONGEST_STOP = 16, 256  # bytes


class Drawing(BaseModel):
    """Numbers that are not finite are out of range."""

    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    top_k: Annotated[int, Field(strict=True, ge=-1, le=1 << 20)] | None = None
    min_p: Annotated[float, Field(ge=0, le=1)] | None = None
    seed: Annotated[int, Field(strict=True, ge=-(2**63), lt=2**64)] | None = None


def sampling_of(asked: Drawing) -> Sampling:
    """Without a temperature it is 1; without a seed, one that nobody knows."""
    seed = secrets.randbits(63) if asked.seed is None else asked.seed % 2**64
    return Sampling(
        temperature=1.0 if asked.temperature is None else asked.temperature,
        top_k=max(0, asked.top_k or 0),
        top_p=1.0 if asked.top_p is None else asked.top_p,
        min_p=asked.min_p or 0.0,
        seed=seed,
    )


def stops_of(value: Any) -> tuple[str, ...]:
    """Strings that end an answer, and are no part of it."""
    stops = [value] if isinstance(value, str) else value
    if stops is None:
        return ()
    if not isinstance(stops, list) or not all(isinstance(one, str) for one in stops):
        raise Problem(400, "it must be a text, or a list of them", param="stop")
    if len(stops) > _MOST_STOPS:
        raise Problem(400, f"it has {len(stops)} texts; {_MOST_STOPS} are the most", param="stop")
    if any(not 0 < len(one.encode()) <= _LONGEST_STOP for one in stops):
        raise Problem(400, f"each must have 1 to {_LONGEST_STOP} bytes", param="stop")
    return tuple(stops)
