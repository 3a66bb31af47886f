"""OpenAI's /v1/completions and /v1/chat/completions, whole or as a stream of events."""

from __future__ import annotations

import secrets
import time
from collections.abc import AsyncIterator
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Request
from fastapi.responses import Response, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from ...generation.answers import Answer, Piece
from ..bodies import StrictRoute
from ..errors import Problem
from ..service import Service
from .generator import Generator, Wish
from .wishes import Drawing, sampling_of, stops_of

router = APIRouter(route_class=StrictRoute)

_MOST_PROMPTS = 64
_MOST_LIKELIEST = 20
_MOST_MESSAGES = 1024
_EVENTS = {"content-type": "text/event-stream", "cache-control": "no-store"}

Count = Annotated[int, Field(strict=True, ge=1)]


class _Options(BaseModel):
    include_usage: bool = False


class _Body(Drawing):
    """What both take."""

    model_config = ConfigDict(extra="allow")

    model: str
    max_tokens: Count | None = None
    n: Annotated[int, Field(strict=True, ge=1, le=16)] = 1
    stop: Any = None
    stream: bool = False
    stream_options: _Options | None = None
    user: str | None = None


class CompletionBody(_Body):
    prompt: Any
    logprobs: Annotated[int, Field(strict=True, ge=0, le=_MOST_LIKELIEST)] | None = None


class ChatBody(_Body):
    messages: list[dict[str, Any]]
    max_completion_tokens: Count | None = None
    logprobs: bool = False
    top_logprobs: Annotated[int, Field(strict=True, ge=0, le=_MOST_LIKELIEST)] | None = None


# Fields that would change the answer, with the values that change nothing.
_REFUSED: dict[str, tuple[Any, ...]] = {
    "frequency_penalty": (0, 0.0), "presence_penalty": (0, 0.0), "logit_bias": ({},),
    "echo": (False,), "suffix": ("",), "best_of": (1,), "tools": ([],), "tool_choice": ("none",),
    "functions": ([],), "function_call": ("none",), "modalities": (["text"],), "audio": (),
    "response_format": ({"type": "text"},), "prediction": (), "web_search_options": (),
}  # fmt: skip


def _check_fields(body: _Body) -> str:
    """Names of fields that are not known and change nothing."""
    ignored = []
    for name, value in (body.model_extra or {}).items():
        if name in _REFUSED:
            if value is not None and value not in _REFUSED[name]:
                raise Problem(400, "it is not served", param=name)
        elif name.isidentifier() and name.isascii():
            ignored.append(name[:64])
    return ", ".join(ignored[:16])


def _wish(body: _Body, most: int | None, logprobs: int | None) -> Wish:
    return Wish(most, sampling_of(body), stops_of(body.stop), body.n, logprobs)


async def _prompts(model: Generator, value: Any) -> list[list[int]]:
    if isinstance(value, str):
        return [await model.ids_of(value, "prompt")]
    if not isinstance(value, list) or not value:
        raise Problem(400, "it must be a text, tokens, or a list of them", param="prompt")
    kinds = {type(one) for one in value}
    if kinds == {int}:
        return [model.checked(value, "prompt")]
    if len(value) > _MOST_PROMPTS:
        text = f"it has {len(value)} prompts; {_MOST_PROMPTS} are the most"
        raise Problem(413, text, param="prompt")
    if kinds == {str}:
        return [await model.ids_of(one, f"prompt[{i}]") for i, one in enumerate(value)]
    if kinds == {list}:
        return [model.checked(one, f"prompt[{i}]") for i, one in enumerate(value)]
    raise Problem(400, "all of it must be texts, or all of it lists of tokens", param="prompt")


