"""A headless Chromium, driven by the W3C's WebDriver protocol: a few requests of HTTP."""

import base64
import contextlib
import json
import shutil
import subprocess
import time
import urllib.request

import pytest


class Browser:
    def __init__(self, driver_url, profile):
        self.driver_url = driver_url
        options = {
            "args": [
                "--headless=new",
                "--no-sandbox",  # tests may run as root
                "--disable-gpu",
                "--disable-background-networking",
                f"--user-data-dir={profile}",
            ]
        }
        wanted = {
            "browserName": "chrome",
            "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        }
        made = self._send("/session", {"capabilities": {"alwaysMatch": wanted}})
        self.session = "/session/" + made["sessionId"]

    def _send(self, path, body=None, method=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            self.driver_url + path, data, {"Content-Type": "application/json"}, method=method
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)["value"]

    def open(self, url):
        self._send(self.session + "/url", {"url": url})

    def run(self, script, *arguments):
        """What the function body `script` returns."""
        return self._send(
            self.session + "/execute/sync", {"script": script, "args": list(arguments)}
        )

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0])?.innerText ?? ''", selector)

    def resize(self, width, height):
        """The page's own size: a window has a least width."""
        self._devtools(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
        )

    def prefer(self, scheme):
        """ "light" or "dark"."""
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self._devtools("Emulation.setEmulatedMedia", {"features": [feature]})

    def _devtools(self, command, parameters):
        return self._send(
            self.session + "/goog/cdp/execute", {"cmd": command, "params": parameters}
        )

    def log(self, kind):
        return self._send(self.session + "/se/log", {"type": kind})

    def requested(self):
        """The addresses of all requests so far."""
        messages = [json.loads(one["message"])["message"] for one in self.log("performance")]
        return [
            one["params"]["request"]["url"]
            for one in messages
            if one["method"] == "Network.requestWillBeSent"
        ]

    def picture(self, path):
        path.write_bytes(base64.b64decode(self._send(self.session + "/screenshot")))

    def close(self):
        with contextlib.suppress(OSError):
            self._send(self.session, method="DELETE")


def within(seconds, condition):
    """What `condition()` is as soon as it is true; false after so many seconds."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value or time.monotonic() > end:
            return value
        time.sleep(0.02)


@contextlib.contextmanager
def opened(folder):
    """A browser whose files lie in `folder`."""
    program = shutil.which("chromedriver")
    if program is None:
        pytest.skip("no chromedriver: `apt-get install chromium-driver`, or `./dev setup`")
    driver = subprocess.Popen(
        [program, "--port=0", f"--log-path={folder / 'driver.log'}"],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        port = None
        for line in driver.stdout:
            if "started successfully on port" in line:
                port = int(line.rstrip(".\n").rsplit(" ", 1)[1])
                break
        assert port, "chromedriver does not start"
        browser = Browser(f"http://127.0.0.1:{port}", folder / "profile")
        try:
            yield browser
        finally:
            browser.close()
    finally:
        driver.terminate()
        driver.wait()
