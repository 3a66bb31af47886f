"""Callbacks of futures, and the bridge to `concurrent.futures`."""

from __future__ import annotations

import concurrent.futures
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

from .._core import Future, _Arrivals
from ..errors import Cancelled

Callback = Callable[["Future[Any]"], object]


class _Caller:
    """A thread that calls what was attached outside event loops, while anything is pending.

    The threads that complete requests do not: they would wait for Python, and answers for them.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.arrivals = _Arrivals()
        self.attached: dict[Future[Any], list[Callback]] = {}  # by identity
        self.runs = False

    def attach(self, to: Future[Any], callback: Callback) -> None:
        with self.lock:
            if to in self.attached:
                self.attached[to].append(callback)
                return
            self.attached[to] = [callback]
            self.arrivals.add(to)
            if not self.runs:
                self.runs = True
                threading.Thread(target=self.run, name="troupe-callbacks", daemon=True).start()

    def detach(self, of: Future[Any], callback: Callback) -> int:
        with self.lock:
            before = self.attached.get(of, [])
            kept = [one for one in before if one != callback]
            if before:
                self.attached[of] = kept
            return len(before) - len(kept)

    def run(self) -> None:
        while True:
            arrived = self.arrivals.next(None)
            assert arrived is not None
            with self.lock:
                callbacks = self.attached.pop(arrived, [])
            for one in callbacks:
                _call(one, arrived)
            with self.lock:
                if not self.attached:
                    self.runs = False
                    return


_caller = _Caller()
# Attached where an event loop runs: the loop's futures that wake it, by future.
_in_loops: dict[Future[Any], list[tuple[Callback, Any]]] = {}


def _call(callback: Callback, of: Future[Any]) -> None:
    while not of.done():
        time.sleep(0)  # another thread is taking the answer
    try:
        callback(of)
    except Exception:
        print(f"troupe: a callback of {of!r} raised", file=sys.stderr)
        traceback.print_exc()


def add_done_callback(self: Future[Any], callback: Callback) -> None:
    """For `Future.add_done_callback`."""
    if self.done():
        return _call(callback, self)
    events = sys.modules.get("asyncio.events")
    if events is None or events._get_running_loop() is None:
        return _caller.attach(self, callback)
    woken = self._in_loop()
    entry = (callback, woken)
    _in_loops.setdefault(self, []).append(entry)

    def arrived(_: Any) -> None:
        if _forget(self, entry):
            _call(callback, self)

    woken.add_done_callback(arrived)
    return None


def _forget(future: Future[Any], entry: tuple[Callback, Any]) -> bool:
    entries = _in_loops.get(future, [])
    if entry not in entries:
        return False
    entries.remove(entry)
    if not entries:
        del _in_loops[future]
    return True


def remove_done_callback(self: Future[Any], callback: Callback) -> int:
    """For `Future.remove_done_callback`."""
    here = [one for one in _in_loops.get(self, []) if one[0] == callback]
    return sum(_forget(self, one) for one in here) + _caller.detach(self, callback)


class _Concurrent(concurrent.futures.Future[Any]):
    def __init__(self, of: Future[Any]) -> None:
        super().__init__()
        self.of = of

    def cancel(self) -> bool:
        return self.of.cancel() and super().cancel()


def as_concurrent(self: Future[Any]) -> concurrent.futures.Future[Any]:
    """For `Future.as_concurrent`."""
    made = _Concurrent(self)

    def arrived(_: Future[Any]) -> None:
        why = self.exception()
        if why is None:
            made.set_result(self.result())
        elif isinstance(why, Cancelled):
            concurrent.futures.Future.cancel(made)
            made.set_running_or_notify_cancel()
        else:
            made.set_exception(why)

    if self.done():
        arrived(self)
    else:
        _caller.attach(self, arrived)
    return made
