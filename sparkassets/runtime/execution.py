"""One claimed run in its target: steps 2 to 6 of the run protocol (DESIGN section 8).

The rules were model-checked; change none without checking again (`model/suite.py`). In short: fence what older claims
of the chain may still write, look whether one of them is in, else write exactly one commit, look again whatever the
write returned, and on failure fence oneself before saying so. What is recorded in the journal is the driver's matter.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

from tenacity import Retrying, retry_if_exception, stop_after_attempt, wait_exponential

from sparkassets.core.journal.entries import FailureCause
from sparkassets.core.journal.state import ClaimState
from sparkassets.errors import RunError, SparkAssetsError
from sparkassets.ports import (
    CommitMarker,
    Committed,
    Computation,
    Engine,
    FenceConflictError,
    HistoryGoneError,
    RunOrder,
    TargetMissingError,
)

INTERRUPTED = "interrupted before it ended"
"""What a cancelled run says of itself."""
GRACE_SECONDS = 20.0
"""How long a cancelled attempt may take to return before it is left behind; it can no longer land by then."""


@dataclass(frozen=True, slots=True)
class Done:
    """A run is in its target: this one, or an older one of the chain that was found there."""

    committed: Committed
    attempts: int


@dataclass(frozen=True, slots=True)
class Failed:
    """The run failed; ``fenced`` when it is certain that nothing of it can land any more."""

    cause: FailureCause
    error: BaseException
    fenced: bool
    attempts: int


@dataclass(frozen=True, slots=True)
class Superseded:
    """Another driver claimed the asset: nothing is written and nothing recorded."""


Outcome = Done | Failed | Superseded


class _TimedOutError(RunError):
    retryable = True


class _CancelledError(RunError):
    pass


class _SupersededError(Exception):
    pass


class Execution:
    """One run, executed in a thread of its own; `cancel` and `supersede` may be called from another."""

    def __init__(self, engine: Engine, order: RunOrder, older: Sequence[ClaimState]) -> None:
        self._engine = engine
        self._order = order
        self._older = tuple(older)
        self._wake = threading.Event()
        self._stir = threading.Event()
        self._cancelled = False
        self._superseded = False
        self._gate = threading.Lock()
        self._settled = not older
        self._begun = False
        self._computation: Computation | None = None
        self._attempts = 0

    def cancel(self) -> None:
        """Interrupts the run; it fails with cause ``cancelled``."""
        self._cancelled = True
        self._interrupt()

    def supersede(self) -> None:
        """Another claim is newer: the run stops and leaves everything to it (step 7)."""
        self._superseded = True
        self._interrupt()

    def _interrupt(self) -> None:
        self._wake.set()
        self._stir.set()
        self._engine.cancel(self._order.run)

    def run(self) -> Outcome:
        """Executes the protocol; never raises, whatever the run's code does."""
        try:
            if not self._settled:
                found = self._recover()
                if found is not None:
                    return Done(found, 0)
                self._settled = True
                if self._order.blocks is not None and not self._order.blocks:
                    lost = RunError(f"{', '.join(link.entry.run for link in self._older)} never ended and left nothing")
                    return Failed("lost", lost, fenced=True, attempts=0)
            return Done(self._attempt_until_in(), self._attempts)
        except _SupersededError:
            return Superseded()
        except HistoryGoneError as error:
            return Failed("error", error, fenced=False, attempts=self._attempts)
        except BaseException as error:  # noqa: BLE001  the run boundary: `sys.exit` in a run's code is a failure, too
            return self._fail(error)

    # ------------------------------------------------------------------ steps 2 and 3

    def _recover(self) -> Committed | None:
        """Fences the older claims and returns the run of them that is in, if any."""
        self._fence(2 * self._order.token, superseded_from=2 * self._order.token)
        runs = [link.entry.run for link in self._older]
        committed = self._engine.committed(self._order.asset, runs, app_id=self._order.app_id)
        return committed[-1] if committed else None

    def _fence(self, version: int, *, superseded_from: int) -> None:
        asset, app_id = self._order.asset, self._order.app_id
        marker = self._stamp(version, "fence")
        while True:
            self._check_superseded()
            newest = self._engine.transaction_version(asset, app_id)
            if newest is not None and newest >= superseded_from:
                if version == 2 * self._order.token:
                    raise _SupersededError
                return
            try:
                self._engine.fence(self._order, self._computation, marker=marker)
            except FenceConflictError:
                continue
            except TargetMissingError:
                self._computation = self._engine.compute(self._order, attempt=0)
                continue
            return

    # ------------------------------------------------------------------ step 4

    def _attempt_until_in(self) -> Committed:
        asset = self._order.asset
        delay = float(asset.retry_delay_seconds)
        attempts = Retrying(
            stop=stop_after_attempt(asset.retries + 1),
            wait=wait_exponential(multiplier=delay, min=delay, max=3600),
            retry=retry_if_exception(self._may_retry),
            sleep=self._sleep,
            reraise=True,
        )
        return attempts(self._attempt)

    def _sleep(self, seconds: float) -> None:
        self._wake.wait(min(seconds, threading.TIMEOUT_MAX))

    def _may_retry(self, error: BaseException) -> bool:
        kind = type(error)  # `isinstance` would ask the error for its class, and that may raise
        if self._cancelled or self._superseded or issubclass(kind, _SupersededError | HistoryGoneError):
            return False
        if issubclass(kind, SparkAssetsError) and isinstance(error, SparkAssetsError):
            return error.retryable
        return issubclass(kind, Exception)

    def _attempt(self) -> Committed:
        self._check_superseded()
        if self._cancelled:
            raise _CancelledError(INTERRUPTED)
        self._attempts += 1
        error = self._compute_and_write(self._attempts)
        found = self._find() if self._begun else None
        if found is not None:
            return found
        raise error or RunError(
            f"{self._order.asset.name}: the write returned, but its commit is not in the table's history",
            hint="another writer may have taken its place; look at DESCRIBE HISTORY of the target",
        )

    def _compute_and_write(self, attempt: int) -> BaseException | None:
        """One attempt in a thread that can be left behind; returns what it raised."""
        raised: list[BaseException] = []
        ended, mine = threading.Event(), threading.Event()
        self._stir.clear()
        if self._wake.is_set():  # by whoever interrupted it just now
            self._stir.set()

        def job() -> None:
            try:
                computation = self._engine.compute(self._order, attempt=attempt)
                with self._gate:
                    if mine.is_set():
                        return  # given up meanwhile: nothing may begin to write any more
                    self._begun = True
                    self._computation = computation
                marker = self._stamp(2 * self._order.token + 1, "data", computation, attempt)
                self._engine.write(self._order, computation, marker=marker)
            except BaseException as error:  # noqa: BLE001  handed to the thread that waits
                raised.append(error)
            finally:
                ended.set()
                self._stir.set()

        worker = threading.Thread(target=job, name=f"{self._order.run}-{attempt}", daemon=True)
        worker.start()
        seconds = self._order.asset.timeout_seconds
        self._stir.wait(min(seconds, threading.TIMEOUT_MAX))
        if ended.is_set():
            return raised[0] if raised else None
        late = not self._wake.is_set()
        if late:
            self._engine.cancel(self._order.run)
        ended.wait(GRACE_SECONDS)
        with self._gate:
            mine.set()
        if late:
            return _TimedOutError(f"{self._order.asset.name}: no result within its timeout of {seconds} s")
        return _CancelledError(INTERRUPTED)

    def _find(self) -> Committed | None:
        order = self._order
        committed = self._engine.committed(order.asset, [order.run], app_id=order.app_id)
        return committed[-1] if committed else None

    # ------------------------------------------------------------------ step 6

    def _fail(self, error: BaseException) -> Outcome:
        if self._superseded:
            return Superseded()
        cause: FailureCause = "error"
        if self._cancelled:
            cause = "cancelled"
        elif issubclass(type(error), _TimedOutError):
            cause = "timeout"
        if not self._begun:
            return Failed(cause, error, fenced=self._settled, attempts=self._attempts)
        try:
            own = 2 * self._order.token + 1
            self._fence(own, superseded_from=own)
            found = self._find()
        except _SupersededError:
            return Superseded()
        except BaseException:  # noqa: BLE001  the target is out of reach: the next claim has to fence
            return Failed(cause, error, fenced=False, attempts=self._attempts)
        return Done(found, self._attempts) if found else Failed(cause, error, fenced=True, attempts=self._attempts)

    def _check_superseded(self) -> None:
        if self._superseded:
            raise _SupersededError

    def _stamp(self, version: int, kind: str, computation: Computation | None = None, attempt: int = 0) -> CommitMarker:
        order = self._order
        partition = order.asset.partition
        blocks = tuple(partition.labels(order.blocks)) if partition is not None and order.blocks is not None else ()
        return CommitMarker(
            app_id=order.app_id,
            version=version,
            token=order.token,
            run=order.run,
            attempt=attempt,
            kind="data" if kind == "data" else "fence",
            blocks=blocks,
            measures=dict(computation.measures) if computation is not None else {},
        )
