"""`segments: runtime` on Spark: a model per customer, as the example has it, and a first run over everything."""

import shutil
from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from sparkassets import Project
from sparkassets.core.partitions import NOTHING
from tests.depth import deep

EXAMPLE = Path(__file__).parents[1] / "examples" / "07_model_per_customer"
FIT = """
import pandas as pd


def fit_one(readings: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({"customer_id": readings.customer_id.iloc[:1], "model": [str(readings.kwh.mean()).encode()]})


"""
pytestmark = pytest.mark.spark


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SPARKASSETS_CACHE", str(tmp_path / "cache"))
    copy = shutil.copytree(EXAMPLE, tmp_path / "example")
    source = copy / "readings.yml"
    source.write_text(source.read_text().replace("table: main.raw.readings", "path: lake/readings"))
    asset = copy / "energy_model.yml"
    asset.write_text(asset.read_text().replace("{settle: 1h}", "{}"))
    code = copy / "jobs" / "energy.py"
    code.write_text(FIT + code.read_text())
    return copy


def write(folder, rows, **more):
    table = pa.table({"customer_id": [key for key, _ in rows], "kwh": [float(kwh) for _, kwh in rows]})
    write_deltalake(folder / "lake" / "readings", table, **{"mode": "append", **more})


def rows(folder, asset):
    table = pa.table(DeltaTable(folder / "warehouse" / asset).scan())
    return sorted((tuple(row.values()) for row in table.to_pylist()), key=repr)


def ran(summary):
    return [(result.asset, result.partition_keys, result.status) for result in summary.runs]


@pytest.mark.spark_alone  # hangs where pandas computes groups
def test_a_model_for_each_customer(spark, folder):
    write(folder, [("a", 1), ("a", 3), ("b", 5)])
    project = Project.load(folder, env={})
    assert ran(project.run(spark)) == [("energy_model", ("a", "b"), "success")]
    assert rows(folder, "energy_model") == [("a", b"2.0"), ("b", b"5.0")]

    write(folder, [("b", 7)])
    assert ran(project.run(spark)) == [("energy_model", ("b",), "success")]
    write(folder, [("c", 9)])
    assert ran(project.run(spark)) == [("energy_model", ("c",), "success")]
    assert rows(folder, "energy_model") == [("a", b"2.0"), ("b", b"6.0"), ("c", b"9.0")]

    assert project.partitions.remove("readings", "c") == ["c"]
    write(folder, [("a", 5), ("c", 11)])
    assert ran(project.run(spark)) == [("energy_model", ("a",), "success")]
    assert rows(folder, "energy_model") == [("a", b"3.0"), ("b", b"6.0"), ("c", b"9.0")]
    assert project.partitions.add("readings", "c") == ["c"]
    assert ran(project.run(spark)) == [("energy_model", ("c",), "success")]
    assert rows(folder, "energy_model")[-1] == ("c", b"10.0")
    assert project.run(spark).runs == ()


def test_a_run_of_everything_makes_known_what_comes_out(spark, folder):
    write(folder, [("a", 1), ("b", 5)])
    project = project_of(folder, ALL_ROWS)
    assert ran(project.run(spark)) == [("energy_model", ("*",), "success")]
    assert project.partitions.statuses("energy_model") == [("a", "current"), ("b", "current")]

    write(folder, [("a", 2), ("c", 1)])
    assert ran(project.run(spark)) == [("energy_model", ("a", "b", "c"), "success")]
    assert rows(folder, "energy_model") == [("a", 3.0), ("b", 5.0), ("c", 1.0)]
    project.partitions.remove("energy_model", "c")
    project.partitions.add("energy_model", "c")
    assert ran(project.run(spark)) == [("energy_model", ("c",), "success")]
    assert rows(folder, "energy_model") == [("a", 3.0), ("b", 5.0), ("c", 1.0)]
    assert project.run(spark).runs == ()


DAILY = (
    "asset: energy_model\ninlets: {readings: {partitions: {from: at}}}\nretries: 0\n"
    "partition: [{by: day, column: day}, {segments: runtime, column: customer_id}]\n"
    "strategy: {date_range: {max_partitions_per_run: MOST}}\n"
    "sql: |\n  SELECT p.day, r.customer_id, sum(kwh) AS kwh\n"
    "  FROM {{ inlets.readings }} r JOIN {{ partitions }} p ON r.at = p.day GROUP BY ALL\n"
)


