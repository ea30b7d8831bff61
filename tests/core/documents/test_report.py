"""The report's documents: every partition with its status, cause and origin; bounded, and without a credential."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkassets.core.documents.report import ReportHistory, build_report
from sparkassets.core.documents.report.asset_page import PartitionLinks
from sparkassets.core.documents.report.grid_cells import StatusPiece, cells_document
from sparkassets.core.documents.report.report_documents import CredentialMask
from sparkassets.core.journal.lineage import trace_lineage
from sparkassets.core.partitions import NOTHING, Partitioning, PartitionSet
from sparkassets.core.planner.explain.status import asset_status, partition_grid
from sparkassets.core.planner.planner import make_plan
from sparkassets.core.spec.model import InletSpec, ReadAfter
from sparkassets.core.writes import AppendWrite
from tests.builders import Story, asset, days, partitioned, project, source
from tests.depth import examples
from tests.report.demo import MARKUP, SECRET, make_story, past


def decoded(cells):
    """Key of a partition to (status, cause, origin)."""
    found = {}
    for group in cells["groups"]:
        codes = [code for n, code in zip(group["cells"][::2], group["cells"][1::2], strict=True) for _ in range(n)]
        for segment in group["segments"]:
            for place, code in enumerate(codes):
                keys = segment.split(",") if cells["columns"] else []
                if cells["time_at"] >= 0:
                    keys.insert(cells["time_at"], cells["times"][place])
                if code >= 0:
                    status, cause, origin = cells["codes"][code]
                    told = cells["causes"][cause] if cause >= 0 else ""
                    found[",".join(keys)] = (status, told, cells["origins"][origin] if origin >= 0 else None)
    return found


@pytest.fixture(scope="module")
def demo_story():
    return make_story()


@pytest.fixture(scope="module")
def report(demo_story):
    context = demo_story.context()
    return build_report(context, make_plan(context), past(demo_story))


@pytest.fixture(scope="module")
def pages(report):
    return {**report.assets}


def test_every_partition_has_the_status_that_partitions_shows(demo_story, pages):
    context = demo_story.context()
    make_plan(context)
    for spec in context.project.assets.values():
        if spec.partitioning.is_partitioned:
            shown = {key: status for key, (status, _, _) in decoded(pages[spec.name]["grid"]).items()}
            assert shown == dict(partition_grid(context, spec)), spec.name
        else:
            assert pages[spec.name]["grid"] is None


def test_every_partition_came_from_the_run_that_lineage_tells(demo_story, pages):
    known = past(demo_story)
    for name in ("daily_delays", "regional_sales", "monthly_delays", "small_orders", "flights"):
        spec = demo_story.project.assets[name]
        there = demo_story.state.dataset(spec.uri).coverage
        truth = {}
        for origin in trace_lineage(
            demo_story.project, demo_story.state, known.dataset_entries, asset=spec, partitions=there, depth=1
        ).origins:
            truth |= dict.fromkeys(spec.partitioning.keys(origin.partitions), (origin.kind, origin.run))
        shown = {
            key: (each["kind"], each.get("run")) for key, (_, _, each) in decoded(pages[name]["grid"]).items() if each
        }
        assert shown == truth, name


def test_what_is_not_as_it_should_be_says_why(pages):
    cells = decoded(pages["regional_sales"]["grid"])
    status, cause, _ = cells["2025-03-08,it"]
    assert status == "failed"
    assert cause.startswith("regional_sales-")
    assert "failed: [DIVIDE_BY_ZERO] Division by zero" in cause
    assert cells["2025-01-02,pt"][:2] == ("skipped", f"marked as skipped by ann: closed {MARKUP}")
    assert cells["2025-01-20,fr"][0] == "stale"
    assert cells["2025-01-20,fr"][1].startswith("runs with the next tick: ")
    assert decoded(pages["daily_delays"]["grid"])["2025-02-04"][1].startswith("daily_delays-")
    waits = decoded(pages["all_sales"]["grid"])["2025-03-09"]
    assert waits[:2] == (
        "missing",
        (
            "waits for regional_sales: 10 of 16 partitions, missing 2025-03-09..2025-03-10,pl; "
            "2025-03-09..2025-03-10,pt; 2025-03-09..2025-03-10,se"
        ),
    )
    unexplained = [
        (name, key)
        for name, page in pages.items()
        if page["grid"]
        for key, (status, cause, _) in decoded(page["grid"]).items()
        if not cause and status not in ("current", "there", "open")
    ]
    assert unexplained == []


def test_no_credential_is_told(report):
    text = json.dumps([report.index, report.past, list(report.assets.values())])
    assert "hunter2" not in text
    assert "postgres://report:***@db/orders" in text
    assert SECRET.startswith("postgres://")


def test_the_values_of_variables_are_not_told():
    masks = CredentialMask({"DB_HOST": "internal-db-7"})
    assert masks.mask({"a": ["x internal-db-7", 3, None, {"b": "internal-db-7"}]}) == {
        "a": ["x ${DB_HOST}", 3, None, {"b": "${DB_HOST}"}]
    }


@pytest.mark.parametrize("text", ["token=abcdef123456", "password: hunter2", "AKIAIOSFODNN7EXAMPLE", "u:pw@host"])
def test_short_texts_with_credentials_are_looked_at(text):
    assert CredentialMask({}).mask([text]) != [text]


def test_runs_and_events_know_each_other(report):
    runs, events = report.past["runs"], report.past["events"]
    by_run = {run["run"]: run for run in runs}
    assert {run["status"] for run in runs} == {"success", "failed", "running"}
    for event in events:
        for run in event.get("triggered", ()):
            assert event["seq"] in by_run[run]["events"] or len(by_run[run]["events"]) == 4
    failed = next(run for run in runs if run["status"] == "failed")
    assert (failed["asset"], failed["partitions"]) == ("regional_sales", "2025-03-08,*")
    assert [read["asset"] for read in failed["reads"]] == ["sales"]


def test_what_slices_need_is_what_the_dependency_says(demo_story, pages):
    context = demo_story.context()
    assert [link["kind"] for link in pages["daily_delays"]["up"]] == ["same", "same"]
    assert pages["delays_7d"]["up"][0]["of"]["2025-02-11"] == ["2025-02-05..2025-02-11", "2025-02-05"]
    assert pages["daily_delays"]["down"][0]["of"]["2025-02-05"] == ["2025-02-05..2025-02-11", "2025-02-05"]
    assert pages["monthly_delays"]["up"][0]["of"]["2025-02"] == ["2025-02-01..2025-02-28", "2025-02-01"]
    assert pages["model_scores"]["up"] == [{"asset": "all_sales", "kind": "all"}]
    spec = context.asset("all_sales")
    for key, (text, first) in (
        PartitionLinks(context).upstream_links(spec, context.state.dataset(spec.uri).coverage)[0]["of"].items()
    ):
        needed = context.dependency(spec, spec.inlets["regional_sales"]).required_partitions(
            spec.partitioning.parse(key)
        )
        labels = context.asset("regional_sales").partitioning.labels(needed)
        assert (text, first) == (f"{key},*", labels[0])


def test_datasets_say_who_writes_and_reads_them(report):
    found = {each["uri"]: each for each in report.index["datasets"]}
    assert found["x-sales"]["writers"] == []
    assert found["x-sales"]["readers"] == ["regional_sales", "split_sales"]
    assert found["small_orders"]["writers"] == ["split_sales"]
    assert "sparkassets:split_sales" not in found


def test_the_index_has_what_asks_for_somebody(report):
    assets = {row["name"]: row for row in report.index["assets"]}
    assert assets["regional_sales"]["state"] == "failed"
    assert assets["regional_sales"]["counts"]["failed"] == 8
    assert assets["pay_report"]["paused"] is True
    assert {item["asset"] for item in report.index["waiting"]} >= {"all_sales", "delays_7d"}
    assert [run["asset"] for run in report.index["planned"]] == ["regional_sales", "split_sales"]


def test_a_project_without_a_journal_has_a_report():
    empty = Story(project(source("a"), asset("b", "a")))
    context = empty.context()
    found = build_report(context, make_plan(context), ReportHistory.from_entries([], whole=True))
    assert found.past == {"runs": [], "events": []}
    assert next(iter(found.assets.values()))["grid"]["groups"] == []
    assert found.index["assets"][1]["state"] == "never"


def test_of_very_many_slices_the_newest_are_shown():
    both = partitioned("hour", segments={"k": ("a", "b")})
    parts = both.parse("2020-01-01T00..2024-12-31T23")
    cells = cells_document(both, [StatusPiece(parts, "current", "")], [], most=1000)
    assert len(cells["times"]) == 500
    assert cells["times"][-1] == "2024-12-31T23"
    assert cells["earlier"] == both.count(parts) // 2 - 500


def test_of_very_many_segments_the_first_are_shown():
    many = partitioned("day", segments={"k": [f"{n:05}" for n in range(5000)]})
    cells = cells_document(many, [StatusPiece(many.parse("2025-01-01..2025-12-31"), "current", "")], [], most=1000)
    assert sum(len(group["segments"]) for group in cells["groups"]) == 2000
    assert (cells["others"], len(cells["times"]), cells["earlier"]) == (3000, 60, 305)
    assert len(json.dumps(cells)) < 40_000


STATUSES = ["current", "stale", "missing", "failed"]


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 20), st.integers(1, 6), st.sampled_from("abc*"), st.sampled_from(STATUSES)), max_size=8
    )
)
def test_the_grid_is_what_was_told_of_each_slice(demo_story):
    both = partitioned("day", segments={"k": ("a", "b", "c")})
    base, known, pieces, done = days("2025-01-01").first, {}, [], NOTHING
    for start, length, key, status in demo_story:
        span = PartitionSet.span(base + start * 86400, base + (start + length) * 86400)
        named = both.parse(f"{Partitioning(both.time).labels(span)[0]},{key}") - done
        done = done | named
        known |= dict.fromkeys(both.keys(named), (status, f"because {key}", None))
        pieces.append(StatusPiece(named, status, f"because {key}"))
    assert decoded(cells_document(both, pieces, [], most=10_000)) == known


def test_an_asset_that_has_gone_wrong_is_told_as_status_tells_it(demo_story, report):
    context = demo_story.context()
    make_plan(context)
    rows = {row["name"]: row for row in report.index["assets"]}
    for spec in context.project.assets.values():
        status = asset_status(context, spec)
        assert rows[spec.name].get("next_at") == status.next_at
        assert bool(rows[spec.name].get("error")) == bool(status.error)


def test_what_is_withheld_is_told_with_its_rows_and_once(report, pages):
    cells = decoded(pages["regional_sales"]["grid"])
    assert cells["2025-03-05,pl"][0] == "withheld"
    assert (
        "not_null(amount): 12 of 120 rows; `sparkassets accept regional_sales --reason …` publishes it"
        in cells["2025-03-05,pl"][1]
    )
    told = pages["regional_sales"]["validations"]
    assert [rule["name"] for rule in told["rules"]] == ["not_null(amount)", "row_count(min 100)", "range(discount)"]
    assert told["rules"][2]["asks"] == "discount min 0, max 100"
    (withheld,) = told["withheld"]
    assert (withheld["partitions"], withheld["count"]) == ("2025-03-05,pl", 1)
    assert withheld["accept"] == "sparkassets accept regional_sales --reason …"
    assert withheld["rules"][0]["samples"][0] == {"day": "2025-03-05", "region": "pl", "amount": "NULL", "buyer": "•••"}
    by_run = {each["run"]: each["verdicts"] for each in told["runs"]}
    assert [0, "withheld", 12, 120] in by_run[withheld["run"]]
    row = next(each for each in report.index["assets"] if each["name"] == "regional_sales")
    assert row["withheld"] == ["not_null(amount): 12 of 120 rows"]
    assert not [item for item in report.index["waiting"] if item["asset"] == "regional_sales"]
    run = next(each for each in report.past["runs"] if each["run"] == withheld["run"])
    assert run["withheld"] == 1
    assert {verdict["outcome"] for verdict in run["verdicts"]} <= {"withheld", "warned"}
    assert pages["daily_delays"]["validations"] is None


def test_what_is_expected_and_not_there_is_late(report):
    rows = {row["name"]: row for row in report.index["assets"]}
    assert rows["delays_7d"]["late"] == "2025-03-10 was expected by 2025-03-11T12:00Z"
    assert {name for name, row in rows.items() if "late" in row} == {"delays_7d"}


def test_no_value_of_a_private_column_is_told():
    people = source("people", by=None, private=frozenset({"Mail"}))
    read = InletSpec("people", "", None, read=ReadAfter("mail"))
    story = Story(project(people, asset("letters", read, by=None, write=AppendWrite())))
    story.observed("people", version=1)
    (run,) = story.plan().runs
    story.succeed("letters", story.claim(run), watermarks={"people": "zoe@example.com"})
    context = story.context()
    report = build_report(context, make_plan(context), past(story))
    page = report.assets["letters"]
    assert page["watermarks"] == [["people", "read up to mail •••"]]
    assert "zoe@example.com" not in json.dumps([report.index, report.past, list(report.assets.values())])
    assert "•••" in json.dumps(page["why"], ensure_ascii=False)
