#!/usr/bin/env python3
"""Writes the files that are made from descriptions, stubs and docstrings; --check compares them."""

import pathlib
import sys

import python_reference
from troupe import descriptions

ROOT = pathlib.Path(__file__).resolve().parent.parent

for name, text in (
    ("python/troupe/_libraries.pyi", descriptions.stubs()),
    ("docs/python/requests.md", descriptions.reference()),
    ("docs/python/reference.md", python_reference.reference()),
):
    path = ROOT / name
    if "--check" not in sys.argv:
        path.write_text(text, encoding="utf-8")
    elif path.read_text(encoding="utf-8") != text:
        sys.exit(f"{name} is not current: ./dev python --write makes it")
