"""The text of `print(troupe.profile())`."""

from __future__ import annotations

from typing import Any

_TIMES = ("queue", "turn", "host", "device", "answer")


def shown(rows: dict[str, dict[str, Any]]) -> str:
    """A table: microseconds of a call, the operations that took longest on the host first."""
    width = max([len("operation"), *map(len, rows)])
    lines = [f"{'operation':{width}} {'calls':>9} {'failed':>6}"
             + "".join(f" {one + ' us':>10}" for one in _TIMES)]  # fmt: skip
    for name, row in sorted(rows.items(), key=lambda one: -one[1]["host"]):
        times = "".join(f" {1e6 * row[one] / row['calls']:10.1f}" for one in _TIMES)
        lines.append(f"{name:{width}} {row['calls']:9} {row['failed']:6}{times}")
    return "\n".join(lines)
