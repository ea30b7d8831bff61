"""A pause stops runs, never events."""

from sparkassets.core.journal.codec import decode, encode
from sparkassets.core.journal.entries import PauseEntry
from tests.builders import Story, asset, project, source

PROJECT = project(source("s"), asset("a", "s"), asset("n", "a", by=None))


def test_a_paused_asset_waits_with_its_backlog():
    story = Story(PROJECT)
    story.add(PauseEntry("a", paused=True))
    story.observed("s", "2025-01-01..2025-01-03")
    assert story.due() == {}
    assert story.waits("a") == ["paused"]
    restored = decode(encode(story.state), journal_id="journal")
    assert restored.assets == story.state.assets
    story.add(PauseEntry("a", paused=False))
    assert story.due() == {"a": ["2025-01-01..2025-01-03"]}


def test_a_pause_outlives_another_place_of_the_asset():
    from sparkassets.core.journal.entries import SpecEntry
    from sparkassets.core.journal.fold_specs import FoldSpec

    story = Story(PROJECT)
    story.add(PauseEntry("a", paused=True), SpecEntry("a", FoldSpec("elsewhere")))
    assert story.state.assets["a"].paused
