#!/usr/bin/env python3
"""The layout of the tree: where files lie, how they are named, how long they are.

Every library of operations has the same files on every floor; this says which one a library lacks.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

CODE = {".hpp", ".cpp", ".cu", ".cuh", ".py", ".sh", ".cmake"}
LONGEST = 600
SPLIT_AT = {".hpp": 250, ".cpp": 400, ".cu": 400, ".cuh": 250}
TOP = {
    ".ci", ".clang-format", ".clang-tidy", ".github", ".gitignore", "CHANGELOG.md",
    "CMakeLists.txt", "CMakePresets.json", "CONTRIBUTING.md", "LICENSE", "README.md", "bench",
    "cmake", "dev", "docs", "examples", "include", "src", "tests", "tools",
}
VAGUE = {"utils", "util", "common", "helpers", "helper", "types", "misc", "stuff"}
ABBREVIATIONS = {"buf", "ctx", "mgr", "mem", "ptr", "cfg", "impl", "svc", "alloc"}
NAME = re.compile(r"^[a-z0-9]+(_[a-z0-9]+)*$")

# Requests that the worker answers itself: no backend implements them, and they have no page.
BUILT_IN = {"fault", "lane"}
HEADINGS = ["What it wraps", "Requests", "Errors", "Order", "Memory", "Limits", "Versions"]


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


def check_lengths(paths):
    for path in paths:
        if path.suffix not in CODE:
            continue
        lines = (ROOT / path).read_text(encoding="utf-8").count("\n")
        if lines > LONGEST:
            yield f"{path}: {lines} lines; {LONGEST} is the most"
        elif lines > SPLIT_AT.get(path.suffix, LONGEST):
            print(f"note: {path}: {lines} lines; split at {SPLIT_AT[path.suffix]}")


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
    """Sources are listed by hand: one that no CMakeLists.txt names is never built."""
    listings = {p.parent: (ROOT / p).read_text(encoding="utf-8")
                for p in paths if p.name == "CMakeLists.txt"}
    for path in paths:
        if path.suffix not in {".cpp", ".cu"}:
            continue
        for folder in path.parents:
            if folder in listings:
                if not re.search(rf"(?<![\w/]){re.escape(str(path.relative_to(folder)))}(?!\w)",
                                 listings[folder]):
                    yield f"{path}: not listed in {folder / 'CMakeLists.txt'}"
                break


def libraries(paths):
    """{library: {family}}: the headers include/troupe/ops/<library>/<family>.hpp with requests."""
    found = {}
    for path in paths:
        if path.parts[:3] != ("include", "troupe", "ops") or len(path.parts) != 5:
            continue
        library = path.parts[3]
        if re.search(rf'string_view name = "{library}\.', (ROOT / path).read_text("utf-8")):
            found.setdefault(library, set()).add(path.stem)
    return found


def wanted_by(library, families, backends):
    for family in sorted(families):
        yield f"src/ops/{library}/{family}.cpp"
        if library in BUILT_IN:
            continue
        for backend in backends:
            yield f"src/backend/{backend}/{library}/{family}.cpp"
        yield f"tests/conformance/{library}_{family}_test.cpp"
    if library not in BUILT_IN:
        yield f"docs/libraries/{library}.md"


def check_libraries(paths):
    present = {str(p) for p in paths}
    backends = [b for b in ("cpu", "cuda") if any(p.startswith(f"src/backend/{b}/")
                                                  for p in present)]
    known = libraries(paths)
    for library, families in sorted(known.items()):
        for name in wanted_by(library, families, backends):
            if name not in present:
                yield f"library {library} lacks {name}"
        yield from check_page(library, present)
    for path in paths:
        if path.parts[:2] == ("tests", "conformance") and path.name.endswith("_test.cpp"):
            library, _, family = path.stem.removesuffix("_test").partition("_")
            if family not in known.get(library, set()):
                yield f"{path}: there is no include/troupe/ops/{library}/{family}.hpp with requests"


def check_page(library, present):
    page = f"docs/libraries/{library}.md"
    if page not in present:
        return
    text = (ROOT / page).read_text(encoding="utf-8")
    headings = re.findall(r"^## (.+?)\s*$", text, re.MULTILINE)
    if headings != HEADINGS:
        yield f"{page}: its headings are {headings}; every library's are {HEADINGS}"


def main():
    paths = files()
    found = []
    for rule in (check_names, check_lengths, check_headers, check_sources_listed, check_libraries):
        found += rule(paths)
    for line in found:
        print(line)
    print(f"layout: {len(paths)} files, {len(libraries(paths))} libraries, {len(found)} bad")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
