"""The wording of messages that C++ has written. Apart, because `re` takes long to import."""

from __future__ import annotations

import re

# C++'s names in messages, and how Python writes the same.
_IN_PYTHON = [
    (re.compile(pattern), by)
    for pattern, by in (
        (r"\bfork_server::config::command\b", "operations"),
        (r"\b\w+_(?:config|options|limits)::(\w+)", r"\1"),
        (r"\bplacement::own\b", "own=True"),
        (r"\bisolation::(\w+)", r"isolation='\1'"),
        (r"\bdevice::thaw\b", "tensor.thaw()"),
        (r"\bdevice::forgive\b", "device.forgive_all()"),
        (r"\b(device|system|tensor|future)::(\w+)", r"\1.\2()"),
        (r"\b(?:troupe::)?worker_entry\b", "troupe.worker"),
        (r"\btroupe::", "troupe."),
        (r"\ba host_tensor\b", "a tensor of device.host_empty()"),
        (r"\bhost_tensor\b", "device.host_empty()"),
    )
]


def reworded(text: str) -> str:
    """A message of Troupe's with Python's names instead of C++'s."""
    for pattern, by in _IN_PYTHON:
        text = pattern.sub(by, text)
    return text
