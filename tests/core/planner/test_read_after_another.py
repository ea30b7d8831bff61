"""``read: {after: a}`` becomes ``{after: b}``: how far a was read says nothing of b."""

from sparkassets.core.journal.codec import decode, encode
from sparkassets.core.spec.model import InletSpec, ReadAfter
from sparkassets.core.strategies import LatestOnly
from sparkassets.core.writes import AppendWrite, UpsertWrite
from tests.builders import Story, asset, project, source


def read(how, write):
    inlet = InletSpec("s", "", None, read=how)
    return source("s", by=None), asset("a", inlet, by=None, strategy=LatestOnly(), write=write)


def make_story(write, column="at") -> Story:
    """What has read ``s`` up to a value of a column."""
    story = Story(project(*read(ReadAfter(column), write)))
    story.observed("s", table_id="t", version=3)
    story.succeed("a", story.claim(story.plan().runs[0]), watermarks={"s": "7"})
    story.observed("s", table_id="t", version=4)
    return story


def pin(story):
    (run,) = story.plan().runs
    return run.request.pins["s"], run


def test_the_same_column_goes_on():
    found, _ = pin(make_story(AppendWrite()))
    assert (found.low, found.column) == ("7", "at")


def test_another_column_is_read_anew_where_rows_take_the_place_of_rows():
    story = make_story(UpsertWrite(keys=("id",)))
    story.change(*read(ReadAfter("id"), UpsertWrite(keys=("id",))))
    found, run = pin(story)
    assert (found.low, found.column, run.request.rebuilds) == (None, "id", True)
    assert (
        "reads all of s again: it was read above the highest at before, and is now read above the highest id"
        in run.reason
    )
    story.succeed("a", story.claim(run), watermarks={"s": "70"})
    story.observed("s", table_id="t", version=5)
    found, _ = pin(story)
    assert (found.low, found.column) == ("70", "id")


def test_another_column_is_refused_where_rows_would_be_there_twice():
    story = make_story(AppendWrite())
    story.change(*read(ReadAfter("id"), AppendWrite()))
    assert story.plan().runs == ()
    (said,) = story.waits("a")
    assert said == (
        "the new rows of s are unknown: it was read above the highest at before, and is now read above the highest "
        "id; read it above the highest at again, or drop the table of a to start over"
    )
    story.change(*read(ReadAfter("at"), AppendWrite()))
    found, _ = pin(story)
    assert found.low == "7"


def test_who_takes_over_does_not_take_one_for_the_other():
    story = make_story(AppendWrite())
    dead = story.claim(story.plan().runs[0])
    story.change(*read(ReadAfter("id"), AppendWrite()))
    (run,) = story.plan(gone_claims={dead}).runs
    assert (run.request.pins["s"].low, run.request.pins["s"].column) == ("7", "at")


def test_a_snapshot_keeps_the_column():
    story = make_story(AppendWrite())
    known = decode(encode(story.state), journal_id="journal").assets["a"]
    assert known.columns == {"s": "at"}
    assert known == story.state.assets["a"]
