"""The engine that a project names, and what of a project Sail is refused for."""

from contextlib import nullcontext
from importlib.metadata import PackageNotFoundError

import pytest

from sparkassets import Project
from sparkassets.errors import InputError, SpecError
from sparkassets.project import load_project
from tests.e2e.projects import write

SHOP = {
    "project.yml": "project: shop\nassets: [assets]\nprofiles: {dev: {engine: sail, state: s, warehouse: w}}\n",
    "assets/orders.yml": "asset: orders\nsource: delta\npath: orders\n",
    "assets/daily.yml": "asset: daily\nsql: SELECT * FROM {{ inlets.orders }}\n",
}


@pytest.fixture
def shop(tmp_path):
    return write(tmp_path, SHOP)


def test_spark_computes_unless_something_says_otherwise(shop):
    assert load_project(shop, {}).engine is None
    assert load_project(shop, {"SPARKASSETS_PROFILE": "dev"}).engine == "sail"
    assert load_project(shop, {"SPARKASSETS_PROFILE": "dev", "SPARKASSETS_ENGINE": "spark"}).engine == "spark"


def test_an_engine_that_is_not_there_is_refused(shop):
    with pytest.raises(InputError, match="there is no engine 'duckdb'; expected spark or sail"):
        load_project(shop, {"SPARKASSETS_ENGINE": "duckdb"})


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("commit: spark", "asset 'daily' has its table committed by Spark, which Sail cannot do"),
        ("table: lake.daily", "asset 'daily' has a table in a catalog, which Sail cannot do"),
        (
            "validations: [{not_null: [id], severity: quarantine}]",
            "asset 'daily' puts rows into quarantine, which Sail cannot do",
        ),
    ],
)
def test_what_only_spark_does_is_refused_by_the_name_of_the_asset(shop, keys, message):
    with (shop / "assets/daily.yml").open("a") as file:
        file.write(f"{keys}\n")
    assert load_project(shop, {}).name == "shop"
    with pytest.raises(SpecError, match=message):
        load_project(shop, {"SPARKASSETS_ENGINE": "sail"})


def test_options_of_a_reader_that_sail_ignores_are_refused(shop):
    options = "{header: 'false', sep: ';', dateFormat: d/M/y}"
    write(shop, {"assets/orders.yml": f"asset: orders\nsource: csv\npath: in/*.csv\noptions: {options}\n"})
    with pytest.raises(SpecError) as error:
        load_project(shop, {"SPARKASSETS_ENGINE": "sail"})
    (problem,) = error.value.problems
    assert problem.message == "asset 'orders' has the option 'dateFormat' of its reader, which Sail cannot do"


@pytest.mark.parametrize(("mode", "refused"), [("PERMISSIVE", True), ("DROPMALFORMED", True), ("failfast", False)])
def test_a_mode_in_which_values_that_do_not_parse_are_no_failure_is_refused_on_sail(shop, mode, refused):
    text = f"asset: orders\nsource: json\npath: in/*.json\noptions: {{mode: {mode}}}\n"
    write(shop, {"assets/orders.yml": text})
    found = nullcontext() if not refused else pytest.raises(SpecError, match="has the option 'mode' of its reader")
    with found:
        load_project(shop, {"SPARKASSETS_ENGINE": "sail"})


def test_a_state_that_a_session_keeps_is_refused(shop):
    write(shop, {"project.yml": "project: shop\nassets: [assets]\nstate: {catalog: main, schema: ops}\n"})
    with pytest.raises(SpecError, match="the state of 'shop' is kept by a Spark session"):
        load_project(shop, {"SPARKASSETS_ENGINE": "sail"})


@pytest.mark.parametrize(
    ("distributions", "hint"),
    [
        ({"pyspark": "4.1.0"}, "pip install pysail 'pyspark[connect]'"),
        ({"pyspark-client": "4.1.0"}, "pip install 'sparkassets[sail]'"),
        ({}, "pip install 'sparkassets[sail]'"),
    ],
)
def test_validate_says_that_the_engine_is_not_installed_and_how_it_is(shop, monkeypatch, distributions, hint):
    def version(name):
        if name not in distributions:
            raise PackageNotFoundError(name)
        return distributions[name]

    (shop / "orders").mkdir()
    monkeypatch.setattr("sparkassets.spark.sail.version", version)
    monkeypatch.setattr("sparkassets.spark.installation.is_sail_installed", lambda: False)
    monkeypatch.chdir(shop)
    warnings = [*Project.load(shop, tables=True, env={"SPARKASSETS_ENGINE": "sail"}).spec.warnings]
    assert f"project.yml: the engine sail is not installed here, so no run can start\n  hint: {hint}" in map(
        str, warnings
    )
    assert "sail" not in str(Project.load(shop, tables=True, env={}).spec.warnings)
    monkeypatch.setattr("sparkassets.spark.installation.is_sail_installed", lambda: True)
    assert "sail" not in str(Project.load(shop, tables=True, env={"SPARKASSETS_ENGINE": "sail"}).spec.warnings)
