"""The iterations of what publishes: which there are, and how an older one becomes the newest again."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from sparkassets.app.driving import Driving
from sparkassets.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkassets.core.documents.iterations import Published
    from sparkassets.core.results import Summary
    from sparkassets.core.spec.model import AssetSpec


class Publishing(Driving):
    """What can be asked of iterations, and done with them."""

    def iterations(self, asset: str) -> list[Published]:
        """The iterations of an asset that are there, the newest record first; needs no Spark.

        Raises:
            InputError: There is no such asset, or it does not publish.
        """
        from sparkassets.core.documents.iterations import published
        from sparkassets.core.journal.codec import from_row
        from sparkassets.core.journal.entries import OutletEntry, SuccessEntry
        from sparkassets.core.spec.outlets import told as told_names

        spec = self._publishing(asset)
        if spec.outlets:
            message = f"{asset!r} is a multi-asset, which holds no data: its outlets have iterations"
            raise InputError(message, hint=f"name {told_names(spec.outlets)}")
        known = self._state("iterations").assets.get(asset)
        if known is None or not known.iterations:
            return []
        first = min(each.seq for each in known.iterations) - 1
        rows = self._adapters.store.history(kinds=("success", "outlet"), asset=asset, after_seq=first)
        entries = (each.entry for each in map(from_row, rows))
        told = (each for each in entries if isinstance(each, SuccessEntry | OutletEntry) and each.iteration)
        extras = {each.run: each.extra for each in told}
        return published(spec, known.iterations, extras)

    def rollback(self, asset: str, run: str, spark: SparkSession | None = None, *, check: bool = True) -> Summary:
        """Makes the iteration of ``run`` the newest again; what it was published as is an update for its readers.

        Spark is started only where it is what commits to the asset's table.

        Raises:
            InputError: There is no such iteration, or something of the asset runs.
            RunFailedError: It could not be committed; it holds the summary.
        """
        from sparkassets.core.planner.rollback import plan_rollback
        from sparkassets.runtime.work import Rollback

        self._lend(spark)
        spec = self._publishing(asset)
        if spec.maker:
            message = (
                f"{asset!r} is published together with the other outlets of {spec.maker!r}: it cannot go back alone"
            )
            hint = f"all of them go back by `sparkassets iterations {spec.maker} --rollback {run}`"
            raise InputError(message, hint=hint)
        context = self._context()
        plan = plan_rollback(context, context.asset(asset), run)
        if not plan.runs:
            reasons = "; ".join(dict.fromkeys(each.reason for each in plan.waiting))
            raise InputError(f"nothing is rolled back: {asset}: {reasons}")
        works, computing = [Rollback(spec, run)], partial(self._unstarted, spark)
        return self._drive(works, spark, at=None, progress=None, check=check, over_budget=True, computing=computing)

    def _publishing(self, asset: str) -> AssetSpec:
        from sparkassets.core.writes import Publish

        spec = self.asset(asset)
        if not isinstance(spec.write, Publish):
            raise InputError(f"asset {asset!r} has no iterations", hint="write: {publish: {keep: 10}} makes one a run")
        return spec
