"""Pools, priorities and settings of Spark in the files: what is refused, and where."""

import pytest

from sparkassets import Project

PROJECT = {
    "project.yml": (
        "project: shop\nassets: [assets]\npools: {api: 2}\n"
        "defaults: {spark_conf: {spark.sql.shuffle.partitions: 8, spark.sql.ansi.enabled: true}}\n"
    ),
    "assets/orders.yml": "asset: orders\nsource: true\nuri: x-orders\n",
    "assets/daily.yml": (
        "asset: daily\npool: api\npriority: 3\nspark_conf: {spark.sql.shuffle.partitions: 64}\n"
        "inlets: {orders: }\nsql: SELECT 1 AS a\n"
    ),
}


@pytest.fixture(autouse=True)
def conf(make_conf):
    return make_conf(PROJECT)


def test_an_asset_has_its_own_settings_and_those_of_all(conf):
    spec = Project.load(conf).spec
    daily = spec.assets["daily"]
    assert (spec.pools, daily.pool, daily.priority) == ({"api": 2}, "api", 3)
    assert daily.spark_conf == {"spark.sql.shuffle.partitions": "64", "spark.sql.ansi.enabled": "true"}
    assert spec.assets["orders"].spark_conf == {}


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("pool: api", "pool: apy", "conf/assets/daily.yml:2:7: there is no pool 'apy' in 'pools' of the project"),
        ("pool: api", "pool: apy", "did you mean 'api'?"),
        (
            "spark.sql.shuffle.partitions",
            "spark.executor.memory",
            "'spark.executor.memory' is not a setting that a run can change\n    spark_conf:",
        ),
        ("spark.sql.shuffle.partitions", "shuffle", "'shuffle' is not a setting that a run can change"),
        ("spark.sql.shuffle.partitions", "spark.sql.session.timeZone", "cannot be changed: runs are in UTC"),
        ("spark.sql.shuffle.partitions: 64", "spark.api.password: hunter2xyz", "may be a credential"),
        ("priority: 3", "priority: high", "conf/assets/daily.yml:3:11: "),
    ],
)
def test_what_is_wrong_is_refused_at_its_place(run_cli, conf, old, new, problem):
    file = conf / "assets" / "daily.yml"
    file.write_text(file.read_text().replace(old, new))
    code, _, err = run_cli("validate")
    assert code == 2
    assert problem in err
    assert "hunter2xyz" not in err


def test_settings_of_a_source_are_refused(run_cli, conf):
    (conf / "assets" / "orders.yml").write_text("asset: orders\nsource: true\nuri: x-o\nspark_conf: {spark.a: 1}\n")
    code, _, err = run_cli("validate")
    assert (code, "a source has no runs, so 'spark_conf' has no effect" in err) == (2, True)
