#!/usr/bin/env python3
"""Lays out the pages for mkdocs: `site_pages.py FOLDER`, which `./dev docs` calls.

Pages keep their places and are copied as they are. A link to another file leads to a page with its
text, one to a folder to a page that lists it, so that the site needs no other. FOLDER.yml is the
configuration: tools/mkdocs.yml with the order of pages, which is that of docs/README.md.
"""

import json
import os
import pathlib
import re
import shutil
import sys

import check_docs

ROOT = check_docs.ROOT
INDEX = "docs/README.md"
LANGUAGES = {
    ".hpp": "cpp",
    ".cpp": "cpp",
    ".cu": "cpp",
    ".py": "python",
    ".sh": "bash",
    ".toml": "toml",
    ".json": "json",
    ".cmake": "cmake",
    ".txt": "text",
    ".pyi": "python",
}
LINK = re.compile(r"\]\((?!\w+:)([^)#\s]+)(#[^)\s]*)?\)")


class Site:
    def __init__(self, folder):
        self.folder = folder
        self.pages = set(check_docs.pages())
        self.made = set()

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def page_of(self, target):
        """The page that a link to this file or folder of the tree leads to."""
        if target in self.pages:
            return target
        path = ROOT / target
        if path.is_dir():
            return self.listing(target)
        name = f"{target}.md"
        if name not in self.made:
            self.made.add(name)
            text = path.read_text(encoding="utf-8").rstrip("\n")
            self.write(
                name,
                f"# {path.name}\n\n`{target}`\n\n~~~~~~{LANGUAGES.get(path.suffix, 'text')}\n"
                f"{text}\n~~~~~~\n",
            )
        return name

    def listing(self, target):
        """The page of a folder: its README, or one that lists what the tree has there."""
        if f"{target}/README.md" in self.pages:
            return f"{target}/README.md"
        name = f"{target}/index.md"
        if name not in self.made:
            self.made.add(name)
            tracked = check_docs.tracked(target)
            inside = sorted(
                {target + "/" + one[len(target) + 1 :].split("/")[0] for one in tracked}
            )
            rows = [
                f"- [{one[len(target) + 1 :]}]({os.path.relpath(self.page_of(one), target)})"
                for one in inside
                if (ROOT / one).is_dir()
                or LANGUAGES.get(pathlib.Path(one).suffix)
                or one in self.pages
            ]
            self.write(name, f"# {target}\n\n" + "\n".join(rows) + "\n")
        return name

    def copy(self, page):
        def led(match):
            target = os.path.normpath(os.path.join(os.path.dirname(page), match[1]))
            to = self.page_of(target)
            anchor = match[2] or "" if to == target else ""
            return f"]({os.path.relpath(to, os.path.dirname(page))}{anchor})"

        # Links are outside of code.
        parts = re.split(
            r"(^```.*?^```$|`[^`\n]+`)", check_docs.read(page), flags=re.DOTALL | re.MULTILINE
        )
        self.write(
            page, "".join(part if i % 2 else LINK.sub(led, part) for i, part in enumerate(parts))
        )


def navigation():
    """The sections of the index, with the pages that each names first in a row or a list item."""
    sections = re.split(r"^## (.+)$", check_docs.read(INDEX), flags=re.MULTILINE)
    nav = [{"Troupe": "README.md"}, {"All pages": INDEX}]
    for heading, text in zip(sections[1::2], sections[2::2], strict=True):
        links = re.findall(
            r"^(?:\| |- )\[([^\]]+)\]\(([^)#]+\.md)\)([^|\n]*)", text, flags=re.MULTILINE
        )
        entries = [
            {(name + rest.rstrip(".") if name.isdigit() else name): os.path.normpath(f"docs/{to}")}
            for name, to, rest in links
        ]
        nav.append({heading: entries})
    return nav


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    site = Site(folder)
    for page in sorted(site.pages):
        site.copy(page)
    folder.with_suffix(".yml").write_text(
        json.dumps(
            {
                "INHERIT": str(ROOT / "tools/mkdocs.yml"),
                "docs_dir": str(folder),
                "site_dir": str(folder.with_name("site")),
                "nav": navigation(),
            },
            ensure_ascii=False,
        )
    )


if __name__ == "__main__":
    main()
