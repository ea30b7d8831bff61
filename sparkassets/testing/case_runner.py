"""Runs the tests of a project's assets; a test of rows runs an asset's code on rows that the test gives."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from sparkassets.core.cases import Case, RowCase
from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionSet
from sparkassets.core.runs import InletPin
from sparkassets.core.spec.model import AssetSpec, InletSpec, ReadAfter, ReadChanges
from sparkassets.core.spec.project_spec import EngineName, ProjectSpec
from sparkassets.core.suggestions import did_you_mean
from sparkassets.core.validations import RunJudgement
from sparkassets.errors import RunError, SparkAssetsError, SparkUnavailableError
from sparkassets.ports import RunOrder
from sparkassets.testing.given_rows import as_frame, frame_of
from sparkassets.testing.results import CaseResult, describe_difference

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from sparkassets.spark.computation import SparkComputation
    from sparkassets.spark.inlet_reader import ReadInlets
    from sparkassets.spark.self_writing import SelfWritingComputation
    from sparkassets.spark.validation import RowRules


def run_cases(
    project: ProjectSpec, cases: Sequence[Case], *, spark: SparkSession | None = None
) -> Iterator[CaseResult]:
    """The result of each test as it ends; tests without Spark come first.

    Args:
        project: The project under test.
        cases: The tests to run.
        spark: The session to compute in; None takes the active one, else starts a small one.

    Raises:
        SparkUnavailableError: A test needs Spark, and it cannot be started.
    """
    with ExitStack() as opened:
        rows: list[RowTests] = []

        def of_rows(case: RowCase, number: int) -> str:
            if not rows:
                rows.append(RowTests(project, spark))
                opened.callback(rows[0].close)
            return rows[0].run_case(case, number)

        for number, case in enumerate(sorted(cases, key=lambda each: isinstance(each, RowCase))):
            if isinstance(case, RowCase):
                yield _run_case(case, case.asset, partial(of_rows, case, number))
            else:
                from sparkassets.testing.time_tests import run_times  # with the planner, which rows do not need

                yield _run_case(case, "", partial(run_times, project, case))


def choose_engine(project: ProjectSpec) -> EngineName:
    """The engine for tests of rows: the one that was asked for, else Sail if it is installed, else Spark."""
    from sparkassets.spark.installation import is_sail_installed

    return project.engine or ("sail" if is_sail_installed() else "spark")


def _run_case(case: Case, about: str, run: Callable[[], str]) -> CaseResult:
    """The result of one test.

    Args:
        case: The test.
        about: The asset that it computes; empty for a test of steps.
        run: Runs it, and returns why it fails; empty if it passes.

    Raises:
        SparkUnavailableError: It needs Spark, which cannot be started: no other test of rows could run either.
    """
    begun = time.monotonic()
    try:
        difference = run()
    except SparkUnavailableError:
        raise
    except SparkAssetsError as error:
        return CaseResult(case.name, case.location, about, "error", str(error), time.monotonic() - begun)
    return CaseResult(
        case.name, case.location, about, "failed" if difference else "passed", difference, time.monotonic() - begun
    )


class RowTests:
    """Runs the tests of rows in one session.

    Args:
        project: The project under test.
        session: The session; None takes the active one, else starts a small one, which `close` stops.
    """

    def __init__(self, project: ProjectSpec, session: SparkSession | None = None) -> None:
        from sparkassets.spark.engine import SparkEngine

        self._folder = TemporaryDirectory(prefix="sparkassets-test-")
        self._project = replace(project, spark={**_SMALL, **project.spark}, engine=choose_engine(project))
        self._cases: dict[str, RowCase] = {}
        """Tests by the id of their runs."""
        self._engine = SparkEngine(self._project, session, opening=self._read_given)
        self._engine.start()

    def close(self) -> None:
        """Closes the session, and removes all tables of the tests."""
        self._engine.close()
        self._folder.cleanup()

    def run_case(self, case: RowCase, number: int) -> str:
        """Why the test fails; empty if it passes. ``number`` names its folder and its run.

        Raises:
            SparkAssetsError: The run failed, and the test expects no failure.
        """
        order = self._order(case, Path(self._folder.name) / str(number))
        self._cases[order.run] = case
        try:
            self._write_before(case, order)
            frames, judgement = self._compute_tables(order)
            if case.expected.error:  # Spark computes lazily: an error of the rows comes when they are collected
                for frame in frames.values():
                    frame.collect()
        except SparkAssetsError as error:
            return _is_expected_error(case, error)
        if case.expected.error:
            return f"expected it to fail with {case.expected.error!r}, but it succeeded"
        differences = [_describe_withheld_differences(order, case.expected.withheld, judgement)]
        differences += [
            self._describe_differences(case, name, frames[name], rows) for name, rows in case.expected.tables.items()
        ]
        return "\n".join(filter(None, differences))

    def _compute_tables(self, order: RunOrder) -> tuple[dict[str, DataFrame], RunJudgement]:
        """(Table to the rows that the run would publish in it, what its validations decided).

        Rows that a validation takes out alone are not published. A partition that is withheld from one table is
        withheld from all.
        """
        from sparkassets.spark.computation import computation_for
        from sparkassets.spark.self_writing import SelfWritingComputation
        from sparkassets.spark.targets.judged_rows import find_rules
        from sparkassets.spark.targets.staging_layout import flag_taken_rows
        from sparkassets.spark.validation import STAYS, TAKEN

        computed = self._engine.compute(order, attempt=1)
        if isinstance(computed, SelfWritingComputation):
            return self._by_itself(computed)
        frames: dict[str, DataFrame] = {}
        judgement = RunJudgement()
        for each in order.table_orders:
            computation = computation_for(computed, each.asset.name)
            rules = find_rules(computation.order, computation.inlets, self._engine.workplace.packages)
            rows = computation.frame
            if rules is not None:
                marked = flag_taken_rows(rows, rules)
                rows = rows if marked is None else marked
                judgement = judgement.merge(_judge_landing(computation, rules))
            frames[each.asset.name] = rows.filter(f"{TAKEN} = {STAYS}").drop(TAKEN) if TAKEN in rows.columns else rows
        if judgement.withheld:
            frames = {
                each.asset.name: _select_published(frames[each.asset.name], each, judgement)
                for each in order.table_orders
            }
        return frames, judgement

    def _by_itself(self, computed: SelfWritingComputation) -> tuple[dict[str, DataFrame], RunJudgement]:
        """The rows that the asset's own code wrote to the test's tables, and what its validations decided of them."""
        from sparkassets.spark.self_writing import judge_written_table

        computed.write()
        frames, judgement = {}, RunJudgement()
        for each in computed.order.table_orders:
            frames[each.asset.name] = self._read_table(each)
            judgement = judgement.merge(judge_written_table(self._engine.workplace, computed, each.asset))
        return frames, judgement

    def _read_table(self, order: RunOrder) -> DataFrame:
        """The rows that an asset's own code has written to its table in the test's folder.

        Raises:
            RunError: The asset has no table, or nothing was written to it.
        """
        from sparkassets.spark.open_tables import find_table
        from sparkassets.spark.table_locations import location_of

        name = order.asset.name
        if order.asset.storage is None:
            hint = "use a test with 'steps', or test your own code"
            raise RunError(f"{name} has no 'path' or 'table', so there are no rows to compare", hint=hint)
        with self._engine.workplace.enter_session(order.asset) as session:
            table = find_table(session, location_of(order.asset))
            if table is None:
                hint = (
                    f"write to context.outlets.{name}.path or {{{{ outlets.{name} }}}}, which point to the test's table"
                )
                raise RunError(f"{name} wrote nothing to the test's table", hint=hint)
            return table.read_rows(session, table.version)[0]

    def _order(self, case: RowCase, folder: Path) -> RunOrder:
        """The run's order as a driver would make it, with tables in ``folder``; no event or earlier run led to it."""
        project, asset = self._project, self._relocate_asset(self._project.assets[case.asset], folder)
        if case.params is not None:
            asset = replace(asset, params=case.params, segment_params=None)
        inlets = {name: self._relocate_asset(project.inlet_with_mapping(asset, name), folder) for name in asset.inlets}
        order = RunOrder(
            asset=asset,
            run=f"test-{folder.name}",
            app_id=f"test/{asset.name}",
            token=1,
            partitions=case.partitions,
            pins={name: self._pin(case, asset, each) for name, each in asset.inlets.items()},
            inlets=inlets,
            interval=_aware(case.interval),
            schedule_date=case.at,
            events={},
        )
        outlets = (replace(order, asset=self._relocate_asset(project.assets[name], folder)) for name in asset.outlets)
        return replace(order, outlets=tuple(outlets))

    def _relocate_asset(self, asset: AssetSpec, folder: Path) -> AssetSpec:
        """The asset with its table in a folder of the test's own."""
        if asset.storage is None:
            return asset
        return replace(asset, storage=asset.storage.at_path(str(folder / asset.name)))

    def _pin(self, case: RowCase, asset: AssetSpec, inlet: InletSpec) -> InletPin:
        """The pin of an inlet: its required partitions and its watermark."""
        needed = self._project.dependency(asset, inlet)
        parts = needed.required_partitions(case.partitions) if needed.is_mapped else EVERYTHING
        given = case.given.get(inlet.name)
        return InletPin(inlet.uri, parts=parts, low=given.after if given is not None else None)

    def _read_given(self, session: SparkSession, order: RunOrder) -> ReadInlets:
        """The rows that the test gives for each inlet, cut to the pinned partitions or to rows above the watermark."""
        from sparkassets.spark.inlet_reader import ReadInlets, read_above

        read, given = ReadInlets(), self._cases[order.run].given
        for name, inlet in order.asset.inlets.items():
            if inlet.waits_only:
                continue
            frame = frame_of(session, order.inlets[name], given[name])
            match inlet.read:
                case ReadChanges():
                    frame = _as_changes(frame)
                case ReadAfter(column, overlap):
                    low = order.pins[name].low
                    found = read_above(frame, inlet=inlet, column=column, overlap=overlap, low=low)
                    frame, read.watermarks[name] = found  # (rows above the watermark, the new watermark)
                case None:
                    frame = _select_partitions(frame, order.inlets[name], order.pins[name].parts)
            read.frames[name] = frame
        return read

    def _write_before(self, case: RowCase, order: RunOrder) -> None:
        """Writes the tables that exist before the run, if the test gives their rows."""
        for each in order.table_orders:
            given = case.given.get(each.asset.name)
            if given is None or each.asset.storage is None:
                continue  # the test begins without that table
            with self._engine.workplace.enter_session(each.asset) as session:
                rows = frame_of(session, each.asset, given)
                rows.write.format("delta").save(each.asset.storage.path)

    def _describe_differences(
        self, case: RowCase, name: str, found: DataFrame, rows: Sequence[Mapping[str, Any]]
    ) -> str:
        """The differences between a table's rows and the expected ones; empty if there are none."""
        asset = self._project.assets[name]
        if asset.publishes and not found.columns:
            return f"{name} writes files, which have no rows to compare"
        columns = list(dict.fromkeys(column for row in rows for column in row))  # the test may name only some
        if difference := _compare_columns(columns, found.columns, only=case.expected.only):
            return f"{name} {difference}"
        from sparkassets.spark.failures import explain_errors

        chosen = found.select(*map(found.__getitem__, columns)) if columns else found
        with explain_errors(what=name):
            present = _collect_rows(chosen)
        wanted = as_frame(found.sparkSession, rows, {}, owner="the expected rows", schema=chosen.schema)
        difference = describe_difference(_collect_rows(wanted), present, tolerance=case.expected.tolerance)
        return f"{name}: {difference}" if difference else ""


