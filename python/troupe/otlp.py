"""Metrics for a collector of OpenTelemetry: OTLP over HTTP.

pip install 'troupe-gpu[otlp]'

sent = troupe.otlp.Export(system)                    # to http://localhost:4318, once a minute

The names are those of /metrics, so one board shows both. Each export is one snapshot.
OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS, OTEL_SERVICE_NAME,
OTEL_RESOURCE_ATTRIBUTES and the like hold as for any program.
"""

# The SDK has no instrument that observes a whole histogram, so its data points are made here.

from __future__ import annotations

import atexit
import functools
import os
import re
import threading
import time
from collections.abc import Iterator
from types import TracebackType
from typing import Self

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Gauge,
    Histogram,
    HistogramDataPoint,
    Metric,
    MetricExporter,
    MetricExportResult,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from ._core import System, __version__

_UNITS = {
    "seconds": "s",
    "bytes": "By",
    "watts": "W",
    "celsius": "Cel",
    "hertz": "Hz",
    "ratio": "1",
}
_ESCAPES = {"n": "\n", '"': '"', "\\": "\\"}
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')

_Labels = dict[str, str]


class Export:
    """Sends a system's metrics until it or the system is closed.

    interval: seconds between two exports, by default OTEL_METRIC_EXPORT_INTERVAL or a minute.
    exporter: by default an OTLPMetricExporter. resource: says who sends, by default as the
    environment does.
    """

    def __init__(
        self,
        system: System,
        *,
        interval: float | None = None,
        exporter: MetricExporter | None = None,
        resource: Resource | None = None,
    ) -> None:
        if interval is None:
            interval = float(os.environ.get("OTEL_METRIC_EXPORT_INTERVAL", "60000")) / 1000
        if interval <= 0:
            raise ValueError(f"interval must be more than 0 seconds, not {interval:g}")
        self._system = system
        self._interval = interval
        self._exporter = exporter or OTLPMetricExporter()
        self._resource = resource or Resource.create()
        self._turn = threading.Lock()  # exporters take one export at a time
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="troupe-otlp", daemon=True)
        self._thread.start()
        atexit.register(self.close)

    def export(self) -> bool:
        """Sends a snapshot now. False if it did not arrive (OpenTelemetry's logger says why), or if
        the system is closed."""
        with self._turn:
            try:
                data = metrics_data(self._system.metrics(), self._resource)
            except ValueError:  # it is closed
                return False
            return self._exporter.export(data) is MetricExportResult.SUCCESS

    def close(self) -> None:
        """Sends a last snapshot, unless the system is closed, and ends."""
        if self._ended.is_set():
            return
        self._ended.set()
        atexit.unregister(self.close)
        self.export()
        self._exporter.shutdown()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(self._interval) and not self._system.closed:
            self.export()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        why: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def metrics_data(text: str, resource: Resource | None = None) -> MetricsData:
    """The text of System.metrics() as OpenTelemetry's exporters take it."""
    now = time.time_ns()
    metrics: list[Metric] = []
    for family in re.split(r"^# HELP ", text, flags=re.MULTILINE)[1:]:
        about, type_line, *lines = family.rstrip("\n").split("\n")
        name, _, description = about.partition(" ")
        kind = type_line.rpartition(" ")[2]
        made = _histogram(lines, now) if kind == "histogram" else _numbers(lines, kind, now)
        if made.data_points:
            metrics.append(Metric(name, description, _unit_of(name), made))
    scope = ScopeMetrics(InstrumentationScope("troupe", __version__), metrics, "")
    return MetricsData([ResourceMetrics(resource or Resource.create(), [scope], "")])


def _unit_of(name: str) -> str:
    return _UNITS.get(name.removesuffix("_total").rpartition("_")[2], "")


def _series(lines: list[str]) -> Iterator[tuple[str, _Labels, float]]:
    for line in lines:
        series, _, value = line.rpartition(" ")
        name, _, labels = series.partition("{")
        found = {
            label: re.sub(r"\\(.)", lambda m: _ESCAPES[m[1]], told)
            for label, told in _LABEL.findall(labels)
        }
        yield name, found, float(value)


def _numbers(lines: list[str], kind: str, now: int) -> Sum | Gauge:
    points = [
        NumberDataPoint(
            attributes=labels,
            start_time_unix_nano=_began(),
            time_unix_nano=now,
            value=int(value) if value.is_integer() else value,
        )
        for _, labels, value in _series(lines)
    ]
    if kind == "gauge":
        return Gauge(points)
    return Sum(points, AggregationTemporality.CUMULATIVE, is_monotonic=True)


def _histogram(lines: list[str], now: int) -> Histogram:
    points: list[HistogramDataPoint] = []
    bounds: list[float] = []
    below: list[int] = []
    total = 0.0
    for name, labels, value in _series(lines):
        if name.endswith("_bucket"):
            bounds.append(float(labels["le"]))  # the last is +Inf
            below.append(int(value))
        elif name.endswith("_sum"):
            total = value
        else:  # the last line of a series
            points.append(
                HistogramDataPoint(
                    attributes=labels,
                    start_time_unix_nano=_began(),
                    time_unix_nano=now,
                    count=int(value),
                    sum=total,
                    bucket_counts=[
                        n - before for n, before in zip(below, [0, *below], strict=False)
                    ],
                    explicit_bounds=bounds[:-1],
                    min=None,  # type: ignore[arg-type]
                    max=None,  # type: ignore[arg-type]
                )
            )
            bounds, below = [], []
    return Histogram(points, AggregationTemporality.CUMULATIVE)


@functools.cache
def _began() -> int:
    """When the process began, in nanoseconds since 1970: no count is older."""
    with open("/proc/self/stat", encoding="utf-8") as stat:
        ticks = int(stat.read().rpartition(")")[2].split()[19])
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    return int((time.time() - age) * 1e9)
