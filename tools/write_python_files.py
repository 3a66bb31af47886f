#!/usr/bin/env python3
"""Writes the files that are made from the requests' descriptions: stubs and reference page."""

import pathlib

from troupe import descriptions

ROOT = pathlib.Path(__file__).resolve().parent.parent

for path, text in (
    (ROOT / "python/troupe/_libraries.pyi", descriptions.stubs()),
    (ROOT / "docs/python/requests.md", descriptions.reference()),
):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
