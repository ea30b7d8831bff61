"""`sparkassets lineage`: the tree and the document of where partitions came from."""

import re

import pytest

pytestmark = pytest.mark.usefixtures("shop", "engine")


def test_the_tree(run_cli):
    assert run_cli("run")[0] == 0
    code, out, err = run_cli("lineage", "daily_revenue", "--partition", "2025-01-01", "--partition", "2030-01-01")
    assert (code, err) == (0, "")
    varies = re.compile(r"\S+T\S+Z|\d{8}T\d{6}-[0-9a-f]{6}|code [0-9a-f]{8}")
    first, second, *rest = [varies.sub("…", line) for line in out.splitlines()]
    assert (first, second) == (
        "daily_revenue 2025-01-01, 2030-01-01",
        "├─ 2025-01-01: daily_revenue-… at …, version 0, …",
    )
    assert rest == [
        "│  └─ read orders 2025-01-01",
        "│     └─ 2025-01-01: observed at …, among 2 files that this look found",
        "└─ ✗ 2030-01-01: not there",
    ]


def test_the_document(run_cli, run_json):
    run_cli("run")
    found = run_json("lineage", "best_shops", "--depth", "1")
    (origin,) = found["origins"]
    assert (found["asset"], found["partitions"]) == ("best_shops", None)
    assert (origin["kind"], origin["partitions"]) == ("run", None)
    (read,) = origin["reads"]
    assert (read["asset"], read["version"], read["origins"]) == ("daily_revenue", 0, [])
    (read,) = run_json("lineage", "best_shops")["origins"][0]["reads"]
    assert [each["kind"] for each in read["origins"]] == ["run"]


def test_before_the_first_run_nothing_is_known(run_cli):
    assert run_cli("lineage", "daily_revenue", "--partition", "2025-01-01")[1].splitlines() == [
        "daily_revenue 2025-01-01",
        "└─ ✗ 2025-01-01: not there",
    ]


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("daily_revenue",), "asset 'daily_revenue' has partitions: name them by --partition A..B"),
        (("best_shops", "--partition", "2025-01-01"), "asset 'best_shops' has no partitions"),
        (("best_shops", "--depth", "0"), "--depth"),
    ],
)
def test_what_is_refused(run_cli, args, told):
    code, out, err = run_cli("lineage", *args)
    assert (code, out) == (2, "")
    assert told in err
