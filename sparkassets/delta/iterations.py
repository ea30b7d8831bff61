"""The rows of an iteration as a Delta table of its own, in the folder that they were staged in.

Its one commit names the very files that the commit at the asset's path names, so it costs a file of a few kilobytes;
whoever wants an older iteration, to read it or to make it the newest again, needs nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from sparkassets.core.runs import ROWS, iteration_folder
from sparkassets.delta.commit import CommitRequest, create
from sparkassets.delta.log import DeltaLog
from sparkassets.delta.staging import StagedFile, StagingAttempt
from sparkassets.errors import SourceError
from sparkassets.frozen import frozen

if TYPE_CHECKING:
    from deltalake import Schema
    from deltalake.transaction import AddAction


@frozen
class IterationRows:
    """What the log of an iteration's rows tells.

    Attributes:
        schema: As Delta has it in JSON.
        layout: Columns that its folders are named by.
        rows: How many, as far as statistics tell.
        run_metadata: What the commit that published it said of itself.
    """

    schema: Mapping[str, Any]
    layout: tuple[str, ...]
    rows: int
    run_metadata: Mapping[str, Any]
    _folder: str
    _adds: tuple[Mapping[str, Any], ...]

    def adds(self) -> list[AddAction]:
        """The actions that make its files a part of the asset's table."""
        from deltalake.transaction import AddAction

        return [
            AddAction(
                f"{self._folder}/{unquote(each['path'])}",
                each["size"],
                each["partitionValues"],
                each["modificationTime"],
                data_change=True,
                stats=each["stats"],
            )
            for each in self._adds
        ]


def make_readable(
    table: str,
    attempt: StagingAttempt,
    files: Sequence[StagedFile],
    change: CommitRequest,
    *,
    schema: Schema,
    layout: Sequence[str],
) -> None:
    """Makes what an attempt staged a table of its own, before its commit to the asset's.

    Raises:
        RunError: The folder cannot be written.
    """
    own = [_relocate_file(file, attempt.folder).add(layout) for file in files]
    said = CommitRequest(
        change.owner, change.app, change.version, change.user_metadata, own, schema=schema, metrics=change.metrics
    )
    create(f"{table.rstrip('/')}/{attempt.folder}", said, layout=layout)


def iteration_rows(table: str, name: str) -> IterationRows | None:
    """What the iteration of that name holds; None where it is gone.

    Raises:
        SourceError: Its log cannot be read.
    """
    folder = iteration_folder(name, ROWS)
    path = f"{table.rstrip('/')}/{folder}"
    content = DeltaLog(path).read_content(0)
    if content is None:
        return None
    try:
        actions: list[dict[str, Any]] = [json.loads(line) for line in content.splitlines() if line.strip()]
        (metadata,) = (each["metaData"] for each in actions if "metaData" in each)
        told = next(json.loads(each["commitInfo"]["userMetadata"]) for each in actions if "commitInfo" in each)
        adds = tuple(each["add"] for each in actions if "add" in each)
        rows = sum(json.loads(each["stats"] or "{}").get("numRecords", 0) for each in adds)
        schema = json.loads(metadata["schemaString"])
        return IterationRows(schema, tuple(metadata["partitionColumns"]), rows, told, folder, adds)
    except (ValueError, KeyError, TypeError, StopIteration) as error:
        raise SourceError(f"the log of the iteration at '{path}' is damaged: {error}") from error


def _relocate_file(file: StagedFile, folder: str) -> StagedFile:
    """The file by its path in that folder."""
    relative = file.path.removeprefix(f"{folder}/")
    return StagedFile(relative, file.size, file.modified, file.rows, file.partition, file.stats)
