#!/usr/bin/env python3
"""Plants small bugs, one at a time, and reports which of them the tests notice.

mutate.py --list FILE [--only TEXT] [--json FILE]: each bug of the list (tests/mutations.toml) is put
into a copy of the tree, its test is built and run, and has to fail. Fails itself where a test fails
without a bug, where a text to replace is not found exactly once, or where fewer than 90 % are caught.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import time
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
COPY = ROOT / "build" / "mutate"
LEAST_CAUGHT = 0.9
# A bug may make its test wait for ever.
LONGEST_TEST_S = 120


def run(command, **options):
    return subprocess.run(command, check=False, capture_output=True, text=True, **options)


def copy_tree():
    """Makes the copy what the working tree is, and touches no file that is the same."""
    listed = run(["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others",
                  "--exclude-standard"]).stdout.split("\0")
    names = {name for name in listed if name and (ROOT / name).is_file()}
    for old in COPY.rglob("*"):
        name = old.relative_to(COPY)
        if old.is_file() and name.parts[0] != "build" and str(name) not in names:
            old.unlink()
    for name in names:
        to = COPY / name
        content = (ROOT / name).read_bytes()
        if to.is_file() and to.read_bytes() == content:
            continue
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_bytes(content)


def build(targets):
    environment = dict(os.environ, CCACHE_BASEDIR=str(COPY), CCACHE_NOHASHDIR="1")
    tree = COPY / "build" / "dev"
    if not (tree / "build.ninja").exists():
        # The mutated files need no CUDA, and half of the tree is left out so.
        made = run(["cmake", "--preset", "dev", "-DTROUPE_CUDA=OFF", "-DTROUPE_BENCH=OFF"], cwd=COPY,
                   env=environment)
        if made.returncode != 0:
            sys.exit(made.stdout + made.stderr)
    jobs = os.environ.get("TROUPE_JOBS")
    command = ["cmake", "--build", tree, "--parallel", *([jobs] if jobs else []), "--target", *targets]
    return run(command, env=environment)


def passes(test, only):
    program = COPY / "build" / "dev" / "bin" / test
    try:
        done = run([program, "--gtest_brief=1", *([f"--gtest_filter={only}"] if only else [])],
                   timeout=LONGEST_TEST_S, cwd=COPY)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def plant(bug):
    """Puts a bug into the copy. Returns the file and what it said before."""
    file = COPY / bug["file"]
    text = file.read_text()
    if text.count(bug["find"]) != 1:
        sys.exit(f"{bug['file']}: {text.count(bug['find'])} times, not once: {bug['find']}")
    file.write_text(text.replace(bug["find"], bug["put"]))
    return file, text


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", required=True)
    parser.add_argument("--only", default="", help="bugs whose file has this in its path")
    parser.add_argument("--json")
    arguments = parser.parse_args()
    bugs = tomllib.loads(pathlib.Path(arguments.list).read_text())["bug"]
    bugs = [bug for bug in bugs if arguments.only in bug["file"]]

    copy_tree()
    tests = sorted({bug["test"] for bug in bugs})
    print(f"{len(bugs)} bugs, {len(tests)} tests", flush=True)
    first = build(tests)
    if first.returncode != 0:
        sys.exit(first.stdout[-4000:])
    for test, only in sorted({(bug["test"], bug.get("only", "")) for bug in bugs}):
        if not passes(test, only):
            sys.exit(f"{test} {only} fails without a bug")

    results = []
    for bug in bugs:
        begun = time.monotonic()
        file, text = plant(bug)
        try:
            built = build([bug["test"]])
            caught = built.returncode == 0 and not passes(bug["test"], bug.get("only", ""))
        finally:
            file.write_text(text)
        if built.returncode != 0:
            sys.exit(f"does not compile: {bug['put']}\n{built.stdout[-2000:]}")
        seconds = time.monotonic() - begun
        results.append({**bug, "caught": caught, "seconds": round(seconds, 1)})
        print(f"{'caught ' if caught else 'MISSED '} {seconds:4.0f} s  {bug['file']}: {bug['put']}",
              flush=True)

    caught = sum(result["caught"] for result in results)
    print(f"{caught} of {len(results)} caught")
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(results, indent=1) + "\n")
    return 0 if caught >= LEAST_CAUGHT * len(results) else 1


if __name__ == "__main__":
    sys.exit(main())
