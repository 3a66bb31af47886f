"""The page of the telemetry in a browser: how soon it is drawn, and what its script costs.

    python python/bench/telemetry_page.py [SECONDS]

Needs chromedriver, as the page's test does. Eight devices on the CPU answer requests all the time.
"""

import pathlib
import statistics
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "tests" / "telemetry"))

import troupe
from browser import opened

DEVICES = 8


def load(devices, ends):
    tensors = [gpu.zeros((8, 8), "f32") for gpu in devices]
    while not ends.is_set():
        for gpu, x in zip(devices, tensors, strict=True):
            gpu.memory.fill(to=x, value=1)
            gpu.blas.gemm(x, x)
        time.sleep(0.1)


def script_seconds(browser):
    told = browser._devtools("Performance.getMetrics", {})["metrics"]
    return {one["name"]: one["value"] for one in told}["ScriptDuration"]


def main(seconds=20.0):
    ends = threading.Event()
    with troupe.System() as system, tempfile.TemporaryDirectory() as folder:
        devices = [system.device(i, backend="cpu") for i in range(DEVICES)]
        worker = threading.Thread(target=load, args=(devices, ends))
        worker.start()
        with system.telemetry() as shown, opened(pathlib.Path(folder)) as browser:
            browser._devtools("Performance.enable", {"timeDomain": "threadTicks"})  # processor time
            paints = []
            for _ in range(5):
                browser.open(shown.url)
                time.sleep(1)
                paints.append(
                    browser.run("return performance.getEntriesByType('paint')[0]?.startTime ?? -1")
                )
            before = script_seconds(browser)
            time.sleep(seconds)
            spent = (script_seconds(browser) - before) / seconds
        ends.set()
        worker.join()
    print(f"first paint, median of 5: {statistics.median(paints):.0f} ms {paints}")
    print(f"script, {DEVICES} devices: {100 * spent:.2f} % of a processor")


if __name__ == "__main__":
    main(*(float(one) for one in sys.argv[1:]))
