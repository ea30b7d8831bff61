"""What a template says that cannot be rendered; no Spark is asked."""

from datetime import UTC, datetime

import pytest

from sparkassets.core.partitions import EVERYTHING
from sparkassets.core.spec.code_bodies import SqlBody
from sparkassets.errors import FileLocation, RunError
from sparkassets.ports import RunOrder
from sparkassets.spark.context import make_context
from sparkassets.spark.sql_template import run_sql
from tests.builders import asset, project

SQL = FileLocation("a.sql", 1, 1)
EVENT = {"seq": 3, "uri": "x-s", "extra": {"rows": 3, "note": "a"}, "partitions": [], "run": None, "source_run": None}


def refused(template, place=SQL):
    report = asset("report", by=None, params={"limit": 1})
    order = RunOrder(
        report,
        run="report-1",
        app_id="j/report",
        token=1,
        partitions=EVERYTHING,
        pins={},
        inlets={},
        interval=None,
        schedule_date=datetime(2025, 3, 21, tzinfo=UTC),
        events={"s": [EVENT]},
    )
    made = make_context(order, watermark=None, project=project(report))
    with pytest.raises(RunError) as error:
        run_sql(None, order, SqlBody(template, place), inlets={}, outlet=lambda: None, context=made)
    return str(error.value)


@pytest.mark.parametrize(
    ("template", "message"),
    [
        (
            "SELECT 1,\n '{{ triggering_event.source_run.data_interval_start }}'",
            (
                "a.sql:2:34: 'data_interval_start' is undefined: its parent is empty, like 'source_run' of an "
                "event without a run"
            ),
        ),
        (
            "SELECT {{ triggering_event.extra.total }}",
            "a.sql:1:34: 'total' is undefined; known are note, rows",
        ),
        (
            "SELECT {{ triggering_events.s[0].extra['row'] }}",
            "a.sql:1:41: 'row' is undefined; did you mean 'rows'?",
        ),
        ("SELECT {{ params.limits }}", "a.sql:1:18: 'limits' is undefined; did you mean 'limit'?"),
        ("SELECT {{ triggering_events.s[5].extra }}", "a.sql:1: index 5 is out of range for a list of length 1"),
        (
            "SELECT {{ triggering_events.s.extra }}",
            "a.sql:1:31: a list has no 'extra'; take an element, such as [-1] for the last",
        ),
        (
            "SELECT {{ triggering_events.zz[0] }}",
            "a.sql:1:29: no event of 'zz' triggered this run; events of s did",
        ),
        (
            "SELECT {{ triggering_events['_tmp'][0] }}",
            "a.sql:1:30: no event of '_tmp' triggered this run; events of s did",
        ),
        ("SELECT '{{ ds }}'", "a.sql:1:12: the run has no data interval, so 'ds' has no value"),
        (
            "SELECT '{{ prev_data_interval_end_success }}'",
            (
                "a.sql:1:12: 'prev_data_interval_end_success' has no value: no earlier run of report with a data "
                "interval has succeeded"
            ),
        ),
    ],
)
def test_what_is_not_there_is_told_with_its_place_and_what_to_do(template, message):
    hint = "where it may be missing, write {% if … is defined %} or {{ … | default('…') }}"
    assert refused(template) == f"{message}\n  hint: {hint}"


def test_what_is_asked_for_in_the_wrong_way_gets_no_default():
    assert refused("{{ partition.day }}") == "a.sql:1: report has no partitions"
    assert refused("{{ watermark.low }}") == (
        "a.sql:1:4: 'watermark' needs exactly one inlet that is read above a watermark"
    )


def test_the_column_of_sql_inside_yaml_is_the_files():
    assert refused("SELECT 1,\n{{ ds }}", FileLocation("a.yml", 5, 3)).startswith(
        "a.yml:6:6: the run has no data interval"
    )


def test_what_leaves_the_sandbox_is_no_missing_member():
    assert refused("{{ params.__class__ }}").startswith("a.sql:1:11: the template tries to leave its sandbox: ")
    assert refused("{{ params.clear() }}").startswith("a.sql:1:11: the template tries to leave its sandbox: ")


def test_members_may_be_missing_where_something_stands_for_them():
    text = "{{ 1 / 0 if triggering_event.source_run.run_id | default('none') == 'none' else 1 }}"
    assert refused(text) == "a.sql:1: ZeroDivisionError: division by zero"
