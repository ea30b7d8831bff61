"""Ports through which the use cases reach storage, Spark and the host; `sparkassets.wiring` makes the real ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from sparkassets.frozen import frozen

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkassets.core.documents.rendered_run import RenderedCode
    from sparkassets.core.documents.row_sample import RowSample
    from sparkassets.core.partitions import PartitionSet
    from sparkassets.core.spec.model import AssetSpec
    from sparkassets.core.spec.project_spec import ProjectSpec
    from sparkassets.ports import (
        ChangeFeeds,
        Clock,
        Engine,
        IdGenerator,
        JournalStore,
        RunComputation,
        RunOrder,
        Sink,
        SourceObserver,
        TargetFactory,
        TargetObserver,
        VolumeEstimator,
    )
    from sparkassets.ports.views import BranchViews
    from sparkassets.runtime.leases import LeaseMonitor
    from sparkassets.runtime.ledger import JournalLedger
    from sparkassets.runtime.progress import FailureExplanation, Watchers


@frozen
class Adapters:
    """Everything outside of the program that one project needs.

    Attributes:
        find_observer: Returns what looks at a source; None for an asset that cannot be looked at.
        make_target_observer: Makes the observer of the assets' own tables.
        open_engine: Makes the engine, in the given session or one that it finds or starts, and the factory of targets.
        make_lease_monitor: Makes the monitor of other drivers' claims.
        process_name: Returns this process's name for the journal.
        user_name: Returns the name of the person who runs this process.
        check_storage: Raises if the project would write to a place that another part of it uses, as the disk is now.
        explain_failure: Returns why a run failed and writes the whole traceback to a file; never raises.
        make_volume_estimator: Makes the estimator of how much a run reads.
        make_change_feeds: Makes the check whether a table's changes can still be read.
        read_columns: Returns the present columns of an asset's table with their types; None if they are not known.
        render_code: Returns the code of a run as text for each table that it writes, and notes on what that leaves out.
        sample_table: Returns at most so many rows of an asset's table as it is now, of these partitions.
        sample_computation: Returns at most so many rows of what an engine described, computing them.
        sinks: Listeners to every commit to the journal.
        end_invocation: Called with the journal once an invocation has nothing left to run.
        make_watchers: Makes the watchers of an invocation.
        for_project: Makes the adapters of another project on the same machine; None if there can be none.
        list_folders: Lists the folders in a folder; empty if it does not exist.
        remove_folder: Removes a folder in a folder with its content; ignores a missing one.
        lend_session: Passes on the session of a run, so that the state uses the same one.
        update_views: Makes and removes the views by which catalogs show a branch; returns what could not be done.
        close: Stops the session and whatever else was started.
    """

    store: JournalStore
    find_observer: Callable[[AssetSpec], SourceObserver | None]
    make_target_observer: Callable[[], TargetObserver]
    open_engine: Callable[[SparkSession | None], tuple[Engine, TargetFactory]]
    make_lease_monitor: Callable[[], LeaseMonitor]
    clock: Clock
    ids: IdGenerator
    process_name: Callable[[], str]
    user_name: Callable[[], str]
    check_storage: Callable[[], None]
    explain_failure: Callable[[str, BaseException], FailureExplanation]
    make_volume_estimator: Callable[[], VolumeEstimator]
    make_change_feeds: Callable[[], ChangeFeeds]
    read_columns: Callable[[AssetSpec], Mapping[str, str] | None]
    render_code: Callable[[RunOrder], tuple[tuple[RenderedCode, ...], tuple[str, ...]]]
    sample_table: Callable[[AssetSpec, PartitionSet, int], RowSample]
    sample_computation: Callable[[RunComputation, int], RowSample]
    sinks: Sequence[Sink] = ()
    make_watchers: Watchers = tuple
    end_invocation: Callable[[JournalLedger], None] = lambda _: None
    for_project: Callable[[ProjectSpec], Adapters] | None = None
    list_folders: Callable[[str, str], Sequence[str]] = lambda _place, _name: ()
    remove_folder: Callable[[str, str], None] = lambda _place, _name: None
    lend_session: Callable[[SparkSession], None] = lambda _: None
    update_views: Callable[[BranchViews], Sequence[str]] = lambda _: ()
    close: Callable[[], None] = lambda: None
