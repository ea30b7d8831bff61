"""Validations of inlets before a run reads them, and the calls of authors' own checks."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sparkassets.core.partitions import EVERYTHING
from sparkassets.core.spec.code_bodies import PythonBody
from sparkassets.core.spec.model import AssetSpec, InletSpec
from sparkassets.core.validations import (
    HasColumnsCheck,
    PythonCheck,
    RegisteredCheck,
    RuleVerdict,
    RunJudgement,
    ValidationRule,
)
from sparkassets.core.validations.judgement import judge_run
from sparkassets.core.validations.registered_checks import REGISTRY, build_row_checker
from sparkassets.errors import FileLocation, RunError, SparkAssetsError
from sparkassets.frozen import frozen
from sparkassets.plugins import InstalledFactories
from sparkassets.ports import RunOrder
from sparkassets.spark.functions import load_function, raised_by, ship_package
from sparkassets.spark.process_state import preserve_process_state
from sparkassets.spark.validation.measurement import measure
from sparkassets.spark.validation.partition_grouping import PartitionGrouping
from sparkassets.spark.validation.row_rules import RowRules

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@frozen
class CheckCaller:
    """Calls the checks of one asset's rules.

    Attributes:
        asset: The asset, for messages.
        allowed: The packages that functions may come from.
        place: Where the asset is declared.
    """

    asset: str
    allowed: Collection[str]
    place: FileLocation

    def __call__(self, check: PythonCheck | RegisteredCheck, frame: DataFrame) -> Any:  # noqa: ANN401  the author's
        """The function's answer about the rows.

        Raises:
            RunError: The function is missing, or raises.
        """
        if isinstance(check, RegisteredCheck):
            return self._call_registered(check, frame)
        body = PythonBody(check.module, check.function, (), check.search_path, self.place)
        function = load_function(body, self.allowed, self.asset)
        ship_package(frame.sparkSession, body.module.partition(".")[0], folder=body.search_path)
        try:
            with preserve_process_state(lambda: False):
                return function(frame)
        except SparkAssetsError:
            raise
        except BaseException as error:
            raise raised_by(error, body) from error

    def _call_registered(self, check: RegisteredCheck, frame: DataFrame) -> Any:  # noqa: ANN401  another package's
        """What the registered check returns for the rows; process state that it changes is restored.

        Raises:
            RunError: There is no such check, or it raised an error.
        """
        try:
            check_rows = build_row_checker(check.name, check.parameters, installed=InstalledFactories(REGISTRY))
            with preserve_process_state(lambda: False):
                return check_rows(frame)
        except SparkAssetsError as error:
            raise RunError(f"{self.asset}: {error.args[0]}", hint=error.hint) from error
        except Exception as error:
            failure = f"the check {check.name!r} failed"
            raise RunError(f"{self.asset}: {failure}: {type(error).__name__}: {error}") from error


_MOST_ROWS = 3
"""Failing rows in a message."""


def check_inlets(
    order: RunOrder, frames: Mapping[str, DataFrame], packages: Collection[str]
) -> tuple[RuleVerdict, ...]:
    """The verdicts of the inlets' rules, each with its inlet and the partitions of the run.

    Args:
        order: The run.
        frames: The rows that it is about to read, by inlet.
        packages: The packages that functions may come from.

    Raises:
        RunError: An inlet breaks one of its rules.
    """
    verdicts: list[RuleVerdict] = []
    for name, inlet in order.asset.inlets.items():
        rules = tuple(_iterate_inlet_rules(inlet, order.inlets[name])) if name in frames else ()
        if not rules:
            continue
        judgement = _judge_inlet(order, name, rules, frames, packages)
        if broken := judgement.verdicts_with("withheld"):
            raise _make_inlet_error(order.asset, name, broken)
        own_rules = {rule.name for rule in inlet.rules}
        verdicts += [
            replace(each, partitions=order.partitions, inlet=name)
            for each in judgement.verdicts
            if each.rule in own_rules
        ]
    return tuple(verdicts)


def _iterate_inlet_rules(inlet: InletSpec, read: AssetSpec) -> Iterator[ValidationRule]:
    """The inlet's rules, and that an external table has its declared columns."""
    if read.source is not None and read.source.kind in ("delta", "tables") and read.columns:
        yield ValidationRule(
            f"has_columns of {read.name}", HasColumnsCheck(tuple(read.columns.items())), place=read.location
        )
    yield from inlet.rules


def _judge_inlet(
    order: RunOrder,
    name: str,
    rules: tuple[ValidationRule, ...],
    frames: Mapping[str, DataFrame],
    packages: Collection[str],
) -> RunJudgement:
    """The judgement of one inlet's rows, as one whole: rules of an inlet know no partitions."""
    read = order.inlets[name]
    row_rules = RowRules(
        f"the inlet {name!r}",
        rules,
        frames,
        CheckCaller(order.asset.name, packages, order.asset.location),
        read.partitioning.time.timezone if read.partitioning.time is not None else read.timezone,
        frozenset(column.lower() for column in read.private),
    )
    return judge_run(rules, measure(lambda: frames[name], row_rules, PartitionGrouping.whole(EVERYTHING)), [EVERYTHING])


def _make_inlet_error(asset: AssetSpec, name: str, broken: tuple[RuleVerdict, ...]) -> RunError:
    """The error for an inlet that breaks its rules."""
    verdict_texts = "; ".join(each.text for each in broken)
    samples = [sample for each in broken for sample in each.samples][:_MOST_ROWS]
    rows = "; ".join(", ".join(f"{key}={value}" for key, value in sample.items()) for sample in samples)
    examples = f" (such as {rows})" if rows else ""
    refusal = RunError(f"{asset.name}: the inlet {name!r} fails its validations: {verdict_texts}{examples}")
    refusal.is_data_error = True
    return refusal
