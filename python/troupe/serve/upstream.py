"""Telemetry's page and facts, under the service's own address: its server on this machine is asked."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import orjson
from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse

from .metrics import text_of
from .served import Served
from .service import Service

router = APIRouter()

_EACH = 0.5  # seconds between two reports of the queues

_KEPT = ("content-type", "content-security-policy", "x-frame-options", "x-content-type-options",
         "referrer-policy", "cache-control", "content-disposition")  # fmt: skip


async def _asked(service: Service, path: str, query: str = "", last: str = "") -> Any:
    """Status, headers, and what the body is read from."""
    port = service.telemetry.port
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    target = path + ("?" + query if query else "")
    lines = [f"GET {target} HTTP/1.1", f"Host: 127.0.0.1:{port}", "Connection: close"]
    if last.isdigit():
        lines.append(f"Last-Event-ID: {last}")
    writer.write("\r\n".join([*lines, "", ""]).encode("latin-1"))
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    pairs = (one.partition(":")[::2] for one in head[1:] if one)
    return int(head[0].split()[1]), {k.lower(): v.strip() for k, v in pairs}, reader, writer


def _row(model: Served, counts: dict[str, Any]) -> dict[str, Any]:
    """Of a queue, or of a model that generates: its batches are steps, and their items tokens."""
    outcomes = counts["requests_total"]
    batches = counts.get("batch_items")
    if batches is None:
        batches = {"count": counts["steps_total"], "sum": counts["generation_tokens_total"]}
    times = counts.get("request_duration_seconds") or counts["time_to_first_token_seconds"]
    return {
        "name": model.name,
        "version": model.version,
        "answered": outcomes.get("ok", 0),
        "expired": outcomes.get("deadline_exceeded", 0),
        "culprits": counts["culprits_total"],
        "refused": sum(counts.get("rejected_total", {}).values()),
        "waiting": counts.get("waiting_items", counts.get("waiting_sequences", 0)),
        "quarantined": len(model.quarantined()),
        "batches": batches["count"],
        "batched": batches["sum"],
        "times": [(upper * 1e9, below) for upper, below in times["buckets"]],
        "timed": times["count"],
        "tenants": counts.get("device_seconds_total", {}),
    }


def _told(service: Service) -> bytes:
    """What the page shows of the queues, as one more event of telemetry's stream."""
    models = [_row(model, model.statistics()) for model in service.models.values()]
    return b"event: serving\ndata: " + orjson.dumps(models) + b"\n\n"


async def _with_models(service: Service, reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """Telemetry's events, with ours between them."""
    last, part = 0.0, b""
    while more := await reader.read(1 << 16):
        part += more
        end = part.rfind(b"\n\n") + 2
        if end < 2:
            continue
        yield part[:end]
        part = part[end:]
        now = time.monotonic()
        if now - last > _EACH and service.models:
            last = now
            yield _told(service)


@router.get("/")
@router.get("/snapshot.json")
@router.get("/events")
@router.get("/trace.json")
@router.get("/faults/{rest}")
@router.get("/top")
async def shown(request: Request) -> Response:
    """The page names its parts, so they are where it expects them."""
    service: Service = request.app.state.service
    url = request.url
    last = request.headers.get("last-event-id", "")
    status, headers, reader, writer = await _asked(service, url.path, url.query, last)

    async def body() -> AsyncIterator[bytes]:
        try:
            if url.path == "/events" and status == 200:
                async for part in _with_models(service, reader):
                    yield part
            while part := await reader.read(1 << 16):
                yield part
        finally:
            writer.close()

    kept = {name: headers[name] for name in _KEPT if name in headers}
    return StreamingResponse(body(), status, kept)


@router.get("/metrics")
async def metrics(request: Request) -> Response:
    service: Service = request.app.state.service
    _, headers, reader, writer = await _asked(service, "/metrics")
    text = (await reader.read()).decode()
    writer.close()
    return Response(text + text_of(service), media_type=headers["content-type"])


async def _health(service: Service, path: str) -> Response:
    if path == "/readyz" and service.state != "ready":
        return JSONResponse({"ready": False, "reason": service.state}, 503)
    status, _, reader, writer = await _asked(service, path)
    text = await reader.read()
    writer.close()
    return Response(text, status, media_type="application/json")


@router.get("/livez")
@router.get("/v2/health/live")
async def live(request: Request) -> Response:
    return await _health(request.app.state.service, "/livez")


@router.get("/readyz")
@router.get("/v2/health/ready")
@router.get("/health")
async def ready(request: Request) -> Response:
    return await _health(request.app.state.service, "/readyz")


@router.get("/healthz")
async def healthy(request: Request) -> Response:
    return await _health(request.app.state.service, "/healthz")
