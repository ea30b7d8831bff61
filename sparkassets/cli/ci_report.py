"""What `sparkassets ci` found, as Markdown for a pull request, and which of it fails the check."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, get_args

from sparkassets.cli.difference_lines import DIFFERENCE_COLUMNS, difference_document, difference_lines, partition_rows
from sparkassets.cli.failures import message_of
from sparkassets.cli.output import strip_controls
from sparkassets.cli.plan_tables import number_text, partitions_text
from sparkassets.core.planner.wording import plural
from sparkassets.core.spec.project_spec import CiFindingKind
from sparkassets.errors import SparkAssetsError, SpecError
from sparkassets.frozen import frozen

if TYPE_CHECKING:
    from sparkassets.core.documents.table_difference import AssetDifference
    from sparkassets.core.results import Summary
    from sparkassets.core.spec.project_spec import ProjectSpec
    from sparkassets.features.branches.branch_sample import BranchSample
    from sparkassets.testing.results import CaseResult

FINDING_KINDS: Final[tuple[CiFindingKind, ...]] = get_args(CiFindingKind)


@frozen
class CiFinding:
    """One sentence of Markdown on what a check found."""

    kind: CiFindingKind
    text: str


@dataclass(slots=True, eq=False, repr=False)
class CiReport:
    """The results of a check, filled in step by step.

    Attributes:
        branch: Where it ran.
        fail_on: The kinds of findings that fail the check.
        project: None until the project's files were read.
        tests: The results of the project's tests.
        sample: The partitions that the branch computes; None before they are known.
        summary: Of the runs in the branch; None if none was due.
        differences: Of the branch from its base.
        error: What ended the check early.
    """

    branch: str
    fail_on: Collection[str]
    project: ProjectSpec | None = None
    tests: Sequence[CaseResult] = ()
    sample: BranchSample | None = None
    summary: Summary | None = None
    differences: Sequence[AssetDifference] = ()
    error: SparkAssetsError | None = None
    findings: list[CiFinding] = field(default_factory=list)

    def find(self) -> None:
        """Fills `findings` from the results."""
        failed_tests = (each for each in self.tests if not each.has_passed)
        self.findings = [CiFinding("tests", f"test `{each.name}` failed ({each.location})") for each in failed_tests]
        failures = self.summary.failures if self.summary is not None else ()
        self.findings += [CiFinding("runs", _escape(failure)) for failure in failures]
        for difference in self.differences:
            columns = difference.columns
            if names := [*columns.removed, *columns.changed]:
                text = f"`{difference.asset}`: columns removed or of another type: {_escape(', '.join(names))}"
                self.findings.append(CiFinding("schema", text))
            counts = difference.total_row_counts
            if counts.has_differences:
                changes = f"{counts.added:,} added, {counts.removed:,} removed, {counts.changed:,} changed"
                self.findings.append(CiFinding("rows", f"`{difference.asset}`: rows differ: {changes}"))

    @property
    def has_failed(self) -> bool:
        """Whether the check ended early, or found something that fails it."""
        return self.error is not None or any(each.kind in self.fail_on for each in self.findings)

    def document(self) -> dict[str, object]:
        """The findings and differences as JSON."""
        return {
            "branch": self.branch,
            "passed": not self.has_failed,
            "findings": [{"kind": each.kind, "text": each.text} for each in self.findings],
            "differences": [difference_document(each, self.project) for each in self.differences if self.project],
        }

    def markdown(self) -> str:
        """The summary; text that others wrote stands in indented blocks or is escaped, so that it is never markup."""
        verdict = "❌ failed" if self.has_failed else "✅ passed"
        lines = [f"## {verdict}: sparkassets on branch `{self.branch}`", ""]
        if self.error is not None:
            lines += ["The check ended early:", "", *_block(_error_lines(self.error)), ""]
        lines += [f"- {'❌' if each.kind in self.fail_on else '⚠️'} {each.text}" for each in self.findings]
        lines += [*self._facts(), ""] if self.project is not None else []
        for result in self.tests:
            if not result.has_passed:
                lines += [f"### Test `{result.name}`", "", *_block(result.message.splitlines()), ""]
        if self.project is not None:
            lines += [*self._run_lines(self.project), *self._difference_lines(self.project)]
        return "\n".join(lines).rstrip() + "\n"

    def _facts(self) -> Iterator[str]:
        """A sentence for each step that was done."""
        passed = sum(each.has_passed for each in self.tests)
        yield f"- {passed} of {plural(len(self.tests), 'test')} passed"
        if self.sample is None:
            return
        if not self.sample.partitions and not self.sample.left_out:
            yield "- nothing differs from the base, so nothing was computed"
        for name, reason in self.sample.left_out.items():
            yield f"- `{name}` was not computed: {reason}"

    def _run_lines(self, project: ProjectSpec) -> Iterator[str]:
        """The table of the runs in the branch."""
        if self.summary is None or not self.summary.runs:
            return
        yield from ("### Runs", "", *_table_head(["asset", "partitions", "outcome", "rows"], right_from=3))
        for run in self.summary.runs:
            partitions = partitions_text(run.asset, run.partitions, project)
            yield _table_row([run.asset, partitions, run.status, number_text(run.rows)])
        yield ""

    def _difference_lines(self, project: ProjectSpec) -> Iterator[str]:
        """The table of rows that differ by partition, then columns and sample rows."""
        rows = [row for difference in self.differences for row in partition_rows(difference, project)]
        if rows:
            head = _table_head([column.title for column in DIFFERENCE_COLUMNS], right_from=2)
            yield from ("### Compared with the base", "", *head, *map(_table_row, rows), "")
        for difference in self.differences:
            if lines := list(difference_lines(difference, project)):
                summary = f"<details><summary>Columns and rows of {difference.asset}</summary>"
                yield from (summary, "", *_block(lines))
                yield from ("", "</details>", "")


def _error_lines(error: SparkAssetsError) -> list[str]:
    """The lines of an error, with the place of each problem of an invalid project."""
    problems = (
        [line for each in error.problems for line in str(each).splitlines()] if isinstance(error, SpecError) else []
    )
    hint = [f"hint: {error.hint}"] if error.hint else []
    return [*message_of(error).splitlines(), *problems, *hint, f"help: {error.help}"]


def _block(lines: Sequence[str]) -> Iterator[str]:
    """A block of code, which no line can end: it is indented, not fenced."""
    return (f"    {strip_controls(line)}" for line in lines)


def _table_head(titles: Sequence[str], *, right_from: int) -> tuple[str, str]:
    """The first two lines of a table; columns from the number ``right_from`` on, counted from 0, align to the right."""
    rules = ("---:" if number >= right_from else "---" for number in range(len(titles)))
    return _table_row(titles), f"|{'|'.join(rules)}|"


def _table_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(_escape, cells))} |"


def _escape(text: str) -> str:
    r"""The text on one line, without markup.

    >>> _escape("a|b <i>\n*c*")
    'a\\|b &lt;i> \\*c\\*'
    """
    plain = strip_controls(" ".join(text.split())).replace("&", "&amp;").replace("<", "&lt;")
    return "".join(f"\\{sign}" if sign in r"\`*_[]|~" else sign for sign in plain)