def _judge_landing(computation: SparkComputation, rules: RowRules) -> RunJudgement:
    """What rules decide of the rows that would be written, which a run judges: of an upsert the newest row of each key.

    Raises:
        RunError: A row cannot be written.
    """
    from sparkassets.spark.targets.judged_rows import judge_rows
    from sparkassets.spark.targets.staging_layout import flag_taken_rows
    from sparkassets.spark.writes import choose_judged_rows

    chosen, planned = choose_judged_rows(computation.order, computation.frame, schema=computation.schema)
    rows = chosen.rows
    if chosen.delete_condition is not None:
        rows = rows.filter(f"NOT {chosen.delete_condition}").drop(chosen.delete_condition)
    marked = flag_taken_rows(rows, rules)
    try:
        return judge_rows(computation.order, rules, rows if marked is None else marked)
    except SparkAssetsError:
        raise
    except Exception as error:
        raise planned.explain_error(error) from error


def _compare_columns(expected: Sequence[str], found: Sequence[str], *, only: bool) -> str:
    """The first missing or, with ``only``, unexpected columns, as the end of a sentence; empty if they are right."""
    for column in expected:
        if column not in found:
            hint = did_you_mean(column, found)
            return f"has no column {column!r}" + (f"; {hint}" if hint else "")
    more = [column for column in found if column not in expected]
    return f"has unexpected columns: {', '.join(more)}" if only and more else ""


