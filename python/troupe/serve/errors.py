"""Outcomes as answers of HTTP: a status, and a body in the words of the protocol that was asked.

An answer holds no path, stack or address. For a fault it has an id, under which the log has it all.
"""

from __future__ import annotations

import logging
import math
import re
import secrets
from typing import Any

import orjson
from fastapi import HTTPException
from fastapi.responses import Response

import troupe
from troupe.serving import Refused

log = logging.getLogger("troupe.serve")

_GONE = (
    troupe.DeviceStopped,
    troupe.DeviceUnavailable,
    troupe.DeviceCondemned,
    troupe.WorkerNotFound,
    troupe.VersionMismatch,
    troupe.LibraryMissing,
    troupe.OutOfMemory,
    troupe.MailboxFull,
)


class Problem(HTTPException):
    """An answer that is no success. `param` names the field; `fault` is the kind of a culprit's."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        param: str | None = None,
        kind: str = "invalid_request_error",
        fault: str | None = None,
        retry_after: float | None = None,
        id: str | None = None,
    ) -> None:
        super().__init__(status, message)
        self.param, self.kind, self.fault = param, kind, fault
        self.retry_after, self.id = retry_after, id

    def response(self, path: str) -> Response:
        """In the form that clients of this path expect."""
        status = self.status_code
        if path in ("/embed", "/info"):
            status, _ = _tei(status)
        headers = {"content-type": "application/json"}
        if self.retry_after is not None:
            headers["retry-after"] = str(max(1, math.ceil(self.retry_after)))
        if status == 401:
            headers["www-authenticate"] = "Bearer"
        return Response(orjson.dumps(self.body(path)), status, headers)

    def body(self, path: str) -> dict[str, Any]:
        """In the form that clients of this path expect."""
        if path.startswith("/v2"):
            return {"error": self._sentence()}
        if path in ("/embed", "/info"):
            return {"error": self._sentence(), "error_type": _tei(self.status_code)[1]}
        return {"error": self._openai()}

    def _sentence(self) -> str:
        where = f"{self.param}: " if self.param else ""
        return f"{where}{self.detail}" + (f" (id {self.id})" if self.id else "")

    def _openai(self) -> dict[str, Any]:
        body: dict[str, Any] = {
            "message": self.detail,
            "type": self.kind,
            "param": self.param,
            "code": self.fault,
        }
        if self.fault is not None:
            body["culprit"] = True
        if self.id is not None:
            body["id"] = self.id
        return body


def _tei(status: int) -> tuple[int, str]:
    """The status and the word of text-embeddings-inference."""
    if status == 400:
        return 422, "Validation"
    if status in (429, 503):
        return 429, "Overloaded"
    return status, {413: "Validation", 422: "Validation", 424: "Backend"}.get(status, "Unhealthy")


def problem_of(why: BaseException, param: str | None = None) -> Problem:
    """The answer for what an item, or a request, has failed with."""
    retry_after: float | None = getattr(why, "retry_after", None)
    if isinstance(why, Problem):
        return why
    if isinstance(why, Refused):
        if why.reason == "cost":
            return Problem(413, "it is larger than a batch may be", param=param)
        status = 429 if why.reason == "tenant" else 503
        return Problem(
            status, f"overloaded: {why.reason}", kind="overloaded_error", retry_after=retry_after
        )
    if isinstance(why, (troupe.DeadlineExceeded, troupe.TimedOut)):
        return Problem(504, "it was not answered before its deadline", kind="timeout_error")
    if isinstance(why, troupe.Cancelled):
        return Problem(499, "nobody waits for it", kind="server_error")
    if isinstance(why, _GONE):
        log.error("the device gives no answers: %s", why)
        return Problem(503, "the model's device is not available", kind="server_error")
    if isinstance(why, troupe.Aborted) and not why.code_name:
        text = "it was lost with a worker again and again; it may be sent again"
        return Problem(503, text, kind="server_error", retry_after=1.0)
    if isinstance(why, troupe.ArgumentFailure):
        return Problem(400, why.message, param=param)
    return _fault(why, param, retry_after)


def _fault(why: BaseException, param: str | None, retry_after: float | None) -> Problem:
    id = secrets.token_hex(6)
    if isinstance(why, troupe.Poisonous):
        text, fault = (
            "an input like this one ended a worker; it is refused for a while",
            "poisonous",
        )
    elif isinstance(why, troupe.Numerical):
        text, fault = "the result has numbers that are not finite", "numerical"
    elif isinstance(why, troupe.DeviceFault) or (isinstance(why, troupe.Aborted) and why.code_name):
        fault = "device_fault"
        name = why.code_name if re.fullmatch(r"[A-Za-z_]\w{0,40}", why.code_name) else ""
        text = "this input ended the model's worker" + (f" ({name})" if name else "")
    elif isinstance(why, troupe.HandlerFailed):
        # Its text may quote the input.
        log.error("%s: the model raised %s", id, why.exception_type)
        text = f"the model raised {why.exception_type or 'an exception'} for this input"
        return Problem(424, text, param=param, kind="model_error", fault="handler_failed", id=id)
    else:
        log.error("%s: %s", id, type(why).__name__, exc_info=why)
        return Problem(500, "internal error", kind="server_error", id=id)
    log.error("%s: %s", id, why)
    return Problem(
        424, text, param=param, kind="device_error", fault=fault, retry_after=retry_after, id=id
    )


def root_cause(why: troupe.Failure) -> troupe.Failure:
    """The failure that a chain of requests has begun with: the last one only says it is tainted."""
    while isinstance(why, troupe.TaintedBuffer) and isinstance(why.__cause__, troupe.Failure):
        why = why.__cause__
    return why