@pytest.mark.parametrize("most", [deep(1), 2])
def test_no_run_leaves_out_rows_of_segments_that_nobody_knows(spark, folder, most):
    project, expected = project_of(folder, DAILY.replace("MOST", str(most))), {}

    def write(*found):
        table = pa.table({"customer_id": [key for key, _ in found], "at": [date(2025, 3, day) for _, day in found]})
        write_deltalake(
            folder / "lake" / "readings", table.append_column("kwh", pa.array([1.0] * len(found))), mode="append"
        )
        for key, day in found:
            expected[date(2025, 3, day), key] = expected.get((date(2025, 3, day), key), 0.0) + 1.0

    for found in (
        [("a", 1), ("b", 1), ("c", 2), ("d", 3), ("e", 5)],
        [("f", 2), ("a", 6)],
        [("g", 6), ("h", 7), ("a", 1)],
    ):
        write(*found)
        assert project.run(spark).ok
        assert rows(folder, "energy_model") == sorted((day, key, kwh) for (day, key), kwh in expected.items())
    assert project.run(spark).runs == ()


POSITIVE = (
    "asset: energy_model\ninlets: {readings: {on_update: rerun}}\n"
    "partition: {segments: runtime, column: customer_id}\n"
    "sql: SELECT customer_id, kwh FROM {{ inlets.readings }} WHERE kwh > 0\n"
)


@pytest.mark.alike
def test_what_comes_out_first_of_a_later_run_of_everything_is_no_partition_that_stays(spark, folder):
    write(folder, [("a", -1)])
    (folder / "readings.yml").write_text("asset: readings\nsource: delta\npath: lake/readings\n")
    (folder / "energy_model.yml").write_text(POSITIVE)
    project = Project.load(folder, env={})
    assert ran(project.run(spark)) == [("energy_model", ("*",), "success")]
    write(folder, [("a", 1)])
    (result,) = project.run(spark).runs
    assert (result.partition_keys, result.unchanged) == (("*",), NOTHING)
    assert rows(folder, "energy_model") == [("a", 1.0)]


@pytest.mark.alike
def test_a_run_of_everything_takes_the_place_of_all_rows_with_a_segment(spark, folder):
    write(folder, [("a", 1), ("b", 2)])
    (folder / "readings.yml").write_text("asset: readings\nsource: delta\npath: lake/readings\n")
    (folder / "energy_model.yml").write_text(POSITIVE)
    there = pa.table({"customer_id": ["a", "z", None], "kwh": [5.0, 6.0, 7.0]})
    write_deltalake(folder / "warehouse" / "energy_model", there)
    project = Project.load(folder, env={})
    assert ran(project.run(spark)) == [("energy_model", ("*",), "success")]
    assert rows(folder, "energy_model") == [("a", 1.0), ("b", 2.0), (None, 7.0)]
    assert project.partitions.statuses("energy_model") == [("a", "current"), ("b", "current")]


WHOLE_INLET = "asset: readings\nsource: delta\npath: lake/readings\n"
ALL_ROWS = (
    "asset: energy_model\ninlets: {readings: {on_update: rerun}}\nretries: 0\n"
    "partition: {segments: runtime, column: customer_id}\n"
    "sql: SELECT customer_id, sum(kwh) AS kwh FROM {{ inlets.readings }} GROUP BY ALL\n"
)


def project_of(folder, asset, *, readings=WHOLE_INLET):
    (folder / "readings.yml").write_text(readings)
    (folder / "energy_model.yml").write_text(asset)
    return Project.load(folder, env={})


@pytest.mark.alike
@pytest.mark.parametrize("rules", ["", "validations: [{not_null: [kwh]}]\n"])
def test_rows_of_a_segment_that_nobody_knew_are_part_of_the_run(spark, folder, rules):
    write(folder, [("a", 1)])
    project = project_of(folder, ALL_ROWS + rules)
    assert project.run(spark).ok
    write(folder, [("c", 3), ("b", 2)])
    assert ran(project.run(spark)) == [("energy_model", ("a", "b", "c"), "success")]
    assert rows(folder, "energy_model") == [("a", 1.0), ("b", 2.0), ("c", 3.0)]
    assert project.partitions.statuses("energy_model") == [(key, "current") for key in "abc"]
    assert project.run(spark).runs == ()


BY_VALUES = (
    "asset: energy_model\ninlets: {readings: {partitions: {from: customer}}}\nretries: 0\n"
    "partition: {segments: runtime, column: customer_id}\n"
    "sql: SELECT customer AS customer_id, sum(kwh) AS kwh FROM {{ inlets.readings }} GROUP BY ALL\n"
)


