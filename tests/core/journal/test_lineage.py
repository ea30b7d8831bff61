"""Where partitions came from, as the journal tells it."""

from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.journal.entries import ClaimEntry, ObservedEntry, SuccessEntry
from sparkassets.core.journal.lineage import PartitionOrigin, trace_lineage
from sparkassets.core.journal.marks import MarkEntry
from sparkassets.core.journal.table_findings import ForeignCommit, TableFinding, TargetEntry
from sparkassets.core.partitions import EVERYTHING, NOTHING
from sparkassets.core.spec.model import InletSpec, PartitionRequirement
from tests.builders import Story, asset, days, project, source
from tests.core.planner.test_products import History, inside, partitions_of, set_of
from tests.depth import histories


def past(story, *, read=None):
    """The journal's entries of a dataset, newest first."""

    def of(uri):
        for each in reversed(story.entries):
            if getattr(each.entry, "uri", None) == uri and not isinstance(each.entry, ClaimEntry):
                if read is not None:
                    read.append(each.seq)
                yield each

    return of


def traced(story, name, partitions, **more):
    spec = story.project.assets[name]
    return trace_lineage(story.project, story.state, past(story), asset=spec, partitions=partitions, **more)


def short_origins(story, origins):
    """Origins in short: (what, partitions, what was read)."""
    return [
        (
            each.run or each.kind,
            story.keys(each.asset, each.partitions),
            {read.asset: short_origins(story, read.origins) for read in each.reads},
        )
        for each in origins
    ]


def week() -> Story:
    story = Story(project(source("s"), asset("a", "s"), asset("w", "a", by="week")), now="2025-01-13")
    story.observed("s", "2025-01-06..2025-01-12", version=1, table_id="t")
    return story


def test_what_one_run_computed_is_told_together_up_to_the_sources():
    story = week()
    story.run_all()
    (origin,) = traced(story, "w", days("2025-W02", by="week")).origins
    brought = ("source", ["2025-01-06..2025-01-12"], {})
    computed = ("a-5", ["2025-01-06..2025-01-12"], {"s": [brought]})
    assert short_origins(story, [origin]) == [("w-7", ["2025-W02"], {"a": [computed]})]
    (read,) = origin.reads
    assert (read.asset, read.version, read.table_id) == ("a", 1, "t")
    assert read.origins[0].reads[0].origins[0].version == 1


def test_a_run_read_what_was_there_before_its_claim():
    story = week()
    story.run("a")
    claim = story.claim(story.plan().runs[0])
    story.observed("s", "2025-01-07", version=2, table_id="t")
    run = next(each for each in story.plan(gone_claims={claim}).runs if each.asset == "a")
    story.succeed("a", story.claim(run), version=2)
    story.succeed("w", claim)
    (origin,) = traced(story, "w", days("2025-W02", by="week")).origins
    assert [each.partitions for each in origin.reads[0].origins] == [days("2025-01-06..2025-01-12")]
    newest, older = traced(story, "a", days("2025-01-06..2025-01-12")).origins
    assert (newest.partitions, newest.version, older.version) == (days("2025-01-07"), 2, 1)
    assert [each.seq for each in newest.reads[0].origins] != [each.seq for each in older.reads[0].origins]


def test_what_was_told_is_not_told_again():
    assets = (source("s"), asset("a", "s"), asset("b", "a"), asset("c", "a", "b"))
    story = Story(project(*assets), now="2025-01-13")
    story.observed("s", "2025-01-06")
    story.run_all()
    (origin,) = traced(story, "c", days("2025-01-06")).origins
    direct, through = origin.reads
    assert not direct.origins[0].again
    assert through.origins[0].reads[0].origins[0].again
    assert through.origins[0].reads[0].origins[0].reads == ()


def test_only_so_far_back_as_is_asked():
    story = week()
    story.run_all()
    (origin,) = traced(story, "w", days("2025-W02", by="week"), depth=1).origins
    assert [read.origins for read in origin.reads] == [()]
    (origin,) = traced(story, "w", days("2025-W02", by="week"), depth=2).origins
    assert [read.origins for read in origin.reads[0].origins[0].reads] == [()]


def test_what_is_not_there_and_what_nobody_knows():
    story = week()
    story.run("a")
    found = traced(story, "a", days("2025-01-12..2025-01-14"))
    assert [(each.kind, each.partitions) for each in found.origins] == [
        ("run", days("2025-01-12")),
        ("missing", days("2025-01-13..2025-01-14")),
    ]
    story.entries = [each for each in story.entries if not isinstance(each.entry, SuccessEntry)]
    assert [each.kind for each in traced(story, "a", days("2025-01-12")).origins] == ["unknown"]


