"""What a device was asked is recorded, and replayed."""

import subprocess
import sys

import numpy as np
import pytest
import troupe


def recorded(path, **options):
    with troupe.System() as system:
        journal = troupe.Journal(path, **options)
        gpu = system.device(0, backend="cpu", journal=journal)
        x = gpu.tensor(np.arange(64, dtype="f4").reshape(8, 8))
        y = gpu.blas.gemm(x, x.T)
        assert y.numpy().shape == (8, 8)
        assert gpu.blas.nrm2(x.reshape(64)).result() > 0
    assert journal.flush()
    return journal.statistics()


def test_a_replay_is_equal(tmp_path):
    path = tmp_path / "run.journal"
    noted = recorded(path)
    assert noted.gaps == 0 and noted.stopped == ""
    assert path.stat().st_mode & 0o777 == 0o600
    replay = troupe.replay(path)
    assert replay.equal and replay.exact, replay
    assert replay.requests == noted.requests and replay.elements >= 64
    assert "equal" in str(replay)
    assert troupe.replay(path, against="cpu", stop_at_difference=True).equal


def test_the_command_says_so(tmp_path):
    path = tmp_path / "run.journal"
    recorded(str(path), contents=False, behind="wait")
    command = [sys.executable, "-m", "troupe", "replay", "--json", "--device", "cpu", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and '"equal":true' in done.stdout, done
    path.write_bytes(b"no journal")
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "no journal" in done.stderr


OPERATIONS = """
import os
import troupe

@troupe.operation("journals.shift")
def shift(x: troupe.Reads("n"), y: troupe.Writes("n", like="x"), *, by: float = 1.0) -> None:
    y[:] = x + by
"""


def test_operations_of_python_are_replayed(tmp_path):
    module = tmp_path / "journal_shift.py"
    module.write_text(OPERATIONS)
    path = tmp_path / "run.journal"
    with troupe.System() as system:
        gpu = system.device(0, backend="cpu", operations=[str(module)], journal=str(path))
        x = gpu.tensor(np.arange(10, dtype="f4"))
        y = gpu.journals.shift(x, by=2.0)
        assert y.numpy()[9] == 11
    replay = troupe.replay(path, operations=[module])
    assert replay.equal and replay.elements == 10, replay
    command = [sys.executable, "-m", "troupe", "replay", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "does not know the request" in done.stderr, done
    # Another function of that name is found.
    module.write_text(OPERATIONS.replace("x + by", "x + by + (x == 3)"))
    command += ["--operations", str(module), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1, done
    assert '"recorded": "5"' in done.stdout and '"replayed": "6"' in done.stdout, done.stdout
    with pytest.raises(ValueError, match="environment"):
        troupe.replay(path, operations=[module], environment={"A": "b"})


def test_what_cannot_be_is_refused(tmp_path):
    with pytest.raises(ValueError, match="behind must be one of .* 'never'"):
        troupe.Journal(tmp_path / "x", behind="never")
    with pytest.raises(troupe.Failure, match="open"):
        troupe.Journal(tmp_path / "none" / "x")
    with pytest.raises(ValueError, match="against"):
        troupe.replay(tmp_path / "x", against="tpu")
    with troupe.System() as system, pytest.raises(TypeError, match="PathLike"):
        system.device(0, journal=3)
