"""`LiveReport`: the documents of the report as the journal stands now, and what has changed in them."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec

from sparkassets.core.redaction import redact
from sparkassets.core.spec.code_bodies import SqlBody
from sparkassets.digests import blake2b
from sparkassets.errors import SparkAssetsError
from sparkassets.frozen import frozen

if TYPE_CHECKING:
    from sparkassets.app.state import StateCommands
    from sparkassets.core.documents.report import ReportDocuments
    from sparkassets.core.spec.project_spec import ProjectSpec

OLD_SECONDS: Final = 300.0
"""The report is made again after this long without new entries: time alone makes an asset due, or late."""
PATIENCE: Final = 4
"""It is made again at the earliest after this many times the seconds that it took: others need the processor, too."""
VERSIONS_KEPT: Final = 8
"""Earlier versions for which only the differences are sent."""


class ReportedProject(Protocol):
    """What is reported of a project."""

    @property
    def spec(self) -> ProjectSpec:
        """The project as its files say it."""

    @property
    def state(self) -> StateCommands:
        """Makes the documents, and has the number of the journal's newest entry."""


@frozen
class ReportVersion:
    """The index of one report, encoded in pieces that are compared with those of the version before.

    Attributes:
        version: A digest of the pieces.
        at: When it was made, Unix seconds.
        parts: Name to the value of each part of the index but the assets, as JSON.
        rows: Asset name to its row, as JSON.
    """

    version: str
    at: int
    parts: Mapping[str, bytes]
    rows: Mapping[str, bytes]

    @classmethod
    def encode(cls, index: Mapping[str, Any], at: int) -> ReportVersion:
        """The version of an index."""
        parts = {name: msgspec.json.encode(value) for name, value in index.items() if name != "assets"}
        rows = {str(row["name"]): msgspec.json.encode(row) for row in index["assets"]}
        digest = blake2b(digest_size=12)
        for piece in (*parts.values(), *rows.values()):
            digest.update(piece)
        return cls(digest.hexdigest(), at, parts, rows)

    def differences(self, earlier: ReportVersion | None) -> bytes:
        """``{version, at, whole, index, assets}``: what a page that shows ``earlier`` lacks; all of it for None."""
        # the differences list changed rows only, so a page gets all of it where assets came, went or moved
        whole = earlier is None or list(earlier.rows) != list(self.rows)
        known = ReportVersion("", 0, {}, {}) if earlier is None or whole else earlier
        document = {
            "version": self.version,
            "at": self.at,
            "whole": whole,
            "index": _find_changed(self.parts, known.parts),
            "assets": list(_find_changed(self.rows, known.rows).values()),
        }
        return msgspec.json.encode(document)


def _find_changed(pieces: Mapping[str, bytes], known: Mapping[str, bytes]) -> dict[str, msgspec.Raw]:
    return {name: msgspec.Raw(piece) for name, piece in pieces.items() if known.get(name) != piece}


class LiveReport:
    """The report of a project, made again when its journal or its files have changed.

    Args:
        open_project: Reads the project's files.
    """

    def __init__(
        self, open_project: Callable[[], ReportedProject], *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._open_project, self._clock = open_project, clock
        self._files: tuple[Path, ...] = ()
        self._times: list[int] = []
        self._open()
        self._pages_lock = threading.Lock()
        self._versions: OrderedDict[str, ReportVersion] = OrderedDict()
        self._problem = ""
        self._seen, self._made, self._took = -1, 0.0, 0.0
        self._documents: ReportDocuments
        self._newest: ReportVersion
        self._make()

    @property
    def project(self) -> str:
        """The project's name."""
        return self._project.spec.name

    def refresh(self) -> bool:
        """Makes the report again if something has changed or it is old; returns whether it did.

        What keeps it from being made is shown beside the last one that could be.
        """
        if self._clock() - self._made < PATIENCE * self._took:
            return False
        try:
            times = read_times(self._files)
            if times != self._times:
                self._times = times
                self._open()
            elif (
                not self._problem
                and self._project.state.newest_entry() == self._seen
                and self._clock() - self._made < OLD_SECONDS
            ):
                return False
            self._make()
        except SparkAssetsError as error:
            self._keep(str(error))
        return True

    def index(self, known: str) -> tuple[str, bytes | None]:
        """The newest version, and what a page that shows the version ``known`` lacks; None if that is nothing."""
        newest = self._newest
        if newest.version == known:
            return newest.version, None
        return newest.version, newest.differences(self._versions.get(known))

    def runs(self) -> bytes:
        """The newest runs and events."""
        return msgspec.json.encode(self._documents.past)

    def page(self, asset: str) -> bytes | None:
        """The page of an asset; None if there is no such asset."""
        with self._pages_lock:  # planning contexts memorise what they find out
            page = self._documents.assets.get(asset)
        return None if page is None else msgspec.json.encode(page)

    def _open(self) -> None:
        self._project = self._open_project()
        self._files = find_declaring_files(self._project.spec)
        self._times = read_times(self._files)

    def _make(self) -> None:
        """Makes the report, and notes up to which entry it is surely complete and how many seconds it took."""
        begun = self._clock()
        seen = self._project.state.newest_entry()  # before the report: what comes meanwhile makes it again
        documents = self._project.state.report()
        self._documents, self._seen, self._problem = documents, seen, ""
        self._add(ReportVersion.encode({**documents.index, "problem": ""}, documents.at))
        self._made = self._clock()
        self._took = self._made - begun

    def _keep(self, problem: str) -> None:
        """Keeps the documents, and adds what is wrong to the index."""
        self._problem = redact(problem, variables=self._project.spec.variables)
        self._made = self._clock()
        documents = self._documents
        self._add(ReportVersion.encode({**documents.index, "problem": self._problem}, documents.at))

    def _add(self, version: ReportVersion) -> None:
        """Makes a version the newest, and forgets the oldest beyond `VERSIONS_KEPT`."""
        self._newest = version
        self._versions[version.version] = version
        self._versions.move_to_end(version.version)
        while len(self._versions) > VERSIONS_KEPT:
            self._versions.popitem(last=False)


def find_declaring_files(project: ProjectSpec) -> tuple[Path, ...]:
    """The files that declare a project, and their folders, in which others may come."""
    bodies = (asset.body.location for asset in project.assets.values() if isinstance(asset.body, SqlBody))
    places = (*(asset.location for asset in project.assets.values()), *bodies)
    declaring = {Path(project.root, "project.yml"), *(Path(place.file) for place in places)}
    return tuple(declaring | {file.parent for file in declaring})


def read_times(files: Iterable[Path]) -> list[int]:
    """When each file was last changed, in nanoseconds; 0 where it is gone."""
    return [_read_time(file) for file in files]


def _read_time(file: Path) -> int:
    try:
        return file.stat().st_mtime_ns
    except OSError:
        return 0
