"""Events of devices, and failures of actors that nothing has handled, as records of the logger `troupe`."""

from __future__ import annotations

import logging

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import SimpleNamespace

    from .errors import Failure

_LOGGER = logging.getLogger("troupe")
_LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}
# The fields of a device's event, which every record has.
_FIELDS = (
    *("kind", "number", "device", "generation", "at", "pid", "took", "wait", "count", "failed"),
    *("spent", "budget", "request", "cause"),
)


def write(
    level: str, source: str, event: str, cause: Failure | None, about: SimpleNamespace | None
) -> None:
    """Called by the runtime, for devices on a thread that does nothing else."""
    extra = {"source": source, **dict.fromkeys(_FIELDS), "cause": cause}
    if about is not None:
        extra |= vars(about)
    elif cause is not None:
        extra |= {"device": cause.device, "generation": cause.generation, "request": cause.request}
    text = f"{source} {event}"
    if cause is not None:
        text += ": " + (f"{cause.request}: " if cause.request else "") + cause.message
    _LOGGER.log(_LEVELS[level], "%s", text, extra=extra)
