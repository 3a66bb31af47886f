#!/usr/bin/env python3
"""Where the time of a build and of its tests went.

build_times.py BUILD [--since LINES]: prints the ten objects and the ten tests that took longest. With
--since, only objects that were built after the first LINES lines of BUILD's ninja log.
build_times.py BUILD --check: compares the seconds of each library with the table in CONTRIBUTING.md,
and fails where one takes longer. A compiler cache makes them less, other work beside them more.

Seconds are by the clock, as ninja and ctest write them down.
"""

import argparse
import collections
import json
import pathlib
import re
import sys
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUDGET_ROW = re.compile(r"^\| \*(\w+)\* \| (\d+) \|$", re.MULTILINE)
OUTPUT = re.compile(r" -o (\S+)")
# `libraries/blas/` in a path, the objects troupe_blas_cpu, the plugin troupe-cuda-blas, the
# conformance cases, the folder of a group of sources.
LIBRARY = re.compile(r"libraries[/_](\w+?)[/_]|troupe_(\w+?)_cpu\.dir|troupe-cuda-(\w+)\.dir|(\w+)_cases\.dir")


def objects(build, since):
    """Seconds by object file of the build as it is now, the last time that each was built."""
    commands = json.loads((build / "compile_commands.json").read_text())
    made = {OUTPUT.search(command["command"])[1] for command in commands}
    lines = (build / ".ninja_log").read_text().splitlines()
    seconds = {}
    for line in lines[since:]:
        fields = line.split("\t")
        if len(fields) == 5 and fields[3] in made:
            seconds[fields[3]] = (int(fields[1]) - int(fields[0])) / 1000
    return seconds


def tests(build):
    report = build / "ctest.xml"
    if not report.is_file():
        return {}
    cases = xml.etree.ElementTree.parse(report).iter("testcase")
    return {case.get("name"): float(case.get("time", 0)) for case in cases}


def show(title, seconds):
    if not seconds:
        return
    print(f"{title}, {sum(seconds.values()):.0f} s for {len(seconds)}; the slowest:")
    for name, took in sorted(seconds.items(), key=lambda one: -one[1])[:10]:
        print(f"  {took:6.1f} s  {name}")


def by_library(seconds):
    sums = collections.Counter()
    for name, took in seconds.items():
        found = LIBRARY.search(name)
        if found:
            sums[next(filter(None, found.groups()))] += took
    return sums


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--since", type=int, default=0)
    parser.add_argument("--check", action="store_true")
    asked = parser.parse_args()
    if not asked.check:
        show("objects", objects(asked.build, asked.since))
        show("tests", tests(asked.build))
        return
    budget = {name: int(most) for name, most in BUDGET_ROW.findall((ROOT / "CONTRIBUTING.md").read_text())}
    if not budget:
        sys.exit("CONTRIBUTING.md has no table of the seconds of each library")
    sums = by_library(objects(asked.build, asked.since))
    over = {name: took for name, took in sums.items() if name in budget and took > budget[name]}
    for name, took in sorted(over.items()):
        print(f"{name}: {took:.0f} s to compile; CONTRIBUTING.md says {budget[name]} s at most")
    print(f"build times: {len(budget)} libraries, {len(over)} over their budget")
    sys.exit(bool(over))


if __name__ == "__main__":
    main()
