"""All routes as one application of ASGI."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from . import kserve, openai, tei, upstream
from .bodies import StrictRoute
from .errors import Problem, problem_of
from .gate import Gate, Limits
from .own import OwnModel
from .service import Service
from .texts import completions, generate, playground

_own = APIRouter(route_class=StrictRoute)


@_own.post("/models/{name}")
async def predict(name: str, body: dict[str, Any], request: Request) -> Any:
    """A model of one's own, with its own JSON."""
    service: Service = request.app.state.service
    model = service.model(name)
    if not isinstance(model, OwnModel):
        raise Problem(404, f"{name} is asked by /v1/embeddings and /v2", param="model")
    with model:
        return await model.predict(body, service.terms(request))


async def _refused(request: Request, why: Exception) -> Response:
    """The first field that does not fit."""
    assert isinstance(why, RequestValidationError)
    first = why.errors()[0]
    field = ".".join(str(one) for one in first["loc"][1:])
    return Problem(400, first["msg"], param=field or None).response(request.url.path)


async def _failed(request: Request, why: Exception) -> Response:
    if isinstance(why, HTTPException) and not isinstance(why, Problem):
        why = Problem(why.status_code, why.detail)
    return problem_of(why).response(request.url.path)


def make(service: Service, limits: Limits | None = None) -> Gate:
    """The application; its limits are those of the connection's protocol as well."""
    app = FastAPI(title="Troupe", docs_url=None, redoc_url=None)
    app.state.service = service
    for one in (
        openai.router,
        completions.router,
        _own,
        kserve.router,
        generate.router,
        playground.router,
        tei.router,
        upstream.router,
    ):
        app.include_router(one)
    app.add_exception_handler(RequestValidationError, _refused)
    app.add_exception_handler(HTTPException, _failed)
    app.add_exception_handler(Exception, _failed)
    return Gate(app, service, limits or Limits())
