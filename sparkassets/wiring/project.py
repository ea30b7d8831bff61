"""`Project`: the use cases of one project with the adapters of this machine."""

from __future__ import annotations

import os
import sys
from collections import ChainMap
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self

from sparkassets.app.adapters import Adapters
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.core.spec.storage_overlaps import catalog_schema
from sparkassets.core.variables import VariableLookup, merge_requested
from sparkassets.errors import FileLocation, SpecError, SpecProblem
from sparkassets.files.object_stores import set_bucket_access
from sparkassets.frozen import replace
from sparkassets.open_project import OpenProject
from sparkassets.processes import this_process
from sparkassets.project import check_storage, load_project
from sparkassets.runtime.leases import ActiveInvocations, LeaseMonitor
from sparkassets.state.delta_store import DeltaStore
from sparkassets.wiring.catalogs import EngineFactory, SharedSession, read_columns
from sparkassets.wiring.credentials import SecretValues, SettingsWithBuckets, SettingsWithSecrets, bucket_access
from sparkassets.wiring.host import (
    RandomIds,
    SystemClock,
    any_alive,
    find_cache_folder,
    host_identity,
    process_name,
    user_name,
)
from sparkassets.wiring.sinks import make_digests, make_sinks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkassets.core.documents.rendered_run import RenderedCode
    from sparkassets.core.documents.row_sample import RowSample
    from sparkassets.ports import JournalStore, RunComputation, RunOrder, Sink
    from sparkassets.ports.views import BranchViews
    from sparkassets.runtime.progress import FailureExplanation, InvocationWatcher
    from sparkassets.spark.context import Context
    from sparkassets.spark.query_rendering import ReadColumns


_INVOCATIONS = ActiveInvocations()
"""The drivers of this process, of whatever project."""


class Project(OpenProject):
    """A project with its state: what the command line does, in Python.

    `plan`, `status`, `explain` and `run` are here; the rest is in `assets`, `partitions`, `backfills`, `branches`,
    `events`, `history`, `lineage`, `queries`, `timetables` and `state`. A Spark session that it starts is kept for the
    next run; `close`, or the end of a ``with``, stops it.

    >>> Project.load("conf").run(spark)  # doctest: +SKIP
    """

    def __init__(self, spec: ProjectSpec, *, sinks: Sequence[Sink] = (), env: Mapping[str, str] | None = None) -> None:
        super().__init__(spec, adapters_of(spec, sinks=sinks, env=env))

    @classmethod
    def load(
        cls,
        folder: str | Path = "conf",
        *,
        env: Mapping[str, str] | None = None,
        profile: str | None = None,
        variables: Mapping[str, str] | None = None,
        tables: bool = False,
        sinks: Sequence[Sink] = (),
    ) -> Self:
        """Reads and checks the project in ``folder``.

        Args:
            folder: Holds ``project.yml``.
            env: Variables for ``${…}``; by default the process's own.
            profile: One of the project's `profiles`; by default that which ``SPARKASSETS_PROFILE`` names.
            variables: Variables for ``${…}`` that go before the profile's and those of ``env``.
            tables: Whether to check the project also against what is there: the columns of its sources' Delta tables,
                and the folders of sources on a local disk, of which the missing ones are in the warnings of ``spec``.
            sinks: Receive what this process commits to the journal, each on a thread of its own.

        Raises:
            SpecError: Something is wrong with its files; holds every problem.
            InputError: There is no project, or no such profile, or nothing names one of the variables.
        """
        variables = merge_requested(os.environ if env is None else env, profile=profile, given=variables or {})
        if (
            "sparkassets.authoring.packages" in sys.modules
        ):  # else nothing was imported by it, and a plan needs none of it
            from sparkassets.authoring.packages import forget_changed_packages

            forget_changed_packages()
        spec = load_project(Path(folder), variables, cache=find_cache_folder())
        return cls(_with_stored_columns(spec, Path(folder), variables) if tables else spec, sinks=sinks, env=variables)

    def run_of(
        self,
        asset: str,
        *,
        partition: str | Sequence[str] = (),
        interval: str | None = None,
        spark: SparkSession | None = None,
    ) -> AbstractContextManager[Context]:
        """Makes the code of a ``with`` a run of an asset: claimed when it begins, recorded when it ends.

        What it changed in the asset's table by then is the run's event. No gate holds it back, and it is never retried.
        Where it raises `RunSkipped` the run is skipped, and the ``with`` ends without an error.

        >>> with project.run_of("orders", partition="2025-01-02"):  # doctest: +SKIP
        ...     load_orders()

        Args:
            asset: With ``write: self``.
            partition: Keys ``A..B`` or ``A`` that it computes, of an asset with partitions.
            interval: Its data interval, instants ``A..B``.
            spark: The session that asks the asset's rules; the active one by default.

        Raises:
            InputError: There is no such asset or partition, or sparkassets writes its table.
            RunError: Another run of the asset is under way; the code of the ``with`` does not begin then.
            RunFailedError: The code has ended well, but what it wrote cannot be recorded.
            StateError: The state cannot be used.
        """
        from sparkassets.wiring.attended_runs import attended_run

        return attended_run(self._context, self._runner, asset, partition=partition, interval=interval, spark=spark)


