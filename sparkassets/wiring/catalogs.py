"""The one Spark session of a project, and the choice of who looks at a table: the driver itself, or Spark.

Tables in catalogs need a session. Until a session is asked for, and if the process has none, they are taken to be as
they were recorded.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Mapping, Sequence
from threading import RLock
from typing import TYPE_CHECKING

from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.errors import SessionNeededError, SourceError
from sparkassets.sources import DeltaTargetObserver, make_observer

if TYPE_CHECKING:
    from datetime import datetime

    from pyspark.sql import SparkSession

    from sparkassets.core.documents.row_sample import RowSample
    from sparkassets.core.journal.state import AssetState
    from sparkassets.core.journal.table_findings import TableFinding
    from sparkassets.core.partitions import Partitioning, PartitionSet
    from sparkassets.core.run_costs import InletVolume
    from sparkassets.core.runs import ChangeAvailability, InletPin, TablePosition
    from sparkassets.ports import (
        ChangeFeeds,
        Engine,
        FileContent,
        LastLook,
        Observation,
        RecordedTable,
        SourceObserver,
        TargetFactory,
        TargetObserver,
        UnrecordedChain,
        VolumeEstimator,
    )
    from sparkassets.spark.engine import SparkEngine
    from sparkassets.spark.workplace import SparkWorkplace


class EngineFactory:
    """Makes the engine, and the observers of tables in catalogs, which use the same session."""

    def __init__(self, spec: ProjectSpec, session: SharedSession) -> None:
        self._spec = spec
        self._session = session
        self._engine: SparkEngine | None = None
        self._lock = RLock()

    def open_engine(self, spark: SparkSession | None) -> tuple[Engine, TargetFactory]:
        """An engine in this session, or in one that it finds or starts, and the factory of its targets."""
        from sparkassets.spark.engine import SparkEngine, SparkTargetFactory

        self._engine = SparkEngine(self._spec, spark or (self._session.open() if self._spec.state_by_spark else None))
        return self._engine, SparkTargetFactory(self._engine)

    def workplace(self) -> SparkWorkplace | None:
        """The started session for observers; None if there is none.

        Several threads call it; the lock lets one of them start the session.
        """
        with self._lock:
            if self._engine is None or not self._engine.workplace.is_started:
                # an observer starts no session of its own, unless the state needs one anyway
                if not self._spec.state_by_spark and not _has_session():
                    return None
                self.open_engine(None)[0].start()
            return None if self._engine is None else self._engine.workplace

    def find_observer(self, asset: AssetSpec) -> SourceObserver | None:
        """What looks at a source; None for assets that are not sources, or cannot be looked at."""
        if not asset.is_named:  # at a path; a table with a name is in a catalog, which only Spark can ask
            texts = _LazyTextFileReader(self.workplace)
            return make_observer(asset, texts=texts, by_session=lambda plain: _ObserverByPath(plain, self.workplace))
        if asset.source is None:
            return None
        from sparkassets.spark.catalog_observers import CatalogObserver

        table_observer = CatalogObserver(self.workplace)
        if asset.source.kind == "delta":
            return table_observer
        from sparkassets.sources.table_sets import TableSetObserver
        from sparkassets.spark.catalog_listing import CatalogListing

        return TableSetObserver(CatalogListing(self.workplace), table_observer)

    def read_types(self, asset: AssetSpec, version: int) -> Mapping[str, str]:
        """The columns of an asset's table at a version, with Spark's names of their types.

        A table in a catalog is asked through the session, which starts if there is none.

        Raises:
            SourceError: The log of a table at a path does not have them.
        """
        if asset.storage is not None and asset.is_named:
            from sparkassets.spark.table_locations import read_rows

            schema = read_rows(asset.storage, self._session.open(), version).schema
            return {field.name: field.dataType.simpleString() for field in schema.fields}
        from sparkassets.sources.table_schemas import TableSchemas

        columns = None if asset.storage is None else TableSchemas().read_columns(asset.storage.path, version)
        if columns is None:
            raise SourceError(f"the columns of {asset.name!r} cannot be read at version {version}")
        return columns

    def sample_table(self, asset: AssetSpec, partitions: PartitionSet, limit: int) -> RowSample:
        """At most ``limit`` rows of an asset's table as it is now, of these partitions."""
        from sparkassets.spark.row_samples import sample_table

        return sample_table(asset, partitions, limit, open_session=self._session.open)

    def make_target_observer(self) -> TargetObserver:
        """What looks at the assets' own tables."""
        return _RoutedTargetObserver(self.workplace) if self._spec.is_in_catalogs else DeltaTargetObserver()

    def make_volume_estimator(self) -> VolumeEstimator:
        """What estimates how much a run reads."""
        from sparkassets.sources.volumes import LogVolumeEstimator

        return _RoutedVolumeEstimator() if self._spec.is_in_catalogs else LogVolumeEstimator()

    def make_change_feeds(self) -> ChangeFeeds:
        """What says whether a table's changes can still be read."""
        from sparkassets.sources.volumes import DeltaChangeFeeds

        return _RoutedChangeFeeds(self.workplace) if self._spec.is_in_catalogs else DeltaChangeFeeds()


def _has_session() -> bool:
    """Whether other code in this process has started a session; does not import Spark."""
    if "pyspark.sql" not in sys.modules:
        return False
    from sparkassets.spark.session import active_session

    return active_session() is not None


