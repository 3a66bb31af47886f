"""The reference page of the Python package: signatures from the stubs, texts from the docstrings.

Classes of the extension module have their signatures in `_core.pyi` and their texts in the binding,
so neither alone is the page. A method that is imported on first use has its text where it is written.
"""

import ast
import importlib
import inspect
import pathlib
import re

import troupe
from troupe import errors

PACKAGE = pathlib.Path(troupe.__file__).resolve().parent

# The headings of the page, each with a module and the names of it; without names, all that are public.
SECTIONS = {
    "System": ("_core", ["System"]),
    "Device": ("_core", ["Device"]),
    "Tensor": ("_core", ["Tensor", "MappedTensor"]),
    "Future": ("_core", ["Future"]),
    "Waiting for several": ("waiting", []),
    "Actor": ("actors", ["Actor", "ActorRef", "Supervision"]),
    "Operations of a library": ("_core", ["Library", "Operation"]),
    "Operations of your own": (
        "operations",
        ["operation", "on_worker_start", "Role", "Reads", "Writes", "Updates", "ReadsMany"],
    ),
    "Bound sets of weights": ("methods.binding", ["BoundSet"]),
    "PyTorch": ("torch", []),
    "Functions of elements": ("elementwise.functions", []),
    "Traced functions": ("elementwise.tracing", ["function"]),
    "Parts of a network": ("dnn", []),
    "Sparse matrices": ("sparse", []),
    "Worlds": ("_core", ["World"]),
    "Several devices": ("_core", ["DeviceGroup", "ShardMap", "GradientBuckets", "replicate"]),
    "Actors on several devices": ("parallel", []),
    "Serving": ("serving.batcher", []),
    "Batches and refusals": ("serving.items", ["Batch", "Refused"]),
    "Sequences with state": ("serving.sequences", ["Sequences"]),
    "Replicas of a model": ("serving.replicas", ["Replicas"]),
    "Cascades of models": ("serving.cascade", ["Cascade", "Staged"]),
    "Versions of a model": ("serving.swap", ["Swap", "Shift", "Versioned"]),
    "Canaries": ("serving.canaries", ["canaries", "cosine"]),
    "Mixtures of experts": ("serving.experts", ["Experts", "Mixed"]),
    "Items of different lengths": ("serving.packing", ["pack", "Packed"]),
    "Keys and values of attention": ("_core", ["KvCache", "KvStep"]),
    "Graphs": ("_core", ["Graph", "GraphReplies"]),
    "Pipelines": ("pipelines", ["Pipeline"]),
    "Profile": ("_core", ["Profile"]),
    "Telemetry": ("_core", ["Telemetry"]),
    "OpenTelemetry": ("otlp", []),
    "Models that are served": ("serve.declaration", ["Batch", "model"]),
    "Timer": ("_core", ["Timer"]),
}

# Methods whose text is with the function that is imported on first use.
WRITTEN_IN = {
    "System.spawn": "actors.spawn",
    "Device.load": "loading.load",
    "Device.bind": "methods.binding.bind",
    "Device.unbind": "methods.binding.unbind",
    "Device.map": "elementwise.requests.map",
    "Device.record": "methods.graphs.record",
    "Device.run": "methods.graphs.run",
    "Device.rows": "elementwise.requests.rows",
    "Device.reduce": "elementwise.requests.reduce",
    "Device.einsum": "einsum.einsum",
    "Device.compute": "dnn.compute",
    "Device.kv_cache": "methods.kv_cache.make",
    "KvStep.attend": "methods.kv_cache.attend",
}


# Public names without a docstring.
missing = []


def source_of(module):
    path = PACKAGE / module.replace(".", "/")
    return ast.parse(
        next(
            path.with_suffix(end) for end in (".py", ".pyi") if path.with_suffix(end).is_file()
        ).read_text(encoding="utf-8")
    )


def text_of(module, path, node):
    """The docstring: of the stub or source, or of the running class without the signature."""
    if path in WRITTEN_IN:
        where, _, name = WRITTEN_IN[path].rpartition(".")
        found = getattr(importlib.import_module("troupe." + where), name).__doc__
    elif module == "_core":
        found = troupe
        for part in path.split("."):
            found = getattr(found, part, None)
        found = found.__doc__ if isinstance(found.__doc__, str) else ast.get_docstring(node)
    else:
        found = ast.get_docstring(node)
    text = inspect.cleandoc(found or "")
    text = re.sub(r"\A\w*\(.*?\) -> [^\n]*\n*", "", text)
    if not text:
        missing.append(path)
    return text


