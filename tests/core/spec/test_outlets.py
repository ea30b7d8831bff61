"""Multi-assets in YAML: what they become, and what is refused of them."""

import pytest

from tests.core.spec.in_memory import FLIGHTS, compiled, errors

SPLIT = """
asset: split
inlets: [flights]
outlets:
  train: {path: out/train, columns: {id: bigint}, description: for fitting}
  test:
"""
SQL = {"train.sql": "SELECT id FROM {{ inlets.flights }}", "test.sql": "SELECT id FROM {{ inlets.flights }}"}


def project(text=SPLIT, **more):
    return compiled({"split.yml": text, "flights.yml": FLIGHTS, **SQL, **more})


def refused(text=SPLIT, **more):
    files = {"split.yml": text, "flights.yml": FLIGHTS, **SQL, **{key: each for key, each in more.items() if each}}
    return errors({key: each for key, each in files.items() if more.get(key, "") is not None})


def test_outlets_are_assets_after_the_one_whose_runs_write_them():
    found = project(**{"r.yml": "asset: r", "r.sql": "SELECT * FROM {{ inlets.test }}"}).assets
    assert list(found) == ["flights", "split", "train", "test", "r"]
    split, train, test = found["split"], found["train"], found["test"]
    assert (split.outlets, split.storage, split.uri) == (("train", "test"), None, "sparkassets:split")
    assert list(split.inlets) == ["flights"]
    assert (train.written_by, test.written_by, split.written_by) == ("split", "split", "")
    assert (train.uri, train.storage.given, dict(train.columns)) == ("out/train", "out/train", {"id": "bigint"})
    assert (test.uri, test.storage.given) == ("./warehouse/test".removeprefix("./"), "warehouse/test")
    assert (train.description, str(train.location)) == ("for fitting", "split.yml:4:3")
    assert train.body.template == SQL["train.sql"]
    assert (split.written_assets, train.written_assets) == (("train", "test"), ("train",))
    assert list(found["r"].inlets) == ["test"]


def test_the_code_of_all_outlets_is_the_definition_of_the_asset():
    one = project().assets["split"].definition
    other = project(**{"test.sql": "SELECT id + 1 AS id FROM {{ inlets.flights }}"}).assets["split"].definition
    same = project(**{"test.sql": "SELECT id  FROM {{ inlets.flights }} -- as before"}).assets["split"].definition
    assert one.id == same.id != other.id
    assert one.parts["outlet train"] == other.parts["outlet train"]
    assert project().assets["train"].definition is None


def test_the_outlets_of_an_asset_have_its_partitions_write_and_schedule():
    text = """
        asset: split
        schedule: "@daily"
        partition: {by: day, column: day}
        outlets: {train: {}, test: {sql: "SELECT day FROM {{ inlets.flights }}"}}
        """
    found = project(text, **{"train.sql": "SELECT day FROM {{ inlets.flights }}"}).assets
    for name in ("train", "test"):
        assert found[name].partitioning == found["split"].partitioning
        assert (found[name].write, found[name].strategy) == (found["split"].write, found["split"].strategy)
        assert found[name].schedule == found["split"].schedule


def test_an_outlet_reads_itself_as_it_was():
    found = project(**{"train.sql": "SELECT id FROM {{ inlets.flights }} UNION SELECT id FROM {{ outlets.train }}"})
    assert list(found.assets["split"].inlets) == ["flights"]
    said = refused(**{"train.sql": "SELECT id FROM {{ inlets.flights }} UNION SELECT id FROM {{ outlets.test }}"})
    assert "train.sql:1:" in said


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("path: out", "'path' is not allowed beside 'outlets': each outlet has its own"),
        ("uri: x-a", "'uri' is not allowed beside 'outlets': each outlet has its own"),
        ("columns: {id: int}", "'columns' is not allowed beside 'outlets': each outlet has its own"),
        ("sql: SELECT 1", "'sql' is not allowed beside 'outlets': each outlet has its own"),
        ("source: true", "'outlets' is not allowed for a source: others write it, so nothing runs"),
    ],
)
def test_what_only_data_has_is_refused_of_the_asset(line, message):
    assert message in refused(f"{SPLIT}{line}\n")


