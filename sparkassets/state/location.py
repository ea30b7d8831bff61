"""The folder or URI of a state, and the checks on its folder before any table is opened."""

from __future__ import annotations

import re
from pathlib import Path

from sparkassets.errors import StateError
from sparkassets.state.refusals import FOREIGN_STATE, unreachable_error

JOURNAL = "journal"
WATERMARKS = "watermarks"
BASE = "base"

_LOG_ENTRY = re.compile(r"\d{20}\.(json|checkpoint\..*parquet|checkpoint\.parquet)")
_MOST_NAMED = 3


class StateLocation:
    """A state's folder or object store URI.

    Attributes:
        uri: As given, without a trailing slash.
        folder: The local folder; None for an object store.
    """

    def __init__(self, uri: str) -> None:
        self.uri = uri.rstrip("/") or uri
        scheme, separator, rest = self.uri.partition("://")
        if separator and scheme.lower() != "file":
            self.folder = None
        else:
            self.folder = Path(rest if separator else self.uri)

    def table(self, name: str) -> str:
        """The URI or the absolute path of one of the state's tables."""
        return f"{self.uri}/{name}" if self.folder is None else str((self.folder / name).absolute())

    def make(self) -> None:
        """Creates a missing local folder that only its owner and group can read.

        Raises:
            StateError: It cannot be created.
        """
        try:
            if self.folder is not None:
                self.folder.mkdir(parents=True, exist_ok=True, mode=0o750)
        except OSError as error:
            raise unreachable_error(self.uri, error) from error

    def holds(self, name: str) -> bool:
        """Whether a local folder holds the Delta table ``name``; one without a complete log entry does not count.

        If there is no journal, the folder must be empty or missing, as only then may a new state begin in it.

        Raises:
            StateError: The folder cannot be read, or is no state: it holds other files and no journal.
        """
        if self.folder is None:
            raise ValueError(f"{self.uri!r} is not a local folder")
        if "%" in str(self.folder):
            raise StateError(
                f"the state {self.uri} contains '%', which Delta's libraries read as an escape",
                hint=_OTHER_FOLDER,
                topic=FOREIGN_STATE,
            )
        try:
            log = self.folder / name / "_delta_log"
            if log.is_dir() and any(_LOG_ENTRY.fullmatch(entry.name) for entry in log.iterdir()):
                return True
            if name == JOURNAL:
                self._refuse_foreign_folder(self.folder)
        except OSError as error:
            raise unreachable_error(self.uri, error) from error
        return False

    def _refuse_file(self, folder: Path) -> None:
        """Raises `StateError` if the state's folder, its journal or a parent folder is a file."""
        file = next((each for each in (folder / JOURNAL, folder, *folder.parents) if each.exists()), folder)
        if not file.is_dir() and file.exists():
            subject = (
                f"the state {self.uri} is" if file == folder else f"{file}, on the path of the state {self.uri}, is"
            )
            raise StateError(f"{subject} a file, not a folder", hint=_OTHER_FOLDER, topic=FOREIGN_STATE)

    def _refuse_foreign_folder(self, folder: Path) -> None:
        """Raises `StateError` for a folder without a journal that holds other files: no state may begin among them."""
        self._refuse_file(folder)
        if not folder.exists():
            return
        other_names = sorted(
            entry.name for entry in folder.iterdir() if entry.name != JOURNAL and not entry.name.startswith(".")
        )
        if WATERMARKS in other_names and self.holds(WATERMARKS):
            raise StateError(
                f"the state {self.uri} has a {WATERMARKS} table, but its {JOURNAL} table is missing",
                hint=f"restore {JOURNAL} from a backup, or remove {WATERMARKS} to start over; nothing was changed",
            )
        if other_names:
            listed = ", ".join(other_names[:_MOST_NAMED]) + (", …" if len(other_names) > _MOST_NAMED else "")
            raise StateError(
                f"the folder {self.uri} is not a state: it has no {JOURNAL}, but contains {listed}",
                hint=_OTHER_FOLDER,
                topic=FOREIGN_STATE,
            )


_OTHER_FOLDER = "let `state` in project.yml name a new or empty folder; nothing was changed"
