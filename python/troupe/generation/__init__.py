"""Generation of tokens: an engine that goes on when the device faults, and what checkpoints need.

`python -m troupe.serve` serves it over HTTP; `Engine` takes any model that has a `forward`.
"""

from __future__ import annotations
