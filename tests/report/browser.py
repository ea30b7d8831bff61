"""A headless Chromium by its own protocol, through a pipe: opens pages, asks them, and tells what their scripts did."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
SECONDS = 60


def chromium() -> str | None:
    """The browser of this machine; None where it has none."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One page of a browser.

    Attributes:
        problems: What its scripts raised, or said as an error; what the browser refused them.
        asked: The addresses of all that it loaded.
    """

    def __init__(self, process: subprocess.Popen[bytes], write: int, read: int) -> None:
        self._process, self._write, self._read = process, write, read
        self._number, self._left = 0, b""
        self.problems: list[str] = []
        self.asked: list[str] = []
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session: str | None = None
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")

    def size(self, width: int, height: int, *, phone: bool = False) -> None:
        """What the page has to lay itself out in."""
        told = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone}
        self._call("Emulation.setDeviceMetricsOverride", **told)

    def dark(self, *, on: bool) -> None:
        """Whether the system is dark."""
        feature = {"name": "prefers-color-scheme", "value": "dark" if on else "light"}
        self._call("Emulation.setEmulatedMedia", features=[feature])

    def open(self, address: str) -> None:
        """Goes to an address, and waits until its page is laid out."""
        path, _, place = address.partition("#")
        self._call("Page.navigate", url=address)
        wanted = json.dumps(f"#{place}" if place else "#/")
        self.until(f"document.getElementById('main')?.dataset.ready === {wanted}")
        assert path

    def leave(self) -> None:
        """Leaves the page, so that the next one is loaded again."""
        self._call("Page.navigate", url="about:blank")
        self.until("location.href === 'about:blank'")

    def until(self, expression: str) -> None:
        """Waits until something holds in the page."""
        end = time.monotonic() + SECONDS
        while not self.ask(f"Boolean({expression})"):
            if time.monotonic() > end:
                raise TimeoutError(f"{expression}; {self.problems}")
            time.sleep(0.02)

    def ask(self, expression: str) -> Any:
        """What an expression is in the page."""
        found = self._call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            raise AssertionError(found["exceptionDetails"])
        return found["result"].get("value")

    def press(self, key: str) -> None:
        """Presses a key."""
        text = {"text": key} if len(key) == 1 else {}
        code = {
            "Tab": 9,
            "Enter": 13,
            "Escape": 27,
            "ArrowLeft": 37,
            "ArrowUp": 38,
            "ArrowRight": 39,
            "ArrowDown": 40,
        }.get(key, 0)
        if key == "Enter":
            text = {"text": "\r"}
        for kind in ("keyDown", "keyUp"):
            told = {"key": key, "windowsVirtualKeyCode": code, **(text if kind == "keyDown" else {})}
            self._call("Input.dispatchKeyEvent", type=kind, **told)

    def picture(self, path: Path) -> None:
        """Writes what is seen to a file."""
        found = self._call("Page.captureScreenshot", format="png")
        path.write_bytes(base64.b64decode(found["data"]))

    def close(self) -> None:
        """Lets the browser end, with all of its processes."""
        self._session = None
        self._call("Browser.close")
        self._process.wait(timeout=SECONDS)

    def _call(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        told: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if getattr(self, "_session", None):
            told["sessionId"] = self._session
        os.write(self._write, json.dumps(told).encode() + b"\0")
        while True:
            message = self._next()
            if message.get("id") == self._number:
                if "error" in message:
                    raise AssertionError(message["error"])
                return dict(message["result"])
            self._heard(message)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._left:
            ready, _, _ = select.select([self._read], [], [], SECONDS)
            if not ready or self._process.poll() is not None:
                raise TimeoutError("the browser does not answer")
            self._left += os.read(self._read, 1 << 20)
        line, self._left = self._left.split(b"\0", 1)
        return dict(json.loads(line))

    def _heard(self, message: dict[str, Any]) -> None:
        params = message.get("params", {})
        match message.get("method"):
            case "Runtime.exceptionThrown":
                details = params["exceptionDetails"]
                self.problems.append(details.get("exception", {}).get("description", details["text"]))
            case "Runtime.consoleAPICalled" if params["type"] in ("error", "warning", "assert"):
                self.problems.append(str([each.get("value", each.get("description")) for each in params["args"]]))
            case "Log.entryAdded" if params["entry"]["level"] in ("error", "warning"):
                self.problems.append(params["entry"]["text"])
            case "Network.requestWillBeSent":
                self.asked.append(params["request"]["url"])


@contextmanager
def browsing(folder: Path) -> Iterator[Browser]:
    """A browser with a profile of its own in a folder."""
    command = chromium()
    assert command is not None
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-extensions"]
    more = [f"--user-data-dir={folder}", "--disable-background-networking", "--remote-debugging-pipe", "about:blank"]

    def connect() -> None:
        read, write = (fcntl.fcntl(each, fcntl.F_DUPFD, 10) for each in (theirs_in, theirs_out))  # away from 3 and 4
        os.dup2(read, 3)
        os.dup2(write, 4)

    with subprocess.Popen(
        [command, *flags, *more],
        preexec_fn=connect,  # noqa: PLW1509  the protocol is spoken through descriptors 3 and 4
        close_fds=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        os.close(theirs_in)
        os.close(theirs_out)
        try:
            browser = Browser(process, ours_out, ours_in)
            yield browser
            browser.close()
        finally:
            process.kill()
            os.close(ours_out)
            os.close(ours_in)
