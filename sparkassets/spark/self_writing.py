"""Runs whose own code writes their target: a function, or statements."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.validations import ForeignKeyCheck
from sparkassets.ports import RunOrder
from sparkassets.spark.computation import collect_measures
from sparkassets.spark.context import Context
from sparkassets.spark.inlet_reader import ReadInlets, read_inlets

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class SelfWritingComputation:
    """The work of a run with its inlets opened; nothing is done before `write`.

    Attributes:
        order: The run.
        work: Calls the function or executes the statements.
    """

    order: RunOrder
    context: Context
    inlets: ReadInlets = field(repr=False)
    work: Callable[[], None] = field(repr=False)
    _done: list[bool] = field(default_factory=list, repr=False)

    def write(self) -> None:
        """Does the work once, however many tables it writes.

        Raises:
            RunError: Whatever its code raised.
        """
        if not self._done:
            self.work()
            self._done.append(True)

    def compared(self, session: SparkSession, asset: AssetSpec) -> ReadInlets:
        """Inlets that rules of one table ask; those that the code read by itself are opened here.

        Raises:
            SourceError: Such an inlet vanished, was re-created or changed.
        """
        asked = {rule.check.asset for rule in asset.rules if isinstance(rule.check, ForeignKeyCheck)}
        unread = asked - self.inlets.frames.keys()
        if not unread:
            return self.inlets
        inlets = {name: replace(self.order.asset.inlets[name], waits_only=False) for name in sorted(unread)}
        found = read_inlets(session, replace(self.order, asset=replace(self.order.asset, inlets=inlets)))
        return replace(self.inlets, frames={**self.inlets.frames, **found.frames})

    @property
    def measures(self) -> Mapping[str, Any]:
        """As of `SparkComputation`, with the extras of each outlet."""
        extras = {name: dict(outlet.extra) for name, outlet in self.context.outlets.items() if self.order.outlets}
        told = {name: extra for name, extra in extras.items() if extra}
        order = self.order.with_new_segments(self.context.added_segments)
        return {**collect_measures(order, self.context, self.inlets), **({"outlets": told} if told else {})}

    def release(self) -> None:
        """Nothing is held."""
