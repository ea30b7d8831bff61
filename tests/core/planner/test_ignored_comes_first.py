"""What reads an inlet whose updates make nothing due waits for that inlet's run all the same, once it is due itself."""

from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.spec.model import InletSpec
from tests.builders import Story, asset, project, source


def ignoring(name: str) -> InletSpec:
    return InletSpec(name, "", None, on_update="ignore")


def runs(story: Story) -> list[tuple[str, list[str]]]:
    return [(run.asset, story.keys(run.asset, run.partitions)) for run in story.run_all()]


def dimension(*, by="day", **more) -> Story:
    """``fact`` reads ``sales`` for its news, and the dimension ``shops`` as it is."""
    shops = asset("shops", "raw", by=None)
    fact = asset("fact", "sales", ignoring("shops"), by=by, **more)
    sources = source("raw", by=None), source("sales", by=by)
    return Story(project(*sources, shops, fact))


def test_a_dimension_that_is_due_too_comes_first():
    story = dimension()
    story.observed("raw")
    story.observed("sales", "2025-01-06")
    assert story.due() == {"shops": []}
    assert story.waits("fact") == ["waits for shops, which runs first"]
    assert runs(story) == [("shops", []), ("fact", ["2025-01-06"])]


def test_so_it_does_where_nothing_has_partitions():
    story = dimension(by=None)
    story.observed("raw")
    story.observed("sales")
    assert story.due() == {"shops": []}
    assert [name for name, _ in runs(story)] == ["shops", "fact"]


def test_its_update_alone_makes_nothing_due():
    story = dimension()
    story.observed("sales", "2025-01-06")
    story.observed("raw")
    runs(story)
    story.observed("raw")
    assert [name for name, _ in runs(story)] == ["shops"]


def test_what_hangs_on_it_waits_too():
    story = dimension()
    report = asset("report", "fact", by=None)
    story.change(*story.project.assets.values(), report)
    story.observed("raw")
    story.observed("sales", "2025-01-06")
    assert story.due() == {"shops": []}
    assert [name for name, _ in runs(story)] == ["shops", "fact", "report"]


def test_only_the_partitions_that_read_it_wait():
    extra = asset("extra", "raw")
    story = Story(project(source("raw"), source("sales"), extra, asset("fact", "sales", ignoring("extra"))))
    story.observed("raw", "2025-01-06")
    story.observed("sales", "2025-01-06..2025-01-07")
    assert story.due()["extra"] == ["2025-01-06"]
    assert [said for said in story.waits("fact") if "runs first" in said] == [
        "waits for extra 2025-01-06, which runs first"
    ]


def test_one_that_failed_is_read_as_it_was():
    story = dimension()
    story.observed("raw")
    story.run("shops")
    story.observed("raw")
    story.observed("sales", "2025-01-06")
    (run,) = story.plan().runs
    story.fail("shops", story.claim(run))
    assert story.due(invocation="i") == {"fact": ["2025-01-06"]}


@given(st.lists(st.sampled_from(["raw", "sales", "run"]), max_size=12))
def test_no_run_reads_an_older_version_than_what_its_invocation_made(steps):
    story, day = dimension(), 0
    for step in [*steps, "run"]:
        if step == "raw":
            story.observed("raw")
        elif step == "sales":
            day += 1
            story.observed("sales", f"2025-01-{day:02}")
        else:
            order = [run.asset for run in story.run_all()]
            assert order == sorted(order, reverse=True)  # shops before fact
