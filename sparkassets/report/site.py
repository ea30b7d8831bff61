"""Writes the report as a static site, never seen half written.

All but ``index.html`` has a name that tells what is in it, so nothing that a reader has open changes below them:
the data of one writing is in a folder of its own, and ``index.html``, which names that folder, is written last. The
data that was there before is kept for who still has it open, and what is older is removed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any

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
    "renewal.js",
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
"""The scripts of every page, in the order in which they build on one another; the last one starts the page."""
FILE_SCRIPT = "files.js"
"""Loads documents from files beside the page; a server's page loads them in its own way."""
POLICY = {
    "default-src": "'none'",
    "script-src": "'self' file:",
    "style-src": "'self' file:",
    "img-src": "data:",
    "base-uri": "'none'",
    "form-action": "'none'",
}
"""What a browser lets a page that is opened from a disk load."""

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
        raise InputError(
            f"the report cannot be written to '{place}': {_line(error)}", topic="output-not-writable"
        ) from error


def _before(folder: FileFolder, place: str) -> bytes | None:
    """The page of the report that the folder holds; None if there is none yet.

    Raises:
        InputError: The folder holds files that are no report.
    """
    page = folder.read_file(INDEX)
    others = {name for name in folder.list_names() if not name.startswith(f".{INDEX}.")} - {"static", "data"}
    if page is None and not others:  # nothing, or what is left of one that never came to its end
        return None
    if page is None or _MADE_BY.encode() not in page:
        hint = "give a new folder, or one with an earlier report"
        raise InputError(f"'{place}' contains files that are not a report; nothing was written", hint=hint)
    return page


def _write(folder: FileFolder, report: ReportDocuments, *, place: str, before: bytes | None) -> WrittenSite:
    """Writes data and static files to new folders, then the page that names them; then removes older folders.

    The folders are named by a digest of their content. Those that the page ``before`` names stay, as a reader may have
    that page open.
    """
    data = _data(report)
    name = _digest(data.values())
    static = page_files([(files(__package__) / "static" / FILE_SCRIPT).read_text(encoding="utf-8")])
    site = {**static, **{f"data/{name}/{file}": content for file, content in data.items()}}
    attributes = {"folder": name, "at": str(report.at)}
    index = write_page(report.project, static, attributes=attributes, policy=POLICY).encode()
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
            break  # else another process that wrote here meanwhile has removed some as older: write them again
    sizes = [len(index), *map(len, site.values())]
    return WrittenSite(f"{place.rstrip('/')}/{INDEX}", len(sizes), sum(sizes))


def page_files(scripts: Sequence[str], *, style: str = "") -> dict[str, bytes]:
    """The files beside a page that are the same for every project, by their paths.

    Args:
        scripts: Further scripts; they load the documents by ``load`` and ``pageOf``.
        style: Further rules for the style sheet.
    """
    folder = files(__package__) / "static"
    *shared, start = ((folder / name).read_text(encoding="utf-8") for name in SCRIPTS)
    vendor = folder / "vendor"
    contents = {
        "report.css": (folder / "report.css").read_bytes() + style.encode(),
        "dagre.js": (vendor / "dagre.min.js").read_bytes(),
        "report.js": "\n".join(["(() => {", '"use strict";', *shared, *scripts, start, "})();", ""]).encode(),
        "LICENSES.txt": (vendor / "dagre.LICENSE.txt").read_bytes(),
    }
    version = _digest(contents.values())
    return {f"static/{version}/{name}": content for name, content in contents.items()}


def _data(report: ReportDocuments) -> dict[str, bytes]:
    """File name to script, for all documents: the index, the runs, and the assets in several files.

    The index holds for each asset the number of its file.
    """
    shards = [*_shards(report.assets.values())]
    places = {str(page["name"]): place for place, shard in enumerate(shards) for page in shard}
    scripts = {f"assets-{place}.js": _script(f"assets-{place}", shard) for place, shard in enumerate(shards)}
    scripts["runs.js"] = _script("runs", report.past)
    scripts["index.js"] = _script("index", {**report.index, "shards": places})
    return scripts


def _shards(pages: Iterable[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
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


def write_page(project: str, paths: Iterable[str], *, attributes: Mapping[str, str], policy: Mapping[str, str]) -> str:
    """The page that loads all else.

    Args:
        project: The project's name.
        paths: The paths of `page_files`.
        attributes: What the scripts find in the page's ``dataset``.
        policy: The directives of the content security policy.
    """
    named = {path.rpartition("/")[2]: path for path in paths}
    template = (files(__package__) / "static" / INDEX).read_text(encoding="utf-8")
    fields = {
        "generator": _MADE_BY,
        "policy": join_policy(policy),
        "title": escape(project),
        "attributes": " ".join(f'data-{name}="{escape(value)}"' for name, value in attributes.items()),
        "css": named["report.css"],
        "dagre": named["dagre.js"],
        "script": named["report.js"],
        "licences": named["LICENSES.txt"],
    }
    return re.sub(r"\{\{ (\w+) \}\}", lambda match: fields[match[1]], template)


def join_policy(directives: Mapping[str, str]) -> str:
    """A content security policy as browsers read it."""
    return "; ".join(f"{name} {value}" for name, value in directives.items())


def _digest(contents: Iterable[bytes]) -> str:
    digest = blake2b(digest_size=8)
    for content in contents:
        digest.update(content)
    return digest.hexdigest()


def _line(error: OSError) -> str:
    return (error.strerror or str(error)).partition("\n")[0]