def messages_of(value: list[dict[str, Any]]) -> list[dict[str, str]]:
    """Roles and texts; a content of several texts becomes one."""
    if not 1 <= len(value) <= _MOST_MESSAGES:
        raise Problem(400, f"it must have 1 to {_MOST_MESSAGES} messages", param="messages")
    made = []
    for i, one in enumerate(value):
        role, content = one.get("role"), one.get("content")
        if role == "developer":
            role = "system"
        if role not in ("system", "user", "assistant"):
            raise Problem(400, "it must be system, user or assistant", param=f"messages[{i}].role")
        if isinstance(content, list):
            texts = [part.get("text") if isinstance(part, dict) and part.get("type") == "text" else None for part in content]  # fmt: skip
            content = "".join(texts) if all(isinstance(t, str) for t in texts) else None  # type: ignore[arg-type]
        if not isinstance(content, str):
            raise Problem(400, "it must be a text, or parts that are", param=f"messages[{i}].content")  # fmt: skip
        made.append({"role": role, "content": content})
    return made


class Shape:
    """How one of the two routes writes its answers."""

    def __init__(self, model: Generator, chat: bool, logprobs: bool) -> None:
        self.chat, self.logprobs, self.tokenizer = chat, logprobs, model.tokenizer
        kind = "chat.completion" if chat else "text_completion"
        self.head = {
            "id": ("chatcmpl-" if chat else "cmpl-") + secrets.token_hex(12),
            "object": kind,
            "created": int(time.time()),
            "model": model.name,
        }

    def _word(self, token: int) -> tuple[str, list[int]]:
        data = self.tokenizer.pieces[token]
        return data.decode("utf-8", "replace"), list(data)

    def _of_chat(self, pieces: list[Piece]) -> Any:
        def entry(token: int, logprob: float) -> dict[str, Any]:
            text, data = self._word(token)
            return {"token": text, "logprob": logprob, "bytes": data}

        return {
            "content": [
                entry(t.token, t.logprob) | {"top_logprobs": [entry(*one) for one in t.likeliest]}
                for piece in pieces
                for t in piece.taken
            ],
            "refusal": None,
        }

    def _of_text(self, pieces: list[Piece], begin: int) -> Any:
        tokens, logprobs, likeliest, offsets = [], [], [], []
        for t in (t for piece in pieces for t in piece.taken):
            text = self._word(t.token)[0]
            tokens.append(text)
            logprobs.append(t.logprob)
            likeliest.append({self._word(i)[0]: one for i, one in t.likeliest})
            offsets.append(begin)
            begin += len(text)
        return {
            "tokens": tokens, "token_logprobs": logprobs, "top_logprobs": likeliest,
            "text_offset": offsets,
        }  # fmt: skip

    def choice(
        self, index: int, pieces: list[Piece], end: str | None, stream: bool, begin: int = 0
    ) -> dict[str, Any]:
        text = "".join(one.text for one in pieces)
        made: dict[str, Any] = {"index": index, "finish_reason": end, "logprobs": None}
        if self.chat:
            content = {"content": text} if stream else {"role": "assistant", "content": text, "refusal": None}  # fmt: skip
            made["delta" if stream else "message"] = content
        else:
            made["text"] = text
        if self.logprobs:
            made["logprobs"] = self._of_chat(pieces) if self.chat else self._of_text(pieces, begin)
        return made


def _usage(answer: Answer, prompts: list[list[int]]) -> dict[str, Any]:
    asked = sum(map(len, prompts))
    made = sum(one.tokens for one in answer.choices)
    found = sum(one.shared for one in answer.jobs)
    return {
        "prompt_tokens": asked,
        "completion_tokens": made,
        "total_tokens": asked + made,
        "prompt_tokens_details": {"cached_tokens": min(found, asked)},
    }


