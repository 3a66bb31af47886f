"""The exceptions of requests: `Failure`, a class for each family, and a class for each kind.

A failure has the fields of the C++ `error`: `code` (the kind's name, such as "device_fault"),
`message` (the violated rule, with the values), `request`, `library`, `call`, `code_name`,
`vendor_code`, `device` and `generation`. Its cause, if there is one, is its `__cause__`.
Where C++ says device_config::run_limit, Python's messages say run_limit.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Failure(Exception):
    """A request, an actor or a device failed. `str()` is the complete text, as in C++."""

    code: str = ""

    def __init__(self, text: str = "", **fields: Any) -> None:
        super().__init__(text)
        self.message: str = fields.get("message", text)
        self.request: str = fields.get("request", "")
        self.library: str = fields.get("library", "")
        self.call: str = fields.get("call", "")
        self.code_name: str = fields.get("code_name", "")
        self.vendor_code: int = fields.get("vendor_code", 0)
        self.device: int = fields.get("device", -1)
        self.generation: int = fields.get("generation", 0)

    def as_dict(self) -> dict[str, Any]:
        """Its fields, and its cause's, as JSON has them."""
        cause = self.__cause__
        return {
            "type": type(self).__name__,
            "code": self.code,
            **{k: v for k, v in self.__dict__.items() if not k.startswith("__")},
            "cause": cause.as_dict() if isinstance(cause, Failure) else cause and repr(cause),
        }

    def __reduce__(self) -> Any:
        fields = {k: v for k, v in self.__dict__.items() if k != "__notes__"}
        return _restored, (type(self), str(self), fields, self.__cause__)


class UnretrievedFailure(RuntimeWarning):
    """A request failed, and its future was dropped before anyone had asked for the outcome."""


class ArgumentFailure(Failure, ValueError):
    """The caller's arguments; found before anything was sent."""


class BufferFailure(Failure):
    """A tensor's memory cannot be used as it was asked."""


class RequestFailure(Failure):
    """The request ended without an answer."""


class DeviceFailure(Failure):
    """The device, its worker, or a library in it failed."""


class InvalidArgument(ArgumentFailure):
    """A value out of range, or a combination that the operation excludes."""

    code = "invalid_argument"


class ShapeMismatch(ArgumentFailure):
    """Extents that do not match each other."""

    code = "shape_mismatch"


class TypeMismatch(ArgumentFailure, TypeError):
    """Element types that do not match each other or the operation."""

    code = "type_mismatch"


class LayoutUnsupported(ArgumentFailure):
    """Strides that the library does not support."""

    code = "layout_unsupported"


class Aliasing(ArgumentFailure):
    """Operands overlap where they must not."""

    code = "aliasing"


class SizeOverflow(ArgumentFailure):
    """A size that exceeds 64 bits or the request's limit."""

    code = "size_overflow"


class Unsupported(ArgumentFailure):
    """Valid, but not available on this backend or library version."""

    code = "unsupported"


class StaleBuffer(BufferFailure):
    """Its device has stopped, or its contents were lost."""

    code = "stale_buffer"


class TaintedBuffer(BufferFailure):
    """Content undefined, as its writer was lost or failed; overwriting all of it clears that."""

    code = "tainted_buffer"


class FrozenBuffer(BufferFailure):
    """A write to a frozen buffer."""

    code = "frozen_buffer"


class ForeignBuffer(BufferFailure):
    """The buffer belongs to another device."""

    code = "foreign_buffer"


class OutOfMemory(BufferFailure, MemoryError):
    """Device or host memory is exhausted or over its limit."""

    code = "out_of_memory"


class CapacityExceeded(BufferFailure):
    """A result, whose size its data decides, is larger than its tensor."""

    code = "capacity_exceeded"


class MailboxFull(RequestFailure):
    """The mailbox is at its capacity."""

    code = "mailbox_full"


class Cancelled(RequestFailure):
    """Cancelled by the caller."""

    code = "cancelled"


class TimedOut(RequestFailure, TimeoutError):
    """The caller's timeout expired; the work itself may continue."""

    code = "timed_out"


class DeadlineExceeded(RequestFailure, TimeoutError):
    """The deadline passed; a request that had begun runs to its end."""

    code = "deadline_exceeded"


class NoReply(RequestFailure):
    """The receiver dropped the request, or waits for its own reply."""

    code = "no_reply"


class ActorStopped(RequestFailure):
    """The receiver has stopped."""

    code = "actor_stopped"


