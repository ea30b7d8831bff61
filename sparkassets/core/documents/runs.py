"""Documents of runs, of their verdicts, and of the summary of an invocation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sparkassets.core.documents.document_values import (
    count_partitions,
    instant_text,
    interval_document,
    partitions_document,
)
from sparkassets.core.documents.plan import late_document, note_document, waiting_document

if TYPE_CHECKING:
    from sparkassets.core.journal.history import RunRecord
    from sparkassets.core.planner.explain.status import WithheldSummary
    from sparkassets.core.results import RunResult, Summary
    from sparkassets.core.spec.model import AssetSpec
    from sparkassets.core.spec.project_spec import ProjectSpec
    from sparkassets.core.validations import RuleVerdict


def verdicts_document(verdicts: Sequence[RuleVerdict], asset: AssetSpec | None) -> list[dict[str, Any]]:
    """The result of each validation and its partitions: ``failing`` of ``checked`` rows, and samples of failing rows.

    ``outcome`` is passed, warned, withheld, dropped, quarantined or accepted; a multi-asset has ``outlet``, a rule
    about an inlet ``inlet``. Where several partitions are withheld, ``by_partition`` has the figures and the samples of
    each; where there are very many, the last item stands for all the rest.
    """
    return [
        {
            "rule": each.rule,
            "severity": each.severity,
            "outcome": each.outcome,
            "partitions": partitions_document(each.partitions, asset),
            "checked": each.checked,
            "failing": each.failing,
            "observed": each.observed,
            "samples": [dict(sample) for sample in each.samples],
            **(
                {"by_partition": [_partition_verdict_document(one, asset) for one in each.by_partition]}
                if each.details
                else {}
            ),
            **({"outlet": each.outlet} if each.outlet else {}),
            **({"inlet": each.inlet} if each.inlet else {}),
        }
        for each in verdicts
    ]


def _partition_verdict_document(verdict: RuleVerdict, asset: AssetSpec | None) -> dict[str, Any]:
    """The figures of a verdict for one partition."""
    return {
        "partitions": partitions_document(verdict.partitions, asset),
        "checked": verdict.checked,
        "failing": verdict.failing,
        "observed": verdict.observed,
        "samples": [dict(sample) for sample in verdict.samples],
    }


def withheld_document(run: RunRecord | RunResult, project: ProjectSpec) -> dict[str, Any] | None:
    """The partitions of a run that are withheld; null without any. For an asset without partitions ``count`` is 1."""
    if not run.withheld:
        return None
    document = partitions_document(run.withheld, project.assets.get(run.asset))
    return document or {"ranges": [], "count": 1}


def judged_document(withheld: WithheldSummary, asset: AssetSpec) -> dict[str, Any]:
    """The partitions withheld since a run, and the rules that failed."""
    return {
        "run": withheld.run,
        "at": instant_text(withheld.at),
        "partitions": partitions_document(withheld.partitions, asset),
        "data_interval": interval_document(withheld.interval),
        "rules": verdicts_document(withheld.verdicts, asset),
    }


def run_document(run: RunRecord, project: ProjectSpec) -> dict[str, Any]:
    """A run and its outcome; ``partitions`` is null for an asset without partitions."""
    return {
        "run": run.run,
        "asset": run.asset,
        "kind": run.kind,
        "status": run.status,
        "started": instant_text(run.started),
        "at": instant_text(run.ended),
        "seconds": run.seconds,
        "partitions": partitions_document(run.partitions, project.assets.get(run.asset)),
        "rows": run.rows,
        "unchanged": count_partitions(run.unchanged, project.assets.get(run.asset)),
        "withheld": withheld_document(run, project),
        "validations": verdicts_document(run.verdicts, project.assets.get(run.asset)),
        "version": run.version,
        "attempts": run.attempts,
        "reason": run.reason,
        "error": run.error,
        "hint": run.hint,
        "details": run.details,
        "adopted": run.adopted,
        "skipped": run.skipped,
        "data_interval": interval_document(run.interval),
        "events": list(run.request.events),
    }


def summary_document(summary: Summary, project: ProjectSpec) -> dict[str, Any]:
    """The results of its runs, the assets that still wait, and the sources that could not be observed."""
    return {
        "runs": [result_document(result, project) for result in summary.runs],
        "waiting": [waiting_document(item, project) for item in summary.waiting],
        "notes": [note_document(note, project) for note in summary.notes],
        "late": [late_document(each, project) for each in summary.late],
        "faults": [{"asset": asset, "reason": reason} for asset, reason in summary.faults],
        "interrupted": summary.interrupted,
    }


def result_document(result: RunResult, project: ProjectSpec) -> dict[str, Any]:
    """How one run ended."""
    return {
        "asset": result.asset,
        "run": result.run,
        "kind": result.kind,
        "status": result.status,
        "partitions": partitions_document(result.partitions, project.assets.get(result.asset)),
        "rows": result.rows,
        "unchanged": count_partitions(result.unchanged, project.assets.get(result.asset)),
        "withheld": withheld_document(result, project),
        "validations": verdicts_document(result.verdicts, project.assets.get(result.asset)),
        "version": result.version,
        "seconds": round(result.seconds, 3),
        "attempts": result.attempts,
        "reason": result.reason,
        "error": result.error,
        "hint": result.hint,
        "details": result.details,
        "adopted": result.adopted,
        "skipped": result.skipped,
    }
