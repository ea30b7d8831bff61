"""A proxy on loopback before an S3 API, which loses answers, refuses and stalls: real bytes on real connections.

It is a process of its own, ``python -m tests.integration.lossy ADDRESS``, as deltalake holds Python's lock while it
waits for some of its answers.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

What = Literal["lose", "busy", "deny", "stall", "cut"]
"""Carry it out and give no answer; 503; 403; give no answer for a while, or hang up halfway, and carry nothing out."""

LOG_ENTRY = r"PUT .*/_delta_log/\d{20}\.json"
NONE = range(0)
CONTROL = "/lossy-control"
STALL_SECONDS = 3.0
NOT_PASSED_ON = {"connection", "transfer-encoding", "keep-alive"}
BODIES = {
    "busy": (503, b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"),
    "deny": (403, b"<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"),
}


@dataclass
class Lossy:
    """A proxy that was started.

    Attributes:
        address: Its own.
    """

    address: str

    def begin(self, what: What = "lose", which: str = LOG_ENTRY, at: range = NONE) -> None:
        """From here on those of the requests fail whose method and path match, counted from 1; it is counted again."""
        body = {"what": what, "which": which, "at": [at.start, at.stop, at.step]}
        urlopen(Request(self.address + CONTROL, json.dumps(body).encode())).close()  # noqa: S310  loopback

    def requests(self) -> list[str]:
        """Method and path of those since it began."""
        with urlopen(self.address + CONTROL) as answer:  # noqa: S310  loopback
            return list(json.load(answer))


@contextlib.contextmanager
def before(address: str) -> Iterator[Lossy]:
    """A proxy before an S3 API."""
    command = [sys.executable, "-m", "tests.integration.lossy", address]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as proxy:
        try:
            assert proxy.stdout is not None
            yield Lossy(proxy.stdout.readline().strip())
        finally:
            proxy.terminate()


@dataclass
class Fates:
    """What becomes of requests."""

    what: str = "lose"
    which: str = LOG_ENTRY
    at: range = NONE
    seen: list[str] = field(default_factory=list)
    matched: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, told: dict[str, Any]) -> None:
        with self.lock:
            self.what, self.which, self.at = told["what"], told["which"], range(*told["at"])
            self.seen, self.matched = [], 0

    def of(self, request: str) -> str | None:
        """None for those that go well."""
        with self.lock:
            self.seen.append(request)
            if not re.match(self.which, request):
                return None
            self.matched += 1
            return self.what if self.matched in self.at else None


class Handler(BaseHTTPRequestHandler):
    """One connection of a client's."""

    protocol_version = "HTTP/1.1"
    fates = Fates()
    store = urlsplit("")

    def log_message(self, *_: object) -> None:
        """Says nothing."""

    def handle_one_request(self) -> None:
        with contextlib.suppress(ConnectionError, TimeoutError):
            super().handle_one_request()

    def pass_on(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        if self.path == CONTROL:
            if length:
                self.fates.begin(json.loads(self.rfile.read(length)))
            self.answer(200, {}, json.dumps(self.fates.seen).encode())
            return
        fate = self.fates.of(f"{self.command} {self.path}")
        body = (
            self.chunks(1 if fate == "cut" else None)
            if self.is_chunked
            else self.rfile.read(length // 2 if fate == "cut" else length)
        )
        if fate == "cut":
            self.close_connection = True
        elif fate in BODIES:
            status, content = BODIES[fate]
            self.answer(status, {"Content-Type": "application/xml"}, content)
        elif fate == "stall":
            time.sleep(STALL_SECONDS)
            self.close_connection = True
        else:
            found, content = self.carried_out(body)
            if fate == "lose":
                self.close_connection = True
            else:
                self.answer(found.status, dict(found.getheaders()), content)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = pass_on  # noqa: N815  as http.server has them

    @property
    def is_chunked(self) -> bool:
        return self.headers.get("Transfer-Encoding", "").lower() == "chunked"

    def chunks(self, most: int | None) -> bytes:
        """A body that comes piece by piece, or so many pieces of it."""
        found: list[bytes] = []
        while (most is None or len(found) < most) and (size := int(self.rfile.readline().split(b";")[0], 16)):
            found.append(self.rfile.read(size))
            self.rfile.readline()
        if most is None:
            self.rfile.readline()
        return b"".join(found)

    def carried_out(self, body: bytes) -> tuple[http.client.HTTPResponse, bytes]:
        store = http.client.HTTPConnection(self.store.hostname or "", self.store.port or 0, timeout=60)
        headers = {name: value for name, value in self.headers.items() if name.lower() not in NOT_PASSED_ON}
        store.request(self.command, self.path, body, headers)
        found = store.getresponse()
        content = found.read()
        store.close()
        return found, content

    def answer(self, status: int, headers: dict[str, str], content: bytes) -> None:
        self.send_response_only(status)
        for name, value in headers.items():
            if name.lower() not in NOT_PASSED_ON | {"content-length"}:
                self.send_header(name, value)
        length = headers.get("Content-Length", headers.get("content-length")) if self.command == "HEAD" else None
        self.send_header("Content-Length", length or str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)


if __name__ == "__main__":
    Handler.store = urlsplit(sys.argv[1])
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    sys.stdout.write(f"http://127.0.0.1:{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()
