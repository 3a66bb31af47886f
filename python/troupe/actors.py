"""Actors in Python, in the same tree as the devices and the actors in C++.

    class Counter(troupe.Actor):
        def __init__(self) -> None:
            self.total = 0

        async def add(self, n: int) -> int:
            self.total += n
            return self.total

    counter = system.spawn(Counter)
    counter.tell(Counter.add, 1)
    print(counter.ask(Counter.add, 2).result())     # 3; or: await counter.ask(Counter.add, 2)

An actor handles one message at a time. A handler that is `async def` runs in an event loop that all
actors share; any other runs in a thread of the system's pool. An exception from a handler is the
answer, and a failure that the actor's supervisor decides on: by default the actor is made anew,
from the same arguments, behind the same reference.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Concatenate, Generic, Literal, ParamSpec, TypeVar

from ._core import Future, System, Timer, _ActorRef, _Context, _Reply
from .errors import Failure
from .tracebacks import class_name

A = TypeVar("A", bound="Actor")
P = ParamSpec("P")
R = TypeVar("R")
Handler = Callable[Concatenate[A, P], Any]


@dataclass(frozen=True)
class Supervision:
    """How an actor supervises its children.

    on_failure: what happens to a child that failed. "default" stops it for errors that making it
    anew cannot mend, resumes it after exhausted memory, and restarts it for everything else.
    At most `restarts` within `window` seconds; the next failure stops the child. `backoff` is the
    delay before the first restart, in seconds; it doubles.
    """

    strategy: Literal["one_for_one", "one_for_all", "rest_for_one"] = "one_for_one"
    on_failure: Literal["default", "resume", "restart", "stop", "escalate"] = "default"
    restarts: int = 3
    window: float = 60.0
    backoff: float = 0.01

    def __post_init__(self) -> None:
        for name, value, known in (
            ("strategy", self.strategy, ("one_for_one", "one_for_all", "rest_for_one")),
            ("on_failure", self.on_failure, ("default", "resume", "restart", "stop", "escalate")),
        ):
            if value not in known:
                raise ValueError(f"{name} must be one of {', '.join(known)}; it is {value!r}")


class ActorRef(Generic[A]):
    """The address of an actor. It stays valid when the actor is restarted, and after it stopped."""

    def __init__(self, to: _ActorRef, kind: type[A]) -> None:
        self._to = to
        self._kind = kind

    def ask(self, handler: Handler[A, P], /, *args: P.args, **kwargs: P.kwargs) -> Future[Any]:
        """Sends a message and returns its future answer: what the handler returns."""
        return self._to.ask((self._name(handler), args, kwargs))

    def ask_within(
        self, timeout: float, handler: Handler[A, P], /, *args: P.args, **kwargs: P.kwargs
    ) -> Future[Any]:
        """The same, failing with TimedOut after timeout seconds; the handler is not interrupted."""
        return self._to.ask((self._name(handler), args, kwargs), timeout)

    def tell(self, handler: Handler[A, P], /, *args: P.args, **kwargs: P.kwargs) -> bool:
        """Sends a message without an answer. False if the actor has stopped or its mailbox is full."""
        return self._to.tell((self._name(handler), args, kwargs))

    def stop(self, *, after_mailbox: bool = False) -> None:
        """Stops it after the message that it handles, or after all that are in its mailbox now."""
        self._to.stop(after_mailbox)

    def when_terminated(self) -> Future[Any]:
        """Ready when the actor has stopped: with the Failure that ended it, or None."""
        return self._to.when_terminated()

    @property
    def path(self) -> str:
        """Its path in the tree, such as "/orders/3"."""
        return self._to.path

    @property
    def stopped(self) -> bool:
        """True once the actor has stopped for good: a restart does not count."""
        return self._to.stopped

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ActorRef) and self._to == other._to

    def __hash__(self) -> int:
        return hash(self._to.id)

    def __repr__(self) -> str:
        return f"<actor {self._kind.__name__} {self.path}>"

    def _name(self, handler: Any) -> str:
        name = handler if isinstance(handler, str) else getattr(handler, "__name__", "")
        if not callable(getattr(self._kind, name, None)) or name.startswith("_"):
            raise TypeError(f"{self._kind.__name__} has no handler {handler!r}")
        return name


class Actor:
    """Base class of actors. Every public method is a handler."""

    _context: _Context
    _watched: dict[int, ActorRef[Any]]

    supervision = Supervision()
    """How it supervises its children; a class attribute."""

    # Hooks.

    def pre_start(self) -> Any:
        """Called before the first message."""

    def post_stop(self) -> Any:
        """Called before the last incarnation goes."""

    def pre_restart(self, reason: Failure) -> Any:
        """Called on the old incarnation before a restart; by default post_stop()."""
        self.post_stop()

    def post_restart(self, reason: Failure) -> Any:
        """Called on the new incarnation after a restart; by default pre_start()."""
        self.pre_start()

    def terminated(self, who: ActorRef[Any], reason: Failure | None) -> Any:
        """Called when an actor that this one watches has stopped."""

    # The actions of an actor, in its handlers and hooks.

    @property
    def reference(self: A) -> ActorRef[A]:
        """Its own address."""
        return ActorRef(self._context.reference(), type(self))

    def spawn_child(self, kind: type[A], /, *args: Any, **kwargs: Any) -> ActorRef[A]:
        """Makes a child, which this actor supervises and which stops before it does."""
        return ActorRef(self._context.spawn(*_recipe(kind, args, kwargs)), kind)

    def after(self, delay: float, handler: Any, /, *args: Any, **kwargs: Any) -> Timer:
        """Sends itself a message once, after delay seconds."""
        return self._context.send_later(delay, False, (self.reference._name(handler), args, kwargs))

    def every(self, period: float, handler: Any, /, *args: Any, **kwargs: Any) -> Timer:
        """Sends itself a message every period seconds; one that is still waiting is not doubled."""
        return self._context.send_later(period, True, (self.reference._name(handler), args, kwargs))

    def watch(self, other: ActorRef[Any]) -> None:
        """Has terminated() called when the other actor has stopped."""
        self._watched[other._to.id] = other
        self._context.watch(other._to)

    def unwatch(self, other: ActorRef[Any]) -> None:
        """Undoes watch(): `terminated` is not called for that actor any more."""
        self._watched.pop(other._to.id, None)
        self._context.unwatch(other._to)

    def stop(self) -> None:
        """Stops this actor after the message that it handles."""
        self._context.stop()


_NOT_HANDLERS = {name for name in vars(Actor) if not name.startswith("_")}


def spawn(
    self: System,
    kind: type[A],
    /,
    *args: Any,
    name: str = "",
    capacity: int = 65_536,
    own_thread: bool = False,
    **kwargs: Any,
) -> ActorRef[A]:
    """Makes a top-level actor. The class is called with the arguments, and again at each restart.

    name is for paths and reports, capacity the number of messages that its mailbox holds.
    own_thread: its handlers run in a thread of their own, for what blocks.
    """
    make, options = _recipe(kind, args, kwargs)
    options.update(name=name, capacity=capacity, own_thread=own_thread)
    return ActorRef(self._spawn(make, options), kind)


def _recipe(
    kind: type[A], args: Any, kwargs: Any
) -> tuple[Callable[[_Context], A], dict[str, Any]]:
    if not (isinstance(kind, type) and issubclass(kind, Actor)):
        raise TypeError(f"spawn: a subclass of troupe.Actor is wanted; it is {kind!r}")
    how = kind.supervision

    def make(context: _Context) -> A:
        made = kind.__new__(kind)
        made._context = context  # for what __init__ spawns
        made._watched = {}
        kind.__init__(made, *args, **kwargs)
        return made

    return make, {
        "name": "",
        "capacity": 65_536,
        "own_thread": False,
        "supervision": {
            "strategy": how.strategy,
            "on_failure": how.on_failure,
            "restarts": how.restarts,
            "window": how.window,
            "backoff": how.backoff,
        },
    }


# Called by the runtime ---------------------------------------------------------------------------


def deliver(actor: Actor, what: tuple[str, Any, Any], reply: _Reply) -> None:
    """Runs a handler, or has the event loop run it, and answers."""
    name, args, kwargs = what
    try:
        outcome = getattr(actor, name)(*args, **kwargs)
    except Exception as why:
        reply.fail(why)
        return
    if inspect.isawaitable(outcome):
        _loop().call_soon_threadsafe(_begin, outcome, reply)
    else:
        reply.set(outcome)


def call_hook(actor: Actor, name: str, argument: Any) -> None:
    hook = getattr(actor, name)
    hook() if argument is None else hook(argument)


def tell_terminated(actor: Actor, number: int, reason: Failure | None) -> None:
    who = actor._watched.pop(number, None)
    if who is not None:
        actor.terminated(who, reason)


def error_fields(why: BaseException) -> tuple[str, str, str, int]:
    """Of the C++ error for any exception: its code; its text; the exception's class; and how long
    the reason is, with which the text begins."""
    name = class_name(why)
    try:
        if isinstance(why, Failure):
            return why.code if isinstance(why.code, str) else "handler_failed", str(why), name, 0
    except Exception:  # from a `__str__` or a `code` of its own
        return "handler_failed", f"{type(why).__name__}, a failure without a text", name, 0
    if isinstance(why, asyncio.CancelledError):
        return "cancelled", "the handler was cancelled", name, 0
    text = "".join(traceback.format_exception_only(type(why), why)).strip()
    trace = "".join(traceback.format_tb(why.__traceback__)).rstrip()
    return "handler_failed", f"{text}\n{trace}" if trace else text, name, len(text)


_tasks: set[asyncio.Task[None]] = set()


def _begin(outcome: Awaitable[Any], reply: _Reply) -> None:
    task = asyncio.get_running_loop().create_task(_finish(outcome, reply))
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)


async def _finish(outcome: Awaitable[Any], reply: _Reply) -> None:
    try:
        value = await outcome
    except BaseException as why:
        reply.fail(why)
        return
    reply.set(value)


_loop_made = threading.Lock()
_the_loop: asyncio.AbstractEventLoop | None = None
_thread: threading.Thread | None = None
_LAST_WORDS = 1.0  # seconds for handlers that are cancelled at the end


def _loop() -> asyncio.AbstractEventLoop:
    """The loop that handlers share, in a thread of its own from the first use on."""
    global _the_loop, _thread
    if _the_loop is None:
        with _loop_made:
            if _the_loop is None:
                loop = asyncio.new_event_loop()
                _thread = threading.Thread(
                    target=loop.run_forever, name="troupe-actors", daemon=True
                )
                _thread.start()
                _the_loop = loop
    return _the_loop


def end_loop() -> None:
    """Cancels the handlers that still run, and ends their thread: before the interpreter ends."""
    if _the_loop is None or _thread is None or not _thread.is_alive():
        return
    asyncio.run_coroutine_threadsafe(_cancel_all(_the_loop), _the_loop)
    _thread.join(2 * _LAST_WORDS)


async def _cancel_all(loop: asyncio.AbstractEventLoop) -> None:
    running = asyncio.all_tasks() - {asyncio.current_task()}
    for one in running:
        one.cancel()
    if running:
        await asyncio.wait(running, timeout=_LAST_WORDS)
    loop.stop()
