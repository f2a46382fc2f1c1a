"""Chromium without a window, for tests of pages that people look at."""

import fcntl
import json
import os
import select
import shutil
import signal
import time
from pathlib import Path
from typing import Any

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Browser:
    """Chromium without a window, over its debugging pipe."""

    def __init__(self, directory: Path) -> None:
        read, self._write = os.pipe()
        self._read, write = os.pipe()
        high = [fcntl.fcntl(each, fcntl.F_DUPFD, 10) for each in (read, write)]
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe"]
        log = str(directory / "chromium.log")
        self.pid = os.posix_spawn(
            str(CHROMIUM),
            [str(CHROMIUM), *options, f"--user-data-dir={directory / 'profile'}", "about:blank"],
            os.environ,
            file_actions=[
                *((os.POSIX_SPAWN_DUP2, theirs, number) for theirs, number in zip(high, (3, 4), strict=True)),
                (os.POSIX_SPAWN_OPEN, 2, log, os.O_WRONLY | os.O_CREAT, 0o600),
            ],
            setpgroup=0,
        )
        for each in (read, write, *high):
            os.close(each)
        self._number, self._heard, self._session = 0, b"", {}
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = {"sessionId": self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]}

    def ask(self, method: str, **parameters: Any) -> Any:
        """The answer to one command."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters, **self._session}
        os.write(self._write, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + 60
        while True:
            while b"\0" in self._heard:
                one, _, self._heard = self._heard.partition(b"\0")
                answer = json.loads(one)
                if answer.get("id") == self._number:
                    assert "error" not in answer, answer
                    return answer["result"]
            ready, _, _ = select.select([self._read], [], [], max(0, deadline - time.monotonic()))
            assert ready, f"Chromium does not answer {method}"
            heard = os.read(self._read, 1 << 20)
            assert heard, "Chromium is gone"
            self._heard += heard

    def value(self, expression: str) -> Any:
        """What an expression gives in the page, awaited if it is a promise."""
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def open(self, address: str) -> None:
        """Go to an address anew, and wait until the page is there."""
        self.ask("Page.navigate", url="about:blank")
        self.ask("Page.navigate", url=address)
        self.value("new Promise(done => document.readyState === 'complete' ? done() : addEventListener('load', done))")

    def press(self, *keys: str) -> None:
        """Press keys one after the other, as a person would."""
        for key in keys:
            text = {"text": key} if len(key) == 1 else {}
            self.ask("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
            self.ask("Input.dispatchKeyEvent", type="keyUp", key=key)

    def close(self) -> None:
        """End it with all its processes."""
        os.close(self._write)
        os.close(self._read)
        os.killpg(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


def assert_that_it_fits_and_can_be_read(browser: Browser, address: str, width: int, colours: str) -> None:
    """Nothing sticks out of a page of that width, and its text stands out, in light or dark colours."""
    browser.ask("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
    browser.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": colours}])
    browser.open(address)
    assert browser.value("document.documentElement.scrollWidth") <= width
    paper, ink = (browser.value(f"getComputedStyle(document.body).{name}") for name in ("backgroundColor", "color"))
    contrast = _brightness(paper) - _brightness(ink)
    assert (contrast if colours == "light" else -contrast) > 150
    browser.ask("Emulation.clearDeviceMetricsOverride")
    browser.ask("Emulation.setEmulatedMedia", features=[])


def _brightness(colour: str) -> float:
    parts = [float(part) for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    return sum(parts) / 3
