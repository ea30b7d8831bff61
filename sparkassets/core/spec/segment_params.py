"""A list of params: one map for each segment that it names or makes, so that each run has its own."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

from sparkassets.core.partitions import SegmentPartition
from sparkassets.core.spec.drafts import AssetDraft
from sparkassets.core.spec.file_models import needs_no_column
from sparkassets.core.spec.model import SegmentParams
from sparkassets.core.spec.params_segments import find_telling_param
from sparkassets.core.spec.source import plain_text
from sparkassets.core.spec.time_dimension import is_timed
from sparkassets.core.spec.yaml_document import DocumentPlace
from sparkassets.core.strategies import EveryInstance, Strategy

_SEGMENTS = "{segments: [<key>, …], column: <a name among the params>}"
_HINT = f"write partition: {_SEGMENTS}"


def compile_segment_params(draft: AssetDraft, strategy: Strategy | None) -> SegmentParams | None:
    """The params by segment; None where they are a map. What does not fit becomes problems of the draft."""
    given, at = draft.keys.params, draft.at / "params"
    if isinstance(given, dict) or not draft.are_reliable("params", "strategy", "partition"):
        return None
    if not given:
        at.add_problem(
            "the list of params is empty, so that nothing would run", hint="write params: [{<key>: <value>}, …]"
        )
    elif not isinstance(strategy, EveryInstance):
        at.add_problem(
            "a list of params needs strategy 'every_instance': each of them is a run of its own",
            hint="write 'strategy: every_instance', or one map of params",
        )
    else:
        return _build_segment_params(draft, at, given)
    return None


def _build_segment_params(draft: AssetDraft, at: DocumentPlace, given: list[dict[str, Any]]) -> SegmentParams | None:
    segments = draft.partitioning.segments
    listed = [i for i, each in enumerate(segments) if not each.is_open]
    places = tuple(i for i in listed if all(segments[i].column in one for one in given))
    if not places:
        if not segments and needs_no_column(draft.keys):
            _refuse_unlike(draft, at, given)
            return None
        message = "no listed segment tells which of these params a run has: none has its column's name in all"
        beside = not draft.partitioning.is_partitioned and is_timed(draft.keys)
        at.add_problem(
            message, hint=f"write partition: [{{by: auto, column: <column>}}, {_SEGMENTS}]" if beside else _HINT
        )
        return None
    named = [segments[place] for place in places]
    found: dict[tuple[str, ...], Mapping[str, object]] = {}
    for index, one in enumerate(given):
        key = tuple(plain_text(one[each.column]) for each in named)
        if key in found:
            (at / index).add_problem(f"the params of {_describe_segment(named, key)} are there twice")
        for each, value in zip(named, key, strict=True):
            if value not in each.keys:
                (at / index).add_problem(f"{value!r} is no segment of the column {each.column!r}", hint=_HINT)
        found.setdefault(key, one)
    lacking = next((key for key in product(*(each.keys for each in named)) if key not in found), None)
    if lacking is not None:
        at.add_problem(
            f"there are no params of {_describe_segment(named, lacking)}", hint="write a map for each of the segments"
        )
    return SegmentParams(places, found)


def _refuse_unlike(draft: AssetDraft, at: DocumentPlace, given: list[dict[str, Any]]) -> None:
    """Says what a list of params lacks that needs no segments written."""
    if find_telling_param(given, draft.partitioning) is None:
        message = "nothing tells which of these params a run has: no name has another value in each of them"
        at.add_problem(message, hint="give each a name of its own, such as {name: a}")
        return
    at.add_problem(
        "each of these params would be appended once and never again: there is no interval to append them for",
        hint="write schedule: '@daily', or another cron, or partition: {by: day}",
    )


def _describe_segment(named: list[SegmentPartition], key: tuple[str, ...]) -> str:
    return ", ".join(f"{each.column} {value!r}" for each, value in zip(named, key, strict=True))
