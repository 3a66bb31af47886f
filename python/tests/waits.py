"""Waits of tests for what happens by itself."""

import time
from collections.abc import Callable


def eventually(condition: Callable[[], bool], seconds: float = 60) -> None:
    """Returns once the condition holds; fails if it does not within so many seconds."""
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.005)
