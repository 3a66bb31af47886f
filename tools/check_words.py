#!/usr/bin/env python3
"""Counts that only fall: sentences that need a second reading, files and functions that are too long.

Per room (src/<folder>, src/libraries/<library>, include/troupe, and each other folder at the top)
this counts:

- sentences: those in comments (`//` and `#`) that begin with one of STARTS or contain one of WORDS.
  Comment lines that follow each other are one text; a sentence ends with `.`, `:`, `?` or `!`, and
  also where a paragraph or a list item ends.
- files: those longer than LONG says for their suffix. Files longer than LONGEST are never allowed.
- functions: those of more than LONG_FUNCTION lines, from the first line of the declaration to the
  closing brace. In C++, a function is the outermost pair of braces, within namespaces and types,
  whose head has a parameter list; lambdas count as part of the function around them. In Python it
  is a `def`, in shell `name() {` to the `}` at the start of a line.

tools/ratchet.toml has the limit of each count. A count above its limit fails. A count below it is
reported; `--write` lowers the limits to what is counted, and raises none. `--list ROOM` prints what
is counted there.
"""

import argparse
import ast
import collections
import io
import re
import sys
import tokenize
import tomllib

from check_layout import CODE, ROOT, files

LIMITS = ROOT / "tools/ratchet.toml"
KINDS = ("sentences", "files", "functions")

STARTS = {"what", "whatever", "of", "where", "whoever", "whose", "nobody"}
WORDS = re.compile(r"\b(nobody|whoever)\b", re.IGNORECASE)
CPP = {".hpp", ".cpp", ".cu", ".cuh"}
LONG = {".hpp": 250, ".cuh": 250}
LONG_SOURCE = 400
LONGEST = 600
LONG_FUNCTION = 60

# Comments, string literals (raw ones too) and character literals, whichever begins first. A quote
# between digits is a digit separator.
CPP_TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<d>[^(\s]*)\(.*?\)(?P=d)"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'',
    re.DOTALL)
TYPE_OR_NAMESPACE = re.compile(r"\b(namespace|class|struct|union|enum|extern)\b(?!.*\)\s*(const\b|noexcept\b|->|$))",
                               re.DOTALL)


def room(path):
    parts = path.parts
    if parts[0] == "src" and len(parts) > 2:
        return "/".join(parts[:3 if parts[1] == "libraries" and len(parts) > 3 else 2])
    return "include/troupe" if parts[0] == "include" else parts[0]


def is_code(path):
    return path.suffix in CODE or path.name in {"dev", "CMakeLists.txt"} or str(path) == ".ci/run"


def cpp_comments(text):
    for match in CPP_TOKEN.finditer(text):
        if match[0].startswith("//"):
            yield text.count("\n", 0, match.start()) + 1, match[0].lstrip("/!<")


def hash_comments(path, text):
    if path.suffix == ".py":
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string.lstrip("#")
        return
    for number, line in enumerate(text.split("\n"), 1):
        if (match := re.match(r"(?:[^#'\"]*\s)?#+(?!!)(.*)", line)) and not line.startswith("#!"):
            yield number, match[1]


def sentences(path, text):
    """(line, sentence) of each sentence in the comments of a file."""
    comments = cpp_comments(text) if path.suffix in CPP else hash_comments(path, text)
    block, start, last = [], 0, -1
    for number, comment in [*comments, (-2, "")]:
        if number != last + 1 or not comment.strip() or re.match(r"\s*[-*•] ", comment):
            if block:
                yield from ((start, s) for s in re.split(r"(?<=[.:?!])\s+", " ".join(block)))
            block, start = [], number
        if comment.strip():
            block.append(comment.strip().removeprefix("- ").removeprefix("* "))
        last = number


def is_counted(sentence):
    first = re.match(r"\W*(\w+)", sentence)
    return bool(first and first[1].lower() in STARTS or WORDS.search(sentence))


def blank(match):
    return re.sub(r"[^\n]", " ", match[0])


