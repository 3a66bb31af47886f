#!/usr/bin/env python3
"""Does what a page says, word for word, and compares what it prints with what the page says.

The blocks of a page are followed in order, in an empty folder:

- ```python whose first line is `# NAME.py` is saved under that name;
- any other ```python runs after those before it, all in one interpreter;
- ```sh runs line by line in bash, without `./dev`. With --install, `python` and `pip` are those of a
  new virtual environment, and FOLDER, with Troupe's wheel, is there as build/package. Without it,
  `pip` is left out, and `python` is the interpreter of this script, with its PYTHONPATH;
- ```text is what the block before it prints; `…` stands for any text, and on a line of its own for
  any lines.

`<!-- needs: MODULE -->` before a block leaves it out, with its output, where there is no such module.
"""

import argparse
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

BLOCK = re.compile(
    r"(?:<!-- needs: (?P<needs>\w+) -->\n)?^```(?P<kind>python|sh|text)\n(?P<text>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
LEFT_OUT = re.compile(r"(\./dev|git|sudo|apt|cd)\b")
INSTALLS = re.compile(r"pip\b")
END = "=== end of block {} ==="


class Different(Exception):
    """A page that says something else than what happens."""


def matches(expected, printed):
    pattern = re.escape(expected.strip()).replace("…", ".*")
    pattern = re.sub(r"^\.\*(\\?\n)", r"(?s:.*?)\1", pattern, flags=re.MULTILINE)
    return re.fullmatch(pattern, printed.strip()) is not None


class Folder:
    """Where a page is followed, and with which interpreter."""

    def __init__(self, path, wheels):
        self.path = path
        self.wheels = wheels
        self.environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="1")
        programs = path / ".bin"
        programs.mkdir()
        if wheels:
            subprocess.run([sys.executable, "-m", "venv", programs / "venv"], check=True)
            programs = programs / "venv/bin"
            (path / "build").mkdir()
            (path / "build/package").symlink_to(wheels)
            self.environment.pop("PYTHONPATH", None)
        else:
            python = programs / "python"  # not a link, which would look for its packages here
            python.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n')
            python.chmod(0o755)
        self.environment["PATH"] = f"{programs}:{os.environ['PATH']}"

    def run(self, command):
        done = subprocess.run(
            ["bash", "-euc", command],
            cwd=self.path,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        if done.returncode:
            raise Different(f"{command}\nended with {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def has(self, module):
        return (
            module is None
            or subprocess.run(
                ["python", "-c", f"import {module}"],
                cwd=self.path,
                env=self.environment,
                capture_output=True,
                check=False,
            ).returncode
            == 0
        )

    def shell(self, text):
        lines = [line for line in text.replace("\\\n", "").splitlines() if line.strip()]
        return "".join(
            self.run(line)
            for line in lines
            if not LEFT_OUT.match(line) and (self.wheels or not INSTALLS.match(line))
        )


def follow(page, folder):
    """Follows a page. Returns what was left out."""
    left_out, program, expected = [], [], {}
    last = None  # the last block's output: a text, or the number of a block of the program
    for block in BLOCK.finditer(page):
        kind, text, needs = block["kind"], block["text"], block["needs"]
        if kind == "text":
            if isinstance(last, int):
                expected[last] = text
            elif last is not None and not matches(text, last):
                raise Different(f"the page says\n{text}\nit printed\n{last}")
        elif not folder.has(needs):
            left_out.append(needs)
            last = None
        elif kind == "sh":
            last = folder.shell(text)
        elif saved := re.match(r"# (\S+\.py)\n", text):
            (folder.path / saved[1]).write_text(text, encoding="utf-8")
            last = None
        else:
            program.append(text + f"\nprint({END.format(len(program))!r}, flush=True)\n")
            last = len(program) - 1
    if program:
        (folder.path / "page.py").write_text("".join(program), encoding="utf-8")
        printed = re.split(END.format(r"\d+") + "\n", folder.run("python page.py"))
        for number, text in expected.items():
            if not matches(text, printed[number]):
                raise Different(f"the page says\n{text}\nit printed\n{printed[number]}")
    return left_out


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--install", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("pages", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    wheels = options.install.resolve() if options.install else None
    with tempfile.TemporaryDirectory() as scratch:
        # One folder for all: a page may go on where the one before it ends.
        folder = Folder(pathlib.Path(scratch), wheels)
        for page in options.pages:
            try:
                left_out = follow(page.read_text(encoding="utf-8"), folder)
            except Different as why:
                print(f"{page}: {why}")
                return 1
            print(
                f"{page}: as it says"
                + (f"; left out for lack of {', '.join(left_out)}" if left_out else "")
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
