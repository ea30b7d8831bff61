"""Tests of when assets run: a sequence of moments with events and expected runs; no Spark, no files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from sparkassets.core.cases import CaseStep, TimeCase
from sparkassets.core.instants import format_zoned
from sparkassets.core.partitions import PartitionSet
from sparkassets.core.planner.plan import Waiting
from sparkassets.core.planner.wording import plural
from sparkassets.core.results import RunResult
from sparkassets.core.spec.model import AssetSpec, ProjectSpec
from sparkassets.testing.rehearsal import ProjectRehearsal


def run_times(project: ProjectSpec, case: TimeCase) -> str:
    """The differences at the first moment that is not as expected; empty where the test passes.

    Raises:
        SparkAssetsError: The test itself is wrong, such as an invalid event.
    """
    rehearsal = ProjectRehearsal(project)
    for step in case.steps:
        told = list(_step(rehearsal, project, step))
        if told:
            return "\n".join([f"at {_when(step.at, project)} ({step.location}):", *(f"  {each}" for each in told)])
    return ""


def _step(rehearsal: ProjectRehearsal, project: ProjectSpec, step: CaseStep) -> Iterator[str]:
    """The differences of one moment from the expected runs and reasons."""
    rehearsal.move_to(step.at)
    rehearsal.failing.clear()
    rehearsal.failing.update(step.fails)
    if step.events:
        rehearsal.project.events.add_many(step.events, name=str(step.location))
    summary = rehearsal.project.run(at=step.at, check=False)
    yield from (f"{name} cannot be looked at: {error}" for name, error in summary.faults)
    unlike = [] if step.runs is None else list(_describe_differences(project, step, summary.runs))
    asks = bool(step.waits) or any(name for name, _ in unlike)
    waiting = rehearsal.project.plan(at=step.at).waiting if asks else ()
    for name, told in unlike:
        reasons = _reasons(waiting, name)
        yield f"{told} ({'; '.join(reasons)})" if reasons else told
    for name, text in step.waits.items():
        reasons = _reasons(waiting, name)
        if not reasons:
            yield f"{name} does not wait; expected it to, for {text!r}"
        elif not any(text in reason for reason in reasons):
            yield f"{name} waits for something else than {text!r}: {'; '.join(reasons)}"


def _reasons(waiting: Iterable[Waiting], name: str) -> list[str]:
    """The reasons for which an asset waits, each once; none for an empty ``name``."""
    return list(dict.fromkeys(each.reason for each in waiting if each.asset == name))


def _describe_differences(project: ProjectSpec, step: CaseStep, runs: Sequence[RunResult]) -> Iterator[tuple[str, str]]:
    """Differences between found and expected runs of a moment, each with the asset that did not run, or empty."""
    expected = step.runs or {}
    ran: dict[str, list[RunResult]] = {}
    for run in runs:
        ran.setdefault(run.asset, []).append(run)
    for name, what in expected.items():
        own, asset = ran.pop(name, []), project.assets[name]
        if not own:
            yield name, f"{name} does not run; expected {_describe_expected(asset, what)}"
        elif isinstance(what, int) and len(own) != what:
            yield "", f"{name} has {plural(len(own), 'run')}; expected {what}"
        elif isinstance(what, PartitionSet):
            blocks = PartitionSet.union(each.blocks for each in own)
            if lacking := what - blocks:
                yield "", f"{name} does not run for {_describe_expected(asset, lacking)}"
            if more := blocks - what:
                yield "", f"{name} runs for {_describe_expected(asset, more)} too"
    for name, own in ran.items():
        blocks = PartitionSet.union(each.blocks for each in own)
        yield "", f"{name} runs, which is not expected: {_describe_expected(project.assets[name], blocks)}"
    unexpected = (each for each in runs if each.status == "failed" and each.asset not in step.fails)
    yield from (("", f"{each.asset} fails: {each.error}") for each in unexpected)


def _describe_expected(asset: AssetSpec, what: PartitionSet | int | None) -> str:
    if isinstance(what, PartitionSet) and asset.partitioning.is_partitioned:
        return ", ".join(asset.partitioning.display_labels(what, most=10))
    return plural(what, "run") if isinstance(what, int) else "a run"


def _when(at: datetime, project: ProjectSpec) -> str:
    return format_zoned(at, project.timezone)