def cpp_functions(text):
    """(line, lines) of each function."""
    code = CPP_TOKEN.sub(blank, text)
    code = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", blank, code, flags=re.MULTILINE)
    # Braces of namespaces and types are transparent; all others open a body, whose braces nest.
    opened, bodies, head, begin = [], 0, 0, 0
    for match in re.finditer(r"[{};]", code):
        at = match.start()
        if match[0] == "{":
            declaration = code[head:at].strip()
            is_body = bool(bodies) or not TYPE_OR_NAMESPACE.search(declaration)
            is_function = is_body and not bodies and "(" in declaration
            if is_function:
                begin = code.index(declaration, head)
            bodies += is_body
            opened.append((is_body, is_function))
        elif match[0] == "}" and opened:
            is_body, is_function = opened.pop()
            bodies -= is_body
            if is_function:
                line = code.count("\n", 0, begin) + 1
                yield line, code.count("\n", 0, at) + 2 - line
        if not bodies:
            head = at + 1


def other_functions(path, text):
    if path.suffix == ".py":
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield node.lineno, node.end_lineno - node.lineno + 1
    elif path.suffix == ".sh" or path.name == "dev":
        for match in re.finditer(r"^\w+\(\) [{(]\n.*?^[})]", text, re.MULTILINE | re.DOTALL):
            yield text.count("\n", 0, match.start()) + 1, match[0].count("\n") + 1


def counted(paths):
    """{room: {kind: [what is counted]}}, and the files that are longer than any may be."""
    found, too_long = collections.defaultdict(lambda: {kind: [] for kind in KINDS}), []
    for path in filter(is_code, paths):
        text = (ROOT / path).read_text(encoding="utf-8")
        here = found[room(path)]
        here["sentences"] += [f"{path}:{line}: {s}" for line, s in sentences(path, text) if is_counted(s)]
        lines = text.count("\n")
        if path.name not in {"CMakeLists.txt", "dev"} and lines > LONG.get(path.suffix, LONG_SOURCE):
            here["files"].append(f"{path}: {lines} lines")
            if lines > LONGEST:
                too_long.append(f"{path}: {lines} lines; {LONGEST} is the most")
        functions = cpp_functions(text) if path.suffix in CPP else other_functions(path, text)
        here["functions"] += [f"{path}:{line}: {n} lines" for line, n in functions if n > LONG_FUNCTION]
    return found, too_long


def write(counts):
    lines = ["# How much of each is left, per room: tools/check_words.py. No number rises.\n"]
    for name, kinds in sorted(counts.items()):
        left = ", ".join(f"{kind} = {n}" for kind, n in kinds.items() if n)
        if left:
            lines.append(f'"{name}" = {{ {left} }}\n')
    LIMITS.write_text("".join(lines), encoding="utf-8")


def main():
    options = argparse.ArgumentParser(description="counts that only fall")
    options.add_argument("--write", action="store_true", help="lower the limits to what is counted")
    options.add_argument("--list", metavar="ROOM", help="print what is counted in a room")
    chosen = options.parse_args()
    found, bad = counted(files())
    if chosen.list:
        print("\n".join(line for kind in KINDS for line in found[chosen.list][kind]))
        return 0
    limits = tomllib.loads(LIMITS.read_text(encoding="utf-8"))
    lower = {}
    for name in sorted(found.keys() | limits.keys()):
        lower[name] = {}
        for kind in KINDS:
            count, limit = len(found[name][kind]), limits.get(name, {}).get(kind, 0)
            lower[name][kind] = min(count, limit)
            if count > limit:
                bad.append(f"{name}: {count} {kind}, {limit} were left; see --list {name}")
            elif count < limit and not chosen.write:
                print(f"note: {name}: {count} {kind}, {limit} were left; lower it with --write")
    if chosen.write:
        write(lower)
    for line in bad:
        print(line)
    totals = ", ".join(f"{sum(len(f[kind]) for f in found.values())} {kind}" for kind in KINDS)
    print(f"words: {totals} left, {len(bad)} bad")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
