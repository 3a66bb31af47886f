"""`python -m troupe COMMAND` is the program `troupe` of the installation: see `troupe help`."""

from __future__ import annotations

import os
import pathlib
import sys

from ._core import _library_file


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["replay"] and any(a.split("=")[0] == "--operations" for a in arguments):
        from .methods import replays

        return replays.command(arguments[1:])
    program = pathlib.Path(_library_file()).resolve().parent.parent / "bin" / "troupe"
    try:
        os.execv(program, [str(program), *arguments])
    except OSError as error:
        print(f"python -m troupe: {program}: {error.strerror}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
