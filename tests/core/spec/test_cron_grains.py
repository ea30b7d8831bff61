"""Crons as grains in the files: what they become, and what is refused where it stands."""

import pytest

from sparkassets.core.journal.codec.row_values import decode_spec, encode_spec
from sparkassets.core.journal.fold_specs import build_fold_spec
from sparkassets.core.partitions import TimePartition
from tests.core.spec.in_memory import compiled, errors_of, one

READS = "SELECT 1 AS at FROM {{ inlets.flights }}"


@pytest.mark.parametrize(
    ("written", "by"),
    [
        ("'0 6 * * *'", "0 6 * * *"),
        ('"*/15  * * *  *"', "*/15 * * * *"),
        ("0 0 * * SUN", "0 0 * * SUN"),
    ],
)
def test_a_cron_is_a_grain(written, by):
    asset = one(f"asset: a\npartition: {{by: {written}, column: at, timezone: Europe/Berlin}}", sql=READS)
    assert asset.partitioning.time == TimePartition(by, "Europe/Berlin", "at")


def test_the_journal_keeps_it():
    project = compiled(
        {
            "a.yml": "asset: a\npartition: [{by: '*/15 * * * *', column: at}, {segments: [x], column: s}]",
            "a.sql": "SELECT 1 AS at, 'x' AS s",
        }
    )
    spec = build_fold_spec(project.assets["a"], project)
    assert decode_spec(encode_spec(spec)) == spec


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "asset: a\npartition: {by: '61 * * * *', column: at}\n",
            """\
a.yml:2:17: cron '61 * * * *': minute '61' is not valid; expected 0-59
    partition: {by: '61 * * * *', column: at}
                    ^^^^^^^^^^^^""",
            id="no_cron",
        ),
        pytest.param(
            "asset: a\npartition: [{by: 0 6 * *, column: at}, {segments: [x], column: s}]\n",
            """\
a.yml:2:18: cron '0 6 * *' has 4 fields; expected five: minute hour day-of-month month day-of-week
    partition: [{by: 0 6 * *, column: at}, {segments: [x], column: s}]
                     ^^^^^^^""",
            id="four_fields_in_a_product",
        ),
        pytest.param(
            "asset: a\npartition: {by: 0 0 31 2 *, column: at}\n",
            """\
a.yml:2:17: cron '0 0 31 2 *' never fires: no year has such a day
    partition: {by: 0 0 31 2 *, column: at}
                    ^^^^^^^^^^""",
            id="never",
        ),
        pytest.param(
            "asset: a\npartition: {by: '0 0 * 2 MON#5', column: at}\n",
            """\
a.yml:2:17: the partition's cron '0 0 * 2 MON#5' fires years apart; expected slots of at most 9 years
    partition: {by: '0 0 * 2 MON#5', column: at}
                    ^^^^^^^^^^^^^^^""",
            id="years_apart",
        ),
        pytest.param(
            "asset: a\npartition: {by: 0 6 * * *}\n",
            """\
a.yml:2:12: the partition has no column, but 'replace' works by partition and needs one
    partition: {by: 0 6 * * *}
               ^^^^^^^^^^^^^^^
  hint: write partition: {by: '0 6 * * *', column: <column>}""",
            id="no_column",
        ),
        pytest.param(
            "asset: a\nsource: csv\npath: in/{at:%Y%m%d%H}.csv\npartition: {by: '*/15 * * * *', column: at}\n",
            """\
a.yml:3:7: the field {at} has %Y %m %d %H, which does not identify one slot of '*/15 * * * *'
    path: in/{at:%Y%m%d%H}.csv
          ^^^^^^^^^^^^^^^^^^^^
  hint: write {at:%Y%m%d%H%M}""",
            id="a_field_too_coarse",
        ),
        pytest.param(
            "asset: a\nsource: csv\npath: in/{at}.csv\npartition: {by: '0 6 * * *', column: at}\n",
            """\
a.yml:3:7: the field {at} stands for keys such as 2013-01-05T06:00, which are not valid in file names
    path: in/{at}.csv
          ^^^^^^^^^^^
  hint: write {at:%Y%m%d%H}""",
            id="a_key_that_is_no_file_name",
        ),
        pytest.param(
            "asset: a\nsource: csv\npath: in/*.csv\npartition: {by: '0 6 * * *', column: at}\n",
            """\
a.yml:3:7: 'in/*.csv' does not identify the slot of '0 6 * * *' of a file
    path: in/*.csv
          ^^^^^^^^
  hint: write {at:%Y%m%d%H}""",
            id="no_field",
        ),
    ],
)
def test_refused(text, expected):
    assert errors_of(text, sql="SELECT 1 AS at, 'x' AS s") == expected


@pytest.mark.parametrize(
    ("pattern", "by"),
    [
        ("{at:%Y%m%dT%H%M}", "*/15 * * * *"),
        ("{at:%Y%m%dT%H}", "0 6 * * *"),
        ("{at:%Y%m%d}", "0 0 * * SUN"),
        ("{at}", "0 0 * * SUN"),
    ],
)
def test_paths_that_tell_a_slot(pattern, by):
    asset = one(f"asset: a\nsource: csv\npath: in/{pattern}.csv\npartition: {{by: '{by}', column: at}}")
    assert asset.partitioning.time.by == by
