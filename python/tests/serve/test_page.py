"""The service's page in a browser, which has telemetry's server behind the service."""

import pathlib
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
