"""Operations of Python in workers: arguments, checks, answers, and what is printed."""

import asyncio
import os
import pathlib
import pickle
import re
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
import troupe
from troupe.operations import Reads, Writes, operation

HERE = os.path.dirname(__file__)
MODULE = os.path.join(HERE, "python_operations.py")


@pytest.fixture(scope="module")
def service(system):
    device = system.device(20, backend="cpu", operations=[MODULE], restarts=1000)
    yield device
    device.stop()


def test_a_call_runs_in_a_worker(service, rng):
    a = rng.standard_normal(1000).astype("f4")
    y = service.empty(1000)
    service.py.scale(x=service.tensor(a), y=y, factor=3.0).result()
    np.testing.assert_array_equal(y.numpy(), a * np.float32(3))
    about = service.py.about().result()
    assert about["pid"] == service.worker_pid != os.getpid()
    assert about["started"] == [about["pid"]] and about["parent"] != os.getpid()


def test_results_left_out_are_allocated(service, rng):
    for dtype in ("f4", "f8"):
        a = rng.standard_normal((3, 4, 10)).astype(dtype)
        np.testing.assert_array_equal(
            service.py.halves(x=service.tensor(a)).result().numpy(), a[..., ::2]
        )
        y = service.py.scale(x=service.tensor(a.reshape(-1))).result()
        assert y.dtype == ("f32" if dtype == "f4" else "f64")
        np.testing.assert_array_equal(y.numpy(), a.reshape(-1) * 2)


def test_an_update_keeps_what_was_there(service):
    y = service.tensor(np.arange(5.0))
    for _ in range(3):
        service.py.add(x=service.tensor(np.ones(5)), y=y)
    np.testing.assert_array_equal(y.numpy(), np.arange(5.0) + 3)


def test_strided_views_are_seen_as_they_are(service):
    a = np.arange(24.0, dtype="f8").reshape(4, 6)
    x, y = service.tensor(a), service.zeros((4, 3), "f64")
    service.py.add(x=x.T[1:4].T, y=y).result()
    np.testing.assert_array_equal(y.numpy(), a[:, 1:4])


def test_declarations_are_checked_in_the_program(service):
    x = service.zeros(4)
    with pytest.raises(troupe.ShapeMismatch, match="y"):
        service.py.scale(x=x, y=service.zeros(5))
    with pytest.raises(troupe.TypeMismatch):
        service.py.scale(x=x, y=service.zeros(4, "f64"))
    with pytest.raises(troupe.TypeMismatch):
        service.py.scale(x=service.zeros(4, "i32"), y=service.zeros(4, "i32"))
    with pytest.raises(TypeError, match="no argument z"):
        service.py.scale(x=x, z=1)
    with pytest.raises(TypeError, match="factor must be a real number; it is 'much'"):
        service.py.scale(x=x, factor="much")
    with pytest.raises(TypeError, match="missing the argument i"):
        service.py.values(x=service.zeros(1, "f64"))
    with pytest.raises(AttributeError, match="py has no request 'scales'; it has about"):
        service.py.scales()
    with pytest.raises(AttributeError, match="a device has no 'pie'"):
        service.pie


def test_values_arrive_as_they_are(service):
    x = service.tensor(np.ones(3))
    got = service.py.values(i=-5, x=x).result()
    assert got == {
        "i": -5, "f": 0.5, "flag": False, "name": "a", "numbers": [1, 2], "reals": [],
        "mode": "exact", "z": 1 + 2j, "sum": 3.0,
    }  # fmt: skip
    got = service.py.values(
        i=1 << 40, x=x, f=1, flag=True, name="ü☃", numbers=[], reals=[0.5], mode="fast", z=2
    ).result()
    assert (got["i"], got["f"], got["flag"], got["name"]) == (1 << 40, 1.0, True, "ü☃")
    assert (got["numbers"], got["reals"], got["mode"], got["z"]) == ([], [0.5], "fast", 2)
    with pytest.raises(TypeError, match="one of 'exact', 'fast'"):
        service.py.values(i=1, x=x, mode="best")


