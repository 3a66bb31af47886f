"""The metrics that a collector of OpenTelemetry gets, compared with the text for Prometheus."""

from __future__ import annotations

import gzip
import http.server
import re
import threading
from typing import Any

import pytest
import troupe

pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason="needs the extra otlp")

from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.sdk.resources import Resource
from troupe import otlp
from waits import eventually


class Collector(http.server.BaseHTTPRequestHandler):
    got: list[ExportMetricsServiceRequest] = []
    came = threading.Event()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        self.got.append(ExportMetricsServiceRequest.FromString(body))
        self.send_response(200)
        self.end_headers()
        self.came.set()

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def exporter():
    Collector.got.clear()
    Collector.came.clear()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        url = f"http://127.0.0.1:{server.server_port}/v1/metrics"
        yield OTLPMetricExporter(url, compression=Compression.Gzip)
        server.shutdown()
        thread.join()


def numbers_in(request: ExportMetricsServiceRequest) -> dict[str, float]:
    """By name and labels as Prometheus writes them."""
    made: dict[str, float] = {}
    for metric in request.resource_metrics[0].scope_metrics[0].metrics:
        data = getattr(metric, metric.WhichOneof("data"))
        for point in data.data_points:
            labels = [f'{one.key}="{one.value.string_value}"' for one in point.attributes]
            if metric.WhichOneof("data") == "histogram":
                assert len(point.bucket_counts) == len(point.explicit_bounds) + 1
                assert sum(point.bucket_counts) == point.count
                below = 0
                for bound, count in zip(point.explicit_bounds, point.bucket_counts, strict=False):
                    below += count
                    le = [*labels, f'le="{bound:g}"']
                    made[f"{metric.name}_bucket{{{','.join(le)}}}"] = below
                made[f"{metric.name}_count{{{','.join(labels)}}}"] = point.count
                made[f"{metric.name}_sum{{{','.join(labels)}}}"] = point.sum
            else:
                name = metric.name + (f"{{{','.join(labels)}}}" if labels else "")
                made[name] = getattr(point, point.WhichOneof("value"))
    return made


def numbers_of(text: str) -> dict[str, float]:
    made = {}
    for line in text.splitlines():
        if line.startswith("#") or 'le="+Inf"' in line:
            continue
        series, _, value = line.rpartition(" ")
        series = re.sub(r'le="(.*?)"', lambda m: f'le="{float(m[1]):g}"', series)
        made[series] = float(value)
    return made


def test_a_collector_gets_what_prometheus_reads(exporter: OTLPMetricExporter) -> None:
    with troupe.System(sample=1) as system:
        gpu = system.device(backend="cpu", fault_injection=True, restarts=10)
        a = gpu.zeros((4, 4), "float32")
        gpu.memory.fill(to=a, value=1).result()
        with pytest.raises(troupe.ShapeMismatch):
            gpu.blas.gemm(a, gpu.zeros((3, 2), "float32"))
        with pytest.raises(troupe.Failure):
            gpu.fault.inject(what="segmentation_fault").result()
        gpu.memory.fill(to=a, value=1).result()
        eventually(lambda: 'troupe_device_standby_ready{device="0"} 1' in system.metrics())
        me = Resource.create({"service.name": "test"})
        with otlp.Export(system, interval=3600, exporter=exporter, resource=me) as sent:
            assert sent.export()
        expected = numbers_of(system.metrics())
    first, last = Collector.got  # the second by close()
    assert "test" in [
        one.value.string_value for one in first.resource_metrics[0].resource.attributes
    ]
    found = numbers_in(last)
    assert found.keys() == expected.keys()
    moved = {name for name in found if found[name] != pytest.approx(expected[name])}
    assert not moved
    assert (
        found['troupe_requests_total{device="0",operation="blas.gemm",outcome="shape_mismatch"}']
        == 1
    )
    kinds = {
        m.name: (m.unit, m.WhichOneof("data"))
        for m in last.resource_metrics[0].scope_metrics[0].metrics
    }
    assert kinds["troupe_memory_used_bytes"] == ("By", "gauge")
    assert kinds["troupe_request_queue_seconds_total"] == ("s", "sum")
    assert kinds["troupe_failover_duration_seconds"] == ("s", "histogram")


def test_exports_until_its_system_is_closed(exporter: OTLPMetricExporter) -> None:
    with troupe.System() as system:
        sent = otlp.Export(system, interval=0.01, exporter=exporter)
        assert Collector.came.wait(10)
    assert not sent.export()
    sent.close()
    sent.close()
    with pytest.raises(ValueError, match="more than 0"):
        otlp.Export(system, interval=0)


def test_names_of_others_stay_whole() -> None:
    text = (
        "# HELP troupe_x_total Some.\n# TYPE troupe_x_total counter\n"
        'troupe_x_total{a="b\\"} 1\\n\\\\n, # HELP c=\\"d\\"\u2028",e=""} 1e3\n'
    )
    (metric,) = otlp.metrics_data(text).resource_metrics[0].scope_metrics[0].metrics
    (point,) = metric.data.data_points
    assert point.value == 1000
    assert point.attributes == {"a": 'b"} 1\n\\n, # HELP c="d"\u2028', "e": ""}
