#!/usr/bin/env python3
"""The instructions of a small request, by stage: `budget.py PROGRAM [--json FILE] [--bars FILE]`.

PROGRAM is bench_request_budget with debug information. It is run under callgrind once for each kind
of request. Each instruction belongs to the innermost function, inlined or not, that says what it is
for (`STAGES`); what functions without such a meaning do, those of the C library too, is shared out
among their callers. Threads that run the worker's code are the worker, all others are the program.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
REQUESTS = 512 * 20  # batch and batches of bench/request_budget.cpp
# Where ccache has an object from, another checkout may have been: its files are the same.
OF_A_CHECKOUT = re.compile(r"^.*/build/[^/]+/\.\./\.\./")
KINDS = ["marker", "gemm_decoded", "gemm_recognised", "marker_of_device"]

PROGRAM, WORKER, BOTH = "program", "worker", "both"
# Not part of the request's cost: waiting time and the device thread's turns meanwhile depend on the
# machine; the caller's and the executor's instructions are their own.
WAITING, TURNS, CALLER, EXECUTOR = "waiting", "device thread", "caller", "executor"
LEFT_OUT = [CALLER, EXECUTOR, WAITING, TURNS]

# In the order of a request's way. "rest" is what no rule names.
ORDER = [
    (PROGRAM, "send"), (PROGRAM, "encode"), (PROGRAM, "operands"), (PROGRAM, "recognise"),
    (PROGRAM, "validate"), (PROGRAM, "post"),
    (WORKER, "read"), (WORKER, "recognise"), (WORKER, "decode"), (WORKER, "validate"),
    (WORKER, "hazards"), (WORKER, "dispatch"), (WORKER, "complete"),
    (PROGRAM, "finish"), (PROGRAM, "future"), (PROGRAM, "rest"), (WORKER, "rest"),
]

# (file, function, stage): both are searched for; the first that fits decides.
STAGES = [(re.compile(file), re.compile(function), stage) for file, function, stage in [
    (r"bits/atomic_(timed_)?wait\.h$", "", WAITING),
    (r"^src/base/spin_wait\.hpp$|^src/os/futex\.", "", WAITING),
    (r"^src/worker/plugins/built_in\.cpp$", "", EXECUTOR),
    (r"^src/device/supervision/[a-z_]*\.cpp$", "", TURNS),
    (r"^src/device/completion/(reactor|lane_walk)\.", r"::in_flight\b", TURNS),
    (r"^bench/", "", CALLER),
    (r"^include/troupe/(blas|fft|lane|memory|primitives|rng)/", "", CALLER),
    (r"^src/(request|libraries/[a-z]+/requests|builtin/[a-z]+/requests)/", "", "validate"),
    (r"^src/wire/hash\.hpp$|^src/device/mailbox/valid_requests\.", "", "recognise"),
    (r"^src/device/local/local_device_send\.", r"::check\b", "recognise"),
    (r"^src/wire/encode\.cpp$", "", "encode"),
    (r"^src/device/mailbox/record\.hpp", r"record::renew", "send"),
    (r"^src/device/mailbox/(operands\.|record\.hpp)", "", "operands"),
    (r"^src/device/mailbox/mailbox\.", "publish|ring_worker|active_bells|bells", "post"),
    (r"^src/device/mailbox/mailbox\.", "take_slot", "send"),
    (r"^src/device/mailbox/mailbox\.", "give_back", "finish"),
    (r"^src/device/completion/", "", "finish"),
    (r"^(src|include/troupe)/device/([a-z]+/)?(device|endpoint|local_device|library_actor|prepared_request)[a-z_]*\.", "",
     "send"),
    (r"^src/core/future/|^include/troupe/core/(future|block_pool)", "", "future"),
    (r"^src/worker/intake/inbox\.", "", "read"),
    (r"^src/worker/intake/decoded_requests\.", r"find|look_up|::is\b|let_go", "recognise"),
    (r"^src/worker/intake/decoded_requests\.|^src/wire/decode\.cpp$", "", "decode"),
    (r"^src/worker/threads/hazards\.", "", "hazards"),
    (r"^src/worker/intake/outbox\.|^src/wire/reply\.", "", "complete"),
    (r"^src/worker/|^include/troupe/plugin/", "", "dispatch"),
]]


def count(program, kind, folder):
    """Runs the program under callgrind; the text of what it has written."""
    out = pathlib.Path(folder) / f"{kind}.callgrind"
    command = ["valgrind", "--tool=callgrind", "--instr-atstart=no", "--separate-threads=yes",
               "--combine-dumps=yes", "--dump-instr=yes", "--dump-line=no",
               "--compress-strings=no", "--compress-pos=no", "--fair-sched=yes",
               f"--callgrind-out-file={out}", program, kind]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return out.read_text(encoding="utf-8")


class Profile:
    """One thread's costs, by object, address and function."""

    def __init__(self):
        self.costs = collections.Counter()  # (object, function, address)
        self.calls = collections.Counter()  # (object, function, address) -> (object, function)


def read_profiles(text):
    profiles = []
    here = there = called = None
    for line in text.splitlines():
        key, equals, value = line.partition("=")
        if line.startswith("thread:"):
            profiles.append(Profile())
        elif equals and key == "ob":
            here = (value, "")
        elif equals and key == "fn":
            here = (here[0], value)
            there = None
        elif equals and key == "cob":
            there = value
        elif equals and key == "cfn":
            called = (there or here[0], value)
            there = None
        elif equals and key == "calls":
            continue
        elif line.startswith("0x"):
            address, cost = line.split()[0], int(line.split()[-1])
            if called:
                profiles[-1].calls[(*here, address), called] += cost
                called = None
            else:
                profiles[-1].costs[(*here, address)] += cost
    return [p for p in profiles if p.costs]


