"""Results of validations as data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sparkassets.core.documents.document_values import instant_text, interval_document, partitions_document

if TYPE_CHECKING:
    from sparkassets.core.journal.run_records import RunRecord
    from sparkassets.core.planner.explain.status import WithheldSummary
    from sparkassets.core.results import RunResult
    from sparkassets.core.spec.model import AssetSpec, ProjectSpec
    from sparkassets.core.validations import RuleVerdict


def verdicts_document(verdicts: Sequence[RuleVerdict], asset: AssetSpec | None) -> list[dict[str, Any]]:
    """The result of each rule and its partitions: ``failing`` of ``checked`` rows, and samples of failing rows.

    ``outcome`` is passed, warned, withheld, dropped, quarantined or accepted; ``outlet`` is there for a multi-asset,
    ``inlet`` for a rule of what was read. Where several partitions are withheld, ``by_partition`` has the figures and
    the samples of each; where there are very many, the last item stands for all the rest.
    """
    return [
        {
            "rule": each.rule,
            "severity": each.severity,
            "outcome": each.outcome,
            "partitions": partitions_document(each.blocks, asset),
            "checked": each.checked,
            "failing": each.failing,
            "observed": each.observed,
            "samples": [dict(sample) for sample in each.samples],
            **({"by_partition": [_of_block(one, asset) for one in each.by_partition]} if each.details else {}),
            **({"outlet": each.outlet} if each.outlet else {}),
            **({"inlet": each.inlet} if each.inlet else {}),
        }
        for each in verdicts
    ]


def _of_block(verdict: RuleVerdict, asset: AssetSpec | None) -> dict[str, Any]:
    return {
        "partitions": partitions_document(verdict.blocks, asset),
        "checked": verdict.checked,
        "failing": verdict.failing,
        "observed": verdict.observed,
        "samples": [dict(sample) for sample in verdict.samples],
    }


def withheld_document(run: RunRecord | RunResult, project: ProjectSpec) -> dict[str, Any] | None:
    """The partitions of a run that are withheld; null without any. For an asset without partitions ``count`` is 1."""
    if not run.withheld:
        return None
    told = partitions_document(run.withheld, project.assets.get(run.asset))
    return told or {"ranges": [], "count": 1}


def judged_document(judged: WithheldSummary, asset: AssetSpec) -> dict[str, Any]:
    """The partitions withheld since a run, and the rules that failed."""
    return {
        "run": judged.run,
        "at": instant_text(judged.at),
        "partitions": partitions_document(judged.blocks, asset),
        "data_interval": interval_document(judged.interval),
        "rules": verdicts_document(judged.verdicts, asset),
    }
