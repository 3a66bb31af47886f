#!/usr/bin/env python3
"""clang-tidy over every source of ours, skipping those that passed before.

A source has passed when every file that it reads, its flags and .clang-tidy are what they were: the
mark is an empty file named by their hash in BUILD/tidy.
"""

import argparse
import concurrent.futures
import functools
import hashlib
import json
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TIDY = "clang-tidy-19"


def arguments_of(entry):
    """The compile command without its launcher, output and dependency flags."""
    words = shlex.split(entry["command"])
    if words[0].endswith("ccache"):
        words = words[1:]
    kept, skip = [], False
    for word in words:
        if skip:
            skip = False
        elif word in ("-o", "-MF", "-MT", "-MQ"):
            skip = True
        elif word not in ("-c", "-MD", "-MMD"):
            kept.append(word)
    return kept


@functools.cache
def digest_of(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


def files_read(entry):
    """The source and every header that it includes, the system's too; None if there is no saying."""
    rule = subprocess.run([*arguments_of(entry), "-M", "-MT", "x"], cwd=entry["directory"],
                          capture_output=True, text=True, check=False)
    if rule.returncode != 0:
        return None
    paths = shlex.split(rule.stdout.replace("\\\n", " "))[1:]  # without the target
    return [str(pathlib.Path(entry["directory"]) / path) for path in paths]


def mark_of(entry, files, salt):
    """Names this state of the source; None when a file is gone."""
    state = hashlib.sha256(salt)
    state.update(" ".join(arguments_of(entry)).encode())
    try:
        for path in files:
            state.update(f"{path} {digest_of(path)}\n".encode())
    except OSError:
        return None
    return state.hexdigest()


def check(entry, build, passed, salt):
    """The source's name, what clang-tidy has against it (None when nothing), was it known."""
    name = str(pathlib.Path(entry["file"]).relative_to(ROOT))
    # The files read last time show that nothing changed, without a preprocessor: a source can only
    # include another file once one of these has changed.
    listed = passed / (name.replace("/", "-") + ".files")
    files = listed.read_text().splitlines() if listed.exists() else []
    mark = mark_of(entry, files, salt) if files else None
    if mark is None or not (passed / mark).exists():
        files = files_read(entry)
        mark = mark_of(entry, files, salt) if files else None
    if mark is not None:
        listed.write_text("\n".join(files))
        if (passed / mark).exists():
            return name, None, True
    run = subprocess.run([TIDY, "--quiet", "-p", str(build), entry["file"]],
                         capture_output=True, text=True, check=False)
    if run.returncode == 0:
        if mark is not None:
            (passed / mark).touch()
        return name, None, False
    noise = re.compile(r"^\d+ warnings? (generated|treated as errors)|^Suppressed |^Use -header")
    errors = [line for line in run.stderr.splitlines() if not noise.match(line)]
    return name, run.stdout + "\n".join(errors), False


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("pattern", nargs="?", default="", help="only sources that contain this")
    options = parser.parse_args()

    entries = {}
    for entry in json.loads((options.build / "compile_commands.json").read_text()):
        source = pathlib.Path(entry["file"])
        inside = source.is_relative_to(ROOT) and not source.is_relative_to(ROOT / "build")
        if inside and source.suffix == ".cpp" and options.pattern in entry["file"]:
            entries.setdefault(entry["file"], entry)
    passed = options.build / "tidy"
    passed.mkdir(exist_ok=True)
    version = subprocess.run([TIDY, "--version"], capture_output=True, check=True).stdout
    salt = version + (ROOT / ".clang-tidy").read_bytes()

    bad = known = done = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        tasks = [pool.submit(check, e, options.build, passed, salt) for e in entries.values()]
        for task in concurrent.futures.as_completed(tasks):
            name, complaint, was_known = task.result()
            done += 1
            known += was_known
            if complaint is not None:
                bad += 1
                print(f"{name}\n{complaint}", flush=True)
            elif not was_known:
                print(f"[{done}/{len(entries)}] {name}", flush=True)
    print(f"clang-tidy: {len(entries)} sources, {known} unchanged since they passed, {bad} bad")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