def frames_of(program, addresses):
    """For each (object, address) of ours the functions there, from the innermost inlined one out."""
    frames = {}
    by_object = collections.defaultdict(list)
    for library, address in addresses:
        if library.startswith(str(ROOT)) or os.path.samefile(library, program):
            by_object[library].append(address)
    for library, wanted in by_object.items():
        lines = subprocess.run(
            ["addr2line", "--addresses", "--inlines", "--functions", "--demangle", "-e", library],
            input="\n".join(wanted), capture_output=True, text=True, check=True).stdout.splitlines()
        i = 0
        for address in wanted:
            i += 1  # the address
            found = []
            while i < len(lines) and not lines[i].startswith("0x"):
                path = OF_A_CHECKOUT.sub("", lines[i + 1].rpartition(":")[0])
                found.append((os.path.normpath(path).removeprefix(f"{ROOT}/"), lines[i]))
                i += 2
            frames[library, address] = found
    return frames


def stage_of(library, frames):
    """The stage of an instruction; None if its function belongs to no stage by itself."""
    if "/lib/troupe/" in library:  # a backend, with the vendor's library in it
        return EXECUTOR
    for path, function in frames:
        if "request_type_of<" in function:  # the table of a type, wherever it was first needed
            continue
        for file, name, stage in STAGES:
            if file.search(path) and name.search(function):
                return stage
    return None


def stages_of(profile, frames):
    """The costs of a thread by (side, stage)."""
    def known(place):
        return frames.get((place[0], place[2]), [])

    side = PROGRAM
    if any(path.startswith("src/worker/threads/lanes") for place in profile.costs
           for path, _ in known(place)):
        side = WORKER
    stages = collections.Counter()
    pending = collections.Counter()  # (object, function) -> what its callers are to be charged with
    for place, cost in profile.costs.items():
        stage = stage_of(place[0], known(place))
        if stage:
            stages[side, stage] += cost
        else:
            pending[place[:2]] += cost
    callers = collections.defaultdict(list)
    for (place, called), cost in profile.calls.items():
        if place[:2] != called:  # a recursion's are its own
            callers[called].append((place, cost))
    for _ in range(100):  # deeper than anything that calls through the C library
        if not pending:
            break
        moved = collections.Counter()
        for function, cost in pending.items():
            weights = sum(weight for _, weight in callers[function])
            if weights == 0:
                stages[side, "rest"] += cost
                continue
            for place, weight in callers[function]:
                stage = stage_of(place[0], known(place))
                if stage:
                    stages[side, stage] += cost * weight / weights
                else:
                    moved[place[:2]] += cost * weight / weights
        pending = moved
    for cost in pending.values():
        stages[side, "rest"] += cost
    return stages


def measure(program, kind, folder):
    profiles = read_profiles(count(program, kind, folder))
    places = {(place[0], place[2]) for p in profiles for place in p.costs}
    places |= {(place[0], place[2]) for p in profiles for place, _ in p.calls}
    frames = frames_of(program, {(o, a) for o, a in places if os.path.exists(o)})
    stages = collections.Counter()
    for profile in profiles:
        stages.update(stages_of(profile, frames))
    counted = sum(sum(p.costs.values()) for p in profiles)
    if not counted or abs(sum(stages.values()) - counted) > counted / 1000:
        sys.exit(f"{kind}: {counted} instructions, of which {sum(stages.values())} have a place")
    return {key: cost / REQUESTS for key, cost in stages.items()}


def rows_of(measured):
    """(side, stage, [instructions per request, by kind]) in the order of the table."""
    unknown = {key for one in measured.values() for key in one
               if key not in ORDER and key[1] not in LEFT_OUT}
    order = ORDER + sorted(unknown)

    def row(side, stage):
        return side, stage, [round(measured[kind].get((side, stage), 0)) for kind in KINDS]

    def total(side):
        rows = [row(s, stage) for s, stage in order if side in {s, BOTH}]
        return side, "all", [sum(column) for column in zip(*(costs for _, _, costs in rows), strict=True)]

    def left_out(stage):
        both = [row(side, stage)[2] for side in (PROGRAM, WORKER)]
        return "not counted", stage, [sum(column) for column in zip(*both, strict=True)]

    return ([row(*key) for key in order] +
            [total(PROGRAM), total(WORKER), total(BOTH)] + [left_out(s) for s in LEFT_OUT])


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("program")
    arguments.add_argument("--json")
    arguments.add_argument("--bars", help="fails where a request costs more than this file allows")
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measured = {kind: measure(options.program, kind, folder) for kind in KINDS}
    rows = rows_of(measured)
    print(f"{'instructions a request':28}" + "".join(f"{kind:>17}" for kind in KINDS))
    for side, stage, costs in rows:
        print(f"{side + ', ' + stage:28}" + "".join(f"{cost:17}" for cost in costs))
    entries = [{"side": side, "stage": stage, **dict(zip(KINDS, costs, strict=True))}
               for side, stage, costs in rows]
    lines = ",\n  ".join(json.dumps(entry) for entry in entries)
    if options.json:
        pathlib.Path(options.json).write_text(f"[\n  {lines}\n]\n", encoding="utf-8")
    if options.bars:
        totals = dict(zip(KINDS, next(costs for side, _, costs in rows if side == BOTH), strict=True))
        bars = tomllib.loads(pathlib.Path(options.bars).read_text(encoding="utf-8"))
        over = [f"{kind}: {totals[kind]} instructions, at most {bar} are allowed"
                for kind, bar in bars.items() if totals[kind] > bar]
        if over:
            sys.exit("\n".join([*over, f"{options.bars} holds the bars"]))


if __name__ == "__main__":
    main()
