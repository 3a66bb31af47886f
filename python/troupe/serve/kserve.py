"""The KServe (v2) protocol, with binary tensors, for every model."""

from __future__ import annotations

from typing import Any

import orjson
from fastapi import APIRouter, Request
from fastapi.responses import Response

import troupe

from .bodies import parsed
from .errors import Problem
from .served import MOST_INPUTS, Sequenced, Served
from .service import Service
from .tensors import from_entry, to_entry

router = APIRouter()

_HEADER = "inference-header-content-length"
_LENGTH = "Inference-Header-Content-Length"

# Reading it keeps everybody waiting.
_MOST_JSON = 4 << 20


@router.get("/v2")
async def server() -> dict[str, Any]:
    return {
        "name": "troupe",
        "version": troupe.__version__,
        "extensions": ["binary_tensor_data", "sequence"],
    }


@router.get("/v2/models/{name}")
@router.get("/v2/models/{name}/versions/{version}")
async def metadata(name: str, request: Request, version: str = "") -> dict[str, Any]:
    model = _model(request, name, version)
    return {
        "name": model.name,
        "versions": [model.version],
        "platform": "troupe",
        "inputs": [one._asdict() for one in model.inputs],
        "outputs": [one._asdict() for one in model.outputs],
    }


@router.get("/v2/models/{name}/ready")
@router.get("/v2/models/{name}/versions/{version}/ready")
async def ready(name: str, request: Request, version: str = "") -> dict[str, Any]:
    return {"name": _model(request, name, version).name, "ready": True}


@router.post("/v2/models/{name}/infer")
@router.post("/v2/models/{name}/versions/{version}/infer")
async def infer(name: str, request: Request, version: str = "") -> Response:
    service: Service = request.app.state.service
    model = _model(request, name, version)
    asked, data = _split(await request.body(), request.headers.get(_HEADER))
    parameters = asked.get("parameters", {})
    wanted = asked.get("outputs")
    _check_shape(asked, parameters, wanted)
    tensors = _inputs(model, asked["inputs"], data)
    sequence = _sequence(model, parameters, tensors)
    outputs = _outputs(model, wanted, bool(parameters.get("binary_data_output", False)))
    terms = service.terms(request, parameters.get("priority"), parameters.get("timeout"))
    with model:
        results = await model.infer(tensors, terms, sequence)
    entries, parts = [], []
    for one, binary in outputs.items():
        entry, part = to_entry(one, results[one], binary)
        entries.append(entry)
        parts.append(part)
    answer = {"model_name": model.name, "model_version": model.version, "outputs": entries}
    if "id" in asked:
        answer["id"] = asked["id"]
    head = orjson.dumps(answer, option=orjson.OPT_SERIALIZE_NUMPY)
    body = b"".join(parts)
    if not any(outputs.values()):
        return Response(head, headers={"content-type": "application/json"})
    headers = {"content-type": "application/octet-stream", _LENGTH: str(len(head))}
    return Response(head + body, headers=headers)


def _model(request: Request, name: str, version: str) -> Served:
    service: Service = request.app.state.service
    return service.model(name, version)


def _split(body: bytes, length: str | None) -> tuple[dict[str, Any], memoryview]:
    """The JSON in front, and the bytes of tensors behind it."""
    size = len(body)
    if length is not None:
        if not length.isascii() or not length.isdigit() or int(length[:20]) > len(body):
            raise Problem(400, f"it must be a number up to {len(body)}", param=_LENGTH)
        size = int(length)
    if size > _MOST_JSON:
        text = f"its JSON has more than {_MOST_JSON} bytes: send tensors as bytes"
        raise Problem(413, text)
    asked = parsed(body[:size])
    if not isinstance(asked, dict):
        raise Problem(400, "the body must be an object")
    return asked, memoryview(body)[size:]