@pytest.mark.parametrize(
    ("outlets", "message"),
    [
        ("{}", "'outlets' is empty: the asset would write nothing"),
        ("[train, test]", "'outlets' is a list; expected a map such as {train: {path: …}, test: {}}"),
        ("{train: {pth: x}}", "unknown key 'pth' in outlet 'train'"),
        ("{train: {path: 5}}", "'path' of outlet 'train' is 5; expected text"),
        ("{train: 5}", "outlet 'train' is 5; expected a map"),
        ("{train: {validations: {}}}", "'validations' of outlet 'train' is a map; expected a list of maps such as"),
        (
            "{train: {table: a/b}}",
            "'a/b' is not a table name; expected catalog.schema.name, schema.name or name",
        ),
        ("{flights: {}}", "the asset 'flights' is defined twice; first at split.yml:2:11"),
        ("{split: {}}", "the asset 'split' is defined twice; first at split.yml:1:8"),
        ("{train: {columns: {id: nt}}}", "'nt' is not a Spark SQL type"),
        ("{train: {path: out}, test: {path: out/}}", "the target 'out' is also the target of asset"),
        (
            "{train: {sql: SELECT 1 FROM x.y}, best: {}}",
            "outlet 'best' has no 'sql' and no file best.sql, and asset 'split' has no 'python'",
        ),
        ("{train: {sql: 'SELECT {{ inlets.fights }}'}}", "unknown asset 'fights'"),
        ("{train: {sql: 'SELECT {{ inlets.train }}'}}", "asset 'split' cannot wait for its own outlet 'train'"),
    ],
)
def test_what_is_refused_of_outlets(outlets, message):
    files = {"split.yml": f"asset: split\noutlets: {outlets}\n", "flights.yml": FLIGHTS, **SQL}
    assert message in errors(files)


def test_two_outlets_of_a_run_share_no_table_even_where_they_append():
    text = """
        asset: split
        strategy: every_instance
        write: append
        outlets: {train: {path: out}, test: {path: out}}
        inlets: [flights]
        """
    assert "give each asset its own path" in refused(text)


def test_a_declared_outlet_has_the_columns_of_the_partitions():
    text = """
        asset: split
        partition: {by: day, column: day}
        outlets: {train: {columns: {id: bigint}}, test: {columns: {day: date}}}
        inlets: [flights]
        """
    message = "outlet 'train' lacks the column 'day', by which 'split' is partitioned"
    assert message in refused(text, **{"train.sql": "SELECT 1 AS id FROM {{ inlets.flights }}"})


def test_nobody_reads_or_awaits_the_asset_itself():
    hint = "hint: name 'train' or 'test'"
    message = "'split' is a multi-asset without data of its own; use one of its outlets"
    for files in (
        {"r.yml": "asset: r", "r.sql": "SELECT * FROM {{ inlets.split }}"},
        {"r.yml": "asset: r\ninlets: [split]", "r.sql": "SELECT 1"},
        {"r.yml": "asset: r\nschedule: split & train", "r.sql": "SELECT 1"},
    ):
        said = refused(**files)
        assert message in said
        assert hint in said
    assert "asset 'split' cannot wait for its own outlet 'train'" in refused(f"{SPLIT}schedule: train | flights\n")
    other = {"other.yml": "asset: other\nuri: x-t\nsource: true"}
    named = f"{SPLIT}schedule: other | flights\n".replace("path: out/train", "uri: x-t")
    message = "asset 'split' cannot wait for 'other': it is the dataset 'x-t' of its own outlet 'train'"
    assert message in refused(named, **other)
    assert "cannot wait for the dataset 'x-t' of its own outlet 'train'" in refused(
        f"{SPLIT}schedule: {{any: [{{uri: x-t}}, flights]}}\n".replace("path: out/train", "uri: x-t")
    )


def test_segments_may_come_to_be_known():
    text = f"{SPLIT}partition: {{segments: runtime, column: id}}\n"
    made = compiled({"split.yml": text, "flights.yml": FLIGHTS, **SQL}).assets
    assert all(made[name].partitioning.is_open for name in ("split", "train", "test"))


def test_a_cycle_through_an_outlet_is_told():
    text = "asset: split\noutlets: {train: {sql: 'SELECT * FROM {{ inlets.r }}'}}\n"
    said = errors({"split.yml": text, "r.yml": "asset: r", "r.sql": "SELECT * FROM {{ inlets.train }}"})
    assert "the assets depend on each other in a cycle: r → split → train → r" in said
