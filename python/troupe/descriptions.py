"""Signatures, documentation and stubs of requests, made from their descriptions."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Iterator
from typing import Any

from ._core import Operation, _aliases, _description, _page, _python_name, libraries, requests

Description = dict[str, Any]

_TYPES = {
    "scalar": "complex",
    "integer": "int",
    "unsigned integer": "int",
    "real": "float",
    "bool": "bool",
    "text": "str",
    "integers": "Sequence[int]",
    "function": "Function | _Traceable | None",
    "scalars": "Sequence[complex]",
    "tensors": "Sequence[TensorLike]",
}
_OPTIONS = [
    (
        "deadline",
        "float | None",
        None,
        "seconds after which the request fails unless it is answered",
    ),
    ("run_limit", "float | None", None, "seconds that it may run before it counts as hung"),
    ("quarantine", "bool", True, "False: never refused for earlier faults"),
    (
        "tag",
        "int",
        0,
        "a number of the caller's: tracers see it, and device time is added up by it",
    ),
]


@functools.cache
def described(name: str) -> Description:
    """The description of a request, such as "blas.gemm"."""
    found: Description = json.loads(_description(name))
    found["fields"] = list(_with_functions(found["fields"]))
    return found


def _with_functions(fields: list[Description]) -> Iterator[Description]:
    """The fields, where a program and its constants are one: a function."""
    names = {field["name"] for field in fields}
    for field in fields:
        group, _, part = field["name"].rpartition(".")
        if not names >= {f"{group}.program", f"{group}.constants"}:
            yield field
        elif part == "program":
            text = "a troupe.elementwise.Function, or a Python function, which is traced"
            yield {"name": group, "kind": "function", "default": None, "text": text}


def description_of(operation: Operation) -> Description:
    return described(operation.name)


def is_result(field: Description) -> bool:
    """True for a tensor that is only written: left out, it is allocated."""
    writes = field.get("role_otherwise", field.get("role")) == "writes"
    is_made = field["kind"] == "tensor" or field.get("per_rank", False)
    return is_made and writes and not field.get("optional", False)


def _default(field: Description) -> Any:
    if field["kind"] in ("tensor", "tensors"):
        needed = not (field.get("optional") or "given_where" in field or is_result(field))
        return inspect.Parameter.empty if needed else None
    return field["default"]


def _annotation(field: Description) -> str:
    if field["kind"] == "tensor":
        return "TensorLike" if _default(field) is inspect.Parameter.empty else "TensorLike | None"
    if field["kind"] == "enumeration":
        names = [*field["enumerators"], *_short_names(field)]
        return "Literal[" + ", ".join(repr(one) for one in names) + "]"
    if field["kind"] == "tensors" and field.get("per_rank"):
        needed = _default(field) is inspect.Parameter.empty
        return "Sequence[TensorLike | None]" + ("" if needed else " | None")
    return _TYPES.get(field["kind"], "Any")


def _options(name: str) -> list[tuple[str, str, Any, str]]:
    """The options of a request; one for a world has none."""
    return [] if described(name)["for_world"] else _OPTIONS


def _short_names(field: Description) -> list[str]:
    """NumPy's short names of some enumerators, which are taken beside them."""
    return [short for short, name in _aliases.items() if name in field["enumerators"]]


def _operands(fields: list[Description]) -> list[Description]:
    """What may be given without names: the operands that a request needs, then its results.

    Others are optional: a new one would shift those behind it.
    """
    operands = [f for f in fields if f["kind"] in ("tensor", "tensors")]
    needed = [f for f in operands if _default(f) is inspect.Parameter.empty]
    return needed + [f for f in operands if is_result(f)]


@functools.cache
def positional(name: str) -> tuple[str, ...]:
    """The arguments of a request that may be given without their names, in order."""
    return tuple(_python_name(f["name"]) for f in _operands(described(name)["fields"]))


