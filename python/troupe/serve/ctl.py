"""`python -m troupe.serve.ctl COMMAND [WHAT]`: changes a service of this user that runs.

    python -m troupe.serve.ctl models
    python -m troupe.serve.ctl swap minilm=./minilm-v2      # or load; unload minilm
    python -m troupe.serve.ctl swap minilm=./minilm-v2 --canaries texts --share 0.05 --over 30
    python -m troupe.serve.ctl quarantine                   # culprits that are refused
    python -m troupe.serve.ctl forgive
    python -m troupe.serve.ctl renew                        # workers with the code as it is now
    python -m troupe.serve.ctl drain

With several services, --socket chooses one.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import socket
import sys
from typing import Any


def sockets() -> list[pathlib.Path]:
    """Those of this user's services that run, in the folder of telemetry's."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", f"/run/user/{os.getuid()}")
    folders = pathlib.Path(runtime, "troupe"), pathlib.Path(f"/tmp/troupe-{os.getuid()}")
    return [one for folder in folders for one in sorted(folder.glob("*.admin")) if _answers(one)]


def _answers(path: pathlib.Path) -> bool:
    """A service that was killed has left its socket behind."""
    with socket.socket(socket.AF_UNIX) as to:
        return to.connect_ex(str(path)) == 0


def _moving(options: argparse.Namespace) -> dict[str, Any]:
    given = {name: getattr(options, name) for name in ("least", "share", "over")}
    if options.canaries is not None:
        lines = options.canaries.read_text().splitlines()
        given["canaries"] = [one for one in lines if one.strip()]
    return {name: one for name, one in given.items() if one is not None}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m troupe.serve.ctl",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--socket", type=pathlib.Path)
    parser.add_argument("command")
    parser.add_argument("what", nargs="?")
    swap = parser.add_argument_group("swap")
    add = swap.add_argument
    add("--canaries", type=pathlib.Path, help="lines of texts that both versions answer alike")
    add("--least", type=float, help="the least cosine of their vectors (0.99)")
    add("--share", type=float, help="of the requests that the new version gets first")
    add("--over", type=float, help="seconds until it gets all")
    options = parser.parse_args(arguments)
    found = [options.socket] if options.socket else sockets()
    if len(found) != 1:
        text = "\n".join(map(str, found)) or "none"
        print(f"there is no one service; choose with --socket of:\n{text}", file=sys.stderr)
        return 2
    with socket.socket(socket.AF_UNIX) as to:
        try:
            to.connect(str(found[0]))
        except OSError as why:
            print(f"{found[0]}: {why.strerror}", file=sys.stderr)
            return 2
        asked = {"do": options.command, "what": options.what, **_moving(options)}
        to.sendall(json.dumps(asked).encode() + b"\n")
        with to.makefile() as answers:
            answer = json.loads(answers.readline() or '{"error": "it has ended"}')
    if "error" in answer:
        print(answer["error"], file=sys.stderr)
        return 1
    print(json.dumps(answer["ok"], indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
