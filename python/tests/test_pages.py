"""Pages say what happens: their blocks run, and the messages that they explain exist."""

import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [
    "README.md",
    "docs/python/tutorial.md",
    *(str(p.relative_to(ROOT)) for p in sorted(ROOT.glob("docs/python/howto/*.md"))),
]


@pytest.mark.parametrize("page", PAGES)
def test_page(page):
    pages = [ROOT / page]
    if page == "README.md":  # the first model goes on where it ends
        pages.append(ROOT / "docs/python/first-model.md")
    run = subprocess.run(
        [sys.executable, ROOT / "tools/follow_pages.py", *pages],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr


def test_messages_exist():
    page = (ROOT / "docs/python/troubleshooting.md").read_text(encoding="utf-8")
    folders = (ROOT / "src", ROOT / "python/src", ROOT / "python/troupe")
    sources = [
        re.sub(r'"\s*f?"', "", path.read_text(encoding="utf-8"))  # literals over several lines
        for folder in folders
        for path in folder.rglob("*")
        if path.suffix in (".cpp", ".hpp", ".py")
    ]
    for row in re.findall(r"^\| (`.*?) \|", page, re.MULTILINE):
        for message in re.findall(r"`([^`]+)`", row):
            for part in message.split("…"):
                assert any(part.strip() in one for one in sources), part