@pytest.mark.alike
@pytest.mark.parametrize("kind", ["delta", "csv"])
def test_values_in_what_changed_make_segments_known(spark, folder, kind):
    place = {"delta": "path: lake/readings", "csv": "path: landing/*.csv\ncolumns: {customer: string, kwh: double}"}
    project = project_of(folder, BY_VALUES, readings=f"asset: readings\nsource: {kind}\n{place[kind]}\n")

    def write(number, rows):
        if kind == "csv":
            (folder / "landing").mkdir(exist_ok=True)
            text = "".join(f"{key},{kwh}\n" for key, kwh in rows)
            (folder / "landing" / f"{number}.csv").write_text(f"customer,kwh\n{text}")
            return
        table = pa.table({"customer": [key for key, _ in rows], "kwh": [float(kwh) for _, kwh in rows]})
        write_deltalake(folder / "lake" / "readings", table, mode="append")

    write(1, [("a", 1), ("b", 2)])
    assert ran(project.run(spark)) == [("energy_model", ("a", "b"), "success")]
    write(2, [("b", 3), ("c", 4)])
    assert ran(project.run(spark)) == [("energy_model", ("b", "c"), "success")]
    assert rows(folder, "energy_model") == [("a", 1.0), ("b", 5.0), ("c", 4.0)]
    assert project.run(spark).runs == ()


@pytest.mark.alike
def test_segments_of_an_inlet_by_values_of_time_become_known(spark, folder):
    """The inlet lists them, so the query may join them."""
    asset = (
        "asset: energy_model\ninlets: {readings: {partitions: {from: at}}}\nretries: 0\n"
        "partition: [{by: day, column: day}, {segments: runtime, column: customer_id}]\n"
        "strategy: {date_range: {max_partitions_per_run: 2}}\n"
        "sql: |\n  SELECT r.at AS day, r.customer_id, sum(kwh) AS kwh FROM {{ inlets.readings }} r\n"
        "  JOIN {{ partitions }} p ON r.customer_id = p.customer_id AND r.at = p.day\n"
        "  GROUP BY ALL\n"
    )
    readings = WHOLE_INLET + "partition: {segments: runtime, column: customer_id}\n"
    project, days = project_of(folder, asset, readings=readings), [date(2025, 3, 1), date(2025, 3, 2)]

    def write(*found):
        columns = zip(*found, strict=True)
        table = pa.table(dict(zip(["customer_id", "at", "kwh"], map(list, columns), strict=True)))
        write_deltalake(folder / "lake" / "readings", table, mode="append")

    first = [("a", days[0], 1.0), ("b", days[0], 2.0), ("c", days[1], 3.0)]
    write(*first)
    assert project.run(spark).ok
    assert sorted(rows(folder, "energy_model")) == sorted((day, key, kwh) for key, day, kwh in first)
    write(("d", days[0], 4.0))
    assert project.run(spark).ok
    expected = sorted((day, key, kwh) for key, day, kwh in [*first, ("d", days[0], 4.0)])
    assert sorted(rows(folder, "energy_model")) == expected
    of_rows = [(f"{day},{key}", "current") for key, day, _ in [*first, ("d", days[0], 4.0)]]
    assert sorted(project.partitions.statuses("energy_model")) == sorted(of_rows)  # and none without rows
    assert project.run(spark).runs == ()


@pytest.mark.alike
def test_rows_of_a_removed_segment_are_left_out(spark, folder):
    write(folder, [("a", 1), ("b", 2)])
    project = project_of(folder, ALL_ROWS)
    assert project.run(spark).ok
    project.partitions.remove("energy_model", "b")
    write(folder, [("a", 1), ("b", 2), ("c", 3)])
    assert ran(project.run(spark)) == [("energy_model", ("a", "c"), "success")]
    assert rows(folder, "energy_model") == [("a", 2.0), ("b", 2.0), ("c", 3.0)]
    assert project.partitions.statuses("energy_model") == [("a", "current"), ("b", "unlisted"), ("c", "current")]


@pytest.mark.alike
def test_rows_of_another_that_is_known_are_left_to_its_own_run(spark, folder):
    write(folder, [("a", 1), ("b", 2)])
    project = project_of(folder, ALL_ROWS)
    assert project.run(spark).ok
    project.partitions.add("energy_model", "c")
    assert ran(project.run(spark)) == [("energy_model", ("c",), "success")]
    assert rows(folder, "energy_model") == [("a", 1.0), ("b", 2.0)]


@pytest.mark.alike
def test_rows_of_no_segment_fail_a_run_of_everything(spark, folder):
    write(folder, [("a", 1), (None, 5)])
    (folder / "readings.yml").write_text("asset: readings\nsource: delta\npath: lake/readings\n")
    (folder / "energy_model.yml").write_text(
        "asset: energy_model\ninlets: {readings: {on_update: rerun}}\n"
        "partition: {segments: runtime, column: customer_id}\nsql: SELECT customer_id, kwh FROM {{ inlets.readings }}\n"
    )
    summary = Project.load(folder, env={}).run(spark, check=False)
    assert "partitions *: customer_id is NULL in 1 row; nothing was written" in summary.runs[0].error


