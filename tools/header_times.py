#!/usr/bin/env python3
"""The time to include a public header: `header_times.py [--json FILE] [HEADER…]`.

For each header that users include (the umbrellas), or those named: processor seconds of the compiler
(g++ -std=c++20 -fsyntax-only, the best of five), of which so much is the standard library's headers
that it includes, itself or through others, and the rest its own. Fails where an umbrella takes longer
than 0.5 s in all, troupe/troupe.hpp 0.6 s.
"""

import argparse
import collections
import json
import pathlib
import re
import resource
import subprocess
import sys
import tempfile

INCLUDE = pathlib.Path(__file__).resolve().parent.parent / "include"
MOST_SECONDS = collections.defaultdict(lambda: 0.5, {"troupe/troupe.hpp": 0.6})
RUNS = 5


def standard_headers(header, seen):
    """Those that `header` includes, and its own ones do that are not in `seen` yet."""
    if header in seen:
        return set()
    seen.add(header)
    found = set()
    text = (INCLUDE / header).read_text(encoding="utf-8")
    for name in re.findall(r"^#include <([^>]+)>", text, re.MULTILINE):
        found |= standard_headers(name, seen) if name.startswith("troupe/") else {name}
    return found


def seconds_of(headers, folder):
    """The time to compile a source that includes these, once."""
    source = pathlib.Path(folder) / "all.cpp"
    source.write_text("".join(f"#include <{name}>\n" for name in headers), encoding="utf-8")
    command = ["g++", "-std=c++20", "-fsyntax-only", f"-I{INCLUDE}", str(source)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def cost_of(header, folder):
    """Seconds of all, and of the standard headers among it: taken in turn, the best of each."""
    standard = sorted(standard_headers(header, set()))
    runs = [(seconds_of([header], folder), seconds_of(standard, folder)) for _ in range(RUNS)]
    return tuple(min(column) for column in zip(*runs, strict=True))


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--json", type=pathlib.Path)
    arguments.add_argument("headers", nargs="*", help="troupe/…; without any, the umbrellas")
    asked = arguments.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for header in asked.headers or sorted(
                path.relative_to(INCLUDE).as_posix() for path in INCLUDE.glob("troupe/*.hpp")):
            whole, standard = cost_of(header, folder)
            rows.append({"header": header, "seconds": round(whole, 3),
                         "own_seconds": round(whole - standard, 3)})
    rows.sort(key=lambda row: -row["seconds"])
    for row in rows:
        print(f"{row['header']:44} {row['seconds']:.2f} s, own {row['own_seconds']:.2f} s")
    if asked.json:
        asked.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    slow = [row["header"] for row in rows if row["seconds"] > MOST_SECONDS[row["header"]]]
    worst = rows[0]
    print(f"header_times: {'FAILED: ' + ', '.join(slow) if slow else 'ok'}, at most "
          f"{worst['seconds']:.2f} s, by {worst['header']}")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