def signature_of(node, *, method):
    """As it is written in the source, in one line where it is short."""
    arguments = node.args
    if method and not any(ast.unparse(d) == "staticmethod" for d in node.decorator_list):
        arguments = ast.arguments(**{f: getattr(arguments, f) for f in arguments._fields})
        plain, first = [*arguments.posonlyargs], [*arguments.args]
        (plain or first).pop(0)
        arguments.posonlyargs, arguments.args = plain, first
    told = f"({ast.unparse(arguments).replace('=', ' = ')})"
    if len(told) > 90:
        told = re.sub(r", (?=[\w*/]+(?:: |, |$|\)))", ",\n    ", f"(\n    {told[1:-1]},\n)")
    return told + (f" -> {ast.unparse(node.returns)}" if node.returns else "")


def is_property(node):
    return any(ast.unparse(d).startswith("property") for d in node.decorator_list)


def members(module, name, node):
    """Lines about the public methods and properties of a class."""
    properties, methods, seen = [], [], set()
    for one in node.body:
        if not isinstance(one, ast.FunctionDef) or one.name.startswith("_") or one.name in seen:
            continue
        seen.add(one.name)  # the first of its overloads
        text = text_of(module, f"{name}.{one.name}", one)
        if is_property(one):
            kind = ast.unparse(one.returns) if one.returns else ""
            first = " ".join(text.split("\n\n")[0].split()).replace("|", "\\|")
            properties.append(f"| `{one.name}` | {kind.replace('|', chr(92) + '|')} | {first} |")
        else:
            told = signature_of(one, method=True)
            methods += [
                "",
                f"#### `{name}.{one.name}`",
                "",
                "```python",
                one.name + told,
                "```",
                "",
                text,
            ]
    if properties:
        properties = ["", "| property | type | |", "| --- | --- | --- |", *properties]
    return [*properties, *methods]


def class_lines(module, name, node):
    lines = ["", f"### `{name}`", "", text_of(module, name, node)]
    made = [one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"]
    if made and not name.endswith("Ref") and name != "BoundSet":
        lines += ["", "```python", name + signature_of(made[0], method=True).split(" ->")[0], "```"]
    return lines + members(module, name, node)


def section(module, names):
    tree = source_of(module)
    lines = []
    for node in tree.body:
        if not isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            continue
        if node.name not in names if names else node.name.startswith("_"):
            continue
        if any(ast.unparse(one) == "overload" for one in node.decorator_list):
            continue  # the function itself takes what all of them take
        if isinstance(node, ast.ClassDef):
            lines += class_lines(module, node.name, node)
        else:
            told = signature_of(node, method=False)
            lines += [
                "",
                f"### `{node.name}`",
                "",
                "```python",
                node.name + told,
                "```",
                "",
                text_of(module, node.name, node),
            ]
    return lines


def failures():
    lines = ["", "| class | is a | code | |", "| --- | --- | --- | --- |"]
    for name in errors.__all__:
        one = getattr(errors, name)
        if not (isinstance(one, type) and issubclass(one, BaseException)):
            continue
        bases = ", ".join(f"`{base.__name__}`" for base in one.__bases__)
        first = " ".join((one.__doc__ or "").split())
        code = getattr(one, "code", "") if isinstance(getattr(one, "code", ""), str) else ""
        lines.append(f"| `{name}` | {bases} | {f'`{code}`' if code else ''} | {first} |")
    return lines


def reference():
    lines = [
        "# Python reference",
        "",
        "The package `troupe`, class by class. Every request of every library is on "
        "[a page of its own](requests.md). `help()` shows the same. Made by `./dev python --write` "
        "from stubs and docstrings.",
    ]
    for heading, (module, names) in SECTIONS.items():
        lines += ["", f"## {heading}"]
        if module not in ("_core", "waiting"):
            package, _, last = module.partition(".")
            lines += [
                "",
                f"In `troupe.{package}`."
                if last or package in ("dnn", "otlp", "parallel", "serving", "sparse", "torch")
                else "In `troupe`.",
            ]
        lines += section(module, names)
    lines += [
        "",
        "## Failures",
        "",
        "Each code of [errors](../guide/errors.md) has a class.",
        *failures(),
    ]
    if missing:
        raise SystemExit("without a docstring: " + ", ".join(missing))
    text = "\n".join(line.rstrip() for line in "\n".join(lines).split("\n"))
    return re.sub(r"\n{3,}", "\n\n", text).rstrip() + "\n"
