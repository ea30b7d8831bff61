"""`sparkassets lineage` of columns: by the queries of the project, both ways."""

import pytest

PROJECT = {
    "project.yml": "project: shop\nassets: [assets]\npython: [jobs]\n",
    "assets/orders.yml": (
        "asset: orders\nsource: csv\npath: landing/orders\ncolumns: {id: bigint, email: string, amount: double}\n"
    ),
    "assets/items.yml": "asset: items\nsource: true\nuri: x-items\n",
    "assets/daily.yml": "asset: daily\n",
    "assets/daily.sql": (
        "SELECT id, sum(amount) AS total, sha2(email, 256) AS who\n"
        "FROM {{ inlets.orders }} WHERE amount > {{ params.least }} AND '{{ ds }}' > '' GROUP BY ALL\n"
    ),
    "assets/best.yml": "asset: best\n",
    "assets/best.sql": "SELECT d.*, total / 2 AS half FROM {{ inlets.daily }} AS d\n",
    "assets/shaped.yml": "asset: shaped\nschedule: '@daily'\n",
    "assets/shaped.sql": "SELECT id {% if ds > '2025' %}, total{% endif %} FROM {{ inlets.daily }}\n",
    "assets/scores.yml": "asset: scores\npython: jobs.scores:score\n",
    "jobs/__init__.py": "",
    "jobs/scores.py": "def score(daily):\n    return daily\n",
}


@pytest.fixture
def project(tmp_path, monkeypatch):
    for name, text in PROJECT.items():
        file = tmp_path / "conf" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    daily = tmp_path / "conf" / "assets" / "daily.yml"
    daily.write_text(daily.read_text() + "params: {least: 3}\nschedule: '@daily'\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


pytestmark = pytest.mark.usefixtures("project")


def test_a_column_both_ways(run_cli):
    code, out, err = run_cli("lineage", "daily.total")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "daily.total",
        "├─ made of",
        "│  └─ orders.amount: aggregated",
        "├─ its rows depend on",
        "│  ├─ orders.amount: filters rows",
        "│  ├─ orders.email: groups rows, only a hash of it",
        "│  └─ orders.id: groups rows",
        "└─ used by",
        "   ├─ best.total: as it is",
        "   ├─ best.half: computed",
        "   ├─ ✗ scores: columns unknown",
        "   └─ ✗ shaped: columns unknown",
    ]


def test_the_way_from_a_source_goes_on_to_the_end(run_json):
    found = run_json("lineage", "orders.AMOUNT")
    assert (found["column"], found["sure"], found["made_of"], found["rows"]) == ("amount", True, [], None)
    first, rows = found["used_by"]
    assert (first["asset"], first["column"], first["how"]) == ("daily", "total", ["AGGREGATION"])
    assert [(each["asset"], each["column"], each["sure"]) for each in first["further"]] == [
        ("best", "total", True),
        ("best", "half", True),
        ("scores", None, False),
        ("shaped", None, False),
    ]
    assert (rows["asset"], rows["column"], rows["how"]) == ("daily", None, ["FILTER"])


def test_all_columns_of_an_asset(run_cli, run_json):
    found = run_json("lineage", "daily", "--columns")
    assert found["columns"]["who"] == [
        {"asset": "orders", "column": "email", "how": ["TRANSFORMATION"], "masked": True}
    ]
    lines = run_cli("lineage", "daily", "--columns")[1].splitlines()
    assert lines[:3] == ["daily", "├─ id", "│  └─ orders.id: as it is"]
    assert "   orders.email: computed, only a hash of it" in "\n".join(lines).replace("│  └─", "  ")


def test_what_a_query_does_not_tell_is_said(run_cli, run_json):
    assert run_json("lineage", "shaped", "--columns") == {"asset": "shaped", "columns": None, "rows": None}
    assert run_cli("lineage", "shaped", "--columns")[1].splitlines() == [
        "shaped",
        "└─ ✗ its columns are neither in its query nor declared",
    ]
    assert run_cli("lineage", "scores.x")[1].splitlines() == [
        "scores.x",
        "├─ ✗ its query does not determine what it is computed from",
        "└─ nothing reads it",
    ]


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("daily.totl",), "asset 'daily' has no column 'totl'\n  hint: did you mean 'total'?"),
        (("dayly.total",), "no asset 'dayly' in project 'shop'\n  hint: did you mean 'daily'?"),
        (("daily.total", "--depth", "2"), "columns are traced by queries, not by runs"),
    ],
)
def test_what_is_wrong_is_said(run_cli, args, told):
    code, _, err = run_cli("lineage", *args)
    assert code == 2
    assert told in err


def test_a_start_that_asks_for_no_columns_reads_no_sql(run_cli):
    import sys

    kept = {name: sys.modules.pop(name) for name in [*sys.modules] if name.split(".")[0] == "sqlglot"}
    try:
        run_cli("plan")
        run_cli("status")
        assert "sqlglot" not in sys.modules
    finally:
        sys.modules.update(kept)
