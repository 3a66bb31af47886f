#!/usr/bin/env python3
"""The layout of the tree: where files lie, how they are named, what they include.

Every library of operations has the same files; this says which one a library lacks.
"""

import collections
import fnmatch
import pathlib
import re
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent

CODE = {".hpp", ".cpp", ".cu", ".cuh", ".py", ".sh", ".cmake"}
TOP = {
    ".ci", ".clang-format", ".clang-tidy", ".github", ".gitignore", "CHANGELOG.md",
    "CMakeLists.txt", "CMakePresets.json", "CONTRIBUTING.md", "LICENSE", "README.md", "bench",
    "cmake", "dev", "docs", "examples", "include", "pyproject.toml", "python", "src", "tests", "tools",
}
VAGUE = {"utils", "util", "common", "helpers", "helper", "types", "misc", "stuff"}
ABBREVIATIONS = {"buf", "ctx", "mgr", "mem", "ptr", "cfg", "impl", "svc", "alloc"}
# Python gives a few names of its own, like __init__.
NAME = re.compile(r"^(__)?[a-z0-9]+(_[a-z0-9]+)*(__)?$")

# How many files a folder holds without folders of its own.
MOST_FILES = 25
UNCOUNTED = {"docs/adr"}

HEADINGS = ["What it wraps", "Requests", "Errors", "Order", "Memory", "Limits", "Versions"]

# The rooms of the house, the lowest first. An include points to the same layer or to a lower one.
LAYERS = [
    r"(include/troupe|src)/base/",
    r"src/os/",
    r"(include/troupe|src)/core/",
    r"(include/troupe|src)/tensor/",
    r"src/memory/",
    r"(include/troupe|src)/request/",
    r"src/wire/",
    r"src/(libraries|builtin)/(?P<library>\w+)/requests/",
    r"include/troupe/plugin/",
    r"src/worker/",
    r"(include/troupe|src)/(device|telemetry)/",
    r"src/jit/",
    r"src/backend/",
    r"src/(libraries|builtin)/(?P<library>\w+)/",
    r"(include/troupe|src)/(journal|parallel|pipeline|serving)/",
    r"(include/troupe|src)/(exposition|info|testing)/|include/troupe/\w+\.hpp|src/libraries/",
]
# The floors of src/device (ADR 81): each folder, and those that it may include beside itself.
# "endpoint" is endpoint.hpp; "device" are the other files of the folder itself.
FLOORS = {
    "mailbox": set(),
    "selection": set(),
    "journal": {"mailbox"},
    "completion": {"mailbox", "journal"},
    "supervision": {"completion", "mailbox", "selection"},
    "endpoint": set(),
    "copy": {"endpoint"},
    "mapping": {"endpoint"},
    "graph": {"endpoint", "mailbox"},
    "local": {"supervision", "completion", "journal", "mailbox", "selection", "copy", "endpoint"},
    "world": {"local", "supervision", "completion", "journal", "mailbox", "selection", "copy", "endpoint"},
    "device": {"copy", "endpoint", "selection"},
}
# Headers of requests, include/troupe/<library>/, belong to the layer of what describes them.
REQUESTS = next(i for i, layer in enumerate(LAYERS) if layer.endswith("/requests/"))
# Libraries that another one stands on; `memory` is everybody's.
STANDS_ON = {("blaslt", "blas"), ("dnn", "blas"), ("dnn", "blaslt"), ("dnn", "elementwise"), ("dnn", "rng"),
             ("elementwise", "jit"), ("fft", "elementwise"), ("solver", "blas"), ("sparse", "blas"),
             ("sparse", "blaslt"), ("tensors", "blas"), ("tensors", "elementwise")}


def files():
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return [pathlib.PurePosixPath(name) for name in listed if (ROOT / name).is_file()]


def check_names(paths):
    for path in paths:
        if path.parts[0] not in TOP:
            yield f"{path}: nothing else belongs at the top ({path.parts[0]})"
        if path.suffix not in CODE or path.name == "CMakeLists.txt":
            continue
        if path.suffix == ".cmake" and path.parts[0] == "cmake":
            continue
        if not NAME.match(path.stem):
            yield f"{path}: file names are snake_case"
        words = set(path.stem.split("_"))
        if path.stem in VAGUE or words & (VAGUE - {"types", "common"}):
            yield f"{path}: name the file for what it does"
        if words & ABBREVIATIONS:
            yield f"{path}: no abbreviations ({', '.join(sorted(words & ABBREVIATIONS))})"


