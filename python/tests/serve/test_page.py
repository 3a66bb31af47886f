"""The pages of the service in a browser: telemetry's, and the playground."""

import os
import pathlib
import signal
import sys

sys.path.append(str(pathlib.Path(__file__).parents[1] / "telemetry"))

from browser import opened, within  # noqa: E402


def test_a_poisoned_text_is_on_the_page(serving, tmp_path):
    with opened(tmp_path) as browser:
        browser.open(serving.url + "/")
        assert within(10, lambda: browser.text("#status") == "ready")
        body = {"model": "tiny", "input": ["one", "poison in a browser", "two"]}
        assert serving.post("/v1/embeddings", body).status_code == 424
        assert within(5, lambda: "ended by SIGSEGV" in browser.text("#events"))
        assert within(5, lambda: "dnn.graph" in browser.text("#operations"))
        rows = "#models tbody tr"
        assert within(
            5, lambda: browser.run(f"return document.querySelectorAll('{rows}').length >= 3")
        )
        tiny = f"[...document.querySelectorAll('{rows}')].find((one) => one.innerText.startsWith('tiny'))"
        assert within(5, lambda: browser.run(f"return +{tiny}.cells[8].innerText") > 0)  # culprits
        assert within(
            5, lambda: browser.run(f"return +{tiny}.cells[9].innerText") > 0
        )  # quarantine
        for _ in range(20):
            serving.post("/v1/embeddings", {"model": "tiny", "input": ["one", "two"]})
        assert within(5, lambda: browser.run(f"return parseFloat({tiny}.cells[1].innerText)") > 0)
        assert "ms" in browser.run(f"return {tiny}.cells[2].innerText") or "µs" in browser.run(
            f"return {tiny}.cells[2].innerText"
        )
        assert browser.log("browser") == []
        web = [one for one in browser.requested() if one.startswith("http")]
        assert web and all(one.startswith(serving.url) for one in web)


def test_streams_go_on_in_the_playground(talking, tmp_path):
    talking.service.models["talk"].forgive()
    device = talking.service.device
    with opened(tmp_path) as browser:
        browser.resize(1100, 800)
        browser.open(talking.url + "/playground")
        assert within(10, lambda: browser.text("#model") == "talk")
        browser.run("document.getElementById('most').value = 300")
        browser.run("document.getElementById('many').click()")
        shown = "return document.querySelectorAll('article p')[0]?.innerText.length ?? 0"
        assert within(20, lambda: browser.run(shown) > 5)
        generation = device.generation
        os.kill(device.worker_pid, signal.SIGKILL)
        browser.run("document.getElementById('prompt').value = 'some poison'")
        browser.run("document.getElementById('send').click()")
        of = "return document.querySelectorAll(arguments[0]).length"
        assert within(60, lambda: browser.run(of, "article.done") == 8)
        assert within(20, lambda: browser.run(of, "article.failed") == 1)
        assert "device_fault: this input ended" in browser.text("article.failed")
        assert within(5, lambda: f"worker {device.generation}: ready" in browser.text("#device"))
        assert device.generation > generation
        browser.picture(tmp_path / "playground.png")
        # The poisoned answer's status is in the console, and nothing else.
        assert all("424" in one["message"] for one in browser.log("browser"))
        web = [one for one in browser.requested() if one.startswith("http")]
        assert web and all(one.startswith(talking.url) for one in web)
