"""Fixtures of the tests: a system, a device on the available backend, and fresh inputs."""

import os
import pathlib

import numpy as np
import pytest
import troupe


@pytest.fixture(scope="session")
def system():
    with troupe.System() as made:
        yield made


@pytest.fixture(scope="session")
def gpu(system):
    device = system.device(0, fault_injection=True, restarts=1000)
    device.wait_until_ready()
    return device


@pytest.fixture
def rng():
    seed = os.environ.get("TROUPE_TEST_SEED")
    return np.random.default_rng(int(seed) if seed else None)


@pytest.fixture(scope="session")
def on_gpu(gpu):
    return gpu.hardware.architecture != ""


@pytest.fixture
def cuda_context(on_gpu):
    """PyTorch with a CUDA context in this thread, which mapping memory needs; None on the CPU."""
    if not on_gpu:
        return None
    torch = pytest.importorskip("torch")
    torch.cuda.set_device(0)
    torch.zeros(1, device="cuda")
    return torch


@pytest.fixture(scope="session")
def build_folder():
    return pathlib.Path(os.environ["TROUPE_BUILD"])
