"""Models of one's own: an operation in a file, which the file declares with @troupe.serve.model."""

from __future__ import annotations

import asyncio
import inspect
import pathlib
from typing import Any, NamedTuple

import numpy as np

import troupe
from troupe import operations
from troupe.serving import Batcher

from .declaration import Declared, declared
from .errors import Problem, problem_of, root_cause
from .sending import sent_to
from .served import MOST_WAIT, Port, Served, Terms
from .tensors import NAMES, TYPES

_DTYPES = {"bool": "?", "f16": "f2", "f32": "f4", "f64": "f8", "u8": "u1", "i8": "i1"}


class Plan(NamedTuple):
    """What a file declares, checked."""

    what: Declared
    file: pathlib.Path
    inputs: list[Port]
    outputs: list[Port]


def read(files: list[pathlib.Path]) -> list[Plan]:
    """Imports files, as their workers do. Raises ValueError for what cannot be served."""
    found: list[Plan] = []
    for file in files:
        operations.load([str(file)])
        mine = [one for one in declared.values() if inspect.getsourcefile(one.kind) == str(file)]
        if not mine:
            raise ValueError(f"{file} declares no model (@troupe.serve.model)")
        found += [_plan(one, file) for one in mine]
    return found


def _plan(what: Declared, file: pathlib.Path) -> Plan:
    operation = operations._registered.get(what.operation)
    if operation is None:
        raise ValueError(f"{what.name}: {file} has no operation {what.operation!r}")
    if operation.spec["replies"]:
        raise ValueError(
            f"{what.name}: {what.operation} returns a value; annotate it with -> None and write to "
            "tensors (troupe.Writes)"
        )
    fields = [one for one in operation.spec["fields"] if one["kind"] == "tensor"]
    for one in operation.spec["fields"]:
        known = one["kind"] == "tensors" and one["name"] == "weights" and what.weights is not None
        given = one["kind"] == "tensor" and one["role"] != "update"
        if not known and not given and one.get("required", True):
            raise ValueError(f"{what.name}: nothing gives {what.operation} its {one['name']}")
    inputs = [_port(what, one) for one in fields if one["role"] == "read"]
    outputs = [_port(what, one) for one in fields if one["role"] == "write"]
    if not inputs or not outputs:
        raise ValueError(f"{what.name}: {what.operation} needs a tensor to read and one to write")
    return Plan(what, file, inputs, outputs)


class OwnModel(Served):
    """An operation, called with batches that are put together along the first dimension."""

    def __init__(self, gpu: troupe.Device, plan: Plan) -> None:
        what = plan.what
        super().__init__(what.name)
        self.gpu, self.what = gpu, what
        self.inputs, self.outputs = plan.inputs, plan.outputs
        self.kind = what.kind()
        self.arguments: dict[str, Any] = {}
        if what.weights is not None:
            gpu.bind(what.name, gpu.load(plan.file.with_name(what.weights)))
            self.arguments["weights"] = what.name
        if what.run_limit is not None:
            self.arguments["run_limit"] = what.run_limit
        library, _, name = what.operation.partition(".")
        self.ask = getattr(getattr(gpu, library), name)

    def start(self, deadline: float | None, shares: dict[str, float]) -> None:
        self.batcher = Batcher(
            self._run,
            name=self.name,
            deadline=deadline,
            queue_time=deadline or MOST_WAIT,
            weights=shares,
            fingerprint=_bytes,
            **self.what.batch._asdict(),
        )

    def described(self) -> str:
        ports = ", ".join(f"{one.name} {one.datatype} {list(one.shape)}" for one in self.inputs)
        return f"{self.what.operation} of {ports}"

    async def _run(self, items: Any) -> list[Any]:
        """One call for all items of the same shapes."""
        groups: dict[Any, list[int]] = {}
        for i, item in enumerate(items):
            groups.setdefault(tuple(one.shape for one in item.values()), []).append(i)
        answers: list[Any] = [None] * len(items)
        for places in groups.values():
            try:
                rows = await self._call([items[i] for i in places])
            except troupe.Failure as why:
                raise root_cause(why) from None
            for i, row in zip(places, rows, strict=True):
                answers[i] = row
        return answers

    async def _call(self, items: list[dict[str, Any]]) -> list[dict[str, Any]]:
        stacked = {
            one.name: sent_to(self.gpu, np.stack([item[one.name] for item in items]))
            for one in self.inputs
        }
        results = await self.ask(**stacked, **self.arguments)
        results = results if isinstance(results, tuple) else (results,)
        arrays = [np.empty(one.shape, _DTYPES.get(one.dtype, one.dtype)) for one in results]
        for one, array in zip(results, arrays, strict=True):
            await self.gpu.copy(one, array)
        names = [one.name for one in self.outputs]
        return [dict(zip(names, rows, strict=True)) for rows in zip(*arrays, strict=True)]

    async def infer(self, tensors: dict[str, Any], terms: Terms) -> dict[str, Any]:
        count = len(next(iter(tensors.values())))
        items = [{name: one[i] for name, one in tensors.items()} for i in range(count)]
        rows = await self.answers(items, [1] * count, terms, "inputs")
        return {one.name: np.stack([row[one.name] for row in rows]) for one in self.outputs}

    async def predict(self, request: dict[str, Any], terms: Terms) -> Any:
        """JSON for JSON, through the class's encode and decode."""
        if not hasattr(self.kind, "encode") or not hasattr(self.kind, "decode"):
            raise Problem(
                404, f"{self.name} has no encode and decode; ask it by /v2", param="model"
            )
        try:
            made = await asyncio.to_thread(self.kind.encode, request)
        except (ValueError, KeyError, TypeError) as why:
            text = f"{why} is missing" if isinstance(why, KeyError) else str(why)
            raise Problem(400, text) from None
        except Exception as why:
            raise problem_of(why) from None
        # One type for all, so that no item changes that of the others in its batch.
        item = {
            one.name: np.ascontiguousarray(made[one.name], TYPES[one.datatype])
            for one in self.inputs
        }
        (row,) = await self.answers([item], [1], terms, "request")
        return self.kind.decode(**row)


def _port(what: Declared, field: dict[str, Any]) -> Port:
    shape = [one if isinstance(one, int) else -1 for one in field["shape"] or []]
    if not shape or shape[0] != -1 or not field["dtypes"] or len(field["dtypes"]) != 1:
        raise ValueError(
            f"{what.name}: {field['name']} of {what.operation} needs a shape whose first extent is a "
            "symbol, the items of a batch, and one dtype"
        )
    name = field["dtypes"][0]
    return Port(field["name"], NAMES[np.dtype(_DTYPES.get(name, name))], tuple(shape))


def _bytes(item: dict[str, Any]) -> bytes:
    return b"".join(one.tobytes() for one in item.values())