@functools.cache
def _signature(name: str) -> inspect.Signature:
    fields = described(name)["fields"]
    operands = _operands(fields)
    rest = [f for f in fields if f not in operands]
    parameters = [
        inspect.Parameter(
            _python_name(field["name"]),
            kind,
            default=_default(field),
            annotation=_annotation(field),
        )
        for kind, some in (
            (inspect.Parameter.POSITIONAL_OR_KEYWORD, operands),
            (inspect.Parameter.KEYWORD_ONLY, rest),
        )
        for field in sorted(some, key=lambda f: _default(f) is not inspect.Parameter.empty)
    ]
    parameters += [
        inspect.Parameter(option, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
        for option, kind, default, _ in _options(name)
    ]
    return inspect.Signature(parameters, return_annotation="Future")


def signature_of(operation: Operation) -> inspect.Signature:
    return _signature(operation.name)


def documentation_of(operation: Operation) -> str:
    return documentation(operation.name)


@functools.cache
def documentation(name: str) -> str:
    """The docstring of a request: what it does, its arguments, what it answers."""
    d = described(name)
    lines = [d["summary"] + (f" Source: {d['source']}." if d["source"] else ""), "", "Arguments:"]
    for field in d["fields"]:
        lines.append(f"    {_python_name(field['name'])}: {_about(field)}")
    for types in d["types"]:
        names = ", ".join(_python_name(one) for one in types["fields"])
        rows = "; ".join(" ".join(row) for row in types["rows"])
        unless = " unless " + " or ".join(types["unless"]) if types["unless"] else ""
        lines += ["", f"Types of {names}: {rows}{unless}."]
    if d["rules"]:
        lines += ["", "Rules: " + "; ".join(d["rules"]) + "."]
    lines += [
        "",
        "Options of every request: " + "; ".join(f"{o} ({t})" for o, _, _, t in _OPTIONS) + ".",
    ]
    lines += ["", "Returns a Future of " + _answer(d) + "."]
    return "\n".join(lines)


def _about(field: Description) -> str:
    text = field["text"]
    if field["kind"] in ("tensor", "tensors"):
        parts = [field["role"]]
        if "role_where" in field:
            parts = [
                f"{field['role']} where {' or '.join(field['role_where'])}, else {field['role_otherwise']}"
            ]
        if "shape" in field:
            parts.append("[" + ", ".join(field["shape"]) + "]")
        parts += [
            f"[{', '.join(o['shape'])}] where {o['where']}" for o in field.get("other_shapes", [])
        ]
        if is_result(field):
            parts.append("allocated if left out")
        elif field.get("optional"):
            parts.append("optional")
        if field.get("in_host_memory"):
            parts.append("in host memory")
        return f"{text} ({'; '.join(parts)})"
    parts = []
    if field["kind"] == "enumeration":
        names = [*field["enumerators"], *_short_names(field)]
        parts.append("one of " + ", ".join(repr(one) for one in names))
    if "range" in field:
        parts.append(str(field["range"]))
    parts.append(f"default {field['default']!r}")
    parts += [f"only where {one}" for one in field.get("only_where", [])]
    return f"{text} ({'; '.join(parts)})"


def _answer(d: Description) -> str:
    if d["reply_fields"]:
        return "an object with " + ", ".join(
            f"{f['name']} ({f['text']})" for f in d["reply_fields"]
        )
    names = {"scalar": "a number", "integer": "an integer", "real": "a number"}
    reply: str = d["reply"]
    if reply != "nothing":
        return names.get(reply, reply)
    written = [
        _python_name(f["name"])
        for f in d["fields"]
        if f["kind"] == "tensor" and f["role"] != "reads"
    ]
    if not written:
        return "None"
    return written[0] if len(written) == 1 else "the written tensors: " + ", ".join(written)


def _shown_arguments(name: str, without: set[str]) -> str:
    shown: list[str] = []
    for one in _signature(name).parameters.values():
        if one.name in without:
            continue
        if one.kind is inspect.Parameter.KEYWORD_ONLY and "*" not in shown:
            shown.append("*")
        given = "" if one.default is inspect.Parameter.empty else f"={one.default!r}"
        shown.append(one.name + given)
    return ", ".join(shown)


def shown(operation: Operation) -> str:
    return f"<request {operation.name}({_shown_arguments(operation.name, set())})>"


# Files that are made from this ----------------------------------------------------------------------


def stubs() -> str:
    """The stub file of the libraries: a class for each, a method for each request."""
    lines = [
        "# Made by `./dev python --write` from the requests' descriptions.",
        "from collections.abc import Sequence",
        "from typing import Any, Literal",
        "",
        "from ._core import Function, Future, Library, TensorLike, Tensor, _Traceable",
    ]
    for library in libraries():
        lines += ["", f"class {library.capitalize()}(Library):"]
        for name in requests(library):
            lines += _method(name)
    lines += ["", "class Libraries:"]
    for library in libraries():
        if any(described(name)["for_world"] for name in requests(library)):
            continue  # a world has it, no device
        lines += ["    @property", f"    def {library}(self) -> {library.capitalize()}: ..."]
    # A plugin's.
    lines += ["    def __getattr__(self, name: str) -> Library: ..."]
    return "\n".join(lines) + "\n"


def _method(name: str) -> list[str]:
    lines = [f"    def {name.split('.')[1]}(", "        self,"]
    in_order = True
    for parameter in _signature(name).parameters.values():
        if in_order and parameter.kind is inspect.Parameter.KEYWORD_ONLY:
            lines.append("        *,")
            in_order = False
        default = "" if parameter.default is inspect.Parameter.empty else " = ..."
        lines.append(f"        {parameter.name}: {parameter.annotation}{default},")
    text = described(name)["summary"].replace("\\", "\\\\").replace('"""', "'''")
    return [*lines, f"    ) -> Future[{_answer_type(name)}]:", f'        """{text}"""']


def _answer_type(name: str) -> str:
    d = described(name)
    if d["reply_fields"]:
        return "Any"
    if d["reply"] != "nothing":
        return {"scalar": "Any", "integer": "int", "real": "float"}.get(d["reply"], "bytes")
    if any(f.get("per_rank") for f in d["fields"]):
        return "list[Tensor]"
    written = [f for f in d["fields"] if f["kind"] == "tensor" and f["role"] != "reads"]
    optional = any(f.get("optional") or "given_where" in f for f in written)
    if not written:
        return "None"
    if optional or any(f["kind"] == "tensors" and f["role"] != "reads" for f in d["fields"]):
        return "Any"
    return "Tensor" if len(written) == 1 else "tuple[" + ", ".join(["Tensor"] * len(written)) + "]"


def reference() -> str:
    """The reference page: every request with its signature and its description."""
    lines = [
        "# Requests from Python",
        "",
        "Every request is a method of `device.LIBRARY`, or of `world.collective`, and returns a `Future`, which can be an operand "
        "of the next one. Arguments before the `*` are its operands, which may be given in this order "
        "without their names. `help(device.blas.gemm)` shows the same. Made by "
        "`./dev python --write`.",
    ]
    for library in libraries():
        lines += ["", f"## {library}"]
        for name in requests(library):
            arguments = _shown_arguments(name, {option for option, *_ in _OPTIONS})
            lines += ["", f"### `{name}({arguments})`", "", *_page(name).split("\n")[2:]]
    return "\n".join(lines).rstrip() + "\n"
