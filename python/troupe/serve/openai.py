"""The routes of OpenAI's API: /v1/models and /v1/embeddings."""

from __future__ import annotations

import base64
from typing import Annotated, Any, Literal

import numpy as np
import orjson
from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field

from .bodies import StrictRoute
from .embedder import Embedder
from .errors import Problem
from .served import MOST_INPUTS
from .service import Service

router = APIRouter(route_class=StrictRoute)


class EmbeddingsBody(BaseModel):
    """A request for vectors."""

    model_config = ConfigDict(extra="allow")

    model: str
    input: Any
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: Annotated[int, Field(strict=True, ge=1)] | None = None
    user: str | None = None


async def ids_of(model: Embedder, value: Any, what: str, cut: bool = False) -> list[Any]:
    """Tokens of what clients may send: a text, texts, tokens, or lists of tokens."""
    if isinstance(value, str):
        return await model.ids_of([value], what, cut)
    if not isinstance(value, list) or not value:
        raise Problem(
            400, "it must be a text, tokens, or a list of them that is not empty", param=what
        )
    kinds = {type(one) for one in value}
    if kinds == {int}:
        return [model.checked(value, what)]
    if len(value) > MOST_INPUTS:
        raise Problem(413, f"it has {len(value)} inputs; {MOST_INPUTS} are the most", param=what)
    if kinds == {str}:
        return await model.ids_of(value, what, cut)
    if kinds == {list}:
        return [model.checked(one, f"{what}[{i}]") for i, one in enumerate(value)]
    raise Problem(400, "all of it must be texts, or all of it lists of tokens", param=what)


@router.post("/v1/embeddings")
async def embeddings(body: EmbeddingsBody, request: Request) -> Response:
    service: Service = request.app.state.service
    model = service.embedder(body.model)
    if body.dimensions is not None and body.dimensions > model.width:
        raise Problem(400, f"the model has {model.width}", param="dimensions")
    with model:
        ids = await ids_of(model, body.input, "input")
        vectors = await model.vectors(ids, service.terms(request), "input")
    if body.dimensions is not None:
        vectors = vectors[:, : body.dimensions]
        vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    as_text = body.encoding_format == "base64"
    data = [
        {
            "object": "embedding",
            "index": i,
            "embedding": base64.b64encode(one.tobytes()).decode() if as_text else one,
        }
        for i, one in enumerate(np.ascontiguousarray(vectors))
    ]
    tokens = sum(map(len, ids))
    answer = {
        "object": "list",
        "data": data,
        "model": body.model,
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }
    headers = {"content-type": "application/json"}
    if body.model_extra:
        headers["x-troupe-ignored"] = ", ".join(
            one for one in list(body.model_extra)[:16] if one.isidentifier() and one.isascii()
        )
    return Response(orjson.dumps(answer, option=orjson.OPT_SERIALIZE_NUMPY), headers=headers)


def _described(service: Service, name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": service.began, "owned_by": "troupe"}


@router.get("/v1/models")
async def models(request: Request) -> dict[str, Any]:
    service: Service = request.app.state.service
    return {"object": "list", "data": [_described(service, one) for one in service.models]}


@router.get("/v1/models/{name}")
async def model(name: str, request: Request) -> dict[str, Any]:
    service: Service = request.app.state.service
    return _described(service, service.model(name).name)