def check_headers(paths):
    for path in paths:
        if path.suffix not in {".hpp", ".cuh"}:
            continue
        text = (ROOT / path).read_text(encoding="utf-8")
        if not text.startswith("#pragma once\n"):
            yield f"{path}: starts with `#pragma once`"
        if path.parts[0] == "include" and "using namespace" in text:
            yield f"{path}: a public header opens no namespace"


def check_sources_listed(paths):
    """A source that its CMakeLists.txt neither names nor looks for is never built."""
    listings = {p.parent: (ROOT / p).read_text(encoding="utf-8")
                for p in paths if p.name == "CMakeLists.txt"}
    for path in paths:
        if path.suffix not in {".cpp", ".cu"}:
            continue
        for folder in path.parents:
            if folder in listings:
                if not re.search(rf"(?<![\w/]){re.escape(str(path.relative_to(folder)))}(?!\w)"
                                 r"|GLOB|troupe_library", listings[folder]):
                    yield f"{path}: not listed in {folder / 'CMakeLists.txt'}"
                break


def check_folders(paths):
    for folder, count in collections.Counter(str(p.parent) for p in paths).items():
        if count > MOST_FILES and folder not in UNCOUNTED:
            yield f"{folder}/: {count} files; {MOST_FILES} are the most"


def room(path):
    """(layer, library) of a file of the library; the library is None but for those of a library."""
    for number, layer in enumerate(LAYERS):
        if match := re.match(layer, str(path)):
            return number, match.groupdict().get("library")
    if match := re.match(r"include/troupe/(\w+)/", str(path)):
        return REQUESTS, match[1]
    return None


def included(path, present):
    """The files of the library that a file includes."""
    text = (ROOT / path).read_text(encoding="utf-8")
    for name in re.findall(r'#include [<"]([^>"]+)[>"]', text):
        for there in (f"include/{name}", f"src/{name}"):
            if there in present:
                yield there


def check_includes(paths):
    """Arrows point down, and no header that users include brings what only plugins need."""
    code = {str(p) for p in paths
            if p.suffix in {".hpp", ".cuh", ".cpp", ".cu"} and p.parts[0] in {"include", "src"}}
    arrows = {path: set(included(path, code)) for path in sorted(code)}
    for path, targets in arrows.items():
        if room(path) is None:
            yield f"{path}: lies in no room of the house"
            continue
        layer, library = room(path)
        for target in sorted(targets):
            below, other = room(target)
            if below > layer:
                yield f"{path}: includes {target}, which is above it"
            elif (other and library and other not in (library, "memory")
                  and (library, other) not in STANDS_ON):
                yield f"{path}: includes {target}, of another library"
    for path in arrows:
        if not path.startswith("include/") or re.match(r"include/troupe/(plugin/|plugin\.hpp|testing/)", path):
            continue
        reached, ahead = set(), [path]
        while ahead:
            for target in arrows[ahead.pop()] - reached:
                reached.add(target)
                ahead.append(target)
        for target in sorted(reached):
            if target.startswith("include/troupe/plugin/"):
                yield f"{path}: includes, in the end, {target}, which is for plugins"


def floor_of(path):
    """The floor of a file of the device; None for others."""
    parts = pathlib.PurePosixPath(path).parts
    if parts[:2] != ("src", "device"):
        return None
    if len(parts) > 3:
        return parts[2]
    return "endpoint" if parts[2] == "endpoint.hpp" else "device"


def check_floors(paths):
    """No folder of the device includes one above it."""
    code = {str(p) for p in paths if p.suffix in {".hpp", ".cpp"} and p.parts[0] in {"include", "src"}}
    for path in sorted(p for p in code if floor_of(p)):
        floor = floor_of(path)
        if floor not in FLOORS:
            yield f"{path}: {floor} is no floor of the device"
            continue
        for target in sorted(set(included(path, code))):
            below = floor_of(target)
            if below and below != floor and below not in FLOORS[floor]:
                yield f"{path}: includes {target}, which is no floor below it"


def libraries(paths):
    """{library: {family}}: the headers include/troupe/<library>/<family>.hpp with requests."""
    found = {}
    for path in paths:
        if path.parts[:2] != ("include", "troupe") or len(path.parts) != 4:
            continue
        library = path.parts[2]
        if re.search(rf'string_view name = "{library}\.', (ROOT / path).read_text("utf-8")):
            found.setdefault(library, set()).add(path.stem)
    return found