def read_columns(asset: AssetSpec) -> Mapping[str, str] | None:
    """Columns of an asset's Delta table as it is now, with Spark's names of their types.

    None for other storage, or a table that cannot be read.
    """
    from sparkassets.sources.table_schemas import newest_columns

    is_table = asset.source is None or asset.source.kind == "delta"
    return newest_columns(asset.storage.path) if is_table and asset.storage is not None and not asset.is_named else None


class _LazyTextFileReader:
    """Reads text files by Spark, which it imports only then."""

    def __init__(self, workplace: Callable[[], SparkWorkplace | None]) -> None:
        self._workplace = workplace

    def read_contents(
        self, asset: AssetSpec, view: Partitioning, paths: Sequence[str]
    ) -> Mapping[str, FileContent] | None:
        if self._workplace() is None:
            return None
        from sparkassets.spark.text_contents import SparkTextFileReader

        return SparkTextFileReader(self._workplace).read_contents(asset, view, paths)


class _ObserverByPath:
    """Looks at a table at a path without Spark, or through a session if reading the table needs one."""

    def __init__(self, plain: SourceObserver, workplace: Callable[[], SparkWorkplace | None]) -> None:
        self._plain, self._workplace = plain, workplace

    def observe(self, asset: AssetSpec, last: LastLook, *, now: datetime) -> Observation | None:
        try:
            return self._plain.observe(asset, last, now=now)
        except SessionNeededError as error:
            from sparkassets.spark.catalog_observers import CatalogObserver

            return CatalogObserver(self._workplace, why=error.why).observe(asset, last, now=now)


class _RoutedTargetObserver:
    """Looks at tables in catalogs through Spark, and at all others without it."""

    def __init__(self, workplace: Callable[[], SparkWorkplace | None]) -> None:
        from sparkassets.spark.catalog_observers import CatalogTargetObserver

        self._named, self._others = CatalogTargetObserver(workplace), DeltaTargetObserver()

    def missing_folder(self, asset: AssetSpec) -> str | None:
        return self._observer_for(asset).missing_folder(asset)

    def spark_commit_reason(self, asset: AssetSpec) -> str | None:
        return self._observer_for(asset).spark_commit_reason(asset)

    def session_needed_reason(self, asset: AssetSpec) -> str | None:
        return self._observer_for(asset).session_needed_reason(asset)

    def check_writable(self, asset: AssetSpec) -> int | None:
        return self._observer_for(asset).check_writable(asset)

    def check_unrecorded_commits(self, asset: AssetSpec, version: int, *, chain: UnrecordedChain) -> None:
        self._observer_for(asset).check_unrecorded_commits(asset, version, chain=chain)

    def read_position(self, asset: AssetSpec) -> TableFinding | None:
        return self._observer_for(asset).read_position(asset)

    def detect_changes(self, asset: AssetSpec, known: RecordedTable) -> TableFinding | None:
        return self._observer_for(asset).detect_changes(asset, known)

    def _observer_for(self, asset: AssetSpec) -> TargetObserver:
        return self._named if asset.is_named else self._others


class _RoutedVolumeEstimator:
    """Estimates volumes by the table's log; for a table in a catalog, whose log is not opened, they are unknown."""

    def __init__(self) -> None:
        from sparkassets.sources.volumes import LogVolumeEstimator
        from sparkassets.spark.catalog_observers import UnknownVolumes

        self._named, self._others = UnknownVolumes(), LogVolumeEstimator()

    def estimate_volume(self, asset: AssetSpec, pin: InletPin, known: AssetState) -> InletVolume:
        return (self._named if asset.is_named else self._others).estimate_volume(asset, pin, known)


class _RoutedChangeFeeds:
    """Asks Spark about a table in a catalog, and the Delta log itself about any other."""

    def __init__(self, workplace: Callable[[], SparkWorkplace | None]) -> None:
        from sparkassets.sources.volumes import DeltaChangeFeeds
        from sparkassets.spark.catalog_observers import CatalogChangeFeeds

        self._named, self._others = CatalogChangeFeeds(workplace), DeltaChangeFeeds()

    def check_availability(self, asset: AssetSpec, position: TablePosition, version: int) -> ChangeAvailability:
        return (self._named if asset.is_named else self._others).check_availability(asset, position, version)


class SharedSession:
    """The session of a project: the one that was lent, else the active one, else one started at the first call."""

    def __init__(self, spec: ProjectSpec) -> None:
        self._spec = spec
        self._lock = RLock()
        self._current: SparkSession | None = None
        self._is_own = False

    def lend(self, session: SparkSession) -> None:
        """Uses this session from now on."""
        with self._lock:
            if session is not self._current:
                self.close()
                self._current = session

    def open(self) -> SparkSession:
        """The session; starts one if there is none.

        Raises:
            SparkUnavailableError: It cannot be started.
        """
        with self._lock:
            if self._current is None:
                from sparkassets.spark.session import open_session

                name = f"sparkassets-{self._spec.name}"
                self._current, self._is_own = open_session(self._spec.spark, name=name, engine=self._spec.engine)
            return self._current

    def close(self) -> None:
        """Stops the session if it was started here."""
        with self._lock:
            if self._current is not None and self._is_own:
                with contextlib.suppress(Exception):  # its JVM may be gone already
                    self._current.stop()
            self._current, self._is_own = None, False
