"""What a model is made of: a scenario, and the rules that are in doubt, whose defaults are the protocol."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Rules:
    """One configuration.

    Attributes:
        mode: ``append``, or ``replace`` (``upsert`` is the same with keys for partitions).
        lanes: Independent claims on one asset, in one table.
        share_app: Lanes use one transaction id.
        crashes: How many drivers may die; their writes go on.
        attempts: Of a write within one claim.
        timeouts: How often a driver gives up on a write that goes on.
        backfill: Lane in which one backfill of both partitions may be claimed; -1 for none.
        exists: The tables exist before the first run.
        old_version: Transaction version that an earlier journal left in the table.
        atomic: The storage has put-if-absent.
        shared_reader: Readers of a lane's events must not see unrecorded data of another lane either.
        txn: Commits of data carry a transaction.
        nondeterministic: Another attempt may measure something else.
        ambiguous: A commit may land and still report an error.
        takeover: When an unsettled claim may be taken over: its driver's end, or that of its JVM, may be awaited.
        look: What is looked for after the fence, or before it.
        fence: ``dirty``: whenever the chain holds older claims.
        fence_check: False: no comparison; as deltalake does by itself, a lower version is taken and is the newest then.
        fence_conflict: What a driver does about a conflict of its fence.
        fence_missing: What a fence does without a table.
        adopt_pins, forward_pins: Whose pins are consumed with a run that was found in all, in some outlets.
        fail: How a failure is recorded.
        guard: Only the newest open claim records.
        verify: Whether a run is in is looked up; else the write's return is believed.
        record_from: Where the recorded measures are from.
        multi: What is done with a run that is in some outlets.
        event_version: Which version of the table an event carries.
        split: One run makes two commits to one outlet.

        touches: The partitions of each event.
        slots: Lanes are slots that any run may claim, each event a run of its own, whatever ``lane_of_event`` says.
        overlap: What a claim in a slot does about claims of other slots that overlap its partitions: it ``waits`` for
            all that are not settled, for those alone whose driver is ``alive``, or they are ``ignored``.
        settles: Whose claims a record settles: those of its own ``slot``, or all of the ``asset``.
        whole: The backfill replaces the whole table, by as many partitions as it was claimed with.
        whole_waits: It overlaps every partition, those that it was not claimed with, too.
        layout: What Spark's own commits of ``replace`` conflict with, where others committed rows meanwhile: those of
            the same ``partitions``, or any, as in a table without ``folders``.
        remakes: Who finds a table of nothing but fences, or none, replaces all of it by the first rows.
        remake_conflicts: Such a commit conflicts with all that came since its snapshot, and others' with it.
        alone: A slot is claimed only while no other is.

        commits: Who commits: Spark's job, or the driver the files that Spark's job has staged.
        late: How many puts may land after their driver has been told of an error.
        foreign: How many commits others make to the tables.
        phantoms: How many puts may be acknowledged at a version whose log entry has been cleaned away.
        compare: Where the transaction version is compared: on the ``snapshot`` that commits, on one ``before`` it, on
            the ``first`` attempt's only, or ``never``.
        rebase: After a conflict: ``load`` again and compare, or go on ``blindly`` at the next version.
        fenced_when: A fence is in place once it is ``seen`` in a snapshot, or when its put is ``answered``.
        fence_equal: Whose the transaction version 2·token is: the driver's ``own``, or taken for ``another``'s.
        folder: What a folder of staged files is named by: run, token and ``attempt``, or all but one of these.
        restores: How many times a table's log is cut, or the table is restored to before what is not recorded.
        answer: When a person who is asked looks at the rows: once they are ``asked``, or at ``any_time``.
        sweep: When staged files are removed: once they are ``settled``, see `tests.model.by_driver`, or too early.
    """

    mode: Literal["append", "replace"] = "append"
    outlets: int = 1
    lanes: int = 1
    lane_of_event: tuple[int, ...] = (0, 0)
    share_app: bool = False
    events: int = 2
    drivers: int = 2
    claims: int = 4
    crashes: int = 2
    attempts: int = 1
    timeouts: int = 1
    backfill: int = -1
    exists: bool = True
    old_version: int = 0
    atomic: bool = True
    shared_reader: bool = False
    txn: bool = True
    nondeterministic: bool = False
    ambiguous: bool = True

    takeover: Literal["any_time", "driver_gone", "jvm_gone"] = "any_time"
    look: Literal["chain", "previous", "last_after_fence", "last_before_fence", "chain_before_fence", "none"] = "chain"
    fence: Literal["dirty", "never"] = "dirty"
    fence_check: bool = True
    fence_conflict: Literal["retry", "ignore"] = "retry"
    fence_missing: Literal["create", "skip"] = "create"
    adopt_pins: Literal["run", "own"] = "run"
    fail: Literal["selffence", "dirty", "naive"] = "selffence"
    guard: bool = True
    verify: bool = True
    record_from: Literal["commit", "memory"] = "commit"
    multi: Literal["forward", "any", "all_or_rerun"] = "forward"
    forward_pins: Literal["run", "own"] = "run"
    event_version: Literal["commit", "latest"] = "commit"
    split: bool = False

    touches: tuple[tuple[str, ...], ...] = (("a", "b"), ("a",))
    slots: bool = False
    overlap: Literal["waits", "alive", "ignored"] = "waits"
    settles: Literal["slot", "asset"] = "slot"
    whole: bool = False
    whole_waits: bool = True
    layout: Literal["folders", "none"] = "folders"
    remakes: bool = False
    remake_conflicts: bool = True
    alone: bool = False

    commits: Literal["spark", "driver"] = "spark"
    restores: int = 0
    answer: Literal["asked", "any_time"] = "asked"

    late: int = 1
    foreign: int = 0
    phantoms: int = 0
    compare: Literal["snapshot", "before", "first", "never"] = "snapshot"
    rebase: Literal["load", "blindly"] = "load"
    fenced_when: Literal["seen", "answered"] = "seen"
    fence_equal: Literal["own", "another"] = "own"
    folder: Literal["attempt", "no_token", "no_attempt"] = "attempt"
    sweep: Literal[
        "settled",
        "never",
        "at_claim",
        "before_look",
        "own_attempts",
        "on_error",
        "on_superseded",
        "by_run",
        "at_fence",
        "other_lanes",
        "other_outlets",
    ] = "settled"
