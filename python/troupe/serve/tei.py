"""The routes of text-embeddings-inference: /embed and /info, for the first model of texts."""

from __future__ import annotations

from typing import Any

import orjson
from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import BaseModel

import troupe

from .bodies import StrictRoute
from .errors import Problem
from .openai import ids_of
from .served import MOST_INPUTS
from .service import Service

router = APIRouter(route_class=StrictRoute)


class EmbedBody(BaseModel):
    inputs: Any
    truncate: bool = False
    normalize: bool = True


@router.post("/embed")
async def embed(body: EmbedBody, request: Request) -> Response:
    service: Service = request.app.state.service
    model = service.embedder()
    if not body.normalize:
        raise Problem(400, "vectors are always of length 1", param="normalize")
    with model:
        ids = await ids_of(model, body.inputs, "inputs", body.truncate)
        vectors = await model.vectors(ids, service.terms(request), "inputs")
    text = orjson.dumps(vectors, option=orjson.OPT_SERIALIZE_NUMPY)
    return Response(text, headers={"content-type": "application/json"})


@router.get("/info")
async def info(request: Request) -> dict[str, Any]:
    service: Service = request.app.state.service
    model = service.embedder()
    return {
        "model_id": model.name,
        "model_dtype": {"f32": "float32", "f16": "float16", "bf16": "bfloat16"}[model.dtype],
        "model_type": {"embedding": {"pooling": "mean"}},
        "max_input_length": model.most_tokens,
        "max_client_batch_size": MOST_INPUTS,
        "auto_truncate": False,
        "version": troupe.__version__,
    }
