"""Bodies in JSON, read as strictly as the formats are written."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import orjson
from fastapi import Request
from fastapi.responses import Response
from fastapi.routing import APIRoute

from .errors import Problem

_DEEPEST = 32


def parsed(data: bytes) -> Any:
    """Neither NaN nor lone surrogates, and nested at most 32 deep."""
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError as why:
        raise Problem(400, f"the body is no JSON: {why}") from None
    layer: list[Any] = [[value]]
    for _ in range(_DEEPEST + 2):
        layer = [
            inner
            for one in layer
            for inner in (one.values() if isinstance(one, dict) else one)
            if type(inner) in (dict, list)
        ]
        if not layer:
            return value
    raise Problem(400, f"the body is nested more than {_DEEPEST} deep")


class _StrictRequest(Request):
    async def json(self) -> Any:
        return parsed(await self.body())


class StrictRoute(APIRoute):
    """Reads a body with `parsed`, and as JSON whatever its type is said to be, as curl -d sends it."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def strictly(request: Request) -> Response:
            headers = [one for one in request.scope["headers"] if one[0] != b"content-type"]
            scope = {**request.scope, "headers": [*headers, (b"content-type", b"application/json")]}
            return await handle(_StrictRequest(scope, request.receive))

        return strictly
