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


def test_what_cannot_be_is_refused(tmp_path):
    with pytest.raises(ValueError, match="behind must be one of .* 'never'"):
        troupe.Journal(tmp_path / "x", behind="never")
    with pytest.raises(troupe.Failure, match="open"):
        troupe.Journal(tmp_path / "none" / "x")
    with pytest.raises(ValueError, match="against"):
        troupe.replay(tmp_path / "x", against="tpu")
    with troupe.System() as system, pytest.raises(TypeError, match="PathLike"):
        system.device(0, journal=3)
