"""What the use cases are given to reach the outside by; `sparkassets.wiring` makes the real ones."""

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
    """The outside of one project.

    Attributes:
        observer: Who looks at a source; None for what has nothing to look at.
        targets: Makes who looks at assets' own tables.
        computing: Makes what computes, in this session or in one that it finds or starts, and what is written with it.
        leases: Makes what an invocation sees of other drivers' claims.
        process: What this process is called in the journal.
        user: Who runs it, for people.
        check_storage: Refuses a project that would write where something else of it is, as the disk has it now.
        explain_failure: Tells of a run what it failed of, and writes down the whole of it; never raises.
        volumes: Makes who tells how much is read.
        feeds: Makes who tells whether changes are told.
        stored: Tells the columns of an asset's table as it is; None where they are not known.
        sinks: Are told what is committed to the journal.
        watchers: Makes those that watch an invocation.
        beside: Makes the same for the project as it is in a branch.
        comparing: Makes what compares tables.
        folders: Names the folders in a folder; none of one that is not there.
        remove: Removes a folder of a folder, with all that is in it; one that is not there is none.
        lend: Is given the session of a run before anything is asked of the state.
        close: Stops what was started to reach the outside.
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
