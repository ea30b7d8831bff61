"""`status` and `explain` of what cannot go on: of changes that are not told, and of what failed."""

import pytest

from sparkassets.core.documents.status import status_document
from sparkassets.core.planner.explain.explanation import explain_asset
from sparkassets.core.planner.explain.partition_marks import MarkRequest, mark_asset
from sparkassets.core.planner.explain.status import asset_status
from tests.builders import Story, asset, project, source
from tests.core.planner.test_changes import ANEW, EVERYTHING, story, succeed, updated


@pytest.mark.parametrize(("update", "changes", "reason"), ANEW)
def test_an_asset_whose_inlet_does_not_tell_its_changes_waits_for_a_person(update, changes, reason):
    told = story()
    updated(told, 3)
    succeed(told)
    updated(told, **update)
    context = told.context(check_availability=lambda *_: changes)
    status = asset_status(context, told.project.assets["log"])
    (note,) = status_document(status, told.project)["notes"]
    assert note.startswith(f"waits for a person: the changes of orders are not available: {reason}; ")
    told.add(mark_asset(context, MarkRequest(told.project.assets["log"], EVERYTHING, "done", "looked at", "ann")))
    after = asset_status(told.context(check_availability=lambda *_: changes), told.project.assets["log"])
    assert after.notes == ()


def test_explain_tells_the_last_failure_of_what_runs_again():
    told = Story(project(source("s", by=None), asset("a", "s", by=None)))
    told.observed("s")
    for error in ("no such column", "no such table"):
        told.fail("a", told.claim(told.plan().runs[0]), error=error)
    run = told.state.assets["a"].failed[-1].run
    node = explain_asset(told.context(invocation="later"), told.project.assets["a"])
    assert f"failed last in {run}: no such table (planned at 2025-02-01T00:00Z)" in repr(node)
    told.run_all()
    assert "failed" not in repr(explain_asset(told.context(), told.project.assets["a"]))