def check_libraries(paths):
    present = {str(p) for p in paths}
    known = libraries(paths)
    for library, families in sorted(known.items()):
        built_in = f"src/builtin/{library}/CMakeLists.txt" in present
        folder = f"src/{'builtin' if built_in else 'libraries'}/{library}"
        wanted = [[f"{folder}/CMakeLists.txt"]]
        for family in sorted(families):
            wanted += [[f"{folder}/requests/{family}.cpp"]]
            if not built_in:
                wanted += [[f"{folder}/cpu/{family}.cpp"],
                           [f"{folder}/cuda/{family}.cpp", f"{folder}/cuda/{family}.cu"],
                           [f"tests/conformance/{library}/{family}_test.cpp"]]
        if not built_in:
            wanted += [[f"docs/libraries/{library}.md"]]
        for names in wanted:
            if not present & set(names):
                yield f"library {library} lacks {names[0]}"
        yield from check_page(library, present)
        yield from check_umbrella(library, present)
    for path in paths:
        if path.parts[:2] == ("tests", "conformance") and path.name.endswith("_test.cpp"):
            library, family = path.parts[2], path.stem.removesuffix("_test")
            if family not in known.get(library, set()):
                yield f"{path}: there is no include/troupe/{library}/{family}.hpp with requests"


def check_umbrella(library, present):
    umbrella = f"include/troupe/{library}.hpp"
    if umbrella not in present:
        yield f"library {library} lacks {umbrella}"
        return
    for header in sorted(p for p in present if p.startswith(f"include/troupe/{library}/")):
        if f"#include <{header.removeprefix('include/')}>" not in (ROOT / umbrella).read_text("utf-8"):
            yield f"{umbrella}: does not include {header}"


def check_page(library, present):
    page = f"docs/libraries/{library}.md"
    if page not in present:
        return
    text = (ROOT / page).read_text(encoding="utf-8")
    headings = re.findall(r"^## (.+?)\s*$", text, re.MULTILINE)
    if headings != HEADINGS:
        yield f"{page}: its headings are {headings}; every library's are {HEADINGS}"


def check_limits(paths):
    """Each row of what a vendor's library is given names tests that there are."""
    for path in paths:
        if path.name != "limits.hpp" or path.parts[:2] != ("src", "libraries"):
            continue
        cases = "".join((ROOT / p).read_text(encoding="utf-8") for p in paths
                        if p.parts[:3] == ("tests", "conformance", path.parts[2]) and p.suffix == ".cpp")
        tests = [f"{suite}.{name}" for suite, name in re.findall(r"\nTEST(?:_P|_F)?\((\w+),\s*(\w+)\)", cases)]
        text = (ROOT / path).read_text(encoding="utf-8")
        rows = re.findall(r'\.name = "(\w+)\.\w+".*?\.test = "(?:\w+=\w+ )?([^"]+)"', text, re.DOTALL)
        if len(rows) != text.count("vendor_limit "):
            yield f"{path}: {text.count('vendor_limit ')} rows, {len(rows)} with a name and a test"
        for library, filters in rows:
            if library != path.parts[2]:
                yield f"{path}: a row is called {library}.…; the library is {path.parts[2]}"
            for wanted in filters.split(":"):
                if not fnmatch.filter(tests, wanted.split("/")[0]):
                    yield f"{path}: no test of {path.parts[2]} is called {wanted}"


def check_mutations(paths):
    listed = tomllib.loads((ROOT / "tests/mutations.toml").read_text(encoding="utf-8"))["bug"]
    for bug in listed:
        if pathlib.PurePosixPath(bug["file"]) not in paths:
            yield f"tests/mutations.toml: there is no {bug['file']}"
        elif (ROOT / bug["file"]).read_text(encoding="utf-8").count(bug["find"]) != 1:
            yield f"tests/mutations.toml: {bug['file']} does not have once: {bug['find']}"


def main():
    paths = files()
    found = []
    for rule in (check_names, check_headers, check_folders, check_sources_listed,
                 check_includes, check_floors, check_libraries, check_limits, check_mutations):
        found += rule(paths)
    for line in found:
        print(line)
    print(f"layout: {len(paths)} files, {len(libraries(paths))} libraries, {len(found)} bad")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
