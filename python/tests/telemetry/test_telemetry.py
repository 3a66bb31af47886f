"""What `System.telemetry` serves, to a client and in a browser."""

import http.client
import json
import os
import signal
import subprocess
import threading
import time
import urllib.error
import urllib.request

import numpy as np
import pytest
import troupe
from browser import opened, within


def get(url, **fields):
    with urllib.request.urlopen(urllib.request.Request(url, headers=fields), timeout=10) as got:
        return got.read().decode()


@pytest.fixture
def device():
    with troupe.System() as system:
        made = system.device(0, backend="cpu", fault_injection=True, restarts=1000, standby=True)
        made.wait_until_ready()
        yield system, made


def lose(device):
    with pytest.raises(troupe.Failure):
        device.fault.inject(what="segmentation_fault").result()


def test_serves_until_it_is_closed(device):
    system, gpu = device
    with system.telemetry() as shown:
        assert 'outcome="done"' in get(shown.url + "metrics")
        assert json.loads(get(shown.url + "readyz"))["ready"] is True
        assert json.loads(get(shown.url + "snapshot.json"))["devices"][0]["backend"] == "cpu"
        with pytest.raises(troupe.Failure, match="bind"):
            system.telemetry(port=shown.port)
    with pytest.raises(urllib.error.URLError):
        get(shown.url)
    with pytest.raises(troupe.Failure, match="needs a token"):
        system.telemetry(address="0.0.0.0")
    with system.telemetry(token="0123456789abcdef") as shown:
        with pytest.raises(urllib.error.HTTPError, match="401"):
            get(f"http://127.0.0.1:{shown.port}/metrics")
        assert get(
            f"http://127.0.0.1:{shown.port}/metrics", Authorization="Bearer 0123456789abcdef"
        )


def test_ends_with_its_system(device):
    system, gpu = device
    shown = system.telemetry()
    assert os.path.exists(shown.socket)
    system.close()
    assert not os.path.exists(shown.socket)
    with pytest.raises(ConnectionRefusedError):
        http.client.HTTPConnection("127.0.0.1", shown.port, timeout=5).connect()
    shown.close()


def test_top_shows_a_program(device, build_folder):
    system, gpu = device
    lose(gpu)
    top = [str(build_folder / "bin" / "troupe"), "top"]
    with system.telemetry() as shown:
        for place in (shown.socket, shown.url, str(os.getpid())):
            text = subprocess.run([*top, place, "--once"], capture_output=True, text=True)
            assert text.returncode == 0, text.stderr
            assert "fault.inject" in text.stdout
            assert "lost worker" in text.stdout
        text = subprocess.run([*top, "--json", shown.socket], capture_output=True, text=True)
        assert json.loads(text.stdout)["devices"][0]["health"]["state"] in ("ready", "recovering")
    text = subprocess.run([*top, shown.socket], capture_output=True, text=True)
    assert text.returncode == 1
    assert "does not answer" in text.stderr


# One browser for all that is asked of the page: it takes long to start.
def test_page_in_a_browser(device, tmp_path):
    system, gpu = device
    with system.telemetry(token="0123456789abcdef") as shown, opened(tmp_path) as browser:
        x = gpu.tensor(np.ones((64, 64), "f4"))
        ends = threading.Event()

        def work():
            while not ends.is_set():
                gpu.blas.gemm(x, x).result()
                time.sleep(0.005)

        worker = threading.Thread(target=work)
        worker.start()
        try:
            check_page(system, gpu, shown, browser)
        finally:
            ends.set()
            worker.join()
            browser.picture(tmp_path / "last.png")


def check_page(system, gpu, shown, browser):
    browser.resize(1200, 1000)
    browser.open(shown.url)
    assert within(10, lambda: browser.text("#status") == "ready")
    # The token has become a cookie that scripts do not see.
    assert browser.run("return location.search + document.cookie") == ""
    assert within(10, lambda: "blas." in browser.text("#operations"))
    rate = "return parseFloat(document.querySelector('.rate b').textContent) > 0"
    assert within(10, lambda: browser.run(rate))

    # Waiting requests are shown with the one that runs.
    slow = gpu.fault.inject(what="spin", duration_ns=1_500_000_000)
    assert within(5, lambda: "1 requests, fault.inject first" in browser.text(".lanes"))
    slow.result()

    # A kill is seen within a second.
    generation = gpu.health.generation
    os.kill(gpu.worker_pid, signal.SIGKILL)
    assert within(10, lambda: gpu.health.generation > generation)
    begin = time.monotonic()
    assert within(5, lambda: "ended by SIGKILL" in browser.text("#events"))
    assert time.monotonic() - begin < 3  # usually less than one

    # A culprit is named, and its details open by keyboard.
    lose(gpu)
    assert within(5, lambda: "ended by SIGSEGV" in browser.text("#events"))
    browser.run("document.querySelector('.event.warning summary').focus()")
    browser.run("document.activeElement.click()")
    assert "fault.inject" in browser.text(".event[open] .all")
    check_texts_and_sizes(browser)

    # Nothing came from elsewhere, and nothing was refused by the policy.
    others = [
        one
        for one in browser.requested()
        if not one.startswith(("chrome:", "data:", f"http://127.0.0.1:{shown.port}/"))
    ]
    assert others == []
    assert browser.log("browser") == []

    # When the program says no more, the page says that.
    shown.close()
    assert within(5, lambda: browser.run("return document.body.className") == "stale")
    assert within(5, lambda: browser.text("#news").startswith("no news for"))
    assert browser.text("#status") == "unknown"


def check_texts_and_sizes(browser):
    # Texts of others stay text. The name of an operation comes from a plugin, an error from a worker.
    hostile = "<img src=x onerror=document.title='taken'>\u202e" + "x" * 8192
    browser.run(
        "hear({kind: 'lost', device: 0, number: 1e6, at: Date.now() / 1000, text: arguments[0],"
        "      took: 0, why: {message: arguments[0], request: arguments[0]}})",
        hostile,
    )
    assert hostile[:40] in browser.text("#events")
    assert browser.run("return document.querySelectorAll('#events img').length") == 0
    assert browser.run("return document.title") == "Troupe"

    # Narrow: nothing is wider than the screen. Dark: the ground is.
    wider = "return document.documentElement.scrollWidth - innerWidth"
    for width in (360, 1200):
        browser.resize(width, 780)
        assert browser.run(wider) <= 0, width
    ground = "return parseInt(getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0])"
    browser.prefer("dark")
    assert browser.run(ground) < 60
    browser.prefer("light")
    assert browser.run(ground) > 200