def _with_stored_columns(spec: ProjectSpec, folder: Path, variables: Mapping[str, str]) -> ProjectSpec:
    """The project compiled with the real columns of its sources' tables, and warnings of what is missing here.

    What may be missing is a source's folder, or Sail if it is the engine.

    Raises:
        SpecError: SQL of an asset or of a rule certainly cannot run with these columns.
    """
    from sparkassets.core.derivation.query_checks import check_queries
    from sparkassets.sources.problems import find_missing_storage
    from sparkassets.sources.table_schemas import has_local_columns, read_stored_columns, read_table_columns

    if any(has_local_columns(asset) for asset in spec.assets.values()):
        spec = load_project(folder, variables, tables=read_table_columns)
    if problems := check_queries(spec, read_stored_columns):
        raise SpecError(problems)
    missing = (*find_missing_storage(spec), *_missing_engine(spec))
    return replace(spec, warnings=(*spec.warnings, *missing)) if missing else spec


def _missing_engine(spec: ProjectSpec) -> tuple[SpecProblem, ...]:
    """A warning where the project's engine is Sail and that is not installed."""
    if spec.engine != "sail":
        return ()
    from sparkassets.spark.installation import is_sail_installed
    from sparkassets.spark.sail import install_hint

    if is_sail_installed():
        return ()
    place = FileLocation(os.path.relpath(Path(spec.root, "project.yml")))
    return (SpecProblem(place, "the engine sail is not installed here, so no run can start", install_hint()),)


def adapters_of(spec: ProjectSpec, *, sinks: Sequence[Sink] = (), env: Mapping[str, str] | None = None) -> Adapters:
    """The adapters by which this machine reaches the project's state, sources and tables; opens nothing yet.

    ``env`` holds the variables for secrets and credentials; None takes those of the process. Values that are read of
    them are hidden in logs and failures.
    """
    secrets = SecretValues(spec.secrets, VariableLookup(os.environ if env is None else env, spec.given))
    hidden = replace(spec, variables=ChainMap(secrets.read_values, dict(spec.variables)))
    settings = SettingsWithSecrets(spec.spark, secrets, spec.secrets) if spec.secrets else spec.spark
    buckets = bucket_access(spec, secrets)
    set_bucket_access(buckets)
    with_credentials = replace(spec, spark=SettingsWithBuckets(settings, buckets) if buckets else settings)
    clock, session = SystemClock(), SharedSession(with_credentials)
    engines = EngineFactory(with_credentials, session)
    return Adapters(
        store=_store(spec, session),
        find_observer=engines.find_observer,
        make_target_observer=engines.make_target_observer,
        open_engine=engines.open_engine,
        make_lease_monitor=lambda: LeaseMonitor(
            host=host_identity(), process=this_process(), alive=any_alive, clock=clock, invocations=_INVOCATIONS
        ),
        clock=clock,
        ids=RandomIds(),
        process_name=process_name,
        user_name=user_name,
        check_storage=partial(check_storage, spec),
        explain_failure=partial(_explain_failure, hidden),
        make_volume_estimator=engines.make_volume_estimator,
        make_change_feeds=engines.make_change_feeds,
        read_columns=read_columns,
        render_code=partial(_render_code, spec, engines.read_types),
        sample_table=engines.sample_table,
        sample_computation=_sample_computation,
        make_watchers=partial(_make_watchers, hidden),
        for_project=partial(adapters_of, env=env),
        list_folders=_list_folders,
        remove_folder=_remove_folder,
        sinks=(*sinks, *make_sinks(spec, secrets)),
        end_invocation=make_digests(spec, secrets, clock),
        lend_session=session.lend,
        update_views=partial(_update_views, session),
        close=session.close,
    )


def _store(spec: ProjectSpec, session: SharedSession) -> JournalStore:
    """The store of the journal: through Spark if the state is in a catalog or at a path that only a session reaches."""
    if not spec.state_by_spark:
        return DeltaStore(spec.state, cache=find_cache_folder())
    from sparkassets.state.session_store import SessionStore

    schema = catalog_schema(spec.state)
    return SessionStore(session.open, schema=schema) if schema else SessionStore(session.open, uri=spec.state)


def _render_code(
    spec: ProjectSpec, read_types: ReadColumns, order: RunOrder
) -> tuple[tuple[RenderedCode, ...], tuple[str, ...]]:
    """(The code that a run of the order would execute, notes on what the text leaves out)."""
    from sparkassets.spark.query_rendering import QueryRenderer

    return QueryRenderer(spec, read_types).render(order)


def _sample_computation(computation: RunComputation, limit: int) -> RowSample:
    from sparkassets.spark.row_samples import sample_computation

    return sample_computation(computation, limit)


def _list_folders(place: str, name: str) -> Sequence[str]:
    from sparkassets.files.folders import open_folder

    return open_folder(place).list_folders(name)


def _remove_folder(place: str, name: str) -> None:
    from sparkassets.files.folders import open_folder

    open_folder(place).remove(name)


def _update_views(session: SharedSession, views: BranchViews) -> Sequence[str]:
    from sparkassets.spark.catalog_views import update_views

    return update_views(session.open(), views)


def _make_watchers(spec: ProjectSpec) -> Sequence[InvocationWatcher]:
    from sparkassets.wiring.watchers import watchers

    return tuple(watchers(spec))


def _explain_failure(spec: ProjectSpec, run: str, error: BaseException) -> FailureExplanation:
    from sparkassets.wiring.watchers import explain_failure

    return explain_failure(spec, run, error)
