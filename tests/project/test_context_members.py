"""What a function asks its context for is checked when the project is validated, without running it."""

import pytest

from sparkassets.errors import SpecError
from sparkassets.project import load_project


@pytest.fixture
def write(tmp_path):
    def written(body):
        (tmp_path / "conf/assets").mkdir(parents=True)
        (tmp_path / "jobs").mkdir()
        (tmp_path / "conf/project.yml").write_text("project: shop\npython: [jobs]\n")
        (tmp_path / "conf/assets/a.yml").write_text("asset: a\nschedule: '@daily'\npython: jobs.made:make\n")
        (tmp_path / "jobs/made.py").write_text(f"def make(context, spark):\n{body}")
        return tmp_path / "conf"

    return written


@pytest.mark.parametrize(
    ("line", "column", "message"),
    [
        (
            "context.execution_date",
            22,
            "the context of a run has no 'execution_date'\n  hint: here it is 'logical_date'",
        ),
        ("'é', context.run_idd", 27, "the context of a run has no 'run_idd'\n  hint: did you mean 'run_id'?"),
        ("context.triggering_event.extar", 39, "an event has no 'extar'\n  hint: did you mean 'extra'?"),
        (
            "context.triggering_events['s'][0].source_run.run_is",
            59,
            "the source run of an event has no 'run_is'\n  hint: did you mean 'run_id'?",
        ),
    ],
)
def test_a_misspelt_attribute_is_told_at_its_place(write, line, column, message):
    with pytest.raises(SpecError) as error:
        load_project(write(f"    print(1, {line})\n"), {})
    told = "\n".join(each for each in str(error.value).splitlines() if not each.startswith("    "))
    assert told.endswith(f"jobs/made.py:2:{column}: {message}")


@pytest.mark.parametrize(
    "body",
    [
        "    print(context.ds, context.params['x'].anything, context.triggering_event.extra.whatever)\n",
        "    print(context.triggering_events.s[-1].source_run.data_interval.start.day)\n",
        "    print(context.triggering_event.keys())\n",
        "    context = object()\n    print(context.whatever)\n",
        "    print([context.whatever for context in ()])\n",
        "    def inner(context):\n        return context.whatever\n",
    ],
)
def test_what_may_be_there_is_not_told(write, body):
    assert list(load_project(write(body), {}).assets) == ["a"]