@pytest.mark.alike
def test_a_function_adds_one_that_is_computed_next(spark, folder):
    write(folder, [("a", 1)])
    (folder / "readings.yml").write_text("asset: readings\nsource: delta\npath: lake/readings\n")
    (folder / "energy_model.yml").write_text(
        "asset: energy_model\ninlets: {readings: {on_update: rerun}}\n"
        "partition: {segments: runtime, column: customer_id}\npython: jobs.energy:train\n"
    )
    (folder / "jobs" / "energy.py").write_text(
        "def train(context, spark, readings):\n"
        "    keys = [each.segments['customer_id'] for each in context.partitions if each.segments] or ['a']\n"
        "    if keys == ['a']:\n"
        "        context.add_partition('z')\n"
        "    return spark.createDataFrame([(key, len(keys)) for key in keys], 'customer_id string, n int')\n"
    )
    project = Project.load(folder, env={})
    assert ran(project.run(spark)) == [("energy_model", ("*",), "success")]
    assert project.partitions.statuses("energy_model") == [("a", "current"), ("z", "current")]
    assert project.partitions.remove("energy_model", "z") == ["z"]
    write(folder, [("a", 2)])
    assert ran(project.run(spark)) == [("energy_model", ("a",), "success")]
    assert project.partitions.statuses("energy_model") == [("a", "current"), ("z", "unlisted")]


@pytest.mark.alike
@pytest.mark.parametrize("mode", ["append", "replace"])
def test_a_run_for_each_that_is_known(spark, folder, mode):
    write(folder, [("a", 1), ("b", 5)])
    project = project_of(folder, ALL_ROWS + f"strategy: every_instance\nwrite: {mode}\n")
    assert ran(project.run(spark)) == [("energy_model", ("*",), "success")]
    write(folder, [("a", 2), ("c", 1), ("d", 1)])
    project.partitions.add("energy_model", "c")
    assert project.partitions.remove("energy_model", "b") == ["b"]
    assert sorted(ran(project.run(spark))) == [("energy_model", (key,), "success") for key in ("a", "c", "d")]
    before = [("a", 1.0)] if mode == "append" else []
    assert rows(folder, "energy_model") == [*before, ("a", 3.0), ("b", 5.0), ("c", 1.0), ("d", 1.0)]
    assert project.run(spark).runs == ()


def test_outlets_know_what_came_out_of_any_of_them(spark, folder):
    write(folder, [("a", 1), ("b", 5)])
    (folder / "readings.yml").write_text("asset: readings\nsource: delta\npath: lake/readings\n")
    (folder / "energy_model.yml").write_text(
        "asset: split\ninlets: {readings: {on_update: rerun}}\npartition: {segments: runtime, column: customer_id}\n"
        "outlets:\n"
        "  small: {sql: 'SELECT customer_id, sum(kwh) AS kwh FROM {{ inlets.readings }} WHERE kwh < 3 GROUP BY ALL'}\n"
        "  large: {sql: 'SELECT customer_id, sum(kwh) AS kwh FROM {{ inlets.readings }} WHERE kwh >= 3 GROUP BY ALL'}\n"
        "---\nasset: counted\npartition: {segments: runtime, column: customer_id}\n"
        "sql: 'SELECT customer_id, count(*) AS n FROM {{ inlets.large }} GROUP BY ALL'\n"
    )
    project = Project.load(folder, env={})
    assert ran(project.run(spark)) == [("split", ("*",), "success"), ("counted", ("a", "b"), "success")]
    assert (rows(folder, "small"), rows(folder, "large")) == ([("a", 1.0)], [("b", 5.0)])
    assert project.partitions.add("split", "c") == ["c"]
    write(folder, [("a", 4)])
    (split, counted) = project.run(spark).runs
    assert (split.partition_keys, counted.partition_keys) == (("a", "b", "c"), ("a", "b", "c"))
    assert project.partitions.statuses("large") == [(key, "current") for key in "abc"]
    assert rows(folder, "counted") == [("a", 1), ("b", 1)]


@pytest.mark.spark_alone  # replaces rows that no partition tells
def test_once_the_last_is_removed_others_are_discovered_and_its_rows_stay(spark, folder):
    write(folder, [("a", 1), ("b", 5)])
    project = project_of(folder, ALL_ROWS)
    assert ran(project.run(spark)) == [("energy_model", ("*",), "success")]
    project.partitions.remove("energy_model", "a", "b")
    assert project.run(spark).runs == ()

    write(folder, [("a", 2), ("c", 1)])
    assert ran(project.run(spark)) == [("energy_model", ("*",), "success")]
    assert rows(folder, "energy_model") == [("a", 1.0), ("b", 5.0), ("c", 1.0)]
    assert [each for each in project.partitions.statuses("energy_model") if each[1] == "current"] == [("c", "current")]
    assert project.run(spark).runs == ()
