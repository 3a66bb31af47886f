"""The examples run, are short, and are clean for type checkers."""

import importlib.util
import pathlib
import subprocess
import sys

import pytest

EXAMPLES = pathlib.Path(__file__).resolve().parents[1] / "examples"
SAYS = {
    "matmul.py": "right after the worker was killed: 100 of 100",
    "digit_components.py": "21 of 64 components",
    "fft_filter.py": "after: 0.",
    "fft_convolution.py": "the same as NumPy's: True",
    "least_squares.py": "singular: pivot 3 is zero",
    "conjugate_gradients.py": "solved: True",
    "random_after_a_kill.py": "the same as one would have: True",
    "generation.py": "as if none had been lost: True",
    "training_step.py": "as if none had been lost: True",
    "with_asyncio.py": "10000 of 10000 right",
    "plugin.py": "still there: 9.0",
    "own_function.py": "the same as NumPy's: True",
    "notebook.py": "b must have 3 rows",
    "convnet.py": "the same with a killed worker: True",
    "numpy_service.py": "'right': 397",
    "data_parallel.py": "the same to the bit: True\nas one device has them: True",
    "tensor_parallel.py": "the same to the bit: True\nas one device has them: True",
    "einsum.py": "a chain of three: True",
    "transformer_block.py": "it learns: True",
    "rnn.py": "learned: True",
    "libraries.py": "9 answers, the same as NumPy's: True",
    "own_kernels.py": "the next one: right: True",
    "first_model/serve.py": "killed: 200 of 200 answers are right",
    "transformer/service.py": "0 wrong, 0 lost",
    "voices/voice_service.py": "the same to the bit: True",
}
NEEDS = {
    "own_kernels.py": ("cupy", "triton", "torch"),
    "transformer/service.py": ("torch",),
    "voices/voice_service.py": ("silero_vad",),  # for its weights: it is not imported
}
NO_EXAMPLES = {
    "transformer/model.py",
    "voices/voice_model.py",
    "own_model.py",
    "own_sequences.py",
    "first_model/torch_model.py",
    "first_model/numpy_model.py",
}  # parts


def test_all_are_known():
    found = {str(path.relative_to(EXAMPLES)) for path in EXAMPLES.rglob("*.py")}
    assert found == set(SAYS) | NO_EXAMPLES


@pytest.mark.parametrize("name", SAYS)
def test_example(name, build_folder):
    for module in NEEDS.get(name, ()):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed")
    path = EXAMPLES / name
    assert len(path.read_text().splitlines()) < 75
    plugin = str(build_folder / "lib/plugins/libimage.so")
    arguments = {"plugin.py": [plugin], "first_model/serve.py": ["numpy_model"]}.get(name, [])
    run = subprocess.run(
        [sys.executable, path, *arguments], capture_output=True, text=True, timeout=120, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert SAYS[name] in run.stdout, run.stdout + run.stderr
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize(
    "checker", [["mypy", "--strict"], ["pyright", "--pythonpath", sys.executable]]
)
def test_types(checker):
    pytest.importorskip(checker[0])
    root = EXAMPLES.parents[1]
    run = subprocess.run(
        [sys.executable, "-m", *checker, *map(str, sorted(EXAMPLES.rglob("*.py")))],
        capture_output=True, text=True, timeout=300, check=False, cwd=root,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr


def test_the_module_runs():
    for arguments, says in (
        [["info"], "troupe"],
        [["demo"], "0 wrong"],
        [["requests", "blas.gemm"], "Multiplies"],
    ):
        run = subprocess.run([sys.executable, "-m", "troupe", *arguments], capture_output=True,
                             text=True, timeout=120, check=False)  # fmt: skip
        assert says in run.stdout, run.stdout + run.stderr
