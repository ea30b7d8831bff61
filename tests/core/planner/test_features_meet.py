"""What each part of the planner does alone still holds where two of them meet in one asset's history."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from sparkassets.core.definitions import AssetDefinition
from sparkassets.core.journal.codec import decode, encode
from sparkassets.core.journal.entries import BackfillEntry, ObservedEntry, SegmentEntry
from sparkassets.core.journal.table_findings import TableFinding, TargetEntry
from sparkassets.core.partitions import EVERYTHING
from sparkassets.core.spec.model import AssetSpec, InletSpec
from sparkassets.core.spec.storage_location import StorageLocation
from tests.builders import Story, asset, project, source
from tests.core.planner.test_runtime_keys import RUNTIME, came_out

OLD, NEW = (AssetDefinition.build(text=sql, params={}) for sql in ("SELECT 1 AS x", "SELECT 2 AS x"))
EMPTY, REST = "2025-01-06", "2025-01-07..2025-01-12"


class TestADayOfWhichNothingCameOutBeforeAnyKeyWasKnown:
    """The first day of a week has no rows, the others have those of one key."""

    def story(self) -> Story:
        model = asset("model", "raw", segments=RUNTIME)
        return Story(project(source("raw"), model, asset("week", "model", by="week", segments=RUNTIME)))

    def test_is_there_for_who_reads_the_keys(self):
        story = self.story()
        story.observed("raw", EMPTY)
        came_out(story, "model")
        story.observed("raw", REST)
        came_out(story, "model", "de")
        assert story.state.dataset("model").coverage == story.state.assets["model"].coverage
        assert story.due() == {"week": ["2025-W02,de"]}
        assert decode(encode(story.state), journal_id="journal") == story.state

    def test_is_not_there_for_a_key_that_somebody_adds(self):
        story = self.story()
        story.observed("raw", EMPTY)
        came_out(story, "model")
        story.add(SegmentEntry("model", "customer", ("de",)))
        assert not story.state.dataset("model").coverage
        assert story.due() == {"model": [f"{EMPTY},de"]}


class TestCodeOfATableThatIsMadeAnew:
    """Two definitions, the newer of which made the table last; then an older checkout drives."""

    def story(self) -> Story:
        story = Story(project(*self.assets(OLD)))
        story.observed("s", "2025-01-01..2025-01-03")
        story.run_all()
        story.change(*self.assets(NEW))
        story.run_all()
        return story

    def assets(self, definition: AssetDefinition, **more: Any) -> tuple[AssetSpec, ...]:
        made = asset("a", "s", definition=definition, on_code_change="backfill")
        return source("s"), replace(made, **more)

    def older_checkout_is_idle(self, story: Story, **more: Any) -> bool:
        story.run_all()
        story.change(*self.assets(OLD, **more))
        return story.due() == {}

    def test_keeps_its_order_after_the_table_is_gone(self):
        story = self.story()
        story.add(TargetEntry("a", "a", TableFinding("gone", "its table is gone", EVERYTHING)))
        assert story.due() == {"a": ["2025-01-01..2025-01-03"]}
        assert self.older_checkout_is_idle(story)

    def test_keeps_its_order_after_a_move(self):
        there = StorageLocation("/elsewhere/a", "elsewhere/a")
        story = self.story()
        story.change(*self.assets(NEW, storage=there))
        assert story.due() == {"a": ["2025-01-01..2025-01-03"]}
        assert self.older_checkout_is_idle(story, storage=there)


class TestARecordedRequest:
    def test_goes_on_with_what_keeps_its_rows(self):
        story = Story(project(source("s"), asset("a", InletSpec("s", "", None, on_removed="keep"))))
        story.observed("s", "2025-01-01..2025-01-03")
        story.run_all()
        day = story.project.assets["s"].partitioning.parse("2025-01-02")
        story.add(ObservedEntry("s", "x-s", removed=day))
        assert story.due() == {}
        story.add(BackfillEntry("a", day, day))
        assert story.due() == {"a": ["2025-01-02"]}
        story.run_all()
        assert story.waits("a") == ["up to date since a-8"]

    @pytest.mark.parametrize("keys", [("de",), ()])
    def test_of_a_whole_is_answered_once_its_keys_are_known(self, keys):
        story = Story(project(source("raw"), asset("model", "raw", segments=RUNTIME)))
        story.observed("raw", EMPTY)
        came_out(story, "model")
        whole = story.state.assets["model"].coverage
        story.add(BackfillEntry("model", whole, whole))
        if not keys:
            story.add(SegmentEntry("model", "customer", ("de",)))
        came_out(story, "model", *keys)
        assert story.state.assets["model"].redo_requests == ()
        assert story.due() == {}
