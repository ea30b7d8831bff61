"""Ports through which the use cases reach storage, Spark and the host; `sparkassets.wiring` makes the real ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from sparkassets.frozen import frozen

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkassets.core.spec.model import AssetSpec, ProjectSpec
    from sparkassets.ports import (
        ChangeFeeds,
        Clock,
        Engine,
        IdGenerator,
        JournalStore,
        Sink,
        SourceObserver,
        TableComparer,
        TargetFactory,
        TargetObserver,
        VolumeEstimator,
    )
    from sparkassets.runtime.leases import LeaseMonitor
    from sparkassets.runtime.progress import FailureExplanation, Watchers


@frozen
class Adapters:
    """Everything outside of the program that one project needs.

    Attributes:
        observer: Returns what looks at a source; None for an asset that cannot be looked at.
        targets: Makes the observer of the assets' own tables.
        computing: Makes the engine, in the given session or one that it finds or starts, and the factory of targets.
        leases: Makes the monitor of other drivers' claims.
        process: Returns this process's name for the journal.
        user: Returns the name of the person who runs this process.
        check_storage: Raises if the project would write to a place that another part of it uses, as the disk is now.
        explain_failure: Returns why a run failed and writes the whole traceback to a file; never raises.
        volumes: Makes the estimator of how much a run reads.
        feeds: Makes the check whether a table's changes can still be read.
        stored: Returns the present columns of an asset's table; None if they are not known.
        sinks: Listeners to every commit to the journal.
        watchers: Makes the watchers of an invocation.
        beside: Makes the adapters of the project as it is in a branch.
        comparing: Makes the comparer of tables.
        folders: Lists the folders in a folder; empty if it does not exist.
        remove: Removes a folder in a folder with its content; ignores a missing one.
        lend: Passes on the session of a run, so that the state uses the same one.
        close: Stops the session and whatever else was started.
    """

    store: JournalStore
    observer: Callable[[AssetSpec], SourceObserver | None]
    targets: Callable[[], TargetObserver]
    computing: Callable[[SparkSession | None], tuple[Engine, TargetFactory]]
    leases: Callable[[], LeaseMonitor]
    clock: Clock
    ids: IdGenerator
    process: Callable[[], str]
    user: Callable[[], str]
    check_storage: Callable[[], None]
    explain_failure: Callable[[str, BaseException], FailureExplanation]
    volumes: Callable[[], VolumeEstimator]
    feeds: Callable[[], ChangeFeeds]
    stored: Callable[[AssetSpec], Sequence[str] | None]
    sinks: Sequence[Sink] = ()
    watchers: Watchers = tuple
    beside: Callable[[ProjectSpec], Adapters] | None = None
    comparing: Callable[[SparkSession | None], TableComparer] | None = None
    folders: Callable[[str, str], Sequence[str]] = lambda _place, _name: ()
    remove: Callable[[str, str], None] = lambda _place, _name: None
    lend: Callable[[SparkSession], None] = lambda _: None
    close: Callable[[], None] = lambda: None
