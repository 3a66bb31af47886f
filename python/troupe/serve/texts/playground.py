"""A page to try models that generate: texts as they come, and what a fault does to them."""

from __future__ import annotations

import base64
import hashlib
import pathlib
import re
from functools import cache

from fastapi import APIRouter, Request
from fastapi.responses import Response

from ..service import Service
from .generator import Generator

router = APIRouter()


@cache
def _page() -> tuple[bytes, dict[str, str]]:
    """The page, and headers that let nothing run but what is in it."""
    page = pathlib.Path(__file__).with_name("playground.html").read_bytes()

    def hash_of(tag: bytes) -> str:
        inner = re.search(b"<%s>(.*?)</%s>" % (tag, tag), page, re.DOTALL)
        assert inner is not None
        return base64.b64encode(hashlib.sha256(inner[1]).digest()).decode()

    rules = (
        f"default-src 'none'; connect-src 'self'; script-src 'sha256-{hash_of(b'script')}'; "
        f"style-src 'sha256-{hash_of(b'style')}'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'; img-src data:"
    )
    return page, {
        "content-security-policy": rules,
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
    }


@router.get("/playground")
async def playground() -> Response:
    page, headers = _page()
    return Response(page, headers=headers, media_type="text/html; charset=utf-8")


@router.get("/playground/models")
async def models(request: Request) -> list[str]:
    service: Service = request.app.state.service
    return [name for name, one in service.models.items() if isinstance(one, Generator)]
