"""Serves the site on loopback, under an address instead of a file."""

from __future__ import annotations

import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

from sparkassets.errors import InputError

HOST = "127.0.0.1"
_NAMES = frozenset({HOST, "localhost", "[::1]"})


class SiteServer:
    """A folder under ``http://127.0.0.1:PORT/``; nothing but this machine reaches it."""

    def __init__(self, folder: Path, port: int) -> None:
        try:
            self._server = ThreadingHTTPServer((HOST, port), partial(_SiteRequestHandler, directory=str(folder)))
        except OSError as error:
            raise InputError(f"cannot serve on port {port}: {error.strerror or error}") from error
        self._thread = threading.Thread(target=self._server.serve_forever, name="report", daemon=True)

    @property
    def address(self) -> str:
        """Where the site is."""
        return f"http://{HOST}:{self._server.server_address[1]}/"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class _SiteRequestHandler(SimpleHTTPRequestHandler):
    """Hands out the site's files, to this machine's browsers alone."""

    def send_head(self) -> Any:  # noqa: ANN401  the standard library's signature
        if (
            self.headers.get("Host", "").rpartition(":")[0] not in _NAMES
        ):  # a page elsewhere may call itself by any name
            self.send_error(403)
            return None
        return super().send_head()

    def list_directory(self, _: Any) -> None:  # noqa: ANN401
        """Shows no folders."""
        self.send_error(404)

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "no-cache")
        self.send_header("X-Content-Type-Options", "nosniff")
        super().end_headers()

    def log_message(self, *_: Any) -> None:  # noqa: ANN401
        """Logs no requests."""
