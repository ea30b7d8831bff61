"""`UiServer`: the live page on loopback, for the browser that has its token."""

from __future__ import annotations

import gzip
import secrets
import threading
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any, Final, Self
from urllib.parse import parse_qs, unquote, urlsplit

import msgspec

from sparkassets.errors import InputError
from sparkassets.features.ui.commands import CommandRequest, CommandRunner, StartedCommand
from sparkassets.features.ui.live_report import LiveReport
from sparkassets.report.site import POLICY as FILE_POLICY
from sparkassets.report.site import join_policy, page_files, write_page

HOST: Final = "127.0.0.1"
POLICY: Final = {**FILE_POLICY, "script-src": "'self'", "style-src": "'self'", "connect-src": "'self'"}
HEADER: Final = "X-Sparkassets"
"""A header that no form and no link of another site can send."""
MOST_BYTES: Final = 64 * 1024
"""Longest body of a request."""
WORTH_COMPRESSING: Final = 4096
TYPES: Final = {"css": "text/css", "js": "text/javascript", "txt": "text/plain"}
SCRIPTS: Final = ("live.js", "actions.js")


class BrowserAccess:
    """Who may ask the server: a browser that was opened with the token, by a page of this server.

    Other programs and users of the machine reach a loopback port, and pages of other sites reach it through the
    browser: by a name that they resolve to 127.0.0.1, or by requests in the user's name.

    Attributes:
        token: What the address that is printed holds.
    """

    def __init__(self, port: int) -> None:
        self.token = secrets.token_urlsafe(24)
        self._session = secrets.token_urlsafe(24)
        self._cookie = f"sparkassets-{port}"  # browsers send a cookie to every port of a host
        self._hosts = frozenset(f"{name}:{port}" for name in (HOST, "localhost"))

    def allows_host(self, headers: Mapping[str, str]) -> bool:
        """Whether the browser asked for this server by its own name."""
        return headers.get("Host", "") in self._hosts

    def allows_token(self, token: str) -> bool:
        """Whether it is the token."""
        return secrets.compare_digest(token.encode(), self.token.encode())

    def allows_session(self, headers: Mapping[str, str]) -> bool:
        """Whether the request has the cookie."""
        try:
            cookie = SimpleCookie(headers.get("Cookie", "")).get(self._cookie)
        except CookieError:
            return False
        return cookie is not None and secrets.compare_digest(cookie.value.encode(), self._session.encode())

    def allows_change(self, headers: Mapping[str, str]) -> bool:
        """Whether the request comes from a script of this server's own page."""
        return headers.get("Origin", "") == f"http://{headers.get('Host', '')}" and headers.get(HEADER) == "1"

    def cookie(self) -> str:
        """The header that gives a browser the cookie, for as long as it is open."""
        return f"{self._cookie}={self._session}; Path=/; HttpOnly; SameSite=Strict"


class UiServer:
    """Serves a report, and starts the commands that its page asks for.

    Raises:
        InputError: The port is in use.
    """

    def __init__(self, report: LiveReport, commands: CommandRunner, *, port: int) -> None:
        try:
            self._server = ThreadingHTTPServer((HOST, port), partial(_RequestHandler, self))
        except OSError as error:
            raise InputError(f"cannot serve on port {port}: {error.strerror or error}") from error
        self._server.daemon_threads = True
        self.access = BrowserAccess(self._server.server_address[1])
        folder = files(__package__) / "static"
        texts = [(folder / name).read_text(encoding="utf-8") for name in SCRIPTS]
        static = page_files(texts, style=(folder / "ui.css").read_text(encoding="utf-8"))
        self.report, self.commands, self.static = report, commands, static
        self._thread = threading.Thread(target=self._server.serve_forever, name="ui", daemon=True)

    @property
    def address(self) -> str:
        """Where the page is, with the token."""
        return f"http://{HOST}:{self._server.server_address[1]}/?token={self.access.token}"

    def page(self) -> bytes:
        """The page that loads all else."""
        attributes = {"actions": "on" if self.commands.allows_changes else "off"}
        return write_page(self.report.project, self.static, attributes=attributes, policy=POLICY).encode()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self.commands.close()


