"""Writes the report as a static site, never seen half written, and serves it on loopback.

All but ``index.html`` has a name that tells what is in it, so nothing that a reader has open changes below them:
the data of one writing is in a folder of its own, and ``index.html``, which names that folder, is written last. The
data that was there before is kept for who still has it open, and what is older is removed.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from html import escape
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from typing import Any, Self

from sparkassets.core.documents.report import ReportDocuments
from sparkassets.digests import blake2b
from sparkassets.errors import InputError
from sparkassets.files.folders import FileFolder, open_folder
from sparkassets.frozen import frozen

INDEX = "index.html"
SHARD = 300_000
"""Characters of a file of assets, about: what a reader loads to see one of them."""

SCRIPTS = (
    "dom.js",
    "data.js",
    "format.js",
    "parts.js",
    "grid.js",
    "graph.js",
    "timeline.js",
    "overview.js",
    "assets.js",
    "asset.js",
    "runs.js",
    "datasets.js",
    "search.js",
    "main.js",
)
"""The site's own scripts, in the order in which they build on one another."""

_MADE_BY = '<meta name="generator" content="sparkassets report">'
_OURS = re.compile(r"[0-9a-f]{16}")
TRIES = 3
"""How often a site is written whose files others remove as they write theirs."""
_UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
_TRANSLATED = str.maketrans(_UNSAFE)


@frozen
class WrittenSite:
    """The written site.

    Attributes:
        index: The page to open.
        files: How many files the site has, ``bytes`` all of them together.
    """

    index: str
    files: int
    bytes: int


def write_site(report: ReportDocuments, place: str) -> WrittenSite:
    """Writes the site to a folder on a disk or in an object store, or writes it again there.

    Raises:
        InputError: The folder holds something else, or cannot be written.
    """
    folder = open_folder(place)
    try:
        before = _before(folder, place)
        return _write(folder, report, place=place, before=before)
    except OSError as error:
        raise InputError(f"the report cannot be written to '{place}': {_line(error)}") from error


def _before(folder: FileFolder, place: str) -> bytes | None:
    """The page that is there."""
    page = folder.read_file(INDEX)
    others = {name for name in folder.list_names() if not name.startswith(f".{INDEX}.")} - {"static", "data"}
    if page is None and not others:  # nothing, or what is left of one that never came to its end
        return None
    if page is None or _MADE_BY.encode() not in page:
        hint = "give a new folder, or one with an earlier report"
        raise InputError(f"'{place}' contains files that are not a report; nothing was written", hint=hint)
    return page


def _write(folder: FileFolder, report: ReportDocuments, *, place: str, before: bytes | None) -> WrittenSite:
    data = _data(report)
    name = _digest(data.values())
    site = {**dict(_static()), **{f"data/{name}/{file}": content for file, content in data.items()}}
    index = _page(report, scripts=[file for file in site if file.startswith("static/")], data=name).encode()
    named = index + (before or b"")
    for _ in range(TRIES):
        for file, content in site.items():
            folder.write(file, content)
        folder.write(INDEX, index)
        for above in ("data", "static"):
            for old in folder.list_folders(above):
                if _OURS.fullmatch(old) and old.encode() not in named:
                    folder.remove(f"{above}/{old}")
        if {*folder.list_folders("data"), *folder.list_folders("static")} >= {file.split("/")[1] for file in site}:
            break  # else somebody else who wrote here meanwhile took it for what is left of an older one
    sizes = [len(index), *map(len, site.values())]
    return WrittenSite(f"{place.rstrip('/')}/{INDEX}", len(sizes), sum(sizes))


def _static() -> Iterator[tuple[str, bytes]]:
    """The files that are the same for every project."""
    folder = files(__package__) / "static"
    scripts = "\n".join((folder / name).read_text(encoding="utf-8") for name in SCRIPTS)
    vendor = folder / "vendor"
    contents = {
        "report.css": (folder / "report.css").read_bytes(),
        "dagre.js": (vendor / "dagre.min.js").read_bytes(),
        "report.js": f'(() => {{\n"use strict";\n{scripts}}})();\n'.encode(),
        "LICENSES.txt": (vendor / "dagre.LICENSE.txt").read_bytes(),
    }
    version = _digest(contents.values())
    for name, content in contents.items():
        yield f"static/{version}/{name}", content


def _data(report: ReportDocuments) -> dict[str, bytes]:
    """The scripts that hold the documents, by name."""
    shards = [*_shards(report.assets)]
    places = {str(page["name"]): place for place, shard in enumerate(shards) for page in shard}
    scripts = {f"assets-{place}.js": _script(f"assets-{place}", shard) for place, shard in enumerate(shards)}
    scripts["runs.js"] = _script("runs", report.past)
    scripts["index.js"] = _script("index", {**report.index, "shards": places})
    return scripts


def _shards(pages: Sequence[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    """The assets in lists that give files of about the same size."""
    shard: list[Mapping[str, Any]] = []
    size = 0
    for page in pages:
        shard.append(page)
        size += len(_json(page))
        if size >= SHARD:
            yield shard
            shard, size = [], 0
    if shard:
        yield shard


def _script(name: str, document: object) -> bytes:
    """A script that passes a document to the page: pages opened from disk may load scripts only."""
    return f"sparkassetsReport({_json(name)}, {_json(document)});\n".encode()


def _json(document: object) -> str:
    """JSON that is safe as JavaScript, also inside HTML."""
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    return text.translate(_TRANSLATED)


def _page(report: ReportDocuments, *, scripts: Sequence[str], data: str) -> str:
    named = {name.rpartition("/")[2]: name for name in scripts}
    template = (files(__package__) / "static" / INDEX).read_text(encoding="utf-8")
    fields = {
        "generator": _MADE_BY,
        "title": escape(report.project),
        "data": data,
        "at": str(report.at),
        "css": named["report.css"],
        "dagre": named["dagre.js"],
        "script": named["report.js"],
        "licences": named["LICENSES.txt"],
    }
    return re.sub(r"\{\{ (\w+) \}\}", lambda match: fields[match[1]], template)


def _digest(contents: Iterable[bytes]) -> str:
    digest = blake2b(digest_size=8)
    for content in contents:
        digest.update(content)
    return digest.hexdigest()


def _line(error: OSError) -> str:
    return (error.strerror or str(error)).partition("\n")[0]


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
