"""Reads tests of assets from YAML, and refuses what does not fit their project."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from posixpath import join, normpath
from typing import Any, Final, Literal

from yaml.nodes import MappingNode

from sparkassets.core.cases import (
    DEFAULT_NOW,
    Case,
    CaseStep,
    ExpectedOutcome,
    GivenRows,
    Row,
    RowCase,
    TimeCase,
)
from sparkassets.core.instants import from_unix, parse_instant
from sparkassets.core.partitions import EVERYTHING, PartitionSet
from sparkassets.core.phrases import listing
from sparkassets.core.source_formats import FORMATS
from sparkassets.core.spec import yaml_values
from sparkassets.core.spec.case_files import CaseFile, ExpectMap, GivenMap, StepMap
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.spec.path_columns import path_columns
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.core.spec.shape_checks import check_shape
from sparkassets.core.spec.sql_types import TypeNameError, check_type
from sparkassets.core.spec.yaml_document import DocumentPlace, SourceFile, YamlDocument
from sparkassets.core.spec.yaml_text import compose_documents
from sparkassets.core.suggestions import did_you_mean
from sparkassets.errors import InputError, SpecError, SpecProblem


def read_cases(
    files: Sequence[SourceFile], *, project: ProjectSpec, environment: Mapping[str, str]
) -> tuple[Case, ...]:
    """The tests of all files, in order.

    Args:
        files: Their paths go from the project's folder.
        project: Whose assets they test.
        environment: Variables for ``${…}``.

    Raises:
        SpecError: With every problem of every file.
    """
    cases: dict[str, Case] = {}
    problems: list[SpecProblem] = []
    for document in _documents(files, problems):
        yaml_values.read_values(document, environment=environment)
        keys = check_shape(CaseFile, document, stand_in={"test": "unnamed"})
        case = _CaseReader(document, keys, project).case()
        if keys.test in cases:
            at = DocumentPlace(document) / "test"
            at.add_problem(f"the test {keys.test!r} is defined twice; first at {cases[keys.test].location}")
        elif case is not None:
            cases[keys.test] = case
        problems += document.problems
    if problems:
        raise SpecError(sorted(problems, key=lambda each: each.location))
    return tuple(cases.values())


def _documents(files: Iterable[SourceFile], problems: list[SpecProblem]) -> Iterator[YamlDocument]:
    """Yields the documents of the files; files and documents that cannot be read become problems."""
    for file in files:
        composed = compose_documents(file.text)
        if broken := composed.fault:
            problem = file.problem(broken.line, broken.column, broken.message, hint=broken.hint, width=broken.width)
            problems.append(problem)
        for root in composed.roots:
            if isinstance(root, MappingNode):
                yield YamlDocument(file, root)
            elif root.value:
                place = root.start_mark.line + 1, root.start_mark.column + 1
                problems.append(file.problem(*place, "expected a map of keys that begins with 'test: <name>'"))


class _CaseReader:
    """One test; what is wrong becomes problems of its document."""

    def __init__(self, document: YamlDocument, keys: CaseFile, project: ProjectSpec) -> None:
        self._document = document
        self._at = DocumentPlace(document)
        self._keys = keys
        self._project = project

    def case(self) -> Case | None:
        """The test; None where it is of no kind."""
        keys = self._keys
        if keys.steps:
            return self._read_time_case(keys.steps)
        if keys.asset is None or keys.expect is None:
            lacking = "expect" if keys.asset is not None else "asset"
            if lacking not in self._document.failed:
                hint = "a test has 'asset', 'given' and 'expect', or 'steps'"
                self._at.add_problem(f"missing key {lacking!r} in test {keys.test!r}", hint=hint)
            return None
        asset = self._find_asset(self._at / "asset", keys.asset)
        return self._read_row_case(asset, keys) if asset is not None else None

    def _find_asset(self, at: DocumentPlace, name: str) -> AssetSpec | None:
        found = self._project.assets.get(name)
        if found is None:
            at.add_problem(f"unknown asset {name!r}", hint=did_you_mean(name, self._project.assets))
        return found

    # ------------------------------------------------------------------ rows

    def _read_row_case(self, asset: AssetSpec, keys: CaseFile) -> RowCase | None:
        """A test of rows; None, with a problem, for an asset that has no run of its own.

        Its time is `at`, else the end of its data interval.
        """
        if asset.source is not None or asset.written_by:
            what = (
                "a source, which no run computes" if asset.source else f"an outlet of {asset.written_by!r}; test that"
            )
            (self._at / "asset").add_problem(f"{asset.name!r} is {what}")
            return None
        partitions = self._read_partitions(asset)
        interval = self._interval() or asset.partitioning.interval(partitions)
        if keys.at is not None:
            now = self._parse_instant(self._at / "at", keys.at)
        else:
            now = from_unix(interval[1]) if interval else DEFAULT_NOW
        self._refuse_strangers(asset)
        return RowCase(
            name=keys.test,
            location=(self._at / "test").location,
            description=keys.description,
            asset=asset.name,
            partitions=partitions,
            at=now,
            interval=interval,
            given={
                name: self._read_given(self._at / "given" / name, self._project.assets[name], each)
                for name, each in keys.given.items()
                if name in self._project.assets
            },
            expected=self._read_expected(asset, keys.expect, partitions),
            params=keys.params,
        )

    def _read_partitions(self, asset: AssetSpec) -> PartitionSet:
        """The partitions that the test computes; everything without ``partition``, with a problem if it needs one."""
        at, text = self._at / "partition", self._keys.partition
        if text is None:
            if asset.partitioning.is_partitioned:
                hint = f"write partition: {asset.partitioning.placeholder}"
                self._at.add_problem(f"the test lacks 'partition': asset {asset.name!r} has partitions", hint=hint)
            return EVERYTHING
        return self._parts(at, asset, text)

    def _parts(self, at: DocumentPlace, asset: AssetSpec, text: str) -> PartitionSet:
        try:
            return asset.partitioning.parse(text, learns=True)
        except InputError as error:
            at.add_problem(str(error.args[0]), hint=error.hint)
            return EVERYTHING

    def _interval(self) -> tuple[int, int] | None:
        """The data interval ``A..B`` in Unix seconds; None where the test has none, or where it is wrong."""
        text, at = self._keys.interval, self._at / "interval"
        if text is None:
            return None
        start, dots, end = text.partition("..")
        if not dots:
            at.add_problem(f"{text!r} is not an interval", hint="write two times, as A..B")
            return None
        low, high = self._parse_instant(at, start), self._parse_instant(at, end)
        if high < low:
            at.add_problem(f"the interval {text!r} ends before it begins")
        return int(low.timestamp()), int(high.timestamp())

    def _parse_instant(self, at: DocumentPlace, text: str) -> datetime:
        """The instant that the text names, in the project's zone; of an invalid one a problem, and `DEFAULT_NOW`."""
        try:
            return parse_instant(text, zone=self._project.timezone)
        except InputError as error:
            at.add_problem(str(error.args[0]), hint=error.hint)
            return DEFAULT_NOW

    def _refuse_strangers(self, asset: AssetSpec) -> None:
        """Refuses rows of what the asset does not read, and an inlet that is read without any."""
        read = [name for name, inlet in asset.inlets.items() if not inlet.waits_only]
        own = [asset.name] if not asset.outlets else list(asset.outlets)
        for name in self._keys.given:
            if name not in read and name not in own:
                hint = did_you_mean(name, [*read, *own])
                (self._at / "given" / name).add_key_problem(f"{asset.name!r} does not read {name!r}", hint=hint)
        for name in read if "given" not in self._document.failed else ():
            if name not in self._keys.given:
                hint = f"write {name}: [] for none"
                self._at.add_problem(f"'given' lacks the rows of {name!r}, which {asset.name!r} reads", hint=hint)

    def _read_given(self, at: DocumentPlace, inlet: AssetSpec, given: Sequence[Row] | GivenMap) -> GivenRows:
        """The rows that a case gives an inlet: a list, or a map with rows or a file; reports undeclared columns."""
        keys = given if isinstance(given, GivenMap) else GivenMap(rows=list(map(dict, given)))
        rows = at / "rows" if isinstance(given, GivenMap) else at
        self._check_given(at, keys)
        columns = {**inlet.column_types, **path_columns(inlet), **keys.columns}
        if inlet.columns or keys.columns:
            for index, row in enumerate(keys.rows or ()):
                self._refuse_undeclared(rows / index, row, inlet, columns)
        folder = join(self._project.root, *self._document.file.path.split("/")[:-1])
        return GivenRows(
            at.key_location,
            tuple(keys.rows or ()),
            columns,
            normpath(join(folder, keys.file)) if keys.file else "",
            None if keys.after is None else str(keys.after),
        )

    def _refuse_undeclared(self, at: DocumentPlace, row: Row, inlet: AssetSpec, columns: Mapping[str, str]) -> None:
        """Refuses columns that the inlet does not declare; a given row may be one of its change feed."""
        for name in row.keys() - columns.keys() - _HIDDEN:
            hint = did_you_mean(name, columns)
            (at / name).add_key_problem(f"{inlet.name!r} does not declare a column {name!r}", hint=hint)

    def _check_given(self, at: DocumentPlace, keys: GivenMap) -> None:
        """Refuses rows and a file at once or neither, a file of an unknown format, and types that do not exist."""
        if (keys.rows is None) == (keys.file is None) and "given" not in self._document.failed:
            at.add_problem("give either 'rows' or 'file'")
        if keys.file is not None and keys.file.rpartition(".")[2] not in FORMATS:
            expected = listing([f".{name}" for name in FORMATS], last="or")
            (at / "file").add_problem(f"{keys.file!r} is not a {expected} file")
        for name, kind in keys.columns.items():
            try:
                check_type(kind)
            except TypeNameError as error:
                (at / "columns" / name).add_problem(str(error.args[0]))

    def _read_expected(
        self, asset: AssetSpec, expect: Sequence[Row] | ExpectMap | None, partitions: PartitionSet
    ) -> ExpectedOutcome:
        """The expected outcome: a list has the rows of one table, a map outlets, an error or what is withheld."""
        at = self._at / "expect"
        if not isinstance(expect, ExpectMap):
            if asset.outlets:
                hint = f"write expect: {{outlets: {{{asset.outlets[0]}: [...]}}}}"
                at.add_problem(f"{asset.name!r} has outlets: expect rows for each outlet", hint=hint)
            return ExpectedOutcome({asset.name: tuple(expect or ())})
        tables = self._read_expected_tables(asset, expect)
        has_rows = bool(tables) or expect.withheld is not None
        if expect.error is not None and has_rows:
            (at / "error").add_key_problem("a run that is expected to fail has no rows")
        if expect.error is None and not has_rows:
            at.add_problem("'expect' is empty", hint="write rows, outlets, error or withheld")
        withheld = self._read_withheld(at / "withheld", asset, expect.withheld, partitions)
        return ExpectedOutcome(tables, expect.error or "", withheld, expect.only, float(expect.tolerance))

    def _read_withheld(
        self,
        at: DocumentPlace,
        asset: AssetSpec,
        written: Literal[True] | str | list[str] | None,
        computed: PartitionSet,
    ) -> PartitionSet | None:
        """The partitions that validations withhold, for ``true`` all that are computed; None for none."""
        if isinstance(written, str | list):
            return self._all_parts(at, asset, written)
        return computed if written else None

    def _read_expected_tables(self, asset: AssetSpec, expect: ExpectMap) -> dict[str, Sequence[Row]]:
        """The expected rows of each table that the test compares, by its asset."""
        at = self._at / "expect"
        tables: dict[str, Sequence[Row]] = {name: tuple(rows) for name, rows in expect.outlets.items()}
        for name in tables.keys() - set(asset.outlets):
            hint = did_you_mean(name, asset.outlets)
            (at / "outlets" / name).add_key_problem(f"{asset.name!r} has no outlet {name!r}", hint=hint)
        if expect.rows is not None:
            if asset.outlets:
                (at / "rows").add_key_problem(f"{asset.name!r} has outlets: expect rows for each outlet")
            tables[asset.name] = tuple(expect.rows)
        return tables

    def _all_parts(self, at: DocumentPlace, asset: AssetSpec, texts: str | list[str]) -> PartitionSet:
        if isinstance(texts, str):
            return self._parts(at, asset, texts)
        return PartitionSet.union(self._parts(at / index, asset, text) for index, text in enumerate(texts))

    # ------------------------------------------------------------------ time

    def _read_time_case(self, written: Sequence[StepMap]) -> TimeCase:
        """A test of when assets run, from its steps in order of time; keys of a test of rows are refused."""
        for key in ("asset", "partition", "at", "interval", "params", "given", "expect"):
            if (self._at / key).exists:
                (self._at / key).add_key_problem(f"{key!r} is not allowed beside 'steps'")
        steps = tuple(self._read_step(self._at / "steps" / index, each) for index, each in enumerate(written))
        if any(later.at < earlier.at for earlier, later in pairwise(steps)):
            (self._at / "steps").add_problem("the times of the steps must increase")
        return TimeCase(self._keys.test, (self._at / "test").location, self._keys.description, steps)

    def _read_step(self, at: DocumentPlace, keys: StepMap) -> CaseStep:
        """One step; unknown assets in it become problems."""
        events: list[dict[str, Any]] = []
        for index, each in enumerate(keys.events):
            if (each.asset is None) == (each.uri is None):
                (at / "events" / index).add_problem("an event has either 'asset' or 'uri'")
            if each.asset is not None:
                self._find_asset(at / "events" / index / "asset", each.asset)
            events.append({key: value for key, value in each.model_dump().items() if value not in (None, {})})
        for index, failing in enumerate(keys.fails):
            self._find_asset(at / "fails" / index, failing)
        waits = {name: text for name, text in keys.waits.items() if self._find_asset(at / "waits" / name, name)}
        return CaseStep(
            at.location,
            self._parse_instant(at / "at", keys.at),
            tuple(events),
            tuple(keys.fails),
            None if keys.runs is None else self._read_expected_runs(at / "runs", keys.runs),
            waits,
        )

    def _read_expected_runs(
        self, at: DocumentPlace, runs: Mapping[str, bool | int | str | list[str]]
    ) -> dict[str, PartitionSet | int | None]:
        """The expected runs by asset: None for any run (``true``), a number (0 for ``false``), or partitions."""
        found: dict[str, PartitionSet | int | None] = {}
        for name, expected in runs.items():
            asset = self._find_asset(at / name, name)
            match expected:
                case True:
                    found[name] = None
                case int():
                    found[name] = expected
                case str() | list() if asset is not None:
                    found[name] = self._all_parts(at / name, asset, expected)
        return found


_HIDDEN: Final = frozenset({"_change_type", "_commit_version", "_commit_timestamp"})
"""Columns that changes have besides the table's."""
