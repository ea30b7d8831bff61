"""``sparkassets ci``: checks a change on real data, for a pull request."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from sparkassets.cli.ci_report import FINDING_KINDS, CiReport
from sparkassets.cli.options import (
    engine_option,
    json_option,
    open_project,
    partitions_option,
    project_option,
    variables,
)
from sparkassets.cli.output import print_json
from sparkassets.cli.run_loop import drive, stdout_for_one_document
from sparkassets.digests import blake2b
from sparkassets.errors import InputError, SparkAssetsError

if TYPE_CHECKING:
    from sparkassets.core.results import Summary
    from sparkassets.runtime.progress import Progress
    from sparkassets.wiring import Project

_BRANCH_VARIABLES: Final = ("GITHUB_HEAD_REF", "CI_COMMIT_REF_NAME", "GITHUB_REF_NAME")
"""Where CI services put the name of the Git branch; the first that is not empty counts."""
_MOST_CHARACTERS: Final = 60
_DIGEST_BYTES: Final = 3


@click.command("ci")
@click.option("--branch", metavar="NAME", help="Branch to use; default: named after the Git branch.")
@project_option
@engine_option
@click.option(
    "--sample",
    type=click.IntRange(min=1),
    metavar="N",
    help="Newest partitions to compute of each changed asset; default: `ci` in project.yml, else 3.",
)
@partitions_option
@click.option(
    "--fail-on",
    metavar="KIND,…",
    help=f"Findings that make the exit code 1: {', '.join(FINDING_KINDS)}, or none; "
    "default: `ci` in project.yml, else tests,runs,schema.",
)
@click.option(
    "--summary",
    "file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Also write the Markdown to this file, such as $GITHUB_STEP_SUMMARY.",
)
@click.option("--drop", is_flag=True, help="Drop the branch at the end.")
@json_option
def command(
    folder: Path,
    branch: str | None,
    sample: int | None,
    partitions: tuple[str, ...],
    fail_on: str | None,
    file: Path | None,
    *,
    drop: bool,
    as_json: bool,
) -> int:
    """Check a change on real data, and print a summary in Markdown.

    Validates the project, runs its tests, computes a sample of what the change touches in a branch, and compares it
    with the base: the newest partitions, or those of --partition. An asset that reads a sampled one as a whole is not
    computed. Findings: `tests` failed; `runs` failed
    or withheld rows; `schema`: a column was removed or has another type; `rows` differ from the base's. An invalid
    project always fails. With --json, in place of the Markdown: {branch, passed, findings: [{kind, text}], differences:
    [as `diff --json`]}.
    """
    kinds = None if fail_on is None else _parse_kinds(fail_on)
    report = CiReport(branch or _git_branch(os.environ), kinds or ())
    code = 0
    try:
        with stdout_for_one_document():
            code = _check(report, folder, kinds, sample, partitions, drop=drop)
    except SparkAssetsError as error:
        report.error = error
        raise
    finally:
        report.find()
        if file is not None:
            file.write_text(report.markdown(), encoding="utf-8")
        if not as_json:
            sys.stdout.write(report.markdown())
        elif report.error is None:
            print_json(report.document())
    return code if code > 1 else int(report.has_failed)


def _parse_kinds(text: str) -> tuple[str, ...]:
    """The kinds of findings that ``--fail-on`` names.

    Raises:
        InputError: There is no such kind.
    """
    kinds = tuple(word.strip() for word in text.split(",") if word.strip())
    if kinds == ("none",):
        return ()
    for kind in kinds:
        if kind not in FINDING_KINDS:
            raise InputError(f"--fail-on {kind}: expected {', '.join(FINDING_KINDS)} or none")
    return kinds


def _git_branch(env: Mapping[str, str]) -> str:
    """The name of a branch after that of Git, which CI services put into the environment.

    A name that no branch may have is changed to one, with a digest of it at the end: ``a/b`` becomes ``a-b-`` and six
    hexadecimal digits, as ``a-b`` is another branch.

    Raises:
        InputError: There is no Git branch.
    """
    name = next((env[variable] for variable in _BRANCH_VARIABLES if env.get(variable)), "")
    if not name:
        try:
            git = subprocess.run(["git", "branch", "--show-current"], capture_output=True, text=True, check=False)  # noqa: S607  the caller's own git
            name = git.stdout.strip()
        except OSError:
            name = ""
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    if not slug:
        raise InputError("the Git branch is unknown", hint="name a branch: --branch pr-123")
    if slug == name and len(name) <= _MOST_CHARACTERS:
        return name
    digest = blake2b(name.encode(), digest_size=_DIGEST_BYTES).hexdigest()
    return f"{slug[: _MOST_CHARACTERS - len(digest) - 1].strip('-')}-{digest}"


def _check(
    report: CiReport,
    folder: Path,
    kinds: Sequence[str] | None,
    sample: int | None,
    partitions: Sequence[str],
    *,
    drop: bool,
) -> int:
    """Runs all steps, and fills the report step by step; returns the exit code of the runs.

    ``kinds`` are those of ``--fail-on``; None takes the project's.
    """
    from sparkassets.project import load_cases
    from sparkassets.testing.case_runner import run_cases

    project = open_project(folder, tables=True)
    cases = load_cases(project.spec, variables())
    report.project = project.spec
    report.fail_on = project.spec.ci_fail_on if kinds is None else kinds
    one_engine = replace(project.spec, engine=project.spec.engine or "spark")  # a process cannot use two
    report.tests = list(run_cases(one_engine, cases))
    report.sample = project.branches.sample(report.branch, sample or project.spec.ci_sample, keys=partitions)
    try:
        return _run_and_compare(report, project)
    finally:
        if drop and report.branch in project.branches.names():
            project.branches.drop(report.branch)


def _run_and_compare(report: CiReport, project: Project) -> int:
    """Runs the sample in the branch, and compares it with the base; returns the exit code of the runs."""
    sample = report.sample
    if sample is None or not sample.partitions:
        return 0
    branch = project.branches.open(report.branch, sample=sample)

    def run(progress: Progress) -> Summary:
        summary = report.summary = branch.run(select=tuple(sample.partitions), progress=progress, check=False)
        if not (summary.interrupted or summary.lost):
            report.differences = project.branches.diff(report.branch, sample=sample)
        return summary

    return drive(branch, run, as_json=False)
