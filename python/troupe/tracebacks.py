"""What the asker gets of an exception that a handler or an operation has raised."""

from __future__ import annotations

import os
import traceback

# The limits of an exception's text: frames from either end, characters, causes and members of a
# group.
_FRAMES = 20
_LONGEST_REASON = 8 * 1024
_CAUSES = 4


def class_name(error: BaseException) -> str:
    """The name of an exception's class, with its module if that is not Python's own."""
    kind = type(error)
    return f"{'' if kind.__module__ == 'builtins' else kind.__module__ + '.'}{kind.__qualname__}"


def told(error: BaseException) -> tuple[str, str, int]:
    """The name of its class; its text; and how long the reason is, with which that begins.

    The traceback follows: the frames of the operation, without Troupe's own. Then come the
    exception's causes, and the exceptions of a group, in the same way.
    """
    whole = traceback.TracebackException.from_exception(error)
    text = _told(whole, _CAUSES)
    reason = _reason(whole)
    return class_name(error), _encodable(text), len(_encodable(reason))


def _encodable(text: str) -> str:
    return text.encode(errors="backslashreplace").decode()


def _reason(error: traceback.TracebackException) -> str:
    return _cut("".join(error.format_exception_only()).strip())


def _told(error: traceback.TracebackException, deeper: int) -> str:
    reason = _reason(error)
    here = os.path.dirname(__file__) + os.sep
    stack = [one for one in error.stack if not one.filename.startswith(here)]
    if len(stack) > 2 * _FRAMES:
        stack = stack[:_FRAMES] + stack[-_FRAMES:]
    error.stack[:] = stack
    lines = [reason, "".join(error.stack.format()).rstrip()]
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    because = [("because of", cause)] if cause is not None else []
    members = getattr(error, "exceptions", None) or []
    because += [("one of them:", one) for one in members[:_CAUSES]]
    if deeper > 0:
        lines += [f"{what} {_told(one, deeper - 1)}" for what, one in because]
    return "\n".join(one for one in lines if one)


def _cut(text: str) -> str:
    if len(text) <= _LONGEST_REASON:
        return text
    return f"{text[: _LONGEST_REASON // 2]} […] {text[-_LONGEST_REASON // 2 :]}"