class HandlerFailed(RequestFailure):
    """A handler, or the function of an operation, raised an exception.

    exception_type is the name of its class, such as "ValueError" or "model.BadInput", traceback the
    text of where it was raised, with its causes; both are empty where a handler in C++ has failed.
    """

    code = "handler_failed"

    def __init__(self, text: str = "", **fields: Any) -> None:
        super().__init__(text, **fields)
        # The message is the reason, which is so many characters long, then the traceback.
        self.exception_type, self.code_name = self.code_name, ""
        reason, self.vendor_code = self.vendor_code, 0
        self.traceback: str = self.message[reason:].lstrip("\n") if reason else ""


class DeviceFault(DeviceFailure):
    """This request ended its worker: a crash, a sticky fault, a hang."""

    code = "device_fault"


class Aborted(DeviceFailure):
    """Lost with a worker that another request ended; not safe to run again."""

    code = "aborted"


class Poisonous(DeviceFailure):
    """Quarantined, because it ended two workers."""

    code = "poisonous"


class DeviceStopped(DeviceFailure):
    """The device is stopped, or gave up after too many faults."""

    code = "device_stopped"


class DeviceUnavailable(DeviceFailure):
    """The device could not be started."""

    code = "device_unavailable"


class DeviceCondemned(DeviceFailure):
    """A sticky fault in thread isolation; the process should end."""

    code = "device_condemned"


class WorkerNotFound(DeviceFailure):
    """No worker executable at the given or any known path."""

    code = "worker_not_found"


class VersionMismatch(DeviceFailure):
    """Worker, library and plugins are not all of the same version."""

    code = "version_mismatch"


class ProtocolViolation(DeviceFailure):
    """The other side sent bytes that violate the protocol."""

    code = "protocol_violation"


class LibraryMissing(DeviceFailure):
    """A vendor library or plugin is not enabled or not installed."""

    code = "library_missing"


class LibraryError(DeviceFailure):
    """The vendor library refused; see library, call, vendor_code."""

    code = "library_error"


class Numerical(DeviceFailure, ArithmeticError):
    """A numerical outcome: singular, not converged."""

    code = "numerical"


class SystemError(DeviceFailure):
    """The operating system refused; vendor_code is errno."""

    code = "system_error"


_CLASSES: dict[str, type[Failure]] = {
    one.code: one for family in Failure.__subclasses__() for one in family.__subclasses__()
}


def in_python(text: str) -> str:
    """A message of Troupe's with Python's names instead of C++'s."""
    if "::" in text or "host_tensor" in text:
        from .methods.wording import reworded

        return reworded(text)
    return text


def failure_from(
    code: str,
    text: str,
    message: str,
    request: str,
    library: str,
    call: str,
    code_name: str,
    vendor_code: int,
    device: int,
    generation: int,
    cause: Failure | None,
) -> Failure:
    """The failure for a C++ error."""
    if code != "handler_failed":  # the text of an exception is the user's
        text, message = in_python(text), in_python(message)
    made = _CLASSES.get(code, Failure)(
        text,
        message=message,
        request=request,
        library=library,
        call=call,
        code_name=code_name,
        vendor_code=vendor_code,
        device=device,
        generation=generation,
    )
    made.__cause__ = cause
    return made


def _restored(kind: type[Failure], text: str, fields: dict[str, Any], cause: Any) -> Failure:
    made = kind(text)
    made.__dict__.update(fields)
    made.__cause__ = cause
    return made


__all__ = [
    "Failure",
    "UnretrievedFailure",
    "ArgumentFailure",
    "BufferFailure",
    "RequestFailure",
    "DeviceFailure",
    "InvalidArgument",
    "ShapeMismatch",
    "TypeMismatch",
    "LayoutUnsupported",
    "Aliasing",
    "SizeOverflow",
    "Unsupported",
    "StaleBuffer",
    "TaintedBuffer",
    "FrozenBuffer",
    "ForeignBuffer",
    "OutOfMemory",
    "CapacityExceeded",
    "MailboxFull",
    "Cancelled",
    "TimedOut",
    "DeadlineExceeded",
    "NoReply",
    "ActorStopped",
    "HandlerFailed",
    "DeviceFault",
    "Aborted",
    "Poisonous",
    "DeviceStopped",
    "DeviceUnavailable",
    "DeviceCondemned",
    "WorkerNotFound",
    "VersionMismatch",
    "ProtocolViolation",
    "LibraryMissing",
    "LibraryError",
    "Numerical",
    "SystemError",
]