def _check_shape(asked: dict[str, Any], parameters: Any, wanted: Any) -> None:
    if not isinstance(asked.get("inputs"), list):
        raise Problem(400, "it must be a list of tensors", param="inputs")
    if not isinstance(parameters, dict):
        raise Problem(400, "it must be an object", param="parameters")
    if wanted is not None and not isinstance(wanted, list):
        raise Problem(400, "it must be a list", param="outputs")


def _inputs(model: Served, entries: list[Any], data: memoryview) -> dict[str, Any]:
    known = {one.name: one for one in model.inputs}
    tensors: dict[str, Any] = {}
    for i, entry in enumerate(entries):
        name = entry.get("name") if isinstance(entry, dict) else None
        if not isinstance(name, str) or name not in known:
            raise Problem(400, f"the model takes {', '.join(known)}", param=f"inputs[{i}].name")
        if name in tensors:
            raise Problem(400, f"{name} is there twice", param=f"inputs[{i}].name")
        port = known[name]
        if entry.get("datatype") != port.datatype:
            raise Problem(400, f"it must be {port.datatype}", param=f"{name}.datatype")
        tensors[name], data = from_entry(entry, data)
        shape = tensors[name].shape
        fits = len(shape) == len(port.shape) and all(
            mine in (-1, one) for mine, one in zip(port.shape, shape, strict=True)
        )
        if not fits or 0 in shape:
            text = f"it must be {list(port.shape)}, each at least 1; it is {list(shape)}"
            raise Problem(400, text, param=f"{name}.shape")
    missing = [one for one in known if one not in tensors]
    if missing:
        raise Problem(400, f"{missing[0]} is missing", param="inputs")
    if len(data) > 0:
        raise Problem(400, f"{len(data)} bytes are left behind the tensors")
    rows = {len(one) for one in tensors.values()}
    if max(rows) > MOST_INPUTS:
        raise Problem(413, f"it has {max(rows)} rows; {MOST_INPUTS} are the most", param="inputs")
    if len(rows) != 1:
        raise Problem(400, "the first extents must be equal: the items of a batch", param="inputs")
    return tensors


def _sequence(
    model: Served, parameters: dict[str, Any], tensors: dict[str, Any]
) -> Sequenced | None:
    """What the parameters say of the sequence that a request belongs to; 0 is none."""
    id = parameters.get("sequence_id") or None
    flags = {}
    for one in ("start", "end"):
        name = f"sequence_{one}"
        flags[one] = parameters.get(name, False)
        if type(flags[one]) is not bool:
            raise Problem(400, "it must be true or false", param=f"parameters.{name}")
        if flags[one] and id is None:
            raise Problem(400, "it is missing", param="parameters.sequence_id")
    if id is not None and not model.stateful:
        raise Problem(400, "the model has no sequences", param="parameters.sequence_id")
    if not model.stateful:
        return None
    if not (type(id) is int and 0 < id < 1 << 64) and not (type(id) is str and len(id) <= 256):
        text = "it must be a number from 1 to 2^64 - 1, or a text of 256 letters at most"
        raise Problem(400, text, param="parameters.sequence_id")
    if any(len(one) != 1 for one in tensors.values()):
        raise Problem(400, "a request of a sequence has one row", param="inputs")
    return Sequenced(id, **flags)


def _outputs(model: Served, wanted: list[Any] | None, binary: bool) -> dict[str, bool]:
    """The outputs that are asked for, and whether each comes as bytes."""
    known = [one.name for one in model.outputs]
    if not wanted:
        return dict.fromkeys(known, binary)
    found = {}
    for i, one in enumerate(wanted):
        if not isinstance(one, dict) or one.get("name") not in known:
            raise Problem(400, f"the model gives {', '.join(known)}", param=f"outputs[{i}].name")
        parameters = one.get("parameters", {})
        if not isinstance(parameters, dict):
            raise Problem(400, "it must be an object", param=f"outputs[{i}].parameters")
        if "classification" in parameters:
            raise Problem(400, "it is not served", param=f"outputs[{i}].parameters.classification")
        found[one["name"]] = bool(parameters.get("binary_data", binary))
    return found