def test_answers_of_any_size_are_pickled(service):
    for size in (0, 1, 400, 5000, 1 << 20, 40 << 20):
        assert service.py.big(n=size).result() == b"\x5a" * size
    with pytest.raises(troupe.HandlerFailed, match="pickle"):
        service.py.unpicklable().result()
    with pytest.raises(troupe.HandlerFailed, match="cannot be unpickled here: ValueError") as why:
        service.py.unpicklable_there().result()
    assert why.value.request == "py.unpicklable_there"


@pytest.mark.parametrize("nested", [False, True])
def test_an_answer_too_large_is_refused_before_it_is_pickled(service, nested):
    begin = time.monotonic()
    with pytest.raises(troupe.SizeOverflow, match=r"8589934592.*troupe\.Writes|troupe\.Writes"):
        service.py.huge(bytes=8 << 30, nested=nested).result()
    assert time.monotonic() - begin < 5
    assert service.py.huge(bytes=1 << 20).result().nbytes == 1 << 20


def test_a_failed_handler_has_its_exception_in_fields(service):
    with pytest.raises(troupe.HandlerFailed) as caught:
        service.py.raises(how="cause").result()
    why = caught.value
    assert why.exception_type == "RuntimeError"
    assert why.traceback.startswith('  File "') and "because of KeyError" in why.traceback
    assert why.message == f"RuntimeError: no such model\n{why.traceback}"
    assert (why.code_name, why.vendor_code) == ("", 0)
    back = pickle.loads(pickle.dumps(why))
    assert (back.exception_type, back.traceback) == (why.exception_type, why.traceback)
    with pytest.raises(troupe.HandlerFailed) as caught:
        service.py.unpicklable_there().result()
    assert caught.value.exception_type == "ValueError"
    assert "cannot be" not in caught.value.traceback


TOLD = {
    "cause": [
        "RuntimeError: no such model",
        'raise RuntimeError("no such model") from error',
        "because of KeyError: 'a key'",
        '{}["a key"]',
    ],
    "group": [
        "ExceptionGroup: both (2 sub-exceptions)",
        "one of them: ValueError: the one",
        "one of them: TypeError: the other",
    ],
    "note": ["ValueError: it failed", "in the third layer", "in raises"],
    "surrogate": [r"ValueError: \ud800 is no character", "in raises"],
    "long": ["ValueError: xxx", "xxx […] xxx", "in raises"],
}


@pytest.mark.parametrize("how", TOLD)
def test_an_exception_tells_all_of_itself(service, how):
    with pytest.raises(troupe.HandlerFailed) as why:
        service.py.raises(how=how).result()
    text = str(why.value)
    places = [text.find(one) for one in TOLD[how]]
    assert -1 not in places and places == sorted(places), text
    assert len(text) < 20_000


def test_a_pool_of_processes_in_an_operation_ends(service):
    for _ in range(20):  # some are told to end before they have begun
        assert service.py.pool(numbers=[-1, -2, 3], run_limit=20.0).result() == [1, 2, 3]


def test_signature_and_help(service):
    import inspect

    assert list(inspect.signature(service.py.scale).parameters)[:3] == ["x", "y", "factor"]
    assert "Multiplies by a factor." in service.py.scale.__doc__


def test_asyncio(service):
    async def run():
        x = service.tensor(np.arange(8, dtype="f4"))
        ys = await asyncio.gather(*(service.py.scale(x=x, factor=float(i)) for i in range(100)))
        return [y.numpy() for y in ys]

    for i, y in enumerate(asyncio.run(run())):
        np.testing.assert_array_equal(y, np.arange(8, dtype="f4") * i)


def test_what_a_failed_call_was_writing_is_tainted(service):
    y = service.tensor(np.ones(4, "f4"))
    with pytest.raises(troupe.HandlerFailed, match="bad model input"):
        service.py.half(y=y).result()
    with pytest.raises(troupe.TaintedBuffer, match="py.half #.* has not finished writing it"):
        y.numpy()
    assert "tainted" in repr(y)
    service.memory.fill(to=y, value=2)
    assert y.numpy().tolist() == [2, 2, 2, 2]
    service.py.half(y=y, raises=False).result()
    assert y.numpy().tolist() == [43, 43, 2, 2]


