"""Replaying journals: what devices were asked, run again and compared."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping, Sequence

from troupe import _core


@dataclasses.dataclass(frozen=True)
class Difference:
    """An outcome, or an element of a tensor, that is not as it was recorded."""

    device: int
    ticket: int
    request: str
    field: str
    element: int
    recorded: str
    replayed: str


@dataclasses.dataclass(frozen=True)
class Replay:
    """How a replay went. `print(replay)` shows it as `troupe replay` does."""

    equal: bool
    requests: int
    skipped: int
    outcomes: int
    elements: int
    differing: int
    exact: bool
    remarks: list[str]
    differences: list[Difference]
    text: str = dataclasses.field(repr=False, default="")

    def __str__(self) -> str:
        return self.text


def replay(
    path: str | os.PathLike[str],
    *,
    device: str | None = None,
    against: str | None = None,
    first: int = 0,
    last: int | None = None,
    tolerance: float | None = None,
    exact: bool = False,
    stop_at_difference: bool = False,
    over_gaps: bool = False,
    plugins: Sequence[str | os.PathLike[str]] = (),
    environment: Mapping[str, str] | None = None,
) -> Replay:
    """Runs the requests of a journal again, and compares outcomes and data. Blocks.

    device: "cpu" or "cuda", if not where it was recorded. against: runs each request there, too, and
    compares all that it writes. environment: variables of the replaying workers, which those of
    against do not have. first, last: the tickets that are compared. Without exact and
    tolerance, values must be equal bit by bit on the same hardware, and near elsewhere.
    """
    answer, text = _core.replay_journal(
        os.fspath(path),
        device,
        against,
        first,
        last,
        tolerance,
        exact,
        stop_at_difference,
        over_gaps,
        [os.fspath(one) for one in plugins],
        [f"{name}={value}" for name, value in (environment or {}).items()],
    )
    facts = json.loads(answer)
    facts["differences"] = [Difference(**one) for one in facts["differences"]]
    return Replay(**facts, text=text)
