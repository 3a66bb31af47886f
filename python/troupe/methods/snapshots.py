"""Snapshots of a device: objects with fields, which become JSON."""

from __future__ import annotations

import types

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Snapshot(types.SimpleNamespace):
    """What a device said of itself at one moment: its fields are attributes."""

    def as_dict(self) -> dict[str, Any]:
        """The fields by name, as JSON has them: a failure is a dict of its own fields."""
        return {name: _plain(value) for name, value in vars(self).items()}

    def json(self, **options: Any) -> str:
        """The same as JSON text; options are those of json.dumps."""
        import json

        return json.dumps(self.as_dict(), **options)


def parsed(text: str) -> Any:
    """The same of a JSON text: each object of it becomes a snapshot."""
    import json

    return json.loads(text, object_hook=lambda fields: Snapshot(**fields))


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return value.as_dict() if hasattr(value, "as_dict") else value
