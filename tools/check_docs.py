#!/usr/bin/env python3
"""The documentation against the tree.

- Relative links lead to files, and their anchors to headings; every page can be reached from
  README.md.
- `./dev NAME` in a page names a command of the script, and `./dev help` tells of each.
- A block after `<!-- region: FILE#NAME -->` is the text between `// region: NAME` and
  `// endregion: NAME` of that compiled file (`# region: NAME` in one of CMake or Python), or without
  `#NAME` the whole file. `--write` copies it into the page.
- docs/guide/errors.md has one row for each errc, in the order of the header, with cause and remedy.
- docs/adr/ files are NNNN-title.md, no number twice, with the four headings.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
START = "README.md"
ERRORS_PAGE = "docs/guide/errors.md"
ERRORS_HEADER = "include/troupe/base/error.hpp"
ADR_HEADINGS = ["Context", "Decision", "Consequences", "Alternatives"]
REGION = re.compile(r"<!-- region: (?P<file>[^\s#]+)(?:#(?P<name>\S+))? -->\n```\w*\n(?P<text>.*?)```\n",
                    re.DOTALL)


def tracked(pattern):
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", pattern],
        cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return [name for name in listed if (ROOT / name).is_file()]


def pages():
    return tracked("*.md")


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def prose(text):
    """The page without its code blocks."""
    return re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)


def anchors(text):
    found = set()
    for heading in re.findall(r"^#+ (.+?)\s*$", prose(text), re.MULTILINE):
        kept = re.sub(r"[^\w\- ]", "", heading.lower())
        found.add(kept.replace(" ", "-"))
    return found


def links(text):
    """(target, path, anchor) of each link that leads into the tree."""
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", prose(text))):
        if not re.match(r"[a-z]+:", target):
            path, _, anchor = target.partition("#")
            yield target, path, anchor


def check_links(page, text):
    for target, path, anchor in links(text):
        file = (ROOT / page).parent / path if path else ROOT / page
        if not file.exists():
            yield f"{page}: {target} leads nowhere"
        elif anchor and file.suffix == ".md" and anchor not in anchors(file.read_text("utf-8")):
            yield f"{page}: {target}: no such heading"


def check_reachable(texts):
    """A link to a folder reaches the pages right in it."""
    reached, ahead = set(), [START]
    while ahead:
        page = ahead.pop()
        if page in reached:
            continue
        reached.add(page)
        for _, path, _ in links(texts[page]):
            target = os.path.normpath(os.path.join(os.path.dirname(page), path))
            ahead += [p for p in texts if path and target in (p, os.path.dirname(p))]
    for page in sorted(set(texts) - reached):
        yield f"{page}: no link leads there from {START}"


def dev_commands():
    """The functions command_NAME of the script and of the parts that it sources."""
    script = read("dev")
    parts = re.findall(r'^source "\$root/(\S+)"$', script, re.MULTILINE)
    text = "\n".join([script, *map(read, parts)])
    return set(re.findall(r"^command_([\w-]+)\(\)", text, re.MULTILINE)) | {"help"}


def check_help(commands):
    told = re.search(r"<<'TEXT'\n(.*?)^TEXT$", read("dev"), re.DOTALL | re.MULTILINE)[1]
    listed = re.findall(r"^  ([a-z][a-z-]*)(?= )", told, re.MULTILINE)
    for name in sorted(commands ^ set(listed)):
        yield f"dev: `./dev help` and the commands part ways about {name}"


def check_commands(page, text, commands):
    for name in re.findall(r"\./dev +([a-z][a-z-]*)", text):
        if name not in commands:
            yield f"{page}: `./dev {name}` is no command"


def region_text(file, name):
    """The dedented text of a region, or of a file; None when the file or the region is missing."""
    if not (ROOT / file).is_file():
        return None
    if name is None:
        return read(file)
    match = re.search(rf"^[^\n]*(?://|#) region: {re.escape(name)}\n(.*?)^[^\n]*(?://|#) endregion: "
                      rf"{re.escape(name)}\n", read(file), re.DOTALL | re.MULTILINE)
    if not match:
        return None
    # Regions may lie within others.
    return textwrap.dedent(re.sub(r"^ *(?://|#) (end)?region: .*\n", "", match[1], flags=re.MULTILINE))


def check_regions(page, text):
    for match in REGION.finditer(text):
        source = region_text(match["file"], match["name"])
        place = match["file"] + (f"#{match['name']}" if match["name"] else "")
        if source is None:
            yield f"{page}: there is no region {place}"
        elif source != match["text"]:
            yield f"{page}: the block is not what {place} says; tools/check_docs.py --write mends it"
    if len(re.findall(r"^<!-- region:", text, re.MULTILINE)) != len(REGION.findall(text)):
        yield f"{page}: a region marker without a code block right after it"


def write_regions(page, text):
    def replaced(match):
        source = region_text(match["file"], match["name"])
        if source is None:
            return match[0]
        start, end = (p - match.start() for p in match.span("text"))
        return match[0][:start] + source + match[0][end:]

    written = REGION.sub(replaced, text)
    if written != text:
        (ROOT / page).write_text(written, encoding="utf-8")
        print(f"wrote {page}")
    return written


def check_errors():
    body = re.search(r"enum class errc[^{]*\{(.*?)\n\};", read(ERRORS_HEADER), re.DOTALL)[1]
    declared = re.findall(r"^ +(\w+)(?: = \d+)?,", body, re.MULTILINE)
    if not (ROOT / ERRORS_PAGE).is_file():
        yield f"{ERRORS_PAGE} is missing"
        return
    rows = re.findall(r"^\| `(\w+)` \|(.*)\|(.*)\|\s*$", read(ERRORS_PAGE), re.MULTILINE)
    for name, cause, remedy in rows:
        if not cause.strip() or not remedy.strip():
            yield f"{ERRORS_PAGE}: {name} lacks its cause or its remedy"
    written = [name for name, _, _ in rows]
    for name in declared:
        if name not in written:
            yield f"{ERRORS_PAGE}: {name} is missing"
    for name in written:
        if name not in declared:
            yield f"{ERRORS_PAGE}: {name} is no errc"
    if sorted(written) == sorted(declared) and written != declared:
        yield f"{ERRORS_PAGE}: not in the order of {ERRORS_HEADER}"


def check_decisions():
    numbers = set()
    for name in sorted(p.name for p in (ROOT / "docs/adr").glob("*.md")):
        if not re.match(r"\d{4}-[a-z0-9-]+\.md$", name):
            yield f"docs/adr/{name}: its name is not NNNN-a-title-like-this.md"
        if name[:4] in numbers:
            yield f"docs/adr/{name}: its number is taken"
        numbers.add(name[:4])
        headings = re.findall(r"^## (.+?)\s*$", read(f"docs/adr/{name}"), re.MULTILINE)
        if headings != ADR_HEADINGS:
            yield f"docs/adr/{name}: its headings are {headings}; they should be {ADR_HEADINGS}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="copy regions into the pages")
    options = parser.parse_args()
    commands = dev_commands()
    found = []
    texts = {page: read(page) for page in pages()}
    for page, text in texts.items():
        if options.write:
            text = write_regions(page, text)
        found += check_links(page, text)
        found += check_commands(page, text, commands)
        found += check_regions(page, text)
    found += check_reachable(texts)
    found += check_help(commands)
    found += check_errors()
    found += check_decisions()
    for line in found:
        print(line)
    print(f"docs: {len(texts)} pages, {len(found)} bad")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
