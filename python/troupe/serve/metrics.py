"""What the queues count, for Prometheus: `troupe_serve_*`, with the model as a label."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .service import Service

# The label of those that have one beside the model's.
_LABELS = {
    "requests_total": "outcome",
    "batches_total": "closed_by",
    "rejected_total": "reason",
    "device_seconds_total": "tenant",
    "isolations_total": "pieces",
}


def text_of(service: Service) -> str:
    """All models, in the text format that telemetry's metrics have."""
    counted = {name: model.statistics() for name, model in service.models.items()}
    names = dict.fromkeys(name for one in counted.values() for name in one)
    lines: list[str] = []
    for name in names:
        values = {model: one[name] for model, one in counted.items() if name in one}
        lines += _metric(name, values)
    return "".join(line + "\n" for line in lines)


def _metric(name: str, values: dict[str, Any]) -> Iterator[str]:
    full = f"troupe_serve_{name}"
    histogram = any(isinstance(one, dict) and "buckets" in one for one in values.values())
    kind = "histogram" if histogram else "counter" if name.endswith("_total") else "gauge"
    yield f"# TYPE {full} {kind}"
    for model, value in values.items():
        label = f'model="{model}"'
        if histogram:
            for upper, count in value["buckets"]:
                yield f'{full}_bucket{{{label},le="{upper:g}"}} {count}'
            yield f'{full}_bucket{{{label},le="+Inf"}} {value["count"]}'
            yield f"{full}_sum{{{label}}} {value['sum']}"
            yield f"{full}_count{{{label}}} {value['count']}"
        elif isinstance(value, dict):
            for key, one in value.items():
                # A tenant's name is from the file of keys, which allows no quotes.
                yield f'{full}{{{label},{_LABELS[name]}="{key}"}} {one}'
        else:
            yield f"{full}{{{label}}} {value}"