_SMALL = {"sparkassets.small_data": "true"}
"""Spark's settings for a session that is started for tests alone."""


def _select_published(frame: DataFrame, order: RunOrder, judgement: RunJudgement) -> DataFrame:
    """The rows of the partitions that are not withheld."""
    left = order.partitions - judgement.withheld
    if not left:
        return frame.filter("false")
    return _select_partitions(frame, order.asset, left)


def _describe_withheld_differences(order: RunOrder, expected: PartitionSet | None, judgement: RunJudgement) -> str:
    """How the withheld partitions differ from the expected ones; empty if they are exactly the same."""
    expected, partitioning = expected or NOTHING, order.asset.partitioning

    def describe_parts(parts: PartitionSet) -> str:
        return ", ".join(partitioning.display_labels(parts, most=10)) if partitioning.is_partitioned else "it"

    why = "; ".join(each.text for each in judgement.verdicts if each.outcome == "withheld")
    lines, name = [], order.asset.name
    if more := judgement.withheld - expected:
        lines.append(f"{name}: {describe_parts(more)} is unexpectedly withheld: {why}")
    if lacking := expected - judgement.withheld:
        lines.append(f"{name}: {describe_parts(lacking)} is not withheld")
    return "\n".join(lines)


def _is_expected_error(case: RowCase, error: SparkAssetsError) -> str:
    """Empty if the run failed as expected, else how it differs; raises ``error`` if no failure was expected."""
    wanted, message = case.expected.error, str(error)
    if not wanted:
        raise error
    return "" if wanted in message else f"expected it to fail with {wanted!r}, but it failed with: {message}"


def _aware(interval: tuple[int, int] | None) -> Any:  # noqa: ANN401
    from sparkassets.core.instants import from_unix

    return (from_unix(interval[0]), from_unix(interval[1])) if interval is not None else None


def _select_partitions(frame: DataFrame, asset: AssetSpec, parts: PartitionSet) -> DataFrame:
    """The rows of the mapped partitions."""
    from sparkassets.spark.predicates import partition_predicate

    owner = f"the inlet {asset.name!r}"
    predicate = partition_predicate(frame.schema, parts, partitioning=asset.partitioning, owner=owner)
    return frame if predicate is None else frame.filter(predicate)


def _as_changes(frame: DataFrame) -> DataFrame:
    """The rows with the columns of a change feed; rows given without them count as inserted by one commit."""
    from pyspark.sql import functions as sql

    columns = {"_change_type": "'insert'", "_commit_version": "1L", "_commit_timestamp": "TIMESTAMP'2025-01-01'"}
    for name, value in columns.items():
        if name not in frame.columns:
            frame = frame.withColumn(name, sql.expr(value))
    return frame


def _collect_rows(frame: DataFrame) -> list[dict[str, Any]]:
    return [row.asDict(recursive=True) for row in frame.collect()]
