"""KServe's /generate and /generate_stream, as Triton has them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse
from pydantic import BaseModel, Field

from ...generation.answers import Answer, Piece
from ..bodies import StrictRoute
from ..errors import Problem
from ..service import Service
from .completions import Count, event
from .generator import Generator, Wish
from .wishes import Drawing, sampling_of, stops_of

router = APIRouter(route_class=StrictRoute)

_EVENTS = {"content-type": "text/event-stream", "cache-control": "no-store"}


class Parameters(Drawing):
    """Those of a request; without a temperature the likeliest token is taken."""

    max_tokens: Count = 16
    stop: Any = None
    priority: Annotated[int, Field(strict=True, ge=0, le=255)] = 0
    timeout: Annotated[int, Field(strict=True, ge=0)] = 0  # microseconds


class GenerateBody(BaseModel):
    text_input: str
    parameters: Parameters = Parameters()
    id: str | None = None


async def _asked(name: str, version: str, body: GenerateBody, request: Request) -> tuple[Generator, Answer, dict[str, Any]]:  # fmt: skip
    service: Service = request.app.state.service
    model = service.generator(name)
    if version not in ("", model.version):
        raise Problem(404, f"{name} has no version {version[:20]!r}", param="version")
    wanted = body.parameters
    ids = await model.ids_of(body.text_input, "text_input")
    sampling = sampling_of(wanted)
    if wanted.temperature is None:
        sampling = sampling._replace(temperature=0.0)
    wish = Wish(wanted.max_tokens, sampling, stops_of(wanted.stop))
    terms = service.terms(request, wanted.priority, wanted.timeout)
    head = {"model_name": model.name, "model_version": model.version}
    if body.id is not None:
        head["id"] = body.id
    return model, model.ask([ids], wish, terms), head


@router.post("/v2/models/{name}/generate")
@router.post("/v2/models/{name}/versions/{version}/generate")
async def generate(name: str, body: GenerateBody, request: Request, version: str = "") -> Response:
    model, answer, head = await _asked(name, version, body, request)
    texts: list[str] = []
    try:
        async for piece in answer:
            if isinstance(piece.end, Exception):
                raise model.failed(answer, piece.choice, piece.end)
            texts.append(piece.text)
    finally:
        answer.cancel()
    return JSONResponse(head | {"text_output": "".join(texts), "finish_reason": piece.end})


@router.post("/v2/models/{name}/generate_stream")
@router.post("/v2/models/{name}/versions/{version}/generate_stream")
async def stream(name: str, body: GenerateBody, request: Request, version: str = "") -> Response:
    model, answer, head = await _asked(name, version, body, request)
    try:
        first = await anext(answer)
        if isinstance(first.end, Exception):
            raise model.failed(answer, first.choice, first.end)
    except BaseException:
        answer.cancel()
        raise

    async def events() -> AsyncIterator[bytes]:
        piece: Piece | None = first
        try:
            while piece is not None:
                if isinstance(piece.end, Exception):
                    yield event(model.failed(answer, piece.choice, piece.end).body("/v2"), "error")
                elif piece.text or piece.end:
                    end = {"finish_reason": piece.end} if piece.end else {}
                    yield event(head | {"text_output": piece.text} | end)
                piece = await anext(answer, None)
        finally:
            answer.cancel()

    return StreamingResponse(events(), headers=_EVENTS)
