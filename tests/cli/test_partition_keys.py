"""`partitions ASSET add|remove KEY…`: segments that a person tells a project of."""

import pytest

from sparkassets.cli import main

FILES = {
    "project.yml": "project: p\nassets: [.]\n",
    "a.yml": """
asset: orders
source: true
partition: {segments: runtime, column: shop}
---
asset: sales
partition: {segments: runtime, column: shop}
inlets: [orders]
sql: SELECT shop, 1 AS n FROM {{ partitions }}
""",
}


@pytest.fixture
def shops(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    assert main(["partitions", "orders", "add", "berlin", "paris"]) == 0
    capsys.readouterr()


@pytest.mark.usefixtures("shops")
def test_what_is_added_is_known_and_what_is_removed_is_not(run_json):
    assert run_json("partitions", "orders", "add", "paris", "rome")["added"] == ["rome"]
    assert run_json("partitions", "orders", "remove", "paris")["removed"] == ["paris"]
    assert run_json("partitions", "orders", "remove", "paris")["removed"] == [], "it is removed already"
    assert run_json("partitions", "orders", "add", "paris")["added"] == ["paris"]


@pytest.mark.usefixtures("shops")
def test_a_segment_that_nobody_knows_cannot_be_removed(run_json, run_cli):
    code, _, err = run_cli("partitions", "orders", "remove", "berlin", "pariss")
    assert (code, err) == (
        2,
        "error: 'pariss' is not a known segment of shop of asset 'orders'\n  hint: did you mean 'paris'?\n",
    )
    assert run_json("partitions", "orders", "remove", "berlin")["removed"] == ["berlin"], "nothing was, of both"


@pytest.mark.usefixtures("shops")
def test_another_action_is_refused(run_cli):
    code, _, err = run_cli("partitions", "orders", "ad", "rome")
    assert code == 2
    assert "invalid value for '[add|remove]': 'ad' is not one of 'add', 'remove'\n  hint: did you mean 'add'?" in err


@pytest.mark.parametrize("command", [("backfill", "a"), ("events", "add", "s"), ("explain", "a")], ids=" ".join)
def test_a_partition_that_is_given_twice_is_refused_where_one_is_taken(run_cli, command):
    code, _, told = run_cli(*command, "--partition", "2025-01-01", "--partition", "2025-01-02")
    assert code == 2
    assert told.splitlines()[-2:] == [
        "error: --partition is given 2 times; expected once",
        "  hint: use a range: A..B",
    ]
