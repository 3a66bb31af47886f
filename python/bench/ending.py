"""The end of a benchmark: its figures as JSON."""

from __future__ import annotations

import json
import os
import pathlib
from typing import Any


def report(found: dict[str, Any]) -> None:
    """The last line of the output, and the file that TROUPE_BENCH_JSON names."""
    text = json.dumps(found)
    if path := os.environ.get("TROUPE_BENCH_JSON"):
        pathlib.Path(path).write_text(text + "\n")
    print(text, flush=True)