def test_marks_losses_and_foreign_changes_are_told():
    story = week()
    story.run("a")
    commit = ForeignCommit(2, "WRITE", None, days("2025-01-06"))
    story.add(TargetEntry("a", "a", TableFinding("changed", table_id="t", version=2, mark="m", commits=(commit,))))
    story.add(MarkEntry("a", "a", "done", days("2025-01-13"), "by hand", "ann", days("2025-01-13")))
    by_hand, rest = traced(story, "a", days("2025-01-06..2025-01-13")).origins
    assert (by_hand.kind, by_hand.note, by_hand.partitions) == (
        "mark",
        "marked as done by ann: by hand",
        days("2025-01-13"),
    )
    assert rest.changed == ("WRITE in version 2",)
    story.add(
        TargetEntry("a", "a", TableFinding("restored", "its table was restored", days("2025-01-07"), "t", 3, "m"))
    )
    assert [each.kind for each in traced(story, "a", days("2025-01-07")).origins] == ["missing"]


def test_an_asset_without_partitions():
    story = Story(project(source("s", by=None), asset("a", "s", by=None)))
    story.observed("s", version=4, table_id="t")
    story.run("a")
    (origin,) = traced(story, "a", EVERYTHING).origins
    assert (origin.kind, origin.reads[0].origins[0].kind, origin.reads[0].origins[0].version) == ("run", "source", 4)


def test_no_more_is_read_than_is_asked():
    story = week()
    story.run_all()
    for number in range(20):
        story.observed("s", "2025-01-08", version=2 + number, table_id="t")
        story.run("a")
    read, spec = [], story.project.assets["a"]
    trace_lineage(
        story.project, story.state, past(story, read=read), asset=spec, partitions=days("2025-01-08"), depth=1
    )
    assert len(read) == 1


@histories(8)
@given(st.randoms(use_true_random=False), st.integers(3, 30))
def test_every_partition_is_told_by_its_newest_run_and_what_it_read(random, steps):
    history = History(random)
    for _ in range(steps):
        history.step()
    story = history.story
    for name, spec in story.project.assets.items():
        if spec.source is not None:
            continue
        for partition in partitions_of(spec.partitioning):
            parts = set_of(spec.partitioning, partition)
            (origin,) = traced(story, name, parts).origins
            check(history, origin, parts)


def told_of(story, name):
    """The entries that brought something of an asset, with their numbers."""
    kinds = SuccessEntry | ObservedEntry
    return [
        (each.seq, each.entry) for each in story.entries if isinstance(each.entry, kinds) and each.entry.asset == name
    ]


def check(history: History, origin: PartitionOrigin, parts) -> None:
    """That it is the newest of all that brought these, and that it read what was the newest at its claim."""
    story, name = history.story, origin.asset
    brought = told_of(story, name)
    newest = max((seq for seq, entry in brought if _parts(entry).covers(parts)), default=None)
    if newest is None:
        assert origin.kind == "missing"
        return
    assert (origin.seq, origin.partitions) == (newest, parts)
    entry = dict(brought)[newest]
    assert isinstance(entry, SuccessEntry)
    spec = story.project.assets[name]
    partition = inside(spec.partitioning, parts)[0]
    for read in origin.reads:
        up = story.project.assets[read.asset].partitioning
        wanted = set(history.needed(spec, read.asset, partition))
        known = [origin for origin in read.origins if origin.seq is not None]
        assert {each for origin in known for each in inside(up, origin.partitions)} <= wanted
        assert all(origin.partitions != NOTHING for origin in read.origins)
        assert all((origin.seq or 0) < entry.token for origin in known)
        for each in wanted & set(partitions_of(up)):
            own, came = set_of(up, each), told_of(story, read.asset)
            before = [seq for seq, one in came if seq < entry.token and _parts(one).covers(own)]
            told_by = [origin.seq for origin in read.origins if origin.partitions.covers(own)]
            assert told_by == [max(before)] if before else told_by in ([], [None])


def _parts(entry):
    return entry.partitions if isinstance(entry, SuccessEntry) else entry.changed


def test_what_a_run_read_and_never_was_there_is_missing_and_not_unknown():
    story = Story(
        project(source("s"), asset("weekly", InletSpec("s", "", None, require=PartitionRequirement("any")), by="week")),
        now="2025-02-01",
    )
    story.observed("s", "2025-01-08")
    story.run("weekly")
    (origin,) = traced(story, "weekly", days("2025-W02", by="week")).origins
    (read,) = origin.reads
    assert [(each.kind, story.keys("s", each.partitions)) for each in read.origins] == [
        ("source", ["2025-01-08"]),
        ("missing", ["2025-01-06..2025-01-07", "2025-01-09..2025-01-12"]),
    ]
