"""`status` and `explain` of what cannot go on: of changes that are not told, and of what failed."""

import pytest

from sparkassets.core.documents.status import status_document
from sparkassets.core.planner.explain.explanation import explain_asset
from sparkassets.core.planner.explain.partition_marks import MarkRequest, mark_asset
from sparkassets.core.planner.explain.status import asset_status
from tests.builders import Story, asset, project, source
from tests.core.planner.test_changes import ANEW, EVERYTHING, make_story, succeed, updated


@pytest.mark.parametrize(("update", "changes", "reason"), ANEW)
def test_an_asset_whose_inlet_does_not_tell_its_changes_waits_for_a_person(update, changes, reason):
    story = make_story()
    updated(story, 3)
    succeed(story)
    updated(story, **update)
    context = story.context(check_availability=lambda *_: changes)
    status = asset_status(context, story.project.assets["log"])
    (note,) = status_document(status, story.project)["notes"]
    assert note.startswith(f"waits for a person: the changes of orders are not available: {reason}; ")
    story.add(mark_asset(context, MarkRequest(story.project.assets["log"], EVERYTHING, "done", "looked at", "ann")))
    after = asset_status(story.context(check_availability=lambda *_: changes), story.project.assets["log"])
    assert after.notes == ()


def test_explain_tells_the_last_failure_of_what_runs_again():
    story = Story(project(source("s", by=None), asset("a", "s", by=None)))
    story.observed("s")
    for error in ("no such column", "no such table"):
        story.fail("a", story.claim(story.plan().runs[0]), error=error)
    run = story.state.assets["a"].failed[-1].run
    node = explain_asset(story.context(invocation="later"), story.project.assets["a"])
    assert f"failed last in {run}: no such table (planned at 2025-02-01T00:00Z)" in repr(node)
    story.run_all()
    assert "failed" not in repr(explain_asset(story.context(), story.project.assets["a"]))