def test_the_environment_is_a_copy(system, monkeypatch):
    monkeypatch.setenv("TROUPE_TEST_VARIABLE", "then")
    device = system.device(21, backend="cpu", operations=MODULE)
    monkeypatch.setenv("TROUPE_TEST_VARIABLE", "now")
    about = device.py.about().result()
    assert about["home"] == "then" and about["path"][0] == sys.path[0]
    assert int(about["oom"]) >= 500
    device.stop()


LEFT_AS_THEY_ARE = """
import importlib.util, troupe
arrays = "torch" if importlib.util.find_spec("torch") else None
X, Y = troupe.Reads("n", dtype="f32"), troupe.Writes("n", like="x")

@troupe.operation("results.rebound", arrays=arrays)
def rebound(x: X, y: Y) -> None:
    y = x * 2

@troupe.operation("results.part", arrays=arrays)
def part(x: X, y: Y) -> None:
    y[:60] = x[:60]

@troupe.operation("results.written", arrays=arrays)
def written(x: X, y: Y, z: troupe.Updates("n", like="x"), b: troupe.Writes(dtype="u8")) -> None:
    y[:] = x * 2

@troupe.operation("results.answers", arrays=arrays)
def answers(x: X, y: Y):
    return 7
"""


def test_results_that_were_not_written_are_found(monkeypatch, tmp_path, on_gpu):
    if on_gpu:
        pytest.importorskip("torch")
    module = tmp_path / "result_operations.py"
    module.write_text(LEFT_AS_THEY_ARE)
    monkeypatch.setenv("TROUPE_CHECK_RESULTS", "1")
    own = troupe.System()
    device = own.device(0, operations=[module])
    x, y = device.full(100, 1), device.zeros((100, 2))
    packed = device.empty(100)
    ask = device.results
    for call, element in ((ask.rebound, 0), (ask.part, 60), (ask.answers, 0)):
        with pytest.raises(
            troupe.HandlerFailed, match=rf"y is a result, .* {element} was not written"
        ):
            call(x=x).result()
    with pytest.raises(troupe.HandlerFailed, match="was not written"):
        ask.rebound(x=x, y=packed).result()
    z, b = device.zeros(100), device.empty((), "u8")  # too short to be told from what is written
    assert ask.written(x=x, z=z, b=b).result()[0].tolist() == [2.0] * 100
    ask.written(x=x, y=y[:, 1], z=z, b=b).result()  # not packed: the bytes between are kept
    assert y.numpy()[:, 0].tolist() == [0.0] * 100 and y.numpy()[:, 1].tolist() == [2.0] * 100
    ask.rebound(x=x, y=y[:, 1]).result()
    own.close()
    monkeypatch.delenv("TROUPE_CHECK_RESULTS")
    with troupe.System() as own:
        device = own.device(0, operations=[module])
        assert device.results.rebound(x=device.zeros(100)).result().shape == (100,)


def test_first_use_in_an_event_loop_is_awaited(system, tmp_path):
    (tmp_path / "slow.py").write_text(
        "import time, troupe\ntime.sleep(0.6)\n"
        "@troupe.operation('slow.one')\ndef one() -> int:\n    return 1\n"
    )

    async def main():
        device = system.device(43, backend="cpu", operations=[tmp_path / "slow.py"])
        ready = asyncio.ensure_future(asyncio.wait_for(device.ready(), 20))
        beats = 0
        while not ready.done():
            await asyncio.sleep(0.01)
            beats += 1
        begun = time.monotonic()
        answer = device.slow.one()
        took = time.monotonic() - begun
        assert await answer == 1
        device.stop()
        return beats, took

    beats, took = asyncio.run(main())
    assert beats > 20 and took < 0.3


def test_in_this_program_for_a_debugger(system, rng):
    device = system.device(29, backend="cpu", isolation="thread", operations=[MODULE])
    a = rng.standard_normal(10).astype("f4")
    np.testing.assert_array_equal(device.py.scale(x=device.tensor(a)).result().numpy(), a * 2)
    about = device.py.about().result()
    assert about["pid"] == os.getpid()
    with pytest.raises(troupe.HandlerFailed, match="bad model input"):
        device.py.goes_wrong(x=device.zeros(8), how="raise").result()
    device.stop()


