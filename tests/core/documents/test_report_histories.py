"""The report after random histories: every slice as `partitions`, `lineage` and the dependencies tell it one by one."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.documents.report import KINDS, ReportHistory, build_report
from sparkassets.core.documents.report.asset_page import PartitionLinks
from sparkassets.core.journal.codec import from_row
from sparkassets.core.journal.lineage import trace_lineage
from sparkassets.core.planner.explain.status import partition_grid
from sparkassets.core.planner.planner import make_plan
from tests.core.documents.test_report import decoded
from tests.core.planner.test_withheld_histories import Withholding
from tests.depth import histories

SETTLED = ("current", "there", "open", "unlisted")


@histories(8)
@given(st.randoms(use_true_random=False), st.integers(5, 50))
def test_every_slice_is_told_as_it_is_one_by_one(random: Random, steps: int):
    history = Withholding(random)
    for _ in range(steps):
        history.step()
    context = history.story.context()
    past = ReportHistory.from_entries([from_row(row) for row in history.story.rows if row.kind in KINDS], whole=True)
    report = build_report(context, make_plan(context), past)
    links = PartitionLinks(context)
    for page in report.assets.values():
        spec = context.asset(page["name"])
        if not spec.partitioning.is_partitioned:
            continue
        cells = decoded(page["grid"])
        assert {key: status for key, (status, _, _) in cells.items()} == dict(partition_grid(context, spec))
        assert not [key for key, (status, cause, _) in cells.items() if not cause and status not in SETTLED]
        there = context.state.dataset(spec.uri).coverage
        came = {}
        for origin in trace_lineage(
            context.project, context.state, past.dataset_entries, asset=spec, partitions=there, depth=1
        ).origins:
            if origin.kind != "missing":
                came |= dict.fromkeys(spec.partitioning.keys(origin.partitions), origin.run)
        assert {key: told.get("run") for key, (_, _, told) in cells.items() if told} == came
        check_links(context, spec, links.upstream_links(spec, there))


def check_links(context, spec, links):
    """What each slice is said to need is what its dependency says."""
    for link in links:
        needed = context.dependency(spec, spec.inlets[link["asset"]])
        inlet = context.partitioning(spec.inlets[link["asset"]])
        assert (link["kind"] == "all") is (not needed.is_mapped or not spec.partitioning.is_partitioned)
        for key, (_, first) in link.get("of", {}).items():
            labels = inlet.labels(needed.required_partitions(spec.partitioning.parse(key)), most=1)
            assert [first] == [",".join(part.split("..")[0] for part in label.split(",")) for label in labels or [""]]