class _RequestHandler(BaseHTTPRequestHandler):
    """Answers one request after another of one connection."""

    protocol_version = "HTTP/1.1"
    timeout = 60

    def __init__(self, site: UiServer, *arguments: Any) -> None:  # noqa: ANN401  the standard library's
        self._site = site
        super().__init__(*arguments)

    def do_GET(self) -> None:
        """Answers with the page, its files and its documents."""
        path, headers = urlsplit(self.path), self._headers()
        token = parse_qs(path.query).get("token", [""])[0]
        if not self._site.access.allows_host(headers):
            self._refuse(HTTPStatus.FORBIDDEN, "this server answers only at its own address")
        elif path.path == "/" and token and self._site.access.allows_token(token):
            self._send(self._site.page(), "text/html", headers={"Set-Cookie": self._site.access.cookie()})
        elif not self._site.access.allows_session(headers):
            self._refuse(HTTPStatus.UNAUTHORIZED, "open the address that `sparkassets ui` has printed")
        elif path.path == "/":
            self._send(self._site.page(), "text/html")
        elif (content := self._site.static.get(path.path[1:])) is not None:
            kind = TYPES[path.path.rpartition(".")[2]]
            self._send(content, kind, headers={"Cache-Control": "private, max-age=31536000, immutable"})
        else:
            self._send_document(unquote(path.path), headers)

    def do_POST(self) -> None:
        """Starts or stops a command."""
        headers, access = self._headers(), self._site.access
        length = int(headers["Content-Length"]) if headers.get("Content-Length", "").isdecimal() else MOST_BYTES + 1
        if length > MOST_BYTES:
            self.close_connection = True
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "the request is too long")
            return
        body = self.rfile.read(length)  # also of a refused request: the next one on the connection follows it
        if not (access.allows_host(headers) and access.allows_session(headers) and access.allows_change(headers)):
            self._refuse(HTTPStatus.FORBIDDEN, "commands are only taken from this server's own page")
            return
        try:
            self._send_command(self._post(urlsplit(self.path).path, body))
        except (InputError, msgspec.ValidationError, msgspec.DecodeError) as error:
            known = error if isinstance(error, InputError) else InputError(f"the request is not valid: {error}")
            document = {"error": {"message": str(known.args[0]), "hint": known.hint}}
            self._send(msgspec.json.encode(document), "application/json", status=HTTPStatus.BAD_REQUEST)

    def _post(self, path: str, body: bytes) -> StartedCommand | None:
        """The command that a request starts or stops; None if there is none of its number."""
        commands = self._site.commands
        if path == "/commands":
            return commands.start(msgspec.json.decode(body, type=CommandRequest))
        command = self._find_command(path.removesuffix("/stop")) if path.endswith("/stop") else None
        if command is not None:
            command.stop()
        return command

    def _find_command(self, path: str) -> StartedCommand | None:
        number = path.removeprefix("/commands/")
        return self._site.commands.get(int(number)) if number.isdecimal() and number.isascii() else None

    def _send_document(self, path: str, headers: Mapping[str, str]) -> None:
        """Sends what the page shows."""
        report = self._site.report
        if path == "/data/index":
            version, differences = report.index(headers.get("If-None-Match", "").strip('"'))
            if differences is None:
                self._send(b"", "application/json", status=HTTPStatus.NOT_MODIFIED)
            else:
                self._send(differences, "application/json", headers={"ETag": f'"{version}"'})
        elif path == "/data/runs":
            self._send(report.runs(), "application/json")
        elif path.startswith("/data/assets/") and (page := report.page(path.removeprefix("/data/assets/"))):
            self._send(page, "application/json")
        elif path == "/commands":
            self._send(
                msgspec.json.encode([each.document() for each in self._site.commands.running()]), "application/json"
            )
        elif path.startswith("/commands/"):
            self._send_command(self._find_command(path))
        else:
            self._refuse(HTTPStatus.NOT_FOUND, "there is no such page")

    def _send_command(self, command: StartedCommand | None) -> None:
        if command is None:
            self._refuse(HTTPStatus.NOT_FOUND, "there is no such command")
        else:
            self._send(msgspec.json.encode(command.document()), "application/json")

    def _refuse(self, status: HTTPStatus, text: str) -> None:
        self._send(f"{text}\n".encode(), "text/plain", status=status)

    def _send(
        self,
        content: bytes,
        kind: str,
        *,
        status: HTTPStatus = HTTPStatus.OK,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Sends a whole answer, compressed if that is worth it and the browser takes it."""
        sent = {
            "Content-Type": f"{kind}; charset=utf-8",
            "Cache-Control": "no-store",
            "Content-Security-Policy": join_policy({**POLICY, "frame-ancestors": "'none'"}),
            "Cross-Origin-Resource-Policy": "same-origin",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
            **(headers or {}),
        }
        if len(content) > WORTH_COMPRESSING and "gzip" in self.headers.get("Accept-Encoding", ""):
            content = gzip.compress(content, compresslevel=1)
            sent["Content-Encoding"] = "gzip"
        self.send_response(status)
        for name, value in {**sent, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        with suppress(ConnectionError):  # the browser has gone to another page
            self.wfile.write(content)

    def _headers(self) -> dict[str, str]:
        """The request's headers; of one that is given twice the first."""
        names = ("Host", "Cookie", "Origin", HEADER, "If-None-Match", "Content-Length")
        return {name: value for name in names if (value := self.headers.get(name)) is not None}

    def log_message(self, *_: Any) -> None:  # noqa: ANN401  the standard library's
        """Logs no requests."""
