"""Records of the logger `troupe`."""

from __future__ import annotations

import logging

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..errors import Failure

# The fields of a device's event; every record of the logger has them.
_LOGGED = (
    *("kind", "number", "device", "generation", "at", "pid", "took", "wait", "count", "failed"),
    *("spent", "budget", "request", "cause"),
)


def log(level: str, source: str, event: str, cause: Failure | None, about: Any) -> None:
    """Writes to the logger `troupe`. Called by the runtime, for a device on a thread that does
    nothing else; `about` is its event."""
    extra: dict[str, Any] = {"source": source, **dict.fromkeys(_LOGGED), "cause": cause}
    if about is not None:
        extra |= vars(about)
    elif cause is not None:
        extra |= {"device": cause.device, "generation": cause.generation, "request": cause.request}
    text = f"{source} {event}"
    if cause is not None:
        text += ": " + (f"{cause.request}: " if cause.request else "") + cause.message
    number = logging.getLevelNamesMapping()[level.upper()]
    logging.getLogger("troupe").log(number, "%s", text, extra=extra)
