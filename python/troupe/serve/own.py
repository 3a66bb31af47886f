"""Models of one's own: an operation in a file, which the file declares with @troupe.serve.model."""

from __future__ import annotations

import asyncio
import inspect
import pathlib
from typing import Any, NamedTuple

import numpy as np

import troupe
from troupe import operations
from troupe.serving import Batcher, Sequences

from ..serving.sending import sent_to
from .declaration import Declared, declared
from .errors import Problem, problem_of, root_cause
from .served import MOST_WAIT, Port, Sequenced, Served, Terms
from .tensors import NAMES, TYPES

_DTYPES = {"bool": "?", "f16": "f2", "f32": "f4", "f64": "f8", "u8": "u1", "i8": "i1"}


class Plan(NamedTuple):
    """What a file declares, checked."""

    what: Declared
    file: pathlib.Path
    inputs: list[Port]
    outputs: list[Port]
    states: dict[str, Port]
    """By the tensor that the next state is written to: what the operation reads it from."""
    written: list[str]
    """All tensors that the operation writes, in their order."""


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
    written = [one.name for one in outputs]
    states = _states(what, inputs, outputs)
    inputs = [one for one in inputs if one not in states.values()]
    outputs = [one for one in outputs if one.name not in states]
    if not inputs or not outputs:
        raise ValueError(f"{what.name}: {what.operation} needs a tensor to read and one to write")
    return Plan(what, file, inputs, outputs, states, written)


def _states(what: Declared, inputs: list[Port], outputs: list[Port]) -> dict[str, Port]:
    if what.sequences is None:
        return {}
    reads, writes = ({one.name: one for one in ports} for ports in (inputs, outputs))
    for before, after in what.sequences.states.items():
        if before not in reads or after not in writes:
            text = f"{what.operation} reads no tensor {before!r} or writes no tensor {after!r}"
            raise ValueError(f"{what.name}: {text}")
        if reads[before][1:] != writes[after][1:] or -1 in reads[before].shape[1:]:
            text = f"{before} and {after} of {what.operation} need one dtype and one known shape"
            raise ValueError(f"{what.name}: {text}")
    return {after: reads[before] for before, after in what.sequences.states.items()}


class OwnModel(Served):
    """An operation, called with batches that are put together along the first dimension."""

    def __init__(self, gpu: troupe.Device, plan: Plan) -> None:
        what = plan.what
        super().__init__(what.name)
        self.gpu, self.what = gpu, what
        self.inputs, self.outputs, self.plan = plan.inputs, plan.outputs, plan
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
        self.batcher = Batcher(self._run, **self._options(deadline, shares))

    def _options(self, deadline: float | None, shares: dict[str, float]) -> dict[str, Any]:
        return {
            "name": self.name,
            "deadline": deadline,
            "queue_time": deadline or MOST_WAIT,
            "weights": shares,
            "fingerprint": _bytes,
            **self.what.batch._asdict(),
        }

    def described(self) -> str:
        ports = ", ".join(f"{one.name} {one.datatype} {list(one.shape)}" for one in self.inputs)
        return f"{self.what.operation} of {ports}"

    async def _run(self, items: Any) -> list[Any]:
        """One call for all items of the same shapes."""
        answers: list[Any] = [None] * len(items)
        for places in _alike(items):
            rows, _ = await self._call([items[i] for i in places], {})
            for i, row in zip(places, rows, strict=True):
                answers[i] = row
        return answers

    async def _call(
        self, items: list[dict[str, Any]], states: dict[str, troupe.Tensor]
    ) -> tuple[list[dict[str, Any]], dict[str, troupe.Tensor]]:
        """The items' results on the host, and the next states on the device."""
        stacked = {
            one.name: sent_to(self.gpu, np.stack([item[one.name] for item in items]))
            for one in self.inputs
        }
        try:
            results = await self.ask(**stacked, **states, **self.arguments)
            results = results if isinstance(results, tuple) else (results,)
            written = dict(zip(self.plan.written, results, strict=True))
            arrays = []
            for port in self.outputs:
                one = written[port.name]
                arrays.append(np.empty(one.shape, _DTYPES.get(one.dtype, one.dtype)))
                await self.gpu.copy(one, arrays[-1])
        except troupe.Failure as why:
            raise root_cause(why) from None
        names = [one.name for one in self.outputs]
        rows = [dict(zip(names, row, strict=True)) for row in zip(*arrays, strict=True)]
        return rows, {name: written[name] for name in self.plan.states}

    async def infer(
        self, tensors: dict[str, Any], terms: Terms, sequence: Sequenced | None = None
    ) -> dict[str, Any]:
        count = len(next(iter(tensors.values())))
        items = [{name: one[i] for name, one in tensors.items()} for i in range(count)]
        rows = await self.answers(items, [1] * count, terms, "inputs")
        return {one.name: np.stack([row[one.name] for row in rows]) for one in self.outputs}

    async def predict(self, request: dict[str, Any], terms: Terms) -> Any:
        """JSON for JSON, through the class's encode and decode."""
        coded = hasattr(self.kind, "encode") and hasattr(self.kind, "decode")
        if self.stateful or not coded:
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


class StatefulModel(OwnModel):
    """An operation with a state, which stays on the device between the items of a sequence."""

    stateful = True

    def start(self, deadline: float | None, shares: dict[str, float]) -> None:
        assert self.what.sequences is not None
        self.sequences = Sequences(
            self._step,
            initial=self._zeros,
            most=self.what.sequences.most,
            idle=self.what.sequences.idle,
            **self._options(deadline, shares),
        )
        (self.batcher,) = self.sequences.batchers

    def _zeros(self) -> dict[str, troupe.Tensor]:
        # A state has the name of what it was written to.
        return {
            after: self.gpu.zeros((1, *port.shape[1:]), TYPES[port.datatype].name)
            for after, port in self.plan.states.items()
        }

    async def _step(self, items: Any, states: list[Any]) -> tuple[list[Any], list[Any]]:
        answers: list[Any] = [None] * len(items)
        after: list[Any] = [None] * len(items)
        for places in _alike(items):
            before = {
                port.name: self.gpu.concatenate([states[i][name] for i in places])
                for name, port in self.plan.states.items()
            }
            rows, following = await self._call([items[i] for i in places], before)
            for row, i in enumerate(places):
                answers[i] = rows[row]
                after[i] = {name: one[row : row + 1] for name, one in following.items()}
        return answers, after

    async def infer(
        self, tensors: dict[str, Any], terms: Terms, sequence: Sequenced | None = None
    ) -> dict[str, Any]:
        assert sequence is not None
        item = {name: one[0] for name, one in tensors.items()}
        try:
            row = await self.sequences(
                item,
                sequence=sequence.id,
                start=sequence.start,
                end=sequence.end,
                bytes=sum(one.nbytes for one in item.values()),
                **terms._asdict(),
            )
        except Exception as why:
            raise problem_of(why, "inputs") from None
        return {one.name: row[one.name][None] for one in self.outputs}


def made(gpu: troupe.Device, plan: Plan) -> OwnModel:
    """The model of a plan, on a device."""
    return (StatefulModel if plan.states else OwnModel)(gpu, plan)


def _alike(items: list[dict[str, Any]]) -> list[list[int]]:
    """Places of items with the same shapes."""
    groups: dict[Any, list[int]] = {}
    for i, item in enumerate(items):
        groups.setdefault(tuple(one.shape for one in item.values()), []).append(i)
    return list(groups.values())


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
