"""Replaying journals: what devices were asked, run again and compared."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping, Sequence

from troupe import _core
from troupe.errors import Failure


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
    operations: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None,
) -> Replay:
    """Runs the requests of a journal again, and compares outcomes and data. Blocks.

    device: "cpu" or "cuda", if not where it was recorded. against: runs each request there, too, and
    compares all that it writes. environment: variables of the replaying workers, which those of
    against do not have. operations: modules with operations of Python, as for system.device; not
    together with environment. first, last: the tickets that are compared. Without exact and
    tolerance, values must be equal bit by bit on the same hardware, and near elsewhere.
    """
    if environment and operations is not None:
        raise ValueError(
            "environment cannot be given with operations: one process forks all workers then"
        )
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
        operations,
    )
    facts = json.loads(answer)
    facts["differences"] = [Difference(**one) for one in facts["differences"]]
    return Replay(**facts, text=text)


def command(arguments: Sequence[str]) -> int:
    """`python -m troupe replay --operations MODULE`: as the program `troupe`, which has no Python."""
    import argparse
    import sys

    parser = argparse.ArgumentParser("python -m troupe replay")
    parser.add_argument("file")
    parser.add_argument("--operations", action="append", required=True, metavar="MODULE")
    parser.add_argument("--from", dest="first", type=int, default=0)
    parser.add_argument("--to", dest="last", type=int)
    parser.add_argument("--device", choices=("cpu", "cuda"))
    parser.add_argument("--against", choices=("cpu", "cuda"))
    parser.add_argument("--tolerance", type=float)
    parser.add_argument("--exact", action="store_true")
    parser.add_argument("--stop-at-difference", action="store_true")
    parser.add_argument("--over-gaps", action="store_true")
    parser.add_argument("--plugin", dest="plugins", action="append", default=[], metavar="FILE")
    parser.add_argument("--json", action="store_true")
    given = vars(parser.parse_args(arguments))
    path, as_json = given.pop("file"), given.pop("json")
    try:
        done = replay(path, **given)
    except (ValueError, OSError, Failure) as why:
        print(f"python -m troupe replay: {why}", file=sys.stderr)
        return 2
    if as_json:
        facts = dataclasses.asdict(done)
        facts.pop("text")
        print(json.dumps(facts))
    else:
        print(done.text, end="")
    return 0 if done.equal else 1
