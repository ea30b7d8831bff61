"""Runs around code that the driver does not start: a job's own code is recorded as a run of an asset.

The driver works in a thread of its own. Its run waits there until the caller's ``with`` block has ended.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING

from sparkassets.app.context import ProjectContext
from sparkassets.app.work_runner import WorkRunner
from sparkassets.errors import InputError, RunError, RunSkipped, describe_error

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkassets.core.results import Summary
    from sparkassets.ports import Engine, TargetFactory
    from sparkassets.runtime.driver_work import DriverWork
    from sparkassets.spark.context import Context


@contextmanager
def attended_run(
    context: ProjectContext,
    runner: WorkRunner,
    asset: str,
    *,
    partition: str | Sequence[str],
    interval: str | None,
    spark: SparkSession | None,
) -> Iterator[Context]:
    """Records the block of a ``with`` as a run of an asset; behind `Project.run_of`.

    The driver works in a thread of its own. Once it has claimed the run, the block begins here, and the run's thread
    waits for its end as it would for an engine. An error of the block fails the run and passes on to the caller.
    """
    from sparkassets.runtime.progress import RunFailedError

    work, meeting = _make_work(context, asset, partition, interval), _RunMeeting()
    drive_run = partial(_drive, context, runner, work, spark, meeting)
    driving = threading.Thread(target=meeting.run_invocation, args=(drive_run,), name=f"run of {asset}", daemon=True)
    driving.start()
    begun = meeting.begun.get()
    if begun is None:
        driving.join()
        raise meeting.refusal(asset)
    try:
        yield begun
        meeting.end(None)
    except RunSkipped as skipped:
        meeting.end(skipped)
    except BaseException as error:
        meeting.end(error)
        driving.join()
        raise
    driving.join()
    if meeting.failure is not None:
        raise meeting.failure
    if meeting.summary is not None and meeting.summary.failures:
        raise RunFailedError(meeting.summary)


def _make_work(context: ProjectContext, name: str, partition: str | Sequence[str], interval: str | None) -> DriverWork:
    """The work of one attended run.

    Raises:
        InputError: sparkassets itself writes the asset's table, or the partition or interval is wrong.
    """
    from sparkassets.app.backfills import named_partitions, parse_interval
    from sparkassets.runtime.requested_works import AttendedWork

    asset = context.runnable_asset(name, "run --select")
    if not asset.writes_itself:
        hint = "write 'write: self' if the asset's own code writes its table"
        raise InputError(f"asset {name!r} is computed and written by sparkassets, not by its own job", hint=hint)
    if asset.partitioning.is_open:  # with the segments that the journal knows, as the partition may be one of these
        asset = context.look().asset(name)
    partitions = named_partitions(asset, [partition] if isinstance(partition, str) else partition)
    return AttendedWork(asset, partitions, parse_interval(asset, interval))


def _drive(
    context: ProjectContext, runner: WorkRunner, work: DriverWork, spark: SparkSession | None, meeting: _RunMeeting
) -> Summary:
    """Runs the work with an engine whose computation is the caller's block."""
    from sparkassets.spark.engine import AttendedEngine

    def open_engine() -> tuple[Engine, TargetFactory]:
        engine, targets = runner.open_engine(spark)
        return AttendedEngine(context.spec, meeting.attend, meeting.give_up, engine), targets

    return runner.run([work], spark, check=False, open_engine=open_engine)


class _RunMeeting:
    """Synchronises the driver's thread with the thread of the code that it records.

    Attributes:
        begun: Receives the run's context once it is claimed, or None if the driver ends without a run.
        summary: What the driver did; None if it failed.
        failure: What the driver raised.
    """

    def __init__(self) -> None:
        self.begun: SimpleQueue[Context | None] = SimpleQueue()
        self.summary: Summary | None = None
        self.failure: BaseException | None = None
        self._ended: SimpleQueue[RunError | RunSkipped | None] = SimpleQueue()

    def run_invocation(self, invoke: Callable[[], Summary]) -> None:
        """Runs the invocation and keeps its summary or error; called in the driver's thread."""
        try:
            self.summary = invoke()
        except BaseException as error:  # noqa: BLE001  raised where the run was asked for
            self.failure = error
        finally:
            self.begun.put(None)  # wakes a caller whose run was never claimed

    def attend(self, context: Context) -> None:
        """Lets the caller's code begin and waits for its end; called in the run's thread.

        Raises:
            RunError: The code failed, or the run was cancelled.
            RunSkipped: The code had nothing to do.
        """
        self.begun.put(context)
        error = self._ended.get()
        if error is not None:
            raise error

    def end(self, error: BaseException | None) -> None:
        """Reports that the code has ended; ``error`` is what it raised, None for success."""
        if error is None or isinstance(error, RunSkipped):
            self._ended.put(error)
            return
        failed = RunError(describe_error(error))
        failed.__cause__ = error
        self._ended.put(failed)

    def give_up(self) -> None:
        """Ends the cancelled run without its code, which nobody can stop; the next run records what it still writes."""
        self._ended.put(RunError("abandoned before its code ended"))

    def refusal(self, asset: str) -> BaseException:
        """The error that says why no run began, so that the caller's code was not started."""
        if self.failure is not None:
            return self.failure
        waiting = self.summary.waiting if self.summary is not None else ()
        why = "; ".join(dict.fromkeys(each.reason for each in waiting if each.asset == asset))
        faults = "; ".join(self.summary.failures) if self.summary is not None else ""
        return RunError(f"no run of {asset} can start: {why or faults or 'another driver has claimed it'}")
