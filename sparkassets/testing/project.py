"""A project for tests: its real runs, on a state and tables in a temporary folder."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from sparkassets.core.cases import GivenRows
from sparkassets.core.spec.model import AssetSpec, SourceSpec
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.errors import FileLocation, InputError
from sparkassets.project import load_project
from sparkassets.wiring.project import Project

if TYPE_CHECKING:
    from datetime import datetime

    from pyspark.sql import DataFrame, SparkSession

    from sparkassets.core.results import Summary


class ProjectUnderTest(Project):
    """A project whose state and tables are in a temporary folder, whatever its files say.

    Sources that are read are Delta tables there, which `give` writes; those that are known by their events alone stay
    so (`events.add`). Everything else is as in production: plans, runs, events, coverage.

    Args:
        folder: Holds ``project.yml``.
        place: The temporary folder.
        spark: The session that runs use.
        env: Variables for ``${…}``; by default the process's own.

    Raises:
        SpecError: Something is wrong with its files; holds every problem.
    """

    def __init__(
        self, folder: str | Path, *, place: Path, spark: SparkSession, env: Mapping[str, str] | None = None
    ) -> None:
        spec = load_project(Path(folder), os.environ if env is None else env)
        super().__init__(_relocate_project(spec, place))
        self._spark = spark

    def give(
        self,
        source: str,
        rows: Sequence[Mapping[str, Any]] | DataFrame,
        *,
        columns: Mapping[str, str] | None = None,
        mode: Literal["overwrite", "append"] = "overwrite",
    ) -> None:
        """Writes rows of a source, as its writer would.

        Args:
            source: Its name.
            rows: Mappings of column to value, with dates and times as text; or a data frame.
            columns: Types of columns that the source does not declare.
            mode: Whether the rows replace those of the source or are added.

        Raises:
            InputError: There is no such source, or it is known by its events alone.
        """
        from pyspark.sql import DataFrame

        from sparkassets.testing.given_rows import frame_of

        asset = self.spec.asset(source)
        if asset.source is None or asset.storage is None:
            reason = "is computed by its runs" if asset.source is None else "is only known by its events"
            raise InputError(f"{source!r} {reason}, so a test cannot give it rows")
        if not isinstance(rows, DataFrame):
            types = {**asset.column_types, **(columns or {})}
            rows = frame_of(self._spark, asset, GivenRows(FileLocation("the test"), tuple(rows), types))
        rows.write.format("delta").mode(mode).save(asset.storage.path)

    def run(self, spark: SparkSession | None = None, *, at: datetime | str | None = None, **options: Any) -> Summary:  # noqa: ANN401
        """As `Project.run`, in the session of the tests."""
        return super().run(spark or self._spark, at=at, **options)

    def table(self, asset: str) -> DataFrame:
        """The rows of an asset, or of a source, as they are now.

        Raises:
            InputError: There is no such asset, or it has no table yet.
        """
        found = self.spec.asset(asset)
        path = found.storage.path if found.storage is not None else None
        if path is None or not (Path(path) / "_delta_log").is_dir():
            raise InputError(f"{asset!r} has no table yet")
        return self._spark.read.format("delta").load(path)


def _relocate_project(spec: ProjectSpec, place: Path) -> ProjectSpec:
    """The project with its state and all of its tables in one folder."""
    assets = {name: _asset(asset, place / "tables" / name) for name, asset in spec.assets.items()}
    return replace(spec, state=str(place / "state"), warehouse=str(place / "tables"), assets=assets)


def _asset(asset: AssetSpec, table: Path) -> AssetSpec:
    """The asset with its table at a path of the test; a source that is read becomes a Delta table."""
    source = asset.source
    if source is not None and source.kind != "events":
        source = SourceSpec("delta", settle_seconds=source.settle_seconds)
    storage = None if asset.storage is None else asset.storage.at_path(str(table))
    return replace(asset, storage=storage, source=source)