def test_what_is_printed_arrives_before_the_answer(tmp_path):
    program = f"""
        import sys, troupe
        with troupe.System() as system:
            device = system.device(0, backend="cpu", operations=[{MODULE!r}])
            for i in range(50):
                device.py.says(text=f"worker {{i}}" + "\\n" * (i % 2)).result()
                print(f"program {{i}}", flush=True)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    expected = "".join(f"worker {i}" + "\n" * (i % 2) + f"program {i}\n" for i in range(50))
    assert done.stdout == expected


def test_stderr_arrives_in_order_whoever_writes_it(tmp_path):
    program = f"""
        import sys, troupe
        with troupe.System() as system:
            device = system.device(0, backend="cpu", operations=[{MODULE!r}])
            for i in range(50):
                device.py.says_from_c(text=f"C {{i}}").result()
                device.py.says(text=f"Python {{i}}\\n", to="stderr").result()
                print(f"program {{i}}", file=sys.stderr, flush=True)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == "".join(f"C {i}\nPython {i}\nprogram {i}\n" for i in range(50))


def test_what_c_code_writes_in_a_long_call_is_not_kept_in_memory(tmp_path):
    program = f"""
        import troupe
        with troupe.System() as system:
            device = system.device(0, backend="cpu", standby=False, operations=[{MODULE!r}])
            # The call lasts until little of its two MiB is left.
            device.py.says_much(text="y" * 1024, times=2048).result(timeout=20)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0
    assert (done.stderr.count("y"), len(done.stderr)) == (2 << 20, 2 << 20)


def test_declarations_that_say_nothing_are_refused():
    def untyped(x): ...
    def tensor_with_default(x: Reads = None): ...
    def any_number(*x: Reads): ...
    def unknown(x: dict): ...
    def wrong_default(x: int = "a"): ...
    async def coroutine(): ...

    for function, text in (
        (untyped, "x must be annotated with a role .*not annotated"),
        (tensor_with_default, "x is a tensor, which has no default"),
        (any_number, "given by name"),
        (unknown, "it is <class 'dict'>"),
        (wrong_default, "default must be of its type; it is 'a'"),
        (coroutine, "no coroutine"),
    ):
        with pytest.raises(TypeError, match=text):
            operation("refused.one")(function)
    with pytest.raises(ValueError, match="a library of Troupe's own"):
        operation("blas.mine")
    with pytest.raises(ValueError, match="a device has something else called health"):
        operation("health.mine")
    with pytest.raises(ValueError, match="such as 'vision.embed'"):
        operation("mine")
    with pytest.raises(TypeError, match="dtype of its own"):
        Writes("n", dtype="f32", like="x")
    with pytest.raises(TypeError, match="an extent is a number"):
        Reads("n*n")
    with pytest.raises(TypeError, match="no element type is called"):
        Reads("n", dtype="f3")
    with pytest.raises(ValueError, match="__main__"):
        troupe.System().device(0, operations=["__main__"])


def test_a_program_in_cpp_asks_by_name(build_folder):
    program = build_folder / "bin/example_python_operation"
    if not program.exists():
        pytest.skip("the examples are not built")
    folder = pathlib.Path(__file__).resolve().parents[3] / "examples/python_operation"

    def run(module):
        command = [program, sys.executable, module]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    done = run(folder / "scale.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("ended with status 1\n2 4 6\n")
    for module, why in (
        (MODULE, "no executor for signal.scale: what the device's fork server has loaded"),
        ("missing.py", "importing .*missing\\.py failed: FileNotFoundError"),
        ("no_such_module", "importing no_such_module failed: ModuleNotFoundError"),
    ):
        assert re.search(why, run(module).stderr)


def test_several_threads_ask(service):
    x = service.tensor(np.arange(64, dtype="f4"))
    wrong = []

    def ask(k):
        for i in range(50):
            y = service.py.scale(x=x, factor=float(k * 100 + i)).result().numpy()
            if not np.array_equal(y, np.arange(64, dtype="f4") * (k * 100 + i)):
                wrong.append((k, i))

    threads = [threading.Thread(target=ask, args=(k,)) for k in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not wrong