async def _whole(
    model: Generator, answer: Answer, shape: Shape, prompts: list[list[int]]
) -> Response:
    pieces: list[list[Piece]] = [[] for _ in answer.choices]
    async for piece in answer:
        if isinstance(piece.end, Exception):
            answer.cancel()
            raise model.failed(answer, piece.choice, piece.end) from None
        pieces[piece.choice].append(piece)
    choices = [shape.choice(i, mine, str(mine[-1].end), False) for i, mine in enumerate(pieces)]
    made = shape.head | {"choices": choices, "usage": _usage(answer, prompts)}
    return Response(orjson.dumps(made), headers={"content-type": "application/json"})


def event(data: Any, name: str = "") -> bytes:
    head = f"event: {name}\n".encode() if name else b""
    return head + b"data: " + orjson.dumps(data) + b"\n\n"


DONE = b"data: [DONE]\n\n"


async def _events(
    model: Generator, answer: Answer, shape: Shape, body: _Body, prompts: list[list[int]], first: Piece
) -> AsyncIterator[bytes]:  # fmt: skip
    wants_usage = body.stream_options is not None and body.stream_options.include_usage
    head = shape.head | ({"object": "chat.completion.chunk"} if shape.chat else {})
    if wants_usage:
        head = head | {"usage": None}
    letters = [0] * len(answer.choices)
    try:
        if shape.chat:
            for i in range(len(answer.choices)):
                delta = {"index": i, "delta": {"role": "assistant", "content": ""}, "logprobs": None, "finish_reason": None}  # fmt: skip
                yield event(head | {"choices": [delta]})
        piece: Piece | None = first
        while piece is not None:
            if isinstance(piece.end, Exception):
                # The status is sent already. Other choices go on.
                why = model.failed(answer, piece.choice, piece.end)
                yield event(why.body("/v1/") | {"choice": piece.choice}, "error")
            elif piece.text or piece.end or (shape.logprobs and piece.taken):
                made = shape.choice(piece.choice, [piece], piece.end, True, letters[piece.choice])
                letters[piece.choice] += len(piece.text)
                yield event(head | {"choices": [made]})
            piece = await anext(answer, None)
        if wants_usage:
            yield event(head | {"choices": [], "usage": _usage(answer, prompts)})
        yield DONE
    finally:
        answer.cancel()


async def _answered(
    model: Generator,
    body: _Body,
    request: Request,
    prompts: list[list[int]],
    wish: Wish,
    shape: Shape,
) -> Response:
    ignored = _check_fields(body)
    service: Service = request.app.state.service
    answer = model.ask(prompts, wish, service.terms(request))
    try:
        if not body.stream:
            response = await _whole(model, answer, shape, prompts)
        else:
            # A failure before the first token has a status of its own.
            first = await anext(answer)
            if isinstance(first.end, Exception):
                raise model.failed(answer, first.choice, first.end)
            events = _events(model, answer, shape, body, prompts, first)
            response = StreamingResponse(events, headers=_EVENTS)
    except BaseException:
        answer.cancel()
        raise
    if ignored:
        response.headers["x-troupe-ignored"] = ignored
    return response


@router.post("/v1/completions")
async def completions(body: CompletionBody, request: Request) -> Response:
    service: Service = request.app.state.service
    model = service.generator(body.model)
    prompts = await _prompts(model, body.prompt)
    wish = _wish(body, 16 if body.max_tokens is None else body.max_tokens, body.logprobs)
    shape = Shape(model, False, body.logprobs is not None)
    return await _answered(model, body, request, prompts, wish, shape)


@router.post("/v1/chat/completions")
async def chat(body: ChatBody, request: Request) -> Response:
    service: Service = request.app.state.service
    model = service.generator(body.model)
    if body.top_logprobs is not None and not body.logprobs:
        raise Problem(400, "it needs logprobs", param="top_logprobs")
    prompts = [await model.ids_of_chat(messages_of(body.messages))]
    most = body.max_completion_tokens or body.max_tokens
    wish = _wish(body, most, (body.top_logprobs or 0) if body.logprobs else None)
    return await _answered(model, body, request, prompts, wish, Shape(model, True, body.logprobs))
